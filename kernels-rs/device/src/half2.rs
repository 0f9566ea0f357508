//! Arithmetic on two f16 or two bf16 in a 32-bit register, element by element.
//!
//! # Precision
//! Rounded once, to nearest, ties to even; twins are exact. NaN results are 0x7fff (both formats; `neg` and `abs`
//! change the sign bit only, and the hardware may give another NaN). Without `ftz` subnormals are kept; with it
//! subnormal operands, and results that are below the least normal number when rounded to as many bits as normal
//! numbers have, become zeros of their sign. With `sat` results are clamped to 0..=1, NaN to +0. With `relu` negative
//! results become +0.

#[cfg(not(target_arch = "nvptx64"))]
mod twin {
    use crate::float::{BF16, F16, Format, Rounding, sum_to_odd};

    /// What a name adds to an operation.
    #[derive(Clone, Copy, Default)]
    pub(super) struct Mode {
        pub(super) ftz: bool,
        pub(super) sat: bool,
        pub(super) relu: bool,
        pub(super) nan: bool,
    }

    /// `op` on both halves.
    pub(super) fn halves<const N: usize>(operands: [u32; N], op: impl Fn([u32; N]) -> u32) -> u32 {
        op(operands.map(|x| x >> 16)) << 16 | op(operands.map(|x| x & 0xffff))
    }

    fn flush(format: Format, ftz: bool, bits: u32) -> u32 {
        if ftz && format.is_subnormal(bits) { format.zero_like(bits) } else { bits }
    }

    /// `op` on the operands' values, which must come exact or rounded to odd, in the mode.
    fn rounded<const N: usize>(format: Format, mode: Mode, operands: [u32; N], op: impl Fn([f64; N]) -> f64) -> u32 {
        halves(operands, |operands| {
            let exact = op(operands.map(|x| format.value(flush(format, mode.ftz, x))));
            // Flushed if it is below the least normal number when rounded to as many bits as normal numbers have.
            let nearly = 2f64.powi(format.least_exponent()) * (1.0 - 2f64.powi(-(format.significand as i32) - 2));
            let tiny = mode.ftz && exact != 0.0 && exact.abs() < nearly;
            let d = format.round(if tiny { 0f64.copysign(exact) } else { exact }, Rounding::NearestEven);
            if mode.sat {
                let one = format.round(1.0, Rounding::Zero);
                if format.is_nan(d) || format.is_negative(d) { 0 } else { d.min(one) }
            } else if mode.relu && format.is_negative(d) {
                0
            } else {
                d
            }
        })
    }

    pub(super) fn add(format: Format, mode: Mode, a: u32, b: u32) -> u32 {
        rounded(format, mode, [a, b], |[a, b]| sum_to_odd(a, b))
    }

    pub(super) fn sub(format: Format, mode: Mode, a: u32, b: u32) -> u32 {
        rounded(format, mode, [a, b], |[a, b]| sum_to_odd(a, -b))
    }

    pub(super) fn mul(format: Format, mode: Mode, a: u32, b: u32) -> u32 {
        rounded(format, mode, [a, b], |[a, b]| a * b)
    }

    pub(super) fn fma(format: Format, mode: Mode, a: u32, b: u32, c: u32) -> u32 {
        rounded(format, mode, [a, b, c], |[a, b, c]| sum_to_odd(a * b, c))
    }

    fn least(format: Format, mode: Mode, a: u32, b: u32, greatest: bool) -> u32 {
        halves([a, b], |operands| {
            let [a, b] = operands.map(|x| flush(format, mode.ftz, x));
            match (format.is_nan(a), format.is_nan(b)) {
                (false, false) => {
                    // -0 is less than +0.
                    let below = (format.value(a), format.is_negative(b)) < (format.value(b), format.is_negative(a));
                    if below != greatest { a } else { b }
                }
                (true, true) => format.nan(),
                _ if mode.nan => format.nan(),
                (true, false) => b,
                (false, true) => a,
            }
        })
    }

    pub(super) fn min(format: Format, mode: Mode, a: u32, b: u32) -> u32 {
        least(format, mode, a, b, false)
    }

    pub(super) fn max(format: Format, mode: Mode, a: u32, b: u32) -> u32 {
        least(format, mode, a, b, true)
    }

