//! Statistics of the samples of a chunk on a device.

use fringes_backend::{DeviceArray, DeviceSamples, Downloader};
use fringes_cpu::f_engine::InputStatistics;

use crate::ChannelizerError;
use crate::internals::chunk;
use crate::internals::format::Numbers;
use crate::internals::samples::SampleKernels;

/// Statistics of the samples of a chunk that lie on a device, as do their sums: what an F-engine gives with a chunk in
/// device memory, without waiting for them.
///
/// # Precision
/// That of [`InputStatistics`] of a chunk in host memory: counts are exact, and sums of squares of integers as long as
/// they are below 2^53; of floats within `(samples + 1) 2^-53` of the sum.
#[derive(Debug)]
pub struct DeviceStatistics {
    /// In parts.
    sums: DeviceArray<'static, u64>,
    /// Samples of each input that are there.
    samples: Vec<u64>,
    numbers: Numbers,
}

impl DeviceStatistics {
    /// Of sums of a chunk's samples.
    pub(super) fn new(sums: DeviceArray<'static, u64>, chunk: &DeviceSamples<'_>) -> Result<Self, ChannelizerError> {
        let (axes, numbers) = (chunk::axes(chunk), Numbers::of(chunk.format())?);
        let of_input = |input: usize| {
            axes.presence.map_or(axes.times as u64, |presence| {
                let (length, times) = (presence.samples_per_block(), axes.times);
                let flags = presence.flags();
                let blocks = flags.row(input).into_iter().enumerate().filter(|(_, present)| **present);
                blocks.map(|(block, _)| length.min(times.saturating_sub(block.saturating_mul(length))) as u64).sum()
            })
        };
        Ok(Self { sums, samples: (0..axes.inputs.len()).map(of_input).collect(), numbers })
    }

    /// The statistics of each input, when the stream that makes them has come there.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says, a failure of the work before
    /// among it.
    pub fn to_host(&self) -> Result<Vec<InputStatistics>, ChannelizerError> {
        Ok(self.of(&self.sums.to_vec()?))
    }

    /// As [`DeviceStatistics::to_host`], by a downloader's stream: what the other stream was given later is not waited
    /// for.
    ///
    /// # Errors
    /// As there.
    pub fn download(&self, downloader: &mut Downloader) -> Result<Vec<InputStatistics>, ChannelizerError> {
        Ok(self.of(&downloader.elements(&self.sums)?))
    }

    fn of(&self, sums: &[u64]) -> Vec<InputStatistics> {
        let sums = SampleKernels::total(sums, self.samples.len(), self.numbers);
        let of_input = |(&samples, (sum_of_squares, clipped))| InputStatistics { samples, sum_of_squares, clipped };
        self.samples.iter().zip(sums).map(of_input).collect()
    }
}
