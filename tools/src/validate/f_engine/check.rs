//! What frames are compared with: float frames of the CPU backend, which its tests hold to the reference within 1e-6 of
//! full scale.

use std::collections::HashMap;

use fringes::{Channelized, Complex, FrameSample, Frames, Heaps, InputStatistics};
use fringes_reference::dither::dither;
use fringes_reference::quantiser::{quantise_value, saturates};
use num_complex::Complex64 as C64;

use super::case::{Case, Fault};

/// Values this near to a rounding tie, or to the limit, may go to either side.
pub(crate) const TIE: f64 = 5e-3;

/// Spectra by their stamps: values `[channel][input]` and flags `[input]`, and the saturated values of whole frames by
/// the stamp of the first spectrum.
pub(crate) struct Spectra {
    values: HashMap<u64, (Vec<C64>, Vec<bool>)>,
    frames: Vec<(u64, Vec<u64>)>,
}

impl Spectra {
    /// Those of pieces of frames.
    pub(crate) fn of<Q: FrameSample>(pieces: &[Frames<Heaps<Q>>]) -> Self {
        let (mut values, mut frames) = (HashMap::new(), Vec::new());
        for piece in pieces {
            let (_, antennas, channels, spectra, pols) = piece.voltages.data().dim();
            let clock = piece.voltages.clock();
            let data = piece.voltages.data();
            for frame in 0..piece.frames() {
                frames.push((clock.sample_of(frame * spectra), piece.saturated.row(frame).to_vec()));
                for spectrum in 0..spectra {
                    let time = frame * spectra + spectrum;
                    let mut of_spectrum = Vec::with_capacity(antennas * channels * pols);
                    for channel in 0..channels {
                        for input in 0..antennas * pols {
                            let value = data[(frame, input / pols, channel, spectrum, input % pols)].to_c32();
                            of_spectrum.push(C64::new(value.re.into(), value.im.into()));
                        }
                    }
                    let flags = piece.spectra_present.row(time).to_vec();
                    values.insert(clock.sample_of(time), (of_spectrum, flags));
                }
            }
        }
        Self { values, frames }
    }
}

/// Axes and flags of two streams are the same, and statistics exactly for integers.
pub(crate) fn axes<Q: FrameSample, P: FrameSample>(
    expected: &Channelized<Frames<Heaps<Q>>>,
    found: &Channelized<Frames<Heaps<P>>>,
    integers: bool,
) -> Result<(), Fault> {
    let stamps = |frames: u64, times: usize| (frames, times);
    let of_q: Vec<_> = expected.frames.iter().map(|piece| stamps(piece.first_stamp(), piece.frames())).collect();
    let of_p: Vec<_> = found.frames.iter().map(|piece| stamps(piece.first_stamp(), piece.frames())).collect();
    if of_q != of_p {
        return Err(format!("expected frames {of_q:?}, got {of_p:?}").into());
    }
    for (expected, found) in expected.frames.iter().zip(&found.frames) {
        if expected.spectra_present != found.spectra_present
            || expected.voltages.presence() != found.voltages.presence()
        {
            return Err(format!("flags of the frames from {} on differ", expected.first_stamp()).into());
        }
        if (expected.voltages.clock(), expected.voltages.frequencies())
            != (found.voltages.clock(), found.voltages.frequencies())
        {
            return Err("clock or frequencies differ".into());
        }
    }
    let same = |(a, b): (&InputStatistics, &InputStatistics)| {
        let near = (a.sum_of_squares - b.sum_of_squares).abs() <= a.samples as f64 * 2f64.powi(-50) * a.sum_of_squares;
        (a.samples, a.clipped) == (b.samples, b.clipped)
            && if integers { a.sum_of_squares == b.sum_of_squares } else { near }
    };
    if !expected.statistics.iter().zip(&found.statistics).all(same) {
        return Err(format!("expected {:?}, got {:?}", expected.statistics, found.statistics).into());
    }
    Ok(())
}

