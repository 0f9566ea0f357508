//! The sets of beams that [`beamform`](crate::beamform) takes.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_gpu::{BufferView, BufferViewMut, Device, Stream};
use fringes_types::{Dimension, Inputs, SampleFormat, SpectrumClock, TypesError, VoltageSample};

use crate::chunk::HostVoltages;
use crate::packing::Packing;
use crate::steps::Sizes;
use crate::{BeamOutput, BeamformerError};

/// A set of beams: what is summed for each, and how.
///
/// | set | beam | output |
/// |---|---|---|
/// | [`BeamWeights`](fringes_types::BeamWeights) | `sum_input w[beam][channel][input] x[channel][time][input]` | `Complex<f32>` |
/// | [`TiedArrayBeams<O>`](crate::TiedArrayBeams) | the same, scaled | `O` |
/// | [`IncoherentBeams`](crate::IncoherentBeams) | `sum_input g[beam][input] abs(x[channel][time][input])^2` | `f32` |
/// | [`FftBeams<O>`](crate::FftBeams) | `sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]`, `n` the feed | `O` |
///
/// Sealed: the sets are those of this crate.
pub trait BeamSet: sealed::Sealed {
    /// What a beam is made of: complex numbers for voltages, `f32` for powers.
    type Output: BeamOutput;

    /// The kernels of these beams of voltages `V` on one device.
    #[doc(hidden)]
    type Kernels<V: VoltageSample>: BeamKernels<V, Self::Output>;

    /// Number of beams formed from voltages of these inputs.
    fn beams(&self, inputs: Inputs) -> usize;

    /// Checks that voltages of this many channels and these inputs fit.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other channels or inputs, [`BeamformerError::Feeds`] for antennas that are not the
    /// feeds of [`FftBeams`](crate::FftBeams).
    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError>;

    /// What [`beamform`](crate::beamform) needs on a backend for voltages `V` of this shape in host memory.
    ///
    /// On the CPU the workspace is that of every thread of the current rayon pool, an upper bound for voltages that
    /// must be converted first, and the smallest step one thread's. On a GPU both are device memory for voltages, flags
    /// and beams, the workspace that of steps of at most 1 GiB. Heaps, and voltages of which something is masked, are
    /// copied first, which takes as much again as the input.
    ///
    /// # Errors
    /// As [`BeamSet::check`]; [`DeviceError::NotOnGpu`] if the backend is a GPU and nothing else and there is no
    /// kernel.
    fn memory<V: VoltageSample>(
        &self,
        backend: &Backend,
        channels: usize,
        times: usize,
        inputs: Inputs,
    ) -> Result<MemoryNeed, BeamformerError> {
        self.check(channels, inputs)?;
        let sizes = Sizes::of::<V, Self>(self, inputs);
        Ok(match self.gpu::<V>(backend, inputs)? {
            Some(_) => sizes.gpu_memory(channels, times),
            None => sizes.cpu_memory(channels, times, self.unit_bytes(inputs)),
        })
    }

