//! The kernels of tied-array beams, loaded on a device with a table of weights.

mod former;
mod mma_texts;
mod plan;
mod sum;
mod table;
pub(crate) mod weights_texts;
mod wgmma_texts;

use std::marker::PhantomData;
use std::ops::Range;

#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_backend::Expect;
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Device, Kernel, Stream};
use fringes_types::{Inputs, SampleFormat, VoltageSample};

use crate::packing::Packing;
use crate::set::{BeamKernels, KernelPart};
use crate::{BeamSet, BeamformerError, TiedArrayBeams, TiedArrayOutput};

pub(crate) use former::{Former, Incoherent, Out, Part, paired_gains};
pub(crate) use sum::{Place, Summer, Sums};

/// The kernels' name of a format of voltages, if there are some.
pub(crate) fn format_name(format: SampleFormat) -> Option<&'static str> {
    match format {
        SampleFormat::Int4 => Some("i4"),
        SampleFormat::Int8 => Some("i8"),
        SampleFormat::Float16 => Some("f16"),
        _ => None,
    }
}

/// The kernel of tied-array beams of voltages `V` as `O` on one device, with weights there.
///
/// Every operation is queued on a stream and returns at once. Sizes are checked before anything is queued.
/// [`BeamformerStream`](crate::BeamformerStream) uses it for chunks that lie on a device; software that has device
/// buffers of its own calls it itself:
///
/// ```no_run
/// use fringes_beamformer::{TiedArrayBeams, TiedArrayKernels};
/// use fringes_gpu::{Buffer, Device};
/// use fringes_types::{BeamWeights, Complex, Inputs, Rows};
/// use ndarray::Array3;
///
/// let device = Device::best()?;
/// let stream = device.new_stream()?;
/// let inputs = Inputs::new(80, 2)?;
/// let weights = BeamWeights::new(Array3::from_elem((8, 64, inputs.len()), Complex::new(1.0, 0.0)))?;
/// let beams = TiedArrayBeams::new(weights).with_output::<Complex<i8>>().with_scale(0.1)?;
/// let mut kernels = TiedArrayKernels::<Complex<i8>, _>::load(&device, &beams, 64, inputs)?;
/// let times = 1024; // 16 rows [channel][time / 64][input][64] of each input
/// let rows = Buffer::<Complex<i8>>::zeroed(&stream, 64 * times * inputs.len())?;
/// let mut out = Buffer::<Complex<i8>>::alloc(&device, 64 * times * 8)?; // [channel][time][beam]
/// kernels.beamform_rows(&stream, 0..64, times, 0, rows.view(), &mut out.view_mut())?;
/// let out = out.to_vec(&stream)?; // waits for the stream
/// # let _ = out;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TiedArrayKernels<V, O> {
    former: Former<V>,
    /// Of each beam, those that saturated; none of floats.
    saturated: Buffer<u64>,
    seed: Option<u64>,
    output: PhantomData<fn() -> O>,
}

impl<V: VoltageSample, O: TiedArrayOutput> TiedArrayKernels<V, O> {
    /// Loads the kernel and makes the table of weights for so many channels, and waits for that; the first time on a
    /// machine the driver compiles the kernels.
    ///
    /// # Errors
    /// As [`BeamSet::check`]; [`DeviceError::NoKernel`] and [`DeviceError::TooLarge`] for what [`TiedArrayBeams`] says
    /// that there is no kernel of, [`DeviceError::Gpu`] with what the driver says.
    pub fn load(
        device: &Device,
        set: &TiedArrayBeams<O>,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        set.check(channels, inputs)?;
        set.check_kernel(V::FORMAT, inputs)?;
        let stream = device.new_stream()?;
        let former = Former::load(&stream, set, O::OUTPUT, channels, inputs)?;
        let counted = if O::INTEGER { set.weights.beams() } else { 0 };
        let saturated = Buffer::zeroed(&stream, counted)?;
        stream.synchronize()?;
        Ok(Self { former, saturated, seed: set.dither(), output: PhantomData })
    }

    /// Turns to other weights, scale and dither, in the order of the stream; `false`, and nothing is done, if that
    /// takes another kernel.
    ///
    /// # Errors
    /// As [`TiedArrayKernels::load`].
    pub fn replace(&mut self, stream: &Stream, set: &TiedArrayBeams<O>) -> Result<bool, BeamformerError> {
        set.check(self.former.channels(), self.former.inputs())?;
        let kept = self.former.replace(stream, set)?;
        if kept {
            self.seed = set.dither();
        }
        Ok(kept)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        self.former.kernel().device()
    }

