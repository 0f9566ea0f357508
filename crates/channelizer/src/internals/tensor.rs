//! A plan's kernels on a device, of those whose transform is on tensor cores.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fringes_gpu::{Buffer, Device, DeviceInfo, Kernel, KernelElement, Stream, args};
use fringes_kernel_abi::f_engine::tensor as abi;
use fringes_types::{ChunkFormat, f16};
use num_complex::Complex64;

use super::fast_samples::FastSamples;
use super::format::Numbers;
use super::gain_table::GainTable;
use super::launches::LaunchBytes;
use super::passes::{self, LANES, Workspace, no_kernel, sixteens};
use super::shape::{JOBS, Shape};
use super::tensor_shape::TensorShape;
use super::{FrameFormat, JobTable, Place, Sources, SpectraLaunch, Target, Targets, tensor_tables, texts};
use crate::{Channelizer, ChannelizerError, Precision};

/// f16 of a number.
const TERMS: usize = 1;
/// What plans that have kernels have.
const CHANNELS: &str = "256, 512, ... or 65536 channels";

/// A plan's kernels, weights and matrices on one device, with numbers of one f16 between the stages
/// ([`Precision::Half`](crate::Precision::Half)): for 256 to 65536 channels (powers of two), critically sampled, with
/// up to 32 taps, of packed samples of 8, 10, 12 or 16 bits, or of i8, i16 or f16, real and complex. 16-bit integers
/// are rounded to 11 bits.
///
/// A launch is queued on a stream and returns at once; nothing is allocated. Between the kernels points are in two
/// workspaces of at most [`LaunchBytes`] that belong to the object, so its launches run one after the other: one on
/// another stream than the last waits for what is queued there. Of a captured graph, only work on the stream that it is
/// launched on is ordered with it.
#[derive(Debug)]
pub struct TensorKernels {
    shape: TensorShape,
    columns: Kernel,
    /// Blocks of the first kernel from one to that whose samples it asks for, 0 for none.
    ahead: u32,
    /// Of the digit between the passes, where there is one, with its matrices.
    between: Option<(Kernel, Buffer<[u32; 4]>)>,
    rows: Kernel,
    samples: FastSamples,
    /// Channels that can be put out.
    range: Range<usize>,
    inputs: usize,
    taps: u32,
    weights: Buffer<[u32; 2]>,
    tails: Buffer<u32>,
    first: Buffer<[u32; 4]>,
    second: Buffer<[u32; 4]>,
    gains: Mutex<GainTable>,
    gain_scale: f64,
    workspace: Mutex<Workspace<[u32; 4]>>,
}

impl TensorKernels {
    /// Loads the kernels for samples of a format and sends the tables, and waits for that; the first time on a machine
    /// the driver compiles the kernels. `gain` is called with input and channel. `range` are the channels that launches
    /// put out: of complex samples those of the inner half have kernels that make no others.
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
        range: Range<usize>,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        plan.check_kind(samples.is_complex())?;
        let samples = samples_of(samples)?;
        let DeviceInfo { multiprocessors, limits, .. } = device.info();
        let inner = is_inner(plan, &range);
        let shape = check(plan, inner, limits.shared_bytes_per_block)?;
        let launches = LaunchBytes::of(device, Precision::Half, shape.channels());
        let shape = shape.with_launches(plan.launch_bytes().unwrap_or(launches));
        let (channels, m) = (shape.channels(), sixteens(plan.taps()));
        passes::check_inputs(channels, inputs)?;
        let (points, complex) = ((shape.first_rows(), shape.first_points()), plan.is_complex());
        let weights = tensor_tables::weights(plan.weights(), points, complex, m, largest(samples), TERMS);
        let all = Shape::new(channels).ok_or_else(|| no_kernel(CHANNELS, channels.to_string()))?;
        let gain_scale = tensor_tables::gain_scale(weights.exponent, shape.middle());
        let gains = passes::gains(&all, inputs, gain_scale, gain)?;

