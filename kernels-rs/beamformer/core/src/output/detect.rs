//! Detected beams: powers and coherencies, summed over up to 16 times, those of a warp.

use fringes_device::fused::fma;
use fringes_device::unroll;
use fringes_device::warp::shfl_sync_bfly_b32;

use crate::output::{Lane, Put, before, blocks, put, value};
use crate::source::Source;
use crate::sums::Sums;
use crate::tied_array::Output;
use crate::work::Work;

/// Powers of beams.
pub struct Power;

/// Coherencies of beams `2 n` and `2 n + 1`, the polarisations of one.
pub struct Coherency;

/// The sum of a value and that of the lane whose number differs in bit `bit`.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn with(value: f32, bit: u32) -> f32 {
    value + f32::from_bits(shfl_sync_bfly_b32(value.to_bits(), bit, 31, u32::MAX))
}

/// Sums of `fold` neighbouring times, of a lane's value at each of its two; the first lane's of each sum counts.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn folded<S: Source>([mut first, mut second]: [f32; 2], fold: u32) -> [f32; 2] {
    if S::NEIGHBOURS {
        if fold >= 2 {
            first += second;
            second = 0.0;
        }
        unroll!(bit in 0 1 2 {
            if fold >= 4 << bit { first = with(first, 4 << bit); }
        });
    } else {
        // From 16 times on the second half of them is the second row.
        if fold == 16 {
            first += second;
            second = 0.0;
        }
        unroll!(bit in 0 1 2 {
            if fold >= 2 << bit {
                first = with(first, 4 << bit);
                if fold < 16 { second = with(second, 4 << bit); }
            }
        });
    }
    [first, second]
}

/// Whether this lane's two sums are stored, and their number among those of the channel.
#[inline(always)]
fn stored<S: Source>(work: &Work, lane: &Lane) -> ([bool; 2], [u32; 2]) {
    let fold = work.fold;
    let lanes = if S::NEIGHBOURS {
        (fold / 2).max(1)
    } else if fold == 16 {
        8
    } else {
        fold
    };
    let speaks = lane.row & (lanes - 1) == 0;
    let single = if S::NEIGHBOURS { fold == 1 } else { fold < 16 };
    // Sums of which any time is formed; times that are not are zero.
    let formed = |time: u32| time + fold > work.first && time < work.end;
    let shift = fold.trailing_zeros();
    ([speaks && formed(lane.times[0]), speaks && single && formed(lane.times[1])], lane.times.map(|time| time >> shift))
}

impl Put for Power {
    const OUTPUT: Output = Output::Power;

    #[inline(always)]
    unsafe fn put<S: Source, const H: usize, const DIGITS: usize>(sums: &Sums<S::Part, H>, work: &Work, lane: &Lane) {
        let (stores, times) = stored::<S>(work, lane);
        let all = work.folded_times();
        let starts = times.map(|time| work.beams.address(0).wrapping_add(4 * before(work, lane.channel, all, time)));
        let wide = work.count % 2 == 0 && work.beams.address(0) % 8 == 0;
        unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if s < blocks(H, DIGITS) {
                let within = 8 * s as u32 + 2 * lane.quarter;
                let beam = lane.beam + within;
                let mut powers = [[0.0; 2]; 2];
                unroll!(e in 0 1 {
                    // Scales are there for all columns of the tile.
                    let scale = lane.scales.load(within as usize + e);
                    unroll!(h in 0 1 {
                        let [re, im] = value::<S::Part, H, DIGITS>(sums, s, h, e);
                        let (re, im) = (re * scale, im * scale);
                        powers[h][e] = if lane.formed[h] { fma(re, re, im * im) } else { 0.0 };
                    });
                    let [first, second] = folded::<S>([powers[0][e], powers[1][e]], work.fold);
                    (powers[0][e], powers[1][e]) = (first, second);
                });
                if beam < work.count {
                    unroll!(h in 0 1 {
                        if stores[h] {
                            let address = starts[h].wrapping_add(4 * u64::from(beam));
                            if wide {
                                put(address, powers[h]);
                            } else {
                                put(address, powers[h][0]);
                                if beam + 1 < work.count { put(address + 4, powers[h][1]); }
                            }
                        }
                    });
                }
            }
        });
    }
}

impl Put for Coherency {
    const OUTPUT: Output = Output::Coherency;

    #[inline(always)]
    unsafe fn put<S: Source, const H: usize, const DIGITS: usize>(sums: &Sums<S::Part, H>, work: &Work, lane: &Lane) {
        let (stores, times) = stored::<S>(work, lane);
        let all = work.folded_times();
        let starts = times.map(|time| work.beams.address(0).wrapping_add(8 * before(work, lane.channel, all, time)));
        let wide = work.beams.address(0) % 16 == 0;
        unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if s < blocks(H, DIGITS) {
                let within = 8 * s as u32 + 2 * lane.quarter;
                let beam = lane.beam + within;
                let mut products = [[0.0; 4]; 2];
                let scale = |e: usize| lane.scales.load(within as usize + e);
                let scales = [scale(0), scale(1)];
                unroll!(h in 0 1 {
                    let [a, b] = [0, 1].map(|e| {
                        value::<S::Part, H, DIGITS>(sums, s, h, e).map(|part| part * scales[e])
                    });
                    if lane.formed[h] {
                        products[h] = [
                            fma(a[0], a[0], a[1] * a[1]),
                            fma(b[0], b[0], b[1] * b[1]),
                            fma(a[0], b[0], a[1] * b[1]),
                            fma(a[1], b[0], -(a[0] * b[1])),
                        ];
                    }
                });
                unroll!(k in 0 1 2 3 {
                    let [first, second] = folded::<S>([products[0][k], products[1][k]], work.fold);
                    (products[0][k], products[1][k]) = (first, second);
                });
                if beam < work.count {
                    unroll!(h in 0 1 {
                        if stores[h] {
                            let address = starts[h].wrapping_add(8 * u64::from(beam));
                            if wide {
                                put(address, products[h]);
                            } else {
                                unroll!(k in 0 1 2 3 { put(address + 4 * k as u64, products[h][k]); });
                            }
                        }
                    });
                }
            }
        });
    }
}