    /// The kernel, for its attributes.
    pub fn kernel(&self) -> &Kernel {
        self.former.kernel()
    }

    /// Channels of the weights.
    pub fn channels(&self) -> usize {
        self.former.channels()
    }

    /// Device memory of the weights in bytes.
    pub fn weight_bytes(&self) -> u64 {
        self.former.weight_bytes()
    }

    /// Forms beams `[channel][time][beam]` of rows `[channel][time / R][input][R]` of some of the channels, `R` being
    /// [`row_times`](fringes_types::row_times). `spectrum` is the number of the first time, for the dither.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] for sizes that no launch can count, [`DeviceError::Length`] if a buffer is too short,
    /// [`DeviceError::Alignment`] if the rows do not start at a multiple of 16 bytes or the beams at one of theirs,
    /// [`DeviceError::Gpu`] with what the driver says, or for channels beyond the last one.
    pub fn beamform_rows(
        &mut self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        spectrum: u64,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        self.form(stream, KernelPart { channels, times, formed: 0..times, spectrum }, rows, beams)
    }

    /// Forms some of the times of rows.
    fn form(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let KernelPart { channels, times, formed, spectrum } = part;
        let length = self.former.length(channels.len(), times, 1)?;
        beams.expect("beams", length, size_of::<O>() as u64)?;
        let beams = beams.reborrow().slice(..length)?.cast::<u16>()?;
        let dither = self.seed.map(|seed| (seed, spectrum));
        let part = Part { channels, times, formed, fold: 1 };
        let out = Out { beams, saturated: self.saturated.view_mut(), incoherent: None };
        self.former.form(stream, part, dither, rows, out)
    }

    /// Forms beams of voltages `[channel][time][input]`, which become rows first. Where `present` (`[time][input]`) is
    /// zero a voltage counts as zero.
    ///
    /// # Errors
    /// As [`TiedArrayKernels::beamform_rows`]; voltages start at a multiple of their size.
    #[allow(clippy::too_many_arguments, reason = "those of rows, and the flags")]
    pub fn beamform(
        &mut self,
        stream: &Stream,
        channels: Range<usize>,
        times: usize,
        spectrum: u64,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let part = KernelPart { channels, times, formed: 0..times, spectrum };
        self.beamform_part(stream, part, voltages, present, beams)
    }

    /// Forms beams of heaps `[batch][antenna][channel][spectrum][pol]` of all channels, which become rows first. Where
    /// `present` (`[batch][antenna]`) is zero a heap's voltages count as zero.
    ///
    /// # Errors
    /// As [`TiedArrayKernels::beamform`].
    pub fn beamform_heaps(
        &mut self,
        stream: &Stream,
        [batches, spectra]: [usize; 2],
        spectrum: u64,
        heaps: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let (channels, times) = (0..self.former.channels(), batches.saturating_mul(spectra));
        let part = KernelPart { channels, times, formed: 0..times, spectrum };
        BeamKernels::beamform_heaps(self, stream, part, [batches, spectra], heaps, present, beams)
    }

    /// Of each beam, the values that were beyond +-127 since the last call, waiting for the stream; none of floats.
    ///
    /// # Errors
    /// [`DeviceError::Gpu`] with what the driver says.
    pub fn take_saturated(&mut self, stream: &Stream) -> Result<Vec<u64>, BeamformerError> {
        let counts = self.saturated.to_vec(stream)?;
        self.saturated.fill(stream, 0)?;
        Ok(counts)
    }
}

impl<V: VoltageSample, O: TiedArrayOutput> BeamKernels<V, O> for TiedArrayKernels<V, O> {
    fn beamform_part(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let shape = [part.channels.len(), part.times];
        let rows = self.former.packing().voltages(stream, shape, voltages, present)?;
        self.form(stream, part, rows.view().cast::<V>()?, beams)
    }

    fn beamform_rows(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        rows: BufferView<'_, V>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        self.form(stream, part, rows, beams)
    }

    fn beamform_heaps(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        heaps: [usize; 2],
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        let rows = self.former.packing().heaps(stream, part.channels.len(), heaps, voltages, present)?;
        self.form(stream, part, rows.view().cast::<V>()?, beams)
    }

    fn packing(&self) -> Option<&Packing<V>> {
        Some(self.former.packing())
    }

    fn take_saturated(&mut self, stream: &Stream) -> Result<Vec<u64>, BeamformerError> {
        TiedArrayKernels::take_saturated(self, stream)
    }
}