        let range = if inner { inner_half(channels) } else { 0..channels };
        let name = if inner { format!("tensor_inner_{channels}") } else { format!("tensor_{channels}") };
        let (part, columns_name) = columns_of(samples, &shape, m);
        let parts = [part, "tensor_columns", &name];
        let [Some(columns), Some(first), Some(rows)] = parts.map(texts::channelizer) else {
            return Err(no_kernel(CHANNELS, channels.to_string()));
        };
        let columns = device.load(columns)?.kernel(&columns_name)?;
        let module = device.load(rows)?;
        let rows = module.kernel(&format!("{name}_{}_half", format.name()))?;
        let stream = device.new_stream()?;
        let points = shape.groups_of_launch() * shape.workspace_of_group();
        let workspace = Workspace::new(device, points, stream.clone())?;
        let (radix, middle, all_rows) = (shape.radix(), shape.middle(), shape.all_rows());
        let between = if shape.between(1).is_some() {
            let kernel = device.load(first)?.kernel(&format!("tensor_middle_r{radix}_{middle}_half"))?;
            Some((kernel, Buffer::from_slice(&stream, &tensor_tables::middle(radix, middle, TERMS))?))
        } else {
            None
        };
        let second = if inner {
            tensor_tables::inner(shape.rows(), all_rows, TERMS)
        } else {
            tensor_tables::second(shape.rows(), all_rows, complex, TERMS)
        };
        Ok(Self {
            columns,
            ahead: shape.ahead(m, *multiprocessors, limits.shared_bytes_per_multiprocessor),
            between,
            rows,
            samples,
            range,
            inputs,
            taps: plan.taps() as u32,
            weights: Buffer::from_slice(&stream, &weights.pairs)?,
            tails: Buffer::from_slice(&stream, &weights.tails)?,
            first: Buffer::from_slice(&stream, &tensor_tables::first(all_rows, TERMS))?,
            second: Buffer::from_slice(&stream, &second)?,
            gains: Mutex::new(GainTable::new(&stream, gains, inputs)?),
            gain_scale,
            workspace: Mutex::new(workspace),
            shape,
        })
    }

    /// Makes the gains others for launches that follow, in the order of `stream`, and does not wait: of each input what
    /// is between the first and the last gain that changes is sent. `gain` is called with input and channel.
    ///
    /// # Errors
    /// As [`TensorKernels::load`] for gains, and with what the driver says.
    pub fn set_gains(&self, stream: &Stream, gain: impl Fn(usize, usize) -> Complex64) -> Result<(), ChannelizerError> {
        let channels = self.shape.channels();
        let all = Shape::new(channels).ok_or_else(|| no_kernel(CHANNELS, channels.to_string()))?;
        let gains = passes::gains(&all, self.inputs, self.gain_scale, gain)?;
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner).take_to(stream)?;
        self.gains.lock().unwrap_or_else(PoisonError::into_inner).set(stream, gains)
    }

    /// Bytes of device memory that an object takes at most for a plan and a number of inputs; none where there is no
    /// kernel for any samples.
    pub fn memory_bytes(plan: &Channelizer, inputs: usize) -> Option<u64> {
        let of = |inner: bool| Some(Self::memory_of(plan, check(plan, inner, u32::MAX).ok()?, inputs));
        // Channels of the inner half alone may have another shape.
        of(false).max(of(plan.is_complex()))
    }

    /// Those of a shape.
    fn memory_of(plan: &Channelizer, shape: TensorShape, inputs: usize) -> u64 {
        let shape = shape.with_launches(LaunchBytes::most(Precision::Half, shape.channels()));
        let (radix, middle, terms) = (shape.radix() as u32, shape.middle() as u32, TERMS as u32);
        let (all_rows, rows) = (shape.all_rows() as u32, shape.rows() as u32);
        let weights = (plan.step() * TERMS * 16 * (8 * sixteens(plan.taps()) + 4)) as u64;
        let between = if middle > 1 { abi::middle_pieces(radix, middle, terms) } else { 0 };
        let pieces = between + abi::first_pieces(all_rows, terms) + abi::second_pieces(rows, all_rows, terms);
        let matrices = 16 * u64::from(pieces);
        let workspace = 16 * (LANES * shape.groups_of_launch() * shape.workspace_of_group()) as u64;
        let gains = (8 * shape.channels() as u64).saturating_mul(inputs as u64);
        (weights + matrices + workspace).saturating_add(gains)
    }

    /// Runs jobs, as [`TwoPassKernels::launch`](super::TwoPassKernels::launch).
    ///
    /// # Errors
    /// As there, and [`ChannelizerError::ChannelRange`] for channels beyond those of the inner half, if the kernels
    /// make these alone.
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
        let Place { first_channel, channels, channel_stride, period, period_stride, time_stride, shares } = place;
        let (start, end) = (first_channel as usize, (first_channel as usize).saturating_add(channels as usize));
        if self.range.len() < self.shape.channels() && (start < self.range.start || end > self.range.end) {
            return Err(ChannelizerError::ChannelRange { start, end, channels: self.range.end });
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        workspace.take_to(stream)?;
        let gains = self.gains.lock().unwrap_or_else(PoisonError::into_inner);
        // The first kernel checks places as if shares did not lie apart.
        let apart = shares.between(channels);
        let length = |all: usize| (all as u64).saturating_sub(apart);
        let launches = self.shape.launches(count.div_ceil(JOBS));
        // That of packed samples is told nothing of them, and how far ahead it asks.
        let told = match self.samples {
            FastSamples::Real { .. } => self.ahead,
            samples => samples.integer_bits(),
        };
        workspace.run(stream, after, (launches, JOBS), |stream, points, first_group, groups| {
            let columns = args![
                chunk,
                held,
                &self.weights,
                &self.tails,
                jobs,
                &mut *points,
                length(out.len()),
                u32::try_from(saturated.len()).unwrap_or(u32::MAX),
                length(next.len()),
                u32::try_from(next_saturated.len()).unwrap_or(u32::MAX),
                self.inputs as u32,
                self.taps,
                jobs_of_launch,
                first_group as u32,
                self.shape.first_rows() as u32,
                self.shape.row_bits(),
                first_channel,
                channels,
                channel_stride,
                period,
                period_stride,
                time_stride,
                told,
            ];
            let config = self.shape.columns(groups, sixteens(self.taps as usize));
            self.columns.launch_safe(stream, &config, columns)?;
            if let (Some((kernel, matrices)), Some(config)) = (&self.between, self.shape.between(groups)) {
                let arguments = args![&mut *points, matrices, self.shape.rows() as u32];
                kernel.launch_safe(stream, &config, arguments)?;
            }
            let rows = args![
                &*points,
                &self.first,
                &self.second,
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
                shares.bits,
                shares.jump,
            ];
            self.rows.launch_safe(stream, &self.shape.rows_of_slots(groups), rows)?;
            Ok(())
        })
    }
}

