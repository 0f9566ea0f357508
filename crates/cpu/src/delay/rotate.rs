//! Fine rotation of voltages that are channelised already, in place:
//!
//! ```text
//! y[channel][time][input] = gain[channel][input] exp(2 pi i (base + k slope)) x[channel][time][input],   k = first channel + channel
//! ```
//!
//! A worker takes some channels of some samples, and follows the rotation of each sample through the channels by multiplication in f64.
//!
//! # Precision
//! Factors are within `4e-14` of the reference's, products and the sum with the dither are taken in f64: integers equal the reference's except within
//! as much, times the product's size, of a rounding tie.

use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::ArrayView2;
use num_complex::Complex;
use rayon::prelude::*;

use fringes_types::VoltageSample;

use crate::f_engine::FrameValue;
use crate::f_engine::dither::SpectrumDither;

/// Channels through which a rotation is followed, at most.
const CHANNELS: usize = 64;

/// Samples of a channel that a worker follows at once.
const SAMPLES: usize = 512;

/// Order of voltages in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[channel][time][input]`.
    Voltages,
    /// `[batch][antenna][channel][spectrum][pol]`, time `batch * spectra + spectrum`, input `antenna * pols + pol`.
    Heaps {
        /// Spectra of a heap.
        spectra: usize,
        /// Polarisations of an antenna.
        pols: usize,
    },
    /// `[channel][time / row][input][row]`; what stands in rows past the last time is multiplied by zero.
    Rows {
        /// Times of a row.
        row: usize,
    },
}

/// What voltages are multiplied by.
#[derive(Debug, Clone)]
pub struct Rotation<'a> {
    /// `[time][input]`: base and slope in turns of `2^-64`.
    pub phases: ArrayView2<'a, [u64; 2]>,
    /// `[channel][input]`, or 1 everywhere.
    pub gains: Option<ArrayView2<'a, Complex<f32>>>,
    /// Number of the first channel, in phases and dither.
    pub first_channel: usize,
    /// Seed of the dither of integer formats, and number of the spectrum at time 0.
    pub dither: Option<(u64, u64)>,
}

/// Multiplies voltages of `channels` channels and quantises them; how many values of each input were beyond the format's limit.
///
/// # Panics
/// If the number of voltages or the gains' shape does not fit.
pub fn rotate<V: VoltageSample + FrameValue>(
    voltages: &mut [V],
    layout: Layout,
    channels: usize,
    rotation: &Rotation<'_>,
) -> Vec<u64> {
    let (times, inputs) = rotation.phases.dim();
    if let Some(gains) = rotation.gains {
        assert_eq!(gains.dim(), (channels, inputs), "gains are [channel][input]");
    }
    let saturated: Vec<AtomicU64> = (0..inputs).map(|_| AtomicU64::new(0)).collect();
    let all = times.div_ceil(if let Layout::Rows { row } = layout { row } else { 1 }) * inputs;
    let expected = channels * all * if let Layout::Rows { row } = layout { row } else { 1 };
    assert_eq!(voltages.len(), expected, "one voltage a channel, time and input");
    if expected > 0 {
        let slab = Slab { rotation, channels, saturated: &saturated };
        match layout {
            Layout::Voltages => slab.run(voltages, |place| Some((place / inputs, place % inputs))),
            Layout::Heaps { spectra, pols } => {
                let antennas = inputs / pols;
                voltages.par_chunks_mut(channels * spectra * pols).enumerate().for_each(|(heap, voltages)| {
                    let (time, input) = (heap / antennas * spectra, heap % antennas * pols);
                    slab.run(voltages, |place| Some((time + place / pols, input + place % pols)));
                });
            }
            Layout::Rows { row } => slab.run(voltages, |place| {
                let time = place / (row * inputs) * row + place % row;
                (time < times).then_some((time, place / row % inputs))
            }),
        }
    }
    saturated.into_iter().map(AtomicU64::into_inner).collect()
}

/// Voltages `[channel][place]`, and what becomes of them.
#[derive(Clone, Copy)]
struct Slab<'a, 'b> {
    rotation: &'a Rotation<'b>,
    channels: usize,
    saturated: &'a [AtomicU64],
}

impl Slab<'_, '_> {
    /// Rotates them; `at` gives the time and input of a place.
    fn run<V: VoltageSample + FrameValue>(
        self,
        voltages: &mut [V],
        at: impl Fn(usize) -> Option<(usize, usize)> + Sync,
    ) {
        let places = voltages.len() / self.channels;
        let share = self.channels.div_ceil(4 * rayon::current_num_threads()).clamp(8, CHANNELS);
        voltages.par_chunks_mut(share * places).enumerate().for_each(|(number, voltages)| {
            for start in (0..places).step_by(SAMPLES) {
                let slots: Vec<Slot> =
                    (start..places.min(start + SAMPLES)).map(|place| self.slot(at(place), number * share)).collect();
                self.follow(voltages, number * share, places, start, slots);
            }
        });
    }

    /// A sample in channel `channel`.
    fn slot(self, at: Option<(usize, usize)>, channel: usize) -> Slot {
        let Some((time, input)) = at else { return Slot::default() };
        let [base, slope] = self.rotation.phases[(time, input)];
        let first = slope.wrapping_mul((self.rotation.first_channel + channel) as u64);
        Slot {
            rotation: unit(base.wrapping_add(first)),
            step: unit(slope),
            input,
            dither: self
                .rotation
                .dither
                .map(|(seed, spectrum)| SpectrumDither::new(seed, spectrum.wrapping_add(time as u64), input as u32)),
        }
    }

    /// Follows samples `start ..` of each channel through the channels of `voltages`, whose first one is `first`.
    fn follow<V: VoltageSample + FrameValue>(
        self,
        voltages: &mut [V],
        first: usize,
        places: usize,
        start: usize,
        mut slots: Vec<Slot>,
    ) {
        let mut counts = vec![0u64; if V::INTEGER { self.saturated.len() } else { 0 }];
        for (channel, voltages) in (first..).zip(voltages.chunks_mut(places)) {
            let gains = self.rotation.gains.as_ref().map(|gains| gains.row(channel));
            let number = (self.rotation.first_channel + channel) as u32;
            for (voltage, slot) in voltages[start..].iter_mut().zip(&mut slots) {
                let gain = gains.as_ref().map_or(Complex::new(1.0, 0.0), |gains| gains[slot.input]);
                let factor = Complex::new(f64::from(gain.re), f64::from(gain.im)) * slot.rotation;
                slot.rotation *= slot.step;
                let x = voltage.to_c32();
                let mut y = factor * Complex::new(f64::from(x.re), f64::from(x.im));
                if let Some(dither) = slot.dither.filter(|_| V::INTEGER) {
                    let (re, im) = dither.of(number);
                    y += Complex::new(re, im);
                }
                let (value, beyond) = V::from_product(y.re, y.im);
                *voltage = value;
                if V::INTEGER && beyond {
                    counts[slot.input] += 1;
                }
            }
        }
        for (count, saturated) in counts.into_iter().zip(self.saturated).filter(|(count, _)| *count > 0) {
            saturated.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// A sample of each channel: its rotation in the channel that is next, and what changes it.
#[derive(Clone, Copy, Default)]
struct Slot {
    rotation: Complex<f64>,
    step: Complex<f64>,
    input: usize,
    dither: Option<SpectrumDither>,
}

/// `exp(2 pi i x / 2^64)`.
fn unit(x: u64) -> Complex<f64> {
    Complex::from_polar(1.0, TAU * (x as i64 as f64 / 18_446_744_073_709_551_616.0))
}
