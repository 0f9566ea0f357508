//! Formats of samples as the kernels see them: numbers, one or two a sample.

use fringes_backend::DeviceError;
use fringes_types::{ChunkFormat, SampleFormat};

use crate::ChannelizerError;

/// Numbers of samples in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Bits of a number.
    pub bits: u32,
    /// Numbers of a sample: 2 of a complex one.
    pub parts: u32,
    /// Whether they are f16 or f32.
    pub floats: bool,
    /// Whether integers of 16 bits are little-endian.
    pub little_endian: bool,
}

impl Numbers {
    /// Those of a format.
    pub fn of(format: ChunkFormat) -> Result<Self, ChannelizerError> {
        let missing = || {
            ChannelizerError::Device(DeviceError::NoKernel {
                expected: "packed samples of 2 to 16 bits, or 8-bit, 16-bit or floating-point ones",
                actual: format.to_string(),
            })
        };
        let parts = 1 + u32::from(format.is_complex());
        let (bits, floats, little_endian) = match format {
            ChunkFormat::Packed { bits } => (bits, false, false),
            ChunkFormat::Typed { format: SampleFormat::Int8, .. } => (8, false, false),
            ChunkFormat::Typed { format: SampleFormat::Int16, .. } => (16, false, true),
            ChunkFormat::Typed { format: SampleFormat::Float16, .. } => (16, true, false),
            ChunkFormat::Typed { format: SampleFormat::Float32, .. } => (32, true, false),
            ChunkFormat::Typed { format: SampleFormat::Int4, .. } => return Err(missing()),
        };
        if floats || (2..=16).contains(&bits) {
            Ok(Self { bits, parts, floats, little_endian })
        } else {
            Err(missing())
        }
    }

    /// Bits of a sample.
    pub fn sample_bits(self) -> u64 {
        u64::from(self.bits * self.parts)
    }
}

/// Name of a format of the output in those of kernels.
pub fn output_name(format: SampleFormat) -> &'static str {
    match format {
        SampleFormat::Int4 => "i4",
        SampleFormat::Int8 | SampleFormat::Int16 => "i8",
        SampleFormat::Float16 => "f16",
        SampleFormat::Float32 => "f32",
    }
}
