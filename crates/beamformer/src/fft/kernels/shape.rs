//! Sizes of beams on the GPU, and the launch that they take.

use fringes_backend::DeviceError;
use fringes_cpu::beamformer::FeedLines;
use fringes_fft::Size;
use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::beamformer;

/// Warps of a block. Each forms the beams of one line at one time after the other.
pub const BLOCK_WARPS: u32 = beamformer::WARPS;

/// Times that a warp does with the same gains in registers, about, where there is enough work.
const TIMES: u64 = 32;

/// Most lines times channels times times of a launch.
const MOST_UNITS: usize = u32::MAX as usize;

/// Lines, channels and times of beams on the GPU, of at least one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeamShape {
    layout: FeedLines,
    size: Size,
    channels: u32,
    times: u32,
}

/// A launch, and how the work is cut: units of some times of one line of one channel, each done by one warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeamLaunch {
    /// Blocks and threads.
    pub config: LaunchConfig,
    /// Times of a unit.
    pub times: u32,
}

impl BeamShape {
    /// A shape, of lines that the transform of a size takes.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] if lines x channels x times exceed 2^32 - 1.
    pub fn new(layout: FeedLines, size: Size, channels: usize, times: usize) -> Result<Self, DeviceError> {
        let units = layout.lines.saturating_mul(channels).saturating_mul(times);
        match (u32::try_from(channels), u32::try_from(times)) {
            (Ok(channels), Ok(times)) if units <= MOST_UNITS => Ok(Self { layout, size, channels, times }),
            _ => {
                // Of no channels or times one of them can be too large by itself.
                let actual = units.max(channels).max(times);
                Err(DeviceError::TooLarge { what: "lines x channels x times of a launch", actual, limit: MOST_UNITS })
            }
        }
    }

    /// Channels.
    pub fn channels(&self) -> usize {
        self.channels as usize
    }

    /// Times.
    pub fn times(&self) -> usize {
        self.times as usize
    }

    /// Voltages, complex samples.
    pub fn samples(&self) -> usize {
        self.channels().saturating_mul(self.times()).saturating_mul(self.layout.inputs())
    }

    /// Beams of all channels and times.
    pub fn beams(&self) -> usize {
        self.channels().saturating_mul(self.times()).saturating_mul(self.layout.beams())
    }

    /// Transforms: one for each line, polarisation, channel and time.
    pub fn transforms(&self) -> usize {
        self.channels() * self.times() * self.layout.lines * self.layout.pols
    }

    /// Bytes of shared memory of a block: gains of two polarisations for each warp.
    pub fn shared_bytes(&self) -> u32 {
        beamformer::shared_bytes(self.size.inputs() as u32)
    }

    /// The launch on a device that holds `blocks` blocks at once: every warp gets as many units as any other, but for
    /// one, of about 32 times or of fewer if there is less work. There is at least one block and one time, even for no
    /// work.
    pub fn launch(&self, blocks: u32) -> BeamLaunch {
        let warps = u64::from(blocks.max(1)) * u64::from(BLOCK_WARPS);
        let rows = u64::from(self.channels) * self.layout.lines as u64;
        let work = rows * u64::from(self.times);
        let rounds = work.div_ceil(warps * TIMES).max(1);
        let times = work.div_ceil(warps * rounds).clamp(1, u64::from(self.times).max(1));
        let units = rows * u64::from(self.times).div_ceil(times);
        let grid = units.div_ceil(BLOCK_WARPS.into()).clamp(1, blocks.max(1).into());
        let config = LaunchConfig::new([grid as u32, 1, 1], [32 * BLOCK_WARPS, 1, 1]);
        BeamLaunch { config: config.with_shared_bytes(self.shared_bytes()), times: times as u32 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn shape(lines: usize, channels: usize, times: usize) -> Result<BeamShape, DeviceError> {
        let layout = FeedLines { lines, feeds: 256, pols: 2, padded: 512 };
        BeamShape::new(layout, Size::new(256, 512).unwrap(), channels, times)
    }

    #[test]
    fn warps_get_the_same_work() {
        for (lines, channels, times, blocks) in [(4, 16, 4096, 528), (1, 1, 1, 528), (3, 5, 1000, 528), (4, 16, 7, 1)] {
            let launch = shape(lines, channels, times).unwrap().launch(blocks);
            let units = lines * channels * times.div_ceil(launch.times as usize);
            let warps = (launch.config.grid[0] * BLOCK_WARPS) as usize;
            assert!(launch.config.grid[0] <= blocks && warps < units + BLOCK_WARPS as usize);
            // No warp has more than a unit above the mean, rounded up.
            let most = units.div_ceil(warps) * launch.times as usize;
            let mean = (lines * channels * times).div_ceil(warps);
            assert!(most <= mean + 2 * launch.times as usize, "{launch:?}");
        }
    }

    #[test]
    fn shapes_that_no_launch_takes_are_typed_errors() {
        for (lines, channels, times, actual) in
            [(4, 1 << 20, 1 << 10, 1 << 32), (1, usize::MAX, 2, usize::MAX), (1, 0, usize::MAX, usize::MAX)]
        {
            let error = DeviceError::TooLarge {
                what: "lines x channels x times of a launch",
                actual,
                limit: u32::MAX as usize,
            };
            assert_eq!(shape(lines, channels, times), Err(error));
        }
        assert_eq!(shape(1, 1, u32::MAX as usize).map(|shape| shape.times()), Ok(u32::MAX as usize));
    }

    #[test]
    fn no_work_is_a_launch_of_one_block_with_nothing_to_do() {
        for (channels, times) in [(0, 5), (5, 0)] {
            let shape = shape(4, channels, times).unwrap();
            assert_eq!((shape.beams(), shape.launch(528).config.grid), (0, [1; 3]));
        }
    }
}
