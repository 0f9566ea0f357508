//! Voltages of beams: f32, f16, or 8-bit integers with dither.

use fringes_device::convert::{cvt_pack_sat_s8_s32_b32, cvt_rni_s32_f32};
use fringes_device::fused::fma;
use fringes_device::unroll;
use fringes_kernels_common::dither::{BASE, STEP, add, hash, hash_start};
use fringes_kernels_common::format::{self, Format};
use fringes_kernels_common::quantise::Output as Quantise;

use crate::output::{Lane, Put, before, blocks, put, run, value};
use crate::source::Source;
use crate::sums::Sums;
use crate::tied_array::Output;
use crate::work::Work;

/// Complex f32.
pub struct F32;

/// Complex f16.
pub struct F16;

/// Complex 8-bit integers.
pub struct I8;

/// Most neighbouring beams of a lane.
const MOST_RUN: usize = 8;

/// A format of beams' voltages.
trait Voltage {
    const OUTPUT: Output;

    /// Stores `run` neighbouring beams from `address` on: all of them, at a multiple of their bytes, if `wide`, else
    /// the first `count`. Gives the beams that saturate, one bit each.
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
        // Rounding, clamp to -128 and 127 and packing of two parts are one instruction.
        let part = |x: f32| cvt_rni_s32_f32(x.max(-format::I8::LIMIT));
        let packed = |[re, im]: [f32; 2], low: u32| cvt_pack_sat_s8_s32_b32(part(im), part(re), low);
        if wide {
            // The first pair is packed last, into the low half.
            let mut words = [0; 4];
            unroll!(w in 0 1 2 3 {
                if 2 * w < run { words[w] = packed(values[2 * w], packed(values[2 * w + 1], 0)); }
            });
            match run {
                8 => put(address, words),
                4 => put(address, [words[0], words[1]]),
                _ => put(address, words[0]),
            }
        } else {
            unroll!(j in 0 1 2 3 4 5 6 7 {
                if j < run && (j as u32) < count { put(address + 2 * j as u64, packed(values[j], 0) as u16); }
            });
        }
        let mut most = 0.0f32;
        unroll!(j in 0 1 2 3 4 5 6 7 {
            if j < run { most = most.max(values[j][0].abs()).max(values[j][1].abs()); }
        });
        if most <= format::I8::LIMIT {
            return 0;
        }
        let mut lost = 0;
        unroll!(j in 0 1 2 3 4 5 6 7 {
            if j < run { lost |= u32::from(values[j][0].abs().max(values[j][1].abs()) > format::I8::LIMIT) << j; }
        });
        lost
    }
}

/// Scales of neighbouring beams.
///
/// # Safety
/// The tile has the beams, and `within` is a multiple of `run`.
#[inline(always)]
unsafe fn scales(lane: &Lane, within: u32, run: usize) -> [f32; MOST_RUN] {
    let mut scales = [0.0; MOST_RUN];
    if run == 2 {
        let [a, b] = lane.scales.cast::<[f32; 2]>().load(within as usize / 2);
        (scales[0], scales[1]) = (a, b);
    } else {
        unroll!(i in 0 1 {
            if 4 * i < run {
                let [a, b, c, d] = lane.scales.cast::<[f32; 4]>().load(within as usize / 4 + i);
                (scales[4 * i], scales[4 * i + 1], scales[4 * i + 2], scales[4 * i + 3]) = (a, b, c, d);
            }
        });
    }
    scales
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
                            let scales = scales(&lane, within, run);
                            unroll!(h in 0 1 {
                                let mut values = [[0.0; 2]; MOST_RUN];
                                unroll!(j in 0 1 2 3 4 5 6 7 {
                                    if j < run {
                                        values[j] = value::<S::Part, H, DIGITS>(sums, s * run / 2 + j / 2, h, j % 2);
                                    }
                                });
                                if integers && work.dither != 0 {
                                    unroll!(j in 0 1 2 3 4 5 6 7 {
                                        if j < run {
                                            let start = hash_start(beam + j as u32, lane.words[h][0]);
                                            let hash = hash(start, lane.words[h][1]);
                                            let scaled = values[j].map(|part| fma(part, scales[j], BASE));
                                            values[j] = add(scaled, hash, STEP);
                                        }
                                    });
                                } else {
                                    unroll!(j in 0 1 2 3 4 5 6 7 {
                                        if j < run { values[j] = values[j].map(|part| part * scales[j]); }
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
