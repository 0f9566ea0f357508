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

/// What the place of a spectrum in time does.
#[derive(Clone, Copy)]
pub enum Stamps<'a> {
    /// It rotates what is filtered.
    Rotated(&'a Shape),
    /// It is added to the phases: of samples whose channel `middle` is bin 0.
    Added(&'a Shape, u32),
}

/// `n / d` in 2^-64, rounded down, where `n < d < 2^32`.
#[inline(always)]
const fn fraction(n: u32, d: u32) -> u64 {
    let high = (n as u64) << 32;
    let low = (high % d as u64) << 32;
    high / d as u64 * (1 << 32) + low / d as u64
}

/// Writes the entries of a job's spectra, as one of `threads` threads.
///
/// # Safety
/// `entries` holds the job's spectra; a barrier follows.
#[inline(always)]
pub unsafe fn prepare(entries: Shared<[u32; 4]>, job: &Job, stamps: Stamps, seed: u64, thread: u32, threads: u32) {
    let (Stamps::Rotated(shape) | Stamps::Added(shape, _)) = stamps;
    let columns = shape.columns().max(1) as u64;
    let mut s = thread;
    while s < job.spectra {
        let mut slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
        let mut phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
        let spectrum = job.spectrum.wrapping_add(s as u64);
        let [a, b] = dither::words_looped(seed, spectrum, job.input);
        // The stamp, in numbers, is the spectrum times the stride.
        let mut rotation = 0;
        if shape.stride as u64 != columns {
            rotation = (spectrum % columns * shape.stride as u64 % columns) as u32;
        }
        if let Stamps::Added(_, middle) = stamps {
            // Bin b of the spectrum stamped a has the phase -b a / step.
            let turns = fraction(rotation, columns as u32);
            slope = slope.wrapping_sub(turns);
            phase = phase.wrapping_add(turns.wrapping_mul(middle as u64));
            rotation = 0;
        }
        let words = [(phase >> 32) as u32, slope as u32, (slope >> 32) as u32, 0];
        entries.store((s * ENTRY) as usize, words);
        entries.store((s * ENTRY + 1) as usize, [a, b, rotation, 0]);
        s += threads;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_rounded_down() {
        for (n, d) in [(0, 1), (1, 2), (2, 3), (99_999, 100_000), (131_071, 131_072), (7, 118_098)] {
            assert_eq!(u128::from(fraction(n, d)), (u128::from(n) << 64) / u128::from(d), "{n} {d}");
        }
    }
}
