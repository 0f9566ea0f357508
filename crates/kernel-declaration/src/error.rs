//! What can be wrong with a declaration, or with a compressed text.

/// A declaration that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// The line as a whole.
    #[error("`{text}` is no kernel declaration; expected `name(parameter: type, ...) key=value ...`")]
    Malformed {
        /// What came.
        text: String,
    },
    /// A parameter.
    #[error(
        "`{text}` is no kernel parameter; expected `name: u32`, `name: Global<f32>`, `name: GlobalMut<f32>` or `name: TensorMap`"
    )]
    Parameter {
        /// What came.
        text: String,
    },
    /// An element type.
    #[error(
        "`{text}` is no element type of a kernel; expected one of i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 or an array of 2 or 4 of one"
    )]
    Element {
        /// What came.
        text: String,
    },
    /// A launch bound.
    #[error(
        "`{text}` is no launch bound; expected one of threads, min_blocks, max_registers, cluster, shared_bytes with whole numbers above zero"
    )]
    Bound {
        /// What came.
        text: String,
    },
}

/// Bytes that are no compressed text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// They are damaged, or were never compressed.
    #[error("{bytes} bytes are no compressed text: {reason}")]
    Damaged {
        /// How many came.
        bytes: usize,
        /// What the decompressor says.
        reason: String,
    },
    /// What was compressed is no UTF-8.
    #[error("what was compressed is no UTF-8 text from byte {position} on")]
    NoText {
        /// The first byte that is none.
        position: usize,
    },
}
