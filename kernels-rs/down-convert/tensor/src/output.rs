//! Outputs on their way to memory: rounded to their format, clamped, counted.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::{GlobalMut, Value, unroll};
use fringes_kernels_common::quantise::ROUND;

use crate::multiply::Arguments;
use crate::tensor::{F16, F32, I8, I16, output_bytes};

/// How outputs are stored.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    /// Whether two neighbouring ones can be stored together.
    wide: bool,
}

/// The nearest whole number in the low bits, half to even, of a number of magnitude below 2^22.
#[inline(always)]
fn whole(part: f32) -> u32 {
    (part + ROUND).to_bits()
}

/// A part within the limit, of integers with NaN as zero.
#[inline(always)]
fn clamped(part: f32, limit: f32, format: u32) -> f32 {
    if part.is_nan() {
        return if format == F16 { part } else { 0.0 };
    }
    part.max(-limit).min(limit)
}

/// Stores a value.
///
/// # Safety
/// `address` is that of a value of the outputs.
#[inline(always)]
unsafe fn put<T: Value>(address: u64, value: T) {
    GlobalMut::<T>::from_raw_parts(address, 1).store(0, value);
}

/// Address of an output; the first ones of a block may be before those that there are.
#[inline(always)]
fn ahead(address: u64, bytes: i64, output: u32) -> u64 {
    address.wrapping_add((bytes * output as i32 as i64) as u64)
}

impl Outputs {
    #[inline(always)]
    pub(crate) fn new(arguments: &Arguments) -> Self {
        // SAFETY: the address is not used.
        let address = unsafe { arguments.out.address(0) };
        // Number of the first output in memory; the lanes' pairs begin an even number of outputs from its block's.
        let first = (address / output_bytes(arguments.format) as u64) as u32;
        let wide = (first ^ arguments.skip | arguments.out_row as u32) & 1 == 0;
        Self { wide }
    }

    /// Stores a lane's outputs of an input, those that there are, of blocks of `P`: of 8 and 12 two neighbours from
    /// number `output` on; of 12 and 4 one that is number `one`, the third of the values or the first.
    ///
    /// # Safety
    /// If there are outputs of these numbers, there is the input.
    #[inline(always)]
    pub(crate) unsafe fn store<const P: usize>(
        &self,
        arguments: &Arguments,
        input: u32,
        [output, one]: [u32; 2],
        mut values: [[f32; 2]; 3],
    ) {
        let (count, format) = (arguments.outputs, arguments.format);
        // Of the pair and of the one.
        let (pair, single) = (P >= 8, P != 8);
        let both = pair && output < count && output + 1 < count && self.wide;
        let numbers = if pair { [output, output.wrapping_add(1), one] } else { [one; 3] };
        let has = |i: usize| i < P / 4 && numbers[i] < count;
        let row_bytes = arguments.out_row * output_bytes(format) as u64;
        let row = arguments.out.address(0).wrapping_add((input as u64).wrapping_mul(row_bytes));
        // Stores words of an output, and of two together, of so many bytes each.
        macro_rules! put {
            ($bytes:expr, $one:expr, $two:expr) => {
                const BYTES: u64 = $bytes as u64;
                if both {
                    put(ahead(row, BYTES as i64, output), $two);
                } else {
                    unroll!(i in 0 1 {
                        if pair && has(i) {
                            put(ahead(row, BYTES as i64, numbers[i]), $one(i));
                        }
                    });
                }
                let last = P / 4 - 1;
                if single && has(last) {
                    put(ahead(row, BYTES as i64, one), $one(last));
                }
            };
        }
        if format == F32 {
            let [[a, b], [c, d], _] = values;
            put!(output_bytes(F32), |i: usize| values[i], [a, b, c, d]);
            return;
        }
        let limit = arguments.limit;
        // Whether all are within the limit; not where one is no number.
        let mut within = true;
        if limit < f32::INFINITY {
            unroll!(i in 0 1 2 {
                if i < P / 4 {
                    let [re, im] = values[i];
                    within &= (re.abs() <= limit) & (im.abs() <= limit);
                }
            });
        }
        if !within {
            unroll!(i in 0 1 2 {
                if i < P / 4 {
                    let [re, im] = values[i];
                    if !(re.abs() <= limit && im.abs() <= limit) {
                        values[i] = [clamped(re, limit, format), clamped(im, limit, format)];
                        if has(i) {
                            count_one(arguments, input, numbers[i]);
                        }
                    }
                }
            });
        }
        if format == F16 {
            let words = values.map(|[re, im]| cvt_rn_f16x2_f32(im, re));
            put!(output_bytes(F16), |i: usize| words[i], [words[0], words[1]]);
        } else if format == I8 {
            let words = values.map(|[re, im]| prmt_b32(whole(re), whole(im), 0x0040));
            put!(output_bytes(I8), |i: usize| words[i] as u16, prmt_b32(words[0], words[1], 0x5410));
        } else {
            let words = values.map(|[re, im]| prmt_b32(whole(re), whole(im), 0x5410));
            put!(output_bytes(I16), |i: usize| words[i], [words[0], words[1]]);
        }
    }
}

/// Counts an output that saturates, if it does count.
///
/// # Safety
/// There is such an output.
#[inline(always)]
unsafe fn count_one(arguments: &Arguments, input: u32, output: u32) {
    if arguments.saturated.is_empty() {
        return;
    }
    let flag = (input as u64 * arguments.present_row) as usize + output as usize;
    if arguments.present.is_empty() || arguments.present.load(flag) != 0 {
        arguments.saturated.atomic_add(input as usize, 1);
    }
}
