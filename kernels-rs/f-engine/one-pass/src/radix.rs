//! Transforms of 3, 5, 9, 15 and 25 points in registers, beside those of 2, 4, 6, 8, 10, 12 and 16.
//!
//! `X[k] = sum_n x[n] exp(-2 pi i n k / R)`. Sums and differences of points `n` and `R - n` have real and imaginary
//! factors:
//!
//! ```text
//! 3: s = x1 + x2, d = x1 - x2,  X0 = x0 + s,  m = x0 - s/2,  X1, X2 = m -+ i sin(2 pi / 3) d
//! 5: s1 = x1 + x4, s2 = x2 + x3, d1, d2 differences,
//!    X1, X4 = x0 + cos(a) s1 + cos(2 a) s2 -+ i (sin(a) d1 + sin(2 a) d2)            a = 2 pi / 5
//!    X2, X3 = x0 + cos(2 a) s1 + cos(a) s2 -+ i (sin(2 a) d1 - sin(a) d2)
//! ```
//!
//! 14 and 40 operations, of which 4 and 16 are multiply-adds (or products). 9 points are three transforms of 3, and
//! three of what these give, turned by ninths: 100 operations. 25 points are ten of 5 in the same way: 496 operations.
//!
//! 15 points are five transforms of 3 and three of 5, with no twiddles between them, as 3 and 5 have no common factor:
//! of point `5 a + 3 b` and bin `k` the product over 15 is `a k / 3 + b k / 5` and whole turns, so bin `k` is made of
//! bins `k mod 3` and `k mod 5`. 190 operations.

use fringes_device::fused::fma;
use fringes_kernels_common::complex::{Complex, add, mul, sub};
use fringes_kernels_f_engine_two_pass::butterfly::Radix;

/// Three points.
pub struct Three;

/// Five points.
pub struct Five;

/// Nine points.
pub struct Nine;

/// Fifteen points.
pub struct Fifteen;

/// Twenty-five points.
pub struct TwentyFive;

const SIN_3: f32 = 0.866_025_4;
const COS_5: [f32; 2] = [0.309_017, -0.809_017];
const SIN_5: [f32; 2] = [0.951_056_5, 0.587_785_25];
/// `exp(-2 pi i n / 9)` for 1, 2 and 4.
const NINTHS: [Complex; 3] =
    [[0.766_044_44, -0.642_787_6], [0.173_648_18, -0.984_807_7], [-0.939_692_6, -0.342_020_15]];
/// `exp(-2 pi i n / 25)` for 1, 2, 3, 4, 6, 8, 9, 12 and 16.
const TWENTY_FIFTHS: [Complex; 9] = [
    [0.968_583_17, -0.248_689_89],
    [0.876_306_65, -0.481_753_68],
    [0.728_968_6, -0.684_547_1],
    [0.535_826_8, -0.844_327_9],
    [0.062_790_52, -0.998_026_7],
    [-0.425_779_28, -0.904_827_06],
    [-0.637_424, -0.770_513_24],
    [-0.992_114_7, -0.125_333_23],
    [-0.637_424, 0.770_513_24],
];

/// `(m - i d, m + i d)`.
#[inline(always)]
fn apart(m: Complex, d: Complex) -> (Complex, Complex) {
    ([m[0] + d[1], m[1] - d[0]], [m[0] - d[1], m[1] + d[0]])
}

/// `a x + b` of a complex and a real number.
#[inline(always)]
fn along(a: f32, x: Complex, b: Complex) -> Complex {
    [fma(a, x[0], b[0]), fma(a, x[1], b[1])]
}

impl Radix for Three {
    type Points = [Complex; 3];
    const POINTS: usize = 3;
    const ZERO: Self::Points = [[0.0; 2]; 3];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        let (s, d) = (add(x[1], x[2]), sub(x[1], x[2]));
        let m = along(-0.5, s, x[0]);
        // m - i sin d.
        let one = [fma(SIN_3, d[1], m[0]), fma(-SIN_3, d[0], m[1])];
        let two = [fma(-SIN_3, d[1], m[0]), fma(SIN_3, d[0], m[1])];
        [add(x[0], s), one, two]
    }
}

