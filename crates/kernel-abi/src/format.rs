//! Formats of complex samples in device memory.
//!
//! | format | bytes | real and imaginary part | samples of a [row](crate::rows) |
//! |---|---|---|---|
//! | [`Format::I4`] | 1 | high and low nibble, -7 to 7 | 128 |
//! | [`Format::I8`] | 2 | two bytes, -127 to 127 | 64 |
//! | [`Format::F16`] | 4 | two f16 | 32 |
//! | [`Format::F32`] | 8 | two f32 | 16 |

use crate::rows;

/// A format of complex samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 4+4 bits, the real part in the high ones.
    I4,
    /// Signed bytes, the real part first.
    I8,
    /// f16, the real part first.
    F16,
    /// f32, the real part first.
    F32,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::I4, Self::I8, Self::F16, Self::F32];

    /// As in names of kernels and of their PTX.
    #[inline(always)]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::F16 => "f16",
            Self::F32 => "f32",
        }
    }

    /// Bytes of a sample.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I4 => 1,
            Self::I8 => 2,
            Self::F16 => 4,
            Self::F32 => 8,
        }
    }

    /// Samples of a row.
    #[inline(always)]
    pub const fn row_times(self) -> usize {
        rows::times(self.bytes())
    }

    /// Largest magnitude of a part of an integer format, 0 for floats, which have none.
    #[inline(always)]
    pub const fn limit(self) -> f32 {
        match self {
            Self::I4 => 7.0,
            Self::I8 => 127.0,
            Self::F16 | Self::F32 => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_format_are_whole() {
        assert_eq!(Format::ALL.map(Format::row_times), [128, 64, 32, 16]);
        assert!(Format::ALL.into_iter().all(|format| format.row_times() * format.bytes() == rows::BYTES));
    }
}
