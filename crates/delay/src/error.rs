//! What can be wrong with a delay model, a position, a direction or an antenna table.

/// A delay model or a geometry that cannot be used, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DelayError {
    /// A value that must be finite is not.
    #[error("{quantity}: expected a finite number, found {actual} at {index}")]
    NotFinite {
        /// Name of the quantity with its unit.
        quantity: &'static str,
        /// The value that came, as text.
        actual: String,
        /// Its position in its list, 0 for a single value.
        index: usize,
    },
    /// A quantity that must be finite and positive is not.
    #[error("{quantity}: expected a finite number above 0, found {actual}")]
    NotPositive {
        /// Name of the quantity with its unit.
        quantity: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// A polynomial whose value overflows somewhere within 2^64 samples of its start.
    #[error("{quantity}: the polynomial overflows within 2^64 samples of its start (degree {degree})")]
    Overflow {
        /// Name of the quantity with its unit.
        quantity: &'static str,
        /// Degree of the polynomial.
        degree: usize,
    },
    /// A segment starts before one that is already queued.
    #[error("segment starts at sample {start_sample}, before the last queued one at {last_start_sample}")]
    OutOfOrder {
        /// Start of the segment that came.
        start_sample: u64,
        /// Start of the last queued segment.
        last_start_sample: u64,
    },
}

/// `Ok` if `actual` is finite.
pub(crate) fn check_finite(quantity: &'static str, actual: f64, index: usize) -> Result<(), DelayError> {
    if actual.is_finite() { Ok(()) } else { Err(DelayError::NotFinite { quantity, actual: actual.to_string(), index }) }
}

/// `Ok` if `actual` is finite and above 0.
pub(crate) fn check_positive(quantity: &'static str, actual: f64) -> Result<(), DelayError> {
    if actual.is_finite() && actual > 0.0 { Ok(()) } else { Err(DelayError::NotPositive { quantity, actual }) }
}
