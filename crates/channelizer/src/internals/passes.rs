//! What the kernels of two passes have in common, whichever way they transform: formats, places and jobs, checks of
//! plans and launches, gains, and the workspace between the passes.

use fringes_backend::DeviceError;
use fringes_gpu::{Buffer, BufferView, Device, Event, GpuError, KernelElement, Stream};
use num_complex::Complex64;

use super::shape::Shape;
use super::{JOB_PIECES, tables};
use crate::{Channelizer, ChannelizerError};

/// Most taps that kernels with products have.
pub(super) const MOST_TAPS: usize = 32;

/// What the kernels put out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFormat {
    /// 4+4 bits, real part in the high ones: `u8` on the device.
    Int4,
    /// Signed bytes, real part first: `u16` on the device.
    Int8,
    /// f16, real part first: `u32` on the device.
    Float16,
    /// f32: `[f32; 2]` on the device.
    Float32,
}

impl FrameFormat {
    /// In names of kernels.
    pub(super) fn name(self) -> &'static str {
        match self {
            FrameFormat::Int4 => "i4",
            FrameFormat::Int8 => "i8",
            FrameFormat::Float16 => "f16",
            FrameFormat::Float32 => "f32",
        }
    }
}

/// Where values lie in the output, in elements: channel `c` and spectrum `t` (see
/// [`Job::time`](crate::internals::Job::time)) at `place + (c - first_channel) channel_stride + (t / period)
/// period_stride + (t % period) time_stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// First channel that is put out.
    pub first_channel: u32,
    /// Channels that are put out.
    pub channels: u32,
    /// From channel to channel.
    pub channel_stride: u64,
    /// Spectra of a frame, or of a row of the correlator.
    pub period: u32,
    /// From frame to frame, or row to row.
    pub period_stride: u64,
    /// From spectrum to spectrum.
    pub time_stride: u32,
    /// Shares of the channels that lie apart.
    pub shares: Shares,
}

/// Shares of the channels, of `2^bits` each: channel `c` of the range lies `(c >> bits) jump` elements further on than
/// [`Place`] says. Kernels of [`TensorKernels`](super::TensorKernels) alone know of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Logarithm of the channels of a share.
    pub bits: u32,
    /// Elements from the end of a share to the next.
    pub jump: u64,
}

impl Shares {
    /// All channels in one share.
    pub const NONE: Self = Self { bits: 31, jump: 0 };

    /// Elements between the shares of so many channels.
    pub fn between(&self, channels: u32) -> u64 {
        u64::from(channels.saturating_sub(1).checked_shr(self.bits).unwrap_or(0)).saturating_mul(self.jump)
    }
}

/// Jobs on a device.
///
/// Jobs `2 g` and `2 g + 1` are computed together, and their values written together: best are the polarisations of an
/// antenna, for the same spectra. A last job of an odd number is alone, and takes the time of two.
#[derive(Debug, Clone, Copy)]
pub struct JobTable<'a> {
    /// The jobs as [`Job::words`](crate::internals::Job::words) gives them, in pieces of 16 bytes.
    pub words: BufferView<'a, [u32; 4]>,
    /// How many of them are run.
    pub count: usize,
    /// What some of them wait for.
    pub after: Option<After<'a>>,
}

/// What jobs wait for that read what is held: it is moved beside the launches of those before.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// Jobs before these do not wait.
    pub ready: usize,
    /// Recorded behind what is moved.
    pub moved: &'a Event,
}

impl After<'_> {
    /// Has a stream wait before a launch of jobs up to one, if it is to.
    pub(super) fn hold(&self, stream: &Stream, end: usize) -> Result<(), GpuError> {
        if end > self.ready { stream.wait(self.moved) } else { Ok(()) }
    }
}

impl JobTable<'_> {
    /// The number of jobs, which have their words and fit into 32 bits.
    pub(super) fn checked(&self) -> Result<u32, ChannelizerError> {
        check_jobs(self.count, self.words.len())
    }
}

/// The number of jobs as kernels take it, of a table of so many pieces.
fn check_jobs(count: usize, pieces: usize) -> Result<u32, ChannelizerError> {
    let expected = count.saturating_mul(JOB_PIECES);
    if pieces < expected {
        return Err(DeviceError::Length { buffer: "jobs", expected, actual: pieces }.into());
    }
    u32::try_from(count)
        .map_err(|_| DeviceError::TooLarge { what: "jobs", actual: count, limit: u32::MAX as usize }.into())
}

/// Times 16 taps that the first kernel has room for.
pub(super) fn sixteens(taps: usize) -> usize {
    taps.div_ceil(16)
}

/// The error of a plan or samples that have no kernel.
pub(super) fn no_kernel(expected: &'static str, actual: String) -> ChannelizerError {
    ChannelizerError::Device(DeviceError::NoKernel { expected, actual })
}

/// `Ok` if a plan's spectra follow each other without overlap or gap.
pub(super) fn check_stride(plan: &Channelizer) -> Result<(), ChannelizerError> {
    if plan.stride() == plan.step() {
        return Ok(());
    }
    let actual = format!("{} samples apart of {}", plan.stride(), plan.step());
    Err(no_kernel("critically sampled spectra", actual))
}

/// `Ok` if a plan has no more taps than the kernels.
pub(super) fn check_taps(plan: &Channelizer) -> Result<(), ChannelizerError> {
    if plan.taps() > MOST_TAPS { Err(no_kernel("at most 32 taps", plan.taps().to_string())) } else { Ok(()) }
}

