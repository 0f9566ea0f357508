//! The kernels of integers and f16 for compute capability 9.0 (TMA and `wgmma`): which there are, their launches, which
//! is taken.
//!
//! | tile | inputs | blocks of an SM |
//! |---|---|---|
//! | [`Tile::Small`] | up to 64, in one tile | 2 |
//! | [`Tile::Square`] | any, 128 x 128 | 1 |
//! | [`Tile::Whole`] | up to 160, in one tile | 1 |
//!
//! Blocks are persistent: a launch has as many as run at once, and they share out the jobs (tile, channel, part).
//!
//! The copy engine reads rows, and heaps of one or two polarisations, where they lie. It asks for 16-byte multiples:
//! heaps whose spectra do not fill them, and ranges of times that begin in between, are left to the kernels of
//! [`mma`](super::mma).

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{
    Argument, BufferView, BufferViewMut, Device, Kernel, LaunchConfig, PtxSet, PtxTarget, Stream, Swizzle,
    TensorElement, TensorLayout, TensorView, args,
};

use super::mma::{Format, Order};
use super::texts;
use crate::CorrelatorError;

/// Most inputs.
const MOST_INPUTS: usize = fringes_kernel_abi::correlator::MOST_INPUTS as usize;

/// Shape of the tiles that blocks compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Up to 64 inputs, one tile.
    Small,
    /// 128 x 128 inputs.
    Square,
    /// Up to 160 inputs, one tile.
    Whole,
}

impl Tile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Square, Self::Whole];

    /// Name, as in tables of measurements.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "wgmma_small",
            Self::Square => "wgmma_square",
            Self::Whole => "wgmma_whole",
        }
    }

    /// Inputs on a side.
    pub fn side(self) -> usize {
        match self {
            Self::Small => 64,
            Self::Square => 128,
            Self::Whole => 160,
        }
    }

    /// Most inputs that it takes.
    pub fn most_inputs(self) -> usize {
        if self == Self::Square { MOST_INPUTS } else { self.side() }
    }

    /// Blocks of an SM.
    pub fn resident(self) -> usize {
        if self == Self::Small { 2 } else { 1 }
    }

    /// Tiles of a channel.
    pub fn tiles(self, inputs: usize) -> usize {
        let side = inputs.div_ceil(self.side());
        side * (side + 1) / 2
    }

    fn threads(self) -> u32 {
        if self == Self::Small { 256 } else { 384 }
    }

    /// Pairs of inputs whose products are computed for each channel and time, needed or not.
    pub fn computed_pairs(self, inputs: usize) -> usize {
        match self {
            Self::Small => 64 * 64,
            Self::Whole => 64 * (160 + 96 + 32),
            Self::Square => {
                let mut pairs = 0;
                for row in 0..inputs.div_ceil(128) {
                    // A last tile of up to 64 rows is computed by half.
                    let rows = if inputs - 128 * row > 64 { 128 } else { 64 };
                    pairs += row * 128 * rows + if rows == 128 { 64 * (128 + 64) } else { 64 * 64 };
                }
                pairs
            }
        }
    }

    /// How far blocks change places from one round of jobs to the next, so that each gets tiles of all kinds: tuned on
    /// an H200, see `bench_gpu --only correlate_wgmma`.
    fn rotation(self, inputs: usize, blocks: usize) -> usize {
        match self.tiles(inputs) {
            1 => 0,
            // Each block goes through a channel's tiles backwards.
            tiles @ 2..=10 => (2 * tiles - 1 - blocks % tiles) % tiles,
            _ => 1,
        }
    }
}

/// A kernel: of a format, an order and a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WgmmaKernel {
    format: Format,
    order: Order,
    tile: Tile,
}

impl WgmmaKernel {
    /// The kernel, if there is one that takes so many inputs.
    pub fn new(format: Format, order: Order, tile: Tile, inputs: usize) -> Option<Self> {
        (1..=tile.most_inputs()).contains(&inputs).then_some(Self { format, order, tile })
    }

