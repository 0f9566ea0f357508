//! FRB beams: one block makes one result of one frequency, one sum over lines and one part of the beams along a line.
//!
//! For each polarisation and block of times: the warps take times in turn, each sums the lines
//! ([`lines`](crate::lines)), transforms along the line, and keeps the chosen outputs in the block's shared memory, a
//! row each. After a barrier they take beams in turn, transform rows over time ([`upchannelise`]) and add powers to
//! sums in shared memory ([`detect`]). After another barrier the next block of times begins; at the end the sums are
//! multiplied by their factors and stored.
//!
//! # Why a block has one sum over lines
//! Rows of 256 outputs at 128 times are 129 KiB: of four sums they do not fit into a multiprocessor. So each of four
//! blocks decodes the same voltages, from L2 but for the first one.
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
//! | store chosen outputs | 16, and 12 for predicates | shared memory 16, ALU 6 |
//! | load rows, 128 to 128 twice | 8 loads, 8 MMAs, 20 half2, 16 f32 | shared memory 8, tensor 12, FMA 10 |
//! | sums, addresses, loops | about 75 | ALU 20, FMA 8 |
//!
//! In machine code these are 275 and 115 instructions, 98 issue cycles; the FMA pipe has 58, the ALU 50, the tensor
//! cores 37; bytes (256 in) are 18. At 5e7 a second 98 cycles are 1.9 % of an H200. What is measured is 194: `ncu` has
//! the issue slots at 57 %, and what warps wait for is their own last result. Three warps of a scheduler have too few
//! independent instructions; registers (160) allow no fourth.

use core::num::NonZeroU32;

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, laneid, nctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque};
use fringes_kernel_abi::frb;

use crate::{Sizes, detect, upchannelise};

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
    /// Words of rows `[frequency][part][beam]`, beams of a part rounded up to a multiple of [`frb::BEAMS`].
    pub rows: Global<u32>,
    /// The phases of the transform over time.
    pub time_phases: Global<u32>,
    /// Factors `[frequency][fine]`.
    pub factors: Global<f32>,
}

/// The first half of the work: how a block comes by its sums over lines, and transforms along them.
pub trait Front: Sized {
    /// Bits of the feeds of a line.
    const INPUT_BITS: u32;
    /// Bits of the registers of the outputs along a line.
    const OUTPUT_REGISTER_BITS: u32;
    /// Registers of the phases of the transform along a line.
    const PHASE_REGISTERS: usize;
    /// Bytes of a voltage.
    const VOLTAGE_BYTES: u64;
    /// Warps of a block.
    const WARPS: u32;
    /// Words of a row.
    const ROW_WORDS: u32;

    /// Whether weights and sizes are such as this takes.
    fn fits(given: Given, sizes: Sizes) -> bool;

    /// Loads what is kept for the blocks of times of a polarisation.
    ///
    /// # Safety
    /// The views hold what the sizes say.
    unsafe fn new(given: Given, sizes: Sizes, item: Item, pol: u32) -> Self;

    /// Keeps the chosen outputs of all times of a block of times in their rows.
    ///
    /// # Safety
    /// As [`new`](Self::new), with the same unit and polarisation; nobody uses the rows.
    unsafe fn beamform(&self, given: Given, sizes: Sizes, item: Item, pol: u32, block: u32);
}

/// Makes all results, after checking that the views are large enough.
#[inline(always)]
pub fn checked<F: Front>(given: Given, powers: GlobalMut<f32>, sizes: Sizes) {
    let shared = Shared::<u8>::dynamic().len() as u64;
    let Some(products) = sizes.products() else { return trap() };
    let of = |counts: &[u32]| counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
    let Sizes { frequencies, times, outs, parts, beams, part_beams, blocks, .. } = sizes;
    let fine = sizes.fine(upchannelise::TIME_BITS);
    if !sizes.agree(1 << F::INPUT_BITS, upchannelise::TIME_BITS, F::ROW_WORDS, shared) {
        return trap();
    }
    // SAFETY: an address, which is not used.
    let rows = unsafe { given.rows.address(0) };
    let fits = F::fits(given, sizes)
        && sizes.voltage_bytes(upchannelise::TIMES, F::VOLTAGE_BYTES) <= given.voltages.len() as u64
        && (given.good.is_empty() || of(&[frequencies, times, blocks]) <= given.good.len() as u64)
        && 32 * F::PHASE_REGISTERS <= given.phases.len()
        && of(&[frequencies, parts, 32 << F::OUTPUT_REGISTER_BITS]) <= given.slots.len() as u64
        && of(&[frequencies, parts, part_beams.div_ceil(frb::BEAMS), frb::BEAMS]) <= given.rows.len() as u64
        && rows & 7 == 0
        && 32 * upchannelise::PHASES <= given.time_phases.len()
        && of(&[frequencies, fine]) <= given.factors.len() as u64
        && of(&[frequencies, fine, times, outs, beams, products]) <= powers.len() as u64;
    if fits {
        // SAFETY: the views hold what the sizes say.
        unsafe { form::<F>(given, powers, sizes) }
    } else {
        trap();
    }
}

/// A unit of work.
#[derive(Clone, Copy)]
pub struct Item {
    /// Result over time.
    pub time: u32,
    /// Frequency.
    pub frequency: u32,
    /// Sum over lines.
    pub out: u32,
    /// Part of the beams along a line.
    pub part: u32,
}

