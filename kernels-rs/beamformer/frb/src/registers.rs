//! Arrays of registers, made element by element without a loop.

/// An array whose elements are made one after the other, each with its index as a constant.
pub trait Registers<R> {
    /// `f(0)`, `f(1)` ..
    fn each(f: impl FnMut(usize) -> R) -> Self;
}

macro_rules! registers {
    ($($n:literal: $($i:literal)*;)*) => { $(
        impl<R> Registers<R> for [R; $n] {
            #[inline(always)]
            #[allow(unused_mut, unused_variables, reason = "an array of none calls nothing")]
            fn each(mut f: impl FnMut(usize) -> R) -> Self {
                [$(f($i)),*]
            }
        }
    )* };
}

registers! {
    0: ;
    1: 0;
    2: 0 1;
    3: 0 1 2;
    4: 0 1 2 3;
    6: 0 1 2 3 4 5;
    8: 0 1 2 3 4 5 6 7;
    16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
    32: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31;
}
