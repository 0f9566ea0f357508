//! FRB beams: one block makes one result of one frequency, one sum over lines and one part of the beams along a line.
//!
//! For each polarisation and block of times: the warps take times in turn, each sums the lines
//! ([`lines`](crate::lines)), transforms along the line, and keeps the chosen outputs in the block's shared memory, a row
//! each. After a barrier they take beams in turn, transform rows over time ([`upchannelise`](crate::upchannelise)) and
//! add powers to sums in shared memory ([`detect`](crate::detect)). After another barrier the next block of times
//! begins; at the end the sums are multiplied by their factors and stored.
//!
//! # Why a block has one sum over lines
//! Rows of 256 outputs at 128 times are 129 KiB: of four sums they do not fit into a multiprocessor. So each of four
//! blocks decodes the same voltages, from L2 but for the first one. Clusters that share them would save a fifth of the
//! instructions, and need sm_90.
//!
//! # Floor
//! CHIME: 4 lines of 256 feeds, 2 polarisations, 16 frequencies of 2.56 us: 5e7 transforms from 256 to 512 a second.
//! For each, with its quarter of the E-W sums and its 256 beams' part of the transforms over time, a warp issues
//!
//! | part | instructions | pipes, in SM-cycles on an H200 |
//! |---|---|---|
//! | load and decode 4 x 256 feeds | 16 loads, 48 ALU, 32 half2 | ALU 24, FMA 9 |
//! | sum of lines | 64 half2 | FMA 18 |
//! | 256 to 512 | 16 MMAs, 48 half2 | tensor 25, FMA 13 |
//! | store chosen outputs | 16 to 32 | shared memory 16 |
//! | load rows, 128 to 128 twice | 8 loads, 8 MMAs, 20 half2, 16 f32 | shared memory 8, tensor 12, FMA 10 |
//! | sums | about 30 | ALU 6, FMA 4 |
//!
//! These are about 85 issue cycles, 54 of the FMA pipe, 37 of the tensor cores, 30 of the ALU; bytes (256 in) are 18.
//! At 5e7 a second 85 cycles are 1.6 % of an H200.

use core::num::NonZeroU32;

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque};
use fringes_kernel_abi::frb;
use fringes_kernels_fft_microkernel::{Half, Transform};

use crate::registers::Registers;
use crate::{Sizes, Voltages, detect, lines, upchannelise};

/// Warps of a block.
pub const WARPS: u32 = frb::WARPS;

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct Given {
    /// Voltages.
    pub voltages: Global<u8>,
    /// Flags `[frequency][block of times]`, or none.
    pub good: Global<u8>,
    /// Weights `[frequency][pol][out][line][pair][re, im][lane]`.
    pub weights: Global<u32>,
    /// The phases of the transform along a line.
    pub phases: Global<u32>,
    /// Words of rows `[frequency][part][register][lane]`.
    pub slots: Global<u32>,
    /// Words of rows `[frequency][part][beam]`, beams of a part rounded up to an even number.
    pub rows: Global<u32>,
    /// The phases of the transform over time.
    pub time_phases: Global<u32>,
    /// Factors `[frequency][fine]`.
    pub factors: Global<f32>,
}

