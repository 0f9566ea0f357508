//! What can be wrong with data at the border.

use crate::{Dimension, SampleFormat, SpectrumClock};

/// An array or a format that does not fit, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// The length of one dimension differs from what another argument says.
    #[error("dimension `{dimension}` of {array}: expected {expected}, found {actual}")]
    Dimension {
        /// Which array is wrong.
        array: &'static str,
        /// Which of its dimensions.
        dimension: Dimension,
        /// The length that the other arguments imply.
        expected: usize,
        /// The length that came.
        actual: usize,
    },
    /// The number of elements of an array differs from what its shape says.
    #[error("{array}: expected {expected} elements, found {actual}")]
    Elements {
        /// Which array is wrong.
        array: &'static str,
        /// The number of elements that the shape has.
        expected: usize,
        /// The number that came.
        actual: usize,
    },
    /// The length of one dimension is no whole number of what belongs together.
    #[error("dimension `{dimension}` of {array}: expected a multiple of {expected}, found {actual}")]
    Multiple {
        /// Which array is wrong.
        array: &'static str,
        /// Which of its dimensions.
        dimension: Dimension,
        /// How many belong together.
        expected: usize,
        /// The length that came.
        actual: usize,
    },
    /// A value that must be 0 is not.
    #[error("{array}: expected 0 behind the last time, found another value at {index:?}")]
    NotZero {
        /// Which array is wrong.
        array: &'static str,
        /// Index of the first offending element.
        index: Vec<usize>,
    },
    /// Rows that would overlap, or cut values.
    #[error(
        "rows of {expected} bytes: expected at least as many from one to the next, a whole number of values, found {actual}"
    )]
    RowStride {
        /// Bytes of a row.
        expected: usize,
        /// Bytes from a row to the next.
        actual: usize,
    },
    /// A dimension has no elements.
    #[error("dimension `{dimension}` of {array} is empty; at least 1 is needed")]
    Empty {
        /// Which array is wrong.
        array: &'static str,
        /// Which of its dimensions.
        dimension: Dimension,
    },
    /// The most negative integer is not a sample: it has no positive counterpart.
    #[error("the most negative {format} value is not a sample: found at {index:?} (expected {}..={})", -.format.limit(), .format.limit())]
    MostNegative {
        /// Format of the data.
        format: SampleFormat,
        /// Index of the first offending element.
        index: Vec<usize>,
    },
    /// The number of polarisations is not 1 or 2.
    #[error("expected 1 or 2 polarisations, found {actual}")]
    Pols {
        /// The number that came.
        actual: usize,
    },
    /// A quantity that must be finite and positive is not.
    #[error("{quantity}: expected a finite number above 0, found {actual:?}")]
    NotPositive {
        /// Name of the quantity with its unit.
        quantity: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// A value that must be finite is not.
    #[error("{quantity}: expected a finite number, found {actual}{}", place(.index))]
    NotFinite {
        /// Name of the quantity.
        quantity: &'static str,
        /// The value that came, as text.
        actual: String,
        /// Index of the first offending element.
        index: Vec<usize>,
    },
    /// A size is so large that the number of elements overflows the address space.
    #[error("{array} with {elements} elements is larger than memory can be")]
    TooLarge {
        /// Which array.
        array: &'static str,
        /// The number of elements asked for, as text because it may not fit an integer.
        elements: String,
    },
    /// The number of bits of a packed sample is out of range.
    #[error("packed samples have 2 to 16 bits, found {actual}")]
    PackedBits {
        /// The number that came.
        actual: u32,
    },
    /// A value does not fit the number of bits asked for.
    #[error("value {actual} at {index} does not fit {bits} bits")]
    PackedValue {
        /// Number of bits of a sample.
        bits: u32,
        /// The value.
        actual: i16,
        /// Its position.
        index: usize,
    },
    /// A packed buffer is too short for the number of samples asked for.
    #[error("{samples} samples of {bits} bits need {expected} bytes, found {actual}")]
    PackedLength {
        /// Number of samples.
        samples: usize,
        /// Number of bits of a sample.
        bits: u32,
        /// Bytes needed.
        expected: usize,
        /// Bytes found.
        actual: usize,
    },
    /// A mask's spectra are spaced otherwise than a chunk's, or lie between them.
    #[error(
        "expected a mask on the grid of the chunk, {} ADC samples between spectra and one at {}, found {} between spectra \
         and one at {}",
        .expected.samples_between_spectra, .expected.first_sample,
        .actual.samples_between_spectra, .actual.first_sample
    )]
    MaskGrid {
        /// The chunk's time axis.
        expected: SpectrumClock,
        /// The mask's.
        actual: SpectrumClock,
    },
    /// A mask does not cover all spectra of a chunk. Both are the stamp of the first spectrum, and a number of spectra.
    #[error(
        "expected a mask that covers {} spectra from ADC sample {} on, found one of {} spectra from {} on",
        .expected.1, .expected.0, .actual.1, .actual.0
    )]
    MaskRange {
        /// The chunk's.
        expected: (u64, usize),
        /// The mask's.
        actual: (u64, usize),
    },
    /// A baseline order cannot hold these inputs.
    #[error("baseline order {order} needs {expected} polarisations, found {actual}")]
    OrderPols {
        /// Name of the order.
        order: &'static str,
        /// Polarisations needed.
        expected: usize,
        /// Polarisations found.
        actual: usize,
    },
}

/// ` at [2, 3]`, or nothing of a value that is no part of an array.
fn place(index: &[usize]) -> String {
    if index.is_empty() { String::new() } else { format!(" at {index:?}") }
}

#[cfg(test)]
mod tests {
    use super::TypesError;

    #[test]
    fn a_value_that_is_no_part_of_an_array_has_no_place() {
        let error =
            |index: &[usize]| TypesError::NotFinite { quantity: "gain", actual: "NaN".into(), index: index.into() };
        assert_eq!(error(&[]).to_string(), "gain: expected a finite number, found NaN");
        assert_eq!(error(&[2, 3]).to_string(), "gain: expected a finite number, found NaN at [2, 3]");
    }

    #[test]
    fn long_numbers_are_told_in_few_digits() {
        let error = |actual| TypesError::NotPositive { quantity: "rate", actual }.to_string();
        assert_eq!(error(-1e300), "rate: expected a finite number above 0, found -1e300");
        assert_eq!(error(-2.5), "rate: expected a finite number above 0, found -2.5");
    }
}
