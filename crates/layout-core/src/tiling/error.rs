//! Why a tiling is refused.

use core::fmt;

use crate::{LayoutError, Message, Name};

/// Why a tiling, or a place in it, is refused. Each names the dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TilingError {
    /// The inner layout, or a name, is in the way.
    Layout(LayoutError),
    /// Two dimensions have the same name.
    Twice {
        /// The name.
        dimension: Name,
    },
    /// A dimension has no index.
    Empty {
        /// The dimension.
        dimension: Name,
    },
    /// Neighbours in a dimension overlap.
    Overlap {
        /// The dimension.
        dimension: Name,
        /// Its stride.
        stride: u64,
        /// The length of what lies inside it.
        inside: u64,
    },
    /// The dimension reaches beyond address 2^48.
    TooLong {
        /// The dimension.
        dimension: Name,
    },
    /// Not the right number of dimensions or indices, or more than there can be.
    Dimensions {
        /// Number given.
        actual: usize,
        /// Number wanted, or possible.
        expected: usize,
    },
    /// An index is beyond its dimension's extent.
    Index {
        /// The dimension.
        dimension: Name,
        /// The index.
        index: u64,
        /// The extent.
        extent: u64,
    },
    /// The inner place or element is beyond the inner layout.
    Place {
        /// The place.
        place: u64,
        /// Places that there are.
        size: u64,
    },
}

impl TilingError {
    /// The error as text, in `const` too.
    pub const fn message(&self) -> Message {
        let message = Message::new();
        match self {
            Self::Layout(error) => error.message(),
            Self::Twice { dimension } => message.text("dimension ").text(dimension.as_str()).text(" is there twice"),
            Self::Empty { dimension } => message.text("dimension ").text(dimension.as_str()).text(" has extent 0"),
            Self::Overlap { dimension, stride, inside } => message
                .text("neighbours in dimension ")
                .text(dimension.as_str())
                .text(" overlap: they are ")
                .number(*stride as usize)
                .text(" apart and ")
                .number(*inside as usize)
                .text(" long"),
            Self::TooLong { dimension } => {
                message.text("dimension ").text(dimension.as_str()).text(" reaches beyond address 2^48")
            }
            Self::Dimensions { actual, expected } => {
                message.number(*actual).text(" dimensions instead of ").number(*expected)
            }
            Self::Index { dimension, index, extent } => message
                .text("index ")
                .number(*index as usize)
                .text(" in dimension ")
                .text(dimension.as_str())
                .text(" of extent ")
                .number(*extent as usize),
            Self::Place { place, size } => {
                message.text("place ").number(*place as usize).text(" of ").number(*size as usize)
            }
        }
    }
}

impl fmt::Display for TilingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl core::error::Error for TilingError {}

impl From<LayoutError> for TilingError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}
