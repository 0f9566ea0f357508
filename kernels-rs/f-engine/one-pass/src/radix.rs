//! Transforms of 3, 5 and 9 points in registers, beside those of 2, 4, 6, 8, 10, 12 and 16.
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
//! three of what these give, turned by ninths: 100 operations.

use fringes_device::fused::fma;
use fringes_kernels_common::complex::{Complex, add, mul, sub};
use fringes_kernels_f_engine_two_pass::butterfly::Radix;

/// Three points.
pub struct Three;

/// Five points.
pub struct Five;

/// Nine points.
pub struct Nine;

const SIN_3: f32 = 0.866_025_4;
const COS_5: [f32; 2] = [0.309_017, -0.809_017];
const SIN_5: [f32; 2] = [0.951_056_5, 0.587_785_25];
/// `exp(-2 pi i n / 9)` for 1, 2 and 4.
const NINTHS: [Complex; 3] =
    [[0.766_044_44, -0.642_787_6], [0.173_648_18, -0.984_807_7], [-0.939_692_6, -0.342_020_15]];

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
