//! Cross spectra by plain transforms: the oracle of the tests.

use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftPlanner};

/// Averages of products of two inputs' spectra.
pub(crate) struct Averages {
    pub(crate) power_a: Vec<f64>,
    pub(crate) power_b: Vec<f64>,
    pub(crate) cross: Vec<Complex<f64>>,
    pub(crate) frames: usize,
}

impl Averages {
    /// Coherence of bin `k`, whose frequency is `k / length` of the sample rate.
    pub(crate) fn coherence(&self, bin: usize) -> Complex<f64> {
        self.cross[bin] / (self.power_a[bin] * self.power_b[bin]).sqrt()
    }
}

/// Averages over frames of `length` samples under Hann's window, scaled so that white noise of rms 1 has power 1.
pub(crate) fn averages(a: &[f32], b: &[f32], length: usize) -> Averages {
    let plan: Arc<dyn Fft<f64>> = FftPlanner::new().plan_fft_forward(length);
    let window: Vec<f64> =
        (0..length).map(|n| (std::f64::consts::PI * (n as f64 + 0.5) / length as f64).sin().powi(2)).collect();
    let scale: f64 = window.iter().map(|w| w * w).sum();
    let bins = length / 2 + 1;
    let mut sums = Averages {
        power_a: vec![0.0; bins],
        power_b: vec![0.0; bins],
        cross: vec![Complex::default(); bins],
        frames: 0,
    };
    let spectrum = |frame: &[f32]| {
        let mut values: Vec<Complex<f64>> =
            frame.iter().zip(&window).map(|(&x, w)| Complex::new(f64::from(x) * w, 0.0)).collect();
        plan.process(&mut values);
        values
    };
    for (a, b) in a.chunks_exact(length).zip(b.chunks_exact(length)) {
        let (a, b) = (spectrum(a), spectrum(b));
        for bin in 0..bins {
            sums.power_a[bin] += a[bin].norm_sqr();
            sums.power_b[bin] += b[bin].norm_sqr();
            sums.cross[bin] += a[bin] * b[bin].conj();
        }
        sums.frames += 1;
    }
    let scale = 1.0 / (scale * sums.frames as f64);
    sums.power_a.iter_mut().chain(&mut sums.power_b).for_each(|power| *power *= scale);
    sums.cross.iter_mut().for_each(|cross| *cross *= scale);
    sums
}

#[test]
fn a_shift_by_whole_samples_is_a_phase_slope() {
    // The oracle itself: a copy five samples later, of numbers that are no noise of the simulator.
    let mut state = 1u64;
    let noise: Vec<f32> = (0..100_005)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    let sums = averages(&noise[..100_000], &noise[5..], 1000);
    for bin in 1..500 {
        let expected = Complex::cis(-2.0 * std::f64::consts::PI * bin as f64 * 5.0 / 1000.0);
        assert!((sums.coherence(bin) - expected).norm() < 0.02, "{bin}");
    }
}
