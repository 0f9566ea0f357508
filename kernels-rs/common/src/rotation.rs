//! Phases in fixed point, and the rotations that they are.
//!
//! A phase of `x` in 64 bits is `x / 2^64` turns, so that whole turns wrap away. Channel `k` of a time and an input has
//! the phase `base + k slope`, exact modulo a turn. For 65536 channels a slope rounded to 2^-64 turns is off by less
//! than 2^-49 turns in the last one; of 32 bits it would be 2^-17 turns, 5e-5 radians.
//!
//! Two forms of the rotation: [`unit()`], within 2^-23, and [`unit_approx`] of the special-function unit, within
//! 2^-19.9 and a fourth of the instructions. The F-engine has the second one, as it is bound by instructions and its
//! values are rounded to 8 bits or multiplied by a gain once; what is multiplied again and again has the first.
//!
//! A thread that follows its samples through some channels computes the [rotation](unit()) of the first one and the
//! [step](Step) to the next, and multiplies. With `u = 2^-24`, a rotation computed is within `3 u`, a step within
//! `7 u |d| + 1.5 u`, `d = exp(2 pi i slope) - 1`, and a multiplication adds `2 u`; after `n` steps a rotation is off
//! by at most `(3 + n (3.5 + 7 |d|)) u`.

use fringes_device::arithmetic::{cos_approx_f32, fma_rn_f32, fnma_rn_f32, sin_approx_f32};

use crate::complex::Complex;

/// Sine and cosine of `2 pi z` for `|z| <= 1/8`, over `z` and in powers of `z^2`: minimax, within 0.4 `u`.
const SINE: [f32; 4] = [6.283_185_5, -41.341_663, 81.592_55, -75.402_07];
const COSINE: [f32; 5] = [1.0, -19.739_208, 64.939_316, -85.442_856, 59.220_406];

/// `exp(2 pi i x / 2^32)`.
///
/// The angle is taken relative to the nearest quarter of a turn.
///
/// # Precision
/// Within `2 u`, `u = 2^-24`.
///
/// # PTX
/// `fma.rn.f32`, 7
#[inline(always)]
pub fn unit(x: u32) -> Complex {
    let quarters = x.wrapping_add(1 << 29) >> 30;
    let z = x.wrapping_sub(quarters << 30) as i32 as f32 * (1.0 / 4_294_967_296.0);
    let w = z * z;
    let sine = fma_rn_f32(fma_rn_f32(fma_rn_f32(SINE[3], w, SINE[2]), w, SINE[1]), w, SINE[0]) * z;
    let cosine = fma_rn_f32(fma_rn_f32(COSINE[4], w, COSINE[3]), w, COSINE[2]);
    let cosine = fma_rn_f32(fma_rn_f32(cosine, w, COSINE[1]), w, COSINE[0]);
    let (re, im) = if quarters & 1 == 0 { (cosine, sine) } else { (-sine, cosine) };
    if quarters & 2 == 0 { [re, im] } else { [-re, -im] }
}

/// `exp(2 pi i turns / 2^64)`, of the upper 32 bits.
///
/// # Precision
/// Within 2^-19.9.
///
/// # PTX
/// `sin.approx.f32`, `cos.approx.f32`, a conversion and a product
#[inline(always)]
pub fn unit_approx(turns: u64) -> Complex {
    // To 2^-32 turns, in [-1/2, 1/2).
    let angle = (turns >> 32) as i32 as f32 * (core::f32::consts::TAU / 4_294_967_296.0);
    [cos_approx_f32(angle), sin_approx_f32(angle)]
}

/// The nearest 32 bits of a phase in 64.
#[inline(always)]
pub fn high(x: u64) -> u32 {
    (x.wrapping_add(1 << 31) >> 32) as u32
}

/// `exp(2 pi i slope) - 1`: what a rotation changes by from one channel to the next, relative to itself.
#[derive(Clone, Copy)]
pub struct Step(pub Complex);

impl Step {
    /// No change.
    pub const NONE: Self = Self([0.0; 2]);

