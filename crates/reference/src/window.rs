//! Windows, and the prototype filter of a polyphase filter bank.
//!
//! The filter of `taps` taps of `step` samples has `L = taps step` weights, `i = 0 .. L`.

use std::f64::consts::PI;

/// A window `W_i`, `i = 0 .. L`. A window of one weight is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Window {
    /// `sin^2(pi i / (L - 1))`.
    Hann,
    /// `0.54 - 0.46 cos(2 pi i / (L - 1))`.
    Hamming,
    /// `0.42 - 0.5 cos(2 pi i / (L - 1)) + 0.08 cos(4 pi i / (L - 1))`.
    Blackman,
    /// 1.
    Rect,
    /// `I0(beta sqrt(1 - (2 i / (L - 1) - 1)^2)) / I0(beta)`.
    Kaiser {
        /// Shape; 0 is rectangular.
        beta: f64,
    },
}

/// The modified Bessel function `I0(x) = sum_k ((x / 2)^k / k!)^2`.
pub fn bessel_i0(x: f64) -> f64 {
    let mut sum = 1.0;
    let mut term = 1.0;
    for k in 1..1000 {
        term *= x / (2 * k) as f64;
        sum += term * term;
    }
    sum
}

/// `W_i` of a window of `length` weights.
pub fn window_value(window: Window, i: usize, length: usize) -> f64 {
    if length == 1 {
        return 1.0;
    }
    let last = (length - 1) as f64;
    let i = i as f64;
    match window {
        Window::Hann => (PI * i / last).sin().powi(2),
        Window::Hamming => 0.54 - 0.46 * (2.0 * PI * i / last).cos(),
        Window::Blackman => 0.42 - 0.5 * (2.0 * PI * i / last).cos() + 0.08 * (4.0 * PI * i / last).cos(),
        Window::Rect => 1.0,
        Window::Kaiser { beta } => {
            bessel_i0(beta * (1.0 - (2.0 * i / last - 1.0).powi(2)).max(0.0).sqrt()) / bessel_i0(beta)
        }
    }
}

/// `sin(pi x) / (pi x)`, and 1 at 0.
pub fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// `w_i = W_i sinc(w_c ((i + 1/2) / step - taps / 2))`, scaled so that the sum of squares is 1.
pub fn pfb_weights(window: Window, taps: usize, step: usize, w_cutoff: f64) -> Vec<f64> {
    let mut weights = Vec::new();
    for i in 0..taps * step {
        let x = (i as f64 + 0.5) / step as f64 - taps as f64 / 2.0;
        weights.push(window_value(window, i, taps * step) * sinc(w_cutoff * x));
    }
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    for w in &mut weights {
        *w /= squares.sqrt();
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: [Window; 5] =
        [Window::Hann, Window::Hamming, Window::Blackman, Window::Rect, Window::Kaiser { beta: 8.6 }];

    #[test]
    fn windows_take_their_closed_forms_at_the_ends_quarter_and_middle() {
        // At i / (L - 1) = 0, 1/4, 1/2 the cosines are 1, 0, -1 and 1, -1, 1.
        for (window, expected) in [
            (Window::Hann, [0.0, 0.5, 1.0]),
            (Window::Hamming, [0.08, 0.54, 1.0]),
            (Window::Blackman, [0.0, 0.34, 1.0]),
            (Window::Rect, [1.0, 1.0, 1.0]),
        ] {
            for (quarter, expected) in expected.into_iter().enumerate() {
                let value = window_value(window, quarter * 16, 65);
                assert!((value - expected).abs() < 1e-15, "{window:?} {quarter}: {value}");
            }
        }
    }

    #[test]
    fn bessel_i0_is_its_integral() {
        // I0(x) = 1/pi int_0^pi exp(x cos a) da; the trapezoid rule converges geometrically for a periodic integrand.
        for x in [0.0, 0.1, 1.0, 5.0, 8.6, 20.0, 100.0] {
            let points = 400;
            let sum: f64 = (0..points).map(|i| (x * (PI * (i as f64 + 0.5) / points as f64).cos()).exp()).sum();
            let integral = sum / points as f64;
            assert!((bessel_i0(x) / integral - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn a_kaiser_window_is_1_in_the_middle_and_1_over_i0_at_the_ends_and_rect_for_beta_0() {
        let window = Window::Kaiser { beta: 6.0 };
        assert_eq!(window_value(window, 32, 65), 1.0);
        assert!((window_value(window, 0, 65) - 1.0 / bessel_i0(6.0)).abs() < 1e-15);
        assert!((0..65).all(|i| window_value(Window::Kaiser { beta: 0.0 }, i, 65) == 1.0));
    }

    #[test]
    fn weights_are_symmetric_with_sum_of_squares_1() {
        for window in WINDOWS {
            for (taps, step, w_cutoff) in [(1, 16, 1.0), (4, 7, 1.0), (16, 120, 0.91), (3, 2, 0.0)] {
                let weights = pfb_weights(window, taps, step, w_cutoff);
                let squares: f64 = weights.iter().map(|w| w * w).sum();
                assert!((squares - 1.0).abs() < 1e-14);
                for (a, b) in weights.iter().zip(weights.iter().rev()) {
                    assert!((a - b).abs() < 1e-14, "{window:?} {taps} {step}");
                }
            }
        }
    }

    #[test]
    fn the_sinc_crosses_zero_at_whole_steps_from_the_middle() {
        // With taps = 4 and step = 4 the weights nearest to the middle are at +-1/8 of a step.
        let weights = pfb_weights(Window::Rect, 4, 4, 1.0);
        let x = 1.0 / 8.0;
        let ratio = weights[8 + 4] / weights[8];
        // One step further the sine changes sign and the denominator grows from x to x + 1.
        assert!((ratio + x / (x + 1.0)).abs() < 1e-14, "{ratio}");
        // A cutoff of 1/2 stretches the sinc twofold.
        let stretched = pfb_weights(Window::Rect, 4, 4, 0.5);
        let expected = sinc(0.5 * (1.0 + x)) / sinc(0.5 * x);
        assert!((stretched[12] / stretched[8] - expected).abs() < 1e-14);
    }

    #[test]
    fn one_tap_without_sinc_is_the_window() {
        assert!(pfb_weights(Window::Rect, 1, 16, 0.0).iter().all(|w| (w - 0.25).abs() < 1e-15));
    }
}
