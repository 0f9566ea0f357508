//! Detected beams: powers and coherencies, summed over up to 16 times, those of a warp.
//!
//! Sums over 16 times are shared out among the rows of lanes as they are made: a lane gives half of its numbers away
//! for the other half of another lane's, three times over, 28 exchanges for 32 numbers where each lane that added up
//! all of them would take 96. They are of sums without scales, which the few results are multiplied by, twice each.

use fringes_device::fused::fma;
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Value, unroll};

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
pub(crate) unsafe fn with(value: f32, bit: u32) -> f32 {
    value + f32::from_bits(shfl_sync_bfly_b32(value.to_bits(), bit, 31, u32::MAX))
}

/// Sums of `fold` neighbouring times, of a lane's value at each of its two; the first lane's of each sum counts.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(crate) unsafe fn folded<S: Source>([mut first, mut second]: [f32; 2], fold: u32) -> [f32; 2] {
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
pub(crate) fn stored<S: Source>(work: &Work, lane: &Lane) -> ([bool; 2], [u32; 2]) {
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

/// Blocks of eight columns of a tile at most.
const MOST_BLOCKS: usize = 16;

/// `K` numbers of each of a lane's blocks.
type Numbers<const K: usize> = [[f32; K]; MOST_BLOCKS];

/// One step of [`shared_sums`]: lanes that differ in bit `bit` add what they have. With more than one block each keeps
/// one half of them, the one with the bit set the upper one, and gives the other away.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn share<const K: usize>(numbers: Numbers<K>, blocks: usize, upper: bool, bit: u32) -> Numbers<K> {
    let mut out = [[0.0; K]; MOST_BLOCKS];
    if blocks == 1 {
        unroll!(k in 0 1 2 3 { if k < K { out[0][k] = with(numbers[0][k], bit); } });
        return out;
    }
    let half = blocks / 2;
    unroll!(i in 0 1 2 3 4 5 6 7 {
        if i < half {
            unroll!(k in 0 1 2 3 {
                if k < K {
                    let (low, high) = (numbers[i][k], numbers[half + i][k]);
                    let (kept, given) = if upper { (high, low) } else { (low, high) };
                    out[i][k] = kept + f32::from_bits(shfl_sync_bfly_b32(given.to_bits(), bit, 31, u32::MAX));
                }
            });
        }
    });
    out
}

/// Sums over the eight rows of lanes, shared out among them: the lane's numbers, the first block that they are of, how
/// many blocks follow, and whether this lane stores them.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn shared_sums<const K: usize>(
    mut numbers: Numbers<K>,
    blocks: usize,
    row: u32,
) -> (Numbers<K>, u32, usize, bool) {
    let (mut count, mut first, mut stores) = (blocks, 0, true);
    unroll!(step in 0 1 2 {
        let bit = 2 - step as u32;
        let upper = row >> bit & 1 != 0;
        numbers = share(numbers, count, upper, 4 << bit);
        if count > 1 {
            count /= 2;
            first += if upper { count as u32 } else { 0 };
        } else {
            stores &= !upper;
        }
    });
    (numbers, first, count, stores)
}

/// Stores sums over 16 times, all of which are formed: `at` gives two products of a block at one of the lane's times
/// without their scales, which `scaled` multiplies them by.
///
/// # Safety
/// As [`Put::put`]; numbers of a block start at a multiple of their bytes.
#[inline(always)]
unsafe fn put_sums<const K: usize>(
    work: &Work,
    lane: &Lane,
    blocks: usize,
    at: impl Fn(usize, usize) -> [f32; K],
    scaled: impl Fn([f32; K], [f32; 2]) -> [f32; K],
) where
    [f32; K]: Value,
{
    let mut numbers = [[0.0; K]; MOST_BLOCKS];
    unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if s < blocks {
            let (first, second) = (at(s, 0), at(s, 1));
            unroll!(k in 0 1 2 3 { if k < K { numbers[s][k] = first[k] + second[k]; } });
        }
    });
    let (numbers, first, count, stores) = shared_sums(numbers, blocks, lane.row);
    let bytes = 2 * K as u64;
    let time = lane.times[0] / 16;
    let start = work.beams.address(0).wrapping_add(bytes * before(work, lane.channel, work.folded_times(), time));
    unroll!(i in 0 1 {
        if i < count {
            let within = 8 * (first + i as u32) + 2 * lane.quarter;
            let beam = lane.beam + within;
            let scales = lane.scales.cast::<[f32; 2]>().load(within as usize / 2);
            if stores && beam < work.count {
                put(start.wrapping_add(bytes * u64::from(beam)), scaled(numbers[i], scales));
            }
        }
    });
}

/// `|z|^2`.
#[inline(always)]
fn power([re, im]: [f32; 2]) -> f32 {
    fma(re, re, im * im)
}

/// `|x|^2, |y|^2, Re x conj y, Im x conj y`.
#[inline(always)]
fn coherency([x, y]: [[f32; 2]; 2]) -> [f32; 4] {
    [power(x), power(y), fma(x[0], y[0], x[1] * y[1]), fma(x[1], y[0], -(x[0] * y[1]))]
}

impl Put for Power {
    const OUTPUT: Output = Output::Power;
    const INCOHERENT: bool = true;

    #[inline(always)]
    unsafe fn put<S: Source, const H: usize, const DIGITS: usize>(sums: &Sums<S::Part, H>, work: &Work, lane: &Lane) {
        let wide = work.count % 2 == 0 && work.beams.address(0) % 8 == 0;
        if work.fold == 16 && lane.all_times && wide {
            put_sums::<2>(
                work,
                lane,
                blocks(H, DIGITS),
                |s, h| [0, 1].map(|e| power(value::<S::Part, H, DIGITS>(sums, s, h, e))),
                |[a, b], [x, y]| [a * x * x, b * y * y],
            );
            return;
        }
        let (stores, times) = stored::<S>(work, lane);
        let all = work.folded_times();
        let starts = times.map(|time| work.beams.address(0).wrapping_add(4 * before(work, lane.channel, all, time)));
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
                        powers[h][e] = if lane.formed[h] { power([re * scale, im * scale]) } else { 0.0 };
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
        let wide = work.beams.address(0) % 16 == 0;
        if work.fold == 16 && lane.all_times && wide {
            put_sums::<4>(
                work,
                lane,
                blocks(H, DIGITS),
                |s, h| coherency([0, 1].map(|e| value::<S::Part, H, DIGITS>(sums, s, h, e))),
                |[a, b, re, im], [x, y]| [a * x * x, b * y * y, re * x * y, im * x * y],
            );
            return;
        }
        let (stores, times) = stored::<S>(work, lane);
        let all = work.folded_times();
        let starts = times.map(|time| work.beams.address(0).wrapping_add(8 * before(work, lane.channel, all, time)));
        unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if s < blocks(H, DIGITS) {
                let within = 8 * s as u32 + 2 * lane.quarter;
                let beam = lane.beam + within;
                let mut products = [[0.0; 4]; 2];
                let scale = |e: usize| lane.scales.load(within as usize + e);
                let scales = [scale(0), scale(1)];
                unroll!(h in 0 1 {
                    let beams = [0, 1].map(|e| {
                        value::<S::Part, H, DIGITS>(sums, s, h, e).map(|part| part * scales[e])
                    });
                    if lane.formed[h] { products[h] = coherency(beams); }
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
