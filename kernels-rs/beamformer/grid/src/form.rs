//! Beams of a grid: one block makes some results of one frequency and fine channel, of some outs and some beams along a
//! line.
//!
//! For some steps (the samples of all feeds at a time and polarisation) at once, the block decodes voltages, multiplies
//! them by their gains and stores them in shared memory as fragments (`load`); meanwhile the steps
//! before them are multiplied by both matrices in registers, and powers summed there
//! (`products`, `results`). Each warp has some tiles of 8 beams along a
//! line.
//!
//! # Why no FFT
//! A line of 43 feeds padded to 128, of which six make 24 outs, is 33000 complex products a time by a matrix, and its
//! transform a tenth of that; the 24 outs of each of 128 outputs are 18000 more by either way. Tensor cores have the
//! matrix of 24 outs for nothing only where the outputs lie as its factor does, and those of the product by a matrix
//! do. Only outputs that are beams are computed, so a long line of which few outputs are beams costs no more.
//!
//! # Floor
//! CASM: 6 lines of 43 feeds, 128 beams along a line, 24 outs. A step has 16 tiles of 8 beams; for each
//!
//! | part | instructions of a warp | pipes, in SM-cycles on an H100 |
//! |---|---|---|
//! | load fragments of samples | 6 (for two tiles: 3) | shared memory 6 |
//! | along a line | 6 `m16n8k16` | tensor 10 |
//! | round | 2 | ALU 1 |
//! | lines | 3 `m16n8k16` | tensor 5 |
//! | powers | 12 | FMA 3 |
//!
//! and for the step 66 times four feeds are copied and decoded. Tensor cores have 240 SM-cycles of it. CASM's 3072
//! channels of 32.768 us in two polarisations are 1.9e8 steps a second: 17 % of an H100 at 1.98 GHz. In machine code a
//! step is 950 instructions, of which 590 are products and what is around them, 170 decoding and 60 copying; measured
//! are 520 SM-cycles, as four warps of a scheduler have too few independent instructions.

use core::num::NonZeroU32;

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::cp_async_wait_all;
use fringes_device::index::{ctaid_x, nctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, Value};
use fringes_kernels_beamformer_frb::divided;

use crate::load::{self, Format, Places, Quads};
use crate::products::Products;
use crate::raw::{self, Rows};
use crate::results::Work;
use crate::sizes::of;
use crate::{Sizes, steps};

/// What a kernel reads.
#[derive(Clone, Copy)]
pub struct Given {
    /// Voltages.
    pub voltages: Global<u8>,
    /// Flags `[frequency][block]`, or none.
    pub good: Global<u8>,
    /// Gains `[frequency][pol][line][quad][feed of the quad][(re, re), (-im, im)]`, two words a feed.
    pub gains: Global<[u32; 4]>,
    /// The matrix along a line, fragments `[frequency][beams][feeds][lane]`.
    pub phases: Global<[u32; 4]>,
    /// The matrix of lines, fragments `[frequency][time of a tile][outs][lines][lane]`.
    pub matrix: Global<[u32; 4]>,
    /// Factors `[frequency][fine]`.
    pub factors: Global<f32>,
    /// Of voltages that come out, `[out][beam]`: where a beam goes.
    pub places: Global<u32>,
}

/// A unit of work.
#[derive(Clone, Copy)]
pub struct Item {
    /// Frequency.
    pub frequency: u32,
    /// Fine channel of the results.
    pub fine: u32,
    /// Part of the outs.
    pub out_part: u32,
    /// Part of the beams along a line.
    pub beam_part: u32,
    /// First result over time.
    pub first_time: u32,
    /// Result over time after the last.
    pub end_time: u32,
}

/// Makes all results, after checking that the views are large enough; `elements` is how many results there are of these
/// sizes.
#[inline(always)]
pub(crate) fn checked<P: Products<Out: Value>, F: Format>(
    given: Given,
    out: GlobalMut<P::Out>,
    sizes: Sizes,
    elements: impl FnOnce(Sizes) -> Option<u64>,
) {
    let shared = Shared::<u8>::dynamic().len() as u64;
    if !(1..=P::GROUPS).contains(&sizes.groups) || !sizes.agree(P::TOGETHER * sizes.groups, shared) {
        return trap();
    }
    let Sizes { frequencies, fine, times, outs, pols, lines, blocks, out_parts, beam_parts, .. } = sizes;
    let (quads, rows) = (Quads::new(sizes), Rows::new::<F>(sizes));
    let count = P::TOGETHER * sizes.groups * sizes.steps_of_tile();
    let bytes = u64::from(F::BYTES);
    // SAFETY: addresses, which are not used.
    let addresses = unsafe {
        given.voltages.address(0) & (bytes.min(2) - 1)
            | (given.gains.address(0) | given.phases.address(0) | given.matrix.address(0)) & 15
    };
    let strides = sizes.strides;
    let all_strides = strides[0] | strides[1] | strides[2] | strides[3] | strides[4];
    // SAFETY: an address, which is not used.
    let halves = all_strides | unsafe { given.voltages.address(0) };
    let warps = ntid_x() / 32;
    let fits = P::fits(sizes)
        && quads.fits(count)
        && rows.fits(count)
        && addresses == 0
        && all_strides & (bytes.min(2) - 1) == 0
        && (!F::WHOLE || halves & 15 == 0 && sizes.feeds.is_multiple_of(4))
        && u64::from(steps::BYTES * steps::LISTS * count + quads.bytes() + 2 * count * rows.step_bytes())
            + u64::from(4 * sizes.buffers * P::TOGETHER * sizes.groups * sizes.sample_words())
            <= shared
        && ntid_x() >= count
        && out_parts.saturating_mul(P::OUTS) >= sizes.out_tiles()
        && (out_parts - 1).saturating_mul(P::OUTS) < sizes.out_tiles()
        && beam_parts.saturating_mul(P::BEAMS * warps) >= sizes.beam_tiles()
        && sizes.voltage_bytes(bytes) <= given.voltages.len() as u64
        && (given.good.is_empty() || of(&[frequencies, times, blocks]) <= given.good.len() as u64)
        && of(&[frequencies, pols, lines, sizes.quads(), 2]) <= given.gains.len() as u64
        && of(&[frequencies, sizes.beam_tiles(), sizes.feed_tiles(), 32]) <= given.phases.len() as u64
        && of(&[frequencies, sizes.steps_of_tile(), sizes.out_tiles(), sizes.line_tiles(), 32])
            <= given.matrix.len() as u64
        && of(&[frequencies, sizes.beam_tiles()]) <= u32::MAX.into()
        && of(&[frequencies, sizes.steps_of_tile(), sizes.out_tiles(), sizes.line_tiles()]) <= u32::MAX.into()
        && of(&[frequencies, fine]) <= given.factors.len() as u64
        && (!P::PLACES || of(&[outs, sizes.beams]) <= given.places.len() as u64);
    match elements(sizes) {
        // SAFETY: the views hold what the sizes say.
        Some(elements) if fits && elements <= out.len() as u64 => unsafe {
            form::<P, F>(given, out, sizes, rows, quads)
        },
        _ => trap(),
    }
}

