//! Why an access is refused.

use core::fmt;

use crate::{LayoutError, Message, Name};

pub(super) use crate::error::ok;

/// As [`ok`], for a [`LayoutError`].
macro_rules! layout_ok {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(AccessError::Layout(error)),
        }
    };
}
pub(super) use layout_ok;

/// Why a warp cannot access memory as asked. Each names the bit or the address that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessError {
    /// The address map is no layout.
    Layout(LayoutError),
    /// The memory holds no element with this logical bit set.
    NotHeld {
        /// The logical bit.
        bit: Name,
    },
    /// A bit is not what its place wants: no address bit, or one inside an element.
    Unexpected {
        /// The bit.
        bit: Name,
    },
    /// More bits than there can be: three bits `b`, an address bit beyond 47, more than four matrices.
    TooMany {
        /// Bits wanted.
        actual: usize,
        /// Bits that fit.
        limit: usize,
    },
    /// The width is not the one that is needed.
    Width {
        /// Bytes.
        actual: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// A bit moves accesses off the multiples of their width.
    BitAlignment {
        /// The bit.
        bit: Name,
        /// What it flips in the address.
        moves: u64,
        /// Bytes to a multiple of which it should move.
        bytes: u64,
    },
    /// The first address is no multiple of the width.
    BaseAlignment {
        /// The address.
        address: u64,
        /// Bytes of which it should be a multiple.
        bytes: u64,
    },
    /// No bit inside a lane flips this bit of the address alone.
    NotContiguous {
        /// The address bit, as bytes.
        bytes: u64,
        /// Bytes of the access.
        width: u64,
    },
}

impl AccessError {
    /// The error as text, in `const` too.
    pub const fn message(&self) -> Message {
        let message = Message::new();
        match self {
            Self::Layout(error) => error.message(),
            Self::NotHeld { bit } => {
                message.text("the memory holds no element with bit ").text(bit.as_str()).text(" set")
            }
            Self::Unexpected { bit } => {
                message.text("bit ").text(bit.as_str()).text(" is no address bit of an element")
            }
            Self::TooMany { actual, limit } => {
                message.number(*actual).text(" bits, at most ").number(*limit).text(" are possible")
            }
            Self::Width { actual, expected } => message
                .text("accesses of ")
                .number(*actual as usize)
                .text(" bytes, ")
                .number(*expected as usize)
                .text(" are needed"),
            Self::BitAlignment { bit, moves, bytes } => message
                .text("bit ")
                .text(bit.as_str())
                .text(" moves the address by ")
                .number(*moves as usize)
                .text(" bytes, no multiple of ")
                .number(*bytes as usize),
            Self::BaseAlignment { address, bytes } => message
                .text("the first address, ")
                .number(*address as usize)
                .text(", is no multiple of ")
                .number(*bytes as usize)
                .text(" bytes"),
            Self::NotContiguous { bytes, width } => message
                .text("no access of ")
                .number(*width as usize)
                .text(" bytes: no bit inside a lane moves the address by ")
                .number(*bytes as usize)
                .text(" alone"),
        }
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl core::error::Error for AccessError {}

impl From<LayoutError> for AccessError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}