    /// Every kernel that takes so many inputs.
    pub fn all(format: Format, order: Order, inputs: usize) -> impl Iterator<Item = Self> {
        Tile::ALL.into_iter().filter_map(move |tile| Self::new(format, order, tile, inputs))
    }

    /// The kernel that is taken for so many inputs (1 to 2^15), unless measurements on the device say another.
    pub fn choose(format: Format, order: Order, inputs: usize) -> Self {
        let tile = match inputs {
            0..=64 => Tile::Small,
            129..=160 => Tile::Whole,
            _ => Tile::Square,
        };
        Self { format, order, tile }
    }

    /// Format of the samples.
    pub fn format(self) -> Format {
        self.format
    }

    /// Order of the samples.
    pub fn order(self) -> Order {
        self.order
    }

    /// Shape of its tiles.
    pub fn tile(self) -> Tile {
        self.tile
    }

    /// Name of the entry that overwrites sums, or of the one that `adds` to them. Heaps of one polarisation are read by
    /// the kernels of rows.
    pub fn name(self, adds: bool) -> String {
        let tile = match self.tile {
            Tile::Small => "small_",
            Tile::Square => "",
            Tile::Whole => "whole_",
        };
        let order = if self.dual() { "heaps_" } else { "" };
        format!("correlate_{tile}{order}{}{}", self.format.name(), if adds { "_add" } else { "" })
    }

    /// Whether this device runs it.
    pub fn runs_on(device: &Device) -> bool {
        PtxTarget::Sm90a.runs_on(device.info().compute_capability)
    }

    /// Loads the entry that overwrites sums, or the one that `adds` to them.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says; on devices that do not run
    /// it, that.
    pub fn load(self, device: &Device, adds: bool) -> Result<Kernel, CorrelatorError> {
        Ok(device.load_target(self.ptx(), PtxTarget::Sm90a)?.kernel(&self.name(adds))?)
    }

    /// Text of the kernels of its format and order.
    fn ptx(self) -> &'static PtxSet {
        match (self.dual(), self.format) {
            (false, Format::I4) => &texts::CORRELATOR_WGMMA_I4,
            (false, Format::I8) => &texts::CORRELATOR_WGMMA_I8,
            (false, Format::F16) => &texts::CORRELATOR_WGMMA_F16,
            (true, Format::I4) => &texts::CORRELATOR_WGMMA_HEAPS_I4,
            (true, Format::I8) => &texts::CORRELATOR_WGMMA_HEAPS_I8,
            (true, Format::F16) => &texts::CORRELATOR_WGMMA_HEAPS_F16,
        }
    }

    fn dual(self) -> bool {
        self.order == Order::DualHeaps
    }

    /// Bytes of a row of inputs that one copy has.
    fn inner(self) -> usize {
        if self.format == Format::I4 && !self.dual() { 64 } else { 128 }
    }

    /// Bytes of a row of inputs that a step sums.
    fn step_bytes(self) -> usize {
        if self.dual() && self.format != Format::I4 { 256 } else { self.inner() }
    }

    /// Inputs whose samples a row has.
    fn pols(self) -> usize {
        if self.dual() { 2 } else { 1 }
    }

    /// Shared memory: stages of one or two sides, `B` where it is made, and three barriers each.
    fn shared_bytes(self) -> usize {
        let (side, sides, budget) = match self.tile {
            Tile::Small => (64, 1, 110_592),
            Tile::Square => (128, 2, 196_608),
            Tile::Whole => (160, 1, 204_800),
        };
        let made = if self.dual() || self.format == Format::I4 { 128 * side } else { 0 };
        let stage = sides * side / self.pols() * self.step_bytes() + made;
        budget / stage * (stage + 24)
    }
}

/// What a launch correlates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WgmmaJob {
    /// Channels.
    pub channels: usize,
    /// Inputs.
    pub inputs: usize,
    /// Where the samples are.
    pub samples: WgmmaSamples,
    /// Parts of the time, each with sums of its own: part `p` of `n` takes steps `p s / n` to `(p + 1) s / n` of `s`.
    pub parts: usize,
}

