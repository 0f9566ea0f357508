//! What can be wrong with a delay model, a position, a direction or an antenna table.

/// A delay model or a geometry that cannot be used, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DelayModelError {
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
    #[error("{quantity}: expected a finite number above 0, found {actual:?}")]
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
    /// A value outside the range in which it has a meaning.
    #[error("{quantity}: expected {expected}, found {actual:?}")]
    OutOfRange {
        /// Name of the quantity with its unit.
        quantity: &'static str,
        /// The range.
        expected: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// Text that cannot be read as what it should be.
    #[error("{what}: expected {expected}, found {actual:?}")]
    Parse {
        /// What is read.
        what: &'static str,
        /// The notation or range.
        expected: &'static str,
        /// The text that came.
        actual: String,
    },
    /// A line of an antenna table that cannot be read.
    #[error("line {line} of the antenna table: expected {expected}, found {actual:?}")]
    Table {
        /// Number of the line, from 1.
        line: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        actual: String,
    },
    /// A list whose length does not fit another.
    #[error("{list}: expected {expected} entries, found {actual}")]
    Length {
        /// Which list.
        list: &'static str,
        /// The length that the other list has.
        expected: usize,
        /// The length that came.
        actual: usize,
    },
    /// Two antennas of one name.
    #[error("two antennas are named {name:?}")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// An array without antennas.
    #[error("the array has no antennas")]
    NoAntennas,
    /// An array whose place on the Earth is needed but not known.
    #[error("the place of the array on the Earth is not known: give a site with the local positions")]
    NoSite,
}

/// `Ok` if `actual` is finite.
pub(crate) fn check_finite(quantity: &'static str, actual: f64, index: usize) -> Result<(), DelayModelError> {
    if actual.is_finite() {
        Ok(())
    } else {
        Err(DelayModelError::NotFinite { quantity, actual: actual.to_string(), index })
    }
}

/// `Ok` if `actual` is finite and above 0.
pub(crate) fn check_positive(quantity: &'static str, actual: f64) -> Result<(), DelayModelError> {
    if actual.is_finite() && actual > 0.0 { Ok(()) } else { Err(DelayModelError::NotPositive { quantity, actual }) }
}
