//! Where sums go: pairs of 32 bits are overwritten, pairs of 64 bits added to.

use fringes_device::Value;

/// A real and an imaginary part in memory, which sums with parts `P` go to.
pub trait Sum<P>: Value {
    /// Whether what is there is added.
    const ADDS: bool;
    /// No sum.
    const ZERO: Self;

    /// What becomes of `old` and a new sum.
    fn plus(old: Self, new: [P; 2]) -> Self;
}

macro_rules! sums {
    ($($part:ident $wide:ident $zero:literal;)*) => { $(
        impl Sum<$part> for [$part; 2] {
            const ADDS: bool = false;
            const ZERO: Self = [$zero; 2];

            #[inline(always)]
            fn plus(_: Self, new: [$part; 2]) -> Self {
                new
            }
        }

        impl Sum<$part> for [$wide; 2] {
            const ADDS: bool = true;
            const ZERO: Self = [$zero; 2];

            #[inline(always)]
            fn plus(old: Self, new: [$part; 2]) -> Self {
                [old[0] + $wide::from(new[0]), old[1] + $wide::from(new[1])]
            }
        }
    )* };
}

sums! {
    i32 i64 0;
    f32 f64 0.0;
}