/// Makes all results.
///
/// # Safety
/// The views hold what the sizes say; a block has the warps of its front.
#[inline(always)]
unsafe fn form<F: Front>(given: Given, powers: GlobalMut<f32>, sizes: Sizes) {
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
                let front = F::new(given, sizes, item, pol + summed);
                good = 0;
                let mut block = 0;
                while block < sizes.blocks {
                    let flag = (item.frequency as usize * sizes.times as usize + item.time as usize)
                        * sizes.blocks as usize
                        + block as usize;
                    if given.good.is_empty() || given.good.load(flag) != 0 {
                        front.beamform(given, sizes, item, pol + summed, block);
                        bar_sync_0();
                        detect_beams::<F>(given, sizes, item, summed == 0 && good == 0);
                        bar_sync_0();
                        good += 1;
                    }
                    block += 1;
                }
                summed += 1;
            }
            store::<F>(given, powers, sizes, item, divided(pol, sizes.summed).0, good);
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
pub fn divided(number: u32, by: u32) -> (u32, u32) {
    match NonZeroU32::new(by) {
        Some(by) => (number / by, number % by),
        None => (0, 0),
    }
}

/// Transforms all beams of a part over time, and adds their powers to the sums.
///
/// # Safety
/// As [`form`]; the rows are written.
#[inline(always)]
unsafe fn detect_beams<F: Front>(given: Given, sizes: Sizes, item: Item, first: bool) {
    let lane = opaque(laneid() as i32) as u32;
    let phases = upchannelise::phases(given.time_phases, lane);
    let (beams, sums, row_words) = of_part::<F>(sizes, item);
    let mut beam = 2 * (tid_x() / 32);
    if beam >= beams {
        return;
    }
    let pairs = sizes.part_beams.div_ceil(frb::BEAMS);
    let rows = given.rows.cast::<[u32; 2]>();
    let first_pair = (item.frequency * sizes.parts + item.part) as usize * pairs as usize;
    // Beyond the last beams its pair is loaded once more, for nothing.
    let rows_of = |beam: u32| {
        let there = if beam < beams { beam } else { beams - 1 };
        rows.load(first_pair + (there / 2) as usize)
    };
    let load = |rows: [u32; 2]| [upchannelise::load(rows[0], lane), upchannelise::load(rows[1], lane)];
    let mut voltages = load(rows_of(beam));
    let mut rows_ahead = rows_of(beam + 2 * F::WARPS);
    let mut at = sums + beam * row_words;
    loop {
        let [a, b] = voltages;
        voltages = load(rows_ahead);
        rows_ahead = rows_of(beam + 4 * F::WARPS);
        let second = beam + 1 < beams;
        if sizes.group_bits == 3 {
            let powers = [upchannelise::pairs(a, &phases), upchannelise::pairs(b, &phases)];
            detect::add_eights(powers, [at, at + row_words], [true, second], first);
        } else {
            detect::add(upchannelise::powers(a, &phases), at, sizes.group_bits, first);
            if second {
                detect::add(upchannelise::powers(b, &phases), at + row_words, sizes.group_bits, first);
            }
        }
        beam += 2 * F::WARPS;
        at += 2 * F::WARPS * row_words;
        if beam >= beams {
            return;
        }
    }
}

/// Beams of an item's part, the word of their first sum, and words from a beam's sums to the next.
#[inline(always)]
fn of_part<F: Front>(sizes: Sizes, item: Item) -> (u32, u32, u32) {
    let beams = (sizes.beams - item.part * sizes.part_beams).min(sizes.part_beams);
    let fine = sizes.fine(upchannelise::TIME_BITS);
    (beams, sizes.slots * F::ROW_WORDS, frb::sum_row_words(fine))
}

/// Stores the sums of `good` blocks times their factors; zeros of none.
///
/// # Safety
/// As [`form`]; the sums are written, if there was a good block.
#[inline(always)]
unsafe fn store<F: Front>(given: Given, powers: GlobalMut<f32>, sizes: Sizes, item: Item, product: u32, good: u32) {
    let (beams, sums, row_words) = of_part::<F>(sizes, item);
    let (fine, products) = (sizes.fine(upchannelise::TIME_BITS), divided(sizes.pols, sizes.summed).0);
    let scale = sizes.blocks as f32 / good as f32;
    let shared = Shared::<f32>::dynamic();
    let (time, out) = (u64::from(item.time), u64::from(item.out));
    let mut channel = tid_x() / 32;
    while channel < fine {
        let row = item.frequency * fine + channel;
        let factor = given.factors.load(row as usize) * scale;
        let first = ((u64::from(row) * u64::from(sizes.times) + time) * u64::from(sizes.outs) + out)
            * u64::from(sizes.beams)
            + u64::from(item.part * sizes.part_beams);
        let mut beam = laneid();
        while beam < beams {
            let word = (sums + beam * row_words + (channel ^ sizes.centre)) as usize;
            let power = if good == 0 { 0.0 } else { shared.load(word) * factor };
            powers.store((first + u64::from(beam)) as usize * products as usize + product as usize, power);
            beam += 32;
        }
        channel += F::WARPS;
    }
}
