//! The sets of beams that [`beamform`](crate::beamform) takes.

use fringes_backend::{Backend, DeviceError, MemoryNeed};

use fringes_types::{BeamWeights, Dimension, Inputs, SampleFormat, TypesError, VoltageSample, Voltages};
use num_complex::Complex;

use crate::BeamformerError;

/// A set of beams: what is summed for each, and how.
///
/// | set | beam | output |
/// |---|---|---|
/// | [`BeamWeights`] | `sum_input w[beam][channel][input] x[channel][time][input]` | `Complex<f32>` |
/// | [`IncoherentBeams`](crate::IncoherentBeams) | `sum_input g[beam][input] abs(x[channel][time][input])^2` | `f32` |
/// | [`FftBeams`](crate::FftBeams) | `sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]`, `n` the feed | `Complex<f32>` |
///
/// Sealed: the sets are those of this crate.
pub trait BeamSet: sealed::Sealed {
    /// What a beam is made of: `Complex<f32>` for voltages, `f32` for powers.
    type Output: bytemuck::Zeroable + Copy + Send + Sync + std::fmt::Debug + 'static;

    /// Number of beams formed from voltages of these inputs.
    fn beams(&self, inputs: Inputs) -> usize;

    /// Checks that voltages of this many channels and these inputs fit.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other channels or inputs, [`BeamformerError::Feeds`] for antennas that are not the feeds
    /// of [`FftBeams`](crate::FftBeams).
    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError>;

    /// Scratch of one unit of work in bytes.
    #[doc(hidden)]
    fn unit_bytes(&self, inputs: Inputs) -> u64;

    /// Writes the beams `[channel][time][beam]`, at most `parallel` units of work at a time; the shapes have been checked.
    #[doc(hidden)]
    fn form<V: VoltageSample>(&self, voltages: &Voltages<V>, parallel: usize, out: &mut [Self::Output]);

    /// What [`beamform`](crate::beamform) needs on the CPU for voltages of type `V` of this shape. The workspace is an upper bound, for
    /// voltages that must be converted first. For FFT beams on a GPU see [`FftBeams::gpu_memory`](crate::FftBeams::gpu_memory).
    fn memory<V: VoltageSample>(&self, channels: usize, times: usize, inputs: Inputs) -> MemoryNeed {
        let product = |factors: [usize; 4]| factors.iter().fold(1u64, |p, &n| p.saturating_mul(n as u64));
        let unit = self.unit_bytes(inputs);
        let threads = fringes_cpu::blocks::parallel_units(None, unit);
        MemoryNeed {
            input_bytes: product([channels, times, inputs.len(), size_of::<V>()]),
            output_bytes: product([channels, times, self.beams(inputs), size_of::<Self::Output>()]),
            workspace_bytes: unit.saturating_mul(threads as u64),
            smallest_step_bytes: unit,
        }
    }

    /// Whether there are GPU kernels for these beams of voltages of this format.
    #[doc(hidden)]
    fn has_kernel(&self, _: SampleFormat, _: Inputs) -> bool {
        false
    }

    /// Writes the beams `[channel][time][beam]` by GPU kernels that there are, on the backend's GPU; the shapes have been checked.
    #[doc(hidden)]
    fn form_on_gpu<V: VoltageSample>(
        &self,
        backend: &Backend,
        _: &Voltages<V>,
        _: &mut [Self::Output],
    ) -> Result<(), BeamformerError> {
        Err(DeviceError::NotOnGpu { operation: "beamform".into(), backend: backend.name() }.into())
    }

    /// Units of work that may be in progress at a time on the CPU.
    #[doc(hidden)]
    fn parallel(&self, backend: &Backend, inputs: Inputs) -> Result<usize, BeamformerError> {
        let unit = self.unit_bytes(inputs);
        backend.check_memory("beamform", unit)?;
        Ok(fringes_cpu::blocks::parallel_units(backend.memory_limit(), unit))
    }
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
) -> Result<(), BeamformerError> {
    if expected == actual { Ok(()) } else { Err(TypesError::Dimension { array, dimension, expected, actual }.into()) }
}

impl sealed::Sealed for BeamWeights {}
impl BeamSet for BeamWeights {
    type Output = Complex<f32>;

    fn beams(&self, _: Inputs) -> usize {
        BeamWeights::beams(self)
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        check_length("beam weights", Dimension::Channel, channels, self.channels())?;
        check_length("beam weights", Dimension::Input, inputs.len(), self.inputs())
    }

    fn unit_bytes(&self, inputs: Inputs) -> u64 {
        fringes_cpu::beamformer::tied_array_scratch_bytes(inputs.len(), BeamWeights::beams(self))
    }

    fn form<V: VoltageSample>(&self, voltages: &Voltages<V>, parallel: usize, out: &mut [Complex<f32>]) {
        fringes_cpu::beamformer::tied_array_into(voltages.data(), voltages.presence(), self.data(), parallel, out);
    }
}
