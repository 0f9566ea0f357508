//! The F-engine: samples `[input][time]` to quantised, delayed channels in frames
//! `[frame][antenna][channel][spectrum][pol]`.
//!
//! The spectrum stamped `t` (a whole multiple of the stride) of an input with delay `d` and phase `p` is
//!
//! 1. that of the window that starts at `t - coarse`, its phase referred to `t` ([`pfb`](crate::pfb)), turned for
//!    `fine`, `coarse` and `p` ([`delay`](crate::delay)), `coarse = rint(d)`, `fine = d - coarse`;
//! 2. times `gain[channel][input]`;
//! 3. plus [`dither`](crate::dither) of spectrum `t / stride`, if it is on;
//! 4. clamped and rounded half to even, if there is a limit; a value with a part beyond the limit (or NaN) before that
//!    counts as saturated.
//!
//! A frame is `spectra_per_frame` spectra, the first stamped with a whole multiple of `spectra_per_frame * stride`. The
//! first frame is the first for whose first spectrum every input has the samples from the window's start on; spectra
//! follow for as long as every input has its window. A spectrum with a missing sample in its window is absent for that
//! input: its values are 0 and do not count. A frame is absent for an antenna if one of its spectra is for one of its
//! inputs.

use std::ops::Range;

use ndarray::{Array2, Array5, ArrayView2};
use num_complex::Complex64 as C64;

use crate::delay::{rotate, split};
use crate::dither::dither;
use crate::pfb::{spectrum_complex, spectrum_real};
use crate::quantiser::{quantise_value, saturates};

/// What an F-engine computes.
#[derive(Debug, Clone)]
pub struct FEngine<'a> {
    /// The prototype filter, whole taps of `step` weights.
    pub weights: &'a [f64],
    /// Channels of the filter bank.
    pub channels: usize,
    /// Whether samples are complex.
    pub complex: bool,
    /// Samples from one spectrum to the next.
    pub stride: usize,
    /// Polarisations of an antenna: input `antenna * pols + pol`.
    pub pols: usize,
    /// Spectra of a frame.
    pub spectra_per_frame: usize,
    /// Channels that come out.
    pub range: Range<usize>,
    /// Gains `[channel of the range][input]`.
    pub gains: ArrayView2<'a, C64>,
    /// Seed of the dither, if it is on.
    pub dither: Option<u64>,
    /// Largest magnitude of a part: 127 or 7 for integers, none for floats.
    pub limit: Option<f64>,
}

