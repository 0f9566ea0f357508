//! The numbers of the dither: what seed, spectrum, input and channel become on every backend that computes it.
//!
//! ```text
//! [a, b, ..] = Philox4x32-10 of the counter [spectrum low, spectrum high, input, 0], key [seed low, seed high]
//! hash       = fold(fold(channel CHANNEL + a, FOLDS[0]) ^ b, FOLDS[1])        fold(x, m) = low ^ high word of x m
//! dither     = (half + 1/2) / 2^16 - 1/2        low half of the hash: real part, high half: imaginary part
//! ```
//!
//! Philox: Salmon, Moraes, Dror, Shaw 2011, Parallel random numbers: as easy as 1, 2, 3.

/// Rounds of Philox.
pub const ROUNDS: u32 = 10;

/// Multipliers of Philox4x32.
pub const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];

/// What Philox4x32 adds to its key from round to round.
pub const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// What the hash of a channel begins with grows by this from channel to channel.
pub const CHANNEL: u32 = 0x9e37_79b9;

/// Multipliers of the hash.
pub const FOLDS: [u32; 2] = [0x21f0_aaad, 0xd35a_2d97];

/// Steps of the dither in one.
pub const STEPS: u32 = 1 << 16;

/// The counter of an input's spectrum.
#[inline(always)]
pub const fn counter(spectrum: u64, input: u32) -> [u32; 4] {
    [spectrum as u32, (spectrum >> 32) as u32, input, 0]
}

/// The key of a seed.
#[inline(always)]
pub const fn key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}
