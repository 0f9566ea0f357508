//! `S1 = sum |x|^2` and `S2 = sum |x|^4` of each channel, block of spectra and input.
//!
//! A group of lanes has a channel, a block and an antenna. It goes through the stretches that the block has, batch by
//! batch, 16 bytes a load and four loads of a lane in flight, and leaves out absent heaps without a load. Each lane has
//! four sums, of two polarisations; on their way through the group they part, so that two exchanges leave one of them
//! to a quarter of the lanes each, and the others add up that alone:
//!
//! ```text
//! lanes of a group of 8       0   1   2   3   4   5   6   7
//! exchange with lane ^ 4      S1  S1  S1  S1  S2  S2  S2  S2     of both polarisations
//! exchange with lane ^ 2      S1  S1  S1  S1  S2  S2  S2  S2     of polarisations 0 0 1 1 0 0 1 1
//! sums with lane ^ 1          one sum in lanes 0, 2, 4, 6
//! ```
//!
//! Pieces that a stretch has but a part of are loaded voltage by voltage: none where heaps lie at a multiple of 16
//! bytes and are whole pieces, and blocks begin and end at pieces, else at most two of a stretch. Sums come in the same
//! order whatever the launch: the same bits.
//!
//! Floor: every voltage is read once, `S` bytes; 16 bytes are written for each channel, block and input. Voltages of 4
//! bits take 3.5 instructions each, 3 of them those of logic: two thirds of what a multiprocessor of an H100 has of
//! these, 64 a cycle, while 14 bytes come. Floats take 4 of f64, so that GPUs with few units for f64 are bound by
//! these.

use fringes_device::{Global, GlobalMut, unroll};

use crate::formats::{Format, Sum};
use crate::heaps::{Heaps, PIECE, Piece, product};

/// Heaps, and what becomes of them.
#[derive(Clone, Copy)]
pub struct PowerSums<F: Format> {
    /// Sizes.
    pub heaps: Heaps,
    /// `[batch][antenna]`: zero where the heap is absent, or no values if all are present.
    pub present: Global<u8>,
    /// `[2][channel][block][input]`: of powers, then of their squares.
    pub sums: GlobalMut<F::Sum>,
}

/// A stretch of bytes, and where pieces lie in it. Bytes are counted from the piece that has the first voltage of all.
#[derive(Clone, Copy)]
struct Bytes {
    samples: Global<u8>,
    pieces: Global<Piece>,
    /// Bytes of the first piece before the first voltage.
    before: u64,
    start: u64,
    end: u64,
}

impl Bytes {
    /// The pieces that are all there: from one to behind another.
    #[inline(always)]
    fn whole(&self) -> [u64; 2] {
        [self.start.div_ceil(PIECE), self.end / PIECE]
    }

    /// What the stretch has of a piece, zeros in place of the rest; of `S` bytes a voltage.
    ///
    /// # Safety
    /// The samples hold the stretch.
    #[inline(always)]
    unsafe fn cut<const S: usize>(&self, piece: u64) -> Piece {
        let mut value = [0; 4];
        unroll!(word in 0 1 2 3 { unroll!(part in 0 1 2 3 {
            let size = if S < 4 { S } else { 4 };
            let byte = piece * PIECE + (4 * word + part * size) as u64;
            if part * size < 4 && byte >= self.start && byte < self.end {
                let index = ((byte - self.before) / size as u64) as usize;
                let bits = match size {
                    1 => self.samples.load(index) as u32,
                    2 => self.samples.cast::<u16>().load(index) as u32,
                    _ => self.samples.cast::<u32>().load(index),
                };
                value[word] |= bits << (8 * part * size);
            }
        }); });
        value
    }
}

impl<F: Format> PowerSums<F> {
    /// Whether the views hold what the sizes say, and groups can be counted.
    #[inline(always)]
    pub fn fit(&self, samples: Global<u8>) -> bool {
        let heaps = &self.heaps;
        let rows = product(heaps.blocks(), heaps.antennas);
        let groups = product(rows as u32, heaps.channels);
        heaps.are_legal()
            // SAFETY: no view is without an address.
            && unsafe { samples.address(0) }.is_multiple_of(if F::BYTES < 4 { F::BYTES as u64 } else { 4 })
            && heaps.voltages() <= (samples.len() / F::BYTES) as u64
            && rows <= u32::MAX as u64
            && groups <= u32::MAX as u64
            && 2 * groups * heaps.pols as u64 <= self.sums.len() as u64
            && (self.present.is_empty() || product(heaps.batches, heaps.antennas) <= self.present.len() as u64)
    }