/// Where samples are, and which of them are correlated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WgmmaSamples {
    /// Rows `[channel][block][input]` of 128 bytes.
    Rows {
        /// Blocks of time.
        blocks: usize,
        /// Times, the first of which begins at a multiple of 16 bytes of its row.
        times: std::ops::Range<usize>,
    },
    /// Heaps `[batch][antenna][channel][spectrum][pol]`; the order says how many polarisations.
    Heaps {
        /// Batches that there are.
        batches: usize,
        /// Spectra of a heap, whose bytes are a multiple of 16.
        spectra: usize,
        /// Batches that are correlated.
        range: std::ops::Range<usize>,
    },
}

/// The steps of a job as the kernels count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steps {
    first_row: usize,
    head: usize,
    head_chunks: usize,
    chunks: usize,
    last_row: usize,
    steps: usize,
    /// Bytes of the last row.
    last_bytes: usize,
}

impl WgmmaJob {
    /// Whether a kernel can read these samples: see the [module](self).
    pub fn fits(&self, kernel: WgmmaKernel) -> bool {
        let bytes = kernel.format.bytes();
        kernel.tile.most_inputs() >= self.inputs
            && match &self.samples {
                WgmmaSamples::Rows { times, .. } => {
                    kernel.order == Order::Rows && (times.start * bytes).is_multiple_of(16)
                }
                WgmmaSamples::Heaps { spectra, .. } => {
                    kernel.order != Order::Rows
                        && self.inputs.is_multiple_of(kernel.pols())
                        && (spectra * kernel.pols() * bytes).is_multiple_of(16)
                }
            }
    }

    /// Steps that the parts divide.
    pub fn steps(&self, kernel: WgmmaKernel) -> usize {
        self.counted(kernel).steps
    }

    /// Times that are correlated.
    pub fn times(&self) -> usize {
        match &self.samples {
            WgmmaSamples::Rows { times, .. } => times.len(),
            WgmmaSamples::Heaps { spectra, range, .. } => range.len() * spectra,
        }
    }

    fn counted(&self, kernel: WgmmaKernel) -> Steps {
        let (bytes, step) = (kernel.format.bytes(), kernel.step_bytes());
        match &self.samples {
            WgmmaSamples::Rows { times, .. } => {
                let row = kernel.format.row_times();
                let (first_row, last_row) = (times.start / row, times.end.saturating_sub(1) / row);
                let head = times.start % row * bytes;
                let last_bytes = (times.end - last_row * row) * bytes;
                let of = |bytes: usize| bytes.div_ceil(step);
                let (head_chunks, chunks) = match last_row == first_row {
                    true => (of(last_bytes.saturating_sub(head)), 128 / step),
                    false => (of(128 - head), 128 / step),
                };
                let rest = match last_row.saturating_sub(first_row) {
                    0 => 0,
                    rows => (rows - 1) * chunks + of(last_bytes),
                };
                Steps { first_row, head, head_chunks, chunks, last_row, steps: head_chunks + rest, last_bytes }
            }
            WgmmaSamples::Heaps { spectra, range, .. } => {
                let chunks = (spectra * kernel.pols() * bytes).div_ceil(step);
                let steps = range.len() * chunks;
                let last_row = u32::MAX as usize;
                Steps {
                    first_row: range.start,
                    head: 0,
                    head_chunks: chunks,
                    chunks,
                    last_row,
                    steps,
                    last_bytes: spectra * kernel.pols() * bytes,
                }
            }
        }
    }

