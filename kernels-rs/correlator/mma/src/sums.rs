//! Where sums go: pairs of 32 bits are overwritten; pairs of 32 bits of integers, 64 of floats, are added to.

use fringes_device::Value;

/// What becomes of sums in memory, of parts `P`.
pub trait Sum<P> {
    /// A real and an imaginary part in memory.
    type Memory: Value;
    /// Whether what is there is added.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self::Memory;

    /// What becomes of `old` and a new sum.
    fn plus(old: Self::Memory, new: [P; 2]) -> Self::Memory;
}

/// Sums are overwritten.
pub struct Overwritten;

/// Sums are added to.
pub struct Added;

macro_rules! sums {
    ($($part:ident $added:ident $zero:literal;)*) => { $(
        impl Sum<$part> for Overwritten {
            type Memory = [$part; 2];
            const ADDS: bool = false;
            const ZERO: [$part; 2] = [$zero as $part; 2];

            #[inline(always)]
            fn plus(_: [$part; 2], new: [$part; 2]) -> [$part; 2] {
                new
            }
        }

        impl Sum<$part> for Added {
            type Memory = [$added; 2];
            const ADDS: bool = true;
            const ZERO: [$added; 2] = [$zero as $added; 2];

            #[inline(always)]
            fn plus(old: [$added; 2], new: [$part; 2]) -> [$added; 2] {
                [old[0] + $added::from(new[0]), old[1] + $added::from(new[1])]
            }
        }
    )* };
}

sums! {
    i32 i32 0;
    f32 f64 0;
}
