//! Beams as voltages: lines are summed by products of matrices and transformed along, and all chosen outputs stored.
//!
//! # A chunk
//! of 16 times and two polarisations (of one polarisation, of 32 times) is taken in two steps, with sums of all feeds in
//! shared memory between them.
//!
//! 1. A warp has 32 feeds of a half, a polarisation or 16 times. Times are the rows of a product, lines and their parts
//!    the columns; of each feed the four sums over lines are a product with an 8 by 8 matrix of its weights, which stay
//!    in registers. What comes out has both parts of a sum in one register.
//! 2. A warp has both halves of a time and sum: it loads all feeds, transforms, stores all outputs to two planes of its
//!    own, and from there the beams of both planes to memory, so that polarisations lie side by side.
//!
//! Where a block's shared memory is less, a chunk is taken twice, for two sums each time.
//!
//! # Layout
//! A row of sums has a piece of four words for a lane of the transform and its highest feed bit: register `4 j + i` of
//! lane `l` is word `i` of piece `32 j + (l ^ key)`, with the `key` of the row's sum and time: eight lanes that store
//! have the rows of four sums and two times, and eight that load neighbouring lanes.
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
//! | load and decode, an eighth | 26 | |
//! | sum of lines | 4 MMAs, 2 stores, 2 loads | 16 |
//! | 256 to 512 | 16 MMAs, 48 half2 | |
//! | keep | 16 stores | 16 |
//! | store beams | 12 loads, 8 half2, 4 stores | 12 |
//!
//! about 140 instructions, 35 issue cycles and 44 of shared memory: bytes bind, with 82.

use fringes_device::arithmetic::{lop3_b32, prmt_b32};
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::half2::{add_rn_f16x2, mul_rn_f16x2};
use fringes_device::index::{ctaid_x, laneid, ntid_x, tid_x};
use fringes_device::mma::mma_m16n8k8_f16_f16;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::form::divided;
use crate::registers::Registers;

/// Lines.
const LINES: usize = 4;

/// Sums over lines that are made at once.
const OUTS: u32 = 4;

/// Feeds of a line, and bytes that a warp has of it.
const FEEDS: u32 = 256;
const WARP_FEEDS: u32 = 32;

/// Times of a half of a chunk: rows of a product.
const TIMES: u32 = 16;

/// Warps of a block: of each half as many as have all feeds.
const WARPS: u32 = 2 * FEEDS / WARP_FEEDS;

/// Words of all outputs of a transform.
const PLANE_WORDS: u32 = 512;

/// Registers of the phases.
const PHASES: usize = 40;

/// Words of shared memory before the sums: phases, then the scale, nothing, and where the frequency's output begins; two
/// of each thread, where its voltages begin; of each beam its place in a plane.
const HEADER: u32 = 32 * PHASES as u32;
const BASES: u32 = HEADER + 4;
const PLACES: u32 = BASES + 2 * 32 * WARPS;

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
    /// Parts that the times are divided into: each of each frequency and of each four sums over lines has a block of its
    /// own.
    pub splits: u32,
    /// Sums over lines.
    pub outs: u32,
    /// Sums over lines that a block keeps of a chunk: 2 or 4.
    pub kept: u32,
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

impl FormedSizes {
    /// Words of shared memory before the sums of a chunk.
    #[inline(always)]
    fn words_before(&self) -> u32 {
        PLACES + self.beams.next_multiple_of(4)
    }

    /// Times of a chunk.
    #[inline(always)]
    fn chunk(&self) -> u32 {
        if self.pols == 2 { TIMES } else { 2 * TIMES }
    }
}

