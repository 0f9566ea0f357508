//! The kernels of 32-bit floats: which there are, their launches, and what they compute.
//!
//! Rows are `[channel][time / 16][input][16]` complex f32, sums `[part][channel][baseline]`: f32 pairs that are
//! overwritten, or f64 pairs that are added to.
//!
//! | variant | products | runs on |
//! |---|---|---|
//! | [`Variant::Plain`] | single precision, `fma` | every device |
//! | [`Variant::Mma`] | three times tf32, `mma.sync` | every device |
//! | [`Variant::Wgmma`] | three times tf32, `wgmma` | compute capability 9.0 |
//!
//! # Precision
//! For noise of `T` times, in units of `2^-24 sqrt(V_aa V_bb)`, with `B = ceil(T / 1024)` (without the `+ B` for f64
//! sums):
//!
//! | variant | standard deviation at most | bias of autocorrelations at most |
//! |---|---|---|
//! | [`Variant::Plain`] | `sqrt(2 min(T, 1024) / B + B) / 3` | none |
//! | [`Variant::Mma`] | `sqrt(min(T, 1024) / 4 / B + B) / 3` | 40, of which about a twentieth is expected |
//! | [`Variant::Wgmma`] | `sqrt(min(T, 1024) / 16 / B + B) / 3` | 80, of which about a sixteenth is expected |
//!
//! All hold `|dV_ab| <= 1e-6 sqrt(V_aa V_bb)` at `T = 65536`. Bounds for any voltages are derived beside the kernels.

use fringes_backend::{DeviceError, Expect};
use fringes_gpu::{
    Argument, BufferView, BufferViewMut, Device, GpuError, Kernel, LaunchConfig, PtxTarget, Stream, args,
};
use fringes_kernel_abi::correlator::float as abi;
use fringes_types::{Complex, ROW_BYTES};

use super::texts::CORRELATOR_FLOAT as PTX;
use crate::CorrelatorError;

/// Complex samples of a row.
pub const FLOAT_ROW_TIMES: usize = abi::ROW_TIMES as usize;

/// Times that kernels sum in registers before they add to what lies in global memory.
const FLUSH_TIMES: usize = abi::FLUSH_TIMES as usize;

/// Unit roundoff of f32.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// Most blocks in the second and the third dimension of a grid.
const GRID_YZ: usize = 65535;

/// Most inputs and most accumulators (channels times parts) of a launch.
const MOST: usize = 1 << 24;

/// A kind of kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Products and sums in single precision; tiles of 64 x 64 inputs.
    Plain,
    /// Three products in tf32 on the tensor cores, `mma.sync`; tiles of 64 x 64 inputs.
    Mma,
    /// Three products in tf32 on the tensor cores, `wgmma`; tiles of 128 x 64 inputs.
    Wgmma,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Mma, Self::Wgmma];

    /// Name of the kernel that overwrites sums.
    pub fn kernel(self) -> &'static str {
        match self {
            Self::Plain => "correlate_f32",
            Self::Mma => "correlate_f32_tf32",
            Self::Wgmma => "correlate_f32_tf32_wgmma",
        }
    }

    /// Name of the kernel that adds to sums.
    pub fn adding_kernel(self) -> &'static str {
        match self {
            Self::Plain => "correlate_f32_add",
            Self::Mma => "correlate_f32_tf32_add",
            Self::Wgmma => "correlate_f32_tf32_wgmma_add",
        }
    }

    /// Whether the text for this target has it.
    pub fn is_in(self, target: PtxTarget) -> bool {
        self != Self::Wgmma || target == PtxTarget::Sm90a
    }

    /// Threads of a block, its shared memory, and blocks that an SM is meant to hold.
    fn block(self) -> (u32, u32, usize) {
        match self {
            Self::Plain | Self::Mma => (abi::THREADS, abi::SHARED_BYTES, 4),
            Self::Wgmma => (abi::WGMMA_THREADS, abi::WGMMA_SHARED_BYTES, 1),
        }
    }

    /// Blocks of a channel: tiles that are not wholly above the diagonal.
    pub fn tiles(self, inputs: usize) -> usize {
        let side = inputs.div_ceil(abi::TILE as usize);
        match self {
            Self::Plain | Self::Mma => side * (side + 1) / 2,
            Self::Wgmma => abi::wgmma_tiles(inputs as u64) as usize,
        }
    }

    /// The launch for so many inputs and accumulators (channels times parts).
    ///
    /// # Errors
    /// [`CorrelatorError::DeviceShape`] above 2^24 of either.
    pub fn launch(self, inputs: usize, accumulators: usize) -> Result<LaunchConfig, CorrelatorError> {
        if inputs > 1 << 15 || accumulators > MOST {
            return Err(CorrelatorError::DeviceShape { channels: accumulators, times: 1, inputs });
        }
        let (threads, shared_bytes, _) = self.block();
        let y = accumulators.clamp(1, GRID_YZ);
        let grid = [self.tiles(inputs).max(1) as u32, y as u32, accumulators.div_ceil(y).max(1) as u32];
        Ok(LaunchConfig::new(grid, [threads, 1, 1]).with_shared_bytes(shared_bytes))
    }

    /// Parts that the times are divided over, so that blocks fill so many SMs; each has at least 256 times.
    pub fn parts(self, multiprocessors: usize, channels: usize, times: usize, inputs: usize) -> usize {
        let (_, _, resident) = self.block();
        let blocks = (self.tiles(inputs) * channels).max(1);
        let most = (times / (16 * FLOAT_ROW_TIMES)).max(1);
        (multiprocessors * resident).div_ceil(blocks).clamp(1, most)
    }

    /// Pairs of inputs whose products are computed for each channel and time, needed or not.
    pub fn computed_pairs(self, inputs: usize) -> usize {
        let side = inputs.div_ceil(64);
        let below = side * side.saturating_sub(1) / 2;
        match self {
            // A thread has 8 x 8 pairs, 8 apart in both directions: on the diagonal it computes 36 of them.
            Self::Plain => below * 64 * 64 + side * 36 * 64,
            // The upper right quarter is left out.
            Self::Mma => below * 64 * 64 + side * 48 * 64,
            Self::Wgmma => (below + side) * 64 * 64,
        }
    }
}

