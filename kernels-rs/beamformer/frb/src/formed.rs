//! Beams as voltages: lines are summed and transformed along, and all chosen outputs stored. A warp has the voltages of
//! a time and polarisation, which it decodes once for four sums over lines.
//!
//! # Layout
//! Weights of a frequency lie in shared memory so that a lane loads four at once, and behind them the place of each
//! beam's output. Two warps beside each other have the polarisations of a time (of one polarisation, two times). Each
//! stores all outputs of a transform to a plane of its own; behind a barrier both store beams of both planes to memory,
//! so that polarisations lie side by side. Planes are used in turn, so there is one barrier a sum.
//!
//! In a plane, output register `r` of lane `l` is word `32 r + (l ^ (r & 3))`. Stores have no conflicts, and outputs of
//! an aligned run of 32, whose lowest and fifth bit are of the register, are in different banks.
//!
//! # Floor
//! CHIME: a time of a frequency is 2048 bytes in and 8192 out, which an H200 copies in 660 SM-cycles; its eight
//! transforms from 256 to 512 are, each,
//!
//! | part | instructions | shared memory, in SM-cycles |
//! |---|---|---|
//! | load and decode, a quarter | 24 | 4 |
//! | weights and sum of lines | 8 loads, 72 half2 | 32 |
//! | 256 to 512 | 16 MMAs, 48 half2 | |
//! | keep | 16 stores | 16 |
//! | store, of half the beams | 12 loads, 8 half2, 4 stores | 16 |
//!
//! about 210 instructions, 53 issue cycles and 68 of shared memory: bytes bind, with 82. Measured are 147
//! (docs/frb.md), with 280 instructions: addresses are not in the table.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::half2::mul_rn_f16x2;
use fringes_device::index::{ctaid_x, laneid, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::alone::Places;
use crate::form::divided;
use crate::registers::Registers;
use crate::{Four, Voltages, lines};

/// Lines.
const LINES: usize = 4;

/// Words of shared memory of the frequency: the scale, nothing, and where its output begins. Behind them is, of two
/// words for each thread, where its voltages begin.
const HEADER: u32 = 4;

/// Sums over lines that are made of the same decoded voltages.
const OUTS: usize = 4;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct FormedGiven {
    /// Voltages `[time][frequency][pol][line][feed]`.
    pub voltages: Global<u8>,
    /// Weights `[frequency][pol][out][line][pair][re, im][lane]`.
    pub weights: Global<u32>,
    /// The phases of the transform along a line.
    pub phases: Global<u32>,
    /// Word of a beam's output in a plane, `[frequency][beam]`.
    pub rows: Global<u32>,
    /// Two f16 `[frequency]`: what real and imaginary parts are multiplied by.
    pub scales: Global<u32>,
}

/// Sizes of a launch.
#[derive(Clone, Copy)]
pub struct FormedSizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Times.
    pub times: u32,
    /// Parts that the times are divided into: each of each frequency has a block of its own.
    pub splits: u32,
    /// Sums over lines.
    pub outs: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Polarisations.
    pub pols: u32,
    /// Whether nibbles are offset or signed.
    pub signs: u32,
    /// Bytes from a time, frequency, polarisation and line to the next.
    pub strides: [u64; 4],
    /// Words that come out, from a frequency and time to the next.
    pub out_strides: [u64; 2],
}