/// The filter of samples, if it has kernels here.
fn samples_of(format: ChunkFormat) -> Result<FastSamples, ChannelizerError> {
    match FastSamples::of(Numbers::of(format)?)? {
        FastSamples::Wide { integers: false, .. } => {
            let expected = "packed samples of 8, 10, 12 or 16 bits, i8, i16 or f16, or complex i8, i16 or f16";
            Err(no_kernel(expected, format.to_string()))
        }
        samples => Ok(samples),
    }
}

/// Largest magnitude of a number.
fn largest(samples: FastSamples) -> f64 {
    match samples {
        FastSamples::Real { bits } => f64::from(1u32 << (bits - 1)),
        FastSamples::Half { integers: true, .. } => 128.0,
        FastSamples::Half { integers: false, .. } => f16::MAX.to_f64(),
        FastSamples::Wide { .. } => 32768.0,
    }
}

/// Part of the kernels' PTX that has the first kernel, and its name for up to `16 m` taps.
fn columns_of(samples: FastSamples, shape: &TensorShape, m: usize) -> (&'static str, String) {
    let (part, factors) = match samples {
        FastSamples::Real { bits: bits @ (8 | 10) } => ("tensor_columns", format!("b{bits}")),
        FastSamples::Real { bits } => ("tensor_more_columns", format!("b{bits}")),
        _ if samples.is_complex() => ("tensor_columns", "complex".into()),
        _ => ("tensor_more_columns", "real".into()),
    };
    (part, format!("tensor_{factors}_m{m}_r{}_half", shape.radix()))
}

