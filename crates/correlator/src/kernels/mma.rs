//! The kernels of integers and f16 that every device from sm_80 on runs (`mma.sync`): which there are, their launches,
//! which is taken.
//!
//! Sums are `[part][channel][baseline]`: i32 or f32 pairs that are overwritten, i32 or f64 pairs that are added to.
//!
//! | variant | tile | blocks of an SM (by registers, on an H200) | orders |
//! |---|---|---|---|
//! | [`Variant::Square`] | 128 x 128, 8 warps of 64 x 32 | 1 | rows; heaps of one polarisation or 4-bit samples |
//! | [`Variant::Narrow`] | 128 x 128, 16 warps of 32 x 32 | 1 | rows; heaps of two polarisations of 8-bit and f16 samples |
//! | [`Variant::Whole64`] | up to 64 inputs, 3 warps of 32 x 32 | 4 | rows, heaps of two polarisations |
//! | [`Variant::Whole128`] | up to 128 inputs, 10 warps of 32 x 32 | 2 of rows (1 of 4-bit samples), 1 of heaps | rows, heaps of two polarisations |
//! | [`Variant::Whole160`] | up to 160 inputs, 15 warps of 32 x 32 | 1 | rows, heaps of two polarisations |
//!
//! A *whole* variant computes all inputs in one block, and has no warp above the diagonal.

use fringes_gpu::{LaunchConfig, PtxSet};

use super::texts;
use crate::CorrelatorError;

/// Most blocks in the second and the third dimension of a grid.
const GRID_YZ: usize = 65535;

/// Most parts of the time.
pub const MAX_PARTS: usize = fringes_kernel_abi::correlator::MOST_PARTS as usize;

/// Format of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 4+4 bits, the real part in the high ones.
    I4,
    /// 8-bit pairs.
    I8,
    /// f16 pairs.
    F16,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::I4, Self::I8, Self::F16];

    /// As in names of kernels.
    pub fn name(self) -> &'static str {
        match self {
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::F16 => "f16",
        }
    }

    /// Bytes of a complex sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::I4 => 1,
            Self::I8 => 2,
            Self::F16 => 4,
        }
    }

    /// Samples of a row of 128 bytes.
    pub fn row_times(self) -> usize {
        fringes_kernel_abi::rows::times(self.bytes())
    }

    /// Most times that one launch may sum in a part without overflow: of samples within +-7 or +-127.
    pub fn most_times(self) -> Option<usize> {
        match self {
            Self::I4 => Some(85598),
            Self::I8 => Some(66572),
            Self::F16 => None,
        }
    }

    /// Most times that sums hold that launches add to, in a part: of samples within +-7 or +-127.
    pub fn most_summed_times(self) -> Option<usize> {
        match self {
            Self::I4 => Some(21_913_098),
            Self::I8 => Some(66572),
            Self::F16 => None,
        }
    }
}

/// Order of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// `[channel][time / R][input][R]`.
    Rows,
    /// `[batch][antenna][channel][spectrum][pol]` of two polarisations.
    DualHeaps,
    /// `[batch][antenna][channel][spectrum]` of one polarisation.
    SingleHeaps,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rows, Self::DualHeaps, Self::SingleHeaps];

    /// Bytes of a row or of an antenna's samples that a step sums.
    pub fn step_bytes(self) -> usize {
        match self {
            Self::Rows | Self::SingleHeaps => 128,
            Self::DualHeaps => 256,
        }
    }
}

/// Shape of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// 128 x 128, 8 warps.
    Square,
    /// 128 x 128, 16 warps.
    Narrow,
    /// Up to 64 inputs.
    Whole64,
    /// Up to 128 inputs.
    Whole128,
    /// Up to 160 inputs.
    Whole160,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Square, Self::Narrow, Self::Whole64, Self::Whole128, Self::Whole160];

    /// Name, as in tables of measurements.
    pub fn name(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Narrow => "narrow",
            Self::Whole64 => "whole_64",
            Self::Whole128 => "whole_128",
            Self::Whole160 => "whole_160",
        }
    }

    /// Inputs on a side of the tile.
    pub fn side(self) -> usize {
        match self {
            Self::Square | Self::Narrow | Self::Whole128 => 128,
            Self::Whole64 => 64,
            Self::Whole160 => 160,
        }
    }

    /// Whether one block has all inputs.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::Square | Self::Narrow)
    }

    /// Threads of a block, and its shared memory.
    fn block(self) -> (u32, u32) {
        match self {
            Self::Square => (256, 3 * 2 * 16384),
            Self::Narrow => (512, 3 * 2 * 16384),
            Self::Whole64 => (96, 4 * 8192),
            Self::Whole128 => (320, 4 * 16384),
            Self::Whole160 => (480, 3 * 20480),
        }
    }

    /// Tiles of a channel.
    pub fn tiles(self, inputs: usize) -> usize {
        let side = inputs.div_ceil(self.side());
        side * (side + 1) / 2
    }

    /// Pairs of inputs whose products are computed for each channel and time, needed or not.
    pub fn computed_pairs(self, inputs: usize) -> usize {
        let high = if self == Self::Square { 64 } else { 32 };
        let mut pairs = 0;
        for row in (0..inputs).step_by(high) {
            for column in (0..inputs.next_multiple_of(128)).step_by(32) {
                // Columns up to the last row, in the same tile or in one to the left of it.
                pairs += if column < row + high { high * 32 } else { 0 };
            }
        }
        pairs
    }
}