/// Frames, and what is known of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// Stamp of the first spectrum.
    pub first_stamp: u64,
    /// Values `[frame][antenna][channel][spectrum][pol]` after gain and dither, before clamp and rounding; 0 where
    /// absent.
    pub values: Array5<C64>,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`.
    pub spectra_present: Array2<bool>,
    /// Flags `[frame][antenna]`.
    pub present: Array2<bool>,
    /// Saturated values `[frame][input]`.
    pub saturated: Array2<u64>,
}

/// No delay is below this many samples.
const SEARCH: u64 = 1 << 16;

impl FEngine<'_> {
    /// The channels of the range of one spectrum whose window starts at `x[start]`, after gain and dither.
    ///
    /// # Panics
    /// If `x` is too short, or the sizes do not fit.
    pub fn spectrum(&self, x: &[C64], start: usize, stamp: u64, delay: (f64, f64), input: usize) -> Vec<C64> {
        let mut spectrum = if self.complex {
            spectrum_complex(x, self.weights, self.channels, start, stamp)
        } else {
            let real: Vec<f64> = x.iter().map(|value| value.re).collect();
            spectrum_real(&real, self.weights, self.channels, start, stamp)
        };
        let (coarse, fine) = split(delay.0);
        rotate(&mut spectrum, coarse, fine, delay.1, self.complex);
        let mut values = Vec::new();
        for (place, channel) in self.range.clone().enumerate() {
            let (x, g) = (spectrum[channel], self.gains[(place, input)]);
            let mut value = C64::new(g.re * x.re - g.im * x.im, g.re * x.im + g.im * x.re);
            if let Some(seed) = self.dither {
                value += dither(seed, stamp / self.stride as u64, input as u32, channel as u32);
            }
            values.push(value);
        }
        values
    }

    /// All frames of samples `[input][time]` that begin at sample `first_sample`; the last may be partial. `present`
    /// has the samples' shape. `delay(stamp, input)` is the delay in samples and the phase in turns, the delay
    /// between -2^16 and 2^16.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn frames(
        &self,
        samples: ArrayView2<'_, C64>,
        present: ArrayView2<'_, bool>,
        first_sample: u64,
        delay: &dyn Fn(u64, usize) -> (f64, f64),
    ) -> Frames {
        let (inputs, length) = samples.dim();
        let (stride, spf) = (self.stride as u64, self.spectra_per_frame as u64);
        let window = self.weights.len() as i64;
        // Where in the samples the window of a spectrum starts.
        let start = |stamp: u64, input: usize| stamp as i64 - split(delay(stamp, input).0).0 - first_sample as i64;

        let mut first_stamp = first_sample.saturating_sub(SEARCH).next_multiple_of(spf * stride);
        while (0..inputs).any(|input| start(first_stamp, input) < 0) {
            first_stamp += spf * stride;
        }
        let mut spectra = 0;
        while (0..inputs).all(|input| start(first_stamp + spectra * stride, input) + window <= length as i64) {
            spectra += 1;
        }
        let frames = spectra.div_ceil(spf) as usize;
        let shape = (frames, inputs / self.pols, self.range.len(), self.spectra_per_frame, self.pols);
        let mut result = Frames {
            first_stamp,
            values: Array5::default(shape),
            spectra_present: Array2::from_elem((frames * self.spectra_per_frame, inputs), false),
            present: Array2::from_elem((frames, inputs / self.pols), true),
            saturated: Array2::zeros((frames, inputs)),
        };
        for time in 0..spectra {
            let stamp = first_stamp + time * stride;
            for input in 0..inputs {
                let start = start(stamp, input);
                let whole = start >= 0 && (start..start + window).all(|sample| present[(input, sample as usize)]);
                if !whole {
                    continue;
                }
                let time = time as usize;
                let (frame, spectrum) = (time / self.spectra_per_frame, time % self.spectra_per_frame);
                result.spectra_present[(time, input)] = true;
                let x = samples.row(input).to_vec();
                let values = self.spectrum(&x, start as usize, stamp, delay(stamp, input), input);
                for (channel, value) in values.into_iter().enumerate() {
                    result.values[(frame, input / self.pols, channel, spectrum, input % self.pols)] = value;
                    if self.limit.is_some_and(|limit| saturates(value, limit)) {
                        result.saturated[(frame, input)] += 1;
                    }
                }
            }
        }
        for ((time, input), &present) in result.spectra_present.indexed_iter() {
            result.present[(time / self.spectra_per_frame, input / self.pols)] &= present;
        }
        result
    }

    /// A value as it comes out: clamped and rounded if there is a limit.
    pub fn quantised(&self, value: C64) -> C64 {
        match self.limit {
            Some(limit) => C64::new(quantise_value(value.re, limit), quantise_value(value.im, limit)),
            None => value,
        }
    }
}

/// Number, sum of squares and number of clipped of the samples of one input that are present. A sample is clipped if a
/// part is one of `codes`, the lowest and the highest value.
pub fn statistics(samples: &[C64], present: &[bool], codes: Option<(f64, f64)>) -> (u64, f64, u64) {
    let (mut count, mut squares, mut clipped) = (0, 0.0, 0);
    for (sample, _) in samples.iter().zip(present).filter(|&(_, &present)| present) {
        count += 1;
        squares += sample.re * sample.re + sample.im * sample.im;
        if let Some((low, high)) = codes
            && [sample.re, sample.im].iter().any(|&part| part == low || part == high)
        {
            clipped += 1;
        }
    }
    (count, squares, clipped)
}

#[cfg(test)]
mod tests;
