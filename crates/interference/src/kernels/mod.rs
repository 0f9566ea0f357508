//! Kernels on buffers of a device, in the order of a stream: power sums of heaps, rows and voltages, masked copies of
//! heaps and voltages, masked rows.
//!
//! A launch is queued on a stream and returns at once; nothing is allocated. Sizes are checked before anything is
//! queued.

mod mask;
mod parts;
mod power;
mod rows;
mod texts;
mod voltages;

pub use mask::MaskKernels;
pub use parts::{MaskQueue, PartMasks};
pub use power::PowerKernels;
pub use rows::RowBlocks;
pub use voltages::VoltageBlocks;

use fringes_backend::DeviceError;
use fringes_cpu::power::Blocks;
use fringes_gpu::{Argument, LaunchConfig};
use fringes_types::{Inputs, SampleFormat};

/// Threads of a block.
const THREADS: u32 = 256;

/// Bytes of a load.
const PIECE: usize = 16;

/// Loads that a lane has of a stretch, where it is that long.
const LOADS: usize = 8;

/// Sizes of heaps `[batch][antenna][channel][spectrum][pol]` on a device, and of blocks of their spectra.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapBlocks {
    /// Batches.
    pub batches: usize,
    /// Antennas and polarisations.
    pub inputs: Inputs,
    /// Channels.
    pub channels: usize,
    /// Spectra of a heap.
    pub spectra: usize,
    /// Spectra of a block, at least 1.
    pub spectra_per_block: usize,
    /// Spectra of the first block that lie before the heaps, below those of a block.
    pub lead: usize,
}

impl HeapBlocks {
    /// Voltages of all heaps.
    #[must_use]
    pub fn voltages(&self) -> usize {
        product(&[self.batches, self.inputs.len(), self.channels, self.spectra])
    }

    /// Times of all batches.
    #[must_use]
    pub fn times(&self) -> usize {
        self.batches.saturating_mul(self.spectra)
    }

    /// Blocks that have any of the times.
    #[must_use]
    pub fn blocks(&self) -> usize {
        Blocks { spectra: self.spectra_per_block.max(1), lead: self.lead }.count(self.times())
    }

    /// Spectra of a block, and those before the heaps, in numbers that are not above the times.
    fn short_blocks(&self) -> [usize; 2] {
        short_blocks(self.spectra_per_block, self.lead, self.times())
    }

    /// A launch in which groups of lanes have stretches of so many bytes, and the sizes as kernels take them.
    fn launch(&self, groups: usize, stretch: usize) -> Result<(LaunchConfig, [Argument<'static>; 8]), DeviceError> {
        let Work { blocks, sizes } = self.work(groups, stretch)?;
        Ok((LaunchConfig::new([blocks, 1, 1], [THREADS, 1, 1]), sizes.map(Argument::from)))
    }

    fn work(&self, groups: usize, stretch: usize) -> Result<Work, DeviceError> {
        let (antennas, pols) = (self.inputs.antennas(), self.inputs.pols());
        number("times of heaps", self.times(), i32::MAX as u32)?;
        number("heaps times channels", product(&[self.batches, antennas, self.channels]), u32::MAX)?;
        let groups = number("blocks times antennas times channels", groups, u32::MAX)?;
        let lanes = lanes(stretch);
        let [block, lead] = self.short_blocks();
        // Legal, as their products are.
        let sizes = [self.batches, antennas, self.channels, self.spectra, pols, block, lead, lanes as usize];
        let sizes = sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        Ok(Work { blocks: groups.div_ceil(THREADS / lanes), sizes })
    }
}

/// Blocks of a launch; batches, antennas, channels, spectra, polarisations, spectra of a block, lead and lanes.
#[derive(Debug, PartialEq)]
struct Work {
    blocks: u32,
    sizes: [u32; 8],
}

/// Lanes of a group that has a stretch of so many bytes.
fn lanes(stretch: usize) -> u32 {
    1 << (stretch / PIECE / LOADS).clamp(4, 32).ilog2()
}

/// Spectra of a block, and those of the first one that lie before the first of so many times, in numbers that are not
/// above the times: for blocks that are longer, the same edge between two of them.
fn short_blocks(block: usize, lead: usize, times: usize) -> [usize; 2] {
    let times = times.max(1);
    if block <= times {
        return [block, lead];
    }
    let first = block.saturating_sub(lead).clamp(1, times);
    [times, times - first]
}

/// A number that kernels count, at most `limit`.
fn number(what: &'static str, actual: usize, limit: u32) -> Result<u32, DeviceError> {
    let number = u32::try_from(actual).ok().filter(|&number| number <= limit);
    number.ok_or(DeviceError::TooLarge { what, actual, limit: limit as usize })
}

/// A product of sizes, saturating.
fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product, &size| product.saturating_mul(size))
}

/// What the names of kernels of a format end with, if there are such.
fn suffix(format: SampleFormat) -> Option<&'static str> {
    match format {
        SampleFormat::Int4 => Some("i4"),
        SampleFormat::Int8 => Some("i8"),
        SampleFormat::Float16 => Some("f16"),
        SampleFormat::Float32 => Some("f32"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heaps(batches: usize, channels: usize, spectra: usize, spectra_per_block: usize, lead: usize) -> HeapBlocks {
        HeapBlocks { batches, inputs: Inputs::new(3, 2).unwrap(), channels, spectra, spectra_per_block, lead }
    }

    #[test]
    fn lanes_have_eight_loads_of_a_stretch_where_it_is_that_long() {
        let lanes = |stretch| heaps(2, 5, 16, 16, 0).work(30, stretch).unwrap().sizes[7];
        let of = [1, 16, 512, 1008, 1024, 2048, 1 << 20].map(lanes);
        assert_eq!(of, [4, 4, 4, 4, 8, 16, 32]);
        // 64 groups of 4 lanes a block.
        assert_eq!(heaps(2, 5, 16, 16, 3).work(65, 16), Ok(Work { blocks: 2, sizes: [2, 3, 5, 16, 2, 16, 3, 4] }));
    }

    #[test]
    fn blocks_longer_than_the_heaps_have_their_edges_where_they_were() {
        for (batches, spectra) in [(1, 1), (2, 5), (3, 7)] {
            for block in [1, 4, 10, 21, 22, 1000, usize::MAX] {
                for lead in [0, 1, block / 2, block - 3.min(block), block - 1].into_iter().filter(|&lead| lead < block)
                {
                    let heaps = heaps(batches, 1, spectra, block, lead);
                    let [short, before] = heaps.short_blocks();
                    assert!(before < short && short <= heaps.times().max(block.min(heaps.times())));
                    let place = |time: usize| (time as u128 + lead as u128) / block as u128;
                    for time in 0..heaps.times() {
                        assert_eq!((time + before) / short, place(time) as usize, "{heaps:?} {time}");
                    }
                    assert_eq!(heaps.blocks() as u128, place(heaps.times() - 1) + 1);
                }
            }
        }
    }

    #[test]
    fn sizes_beyond_what_kernels_count_are_errors() {
        let what = |heaps: HeapBlocks, groups| match heaps.work(groups, 1) {
            Err(DeviceError::TooLarge { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(heaps(1 << 16, 1, 1 << 15, 1, 0), 1), "times of heaps");
        assert_eq!(what(heaps(1 << 16, 1 << 16, 1, 1, 0), 1), "heaps times channels");
        assert_eq!(what(heaps(1, 1, 1, 1, 0), 1 << 32), "blocks times antennas times channels");
    }
}
