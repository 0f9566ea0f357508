//! Which samples the products of the kernels of two passes take, and by which filter.
//!
//! | samples | filter |
//! |---|---|
//! | real, packed 8, 10 or 12 bits, i8 | products of f16, an integer to a factor |
//! | f16, complex i8 | the same, a number to a factor |
//! | i16, packed 16 bits, f32 | products of tf32, of which two are a number |

use fringes_backend::DeviceError;
use fringes_gpu::LaunchConfig;

use super::format::Numbers;
use super::shape::Shape;
use super::tables::{self, Weights};
use crate::ChannelizerError;

/// Beside the bits of integers that are big-endian, in the number that tells the first kernel what samples are.
const BIG_ENDIAN: u32 = 256;

/// The filter of a format of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastSamples {
    /// Of packed real samples of so many bits.
    Real {
        /// 8, 10 or 12.
        bits: u32,
    },
    /// Of samples that f16 has exactly, and that need not be unpacked.
    Half {
        /// Whether samples are complex.
        complex: bool,
        /// Whether they are 8-bit integers: complex ones.
        integers: bool,
    },
    /// Of samples whose numbers take two tf32 each.
    Wide {
        /// Whether samples are complex.
        complex: bool,
        /// Whether they are 16-bit integers.
        integers: bool,
        /// Whether these are big-endian: packed real ones.
        big_endian: bool,
    },
}

impl FastSamples {
    /// The one that takes the most memory, of real and of complex samples.
    pub fn largest(complex: bool) -> Self {
        Self::Wide { complex, integers: false, big_endian: false }
    }

    /// That of numbers.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels ask for.
    pub fn of(numbers: Numbers) -> Result<Self, ChannelizerError> {
        let complex = numbers.parts == 2;
        match numbers {
            Numbers { parts: 1, floats: false, little_endian: false, bits: bits @ (8 | 10 | 12) } => {
                Ok(Self::Real { bits })
            }
            Numbers { parts: 2, floats: false, bits: 8, .. } => Ok(Self::Half { complex, integers: true }),
            Numbers { floats: true, bits: 16, .. } => Ok(Self::Half { complex, integers: false }),
            Numbers { floats: false, bits: 16, little_endian, parts } if parts == 1 || little_endian => {
                Ok(Self::Wide { complex, integers: true, big_endian: !little_endian })
            }
            Numbers { floats: true, bits: 32, .. } => Ok(Self::Wide { complex, integers: false, big_endian: false }),
            Numbers { parts, floats, bits, .. } => {
                let kind = if floats { "floats" } else { "integers" };
                let actual =
                    format!("{} of {bits} bits", if parts == 2 { format!("complex {kind}") } else { kind.into() });
                let expected =
                    "packed samples of 8, 10, 12 or 16 bits, i8, i16, f16 or f32, or complex i8, i16, f16 or f32";
                Err(ChannelizerError::Device(DeviceError::NoKernel { expected, actual }))
            }
        }
    }

    /// Whether samples are complex.
    pub fn is_complex(self) -> bool {
        match self {
            Self::Real { .. } => false,
            Self::Half { complex, .. } | Self::Wide { complex, .. } => complex,
        }
    }

    /// Name of the first kernel, for up to `16 m` taps.
    pub fn columns_name(self, shape: &Shape, m: usize) -> String {
        let factors = match self {
            Self::Real { bits } => format!("b{bits}"),
            Self::Half { complex, .. } => if complex { "f16" } else { "real_f16" }.into(),
            Self::Wide { complex, .. } => if complex { "tf32" } else { "real_tf32" }.into(),
        };
        format!("columns_{factors}_m{m}_r{}", shape.radix())
    }

