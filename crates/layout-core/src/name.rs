//! Names of bits.

use core::fmt;

use crate::LayoutError;

/// The name of an index bit: letters, `_` and `'`, then an optional number: `n0`, `ReIm`, `ReIm_out`, `t4`.
///
/// At most 15 bytes. Two names are the same bit if and only if they are the same text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    bytes: [u8; Self::MAX_LENGTH],
    length: u8,
}

impl Name {
    /// Most bytes of a name.
    pub const MAX_LENGTH: usize = 15;

    pub(crate) const EMPTY: Self = Self { bytes: [0; Self::MAX_LENGTH], length: 0 };

    /// The name that a text spells.
    ///
    /// # Errors
    /// [`LayoutError::Name`] if it is empty, too long, or not letters followed by digits.
    pub const fn new(text: &str) -> Result<Self, LayoutError> {
        Self::from_bytes(text.as_bytes(), 0, text.len())
    }

    /// The name that bytes `from..to` of a text spell.
    pub(crate) const fn from_bytes(text: &[u8], from: usize, to: usize) -> Result<Self, LayoutError> {
        let mut name = Self::EMPTY;
        let mut digits = false;
        let mut at = from;
        while at < to {
            let byte = text[at];
            let letter = byte.is_ascii_alphabetic() || byte == b'_' || byte == b'\'';
            if !(letter && !digits || byte.is_ascii_digit() && at > from) || at - from == Self::MAX_LENGTH {
                return Err(LayoutError::Name { at: from, length: to - from });
            }
            digits = byte.is_ascii_digit();
            name.bytes[at - from] = byte;
            at += 1;
        }
        if from == to {
            return Err(LayoutError::Name { at: from, length: 0 });
        }
        name.length = (to - from) as u8;
        Ok(name)
    }

    /// A stem followed by a number, `t` and 3 to `t3`.
    ///
    /// # Errors
    /// [`LayoutError::Name`] as [`new`](Self::new).
    pub const fn numbered(stem: &str, number: usize) -> Result<Self, LayoutError> {
        let stem = stem.as_bytes();
        let mut text = [0u8; 40];
        let mut length = 0;
        while length < stem.len() && length < 16 {
            text[length] = stem[length];
            length += 1;
        }
        let mut scale = 1;
        while number / scale >= 10 {
            scale *= 10;
        }
        while scale > 0 {
            text[length] = b'0' + (number / scale % 10) as u8;
            length += 1;
            scale /= 10;
        }
        Self::from_bytes(&text, 0, length)
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.length as usize);
        match core::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "", // a name is ASCII
        }
    }

    /// Whether two names are the same, in `const`.
    pub const fn same(&self, other: &Self) -> bool {
        if self.length != other.length {
            return false;
        }
        let mut at = 0;
        while at < self.length as usize {
            if self.bytes[at] != other.bytes[at] {
                return false;
            }
            at += 1;
        }
        true
    }

    /// The name without its number: `t` of `t3`.
    pub const fn stem(&self) -> &str {
        let mut length = self.length as usize;
        while length > 0 && self.bytes[length - 1].is_ascii_digit() {
            length -= 1;
        }
        let (stem, _) = self.as_str().split_at(length);
        stem
    }

    /// The number at the end: 3 of `t3`, none of `b`.
    pub const fn number(&self) -> Option<usize> {
        let stem = self.stem().len();
        if stem == self.length as usize {
            return None;
        }
        let (mut at, mut number) = (stem, 0usize);
        while at < self.length as usize {
            number = number.saturating_mul(10).saturating_add((self.bytes[at] - b'0') as usize);
            at += 1;
        }
        Some(number)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
