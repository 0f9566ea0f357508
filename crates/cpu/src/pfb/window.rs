//! Window functions and the prototype filter of a polyphase filter bank, in f64.
//!
//! A filter of `taps` taps of `step` samples has `taps * step` weights; tap `t` is weights `t step .. (t + 1) step`.

use std::f64::consts::PI;

/// Window over the whole prototype filter, `i = 0 .. L` of `L = taps * step` weights. A window of one weight is 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Window {
    /// `sin^2(pi i / (L - 1))`.
    #[default]
    Hann,
    /// `0.54 - 0.46 cos(2 pi i / (L - 1))`.
    Hamming,
    /// `0.42 - 0.5 cos(2 pi i / (L - 1)) + 0.08 cos(4 pi i / (L - 1))`.
    Blackman,
    /// 1.
    Rect,
    /// `I0(beta sqrt(1 - (2 i / (L - 1) - 1)^2)) / I0(beta)`, with I0 the modified Bessel function of order 0.
    Kaiser {
        /// Shape: 0 is rectangular, larger is narrower. Up to 700.
        beta: f64,
    },
}

impl Window {
    /// Value of the window at weight `index` of `length`.
    pub fn value(self, index: usize, length: usize) -> f64 {
        if length <= 1 {
            return 1.0;
        }
        let x = index as f64 / (length - 1) as f64;
        match self {
            Window::Hann => (PI * x).sin().powi(2),
            Window::Hamming => 0.54 - 0.46 * (2.0 * PI * x).cos(),
            Window::Blackman => 0.42 - 0.5 * (2.0 * PI * x).cos() + 0.08 * (4.0 * PI * x).cos(),
            Window::Rect => 1.0,
            Window::Kaiser { beta } => {
                let r = 2.0 * x - 1.0;
                bessel_i0(beta * (1.0 - r * r).max(0.0).sqrt()) / bessel_i0(beta)
            }
        }
    }
}

/// `I0(x) = sum_k ((x/2)^k / k!)^2`; every term is positive, so the sum loses nothing.
fn bessel_i0(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 1.0, 0.0);
    while term > sum * 1e-17 && k < 2000.0 {
        k += 1.0;
        term *= (x / (2.0 * k)).powi(2);
        sum += term;
    }
    sum
}

/// `sin(pi x) / (pi x)`, 1 at 0.
fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Weights `w_i = W_i sinc(w_c ((i + 1/2) / step - taps / 2))` of a PFB, scaled to a sum of squares of 1.
///
/// `None` if the weights vanish (to 1e-12 of a full one) and cannot be scaled.
pub fn pfb_weights(window: Window, taps: usize, step: usize, w_cutoff: f64) -> Option<Vec<f64>> {
    let mut weights = vec![0.0; taps * step];
    fill_pfb_weights(&mut weights, window, taps, step, w_cutoff).then_some(weights)
}

/// Writes the weights of [`pfb_weights`] to `weights`, `taps * step` of them; `false` if they vanish.
pub fn fill_pfb_weights(weights: &mut [f64], window: Window, taps: usize, step: usize, w_cutoff: f64) -> bool {
    let length = weights.len();
    for (i, weight) in weights.iter_mut().enumerate() {
        let x = (i as f64 + 0.5) / step as f64 - taps as f64 / 2.0;
        *weight = window.value(i, length) * sinc(w_cutoff * x);
    }
    let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    if norm <= 1e-12 {
        return false;
    }
    weights.iter_mut().for_each(|w| *w /= norm);
    true
}