/// A kernel: of a format, an order and a variant that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MmaKernel {
    format: Format,
    order: Order,
    variant: Variant,
}

impl MmaKernel {
    /// The kernel, if there is one that takes so many inputs.
    pub fn new(format: Format, order: Order, variant: Variant, inputs: usize) -> Option<Self> {
        let exists = match order {
            Order::Rows => true,
            Order::DualHeaps => variant.is_whole() || variant == Self::general(format, order),
            Order::SingleHeaps => variant == Self::general(format, order),
        };
        let most = if variant.is_whole() { variant.side() } else { 1 << 15 };
        (exists && (1..=most).contains(&inputs)).then_some(Self { format, order, variant })
    }

    /// Every kernel that takes so many inputs: what a sweep measures.
    pub fn all(format: Format, order: Order, inputs: usize) -> impl Iterator<Item = Self> {
        Variant::ALL.into_iter().filter_map(move |variant| Self::new(format, order, variant, inputs))
    }

    /// The kernel that is taken for so many inputs (1 to 2^15), unless measurements on the device say another.
    pub fn choose(format: Format, order: Order, inputs: usize) -> Self {
        let preferred = match inputs {
            0..=64 => Variant::Whole64,
            65..=128 => Variant::Whole128,
            129..=160 => Variant::Whole160,
            161..=384 => Variant::Narrow,
            _ => Variant::Square,
        };
        let general = Self { format, order, variant: Self::general(format, order) };
        Self::new(format, order, preferred, inputs).unwrap_or(general)
    }

    /// The variant of any number of inputs that every order has.
    fn general(format: Format, order: Order) -> Variant {
        if order == Order::DualHeaps && format != Format::I4 { Variant::Narrow } else { Variant::Square }
    }

    /// Format of the samples.
    pub fn format(self) -> Format {
        self.format
    }

    /// Order of the samples.
    pub fn order(self) -> Order {
        self.order
    }

    /// Shape of a block.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// Name of the entry that overwrites sums, or of the one that `adds` to them.
    pub fn name(self, adds: bool) -> String {
        let format = self.format.name();
        let order = if self.order == Order::Rows { "" } else { "heaps_" };
        let variant = match (self.order, self.variant) {
            (Order::SingleHeaps, _) => "_single".into(),
            (_, Variant::Square) | (Order::DualHeaps, Variant::Narrow) => String::new(),
            (_, variant) => format!("_{}", variant.name()),
        };
        format!("correlate_{order}{format}{variant}{}", if adds { "_add" } else { "" })
    }

