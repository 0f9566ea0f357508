//! Fine rotation of voltages that are channelised already, in place:
//!
//! ```text
//! y[channel][time][input] = gain[channel][input] exp(2 pi i (base + k slope)) x[channel][time][input]
//! k = first channel + channel
//! ```
//!
//! A worker takes some channels of some samples, and follows the rotation of each sample through the channels by
//! multiplication in f64.
//!
//! # Precision
//! Factors are within `4e-14` of the reference's, products and the sum with the dither are taken in f64: integers equal
//! the reference's except within as much, times the product's size, of a rounding tie.

use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::ArrayView2;
use num_complex::Complex;
use rayon::prelude::*;

use fringes_types::VoltageSample;

use crate::f_engine::FrameValue;
use crate::f_engine::dither::SpectrumDither;
use crate::pfb::has_avx2_fma;

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

/// Bytes of scratch that [`rotate`] takes with all threads, at most.
pub fn rotate_scratch_bytes() -> u64 {
    let sample = 6 * size_of::<f64>() + size_of::<u32>() + size_of::<usize>() + size_of::<SpectrumDither>();
    (SAMPLES * sample * rayon::current_num_threads()) as u64
}

/// Multiplies voltages of `channels` channels and quantises them; how many values of each input were beyond the
/// format's limit.
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
            let mut slots = Slots::default();
            for start in (0..places).step_by(SAMPLES) {
                slots.clear();
                for place in start..places.min(start + SAMPLES) {
                    self.push::<V>(&mut slots, at(place), number * share);
                }
                self.follow(voltages, number * share, places, start, &mut slots);
            }
        });
    }

    /// Adds a sample in channel `channel`.
    fn push<V: FrameValue>(self, slots: &mut Slots, at: Option<(usize, usize)>, channel: usize) {
        let Rotation { phases, first_channel, dither, .. } = self.rotation;
        let (rotation, step, input) = match at {
            None => (Complex::new(0.0, 0.0), Complex::new(0.0, 0.0), 0),
            Some((time, input)) => {
                let [base, slope] = phases[(time, input)];
                let first = slope.wrapping_mul((first_channel + channel) as u64);
                if let (Some((seed, spectrum)), true) = (dither, V::INTEGER) {
                    let spectrum = spectrum.wrapping_add(time as u64);
                    slots.dither.push(SpectrumDither::new(*seed, spectrum, input as u32));
                }
                (unit(base.wrapping_add(first)), unit(slope), input)
            }
        };
        // Behind the last time there is nothing to dither.
        if let (None, Some((seed, _)), true) = (at, dither, V::INTEGER) {
            slots.dither.push(SpectrumDither::new(*seed, 0, 0));
        }
        slots.rotation.0.push(rotation.re);
        slots.rotation.1.push(rotation.im);
        slots.step.0.push(step.re);
        slots.step.1.push(step.im);
        slots.gain.0.push(1.0);
        slots.gain.1.push(0.0);
        slots.beyond.push(0);
        slots.input.push(input);
    }

    /// Follows samples `start ..` of each channel through the channels of `voltages`, whose first one is `first`.
    fn follow<V: VoltageSample + FrameValue>(
        self,
        voltages: &mut [V],
        first: usize,
        places: usize,
        start: usize,
        slots: &mut Slots,
    ) {
        for (channel, voltages) in (first..).zip(voltages.chunks_mut(places)) {
            if let Some(gains) = &self.rotation.gains {
                let gains = gains.row(channel);
                let parts = slots.gain.0.iter_mut().zip(&mut slots.gain.1);
                for ((re, im), &input) in parts.zip(&slots.input) {
                    let gain = gains[input];
                    (*re, *im) = (f64::from(gain.re), f64::from(gain.im));
                }
            }
            let voltages = &mut voltages[start..start + slots.input.len()];
            let number = (self.rotation.first_channel + channel) as u32;
            if slots.dither.is_empty() {
                turn(voltages, slots, |_| (0.0, 0.0));
            } else {
                // (Taken out and put back, since the rest of the slots changes.)
                let dither = std::mem::take(&mut slots.dither);
                turn(voltages, slots, |place| dither[place].of(number));
                slots.dither = dither;
            }
        }
        if V::INTEGER {
            for (&input, &beyond) in slots.input.iter().zip(&slots.beyond).filter(|(_, beyond)| **beyond > 0) {
                self.saturated[input].fetch_add(beyond.into(), Ordering::Relaxed);
            }
        }
    }
}

/// Samples of each channel: their rotations in the channel that is next, and what they are multiplied by.
#[derive(Default)]
struct Slots {
    rotation: (Vec<f64>, Vec<f64>),
    step: (Vec<f64>, Vec<f64>),
    gain: (Vec<f64>, Vec<f64>),
    /// How many values were beyond the limit.
    beyond: Vec<u32>,
    input: Vec<usize>,
    dither: Vec<SpectrumDither>,
}

impl Slots {
    fn clear(&mut self) {
        for part in [&mut self.rotation, &mut self.step, &mut self.gain] {
            part.0.clear();
            part.1.clear();
        }
        self.beyond.clear();
        self.input.clear();
        self.dither.clear();
    }
}

/// Multiplies the samples of a channel and takes the rotations to the next one.
fn turn<V: VoltageSample + FrameValue>(voltages: &mut [V], slots: &mut Slots, dither: impl Fn(usize) -> (f64, f64)) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2_fma() {
        // SAFETY: the processor was found to have AVX2 and FMA.
        #[allow(unsafe_code)]
        unsafe {
            return turn_avx2(voltages, slots, dither);
        }
    }
    turn_all(voltages, slots, dither)
}

/// [`turn_all`] compiled for AVX2: the same operations, in vectors.
///
/// # Safety
/// The machine must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn turn_avx2<V: VoltageSample + FrameValue>(
    voltages: &mut [V],
    slots: &mut Slots,
    dither: impl Fn(usize) -> (f64, f64),
) {
    turn_all(voltages, slots, dither)
}

#[inline(always)]
fn turn_all<V: VoltageSample + FrameValue>(
    voltages: &mut [V],
    slots: &mut Slots,
    dither: impl Fn(usize) -> (f64, f64),
) {
    let Slots { rotation, step, gain, beyond, .. } = slots;
    let rotations = rotation.0.iter_mut().zip(&mut rotation.1);
    let steps = step.0.iter().zip(&step.1);
    let gains = gain.0.iter().zip(&gain.1);
    let places = voltages.iter_mut().zip(beyond).zip(rotations.zip(steps.zip(gains))).enumerate();
    for (place, ((voltage, beyond), ((re, im), ((step_re, step_im), (gain_re, gain_im))))) in places {
        let (factor_re, factor_im) = (gain_re * *re - gain_im * *im, gain_re * *im + gain_im * *re);
        (*re, *im) = (*re * step_re - *im * step_im, *re * step_im + *im * step_re);
        let x = voltage.to_c32();
        let (x_re, x_im) = (f64::from(x.re), f64::from(x.im));
        let (dither_re, dither_im) = dither(place);
        let (y_re, y_im) = (factor_re * x_re - factor_im * x_im, factor_re * x_im + factor_im * x_re);
        let (value, out) = V::from_product(y_re + dither_re, y_im + dither_im);
        *voltage = value;
        *beyond += u32::from(out);
    }
}

/// `exp(2 pi i x / 2^64)`.
fn unit(x: u64) -> Complex<f64> {
    Complex::from_polar(1.0, TAU * (x as i64 as f64 / 18_446_744_073_709_551_616.0))
}