/// Makes all voltages, after checking that the views are large enough.
#[inline(always)]
pub(crate) fn formed<T>(given: FormedGiven, out: GlobalMut<u32>, sizes: FormedSizes)
where
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases = [u32; PHASES]>,
{
    const { assert!(T::INPUT_BITS == 8 && T::OUTPUT_BITS == 9 && T::PHASE_REGISTERS == PHASES) };
    let FormedSizes { frequencies, times, splits, outs, kept, beams, pols, strides, out_strides, .. } = sizes;
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let last = |count: u32, stride: u64| u64::from(count.saturating_sub(1)).saturating_mul(stride);
    let [time, frequency, pol, line] = strides;
    let end = u64::from(FEEDS)
        .saturating_add(last(times, time))
        .saturating_add(last(frequencies, frequency))
        .saturating_add(last(pols, pol))
        .saturating_add(last(LINES as u32, line));
    let row = of(&[outs, beams, pols]);
    let out_end = row.saturating_add(last(frequencies, out_strides[0])).saturating_add(last(times, out_strides[1]));
    // SAFETY: addresses, which are not used.
    let address = unsafe { given.voltages.address(0) };
    let fits = frequencies > 0
        && times > 0
        && times < 1 << 31
        && splits > 0
        && outs > 0
        && (kept == 2 || kept == 4)
        && beams > 0
        && of(&[frequencies, beams]) <= given.rows.len() as u64
        && (1..=2).contains(&pols)
        && ntid_x() == 32 * WARPS
        && (address | time | frequency | pol | line) & 1 == 0
        && outs <= u32::MAX - OUTS
        && of(&[frequencies, splits, outs.div_ceil(OUTS)]) <= u32::MAX.into()
        && end <= given.voltages.len() as u64
        && of(&[frequencies, pols, outs, LINES as u32, FEEDS]) <= given.weights.len() as u64
        && 32 * PHASES <= given.phases.len()
        && frequencies as usize <= given.scales.len()
        && out_end <= out.len() as u64
        && row <= u32::MAX.into()
        && 4 * (u64::from(beams.next_multiple_of(4)) + of(&[2 * TIMES * FEEDS, kept]))
            + 4 * u64::from(PLACES + 2 * WARPS * PLANE_WORDS)
            <= Shared::<u8>::dynamic().len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T>(given, out, sizes) }
    } else {
        trap();
    }
}

/// What a thread has to do with a chunk.
#[derive(Clone, Copy)]
struct Place {
    lane: u32,
    warp: u32,
    /// Which half, and which 32 of the feeds.
    half: u32,
    feeds: u32,
}

/// Makes all voltages.
///
/// # Safety
/// The views hold what the sizes say, and a block has [`WARPS`].
#[inline(always)]
unsafe fn form<T>(given: FormedGiven, out: GlobalMut<u32>, sizes: FormedSizes)
where
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases = [u32; PHASES]>,
{
    let number = ctaid_x();
    let groups = sizes.outs.div_ceil(OUTS);
    if number >= sizes.frequencies * sizes.splits * groups {
        return;
    }
    let (number, group) = divided(number, groups);
    let (frequency, split) = divided(number, sizes.splits);
    let group = OUTS * group;
    let (lane, warp) = (laneid(), tid_x() / 32);
    let place = Place { lane, warp, half: warp / (WARPS / 2), feeds: warp % (WARPS / 2) };
    prepare(given, sizes, frequency);
    let pol = if sizes.pols == 2 { place.half } else { 0 };
    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let first = u64::from(frequency) * frequency_stride
        + u64::from(pol) * pol_stride
        + u64::from(lane % 4) * line_stride
        + u64::from(WARP_FEEDS * place.feeds);
    // Kept in memory, as registers are few.
    let voltages = given.voltages.address(first as usize);
    let bases = Shared::<[u32; 2]>::dynamic();
    let mine = (BASES / 2 + tid_x()) as usize;
    bases.store(mine, [voltages as u32, (voltages >> 32) as u32]);
    let chunk = sizes.chunk();
    // The first splits have a chunk more, where they do not divide.
    let (of_each, rest) = divided(sizes.times.div_ceil(chunk), sizes.splits);
    let of_split = |split: u32| chunk * (of_each * split + split.min(rest));
    let end = of_split(split + 1).min(sizes.times);
    // Of the lane's rows in a product.
    let row = lane / 4 + if sizes.pols == 2 { 0 } else { TIMES * place.half };
    let aligned = (voltages | time_stride) & 15 == 0;
    let load = |base: u32| {
        let [low, high] = bases.load(mine);
        let voltages = u64::from(low) | u64::from(high) << 32;
        <[[[u32; 4]; 2]; 2]>::each(|row_of| {
            let time = (base + row + 8 * row_of as u32).min(sizes.times - 1);
            let at = voltages + u64::from(time) * time_stride;
            <[[u32; 4]; 2]>::each(|piece| sixteen(at + 16 * piece as u64, aligned))
        })
    };
    let weights = weights(given, sizes, [frequency, pol, group], place);
    let outs = if sizes.outs < group + OUTS { sizes.outs } else { group + OUTS };
    let mut base = of_split(split);
    while base < end {
        let mut o = group;
        while o < outs {
            let voltages = load(base);
            // All have loaded the sums that were there.
            bar_sync_0();
            sum(voltages, &weights, sizes, place, o % OUTS);
            bar_sync_0();
            beams::<T>(out, sizes, place, [base, end, o, outs]);
            o += sizes.kept;
        }
        base += chunk;
    }
}

