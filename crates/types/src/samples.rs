//! Time-domain samples `[input][time]`.

use ndarray::{Array2, ArrayView2};

use crate::axes::check_positive;
use crate::chunk::SampleAxes;
use crate::{Inputs, Sample, TypesError};

/// Presence flags of [`Samples`]: flag `[input][block]` covers samples `block * samples_per_block ..` of that input.
///
/// A block is what arrives or is lost together, e.g. a packet or a frame. The last block may be partial.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplePresence {
    samples_per_block: usize,
    flags: Array2<bool>,
}

impl SamplePresence {
    /// Flags `[input][block]`, true where the data is present.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if `samples_per_block` is 0.
    pub fn new(samples_per_block: usize, flags: Array2<bool>) -> Result<Self, TypesError> {
        check_positive("samples_per_block", samples_per_block as f64)?;
        Ok(Self { samples_per_block, flags })
    }

    /// Samples that a flag covers.
    pub fn samples_per_block(&self) -> usize {
        self.samples_per_block
    }

    /// The flags `[input][block]`.
    pub fn flags(&self) -> ArrayView2<'_, bool> {
        self.flags.view()
    }

    /// Whether one sample is present.
    pub fn is_present(&self, input: usize, time: usize) -> bool {
        self.flags.get((input, time / self.samples_per_block)).copied().unwrap_or(false)
    }
}

/// Time-domain samples, real or complex, `[input][time]`.
///
/// # Layout
/// Any `ndarray` layout is taken; time contiguous is fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples<S: Sample> {
    data: Array2<S>,
    pub(crate) axes: SampleAxes,
}

impl<S: Sample> Samples<S> {
    /// Samples `[input][time]` of the given inputs, at 1 Hz from sample 0, all present.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the number of rows is not `inputs.len()`.
    pub fn new(data: Array2<S>, inputs: Inputs) -> Result<Self, TypesError> {
        let axes = SampleAxes::new("samples", data.nrows(), data.ncols(), inputs)?;
        Ok(Self { data, axes })
    }

    /// Sets the sample rate in Hz (complex samples a second for complex data).
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if it is not finite and above 0.
    pub fn with_sample_rate(mut self, sample_rate_hz: f64) -> Result<Self, TypesError> {
        self.axes.set_sample_rate(sample_rate_hz)?;
        Ok(self)
    }

    /// Sets the ADC sample counter of the first sample.
    pub fn with_first_sample(mut self, first_sample: u64) -> Self {
        self.axes.first_sample = first_sample;
        self
    }

    /// Sets the sky frequency in Hz of the middle of the band: 0 Hz of complex samples, a quarter of the sample rate of
    /// real ones (upper sideband). Without it, channel frequencies are baseband offsets.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if it is not finite.
    pub fn with_centre_frequency(mut self, centre_hz: f64) -> Result<Self, TypesError> {
        self.axes.set_centre_frequency(centre_hz)?;
        Ok(self)
    }

    /// Sets presence flags.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the flags do not cover every input and sample exactly.
    pub fn with_presence(mut self, presence: SamplePresence) -> Result<Self, TypesError> {
        self.axes.set_presence(presence)?;
        Ok(self)
    }

    /// The samples `[input][time]`.
    pub fn data(&self) -> ArrayView2<'_, S> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array2<S> {
        self.data
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.axes.inputs
    }

    /// Number of samples of each input.
    pub fn times(&self) -> usize {
        self.data.ncols()
    }

    /// Sample rate in Hz.
    pub fn sample_rate_hz(&self) -> f64 {
        self.axes.sample_rate_hz
    }

    /// ADC sample counter of the first sample.
    pub fn first_sample(&self) -> u64 {
        self.axes.first_sample
    }

    /// Sky frequency of the middle of the band in Hz, if it is known.
    pub fn centre_hz(&self) -> Option<f64> {
        self.axes.centre_hz
    }

    /// Presence flags, `None` if all samples are present.
    pub fn presence(&self) -> Option<&SamplePresence> {
        self.axes.presence.as_ref()
    }
}
