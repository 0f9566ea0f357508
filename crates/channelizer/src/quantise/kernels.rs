//! Quantisation on a device, in the order of a stream.

use std::marker::PhantomData;

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, Stream};
use fringes_types::{Complex, SampleFormat};

use super::{QuantisedSample, texts};
use crate::ChannelizerError;

/// Threads of a block.
const THREADS: u32 = 256;

/// Values that a thread has: two times what it loads at once.
const VALUES: usize = 8;

/// Voltages on a device, and what they are multiplied by.
#[derive(Debug, Clone, Copy)]
pub struct ScaledVoltages<'a> {
    /// Channels, times, inputs.
    pub shape: [usize; 3],
    /// `[channel][time][input]`.
    pub voltages: BufferView<'a, Complex<f32>>,
    /// Gains `[channel][input]`. They are not looked at: one that is not finite gives values that count as saturated.
    pub gains: BufferView<'a, Complex<f32>>,
    /// Flags `[time][input]`, 0 where a voltage is missing; `None` if all are there.
    pub present: Option<BufferView<'a, u8>>,
}

/// The quantisation kernel of a format on one device. Cheap to clone.
///
/// A launch is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is
/// queued.
///
/// # Precision
/// That of [`quantise`](crate::quantise()): integers and counts are those of the CPU, on every input.
#[derive(Debug, Clone)]
pub struct QuantiseKernels<Q> {
    kernel: Kernel,
    format: PhantomData<Q>,
}

impl<Q: QuantisedSample> QuantiseKernels<Q> {
    /// Loads the kernel; the first time on a machine the driver compiles it.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn load(device: &Device) -> Result<Self, ChannelizerError> {
        let name = if Q::FORMAT == SampleFormat::Int4 { "quantise_i4" } else { "quantise_i8" };
        Ok(Self { kernel: device.load(&texts::QUANTISE)?.kernel(name)?, format: PhantomData })
    }

    /// Quantises voltages to `to`, `[channel][time][input]`. The number of values of each input that saturate is added
    /// to `saturated`, `[input]`.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is too short, [`DeviceError::TooLarge`] for sizes that the kernel cannot
    /// count, [`DeviceError::Gpu`] with what the driver says.
    pub fn quantise(
        &self,
        stream: &Stream,
        from: ScaledVoltages<'_>,
        mut to: BufferViewMut<'_, Q>,
        saturated: BufferViewMut<'_, u64>,
    ) -> Result<(), ChannelizerError> {
        let ScaledVoltages { shape: [channels, times, inputs], voltages, gains, present } = from;
        let values = product(&[channels, times, inputs]);
        voltages.expect("voltages", values, 8)?;
        gains.expect("gains", product(&[channels, inputs]), 8)?;
        if let Some(present) = present {
            present.expect("presence flags", product(&[times, inputs]), 1)?;
        }
        to.expect("quantised voltages", values, size_of::<Q>() as u64)?;
        saturated.expect("counts", inputs, 8)?;
        if values == 0 {
            return Ok(());
        }
        let Work { blocks, sizes } = work([channels, times, inputs])?;
        // No flags stand for voltages that are all there.
        let present = present.map_or_else(|| voltages.slice(0..0)?.cast::<u8>(), Ok)?;
        let to: Argument<'_> = match Q::FORMAT {
            SampleFormat::Int4 => to.reborrow().cast::<u8>()?.into(),
            _ => to.reborrow().cast::<u16>()?.into(),
        };
        let (voltages, gains) = (voltages.cast::<[f32; 2]>()?, gains.cast::<[f32; 2]>()?);
        let mut arguments = vec![voltages.into(), to, gains.into(), present.into(), saturated.into()];
        arguments.extend(sizes.map(Argument::from));
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        Ok(self.kernel.launch_safe(stream, &config, &arguments)?)
    }
}

/// A product of sizes, saturating.
fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

/// Blocks of a launch, and channels, times, inputs and runs as the kernel takes them.
#[derive(Debug, PartialEq)]
struct Work {
    blocks: u32,
    sizes: [u32; 4],
}

/// The work for voltages of a shape, of which there are some.
fn work([channels, times, inputs]: [usize; 3]) -> Result<Work, DeviceError> {
    let number = |what, actual: usize, limit: u32| {
        let limit_exceeded = || DeviceError::TooLarge { what, actual, limit: limit as usize };
        u32::try_from(actual).ok().filter(|&number| number <= limit).ok_or_else(limit_exceeded)
    };
    let runs = times.div_ceil(VALUES);
    let threads = number("threads of a channel of voltages", runs.saturating_mul(inputs), u32::MAX - THREADS)?;
    let blocks = (threads.div_ceil(THREADS) as usize).saturating_mul(channels);
    Ok(Work {
        blocks: number("blocks of voltages", blocks, i32::MAX as u32)?,
        sizes: [
            number("channels", channels, u32::MAX)?,
            number("times", times, u32::MAX)?,
            number("inputs", inputs, u32::MAX)?,
            number("runs", runs, u32::MAX)?,
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_up_to_eight_values_of_a_channel() {
        assert_eq!(work([3, 1, 1]), Ok(Work { blocks: 3, sizes: [3, 1, 1, 1] }));
        // 125 runs of 20 inputs: 2500 threads, 10 blocks.
        assert_eq!(work([4, 1000, 20]), Ok(Work { blocks: 40, sizes: [4, 1000, 20, 125] }));
        assert_eq!(work([4, 1001, 20]), Ok(Work { blocks: 40, sizes: [4, 1001, 20, 126] }));
    }

    #[test]
    fn sizes_beyond_what_the_kernel_counts_are_errors() {
        let what = |shape| match work(shape) {
            Err(DeviceError::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what([1, usize::MAX, 2]), "threads of a channel of voltages");
        assert_eq!(what([1 << 31, 1, 1]), "blocks of voltages");
        assert_eq!(what([1, 1 << 33, 1]), "times");
    }
}
