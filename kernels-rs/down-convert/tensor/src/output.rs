//! Outputs on their way to memory: rounded to their format, clamped, counted.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::{GlobalMut, Value, unroll};
use fringes_kernels_common::quantise::ROUND;

use crate::multiply::Arguments;
use crate::tensor::{F16, F32, I8, output_bytes, output_limit};

/// Where outputs go, and how.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    /// Whether two neighbouring ones can be stored together.
    wide: bool,
    /// Whether they are counted.
    pub(crate) counted: bool,
}

/// What a lane counted of a row.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    /// Squares of magnitudes, scaled.
    power: f32,
    /// Outputs with a part that was clamped.
    clamped: u32,
}

impl Counts {
    /// Nothing yet.
    pub(crate) const NONE: Self = Self { power: 0.0, clamped: 0 };

    /// Adds them to those of an input, if there is such an input.
    ///
    /// # Safety
    /// Statistics have two entries an input.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, arguments: &Arguments, input: u32) {
        if input < arguments.inputs {
            arguments.statistics.atomic_add(2 * input as usize, self.power as u64);
            if self.clamped > 0 {
                arguments.statistics.atomic_add(2 * input as usize + 1, self.clamped as u64);
            }
        }
    }
}

/// The nearest whole number in the low bits, half to even, of a number of magnitude below 2^22.
#[inline(always)]
fn whole(part: f32) -> u32 {
    (part + ROUND).to_bits()
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
        let pair = 2 * output_bytes(arguments.format) as u64;
        let wide = address.is_multiple_of(pair) && (arguments.skip | arguments.out_row as u32) & 1 == 0;
        Self { wide, counted: !arguments.statistics.is_empty() }
    }

    /// Where an input's outputs begin; of an input that is none, anywhere.
    #[inline(always)]
    pub(crate) fn address(&self, arguments: &Arguments, input: u32) -> u64 {
        // SAFETY: the address of the first output.
        let first = unsafe { arguments.out.address(0) };
        let ahead = (input as u64).wrapping_mul(arguments.out_row);
        first.wrapping_add(ahead.wrapping_mul(output_bytes(arguments.format) as u64))
    }

    /// Stores a lane's neighbouring outputs from number `output` on, those that there are.
    ///
    /// # Safety
    /// `address` is that of an input's outputs.
    #[inline(always)]
    pub(crate) unsafe fn store<const P: usize>(
        &self,
        arguments: &Arguments,
        address: u64,
        output: u32,
        mut values: [[f32; 2]; 3],
        counts: &mut Counts,
    ) {
        let (count, format) = (arguments.outputs, arguments.format);
        let both = P == 8 && output < count && output + 1 < count;
        if self.counted {
            let limit = output_limit(format);
            unroll!(i in 0 1 2 {
                if i < P / 4 && output.wrapping_add(i as u32) < count {
                    let [re, im] = values[i];
                    let (a, b) = (re * arguments.power_scale, im * arguments.power_scale);
                    counts.power += a * a + b * b;
                    if re.abs().max(im.abs()) > limit {
                        counts.clamped += 1;
                    }
                }
            });
        }
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
                values[i] = values[i].map(|part| part.max(-limit).min(limit));
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
