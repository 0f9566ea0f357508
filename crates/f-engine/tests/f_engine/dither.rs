//! Dither through the API: what it does to means and variances, and what it depends on.

use fringes_backend::Backend;
use fringes_channelizer::{Channelizer, Window};
use fringes_f_engine::{FEngineBuilder, f_engine};
use fringes_types::{Complex, Gains, Inputs, Samples};
use ndarray::Array2;

use crate::support::backends;

const CHANNELS: usize = 8;

/// Frames of a constant signal: channel 0 is `level`, its imaginary part and all other channels are 0.
fn constant(backend: &Backend, level: f32, seed: Option<u64>, spectra: usize) -> Vec<Complex<i8>> {
    let inputs = Inputs::new(1, 2).unwrap();
    // One rectangular tap of 16 weights of 1/4: a constant 1 is 4 in channel 0.
    let plan = Channelizer::real(CHANNELS).taps(1).window(Window::Rect).w_cutoff(0.0).build().unwrap();
    let samples = Samples::new(Array2::from_elem((2, 2 * CHANNELS * spectra), 1i8), inputs).unwrap();
    let builder =
        FEngineBuilder::new(plan, inputs).gains(Gains::uniform(level / 4.0).unwrap()).spectra_per_frame(spectra);
    let builder = seed.into_iter().fold(builder, FEngineBuilder::dither);
    let frames = f_engine::<Complex<i8>>(backend, &samples, builder).unwrap().frames.remove(0);
    frames.voltages.into_data().into_raw_vec_and_offset().0
}

/// Mean and variance of the real parts of channel 0.
fn moments(values: &[Complex<i8>], spectra: usize) -> (f64, f64) {
    let parts: Vec<f64> = values[..2 * spectra].iter().map(|value| value.re.into()).collect();
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    (mean, parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / parts.len() as f64)
}

#[test]
fn the_mean_of_dithered_values_is_the_value_and_the_variance_that_of_the_two_integers() {
    let spectra = 20_000;
    for backend in backends() {
        for level in [0.25f32, 0.5, 10.1, -3.7, 100.0] {
            let f = f64::from(level) - f64::from(level).floor();
            let (mean, variance) = moments(&constant(&backend, level, Some(7), spectra), spectra);
            // Between two integers the variance is f (1 - f); five standard deviations of a mean of 40000, and of a
            // variance.
            let expected = f * (1.0 - f);
            assert!((mean - f64::from(level)).abs() < 5.0 * (expected / 40_000.0).sqrt() + 1e-4, "{level}: {mean}");
            assert!(
                (variance - expected).abs() < 5.0 * 0.5 / 40_000f64.sqrt() * (1.0 - 2.0 * f).abs().max(0.01),
                "{variance}"
            );
            // Without dither every value is the nearest integer.
            let (mean, variance) = moments(&constant(&backend, level, None, 100), 100);
            assert_eq!((mean, variance), (f64::from(level.round_ties_even()), 0.0));
        }
    }
}

#[test]
fn values_that_are_zero_stay_zero_and_seeds_give_other_values() {
    for backend in backends() {
        let values = constant(&backend, 10.5, Some(7), 1000);
        assert!(values[2000..].iter().all(|value| *value == Complex::new(0, 0)), "less than a half is added to 0");
        assert!(values[..2000].iter().all(|value| value.im == 0));
        assert_eq!(values, constant(&backend, 10.5, Some(7), 1000), "the same seed");
        let other = constant(&backend, 10.5, Some(8), 1000);
        let same = values[..2000].iter().zip(&other).filter(|(a, b)| a == b).count();
        // Of 2000 pairs of independent bits half agree, within five standard deviations.
        assert!((same as f64 - 1000.0).abs() < 5.0 * 500f64.sqrt(), "{same}");
        // The two inputs have dithers of their own.
        let (pairs, _) = values[..2000].as_chunks::<2>();
        let same = pairs.iter().filter(|[a, b]| a == b).count();
        assert!((same as f64 - 500.0).abs() < 5.0 * 250f64.sqrt(), "{same}");
    }
}
