//! Headers that are text: names and values.

use std::collections::HashMap;

use super::source::OpenSource;
use crate::IoError;

/// The fields of a text header, and where it begins in its file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TextHeader {
    pub(crate) offset: u64,
    fields: HashMap<String, String>,
}

impl TextHeader {
    /// An empty header.
    pub(crate) fn new(offset: u64) -> Self {
        Self { offset, fields: HashMap::new() }
    }

    /// Adds a field; of fields that come twice the last counts.
    pub(crate) fn insert(&mut self, field: &str, value: &str) {
        self.fields.insert(field.to_owned(), value.to_owned());
    }

    /// The text of a field, `None` if it is missing, empty or says that it is unset.
    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        let value = self.fields.get(field)?.trim();
        (!value.is_empty() && !value.eq_ignore_ascii_case("unset") && !value.eq_ignore_ascii_case("unknown"))
            .then_some(value)
    }

    /// What a number is read from: what follows it may be a unit.
    fn first_word(&self, field: &str) -> Option<&str> {
        self.text(field)?.split_whitespace().next()
    }

    /// A whole number, at least 0.
    pub(crate) fn whole(&self, source: &OpenSource, field: &'static str) -> Result<Option<u64>, IoError> {
        let Some(text) = self.first_word(field) else { return Ok(None) };
        let wrong = || source.field(self.offset, field, "a whole number, at least 0", text);
        match text.parse::<u64>() {
            Ok(value) => Ok(Some(value)),
            // Some writers put every number as a float.
            Err(_) => match text.parse::<f64>() {
                Ok(value) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => Ok(Some(value as u64)),
                _ => Err(wrong()),
            },
        }
    }

    /// A whole number within bounds that must be there.
    pub(crate) fn required(
        &self,
        source: &OpenSource,
        field: &'static str,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, IoError> {
        let expected = || format!("a whole number from {} to {}", bounds.start(), bounds.end());
        match self.whole(source, field)? {
            Some(value) if bounds.contains(&value) => Ok(value),
            Some(value) => Err(source.field(self.offset, field, expected(), value)),
            None => Err(source.field(self.offset, field, expected(), "no such field")),
        }
    }

    /// A finite number.
    pub(crate) fn number(&self, source: &OpenSource, field: &'static str) -> Result<Option<f64>, IoError> {
        let Some(text) = self.first_word(field) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            _ => Err(source.field(self.offset, field, "a finite number", text)),
        }
    }
}

/// An angle `[+-]d:m:s` in its own unit (hours or degrees), or a plain number.
pub(crate) fn sexagesimal(text: &str) -> Option<f64> {
    let (sign, magnitude) = match text.trim().strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.trim().trim_start_matches('+')),
    };
    let mut parts = magnitude.split(':');
    let mut value = 0.0;
    for unit in [1.0, 60.0, 3600.0] {
        let Some(part) = parts.next() else { break };
        let part: f64 = part.trim().parse().ok().filter(|part: &f64| part.is_finite() && *part >= 0.0)?;
        value += part / unit;
    }
    (parts.next().is_none()).then_some(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_read() {
        assert_eq!(sexagesimal("10:30:00"), Some(10.5));
        assert_eq!(sexagesimal("-00:30:36"), Some(-0.51));
        assert_eq!(sexagesimal("+12.25"), Some(12.25));
        assert_eq!(sexagesimal("1:2:3:4"), None);
        assert_eq!(sexagesimal("a:2"), None);
    }
}
