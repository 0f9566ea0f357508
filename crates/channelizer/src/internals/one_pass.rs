//! A plan's general kernel on a device: any number of channels `2^a 3^b 5^c` whose spectrum fits into shared memory,
//! any format.

use std::sync::{Mutex, PoisonError};

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, Device, Kernel, KernelElement, LaunchConfig, PtxSet, Stream, args};
use fringes_kernel_abi::f_engine::one_pass as abi;
use fringes_types::{ChunkFormat, SampleFormat};
use num_complex::Complex64;

use super::format::{Numbers, output_name};
use super::gain_table::GainTable;
use super::{JOB_PIECES, JobTable, Sources, SpectraLaunch, Targets, texts};
use crate::internals::one_pass_plan::{MOST_POINTS, MOST_SLOTS, MOST_TAPS, Passes};
use crate::{Channelizer, ChannelizerError};

/// Threads of a block.
const THREADS: u32 = abi::THREADS;
/// Blocks that a multiprocessor is to hold.
const RESIDENT: usize = 2;
/// Shared memory that a block has beside what it asks for.
const RESERVED: usize = 1 << 10;
/// Spectra that a thread filters together, many or few.
const GROUPS: [usize; 2] = [abi::MANY, abi::FEW];
/// Most bits of a job's samples.
const MOST_BITS: u64 = abi::MOST_BITS;

/// Kernels by whether samples are floats and complex, with the word for it in their names.
fn kernels(floats: bool, complex: bool) -> (&'static str, &'static PtxSet) {
    match (floats, complex) {
        (false, false) => ("integers_real", &texts::CHANNELIZER_GENERAL_INTEGERS_REAL),
        (false, true) => ("integers_complex", &texts::CHANNELIZER_GENERAL_INTEGERS_COMPLEX),
        (true, false) => ("floats_real", &texts::CHANNELIZER_GENERAL_FLOATS_REAL),
        (true, true) => ("floats_complex", &texts::CHANNELIZER_GENERAL_FLOATS_COMPLEX),
    }
}

/// Shared memory of a block for one spectrum, if the kernels take the plan at all.
///
/// # Errors
/// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what they ask for.
pub fn check(plan: &Channelizer) -> Result<Passes, ChannelizerError> {
    let missing = |expected, actual: String| Err(ChannelizerError::Device(DeviceError::NoKernel { expected, actual }));
    let channels = plan.channels();
    let actual = || format!("{channels} channels");
    if channels > MOST_POINTS {
        return missing("at most 16384 channels in one launch", actual());
    }
    let Some(passes) = Passes::new(channels, plan.is_complex()) else {
        return missing("a number of channels of factors 2, 3 and 5", actual());
    };
    if plan.taps() > MOST_TAPS {
        return missing("at most 64 taps", format!("{} taps", plan.taps()));
    }
    Ok(passes)
}

/// Most spectra of a job of a plan on any device: points are 8 bytes, and no block has more shared memory than this.
pub fn most_spectra(plan: &Channelizer) -> usize {
    const SHARED_BYTES: usize = 256 << 10;
    (SHARED_BYTES / 8 / plan.channels().max(1)).clamp(1, MOST_SLOTS)
}

/// A plan's general kernel, weights and tables on one device, for all numbers of channels and formats that
/// [`TwoPassKernels`](super::TwoPassKernels) has no kernel for.
///
/// A launch is queued on a stream and returns at once; nothing is allocated.
#[derive(Debug)]
pub struct OnePassKernels {
    kernel: Kernel,
    passes: Passes,
    numbers: Numbers,
    taps: u32,
    /// Numbers from spectrum to spectrum.
    stride: u32,
    slots: usize,
    inputs: usize,
    channels: usize,
    weights: Buffer<[f32; 4]>,
    twiddles: Buffer<[f32; 4]>,
    pairs: Buffer<[u32; 4]>,
    channel_of: Buffer<u32>,
    gains: Mutex<GainTable>,
}

