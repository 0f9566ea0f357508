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

/// How a sum leaves the device.
pub trait Form {
    /// The sum.
    type From: Sum;
    /// What is stored.
    type To: Value;

    /// What is stored for a sum, and whether it did not fit. `missing`: the baseline is marked.
    fn form(sum: Self::From, missing: bool) -> (Self::To, bool);

    /// What is stored for the conjugate.
    fn conj(value: Self::To) -> Self::To;
}

/// A sum as it is.
pub struct Same<T>(core::marker::PhantomData<T>);

impl<T: Sum> Form for Same<T> {
    type From = T;
    type To = T;

    #[inline(always)]
    fn form(sum: T, _: bool) -> (T, bool) {
        (sum, false)
    }

    #[inline(always)]
    fn conj(value: T) -> T {
        value.conj()
    }
}

/// A sum in 32 bits: each part clamped to `+-(2^31 - 1)`; [`MARK`] in a missing baseline.
pub struct Clamped;

/// MeerKAT's mark of missing data. No clamped sum equals it.
pub const MARK: [i32; 2] = [i32::MIN, 1];

impl Form for Clamped {
    type From = [i64; 2];
    type To = [i32; 2];

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
