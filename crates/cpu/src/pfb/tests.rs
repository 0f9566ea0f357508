//! The filter bank against the reference, to the bound of [`Pfb`].

use fringes_reference::pfb as reference;
use ndarray::{Array2, s};
use num_complex::Complex64;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Half of f32's epsilon.
const U: f64 = f32::EPSILON as f64 / 2.0;

/// A number of channels that has something awkward to it.
fn channels() -> impl Strategy<Value = usize> {
    prop_oneof![
        1..=20usize,
        Just(31),
        Just(37),
        Just(60),
        Just(64),
        Just(65),
        Just(97),
        Just(127),
        Just(192),
        Just(384)
    ]
}

/// The largest prime factor.
fn largest_factor(n: usize) -> usize {
    let is_prime = |n: &usize| (2..*n).all(|d| !n.is_multiple_of(d));
    (2..=n).rev().filter(|factor| n.is_multiple_of(*factor)).find(is_prime).unwrap_or(1)
}

/// `|| a ||`, `a[p] = sum_j |w[j step + p] x[j step + p]|`.
fn magnitude(weights: &[f64], step: usize, window: &[Complex64]) -> f64 {
    let taps = weights.len() / step;
    let column = |p: usize| (0..taps).map(|t| (weights[t * step + p] * window[t * step + p]).norm()).sum::<f64>();
    (0..step).map(|p| column(p).powi(2)).sum::<f64>().sqrt()
}

/// The bound of [`Pfb`] on the 2-norm of the error of one spectrum.
fn bound(weights: &[f64], step: usize, window: &[Complex64], rotated: Option<f64>) -> f64 {
    let (taps, magnitude) = (weights.len() / step, magnitude(weights, step, window));
    let stages = (step as f64).log2() * if largest_factor(step) > 31 { 10.0 } else { 1.0 };
    let rotation = rotated.map_or(0.0, |norm| (2.0 + 2.0 * 5f64.sqrt()) * U * norm);
    U * ((taps + 1) as f64 + 7.0 * stages) * (step as f64).sqrt() * magnitude + rotation
}

#[derive(Debug, Clone)]
struct Case {
    channels: usize,
    complex: bool,
    taps: usize,
    stride: usize,
    inputs: usize,
    times: usize,
    first_sample: u64,
    split: Split,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (channels(), any::<bool>(), 1..=9usize, 1..=4usize, 1..=9usize);
    let split =
        (1..=7usize, 1..=4usize, 1..=3usize).prop_map(|(times, inputs, workers)| Split { times, inputs, workers });
    (shape, 1..=5usize, 0..1000u64, split, any::<u64>()).prop_map(
        |((channels, complex, taps, inputs, times), divide, first_sample, split, seed)| {
            let step = if complex { channels } else { 2 * channels };
            // A stride that divides the step, or one that does not.
            let stride = if step % divide == 0 { step / divide } else { divide };
            Case { channels, complex, taps, stride, inputs, times, first_sample, split, seed }
        },
    )
}

impl Case {
    fn step(&self) -> usize {
        if self.complex { self.channels } else { 2 * self.channels }
    }

    fn samples(&self) -> Array2<Complex<f32>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let length = self.taps * self.step() + (self.times - 1) * self.stride;
        Array2::from_shape_simple_fn((self.inputs, length), || {
            let im = if self.complex { rng.random_range(-1.0..1.0) } else { 0.0 };
            Complex::new(rng.random_range(-1.0..1.0f32), im)
        })
    }

    fn weights(&self) -> Vec<f64> {
        // Hamming: no weight is 0.
        pfb_weights(Window::Hamming, self.taps, self.step(), 1.0).unwrap()
    }

    /// The spectra of an array in blocks of `split`.
    fn run(&self, samples: &Array2<Complex<f32>>, split: &Split) -> Array3<Complex<f32>> {
        let pfb = Pfb::new(self.channels, self.complex, &self.weights());
        let mut out = zeroed_output(self.channels, self.times, self.inputs).unwrap();
        if self.complex {
            channelize_array(&pfb, samples.view(), self.stride, self.first_sample, out.view_mut(), split);
        } else {
            let samples = samples.mapv(|value| value.re);
            channelize_array(&pfb, samples.view(), self.stride, self.first_sample, out.view_mut(), split);
        }
        out
    }
}

