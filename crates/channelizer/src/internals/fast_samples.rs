//! Which samples the kernels of two passes take, and by which filter.
//!
//! | samples | filter |
//! |---|---|
//! | real, packed 8 or 10 bits, i8 | products of f16, an integer to a factor |
//! | complex i8, f16 | the same, a part of a sample to a factor |
//! | complex i16, f32 | products of tf32, of which two are a part |

use fringes_backend::DeviceError;
use fringes_gpu::LaunchConfig;

use super::format::Numbers;
use super::shape::Shape;
use super::tables::{self, Weights};
use crate::ChannelizerError;

/// The filter of a format of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastSamples {
    /// Of packed real samples of so many bits.
    Real {
        /// 8 or 10.
        bits: u32,
    },
    /// Of complex samples that f16 has exactly.
    Half {
        /// Whether they are 8-bit integers.
        integers: bool,
    },
    /// Of complex samples that take two tf32 a part.
    Wide {
        /// Whether they are 16-bit integers.
        integers: bool,
    },
}

impl FastSamples {
    /// The one that takes the most memory, of real and of complex samples.
    pub fn largest(complex: bool) -> Self {
        if complex { Self::Wide { integers: false } } else { Self::Real { bits: 8 } }
    }

    /// That of numbers.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels ask for.
    pub fn of(numbers: Numbers) -> Result<Self, ChannelizerError> {
        match numbers {
            Numbers { parts: 1, floats: false, little_endian: false, bits: bits @ (8 | 10) } => Ok(Self::Real { bits }),
            Numbers { parts: 2, floats: false, bits: 8, .. } => Ok(Self::Half { integers: true }),
            Numbers { parts: 2, floats: true, bits: 16, .. } => Ok(Self::Half { integers: false }),
            Numbers { parts: 2, floats: false, bits: 16, little_endian: true } => Ok(Self::Wide { integers: true }),
            Numbers { parts: 2, floats: true, bits: 32, .. } => Ok(Self::Wide { integers: false }),
            Numbers { parts, floats, bits, .. } => {
                let kind = if floats { "floats" } else { "integers" };
                let actual =
                    format!("{} of {bits} bits", if parts == 2 { format!("complex {kind}") } else { kind.into() });
                let expected = "real samples of 8 or 10 bits, or complex ones of i8, i16, f16 or f32";
                Err(ChannelizerError::Device(DeviceError::NoKernel { expected, actual }))
            }
        }
    }

    /// Whether samples are complex.
    pub fn is_complex(self) -> bool {
        !matches!(self, Self::Real { .. })
    }

    /// Name of the first kernel, for up to `16 m` taps.
    pub fn columns_name(self, shape: &Shape, m: usize) -> String {
        let factors = match self {
            Self::Real { bits } => format!("b{bits}"),
            Self::Half { .. } => "f16".into(),
            Self::Wide { .. } => "tf32".into(),
        };
        format!("columns_{factors}_m{m}_r{}", shape.radix())
    }

    /// What the first kernel of complex samples is told of them.
    pub fn integers(self) -> u32 {
        match self {
            Self::Real { .. } => 0,
            Self::Half { integers } | Self::Wide { integers } => integers.into(),
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

    /// What gains are multiplied by, for weights with that exponent.
    pub fn gain_scale(self, exponent: i32) -> f64 {
        // The step from a complex to a real transform gives twice its values.
        2f64.powi(-exponent) * if self.is_complex() { 1.0 } else { 0.5 }
    }

    /// Roots of the step to a real transform; of complex samples an entry that is not read.
    pub fn roots(self, shape: &Shape) -> Vec<[f32; 2]> {
        if self.is_complex() { vec![[0.0; 2]] } else { tables::roots(shape) }
    }

    /// How many [`roots`](Self::roots) there are: memory is asked about with every chunk, so none is computed.
    pub fn root_count(self, shape: &Shape) -> usize {
        if self.is_complex() { 1 } else { shape.channels() + 1 }
    }

    /// Part of the kernels' PTX that has the first kernel, and the second kernel's part and name.
    pub fn parts(self, channels: usize) -> [String; 2] {
        match self.is_complex() {
            false => ["columns".into(), format!("rows_{channels}")],
            true => ["complex_columns".into(), format!("complex_{channels}")],
        }
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, SampleFormat};

    use super::*;

    #[test]
    fn formats_have_the_filter_that_has_them_exactly() {
        let typed = |format, complex| Numbers::of(ChunkFormat::Typed { format, complex }).and_then(FastSamples::of);
        assert_eq!(typed(SampleFormat::Int8, false), Ok(FastSamples::Real { bits: 8 }));
        assert_eq!(typed(SampleFormat::Int8, true), Ok(FastSamples::Half { integers: true }));
        assert_eq!(typed(SampleFormat::Float16, true), Ok(FastSamples::Half { integers: false }));
        assert_eq!(typed(SampleFormat::Int16, true), Ok(FastSamples::Wide { integers: true }));
        assert_eq!(typed(SampleFormat::Float32, true), Ok(FastSamples::Wide { integers: false }));
        for format in [SampleFormat::Int16, SampleFormat::Float16, SampleFormat::Float32] {
            let error = typed(format, false).unwrap_err().to_string();
            assert!(error.contains("complex ones of i8, i16, f16 or f32, found"), "{error}");
        }
        for bits in 2..=16 {
            let found = Numbers::of(ChunkFormat::Packed { bits }).and_then(FastSamples::of);
            assert_eq!(found.is_ok(), [8, 10].contains(&bits), "{bits}");
        }
    }
}
