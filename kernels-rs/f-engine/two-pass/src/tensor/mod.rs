//! Both passes with the transform on tensor cores, for rows of 64, 128 and 256 points.
//!
//! ```text
//! samples --columns--> workspace [group][n2][k1][term][slot] --rows--> frames or rows
//!           filter,      complex, one or two f16 a part       two products of matrices over n2, of which the second
//!           transform over n1                                 is also the step to real transforms; phase and gain, ...
//! ```
//!
//! A number is `TERMS` f16: of one, 11 bits, or of two that are added, 22 bits; products of two numbers of two terms
//! are three products, high times high, high times low and low times high. All PTX has one term; two are as exact as
//! single precision, which the emulator shows.
//!
//! Slots of the workspace lie in pieces of 16 bytes, `[spectrum / 2][job][spectrum % 2]`: what a lane of the first pass
//! has, and what a lane of the second one takes as columns of four products.

mod bring;
pub mod columns;
mod decode;
mod eight;
mod inner;
mod kernels;
pub mod middle;
mod post;
pub mod rows;

pub use kernels::*;

use fringes_device::convert::{cvt_f32_f16, cvt_rn_f16x2_f32};
use fringes_kernels_common::complex::Complex;

/// The terms of a complex number, real parts low.
#[inline(always)]
fn terms<const TERMS: usize>(z: Complex) -> [u32; TERMS] {
    let mut words = [cvt_rn_f16x2_f32(z[1], z[0]); TERMS];
    if TERMS == 2 {
        let high = [cvt_f32_f16(words[0] as u16), cvt_f32_f16((words[0] >> 16) as u16)];
        words[1] = cvt_rn_f16x2_f32(z[1] - high[1], z[0] - high[0]);
    }
    words
}
