//! Tables of a plan as the kernels read them, computed in f64 and rounded once.
//!
//! With `e(x) = exp(-2 pi i x)`. See [`Shape`] for the digits of points and channels.

use std::f64::consts::TAU;

use fringes_types::f16;
use num_complex::Complex64;

use super::shape::Shape;

/// Weights have their largest magnitude in [2^9, 2^10), far above the f16 that are less exact.
const EXPONENT: i32 = 9;
/// Those of wide samples in [1/2, 1), so that sums of any samples stay within f32.
const WIDE_EXPONENT: i32 = -1;
/// Pairs of weights of a column before that of tap 0.
const BEFORE: usize = 7;

/// `e(x)` as two f32.
fn root(x: f64) -> [f32; 2] {
    let (sin, cos) = (TAU * x).sin_cos();
    [cos as f32, -sin as f32]
}

/// The factors of the butterflies of `points` points, 2, 4, 8 or 16, whose point `n` is multiplied by `e(n x)`: of each
/// distance `d` from half the points to 1, `w^d e(i d / points)` with `w = e(x)`, for the first half of the transforms'
/// points `i`, of which there is at least one.
fn twiddles(points: usize, x: f64) -> Vec<[f32; 2]> {
    let mut all = Vec::new();
    let mut distance = points / 2;
    while distance > 0 {
        let transform = points / (2 * distance);
        let factor = |i: usize| distance as f64 * (x + i as f64 / points as f64);
        all.extend((0..transform.div_ceil(2)).map(|i| root(factor(i))));
        distance /= 2;
    }
    all
}

/// The twiddles of 16 points in pairs.
fn pairs(x: f64) -> impl Iterator<Item = [f32; 4]> {
    let all = twiddles(16, x);
    (0..all.len() / 2).map(move |i| [all[2 * i][0], all[2 * i][1], all[2 * i + 1][0], all[2 * i + 1][1]])
}

/// Twiddles of 16 points of each of `rows` rows, `[k][4]`: `w = e(k / (16 rows))`.
fn of_rows(rows: usize) -> Vec<[f32; 4]> {
    (0..rows).flat_map(|k| pairs(k as f64 / (16 * rows) as f64)).collect()
}

/// Twiddles of the 16 points between the kernels, `[k1][4]` for `k1 < R`; none where there is no such digit.
pub fn middle(shape: &Shape) -> Vec<[f32; 4]> {
    if shape.middle() > 1 { of_rows(shape.radix()) } else { Vec::new() }
}

/// Twiddles of the first 16 points of a row, `[k1][4]` for `k1 < R D`.
pub fn first(shape: &Shape) -> Vec<[f32; 4]> {
    of_rows(shape.all_rows())
}

/// Twiddles of the second 16 points of a row of three transforms, `[k][4]` for `k < 16 R D`. Else a single entry that
/// is not read.
pub fn second(shape: &Shape) -> Vec<[f32; 4]> {
    if shape.has_second() { of_rows(16 * shape.all_rows()) } else { vec![[0.0; 4]] }
}

/// Twiddles of the last `L` points of a row, `[k][L / 2]` for `k < N / L`: `w = e(k / N)`.
pub fn last(shape: &Shape) -> Vec<[f32; 2]> {
    let (channels, points) = (shape.channels(), shape.last());
    (0..channels / points).flat_map(|k| twiddles(points, k as f64 / channels as f64)).collect()
}

/// Roots of the step from a complex to a real transform, `e(k / (2 N))` for `k` of 0 to `N`.
pub fn roots(shape: &Shape) -> Vec<[f32; 2]> {
    let channels = shape.channels();
    (0..=channels).map(|k| root(k as f64 / (2 * channels) as f64)).collect()
}

/// Weights of taps as the first kernel reads them.
///
/// Of a column and a place `d`, `high(d)` is a word of two f16, the weights of taps `d` (in the low half) and `d + 1`,
/// 0 where there is no such tap; `low(d)` is what is left of them, as two f16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// `[column][q][e % 2][e / 2]`, `q < m` and `e < 16`: `high(d), high(d + 8), low(d), low(d + 8)` with `d = 16 q +
    /// e - 7`.
    pub pairs: Vec<[u32; 4]>,
    /// `[column][e % 2][e / 2]`, `e < 16`: `high(d), low(d)` with `d = 16 m + e - 7`.
    pub tails: Vec<[u32; 2]>,
    /// The power of two that they are multiplied by.
    pub exponent: i32,
}

