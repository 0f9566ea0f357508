//! Element types of scalars and buffers.

use crate::DeclarationError;

/// The element type of a scalar parameter or of a buffer.
///
/// f16 and bf16 travel as `u16`, or two in a `u32`, as PTX registers hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    /// An array of `length` scalars, moved in one access.
    Vector {
        scalar: &'static Element,
        length: u8,
    },
}

const NAMES: [(&str, Element); 10] = [
    ("i8", Element::I8),
    ("u8", Element::U8),
    ("i16", Element::I16),
    ("u16", Element::U16),
    ("i32", Element::I32),
    ("u32", Element::U32),
    ("i64", Element::I64),
    ("u64", Element::U64),
    ("f32", Element::F32),
    ("f64", Element::F64),
];

impl Element {
    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Vector { scalar, length } => scalar.bytes() * usize::from(length),
        }
    }

    /// Parses a name such as `f32` or `[u32; 4]`.
    ///
    /// # Errors
    /// [`DeclarationError::Element`] with what came.
    pub fn parse(text: &str) -> Result<Self, DeclarationError> {
        let text = text.trim();
        let unknown = || DeclarationError::Element { text: text.into() };
        let scalar = |name: &str| NAMES.iter().find(|(known, _)| *known == name.trim()).map(|(_, element)| element);
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (element, length) = inner.split_once(';').ok_or_else(unknown)?;
            let length = length.trim().parse().ok().filter(|length| [2, 4].contains(length)).ok_or_else(unknown)?;
            return Ok(Self::Vector { scalar: scalar(element).ok_or_else(unknown)?, length });
        }
        scalar(text).copied().ok_or_else(unknown)
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vector { scalar, length } => write!(f, "[{scalar}; {length}]"),
            scalar => f.write_str(NAMES.iter().find(|(_, known)| known == scalar).map_or("", |(name, _)| name)),
        }
    }
}