/// Largest error of floats relative to full scale: a tone of the largest amplitude in the middle of a channel.
pub(crate) fn floats(case: &Case, expected: &Spectra, found: &Spectra, rounding: f64) -> Result<f64, Fault> {
    let gain = case.gains().iter().fold(0f64, |largest, gain| largest.max(f64::from(gain.norm())));
    let full_scale = gain * case.half() * case.parts().sqrt() * case.plan()?.weights().iter().sum::<f64>().abs();
    let mut largest: f64 = 0.0;
    for (stamp, (values, _)) in &expected.values {
        let Some((found, _)) = found.values.get(stamp) else { return Err(format!("no spectrum {stamp}").into()) };
        for (place, (expected, found)) in values.iter().zip(found).enumerate() {
            let error = (expected - found).norm() - rounding * expected.norm();
            if error.is_nan() || error > 1e-5 * full_scale {
                let what = format!("spectrum {stamp}, value {place}: expected {expected}, got {found}");
                return Err(format!("{what}; full scale is {full_scale}").into());
            }
            largest = largest.max(error / full_scale);
        }
    }
    Ok(largest)
}

/// Errors of floats relative to the rms of the values that are there: their own rms, and the largest beyond what the
/// rounding of its value to the format may be, `rounding` times the value.
pub(crate) fn relative(case: &Case, expected: &Spectra, found: &Spectra, rounding: f64) -> Result<(f64, f64), Fault> {
    let inputs = case.inputs.0 * case.inputs.1;
    let (mut squares, mut errors, mut largest, mut count) = (0.0, 0.0, 0f64, 0usize);
    for (stamp, (values, flags)) in &expected.values {
        let Some((found, _)) = found.values.get(stamp) else { return Err(format!("no spectrum {stamp}").into()) };
        for (place, (expected, found)) in values.iter().zip(found).enumerate().filter(|(at, _)| flags[at % inputs]) {
            let error = (expected - found).norm();
            if !error.is_finite() {
                return Err(format!("spectrum {stamp}, value {place}: expected {expected}, got {found}").into());
            }
            squares += expected.norm_sqr();
            errors += error * error;
            largest = largest.max(error - rounding * found.norm());
            count += 1;
        }
    }
    if count == 0 || squares == 0.0 {
        return Err("there are no values".into());
    }
    let rms = (squares / count as f64).sqrt();
    Ok(((errors / count as f64).sqrt() / rms, largest / rms))
}

impl Spectra {
    /// Root of the mean square of the values that are there.
    pub(crate) fn rms(&self, inputs: usize) -> f64 {
        let (mut squares, mut count) = (0.0, 0usize);
        for (values, flags) in self.values.values() {
            for (_, value) in values.iter().enumerate().filter(|(at, _)| flags[at % inputs]) {
                squares += value.norm_sqr();
                count += 1;
            }
        }
        (squares / count.max(1) as f64).sqrt()
    }

    /// The largest error of a value by channel, and the largest value by channel, of all spectra and inputs.
    pub(crate) fn largest_by_channel(&self, found: &Spectra, inputs: usize) -> Result<Vec<(f64, f64)>, Fault> {
        let mut all = Vec::new();
        for (stamp, (values, _)) in &self.values {
            let Some((found, _)) = found.values.get(stamp) else { return Err(format!("no spectrum {stamp}").into()) };
            all.resize(values.len() / inputs, (0f64, 0f64));
            for (place, (expected, found)) in values.iter().zip(found).enumerate() {
                let (error, value) = &mut all[place / inputs];
                *error = error.max((expected - found).norm());
                *value = value.max(expected.norm());
            }
        }
        Ok(all)
    }
}

/// Integers are those of the floats with gain and dither, but at ties; gives how many were at one, and checks the
/// counts of saturated values.
pub(crate) fn integers(case: &Case, limit: f64, expected: &Spectra, found: &Spectra) -> Result<usize, Fault> {
    integers_within(case, (limit, TIE), expected, found)
}

