//! Designs by Kaiser's window.

use std::f64::consts::{PI, TAU};

use fringes_cpu::pfb::Window;

use super::{DesignError, band};

/// A low-pass filter of `taps` taps: the ideal one of `cutoff` cycles per sample, under Kaiser's window.
///
/// `attenuation_db` decides the window's shape ([`kaiser_beta`]), and is what pass and stop band reach to 3 dB
/// with the taps of Kaiser's formula ([`kaiser_attenuation_db`]). The gain is 1 at 0, and 0.5 at the cutoff.
///
/// # Errors
/// [`DesignError::Taps`] for 0 taps or more than [`MAX_TAPS`](super::MAX_TAPS), [`DesignError::Parameter`] for a cutoff
/// that is not between 0 and 0.5, or an attenuation that is not 0 to 300 dB.
pub fn kaiser(taps: usize, cutoff: f64, attenuation_db: f64) -> Result<Vec<f64>, DesignError> {
    band::check_taps(taps)?;
    if !(cutoff > 0.0 && cutoff < 0.5) {
        let (quantity, expected) = ("cutoff in cycles per sample", "more than 0 and less than 0.5");
        return Err(DesignError::Parameter { quantity, expected, actual: cutoff });
    }
    if !(0.0..=300.0).contains(&attenuation_db) {
        let (quantity, expected) = ("attenuation in dB", "0 to 300");
        return Err(DesignError::Parameter { quantity, expected, actual: attenuation_db });
    }
    let window = Window::Kaiser { beta: kaiser_beta(attenuation_db) };
    let middle = (taps - 1) as f64 / 2.0;
    let mut filter: Vec<f64> = (0..taps)
        .map(|k| {
            let distance = k as f64 - middle;
            // sin(2 pi f t) / (pi t): even in t, so the taps are symmetric to the bit.
            let ideal = if distance == 0.0 { 2.0 * cutoff } else { (TAU * cutoff * distance).sin() / (PI * distance) };
            ideal * window.value(k.min(taps - 1 - k), taps)
        })
        .collect();
    let sum: f64 = filter.iter().sum();
    filter.iter_mut().for_each(|tap| *tap /= sum);
    Ok(filter)
}

/// Kaiser's shape parameter for an attenuation: 0 up to 21 dB, where the rectangular window does.
pub fn kaiser_beta(attenuation_db: f64) -> f64 {
    if attenuation_db > 50.0 {
        0.1102 * (attenuation_db - 8.7)
    } else if attenuation_db > 21.0 {
        let above = attenuation_db - 21.0;
        0.5842 * above.powf(0.4) + 0.07886 * above
    } else {
        0.0
    }
}

/// Attenuation in dB that `taps` taps under Kaiser's window reach about, with a transition of `width` cycles per
/// sample from pass to stop band.
pub fn kaiser_attenuation_db(taps: usize, width: f64) -> f64 {
    2.285 * taps.saturating_sub(1) as f64 * TAU * width + 7.95
}
