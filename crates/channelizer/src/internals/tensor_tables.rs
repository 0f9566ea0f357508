//! Tables of the kernels whose transforms are on tensor cores: weights and matrices as fragments of `mma.sync`,
//! computed in f64 and rounded once.
//!
//! Numbers have one or two terms, f16 that are added. See `kernels-rs/f-engine/two-pass`, `tensor`.

use fringes_kernel_abi::f_engine::tensor as abi;
use fringes_types::f16;
use num_complex::Complex64;

use super::tables::exponent_below;

/// Pairs of weights of a column before that of tap 0.
const BEFORE: usize = 7;
/// Largest magnitude of a point between the passes: below that of an f16, 65504.
const LARGEST: f64 = 60000.0;

/// Weights of taps as the first kernel reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorWeights {
    /// `[n2][n1][part][q][e][term]`, of column `2 (rows n1 + n2) + part`, `q < m` and `e < 16`: words of two f16, the
    /// weights of taps `d` and `d + 1`, and of those 8 further on, `d = 16 q + e - 7`. Of complex samples a point has
    /// one part, of column `rows n1 + n2`.
    pub pairs: Vec<[u32; 2]>,
    /// `[n2][n1][part][e][term]`, `e < 16`: the weights of taps `d` and `d + 1`, `d = 16 m + e - 7`.
    pub tails: Vec<u32>,
    /// The power of two that they are multiplied by.
    pub exponent: i32,
}

/// The terms of a number.
fn terms(x: f64, terms: usize) -> [u32; 2] {
    let high = f16::from_f64(x);
    let low = if terms == 2 { f16::from_f64(x - high.to_f64()) } else { f16::ZERO };
    [high, low].map(|term| u32::from(term.to_bits()))
}

/// Weights of `rows` times `radix` points for up to `16 m` taps and samples of magnitudes up to `largest`, multiplied
/// by the largest power of two for which no samples make a point of a digit that an f16 does not have. Points are two
/// real samples each, or complex ones, with parts up to `largest` and one weight for both.
pub fn weights(
    weights: &[f64],
    (rows, radix): (usize, usize),
    complex: bool,
    m: usize,
    largest: f64,
    number: usize,
) -> TensorWeights {
    let parts = if complex { 1 } else { 2 };
    let step = parts * radix * rows;
    let taps = weights.len() / step;
    let sum = |column: usize| (0..taps).map(|tap| weights[tap * step + column].abs()).sum::<f64>();
    let most = (0..step).map(sum).fold(0.0, f64::max);
    // A point has two numbers, and the digit's transform a sum of `radix` of them.
    let exponent = exponent_below(LARGEST / (most * largest * radix as f64 * 2f64.sqrt()));
    let scale = 2f64.powi(exponent);
    let (mut pairs, mut tails) = (Vec::new(), Vec::new());
    for index in 0..step {
        let (n2, n1, part) = (index / (parts * radix), index / parts % radix, index % parts);
        let column = parts * (rows * n1 + n2) + part;
        let split = |place: usize| {
            let tap = place.checked_sub(BEFORE).filter(|&tap| tap < taps);
            terms(tap.map_or(0.0, |tap| scale * weights[tap * step + column]), number)
        };
        let halves: Vec<_> = (0..16 * m + 25).map(split).collect();
        let word = |place: usize, term: usize| halves[place][term] | halves[place + 1][term] << 16;
        for place in 0..16 * m {
            pairs.extend((0..number).map(|term| [word(place, term), word(place + 8, term)]));
        }
        for place in 16 * m..16 * m + 16 {
            tails.extend((0..number).map(|term| word(place, term)));
        }
    }
    TensorWeights { pairs, tails, exponent }
}

/// The fragments of one matrix, 16 by 16 numbers each, row of fragments by row: `[fragment][term][lane]`. `of` gives
/// what output `row` has of input `column`: factors of the input and of its conjugate.
fn fragments(
    (rows, columns): (usize, usize),
    number: usize,
    of: impl Fn(usize, usize) -> [Complex64; 2],
) -> impl Iterator<Item = [u32; 4]> {
    let mut all = Vec::with_capacity(rows * columns * number * 32);
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let lanes: Vec<_> = (0..32)
            .map(|lane| {
                let (g, t) = (lane / 4, lane % 4);
                // Rows g, real parts, and g + 8, imaginary ones, of points t and t + 4.
                let words = |ahead: usize| {
                    let [a, b] = of(8 * row + g, 8 * column + t + ahead);
                    let (sum, difference) = (a + b, a - b);
                    [[sum.re, -difference.im], [sum.im, difference.re]]
                        .map(|pair| pair.map(|part| terms(part, number)))
                        .map(|[low, high]| [low[0] | high[0] << 16, low[1] | high[1] << 16])
                };
                let ([re, im], [further_re, further_im]) = (words(0), words(4));
                [re, im, further_re, further_im]
            })
            .collect();
        for term in 0..number {
            all.extend(lanes.iter().map(|lane| lane.map(|word| word[term])));
        }
    }
    all.into_iter()
}