/// 16 bytes at an even address.
///
/// # Safety
/// They are in a view, and `aligned` says that the address is a multiple of 16.
#[inline(always)]
unsafe fn sixteen(address: u64, aligned: bool) -> [u32; 4] {
    if aligned {
        return Global::<[u32; 4]>::from_raw_parts(address, 1).load(0);
    }
    let short = |at: usize| u32::from(Global::<u16>::from_raw_parts(address + 2 * at as u64, 1).load(0));
    <[u32; 4]>::each(|word| short(2 * word) | short(2 * word + 1) << 16)
}

/// Brings the phases and what is of the frequency to shared memory, where registers need not keep it.
///
/// # Safety
/// The views hold what the sizes say; a barrier follows.
#[inline(always)]
unsafe fn prepare(given: FormedGiven, sizes: FormedSizes, frequency: u32) {
    let shared = Shared::<u32>::dynamic();
    let mut at = tid_x();
    while at < HEADER {
        // From [register][lane] to [register / 4][lane][register % 4].
        let (register, lane) = (at / 32, at % 32);
        let to = register / 4 * 128 + 4 * lane + register % 4;
        shared.store(to as usize, given.phases.load(at as usize));
        at += 32 * WARPS;
    }
    let mut beam = tid_x();
    while beam < sizes.beams {
        let place = given.rows.load(frequency as usize * sizes.beams as usize + beam as usize);
        shared.store((PLACES + beam) as usize, place.min(PLANE_WORDS - 1));
        beam += 32 * WARPS;
    }
    if tid_x() == 0 {
        let begin = u64::from(frequency) * sizes.out_strides[0];
        shared.store(HEADER as usize, given.scales.load(frequency as usize));
        shared.store(HEADER as usize + 2, begin as u32);
        shared.store(HEADER as usize + 3, (begin >> 32) as u32);
    }
}

/// The lane's factors of the products of 32 feeds: rows of a matrix are line `lane % 4` and its parts, columns sum
/// `lane / 8` from `group` on and its part `lane / 4 % 2`. Sums that there are not have zeros.
///
/// # Safety
/// The view holds what the sizes say.
#[inline(always)]
unsafe fn weights(
    given: FormedGiven,
    sizes: FormedSizes,
    [frequency, pol, group]: [u32; 3],
    Place { lane, feeds, .. }: Place,
) -> [u32; 32] {
    let (line, imaginary, o) = (lane % 4, lane / 4 % 2 == 1, group + lane / 8);
    let there = o < sizes.outs;
    let of_out = (frequency * sizes.pols + pol) as usize * sizes.outs as usize + if there { o as usize } else { 0 };
    let table = given.weights.part((of_out * LINES + line as usize) * FEEDS as usize, FEEDS as usize);
    <[u32; 32]>::each(|feed| {
        // [pair][re, im][lane] of feed bits n0 n4, and n5 n6 n1 n2 n3; n7 is the half of a word.
        let (pair, of_warp) = (feed % 2 + feed / 16 * 2, (feed as u32 / 2 % 8) << 2);
        let at = pair * 64 + (of_warp | feeds & 3) as usize;
        let half = |word: u32| word >> (16 * (feeds / 4)) & 0xffff;
        let (re, im) = (half(table.load(at)), half(table.load(at + 32)));
        let word = if imaginary { im | re << 16 } else { re | (im ^ 0x8000) << 16 };
        if there { word } else { 0 }
    })
}

