//! What a filter does in its bands, measured by its response.

use super::{Band, response};

/// Amplitude in decibels.
pub(super) fn decibels(amplitude: f64) -> f64 {
    20.0 * amplitude.log10()
}

/// Least and largest gain of taps from one frequency to another, ends included.
///
/// The gain is looked at 32 times a ripple, of which symmetric taps have at most one each `1 / taps` of frequency, and
/// the ripples' peaks are refined by a parabola.
pub(super) fn extremes(taps: &[f64], from: f64, to: f64) -> (f64, f64) {
    let steps = ((to - from) * taps.len() as f64 * 32.0).ceil().max(16.0) as usize;
    let width = (to - from) / steps as f64;
    let gain = |frequency: f64| response(taps, frequency.clamp(from, to)).norm();
    let gains: Vec<f64> = (0..=steps).map(|i| gain(from + i as f64 * width)).collect();
    let (mut least, mut largest) = (f64::INFINITY, 0.0f64);
    for (i, &value) in gains.iter().enumerate() {
        least = least.min(value);
        largest = largest.max(value);
        let (Some(&before), Some(&after)) = (i.checked_sub(1).and_then(|i| gains.get(i)), gains.get(i + 1)) else {
            continue;
        };
        let (slope, bend) = (after - before, after - 2.0 * value + before);
        let peak = (value >= before && value >= after) || (value <= before && value <= after);
        if peak && bend != 0.0 {
            let refined = gain(from + (i as f64 - 0.5 * slope / bend) * width);
            least = least.min(refined);
            largest = largest.max(refined);
        }
    }
    (least, largest)
}

/// What a filter does, with its gain at 0 as 0 dB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Largest deviation from 0 dB in a pass band.
    pub(super) ripple_db: f64,
    /// How far the largest gain in a stop band is below 0 dB.
    pub(super) attenuation_db: f64,
    /// Largest gain outside all bands; minus infinity if there is nothing outside.
    pub(super) between_db: f64,
}

/// What taps do in bands.
pub(super) fn measure(taps: &[f64], bands: &[Band]) -> Measured {
    let unit = taps.iter().sum::<f64>().abs();
    let (mut ripple_db, mut stop, mut between, mut edge) = (0.0f64, 0.0f64, 0.0f64, 0.0);
    for band in bands {
        let (least, largest) = extremes(taps, band.from(), band.to());
        if band.gain() == 0.0 {
            stop = stop.max(largest / unit);
        } else {
            ripple_db = ripple_db.max(decibels(largest / unit)).max(-decibels(least / unit));
        }
        if band.from() > edge {
            between = between.max(extremes(taps, edge, band.from()).1 / unit);
        }
        edge = band.to();
    }
    if edge < 0.5 {
        between = between.max(extremes(taps, edge, 0.5).1 / unit);
    }
    Measured { ripple_db, attenuation_db: -decibels(stop), between_db: decibels(between) }
}
