//! What the correlation kernels of integers and f16 are run on: random samples in every order, their sums, and what the
//! sums may be.
//!
//! Memory that must not count is NaN of f16 (and something else than zero of integers). Sums that are added to start
//! large and different.
//!
//! # Precision
//! Integers: equal. f16: what [`error_bound`] says of sums in f32 on tensor cores, of two products a time for each
//! part. Instructions take 8 or 16 times, so that a run of times (a part of the times, or of a batch) may have up to 14
//! zeros at its ends, which are counted too. The products' magnitudes are at most `|x_a| |x_b|` a time, for the real
//! part and for the imaginary one.

use std::ops::Range;

use fringes::correlator::internals::mma::{Format, Order};
use fringes_device::tensor_core::{Accumulator, error_bound};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Real or imaginary part of a sum.
pub(crate) trait Part: bytemuck::Pod + Sync {
    /// What is there before, where it is added to, or overwritten.
    fn before(index: usize, adds: bool) -> Self;
    fn wide(self) -> f64;
}

macro_rules! part {
    ($($type:ident, |$index:ident, $adds:ident| $before:expr;)*) => { $(
        impl Part for $type {
            fn before($index: usize, $adds: bool) -> Self {
                $before
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
        }
    )* };
}

part! {
    i32, |index, _adds| (1 << 30) - 7 * (index % 100_000) as i32;
    f32, |index, adds| if adds { (index % 64) as f32 } else { f32::NAN };
    f64, |index, adds| if adds { (index % 64) as f64 } else { f64::NAN };
}

/// Where samples are, and which of them count.
pub(crate) struct Samples {
    pub(crate) format: Format,
    pub(crate) order: Order,
    pub(crate) channels: usize,
    /// Inputs, or antennas.
    pub(crate) rows: usize,
    pub(crate) pols: usize,
    /// Rows of 128 bytes, or batches, that the buffer has.
    pub(crate) buffer: usize,
    /// Spectra of a batch.
    pub(crate) spectra: usize,
    /// Times, or batches, that count.
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) parts: usize,
    pub(crate) seed: u64,
}

/// A sum as it must be.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    /// Integers up to 2^53 are exact.
    sum: [f64; 2],
    /// How far off it may be.
    bound: f64,
}

impl Samples {
    pub(crate) fn inputs(&self) -> usize {
        self.rows * self.pols
    }

    pub(crate) fn is_rows(&self) -> bool {
        self.order == Order::Rows
    }

    /// Times of the buffer.
    fn times(&self) -> usize {
        if self.is_rows() { self.buffer * self.format.row_times() } else { self.buffer * self.spectra }
    }

