//! What sums are made of, and what becomes of them.

use fringes_device::Value;

/// A complex sum, real part first.
pub trait Sum: Value {
    /// Zero.
    const ZERO: Self;

    /// The sum of two; integers modulo their width, which no legal run reaches.
    fn plus(self, other: Self) -> Self;

    /// The complex conjugate.
    fn conj(self) -> Self;
}

macro_rules! sums {
    ($($part:ty, $zero:literal, $plus:expr, $minus:expr;)*) => { $(
        impl Sum for [$part; 2] {
            const ZERO: Self = [$zero; 2];

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                [$plus(self[0], other[0]), $plus(self[1], other[1])]
            }

            #[inline(always)]
            fn conj(self) -> Self {
                [self[0], $minus(self[1])]
            }
        }
    )* };
}

sums! {
    i64, 0, i64::wrapping_add, i64::wrapping_neg;
    i32, 0, i32::wrapping_add, i32::wrapping_neg;
    f64, 0.0, |a: f64, b: f64| a + b, |a: f64| -a;
    f32, 0.0, |a: f32, b: f32| a + b, |a: f32| -a;
}

/// A part of a sum in memory.
pub trait Widen: Sum {
    /// What parts are added up in.
    type Wide: Sum;

    /// The same number.
    fn wide(self) -> Self::Wide;
}

macro_rules! widen {
    ($($part:ty, $wide:ty;)*) => { $(
        impl Widen for [$part; 2] {
            type Wide = [$wide; 2];

            #[inline(always)]
            fn wide(self) -> [$wide; 2] {
                [self[0].into(), self[1].into()]
            }
        }
    )* };
}

widen! {
    i32, i64;
    f32, f64;
    i64, i64;
    f64, f64;
}

/// How a sum leaves the device.
pub trait Form {
    /// A part of the sum in memory.
    type Part: Sum;
    /// The sum.
    type From: Sum;
    /// What is stored.
    type To: Value;

    /// A part as what sums are made of.
    fn wide(part: Self::Part) -> Self::From;

    /// What is stored for a sum, and whether it did not fit. `missing`: the baseline is marked.
    fn form(sum: Self::From, missing: bool) -> (Self::To, bool);

    /// What is stored for the conjugate.
    fn conj(value: Self::To) -> Self::To;
}

/// A sum as it is.
pub struct Same<T>(core::marker::PhantomData<T>);

impl<T: Sum> Form for Same<T> {
    type Part = T;
    type From = T;
    type To = T;

    #[inline(always)]
    fn wide(part: T) -> T {
        part
    }

    #[inline(always)]
    fn form(sum: T, _: bool) -> (T, bool) {
        (sum, false)
    }

    #[inline(always)]
    fn conj(value: T) -> T {
        value.conj()
    }
}

/// A sum in 64 bits.
pub struct Wide<T>(core::marker::PhantomData<T>);

impl<T: Widen> Form for Wide<T> {
    type Part = T;
    type From = T::Wide;
    type To = T::Wide;

    #[inline(always)]
    fn wide(part: T) -> T::Wide {
        part.wide()
    }

    #[inline(always)]
    fn form(sum: T::Wide, _: bool) -> (T::Wide, bool) {
        (sum, false)
    }

    #[inline(always)]
    fn conj(value: T::Wide) -> T::Wide {
        value.conj()
    }
}

/// A sum in 32 bits: each part clamped to `+-(2^31 - 1)`; [`MARK`] in a missing baseline.
pub struct Clamped<T>(core::marker::PhantomData<T>);

/// MeerKAT's mark of missing data. No clamped sum equals it.
pub const MARK: [i32; 2] = [i32::MIN, 1];

impl<T: Widen<Wide = [i64; 2]>> Form for Clamped<T> {
    type Part = T;
    type From = [i64; 2];
    type To = [i32; 2];

    #[inline(always)]
    fn wide(part: T) -> [i64; 2] {
        part.wide()
    }

    #[inline(always)]
    fn form(sum: [i64; 2], missing: bool) -> ([i32; 2], bool) {
        if missing {
            return (MARK, false);
        }
        let limit = i64::from(i32::MAX);
        let clamped = [sum[0].clamp(-limit, limit), sum[1].clamp(-limit, limit)];
        ([clamped[0] as i32, clamped[1] as i32], clamped[0] != sum[0] || clamped[1] != sum[1])
    }

    #[inline(always)]
    fn conj(value: [i32; 2]) -> [i32; 2] {
        if value[0] == i32::MIN { value } else { value.conj() }
    }
}
