//! What each spectrum of a job has of its own: its phase over the channels, and the key of its dither.
//!
//! Phases are counted in 2^-64 turns, so that nothing is lost over any number of channels and spectra; only the angle that is left goes to f32.

use fringes_device::arithmetic::{cos_approx_f32, mul_hi_u32, sin_approx_f32};

use crate::complex::Complex;

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
