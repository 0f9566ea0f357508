//! Twins of conversions against the `half` crate and against definitions.

use crate::common;

use common::thread;
use fringes_device::convert::*;
use half::{bf16, f16};

/// f32 of every exponent and sign, around the places where narrow formats round: the middles of numbers of 7, 10 and 11
/// stored bits.
fn floats() -> impl Iterator<Item = f32> {
    let fractions = [
        0u32, 1, 0x1000, 0x2000, 0x3000, 0x8000, 0x1_8000, 0x40_0000, 0x55_5555, 0x7f_0000, 0x7f_8000, 0x7f_e000,
        0x7f_f000, 0x7f_ffff,
    ];
    (0..512u32).flat_map(move |top| {
        fractions.into_iter().flat_map(move |fraction| {
            [-1, 0, 1].map(move |step: i32| f32::from_bits((top << 23 | fraction).wrapping_add_signed(step)))
        })
    })
}

#[test]
fn to_f16_and_bf16_to_nearest_even_agree_with_the_half_crate() {
    thread(|| {
        for x in floats() {
            let (have, wide) = (cvt_rn_f16_f32(x), cvt_rn_bf16_f32(x));
            if x.is_nan() {
                assert_eq!((have, wide), (0x7fff, 0x7fff));
            } else {
                assert_eq!(have, f16::from_f32(x).to_bits(), "f16 of {x:e}");
                assert_eq!(wide, bf16::from_f32(x).to_bits(), "bf16 of {x:e}");
            }
        }
    });
}

#[test]
fn towards_zero_is_the_greatest_number_not_beyond() {
    thread(|| {
        for x in floats().filter(|x| x.is_finite()) {
            let h = cvt_rz_f16_f32(x);
            let (value, next) = (f16::from_bits(h).to_f32(), f16::from_bits(h + 1).to_f32());
            assert!(
                value.abs() <= x.abs() && x.abs() < next.abs() || h & 0x7fff == 0x7bff && x.abs() >= 65504.0,
                "{x:e}"
            );
            assert_eq!(h >> 15, u16::from(x.is_sign_negative()));
            // bf16 is the upper half of an f32.
            assert_eq!(cvt_rz_bf16_f32(x), (x.to_bits() >> 16) as u16);
        }
        assert_eq!(cvt_rz_f16_f32(f32::INFINITY), 0x7c00);
    });
}

#[test]
fn tf32_rounds_on_the_bits_of_f32() {
    thread(|| {
        for x in floats().filter(|x| x.is_finite()) {
            let bits = x.to_bits();
            assert_eq!(cvt_rna_tf32_f32(x), (bits + 0x1000) & !0x1fff, "{x:e}");
            assert_eq!(cvt_rn_tf32_f32(x), (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff, "{x:e}");
            assert_eq!(cvt_rz_tf32_f32(x), bits & !0x1fff, "{x:e}");
        }
    });
}

#[test]
fn finite_saturation_replaces_infinity_only() {
    thread(|| {
        assert_eq!(cvt_rn_satfinite_f16_f32(65520.0), 0x7bff);
        assert_eq!(cvt_rn_satfinite_f16_f32(f32::NEG_INFINITY), 0xfbff);
        assert_eq!(cvt_rn_satfinite_f16_f32(f32::NAN), 0x7fff);
        assert_eq!(cvt_rn_satfinite_f16x2_f32(1e9, 1.5), 0x7bff_3e00);
    });
}

#[test]
fn pairs_hold_the_first_operand_in_the_high_half() {
    thread(|| {
        assert_eq!(cvt_rn_f16x2_f32(1.0, 2.0), 0x3c00_4000);
        assert_eq!(cvt_rz_f16x2_f32(1.0, 2.0), 0x3c00_4000);
        assert_eq!(cvt_rn_bf16x2_f32(1.0, 2.0), 0x3f80_4000);
        assert_eq!(cvt_rz_bf16x2_f32(1.0, 2.0), 0x3f80_4000);
        assert_eq!(cvt_pack_sat_s8_s32_b32(1, -200, 0x1234_5678), 0x5678_0180);
        assert_eq!(cvt_pack_sat_u8_s32_b32(300, -1, 0x1234_5678), 0x5678_ff00);
        assert_eq!(cvt_pack_sat_s16_s32(40000, -40000), 0x7fff_8000);
        assert_eq!(cvt_pack_sat_u16_s32(70000, -1), 0xffff_0000);
    });
}

#[test]
fn every_f16_and_bf16_widens_exactly() {
    thread(|| {
        for bits in 0..=u16::MAX {
            let (x, y) = (cvt_f32_f16(bits), cvt_f32_bf16(bits));
            let (want_x, want_y) = (f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32());
            assert!(x.to_bits() == want_x.to_bits() || x.is_nan() && want_x.is_nan(), "{bits:#06x}");
            assert!(y.to_bits() == want_y.to_bits() || y.is_nan() && want_y.is_nan(), "{bits:#06x}");
        }
    });
}

#[test]
fn integers_are_nearest_with_ties_to_even_and_clamped() {
    thread(|| {
        for twice in -140_000i32..=140_000 {
            let x = twice as f32 / 2.0;
            let down = twice.div_euclid(2);
            let nearest = if twice % 2 != 0 && down % 2 != 0 { down + 1 } else { down };
            assert_eq!(cvt_rni_s32_f32(x), nearest);
            assert_eq!(cvt_rni_sat_s8_f32(x), nearest.clamp(-128, 127));
            assert_eq!(cvt_rni_sat_u8_f32(x), nearest.clamp(0, 255) as u32);
            assert_eq!(cvt_rni_sat_s16_f32(x), nearest.clamp(-32768, 32767));
            assert_eq!(cvt_rni_sat_u16_f32(x), nearest.clamp(0, 65535) as u32);
            assert_eq!(cvt_rni_u32_f32(x), nearest.max(0) as u32);
            assert_eq!(cvt_rmi_s32_f32(x), down);
            assert_eq!(cvt_rpi_s32_f32(x), -(-twice).div_euclid(2));
            assert_eq!(cvt_rzi_s32_f32(x), twice / 2);
            assert_eq!(cvt_sat_s8_s32(twice), twice.clamp(-128, 127));
            assert_eq!(cvt_sat_u8_s32(twice), twice.clamp(0, 255) as u32);
            assert_eq!(cvt_sat_s16_s32(twice), twice.clamp(-32768, 32767));
            assert_eq!(cvt_sat_u16_s32(twice), twice.clamp(0, 65535) as u32);
        }
        for (x, s8, s32, u32) in [
            (f32::NAN, 0, 0, 0),
            (f32::INFINITY, 127, i32::MAX, u32::MAX),
            (f32::NEG_INFINITY, -128, i32::MIN, 0),
            (3e9, 127, i32::MAX, 3_000_000_000),
            (-3e9, -128, i32::MIN, 0),
        ] {
            assert_eq!((cvt_rni_sat_s8_f32(x), cvt_rni_s32_f32(x), cvt_rzi_u32_f32(x)), (s8, s32, u32), "{x}");
        }
    });
}
