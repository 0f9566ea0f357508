//! Transforms of 2 to 16 points in registers, `X[k] = sum_n x[n] exp(-2 pi i n k / R)`, natural order on both sides.
//!
//! Decimation in time by twos, of 6, 10 and 12 points down to transforms of 3 and 5. With *twiddled* points, `sum_n w^n
//! x[n] exp(-2 pi i n k / R)`, every butterfly's factor contains its part of `w^n`: the butterfly of distance `d`
//! multiplies by `w^d` times a constant, so that the twiddles cost nothing but their loads:
//!
//! ```text
//! a + f b      two fused multiply-adds a part
//! a - f b      2 a - (a + f b), one
//! ```
//!
//! 6 operations for two points and a stage. Of the factors of 16 points only [`TWIDDLES`] are distinct up to `-i`,
//! which is free.
//!
//! # Precision
//! A stage adds at most `3 2^-24` of the larger of the two results' magnitudes to the error of a point: the sum rounds
//! twice, the difference once more. A transform of 3 points adds at most `4 2^-24` of the sum of its points'
//! magnitudes, one of 5 points `8 2^-24`.

use fringes_device::fused::fma;
use fringes_device::unroll;
use fringes_kernels_common::complex::{Complex, add, sub, turned};

/// Twiddles of 16 points: `w^8, w^4, w^2, w^2 e(1/8), w, w e(1/16), w e(2/16), w e(3/16)` with `e(x) = exp(-2 pi i x)`.
pub const TWIDDLES: usize = 8;

/// `exp(-2 pi i k / 16)` for `k` of 0 to 3.
const ROOTS: [Complex; 4] = [
    [1.0, 0.0],
    [0.923_879_5, -0.382_683_43],
    [core::f32::consts::FRAC_1_SQRT_2, -core::f32::consts::FRAC_1_SQRT_2],
    [0.382_683_43, -0.923_879_5],
];

/// `(a + f b, a - f b)`.
#[inline(always)]
fn pair(a: Complex, b: Complex, f: Complex) -> (Complex, Complex) {
    let plus = [fma(-f[1], b[1], fma(f[0], b[0], a[0])), fma(f[1], b[0], fma(f[0], b[1], a[1]))];
    (plus, [fma(2.0, a[0], -plus[0]), fma(2.0, a[1], -plus[1])])
}

/// `(a + b, a - b)`.
#[inline(always)]
fn plain(a: Complex, b: Complex) -> (Complex, Complex) {
    (add(a, b), sub(a, b))
}

/// `(a - i b, a + i b)`.
#[inline(always)]
fn quarter(a: Complex, b: Complex) -> (Complex, Complex) {
    ([a[0] + b[1], a[1] - b[0]], [a[0] - b[1], a[1] + b[0]])
}

/// Two points.
#[inline(always)]
fn two(x: [Complex; 2]) -> [Complex; 2] {
    let (a, b) = plain(x[0], x[1]);
    [a, b]
}

/// Four points.
#[inline(always)]
fn four(x: [Complex; 4]) -> [Complex; 4] {
    let (even, odd) = (two([x[0], x[2]]), two([x[1], x[3]]));
    let (a, c) = plain(even[0], odd[0]);
    let (b, d) = quarter(even[1], odd[1]);
    [a, b, c, d]
}

/// Eight points.
#[inline(always)]
fn eight(x: [Complex; 8]) -> [Complex; 8] {
    let (even, odd) = (four([x[0], x[2], x[4], x[6]]), four([x[1], x[3], x[5], x[7]]));
    let (a, e) = plain(even[0], odd[0]);
    let (b, f) = pair(even[1], odd[1], ROOTS[2]);
    let (c, g) = quarter(even[2], odd[2]);
    let (d, h) = pair(even[3], odd[3], turned(ROOTS[2]));
    [a, b, c, d, e, f, g, h]
}

/// Sixteen points.
#[inline(always)]
pub fn sixteen(x: [Complex; 16]) -> [Complex; 16] {
    let even = eight([x[0], x[2], x[4], x[6], x[8], x[10], x[12], x[14]]);
    let odd = eight([x[1], x[3], x[5], x[7], x[9], x[11], x[13], x[15]]);
    let mut out = [[0.0; 2]; 16];
    (out[0], out[8]) = plain(even[0], odd[0]);
    (out[4], out[12]) = quarter(even[4], odd[4]);
    unroll!(k in 1 2 3 {
        (out[k], out[k + 8]) = pair(even[k], odd[k], ROOTS[k]);
        (out[k + 4], out[k + 12]) = pair(even[k + 4], odd[k + 4], turned(ROOTS[k]));
    });
    out
}

/// Three points.
#[inline(always)]
fn three([a, b, c]: [Complex; 3]) -> [Complex; 3] {
    let (sum, apart) = plain(b, c);
    let middle = [fma(-0.5, sum[0], a[0]), fma(-0.5, sum[1], a[1])];
    let sine = 0.866_025_4;
    [
        add(a, sum),
        [fma(sine, apart[1], middle[0]), fma(-sine, apart[0], middle[1])],
        [fma(-sine, apart[1], middle[0]), fma(sine, apart[0], middle[1])],
    ]
}

