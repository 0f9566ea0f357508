//! Correlation: `V[a][b] = sum_t x_a(t) conj(x_b(t))`.
//!
//! Voltages are `[channel][time][input]`; the sums are `[channel][baseline]`, the packed lower triangle of inputs: the
//! product of inputs `a >= b` is at [`triangle_index`]`(a, b) = a (a + 1) / 2 + b`. For three inputs:
//!
//! | position | 0 | 1 | 2 | 3 | 4 | 5 |
//! |---|---|---|---|---|---|---|
//! | `a, b` | 0,0 | 1,0 | 1,1 | 2,0 | 2,1 | 2,2 |
//!
//! Presence flags are `[time][input]`, true where the voltage is present in all channels. A spectrum counts for a
//! baseline where both inputs are present; elsewhere it adds nothing, whatever the array holds there.

use ndarray::{Array1, Array2, ArrayView2, ArrayView3};
use num_complex::Complex;

type C64 = Complex<f64>;

/// Sums of products and how many spectra each is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation<T> {
    /// The sums `[channel][baseline]`.
    pub sums: Array2<Complex<T>>,
    /// Number of spectra that counted, `[baseline]`.
    pub valid: Array1<u64>,
}

/// Position of the product of inputs `a >= b` in the packed lower triangle.
pub fn triangle_index(a: usize, b: usize) -> usize {
    a * (a + 1) / 2 + b
}

fn is_present(presence: Option<ArrayView2<'_, bool>>, time: usize, input: usize) -> bool {
    presence.is_none_or(|flags| flags[(time, input)])
}

fn valid_samples(times: usize, inputs: usize, presence: Option<ArrayView2<'_, bool>>) -> Array1<u64> {
    let mut valid = Array1::zeros(inputs * (inputs + 1) / 2);
    for a in 0..inputs {
        for b in 0..=a {
            for time in 0..times {
                if is_present(presence, time, a) && is_present(presence, time, b) {
                    valid[triangle_index(a, b)] += 1;
                }
            }
        }
    }
    valid
}

/// `V[a][b] = sum_t x_a(t) conj(x_b(t))` in f64.
///
/// Shapes: `voltages [channel][time][input]`, `presence [time][input]`.
///
/// # Precision
/// One f64 rounding per operation, in order of time: within `(2 T + 1) f64::EPSILON / 2` of `sum_t |x_a| |x_b|` in each
/// part.
///
/// # Panics
/// If the presence flags have fewer times or inputs than the voltages.
pub fn correlate_f64(voltages: ArrayView3<'_, C64>, presence: Option<ArrayView2<'_, bool>>) -> Correlation<f64> {
    let (channels, times, inputs) = voltages.dim();
    let mut sums = Array2::zeros((channels, inputs * (inputs + 1) / 2));
    for channel in 0..channels {
        for a in 0..inputs {
            for b in 0..=a {
                for time in 0..times {
                    if is_present(presence, time, a) && is_present(presence, time, b) {
                        let product = voltages[(channel, time, a)] * voltages[(channel, time, b)].conj();
                        sums[(channel, triangle_index(a, b))] += product;
                    }
                }
            }
        }
    }
    Correlation { sums, valid: valid_samples(times, inputs, presence) }
}

/// `V[a][b] = sum_t x_a(t) conj(x_b(t))` in i64, exact.
///
/// Shapes: `voltages [channel][time][input]`, `presence [time][input]`.
///
/// # Precision
/// Exact for every sum below 2^63: with parts of at most 16 bits, for 2^32 spectra.
///
/// # Panics
/// If the presence flags have fewer times or inputs than the voltages; in builds with overflow checks, if a sum reaches
/// 2^63.
pub fn correlate_int(
    voltages: ArrayView3<'_, Complex<i64>>,
    presence: Option<ArrayView2<'_, bool>>,
) -> Correlation<i64> {
    let (channels, times, inputs) = voltages.dim();
    let mut sums = Array2::zeros((channels, inputs * (inputs + 1) / 2));
    for channel in 0..channels {
        for a in 0..inputs {
            for b in 0..=a {
                for time in 0..times {
                    if is_present(presence, time, a) && is_present(presence, time, b) {
                        let (x, y) = (voltages[(channel, time, a)], voltages[(channel, time, b)]);
                        let product = Complex::new(x.re * y.re + x.im * y.im, x.im * y.re - x.re * y.im);
                        sums[(channel, triangle_index(a, b))] += product;
                    }
                }
            }
        }
    }
    Correlation { sums, valid: valid_samples(times, inputs, presence) }
}

