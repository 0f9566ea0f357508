//! Voltages of beams: f32, f16, or 8-bit integers with dither.
//!
//! A lane's sums of two times become *runs* of neighbouring beams `[channel][time][beam]`, 16 bytes each or all that it
//! has. A tile of which all is there is stored without a branch, any other beam by beam where it must. Integers that
//! saturate are marked with a bit each, and clamped and counted in memory afterwards; without dither only if the
//! largest magnitude of all says that there are some.

use fringes_device::convert::{cvt_pack_sat_s8_s32_b32, cvt_rni_s32_f32};
use fringes_device::fused::fma;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{GlobalMut, unroll};
use fringes_kernels_common::dither::{BASE, STEP, add, hash, hash_start};
use fringes_kernels_common::format::{self, Format};
use fringes_kernels_common::quantise::Output as Quantise;

use crate::output::{Lane, Put, before, blocks, put, run, value};
use crate::source::Source;
use crate::sums::{Part, Sums};
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

    /// Stores `run` neighbouring beams at once. Integers beyond the limit are mended later ([`Lost::mend`]).
    ///
    /// # Safety
    /// There are the beams, and `address` is a multiple of their bytes.
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize);

    /// Stores one beam.
    ///
    /// # Safety
    /// There is the beam at `address`, a multiple of its bytes.
    unsafe fn store_one(address: u64, value: [f32; 2]);
}

impl Voltage for F32 {
    const OUTPUT: Output = Output::Float32;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], _: usize) {
        let [[a, b], [c, d], ..] = values;
        put(address, [a, b, c, d]);
    }

    #[inline(always)]
    unsafe fn store_one(address: u64, value: [f32; 2]) {
        put(address, value);
    }
}

impl Voltage for F16 {
    const OUTPUT: Output = Output::Float16;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize) {
        let mut words = [0; 4];
        unroll!(j in 0 1 2 3 { if j < run { words[j] = <format::F16 as Quantise>::store(values[j]).0; } });
        if run == 4 { put(address, words) } else { put(address, [words[0], words[1]]) }
    }

    #[inline(always)]
    unsafe fn store_one(address: u64, value: [f32; 2]) {
        put(address, <format::F16 as Quantise>::store(value).0);
    }
}

impl Voltage for I8 {
    const OUTPUT: Output = Output::Int8;

    #[inline(always)]
    unsafe fn store(address: u64, values: [[f32; 2]; MOST_RUN], run: usize) {
        // Clamp to -128 and 127 and packing of two parts are one instruction. The first pair is packed last, into the
        // low half.
        let packed =
            |[re, im]: [f32; 2], low: u32| cvt_pack_sat_s8_s32_b32(cvt_rni_s32_f32(im), cvt_rni_s32_f32(re), low);
        let mut words = [0; 4];
        unroll!(w in 0 1 2 3 {
            if 2 * w < run { words[w] = packed(values[2 * w], packed(values[2 * w + 1], 0)); }
        });
        match run {
            8 => put(address, words),
            4 => put(address, [words[0], words[1]]),
            _ => put(address, words[0]),
        }
    }