    /// Sums what a group has.
    ///
    /// # Safety
    /// The views [fit](Self::fit) the sizes.
    #[inline(always)]
    pub unsafe fn run(&self, samples: Global<u8>) {
        let heaps = self.heaps;
        let (group, blocks) = (heaps.group(), heaps.blocks());
        let rows = blocks * heaps.antennas;
        // Groups past the last one sum nothing: a warp's lanes exchange sums together.
        let is_used = group < product(rows, heaps.channels);
        let number = if is_used { group as u32 } else { 0 };
        let (channels, antennas) = (heaps.channels.max(1), heaps.antennas.max(1));
        let (channel, rest) = (number % channels, number / channels);
        let (antenna, block) = (rest % antennas, rest / antennas);
        let before = samples.address(0) % PIECE;
        // Of the first piece nothing is loaded that lies before the first voltage.
        let pieces = (samples.len() as u64 + before) / PIECE;
        let pieces = Global::from_raw_parts(samples.address(0) - before, pieces as usize);
        let mut sums = [F::Sum::ZERO; 4];
        if is_used {
            let start = product(block, heaps.block).saturating_sub(heaps.lead as u64) as u32;
            let end = (product(block + 1, heaps.block) - heaps.lead as u64).min(heaps.times() as u64) as u32;
            let mut batch = start / heaps.spectra.max(1);
            let mut time = batch * heaps.spectra;
            while time < end {
                let heap = batch * heaps.antennas + antenna;
                if self.present.is_empty() || self.present.load(heap as usize) != 0 {
                    let from = start.saturating_sub(time) * heaps.pols;
                    let to = (end - time).min(heaps.spectra) * heaps.pols;
                    let first = heaps.first(heap, channel);
                    let byte = |voltage: u32| (first + voltage as u64) * F::BYTES as u64 + before;
                    self.add(&mut sums, Bytes { samples, pieces, before, start: byte(from), end: byte(to) });
                }
                batch += 1;
                time += heaps.spectra;
            }
        }
        // Places of a piece are not those of polarisations where the first voltage is at an odd one.
        let swapped = (before / F::BYTES as u64) % 2 == 1;
        unroll!(kind in 0 2 {
            let [even, odd] = [sums[kind], sums[kind + 1]];
            let [first, second] = if swapped { [odd, even] } else { [even, odd] };
            [sums[kind], sums[kind + 1]] = if heaps.pols == 1 { [first.plus(second), F::Sum::ZERO] } else { [first, second] };
        });
        let (sum, kind, pol) = self.summed(sums);
        let is_first = heaps.lane() & (heaps.lanes / 4 - 1) == 0;
        if is_used && is_first && pol < heaps.pols {
            // `[kind][channel][block][antenna][pol]`
            let row = (kind as u64 * heaps.channels as u64 + channel as u64) * rows as u64;
            let cell = row + (block * heaps.antennas + antenna) as u64;
            self.sums.store((cell * heaps.pols as u64 + pol as u64) as usize, sum);
        }
    }

    /// Adds what this lane has of a stretch.
    ///
    /// # Safety
    /// The samples hold the stretch.
    #[inline(always)]
    unsafe fn add(&self, sums: &mut [F::Sum; 4], bytes: Bytes) {
        let (lane, lanes) = (self.heaps.lane() as u64, self.heaps.lanes as u64);
        let [first, end] = bytes.whole();
        // The cut piece before the whole ones is lane 0's, the one behind them lane 1's, unless they are the same.
        let (before, behind) = (bytes.start / PIECE, bytes.end / PIECE);
        let has_before = !bytes.start.is_multiple_of(PIECE);
        let has_behind = !(bytes.end.is_multiple_of(PIECE) || has_before && before == behind);
        let mut is_cut = lane == 0 && has_before || lane == 1 && has_behind;
        let mut piece = first + lane;
        while is_cut || piece < end {
            let mut x: [Piece; 4] = [[0; 4]; 4];
            if is_cut {
                let cut = if lane == 0 { before } else { behind };
                x[0] = match F::BYTES {
                    1 => bytes.cut::<1>(cut),
                    2 => bytes.cut::<2>(cut),
                    _ => bytes.cut::<4>(cut),
                };
                is_cut = false;
            } else {
                unroll!(i in 0 1 2 3 {
                    let at = piece + i as u64 * lanes;
                    if at < end {
                        x[i] = bytes.pieces.load(at as usize);
                    }
                });
                piece += 4 * lanes;
            }
            F::add(sums, x);
        }
    }

    /// Adds up the sums of a group. Gives one of them, whether it is of squares, and of which polarisation.
    ///
    /// # Safety
    /// All lanes of the warp execute it together.
    #[inline(always)]
    unsafe fn summed(&self, [a, b, c, d]: [F::Sum; 4]) -> (F::Sum, u32, u32) {
        let (lane, half) = (self.heaps.lane(), self.heaps.lanes / 2);
        let (kind, pol) = (u32::from(lane & half != 0), u32::from(lane & (half / 2) != 0));
        let (kept, given) = if kind == 1 { ([c, d], [a, b]) } else { ([a, b], [c, d]) };
        let [first, second] = [kept[0].plus(given[0].across(half)), kept[1].plus(given[1].across(half))];
        let (kept, given) = if pol == 1 { (second, first) } else { (first, second) };
        let mut sum = kept.plus(given.across(half / 2));
        let mut distance = half / 4;
        while distance > 0 {
            sum = sum.plus(sum.across(distance));
            distance /= 2;
        }
        (sum, kind, pol)
    }
}
