//! A plan's kernels on a device.

use std::sync::{Mutex, PoisonError};

use fringes_gpu::{Buffer, Device, Kernel, KernelElement, Stream, args};
use fringes_types::ChunkFormat;
use num_complex::Complex64;

use super::first::{First, MOST_TOLD};
use super::format::Numbers;
use super::gain_table::GainTable;
use super::launches::LaunchBytes;
use super::passes::{self, LANES, Workspace, no_kernel};
use super::shape::{CHANNELS, JOBS, Shape};
use super::{FrameFormat, Job, JobTable, Place, Sources, SpectraLaunch, Target, Targets, tables, texts};
use crate::{Channelizer, ChannelizerError, Precision};

/// A plan's kernels, weights and tables on one device: for 64 to 65536 channels (powers of two), with up to 64 taps,
/// of samples of any format.
///
/// The filter is on tensor cores from 256 channels on where spectra are critically sampled, of up to 32 taps (up to 64
/// of 8 and 10 bits), and samples packed with 8, 10, 12 or 16 bits, or i8, i16, f16 or f32, real or complex. Else it is
/// made of multiply-adds; oversampling is then by 2, 4, 8, ... 64 to some number, as 32/27, as far as samples fit into
/// a block's shared memory.
///
/// A launch is queued on a stream and returns at once; nothing is allocated. Between the kernels points are in two
/// workspaces of at most [`LaunchBytes`] that belong to the object, so its launches run one after the other: one on
/// another stream than the last waits for what is queued there. Of a captured graph, only work on the stream that it is
/// launched on is ordered with it.
#[derive(Debug)]
pub struct TwoPassKernels {
    shape: Shape,
    first_kernel: First,
    columns: Kernel,
    /// The pass between the two, if there is one, and its table.
    between: Option<(Kernel, Buffer<[f32; 4]>)>,
    rows: Kernel,
    inputs: usize,
    taps: u32,
    weights: Buffer<[u32; 4]>,
    tails: Buffer<[u32; 2]>,
    first: Buffer<[f32; 4]>,
    second: Buffer<[f32; 4]>,
    last: Buffer<[f32; 2]>,
    roots: Buffer<[f32; 2]>,
    gains: Mutex<GainTable>,
    gain_scale: f64,
    workspace: Mutex<Workspace<[f32; 4]>>,
}

impl TwoPassKernels {
    /// Loads the kernels for samples of a format and sends the tables, and waits for that; the first time on
    /// a machine the driver compiles the kernels. `gain` is called with input and channel.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what the kernels ask for,
    /// [`ChannelizerError::SampleKind`] for complex samples of a plan for real ones or the reverse,
    /// [`ChannelizerError::Coefficient`] for a gain that is no finite f32, or becomes none by the scale of the weights,
    /// [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for 2^32 gains, [`ChannelizerError::Types`]
    /// with what the driver says.
    pub fn load(
        device: &Device,
        plan: &Channelizer,
        samples: ChunkFormat,
        format: FrameFormat,
        inputs: usize,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        plan.check_kind(samples.is_complex())?;
        let numbers = Numbers::of(samples)?;
        let (shape, first_kernel) = check(plan, numbers, device.info().limits.shared_bytes_per_block)?;
        let launches = LaunchBytes::of(device, Precision::Single, shape.channels());
        let shape = shape.with_launches(plan.launch_bytes().unwrap_or(launches));
        let channels = shape.channels();
        passes::check_inputs(channels, inputs)?;
        let weights = first_kernel.weights(plan.weights(), plan.step());
        let gain_scale = first_kernel.gain_scale(weights.exponent);
        let gains = passes::gains(&shape, inputs, gain_scale, gain)?;
        let [first, second] = first_kernel.parts(&shape);
        let (Some(columns), Some(rows)) = (texts::channelizer(&first), texts::channelizer(&second)) else {
            return Err(no_kernel(CHANNELS, channels.to_string()));
        };
        let columns = device.load(columns)?.kernel(&first_kernel.name(&shape, plan.taps()))?;
        let rows = device.load(rows)?.kernel(&format!("{second}_{}", format.name()))?;
        let stream = device.new_stream()?;
        let between = if shape.middle() > 1 {
            let Some(text) = texts::channelizer("between") else {
                return Err(no_kernel(CHANNELS, channels.to_string()));
            };
            let kernel = device.load(text)?.kernel(&format!("between_r{}", shape.radix()))?;
            Some((kernel, Buffer::from_slice(&stream, &tables::middle(&shape))?))
        } else {
            None
        };
        let points = shape.groups_of_launch() * shape.workspace_of_group();
        let workspace = Workspace::new(device, points, stream.clone())?;
        Ok(Self {
            columns,
            between,
            rows,
            inputs,
            taps: plan.taps() as u32,
            weights: Buffer::from_slice(&stream, &weights.pairs)?,
            tails: Buffer::from_slice(&stream, &weights.tails)?,
            first: Buffer::from_slice(&stream, &tables::first(&shape))?,
            second: Buffer::from_slice(&stream, &tables::second(&shape))?,
            last: Buffer::from_slice(&stream, &tables::last(&shape))?,
            roots: Buffer::from_slice(&stream, &first_kernel.roots(&shape))?,
            gains: Mutex::new(GainTable::new(&stream, gains, inputs)?),
            gain_scale,
            workspace: Mutex::new(workspace),
            shape,
            first_kernel,
        })
    }