/// Five points.
#[inline(always)]
fn five([a, b, c, d, e]: [Complex; 5]) -> [Complex; 5] {
    // Cosines and sines of one and two fifths of a turn.
    let (cosines, sines) = ([0.309_017, -0.809_017], [0.951_056_5, 0.587_785_25]);
    let ((sum, apart), (inner, inner_apart)) = (plain(b, e), plain(c, d));
    let of = |one: f32, two: f32, i: usize| fma(two, inner[i], fma(one, sum[i], a[i]));
    let first = [of(cosines[0], cosines[1], 0), of(cosines[0], cosines[1], 1)];
    let second = [of(cosines[1], cosines[0], 0), of(cosines[1], cosines[0], 1)];
    let turn = |one: f32, two: f32, i: usize| fma(one, apart[i], two * inner_apart[i]);
    let (u, v) = (
        [turn(sines[0], sines[1], 0), turn(sines[0], sines[1], 1)],
        [turn(sines[1], -sines[0], 0), turn(sines[1], -sines[0], 1)],
    );
    let ((one, four), (two, three)) = (quarter(first, u), quarter(second, v));
    [add(add(a, sum), inner), one, two, three, four]
}

/// Six points.
#[inline(always)]
fn six(x: [Complex; 6]) -> [Complex; 6] {
    let (even, odd) = (three([x[0], x[2], x[4]]), three([x[1], x[3], x[5]]));
    let (a, d) = plain(even[0], odd[0]);
    let (b, e) = pair(even[1], odd[1], [0.5, -0.866_025_4]);
    let (c, f) = pair(even[2], odd[2], [-0.5, -0.866_025_4]);
    [a, b, c, d, e, f]
}

/// Ten points.
#[inline(always)]
fn ten(x: [Complex; 10]) -> [Complex; 10] {
    /// `exp(-2 pi i k / 10)` for `k` of 1 to 4.
    const ROOTS: [Complex; 4] = [
        [0.809_017, -0.587_785_25],
        [0.309_017, -0.951_056_5],
        [-0.309_017, -0.951_056_5],
        [-0.809_017, -0.587_785_25],
    ];
    let even = five([x[0], x[2], x[4], x[6], x[8]]);
    let odd = five([x[1], x[3], x[5], x[7], x[9]]);
    let mut out = [[0.0; 2]; 10];
    (out[0], out[5]) = plain(even[0], odd[0]);
    unroll!(k in 0 1 2 3 {
        (out[k + 1], out[k + 6]) = pair(even[k + 1], odd[k + 1], ROOTS[k]);
    });
    out
}

/// Twelve points.
#[inline(always)]
fn twelve(x: [Complex; 12]) -> [Complex; 12] {
    /// `exp(-2 pi i k / 12)` for `k` of 1 and 2.
    const ROOTS: [Complex; 2] = [[0.866_025_4, -0.5], [0.5, -0.866_025_4]];
    let even = six([x[0], x[2], x[4], x[6], x[8], x[10]]);
    let odd = six([x[1], x[3], x[5], x[7], x[9], x[11]]);
    let mut out = [[0.0; 2]; 12];
    (out[0], out[6]) = plain(even[0], odd[0]);
    (out[3], out[9]) = quarter(even[3], odd[3]);
    unroll!(k in 0 1 {
        (out[k + 1], out[k + 7]) = pair(even[k + 1], odd[k + 1], ROOTS[k]);
        (out[k + 4], out[k + 10]) = pair(even[k + 4], odd[k + 4], turned(ROOTS[k]));
    });
    out
}

/// Sixteen twiddled points; `w` as [`TWIDDLES`] says.
#[inline(always)]
pub fn sixteen_twiddled(x: [Complex; 16], w: [Complex; TWIDDLES]) -> [Complex; 16] {
    // Stage by stage: [n modulo the number of transforms left][k].
    let mut one = [[[0.0; 2]; 2]; 8];
    unroll!(n in 0 1 2 3 4 5 6 7 {
        (one[n][0], one[n][1]) = pair(x[n], x[n + 8], w[0]);
    });
    let mut two = [[[0.0; 2]; 4]; 4];
    unroll!(n in 0 1 2 3 {
        (two[n][0], two[n][2]) = pair(one[n][0], one[n + 4][0], w[1]);
        (two[n][1], two[n][3]) = pair(one[n][1], one[n + 4][1], turned(w[1]));
    });
    let mut three = [[[0.0; 2]; 8]; 2];
    unroll!(n in 0 1 {
        unroll!(k in 0 1 {
            (three[n][k], three[n][k + 4]) = pair(two[n][k], two[n + 2][k], w[2 + k]);
            (three[n][k + 2], three[n][k + 6]) = pair(two[n][k + 2], two[n + 2][k + 2], turned(w[2 + k]));
        });
    });
    let mut out = [[0.0; 2]; 16];
    unroll!(k in 0 1 2 3 {
        (out[k], out[k + 8]) = pair(three[0][k], three[1][k], w[4 + k]);
        (out[k + 4], out[k + 12]) = pair(three[0][k + 4], three[1][k + 4], turned(w[4 + k]));
    });
    out
}