    /// Of a slope in 64 bits: `2 i s exp(pi i slope)`, `s = sin(pi slope)`, which keeps small steps precise.
    #[inline(always)]
    pub fn new(slope: u64) -> Self {
        let [cosine, sine] = unit(high((slope as i64 >> 1) as u64));
        let twice = sine + sine;
        Self([-(twice * sine), twice * cosine])
    }

    /// The rotation of the next channel: `r + r d`.
    ///
    /// # PTX
    /// `fma.rn.f32`, 4
    #[inline(always)]
    pub fn next(self, [re, im]: Complex) -> Complex {
        let Self([a, b]) = self;
        [fnma_rn_f32(im, b, fma_rn_f32(re, a, re)), fma_rn_f32(re, b, fma_rn_f32(im, a, im))]
    }
}

/// The product of two complex numbers. In its real part the product of the real parts is rounded before it is summed,
/// in [`mul`](crate::complex::mul) that of the imaginary parts.
///
/// # PTX
/// `fma.rn.f32`, 2 and two products
#[inline(always)]
pub fn product([a, b]: Complex, [c, d]: Complex) -> Complex {
    [fnma_rn_f32(b, d, a * c), fma_rn_f32(a, d, b * c)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::thread;
    use std::f64::consts::TAU;

    const U: f64 = 1.0 / 16_777_216.0;

    fn distance([re, im]: Complex, turns: f64) -> f64 {
        let (sine, cosine) = (TAU * turns).sin_cos();
        (f64::from(re) - cosine).hypot(f64::from(im) - sine)
    }

    #[test]
    fn units_are_within_two_units_of_the_last_place() {
        thread(|| {
            let edges = (0..64u32).flat_map(|i| [(i << 26).wrapping_sub(1), i << 26, (i << 26) + 1]);
            for x in edges.chain((0..1_000_000u32).map(|i| i.wrapping_mul(0x9e37_79b9))) {
                assert!(distance(unit(x), f64::from(x) / 4_294_967_296.0) < 2.0 * U, "{x:#x}");
            }
            assert_eq!(unit(0), [1.0, 0.0]);
            assert_eq!(unit(0x4000_0000), [0.0, 1.0]);
            assert_eq!(unit(0x8000_0000), [-1.0, 0.0]);
        });
    }

    #[test]
    fn rotations_stay_within_their_bound_over_many_steps() {
        thread(|| {
            for i in 0..20_000u64 {
                let base = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                // Slopes of all sizes and signs.
                let slope = (i.wrapping_mul(0xd35a_2d97_21f0_aaad) as i64 >> (i % 40)) as u64;
                let step = Step::new(slope);
                let turns = slope as i64 as f64 / 18_446_744_073_709_551_616.0;
                let d = 2.0 * (std::f64::consts::PI * turns).sin().abs();
                let mut rotation = unit(high(base));
                for n in 0..32u64 {
                    let phase = base.wrapping_add(slope.wrapping_mul(n)) as i64 as f64 / 18_446_744_073_709_551_616.0;
                    let bound = (3.0 + n as f64 * (3.5 + 7.0 * d)) * U;
                    assert!(distance(rotation, phase) < bound, "{base:#x} {slope:#x} {n}");
                    rotation = step.next(rotation);
                }
            }
        });
    }

    #[test]
    fn approximate_units_are_the_precise_ones_within_their_bound() {
        thread(|| {
            let edges = (0..64u64).flat_map(|i| [(i << 58).wrapping_sub(1), i << 58, (i << 58) + 1]);
            for turns in edges.chain((0..100_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) {
                let expected = turns as f64 / 18_446_744_073_709_551_616.0;
                // Without the error of the instructions, which the emulator does not have: that of the angle alone.
                assert!(distance(unit_approx(turns), expected) < (-21.0f64).exp2(), "{turns:#x}");
                assert!(distance(unit(high(turns)), expected) < 3.0 * U, "{turns:#x}");
            }
        });
    }
}