    /// Whether the first kernel takes several kinds of samples, and is told which.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::Real { .. } | Self::Half { complex: false, .. })
    }

    /// Bits of integers, [`BIG_ENDIAN`] more of those that are so, and 0 of floats: what kernels are told.
    pub fn integer_bits(self) -> u32 {
        match self {
            Self::Real { bits } => bits,
            Self::Half { integers, .. } => {
                if integers {
                    8
                } else {
                    0
                }
            }
            Self::Wide { integers: false, .. } => 0,
            Self::Wide { big_endian, .. } => 16 + if big_endian { BIG_ENDIAN } else { 0 },
        }
    }

    /// The first kernel's launch for `groups` groups and up to `16 m` taps.
    pub fn columns(self, shape: &Shape, groups: usize, m: usize) -> LaunchConfig {
        match self {
            Self::Real { .. } | Self::Half { .. } => shape.columns(groups, m),
            Self::Wide { .. } => shape.wide_columns(groups, m),
        }
    }

    /// Weights of columns, as the first kernel reads them.
    pub fn weights(self, weights: &[f64], step: usize, m: usize) -> Weights {
        match self {
            Self::Real { .. } | Self::Half { .. } => tables::weights(weights, step, m),
            Self::Wide { .. } => tables::wide_weights(weights, step, m),
        }
    }

    /// Bytes of these weights of `step` columns.
    pub fn weight_bytes(self, step: usize, m: usize) -> u64 {
        let of_column = match self {
            Self::Real { .. } | Self::Half { .. } => 16 * 16 * m + 16 * 8,
            Self::Wide { .. } => 16 * 16 * (2 * m + 1),
        };
        // Weights of wide samples have an entry beside them that is not read.
        (step * of_column + if matches!(self, Self::Wide { .. }) { 8 } else { 0 }) as u64
    }

    /// Part of the kernels' PTX that has the first kernel.
    pub fn part(self) -> &'static str {
        match self {
            Self::Real { bits: 8 | 10 } => "columns",
            _ if self.is_complex() => "complex_columns",
            _ => "more_columns",
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, SampleFormat};

    use super::*;

    #[test]
    fn formats_have_the_filter_that_has_them_exactly() {
        let of = |format| Numbers::of(format).and_then(FastSamples::of);
        let typed = |format, complex| of(ChunkFormat::Typed { format, complex });
        let half = |complex, integers| Ok(FastSamples::Half { complex, integers });
        let wide = |complex, integers| Ok(FastSamples::Wide { complex, integers, big_endian: false });
        assert_eq!(typed(SampleFormat::Int8, false), Ok(FastSamples::Real { bits: 8 }));
        assert_eq!(typed(SampleFormat::Int8, true), half(true, true));
        for complex in [false, true] {
            assert_eq!(typed(SampleFormat::Float16, complex), half(complex, false));
            assert_eq!(typed(SampleFormat::Int16, complex), wide(complex, true));
            assert_eq!(typed(SampleFormat::Float32, complex), wide(complex, false));
        }
        for bits in 2..=16 {
            let found = of(ChunkFormat::Packed { bits });
            assert_eq!(found.is_ok(), [8, 10, 12, 16].contains(&bits), "{bits}");
        }
        let packed = FastSamples::Wide { complex: false, integers: true, big_endian: true };
        assert_eq!(of(ChunkFormat::Packed { bits: 16 }), Ok(packed));
        let error = of(ChunkFormat::Packed { bits: 11 }).unwrap_err().to_string();
        assert!(error.contains("8, 10, 12 or 16 bits") && error.contains("integers of 11 bits"), "{error}");
    }

    #[test]
    fn kernels_are_told_what_they_cannot_see() {
        let of = |format| {
            let samples = Numbers::of(format).and_then(FastSamples::of).unwrap();
            (samples.is_told(), samples.integer_bits())
        };
        let typed = |format| [false, true].map(|complex| of(ChunkFormat::Typed { format, complex }));
        let packed = [8, 12, 16].map(|bits| of(ChunkFormat::Packed { bits }));
        assert_eq!(packed, [(false, 8), (false, 12), (true, 256 + 16)]);
        assert_eq!(typed(SampleFormat::Float16), [(false, 0), (true, 0)]);
        assert_eq!(typed(SampleFormat::Int16), [(true, 16); 2]);
        assert_eq!(typed(SampleFormat::Float32), [(true, 0); 2]);
        assert_eq!(typed(SampleFormat::Int8), [(false, 8), (true, 8)]);
    }

    #[test]
    #[cfg(feature = "gpu")]
    fn parts_are_embedded() {
        use super::super::texts;

        for format in [SampleFormat::Int8, SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32] {
            for complex in [false, true] {
                let samples = Numbers::of(ChunkFormat::Typed { format, complex }).and_then(FastSamples::of).unwrap();
                assert!(texts::channelizer(samples.part()).is_some(), "{}", samples.part());
            }
        }
        for part in ["between", "strided", "rows_256", "complex_65536"] {
            assert!(texts::channelizer(part).is_some(), "{part}");
        }
    }
}