/// Matrices of the first 16 points of rows, `[k1][fragment][term][lane]`, divided by 16.
pub fn first(radix: usize, number: usize) -> Vec<[u32; 4]> {
    middle(radix, 16, number)
}

/// Matrices of the digit of 8 or 16 points between the passes, `[k1][fragment][term][lane]`, divided by its points.
pub fn middle(radix: usize, digit: usize, number: usize) -> Vec<[u32; 4]> {
    let points = digit * radix;
    let of = |k1: usize| {
        fragments((digit / 8, digit / 8), number, move |c, i| {
            [root(i * (k1 + radix * c), points) / digit as f64, Complex64::default()]
        })
    };
    (0..radix).flat_map(of).collect()
}

/// Matrices of the last points of rows, `[pair][task][fragment][term][lane]`, for `rows` points of a row: of real
/// samples with the step to a real transform, of complex ones with the order of channels.
pub fn second(rows: usize, radix: usize, complex: bool, number: usize) -> Vec<[u32; 4]> {
    let (channels, last) = (rows * radix, abi::last(rows as u32) as usize);
    let none = Complex64::default();
    let side = abi::side(rows as u32) as usize;
    let mut all = Vec::new();
    for pair in 0..radix as u32 / 2 {
        let of_pair = abi::rows_of(radix as u32, pair);
        for task in 0..abi::TASKS {
            // Row and place of the first digit, of both halves.
            let places =
                abi::task(pair == 0, task).map(|(row, place)| (of_pair[row as usize] as usize, place as usize));
            let of = |channel: usize| (channel % radix, channel / radix % 16);
            all.extend(fragments((side, side), number, |output, input| {
                let (row, place) = places[output / last];
                let k = row + radix * (place + 16 * (output % last));
                if complex {
                    // Channels ascend, with that of 0 Hz in the middle.
                    let bin = (k + channels / 2) % channels;
                    let same = places[input / last] == (row, place);
                    return [if same { root(input % last * bin, channels) } else { none }, none];
                }
                let mirror = (channels - k) % channels;
                let (place, m) = (places[input / last], input % last);
                let turn = Complex64::i() * root(k, 2 * channels);
                let here = if of(k) == place { root(m * k, channels) * (1.0 - turn) } else { none };
                let there = root(m * mirror, channels).conj() * (1.0 + turn);
                let there = if of(mirror) == place { there } else { none };
                [here / 2.0, there / 2.0]
            }));
        }
    }
    all
}

/// Those of complex samples where channels of the inner half alone come out, the channels `N / 4` to `3 N / 4 - 1`:
/// `[pair][row of fragments][column][term][lane]`. Eight channels are a row of fragments, of 16 points.
pub fn inner(rows: usize, radix: usize, number: usize) -> Vec<[u32; 4]> {
    let (channels, last) = (rows * radix, abi::last(rows as u32) as usize);
    let mut all = Vec::new();
    for pair in 0..radix as u32 / 2 {
        let of_pair = abi::rows_of(radix as u32, pair);
        for first in (0..rows).step_by(8) {
            all.extend(fragments((1, 2), number, |output, input| {
                // Places of both rows, of which every one has all its points, and half of as many channels.
                let (value, point) = (first + output, 2 * first + input);
                let place = value / (last / 2);
                let k = of_pair[place / 16] as usize + radix * (place % 16 + 16 * (value % (last / 2)));
                let bin = (k + channels / 4 + channels / 2) % channels;
                let same = point / last == place;
                let factor = if same { root(point % last * bin, channels) } else { Complex64::default() };
                [factor, Complex64::default()]
            }));
        }
    }
    all
}

/// What gains are multiplied by, for weights with that exponent and a digit of so many points between the passes.
pub fn gain_scale(exponent: i32, middle: usize) -> f64 {
    // The matrices of digits are divided by their points.
    16.0 * middle as f64 * 2f64.powi(-exponent)
}

