//! One call: host arrays in, host arrays out, on any backend.

use fringes_backend::Backend;
#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_cpu::blocks::parallel_units;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::TypesError;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::{Fft, FftError, FftOutput, FftSample, cpu, gpu};

impl<S: FftSample, O: FftOutput> Fft<S, O> {
    /// Transforms samples `[transform][n]` to outputs `[transform][q]`; no transforms give no outputs.
    ///
    /// # Layout
    /// Any; standard layout is fastest.
    ///
    /// # Precision
    /// As [`Fft`]. The backend's memory limit splits the batch and does not change the result.
    ///
    /// # Errors
    /// [`FftError::Shape`] if the rows are not of [`Fft::inputs`] samples; [`TypesError::TooLarge`] if there is no
    /// memory for the outputs; [`DeviceError::MemoryLimit`] if the backend's limit is below the smallest step,
    /// [`DeviceError::NotOnGpu`] if the backend is a GPU and there is no kernel of this size, [`DeviceError::Gpu`] if
    /// the GPU fails.
    pub fn transform(&self, backend: &Backend, samples: ArrayView2<'_, S>) -> Result<Array2<O>, FftError> {
        self.check_samples(samples)?;
        let shape = (samples.nrows(), self.outputs());
        let too_large = || TypesError::TooLarge { array: "spectra", elements: format!("{} x {}", shape.0, shape.1) };
        let outputs = shape.0.checked_mul(shape.1).and_then(try_zeroed_vec).ok_or_else(too_large)?;
        let mut outputs = Array2::from_shape_vec(shape, outputs).map_err(|_| too_large())?;
        self.transform_into(backend, samples, outputs.view_mut())?;
        Ok(outputs)
    }

    /// As [`Fft::transform`], into an array of the caller's.
    ///
    /// # Errors
    /// As [`Fft::transform`], and [`FftError::Shape`] if the outputs are not `[transform][q]` for these samples, before
    /// anything is overwritten. Where the GPU fails, the outputs are partly overwritten.
    pub fn transform_into(
        &self,
        backend: &Backend,
        samples: ArrayView2<'_, S>,
        outputs: ArrayViewMut2<'_, O>,
    ) -> Result<(), FftError> {
        self.check_samples(samples)?;
        shape("spectra", "transform", samples.nrows(), outputs.nrows())?;
        shape("spectra", "q", self.outputs(), outputs.ncols())?;
        let _span = tracing::debug_span!("fft", size = %self.size(), transforms = samples.nrows()).entered();
        match self.gpu(backend)? {
            Some(device) => {
                backend.check_memory("FFT", gpu::gpu_memory(self, samples.nrows()).smallest_step_bytes)?;
                gpu::transform(self, device, backend.memory_limit(), samples, outputs)
            }
            None => {
                let unit = cpu::unit_bytes(self.size(), self.sign());
                backend.check_memory("FFT", unit)?;
                cpu::transform(self, samples, outputs, parallel_units(backend.memory_limit(), unit));
                Ok(())
            }
        }
    }

    fn check_samples(&self, samples: ArrayView2<'_, S>) -> Result<(), FftError> {
        shape("samples", "n", self.inputs(), samples.ncols())
    }
}

fn shape(array: &'static str, dimension: &'static str, expected: usize, actual: usize) -> Result<(), FftError> {
    if expected == actual { Ok(()) } else { Err(FftError::Shape { array, dimension, expected, actual }) }
}