/// Makes all voltages, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn formed<T, const X: usize, const P: usize, const H: usize, const Q: usize>(
    given: FormedGiven,
    out: GlobalMut<u32>,
    sizes: FormedSizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [u32; H]: Registers<u32>,
    [[u32; H]; LINES]: Registers<[u32; H]>,
    [(); P]: Registers<()>,
    [(); Q]: Registers<()>,
{
    const { assert!(2 * P == X && 2 * H == P && X == 1 << (T::INPUT_BITS - 5) && Q == 1 << (T::OUTPUT_BITS - 5)) };
    let FormedSizes { frequencies, times, splits, outs, beams, pols, strides, out_strides, .. } = sizes;
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let last = |count: u32, stride: u64| u64::from(count.saturating_sub(1)).saturating_mul(stride);
    let [time, frequency, pol, line] = strides;
    let bytes = Four::BYTES as u64;
    let end = (bytes << T::INPUT_BITS)
        .saturating_add(last(times, time))
        .saturating_add(last(frequencies, frequency))
        .saturating_add(last(pols, pol))
        .saturating_add(last(LINES as u32, line));
    let row = of(&[outs, beams, pols]);
    let out_end = row.saturating_add(last(frequencies, out_strides[0])).saturating_add(last(times, out_strides[1]));
    let weights = of(&[pols, outs, (LINES * X) as u32, 32]);
    let places = of(&[pols, outs.saturating_add(OUTS as u32 - 1), (LINES * X) as u32, 32]);
    // SAFETY: addresses, which are not used.
    let address = unsafe { given.voltages.address(0) };
    let warps = ntid_x() / 32;
    let fits = frequencies > 0
        && times > 0
        && splits > 0
        && outs > 0
        && beams > 0
        && of(&[frequencies, beams]) <= given.rows.len() as u64
        && (1..=2).contains(&pols)
        && warps > 0
        && warps.is_multiple_of(2)
        && (address | time | frequency | pol | line) & (2 * bytes - 1) == 0
        && line.saturating_mul(LINES as u64) < 1 << 31
        && of(&[frequencies, splits]) <= u32::MAX.into()
        && end <= given.voltages.len() as u64
        && of(&[frequencies, weights as u32]) <= given.weights.len() as u64
        && weights <= u32::MAX.into()
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && frequencies as usize <= given.scales.len()
        && out_end <= out.len() as u64
        && places <= u32::MAX.into()
        && 4 * (of(&[pols, rounded(outs), (LINES * X) as u32, 32])
            + u64::from(beams.next_multiple_of(2) + HEADER)
            + of(&[warps, 64 + 2 * 32 * Q as u32]))
            <= Shared::<u8>::dynamic().len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T, X, P, H, Q>(given, out, sizes) }
    } else {
        trap();
    }
}

