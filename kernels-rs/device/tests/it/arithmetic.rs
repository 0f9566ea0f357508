//! Integer twins against definitions written another way.

use crate::common;

use common::{Random, thread};
use fringes_device::arithmetic::*;

/// Words at the ends of ranges, and a few others.
const WORDS: [u32; 14] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x0123_4567,
    0x89ab_cdef,
];

#[test]
fn prmt_picks_bytes_and_repeats_signs() {
    let (a, b) = (0x8003_8201, 0x0706_8504);
    let source: Vec<u8> = [a, b].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    thread(|| {
        for selector in 0..=0xffff {
            let want: [u8; 4] = core::array::from_fn(|i| {
                let nibble = selector >> (4 * i) & 15;
                let byte = source[nibble as usize % 8];
                if nibble < 8 { byte } else { (byte as i8 >> 7) as u8 }
            });
            assert_eq!(prmt_b32(a, b, selector).to_le_bytes(), want, "selector {selector:#06x}");
        }
    });
}

#[test]
fn prmt_modes_follow_their_tables() {
    // Bytes of the result from the highest down, for selectors 0 to 3.
    type Mode = fn(u32, u32, u32) -> u32;
    let tables: [(Mode, [u32; 4]); 6] = [
        (prmt_b32_f4e, [0x3210, 0x4321, 0x5432, 0x6543]),
        (prmt_b32_b4e, [0x5670, 0x6701, 0x7012, 0x0123]),
        (prmt_b32_rc8, [0x0000, 0x1111, 0x2222, 0x3333]),
        (prmt_b32_ecl, [0x3210, 0x3211, 0x3222, 0x3333]),
        (prmt_b32_ecr, [0x0000, 0x1110, 0x2210, 0x3210]),
        (prmt_b32_rc16, [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    thread(|| {
        for (mode, rows) in tables {
            for (selector, row) in (0..).zip(rows) {
                let want = (0..4).fold(0, |word, i| word | (row >> (4 * i) & 15) << (8 * i));
                assert_eq!(mode(0x0302_0100, 0x0706_0504, selector), want);
                assert_eq!(mode(0x0302_0100, 0x0706_0504, selector | 0xffff_fff4), want, "only two bits select");
            }
        }
    });
}

#[test]
fn lop3_tables_give_the_functions_that_they_are_made_from() {
    let mut random = Random(1);
    for _ in 0..100 {
        let (a, b, c) = (random.word(), random.word(), random.word());
        thread(|| {
            assert_eq!(lop3_b32::<{ 0xf0 & 0xcc | 0xaa }>(a, b, c), a & b | c);
            assert_eq!(lop3_b32::<{ 0xf0 ^ 0xcc ^ 0xaa }>(a, b, c), a ^ b ^ c);
            assert_eq!(lop3_b32::<0xca>(a, b, c), a & b | !a & c);
            assert_eq!(lop3_b32::<0xe8>(a, b, c), a & b | b & c | a & c);
        });
    }
}

#[test]
fn funnel_shifts_wrap_or_clamp() {
    thread(|| {
        for (low, high) in WORDS.into_iter().flat_map(|low| WORDS.map(|high| (low, high))) {
            for n in [0, 1, 7, 31, 32, 33, 63, 64, 65, 0xffff_ffe0, u32::MAX] {
                let left = |n: u32| match n {
                    0 => high,
                    32 => low,
                    _ => high << n | low >> (32 - n),
                };
                let right = |n: u32| match n {
                    0 => low,
                    32 => high,
                    _ => low >> n | high << (32 - n),
                };
                assert_eq!(shf_l_wrap_b32(low, high, n), left(n & 31));
                assert_eq!(shf_l_clamp_b32(low, high, n), left(n.min(32)));
                assert_eq!(shf_r_wrap_b32(low, high, n), right(n & 31));
                assert_eq!(shf_r_clamp_b32(low, high, n), right(n.min(32)));
            }
        }
    });
}

#[test]
fn bit_fields_beyond_the_word_hold_zeros_or_signs() {
    thread(|| {
        for a in WORDS {
            for (position, length) in (0..70).flat_map(|position| (0..70).map(move |length| (position, length))) {
                let mask = (1u128 << length) - 1;
                assert_eq!(bfe_u32(a, position, length), (u128::from(a) >> position & mask) as u32);
                // The word with its sign repeated for ever; then the field with its own.
                let field = i128::from(a as i32) >> position;
                let want = if length == 0 { 0 } else { field << (128 - length) >> (128 - length) };
                assert_eq!(bfe_s32(a as i32, position, length), want as i32, "{a:#x} {position} {length}");
                let b = 0xa5a5_5a5a;
                let hole = mask << position;
                let want = (u128::from(b) & !hole | u128::from(a) << position & hole) as u32;
                assert_eq!(bfi_b32(a, b, position, length), want, "{a:#x} {position} {length}");
                assert_eq!(bfi_b32(a, b, position | 0xff00, length | 0x100), want, "eight bits count");
            }
        }
    });
}

#[test]
fn products_have_all_their_bits() {
    thread(|| {
        for (a, b) in WORDS.into_iter().flat_map(|a| WORDS.map(|b| (a, b))) {
            let (unsigned, signed) = (u128::from(a) * u128::from(b), i128::from(a as i32) * i128::from(b as i32));
            assert_eq!(u128::from(mul_wide_u32(a, b)), unsigned);
            assert_eq!(i128::from(mul_wide_s32(a as i32, b as i32)), signed);
            assert_eq!(u128::from(mul_hi_u32(a, b)), unsigned >> 32);
            assert_eq!(i128::from(mul_hi_s32(a as i32, b as i32)), signed >> 32);
            let c = 0xfeed_beef_0bad_cafe;
            assert_eq!(mad_wide_u32(a, b, c), (unsigned + u128::from(c)) as u64);
            assert_eq!(mad_wide_s32(a as i32, b as i32, c as i64), (signed + i128::from(c as i64)) as i64);
            assert_eq!(mad_lo_u32(a, b, c as u32), (unsigned + u128::from(c as u32)) as u32);
            assert_eq!(mad_lo_s32(a as i32, b as i32, c as i32), (signed + i128::from(c as i32)) as i32);
            assert_eq!(mad_hi_u32(a, b, c as u32), ((unsigned >> 32) + u128::from(c as u32)) as u32);
        }
        assert_eq!(mul_hi_u64(u64::MAX, u64::MAX), u64::MAX - 1);
    });
}

#[test]
fn dot_products_of_bytes_are_signed_or_not() {
    thread(|| {
        let (a, b) = (u32::from_le_bytes([1, 0x80, 0xff, 0x7f]), u32::from_le_bytes([2, 0x80, 0x01, 0x7f]));
        assert_eq!(dp4a_s32_s32(a, b, -5), 2 + 128 * 128 - 1 + 127 * 127 - 5);
        assert_eq!(dp4a_u32_u32(a, b, 5), 2 + 128 * 128 + 255 + 127 * 127 + 5);
        assert_eq!(dp4a_s32_s32(0x7f7f_7f7f, 0x7f7f_7f7f, i32::MAX), i32::MIN + 4 * 127 * 127 - 1);
    });
}

#[test]
fn nan_results_have_all_bits_but_the_sign() {
    thread(|| {
        assert_eq!(fma_rn_f32(f32::INFINITY, 0.0, 1.0).to_bits(), 0x7fff_ffff);
        assert_eq!(fma_rn_f32(f32::from_bits(0xffc0_1234), 1.0, 1.0).to_bits(), 0x7fff_ffff);
        assert_eq!(sqrt_rn_f32(-1.0).to_bits(), 0x7fff_ffff);
        assert_eq!(rsqrt_approx_f32(-1.0).to_bits(), 0x7fff_ffff);
    });
}

#[test]
fn fused_multiply_add_rounds_once_and_keeps_subnormals() {
    thread(|| {
        let x = 1.0 + f32::EPSILON;
        assert_eq!(fma_rn_f32(x, x, -1.0 - 2.0 * f32::EPSILON), f32::EPSILON * f32::EPSILON);
        let least = f32::from_bits(1);
        assert_eq!(fma_rn_f32(least, 1.0, least), f32::from_bits(2));
    });
}
