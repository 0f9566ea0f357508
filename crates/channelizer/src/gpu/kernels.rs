//! A plan's kernel on a device.

use fringes_gpu::{
    Buffer, BufferView, BufferViewMut, Device, Kernel, KernelElement, LaunchConfig, PtxSet, Stream, args,
};
use num_complex::Complex64;

use crate::gpu::tables;
use crate::{Channelizer, ChannelizerError};

/// Threads of a block.
const THREADS: u32 = 384;
/// Spectra that a thread filters together: jobs have room for a multiple of it.
const GROUP: usize = 6;
/// Bytes of a spectrum's entry in shared memory, beside 8 for each channel.
const ENTRY_BYTES: usize = 160;

/// Texts by number of channels; see `manifest.json` beside each.
const TEXTS: [(usize, &str); 5] = [
    (256, include_str!("../../ptx/256/channelizer_sm_80.ptx")),
    (512, include_str!("../../ptx/512/channelizer_sm_80.ptx")),
    (1024, include_str!("../../ptx/1024/channelizer_sm_80.ptx")),
    (2048, include_str!("../../ptx/2048/channelizer_sm_80.ptx")),
    (4096, include_str!("../../ptx/4096/channelizer_sm_80.ptx")),
];

/// Bits and taps that have kernels, by format of the output.
const VARIANTS: [(FrameFormat, u32, usize); 5] = [
    (FrameFormat::Int8, 8, 16),
    (FrameFormat::Int8, 10, 4),
    (FrameFormat::Int8, 10, 8),
    (FrameFormat::Int8, 10, 16),
    (FrameFormat::Float32, 10, 16),
];

/// What a kernel puts out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameFormat {
    /// Signed bytes, real part first: `u16` on the device.
    Int8,
    /// f32: `[f32; 2]` on the device.
    Float32,
}

impl FrameFormat {
    fn name(self) -> &'static str {
        match self {
            FrameFormat::Int8 => "i8",
            FrameFormat::Float32 => "f32",
        }
    }
}

/// Where values lie in the output, in elements: channel `c` and spectrum `t` (see [`Job::time`](crate::gpu::Job::time)) at
/// `place + (c - first_channel) channel_stride + (t / period) period_stride + (t % period) time_stride`.
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
}

/// Jobs on a device.
#[derive(Debug, Clone, Copy)]
pub struct JobTable<'a> {
    /// The jobs as [`Job::words`](crate::gpu::Job::words) gives them, in pieces of 16 bytes.
    pub words: BufferView<'a, [u32; 4]>,
    /// How many of them are run.
    pub count: usize,
}

/// A plan's kernel, weights and tables on one device.
///
/// A launch is queued on a stream and returns at once; nothing is allocated.
#[derive(Debug)]
pub struct DeviceChannelizer {
    kernel: Kernel,
    inputs: usize,
    slots: usize,
    shared_bytes: u32,
    weights: Buffer<[f32; 4]>,
    bias: Buffer<[f32; 4]>,
    middle: Buffer<[f32; 4]>,
    last: Buffer<[f32; 4]>,
    pairs: Buffer<[f32; 4]>,
}