/// Makes all results, after checking that the views are large enough.
#[inline(always)]
pub fn checked<T, V, const LINES: usize, const X: usize, const P: usize, const Q: usize>(
    given: Given,
    powers: GlobalMut<f32>,
    sizes: Sizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    V: Voltages,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [[u32; P]; LINES]: Registers<[u32; P]>,
    [[[u32; 2]; P]; LINES]: Registers<[[u32; 2]; P]>,
    [u32; Q]: Registers<u32>,
    [(); Q]: Registers<()>,
    [(); LINES]: Registers<()>,
{
    const { assert!(2 * P == X && X == 1 << (T::INPUT_BITS - 5) && Q == 1 << (T::OUTPUT_BITS - 5)) };
    let shared = Shared::<u8>::dynamic().len() as u64;
    let Some(products) = sizes.products() else { return trap() };
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let Sizes { frequencies, times, outs, parts, beams, part_beams, lines, pols, blocks, .. } = sizes;
    let fine = sizes.fine(upchannelise::TIME_BITS);
    if !sizes.agree(1 << T::INPUT_BITS, upchannelise::TIME_BITS, shared) {
        return trap();
    }
    let whole = sizes.feeds == 1 << T::INPUT_BITS && in_pairs::<V>(given, sizes);
    // SAFETY: an address, which is not used.
    let rows = unsafe { given.rows.address(0) };
    let fits = (LINES == 0 || lines as usize == LINES && whole)
        && sizes.voltage_bytes(upchannelise::TIMES, V::BYTES as u64) <= given.voltages.len() as u64
        && (given.good.is_empty() || of(&[frequencies, times, blocks]) <= given.good.len() as u64)
        && of(&[frequencies, pols, outs, lines, 32 * X as u32]) <= given.weights.len() as u64
        && 32 * T::PHASE_REGISTERS <= given.phases.len()
        && of(&[frequencies, parts, 32 * Q as u32]) <= given.slots.len() as u64
        && of(&[frequencies, parts, part_beams.div_ceil(2), 2]) <= given.rows.len() as u64
        && rows & 7 == 0
        && 32 * upchannelise::PHASES <= given.time_phases.len()
        && of(&[frequencies, fine]) <= given.factors.len() as u64
        && of(&[frequencies, fine, times, outs, beams, products]) <= powers.len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<T, V, LINES, X, P, Q>(given, powers, sizes) }
    } else {
        trap();
    }
}

/// A unit of work.
#[derive(Clone, Copy)]
struct Item {
    time: u32,
    frequency: u32,
    out: u32,
    part: u32,
}