/// 2-norm of the difference over the channels of one spectrum.
fn distance(out: &Array3<Complex<f32>>, expected: &Array3<Complex64>, time: usize, input: usize) -> f64 {
    let pairs = out.slice(s![.., time, input]).into_iter().zip(expected.slice(s![.., time, input]));
    pairs.map(|(a, b)| (Complex64::new(a.re.into(), a.im.into()) - b).norm_sqr()).sum::<f64>().sqrt()
}

fn widen(samples: &Array2<Complex<f32>>) -> Array2<Complex64> {
    samples.mapv(|value| Complex64::new(value.re.into(), value.im.into()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn spectra_are_within_the_bound_of_the_reference(case in case()) {
        let (samples, weights) = (case.samples(), case.weights());
        let out = case.run(&samples, &case.split);
        let exact = widen(&samples);
        let expected = if case.complex {
            reference::channelize_complex(exact.view(), &weights, case.channels, case.stride, case.first_sample)
        } else {
            let real = exact.mapv(|value| value.re);
            reference::channelize_real(real.view(), &weights, case.channels, case.stride, case.first_sample)
        };
        prop_assert_eq!(out.dim(), expected.dim());
        for time in 0..case.times {
            for input in 0..case.inputs {
                let window = exact.slice(s![input, time * case.stride..time * case.stride + weights.len()]).to_vec();
                let (error, bound) = (distance(&out, &expected, time, input), bound(&weights, case.step(), &window, None));
                prop_assert!(error <= bound, "{} > {} at {} {}", error, bound, time, input);
            }
        }
    }

    #[test]
    fn the_split_into_blocks_does_not_change_a_bit(case in case()) {
        let samples = case.samples();
        let whole = Split { times: case.times, inputs: case.inputs, workers: 1 };
        prop_assert_eq!(case.run(&samples, &case.split), case.run(&samples, &whole));
    }

    #[test]
    fn delayed_and_turned_spectra_are_within_the_bound_of_the_reference(case in case(), turns in -2.0..2.0, slope in -0.5..0.5) {
        use fringes_reference::pfb::{spectrum_complex, spectrum_real};
        let (samples, weights) = (case.samples(), case.weights());
        let exact = widen(&samples);
        let pfb = Pfb::new(case.channels, case.complex, &weights);
        let last = samples.ncols() - weights.len();
        // Starts jump about, each input on its own; phases differ from spectrum to spectrum.
        let describe = |time: usize, input: usize| SpectrumInput {
            start: ((time * 7 + input * 3) % (last + 1)) as i64,
            shift: (time + case.first_sample as usize) % case.step(),
            rotation: Rotation { turns: turns + time as f64, turns_per_channel: slope / (1 + input) as f64 },
        };
        let mut out = zeroed_output(case.channels, case.times, case.inputs).unwrap();
        if case.complex {
            pfb.channelize(&ArraySource::new(samples.view()), &describe, out.view_mut(), &case.split);
        } else {
            let real = samples.mapv(|value| value.re);
            pfb.channelize(&ArraySource::new(real.view()), &describe, out.view_mut(), &case.split);
        }
        for time in 0..case.times {
            for input in 0..case.inputs {
                let SpectrumInput { start, shift, rotation } = describe(time, input);
                let row = exact.row(input).to_vec();
                let mut spectrum = if case.complex {
                    spectrum_complex(&row, &weights, case.channels, start as usize, shift as u64)
                } else {
                    let row: Vec<f64> = row.iter().map(|value| value.re).collect();
                    spectrum_real(&row, &weights, case.channels, start as usize, shift as u64)
                };
                for (channel, value) in spectrum.iter_mut().enumerate() {
                    let turns = rotation.turns + channel as f64 * rotation.turns_per_channel;
                    *value *= Complex64::from_polar(1.0, std::f64::consts::TAU * turns);
                }
                let norm = spectrum.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt();
                let expected = Array3::from_shape_fn((case.channels, 1, 1), |(channel, _, _)| spectrum[channel]);
                let one = out.slice(s![.., time..time + 1, input..input + 1]).to_owned();
                let bound = bound(&weights, case.step(), &row[start as usize..][..weights.len()], Some(norm));
                let error = distance(&one, &expected, 0, 0);
                prop_assert!(error <= bound, "{} > {} at {} {}", error, bound, time, input);
            }
        }
    }
}

#[test]
fn long_transforms_are_within_the_bound_of_the_reference() {
    // (A prime number of complex channels, 1536, and a power of two; the reference is slow, so few.)
    for (channels, complex) in [(1536, false), (1009, true), (2048, true)] {
        let split = Split { times: 4, inputs: 1, workers: 2 };
        let case =
            Case { channels, complex, taps: 4, stride: 768, inputs: 1, times: 2, first_sample: 3, split, seed: 1 };
        let (samples, weights) = (case.samples(), case.weights());
        let (out, exact) = (case.run(&samples, &split), widen(&samples));
        let expected = if complex {
            reference::channelize_complex(exact.view(), &weights, channels, 768, 3)
        } else {
            reference::channelize_real(exact.mapv(|value| value.re).view(), &weights, channels, 768, 3)
        };
        for time in 0..case.times {
            let window = exact.slice(s![0, time * 768..time * 768 + weights.len()]).to_vec();
            let (error, bound) = (distance(&out, &expected, time, 0), bound(&weights, case.step(), &window, None));
            assert!(error <= bound, "{channels}: {error} > {bound}");
        }
    }
}

#[test]
fn errors_are_no_larger_than_independent_roundings_add_up_to() {
    for (channels, complex, taps) in [(64, false, 16), (60, false, 4), (128, true, 16), (192, true, 1), (512, false, 8)]
    {
        let split = Split { times: 8, inputs: 1, workers: 2 };
        let stride = if complex { channels } else { 2 * channels };
        let case = Case { channels, complex, taps, stride, inputs: 1, times: 20, first_sample: 0, split, seed: 9 };
        let (samples, weights) = (case.samples(), case.weights());
        let (out, exact) = (case.run(&samples, &split), widen(&samples));
        let expected = if complex {
            reference::channelize_complex(exact.view(), &weights, channels, stride, 0)
        } else {
            reference::channelize_real(exact.mapv(|value| value.re).view(), &weights, channels, stride, 0)
        };
        let typical = U * ((taps + 1) as f64 / 3.0 + (stride as f64).log2()).sqrt();
        let squares = (0..case.times).map(|time| {
            let window = exact.slice(s![0, time * stride..time * stride + weights.len()]).to_vec();
            (distance(&out, &expected, time, 0) / ((stride as f64).sqrt() * magnitude(&weights, stride, &window)))
                .powi(2)
        });
        let rms = (squares.sum::<f64>() / case.times as f64).sqrt();
        assert!(rms <= typical, "{channels}: {rms} > {typical}");
    }
}

#[test]
fn samples_outside_the_array_are_zero() {
    let data = Array2::from_shape_fn((1, 10), |(_, time)| Complex::new(1 + time as i16, -1 - time as i16));
    let source = ArraySource::new(data.view());
    for start in [i64::MIN, -13, -5, -1, 0, 4, 9, 10, i64::MAX] {
        let mut out = [9.0; 12];
        source.fill(0, start, &mut out);
        for (index, pair) in out.chunks(2).enumerate() {
            let expected =
                start.checked_add(index as i64).filter(|at| (0..10).contains(at)).map_or(0.0, |at| 1.0 + at as f32);
            assert_eq!(pair, [expected, -expected], "{start} {index}");
        }
    }
}

#[test]
fn code_for_any_machine_is_within_the_bound_of_the_reference() {
    let weights = pfb_weights(Window::Hamming, 5, 120, 1.0).unwrap();
    let mut pfb = Pfb::new(60, false, &weights);
    pfb.weights.fused = false;
    pfb.transform.vectorised = false;
    let split = Split { times: 7, inputs: 1, workers: 1 };
    let case = Case {
        channels: 60,
        complex: false,
        taps: 5,
        stride: 120,
        inputs: 1,
        times: 7,
        first_sample: 0,
        split,
        seed: 2,
    };
    let samples = case.samples();
    let mut out = zeroed_output(60, 7, 1).unwrap();
    channelize_array(&pfb, samples.mapv(|value| value.re).view(), 120, 0, out.view_mut(), &split);
    let exact = widen(&samples);
    let expected = reference::channelize_real(exact.mapv(|value| value.re).view(), &weights, 60, 120, 0);
    for time in 0..7 {
        let window = exact.slice(s![0, time * 120..time * 120 + weights.len()]).to_vec();
        assert!(distance(&out, &expected, time, 0) <= bound(&weights, 120, &window, None));
    }
}

#[test]
fn every_layout_and_format_gives_the_same_spectra() {
    let (channels, weights) = (12, pfb_weights(Window::Hann, 3, 24, 1.0).unwrap());
    let pfb = Pfb::new(channels, false, &weights);
    let split = Split { times: 3, inputs: 2, workers: 2 };
    let bytes = Array2::from_shape_fn((3, 200), |(input, time)| ((input * 71 + time * time * 37) % 255) as u8 as i8);
    let run = |source: &dyn SampleSource| {
        let mut out = zeroed_output(channels, 6, 3).unwrap();
        let describe = |time: usize, _: usize| SpectrumInput { start: 24 * time as i64, ..Default::default() };
        pfb.channelize(source, &describe, out.view_mut(), &split);
        out
    };
    let expected = run(&ArraySource::new(bytes.view()));
    let time_major = bytes.t().as_standard_layout().into_owned();
    assert_eq!(run(&ArraySource::new(time_major.t())), expected);
    assert_eq!(run(&ArraySource::new(bytes.mapv(i16::from).view())), expected);
    assert_eq!(run(&ArraySource::new(bytes.mapv(f32::from).view())), expected);
}

#[test]
fn a_limited_split_stays_within_the_limit_or_is_the_smallest() {
    for channels in [1, 60, 4096] {
        let pfb = Pfb::new(channels, false, &pfb_weights(Window::Hann, 4, 2 * channels, 1.0).unwrap());
        let free = Split::choose(&pfb, 1000, 16, None);
        for limit in [0, Split::smallest_bytes(&pfb), free.bytes(&pfb) / 3, free.bytes(&pfb) - 1, u64::MAX] {
            let split = Split::choose(&pfb, 1000, 16, Some(limit));
            let smallest = Split { times: 1, inputs: 1, workers: 1 };
            assert!(split.bytes(&pfb) <= limit || (split == smallest && limit < Split::smallest_bytes(&pfb)));
        }
        assert_eq!(Split::choose(&pfb, 1000, 16, Some(free.bytes(&pfb))), free);
    }
}

#[test]
fn windows_and_weights_are_those_of_the_reference() {
    use fringes_reference::window as reference;
    let pairs = [
        (Window::Hann, reference::Window::Hann),
        (Window::Hamming, reference::Window::Hamming),
        (Window::Blackman, reference::Window::Blackman),
        (Window::Rect, reference::Window::Rect),
        (Window::Kaiser { beta: 8.6 }, reference::Window::Kaiser { beta: 8.6 }),
    ];
    for (window, expected) in pairs {
        for (taps, step, w_cutoff) in [(1, 2, 1.0), (16, 120, 0.91), (4, 1, 1.0), (3, 7, 0.0)] {
            let weights = pfb_weights(window, taps, step, w_cutoff);
            let expected = reference::pfb_weights(expected, taps, step, w_cutoff);
            match weights {
                Some(weights) => {
                    assert!(weights.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14), "{window:?}")
                }
                // Windows of two weights that are 0 at both ends.
                None => assert!(taps * step == 2 && matches!(window, Window::Hann | Window::Blackman)),
            }
        }
    }
}