    /// Makes the gains others for launches that follow, in the order of `stream`, and does not wait: of each input what
    /// is between the first and the last gain that changes is sent. `gain` is called with input and channel.
    ///
    /// # Errors
    /// As [`TwoPassKernels::load`] for gains, and with what the driver says.
    pub fn set_gains(&self, stream: &Stream, gain: impl Fn(usize, usize) -> Complex64) -> Result<(), ChannelizerError> {
        let gains = passes::gains(&self.shape, self.inputs, self.gain_scale, gain)?;
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner).take_to(stream)?;
        self.gains.lock().unwrap_or_else(PoisonError::into_inner).set(stream, gains)
    }

    /// Adds to the phases of a job what oversampled spectra have by their places in time, before it is launched: jobs
    /// of a timeline do not have it.
    pub fn refer(&self, job: &mut Job) {
        self.first_kernel.refer(job);
    }

    /// Inputs that have gains.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Bytes of device memory that an object takes at most for a plan and a number of inputs; none where there is no
    /// kernel for any samples.
    pub fn memory_bytes(plan: &Channelizer, inputs: usize) -> Option<u64> {
        // By samples and device it is one of them.
        let shapes = shapes(plan.channels()).filter_map(|shape| check_shape(plan, None, shape, u32::MAX).ok());
        let bytes = |(shape, first_kernel): (Shape, First)| {
            let shape = shape.with_launches(LaunchBytes::most(Precision::Single, shape.channels()));
            let channels = shape.channels() as u64;
            let weights = first_kernel.weight_bytes(plan.step(), plan.taps());
            let middle = if shape.middle() > 1 { 64 * shape.radix() } else { 0 };
            let second = if shape.has_second() { 1024 * shape.all_rows() } else { 16 };
            let digits = (middle + 64 * shape.all_rows() + second) as u64;
            // The last ones and the roots as well.
            let twiddles = digits + 4 * channels + 8 * first_kernel.root_count(&shape) as u64;
            let gains = (8 * channels).saturating_mul(inputs as u64);
            let workspace = 16 * (LANES * shape.groups_of_launch() * shape.workspace_of_group()) as u64;
            (weights + twiddles + workspace).saturating_add(gains)
        };
        shapes.map(bytes).max()
    }

    /// Runs jobs.
    ///
    /// # Errors
    /// [`DeviceError::Length`](fringes_backend::DeviceError::Length) if there are fewer jobs than `count`,
    /// [`DeviceError::TooLarge`](fringes_backend::DeviceError::TooLarge) for 2^32 jobs, [`ChannelizerError::Types`] if
    /// `T` is not the format's element, and with what the driver says.
    pub fn launch<T: KernelElement>(
        &self,
        stream: &Stream,
        launch: SpectraLaunch<'_, T>,
    ) -> Result<(), ChannelizerError> {
        let SpectraLaunch { samples: Sources { chunk, held }, jobs, place, dither, out } = launch;
        let Targets { given: Target { values: mut out, mut saturated }, next } = out;
        let Target { values: mut next, saturated: mut next_saturated } = next;
        let jobs_of_launch = jobs.checked()?;
        let JobTable { words: jobs, count, after } = jobs;
        if count == 0 {
            return Ok(());
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        workspace.take_to(stream)?;
        let gains = self.gains.lock().unwrap_or_else(PoisonError::into_inner);
        let Place { first_channel, channels, channel_stride, period, period_stride, time_stride, shares: _ } = place;
        let launches = self.shape.launches(count.div_ceil(JOBS));
        let ([a, b, c, d, e], told) = self.first_kernel.told();
        workspace.run(stream, after, (launches, JOBS), |stream, points, first_group, groups| {
            let columns = args![
                chunk,
                held,
                &self.weights,
                &self.tails,
                jobs,
                &mut *points,
                out.len() as u64,
                u32::try_from(saturated.len()).unwrap_or(u32::MAX),
                next.len() as u64,
                u32::try_from(next_saturated.len()).unwrap_or(u32::MAX),
                self.inputs as u32,
                self.taps,
                jobs_of_launch,
                first_group as u32,
                self.shape.first_rows() as u32,
                first_channel,
                channels,
                channel_stride,
                period,
                period_stride,
                time_stride,
                a,
                b,
                c,
                d,
                e,
            ];
            let columns = &columns[..columns.len() - MOST_TOLD + told];
            let config = self.first_kernel.columns(&self.shape, groups, self.taps as usize);
            self.columns.launch_safe(stream, &config, columns)?;
            if let (Some((kernel, factors)), Some(config)) = (&self.between, self.shape.between(groups)) {
                let arguments = args![&mut *points, factors, self.shape.rows() as u32];
                kernel.launch_safe(stream, &config, arguments)?;
            }
            let rows = args![
                points.view().cast::<[f32; 2]>()?,
                &self.first,
                &self.second,
                &self.last,
                &self.roots,
                gains.view(),
                jobs,
                out.reborrow(),
                saturated.reborrow(),
                next.reborrow(),
                next_saturated.reborrow(),
                jobs_of_launch,
                first_group as u32,
                first_channel,
                channels,
                channel_stride,
                period,
                period_stride,
                time_stride,
                dither.unwrap_or(0),
                u32::from(dither.is_some()),
                self.shape.all_rows() as u32,
            ];
            // Most kernels of powers of two have it as a constant.
            let rows = if self.shape.is_told() { &rows[..] } else { &rows[..rows.len() - 1] };
            self.rows.launch_safe(stream, &self.shape.rows_of_slots(groups), rows)?;
            Ok(())
        })
    }
}