    #[inline(always)]
    unsafe fn store_one(address: u64, value: [f32; 2]) {
        put(address, <format::I8 as Quantise>::store(value).0);
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

/// Step `s` of a tile: `run` neighbouring beams of the lane.
struct Step {
    /// The first beam.
    beam: u32,
    scales: [f32; MOST_RUN],
}

impl Step {
    /// # Safety
    /// The tile has the step.
    #[inline(always)]
    unsafe fn new(lane: &Lane, s: usize, run: usize) -> Self {
        let within = (4 * s * run) as u32 + lane.quarter * run as u32;
        Self { beam: lane.beam + within, scales: scales(lane, within, run) }
    }

    /// The beams' values at time `h` of the lane's two: scaled, with dither where there is one.
    #[inline(always)]
    fn values<P: Part, const H: usize, const DIGITS: usize>(
        &self,
        sums: &Sums<P, H>,
        [s, run, h]: [usize; 3],
        words: [u32; 2],
        dither: Dither,
    ) -> [[f32; 2]; MOST_RUN] {
        let mut values = [[0.0; 2]; MOST_RUN];
        unroll!(j in 0 1 2 3 4 5 6 7 {
            if j < run {
                let value = value::<P, H, DIGITS>(sums, s * run / 2 + j / 2, h, j % 2);
                values[j] = match dither {
                    Dither::None => value.map(|part| part * self.scales[j]),
                    Dither::Some { base, step } => {
                        let hash = hash(hash_start(self.beam + j as u32, words[0]), words[1]);
                        add(value.map(|part| fma(part, self.scales[j], base)), hash, step)
                    }
                };
            }
        });
        values
    }
}

/// The dither of integers.
#[derive(Clone, Copy)]
enum Dither {
    /// There is none.
    None,
    /// There is one, or with a base and a step of zero there is none after all.
    Some { base: f32, step: f32 },
}

/// Where the lane's first beam lies at its two times; `run` beams of step `s` lie `4 s run` beams further on.
///
/// # Safety
/// There are beams.
#[inline(always)]
unsafe fn starts(work: &Work, lane: &Lane, run: u32, bytes: u32) -> [u64; 2] {
    let first = lane.beam + lane.quarter * run;
    lane.times.map(|time| {
        let beams = before(work, lane.channel, work.times, time) + u64::from(first);
        work.beams.address(0).wrapping_add(beams * u64::from(bytes))
    })
}

/// The largest magnitude of a part of `run` values, or `peak`.
#[inline(always)]
fn larger(mut peak: f32, values: [[f32; 2]; MOST_RUN], run: usize) -> f32 {
    unroll!(j in 0 1 2 3 4 5 6 7 {
        if j < run { peak = peak.max(values[j][0].abs()).max(values[j][1].abs()); }
    });
    peak
}

/// The lane's beams that are beyond the limit, a bit each: beam `j` of step `s` at time `h` is bit `(2 s + h) run + j`.
#[derive(Clone, Copy)]
struct Lost {
    words: [u32; 2],
}

impl Lost {
    const NONE: Self = Self { words: [0; 2] };

    /// Adds a run of beams.
    #[inline(always)]
    fn add(&mut self, values: [[f32; 2]; MOST_RUN], [s, run, h]: [usize; 3]) {
        unroll!(j in 0 1 2 3 4 5 6 7 {
            if j < run {
                let bit = (2 * s + h) * run + j;
                if values[j][0].abs().max(values[j][1].abs()) > format::I8::LIMIT {
                    self.words[bit / 32] |= 1 << (bit % 32);
                }
            }
        });
    }

    /// Clamps what was stored to -128 to -127, and counts: seldom.
    ///
    /// # Safety
    /// The lane has stored the beams, `run` neighbouring ones a step.
    #[inline(always)]
    unsafe fn mend(self, work: &Work, lane: &Lane, run: u32) {
        let starts = starts(work, lane, run, Output::Int8.bytes());
        let mut half = 0;
        while half < 2 {
            let mut word = if half == 0 { self.words[0] } else { self.words[1] };
            while word != 0 {
                let bit = 32 * half + word.trailing_zeros();
                word &= word - 1;
                let (step, j) = (bit / run, bit % run);
                let further = 4 * run * (step / 2) + j;
                let start = if step % 2 == 0 { starts[0] } else { starts[1] };
                let stored = GlobalMut::<u16>::from_raw_parts(start.wrapping_add(2 * u64::from(further)), 1);
                let value = stored.load(0);
                // 0x80 becomes 0x81.
                let low = u16::from(value & 0xff == 0x80);
                let high = u16::from(value >> 8 == 0x80) << 8;
                stored.store(0, value | low | high);
                if !work.saturated.is_empty() {
                    work.saturated.atomic_add((lane.beam + lane.quarter * run + further) as usize, 1);
                }
            }
            half += 1;
        }
    }
}

/// What a tile that was stored has of integers beyond the limit.
struct Stored {
    /// With dither: which.
    lost: Lost,
    /// Without: the largest magnitude.
    peak: f32,
}

/// Stores a tile of which all times and beams are there, without a branch.
///
/// # Safety
/// As [`Put::put`]; a run of beams starts at a multiple of its bytes.
#[inline(always)]
unsafe fn put_whole<F: Voltage, P: Part, const H: usize, const DIGITS: usize>(
    sums: &Sums<P, H>,
    work: &Work,
    lane: &Lane,
    dither: Dither,
) -> Stored {
    let (run, bytes) = (run(F::OUTPUT, H, DIGITS), F::OUTPUT.bytes());
    let starts = starts(work, lane, run as u32, bytes);
    let integers = matches!(F::OUTPUT, Output::Int8);
    let (mut lost, mut peak) = (Lost::NONE, 0.0);
    unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if s < 2 * blocks(H, DIGITS) / run {
            // The assembler mixes hashes of all steps otherwise, for which there are too few registers.
            if let Dither::Some { .. } = dither { bar_warp_sync(u32::MAX); }
            let step = Step::new(lane, s, run);
            unroll!(h in 0 1 {
                let values = step.values::<P, H, DIGITS>(sums, [s, run, h], lane.words[h], dither);
                F::store(starts[h].wrapping_add((4 * s * run) as u64 * u64::from(bytes)), values, run);
                if integers {
                    match dither {
                        Dither::None => peak = larger(peak, values, run),
                        Dither::Some { .. } => lost.add(values, [s, run, h]),
                    }
                }
            });
        }
    });
    Stored { lost, peak }
}

