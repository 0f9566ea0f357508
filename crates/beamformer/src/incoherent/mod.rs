//! Incoherent beams: weighted sums of powers.

mod kernels;

use fringes_backend::DeviceError;
use fringes_gpu::Device;
use fringes_types::{Dimension, Inputs, SampleFormat, TypesError, VoltageSample};
use ndarray::{Array2, ArrayView2};

use crate::chunk::HostVoltages;
use crate::set::{check_length, sealed};
use crate::{BeamSet, BeamformerError};

pub use kernels::IncoherentKernels;

/// Incoherent beams, `sum_input g[beam][input] |x[channel][time][input]|^2`, with gains finite by construction.
///
/// On a GPU sums are within `(inputs / 32 + 16) 2^-24` of the sum of magnitudes, `inputs / 32` rounded up; one
/// beside detected beams within `(inputs / 4 + 9) 2^-24`, the inputs rounded up to a multiple of 64.
///
/// An incoherent beam sees the whole field of view of the elements with the sensitivity of the root of their number;
/// the gains say which inputs take part and correct their power scales.
#[derive(Debug, Clone, PartialEq)]
pub struct IncoherentBeams {
    gains: Array2<f32>,
}

impl IncoherentBeams {
    /// Beams with gains `[beam][input]`, which multiply powers.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without beams or inputs, [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub fn new(gains: Array2<f32>) -> Result<Self, BeamformerError> {
        for (dimension, length) in [(Dimension::Beam, gains.nrows()), (Dimension::Input, gains.ncols())] {
            if length == 0 {
                return Err(TypesError::Empty { array: "incoherent gains", dimension }.into());
            }
        }
        if let Some(((beam, input), gain)) = gains.indexed_iter().find(|(_, gain)| !gain.is_finite()) {
            let (actual, index) = (gain.to_string(), vec![beam, input]);
            return Err(TypesError::NotFinite { quantity: "incoherent gain", actual, index }.into());
        }
        Ok(Self { gains })
    }

    /// One beam that sums the powers of all inputs with gain 1.
    pub fn sum(inputs: Inputs) -> Self {
        Self { gains: Array2::ones((1, inputs.len())) }
    }

    /// The gains `[beam][input]`.
    pub fn gains(&self) -> ArrayView2<'_, f32> {
        self.gains.view()
    }
}

impl sealed::Sealed for IncoherentBeams {}
impl BeamSet for IncoherentBeams {
    type Output = f32;
    type Kernels<V: VoltageSample> = IncoherentKernels<V>;

    fn beams(&self, _: Inputs) -> usize {
        self.gains.nrows()
    }

    fn check(&self, _: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        Ok(check_length("incoherent gains", Dimension::Input, inputs.len(), self.gains.ncols())?)
    }

    fn channels(&self) -> Option<usize> {
        None
    }

    fn unit_bytes(&self, inputs: Inputs) -> u64 {
        fringes_cpu::beamformer::incoherent_scratch_bytes(inputs.len(), self.gains.nrows())
    }

    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [f32],
    ) -> Result<Vec<u64>, BeamformerError> {
        let (data, presence) = (voltages.data(), voltages.presence());
        fringes_cpu::beamformer::incoherent_into(data, presence, self.gains.view(), parallel, out);
        Ok(Vec::new())
    }

    fn uses(&self, beam: usize, input: usize, _: Inputs) -> bool {
        self.gains[(beam, input)] != 0.0
    }

    fn packs(&self) -> bool {
        true
    }

    fn check_kernel(&self, format: SampleFormat, _: Inputs) -> Result<(), DeviceError> {
        kernels::check(format)
    }

    fn load<V: VoltageSample>(
        &self,
        device: &Device,
        _: usize,
        inputs: Inputs,
    ) -> Result<IncoherentKernels<V>, BeamformerError> {
        IncoherentKernels::load(device, self, inputs)
    }
}
