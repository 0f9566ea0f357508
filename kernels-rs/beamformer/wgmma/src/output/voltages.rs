//! Voltages of beams: f32, f16, or 8-bit integers with dither.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::unroll;
use fringes_kernels_common::dither::{hash, hash_start, parts};
use fringes_kernels_common::format;
use fringes_kernels_common::quantise::Output as Quantise;

use crate::multiply::Sums;
use crate::output::{Lane, Put, before, blocks, put, run, value};
use crate::source::Source;
use crate::tied_array::Output;
use crate::work::Work;

/// Complex f32.
pub(crate) struct F32;

/// Complex f16.
pub(crate) struct F16;

/// Complex 8-bit integers.
pub(crate) struct I8;

/// Most neighbouring beams of a lane.
const MOST_RUN: usize = 8;

/// A format of beams' voltages.
trait Voltage {
    const OUTPUT: Output;

    /// Stores `run` neighbouring beams from `address` on: all of them, at a multiple of their bytes, if `wide`, else the
    /// first `count`. Gives the beams that saturate, one bit each.
    ///
    /// # Safety
    /// There are the beams.
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize, wide: bool, count: u32) -> u32;
}

impl Voltage for F32 {
    const OUTPUT: Output = Output::Float32;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], _: usize, wide: bool, count: u32) -> u32 {
        let [[a, b], [c, d], ..] = values;
        if wide {
            put(address, [a, b, c, d]);
        } else {
            put(address, [a, b]);
            if count > 1 {
                put(address + 8, [c, d]);
            }
        }
        0
    }
}

impl Voltage for F16 {
    const OUTPUT: Output = Output::Float16;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize, wide: bool, count: u32) -> u32 {
        let mut words = [0; 4];
        unroll!(j in 0 1 2 3 { if j < run { words[j] = <format::F16 as Quantise>::store(values[j]).0; } });
        if wide {
            if run == 4 { put(address, words) } else { put(address, [words[0], words[1]]) }
        } else {
            unroll!(j in 0 1 2 3 { if j < run && (j as u32) < count { put(address + 4 * j as u64, words[j]); } });
        }
        0
    }
}

impl Voltage for I8 {
    const OUTPUT: Output = Output::Int8;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize, wide: bool, count: u32) -> u32 {
        let (mut stored, mut lost) = ([0u16; MOST_RUN], 0);
        unroll!(j in 0 1 2 3 4 5 6 7 {
            if j < run {
                let (value, saturated) = <format::I8 as Quantise>::store(values[j]);
                stored[j] = value;
                lost |= u32::from(saturated) << j;
            }
        });
        if wide {
            let word = |j: usize| prmt_b32(u32::from(stored[j]), u32::from(stored[j + 1]), 0x5410);
            match run {
                8 => put(address, [word(0), word(2), word(4), word(6)]),
                4 => put(address, [word(0), word(2)]),
                _ => put(address, word(0)),
            }
        } else {
            unroll!(j in 0 1 2 3 4 5 6 7 {
                if j < run && (j as u32) < count { put(address + 2 * j as u64, stored[j]); }
            });
        }
        lost
    }
}

/// Counts beams that saturate.
///
/// # Safety
/// There are as many beams from `beam` on as `lost` has bits.
#[inline(always)]
unsafe fn count_lost(work: &Work, beam: u32, lost: u32) {
    if !work.saturated.is_empty() {
        let mut j = 0;
        while j < MOST_RUN as u32 {
            if lost >> j & 1 != 0 && beam + j < work.count {
                work.saturated.atomic_add((beam + j) as usize, 1);
            }
            j += 1;
        }
    }
}

macro_rules! voltages {
    ($($format:ident)*) => { $(
        impl Put for $format {
            const OUTPUT: Output = <$format as Voltage>::OUTPUT;

            #[inline(always)]
            unsafe fn put<S: Source, const H: usize, const DIGITS: usize>(
                sums: &Sums<S::Part, H>,
                work: &Work,
                lane: &Lane,
            ) {
                let run = run(<$format as Voltage>::OUTPUT, H, DIGITS);
                let integers = matches!(<$format as Voltage>::OUTPUT, Output::Int8);
                let lane = if integers { lane.dithered(work) } else { *lane };
                let bytes = <$format as Voltage>::OUTPUT.bytes();
                let wide = work.count & (run as u32 - 1) == 0 && work.beams.address(0) % 16 == 0;
                let starts = lane.times.map(|time| {
                    let beams = before(work, lane.channel, work.times, time);
                    work.beams.address(0).wrapping_add(beams * u64::from(bytes))
                });
                unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
                    if s < 2 * blocks(H, DIGITS) / run {
                        let within = (4 * s * run) as u32 + lane.quarter * run as u32;
                        let beam = lane.beam + within;
                        if beam < work.count {
                            let mut scales = [0.0; MOST_RUN];
                            unroll!(j in 0 1 2 3 4 5 6 7 {
                                if j < run {
                                    scales[j] = work.scales.load((lane.scale + u64::from(within)) as usize + j);
                                }
                            });
                            unroll!(h in 0 1 {
                                let mut values = [[0.0; 2]; MOST_RUN];
                                unroll!(j in 0 1 2 3 4 5 6 7 {
                                    if j < run {
                                        let [re, im] = value::<S::Part, H, DIGITS>(sums, s * run / 2 + j / 2, h, j % 2);
                                        values[j] = [re * scales[j], im * scales[j]];
                                    }
                                });
                                if integers && work.dither != 0 {
                                    unroll!(j in 0 1 2 3 4 5 6 7 {
                                        if j < run {
                                            let start = hash_start(beam + j as u32, lane.words[h][0]);
                                            let [re, im] = parts(hash(start, lane.words[h][1]));
                                            values[j] = [values[j][0] + re, values[j][1] + im];
                                        }
                                    });
                                }
                                if lane.formed[h] {
                                    let address = starts[h].wrapping_add(u64::from(beam * bytes));
                                    let lost =
                                        <$format as Voltage>::store(address, values, run, wide, work.count - beam);
                                    if integers && lost != 0 {
                                        count_lost(work, beam, lost);
                                    }
                                }
                            });
                        }
                    }
                });
            }
        }
    )* };
}

voltages!(F32 F16 I8);
