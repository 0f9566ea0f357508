//! Which kernel forms beams, in which tiles.

use fringes_backend::DeviceError;
use fringes_gpu::{Device, Kernel, PtxSet, PtxTarget};
use fringes_kernel_abi::tied_array::{CHUNK_BYTES, COLUMNS, Output, TIMES, Weights};
use fringes_types::{SampleFormat, row_times};

use super::{format_name, mma_texts, wgmma_texts};
use crate::{BeamformerError, WeightPrecision};

/// Generations of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Generation {
    /// Products of warpgroups: compute capability 9.0.
    Wgmma,
    /// Products of warps: 8.0 and later.
    Mma,
}

impl Generation {
    /// What a device runs, the older one if that is asked for.
    pub(super) fn of(device: &Device, only_mma: bool) -> Self {
        let newer = PtxTarget::Sm90a.runs_on(device.info().compute_capability);
        if newer && !only_mma { Self::Wgmma } else { Self::Mma }
    }

    /// Columns of tiles.
    fn columns(self) -> &'static [u32] {
        match self {
            Self::Wgmma => &COLUMNS,
            Self::Mma => &COLUMNS[..2],
        }
    }

    /// Threads of a block.
    pub(super) fn threads(self) -> u32 {
        match self {
            Self::Wgmma => 384,
            Self::Mma => 256,
        }
    }
}

/// A kernel, and the sizes of its tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) generation: Generation,
    format: SampleFormat,
    pub(super) weights: Weights,
    pub(super) output: Output,
    pub(super) inputs: usize,
    pub(super) beams: usize,
    /// Columns of a tile.
    pub(super) columns: u32,
    /// Whether samples of few inputs stay in registers, and tiles of columns come one after another.
    held: bool,
}

impl Plan {
    /// The kernel of so many inputs and beams.
    pub(super) fn new(
        generation: Generation,
        format: SampleFormat,
        precision: WeightPrecision,
        output: Output,
        inputs: usize,
        beams: usize,
    ) -> Self {
        let weights = precision.weights(format);
        let all = beams.saturating_mul(weights.digits() as usize);
        let most = generation.columns();
        let fits = most.iter().copied().find(|&columns| all <= columns as usize);
        let columns = fits.or(most.last().copied()).unwrap_or(COLUMNS[0]);
        let plan = Self { generation, format, weights, output, inputs, beams, columns, held: false };
        Self { held: plan.may_be_held(), ..plan }
    }

    /// Whether there is a kernel that holds samples, and more than one tile of columns to hold them for.
    fn may_be_held(&self) -> bool {
        self.generation == Generation::Wgmma
            && self.columns == HELD_COLUMNS
            && self.weights != Weights::Float16
            && matches!(self.output, Output::Float16 | Output::Int8 | Output::Power)
            && self.chunks() <= MOST_HELD
            && self.tiles() > 1
    }

    /// Whether samples are of 4 bits, which the kernels multiply by 16.
    pub(super) fn is_int4(&self) -> bool {
        self.format == SampleFormat::Int4
    }

    /// Beams of a tile.
    pub(super) fn tile_beams(&self) -> usize {
        (self.columns / self.weights.digits()) as usize
    }

    /// Tiles of columns.
    pub(super) fn tiles(&self) -> usize {
        self.beams.div_ceil(self.tile_beams())
    }

    /// Chunks of inputs.
    pub(super) fn chunks(&self) -> usize {
        self.inputs.div_ceil(self.weights.chunk_inputs() as usize)
    }

    /// The kernels' name of samples and weights.
    fn source(&self) -> &'static str {
        match format_name(self.format) {
            Some("i8") if self.weights == Weights::Float16 => "i8_f16",
            name => name.unwrap_or_default(),
        }
    }

    /// The kernels' name of the output.
    fn output_name(&self) -> &'static str {
        match self.output {
            Output::Float32 => "f32",
            Output::Float16 => "f16",
            Output::Int8 => "i8",
            Output::Power => "power",
            Output::Coherency => "coherency",
        }
    }

    /// The entry.
    fn name(&self) -> String {
        let tiles = format!("tied_array_{}_{}_{}", self.source(), self.columns, self.output_name());
        if self.held { format!("{tiles}_held_{}", self.chunks()) } else { tiles }
    }

    fn ptx(&self) -> Option<&'static PtxSet> {
        let held = if self.held { "_held" } else { "" };
        let part = format!("{}_to_{}{held}", self.source(), self.output_name());
        match self.generation {
            Generation::Wgmma => wgmma_texts::tied_array_wgmma(&part),
            Generation::Mma => mma_texts::tied_array_mma(&part),
        }
    }

    fn target(&self) -> PtxTarget {
        match self.generation {
            Generation::Wgmma => PtxTarget::Sm90a,
            Generation::Mma => PtxTarget::Sm80,
        }
    }

    /// Loads the entry.
    pub(super) fn load(&self, device: &Device) -> Result<Kernel, BeamformerError> {
        let missing = || DeviceError::NoKernel { expected: "beams with a kernel", actual: self.name() };
        let texts = self.ptx().ok_or_else(missing)?;
        Ok(device.load_target(texts, self.target())?.kernel(&self.name())?)
    }

    /// Shared memory: stages of samples and weights, barriers where there are some, scales of eight warps.
    pub(super) fn shared_bytes(&self) -> u32 {
        let scales = 8 * 512;
        let blocks = 128 / row_times(self.format) as u32;
        let samples = 128 * self.weights.chunk_inputs() * blocks;
        match self.generation {
            Generation::Wgmma if self.held => {
                // Four slots of weights and two stages of samples, with two barriers each; scales and tiles of slots,
                // and the step.
                let chunk = 4 * CHUNK_BYTES * self.columns + 2 * samples;
                chunk * self.chunks() as u32 + 16 * 6 + 4 * (512 + 16) + 16
            }
            Generation::Wgmma => {
                // Two barriers of each stage and of weights that stay.
                let barriers = 16 * (12 + self.most_slots()).next_multiple_of(2);
                // And the step from strip to strip.
                self.budget() + barriers + scales + 16
            }
            Generation::Mma => {
                let stage = samples + CHUNK_BYTES * self.columns;
                (77_824 / stage).min(4) * stage + scales
            }
        }
    }

    /// Shared memory for samples and weights; with 16 columns a multiprocessor has two blocks.
    fn budget(&self) -> u32 {
        if self.columns == 16 { 110_592 } else { 212_992 }
    }

    /// Chunks whose weights stay in shared memory for a strip, at most: there is room for 64 KiB of samples besides.
    fn most_slots(&self) -> u32 {
        (self.budget() - 65_536) / (CHUNK_BYTES * self.columns)
    }

    /// How many tiles a block of a launch forms one after another: as many as leave no block without work, `places` of
    /// which run at once. They are tiles of columns where samples are held. Else they are tiles of times, with weights
    /// that stay; it is one, and weights come with the samples, where there is no room for them, or few inputs: blocks
    /// that run together then write beams that lie together.
    pub(super) fn strip(&self, channels: usize, times: usize, places: usize) -> usize {
        let times = times.div_ceil(TIMES as usize).max(1);
        if self.held {
            return longest(self.tiles(), channels.saturating_mul(times), places);
        }
        if self.chunks() < LEAST_RESIDENT || self.chunks() > self.most_slots() as usize {
            return 1;
        }
        longest(times, channels.saturating_mul(self.tiles()), places)
    }
}