/// Which of a whole tile's integers without dither are beyond the limit: seldom asked. Hashes are not made twice.
///
/// # Safety
/// The tile has the beams.
#[inline(always)]
unsafe fn lost_of_whole<P: Part, const H: usize, const DIGITS: usize>(
    sums: &Sums<P, H>,
    lane: &Lane,
    run: usize,
) -> Lost {
    let mut lost = Lost::NONE;
    unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if s < 2 * blocks(H, DIGITS) / run {
            let step = Step::new(lane, s, run);
            unroll!(h in 0 1 {
                lost.add(step.values::<P, H, DIGITS>(sums, [s, run, h], [0; 2], Dither::None), [s, run, h]);
            });
        }
    });
    lost
}

/// Stores the times and beams of a tile that there are. Gives what is lost of integers.
///
/// # Safety
/// As [`Put::put`]; runs of beams start at a multiple of their bytes if `wide`.
#[inline(always)]
unsafe fn put_edge<F: Voltage, P: Part, const H: usize, const DIGITS: usize>(
    sums: &Sums<P, H>,
    work: &Work,
    lane: &Lane,
    wide: bool,
    dither: Dither,
) -> Lost {
    let (run, bytes) = (run(F::OUTPUT, H, DIGITS), F::OUTPUT.bytes());
    let starts = starts(work, lane, run as u32, bytes);
    let mut lost = Lost::NONE;
    unroll!(s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
        if s < 2 * blocks(H, DIGITS) / run {
            let step = Step::new(lane, s, run);
            if step.beam < work.count {
                unroll!(h in 0 1 {
                    let mut values = step.values::<P, H, DIGITS>(sums, [s, run, h], lane.words[h], dither);
                    let address = starts[h].wrapping_add((4 * s * run) as u64 * u64::from(bytes));
                    if lane.formed[h] {
                        if wide {
                            F::store(address, values, run);
                        } else {
                            unroll!(j in 0 1 2 3 4 5 6 7 {
                                if j < run {
                                    if step.beam + (j as u32) < work.count {
                                        F::store_one(address + u64::from(bytes * j as u32), values[j]);
                                    } else {
                                        values[j] = [0.0; 2];
                                    }
                                }
                            });
                        }
                        if matches!(F::OUTPUT, Output::Int8) { lost.add(values, [s, run, h]); }
                    }
                });
            }
        }
    });
    lost
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
                let integers = matches!(<$format as Voltage>::OUTPUT, Output::Int8);
                let lane = if integers { lane.dithered(work) } else { *lane };
                Self::put_dithered::<S, H, DIGITS>(sums, work, &lane);
            }

            #[inline(always)]
            unsafe fn put_dithered<S: Source, const H: usize, const DIGITS: usize>(
                sums: &Sums<S::Part, H>,
                work: &Work,
                lane: &Lane,
            ) {
                let run = run(<$format as Voltage>::OUTPUT, H, DIGITS);
                let integers = matches!(<$format as Voltage>::OUTPUT, Output::Int8);
                let dithered = integers && work.dither != 0;
                let wide = work.count & (run as u32 - 1) == 0 && work.beams.address(0) % 16 == 0;
                if wide && lane.whole && !dithered {
                    // By itself, so that nothing follows in the ordinary case.
                    let peak = put_whole::<$format, S::Part, H, DIGITS>(sums, work, lane, Dither::None).peak;
                    if integers && peak > format::I8::LIMIT {
                        lost_of_whole::<S::Part, H, DIGITS>(sums, lane, run).mend(work, lane, run as u32);
                    }
                    return;
                }
                let lost = if wide && lane.whole {
                    let dither = Dither::Some { base: BASE, step: STEP };
                    put_whole::<$format, S::Part, H, DIGITS>(sums, work, lane, dither).lost
                } else {
                    let [base, step] = if dithered { [BASE, STEP] } else { [0.0; 2] };
                    let dither = if integers { Dither::Some { base, step } } else { Dither::None };
                    put_edge::<$format, S::Part, H, DIGITS>(sums, work, lane, wide, dither)
                };
                if integers { lost.mend(work, lane, run as u32); }
            }
        }
    )* };
}

voltages!(F32 F16 I8);