    /// Times that count.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        let unit = if self.is_rows() { 1 } else { self.spectra };
        self.first * unit..(self.first + self.count) * unit
    }

    /// Byte of a sample.
    fn at(&self, channel: usize, time: usize, input: usize) -> usize {
        let format = self.format;
        if self.is_rows() {
            let row = format.row_times();
            let index = (channel * self.buffer + time / row) * self.rows + input;
            return index * 128 + time % row * format.bytes();
        }
        let heap = (time / self.spectra * self.rows + input / self.pols) * self.channels + channel;
        ((heap * self.spectra + time % self.spectra) * self.pols + input % self.pols) * format.bytes()
    }

    /// Random samples `[channel][input][time]` and the buffer that has them.
    pub(crate) fn samples(&self) -> (Vec<[f32; 2]>, Vec<u8>) {
        let (range, format) = (self.range(), self.format);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed + 7);
        let len = self.channels * self.times() * self.inputs() * format.bytes();
        let mut bytes: Vec<u8> = [0x01, 0x7e, 0xff, 0x7f].into_iter().cycle().take(len).collect();
        let mut samples = Vec::with_capacity(self.channels * self.inputs() * range.len());
        for channel in 0..self.channels {
            for input in 0..self.inputs() {
                for time in range.clone() {
                    let at = self.at(channel, time, input);
                    let sample = &mut bytes[at..at + format.bytes()];
                    samples.push(match format {
                        Format::I4 => {
                            let [re, im] = [0; 2].map(|_| random.random_range(-7..=7i8));
                            sample[0] = (re as u8) << 4 | (im as u8 & 15);
                            [f32::from(re), f32::from(im)]
                        }
                        Format::I8 => {
                            let [re, im] = [0; 2].map(|_| random.random_range(-127..=127i8));
                            sample.copy_from_slice(&[re as u8, im as u8]);
                            [f32::from(re), f32::from(im)]
                        }
                        Format::F16 => {
                            // Random bits with exponents from 2^-3 to 2^0.
                            let bits = [0; 2].map(|_| (random.random::<u16>() & 0x8fff) | 0x3000);
                            sample[..2].copy_from_slice(&bits[0].to_le_bytes());
                            sample[2..].copy_from_slice(&bits[1].to_le_bytes());
                            bits.map(half)
                        }
                    });
                }
            }
        }
        (samples, bytes)
    }

    /// Where steps of up to `step` times begin and end, counted from the first time that counts. Steps end where rows
    /// or batches do.
    ///
    /// Kernels that have no heads begin steps at multiples of `step`; with `aligned` unset the first one is whole.
    pub(crate) fn steps(&self, step: usize, aligned: bool) -> Vec<usize> {
        let (range, unit) = (self.range(), if self.is_rows() { self.format.row_times() } else { self.spectra });
        let mut bounds = vec![0];
        let mut at = range.start;
        while at < range.end {
            let row = at / unit * unit;
            let from = if aligned { row + (at - row) / step * step } else { at };
            at = (from + step).min(row + unit).min(range.end);
            bounds.push(at - range.start);
        }
        bounds
    }

    /// Times of each part, of steps that begin and end at `bounds`.
    fn split(&self, bounds: &[usize]) -> Vec<Range<usize>> {
        let bound = |part: usize| bounds[part * (bounds.len() - 1) / self.parts];
        (0..self.parts).map(|part| bound(part)..bound(part + 1)).collect()
    }

    /// Sums `[part][channel][baseline]` of `samples`, in parts of steps that begin and end at `bounds`.
    pub(crate) fn sums(&self, samples: &[[f32; 2]], bounds: &[usize]) -> Vec<Expected> {
        let (inputs, times) = (self.inputs(), self.range().len());
        let runs = if self.is_rows() { 1 } else { self.count };
        let split = self.split(bounds);
        let rows = (0..self.parts * self.channels * inputs).into_par_iter();
        rows.flat_map_iter(|index| {
            let (part, channel, a) = (index / inputs / self.channels, index / inputs % self.channels, index % inputs);
            let range = split[part].clone();
            let of = move |input: usize| &samples[(channel * inputs + input) * times..][..times][range.clone()];
            let summed = split[part].len() + 16 * runs;
            (0..=a).map(move |b| {
                let (mut re, mut im, mut size) = (0.0, 0.0, 0.0);
                for (x, y) in of(a).iter().zip(of(b)) {
                    let [[xr, xi], [yr, yi]] = [x, y].map(|value| value.map(f64::from));
                    re += xr * yr + xi * yi;
                    im += xi * yr - xr * yi;
                    size += ((xr * xr + xi * xi) * (yr * yr + yi * yi)).sqrt();
                }
                let bound = match self.format {
                    // And a rounding of f64 for each addition here and to what was there.
                    Format::F16 => error_bound(Accumulator::F32, 2 * summed, size) + f64::EPSILON * (size + 64.0),
                    _ => 0.0,
                };
                Expected { sum: [re, im], bound }
            })
        })
        .collect()
    }

    /// Compares all sums, and what is past them. The largest error as a part of its bound.
    pub(crate) fn compare<P: Part>(
        &self,
        expected: &[Expected],
        adds: bool,
        [before, actual]: [&[[P; 2]]; 2],
    ) -> Result<f64, String> {
        let baselines = self.inputs() * (self.inputs() + 1) / 2;
        let indices = (0..expected.len()).into_par_iter();
        let largest = indices.map(|at| {
            let Expected { sum, bound } = expected[at];
            let there = |i: usize| if adds { before[at][i].wide() } else { 0.0 };
            let got = [0, 1].map(|i| actual[at][i].wide() - there(i));
            let errors = [0, 1].map(|i| (got[i] - sum[i]).abs());
            if errors.iter().all(|&error| error <= bound) {
                return Ok(if bound > 0.0 { errors[0].max(errors[1]) / bound } else { 0.0 });
            }
            let (part, channel) = (at / baselines / self.channels, at / baselines % self.channels);
            let a = (0..self.inputs()).find(|a| (a + 1) * (a + 2) / 2 > at % baselines).unwrap_or_default();
            let b = at % baselines - a * (a + 1) / 2;
            Err(format!("V[{a}][{b}], channel {channel}, part {part}: {sum:?} expected, got {got:?}, bound {bound:e}"))
        });
        let largest = largest.try_reduce(|| 0.0, |one, other| Ok(one.max(other)))?;
        let past = |sums: &[[P; 2]]| bytemuck::cast_slice::<_, u8>(&sums[expected.len()..]).to_vec();
        if past(before) == past(actual) { Ok(largest) } else { Err("the sum past the end was written".into()) }
    }
}

/// A normal f16.
fn half(bits: u16) -> f32 {
    let magnitude = f32::from_bits((u32::from(bits & 0x7fff) << 13) + (112 << 23));
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}
