//! Cases of conversions.

use fringes_device::convert::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::Random;

/// An f32 near an integer or a half-integer of up to 17 bits: where conversions to integers round and clamp.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn near_integer(random: &mut Random) -> u32 {
    let bits = 1 + random.below(17);
    let magnitude = random.below(1 << bits) as f32 / 2.0;
    let value = if random.below(2) == 0 { magnitude } else { -magnitude };
    value.to_bits().wrapping_add(random.below(3)).wrapping_sub(u32::from(value != 0.0))
}

/// An f32 near a number of `significand` stored bits or the middle of two: where conversions to narrow formats round.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn near_tie(random: &mut Random, significand: u32) -> u32 {
    let step = 1 << (23 - significand - 1);
    let bits = random.bits() & !(step - 1);
    bits.wrapping_add(random.below(3)).wrapping_sub(1)
}

/// Anything, near a tie of f16 or of bf16, or in the range of f16, subnormals of it included.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn narrowed(random: &mut Random) -> u32 {
    match random.below(5) {
        0 => random.float(),
        1 => near_tie(random, 10),
        2 => near_tie(random, 7),
        3 => near_tie(random, 10) & 0x807f_ffff | (100 + random.below(48)) << 23,
        _ => random.bits() & 0x807f_ffff | (100 + random.below(48)) << 23,
    }
}

elementwise! {
    fn to_integers(a: |random: &mut Random| if random.below(3) == 0 { random.float() } else { near_integer(random) }) -> 10
    covers [cvt_rni_sat_s8_f32, cvt_rni_sat_u8_f32, cvt_rni_sat_s16_f32, cvt_rni_sat_u16_f32, cvt_rni_s32_f32, cvt_rzi_s32_f32, cvt_rmi_s32_f32, cvt_rpi_s32_f32, cvt_rni_u32_f32, cvt_rzi_u32_f32] with |case| case => {
        let a = f32::from_bits(a);
        [
            cvt_rni_sat_s8_f32(a) as u32, cvt_rni_sat_u8_f32(a), cvt_rni_sat_s16_f32(a) as u32, cvt_rni_sat_u16_f32(a),
            cvt_rni_s32_f32(a) as u32, cvt_rzi_s32_f32(a) as u32, cvt_rmi_s32_f32(a) as u32, cvt_rpi_s32_f32(a) as u32,
            cvt_rni_u32_f32(a), cvt_rzi_u32_f32(a),
        ]
    }
    fn between_integers(a: Random::word, b: Random::word, c: Random::word) -> 8
    covers [cvt_sat_s8_s32, cvt_sat_u8_s32, cvt_sat_s16_s32, cvt_sat_u16_s32, cvt_pack_sat_s8_s32_b32, cvt_pack_sat_u8_s32_b32, cvt_pack_sat_s16_s32, cvt_pack_sat_u16_s32] with |case| case => {
        let [x, y] = [a, b].map(|word| word as i32);
        [
            cvt_sat_s8_s32(x) as u32, cvt_sat_u8_s32(x), cvt_sat_s16_s32(x) as u32, cvt_sat_u16_s32(x),
            cvt_pack_sat_s8_s32_b32(x, y, c), cvt_pack_sat_u8_s32_b32(x, y, c), cvt_pack_sat_s16_s32(x, y), cvt_pack_sat_u16_s32(x, y),
        ]
    }
    fn to_halves(a: narrowed, b: narrowed) -> 9
    covers [cvt_rn_f16_f32, cvt_rz_f16_f32, cvt_rn_bf16_f32, cvt_rz_bf16_f32, cvt_rn_f16x2_f32, cvt_rz_f16x2_f32, cvt_rn_bf16x2_f32, cvt_rz_bf16x2_f32, cvt_rna_tf32_f32] with |case| case => {
        let [a, b] = [a, b].map(f32::from_bits);
        [
            cvt_rn_f16_f32(a) as u32, cvt_rz_f16_f32(a) as u32, cvt_rn_bf16_f32(a) as u32, cvt_rz_bf16_f32(a) as u32,
            cvt_rn_f16x2_f32(a, b), cvt_rz_f16x2_f32(a, b), cvt_rn_bf16x2_f32(a, b), cvt_rz_bf16x2_f32(a, b), cvt_rna_tf32_f32(a),
        ]
    }
    fn from_halves(a: Random::half) -> 1 covers [cvt_f32_f16] with |case| case => { [cvt_f32_f16(a as u16).to_bits()] }
}
