//! What can be wrong with a simulation or a call.

use fringes_delay_model::DelayModelError;
use fringes_types::TypesError;

/// An error of the simulator. Nothing is written and the simulator stays where it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// Inputs, arrays or axes that cannot be.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A geometry that cannot be.
    #[error(transparent)]
    Delay(#[from] DelayModelError),
    /// A list is not as long as the array needs.
    #[error("{list}: expected {expected}, found {actual}")]
    Length {
        /// Which list.
        list: String,
        /// What its length may be.
        expected: String,
        /// The length that came.
        actual: usize,
    },
    /// A number is out of range.
    #[error("{quantity}: expected {expected}, found {actual:?}")]
    OutOfRange {
        /// Which number, with its unit.
        quantity: String,
        /// What it may be.
        expected: String,
        /// The value that came.
        actual: f64,
    },
    /// A source has a direction, but no positions of the antennas are known.
    #[error("{what} has a direction on the sky: expected `array` with positions and an epoch, found none")]
    NoArray {
        /// Which source or tone.
        what: String,
    },
    /// The rows of a buffer are not those of the inputs, or not equally long.
    #[error("{what}: expected {expected}, found {actual}")]
    Buffer {
        /// What of the buffer.
        what: &'static str,
        /// What the call needs.
        expected: usize,
        /// What came.
        actual: usize,
    },
    /// The sample counter would pass 2^64 - 1.
    #[error("{times} samples from sample {first} on: expected at most {} more", u64::MAX - first)]
    Counter {
        /// The first sample of the call.
        first: u64,
        /// Samples asked for.
        times: usize,
    },
    /// A name of an input, antenna or source that does not exist.
    #[error("{what}: expected a number below {expected}, found {actual}")]
    Index {
        /// What is numbered.
        what: &'static str,
        /// How many there are.
        expected: usize,
        /// The number that came.
        actual: usize,
    },
}

/// `Ok` if the number fulfils the condition; NaN never does.
pub(crate) fn check(good: bool, quantity: &str, expected: &str, actual: f64) -> Result<(), SimulatorError> {
    if good {
        return Ok(());
    }
    Err(SimulatorError::OutOfRange { quantity: quantity.to_owned(), expected: expected.to_owned(), actual })
}