/// Makes all results.
///
/// # Safety
/// The views hold what the sizes say; a block has [`WARPS`] warps.
#[inline(always)]
unsafe fn form<T, V, const LINES: usize, const X: usize, const P: usize, const Q: usize>(
    given: Given,
    powers: GlobalMut<f32>,
    sizes: Sizes,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    V: Voltages,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [[u32; P]; LINES]: Registers<[u32; P]>,
    [[[u32; 2]; P]; LINES]: Registers<[[u32; 2]; P]>,
    [u32; Q]: Registers<u32>,
    [(); Q]: Registers<()>,
    [(); LINES]: Registers<()>,
{
    let items = sizes.items() as u32;
    let mut number = ctaid_x();
    while number < items {
        let (rest, out) = divided(number, sizes.outs);
        let (rest, part) = divided(rest, sizes.parts);
        let (time, frequency) = divided(rest, sizes.frequencies);
        let item = Item { time, frequency, out, part };
        let mut pol = 0;
        while pol < sizes.pols {
            let mut good = 0;
            let mut summed = 0;
            while summed < sizes.summed {
                good = 0;
                let mut block = 0;
                while block < sizes.blocks {
                    let flag = (item.frequency as usize * sizes.times as usize + item.time as usize)
                        * sizes.blocks as usize
                        + block as usize;
                    if given.good.is_empty() || given.good.load(flag) != 0 {
                        beamform::<T, V, LINES, X, P, Q>(given, sizes, item, pol + summed, block);
                        bar_sync_0();
                        detect_beams(given, sizes, item, summed == 0 && good == 0);
                        bar_sync_0();
                        good += 1;
                    }
                    block += 1;
                }
                summed += 1;
            }
            store(given, powers, sizes, item, divided(pol, sizes.summed).0, good);
            pol += sizes.summed;
            if pol < sizes.pols {
                bar_sync_0();
            }
        }
        number = match number.checked_add(nctaid_x()) {
            Some(next) => next,
            None => return,
        };
        bar_sync_0();
    }
}

/// Quotient and remainder; zeros where nothing can be divided.
#[inline(always)]
fn divided(number: u32, by: u32) -> (u32, u32) {
    match NonZeroU32::new(by) {
        Some(by) => (number / by, number % by),
        None => (0, 0),
    }
}

/// Where a lane finds its feeds of a line.
#[derive(Clone, Copy)]
struct Feeds<const P: usize> {
    /// The lane's first feed.
    first: u32,
    /// Offsets in bytes of the pairs of neighbours from the line's first byte.
    bytes: [u32; P],
    /// Whether two neighbours are loaded at once.
    in_pairs: bool,
}

/// Whether two neighbours can be loaded at once.
#[inline(always)]
fn in_pairs<V: Voltages>(given: Given, sizes: Sizes) -> bool {
    let strides = sizes.strides[0] | sizes.strides[1] | sizes.strides[2] | sizes.strides[3];
    // SAFETY: an address, which is not used.
    let address = unsafe { given.voltages.address(0) };
    (address | strides) & (2 * V::BYTES as u64 - 1) == 0 && sizes.feeds % 2 == 0
}

/// Feeds of a transform.
struct Places<T>(core::marker::PhantomData<T>);

impl<T: Transform> Places<T> {
    /// Feeds of the registers `2 k`, without the lane's.
    const FEEDS: [u32; 16] = {
        let mut feeds = [0; 16];
        let mut at = 0;
        while at < 1 << (T::INPUT_BITS - 6) {
            let place = T::INPUT.physical().index(&[("r", 2 * at as u64)]);
            feeds[at] = T::INPUT.logical().number("n", T::INPUT.apply(place)) as u32;
            at += 1;
        }
        feeds
    };
}

/// Sums lines and transforms along them, for all times of a block; keeps the chosen outputs.
///
/// # Safety
/// As [`form`]; nobody uses the rows.
#[inline(always)]
unsafe fn beamform<T, V, const LINES: usize, const X: usize, const P: usize, const Q: usize>(
    given: Given,
    sizes: Sizes,
    item: Item,
    pol: u32,
    block: u32,
) where
    T: Transform<Input = [u32; X], Output<u32> = [u32; Q]>,
    V: Voltages,
    [u32; X]: Registers<u32>,
    [u32; P]: Registers<u32>,
    [[u32; 2]; P]: Registers<[u32; 2]>,
    [[u32; P]; LINES]: Registers<[u32; P]>,
    [[[u32; 2]; P]; LINES]: Registers<[[u32; 2]; P]>,
    [u32; Q]: Registers<u32>,
    [(); Q]: Registers<()>,
    [(); LINES]: Registers<()>,
{
    // What follows is not kept through the transforms over time.
    let lane = opaque(laneid() as i32) as u32;
    let warp = tid_x() / 32;
    let phases = T::phases(given.phases, lane);
    let [time_stride, frequency_stride, pol_stride, line_stride] = sizes.strides;
    let first_time = (item.time * sizes.blocks + block) * upchannelise::TIMES;
    let base = u64::from(first_time) * time_stride
        + u64::from(item.frequency) * frequency_stride
        + u64::from(pol) * pol_stride;

    let row = (item.frequency * sizes.parts + item.part) as usize * Q * 32 + lane as usize;
    let shared = Shared::<u32>::dynamic().address(0) + 4 * warp;
    let slots = <[u32; Q]>::each(|register| match given.slots.load(row + 32 * register) {
        frb::UNUSED => u32::MAX,
        word => shared + 4 * word,
    });
    let rows = ((item.frequency * sizes.pols + pol) * sizes.outs + item.out) as usize * sizes.lines as usize;
    let weights = given.weights.part(rows * 32 * X, sizes.lines as usize * 32 * X);
    let weight = |line: usize, pair: usize| {
        let at = (line * P + pair) * 64 + lane as usize;
        [weights.load(at), weights.load(at + 32)]
    };

    let voltages = given.voltages;
    let from = |position: u32, line: u32| {
        base + u64::from(upchannelise::time_at(position)) * time_stride + u64::from(line) * line_stride
    };
    let keep = |x: [u32; X], step: u32| {
        let y = T::transform::<Half, Half>(x, &phases);
        let _ = <[(); Q]>::each(|register| {
            if slots[register] != u32::MAX {
                let word = Shared::<u32>::from_raw_parts(slots[register] + step * 4 * WARPS, 1);
                word.store(0, y[register]);
            }
        });
    };
    let in_order = |sums: [[u32; 2]; P]| <[u32; X]>::each(|register| sums[register % P][register / P]);

    if LINES > 0 {
        let first = (2 * T::input_pair(lane)) as usize * V::BYTES;
        let weights = <[[[u32; 2]; P]; LINES]>::each(|line| <[[u32; 2]; P]>::each(|pair| weight(line, pair)));
        let load = |position: u32| {
            <[[u32; P]; LINES]>::each(|line| {
                let at = from(position, line as u32) as usize + first;
                <[u32; P]>::each(|pair| V::two(voltages, at + Places::<T>::FEEDS[pair] as usize * V::BYTES))
            })
        };
        let mut words = load(warp);
        let mut step = 0;
        while step * WARPS + warp < upchannelise::TIMES {
            let sums = <[[u32; 2]; P]>::each(|pair| {
                let parts = |line: usize| lines::parts::<V, P>(&words[line], pair, sizes.signs);
                let mut sum = [0; 2];
                let _ = <[(); LINES]>::each(|line| {
                    let (parts, weight) = (parts(line), weights[line][pair]);
                    sum = if line == 0 { lines::product(parts, weight) } else { lines::added(sum, parts, weight) };
                });
                sum
            });
            step += 1;
            let next = step * WARPS + warp;
            if next < upchannelise::TIMES {
                words = load(next);
            }
            keep(in_order(sums), step - 1);
        }
    } else {
        let feeds = feeds::<T, V, P>(given, sizes, lane);
        let mut step = 0;
        while step * WARPS + warp < upchannelise::TIMES {
            let mut sums = [[0; 2]; P];
            let mut line = 0;
            while line < sizes.lines {
                let words = feeds.load::<V, T>(voltages, from(step * WARPS + warp, line), sizes.feeds);
                sums = <[[u32; 2]; P]>::each(|pair| {
                    let parts = lines::parts::<V, P>(&words, pair, sizes.signs);
                    lines::added(sums[pair], parts, weight(line as usize, pair))
                });
                line += 1;
            }
            keep(in_order(sums), step);
            step += 1;
        }
    }
}

/// Where a lane finds its feeds.
///
/// # Safety
/// `lane` is below 32.
#[inline(always)]
unsafe fn feeds<T: Transform, V: Voltages, const P: usize>(given: Given, sizes: Sizes, lane: u32) -> Feeds<P>
where
    [u32; P]: Registers<u32>,
{
    let first = 2 * T::input_pair(lane);
    let feeds = sizes.feeds;
    Feeds {
        first,
        bytes: <[u32; P]>::each(|pair| {
            let feed = first + Places::<T>::FEEDS[pair];
            // Feeds that there are not have weights of zero.
            (if feed < feeds { feed } else { 0 }) * V::BYTES as u32
        }),
        in_pairs: in_pairs::<V>(given, sizes),
    }
}

impl<const P: usize> Feeds<P> {
    /// Loads a lane's feeds of the line that starts at byte `line`.
    ///
    /// # Safety
    /// The line is in the view.
    #[inline(always)]
    unsafe fn load<V: Voltages, T: Transform>(self, voltages: Global<u8>, line: u64, feeds: u32) -> [u32; P]
    where
        [u32; P]: Registers<u32>,
    {
        let at = line as usize;
        if self.in_pairs {
            return <[u32; P]>::each(|pair| V::two(voltages, at + self.bytes[pair] as usize));
        }
        <[u32; P]>::each(|pair| {
            let at = at + self.bytes[pair] as usize;
            // The last feed has itself for a neighbour, with a weight of zero.
            let more = self.first + Places::<T>::FEEDS[pair] + 1 < feeds;
            let second = V::one(voltages, if more { at + V::BYTES } else { at });
            V::one(voltages, at) | second << (8 * V::BYTES)
        })
    }
}

/// Transforms all beams of a part over time, and adds their powers to the sums.
///
/// # Safety
/// As [`form`]; the rows are written.
#[inline(always)]
unsafe fn detect_beams(given: Given, sizes: Sizes, item: Item, first: bool) {
    let lane = opaque(laneid() as i32) as u32;
    let phases = upchannelise::phases(given.time_phases, lane);
    let (beams, sums, row_words) = of_part(sizes, item);
    let mut beam = 2 * (tid_x() / 32);
    if beam >= beams {
        return;
    }
    let pairs = sizes.part_beams.div_ceil(2);
    let rows = given.rows.cast::<[u32; 2]>();
    let first_pair = (item.frequency * sizes.parts + item.part) as usize * pairs as usize;
    // Beyond the last beams its pair is loaded once more, for nothing.
    let rows_of = |beam: u32| rows.load(first_pair + (if beam < beams { beam } else { beams - 1 } / 2) as usize);
    let load = |rows: [u32; 2]| [upchannelise::load(rows[0], lane), upchannelise::load(rows[1], lane)];
    let mut voltages = load(rows_of(beam));
    let mut rows_ahead = rows_of(beam + 2 * WARPS);
    let mut at = sums + beam * row_words;
    loop {
        let [a, b] = voltages;
        voltages = load(rows_ahead);
        rows_ahead = rows_of(beam + 4 * WARPS);
        let second = beam + 1 < beams;
        if sizes.group_bits == 3 {
            let powers = [upchannelise::pairs(a, &phases), upchannelise::pairs(b, &phases)];
            detect::add_eights(powers, [at, at + row_words], second, first);
        } else {
            detect::add(upchannelise::powers(a, &phases), at, sizes.group_bits, first);
            if second {
                detect::add(upchannelise::powers(b, &phases), at + row_words, sizes.group_bits, first);
            }
        }
        beam += 2 * WARPS;
        at += 2 * WARPS * row_words;
        if beam >= beams {
            return;
        }
    }
}

/// Beams of an item's part, the word of their first sum, and words from a beam's sums to the next.
#[inline(always)]
fn of_part(sizes: Sizes, item: Item) -> (u32, u32, u32) {
    let beams = (sizes.beams - item.part * sizes.part_beams).min(sizes.part_beams);
    let fine = sizes.fine(upchannelise::TIME_BITS);
    (beams, sizes.slots * frb::row_words(upchannelise::TIMES), frb::sum_row_words(fine))
}

/// Stores the sums of `good` blocks times their factors; zeros of none.
///
/// # Safety
/// As [`form`]; the sums are written, if there was a good block.
#[inline(always)]
unsafe fn store(given: Given, powers: GlobalMut<f32>, sizes: Sizes, item: Item, product: u32, good: u32) {
    let (beams, sums, row_words) = of_part(sizes, item);
    let (fine, products) = (sizes.fine(upchannelise::TIME_BITS), divided(sizes.pols, sizes.summed).0);
    let scale = sizes.blocks as f32 / good as f32;
    let shared = Shared::<f32>::dynamic();
    let mut at = tid_x();
    while at < fine * beams {
        let (channel, beam) = divided(at, beams);
        let factor = given.factors.load((item.frequency * fine + channel) as usize) * scale;
        let word = (sums + beam * row_words + (channel ^ sizes.centre)) as usize;
        let power = if good == 0 { 0.0 } else { shared.load(word) * factor };
        let row = (u64::from(item.frequency * fine + channel) * u64::from(sizes.times) + u64::from(item.time))
            * u64::from(sizes.outs)
            + u64::from(item.out);
        let index = row * u64::from(sizes.beams) + u64::from(item.part * sizes.part_beams + beam);
        powers.store(index as usize * products as usize + product as usize, power);
        at += 32 * WARPS;
    }
}
