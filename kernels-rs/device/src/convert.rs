//! Conversions between numbers. Narrow results come in registers of 32 bits, sign- or zero-extended; f16 and bf16 as
//! their 16 bits.
//!
//! # Precision
//! Twins are exact. Conversions to integers saturate and turn NaN into 0; those to f16, bf16 and
//! tf32 give NaN as all bits but the sign, where nothing else is said.

#[cfg(not(target_arch = "nvptx64"))]
use crate::float::{BF16, F16, Rounding, TF32};

macro_rules! conversions {
    ($($name:ident($($argument:ident: $type:ty, $in:ident),*) -> $result:ty, $class:ident, $ptx:literal, $operands:literal, $note:literal, $twin:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = $what]
        ///
        /// # PTX
        #[doc = concat!("`", $ptx, " d", $(", ", stringify!($argument),)* ";`", $note)]
        ///
        /// # Safety
        /// Safe: computes from its operands alone.
        pub fn $name($($argument: $type),*) -> $result {
            device => {
                let d: $result;
                core::arch::asm!(concat!($ptx, $operands), out($class) d, $(in($in) $argument,)* options(pure, nomem, nostack));
                d
            }
            emulator => { $twin }
        }
    )* } };
}

conversions! {
    cvt_rni_sat_s8_f32(a: f32, reg32) -> i32, reg32, "cvt.rni.sat.s8.f32", " {0}, {1};", "", i32::from(a.round_ties_even() as i8), "Nearest integer, ties to even, clamped to -128..=127.";
    cvt_rni_sat_u8_f32(a: f32, reg32) -> u32, reg32, "cvt.rni.sat.u8.f32", " {0}, {1};", "", u32::from(a.round_ties_even() as u8), "Nearest integer, ties to even, clamped to 0..=255.";
    cvt_rni_sat_s16_f32(a: f32, reg32) -> i32, reg32, "cvt.rni.sat.s16.f32", " {0}, {1};", "", i32::from(a.round_ties_even() as i16), "Nearest integer, ties to even, clamped to -32768..=32767.";
    cvt_rni_sat_u16_f32(a: f32, reg32) -> u32, reg32, "cvt.rni.sat.u16.f32", " {0}, {1};", "", u32::from(a.round_ties_even() as u16), "Nearest integer, ties to even, clamped to 0..=65535.";
    cvt_rni_s32_f32(a: f32, reg32) -> i32, reg32, "cvt.rni.s32.f32", " {0}, {1};", "", a.round_ties_even() as i32, "Nearest integer, ties to even, clamped to `i32`.";
    cvt_rzi_s32_f32(a: f32, reg32) -> i32, reg32, "cvt.rzi.s32.f32", " {0}, {1};", "", a as i32, "Integer part, clamped to `i32`.";
    cvt_rmi_s32_f32(a: f32, reg32) -> i32, reg32, "cvt.rmi.s32.f32", " {0}, {1};", "", a.floor() as i32, "Greatest integer not above, clamped to `i32`.";
    cvt_rpi_s32_f32(a: f32, reg32) -> i32, reg32, "cvt.rpi.s32.f32", " {0}, {1};", "", a.ceil() as i32, "Least integer not below, clamped to `i32`.";
    cvt_rni_u32_f32(a: f32, reg32) -> u32, reg32, "cvt.rni.u32.f32", " {0}, {1};", "", a.round_ties_even() as u32, "Nearest integer, ties to even, clamped to `u32`.";
    cvt_rzi_u32_f32(a: f32, reg32) -> u32, reg32, "cvt.rzi.u32.f32", " {0}, {1};", "", a as u32, "Integer part, clamped to `u32`.";
    cvt_sat_s8_s32(a: i32, reg32) -> i32, reg32, "cvt.sat.s8.s32", " {0}, {1};", "", a.clamp(-128, 127), "Clamped to -128..=127.";
    cvt_sat_u8_s32(a: i32, reg32) -> u32, reg32, "cvt.sat.u8.s32", " {0}, {1};", "", a.clamp(0, 255) as u32, "Clamped to 0..=255.";
    cvt_sat_s16_s32(a: i32, reg32) -> i32, reg32, "cvt.sat.s16.s32", " {0}, {1};", "", a.clamp(-32768, 32767), "Clamped to -32768..=32767.";
    cvt_sat_u16_s32(a: i32, reg32) -> u32, reg32, "cvt.sat.u16.s32", " {0}, {1};", "", a.clamp(0, 65535) as u32, "Clamped to 0..=65535.";
    cvt_pack_sat_s8_s32_b32(a: i32, reg32, b: i32, reg32, c: u32, reg32) -> u32, reg32, "cvt.pack.sat.s8.s32.b32", " {0}, {1}, {2}, {3};", "", c << 16 | (a.clamp(-128, 127) as u32 & 0xff) << 8 | b.clamp(-128, 127) as u32 & 0xff, "`b` in byte 0 and `a` in byte 1, each clamped to -128..=127; bytes 0 and 1 of `c` in bytes 2 and 3.";
    cvt_pack_sat_u8_s32_b32(a: i32, reg32, b: i32, reg32, c: u32, reg32) -> u32, reg32, "cvt.pack.sat.u8.s32.b32", " {0}, {1}, {2}, {3};", "", c << 16 | (a.clamp(0, 255) as u32) << 8 | b.clamp(0, 255) as u32, "`b` in byte 0 and `a` in byte 1, each clamped to 0..=255; bytes 0 and 1 of `c` in bytes 2 and 3.";
    cvt_pack_sat_s16_s32(a: i32, reg32, b: i32, reg32) -> u32, reg32, "cvt.pack.sat.s16.s32", " {0}, {1}, {2};", "", (a.clamp(-32768, 32767) as u32) << 16 | b.clamp(-32768, 32767) as u32 & 0xffff, "`b` in the low half and `a` in the high half, each clamped to -32768..=32767.";
    cvt_pack_sat_u16_s32(a: i32, reg32, b: i32, reg32) -> u32, reg32, "cvt.pack.sat.u16.s32", " {0}, {1}, {2};", "", (a.clamp(0, 65535) as u32) << 16 | b.clamp(0, 65535) as u32, "`b` in the low half and `a` in the high half, each clamped to 0..=65535.";
    cvt_rn_f16_f32(a: f32, reg32) -> u16, reg16, "cvt.rn.f16.f32", " {0}, {1};", "", F16.round(a.into(), Rounding::NearestEven) as u16, "f16, to nearest, ties to even.";
    cvt_rz_f16_f32(a: f32, reg32) -> u16, reg16, "cvt.rz.f16.f32", " {0}, {1};", "", F16.round(a.into(), Rounding::Zero) as u16, "f16, towards zero.";
    cvt_rn_bf16_f32(a: f32, reg32) -> u16, reg16, "cvt.rn.bf16.f32", " {0}, {1};", "", BF16.round(a.into(), Rounding::NearestEven) as u16, "bf16, to nearest, ties to even.";
    cvt_rz_bf16_f32(a: f32, reg32) -> u16, reg16, "cvt.rz.bf16.f32", " {0}, {1};", "", BF16.round(a.into(), Rounding::Zero) as u16, "bf16, towards zero.";
    cvt_rn_f16x2_f32(high: f32, reg32, low: f32, reg32) -> u32, reg32, "cvt.rn.f16x2.f32", " {0}, {1}, {2};", "", F16.round(high.into(), Rounding::NearestEven) << 16 | F16.round(low.into(), Rounding::NearestEven), "Two f16, to nearest, ties to even: `high` in the high half, `low` in the low half.";
    cvt_rz_f16x2_f32(high: f32, reg32, low: f32, reg32) -> u32, reg32, "cvt.rz.f16x2.f32", " {0}, {1}, {2};", "", F16.round(high.into(), Rounding::Zero) << 16 | F16.round(low.into(), Rounding::Zero), "Two f16, towards zero: `high` in the high half, `low` in the low half.";
    cvt_rn_bf16x2_f32(high: f32, reg32, low: f32, reg32) -> u32, reg32, "cvt.rn.bf16x2.f32", " {0}, {1}, {2};", "", BF16.round(high.into(), Rounding::NearestEven) << 16 | BF16.round(low.into(), Rounding::NearestEven), "Two bf16, to nearest, ties to even: `high` in the high half, `low` in the low half.";
    cvt_rz_bf16x2_f32(high: f32, reg32, low: f32, reg32) -> u32, reg32, "cvt.rz.bf16x2.f32", " {0}, {1}, {2};", "", BF16.round(high.into(), Rounding::Zero) << 16 | BF16.round(low.into(), Rounding::Zero), "Two bf16, towards zero: `high` in the high half, `low` in the low half.";
    cvt_rn_satfinite_f16_f32(a: f32, reg32) -> u16, reg16, "cvt.rn.satfinite.f16.f32", " {0}, {1};", " (PTX ISA 8.1)", F16.finite(F16.round(a.into(), Rounding::NearestEven)) as u16, "f16, to nearest, ties to even, the greatest number in place of infinity.";
    cvt_rn_satfinite_f16x2_f32(high: f32, reg32, low: f32, reg32) -> u32, reg32, "cvt.rn.satfinite.f16x2.f32", " {0}, {1}, {2};", " (PTX ISA 8.1)", F16.finite(F16.round(high.into(), Rounding::NearestEven)) << 16 | F16.finite(F16.round(low.into(), Rounding::NearestEven)), "Two f16, to nearest, ties to even, the greatest number in place of infinity: `high` in the high half, `low` in the low half.";
    cvt_rna_tf32_f32(a: f32, reg32) -> u32, reg32, "cvt.rna.tf32.f32", " {0}, {1};", "", if a.is_nan() { a.to_bits() & 0xffff_e000 } else { tf32(a, Rounding::NearestAway) }, "tf32 in the high 19 bits, to nearest, ties away from zero. NaN is cut like a number, and may come out as infinity.";
    cvt_rn_tf32_f32(a: f32, reg32) -> u32, reg32, "cvt.rn.tf32.f32", " {0}, {1};", " (sm_90)", tf32(a, Rounding::NearestEven), "tf32 in the high 19 bits, to nearest, ties to even.";
    cvt_rz_tf32_f32(a: f32, reg32) -> u32, reg32, "cvt.rz.tf32.f32", " {0}, {1};", " (sm_90)", tf32(a, Rounding::Zero), "tf32 in the high 19 bits, towards zero.";
    cvt_f32_f16(a: u16, reg16) -> f32, reg32, "cvt.f32.f16", " {0}, {1};", "", narrow(F16.value(a.into())), "f32 of an f16, exactly.";
    cvt_f32_bf16(a: u16, reg16) -> f32, reg32, "cvt.f32.bf16", " {0}, {1};", " (sm_90; below, shift the bits: `f32::from_bits(u32::from(a) << 16)`)", f32::from_bits(u32::from(a) << 16), "f32 of a bf16, exactly; NaN keeps its bits.";
}

/// An `f64` that is an `f32`.
#[cfg(not(target_arch = "nvptx64"))]
fn narrow(x: f64) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x as f32 }
}

/// tf32 in the high 19 bits of a word; NaN as all of these but the sign.
#[cfg(not(target_arch = "nvptx64"))]
fn tf32(a: f32, rounding: Rounding) -> u32 {
    TF32.round(a.into(), rounding) << 13
}
