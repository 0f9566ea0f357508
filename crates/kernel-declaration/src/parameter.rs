//! Parameters of a kernel.

use crate::{DeclarationError, Element};

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the source.
    pub name: String,
    /// What is passed.
    pub kind: ParameterKind,
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number, passed by value.
    Scalar(Element),
    /// A view of global memory, passed as address and length in elements, 8 bytes each.
    Buffer {
        /// Type of its elements.
        element: Element,
        /// What the kernel does with it.
        access: Access,
    },
    /// A tensor map, 128 bytes passed by value, aligned to 64 bytes.
    TensorMap,
}

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads: `Global<T>`.
    Read,
    /// Reads and writes: `GlobalMut<T>`.
    ReadWrite,
}

impl Parameter {
    pub(crate) fn parse(text: &str) -> Result<Self, DeclarationError> {
        let unknown = || DeclarationError::Parameter { text: text.trim().into() };
        let (name, kind) = text.split_once(':').ok_or_else(unknown)?;
        let kind: String = kind.split_whitespace().collect();
        let kind = kind.rsplit("::").next().unwrap_or_default(); // `global::Global<f32>` and `Global<f32>` are one
        let inside = |view: &str| kind.strip_prefix(view).and_then(|rest| rest.strip_suffix('>'));
        let kind = if let Some(element) = inside("Global<") {
            ParameterKind::Buffer { element: Element::parse(element)?, access: Access::Read }
        } else if let Some(element) = inside("GlobalMut<") {
            ParameterKind::Buffer { element: Element::parse(element)?, access: Access::ReadWrite }
        } else if kind == "TensorMap" {
            ParameterKind::TensorMap
        } else {
            ParameterKind::Scalar(Element::parse(kind).map_err(|_| unknown())?)
        };
        Ok(Self { name: name.trim().into(), kind })
    }
}

impl ParameterKind {
    /// Size of the parameter itself, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Scalar(element) => element.bytes(),
            Self::Buffer { .. } => 16,
            Self::TensorMap => 128,
        }
    }
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.kind)
    }
}

impl std::fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scalar(element) => write!(f, "{element}"),
            Self::Buffer { element, access: Access::Read } => write!(f, "Global<{element}>"),
            Self::Buffer { element, access: Access::ReadWrite } => write!(f, "GlobalMut<{element}>"),
            Self::TensorMap => write!(f, "TensorMap"),
        }
    }
}