/// Weights of columns for up to `16 m` taps, multiplied by a power of two that brings the largest to [2^9, 2^10).
///
/// # Precision
/// Weights are off by 2^-23 of the largest one at most.
pub fn weights(weights: &[f64], step: usize, m: usize) -> Weights {
    let exponent = exponent_to(weights, EXPONENT);
    let scale = 2f64.powi(exponent);
    let taps = weights.len() / step;
    let (mut pairs, mut tails) = (Vec::with_capacity(step * 16 * m), Vec::with_capacity(step * 16));
    for column in 0..step {
        let split = |place: usize| {
            let tap = place.checked_sub(BEFORE).filter(|&tap| tap < taps);
            let weight = tap.map_or(0.0, |tap| scale * weights[tap * step + column]);
            let high = f16::from_f64(weight);
            [high, f16::from_f64(weight - high.to_f64())].map(|part| u32::from(part.to_bits()))
        };
        // From 7 places before tap 0 on.
        let halves: Vec<_> = (0..16 * m + 17).map(split).collect();
        let word = |place: usize, part: usize| halves[place][part] | halves[place + 1][part] << 16;
        let entry = |e: usize| [word(e, 0), word(e + 8, 0), word(e, 1), word(e + 8, 1)];
        // Even entries are before odd ones.
        let at = |place: usize| place / 16 * 16 + place % 8 * 2 + place / 8 % 2;
        pairs.extend((0..16 * m).map(|place| entry(at(place))));
        tails.extend((16 * m..16 * m + 16).map(|place| [word(at(place), 0), word(at(place), 1)]));
    }
    Weights { pairs, tails, exponent }
}

/// Weights of columns of wide samples for up to `16 m` taps, multiplied by a power of two that brings the largest to
/// [1/2, 1).
///
/// `[column][step][7 + d]`, `step <= 2 m`: words of two tf32, the weights of taps `8 step + d` and 4 further on, and
/// what is left of both, as tf32. `tails` is a single entry that is not read.
///
/// # Precision
/// Weights are off by 2^-23 of themselves at most.
pub fn wide_weights(weights: &[f64], step: usize, m: usize) -> Weights {
    let exponent = wide_exponent(weights);
    let scale = 2f64.powi(exponent);
    let taps = weights.len() / step;
    let mut pairs = Vec::with_capacity(step * 16 * (2 * m + 1));
    for column in 0..step {
        let split = |place: usize| {
            let tap = place.checked_sub(BEFORE).filter(|&tap| tap < taps);
            let weight = tap.map_or(0.0, |tap| scale * weights[tap * step + column]);
            let high = tf32(weight);
            [high, tf32(weight - f64::from(f32::from_bits(high)))]
        };
        // From 7 places before tap 0 on.
        let halves: Vec<_> = (0..16 * m + 20).map(split).collect();
        let entry = |e: usize| [halves[e][0], halves[e + 4][0], halves[e][1], halves[e + 4][1]];
        pairs.extend((0..=2 * m).flat_map(|step| (8 * step..8 * step + 16).map(entry)));
    }
    Weights { pairs, tails: vec![[0; 2]], exponent }
}

/// The power of two that brings weights to where [`wide_weights`] has them.
pub(super) fn wide_exponent(weights: &[f64]) -> i32 {
    exponent_to(weights, WIDE_EXPONENT)
}

/// The nearest tf32 in the high bits of a word, of an f32's magnitude.
fn tf32(value: f64) -> u32 {
    (value as f32).to_bits().wrapping_add(0x1000) & 0xffff_e000
}

/// The power of two that brings the largest magnitude of weights to `[2^to, 2^(to + 1))`.
fn exponent_to(weights: &[f64], to: i32) -> i32 {
    let largest = weights.iter().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
    if largest > 0.0 { to - binary_exponent(largest) } else { 0 }
}

/// Exponent of the largest power of two that is no larger than a positive number, 0 where it has none.
pub(super) fn exponent_below(value: f64) -> i32 {
    if value.is_finite() { binary_exponent(value) } else { 0 }
}

/// Exponent of the largest power of two that is no larger, at least -1000.
fn binary_exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) as i32 - 1023).max(-1000)
}