/// Makes all results.
///
/// # Safety
/// The views hold what the sizes say.
#[inline(always)]
unsafe fn form<P: Products, F: Format>(given: Given, out: GlobalMut<P::Out>, sizes: Sizes, rows: Rows, quads: Quads) {
    let items = sizes.items() as u32;
    let tiles = P::TOGETHER * sizes.groups * sizes.sample_words();
    let count = P::TOGETHER * sizes.groups * sizes.steps_of_tile();
    // Bytes of all lists of steps, after which the table of quads lies, then two groups of voltages, then tiles.
    let table = steps::BYTES * steps::LISTS * count;
    let raw = table + quads.bytes();
    let voltages = count * rows.step_bytes();
    let samples = (raw + 2 * voltages) / 4;
    quads.write::<F>(sizes, rows, table);
    let ways = steps::Ways {
        count,
        together: P::TOGETHER,
        step_bytes: rows.step_bytes(),
        tile_words: sizes.sample_words(),
        quads: quads.count(),
    };
    load::clear(raw / 4, 2 * voltages / 4 + sizes.buffers * tiles);
    let mut number = ctaid_x();
    while number < items {
        bar_sync_0();
        let (rest, split) = divided(number, sizes.splits);
        let (rest, beam_part) = divided(rest, sizes.beam_parts);
        let (rest, out_part) = divided(rest, sizes.out_parts);
        let (frequency, fine) = divided(rest, sizes.fine);
        let of_split = |split: u32| match NonZeroU32::new(sizes.splits) {
            Some(splits) => {
                sizes.first + (u64::from(sizes.results) * u64::from(split) / u64::from(splits.get())) as u32
            }
            None => 0,
        };
        let (first_time, end_time) = (of_split(split), of_split(split + 1));
        let item = Item { frequency, fine, out_part, beam_part, first_time, end_time };
        let steps = (end_time - first_time) * sizes.steps_of_time();
        let work = Work { given: &given, sizes: &sizes, item: &item, out };
        let mut products = P::new(work, P::BEAMS * (beam_part * (ntid_x() / 32) + tid_x() / 32));

        let places = |list: u32, half: u32| Places {
            list,
            steps: count,
            table,
            raw: raw + half * voltages,
            samples: samples + if sizes.buffers > 1 { half * tiles } else { 0 },
        };
        // Of four groups of steps one is listed, one copied, one loaded and one multiplied.
        let mut list = 0;
        while list < 3 {
            steps::list(given, sizes, item, ways, list, list * count);
            list += 1;
        }
        bar_sync_0();
        raw::copy(given, sizes, rows, 0, count, places(0, 0).raw);
        raw::copy(given, sizes, rows, 1, count, places(1, 1).raw);
        cp_async_wait_all();
        bar_sync_0();
        load::load::<F>(given, sizes, rows, quads, item, places(0, 0));
        bar_sync_0();
        let (mut first, mut half) = (0, 0);
        while first < steps {
            let other = 1 - half;
            let at = |ahead: u32| (list + 1 + ahead) & 3;
            steps::list(given, sizes, item, ways, at(3), first + 3 * count);
            raw::copy(given, sizes, rows, at(2), count, places(0, half).raw);
            let mut waits = false;
            loop {
                // With one set of tiles the next samples wait for the products.
                if waits || sizes.buffers > 1 {
                    load::load::<F>(given, sizes, rows, quads, item, places(at(1), other));
                }
                if waits {
                    break;
                }
                products.add(work, at(0), places(0, half).samples);
                if sizes.buffers > 1 {
                    break;
                }
                bar_sync_0();
                waits = true;
            }
            cp_async_wait_all();
            bar_sync_0();
            first += count;
            half = other;
            list += 1;
        }
        number = match number.checked_add(nctaid_x()) {
            Some(next) => next,
            None => return,
        };
    }
}