/// `exp(-2 pi i n / points)`.
fn root(n: usize, points: usize) -> Complex64 {
    Complex64::cis(-std::f64::consts::TAU * (n % points) as f64 / points as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(word: u32, half: usize) -> f64 {
        f16::from_bits((word >> (16 * half)) as u16).to_f64()
    }

    /// The real matrix of fragments of two terms.
    fn matrix(fragments: &[[u32; 4]], (rows, columns): (usize, usize)) -> Vec<Vec<f64>> {
        let mut all = vec![vec![0.0; 16 * columns]; 16 * rows];
        for (index, pieces) in fragments.chunks_exact(64).enumerate() {
            let (row, column) = (index / columns, index % columns);
            for (lane, both) in pieces[..32].iter().zip(&pieces[32..]).enumerate() {
                for (register, (high, low)) in both.0.iter().zip(both.1).enumerate() {
                    for half in 0..2 {
                        let i = 16 * row + lane / 4 + 8 * (register % 2);
                        let j = 16 * column + 2 * (lane % 4) + 8 * (register / 2) + half;
                        all[i][j] = value(*high, half) + value(*low, half);
                    }
                }
            }
        }
        all
    }

    /// The points that the last product is of, `[row of the pair][c][m]`, of the points of the first digit.
    fn made(z: &[Complex64], (rows, radix): (usize, usize), pair: usize) -> Vec<Vec<Vec<Complex64>>> {
        let last = rows / 16;
        let firsts = first(radix, 2);
        let of_row = |k1: u32| {
            let k1 = k1 as usize;
            let matrix = matrix(&firsts[k1 * 256..][..256], (2, 2));
            let column = |n2: usize| (0..radix).map(|n1| z[rows * n1 + n2] * root(n1 * k1, radix)).sum::<Complex64>();
            let of_point = |m: usize| product(&matrix, &(0..16).map(|i| column(last * i + m)).collect::<Vec<_>>());
            let points: Vec<_> = (0..last).map(of_point).collect();
            (0..16).map(|c| points.iter().map(|u| u[c]).collect()).collect()
        };
        abi::rows_of(radix as u32, pair as u32).map(of_row).to_vec()
    }

    /// A matrix times points; rows are real parts of eight values, then their imaginary parts.
    fn product(matrix: &[Vec<f64>], points: &[Complex64]) -> Vec<Complex64> {
        let sum = |row: usize| {
            let of_point = |(p, x): (usize, &Complex64)| matrix[row][2 * p] * x.re + matrix[row][2 * p + 1] * x.im;
            points.iter().enumerate().map(of_point).sum::<f64>()
        };
        let value = |i: usize| 16 * (i / 8) + i % 8;
        (0..matrix.len() / 2).map(|i| Complex64::new(sum(value(i)), sum(value(i) + 8))).collect()
    }

    #[test]
    fn products_with_the_matrices_are_a_real_transform_or_a_complex_one() {
        for (rows, radix) in [(64, 4), (64, 8), (128, 8), (256, 8), (256, 16)] {
            let (channels, last, side) = (rows * radix, rows / 16, rows / 64);
            let x: Vec<f64> = (0..2 * channels).map(|n| ((n * n * 7 + 3 * n) as f64 * 0.013).sin()).collect();
            let z: Vec<_> = (0..channels).map(|n| Complex64::new(x[2 * n], x[2 * n + 1])).collect();
            let real = |k: usize| x.iter().enumerate().map(|(n, x)| x * root(n * k, 2 * channels)).sum::<Complex64>();
            let complex = |k: usize| {
                let bin = (k + channels / 2) % channels;
                z.iter().enumerate().map(|(n, z)| z * root(n * bin, channels)).sum::<Complex64>()
            };
            // Two terms have 22 bits.
            let bound = 4.0 * 2f64.powi(-22) * 2.0 * channels as f64;
            let seconds = [false, true].map(|complex| second(rows, radix, complex, 2));
            for pair in [0, 1, radix / 2 - 1] {
                let made = made(&z, (rows, radix), pair);
                for task in [0, 1, 7, 8, 15] {
                    let places = abi::task(pair == 0, task);
                    let of_task = 64 * side * side;
                    let at = (pair * 16 + task as usize) * of_task;
                    let points: Vec<_> =
                        places.iter().flat_map(|&(row, c)| made[row as usize][c as usize].clone()).collect();
                    let values = [0, 1]
                        .map(|which: usize| product(&matrix(&seconds[which][at..][..of_task], (side, side)), &points));
                    for output in 0..2 * last {
                        let (row, c) = places[output / last];
                        let k1 = abi::rows_of(radix as u32, pair as u32)[row as usize] as usize;
                        let k = k1 + radix * (c as usize + 16 * (output % last));
                        for (value, exact) in [(values[0][output], real(k)), (values[1][output], complex(k))] {
                            assert!((16.0 * value - exact).norm() < bound, "{rows} {radix} {pair} {task} {output}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn products_with_the_matrices_of_the_inner_half_are_its_channels() {
        for (rows, radix) in [(64, 4), (64, 8), (128, 8), (256, 16)] {
            let (channels, last) = (rows * radix, rows / 16);
            let z: Vec<_> =
                (0..channels).map(|n| Complex64::from_polar(1.0, (n * n * 7 + 3 * n) as f64 * 0.013)).collect();
            let bound = 4.0 * 2f64.powi(-22) * 2.0 * channels as f64;
            let matrices = inner(rows, radix, 2);
            assert_eq!(matrices.len(), radix / 2 * (rows / 8) * 2 * 64);
            let mut seen = vec![false; channels / 2];
            for pair in 0..radix / 2 {
                let made = made(&z, (rows, radix), pair);
                let points: Vec<_> = made.concat().concat();
                for row in 0..rows / 8 {
                    let matrix = matrix(&matrices[(pair * rows / 8 + row) * 128..][..128], (1, 2));
                    for (value, output) in product(&matrix, &points[16 * row..][..16]).into_iter().zip(8 * row..) {
                        let place = output / (last / 2);
                        let k1 = abi::rows_of(radix as u32, pair as u32)[place / 16] as usize;
                        let k = k1 + radix * (place % 16 + 16 * (output % (last / 2)));
                        assert!(!std::mem::replace(&mut seen[k], true));
                        // Of a few, as they take long.
                        if output % 29 == 0 {
                            let bin = (k + channels / 4 + channels / 2) % channels;
                            let exact: Complex64 = z.iter().enumerate().map(|(n, z)| z * root(n * bin, channels)).sum();
                            assert!((16.0 * value - exact).norm() < bound, "{rows} {radix} {pair} {output}");
                        }
                    }
                }
            }
            assert!(seen.iter().all(|&seen| seen), "every channel of the half, once");
        }
    }

    #[test]
    fn weights_are_pairs_and_no_point_is_beyond_the_largest() {
        check_weights(false);
        check_weights(true);
    }

    fn check_weights(complex: bool) {
        let (rows, radix, taps) = (3, 8, 20);
        let parts = if complex { 1 } else { 2 };
        let step = parts * rows * radix;
        let given: Vec<f64> = (0..step * taps).map(|i| 0.3 * (i as f64 * 0.7).cos()).collect();
        for number in [1, 2] {
            let made = weights(&given, (rows, radix), complex, 2, 512.0, number);
            assert_eq!((made.pairs.len(), made.tails.len()), (step * 32 * number, step * 16 * number));
            let scale = 2f64.powi(made.exponent);
            let most = (0..step)
                .map(|column| (0..taps).map(|tap| given[tap * step + column].abs()).sum::<f64>())
                .fold(0.0, f64::max);
            let largest = most * scale * 512.0 * 8.0 * 2f64.sqrt();
            assert!((LARGEST / 2.0..=LARGEST).contains(&largest), "{largest}");
            let bound = 2f64.powi(if number == 1 { -11 } else { -22 });
            let index = |column: usize| {
                let point = column / parts;
                parts * (point % rows * radix + point / rows) + column % parts
            };
            let check = |column: usize, place: usize, words: &[u32]| {
                for half in 0..2 {
                    let tap = (place + half).checked_sub(BEFORE).filter(|&tap| tap < taps);
                    let exact = tap.map_or(0.0, |tap| scale * given[tap * step + column]);
                    let found: f64 = words.iter().map(|&word| value(word, half)).sum();
                    assert!((found - exact).abs() <= bound * exact.abs() + 2f64.powi(-25), "{column} {place} {half}");
                }
            };
            for column in 0..step {
                for place in 0..32 {
                    let of_place = &made.pairs[(index(column) * 32 + place) * number..][..number];
                    check(column, place, &of_place.iter().map(|pair| pair[0]).collect::<Vec<_>>());
                    check(column, place + 8, &of_place.iter().map(|pair| pair[1]).collect::<Vec<_>>());
                }
                for place in 0..16 {
                    check(column, 32 + place, &made.tails[(index(column) * 16 + place) * number..][..number]);
                }
            }
        }
    }

    #[test]
    fn tables_have_the_sizes_that_kernels_ask_for() {
        for (rows, radix, number) in [(64, 8, 1), (128, 8, 2), (256, 16, 1)] {
            let (of_first, of_second) = (first(radix, number).len(), second(rows, radix, false, number).len());
            let (rows, radix, number) = (rows as u32, radix as u32, number as u32);
            assert_eq!(of_first as u32, abi::first_pieces(radix, number));
            assert_eq!(middle(radix as usize, 8, 1).len() as u32, abi::middle_pieces(radix, 8, 1));
            assert_eq!(of_second as u32, abi::second_pieces(rows, radix, number));
        }
    }
}
