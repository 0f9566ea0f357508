//! What a channelizer takes: a chunk of samples of any format, with its axes.

use ndarray::ArrayView2;
use num_complex::Complex;

use crate::{Dimension, Inputs, PackedSamples, Sample, SampleFormat, SamplePresence, Samples, TypesError, f16};

/// How the samples of a chunk are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkFormat {
    /// Array elements: the format of a real value, and whether a sample is a complex pair.
    Typed {
        /// Format of a real value.
        format: SampleFormat,
        /// Whether a sample is a complex pair.
        complex: bool,
    },
    /// Real two's complement integers of this many bits, big-endian, without padding ([`PackedSamples`]).
    Packed {
        /// Bits of a sample, 2 to 16.
        bits: u32,
    },
}

impl ChunkFormat {
    /// Whether a sample is a complex pair.
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Typed { complex: true, .. })
    }

    /// Bits of a sample in memory, both parts of a complex one together.
    pub fn sample_bits(self) -> u32 {
        match self {
            Self::Packed { bits } => bits,
            Self::Typed { format, complex } => {
                let bits = match format {
                    SampleFormat::Int4 => 4,
                    SampleFormat::Int8 => 8,
                    SampleFormat::Int16 | SampleFormat::Float16 => 16,
                    SampleFormat::Float32 => 32,
                };
                if complex { 2 * bits } else { bits }
            }
        }
    }

    /// Lowest and highest value of an integer format, at which a digitiser clips: -512 and 511 of 10 bits. `None` for
    /// floats.
    pub fn codes(self) -> Option<(f32, f32)> {
        let bits = match self {
            Self::Packed { bits } => bits,
            Self::Typed { format: SampleFormat::Int4, .. } => 4,
            Self::Typed { format: SampleFormat::Int8, .. } => 8,
            Self::Typed { format: SampleFormat::Int16, .. } => 16,
            Self::Typed { format: SampleFormat::Float16 | SampleFormat::Float32, .. } => return None,
        };
        let half = (1u32 << (bits - 1)) as f32;
        Some((-half, half - 1.0))
    }
}

impl std::fmt::Display for ChunkFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Typed { format, complex: false } => write!(f, "real {format}"),
            Self::Typed { format, complex: true } => write!(f, "complex {format}"),
            Self::Packed { bits } => write!(f, "packed {bits}-bit integer"),
        }
    }
}

