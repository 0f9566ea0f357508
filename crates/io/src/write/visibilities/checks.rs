//! Checks of texts and numbers that a file is to hold.

use fringes_types::TypesError;

use crate::IoError;

/// Checks a text for a FITS header or table: printable ASCII, at most `limit` characters (a quote counts twice).
pub(in crate::write) fn check_text(field: &'static str, value: &str, limit: usize) -> Result<(), IoError> {
    let length = value.chars().map(|letter| if letter == '\'' { 2 } else { 1 }).sum::<usize>();
    if length > limit || !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(IoError::FitsText { field, limit, actual: value.into() });
    }
    Ok(())
}

/// Checks that a number can be written.
pub(in crate::write) fn check_finite(quantity: &'static str, value: f64, index: &[usize]) -> Result<(), TypesError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(TypesError::NotFinite { quantity, actual: value.to_string(), index: index.to_vec() })
}
