//! Samples of any format in linear memory: rows of bits, as kernels read them.

use crate::chunk::SampleAxes;
use crate::{ChunkFormat, Inputs, LinearArray, SampleFormat, SamplePresence, TypesError};

/// A chunk of samples `[input][time]` of any format in pinned or device memory: what [`Samples`](crate::Samples) and
/// [`PackedSamples`](crate::PackedSamples) are on the host.
///
/// # Layout
/// A row is an input's samples without padding, as `PackedSamples` (big-endian bits) and `Samples` (little-endian
/// numbers) have them. It begins [`SampleRows::row_bytes`] bytes after the one before, of typed samples a whole number
/// of values. The first one begins with the array of 4-byte words, and [`SampleRows::PADDING_WORDS`] words follow the
/// last one: kernels may read them, what they hold does not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleRows<A> {
    words: A,
    row_bytes: usize,
    format: ChunkFormat,
    axes: SampleAxes,
}

impl<A: LinearArray<u32>> SampleRows<A> {
    /// Words that the kernels may read behind the last sample of the last row.
    pub const PADDING_WORDS: usize = fringes_kernel_abi::f_engine::PADDING_WORDS;

    /// `times` samples of each input in rows `row_bytes` apart, at 1 Hz from sample 0, all present.
    ///
    /// # Errors
    /// [`TypesError::PackedBits`] for packed samples that are not of 2 to 16 bits, [`TypesError::RowStride`] for rows
    /// that overlap or cut values, [`TypesError::TooLarge`], [`TypesError::Elements`] if the array is too short.
    pub fn new(
        words: A,
        row_bytes: usize,
        format: ChunkFormat,
        times: usize,
        inputs: Inputs,
    ) -> Result<Self, TypesError> {
        let expected = words_of(format, times, inputs, row_bytes)?;
        let actual = words.len();
        if actual < expected {
            return Err(TypesError::Elements { array: "rows of samples", expected, actual });
        }
        let axes = SampleAxes::new("rows of samples", inputs.len(), times, inputs)?;
        Ok(Self { words, row_bytes, format, axes })
    }

    /// Bytes of a row without padding.
    ///
    /// # Errors
    /// [`TypesError::PackedBits`], [`TypesError::TooLarge`].
    pub fn row_length(format: ChunkFormat, times: usize) -> Result<usize, TypesError> {
        row_length(format, times)
    }
}

impl<A> SampleRows<A> {
    /// The same samples with the axes of another chunk of as many inputs and times.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a chunk of other inputs or times.
    pub fn with_axes_of(mut self, chunk: &dyn crate::SampleChunk) -> Result<Self, TypesError> {
        let mut axes = SampleAxes::new("rows of samples", chunk.inputs().len(), chunk.times(), self.axes.inputs)?;
        if chunk.times() != self.axes.times {
            let (array, dimension) = ("rows of samples", crate::Dimension::Time);
            let (expected, actual) = (self.axes.times, chunk.times());
            return Err(TypesError::Dimension { array, dimension, expected, actual });
        }
        axes.sample_rate_hz = chunk.sample_rate_hz();
        axes.first_sample = chunk.first_sample();
        axes.centre_hz = chunk.centre_hz();
        axes.presence = chunk.presence().cloned();
        self.axes = axes;
        Ok(self)
    }

    /// Sets the sample rate in Hz.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if it is not finite and above 0.
    pub fn with_sample_rate(mut self, sample_rate_hz: f64) -> Result<Self, TypesError> {
        self.axes.set_sample_rate(sample_rate_hz)?;
        Ok(self)
    }

    /// Sets the sample counter of the first sample.
    #[must_use]
    pub fn with_first_sample(mut self, first_sample: u64) -> Self {
        self.axes.first_sample = first_sample;
        self
    }

    /// Sets the sky frequency in Hz of the middle of the band.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if it is not finite.
    pub fn with_centre_frequency(mut self, centre_hz: f64) -> Result<Self, TypesError> {
        self.axes.set_centre_frequency(centre_hz)?;
        Ok(self)
    }

    /// Sets presence flags, which are in host memory wherever the samples are.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the flags do not cover every input and sample exactly.
    pub fn with_presence(mut self, presence: SamplePresence) -> Result<Self, TypesError> {
        self.axes.set_presence(presence)?;
        Ok(self)
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &A {
        &self.words
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> A {
        self.words
    }

    /// Bytes from row to row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// How the samples are stored.
    pub fn format(&self) -> ChunkFormat {
        self.format
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

/// Bytes of a row without padding.
fn row_length(format: ChunkFormat, times: usize) -> Result<usize, TypesError> {
    if let ChunkFormat::Packed { bits } = format
        && !(2..=16).contains(&bits)
    {
        return Err(TypesError::PackedBits { actual: bits });
    }
    let bits = (times as u64).checked_mul(format.sample_bits().into()).filter(|&bits| bits <= 1 << 60);
    let too_large = || TypesError::TooLarge { array: "samples of an input", elements: times.to_string() };
    Ok(bits.ok_or_else(too_large)?.div_ceil(8) as usize)
}

/// Words of all rows and the padding.
fn words_of(format: ChunkFormat, times: usize, inputs: Inputs, row_bytes: usize) -> Result<usize, TypesError> {
    let row = row_length(format, times)?;
    // Typed values must not be cut; a part of a complex one is a value of its own.
    let unit = match format {
        ChunkFormat::Packed { .. } | ChunkFormat::Typed { format: SampleFormat::Int4, .. } => 1,
        ChunkFormat::Typed { complex, .. } => format.sample_bits() as usize / 8 / if complex { 2 } else { 1 },
    };
    if row_bytes < row || !row_bytes.is_multiple_of(unit) {
        return Err(TypesError::RowStride { expected: row.next_multiple_of(unit), actual: row_bytes });
    }
    let bytes = row_bytes.saturating_mul(inputs.len() - 1).saturating_add(row);
    Ok(bytes.div_ceil(4).saturating_add(SampleRows::<Vec<u32>>::PADDING_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_overlap_cut_values_or_end_early_are_errors() {
        let inputs = Inputs::single_pol(3).unwrap();
        let new = |words: usize, row_bytes, format, times| {
            SampleRows::new(vec![0u32; words], row_bytes, format, times, inputs).map(|_| ())
        };
        let packed = ChunkFormat::Packed { bits: 10 };
        // Rows of 7 bytes, 8 apart: 23 bytes, 6 words and 4 more.
        assert_eq!(new(10, 8, packed, 5), Ok(()));
        let array = "rows of samples";
        assert_eq!(new(9, 8, packed, 5), Err(TypesError::Elements { array, expected: 10, actual: 9 }));
        assert_eq!(new(10, 6, packed, 5), Err(TypesError::RowStride { expected: 7, actual: 6 }));
        let typed = ChunkFormat::Typed { format: SampleFormat::Int16, complex: true };
        assert_eq!(new(100, 21, typed, 5), Err(TypesError::RowStride { expected: 20, actual: 21 }));
        assert_eq!(new(100, 22, typed, 5), Ok(()));
        let odd = ChunkFormat::Packed { bits: 17 };
        assert_eq!(new(100, 100, odd, 5), Err(TypesError::PackedBits { actual: 17 }));
        assert!(matches!(new(100, 8, packed, usize::MAX), Err(TypesError::TooLarge { .. })));
    }
}
