//! How precisely weights are held.

use std::fmt;

use fringes_cpu::beamformer::WeightBits;
use fringes_kernel_abi::tied_array::Weights;
use fringes_types::SampleFormat;

/// How precisely the weights of tied-array beams are held: on GPUs, and on the CPU if it is asked for
/// ([`TiedArrayBeams::with_precision`](crate::TiedArrayBeams::with_precision)), which else takes them as they are, in
/// f32.
///
/// | weights | rounding of a part, of the beam's largest in its channel `m` | rms error of a beam of noise, at most | rate |
/// |---|---|---|---|
/// | `Int8` | `m / 254` | 3.5e-3: -49 dB | 1 |
/// | `Int16` | `m / 65278` | 1.4e-5: -97 dB | 1/2 where tensor cores are the bound |
/// | `Float16` | `2^-12` of itself and `2^-38 m` | 2.2e-4: -73 dB | 1/2 |
///
/// The errors are of weights of equal magnitude and any phase, relative to the beam's rms, whatever the number of
/// inputs; of a source in the beam, whose voltages add up, the error falls with the root of the number of inputs. So
/// eight bits do for power and most tied beams, not for nulls deeper than about 49 dB below one input's response times
/// the root of their number. Sums of integers are exact; f16 are for weights of very different size in one beam.
///
/// On the CPU, 4-bit and 8-bit voltages of up to 16384 inputs have integer weights, rounded as on GPUs: the same
/// integers, unless they are steered, whose phases a GPU rounds otherwise. All else is f32 there. Rates there, of two
/// threads with AVX-512 VNNI: `Int8` about 2 and `Int16` about 1.3 times that of f32 with 64 inputs and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WeightPrecision {
    /// 8-bit integers, with a scale for each beam and channel.
    Int8,
    /// 16-bit integers, two digits of 8 bits, with a scale for each beam and channel.
    #[default]
    Int16,
    /// f16, with a power of two for each beam and channel. Voltages of f16 have no other; of 4 bits they have 16-bit
    /// integers in their place.
    Float16,
}

impl WeightPrecision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Int8, Self::Int16, Self::Float16];

    /// Bits of integers on the CPU; none where weights stay f32.
    pub(crate) fn bits(self, format: SampleFormat) -> Option<WeightBits> {
        match (format, self.weights(format)) {
            (SampleFormat::Int4 | SampleFormat::Int8, Weights::Int8) => Some(WeightBits::Eight),
            (SampleFormat::Int4 | SampleFormat::Int8, Weights::Int16) => Some(WeightBits::Sixteen),
            _ => None,
        }
    }

    /// Of voltages of a format: f16 has f16 weights.
    pub(crate) fn weights(self, format: SampleFormat) -> Weights {
        match self {
            _ if format == SampleFormat::Float16 => Weights::Float16,
            Self::Int8 => Weights::Int8,
            Self::Int16 => Weights::Int16,
            // Exact sums, and a smaller error.
            Self::Float16 if format == SampleFormat::Int4 => Weights::Int16,
            Self::Float16 => Weights::Float16,
        }
    }
}

impl fmt::Display for WeightPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int8 => "8-bit weights",
            Self::Int16 => "16-bit weights",
            Self::Float16 => "f16 weights",
        })
    }
}