/// `Ok` if blocks may have the bytes of shared memory that they need.
pub(super) fn check_shared(plan: &Channelizer, needed: u32, shared_bytes: u32) -> Result<(), ChannelizerError> {
    if needed <= shared_bytes {
        return Ok(());
    }
    let actual = format!("{} channels and {} taps on {shared_bytes} bytes", plan.channels(), plan.taps());
    Err(no_kernel("a filter that fits into the shared memory of a block", actual))
}

/// `Ok` if gains of so many inputs are fewer than 2^32.
pub(super) fn check_inputs(channels: usize, inputs: usize) -> Result<(), ChannelizerError> {
    let limit = u32::MAX as usize / channels;
    if inputs > limit {
        return Err(DeviceError::TooLarge { what: "inputs with gains", actual: inputs, limit }.into());
    }
    Ok(())
}

/// Gains of all inputs as the kernels read them, times `scale`.
///
/// # Errors
/// [`ChannelizerError::Coefficient`] for a gain that is no finite f32 then.
pub(super) fn gains(
    shape: &Shape,
    inputs: usize,
    scale: f64,
    gain: impl Fn(usize, usize) -> Complex64,
) -> Result<Vec<[f32; 2]>, ChannelizerError> {
    let channels = shape.channels();
    let mut gains = Vec::with_capacity(inputs * channels);
    for input in 0..inputs {
        let scaled = tables::gains(shape, scale, |channel| gain(input, channel));
        if let Some(channel) = scaled.iter().position(|gain| !gain.iter().all(|part| part.is_finite())) {
            let (index, gain) = (input * channels + channel, gain(input, channel));
            let actual = if gain.re.abs() <= f64::from(f32::MAX) { gain.im } else { gain.re };
            return Err(ChannelizerError::Coefficient { quantity: "gains", actual, index });
        }
        gains.extend(scaled);
    }
    Ok(gains)
}

/// Launches that are under way at a time, each with a workspace of its own, so that one fills the multiprocessors that
/// the other one leaves.
pub(super) const LANES: usize = 2;

/// Points between the passes, of each lane.
#[derive(Debug)]
pub(super) struct Workspace<T: KernelElement> {
    points: [Buffer<T>; LANES],
    /// The stream that was last to use them, which has the first lane.
    stream: Stream,
    /// That of the second lane.
    beside: Stream,
}

impl<T: KernelElement> Workspace<T> {
    /// One of so many elements a lane that `stream` is the first to use.
    pub(super) fn new(device: &Device, points: usize, stream: Stream) -> Result<Self, GpuError> {
        let points = [Buffer::alloc(device, points)?, Buffer::alloc(device, points)?];
        Ok(Self { points, stream, beside: device.new_stream()? })
    }

    /// Has a stream wait for the one that was last to use it.
    pub(super) fn take_to(&mut self, stream: &Stream) -> Result<(), GpuError> {
        if !self.stream.is_same(stream) {
            stream.wait_for(&self.stream)?;
            self.stream = stream.clone();
        }
        Ok(())
    }

    /// Runs launches, first group and number of groups of each, which have so many jobs: every second one in the lane
    /// beside `stream`, which waits for it in the end. Those with jobs that wait come after what these wait for.
    pub(super) fn run(
        &mut self,
        stream: &Stream,
        after: Option<After<'_>>,
        (launches, of_group): (impl ExactSizeIterator<Item = (usize, usize)>, usize),
        mut launch: impl FnMut(&Stream, &mut Buffer<T>, usize, usize) -> Result<(), ChannelizerError>,
    ) -> Result<(), ChannelizerError> {
        let (beside, both) = (&self.beside, launches.len() > 1);
        if both {
            // Before the first launch, so that the lanes begin together.
            beside.wait_for(stream)?;
        }
        let queued = launches.enumerate().try_for_each(|(index, (first, groups))| {
            let lane = index % LANES;
            let stream = [stream, beside][lane];
            after.map_or(Ok(()), |after| after.hold(stream, (first + groups) * of_group))?;
            launch(stream, &mut self.points[lane], first, groups)
        });
        if both {
            stream.wait_for(beside)?;
        }
        queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_fewer_jobs_are_refused() {
        let words = |jobs: usize| jobs * JOB_PIECES;
        assert_eq!(check_jobs(3, words(3)), Ok(3));
        assert_eq!(check_jobs(0, 0), Ok(0));
        let error = check_jobs(3, words(3) - 1).unwrap_err();
        assert!(matches!(error, ChannelizerError::Device(DeviceError::Length { buffer: "jobs", .. })), "{error}");
        let error = check_jobs(1 << 32, usize::MAX).unwrap_err();
        assert!(matches!(error, ChannelizerError::Device(DeviceError::TooLarge { what: "jobs", .. })), "{error}");
    }

    #[test]
    fn gains_that_are_no_f32_are_refused_with_their_place() {
        let shape = Shape::new(256).unwrap();
        let made = gains(&shape, 2, 0.5, |input, channel| Complex64::new(channel as f64, input as f64)).unwrap();
        assert_eq!((made.len(), made[256 + 3]), (512, [1.5, 0.5]));
        let gain = |input: usize, channel: usize| match (input, channel) {
            (1, 7) => Complex64::new(2.0, 1e39),
            _ => Complex64::ONE,
        };
        let expected = ChannelizerError::Coefficient { quantity: "gains", actual: 1e39, index: 256 + 7 };
        assert_eq!(gains(&shape, 2, 1.0, gain).unwrap_err(), expected);
        assert!(check_inputs(256, (1 << 24) - 1).is_ok() && check_inputs(256, 1 << 24).is_err());
    }
}