    /// The GPU that forms these beams on a backend, `None` for the CPU.
    #[doc(hidden)]
    fn gpu<'a, V: VoltageSample>(
        &self,
        backend: &'a Backend,
        inputs: Inputs,
    ) -> Result<Option<&'a Device>, DeviceError> {
        backend.gpu_for(crate::OPERATION, self.check_kernel(V::FORMAT, inputs).is_ok())
    }

    /// Channels of voltages that fit, `None` if any number does.
    #[doc(hidden)]
    fn channels(&self) -> Option<usize>;

    /// Scratch of one unit of work on the CPU in bytes.
    #[doc(hidden)]
    fn unit_bytes(&self, inputs: Inputs) -> u64;

    /// Writes the beams `[channel][time][beam]`, at most `parallel` units of work at a time, and gives the number of
    /// values of each beam that saturated, or nothing; the shapes have been checked.
    #[doc(hidden)]
    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [Self::Output],
    ) -> Result<Vec<u64>, BeamformerError>;

    /// Whether kernels read rows, which voltages in another order are made first.
    #[doc(hidden)]
    fn packs(&self) -> bool {
        false
    }

    /// Whether a beam sums an input: whether one that does not come is missed.
    #[doc(hidden)]
    fn uses(&self, beam: usize, input: usize, inputs: Inputs) -> bool;

    /// Whether there are GPU kernels for these beams of voltages of this format, or why not.
    #[doc(hidden)]
    fn check_kernel(&self, format: SampleFormat, inputs: Inputs) -> Result<(), DeviceError>;

    /// Rows of a channel and time that a launch counts one by one: lines of FFT beams.
    #[doc(hidden)]
    fn launch_rows(&self) -> usize {
        1
    }

    /// The kernels on a device.
    #[doc(hidden)]
    fn load<V: VoltageSample>(
        &self,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self::Kernels<V>, BeamformerError>;

    /// Has kernels of another set form these beams from now on, in the order of the stream; or says that they cannot.
    #[doc(hidden)]
    fn update<V: VoltageSample>(&self, _: &mut Self::Kernels<V>, _: &Stream) -> Result<bool, BeamformerError> {
        Ok(false)
    }
}

/// What kernels form at once.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct KernelPart {
    /// Of the channels that the kernels were loaded for.
    pub channels: Range<usize>,
    /// Times.
    pub times: usize,
    /// Those of them that are formed; kernels of sets that do not change within a chunk form all.
    pub formed: Range<usize>,
    /// Number of the first time.
    pub spectrum: u64,
}

/// Kernels of a set of beams, loaded for so many channels.
#[doc(hidden)]
pub trait BeamKernels<V: VoltageSample, O: BeamOutput> {
    /// Queues the beams `[channel][time][beam]` of some of the channels, of voltages `[channel][time][input]` with
    /// flags `[time][input]`.
    fn beamform_part(
        &mut self,
        stream: &Stream,
        part: KernelPart,
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError>;

    /// The same of rows `[channel][time / R][input][R]`, which are zero where they are absent.
    fn beamform_rows(
        &mut self,
        _: &Stream,
        _: KernelPart,
        _: BufferView<'_, V>,
        _: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        Err(only_voltages("rows [channel][time / R][input][R]").into())
    }

    /// The same of heaps `[batch][antenna][channel][spectrum][pol]`, so many of so many spectra, of all channels, with
    /// flags `[batch][antenna]`.
    fn beamform_heaps(
        &mut self,
        _: &Stream,
        _: KernelPart,
        _: [usize; 2],
        _: BufferView<'_, V>,
        _: Option<BufferView<'_, u8>>,
        _: &mut BufferViewMut<'_, O>,
    ) -> Result<(), BeamformerError> {
        Err(only_voltages("heaps [batch][antenna][channel][spectrum][pol]").into())
    }

    /// What makes rows of voltages in another order; `None` of kernels that read voltages alone.
    fn packing(&self) -> Option<&Packing<V>> {
        None
    }

    /// Values of each beam that saturated since the last call, waiting for the stream; nothing of floats.
    fn take_saturated(&mut self, _: &Stream) -> Result<Vec<u64>, BeamformerError> {
        Ok(Vec::new())
    }
}

/// What beams answer whose kernels read voltages alone.
fn only_voltages(actual: &str) -> DeviceError {
    DeviceError::NoKernel { expected: "voltages [channel][time][input] on the device", actual: actual.into() }
}

/// Number of the first spectrum of a chunk, by which dither is told.
pub(crate) fn first_spectrum(clock: SpectrumClock) -> u64 {
    clock.first_sample.checked_div(clock.samples_between_spectra).unwrap_or_default()
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// `Ok` if a dimension has the length that the voltages have.
pub(crate) fn check_length(
    array: &'static str,
    dimension: Dimension,
    expected: usize,
    actual: usize,
) -> Result<(), TypesError> {
    if expected == actual { Ok(()) } else { Err(TypesError::Dimension { array, dimension, expected, actual }) }
}
