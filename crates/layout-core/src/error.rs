//! What can be wrong with a layout.

use core::fmt;

use crate::{Message, Name};

/// The value of a `Result`, or the end of the function with its error: `?` for `const`.
macro_rules! ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}
pub(crate) use ok;

/// Why a layout, or an operation on layouts, is refused. Each names the bit that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// No name of a bit.
    Name {
        /// Position in the text.
        at: usize,
        /// Length of what is there.
        length: usize,
    },
    /// Text that is no layout.
    Text {
        /// Position in the text.
        at: usize,
        /// What is expected there.
        expected: &'static str,
        /// The byte that is there, 0 at the end.
        found: u8,
    },
    /// Two sides of `<->` of different lengths.
    Sides {
        /// Position of the group in the text.
        at: usize,
        /// Physical bits.
        physical: usize,
        /// Logical bits.
        logical: usize,
    },
    /// A bit is named twice in one space.
    Twice {
        /// The bit.
        bit: Name,
    },
    /// A bit is not in the space where it is needed.
    Missing {
        /// The bit.
        bit: Name,
    },
    /// A bit is in a space where it must not be.
    Unexpected {
        /// The bit.
        bit: Name,
    },
    /// More bits than a space can hold.
    TooMany {
        /// Bits wanted.
        actual: usize,
        /// Bits that fit.
        limit: usize,
    },
    /// Another number of bits than is expected.
    Count {
        /// Bits that there are.
        actual: usize,
        /// Bits that there should be.
        expected: usize,
    },
    /// Two physical places hold the same element where they must not: this physical bit can be flipped together with
    /// lower ones and nothing changes.
    NotInjective {
        /// The physical bit.
        bit: Name,
    },
    /// Not every element is held: no change of place flips this logical bit alone.
    NotSurjective {
        /// The logical bit.
        bit: Name,
    },
    /// Elements that are asked for are held by no place: in this logical bit, the first of them, no place agrees with
    /// them.
    NotHeld {
        /// The logical bit.
        bit: Name,
    },
    /// One layout is no factor of another: they disagree in this bit.
    NotAFactor {
        /// The bit.
        bit: Name,
    },
}

impl LayoutError {
    /// The error as text, in `const` too.
    pub const fn message(&self) -> Message {
        let message = Message::new();
        match self {
            Self::Name { at, .. } => message.text("no name of a bit at byte ").number(*at),
            Self::Text { at, expected, found } => {
                let message = message.text("expected ").text(expected).text(" at byte ").number(*at).text(", not ");
                if *found == 0 { message.text("the end") } else { message.text("`").byte(*found).text("`") }
            }
            Self::Sides { at, physical, logical } => message
                .number(*physical)
                .text(" physical bits for ")
                .number(*logical)
                .text(" logical ones in the group at byte ")
                .number(*at),
            Self::Twice { bit } => message.text("bit ").text(bit.as_str()).text(" is there twice"),
            Self::Missing { bit } => message.text("bit ").text(bit.as_str()).text(" is missing"),
            Self::Unexpected { bit } => message.text("bit ").text(bit.as_str()).text(" is not expected"),
            Self::TooMany { actual, limit } => {
                message.number(*actual).text(" bits, at most ").number(*limit).text(" fit")
            }
            Self::Count { actual, expected } => {
                message.number(*actual).text(" bits where ").number(*expected).text(" are expected")
            }
            Self::NotInjective { bit } => message
                .text("not injective: flipping bit ")
                .text(bit.as_str())
                .text(" (with lower ones) gives the same element"),
            Self::NotSurjective { bit } => {
                message.text("not surjective: no change of place flips bit ").text(bit.as_str()).text(" alone")
            }
            Self::NotHeld { bit } => {
                message.text("no place holds the elements asked for: bit ").text(bit.as_str()).text(" is out of reach")
            }
            Self::NotAFactor { bit } => message.text("no factor: bit ").text(bit.as_str()).text(" disagrees"),
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl core::error::Error for LayoutError {}
