//! Complex numbers as pairs of f32, real part first.

use fringes_device::fused::fma;

/// A complex number, real part first.
pub type Complex = [f32; 2];

/// `a + b`.
#[inline(always)]
pub fn add(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

/// `a - b`.
#[inline(always)]
pub fn sub(a: Complex, b: Complex) -> Complex {
    [a[0] - b[0], a[1] - b[1]]
}

/// `a b`: two products and two multiply-adds, within `sqrt 5 2^-24 |a b|` of the exact one.
#[inline(always)]
pub fn mul(a: Complex, b: Complex) -> Complex {
    [fma(a[0], b[0], -(a[1] * b[1])), fma(a[0], b[1], a[1] * b[0])]
}

/// `a b + [re, im]`.
#[inline(always)]
pub fn mul_add(a: Complex, b: Complex, c: Complex) -> Complex {
    [fma(a[0], b[0], fma(-a[1], b[1], c[0])), fma(a[0], b[1], fma(a[1], b[0], c[1]))]
}

/// `-i a`.
#[inline(always)]
pub fn turned(a: Complex) -> Complex {
    [a[1], -a[0]]
}