/// The sizes of a correlation of rows of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatJob {
    /// Channels.
    pub channels: usize,
    /// Inputs.
    pub inputs: usize,
    /// Rows of time that each channel has, of 16 times each.
    pub blocks: usize,
    /// The first time that is summed.
    pub first_time: usize,
    /// Times that are summed.
    pub times: usize,
    /// Accumulators that the times are divided over, whole rows each.
    pub parts: usize,
}

impl FloatJob {
    /// All of so many times, in one part.
    pub fn new(channels: usize, times: usize, inputs: usize) -> Self {
        Self { channels, inputs, blocks: times.div_ceil(FLOAT_ROW_TIMES), first_time: 0, times, parts: 1 }
    }

    /// Products of inputs: the packed lower triangle.
    pub fn baselines(&self) -> usize {
        self.inputs * (self.inputs + 1) / 2
    }

    /// Bytes of the rows.
    pub fn row_bytes(&self) -> usize {
        self.channels * self.blocks * self.inputs * ROW_BYTES
    }

    /// Sums of all parts.
    pub fn visibilities(&self) -> usize {
        self.parts * self.channels * self.baselines()
    }

    /// Operations that the products which are needed take: 8 each.
    pub fn operations(&self) -> f64 {
        8.0 * (self.channels * self.baselines()) as f64 * self.times as f64
    }

    /// Operations that a variant computes.
    pub fn computed(&self, variant: Variant) -> f64 {
        8.0 * (self.channels * variant.computed_pairs(self.inputs)) as f64 * self.times as f64
    }

    /// Standard deviation of sums of noise, relative to `sqrt(V_aa V_bb)`, at most: of f64 sums if `adding`, else of
    /// f32 ones.
    pub fn deviation(&self, variant: Variant, adding: bool) -> f64 {
        let flushes = self.times.div_ceil(FLUSH_TIMES).max(1) as f64;
        let times = self.times.min(FLUSH_TIMES) as f64;
        let roundings = match variant {
            Variant::Plain => 2.0 * times,
            Variant::Mma => (times / 4.0).ceil(),
            Variant::Wgmma => (times / 16.0).ceil(),
        };
        UNIT / 3.0 * (roundings / flushes + if adding { 0.0 } else { flushes }).sqrt()
    }

