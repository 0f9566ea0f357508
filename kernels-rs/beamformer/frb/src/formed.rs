//! Beams as voltages: lines are summed by products of matrices and transformed along, and all chosen outputs stored.
//!
//! # A chunk
//! of 8 times and two polarisations (of one polarisation, of 16 times) is taken in two steps by eight warps, with sums
//! of all feeds in shared memory between them.
//!
//! 1. A warp has 32 feeds. Times of both halves, polarisations or 8 times, are the rows of a product, lines and their
//!    parts the columns; of each feed the four sums over lines are a product with an 8 by 8 matrix of its weights, for
//!    each half its own. What comes out has both parts of a sum in one register.
//! 2. A warp has both halves of a time and sum: it loads all feeds, transforms, stores all outputs to two planes, and
//!    from there the beams of both planes to memory, so that polarisations lie side by side. The second plane takes the
//!    place of the sums.
//!
//! A block has two such groups, which take chunks in turn and have a barrier each, so that one computes while the other
//! waits for voltages; where shared memory is less, only one does so.
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
//! | load and decode, an eighth | 25 | |
//! | sum of lines | 8 MMAs, 4 loads, 2 stores | 24 |
//! | 256 to 512 | 16 MMAs, 48 half2 | 8 |
//! | keep | 16 stores | 16 |
//! | store beams | 12 loads, 8 half2, 4 stores | 12 |
//!
//! about 145 instructions, 36 issue cycles and 60 of shared memory: bytes bind, with 82. Measured are 135
//! (docs/frb.md), with 223 instructions: addresses are not in the table. Of shared memory they are 72, a quarter of it
//! conflicts where beams are loaded from planes.

use fringes_device::barrier::{bar_sync, bar_sync_0};
use fringes_device::control::trap;
use fringes_device::half2::mul_rn_f16x2;
use fringes_device::index::{ctaid_x, laneid, ntid_x, tid_x};
use fringes_device::mma::mma_m16n8k8_f16_f16;
use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, GlobalMut, Shared, unroll};
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::Four;
use crate::form::divided;
use crate::registers::Registers;

use fringes_kernel_abi::frb::formed::{
    FACTOR_WORDS, FEEDS, FREQUENCY_WORDS, GROUP_WORDS, GROUPS, OUTS, PLANE_WORDS, SUM_WORDS, THREADS, TIMES,
    WARP_FEEDS, WARPS, shared_bytes, words_before,
};

/// Lines.
const LINES: usize = 4;

