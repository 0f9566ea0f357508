//! Outputs on their way to memory: rounded to their format, clamped, counted.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::{GlobalMut, Value, unroll};
use fringes_kernels_common::quantise::ROUND;

use crate::multiply::Arguments;
use crate::tensor::{F16, F32, I8, output_bytes, output_limit};

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

    /// Stores a lane's neighbouring outputs of an input from number `output` on, those that there are.
    ///
    /// # Safety
    /// If there are outputs of these numbers, there is the input.
    #[inline(always)]
    pub(crate) unsafe fn store<const P: usize>(
        &self,
        arguments: &Arguments,
        input: u32,
        output: u32,
        mut values: [[f32; 2]; 3],
    ) {
        let (count, format) = (arguments.outputs, arguments.format);
        let both = P == 8 && output < count && output + 1 < count;
        let bytes = output_bytes(format) as u64;
        let address = arguments.out.address(0).wrapping_add((input as u64).wrapping_mul(arguments.out_row * bytes));
        if format == F32 {
            let address = ahead(address, 8, output);
            if both && self.wide {
                let [[a, b], [c, d], _] = values;
                put(address, [a, b, c, d]);
            } else {
                unroll!(i in 0 1 2 {
                    if i < P / 4 && output.wrapping_add(i as u32) < count {
                        put(address.wrapping_add(8 * i as u64), values[i]);
                    }
                });
            }
            return;
        }
        let limit = output_limit(format);
        let mut words = [0; 3];
        unroll!(i in 0 1 2 {
            if i < P / 4 {
                let [re, im] = values[i];
                if !(re.abs() <= limit && im.abs() <= limit) {
                    values[i] = [clamped(re, limit, format), clamped(im, limit, format)];
                    if output.wrapping_add(i as u32) < count {
                        count_one(arguments, input, output.wrapping_add(i as u32));
                    }
                }
                let [re, im] = values[i];
                words[i] = if format == F16 {
                    cvt_rn_f16x2_f32(im, re)
                } else if format == I8 {
                    prmt_b32(whole(re), whole(im), 0x0040)
                } else {
                    prmt_b32(whole(re), whole(im), 0x5410)
                };
            }
        });
        let [a, b, _] = words;
        if format == I8 {
            let address = ahead(address, 2, output);
            if both && self.wide {
                put(address, prmt_b32(a, b, 0x5410));
            } else {
                unroll!(i in 0 1 2 {
                    if i < P / 4 && output.wrapping_add(i as u32) < count {
                        put(address.wrapping_add(2 * i as u64), words[i] as u16);
                    }
                });
            }
        } else {
            let address = ahead(address, 4, output);
            if both && self.wide {
                put(address, [a, b]);
            } else {
                unroll!(i in 0 1 2 {
                    if i < P / 4 && output.wrapping_add(i as u32) < count {
                        put(address.wrapping_add(4 * i as u64), words[i]);
                    }
                });
            }
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
