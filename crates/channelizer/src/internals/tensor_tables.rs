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
    /// weights of taps `d` and `d + 1`, and of those 8 further on, `d = 16 q + e - 7`.
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
/// by the largest power of two for which no samples make a point of a digit that an f16 does not have.
pub fn weights(weights: &[f64], (rows, radix): (usize, usize), m: usize, largest: f64, number: usize) -> TensorWeights {
    let step = 2 * radix * rows;
    let taps = weights.len() / step;
    let sum = |column: usize| (0..taps).map(|tap| weights[tap * step + column].abs()).sum::<f64>();
    let most = (0..step).map(sum).fold(0.0, f64::max);
    // A point is two samples, and the digit's transform a sum of `radix` of them.
    let exponent = exponent_below(LARGEST / (most * largest * radix as f64 * 2f64.sqrt()));
    let scale = 2f64.powi(exponent);
    let (mut pairs, mut tails) = (Vec::new(), Vec::new());
    for index in 0..step {
        let (n2, n1, part) = (index / (2 * radix), index / 2 % radix, index % 2);
        let column = 2 * (rows * n1 + n2) + part;
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
    side: usize,
    number: usize,
    of: impl Fn(usize, usize) -> [Complex64; 2],
) -> impl Iterator<Item = [u32; 4]> {
    let mut all = Vec::with_capacity(side * side * number * 32);
    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
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
        fragments(digit / 8, number, move |c, i| {
            [root(i * (k1 + radix * c), points) / digit as f64, Complex64::default()]
        })
    };
    (0..radix).flat_map(of).collect()
}

/// Matrices of the last points of rows and of the step to a real transform, `[pair][task][fragment][term][lane]`, for
/// `rows` points of a row.
pub fn second(rows: usize, radix: usize, number: usize) -> Vec<[u32; 4]> {
    let (channels, last) = (rows * radix, abi::last(rows as u32) as usize);
    let side = abi::side(rows as u32) as usize;
    let mut all = Vec::new();
    for pair in 0..radix as u32 / 2 {
        let of_pair = abi::rows_of(radix as u32, pair);
        for task in 0..abi::TASKS {
            // Row and place of the first digit, of both halves.
            let places =
                abi::task(pair == 0, task).map(|(row, place)| (of_pair[row as usize] as usize, place as usize));
            let of = |channel: usize| (channel % radix, channel / radix % 16);
            all.extend(fragments(side, number, |output, input| {
                let (row, place) = places[output / last];
                let k = row + radix * (place + 16 * (output % last));
                let mirror = (channels - k) % channels;
                let (place, m) = (places[input / last], input % last);
                let turn = Complex64::i() * root(k, 2 * channels);
                let here = if of(k) == place { root(m * k, channels) * (1.0 - turn) } else { Complex64::default() };
                let there = root(m * mirror, channels).conj() * (1.0 + turn);
                let there = if of(mirror) == place { there } else { Complex64::default() };
                [here / 2.0, there / 2.0]
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
    fn matrix(fragments: &[[u32; 4]], side: usize) -> Vec<Vec<f64>> {
        let mut all = vec![vec![0.0; 16 * side]; 16 * side];
        for (index, pieces) in fragments.chunks_exact(64).enumerate() {
            let (row, column) = (index / side, index % side);
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
    fn products_with_the_matrices_are_a_real_transform() {
        for (rows, radix) in [(64, 8), (128, 8), (256, 8), (256, 16)] {
            let (channels, last, side) = (rows * radix, rows / 16, rows / 64);
            let x: Vec<f64> = (0..2 * channels).map(|n| ((n * n * 7 + 3 * n) as f64 * 0.013).sin()).collect();
            let z: Vec<_> = (0..channels).map(|n| Complex64::new(x[2 * n], x[2 * n + 1])).collect();
            let (firsts, seconds) = (first(radix, 2), second(rows, radix, 2));
            for pair in [0, 1, radix / 2 - 1] {
                // u[row of the pair][c][m]
                let made: Vec<Vec<Vec<Complex64>>> = abi::rows_of(radix as u32, pair as u32)
                    .map(|k1| {
                        let k1 = k1 as usize;
                        let matrix = matrix(&firsts[k1 * 256..][..256], 2);
                        let column = |n2: usize| {
                            (0..radix).map(|n1| z[rows * n1 + n2] * root(n1 * k1, radix)).sum::<Complex64>()
                        };
                        (0..last)
                            .map(|m| product(&matrix, &(0..16).map(|i| column(last * i + m)).collect::<Vec<_>>()))
                            .collect()
                    })
                    .to_vec();
                for task in [0, 1, 7, 8, 15] {
                    let places = abi::task(pair == 0, task);
                    let of_task = 64 * side * side;
                    let at = (pair * 16 + task as usize) * of_task;
                    let matrix = matrix(&seconds[at..][..of_task], side);
                    let points: Vec<_> = places
                        .iter()
                        .flat_map(|&(row, c)| made[row as usize].iter().map(move |u| u[c as usize]))
                        .collect();
                    for (output, value) in product(&matrix, &points).into_iter().enumerate() {
                        let (row, c) = places[output / last];
                        let k1 = abi::rows_of(radix as u32, pair as u32)[row as usize] as usize;
                        let k = k1 + radix * (c as usize + 16 * (output % last));
                        let exact: Complex64 = x.iter().enumerate().map(|(n, x)| x * root(n * k, 2 * channels)).sum();
                        // Two terms have 22 bits.
                        let bound = 4.0 * 2f64.powi(-22) * 2.0 * channels as f64;
                        assert!((16.0 * value - exact).norm() < bound, "{rows} {radix} {pair} {task} {output}");
                    }
                }
            }
        }
    }

    #[test]
    fn weights_are_pairs_and_no_point_is_beyond_the_largest() {
        let (rows, radix, taps) = (3, 8, 20);
        let step = 2 * rows * radix;
        let given: Vec<f64> = (0..step * taps).map(|i| 0.3 * (i as f64 * 0.7).cos()).collect();
        for number in [1, 2] {
            let made = weights(&given, (rows, radix), 2, 512.0, number);
            assert_eq!((made.pairs.len(), made.tails.len()), (step * 32 * number, step * 16 * number));
            let scale = 2f64.powi(made.exponent);
            let most = (0..step)
                .map(|column| (0..taps).map(|tap| given[tap * step + column].abs()).sum::<f64>())
                .fold(0.0, f64::max);
            let largest = most * scale * 512.0 * 8.0 * 2f64.sqrt();
            assert!((LARGEST / 2.0..=LARGEST).contains(&largest), "{largest}");
            let bound = 2f64.powi(if number == 1 { -11 } else { -22 });
            let index = |column: usize| 2 * (column / 2 % rows * radix + column / 2 / rows) + column % 2;
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
            let (of_first, of_second) = (first(radix, number).len(), second(rows, radix, number).len());
            let (rows, radix, number) = (rows as u32, radix as u32, number as u32);
            assert_eq!(of_first as u32, abi::first_pieces(radix, number));
            assert_eq!(middle(radix as usize, 8, 1).len() as u32, abi::middle_pieces(radix, 8, 1));
            assert_eq!(of_second as u32, abi::second_pieces(rows, radix, number));
        }
    }
}