/// How long strips of `tiles` tiles that can follow each other are best, `lines` times over, in `places` blocks.
fn longest(tiles: usize, lines: usize, places: usize) -> usize {
    // What a block does in all, in tiles; what stays for a strip counts as a quarter of one.
    let cost = |length: usize| {
        let rounds = lines.saturating_mul(tiles.div_ceil(length)).div_ceil(places.max(1));
        rounds.saturating_mul(4 * length + 1)
    };
    let lengths = (1..=tiles.min(MOST_PARTS)).map(|parts| tiles.div_ceil(parts));
    lengths.min_by_key(|&length| cost(length)).unwrap_or(1)
}

/// Columns of tiles of kernels that hold samples.
const HELD_COLUMNS: u32 = 128;

/// Chunks of inputs that are held, at most.
const MOST_HELD: usize = 2;

/// Chunks of inputs whose weights stay, at least.
const LEAST_RESIDENT: usize = 3;

/// Strips that tiles are divided into at most.
const MOST_PARTS: usize = 256;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn strips_are_as_long_as_leave_no_block_without_work() {
        let strip = |beams, channels, times| {
            let (format, precision) = (SampleFormat::Int8, WeightPrecision::Int8);
            let plan = Plan::new(Generation::Wgmma, format, precision, Output::Int8, 192, beams);
            plan.strip(channels, times, 132)
        };
        // 2048 strips of all times are 15.5 a block.
        assert_eq!(strip(1024, 256, 4096), 32);
        // 64 are fewer than there are blocks; of 16 tiles they are 128.
        assert_eq!(strip(64, 64, 4096), 16);
        assert_eq!((strip(64, 1, 128), strip(64, 1, 0), strip(1, 1000, 1)), (1, 1, 1));
        // One channel of many times: a strip a block.
        assert_eq!(strip(8, 1, 132 * 128 * 50), 50);
        assert!(strip(8, 1, usize::MAX / 2) > 1 << 20);
        let plan = |inputs| {
            Plan::new(Generation::Wgmma, SampleFormat::Int8, WeightPrecision::Int8, Output::Int8, inputs, 1024)
        };
        // Samples are held for all columns, weights stay for all times, or neither.
        assert_eq!([128, 129, 576, 577].map(|inputs| plan(inputs).strip(64, 4096, 132)), [8, 32, 32, 1]);
        // Few times: columns are divided, so that no block is without work.
        assert_eq!(plan(64).strip(1, 128 * 40, 132), 3);
    }

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn every_plan_has_an_entry_with_its_shared_memory() {
        let outputs = [Output::Float32, Output::Float16, Output::Int8, Output::Power, Output::Coherency];
        for generation in [Generation::Wgmma, Generation::Mma] {
            for format in [SampleFormat::Int4, SampleFormat::Int8, SampleFormat::Float16] {
                for precision in WeightPrecision::ALL {
                    let sizes = [1, 8, 9, 16, 17, 33, 65, 1000].map(|beams| (100, beams)).into_iter();
                    let sizes = sizes.chain([30, 60, 128, 129].map(|inputs| (inputs, 1000)));
                    for (output, (inputs, beams)) in
                        sizes.flat_map(|sizes| outputs.into_iter().map(move |output| (output, sizes)))
                    {
                        let plan = Plan::new(generation, format, precision, output, inputs, beams);
                        let text = plan.ptx().unwrap().get(plan.target()).unwrap().read().unwrap();
                        let start = format!("//@kernel {}(", plan.name());
                        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
                        assert!(line.contains(&format!("shared_bytes={} ", plan.shared_bytes())), "{plan:?}: {line}");
                        assert!(plan.tiles() * plan.tile_beams() >= beams);
                    }
                }
            }
        }
    }
}
