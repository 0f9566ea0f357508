//! Sizes of a launch.

use core::num::NonZeroU32;

use fringes_kernel_abi::frb;

/// Sizes of the arrays, and how voltages lie.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Frequencies.
    pub frequencies: u32,
    /// Results over time; each is of `blocks` blocks of times.
    pub times: u32,
    /// Sums over lines, each with weights of its own.
    pub outs: u32,
    /// Parts that the beams along a line are divided into.
    pub parts: u32,
    /// Beams along a line.
    pub beams: u32,
    /// Beams of a part, of the last one maybe fewer.
    pub part_beams: u32,
    /// Rows of a part.
    pub slots: u32,
    /// Lines.
    pub lines: u32,
    /// Feeds of a line.
    pub feeds: u32,
    /// Polarisations of the voltages, 1 or 2.
    pub pols: u32,
    /// Polarisations that are summed, 1 or `pols`.
    pub summed: u32,
    /// Blocks of times of a result.
    pub blocks: u32,
    /// Base-2 logarithm of the fine channels that are summed.
    pub group_bits: u32,
    /// What numbers of fine channels are changed by, to have 0 Hz in the middle: half of them, or 0.
    pub centre: u32,
    /// Whether nibbles are offset or signed.
    pub signs: u32,
    /// Bytes from a time, frequency, polarisation and line to the next.
    pub strides: [u64; 4],
}

impl Sizes {
    /// Fine channels of a transform of so many times.
    #[inline(always)]
    pub(crate) fn fine(&self, time_bits: u32) -> u32 {
        1 << (time_bits - self.group_bits)
    }

    /// Results of a polarisation and fine channel.
    #[inline(always)]
    pub(crate) fn products(&self) -> Option<u32> {
        Some(self.pols / NonZeroU32::new(self.summed)?)
    }

    /// Units of work, the largest number where it does not fit.
    #[inline(always)]
    pub(crate) fn items(&self) -> u64 {
        let rows = u64::from(self.frequencies) * u64::from(self.times);
        rows.saturating_mul(u64::from(self.outs) * u64::from(self.parts))
    }

    /// Byte after the last voltage, the largest number where it does not fit, for voltages of so many bytes.
    #[inline(always)]
    pub(crate) fn voltage_bytes(&self, block_times: u32, bytes: u64) -> u64 {
        let times = u64::from(self.times).saturating_mul(u64::from(self.blocks)).saturating_mul(block_times.into());
        let counts = [times, self.frequencies.into(), self.pols.into(), self.lines.into()];
        let mut end = bytes * u64::from(self.feeds);
        let mut at = 0;
        while at < 4 {
            end = end.saturating_add(counts[at].saturating_sub(1).saturating_mul(self.strides[at]));
            at += 1;
        }
        end
    }

    /// Whether the sizes agree with one another, and rows and sums fit into `shared` bytes.
    #[inline(always)]
    pub(crate) fn agree(&self, inputs: u32, time_bits: u32, row_words: u32, shared: u64) -> bool {
        let Self { outs, parts, beams, part_beams, slots, lines, feeds, pols, summed, blocks, .. } = *self;
        let positive = outs > 0 && parts > 0 && beams > 0 && part_beams > 0 && lines > 0 && blocks > 0;
        positive
            && (1..=inputs).contains(&feeds)
            && (1..=2).contains(&pols)
            && (summed == 1 || summed == pols)
            && self.group_bits <= time_bits
            && self.centre < self.fine(time_bits)
            && u64::from(parts - 1) * u64::from(part_beams) < u64::from(beams)
            && u64::from(parts) * u64::from(part_beams) >= u64::from(beams)
            && slots < 1 << 16
            && part_beams < 1 << 16
            && u64::from(frb::row_bytes(slots, row_words, part_beams, self.fine(time_bits))) <= shared
            && self.items() <= u32::MAX.into()
            // Within a block of times, offsets in bytes are of 32 bits.
            && self.strides[0].saturating_add(self.strides[3].saturating_mul(lines.into()) >> time_bits) >> (31 - time_bits) == 0
    }
}