    /// Text of the kernels of its format and order.
    pub fn ptx(self) -> &'static PtxSet {
        match (self.order == Order::Rows, self.format) {
            (true, Format::I4) => &texts::CORRELATOR_I4,
            (true, Format::I8) => &texts::CORRELATOR_I8,
            (true, Format::F16) => &texts::CORRELATOR_F16,
            (false, Format::I4) => &texts::CORRELATOR_HEAPS_I4,
            (false, Format::I8) => &texts::CORRELATOR_HEAPS_I8,
            (false, Format::F16) => &texts::CORRELATOR_HEAPS_F16,
        }
    }

    /// The launch: the grid is (tiles x parts, y, z) with `y z >= channels`, and no block is without work but where `z`
    /// does not divide the channels.
    ///
    /// # Errors
    /// [`CorrelatorError::DeviceShape`] of what no grid can have: no or more than 65535 parts, no or more than 2^24
    /// channels, more inputs than the kernel takes.
    pub fn launch(self, channels: usize, inputs: usize, parts: usize) -> Result<LaunchConfig, CorrelatorError> {
        let blocks = self.variant.tiles(inputs).checked_mul(parts).and_then(|blocks| i32::try_from(blocks).ok());
        let fits = (1..=MAX_PARTS).contains(&parts)
            && (1..=1 << 24).contains(&channels)
            && Self::new(self.format, self.order, self.variant, inputs).is_some();
        let Some(x) = blocks.filter(|_| fits) else {
            return Err(CorrelatorError::DeviceShape { channels, times: parts, inputs });
        };
        let z = channels.div_ceil(GRID_YZ);
        let (threads, shared_bytes) = self.variant.block();
        let grid = [x.unsigned_abs(), channels.div_ceil(z) as u32, z as u32];
        Ok(LaunchConfig::new(grid, [threads, 1, 1]).with_shared_bytes(shared_bytes))
    }

    /// Blocks that an SM is meant to hold.
    pub fn resident(self) -> usize {
        match (self.variant, self.order, self.format) {
            (Variant::Whole64, ..) => 4,
            (Variant::Whole128, Order::Rows, Format::I8 | Format::F16) => 2,
            _ => 1,
        }
    }

    /// Parts that the time is divided over so that blocks fill so many SMs, each of at least eight steps (`steps` in
    /// all: rows of a channel and input, or batches times 256-byte steps of a batch).
    pub fn parts(self, multiprocessors: usize, channels: usize, inputs: usize, steps: usize) -> usize {
        let blocks = (self.variant.tiles(inputs) * channels).max(1);
        let places = multiprocessors * self.resident();
        // A launch that does not fill the device is divided; one that does is not, whatever its last wave is like.
        if blocks >= places { 1 } else { (places / blocks).clamp(1, (steps / 8).clamp(1, MAX_PARTS)) }
    }
}

#[cfg(test)]
mod tests {
    use fringes_gpu::PtxTarget;

    use super::*;

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_name_is_that_of_an_entry_and_every_entry_has_a_name() {
        for format in Format::ALL {
            for orders in [&[Order::Rows][..], &[Order::DualHeaps, Order::SingleHeaps]] {
                let set = MmaKernel::choose(format, orders[0], 1).ptx();
                let ptx = set.get(PtxTarget::Sm80).unwrap().read().unwrap();
                let kernels: Vec<_> = orders.iter().flat_map(|&order| MmaKernel::all(format, order, 1)).collect();
                let mut expected: Vec<_> =
                    kernels.iter().flat_map(|kernel| [false, true].map(|adds| kernel.name(adds))).collect();
                let names =
                    ptx.lines().filter_map(|line| line.trim_start().strip_prefix("//@kernel ")?.split('(').next());
                let mut names: Vec<_> = names.map(String::from).collect();
                expected.sort();
                names.sort();
                assert_eq!(expected, names);
            }
        }
    }

    #[test]
    fn the_choice_exists_for_every_number_of_inputs() {
        for format in Format::ALL {
            for order in Order::ALL {
                for inputs in (1..400).chain([1 << 15]) {
                    let kernel = MmaKernel::choose(format, order, inputs);
                    assert_eq!(MmaKernel::new(format, order, kernel.variant(), inputs), Some(kernel));
                }
            }
        }
    }

    #[test]
    fn computed_pairs_are_those_of_warps_with_work() {
        assert_eq!(Variant::Whole64.computed_pairs(64), 3 * 1024);
        assert_eq!(Variant::Whole128.computed_pairs(128), 10 * 1024);
        assert_eq!(Variant::Whole160.computed_pairs(160), 15 * 1024);
        assert_eq!(Variant::Square.computed_pairs(128), 6 * 2048);
        assert_eq!(Variant::Narrow.computed_pairs(256), 36 * 1024);
        assert_eq!(Variant::Square.computed_pairs(256), 2 * 6 * 2048 + 128 * 128);
    }

    #[test]
    fn launches_cover_channels_without_blocks_to_spare() {
        let kernel = MmaKernel::choose(Format::I8, Order::Rows, 128);
        assert_eq!(kernel.launch(1024, 128, 3).unwrap().grid, [3, 1024, 1]);
        assert_eq!(kernel.launch(65536, 128, 1).unwrap().grid, [1, 32768, 2]);
        assert!(kernel.launch(1, 129, 1).is_err() && kernel.launch(1, 128, 0).is_err());
        assert_eq!(kernel.parts(132, 64, 128, 64), 4);
        assert_eq!(kernel.parts(132, 1024, 128, 64), 1);
        assert_eq!(kernel.parts(132, 1, 128, 64), 8);
    }
}
