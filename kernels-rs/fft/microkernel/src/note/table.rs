//! Tables of phases, computed in f64 on the host.
//!
//! # Layout
//! `[register][lane]`, two f16 a word, the one with `b` = 0 in the low half. Registers are those of
//! [`Packed`](super::Packed) or [`Unpacked`](super::Unpacked), array after array.

use std::f64::consts::TAU;

use fringes_device::layout::Layout;
use fringes_device::layout::frb::ASSIGNMENT as NOTE;

use super::places::SECOND_MATRIX;

/// Outputs.
const OUTPUTS: u64 = 512;

/// The table of [`Packed`](super::Packed): (29), (25) and (26). The transform gets `scale` as a factor.
pub fn packed(scale: f64) -> Vec<u32> {
    let arrays = [(NOTE.e_x_z1_packed, scale), (NOTE.e_z1_z2, 1.0), (NOTE.e_z2_z3, 1.0)];
    arrays.iter().flat_map(|(layout, scale)| words(layout, *scale)).collect()
}

/// The table of [`Unpacked`](super::Unpacked): (24), (25), and [`SECOND_MATRIX`].
pub fn unpacked(scale: f64) -> Vec<u32> {
    let arrays = [(NOTE.e_x_z1, scale), (NOTE.e_z1_z2, 1.0), (SECOND_MATRIX, 1.0)];
    arrays.iter().flat_map(|(layout, scale)| words(layout, *scale)).collect()
}

/// The words of an array: the phase of all its bits q and n, and of them what its real-or-imaginary bits say.
fn words(layout: &Layout, scale: f64) -> Vec<u32> {
    let space = layout.logical();
    let bit = |name, index: u64| space.find(name).is_ok_and(|at| index >> at & 1 == 1);
    let value = |place| {
        let index = layout.apply(place);
        let turns = space.number("q", index) * space.number("n", index) % OUTPUTS;
        let (sin, cos) = (TAU * turns as f64 / OUTPUTS as f64).sin_cos();
        // ReIm alone is the first column of the matrix.
        match (bit("ReIm_out", index) || bit("ReIm", index), bit("ReIm_in", index)) {
            (false, false) | (true, true) => scale * cos,
            (true, false) => scale * sin,
            (false, true) => -scale * sin,
        }
    };
    (0..layout.physical().size() / 2).map(|word| half(value(2 * word)) | half(value(2 * word + 1)) << 16).collect()
}

/// Bits of the f16 next to a number of magnitude below 65520, ties to even.
pub(crate) fn half(value: f64) -> u32 {
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
    let significand = (value.abs() * 2f64.powi(10 - exponent)).round_ties_even() as u32;
    // A significand of 2^11 carries into the exponent.
    (u32::from(value.is_sign_negative()) << 15) + ((exponent + 14) as u32 * 1024 + significand)
}
