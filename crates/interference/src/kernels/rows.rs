//! Sizes of rows, and of blocks of their times.

use fringes_backend::DeviceError;
use fringes_cpu::power::Blocks;
use fringes_gpu::LaunchConfig;
use fringes_types::{ROW_BYTES, SampleFormat, row_times};

use super::{THREADS, number, product, short_blocks};

/// Sizes of rows `[channel][time / R][input][R]` on a device, of [`row_times`] `R`, and of blocks of their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowBlocks {
    /// Channels.
    pub channels: usize,
    /// Rows of an input and a channel: `R` times each, also where the last one is not full.
    pub rows: usize,
    /// Inputs.
    pub inputs: usize,
    /// Times of a block, at least 1.
    pub spectra_per_block: usize,
    /// Times of the first block that lie before the rows, below those of a block.
    pub lead: usize,
}

impl RowBlocks {
    /// Times of the rows, of a format.
    #[must_use]
    pub fn times(&self, format: SampleFormat) -> usize {
        self.rows.saturating_mul(row_times(format))
    }

    /// Voltages of all rows.
    #[must_use]
    pub fn voltages(&self, format: SampleFormat) -> usize {
        product(&[self.channels, self.inputs, self.times(format)])
    }

    /// Blocks that have any of the times.
    #[must_use]
    pub fn blocks(&self, format: SampleFormat) -> usize {
        Blocks { spectra: self.spectra_per_block.max(1), lead: self.lead }.count(self.times(format))
    }

    /// A launch of eight lanes for a channel, a block and an input, of so many blocks; channels, rows, inputs, times of
    /// a block, lead and blocks as kernels take them.
    pub(super) fn launch_sums(
        &self,
        format: SampleFormat,
        blocks: usize,
    ) -> Result<(LaunchConfig, [u32; 6]), DeviceError> {
        let (_, [channels, rows, inputs, block, lead]) = self.launch(format)?;
        let most = i32::MAX as u32;
        number("channels times blocks", product(&[self.channels, blocks]), most)?;
        let groups =
            number("channels times blocks times inputs", product(&[self.channels, blocks, self.inputs]), u32::MAX)?;
        let actual = number("blocks of rows", blocks, u32::try_from(self.blocks(format)).unwrap_or(u32::MAX))?;
        let sizes = [channels, rows, inputs, block, lead, actual];
        Ok((LaunchConfig::new([groups.div_ceil(THREADS / 8), 1, 1], [THREADS, 1, 1]), sizes))
    }

    /// A launch of a warp for the rows of a channel and the same times; channels, rows, inputs, times of a block and
    /// lead as kernels take them.
    pub(super) fn launch(&self, format: SampleFormat) -> Result<(LaunchConfig, [u32; 5]), DeviceError> {
        let most = i32::MAX as u32;
        let times = self.times(format);
        number("times of rows", times, most)?;
        let warps = number("channels times rows", product(&[self.channels, self.rows]), most)?;
        let inputs = number("inputs", self.inputs, u32::MAX / ROW_BYTES as u32)?;
        let [block, lead] = short_blocks(self.spectra_per_block, self.lead, times);
        // Not above the times, or their products with others.
        let of = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let sizes = [of(self.channels), of(self.rows), inputs, of(block), of(lead)];
        Ok((LaunchConfig::new([warps.div_ceil(THREADS / 32), 1, 1], [THREADS, 1, 1]), sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_has_the_rows_of_a_channel_and_time() {
        let rows = RowBlocks { channels: 3, rows: 5, inputs: 70, spectra_per_block: 1000, lead: 900 };
        let format = SampleFormat::Int8;
        assert_eq!((rows.times(format), rows.voltages(format), rows.blocks(format)), (320, 3 * 70 * 320, 2));
        let (config, sizes) = rows.launch(format).unwrap();
        // 15 warps, 8 a block; the edge is behind 100 times.
        assert_eq!((config.grid, sizes), ([2, 1, 1], [3, 5, 70, 320, 220]));
    }

    #[test]
    fn eight_lanes_sum_a_channel_a_block_and_an_input() {
        let rows = RowBlocks { channels: 3, rows: 5, inputs: 70, spectra_per_block: 100, lead: 90 };
        assert_eq!(rows.blocks(SampleFormat::Int8), 5);
        let (config, sizes) = rows.launch_sums(SampleFormat::Int8, 4).unwrap();
        // 840 groups, 32 a block.
        assert_eq!((config.grid, sizes), ([27, 1, 1], [3, 5, 70, 100, 90, 4]));
        assert!(rows.launch_sums(SampleFormat::Int8, 6).is_err());
    }

    #[test]
    fn sizes_beyond_what_kernels_count_are_errors() {
        let rows = RowBlocks { channels: 1, rows: 1, inputs: 1, spectra_per_block: 1, lead: 0 };
        let what = |rows: RowBlocks| match rows.launch(SampleFormat::Int8) {
            Err(DeviceError::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(RowBlocks { rows: 1 << 25, ..rows }), "times of rows");
        assert_eq!(what(RowBlocks { rows: 1 << 24, channels: 1 << 7, ..rows }), "channels times rows");
        assert_eq!(what(RowBlocks { inputs: 1 << 25, ..rows }), "inputs");
    }
}