/// The samples `[input][time]` of a chunk, as a backend reads them.
#[derive(Debug, Clone, Copy)]
pub enum SampleView<'a> {
    /// Real 8-bit integers.
    Int8(ArrayView2<'a, i8>),
    /// Real 16-bit integers.
    Int16(ArrayView2<'a, i16>),
    /// Real half precision.
    Float16(ArrayView2<'a, f16>),
    /// Real single precision.
    Float32(ArrayView2<'a, f32>),
    /// Complex 8-bit integers.
    ComplexInt8(ArrayView2<'a, Complex<i8>>),
    /// Complex 16-bit integers.
    ComplexInt16(ArrayView2<'a, Complex<i16>>),
    /// Complex half precision.
    ComplexFloat16(ArrayView2<'a, Complex<f16>>),
    /// Complex single precision.
    ComplexFloat32(ArrayView2<'a, Complex<f32>>),
    /// Packed real integers: rows of bytes `[input][byte]`.
    Packed {
        /// Bytes of each input; sample 0 begins at the most significant bit of byte 0.
        bytes: ArrayView2<'a, u8>,
        /// Bits of a sample, 2 to 16.
        bits: u32,
        /// Samples of a row.
        times: usize,
    },
}

mod sealed {
    pub trait Sealed {}
    impl<S: super::Sample> Sealed for super::Samples<S> {}
    impl Sealed for super::PackedSamples {}
    impl<A: crate::HostArray<u32>> Sealed for crate::HostRows<A> {}
}

/// A chunk of time-domain samples `[input][time]` with its axes: [`Samples`], [`PackedSamples`] or
/// [`HostRows`](crate::HostRows).
///
/// Nothing else can implement it.
pub trait SampleChunk: sealed::Sealed + Sync {
    /// How the samples are stored.
    fn format(&self) -> ChunkFormat;
    /// The samples.
    fn view(&self) -> SampleView<'_>;
    /// Antennas and polarisations.
    fn inputs(&self) -> Inputs;
    /// Number of samples of each input.
    fn times(&self) -> usize;
    /// Sample rate in Hz (complex samples a second for complex data).
    fn sample_rate_hz(&self) -> f64;
    /// ADC sample counter of the first sample.
    fn first_sample(&self) -> u64;
    /// Sky frequency of the middle of the band in Hz, if it is known.
    fn centre_hz(&self) -> Option<f64>;
    /// Presence flags, `None` if all samples are present.
    fn presence(&self) -> Option<&SamplePresence>;
    /// The chunk itself if it is [`HostRows`](crate::HostRows): the memory may be such that a device reads it.
    #[doc(hidden)]
    fn host_rows(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

macro_rules! chunk_of_axes {
    () => {
        fn inputs(&self) -> Inputs {
            self.axes.inputs
        }
        fn times(&self) -> usize {
            self.axes.times
        }
        fn sample_rate_hz(&self) -> f64 {
            self.axes.sample_rate_hz
        }
        fn first_sample(&self) -> u64 {
            self.axes.first_sample
        }
        fn centre_hz(&self) -> Option<f64> {
            self.axes.centre_hz
        }
        fn presence(&self) -> Option<&SamplePresence> {
            self.axes.presence.as_ref()
        }
    };
}

impl<S: Sample> SampleChunk for Samples<S> {
    fn format(&self) -> ChunkFormat {
        ChunkFormat::Typed { format: S::FORMAT, complex: S::COMPLEX }
    }
    fn view(&self) -> SampleView<'_> {
        S::view(self.data())
    }
    chunk_of_axes!();
}

impl SampleChunk for PackedSamples {
    fn format(&self) -> ChunkFormat {
        ChunkFormat::Packed { bits: self.bits() }
    }
    fn view(&self) -> SampleView<'_> {
        SampleView::Packed { bytes: self.data(), bits: self.bits(), times: self.axes.times }
    }
    chunk_of_axes!();
}

/// What the axes of a chunk mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampleAxes {
    pub(crate) inputs: Inputs,
    pub(crate) times: usize,
    pub(crate) sample_rate_hz: f64,
    pub(crate) first_sample: u64,
    pub(crate) centre_hz: Option<f64>,
    pub(crate) presence: Option<SamplePresence>,
}

impl SampleAxes {
    /// Axes at 1 Hz from sample 0, all present, of an array with `rows` rows.
    pub(crate) fn new(array: &'static str, rows: usize, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        if rows != inputs.len() {
            let (dimension, expected) = (Dimension::Input, inputs.len());
            return Err(TypesError::Dimension { array, dimension, expected, actual: rows });
        }
        Ok(Self { inputs, times, sample_rate_hz: 1.0, first_sample: 0, centre_hz: None, presence: None })
    }

    pub(crate) fn set_sample_rate(&mut self, sample_rate_hz: f64) -> Result<(), TypesError> {
        crate::axes::check_positive("sample_rate_hz", sample_rate_hz)?;
        self.sample_rate_hz = sample_rate_hz;
        Ok(())
    }

    pub(crate) fn set_centre_frequency(&mut self, centre_hz: f64) -> Result<(), TypesError> {
        if !centre_hz.is_finite() {
            let (quantity, actual) = ("centre_hz", centre_hz.to_string());
            return Err(TypesError::NotFinite { quantity, actual, index: Vec::new() });
        }
        self.centre_hz = Some(centre_hz);
        Ok(())
    }

    pub(crate) fn set_presence(&mut self, presence: SamplePresence) -> Result<(), TypesError> {
        let expected = (self.inputs.len(), self.times.div_ceil(presence.samples_per_block()));
        let actual = presence.flags().dim();
        for (dimension, expected, actual) in
            [(Dimension::Input, expected.0, actual.0), (Dimension::Time, expected.1, actual.1)]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "presence flags", dimension, expected, actual });
            }
        }
        self.presence = Some(presence);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn formats_say_what_they_are_and_where_they_clip() {
        fn of<S: Sample>(value: S) -> (String, Option<(f32, f32)>, u32) {
            let samples = Samples::new(Array2::from_elem((1, 3), value), Inputs::single_pol(1).unwrap()).unwrap();
            let format = samples.format();
            assert_eq!(format.is_complex(), S::COMPLEX);
            (format.to_string(), format.codes(), format.sample_bits())
        }
        assert_eq!(of(1i8), ("real 8-bit integer".into(), Some((-128.0, 127.0)), 8));
        assert_eq!(of(Complex::new(1i16, 2)), ("complex 16-bit integer".into(), Some((-32768.0, 32767.0)), 32));
        assert_eq!(of(f16::ONE), ("real 16-bit float".into(), None, 16));
        assert_eq!(of(Complex::new(1f32, 2.0)), ("complex 32-bit float".into(), None, 64));
        let packed = ChunkFormat::Packed { bits: 10 };
        assert_eq!((packed.to_string(), packed.codes()), ("packed 10-bit integer".into(), Some((-512.0, 511.0))));
        assert_eq!((packed.is_complex(), packed.sample_bits()), (false, 10));
    }
}