    /// The samples as the copy engine sees them: bytes, rows of inputs, channels, blocks of time or batches.
    fn layout(&self, kernel: WgmmaKernel, bytes: usize) -> TensorLayout {
        let (channels, rows) = (self.channels as u64, (self.inputs / kernel.pols()) as u64);
        let (outer, strides) = match self.samples {
            WgmmaSamples::Rows { blocks, .. } => {
                let blocks = blocks as u64;
                (blocks, vec![128, 128 * rows * blocks, 128 * rows])
            }
            WgmmaSamples::Heaps { batches, spectra, .. } => {
                let heap = (spectra * kernel.pols() * kernel.format.bytes()) as u64;
                (batches as u64, vec![heap * channels, heap, heap * channels * rows])
            }
        };
        let inner = kernel.inner() as u32;
        let block = vec![inner, (kernel.tile.side() / kernel.pols()) as u32, 1, 1];
        TensorLayout {
            dimensions: vec![bytes as u64, rows, channels, outer],
            strides_bytes: strides,
            block,
            ..TensorLayout::packed(TensorElement::U8, &[16], &[16])
        }
        .with_swizzle(if inner == 64 { Swizzle::Bytes64 } else { Swizzle::Bytes128 })
    }

    /// Queues the kernel `entry`, which [`WgmmaKernel::load`] gave, on samples whose length is checked, to overwrite or
    /// add to `sums`.
    ///
    /// # Errors
    /// [`CorrelatorError::DeviceShape`] for what [`WgmmaJob::fits`] says no to, for more parts than steps and for sizes
    /// that no launch can have; [`DeviceError::Length`](fringes_backend::DeviceError::Length) and
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) for buffers that do not fit;
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn launch<T: fringes_gpu::KernelElement>(
        &self,
        stream: &Stream,
        kernel: WgmmaKernel,
        entry: &Kernel,
        samples: BufferView<'_, u8>,
        sums: BufferViewMut<'_, T>,
    ) -> Result<(), CorrelatorError> {
        let length = sums.len();
        self.queue(stream, kernel, entry, (samples, None), sums, length)
    }

    /// As [`WgmmaJob::launch`], of the batches of heaps that a list on the device has at the places of the job's range.
    /// A batch that the heaps do not have counts as zeros.
    ///
    /// # Errors
    /// As there; [`DeviceError::Length`](fringes_backend::DeviceError::Length) for a list that is shorter than the
    /// range.
    pub fn launch_listed<T: fringes_gpu::KernelElement>(
        &self,
        stream: &Stream,
        kernel: WgmmaKernel,
        entry: &Kernel,
        (samples, list): (BufferView<'_, u8>, BufferView<'_, u32>),
        sums: BufferViewMut<'_, T>,
    ) -> Result<(), CorrelatorError> {
        let length = sums.len();
        self.queue(stream, kernel, entry, (samples, Some(list)), sums, length)
    }

    /// Multiplies as [`WgmmaJob::launch`] does and writes nothing: what the products alone take. `sums` are not
    /// touched.
    ///
    /// # Errors
    /// As [`WgmmaJob::launch`], and [`CorrelatorError::Adds`] for a kernel that adds to its sums.
    pub fn multiply<T: fringes_gpu::KernelElement>(
        &self,
        stream: &Stream,
        kernel: WgmmaKernel,
        entry: &Kernel,
        samples: BufferView<'_, u8>,
        sums: BufferViewMut<'_, T>,
    ) -> Result<(), CorrelatorError> {
        overwrites(&entry.declaration().name)?;
        self.queue(stream, kernel, entry, (samples, None), sums.slice(..0)?, usize::MAX)
    }

    /// Queues the kernel; `length` is what counts as the number of sums.
    fn queue<T: fringes_gpu::KernelElement>(
        &self,
        stream: &Stream,
        kernel: WgmmaKernel,
        entry: &Kernel,
        (samples, list): (BufferView<'_, u8>, Option<BufferView<'_, u32>>),
        sums: BufferViewMut<'_, T>,
        length: usize,
    ) -> Result<(), CorrelatorError> {
        let shape =
            || CorrelatorError::DeviceShape { channels: self.channels, times: self.times(), inputs: self.inputs };
        let steps = self.counted(kernel);
        if !self.fits(kernel) || !(1..=steps.steps).contains(&self.parts) || self.inputs == 0 || self.channels == 0 {
            return Err(shape());
        }
        let product =
            |sizes: &[usize]| sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size)).ok_or_else(shape);
        let matrices = product(&[self.channels, self.parts])?;
        let expected = product(&[matrices, self.inputs * (self.inputs + 1) / 2])?;
        let jobs = product(&[matrices, kernel.tile.tiles(self.inputs)])?;
        if jobs >= 1 << 31 || product(&[steps.steps, self.parts])? >= 1 << 32 {
            return Err(shape());
        }
        if length < expected {
            return Err(CorrelatorError::Device(DeviceError::Length { buffer: "sums", expected, actual: length }));
        }
        let needed = match &self.samples {
            WgmmaSamples::Rows { blocks, times } => {
                if times.end > blocks * kernel.format.row_times() {
                    let end = times.end;
                    return Err(CorrelatorError::TimeRange {
                        start: times.start,
                        end,
                        times: blocks * kernel.format.row_times(),
                    });
                }
                product(&[self.channels, *blocks, self.inputs, 128])?
            }
            WgmmaSamples::Heaps { batches, spectra, range } => {
                if range.end > *batches {
                    return Err(CorrelatorError::BatchRange { start: range.start, end: range.end, batches: *batches });
                }
                if let Some(list) = list {
                    list.expect("list of batches", range.end, size_of::<u32>() as u64)?;
                }
                product(&[*batches, self.inputs, self.channels, *spectra, kernel.format.bytes()])?
            }
        };
        samples.expect("samples", needed, 16)?;
        let all_bytes = if kernel.order == Order::Rows { 128 } else { steps.last_bytes };
        let map = TensorView::tiled(samples, &self.layout(kernel, all_bytes))?;
        let last = TensorView::tiled(samples, &self.layout(kernel, steps.last_bytes))?;
        let places = stream.device().info().multiprocessors as usize * kernel.tile.resident();
        let blocks = jobs.min(places.max(1));
        let config = LaunchConfig::new([blocks as u32, 1, 1], [kernel.tile.threads(), 1, 1])
            .with_shared_bytes(kernel.shared_bytes() as u32);
        let mut numbers = [0u32; 10];
        let rotation = kernel.tile.rotation(self.inputs, blocks);
        let given = [
            self.channels,
            self.inputs,
            steps.first_row,
            steps.head,
            steps.head_chunks,
            steps.chunks,
            steps.last_row,
            steps.steps,
            self.parts,
            rotation,
        ];
        for (number, given) in numbers.iter_mut().zip(given) {
            *number = u32::try_from(given).map_err(|_| shape())?;
        }
        // None: batches follow each other.
        let list = list.map_or_else(|| samples.slice(..0)?.cast(), Ok)?;
        let mut arguments = args![&map, &last, list, sums].to_vec();
        arguments.extend(numbers.map(Argument::from));
        Ok(entry.launch_safe(stream, &config, &arguments)?)
    }
}

