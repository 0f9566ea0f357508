//! Sizes of beams on the GPU, and the launch that they take.

use fringes_gpu::LaunchConfig;
use fringes_kernel_abi::beamformer;

use crate::{FeedLines, FftError};

/// Warps of a block. Each forms the beams of one line at one time after the other.
pub const BLOCK_WARPS: u32 = beamformer::WARPS;

/// Times that a warp does with the same gains in registers, about, where there is enough work.
const TIMES: u64 = 32;

/// Lines, channels and times of beams on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeamShape {
    lines: FeedLines,
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
    /// A shape.
    ///
    /// # Errors
    /// [`FftError::BeamShape`] unless channels x times x lines is from 1 to 2^32 - 1.
    pub fn new(lines: FeedLines, channels: usize, times: usize) -> Result<Self, FftError> {
        let count = channels.checked_mul(times).and_then(|count| count.checked_mul(lines.lines()));
        match (u32::try_from(channels), u32::try_from(times)) {
            (Ok(channels), Ok(times)) if count.is_some_and(|count| (1..=u32::MAX as usize).contains(&count)) => {
                Ok(Self { lines, channels, times })
            }
            _ => Err(FftError::BeamShape { channels, times, lines: lines.lines() }),
        }
    }

    /// The lines.
    pub fn lines(&self) -> FeedLines {
        self.lines
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
        self.channels().saturating_mul(self.times()).saturating_mul(self.lines.inputs())
    }

    /// Beams of all channels and times.
    pub fn beams(&self) -> usize {
        self.channels().saturating_mul(self.times()).saturating_mul(self.lines.beams())
    }

    /// Transforms: one for each line, polarisation, channel and time.
    pub fn transforms(&self) -> usize {
        self.channels() * self.times() * self.lines.lines() * self.lines.pols()
    }

    /// Bytes of shared memory of a block: gains of two polarisations for each warp.
    pub fn shared_bytes(&self) -> u32 {
        beamformer::shared_bytes(self.lines.size().inputs() as u32)
    }

    /// The launch on a device that holds `blocks` blocks at once: every warp gets as many units as any other, but for one, of about 32 times
    /// or of fewer if there is less work.
    pub fn launch(&self, blocks: u32) -> BeamLaunch {
        let warps = u64::from(blocks.max(1)) * u64::from(BLOCK_WARPS);
        let rows = u64::from(self.channels) * self.lines.lines() as u64;
        let work = rows * u64::from(self.times);
        let rounds = work.div_ceil(warps * TIMES).max(1);
        let times = work.div_ceil(warps * rounds).clamp(1, self.times.into());
        let units = rows * u64::from(self.times).div_ceil(times);
        let grid = units.div_ceil(BLOCK_WARPS.into()).min(blocks.max(1).into());
        let config = LaunchConfig::new([grid as u32, 1, 1], [32 * BLOCK_WARPS, 1, 1]);
        BeamLaunch { config: config.with_shared_bytes(self.shared_bytes()), times: times as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(lines: usize, channels: usize, times: usize) -> Result<BeamShape, FftError> {
        BeamShape::new(FeedLines::new(lines, 256, 2, 512)?, channels, times)
    }

    #[test]
    fn warps_get_the_same_work() {
        for (lines, channels, times, blocks) in [(4, 16, 4096, 528), (1, 1, 1, 528), (3, 5, 1000, 528), (4, 16, 7, 1)] {
            let shape = shape(lines, channels, times).unwrap_or_else(|error| panic!("{error}"));
            let launch = shape.launch(blocks);
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
        for (lines, channels, times) in [(1, 0, 5), (1, 5, 0), (4, 1 << 20, 1 << 10), (1, usize::MAX, 2)] {
            assert_eq!(shape(lines, channels, times), Err(FftError::BeamShape { channels, times, lines }));
        }
        assert_eq!(shape(1, 1, u32::MAX as usize).map(|shape| shape.times()), Ok(u32::MAX as usize));
    }
}
