//! What the correlation kernels of integers and f16 are timed on: random samples in every order, and checks of some
//! sums.

use fringes::correlator::internals::mma::{Format, Order};
use fringes_gpu::{Buffer, GpuError, KernelElement, Stream};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bench::timing::Bench;
use crate::end::End;

/// Spectra of a heap.
pub(crate) const SPECTRA: usize = 256;

/// Bytes of the random piece that buffers are made of.
const PIECE: usize = 64 << 20;

/// Visibilities that are checked.
const CHECKED: usize = 32;

/// Random samples without a most negative value, or f16 from 1/8 to 2.
pub(crate) fn piece(format: Format) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut bytes = vec![0; PIECE];
    random.fill(&mut bytes[..]);
    match format {
        Format::I4 => {
            for byte in &mut bytes {
                *byte |= u8::from(*byte & 15 == 8) | u8::from(*byte >> 4 == 8) << 4;
            }
        }
        Format::I8 => bytes.iter_mut().for_each(|byte| *byte |= u8::from(*byte == 0x80)),
        Format::F16 => bytes.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = *byte & 0x8f | 0x30),
    }
    bytes
}

/// Real or imaginary part of a sum.
pub(crate) trait Part: bytemuck::Pod {
    fn wide(self) -> f64;
}

macro_rules! part {
    ($($type:ident)*) => { $(
        impl Part for $type {
            fn wide(self) -> f64 {
                self as f64
            }
        }
    )* };
}

part!(i32 f32 f64);

/// A format, an order and a size.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) format: Format,
    pub(crate) order: Order,
    pub(crate) stations: usize,
    pub(crate) channels: usize,
    pub(crate) times: usize,
}

impl Case {
    pub(crate) fn inputs(&self) -> usize {
        2 * self.stations
    }

    pub(crate) fn baselines(&self) -> usize {
        self.inputs() * (self.inputs() + 1) / 2
    }

    /// Bytes of the samples.
    pub(crate) fn bytes(&self) -> usize {
        self.channels * self.times * self.inputs() * self.format.bytes()
    }

    /// Buffers of random samples, one after the other.
    pub(crate) fn samples(&self, bench: &Bench, piece: &[u8], count: usize) -> Result<Buffer<u8>, GpuError> {
        let mut samples = Buffer::<u8>::alloc(&bench.device, self.bytes() * count)?;
        let mut at = 0;
        while at < samples.len() {
            // Not a multiple of a heap's or a row's bytes, so that no two are alike.
            let length = (samples.len() - at).min(PIECE - 4096 * (at / PIECE % 16));
            samples.slice_mut(at..at + length)?.copy_from_slice(&bench.stream, &piece[..length])?;
            at += length;
        }
        Ok(samples)
    }

    pub(crate) fn operations(&self) -> f64 {
        8.0 * (self.channels * self.baselines()) as f64 * self.times as f64
    }

    /// Compares visibilities of the last channel with sums of `bytes` on the host: integers are equal, f16 within what
    /// sums in f32 on tensor cores may be off (`fringes_device::tensor_core::error_bound`, of two products a time
    /// and up to 16 zeros where a run of times begins or ends).
    pub(crate) fn check<P: Part>(
        &self,
        stream: &Stream,
        bytes: &[u8],
        sums: &Buffer<[P; 2]>,
        parts: usize,
    ) -> Result<String, End>
    where
        [P; 2]: KernelElement,
    {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let channel = self.channels - 1;
        let mut worst = 0.0f64;
        for index in 0..CHECKED {
            let a = if index == 0 { self.inputs() - 1 } else { random.random_range(0..self.inputs()) };
            let b = if index == 0 { 0 } else { random.random_range(0..=a) };
            let (mut expected, mut size) = ([0.0; 2], 0.0);
            for time in 0..self.times {
                let [[a_re, a_im], [b_re, b_im]] = [a, b].map(|input| self.sample(bytes, channel, time, input));
                expected[0] += a_re * b_re + a_im * b_im;
                expected[1] += a_im * b_re - a_re * b_im;
                size += (a_re.hypot(a_im)) * (b_re.hypot(b_im));
            }
            let mut actual = [0.0; 2];
            for part in 0..parts {
                let at = (part * self.channels + channel) * self.baselines() + a * (a + 1) / 2 + b;
                let [sum] = sums.slice(at..at + 1)?.to_vec(stream)?[..] else { continue };
                actual = [actual[0] + sum[0].wide(), actual[1] + sum[1].wide()];
            }
            let error = (actual[0] - expected[0]).abs().max((actual[1] - expected[1]).abs());
            let runs = parts + self.times / SPECTRA;
            let bound = match self.format {
                Format::F16 => 6.0 * (self.times + 16 * runs) as f64 * 2f64.powi(-23) * size,
                _ => 0.0,
            };
            if error > bound {
                let what = format!("V[{a}][{b}] of channel {channel}: expected {expected:?}, got {actual:?}");
                return Err(End::failed(format!("{} {}: {what}", self.stations, self.format.name())));
            }
            worst = worst.max(error / size);
        }
        Ok(format!("{CHECKED} visibilities, greatest error {worst:.1e} of the sum of magnitudes"))
    }

    /// A sample.
    fn sample(&self, bytes: &[u8], channel: usize, time: usize, input: usize) -> [f64; 2] {
        let size = self.format.bytes();
        let at = if self.order == Order::Rows {
            let row = self.format.row_times();
            let index = (channel * (self.times / row) + time / row) * self.inputs() + input;
            index * 128 + time % row * size
        } else {
            let heap = (time / SPECTRA * self.stations + input / 2) * self.channels + channel;
            ((heap * SPECTRA + time % SPECTRA) * 2 + input % 2) * size
        };
        let sample = &bytes[at..at + size];
        match self.format {
            Format::I4 => [f64::from(sample[0] as i8 >> 4), f64::from((sample[0] << 4) as i8 >> 4)],
            Format::I8 => [f64::from(sample[0] as i8), f64::from(sample[1] as i8)],
            Format::F16 => [0, 2].map(|at| half(u16::from_le_bytes([sample[at], sample[at + 1]]))),
        }
    }
}

/// A normal f16.
fn half(bits: u16) -> f64 {
    let magnitude = f32::from_bits((u32::from(bits & 0x7fff) << 13) + (112 << 23));
    f64::from(if bits & 0x8000 == 0 { magnitude } else { -magnitude })
}