/// Words of a row of sums from the first one on, of a time, sum and half of a chunk of which `kept` sums are kept.
#[inline(always)]
fn row_of(kept: u32, time: u32, o: u32, half: u32) -> u32 {
    ((time * kept + o) * 2 + half) * FEEDS
}

/// Makes the sums over lines of a warp's feeds and stores those from `first` on that are kept.
///
/// # Safety
/// Nobody uses the sums that were there; all lanes of the warp call it together.
#[inline(always)]
unsafe fn sum(
    voltages: [[[u32; 4]; 2]; 2],
    weights: &[u32; 32],
    sizes: FormedSizes,
    Place { lane, half, feeds, .. }: Place,
    first: u32,
) {
    let time = lane / 4;
    // As many as are kept begin with a multiple of that.
    let of_kept = sizes.kept - 1;
    let (o, store) = (lane % 4 & of_kept, (lane % 4 ^ first) & !of_kept == 0);
    // Lanes have a piece of every one of eight; the highest feed bit is the piece's.
    let key = lane % 4 | (time & 1) << 2;
    let piece = ((feeds & 3) ^ key) + (feeds >> 2) * 32;
    let shared = Shared::<[u32; 4]>::dynamic();
    let before = sizes.words_before();
    let of_time = |time: u32| (before + row_of(sizes.kept, time, o, half)) / 4;
    let (low, high) = (of_time(time), of_time(time + 8));
    unroll!(eight in 0 1 2 3 4 5 6 7 {
        // Feed bits n1 n2 n3 are `eight`, those of words n0 n4.
        let sums = <[[u32; 2]; 4]>::each(|word| {
            let feed = word % 2 + 2 * eight + word / 2 * 16;
            let number = |row: usize| {
                let bytes = voltages[row][feed / 16][feed % 16 / 4];
                parts(bytes, feed as u32 % 4, sizes.signs)
            };
            mma_m16n8k8_f16_f16([number(0), number(1)], [weights[feed]], [0; 2])
        });
        if store {
            let at = piece ^ 4 * eight as u32;
            shared.store((low + at) as usize, [sums[0][0], sums[1][0], sums[2][0], sums[3][0]]);
            shared.store((high + at) as usize, [sums[0][1], sums[1][1], sums[2][1], sums[3][1]]);
        }
    });
}

/// Both parts of byte `byte` of four voltages, as f16, the real one in the low half.
///
/// A nibble that is 8 more than its number makes, in bits 4 to 7 of an f16 of 64 (whose bit 4 counts 1), 72 more than
/// its number; in bits 0 to 3 of an f16 of 1024 it makes 1032 more.
#[inline(always)]
fn parts(bytes: u32, byte: u32, signs: u32) -> u32 {
    let both = prmt_b32(bytes, bytes, 0x1111 * byte);
    // (x & mask) ^ flips
    let number = lop3_b32::<0x6a>(both, 0x000f_00f0, 0x6400_5400 ^ (signs & 0x0008_0080));
    add_rn_f16x2(number, 0xe408_d480)
}

