//! Tied-array beams: weighted sums of voltages.

use std::convert::Infallible;

use fringes_backend::DeviceError;
use fringes_gpu::Device;
use fringes_types::{BeamWeights, Dimension, Inputs, SampleFormat, VoltageSample};
use num_complex::Complex;

use crate::chunk::HostVoltages;
use crate::set::{check_length, no_kernel, sealed};
use crate::{BeamSet, BeamformerError};

const NAME: &str = "tied-array beams";

impl sealed::Sealed for BeamWeights {}
impl BeamSet for BeamWeights {
    type Output = Complex<f32>;
    type Kernels<V: VoltageSample> = Infallible;

    fn beams(&self, _: Inputs) -> usize {
        BeamWeights::beams(self)
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        check_length("beam weights", Dimension::Channel, channels, BeamWeights::channels(self))?;
        Ok(check_length("beam weights", Dimension::Input, inputs.len(), self.inputs())?)
    }

    fn channels(&self) -> Option<usize> {
        Some(BeamWeights::channels(self))
    }

    fn unit_bytes(&self, inputs: Inputs) -> u64 {
        fringes_cpu::beamformer::tied_array_scratch_bytes(inputs.len(), BeamWeights::beams(self))
    }

    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [Complex<f32>],
    ) {
        fringes_cpu::beamformer::tied_array_into(voltages.data(), voltages.presence(), self.data(), parallel, out);
    }

    fn check_kernel(&self, _: SampleFormat, _: Inputs) -> Result<(), DeviceError> {
        Err(no_kernel(NAME))
    }

    fn load<V: VoltageSample>(&self, _: &Device, _: usize, _: Inputs) -> Result<Infallible, BeamformerError> {
        Err(no_kernel(NAME).into())
    }
}
