//! Sums of detected beams over more times and channels.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferPool, Kernel, LaunchConfig, Stream, args};
use fringes_types::{DetectedProducts, Detection};

use super::weights_texts;
use crate::BeamformerError;

/// The kernel that sums what kernels of beams have summed over a few times.
#[derive(Debug)]
pub(crate) struct Summer {
    kernel: Kernel,
    detection: Detection,
    /// Nothing is left, or was.
    none: Buffer<f32>,
}

/// What is summed over a few times, and what came before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sums<'a> {
    /// Channels, sums of times and beams: single ones of powers, else pairs.
    pub(crate) shape: [usize; 3],
    /// Times of each of them.
    pub(crate) fold: usize,
    /// What there is of the first sum, and of how many times.
    pub(crate) carried: Option<(&'a Buffer<f32>, usize)>,
}

/// Where sums `[channel][time][beam][product]` go: to the beams from `first` on, of `row` beams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) first: usize,
    pub(crate) row: usize,
}

impl Summer {
    /// Loads it.
    pub(crate) fn load(stream: &Stream, detection: Detection) -> Result<Self, BeamformerError> {
        let kernel = stream.device().load(&weights_texts::TIED_ARRAY_WEIGHTS)?.kernel("sum_detected")?;
        Ok(Self { kernel, detection, none: Buffer::zeroed(stream, 0)? })
    }

    /// Whether kernels of beams give powers, not coherencies.
    pub(crate) fn of_powers(&self) -> bool {
        matches!(self.detection.products(), DetectedProducts::Power | DetectedProducts::StokesI)
    }

    /// Whether sums of `fold` times of single channels are what is asked for, as kernels of beams write them.
    pub(crate) fn is_done_by(&self, fold: usize) -> bool {
        let Self { detection, .. } = self;
        let powers = matches!(detection.products(), DetectedProducts::Power);
        powers && detection.times() == fold && detection.channels() == 1
    }

    /// Queues the sums of tied-array beams. Gives what is left of a sum that does not end.
    pub(crate) fn sum(
        &self,
        stream: &Stream,
        pool: &BufferPool,
        sums: Sums<'_>,
        from: &Buffer<f32>,
        out: &mut Buffer<f32>,
        place: Place,
    ) -> Result<Option<Buffer<f32>>, BeamformerError> {
        let (products, numbers) = match self.detection.products() {
            DetectedProducts::Power => (0u32, 1),
            DetectedProducts::StokesI => (1, 2),
            DetectedProducts::Stokes => (2, 4),
            DetectedProducts::Coherency => (3, 4),
        };
        self.launch(stream, pool, sums, from, out, place, [products, numbers])
    }

    /// Queues the sums of powers as they are: those of incoherent beams.
    pub(crate) fn sum_powers(
        &self,
        stream: &Stream,
        pool: &BufferPool,
        sums: Sums<'_>,
        from: &Buffer<f32>,
        out: &mut Buffer<f32>,
        place: Place,
    ) -> Result<Option<Buffer<f32>>, BeamformerError> {
        self.launch(stream, pool, sums, from, out, place, [0, 1])
    }

    #[allow(clippy::too_many_arguments, reason = "what both sums have, and their products")]
    fn launch(
        &self,
        stream: &Stream,
        pool: &BufferPool,
        Sums { shape: [channels, sums, beams], fold, carried }: Sums<'_>,
        from: &Buffer<f32>,
        out: &mut Buffer<f32>,
        place: Place,
        [products, read]: [u32; 2],
    ) -> Result<Option<Buffer<f32>>, BeamformerError> {
        let (time_sum, channel_sum) = (self.detection.times() / fold, self.detection.channels());
        let (carried, pending) = carried.unwrap_or((&self.none, 0));
        let pending = pending / fold;
        let (whole, rest) = ((pending + sums) / time_sum, (pending + sums) % time_sum);
        let mut numbers = [0u32; 8];
        let given = [channels, sums, beams, channel_sum, time_sum, pending, place.first, place.row];
        for (number, actual) in numbers.iter_mut().zip(given) {
            let limit = u32::MAX as usize;
            let what = "sums of detected beams";
            *number = u32::try_from(actual).map_err(|_| DeviceError::TooLarge { what, actual, limit })?;
        }
        let groups = channels / channel_sum;
        let partial = groups * beams * read as usize;
        let mut left = pool.take::<f32>(stream, if rest > 0 { partial } else { 0 })?;
        let rows = groups * (whole + usize::from(rest > 0)) * beams;
        if rows > 0 {
            let [channels, sums, beams, channel_sum, time_sum, pending, first, row] = numbers;
            let most = 32 * stream.device().info().multiprocessors.max(1) as usize;
            let config = LaunchConfig::new([rows.div_ceil(256).clamp(1, most) as u32, 1, 1], [256, 1, 1]);
            let arguments = args![
                from,
                out,
                carried,
                &mut left,
                channels,
                sums,
                beams,
                channel_sum,
                time_sum,
                pending,
                first,
                row,
                products
            ];
            self.kernel.launch_safe(stream, &config, arguments)?;
        }
        Ok((rest > 0).then_some(left))
    }
}