impl Radix for Five {
    type Points = [Complex; 5];
    const POINTS: usize = 5;
    const ZERO: Self::Points = [[0.0; 2]; 5];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        let (s1, d1) = (add(x[1], x[4]), sub(x[1], x[4]));
        let (s2, d2) = (add(x[2], x[3]), sub(x[2], x[3]));
        let m1 = along(COS_5[1], s2, along(COS_5[0], s1, x[0]));
        let m2 = along(COS_5[0], s2, along(COS_5[1], s1, x[0]));
        let e1 = along(SIN_5[1], d2, [SIN_5[0] * d1[0], SIN_5[0] * d1[1]]);
        let e2 = along(-SIN_5[0], d2, [SIN_5[1] * d1[0], SIN_5[1] * d1[1]]);
        let ((one, four), (two, three)) = (apart(m1, e1), apart(m2, e2));
        [add(x[0], add(s1, s2)), one, two, three, four]
    }
}

impl Radix for Nine {
    type Points = [Complex; 9];
    const POINTS: usize = 9;
    const ZERO: Self::Points = [[0.0; 2]; 9];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        // Over points 3 apart, then over the remainders: bin k + 3 l is value l of the transform of values k.
        let over = |n: usize| Three::transform([x[n], x[n + 3], x[n + 6]]);
        let (a, b, c) = (over(0), over(1), over(2));
        let first = Three::transform([a[0], b[0], c[0]]);
        let second = Three::transform([a[1], mul(b[1], NINTHS[0]), mul(c[1], NINTHS[1])]);
        let third = Three::transform([a[2], mul(b[2], NINTHS[1]), mul(c[2], NINTHS[2])]);
        [first[0], second[0], third[0], first[1], second[1], third[1], first[2], second[2], third[2]]
    }
}

impl Radix for Fifteen {
    type Points = [Complex; 15];
    const POINTS: usize = 15;
    const ZERO: Self::Points = [[0.0; 2]; 15];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        // Of points 3 b, 3 b + 5 and 3 b + 10, all modulo 15; then over b.
        let over = |n: usize| Three::transform([x[n], x[(n + 5) % 15], x[(n + 10) % 15]]);
        let (a, b, c, d, e) = (over(0), over(3), over(6), over(9), over(12));
        let [p, q, r] = [0, 1, 2].map(|k| Five::transform([a[k], b[k], c[k], d[k], e[k]]));
        [p[0], q[1], r[2], p[3], q[4], r[0], p[1], q[2], r[3], p[4], q[0], r[1], p[2], q[3], r[4]]
    }
}

impl Radix for TwentyFive {
    type Points = [Complex; 25];
    const POINTS: usize = 25;
    const ZERO: Self::Points = [[0.0; 2]; 25];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        // As of 9 points.
        let over = |n: usize| Five::transform([x[n], x[n + 5], x[n + 10], x[n + 15], x[n + 20]]);
        let (a, b, c, d, e) = (over(0), over(1), over(2), over(3), over(4));
        let turned = |k: usize, [one, two, three, four]: [usize; 4]| {
            let w = |n: usize| TWENTY_FIFTHS[n];
            Five::transform([a[k], mul(b[k], w(one)), mul(c[k], w(two)), mul(d[k], w(three)), mul(e[k], w(four))])
        };
        // Powers n k of point n of value k.
        let first = Five::transform([a[0], b[0], c[0], d[0], e[0]]);
        let second = turned(1, [0, 1, 2, 3]);
        let third = turned(2, [1, 3, 4, 5]);
        let fourth = turned(3, [2, 4, 6, 7]);
        let fifth = turned(4, [3, 5, 7, 8]);
        let of = |l: usize| [first[l], second[l], third[l], fourth[l], fifth[l]];
        let [f, g, h, i, j] = [of(0), of(1), of(2), of(3), of(4)];
        [
            f[0], f[1], f[2], f[3], f[4], g[0], g[1], g[2], g[3], g[4], h[0], h[1], h[2], h[3], h[4], i[0], i[1], i[2],
            i[3], i[4], j[0], j[1], j[2], j[3], j[4],
        ]
    }
}