/// Shapes of a number of channels: the usual one, and that of filters which are too long for it.
fn shapes(channels: usize) -> impl Iterator<Item = Shape> {
    let usual = Shape::new(channels);
    let long = usual.filter(|shape| shape.radix() == 16).and_then(|_| Shape::long(channels));
    usual.into_iter().chain(long)
}

/// The shape of a plan and its first kernel for samples that are such numbers, if blocks may have so much shared
/// memory: products, if a shape has them.
fn check(plan: &Channelizer, numbers: Numbers, shared_bytes: u32) -> Result<(Shape, First), ChannelizerError> {
    let mut usual = None;
    for shape in shapes(plan.channels()) {
        let checked = check_shape(plan, Some(numbers), shape, shared_bytes);
        if matches!(checked, Ok((_, First::Products(_)))) {
            return checked;
        }
        usual.get_or_insert(checked);
    }
    usual.unwrap_or_else(|| Err(no_kernel(CHANNELS, plan.channels().to_string())))
}

/// The first kernel of a plan and a shape for samples that are such numbers, or for those that take the most memory.
fn check_shape(
    plan: &Channelizer,
    numbers: Option<Numbers>,
    shape: Shape,
    shared_bytes: u32,
) -> Result<(Shape, First), ChannelizerError> {
    let first = match numbers {
        Some(numbers) => First::new(plan, &shape, numbers, shared_bytes)?,
        None => First::largest(plan, &shape)?,
    };
    plan.check_kind(first.is_complex())?;
    let columns = first.columns(&shape, 1, plan.taps()).shared_bytes;
    passes::check_shared(plan, columns.max(shape.rows_of_slots(1).shared_bytes), shared_bytes)?;
    Ok((shape, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(channels: usize, taps: usize) -> Channelizer {
        Channelizer::real(channels).taps(taps).build().unwrap()
    }

    fn numbers(bits: u32, parts: u32, floats: bool) -> Numbers {
        Numbers { bits, parts, floats, little_endian: !floats && bits == 16 }
    }

    #[test]
    fn plans_without_kernels_say_why() {
        let ten = numbers(10, 1, false);
        let error = |plan: &Channelizer, shared| check(plan, ten, shared).unwrap_err().to_string();
        assert!(error(&plan(96, 4), u32::MAX).contains("12 times 32, 64, ... or 1024, found 96"));
        assert!(error(&plan(256, 65), u32::MAX).contains("at most 64 taps, found 65"));
        let complex = Channelizer::complex(256).build().unwrap();
        assert!(matches!(check(&complex, ten, u32::MAX), Err(ChannelizerError::SampleKind { .. })));
        assert!(check(&complex, numbers(16, 2, true), u32::MAX).is_ok());
        let oversampled = |over, under| Channelizer::real(256).oversampling(over, under).build().unwrap();
        assert!(error(&oversampled(512, 511), u32::MAX).contains("511 samples apart of 512"));
        assert!(check(&oversampled(32, 27), ten, u32::MAX).is_ok() && check(&plan(256, 33), ten, u32::MAX).is_ok());
        // An A100 has 163 KiB.
        assert!(check(&plan(8192, 17), ten, 163 << 10).is_ok() && check(&plan(4096, 32), ten, 163 << 10).is_ok());
        // Long filters have products where there are more channels than a digit of 16 points has room for.
        let name = |plan: &Channelizer, numbers, shared| {
            let (shape, first) = check(plan, numbers, shared).unwrap();
            let [_, second] = first.parts(&shape);
            (first.name(&shape, plan.taps()), second)
        };
        let names = |first: &str, second: &str| (first.to_string(), second.to_string());
        assert_eq!(name(&plan(16_384, 64), ten, 227 << 10), names("columns_b10_m4_r8", "rows_mixed_128"));
        assert_eq!(name(&plan(65_536, 33), ten, 163 << 10), names("columns_b10_m4_r8", "rows_mixed_512"));
        assert_eq!(name(&plan(8192, 32), ten, 227 << 10), names("columns_b10_m2_r16", "rows_8192"));
        assert_eq!(name(&plan(8192, 32), ten, 163 << 10), names("columns_b10_m2_r8", "rows_mixed_64"));
        let twelve = numbers(12, 1, false);
        assert_eq!(name(&plan(8192, 64), twelve, 227 << 10), names("strided_b12_r16", "rows_8192"));
        let (complex, shorts) = (Channelizer::complex(32_768).taps(20).build().unwrap(), numbers(16, 2, false));
        assert_eq!(name(&complex, shorts, 163 << 10), names("columns_tf32_m2_r8", "complex_mixed_256"));
        assert!(error(&plan(8192, 17), 32 << 10).contains("8192 channels and 17 taps on 32768 bytes"));
    }

    #[test]
    fn memory_is_that_of_the_tables_and_the_workspace() {
        for (channels, taps, complex, ratio) in [
            (64, 4, false, (1, 1)),
            (256, 4, false, (1, 1)),
            (2048, 16, false, (1, 1)),
            (8192, 17, false, (1, 1)),
            (256, 17, true, (1, 1)),
            (8192, 32, true, (1, 1)),
            (32768, 3, true, (1, 1)),
            (1024, 64, false, (1, 1)),
            (8192, 64, false, (1, 1)),
            (1024, 16, true, (32, 27)),
            (768, 16, false, (4, 3)),
            (10_240, 16, true, (1, 1)),
        ] {
            let plan = if complex { Channelizer::complex(channels) } else { Channelizer::real(channels) };
            let plan = plan.taps(taps).oversampling(ratio.0, ratio.1).build().unwrap();
            let bytes = |(shape, first): (Shape, First)| {
                let shape = shape.with_launches(LaunchBytes::most(Precision::Single, channels));
                let weights = first.weights(plan.weights(), plan.step());
                let weights = 16 * weights.pairs.len() + 8 * weights.tails.len();
                let digits = [tables::middle(&shape), tables::first(&shape), tables::second(&shape)];
                let twiddles = 16 * digits.iter().map(Vec::len).sum::<usize>();
                let singles = 8 * (tables::last(&shape).len() + first.roots(&shape).len() + 3 * channels);
                let workspace = 16 * LANES * shape.groups_of_launch() * shape.workspace_of_group();
                (weights + twiddles + singles + workspace) as u64
            };
            let largest = shapes(channels).map(|shape| bytes(check_shape(&plan, None, shape, u32::MAX).unwrap())).max();
            assert_eq!(TwoPassKernels::memory_bytes(&plan, 3), largest, "{channels}");
            for (bits, shared_bytes) in [(8, u32::MAX), (16, u32::MAX), (8, 163 << 10)] {
                let numbers = numbers(bits, 1 + u32::from(complex), false);
                assert!(Some(bytes(check(&plan, numbers, shared_bytes).unwrap())) <= largest, "{channels} {bits}");
            }
        }
        assert_eq!(TwoPassKernels::memory_bytes(&plan(96, 4), 3), None);
    }
}