/// Channels of the inner half.
fn inner_half(channels: usize) -> Range<usize> {
    channels / 4..channels / 4 * 3
}

/// Whether channels that are put out are of the inner half alone, which complex samples have kernels for.
fn is_inner(plan: &Channelizer, range: &Range<usize>) -> bool {
    let inner = inner_half(plan.channels());
    plan.is_complex() && inner.start <= range.start && range.end <= inner.end
}

/// The shape of a plan, for channels of the inner half alone or all, if there are kernels for it, and blocks may have
/// so much shared memory.
fn check(plan: &Channelizer, inner: bool, shared_bytes: u32) -> Result<TensorShape, ChannelizerError> {
    passes::check_stride(plan)?;
    let shape =
        TensorShape::new(plan.channels(), TERMS).ok_or_else(|| no_kernel(CHANNELS, plan.channels().to_string()))?;
    let shape = if inner { shape.inner_half() } else { shape };
    passes::check_taps(plan)?;
    let columns = shape.columns(1, sixteens(plan.taps())).shared_bytes;
    passes::check_shared(plan, columns.max(shape.rows_of_slots(1).shared_bytes), shared_bytes)?;
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use fringes_types::SampleFormat;

    use super::*;

    fn plan(channels: usize, taps: usize) -> Channelizer {
        Channelizer::real(channels).taps(taps).build().unwrap()
    }

    #[test]
    fn plans_and_samples_without_kernels_say_why() {
        let error = |plan: &Channelizer, shared| check(plan, false, shared).unwrap_err().to_string();
        assert!(error(&plan(128, 4), u32::MAX).contains("256, 512, ... or 65536 channels, found 128"));
        assert!(error(&plan(1000, 4), u32::MAX).contains("found 1000"));
        assert!(error(&plan(512, 33), u32::MAX).contains("at most 32 taps, found 33"));
        assert!(check(&Channelizer::complex(512).build().unwrap(), false, u32::MAX).is_ok());
        let oversampled = Channelizer::real(512).oversampling(2, 1).build().unwrap();
        assert!(error(&oversampled, u32::MAX).contains("critically sampled"));
        assert!(error(&plan(1024, 16), 48 << 10).contains("1024 channels and 16 taps on 49152 bytes"));
        // An A100 has 163 KiB.
        for (channels, taps) in [(256, 32), (512, 32), (1024, 16), (2048, 32), (4096, 16), (32768, 32), (65536, 32)] {
            assert!(check(&plan(channels, taps), false, 163 << 10).is_ok(), "{channels} {taps}");
        }
        assert!(error(&plan(4096, 17), 163 << 10).contains("4096 channels and 17 taps on 166912 bytes"));
        // An H100 has 227 KiB.
        assert!(check(&plan(4096, 32), false, 227 << 10).is_ok());
    }

    #[test]
    fn samples_with_kernels_are_integers_and_f16() {
        let of = |format| samples_of(format).ok().map(|samples| (samples.integer_bits(), largest(samples)));
        let typed = |format, complex| of(ChunkFormat::Typed { format, complex });
        let packed = |bits| of(ChunkFormat::Packed { bits });
        assert_eq!([8, 10, 12].map(packed), [(8, 128.0), (10, 512.0), (12, 2048.0)].map(Some));
        assert_eq!(packed(16), Some((256 + 16, 32768.0)));
        assert_eq!([packed(9), packed(14)], [None; 2]);
        for complex in [false, true] {
            assert_eq!(typed(SampleFormat::Int8, complex), Some((8, 128.0)));
            assert_eq!(typed(SampleFormat::Int16, complex), Some((16, 32768.0)));
            assert_eq!(typed(SampleFormat::Float16, complex), Some((0, 65504.0)));
            let floats = samples_of(ChunkFormat::Typed { format: SampleFormat::Float32, complex });
            assert!(floats.unwrap_err().to_string().contains("complex i8, i16 or f16"));
        }
    }

    #[test]
    fn names_are_those_of_the_kernels() {
        let of = |samples, channels, m| columns_of(samples, &TensorShape::new(channels, TERMS).unwrap(), m);
        let named = |part, name: &str| (part, name.to_owned());
        let (first, more) = ("tensor_columns", "tensor_more_columns");
        let half = |complex| FastSamples::Half { complex, integers: false };
        assert_eq!(of(FastSamples::Real { bits: 10 }, 2048, 1), named(first, "tensor_b10_m1_r8_half"));
        assert_eq!(of(FastSamples::Real { bits: 12 }, 65536, 2), named(more, "tensor_b12_m2_r8_half"));
        assert_eq!(of(half(true), 4096, 2), named(first, "tensor_complex_m2_r16_half"));
        assert_eq!(of(half(false), 512, 1), named(more, "tensor_real_m1_r8_half"));
        assert_eq!(of(half(true), 256, 2), named(first, "tensor_complex_m2_r4_half"));
    }

    #[test]
    #[cfg(feature = "gpu")]
    fn parts_are_embedded() {
        assert!(["tensor_columns", "tensor_more_columns"].map(texts::channelizer).iter().all(Option::is_some));
        for channels in (8..=16).map(|power| 1 << power) {
            for part in [format!("tensor_{channels}"), format!("tensor_inner_{channels}")] {
                assert!(texts::channelizer(&part).is_some(), "{part}");
            }
        }
    }

    #[test]
    fn memory_is_that_of_the_tables_and_the_workspace() {
        for (turn, (channels, taps)) in
            [(256, 5), (512, 4), (1024, 16), (2048, 17), (4096, 32), (8192, 3)].into_iter().enumerate()
        {
            let complex = turn % 2 == 1;
            let plan =
                if complex { Channelizer::complex(channels).taps(taps).build().unwrap() } else { plan(channels, taps) };
            let shape = TensorShape::new(channels, TERMS).unwrap();
            let shape = shape.with_launches(LaunchBytes::most(Precision::Half, channels));
            let (m, radix) = (sixteens(taps), shape.radix());
            let points = (shape.first_rows(), shape.first_points());
            let weights = tensor_tables::weights(plan.weights(), points, complex, m, 512.0, TERMS);
            let weights = 8 * weights.pairs.len() + 4 * weights.tails.len();
            let all_rows = shape.all_rows();
            let matrices = tensor_tables::first(all_rows, TERMS).len()
                + tensor_tables::second(shape.rows(), all_rows, complex, TERMS).len();
            let between =
                if shape.middle() > 1 { tensor_tables::middle(radix, shape.middle(), TERMS).len() } else { 0 };
            let matrices = matrices + between;
            let groups = LANES * shape.groups_of_launch();
            let pieces = matrices + groups * shape.workspace_of_group();
            let bytes = (weights + 16 * pieces + 8 * 3 * channels) as u64;
            assert_eq!(TensorKernels::memory_bytes(&plan, 3), Some(bytes), "{channels}");
            // Those of the inner half take no more.
            assert!(tensor_tables::inner(shape.rows(), all_rows, TERMS).len() <= matrices - between);
        }
        assert_eq!(TensorKernels::memory_bytes(&plan(128, 4), 3), None);
    }
}
