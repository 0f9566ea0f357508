//! Sizes of a launch.

use crate::fragments::{SIDE, TILE_WORDS};
use crate::steps;

/// Sizes of the arrays, how voltages lie, and how the work is divided.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Fine channels of the results of a frequency.
    pub fine: u32,
    /// Results over time that the arrays of results and of flags are of; each is of `blocks` blocks.
    pub times: u32,
    /// The first of them that this launch makes, with which the voltages begin.
    pub first: u32,
    /// How many of them it makes.
    pub results: u32,
    /// Sums over lines.
    pub outs: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Lines.
    pub lines: u32,
    /// Feeds of a line.
    pub feeds: u32,
    /// Polarisations of the voltages, 1 or 2.
    pub pols: u32,
    /// Polarisations that are summed, 1 or `pols`.
    pub summed: u32,
    /// Blocks of a result.
    pub blocks: u32,
    /// Fine channels of the voltages that are summed.
    pub group: u32,
    /// What numbers of fine channels of the results are changed by, to have 0 Hz in the middle: half of them, or 0.
    pub centre: u32,
    /// Of 4+4 bits, whether nibbles are offset or signed.
    pub signs: u32,
    /// Lines of a tile: 8, or 4, 2, 1 where there are no more.
    pub columns: u32,
    /// How many times as many tiles are loaded at once as are multiplied at once.
    pub groups: u32,
    /// Sets of tiles in shared memory, 1 or 2: with two, one is loaded while the other is multiplied.
    pub buffers: u32,
    /// Parts that the outs are divided into.
    pub out_parts: u32,
    /// Parts that the beams along a line are divided into.
    pub beam_parts: u32,
    /// Parts that the times are divided into.
    pub splits: u32,
    /// Bytes from a block, frequency, fine channel, polarisation and line to the next.
    pub strides: [u64; 5],
    /// Of voltages that come out: elements from a frequency, time, polarisation and beam to the next.
    pub out_strides: [u64; 4],
    /// Of voltages that come out, how many beams there are.
    pub places_out: u32,
    /// Of voltages that come out: [`NARROW`](crate::NARROW), [`CONJUGATED`](crate::CONJUGATED), or both.
    pub kind: u32,
}

impl Sizes {
    /// Steps whose samples are in one tile.
    #[inline(always)]
    pub(crate) fn steps_of_tile(&self) -> u32 {
        match self.columns {
            1 => 8,
            2 => 4,
            4 => 2,
            _ => 1,
        }
    }

    /// Tiles of 8 lines.
    #[inline(always)]
    pub(crate) fn line_tiles(&self) -> u32 {
        self.lines.div_ceil(SIDE)
    }

    /// Tiles of 8 feeds.
    #[inline(always)]
    pub(crate) fn feed_tiles(&self) -> u32 {
        self.feeds.div_ceil(SIDE)
    }

    /// Tiles of 8 beams along a line.
    #[inline(always)]
    pub(crate) fn beam_tiles(&self) -> u32 {
        self.beams.div_ceil(SIDE)
    }

    /// Tiles of 8 outs.
    #[inline(always)]
    pub(crate) fn out_tiles(&self) -> u32 {
        self.outs.div_ceil(SIDE)
    }

    /// Four neighbouring feeds of a line, of the last ones maybe fewer.
    #[inline(always)]
    pub(crate) fn quads(&self) -> u32 {
        self.feeds.div_ceil(4)
    }

    /// Words of the samples of all lines and feeds of a tile.
    #[inline(always)]
    pub(crate) fn sample_words(&self) -> u32 {
        self.line_tiles() * self.feed_tiles() * TILE_WORDS
    }

    /// Results of a polarisation and fine channel.
    #[inline(always)]
    pub(crate) fn products(&self) -> u32 {
        if self.summed == 1 { self.pols } else { 1 }
    }

    /// Steps of a result: samples of all feeds at a block, fine channel and polarisation.
    #[inline(always)]
    pub(crate) fn steps_of_time(&self) -> u32 {
        self.pols * self.blocks * self.group
    }

    /// Units of work, the largest number where it does not fit.
    #[inline(always)]
    pub(crate) fn items(&self) -> u64 {
        of(&[self.frequencies, self.fine, self.out_parts, self.beam_parts, self.splits])
    }

    /// Byte after the last voltage, the largest number where it does not fit.
    #[inline(always)]
    pub(crate) fn voltage_bytes(&self, bytes: u64) -> u64 {
        let blocks = of(&[self.results, self.blocks]);
        let [block, frequency, channel, pol, line] = self.strides;
        bytes
            .saturating_mul(self.feeds.into())
            .saturating_add(last(blocks, block))
            .saturating_add(last(self.frequencies.into(), frequency))
            .saturating_add(last(of(&[self.fine, self.group]), channel))
            .saturating_add(last(self.pols.into(), pol))
            .saturating_add(last(self.lines.into(), line))
    }

    /// Element after the last voltage that comes out, the largest number where it does not fit.
    #[inline(always)]
    pub(crate) fn out_elements(&self) -> u64 {
        let [frequency, time, pol, place] = self.out_strides;
        last(self.frequencies.into(), frequency)
            .saturating_add(last(self.times.into(), time))
            .saturating_add(last(self.pols.into(), pol))
            .saturating_add(last(self.places_out.into(), place))
            .saturating_add(1)
    }

    /// Whether the sizes agree with one another, and groups of `tiles` tiles fit into `shared` bytes.
    #[inline(always)]
    pub(crate) fn agree(&self, tiles: u32, shared: u64) -> bool {
        let Self {
            frequencies,
            fine,
            times,
            first,
            results,
            outs,
            beams,
            lines,
            feeds,
            pols,
            summed,
            blocks,
            group,
            ..
        } = *self;
        let few = lines <= self.columns && matches!(self.columns, 1 | 2 | 4);
        let samples = of(&[lines.div_ceil(SIDE), feeds.div_ceil(SIDE), TILE_WORDS, tiles, 4, self.buffers]);
        frequencies > 0
            && fine > 0
            && results > 0
            && first <= times
            && results <= times - first
            && (1..=1 << 24).contains(&outs)
            && (1..=1 << 24).contains(&beams)
            && (1..1 << 16).contains(&lines)
            && (1..=1 << 14).contains(&feeds)
            && (1..=2).contains(&pols)
            && (summed == 1 || summed == pols)
            && blocks > 0
            && group > 0
            && self.centre < fine
            && (few || self.columns == SIDE)
            && self.splits > 0
            && (1..=2).contains(&self.buffers)
            && self.items() <= u32::MAX.into()
            && of(&[frequencies, fine]) <= u32::MAX.into()
            && of(&[frequencies, times, blocks]) <= u32::MAX.into()
            && of(&[results, pols, blocks, group]) <= (u32::MAX - steps::MOST).into()
            // Within the samples of a step, offsets in bytes are of 32 bits.
            && self.strides[4].saturating_mul(lines.into()) < 1 << 31
            && samples <= shared
    }
}

/// From the first to the last of so many, the largest number where it does not fit.
#[inline(always)]
pub(crate) fn last(count: u64, stride: u64) -> u64 {
    count.saturating_sub(1).saturating_mul(stride)
}

/// A product, the largest number where it does not fit.
#[inline(always)]
pub(crate) fn of(counts: &[u32]) -> u64 {
    counts.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()))
}
