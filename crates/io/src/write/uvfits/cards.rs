//! FITS header cards whose values are checked: `KEYWORD = value`, 80 characters each, 36 to a block.

use fitsio_pure::header::{Card, serialize_header};
use fitsio_pure::value::Value;

use crate::IoError;
use crate::write::visibilities::{check_finite, check_text};

/// Most characters of a text on one card, between the quotes.
pub(super) const LONGEST_TEXT: usize = 68;

/// Cards in order, without the closing END.
#[derive(Debug, Clone)]
pub(super) struct Cards(pub(super) Vec<Card>);

impl Cards {
    /// Adds an integer.
    pub(super) fn integer(&mut self, keyword: &str, value: i64) -> Result<(), IoError> {
        self.push(keyword, Value::Integer(value))
    }

    /// Adds a number; `quantity` names it in the error if it is not finite.
    pub(super) fn number(&mut self, keyword: &str, quantity: &'static str, value: f64) -> Result<(), IoError> {
        check_finite(quantity, value, &[])?;
        self.push(keyword, Value::Float(value))
    }

    /// Adds a text; `field` names it in the error if it is not printable ASCII or too long.
    pub(super) fn text(&mut self, keyword: &str, field: &'static str, value: &str) -> Result<(), IoError> {
        check_text(field, value, LONGEST_TEXT)?;
        self.push(keyword, Value::String(value.into()))
    }

    /// The header as whole blocks of 2880 bytes.
    pub(super) fn to_blocks(&self) -> Result<Vec<u8>, IoError> {
        Ok(serialize_header(&self.0)?)
    }

    fn push(&mut self, keyword: &str, value: Value) -> Result<(), IoError> {
        self.0.push(Card::new(keyword, value)?);
        Ok(())
    }
}