    fn check(&self, rows: &BufferView<'_, u8>, sums: usize) -> Result<[u32; 6], CorrelatorError> {
        let times = self.blocks * FLOAT_ROW_TIMES;
        let end = self.first_time.saturating_add(self.times);
        if end > times || times > u32::MAX as usize {
            return Err(CorrelatorError::TimeRange { start: self.first_time, end, times });
        }
        if self.parts == 0 || self.channels > MOST || self.inputs > 1 << 15 {
            let (channels, inputs) = (self.channels, self.inputs);
            return Err(CorrelatorError::DeviceShape { channels, times: self.times, inputs });
        }
        rows.expect("rows", self.row_bytes(), 16)?;
        if sums < self.visibilities() {
            let (buffer, expected, actual) = ("sums", self.visibilities(), sums);
            return Err(CorrelatorError::Device(DeviceError::Length { buffer, expected, actual }));
        }
        let numbers = [self.channels, self.inputs, self.blocks, self.first_time, self.times, self.parts];
        Ok(numbers.map(|number| number as u32))
    }
}

/// The kernels of floats on one device. Cheap to clone and to load again: the device keeps what is compiled.
#[derive(Debug, Clone)]
pub struct FloatKernels {
    target: PtxTarget,
    /// Overwriting and adding, in the order of [`Variant::ALL`].
    kernels: Vec<[Kernel; 2]>,
    bias: Option<Kernel>,
}

impl FloatKernels {
    /// Loads the kernels of the device's best target.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says.
    pub fn load(device: &Device) -> Result<Self, CorrelatorError> {
        Self::load_target(device, PTX.choose(device.info().compute_capability).0)
    }

    /// Loads the kernels of a target.
    ///
    /// # Errors
    /// As [`FloatKernels::load`].
    pub fn load_target(device: &Device, target: PtxTarget) -> Result<Self, CorrelatorError> {
        let module = device.load_target(&PTX, target)?;
        let pair = |variant: Variant| Ok([module.kernel(variant.kernel())?, module.kernel(variant.adding_kernel())?]);
        let kernels =
            Variant::ALL.into_iter().filter(|each| each.is_in(target)).map(pair).collect::<Result<_, GpuError>>()?;
        let bias = match target {
            PtxTarget::Sm90a => Some(module.kernel("correlate_f32_tf32_wgmma_bias")?),
            _ => None,
        };
        Ok(Self { target, kernels, bias })
    }

    /// The target whose text is loaded.
    pub fn target(&self) -> PtxTarget {
        self.target
    }

    /// The fastest variant in three times tf32.
    pub fn tensor(&self) -> Variant {
        if Variant::Wgmma.is_in(self.target) { Variant::Wgmma } else { Variant::Mma }
    }

    fn kernel(&self, variant: Variant, adding: bool) -> Result<&Kernel, CorrelatorError> {
        let index = Variant::ALL.iter().position(|each| *each == variant);
        let kernel = index.and_then(|index| self.kernels.get(index)).map(|pair| &pair[usize::from(adding)]);
        let missing = || {
            let name = if adding { variant.adding_kernel() } else { variant.kernel() };
            let declared = self.kernels.iter().flatten().map(|kernel| kernel.declaration().name.clone()).collect();
            GpuError::NoKernel { name: name.into(), declared }
        };
        Ok(kernel.ok_or_else(missing)?)
    }

    /// Correlates rows into sums `[part][channel][baseline]`, overwriting them.
    ///
    /// # Errors
    /// [`CorrelatorError::TimeRange`] for times that the rows do not have, [`CorrelatorError::DeviceShape`] for sizes
    /// that no launch can have, [`DeviceError::Length`](fringes_backend::DeviceError::Length) and
    /// [`DeviceError::Alignment`](fringes_backend::DeviceError::Alignment) for buffers that do not fit,
    /// [`DeviceError::Gpu`](fringes_backend::DeviceError::Gpu) with what the driver says (a variant that the target
    /// does not have among it).
    pub fn correlate(
        &self,
        stream: &Stream,
        variant: Variant,
        job: &FloatJob,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<f32>>,
    ) -> Result<(), CorrelatorError> {
        let [channels, inputs, blocks, first, times, parts] = job.check(&rows, sums.len())?;
        sums.expect("sums", job.visibilities(), 8)?;
        let sums = sums.reborrow().cast::<[f32; 2]>()?;
        let arguments = args![rows, sums, channels, inputs, blocks, first, times, parts];
        launch(self.kernel(variant, false)?, stream, variant, job, arguments)
    }

