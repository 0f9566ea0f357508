//! What can be wrong with a question.

/// Why there is no answer, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number that must lie in a range does not.
    #[error("{quantity}: expected a number from {} to {}, found {actual}", .expected.0, .expected.1)]
    Range {
        /// Name of the number, with its unit.
        quantity: &'static str,
        /// The smallest and the largest one.
        expected: (f64, f64),
        /// The number that came.
        actual: f64,
    },
    /// A number that must be one of a few is not.
    #[error("{quantity}: expected {expected}, found {actual}")]
    Choice {
        /// Name of the number.
        quantity: &'static str,
        /// What may be.
        expected: &'static str,
        /// What came.
        actual: String,
    },
    /// The smallest share of the work is too much for a GPU.
    #[error("{what} is the least that a GPU can have: expected at most 1 of its {resource}, found {actual:.3}")]
    TooMuch {
        /// The share: an antenna, a channel.
        what: &'static str,
        /// What of the GPU does not suffice.
        resource: &'static str,
        /// How much of it would be needed.
        actual: f64,
    },
    /// More ranks than there are places.
    #[error("{quantity}: expected at most {most}, found {actual}")]
    Places {
        /// What has the places.
        quantity: &'static str,
        /// The places that there are.
        most: u64,
        /// What came.
        actual: u64,
    },
    /// The coefficients lack something or cannot be read.
    #[error("coefficients: {0}")]
    Coefficients(String),
}

/// A number in a range, or an error. What is no number is in no range.
pub(crate) fn in_range(quantity: &'static str, actual: f64, expected: (f64, f64)) -> Result<(), PlanError> {
    if actual >= expected.0 && actual <= expected.1 {
        Ok(())
    } else {
        Err(PlanError::Range { quantity, expected, actual })
    }
}
