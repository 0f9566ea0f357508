//! Twins of arithmetic on pairs of halves against the `half` crate and exact integers.

use crate::common;

use common::{Random, thread};
use fringes_device::half2::*;
use half::{bf16, f16};

/// f16 of all kinds: zeros, subnormals, ones, the greatest, infinities, NaN, and any bits.
fn halves() -> Vec<u16> {
    let mut halves = vec![
        0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x8400, 0x3800, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x7bff, 0xfbff, 0x7c00,
        0xfc00, 0x7e00, 0x7c01, 0xffff,
    ];
    let mut random = Random(3);
    halves.extend((0..300).map(|_| random.word() as u16));
    halves
}

/// A number's bits, any NaN as 0x7fff.
fn canonical(x: f16) -> u16 {
    if x.is_nan() { 0x7fff } else { x.to_bits() }
}

/// Checks a function on pairs by its low halves, and that high halves come out the same.
fn check(name: &str, a: u16, b: u16, have: impl Fn(u32, u32) -> u32, want: u16) {
    let pair = |x: u16| u32::from(x) | 0x3c00_0000;
    assert_eq!(have(pair(a), pair(b)) as u16, want, "{name} of {a:#06x}, {b:#06x} in the low half");
    let pair = |x: u16| u32::from(x) << 16 | 0x3c00;
    assert_eq!((have(pair(a), pair(b)) >> 16) as u16, want, "{name} of {a:#06x}, {b:#06x} in the high half");
}

fn flush(x: u16) -> u16 {
    if x & 0x7c00 == 0 { x & 0x8000 } else { x }
}

/// As computed with flushing: what is below the least normal number when rounded to 11 bits becomes zero.
fn flushed(exact: f64) -> u16 {
    // Between 2047 x 2^-25, which has 11 bits, and 2^-14 the middle rounds up to the even one.
    if exact.abs() < 2f64.powi(-14) - 2f64.powi(-26) {
        f16::from_f64(0f64.copysign(exact)).to_bits()
    } else {
        canonical(f16::from_f64(exact))
    }
}

fn saturated(x: u16) -> u16 {
    let value = f16::from_bits(x).to_f32();
    // NaN, zeros and what is negative give +0.
    if value > 0.0 { f16::from_f32(value.min(1.0)).to_bits() } else { 0 }
}

#[test]
fn sums_and_products_are_rounded_once() {
    let halves = halves();
    thread(|| {
        for (a, b) in halves.iter().flat_map(|&a| halves.iter().map(move |&b| (a, b))) {
            // Sums and products of two f16 are exact in f64.
            let exact = |op: fn(f64, f64) -> f64, a, b| op(f16::from_bits(a).to_f64(), f16::from_bits(b).to_f64());
            let apply = |op, a, b| canonical(f16::from_f64(exact(op, a, b)));
            let [add, sub, mul]: [fn(f64, f64) -> f64; 3] = [|a, b| a + b, |a, b| a - b, |a, b| a * b];
            check("add", a, b, add_rn_f16x2, apply(add, a, b));
            check("sub", a, b, sub_rn_f16x2, apply(sub, a, b));
            check("mul", a, b, mul_rn_f16x2, apply(mul, a, b));
            check("add.ftz", a, b, add_rn_ftz_f16x2, flushed(exact(add, flush(a), flush(b))));
            check("mul.ftz", a, b, mul_rn_ftz_f16x2, flushed(exact(mul, flush(a), flush(b))));
            check("add.sat", a, b, add_rn_sat_f16x2, saturated(apply(add, a, b)));
            check("sub.sat", a, b, sub_rn_sat_f16x2, saturated(apply(sub, a, b)));
            check("mul.ftz.sat", a, b, mul_rn_ftz_sat_f16x2, saturated(flushed(exact(mul, flush(a), flush(b)))));
        }
    });
}

/// A finite f16 in units of 2^-24.
fn units(x: u16) -> i128 {
    (f16::from_bits(x).to_f64() * 2f64.powi(24)) as i128
}

#[test]
fn fused_results_are_the_nearest_of_the_exact_ones() {
    let mut random = Random(4);
    let cases: Vec<[u16; 3]> = (0..40_000)
        .map(|i| {
            let mut half = || random.word() as u16;
            let [a, b, c] = [half(), half(), half()];
            // Half of the sums near the negative of the product, where it cancels.
            if i % 2 == 0 {
                [a, b, c]
            } else {
                [a, b, f16::from_f64(-f16::from_bits(a).to_f64() * f16::from_bits(b).to_f64()).to_bits() ^ (c & 3)]
            }
        })
        .filter(|operands| operands.iter().all(|&x| f16::from_bits(x).is_finite()))
        .collect();
    assert!(cases.len() > 20_000);
    thread(|| {
        for &[a, b, c] in &cases {
            // In units of 2^-48.
            let exact = units(a) * units(b) + (units(c) << 24);
            let d = fma_rn_f16x2(a.into(), b.into(), c.into()) as u16;
            if d & 0x7fff == 0x7c00 {
                assert!(exact.abs() >= 65520 << 48, "{a:#x} {b:#x} {c:#x}");
                continue;
            }
            let distance = |x: u16| (exact - (units(x) << 24)).abs();
            let (toward, away) = (if d & 0x7fff == 0 { d ^ 0x8001 } else { d - 1 }, d + 1);
            for other in [toward, away].into_iter().filter(|x| x & 0x7fff != 0x7c00) {
                assert!(
                    distance(d) < distance(other) || distance(d) == distance(other) && d & 1 == 0,
                    "{a:#x} {b:#x} {c:#x} gave {d:#x}, {other:#x} is nearer"
                );
            }
            let relu = fma_rn_relu_f16x2(a.into(), b.into(), c.into()) as u16;
            assert_eq!(relu, if d >> 15 == 1 { 0 } else { d });
        }
    });
}