impl OnePassKernels {
    /// Loads the kernel for samples of a format and voltages of another and sends the tables, and waits for that; the
    /// first time on a machine the driver compiles the kernel. `gain` is called with input and channel.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`](fringes_backend::DeviceError::NoKernel) with what the kernels ask for,
    /// [`ChannelizerError::SampleKind`] for complex samples of a plan for real ones or the
    /// reverse, [`ChannelizerError::Coefficient`] for a gain that is no finite f32, [`ChannelizerError::Types`] with
    /// what the driver says.
    pub fn load(
        device: &Device,
        plan: &Channelizer,
        format: ChunkFormat,
        output: SampleFormat,
        inputs: usize,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        plan.check_kind(format.is_complex())?;
        let (passes, numbers) = (check(plan)?, Numbers::of(format)?);
        let limits = &device.info().limits;
        let slots =
            slots(plan, &passes, numbers, limits.shared_bytes_per_block, limits.shared_bytes_per_multiprocessor)?;
        let (kind, set) = kernels(numbers.floats, plan.is_complex());
        let kernel = device.load(set)?.kernel(&format!("channelize_{kind}_{}", output_name(output)))?;
        let stream = device.new_stream()?;
        let gains = gains(&passes, (plan.channels(), inputs), gain)?;
        let scale = if numbers.floats { 0 } else { numbers.bits };
        Ok(Self {
            kernel,
            numbers,
            taps: plan.taps() as u32,
            stride: plan.stride() as u32 * numbers.parts,
            slots,
            inputs,
            weights: Buffer::from_slice(&stream, &passes.weights(plan.weights(), scale))?,
            twiddles: Buffer::from_slice(&stream, &passes.twiddles())?,
            pairs: Buffer::from_slice(&stream, &passes.pairs())?,
            channel_of: Buffer::from_slice(&stream, &passes.channels())?,
            gains: Mutex::new(GainTable::new(&stream, gains, inputs)?),
            channels: plan.channels(),
            passes,
        })
    }

    /// Makes the gains others for launches that follow, in the order of `stream`, which is that of the launches before,
    /// and does not wait: of each input what is between the first and the last gain that changes is sent. `gain` is
    /// called with input and channel.
    ///
    /// # Errors
    /// As [`OnePassKernels::load`] for gains, and with what the driver says.
    pub fn set_gains(&self, stream: &Stream, gain: impl Fn(usize, usize) -> Complex64) -> Result<(), ChannelizerError> {
        let gains = gains(&self.passes, (self.channels, self.inputs), gain)?;
        self.gains.lock().unwrap_or_else(PoisonError::into_inner).set(stream, gains)
    }

    /// Most spectra of a job, whichever is its first one.
    pub fn spectra_of_job(&self) -> usize {
        self.slots
    }

    /// Inputs that have gains.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Runs jobs, as [`TwoPassKernels::launch`](super::TwoPassKernels::launch).
    ///
    /// # Errors
    /// [`DeviceError::Length`](fringes_backend::DeviceError::Length) if there are fewer jobs than `count`,
    /// [`ChannelizerError::Types`] if `T` is not the format's element, and with what the driver says.
    pub fn launch<T: KernelElement>(
        &self,
        stream: &Stream,
        launch: SpectraLaunch<'_, T>,
    ) -> Result<(), ChannelizerError> {
        let SpectraLaunch { samples: Sources { chunk, held }, jobs, place, dither, out } = launch;
        let Targets { given, next } = out;
        let JobTable { words: jobs, count, after } = jobs;
        let (expected, actual) = (count.saturating_mul(JOB_PIECES), jobs.len());
        if actual < expected {
            return Err(ChannelizerError::Device(DeviceError::Length { buffer: "jobs", expected, actual }));
        }
        if count == 0 {
            return Ok(());
        }
        after.map_or(Ok(()), |after| after.hold(stream, count))?;
        let gains = self.gains.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = self.passes.shared_bytes(self.slots) as u32;
        let config = LaunchConfig::new([count as u32, 1, 1], [THREADS, 1, 1]).with_shared_bytes(shared);
        let arguments = args![
            chunk,
            held,
            &self.weights,
            &self.twiddles,
            &self.pairs,
            &self.channel_of,
            gains.view(),
            jobs,
            given.values,
            given.saturated,
            next.values,
            next.saturated,
            count as u32,
            self.passes.points() as u32,
            self.passes.packed_radices(),
            self.taps,
            self.stride,
            self.numbers.bits,
            u32::from(self.numbers.little_endian),
            self.slots as u32,
            place.first_channel,
            place.channels,
            place.channel_stride,
            place.period,
            place.period_stride,
            place.time_stride,
            dither.unwrap_or(0),
            u32::from(dither.is_some()),
        ];
        Ok(self.kernel.launch_safe(stream, &config, arguments)?)
    }
}