/// Refuses entries that add to their sums, which need them.
fn overwrites(entry: &str) -> Result<(), CorrelatorError> {
    if entry.ends_with("_add") { Err(CorrelatorError::Adds { kernel: entry.into() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times: std::ops::Range<usize>) -> WgmmaJob {
        WgmmaJob { channels: 2, inputs: 200, samples: WgmmaSamples::Rows { blocks: 16, times }, parts: 1 }
    }

    fn kernel(format: Format, order: Order) -> WgmmaKernel {
        WgmmaKernel { format, order, tile: Tile::Square }
    }

    #[test]
    #[cfg_attr(not(feature = "gpu"), ignore = "reads the kernels' PTX")]
    fn names_and_shared_memory_are_those_of_the_entries() {
        for format in Format::ALL {
            for order in [Order::Rows, Order::DualHeaps] {
                let set = kernel(format, order).ptx();
                let text = set.get(PtxTarget::Sm90a).unwrap().read().unwrap();
                let declared: Vec<_> = text.lines().filter(|line| line.contains("//@kernel")).collect();
                assert_eq!(declared.len(), 6);
                for tile in Tile::ALL {
                    for adds in [false, true] {
                        let kernel = WgmmaKernel { format, order, tile };
                        let start = format!("//@kernel {}(", kernel.name(adds));
                        let line = declared.iter().find(|line| line.contains(&start)).unwrap();
                        assert!(line.contains(&format!("threads={} ", tile.threads())), "{line}");
                        assert!(line.contains(&format!("shared_bytes={} ", kernel.shared_bytes())), "{line}");
                        assert!(line.contains(&format!("min_blocks={} ", tile.resident())), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_kernels_that_overwrite_multiply_without_output() {
        for format in Format::ALL {
            for order in [Order::Rows, Order::DualHeaps, Order::SingleHeaps] {
                for tile in Tile::ALL {
                    let kernel = WgmmaKernel { format, order, tile };
                    assert!(overwrites(&kernel.name(false)).is_ok(), "{kernel:?}");
                    match overwrites(&kernel.name(true)) {
                        Err(CorrelatorError::Adds { kernel: refused }) => assert_eq!(refused, kernel.name(true)),
                        other => panic!("{kernel:?}: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn steps_cover_the_times_once() {
        for format in Format::ALL {
            let kernel = kernel(format, Order::Rows);
            let (row, step) = (format.row_times(), kernel.step_bytes() / format.bytes());
            let head = 16 / format.bytes();
            for start in (0..2 * row).step_by(head) {
                for end in start + 1..3 * row + 2 {
                    let counted = rows(start..end).counted(kernel);
                    // Step by step, as the kernel goes through them.
                    let (mut at, mut steps) = (start, 0);
                    while at < end {
                        at = (at + step).min(at / row * row + row);
                        steps += 1;
                    }
                    assert_eq!(counted.steps, steps, "{format:?} {start}..{end}");
                    assert_eq!(counted.last_row * row + counted.last_bytes / format.bytes(), end);
                    assert_eq!(counted.first_row * row + counted.head / format.bytes(), start);
                }
            }
        }
    }

    #[test]
    fn what_the_copy_engine_cannot_read_does_not_fit() {
        assert!(rows(8..100).fits(kernel(Format::I8, Order::Rows)));
        assert!(!rows(4..100).fits(kernel(Format::I8, Order::Rows)));
        assert!(rows(4..100).fits(kernel(Format::F16, Order::Rows)));
        assert!(!rows(8..100).fits(kernel(Format::I4, Order::Rows)));
        assert!(!rows(8..100).fits(kernel(Format::I8, Order::DualHeaps)));
        let heaps =
            |spectra| WgmmaJob { samples: WgmmaSamples::Heaps { batches: 3, spectra, range: 0..3 }, ..rows(0..1) };
        assert!(heaps(256).fits(kernel(Format::I4, Order::DualHeaps)));
        assert!(!heaps(12).fits(kernel(Format::I4, Order::DualHeaps)));
        assert!(heaps(12).fits(kernel(Format::I8, Order::DualHeaps)));
        assert!(!heaps(12).fits(kernel(Format::I8, Order::SingleHeaps)));
    }

    #[test]
    fn computed_pairs_are_those_of_the_groups() {
        assert_eq!(Tile::Square.computed_pairs(128), 64 * 192);
        assert_eq!(Tile::Square.computed_pairs(256), 128 * 128 + 2 * 64 * 192);
        assert_eq!(Tile::Square.computed_pairs(130), 64 * 192 + 128 * 64 + 64 * 64);
    }

    #[test]
    fn rotation_gives_every_block_all_kinds_of_tiles() {
        for inputs in [129, 256, 384, 512] {
            let (tiles, rotation) = (Tile::Square.tiles(inputs), Tile::Square.rotation(inputs, 132));
            assert_eq!((132 + rotation) % tiles, tiles - 1);
        }
    }
}