/// Eight twiddled points; `w` are `w^4, w^2, w, w e(1/8)`.
#[inline(always)]
fn eight_twiddled(x: [Complex; 8], w: [Complex; 4]) -> [Complex; 8] {
    let mut one = [[[0.0; 2]; 2]; 4];
    unroll!(n in 0 1 2 3 {
        (one[n][0], one[n][1]) = pair(x[n], x[n + 4], w[0]);
    });
    let mut two = [[[0.0; 2]; 4]; 2];
    unroll!(n in 0 1 {
        (two[n][0], two[n][2]) = pair(one[n][0], one[n + 2][0], w[1]);
        (two[n][1], two[n][3]) = pair(one[n][1], one[n + 2][1], turned(w[1]));
    });
    let mut out = [[0.0; 2]; 8];
    unroll!(k in 0 1 {
        (out[k], out[k + 4]) = pair(two[0][k], two[1][k], w[2 + k]);
        (out[k + 2], out[k + 6]) = pair(two[0][k + 2], two[1][k + 2], turned(w[2 + k]));
    });
    out
}

/// Four twiddled points; `w` are `w^2, w`.
#[inline(always)]
fn four_twiddled(x: [Complex; 4], w: [Complex; 2]) -> [Complex; 4] {
    let (a, b) = pair(x[0], x[2], w[0]);
    let (c, d) = pair(x[1], x[3], w[0]);
    let mut out = [[0.0; 2]; 4];
    (out[0], out[2]) = pair(a, c, w[1]);
    (out[1], out[3]) = pair(b, d, turned(w[1]));
    out
}

/// Two twiddled points.
#[inline(always)]
fn two_twiddled(x: [Complex; 2], w: [Complex; 1]) -> [Complex; 2] {
    let (a, b) = pair(x[0], x[1], w[0]);
    [a, b]
}

/// A number of points that has a transform in registers.
pub trait Radix {
    /// The points.
    type Points: Copy + AsRef<[Complex]> + AsMut<[Complex]>;
    /// Number of points.
    const POINTS: usize;
    /// Transforms that the points are of, in turn: point `i` is of transform `i % TRANSFORMS`.
    const TRANSFORMS: usize = 1;
    /// Zeros.
    const ZERO: Self::Points;
    /// The transform, or the transforms, one behind the other.
    fn transform(points: Self::Points) -> Self::Points;
}

/// A number of points that has a transform of twiddled points.
pub trait Twiddled: Radix {
    /// The distinct factors.
    type Factors: Copy + AsRef<[Complex]> + AsMut<[Complex]>;
    /// Number of factors.
    const FACTORS: usize;
    /// Zeros.
    const NO_FACTORS: Self::Factors;
    /// The transform of twiddled points.
    fn twiddled(points: Self::Points, w: Self::Factors) -> Self::Points;
}

macro_rules! radix {
    ($($name:ident $points:literal $transform:expr, $what:literal;)*) => { $(
        #[doc = $what]
        pub struct $name;

        impl Radix for $name {
            type Points = [Complex; $points];
            const POINTS: usize = $points;
            const ZERO: Self::Points = [[0.0; 2]; $points];

            #[inline(always)]
            fn transform(points: Self::Points) -> Self::Points {
                $transform(points)
            }
        }
    )* };
}

macro_rules! twiddled {
    ($($name:ident $points:literal $factors:literal $transform:expr, $twiddled:expr, $what:literal;)*) => { $(
        radix! { $name $points $transform, $what; }

        impl Twiddled for $name {
            type Factors = [Complex; $factors];
            const FACTORS: usize = $factors;
            const NO_FACTORS: Self::Factors = [[0.0; 2]; $factors];

            #[inline(always)]
            fn twiddled(points: Self::Points, w: Self::Factors) -> Self::Points {
                $twiddled(points, w)
            }
        }
    )* };
}

/// Two transforms of four points each.
pub struct FourTwice;

impl Radix for FourTwice {
    type Points = [Complex; 8];
    const POINTS: usize = 8;
    const TRANSFORMS: usize = 2;
    const ZERO: Self::Points = [[0.0; 2]; 8];

    #[inline(always)]
    fn transform(x: Self::Points) -> Self::Points {
        let (a, b) = (four([x[0], x[2], x[4], x[6]]), four([x[1], x[3], x[5], x[7]]));
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    }
}

twiddled! {
    Two 2 1 two, two_twiddled, "Two points.";
    Four 4 2 four, four_twiddled, "Four points.";
    Eight 8 4 eight, eight_twiddled, "Eight points.";
    Sixteen 16 8 sixteen, sixteen_twiddled, "Sixteen points.";
}

radix! {
    Six 6 six, "Six points.";
    Ten 10 ten, "Ten points.";
    Twelve 12 twelve, "Twelve points.";
}