/// Spectra of a job: what lets a multiprocessor hold two blocks, or else what a block can have.
fn slots(
    plan: &Channelizer,
    passes: &Passes,
    numbers: Numbers,
    of_block: u32,
    of_multiprocessor: u32,
) -> Result<usize, ChannelizerError> {
    let shared = (of_multiprocessor as usize / RESIDENT).saturating_sub(RESERVED).min(of_block as usize);
    let slots = match passes.slots(shared) {
        0 => passes.slots(of_block as usize).min(1),
        slots => GROUPS.iter().find(|&&group| slots >= group).map_or(slots, |group| slots / group * group),
    };
    // Bits of a job's numbers are counted in 32 bits.
    let window = (plan.window_samples() as u64 * u64::from(numbers.parts) + 4) * u64::from(numbers.bits);
    let stride = plan.stride() as u64 * numbers.sample_bits();
    let most = MOST_BITS.checked_sub(window).map_or(0, |rest| rest / stride.max(1) + 1);
    let slots = slots.min(MOST_SLOTS).min(most as usize);
    if slots == 0 {
        let expected = "a spectrum that fits into the shared memory of a block";
        return Err(ChannelizerError::Device(DeviceError::NoKernel {
            expected,
            actual: format!("{} channels", plan.channels()),
        }));
    }
    Ok(slots)
}

/// `Ok` if all gains are finite as f32.
pub(super) fn finite(
    (channels, inputs): (usize, usize),
    gain: impl Fn(usize, usize) -> Complex64,
) -> Result<(), ChannelizerError> {
    for (input, channel) in (0..inputs).flat_map(|input| (0..channels).map(move |channel| (input, channel))) {
        let gain = gain(input, channel);
        if let Some(actual) = [gain.re, gain.im].into_iter().find(|part| !(*part as f32).is_finite()) {
            let index = input * channels + channel;
            return Err(ChannelizerError::Coefficient { quantity: "gains", actual, index });
        }
    }
    Ok(())
}

/// Gains as the kernel reads them, input by input.
fn gains(
    passes: &Passes,
    (channels, inputs): (usize, usize),
    gain: impl Fn(usize, usize) -> Complex64,
) -> Result<Vec<[f32; 2]>, ChannelizerError> {
    finite((channels, inputs), &gain)?;
    Ok((0..inputs).flat_map(|input| passes.gains(|channel| gain(input, channel))).collect())
}

#[cfg(test)]
mod tests {
    use fringes_gpu::LaunchLimits;

    use super::*;

    #[test]
    fn jobs_fill_half_of_a_multiprocessor_or_have_one_spectrum() {
        let numbers = Numbers { bits: 10, parts: 1, floats: false, little_endian: false };
        let LaunchLimits { shared_bytes_per_block, shared_bytes_per_multiprocessor, .. } = LaunchLimits::LOWEST;
        let slots = |channels: usize| {
            let plan = Channelizer::real(channels).taps(4).build().unwrap();
            let passes = check(&plan).unwrap();
            let slots = slots(&plan, &passes, numbers, shared_bytes_per_block, shared_bytes_per_multiprocessor)?;
            assert!(passes.shared_bytes(slots) <= shared_bytes_per_block as usize);
            Ok::<_, ChannelizerError>(slots)
        };
        // 49 KiB: 64 channels take 584 bytes.
        assert_eq!([slots(64), slots(1536), slots(8192)], [Ok(84), Ok(4), Ok(1)]);
        // 139 KiB are more than 99.
        let error = slots(16384).unwrap_err().to_string();
        assert!(error.contains("16384 channels"), "{error}");
    }

    #[test]
    fn plans_without_a_kernel_say_why() {
        for (channels, taps, expected) in
            [(7 * 64, 4, "factors 2, 3 and 5"), (32768, 4, "at most 16384"), (64, 65, "64 taps")]
        {
            let error = check(&Channelizer::real(channels).taps(taps).build().unwrap()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
