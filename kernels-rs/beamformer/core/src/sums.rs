//! Sums of a lane.

use fringes_device::Value;

/// A sum that the tensor cores keep: i32 of 8-bit integers, f32 of f16.
pub trait Part: Value {
    /// The sum as a number.
    fn number(self) -> f32;
}

impl Part for i32 {
    #[inline(always)]
    fn number(self) -> f32 {
        self as f32
    }
}

impl Part for f32 {
    #[inline(always)]
    fn number(self) -> f32 {
        self
    }
}

/// Sums of two times and `2 H` columns, real and imaginary parts: of block `i` of eight columns, `4 i + 2 h + e` is
/// column `8 i + 2 (lane % 4) + e` at time `h`.
pub struct Sums<P, const H: usize> {
    /// Real parts.
    pub re: [P; H],
    /// Imaginary parts.
    pub im: [P; H],
}
