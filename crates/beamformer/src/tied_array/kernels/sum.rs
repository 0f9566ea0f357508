//! Sums of detected beams over more times and channels.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, Kernel, LaunchConfig, Stream, args};
use fringes_types::{DetectedProducts, Detection};

use super::weights_texts;
use crate::BeamformerError;

/// The kernel that sums what kernels of beams have summed over a few times.
#[derive(Debug)]
pub(crate) struct Summer {
    kernel: Kernel,
    detection: Detection,
    /// Times that are summed already.
    fold: usize,
}

impl Summer {
    /// Loads it.
    pub(crate) fn load(stream: &Stream, detection: Detection) -> Result<Self, BeamformerError> {
        let kernel = stream.device().load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel("sum_detected")?;
        // The largest power of two of the times, of which a warp has 16.
        let fold = 1 << detection.times().trailing_zeros().min(4);
        Ok(Self { kernel, detection, fold })
    }

    /// Times that kernels of beams sum.
    pub(crate) fn fold(&self) -> usize {
        self.fold
    }

    /// Whether kernels of beams give powers, not coherencies.
    pub(crate) fn of_powers(&self) -> bool {
        matches!(self.detection.products(), DetectedProducts::Power | DetectedProducts::StokesI)
    }

    /// Queues the sums `[channel][time][beam][product]` of sums of channels, of so many times and detected beams.
    pub(crate) fn sum(
        &self,
        stream: &Stream,
        [channels, sums, beams]: [usize; 3],
        from: &Buffer<f32>,
        out: &mut Buffer<f32>,
    ) -> Result<(), BeamformerError> {
        let products = match self.detection.products() {
            DetectedProducts::Power => 0u32,
            DetectedProducts::StokesI => 1,
            DetectedProducts::Stokes => 2,
            DetectedProducts::Coherency => 3,
        };
        let mut numbers = [0u32; 5];
        let given = [channels, sums, beams, self.detection.channels(), self.detection.times() / self.fold];
        for (number, actual) in numbers.iter_mut().zip(given) {
            let limit = u32::MAX as usize;
            let what = "sums of detected beams";
            *number = u32::try_from(actual).map_err(|_| DeviceError::TooLarge { what, actual, limit })?;
        }
        let [channels, sums, beams, channel_sum, time_sum] = numbers;
        let most = 32 * stream.device().info().multiprocessors.max(1) as usize;
        let blocks = out.len().div_ceil(256).clamp(1, most) as u32;
        let config = LaunchConfig::new([blocks, 1, 1], [256, 1, 1]);
        let arguments = args![from, out, channels, sums, beams, channel_sum, time_sum, products];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}