/// [`integers`], with values that may be off by `tie`.
pub(crate) fn integers_within(
    case: &Case,
    (limit, tie): (f64, f64),
    expected: &Spectra,
    found: &Spectra,
) -> Result<usize, Fault> {
    let inputs = case.inputs.0 * case.inputs.1;
    let stride = case.plan()?.stride() as u64;
    let mut at_ties = 0;
    for (start, counts) in &found.frames {
        let (mut certain, mut possible) = (vec![0u64; inputs], vec![0u64; inputs]);
        for spectrum in 0..case.spectra_per_frame as u64 {
            let stamp = start + spectrum * stride;
            let (Some((values, flags)), Some((found, _))) = (expected.values.get(&stamp), found.values.get(&stamp))
            else {
                return Err(format!("no spectrum {stamp}").into());
            };
            for (place, (&value, found)) in values.iter().zip(found).enumerate() {
                let (channel, input) = (case.range.start + place / inputs, place % inputs);
                let mut value = value;
                if let Some(seed) = case.dither.filter(|_| flags[input]) {
                    value += dither(seed, stamp / stride, input as u32, channel as u32);
                }
                for (exact, found) in [(value.re, found.re), (value.im, found.im)] {
                    let apart = (found - quantise_value(exact, limit)).abs();
                    let at_tie = (exact.clamp(-limit, limit).fract().abs() - 0.5).abs() < tie;
                    if apart > 0.0 && !(at_tie && apart == 1.0) {
                        let what = format!("spectrum {stamp}, channel {channel}, input {input}");
                        return Err(format!("{what}: expected {exact} rounded, got {found}").into());
                    }
                    at_ties += usize::from(apart > 0.0);
                }
                let near = (value.re.abs().max(value.im.abs()) - limit).abs() < tie;
                certain[input] += u64::from(saturates(value, limit) && !near);
                possible[input] += u64::from(saturates(value, limit) || near);
            }
        }
        for (input, &count) in counts.iter().enumerate() {
            if count < certain[input] || count > possible[input] {
                let range = (certain[input], possible[input]);
                return Err(format!("frame {start}, input {input}: {count} saturated, expected {range:?}").into());
            }
        }
    }
    Ok(at_ties)
}

/// Two streams have the same values: every bit, or, with delays, floats within 2^-20 of the largest (f16: but for their
/// last bit) and integers but for a few.
pub(crate) fn same<Q: FrameSample>(
    case: &Case,
    expected: &Channelized<Frames<Heaps<Q>>>,
    found: &Channelized<Frames<Heaps<Q>>>,
) -> Result<(), Fault> {
    axes(expected, found, case.format.codes().is_some())?;
    for (expected, found) in expected.frames.iter().zip(&found.frames) {
        if case.delays.is_empty() {
            if expected != found {
                return Err(format!("frames from {} on differ with the chunks", expected.first_stamp()).into());
            }
            continue;
        }
        let norm = |value: &Q| -> f64 { Complex::norm(value.to_c32()).into() };
        let largest = expected.voltages.data().iter().map(norm).fold(0f64, f64::max);
        // Half floats are two bytes a part.
        let bits = if size_of::<Q>() == 4 { -10 } else { -20 };
        let bound = if Q::INTEGER { 1.5 } else { largest * 2f64.powi(bits) };
        let mut apart = 0;
        for (a, b) in expected.voltages.data().iter().zip(found.voltages.data()) {
            let difference = f64::from((a.to_c32() - b.to_c32()).norm());
            apart += usize::from(difference > 0.0);
            if difference > bound {
                return Err(format!("values differ by {difference} with the chunks").into());
            }
        }
        if Q::INTEGER && apart > 2 + expected.voltages.data().len() / 10_000 {
            return Err(format!("{apart} values differ with the chunks").into());
        }
    }
    Ok(())
}
