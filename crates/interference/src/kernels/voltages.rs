//! Sizes of voltages, and of blocks of their times.

use fringes_backend::DeviceError;
use fringes_cpu::power::Blocks;
use fringes_gpu::LaunchConfig;
use fringes_types::SampleFormat;

use super::{THREADS, Work, lanes, number, product, short_blocks};

/// Sizes of voltages `[channel][time][input]` on a device, and of blocks of their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoltageBlocks {
    /// Channels.
    pub channels: usize,
    /// Times.
    pub times: usize,
    /// Inputs.
    pub inputs: usize,
    /// Times of a block, at least 1.
    pub spectra_per_block: usize,
    /// Times of the first block that lie before the voltages, below those of a block.
    pub lead: usize,
}

impl VoltageBlocks {
    /// Voltages.
    #[must_use]
    pub fn voltages(&self) -> usize {
        product(&[self.channels, self.times, self.inputs])
    }

    /// Blocks that have any of the times.
    #[must_use]
    pub fn blocks(&self) -> usize {
        Blocks { spectra: self.spectra_per_block.max(1), lead: self.lead }.count(self.times)
    }

    /// A launch of a thread for a channel, a block and a word of inputs, of voltages that begin at an address;
    /// channels, times, inputs, times of a block and lead as kernels take them.
    pub(super) fn launch(&self, format: SampleFormat, address: u64) -> Result<(LaunchConfig, [u32; 5]), DeviceError> {
        let most = i32::MAX as u32;
        let times = number("times of voltages", self.times, most)?;
        number("channels times times", product(&[self.channels, self.times]), most)?;
        number("channels times blocks times inputs", product(&[self.channels, self.blocks(), self.inputs]), u32::MAX)?;
        // As the kernels have it: words of 4 bytes, or of a voltage that is longer; where they are not whole, single
        // ones.
        let of_word = match format {
            SampleFormat::Int4 => 4,
            SampleFormat::Int8 => 2,
            _ => 1,
        };
        let is_whole = self.inputs.is_multiple_of(of_word) && address.is_multiple_of(4);
        let of_thread = if is_whole { of_word } else { 1 };
        // Fewer than were counted.
        let threads = product(&[self.channels, self.blocks(), self.inputs / of_thread]) as u32;
        let [block, lead] = short_blocks(self.spectra_per_block, self.lead, self.times);
        // Not above the times, or their products with others.
        let of = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let sizes = [of(self.channels), times, of(self.inputs), of(block), of(lead)];
        Ok((LaunchConfig::new([threads.div_ceil(THREADS), 1, 1], [THREADS, 1, 1]), sizes))
    }
}

impl VoltageBlocks {
    /// A launch that copies voltages of so many bytes as one heap `[channel][time and input]` of one input: blocks of
    /// times are as many blocks of times and inputs.
    pub(super) fn copy(&self, size: usize) -> Result<Work, DeviceError> {
        let spectra = number("times times inputs", product(&[self.times, self.inputs]), i32::MAX as u32)?;
        let channels = number("channels", self.channels, u32::MAX)?;
        let [block, lead] = short_blocks(self.spectra_per_block, self.lead, self.times);
        // Not above the times, and so the products not above theirs.
        let of = |times: usize| u32::try_from(product(&[times, self.inputs])).unwrap_or(u32::MAX);
        let lanes = lanes(product(&[spectra as usize, size]));
        let blocks = channels.div_ceil(THREADS / lanes);
        Ok(Work { blocks, sizes: [1, 1, channels, spectra, 1, of(block), of(lead), lanes] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_channel_a_block_and_a_word_of_inputs() {
        let voltages = VoltageBlocks { channels: 3, times: 100, inputs: 132, spectra_per_block: 64, lead: 30 };
        assert_eq!((voltages.voltages(), voltages.blocks()), (3 * 100 * 132, 3));
        let blocks = |voltages: VoltageBlocks, format, address| voltages.launch(format, address).unwrap().0.grid[0];
        // Nine channels and blocks of 33 words; of all inputs where these make no words.
        assert_eq!(blocks(voltages, SampleFormat::Int4, 256), (9 * 33u32).div_ceil(256));
        for (inputs, format, address) in
            [(132, SampleFormat::Int4, 258), (131, SampleFormat::Int8, 256), (132, SampleFormat::Float32, 256)]
        {
            let expected = (9 * inputs as u32).div_ceil(256);
            assert_eq!(blocks(VoltageBlocks { inputs, ..voltages }, format, address), expected);
        }
        // A block that is longer than the voltages has its edge where it was.
        let (_, sizes) =
            VoltageBlocks { spectra_per_block: 1000, lead: 940, ..voltages }.launch(SampleFormat::Int4, 0).unwrap();
        assert_eq!(sizes, [3, 100, 132, 100, 40]);
    }

    #[test]
    fn a_copy_has_blocks_of_times_and_inputs() {
        let voltages = VoltageBlocks { channels: 300, times: 100, inputs: 7, spectra_per_block: 64, lead: 30 };
        // 700 voltages of 2 bytes are 87 pieces: 8 lanes, 32 groups a block.
        let expected = Work { blocks: 10, sizes: [1, 1, 300, 700, 1, 448, 210, 8] };
        assert_eq!(voltages.copy(2), Ok(expected));
        // A block that is longer than the voltages has its edge where it was: behind 60 times.
        let Work { sizes, .. } =
            VoltageBlocks { spectra_per_block: usize::MAX, lead: usize::MAX - 60, ..voltages }.copy(2).unwrap();
        assert_eq!(sizes[5..7], [700, 280]);
        let error = VoltageBlocks { times: 1 << 20, inputs: 1 << 11, ..voltages }.copy(2).unwrap_err();
        assert!(matches!(error, DeviceError::TooLarge { what: "times times inputs", .. }), "{error}");
    }

    #[test]
    fn sizes_beyond_what_kernels_count_are_errors() {
        let voltages = VoltageBlocks { channels: 1, times: 1, inputs: 1, spectra_per_block: 1, lead: 0 };
        let what = |voltages: VoltageBlocks| match voltages.launch(SampleFormat::Int8, 0) {
            Err(DeviceError::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(VoltageBlocks { times: 1 << 31, ..voltages }), "times of voltages");
        assert_eq!(what(VoltageBlocks { times: 1 << 16, channels: 1 << 15, ..voltages }), "channels times times");
        assert_eq!(what(VoltageBlocks { inputs: 1 << 32, ..voltages }), "channels times blocks times inputs");
    }
}
