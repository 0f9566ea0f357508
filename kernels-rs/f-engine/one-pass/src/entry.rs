//! What each spectrum of a job has of its own: its phase over the channels, the key of its dither, its rotation.

use fringes_device::Shared;
use fringes_device::arithmetic::mul_hi_u32;
use fringes_kernels_common::complex::Complex;
use fringes_kernels_common::dither;
use fringes_kernels_common::rotation::unit_approx;
use fringes_kernels_f_engine_two_pass::job::Job;

use crate::shape::Shape;

pub use fringes_kernel_abi::f_engine::one_pass::ENTRY;

/// The entry of a spectrum.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Phase of channel 0, in 2^-32 turns.
    phase: u32,
    /// Growth of that from channel to channel, in 2^-64 turns: low and high half.
    slope: [u32; 2],
    /// Key of the dither.
    pub key: [u32; 2],
}

impl Entry {
    /// Reads the entry of spectrum `s`.
    ///
    /// # Safety
    /// [`prepare`] has written it, and a barrier followed.
    #[inline(always)]
    pub unsafe fn load(entries: Shared<[u32; 4]>, s: u32) -> Self {
        let (a, b) = (entries.load((s * ENTRY) as usize), entries.load((s * ENTRY + 1) as usize));
        Self { phase: a[0], slope: [a[1], a[2]], key: [b[0], b[1]] }
    }

    /// The factor of a channel. Carries from below 2^-32 turns are left out, two at most.
    #[inline(always)]
    pub fn factor(&self, channel: u32) -> Complex {
        let low = mul_hi_u32(self.slope[0], channel);
        let turns = self.phase.wrapping_add(self.slope[1].wrapping_mul(channel)).wrapping_add(low);
        unit_approx((turns as u64) << 32)
    }
}

/// By how many numbers the filtered spectrum `s` is rotated: its stamp modulo the step.
///
/// # Safety
/// As [`Entry::load`].
#[inline(always)]
pub unsafe fn rotation(entries: Shared<[u32; 4]>, s: u32) -> u32 {
    entries.load((s * ENTRY + 1) as usize)[2]
}

/// Writes the entries of a job's spectra, as one of `threads` threads.
///
/// # Safety
/// `entries` holds the job's spectra; a barrier follows.
#[inline(always)]
pub unsafe fn prepare(entries: Shared<[u32; 4]>, job: &Job, shape: &Shape, seed: u64, thread: u32, threads: u32) {
    let columns = shape.columns().max(1) as u64;
    let mut s = thread;
    while s < job.spectra {
        let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
        let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
        let words = [(phase >> 32) as u32, slope as u32, (slope >> 32) as u32, 0];
        entries.store((s * ENTRY) as usize, words);
        let spectrum = job.spectrum.wrapping_add(s as u64);
        let [a, b] = dither::words_looped(seed, spectrum, job.input);
        // The stamp, in numbers, is the spectrum times the stride.
        let rotation = (spectrum % columns * shape.stride as u64 % columns) as u32;
        entries.store((s * ENTRY + 1) as usize, [a, b, rotation, 0]);
        s += threads;
    }
}