/// Threads of a group.
const GROUP_THREADS: u32 = THREADS / GROUPS;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct FormedGiven {
    /// Voltages `[time][frequency][pol][line][feed]`.
    pub voltages: Global<u8>,
    /// Weights `[frequency][pol][out][line][pair][re, im][lane]`.
    pub weights: Global<u32>,
    /// The phases of the transform along a line, as the transform has them.
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
    /// Parts that the times are divided into: each of each frequency and four sums over lines has a block of its own.
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

impl FormedSizes {
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
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases: Copy>,
{
    const { assert!(T::INPUT_BITS == 8 && T::OUTPUT_BITS == 9) };
    let FormedSizes { frequencies, times, splits, outs, beams, pols, strides, out_strides, .. } = sizes;
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
        && beams > 0
        && of(&[frequencies, beams]) <= given.rows.len() as u64
        && (1..=2).contains(&pols)
        && ntid_x() == THREADS
        && (address | time | frequency | pol | line) & 1 == 0
        && outs <= u32::MAX - OUTS
        && of(&[frequencies, splits, outs.div_ceil(OUTS)]) <= u32::MAX.into()
        && end <= given.voltages.len() as u64
        && of(&[frequencies, pols, outs, LINES as u32, FEEDS]) <= given.weights.len() as u64
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && frequencies as usize <= given.scales.len()
        && out_end <= out.len() as u64
        && row <= u32::MAX.into()
        && shared_bytes(beams, pols, 1) <= Shared::<u8>::dynamic().len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T>(given, out, sizes) }
    } else {
        trap();
    }
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct Place {
    lane: u32,
    /// Of the group.
    warp: u32,
    group: u32,
    /// The first word of the group.
    sums: u32,
}

impl Place {
    /// Words of a row of sums from the first one on, of a time, sum and half of a chunk.
    #[inline(always)]
    fn row(&self, time: u32, o: u32, half: u32) -> u32 {
        self.sums + ((time * OUTS + o) * 2 + half) * FEEDS
    }

    /// Waits for all of the group.
    ///
    /// # Safety
    /// All threads of the group come here.
    #[inline(always)]
    unsafe fn wait(&self) {
        if self.group == 0 {
            bar_sync::<1>(GROUP_THREADS);
        } else {
            bar_sync::<2>(GROUP_THREADS);
        }
    }
}

/// Voltages of a lane, `[half][16 feeds][4 feeds]`.
type Bytes = [[[u32; 4]; 2]; 2];

/// Makes all voltages.
///
/// # Safety
/// The views hold what the sizes say, and shared memory a group or two.
#[inline(always)]
unsafe fn form<T>(given: FormedGiven, out: GlobalMut<u32>, sizes: FormedSizes)
where
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases: Copy>,
{
    let (number, fours) = (ctaid_x(), sizes.outs.div_ceil(OUTS));
    if number >= sizes.frequencies * sizes.splits * fours {
        return;
    }
    let (number, four) = divided(number, fours);
    let (frequency, split) = divided(number, sizes.splits);
    let (lane, group, first_out) = (laneid(), tid_x() / GROUP_THREADS, OUTS * four);
    let sums = words_before(sizes.beams) + sizes.pols * FACTOR_WORDS + group * GROUP_WORDS;
    let place = Place { lane, warp: tid_x() / 32 % WARPS, group, sums };
    prepare(given, sizes, frequency, first_out);
    bar_sync_0();
    let both = shared_bytes(sizes.beams, sizes.pols, GROUPS) <= Shared::<u8>::dynamic().len() as u64;
    let groups = if both { GROUPS } else { 1 };
    if group >= groups {
        return;
    }

    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let first = u64::from(frequency) * frequency_stride
        + u64::from(lane % 4) * line_stride
        + u64::from(WARP_FEEDS * place.warp);
    let voltages = given.voltages.address(first as usize);
    let both = sizes.pols == 2;
    let aligned = (voltages | time_stride | pol_stride) & 15 == 0;
    let load = |base: u32| {
        Bytes::each(|half| {
            let time = base + lane / 4 + if both { 0 } else { half as u32 * TIMES };
            let at = voltages
                + u64::from(time.min(sizes.times - 1)) * time_stride
                + if both { half as u64 * pol_stride } else { 0 };
            <[[u32; 4]; 2]>::each(|piece| sixteen(at + 16 * piece as u64, aligned))
        })
    };
    let chunk = sizes.chunk();
    // The first splits have a chunk more, where they do not divide.
    let (of_each, rest) = divided(sizes.times.div_ceil(chunk), sizes.splits);
    let of_split = |split: u32| chunk * (of_each * split + split.min(rest));
    let end = of_split(split + 1).min(sizes.times);
    let phases = T::phases(given.phases, lane);
    let mut base = of_split(split) + chunk * group;
    let mut voltages = load(base);
    while base < end {
        sum(voltages, sizes, place);
        place.wait();
        let next = base + chunk * groups;
        voltages = load(next);
        beams::<T>(out, sizes, place, &phases, [base, end, first_out]);
        // All have loaded the sums.
        place.wait();
        base = next;
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

/// Brings what is of the frequency to shared memory, with the factors of sums from `first_out` on.
///
/// # Safety
/// The views hold what the sizes say; a barrier follows.
#[inline(always)]
unsafe fn prepare(given: FormedGiven, sizes: FormedSizes, frequency: u32, first_out: u32) {
    let shared = Shared::<u32>::dynamic();
    let mut beam = tid_x();
    while beam < sizes.beams {
        let place = given.rows.load(frequency as usize * sizes.beams as usize + beam as usize);
        shared.store((FREQUENCY_WORDS + beam) as usize, place.min(PLANE_WORDS - 1));
        beam += ntid_x();
    }
    if tid_x() == 0 {
        let begin = u64::from(frequency) * sizes.out_strides[0];
        shared.store(0, given.scales.load(frequency as usize));
        shared.store(2, begin as u32);
        shared.store(3, (begin >> 32) as u32);
    }
    let mut at = tid_x();
    while at < sizes.pols * FACTOR_WORDS {
        let factor = factor(given, sizes, (frequency, at / FACTOR_WORDS, first_out), at % FACTOR_WORDS);
        shared.store((words_before(sizes.beams) + at) as usize, factor);
        at += ntid_x();
    }
}

/// Word `at` of the factors of a polarisation: of a lane's row of a matrix, line `lane % 4` and its parts, the column
/// of sum `lane / 8` from `first_out` on and its part `lane / 4 % 2`. Sums that there are not have zeros.
///
/// # Safety
/// The view holds what the sizes say.
#[inline(always)]
unsafe fn factor(given: FormedGiven, sizes: FormedSizes, (frequency, pol, first_out): (u32, u32, u32), at: u32) -> u32 {
    let (lane, warp) = (at / 4 % 32, at / 1024);
    let (line, imaginary, o) = (lane % 4, lane / 4 % 2 == 1, first_out + lane / 8);
    if o >= sizes.outs {
        return 0;
    }
    let of_line = ((frequency * sizes.pols + pol) as usize * sizes.outs as usize + o as usize) * LINES + line as usize;
    // [pair][re, im][lane] of feed bits n0 n4, and n5 n6 n1 n2 n3; n7 is the half of a word.
    let from = of_line * FEEDS as usize + (at % 4 * 64 + (warp & 3 | (at / 128 % 8) << 2)) as usize;
    let half = |word: u32| word >> (16 * (warp / 4)) & 0xffff;
    let (re, im) = (half(given.weights.load(from)), half(given.weights.load(from + 32)));
    if imaginary { im | re << 16 } else { re | (im ^ 0x8000) << 16 }
}

/// Makes the sums over lines of a warp's feeds.
///
/// # Safety
/// Nobody uses the sums that were there; all lanes of the warp call it together.
#[inline(always)]
unsafe fn sum(voltages: Bytes, sizes: FormedSizes, place: Place) {
    let Place { lane, warp, .. } = place;
    let (time, o) = (lane / 4, lane % 4);
    // Lanes have a piece of every one of eight; the highest feed bit is the piece's.
    let key = o | (time & 1) << 2;
    let piece = ((warp & 3) ^ key) + (warp >> 2) * 32;
    let shared = Shared::<[u32; 4]>::dynamic();
    let [low, high] = [0, 1].map(|half| place.row(time, o, half) / 4);
    let first = words_before(sizes.beams) / 4 + warp * 256 + lane;
    let second = first + (sizes.pols - 1) * (FACTOR_WORDS / 4);
    unroll!(eight in 0 1 2 3 4 5 6 7 {
        // Feed bits n1 n2 n3 are `eight`, those of words n0 n4.
        let [of_low, of_high] = [first, second].map(|from| shared.load(from as usize + 32 * eight));
        let sums = <[[u32; 2]; 4]>::each(|word| {
            let feed = word % 2 + 2 * eight + word / 2 * 16;
            let number =
                |half: usize| Four::number(voltages[half][feed / 16][feed % 16 / 4], feed as u32 % 4, sizes.signs);
            let numbers = [number(0), number(1)];
            let [low, _] = mma_m16n8k8_f16_f16(numbers, [of_low[word]], [0; 2]);
            let [_, high] = mma_m16n8k8_f16_f16(numbers, [of_high[word]], [0; 2]);
            [low, high]
        });
        let at = piece ^ (4 * eight as u32);
        shared.store((low + at) as usize, [sums[0][0], sums[1][0], sums[2][0], sums[3][0]]);
        shared.store((high + at) as usize, [sums[0][1], sums[1][1], sums[2][1], sums[3][1]]);
    });
}

/// Makes beams of the sums of a chunk, from sum `first_out` on, and stores them.
///
/// # Safety
/// The sums of the chunk that begins at time `base` are there; all lanes of the warp call it together.
#[inline(always)]
unsafe fn beams<T>(
    out: GlobalMut<u32>,
    sizes: FormedSizes,
    place: Place,
    phases: &T::Phases,
    [base, end, first_out]: [u32; 3],
) where
    T: Transform<Input = [u32; 8], Output<u32> = [u32; 16], Phases: Copy>,
{
    let shared = Shared::<[u32; 4]>::dynamic();
    let words = Shared::<u32>::dynamic();
    let Place { lane, warp, sums, .. } = place;
    let plane = sums + SUM_WORDS + warp * PLANE_WORDS;
    let mut item = warp;
    while item < TIMES * OUTS {
        let (time, o) = (item / OUTS, item % OUTS);
        let this = first_out + o;
        if base + time < end && this < sizes.outs {
            let row = place.row(time, o, 0);
            let planes = [plane, row];
            let at = row / 4 + (lane ^ (o | (time & 1) << 2));
            unroll!(half in 0 1 {
                let from = at + FEEDS / 4 * half as u32;
                let [a, b] = <[[u32; 4]; 2]>::each(|high| shared.load((from + 32 * high as u32) as usize));
                if half == 1 {
                    // The second plane takes the place of the sums.
                    bar_warp_sync(u32::MAX);
                }
                let y = T::transform::<Half, Half>([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]], phases);
                let _ = <[(); 16]>::each(|register| {
                    let to = 32 * register as u32 + (lane ^ (register as u32 & 3));
                    words.store((planes[half] + to) as usize, y[register]);
                });
            });
            bar_warp_sync(u32::MAX);
            store(out, sizes, (base + time, end, this), planes);
            bar_warp_sync(u32::MAX);
        }
        item += WARPS;
    }
}

/// Stores the beams of a time and sum from two planes.
///
/// # Safety
/// They are in the output, and the outputs of both transforms have been stored.
#[inline(always)]
unsafe fn store(out: GlobalMut<u32>, sizes: FormedSizes, (time, end, o): (u32, u32, u32), planes: [u32; 2]) {
    let shared = Shared::<u32>::dynamic();
    let scale = shared.load(0);
    let [low, high] = shared.cast::<[u32; 2]>().load(1);
    let lane = laneid();
    let [frequency_step, time_step] = sizes.out_strides;
    let begin = u64::from(low) | u64::from(high) << 32;
    let to = begin + u64::from(time) * time_step + u64::from(o * sizes.beams * sizes.pols);
    let both = sizes.pols == 2;
    let in_pairs = both && out.address(0) & 7 == 0 && (frequency_step | time_step) & 1 == 0;
    let load = |half: usize, place: u32| mul_rn_f16x2(shared.load((planes[half] + place) as usize), scale);
    let place_of = |beam: u32| shared.load((FREQUENCY_WORDS + beam) as usize);
    let mut beam = lane;
    if in_pairs {
        // Four at once, a constant distance from each other.
        while beam + 3 * 32 < sizes.beams {
            let here = out.cast::<[u32; 2]>().part((to / 2 + u64::from(beam)) as usize, 3 * 32 + 1);
            let places = <[u32; 4]>::each(|i| place_of(beam + 32 * i as u32));
            let _ = <[(); 4]>::each(|i| here.store(32 * i, [load(0, places[i]), load(1, places[i])]));
            beam += 4 * 32;
        }
    }
    // Of one polarisation the second plane has a later time.
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