/// [`correlate_int`] of what is not masked: `masked [channel][time]`, for all inputs alike. Each channel has numbers of
/// valid spectra of its own, `[channel][baseline]`.
///
/// # Precision
/// Exact, as there.
///
/// # Panics
/// As there, and if the mask has fewer channels or times than the voltages.
pub fn correlate_masked(
    voltages: ArrayView3<'_, Complex<i64>>,
    presence: Option<ArrayView2<'_, bool>>,
    masked: ArrayView2<'_, bool>,
) -> (Array2<Complex<i64>>, Array2<u64>) {
    let (channels, times, inputs) = voltages.dim();
    let baselines = inputs * (inputs + 1) / 2;
    let (mut sums, mut valid) = (Array2::zeros((channels, baselines)), Array2::zeros((channels, baselines)));
    for channel in 0..channels {
        let flags = Array2::from_shape_fn((times, inputs), |(time, input)| {
            is_present(presence, time, input) && !masked[(channel, time)]
        });
        let one = correlate_int(voltages.slice(ndarray::s![channel..=channel, .., ..]), Some(flags.view()));
        sums.row_mut(channel).assign(&one.sums.row(0));
        valid.row_mut(channel).assign(&one.valid);
    }
    (sums, valid)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use ndarray::Array3;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// `2^-53`: what one f64 operation may be off, relatively.
    const UNIT: f64 = f64::EPSILON / 2.0;

    fn noise(generator: &mut Xoshiro256PlusPlus) -> C64 {
        let mut part = || -> f64 { StandardNormal.sample(generator) };
        // Unit power: each part has variance 1/2.
        C64::new(part(), part()) * 0.5f64.sqrt()
    }

    fn noise_voltages(channels: usize, times: usize, inputs: usize) -> Array3<C64> {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
        Array3::from_shape_simple_fn((channels, times, inputs), || noise(&mut generator))
    }

    #[test]
    fn a_tone_seen_with_phases_gives_their_differences() {
        // x_a(t) = A_a exp(i (w t + p_a)): V_ab = T A_a A_b exp(i (p_a - p_b)), whatever w is.
        let times = 1000;
        let (amplitudes, phases) = ([1.0, 0.5, 2.0], [0.3, -1.1, 2.5]);
        let x = Array3::from_shape_fn((1, times, 3), |(_, time, input)| {
            C64::from_polar(amplitudes[input], 0.7 * time as f64 + phases[input])
        });
        let v = correlate_f64(x.view(), None);
        for a in 0..3 {
            for b in 0..=a {
                let scale = times as f64 * amplitudes[a] * amplitudes[b];
                let expected = C64::from_polar(scale, phases[a] - phases[b]);
                let error = (v.sums[(0, triangle_index(a, b))] - expected).norm();
                // The sum's bound in two parts; `0.7 t + p` rounds by up to 704 UNIT radians in each voltage, and
                // `from_polar` by a few UNIT.
                let bound = scale * UNIT * (2.0 * (2.0 * times as f64 + 1.0) + 2.0 * 704.0 + 16.0);
                assert!(error <= bound, "{a} {b}: {error:e} > {bound:e}");
            }
        }
        assert_eq!(v.valid.to_vec(), [times as u64; 6]);
    }

    #[test]
    fn autocorrelation_is_the_power_and_real() {
        let x = noise_voltages(2, 300, 3);
        let v = correlate_f64(x.view(), None);
        for channel in 0..2 {
            for a in 0..3 {
                let power: f64 = (0..300).map(|time| x[(channel, time, a)].norm_sqr()).sum();
                let sum = v.sums[(channel, triangle_index(a, a))];
                assert!((sum.re - power).abs() <= 2.0 * 601.0 * UNIT * power);
                assert_eq!(sum.im, 0.0);
            }
        }
    }

    #[test]
    fn swapping_two_inputs_conjugates_their_product() {
        let x = noise_voltages(1, 64, 2);
        let mut swapped = x.clone();
        swapped.invert_axis(ndarray::Axis(2));
        let (v, w) = (correlate_f64(x.view(), None), correlate_f64(swapped.view(), None));
        assert_eq!(v.sums[(0, 1)], w.sums[(0, 1)].conj());
        assert_eq!(v.sums[(0, 0)], w.sums[(0, 2)]);
    }

    #[test]
    fn correlation_is_sesquilinear() {
        // Scaling x_1 by g scales V_10 by g and V_21 by conj(g).
        let x = noise_voltages(1, 50, 3);
        let gain = C64::new(0.0, 2.0); // exact in floating point
        let mut scaled = x.clone();
        scaled.index_axis_mut(ndarray::Axis(2), 1).mapv_inplace(|value| value * gain);
        let (v, w) = (correlate_f64(x.view(), None), correlate_f64(scaled.view(), None));
        let bound = 4.0 * 101.0 * UNIT * 100.0 * 2.0;
        assert!((w.sums[(0, triangle_index(1, 0))] - gain * v.sums[(0, triangle_index(1, 0))]).norm() < bound);
        assert!((w.sums[(0, triangle_index(2, 1))] - gain.conj() * v.sums[(0, triangle_index(2, 1))]).norm() < bound);
        assert_eq!(v.sums[(0, triangle_index(2, 0))], w.sums[(0, triangle_index(2, 0))]);
    }

    #[test]
    fn coherence_of_a_common_signal_in_noise_is_its_share_of_the_power() {
        // x_a = s + n_a with powers 1 and 3: coherence 1/4 between inputs; between noise alone it is 0 +- 1/sqrt(T).
        let times = 20_000;
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut x = Array3::zeros((1, times, 3));
        for time in 0..times {
            let signal = noise(&mut generator);
            x[(0, time, 0)] = signal + 3f64.sqrt() * noise(&mut generator);
            x[(0, time, 1)] = signal + 3f64.sqrt() * noise(&mut generator);
            x[(0, time, 2)] = 2.0 * noise(&mut generator);
        }
        let v = correlate_f64(x.view(), None);
        let power = |a| v.sums[(0, triangle_index(a, a))].re;
        let coherence = |a: usize, b: usize| v.sums[(0, triangle_index(a, b))] / (power(a) * power(b)).sqrt();
        let sigma = 1.0 / (times as f64).sqrt();
        assert!((coherence(1, 0) - 0.25).norm() < 4.0 * sigma, "{}", coherence(1, 0));
        assert!(coherence(2, 0).norm() < 4.0 * sigma, "{}", coherence(2, 0));
    }

    #[test]
    fn the_fringe_slope_gives_the_delay_back() {
        // Input 1 receives input 0's channelised noise later by d samples of the band: x_1k = x_0k exp(-2 pi i f_k d),
        // so V_10 at f_k turns by -f_k d: the slope over channels is -d turns per cycle-per-sample.
        let (channels, times, delay) = (32, 50, 3.25);
        let source = noise_voltages(channels, times, 1);
        let frequency = |channel: usize| channel as f64 / channels as f64;
        let x = Array3::from_shape_fn((channels, times, 2), |(channel, time, input)| {
            let turns = if input == 1 { -frequency(channel) * delay } else { 0.0 };
            source[(channel, time, 0)] * C64::from_polar(1.0, TAU * turns)
        });
        let v = correlate_f64(x.view(), None);
        for channel in 1..channels {
            let step = v.sums[(channel, 1)] * v.sums[(channel - 1, 1)].conj();
            let slope = step.arg() / TAU * channels as f64;
            // The phase of each sum is off by at most its relative error, twice; slope scales it by N / 2 pi.
            let bound = 8.0 * (2.0 * times as f64 + 8.0) * UNIT * channels as f64;
            assert!((slope + delay).abs() < bound, "{channel}: {slope}");
        }
    }

    #[test]
    fn absent_inputs_count_for_no_baseline_of_theirs() {
        let x = Array3::from_shape_fn((1, 4, 2), |(_, time, input)| C64::new((time + 1) as f64, input as f64));
        let mut presence = Array2::from_elem((4, 2), true);
        presence[(1, 0)] = false;
        presence[(3, 1)] = false;
        let mut garbage = x.clone();
        garbage[(0, 1, 0)] = C64::new(f64::NAN, f64::INFINITY);
        let v = correlate_f64(garbage.view(), Some(presence.view()));
        assert_eq!(v.valid.to_vec(), [3, 2, 3]);
        // V_00 over times 0, 2, 3: 1 + 9 + 16; V_10 over 0, 2: sum (t+1)(t+1 + i); V_11 over 0, 1, 2: sum (t+1)^2 + 1.
        assert_eq!(v.sums.row(0).to_vec(), [C64::from(26.0), C64::new(10.0, 4.0), C64::from(17.0)]);
    }

    #[test]
    fn integer_sums_are_the_float_sums_where_both_are_exact() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut part = || {
            let value: f64 = StandardNormal.sample(&mut generator);
            (40.0 * value).clamp(-127.0, 127.0).round() as i64
        };
        let x = Array3::from_shape_simple_fn((2, 97, 5), || Complex::new(part(), part()));
        let presence = Array2::from_shape_fn((97, 5), |(time, input)| (time * 7 + input * 3) % 5 != 0);
        let floats = x.mapv(|value| C64::new(value.re as f64, value.im as f64));
        for presence in [None, Some(presence.view())] {
            let exact = correlate_int(x.view(), presence);
            let float = correlate_f64(floats.view(), presence);
            assert_eq!(exact.sums.mapv(|value| C64::new(value.re as f64, value.im as f64)), float.sums);
            assert_eq!(exact.valid, float.valid);
        }
    }

    #[test]
    fn masked_spectra_count_in_no_baseline_of_their_channel() {
        let x = Array3::from_shape_fn((2, 4, 2), |(_, time, input)| Complex::new(time as i64 + 1, input as i64));
        let mut presence = Array2::from_elem((4, 2), true);
        presence[(3, 1)] = false;
        let masked = ndarray::array![[true, false, false, true], [false; 4]];
        let (sums, valid) = correlate_masked(x.view(), Some(presence.view()), masked.view());
        assert_eq!(valid, ndarray::array![[2, 2, 2], [4, 3, 3]]);
        assert_eq!(sums[(0, 0)], Complex::from(4 + 9));
        assert_eq!(sums.row(1), correlate_int(x.view(), Some(presence.view())).sums.row(1));
    }

    #[test]
    fn no_time_gives_zeros() {
        let v = correlate_int(Array3::zeros((3, 0, 2)).view(), None);
        assert_eq!(v.sums, Array2::zeros((3, 3)));
        assert_eq!(v.valid.to_vec(), [0, 0, 0]);
    }
}