impl DeviceChannelizer {
    /// Loads the kernel for packed samples of `bits` bits and sends the tables, and waits for that; the first time on a machine the driver compiles the
    /// kernel. `gain` is called with input and channel.
    ///
    /// # Errors
    /// [`ChannelizerError::NoKernel`] with what the kernels ask for, [`ChannelizerError::Coefficient`] for a gain that is no finite f32, [`ChannelizerError::Types`] with what the driver says.
    pub fn load(
        device: &Device,
        plan: &Channelizer,
        bits: u32,
        format: FrameFormat,
        inputs: usize,
        gain: impl Fn(usize, usize) -> Complex64,
    ) -> Result<Self, ChannelizerError> {
        let missing = |expected, actual: String| Err(ChannelizerError::NoKernel { expected, actual });
        if plan.is_complex() {
            return missing("real samples", "complex ones".into());
        }
        if plan.stride() != plan.step() {
            return missing(
                "critically sampled spectra",
                format!("{} samples apart of {}", plan.stride(), plan.step()),
            );
        }
        let channels = plan.channels();
        let Some((_, text)) = TEXTS.into_iter().find(|(size, _)| *size == channels) else {
            return missing("256, 512, 1024, 2048 or 4096 channels", channels.to_string());
        };
        if !VARIANTS.contains(&(format, bits, plan.taps())) {
            let actual = format!("{bits} bits, {} taps, {}", plan.taps(), format.name());
            return missing("8 bits, 16 taps, i8; 10 bits, 4, 8 or 16 taps, i8; or 10 bits, 16 taps, f32", actual);
        }
        let module = device.load(&PtxSet::new(text))?;
        let kernel = module.kernel(&format!("channelize_b{bits}_t{}_{}", plan.taps(), format.name()))?;
        let spectrum = channels * 8 + ENTRY_BYTES;
        let most = device.info().limits.shared_bytes_per_block as usize;
        let slots = (most / spectrum / GROUP * GROUP).min(96);
        if slots == 0 {
            return missing("shared memory for six spectra", format!("{most} bytes"));
        }
        let stream = device.new_stream()?;
        let gains = (0..inputs).flat_map(|input| (0..channels).map(move |channel| (input, channel)));
        for (index, gain) in gains.map(|(input, channel)| gain(input, channel)).enumerate() {
            if let Some(actual) = [gain.re, gain.im].into_iter().find(|part| !(*part as f32).is_finite()) {
                return Err(ChannelizerError::Coefficient { quantity: "gains", actual, index });
            }
        }
        let (weights, bias) = tables::weights(plan.weights(), plan.step(), bits);
        let pairs: Vec<_> =
            (0..inputs).flat_map(|input| tables::pairs(channels, |channel| gain(input, channel))).collect();
        Ok(Self {
            kernel,
            inputs,
            slots,
            shared_bytes: (slots * spectrum) as u32,
            weights: Buffer::from_slice(&stream, &weights)?,
            bias: Buffer::from_slice(&stream, &bias)?,
            middle: Buffer::from_slice(&stream, &tables::middle(channels))?,
            last: Buffer::from_slice(&stream, &tables::last(channels))?,
            pairs: Buffer::from_slice(&stream, &pairs)?,
        })
    }

    /// Most spectra of a job.
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

    /// Runs jobs. `samples` are packed samples as words, with at least two words after the last that a job needs. Counts of saturated values are added to
    /// `saturated`. With a seed, integer formats are dithered.
    ///
    /// A job that does not keep to the buffers ends the launch with an error of the driver.
    ///
    /// # Errors
    /// [`ChannelizerError::DeviceLength`] if there are fewer jobs than `count`, [`ChannelizerError::Types`] if `T` is not the format's element, and with what
    /// the driver says.
    pub fn launch<T: KernelElement>(
        &self,
        stream: &Stream,
        samples: BufferView<'_, u32>,
        jobs: JobTable<'_>,
        place: Place,
        dither: Option<u64>,
        out: BufferViewMut<'_, T>,
        saturated: BufferViewMut<'_, u32>,
    ) -> Result<(), ChannelizerError> {
        let JobTable { words: jobs, count } = jobs;
        let (expected, actual) = (count.saturating_mul(crate::gpu::JOB_WORDS / 4), jobs.len());
        if actual < expected {
            return Err(ChannelizerError::DeviceLength { buffer: "jobs", expected, actual });
        }
        if count == 0 {
            return Ok(());
        }
        let config = LaunchConfig::new([count as u32, 1, 1], [THREADS, 1, 1]).with_shared_bytes(self.shared_bytes);
        let arguments = args![
            samples,
            &self.weights,
            &self.bias,
            &self.middle,
            &self.last,
            &self.pairs,
            jobs,
            out,
            saturated,
            count as u32,
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