/// Gains of an input by channel, times `scale`.
pub fn gains(shape: &Shape, scale: f64, gain: impl Fn(usize) -> Complex64) -> Vec<[f32; 2]> {
    let scaled = |channel| {
        let gain = scale * gain(channel);
        [gain.re as f32, gain.im as f32]
    };
    (0..shape.channels()).map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use fringes_reference::dft::root_of_unity;

    use super::super::fast_samples::FastSamples;
    use super::super::first::First;
    use super::*;

    /// The numbers of channels of all sizes of rows.
    const CHANNELS: [usize; 17] =
        [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 192, 320, 768, 1536, 3072, 12_288];

    fn complex(pair: [f32; 2]) -> Complex64 {
        Complex64::new(pair[0].into(), pair[1].into())
    }

    /// `sum_n w^n x[n] e(n k / points)` by twos with the factors of [`twiddles`].
    fn butterflies(x: &[Complex64], factors: &[[f32; 2]]) -> Vec<Complex64> {
        let points = x.len();
        let mut transforms: Vec<Vec<Complex64>> = x.iter().map(|&x| vec![x]).collect();
        let mut factors = factors.iter();
        while transforms.len() > 1 {
            let (apart, length) = (transforms.len() / 2, transforms[0].len());
            let given: Vec<_> = factors.by_ref().take(length.div_ceil(2)).map(|&pair| complex(pair)).collect();
            // The other half is a quarter turn on.
            let factor = |k: usize| {
                if k < given.len() { given[k] } else { given[k - given.len()] * Complex64::new(0.0, -1.0) }
            };
            transforms = (0..apart)
                .map(|n| {
                    let (a, b) = (&transforms[n], &transforms[n + apart]);
                    let half = |sign: f64| (0..length).map(move |k| a[k] + sign * factor(k) * b[k]);
                    half(1.0).chain(half(-1.0)).collect()
                })
                .collect();
        }
        assert!(factors.next().is_none() && transforms[0].len() == points);
        transforms.remove(0)
    }

    fn unpaired(table: &[[f32; 4]], entry: usize) -> Vec<[f32; 2]> {
        table[4 * entry..][..4].iter().flat_map(|four| [[four[0], four[1]], [four[2], four[3]]]).collect()
    }

    /// The transforms of a row: of the points `sum_n1 z e(n1 k1 / R)`, channels `k1 + R k2`.
    fn row(shape: &Shape, row: &[Complex64], k1: usize) -> Vec<Complex64> {
        let (radix, factors, least) = (shape.all_rows(), last(shape), shape.last());
        let end = |points: &[Complex64], k: usize| butterflies(points, &factors[k * least / 2..][..least / 2]);
        let inner = shape.rows() / 16;
        let pick = |n: usize| (0..16).map(move |m| row[inner * m + n]).collect::<Vec<_>>();
        let starts: Vec<_> = (0..inner).map(|n| butterflies(&pick(n), &unpaired(&first(shape), k1))).collect();
        let mut out = vec![Complex64::default(); shape.rows()];
        for a in 0..16 {
            let points: Vec<_> = starts.iter().map(|start| start[a]).collect();
            let k = k1 + radix * a;
            if !shape.has_second() {
                for (b, value) in end(&points, k).into_iter().enumerate() {
                    out[a + 16 * b] = value;
                }
                continue;
            }
            let second = second(shape);
            let seconds: Vec<_> = (0..least)
                .map(|n| {
                    let points: Vec<_> = (0..16).map(|m| points[least * m + n]).collect();
                    butterflies(&points, &unpaired(&second, k))
                })
                .collect();
            for b in 0..16 {
                let points: Vec<_> = seconds.iter().map(|second| second[b]).collect();
                for (c, value) in end(&points, k + 16 * radix * b).into_iter().enumerate() {
                    out[a + 16 * b + 256 * c] = value;
                }
            }
        }
        out
    }

    fn all_shapes() -> impl Iterator<Item = Shape> {
        let usual = CHANNELS.into_iter().map(Shape::new);
        usual.chain([8192, 65_536].map(Shape::long)).map(Option::unwrap)
    }

    #[test]
    fn transforms_with_the_tables_are_the_transform() {
        for shape in all_shapes() {
            let channels = shape.channels();
            let (radix, first_rows, rows) = (shape.radix(), shape.first_rows(), shape.rows());
            let all_rows = shape.all_rows();
            // Points of magnitude 1 with phases that no small transform makes alike.
            let x: Vec<_> =
                (0..channels as u64).map(|n| root_of_unity(n * n * 3 + 7 * n, channels as u64 - 1)).collect();
            for k1 in [0, 1, radix - 1, all_rows - 1] {
                let column = |n2| (0..radix).map(move |n1| (n1, n2));
                let points: Vec<_> = (0..first_rows)
                    .map(|n2| {
                        let turned =
                            |(n1, n2)| x[first_rows * n1 + n2] * root_of_unity((n1 * k1) as u64, radix as u64).conj();
                        column(n2).map(turned).sum::<Complex64>()
                    })
                    .collect();
                // The digit between: of the points n3, N' apart, value k1 / R.
                let between = |n3: usize| {
                    let points: Vec<_> = (0..shape.middle()).map(|i| points[rows * i + n3]).collect();
                    if points.len() == 1 {
                        return points[0];
                    }
                    butterflies(&points, &unpaired(&middle(&shape), k1 % radix))[k1 / radix]
                };
                let points: Vec<_> = (0..rows).map(between).collect();
                let made = row(&shape, &points, k1);
                for k2 in [0, 1, 15, 16, 17, rows / 2 - 1, rows - 1] {
                    let k = (k1 + all_rows * k2) as u64;
                    let turned = |(n, x): (usize, &Complex64)| x * root_of_unity(n as u64 * k, channels as u64).conj();
                    let expected: Complex64 = x.iter().enumerate().map(turned).sum();
                    // Each of up to 12 factors is off by 2^-24 at most.
                    let bound = 12.0 * 2f64.powi(-24) * channels as f64;
                    let error = (made[k2] - expected).norm();
                    assert!(error < bound, "{channels} channels, {k}: {error}");
                }
            }
        }
    }

    #[test]
    fn twiddles_are_in_the_order_of_the_kernels() {
        let w = 0.01;
        let (w1, eighth) = (w, 1.0 / 8.0);
        let expected =
            [8.0 * w1, 4.0 * w1, 2.0 * w1, 2.0 * w1 + eighth, w1, w1 + eighth / 2.0, w1 + eighth, w1 + 1.5 * eighth];
        assert_eq!(twiddles(16, w), expected.map(root));
        assert_eq!(twiddles(8, w), [4.0 * w, 2.0 * w, w, w + eighth].map(root));
        assert_eq!(twiddles(4, w), [2.0 * w, w].map(root));
        assert_eq!(twiddles(2, w), [root(w)]);
    }

    #[test]
    fn sizes_are_those_that_the_kernels_ask_for() {
        for shape in all_shapes() {
            let channels = shape.channels();
            assert_eq!(first(&shape).len(), 4 * shape.all_rows());
            assert_eq!(middle(&shape).len(), if shape.middle() > 1 { 4 * shape.radix() } else { 0 });
            assert_eq!(second(&shape).len(), if shape.has_second() { 64 * shape.all_rows() } else { 1 });
            assert_eq!(last(&shape).len(), channels / 2);
            assert_eq!(roots(&shape).len(), channels + 1);
        }
    }

    #[test]
    fn roots_lead_from_a_complex_transform_to_a_real_one() {
        let shape = Shape::new(256).unwrap();
        let channels = 256;
        let x: Vec<f64> = (0..2 * channels).map(|n| ((n * n) as f64 * 0.01).sin()).collect();
        let transform = |k: usize| -> Complex64 {
            let turned =
                |n| Complex64::new(x[2 * n], x[2 * n + 1]) * root_of_unity((n * k) as u64, channels as u64).conj();
            (0..channels).map(turned).sum()
        };
        for k in [0, 1, 100, 128, 255] {
            let (a, b) = (transform(k), transform(channels - k).conj());
            let made = 0.5 * ((a + b) + complex(roots(&shape)[k]) * (a - b) * Complex64::new(0.0, -1.0));
            let turned = |n: usize| x[n] * root_of_unity((n * k) as u64, 2 * channels as u64).conj();
            let expected: Complex64 = (0..2 * channels).map(turned).sum();
            // The root is off by 2^-24 at most, what it turns is no larger than the sum of all magnitudes.
            assert!((made - expected).norm() < 2f64.powi(-24) * 2.0 * channels as f64, "{k}: {made} {expected}");
        }
    }

    #[test]
    fn weights_are_split_in_two_and_pairs_follow_each_other() {
        let (step, m) = (3, 2);
        for taps in [5, 16, 17, 32] {
            let weight = |i: usize| 0.3 * (i as f64 * 0.7).cos() / f64::from(1 << (i % 9));
            let given: Vec<f64> = (0..step * taps).map(weight).collect();
            let made = weights(&given, step, m);
            // 0.3 is in [2^-2, 2^-1).
            assert_eq!((made.pairs.len(), made.tails.len(), made.exponent), (step * 32, step * 16, 11));
            let check = |column: usize, place: i32, high: u32, low: u32| {
                for (tap, shift) in [(place, 0), (place + 1, 16)] {
                    let [high, low] = [high, low].map(|word| f16::from_bits((word >> shift) as u16).to_f64());
                    if (0..taps as i32).contains(&tap) {
                        let exact = 2048.0 * given[tap as usize * step + column];
                        // Half a step of an f16 of up to 1/4.
                        assert!((high + low - exact).abs() <= 2f64.powi(-14), "{column} {tap}: {high} {low} {exact}");
                        assert!(low.abs() <= 0.25);
                    } else {
                        assert_eq!((high, low), (0.0, 0.0), "{column} {tap}");
                    }
                }
            };
            for column in 0..step {
                for e in 0..16 {
                    for q in 0..m {
                        let [high, high_8, low, low_8] = made.pairs[(column * m + q) * 16 + e % 2 * 8 + e / 2];
                        let place = (16 * q + e) as i32 - 7;
                        check(column, place, high, low);
                        check(column, place + 8, high_8, low_8);
                    }
                    let [high, low] = made.tails[column * 16 + e % 2 * 8 + e / 2];
                    check(column, (16 * m + e) as i32 - 7, high, low);
                }
            }
        }
    }

    #[test]
    fn wide_weights_are_split_in_two_and_four_apart() {
        for (taps, m) in [(1, 1), (5, 1), (16, 1), (17, 2), (32, 2)] {
            let (step, weight) = (3, |i: usize| 0.3 * (i as f64 * 0.7).cos() / f64::from(1 << (i % 9)));
            let given: Vec<f64> = (0..step * taps).map(weight).collect();
            let made = wide_weights(&given, step, m);
            assert_eq!((made.pairs.len(), made.tails.len()), (step * 16 * (2 * m + 1), 1));
            let scale = 2f64.powi(made.exponent);
            for (index, words) in made.pairs.iter().enumerate() {
                let (column, place) = (index / (16 * (2 * m + 1)), index / 16 % (2 * m + 1) * 8 + index % 16);
                for (ahead, part) in [(0, 0), (4, 1)] {
                    let tap = (place + ahead) as i32 - 7;
                    let [high, low] = [words[part], words[part + 2]];
                    assert_eq!((high | low) & 0x1fff, 0, "bits that tf32 has not");
                    let [high, low] = [high, low].map(|word| f64::from(f32::from_bits(word)));
                    let tap = usize::try_from(tap).ok().filter(|&tap| tap < taps);
                    let exact = tap.map_or(0.0, |tap| scale * given[tap * step + column]);
                    assert!(
                        (high + low - exact).abs() <= 2f64.powi(-23) * exact.abs(),
                        "{index}: {high} {low} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn weights_of_any_scale_are_brought_to_the_same() {
        for (largest, exponent) in [(1.0, 9), (0.999, 10), (2.0, 8), (1e-30, 109), (3.4e38, -118), (0.0, 0)] {
            let made = weights(&[largest, -largest / 3.0], 2, 1);
            assert_eq!(made.exponent, exponent, "{largest}");
            // That of tap 0 alone: entry 7.
            let value = f16::from_bits(made.pairs[11][0] as u16).to_f64();
            assert!(largest == 0.0 || (512.0..=1024.0).contains(&value), "{value}");
            let shape = Shape::new(256).unwrap();
            let scale = First::Products(FastSamples::Real { bits: 10 }).gain_scale(made.exponent);
            let gain = complex(gains(&shape, scale, |_| Complex64::new(0.0, 4.0))[200]);
            assert!((gain.im * 2f64.powi(made.exponent) - 2.0).abs() < 1e-6 && gain.re == 0.0);
            let made = wide_weights(&[largest, -largest / 3.0], 2, 1);
            let value = f32::from_bits(made.pairs[7][0]);
            assert!(largest == 0.0 || (0.5..=1.0).contains(&value), "{value}");
            let scale = First::Products(FastSamples::largest(true)).gain_scale(made.exponent);
            assert_eq!(scale * 2f64.powi(made.exponent), 1.0);
        }
    }
}