    pub(super) fn neg(format: Format, mode: Mode, a: u32) -> u32 {
        halves([a], |[a]| flush(format, mode.ftz, a) ^ 0x8000)
    }

    pub(super) fn abs(format: Format, mode: Mode, a: u32) -> u32 {
        halves([a], |[a]| flush(format, mode.ftz, a) & 0x7fff)
    }

    pub(super) const F: Format = F16;
    pub(super) const B: Format = BF16;
}

/// One operation in one mode: name, PTX, twin's operation, format and mode.
macro_rules! half2 {
    ($($name:ident($($argument:ident),*), $ptx:literal, $operands:literal, $note:literal, $operation:ident, $format:ident, [$($mode:ident)*], $what:literal;)*) => { intrinsic! { $(
        #[doc = concat!($what, " of both halves.")]
        ///
        /// # Precision
        /// See the [module](self).
        ///
        /// # PTX
        #[doc = concat!("`", $ptx, " d", $(", ", stringify!($argument),)* ";`", $note)]
        ///
        /// # Safety
        /// Safe: computes from its operands alone.
        pub fn $name($($argument: u32),*) -> u32 {
            device => {
                let d: u32;
                core::arch::asm!(concat!($ptx, $operands), out(reg32) d, $(in(reg32) $argument,)* options(pure, nomem, nostack));
                d
            }
            emulator => { twin::$operation(twin::$format, half2!(@mode $($mode)*), $($argument),*) }
        }
    )* } };
    (@mode) => { twin::Mode::default() };
    (@mode $($mode:ident)+) => { twin::Mode { $($mode: true,)+ ..twin::Mode::default() } };
}