#[test]
fn fused_results_that_are_not_finite() {
    thread(|| {
        assert_eq!(fma_rn_f16x2(0x7c00_7c00, 0x0000_3c00, 0x3c00_fc00), 0x7fff_7fff);
        assert_eq!(fma_rn_f16x2(0x7bff_3c00, 0x4000_3c00, 0x0000_7c00), 0x7c00_7c00);
        assert_eq!(fma_rn_bf16x2(0x7f80_3f80, 0x0000_3f80, 0x3f80_7f80), 0x7fff_7f80);
    });
}

#[test]
fn bf16_sums_by_fused_operations_are_the_sums() {
    let mut random = Random(5);
    let words: Vec<[u32; 2]> = (0..20_000).map(|_| [random.word(), random.word()]).collect();
    thread(|| {
        for &[a, b] in &words {
            assert_eq!(fma_rn_bf16x2(a, 0x3f80_3f80, b), add_rn_bf16x2(a, b), "{a:#x} {b:#x}");
            assert_eq!(fma_rn_bf16x2(b, 0xbf80_bf80, a), sub_rn_bf16x2(a, b), "{a:#x} {b:#x}");
            assert_eq!(fma_rn_bf16x2(a, b, 0x8000_8000), mul_rn_bf16x2(a, b), "{a:#x} {b:#x}");
            // A product of two bf16 is exact in f64; so is its rounding.
            let [x, y] = [a, b].map(|word| bf16::from_bits(word as u16).to_f64());
            let want = bf16::from_f64(x * y);
            let have = mul_rn_bf16x2(a, b) as u16;
            assert_eq!(have, if want.is_nan() { 0x7fff } else { want.to_bits() }, "{a:#x} {b:#x}");
        }
    });
}

#[test]
fn extremes_order_zeros_and_treat_nan_as_named() {
    let halves = halves();
    thread(|| {
        for (a, b) in halves.iter().flat_map(|&a| halves.iter().map(move |&b| (a, b))) {
            let (x, y) = (f16::from_bits(a), f16::from_bits(b));
            // A total order of numbers: the bits as sign and magnitude.
            let key = |bits: u16| if bits >> 15 == 1 { -i32::from(bits & 0x7fff) - 1 } else { i32::from(bits) };
            let (least, greatest) = if key(a) <= key(b) { (a, b) } else { (b, a) };
            let of = |one: u16| match (x.is_nan(), y.is_nan()) {
                (false, false) => one,
                (true, true) => 0x7fff,
                (true, false) => b,
                (false, true) => a,
            };
            let strict = |one: u16| if x.is_nan() || y.is_nan() { 0x7fff } else { one };
            check("min", a, b, min_f16x2, of(least));
            check("max", a, b, max_f16x2, of(greatest));
            check("min.NaN", a, b, min_nan_f16x2, strict(least));
            check("max.NaN", a, b, max_nan_f16x2, strict(greatest));
        }
    });
}

#[test]
fn signs_change_nothing_else() {
    thread(|| {
        assert_eq!(neg_f16x2(0x3c00_8001), 0xbc00_0001);
        assert_eq!(neg_ftz_f16x2(0x3c00_8001), 0xbc00_0000);
        assert_eq!(abs_f16x2(0xbc00_8001), 0x3c00_0001);
        assert_eq!(abs_ftz_f16x2(0xbc00_8001), 0x3c00_0000);
        assert_eq!(neg_bf16x2(0x3f80_8001), 0xbf80_0001);
        assert_eq!(abs_bf16x2(0xbf80_8001), 0x3f80_0001);
    });
}

#[test]
fn a_small_addend_decides_ties_of_bf16_products() {
    thread(|| {
        // 5 times 57 is 285, in the middle of 284 and 286.
        let of = |c: f32| {
            let [a, b, c] = [5.0, 57.0, c].map(|x| u32::from(bf16::from_f32(x).to_bits()));
            bf16::from_bits(fma_rn_bf16x2(a, b, c) as u16).to_f32()
        };
        let small = 2f32.powi(-60);
        assert_eq!([of(small), of(-small), of(0.0)], [286.0, 284.0, 284.0]);
    });
}
