//! Packed time-domain samples `[input][byte]`, as ADCs send them.

use ndarray::{Array2, ArrayView2};

use crate::chunk::SampleAxes;
use crate::packed::bytes_for;
use crate::{Inputs, SamplePresence, Samples, TypesError, pack_samples, unpack_samples};

/// Real samples of 2 to 16 bits, two's complement, big-endian, without padding between them.
///
/// Each input is a row of `ceil(times bits / 8)` bytes. Sample 0 of a chunk begins at the most significant bit of byte
/// 0; what is left of the last byte does not matter. Five samples of 10 bits:
///
/// | byte | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
/// |---|---|---|---|---|---|---|---|
/// | samples | 0 | 0, 1 | 1, 2 | 2, 3 | 3 | 4 | 4, 6 bits unused |
///
/// ```
/// use fringes_types::{Inputs, PackedSamples, SampleChunk};
/// use ndarray::array;
///
/// let samples = array![[1i16, -1, 0, -512, 511]];
/// let packed = PackedSamples::pack(samples.view(), 10, Inputs::single_pol(1)?)?;
/// assert_eq!((packed.data().ncols(), packed.times()), (7, 5));
/// assert_eq!(packed.format().to_string(), "packed 10-bit integer");
/// assert_eq!(packed.unpack()?.data(), samples);
/// # Ok::<(), fringes_types::TypesError>(())
/// ```
///
/// # Layout
/// Any `ndarray` layout is taken; bytes contiguous within a row are fastest, standard layout is what a GPU takes
/// without a copy.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedSamples {
    data: Array2<u8>,
    bits: u32,
    pub(crate) axes: SampleAxes,
}

impl PackedSamples {
    /// `times` samples of `bits` bits of each input in rows `[input][byte]`, at 1 Hz from sample 0, all present.
    ///
    /// # Errors
    /// [`TypesError::PackedBits`] unless `bits` is 2 to 16, [`TypesError::Dimension`] if the number of rows is not
    /// `inputs.len()`, [`TypesError::PackedLength`] if a row is not exactly as long as the samples need.
    pub fn new(data: Array2<u8>, bits: u32, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        let expected = bytes_for(times, bits)?;
        let axes = SampleAxes::new("packed samples", data.nrows(), times, inputs)?;
        if data.ncols() != expected {
            return Err(TypesError::PackedLength { samples: times, bits, expected, actual: data.ncols() });
        }
        Ok(Self { data, bits, axes })
    }

    /// Packs samples `[input][time]`.
    ///
    /// # Errors
    /// As [`PackedSamples::new`], and [`TypesError::PackedValue`] for a value that does not fit; its index is that in
    /// its row.
    pub fn pack(samples: ArrayView2<'_, i16>, bits: u32, inputs: Inputs) -> Result<Self, TypesError> {
        let bytes = bytes_for(samples.ncols(), bits)?;
        let mut data = Vec::with_capacity(samples.nrows().saturating_mul(bytes));
        for row in samples.rows() {
            data.extend(pack_samples(&row.to_vec(), bits)?);
        }
        let data = Array2::from_shape_vec((samples.nrows(), bytes), data)
            .map_err(|_| TypesError::TooLarge { array: "packed samples", elements: samples.len().to_string() })?;
        Self::new(data, bits, samples.ncols(), inputs)
    }

    /// The samples as 16-bit integers, with the same axes and presence.
    ///
    /// # Errors
    /// None for samples that exist; the unpacked array may be too large for memory ([`TypesError::TooLarge`]).
    pub fn unpack(&self) -> Result<Samples<i16>, TypesError> {
        let times = self.axes.times;
        let mut values = Vec::new();
        for row in self.data.rows() {
            values.extend(unpack_samples(&row.to_vec(), self.bits, times)?);
        }
        let data = Array2::from_shape_vec((self.data.nrows(), times), values).map_err(|_| TypesError::TooLarge {
            array: "samples",
            elements: format!("{} x {times}", self.data.nrows()),
        })?;
        let mut samples = Samples::new(data, self.axes.inputs)?;
        samples.axes = self.axes.clone();
        Ok(samples)
    }

    /// Sets the sample rate in Hz.
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

    /// Sets the sky frequency in Hz of the middle of the band, a quarter of the sample rate (upper sideband). Without
    /// it, channel frequencies are baseband offsets.
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

    /// The rows `[input][byte]`.
    pub fn data(&self) -> ArrayView2<'_, u8> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array2<u8> {
        self.data
    }

    /// Bits of a sample, 2 to 16.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.axes.inputs
    }

    /// Number of samples of each input.
    pub fn times(&self) -> usize {
        self.axes.times
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dimension;
    use proptest::prelude::*;

    fn inputs(count: usize) -> Inputs {
        Inputs::single_pol(count).unwrap()
    }

    proptest! {
        #[test]
        fn rows_begin_at_whole_bytes_and_unpack_to_what_was_packed(
            bits in 2u32..=16, rows in 1usize..4, times in 0usize..40, seed: u64,
        ) {
            let value = |(input, time): (usize, usize)| {
                (seed.wrapping_mul(6364136223846793005).rotate_left((7 * input + time) as u32 % 64) as i16) >> (16 - bits)
            };
            let samples = Array2::from_shape_fn((rows, times), value);
            let packed = PackedSamples::pack(samples.view(), bits, inputs(rows)).unwrap();
            prop_assert_eq!(packed.data().dim(), (rows, (times * bits as usize).div_ceil(8)));
            let packed = packed.with_first_sample(77).with_sample_rate(2e9).unwrap().with_centre_frequency(1e9).unwrap();
            let unpacked = packed.unpack().unwrap();
            prop_assert_eq!(unpacked.data(), samples);
            prop_assert_eq!((unpacked.first_sample(), unpacked.sample_rate_hz()), (77, 2e9));
            prop_assert_eq!((packed.centre_hz(), packed.times(), packed.inputs()), (Some(1e9), times, inputs(rows)));
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_errors() {
        let new = |rows, bytes, bits, times| PackedSamples::new(Array2::zeros((rows, bytes)), bits, times, inputs(2));
        assert!(new(2, 7, 10, 5).is_ok());
        for actual in [6, 8] {
            let expected = TypesError::PackedLength { samples: 5, bits: 10, expected: 7, actual };
            assert_eq!(new(2, actual, 10, 5).unwrap_err(), expected);
        }
        let dimension = Dimension::Input;
        let expected = TypesError::Dimension { array: "packed samples", dimension, expected: 2, actual: 3 };
        assert_eq!(new(3, 7, 10, 5).unwrap_err(), expected);
        assert_eq!(new(2, 7, 17, 5).unwrap_err(), TypesError::PackedBits { actual: 17 });
        assert!(new(2, 7, 16, usize::MAX).is_err());
        let flags = SamplePresence::new(2, Array2::from_elem((2, 2), true)).unwrap();
        let error = new(2, 7, 10, 5).unwrap().with_presence(flags).unwrap_err();
        let dimension = Dimension::Time;
        assert_eq!(error, TypesError::Dimension { array: "presence flags", dimension, expected: 3, actual: 2 });
        assert!(new(2, 7, 10, 5).unwrap().with_sample_rate(0.0).is_err());
        assert!(new(2, 7, 10, 5).unwrap().with_centre_frequency(f64::NAN).is_err());
    }
}