/// Makes all voltages.
///
/// # Safety
/// The views hold what the sizes say.
#[inline(always)]
unsafe fn form<T, const X: usize, const P: usize, const H: usize, const Q: usize>(
    given: FormedGiven,
    out: GlobalMut<u32>,
    sizes: FormedSizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [u32; H]: Registers<u32>,
    [[u32; H]; LINES]: Registers<[u32; H]>,
    [(); P]: Registers<()>,
    [(); Q]: Registers<()>,
{
    let (lane, warp, warps) = (laneid(), tid_x() / 32, ntid_x() / 32);
    let shared = Shared::<u32>::dynamic();
    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let out_words = (LINES * X * 32) as u32;
    let (weights, padded) = (sizes.pols * sizes.outs * out_words, sizes.pols * rounded(sizes.outs) * out_words);
    // Which of two warps it is, and which of the times that the block has at once is its.
    let (plane, both) = (warp % 2, sizes.pols == 2);
    let (pol, ahead, at_once) = if both { (plane, warp / 2, warps / 2) } else { (0, warp, warps) };
    let plane_words = (32 * Q) as u32;
    let header = padded + sizes.beams.next_multiple_of(2);
    let bases = header + HEADER;
    let rooms = bases + 2 * ntid_x() + warp / 2 * (4 * plane_words);
    let first_feed = 2 * T::input_pair(lane) as usize * Four::BYTES;
    let first_weight = (pol * rounded(sizes.outs) * out_words) / 4 + lane;
    let mut second = 0;
    let number = ctaid_x();
    if number < sizes.frequencies * sizes.splits {
        let (frequency, split) = divided(number, sizes.splits);
        // The first splits have a time more, where they do not divide.
        let (of_each, rest) = divided(sizes.times, sizes.splits);
        let of_split = |split: u32| of_each * split + split.min(rest);
        let mut at = tid_x();
        while at < padded {
            // From [pair][re, im][lane] to [two pairs][lane][pair][re, im]; sums that there are not have zeros.
            let (of_line, pair, part, lane) = (at & !(X as u32 * 32 - 1), at / 64 % P as u32, at / 32 % 2, at % 32);
            let word = of_line + pair / 2 * 128 + lane * 4 + (pair & 1) * 2 + part;
            let (pol, of_pol) = divided(at, rounded(sizes.outs) * out_words);
            let there = of_pol < sizes.outs * out_words;
            let from = frequency as usize * weights as usize + (pol * sizes.outs * out_words + of_pol) as usize;
            shared.store(word as usize, if there { given.weights.load(from) } else { 0 });
            at += ntid_x();
        }
        let mut beam = tid_x();
        while beam < sizes.beams {
            let place = given.rows.load(frequency as usize * sizes.beams as usize + beam as usize);
            shared.store((padded + beam) as usize, place.min(plane_words - 1));
            beam += ntid_x();
        }
        // Kept in memory, as registers are few.
        if tid_x() == 0 {
            let begin = u64::from(frequency) * sizes.out_strides[0];
            shared.store(header as usize, given.scales.load(frequency as usize));
            shared.store(header as usize + 2, begin as u32);
            shared.store(header as usize + 3, (begin >> 32) as u32);
        }
        let base = u64::from(frequency) * frequency_stride + u64::from(pol) * pol_stride + first_feed as u64;
        let pairs = shared.cast::<[u32; 2]>();
        let mine = (bases / 2 + tid_x()) as usize;
        pairs.store(mine, [base as u32, (base >> 32) as u32]);
        bar_sync_0();
        let phases = T::phases(given.phases, lane);
        let end = of_split(split + 1);
        let mut base = of_split(split);
        let anew = |number: u32| opaque(number as i32) as u32;
        let load = |time: u32| {
            let [low, high] = pairs.load(mine);
            let from = u64::from(time.min(sizes.times - 1)) * time_stride + (u64::from(low) | u64::from(high) << 32);
            <[[u32; H]; LINES]>::each(|line| {
                let at = given.voltages.address((from + line as u64 * line_stride) as usize);
                let two = |pair: usize| Four::two(at + (Places::<T>::FEEDS[pair] as usize * Four::BYTES) as u64);
                <[u32; H]>::each(|pair| Four::joined(two(pair), two(pair + H)))
            })
        };
        while base < end {
            let time = base + ahead;
            base += at_once;
            let mut group = 0;
            while group < sizes.outs {
                let words = load(time);
                let sums = sums::<X, P, H>(&words, sizes.signs, first_weight, group);
                group += OUTS as u32;
                unroll!(o in 0 1 2 3 {
                    let this = group - OUTS as u32 + o as u32;
                    if this < sizes.outs {
                        let x = <[u32; X]>::each(|register| sums[o][register % P][register / P]);
                        let y = T::transform::<Half, Half>(x, &phases);
                        let mine = anew(lane);
                        let room = rooms + second * (2 * plane_words);
                        second ^= 1;
                        let _ = <[(); Q]>::each(|register| {
                            let place = 32 * register as u32 + (mine ^ (register as u32 & 3));
                            shared.store((room + plane * plane_words + place) as usize, y[register]);
                        });
                        // All threads come here equally often. Who stores to these planes again has been at the next
                        // barrier, and so has who loads here.
                        bar_sync_0();
                        if time < end {
                            store::<Q>(out, sizes, (time, this), (padded, header, room));
                        }
                    }
                });
            }
        }
    }
}

/// So many sums over lines have places for their weights.
#[inline(always)]
const fn rounded(outs: u32) -> u32 {
    outs.next_multiple_of(OUTS as u32)
}

/// Sums over lines from `group` on, `[sum][pair][re, im]`; those that there are not are zeros.
///
/// # Safety
/// The weights are in shared memory, the lane's from piece `first` on.
#[inline(always)]
unsafe fn sums<const X: usize, const P: usize, const H: usize>(
    words: &[[u32; H]; LINES],
    signs: u32,
    first: u32,
    group: u32,
) -> [[[u32; 2]; P]; OUTS]
where
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [(); P]: Registers<()>,
{
    let shared = Shared::<[u32; 4]>::dynamic();
    let mut sums = [[[0u32; 2]; P]; OUTS];
    unroll!(line in 0 1 2 3 {
        let parts = <[[u32; 2]; P]>::each(|pair| Four::joined_parts(words[line][pair / 2], pair % 2, signs));
        unroll!(o in 0 1 2 3 {
            let of_line = first + ((group + o as u32) * LINES as u32 + line as u32) * (X as u32 * 8);
            let _ = <[(); P]>::each(|pair| {
                if pair % 2 == 0 {
                    let [a, b, c, d] = shared.load(of_line as usize + pair / 2 * 32);
                    let mut add = |pair: usize, weight: [u32; 2]| {
                        let sum = sums[o][pair];
                        sums[o][pair] = if line == 0 {
                            lines::product(parts[pair], weight)
                        } else {
                            lines::added(sum, parts[pair], weight)
                        };
                    };
                    add(pair, [a, b]);
                    add(pair + 1, [c, d]);
                }
            });
        });
    });
    sums
}

/// Stores the beams of a time and sum from planes at word `room`; places and what is of the frequency are at words
/// `table` and `header`.
///
/// # Safety
/// They are in the output, and the outputs of both warps have been stored.
#[inline(always)]
unsafe fn store<const Q: usize>(
    out: GlobalMut<u32>,
    sizes: FormedSizes,
    (time, o): (u32, u32),
    (table, header, room): (u32, u32, u32),
) {
    let shared = Shared::<u32>::dynamic();
    let scale = shared.load(header as usize);
    let [low, high] = shared.cast::<[u32; 2]>().load(header as usize / 2 + 1);
    // Computed anew, so that it takes no registers meanwhile.
    let thread = opaque(tid_x() as i32) as u32;
    let (lane, plane, both) = (thread % 32, thread / 32 % 2, sizes.pols == 2);
    let [frequency_step, time_step] = sizes.out_strides;
    let begin = u64::from(low) | u64::from(high) << 32;
    let to = begin + u64::from(time) * time_step + u64::from(o * sizes.beams * sizes.pols);
    let in_pairs = both && out.address(0) & 7 == 0 && (frequency_step | time_step) & 1 == 0;
    let (pairs, first_pair) = (out.cast::<[u32; 2]>(), to / 2);
    let load =
        |plane: u32, place: u32| mul_rn_f16x2(shared.load((room + plane * (32 * Q as u32) + place) as usize), scale);
    let place_of = |beam: u32| shared.load((table + beam) as usize);
    let (first, step) = if both { (32 * plane + lane, 64) } else { (lane, 32) };
    let mut beam = first;
    if in_pairs {
        // Four at once, a constant distance from each other.
        while beam + 3 * 64 < sizes.beams {
            let here = pairs.part((first_pair + u64::from(beam)) as usize, 3 * 64 + 1);
            unroll!(i in 0 1 2 3 {
                let place = place_of(beam + i as u32 * 64);
                here.store(i * 64, [load(0, place), load(1, place)]);
            });
            beam += 4 * 64;
        }
    }
    while beam < sizes.beams {
        let place = place_of(beam);
        if both {
            let at = (to + u64::from(2 * beam)) as usize;
            out.store(at, load(0, place));
            out.store(at + 1, load(1, place));
        } else {
            out.store((to + u64::from(beam)) as usize, load(plane, place));
        }
        beam += step;
    }
}