    /// Multiplies as [`FloatKernels::correlate`] does and writes nothing: what the products alone take. `sums` are not
    /// touched.
    ///
    /// # Errors
    /// As [`FloatKernels::correlate`].
    pub fn multiply(
        &self,
        stream: &Stream,
        variant: Variant,
        job: &FloatJob,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<f32>>,
    ) -> Result<(), CorrelatorError> {
        let [channels, inputs, blocks, first, times, parts] = job.check(&rows, usize::MAX)?;
        let sums = sums.reborrow().slice(..0)?.cast::<[f32; 2]>()?;
        let arguments = args![rows, sums, channels, inputs, blocks, first, times, parts];
        launch(self.kernel(variant, false)?, stream, variant, job, arguments)
    }

    /// Correlates rows and adds to sums `[part][channel][baseline]`.
    ///
    /// # Errors
    /// As [`FloatKernels::correlate`].
    pub fn accumulate(
        &self,
        stream: &Stream,
        variant: Variant,
        job: &FloatJob,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<f64>>,
    ) -> Result<(), CorrelatorError> {
        let [channels, inputs, blocks, first, times, parts] = job.check(&rows, sums.len())?;
        sums.expect("sums", job.visibilities(), 16)?;
        let sums = sums.reborrow().cast::<[f64; 2]>()?;
        let arguments = args![rows, sums, channels, inputs, blocks, first, times, parts];
        launch(self.kernel(variant, true)?, stream, variant, job, arguments)
    }

    /// As [`FloatKernels::accumulate`] with [`Variant::Wgmma`], but sums of the tensor cores are promoted every
    /// `interval` rows of time instead of every row: to measure the bias of their sums.
    ///
    /// # Errors
    /// As [`FloatKernels::correlate`].
    pub fn accumulate_biased(
        &self,
        stream: &Stream,
        interval: u32,
        job: &FloatJob,
        rows: BufferView<'_, u8>,
        sums: &mut BufferViewMut<'_, Complex<f64>>,
    ) -> Result<(), CorrelatorError> {
        let [channels, inputs, blocks, first, times, parts] = job.check(&rows, sums.len())?;
        sums.expect("sums", job.visibilities(), 16)?;
        let sums = sums.reborrow().cast::<[f64; 2]>()?;
        let missing = || GpuError::NoKernel { name: "correlate_f32_tf32_wgmma_bias".into(), declared: Vec::new() };
        let kernel = self.bias.as_ref().ok_or_else(missing)?;
        let arguments = args![rows, sums, channels, inputs, blocks, first, times, parts, interval.max(1)];
        launch(kernel, stream, Variant::Wgmma, job, arguments)
    }
}

fn launch(
    kernel: &Kernel,
    stream: &Stream,
    variant: Variant,
    job: &FloatJob,
    arguments: &[Argument<'_>],
) -> Result<(), CorrelatorError> {
    let config = variant.launch(job.inputs, job.channels * job.parts)?;
    Ok(kernel.launch_safe(stream, &config, arguments)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_have_a_block_for_each_tile_and_accumulator() {
        for (inputs, square, tall) in [(1, 1, 1), (64, 1, 1), (65, 3, 2), (128, 3, 2), (129, 6, 5), (1024, 136, 72)] {
            assert_eq!(Variant::Plain.tiles(inputs), square);
            assert_eq!(Variant::Wgmma.tiles(inputs), tall);
        }
        let config = Variant::Plain.launch(100, 70_000).unwrap();
        assert_eq!(config.grid, [3, 65535, 2]);
        assert!(Variant::Mma.launch(1, MOST + 1).is_err());
    }

    #[test]
    fn few_channels_are_divided_until_they_fill_the_device() {
        assert_eq!(Variant::Plain.parts(132, 1, 4096, 128), 16); // 256 times each
        assert_eq!(Variant::Plain.parts(132, 64, 4096, 128), 3);
        assert_eq!(Variant::Plain.parts(132, 128, 4096, 1024), 1);
        assert_eq!(Variant::Plain.parts(132, 1, 1, 1), 1);
    }

    #[test]
    fn computed_pairs_are_those_needed_and_little_more() {
        for variant in Variant::ALL {
            for inputs in [1, 63, 64, 65, 200, 1024, 2048] {
                assert!(variant.computed_pairs(inputs) >= inputs * (inputs + 1) / 2);
            }
        }
        let useful = |variant: Variant| 524_800.0 / variant.computed_pairs(1024) as f64;
        assert!(useful(Variant::Plain) > 0.99 && useful(Variant::Mma) > 0.97 && useful(Variant::Wgmma) > 0.94);
    }
}