half2! {
    add_rn_f16x2(a, b), "add.rn.f16x2", " {0}, {1}, {2};", "", add, F, [], "`a + b`";
    add_rn_ftz_f16x2(a, b), "add.rn.ftz.f16x2", " {0}, {1}, {2};", "", add, F, [ftz], "`a + b`";
    add_rn_sat_f16x2(a, b), "add.rn.sat.f16x2", " {0}, {1}, {2};", "", add, F, [sat], "`a + b`";
    add_rn_ftz_sat_f16x2(a, b), "add.rn.ftz.sat.f16x2", " {0}, {1}, {2};", "", add, F, [ftz sat], "`a + b`";
    sub_rn_f16x2(a, b), "sub.rn.f16x2", " {0}, {1}, {2};", "", sub, F, [], "`a - b`";
    sub_rn_ftz_f16x2(a, b), "sub.rn.ftz.f16x2", " {0}, {1}, {2};", "", sub, F, [ftz], "`a - b`";
    sub_rn_sat_f16x2(a, b), "sub.rn.sat.f16x2", " {0}, {1}, {2};", "", sub, F, [sat], "`a - b`";
    sub_rn_ftz_sat_f16x2(a, b), "sub.rn.ftz.sat.f16x2", " {0}, {1}, {2};", "", sub, F, [ftz sat], "`a - b`";
    mul_rn_f16x2(a, b), "mul.rn.f16x2", " {0}, {1}, {2};", "", mul, F, [], "`a b`";
    mul_rn_ftz_f16x2(a, b), "mul.rn.ftz.f16x2", " {0}, {1}, {2};", "", mul, F, [ftz], "`a b`";
    mul_rn_sat_f16x2(a, b), "mul.rn.sat.f16x2", " {0}, {1}, {2};", "", mul, F, [sat], "`a b`";
    mul_rn_ftz_sat_f16x2(a, b), "mul.rn.ftz.sat.f16x2", " {0}, {1}, {2};", "", mul, F, [ftz sat], "`a b`";
    fma_rn_f16x2(a, b, c), "fma.rn.f16x2", " {0}, {1}, {2}, {3};", "", fma, F, [], "`a b + c`, rounded once,";
    fma_rn_ftz_f16x2(a, b, c), "fma.rn.ftz.f16x2", " {0}, {1}, {2}, {3};", "", fma, F, [ftz], "`a b + c`, rounded once,";
    fma_rn_sat_f16x2(a, b, c), "fma.rn.sat.f16x2", " {0}, {1}, {2}, {3};", "", fma, F, [sat], "`a b + c`, rounded once,";
    fma_rn_ftz_sat_f16x2(a, b, c), "fma.rn.ftz.sat.f16x2", " {0}, {1}, {2}, {3};", "", fma, F, [ftz sat], "`a b + c`, rounded once,";
    fma_rn_relu_f16x2(a, b, c), "fma.rn.relu.f16x2", " {0}, {1}, {2}, {3};", "", fma, F, [relu], "`a b + c`, rounded once,";
    neg_f16x2(a), "neg.f16x2", " {0}, {1};", "", neg, F, [], "`-a`";
    neg_ftz_f16x2(a), "neg.ftz.f16x2", " {0}, {1};", "", neg, F, [ftz], "`-a`";
    abs_f16x2(a), "abs.f16x2", " {0}, {1};", "", abs, F, [], "`|a|`";
    abs_ftz_f16x2(a), "abs.ftz.f16x2", " {0}, {1};", "", abs, F, [ftz], "`|a|`";
    min_f16x2(a, b), "min.f16x2", " {0}, {1}, {2};", "", min, F, [], "The lesser of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    min_ftz_f16x2(a, b), "min.ftz.f16x2", " {0}, {1}, {2};", "", min, F, [ftz], "The lesser of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    min_nan_f16x2(a, b), "min.NaN.f16x2", " {0}, {1}, {2};", "", min, F, [nan], "The lesser of `a` and `b`, NaN where one is NaN, -0 less than +0,";
    min_ftz_nan_f16x2(a, b), "min.ftz.NaN.f16x2", " {0}, {1}, {2};", "", min, F, [ftz nan], "The lesser of `a` and `b`, NaN where one is NaN, -0 less than +0,";
    max_f16x2(a, b), "max.f16x2", " {0}, {1}, {2};", "", max, F, [], "The greater of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    max_ftz_f16x2(a, b), "max.ftz.f16x2", " {0}, {1}, {2};", "", max, F, [ftz], "The greater of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    max_nan_f16x2(a, b), "max.NaN.f16x2", " {0}, {1}, {2};", "", max, F, [nan], "The greater of `a` and `b`, NaN where one is NaN, -0 less than +0,";
    max_ftz_nan_f16x2(a, b), "max.ftz.NaN.f16x2", " {0}, {1}, {2};", "", max, F, [ftz nan], "The greater of `a` and `b`, NaN where one is NaN, -0 less than +0,";
    fma_rn_bf16x2(a, b, c), "fma.rn.bf16x2", " {0}, {1}, {2}, {3};", "", fma, B, [], "`a b + c`, rounded once,";
    fma_rn_relu_bf16x2(a, b, c), "fma.rn.relu.bf16x2", " {0}, {1}, {2}, {3};", "", fma, B, [relu], "`a b + c`, rounded once,";
    add_rn_bf16x2(a, b), "add.rn.bf16x2", " {0}, {1}, {2};", " (sm_90; below, `fma_rn_bf16x2(a, 0x3f80_3f80, b)` gives the same)", add, B, [], "`a + b`";
    sub_rn_bf16x2(a, b), "sub.rn.bf16x2", " {0}, {1}, {2};", " (sm_90; below, `fma_rn_bf16x2(b, 0xbf80_bf80, a)` gives the same)", sub, B, [], "`a - b`";
    mul_rn_bf16x2(a, b), "mul.rn.bf16x2", " {0}, {1}, {2};", " (sm_90; below, `fma_rn_bf16x2(a, b, 0x8000_8000)` gives the same)", mul, B, [], "`a b`";
    neg_bf16x2(a), "neg.bf16x2", " {0}, {1};", "", neg, B, [], "`-a`";
    abs_bf16x2(a), "abs.bf16x2", " {0}, {1};", "", abs, B, [], "`|a|`";
    min_bf16x2(a, b), "min.bf16x2", " {0}, {1}, {2};", "", min, B, [], "The lesser of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    min_nan_bf16x2(a, b), "min.NaN.bf16x2", " {0}, {1}, {2};", "", min, B, [nan], "The lesser of `a` and `b`, NaN where one is NaN, -0 less than +0,";
    max_bf16x2(a, b), "max.bf16x2", " {0}, {1}, {2};", "", max, B, [], "The greater of `a` and `b`, the other one where one is NaN, -0 less than +0,";
    max_nan_bf16x2(a, b), "max.NaN.bf16x2", " {0}, {1}, {2};", "", max, B, [nan], "The greater of `a` and `b`, NaN where one is NaN, -0 less than +0,";
}
