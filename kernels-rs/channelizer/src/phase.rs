//! What each spectrum of a job has of its own: its phase over the channels, and the key of its dither.
//!
//! Phases are counted in 2^-64 turns, so that nothing is lost over any number of channels and spectra; only the angle that is left goes to f32.

use fringes_device::arithmetic::{cos_approx_f32, mul_hi_u32, sin_approx_f32};
use fringes_device::{Shared, unroll};

use crate::complex::Complex;
use crate::job::{Job, Launch};

/// Pieces of 16 bytes of a spectrum's entry: 16 powers of the step, in pairs; its phase; keys.
pub const ENTRY: u32 = 10;

/// `exp(2 pi i turns / 2^64)`, within 2^-19.9 of it.
#[inline(always)]
pub fn unit(turns: u64) -> Complex {
    // To 2^-32 turns, in [-1/2, 1/2).
    let angle = (turns >> 32) as i32 as f32 * (core::f32::consts::TAU / 4_294_967_296.0);
    [cos_approx_f32(angle), sin_approx_f32(angle)]
}

/// The first two words of Philox4x32-10 (Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011) for a spectrum of an input.
#[inline(always)]
pub fn key(spectrum: u64, input: u32, seed: u64) -> [u32; 2] {
    let mut c = [spectrum as u32, (spectrum >> 32) as u32, input, 0];
    let mut k = [seed as u32, (seed >> 32) as u32];
    let mut round = 0;
    while round < 10 {
        let (high0, low0) = (mul_hi_u32(0xd251_1f53, c[0]), 0xd251_1f53u32.wrapping_mul(c[0]));
        let (high1, low1) = (mul_hi_u32(0xcd9e_8d57, c[2]), 0xcd9e_8d57u32.wrapping_mul(c[2]));
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0];
        k = [k[0].wrapping_add(0x9e37_79b9), k[1].wrapping_add(0xbb67_ae85)];
        round += 1;
    }
    [c[0], c[1]]
}

/// The entry of a spectrum, as a thread reads it.
#[derive(Clone, Copy)]
pub struct Spectrum {
    /// Its phase in channel 0, in 2^-64 turns.
    phase: u64,
    /// Growth of that from channel to channel.
    slope: u64,
    /// Key of the dither.
    pub key: [u32; 2],
}

impl Spectrum {
    /// Reads an entry.
    ///
    /// # Safety
    /// [`prepare`] has written it, and a barrier followed.
    #[inline(always)]
    pub unsafe fn load(entries: Shared<[u32; 4]>, spectrum: u32) -> (Self, [u32; 2]) {
        let at = (spectrum * ENTRY + 8) as usize;
        let (a, b) = (entries.load(at), entries.load(at + 1));
        let long = |low: u32, high: u32| low as u64 | (high as u64) << 32;
        (Self { phase: long(a[0], a[1]), slope: long(a[2], a[3]), key: [b[0], b[1]] }, [b[2], b[3]])
    }

    /// The factor of a channel.
    #[inline(always)]
    pub fn factor(&self, channel: u32) -> Complex {
        unit(self.phase.wrapping_add(self.slope.wrapping_mul(channel as u64)))
    }
}

/// Power `i` of a spectrum's step, the factor from a channel to that `N / 16` after it.
///
/// # Safety
/// As [`Spectrum::load`].
#[inline(always)]
pub unsafe fn step(entries: Shared<[u32; 4]>, spectrum: u32, i: usize) -> Complex {
    entries.cast::<[f32; 2]>().load((spectrum * ENTRY * 2) as usize + i)
}

/// Writes the entries of a job's spectra, of `16 stride` channels, as one of `threads` threads.
///
/// # Safety
/// `entries` holds the job's spectra; a barrier follows.
#[inline(always)]
pub unsafe fn prepare(entries: Shared<[u32; 4]>, job: &Job, launch: &Launch, stride: u32, thread: u32, threads: u32) {
    let mut item = thread;
    while item < job.spectra * 8 {
        let (s, pair) = (item / 8, item % 8);
        let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
        let step = slope.wrapping_mul(stride as u64);
        let mut powers = [[0.0f32; 2]; 2];
        unroll!(i in 0 1 {
            powers[i] = unit(step.wrapping_mul((2 * pair + i as u32) as u64));
        });
        let [a, b] = powers;
        entries.store((s * ENTRY + pair) as usize, [a[0].to_bits(), a[1].to_bits(), b[0].to_bits(), b[1].to_bits()]);
        if pair == 0 {
            let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
            let words = [phase as u32, (phase >> 32) as u32, slope as u32, (slope >> 32) as u32];
            entries.store((s * ENTRY + 8) as usize, words);
            let [a, b] = key(job.spectrum.wrapping_add(s as u64), job.input, launch.seed);
            entries.store((s * ENTRY + 9) as usize, [a, b, 0, 0]);
        }
        item += threads;
    }
}