/// Makes beams of the sums that are kept, those from `o` on of `outs`, and stores them.
///
/// # Safety
/// The sums of the chunk that begins at time `base` are there; all lanes of the warp call it together.
#[inline(always)]
unsafe fn beams<T>(
    out: GlobalMut<u32>,
    sizes: FormedSizes,
    Place { lane, warp, .. }: Place,
    [base, end, o, outs]: [u32; 4],
) where
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases = [u32; PHASES]>,
{
    let shared = Shared::<[u32; 4]>::dynamic();
    let words = Shared::<u32>::dynamic();
    let fours = <[[u32; 4]; 10]>::each(|four| shared.load(32 * four + lane as usize));
    let phases = <[u32; PHASES]>::each(|register| fours[register / 4][register % 4]);
    let before = sizes.words_before();
    let room = before + 2 * TIMES * sizes.kept * FEEDS + warp * 2 * PLANE_WORDS;
    let mut item = warp;
    while item < TIMES * sizes.kept {
        // A power of two.
        let (time, of_kept) = (item >> sizes.kept.trailing_zeros(), item & (sizes.kept - 1));
        let this = o + of_kept;
        if base + time < end && this < outs {
            let key = this % OUTS | (time & 1) << 2;
            unroll!(half in 0 1 {
                let row = (before + row_of(sizes.kept, time, of_kept, half as u32)) / 4 + (lane ^ key);
                let [a, b] = [shared.load(row as usize), shared.load(row as usize + 32)];
                let y = T::transform::<Half, Half>([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]], &phases);
                let _ = <[(); 16]>::each(|register| {
                    let place = 32 * register as u32 + (lane ^ (register as u32 & 3));
                    words.store((room + half as u32 * PLANE_WORDS + place) as usize, y[register]);
                });
            });
            bar_warp_sync(u32::MAX);
            store(out, sizes, (base + time, end, this), room);
            bar_warp_sync(u32::MAX);
        }
        item += WARPS;
    }
}

/// Stores the beams of a time and sum from the warp's planes at word `room`.
///
/// # Safety
/// They are in the output, and the outputs of both transforms have been stored.
#[inline(always)]
unsafe fn store(out: GlobalMut<u32>, sizes: FormedSizes, (time, end, o): (u32, u32, u32), room: u32) {
    let shared = Shared::<u32>::dynamic();
    let scale = shared.load(HEADER as usize);
    let [low, high] = shared.cast::<[u32; 2]>().load(HEADER as usize / 2 + 1);
    let lane = opaque(laneid() as i32) as u32;
    let [frequency_step, time_step] = sizes.out_strides;
    let begin = u64::from(low) | u64::from(high) << 32;
    let to = begin + u64::from(time) * time_step + u64::from(o * sizes.beams * sizes.pols);
    let both = sizes.pols == 2;
    let in_pairs = both && out.address(0) & 7 == 0 && (frequency_step | time_step) & 1 == 0;
    let (pairs, first_pair) = (out.cast::<[u32; 2]>(), to / 2);
    let load = |plane: u32, place: u32| mul_rn_f16x2(shared.load((room + plane * PLANE_WORDS + place) as usize), scale);
    let place_of = |beam: u32| shared.load((PLACES + beam) as usize);
    let mut beam = lane;
    if in_pairs {
        // Four at once, a constant distance from each other.
        while beam + 3 * 32 < sizes.beams {
            let here = pairs.part((first_pair + u64::from(beam)) as usize, 3 * 32 + 1);
            unroll!(i in 0 1 2 3 {
                let place = place_of(beam + i as u32 * 32);
                here.store(i * 32, [load(0, place), load(1, place)]);
            });
            beam += 4 * 32;
        }
    }
    // Of one polarisation the second plane has a time 16 further on.
    let second = to + u64::from(TIMES) * time_step;
    while beam < sizes.beams {
        let place = place_of(beam);
        if both {
            let at = (to + u64::from(2 * beam)) as usize;
            out.store(at, load(0, place));
            out.store(at + 1, load(1, place));
        } else {
            out.store((to + u64::from(beam)) as usize, load(0, place));
            if time + TIMES < end {
                out.store((second + u64::from(beam)) as usize, load(1, place));
            }
        }
        beam += 32;
    }
}
