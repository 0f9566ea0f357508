//! What the delay kernels have in common: their texts, and launches.

use fringes_backend::DeviceError;
use fringes_gpu::{Argument, Kernel, LaunchConfig, Module, PtxSet, Stream};
use fringes_types::SampleFormat;

use super::texts;
use crate::DelayError;

/// The rotations' kernels of a format, and how they are named.
pub(super) fn rotations(format: SampleFormat) -> (&'static PtxSet, &'static str) {
    match format {
        SampleFormat::Int4 => (&texts::DELAY_I4, "i4"),
        SampleFormat::Int8 => (&texts::DELAY_I8, "i8"),
        SampleFormat::Float32 => (&texts::DELAY_F32, "f32"),
        // No voltages are of 16-bit integers.
        SampleFormat::Float16 | SampleFormat::Int16 => (&texts::DELAY_F16, "f16"),
    }
}

/// Threads of a block.
const THREADS: u32 = fringes_kernel_abi::delay::THREADS;

/// Blocks of a grid, for each that the device can hold at once.
const ROUNDS: u32 = 8;

/// A kernel whose warps go through tiles in steps of the grid, and the largest grid that pays.
#[derive(Debug, Clone)]
pub(super) struct Stepping {
    kernel: Kernel,
    most_blocks: u32,
}

impl Stepping {
    /// Loads it.
    pub(super) fn load(module: &Module, name: &str) -> Result<Self, DelayError> {
        let kernel = module.kernel(name)?;
        let resident = kernel.blocks_per_multiprocessor(THREADS, 0)?.max(1);
        let most_blocks = ROUNDS * resident * kernel.device().info().multiprocessors.max(1);
        Ok(Self { kernel, most_blocks })
    }

    /// Queues it for so many tiles.
    pub(super) fn launch(&self, stream: &Stream, tiles: u32, arguments: &[Argument<'_>]) -> Result<(), DelayError> {
        let blocks = tiles.div_ceil(THREADS / 32).clamp(1, self.most_blocks);
        let config = LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]);
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

/// Sizes as the kernels take them.
pub(super) fn numbers<const N: usize>(layout: &'static str, sizes: [usize; N]) -> Result<[u32; N], DelayError> {
    // Some way from the end of 32 bits, so that what follows the last one is counted as well.
    let limit = (u32::MAX - 255) as usize;
    match sizes.iter().find(|&&size| size > limit) {
        Some(&actual) => Err(DelayError::Device(DeviceError::TooLarge { what: layout, actual, limit })),
        None => Ok(sizes.map(|size| size as u32)),
    }
}

pub(super) fn length(buffer: &'static str, expected: usize, actual: usize) -> Result<(), DelayError> {
    if actual < expected { Err(DelayError::Device(DeviceError::Length { buffer, expected, actual })) } else { Ok(()) }
}

pub(super) fn aligned(buffer: &'static str, expected: u64, address: u64) -> Result<(), DelayError> {
    if address.is_multiple_of(expected) {
        Ok(())
    } else {
        Err(DelayError::Device(DeviceError::Alignment { buffer, expected, address }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_holds_kernels_with_the_feature_alone() {
        let formats = [SampleFormat::Int4, SampleFormat::Int8, SampleFormat::Float16, SampleFormat::Float32];
        for set in formats.map(|format| rotations(format).0).into_iter().chain([&texts::DELAY_SHIFT]) {
            assert_eq!(set.is_empty(), !cfg!(feature = "gpu"));
        }
    }
}
