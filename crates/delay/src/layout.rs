//! Sizes of what is shifted and rotated.

use fringes_types::{Sample, TypesError, VoltageSample};

use crate::DelayError;

/// Bytes of a row of the correlator.
const ROW_BYTES: usize = fringes_kernel_abi::rows::BYTES;

/// A product of sizes, if that many elements of 16 bytes fit memory.
pub(super) fn product(array: &'static str, sizes: &[usize]) -> Result<usize, DelayError> {
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.filter(|&product| product <= isize::MAX as usize / 16).ok_or_else(|| {
        let elements = sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        TypesError::TooLarge { array, elements }.into()
    })
}

/// Rows of samples `[input][time]`, before and after a shift.
///
/// # Layout
/// A row is a stream of bits, the most significant bit of each byte first; so are packed samples of 2 to 16 bits, and
/// whole bytes of wider ones move in the same way. Rows begin at whole bytes, `from_stride` and `to_stride` bytes
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShiftShape {
    /// Inputs.
    pub inputs: usize,
    /// Bits of a sample, both parts of a complex one together: 1 to 64.
    pub bits: u32,
    /// Samples of a row of `x`.
    pub from_times: usize,
    /// Samples of a row of `y`.
    pub to_times: usize,
    /// Bytes from a row of `x` to the next.
    pub from_stride: usize,
    /// Bytes from a row of `y` to the next, at least those of a row.
    pub to_stride: usize,
}

impl ShiftShape {
    /// Rows of as many typed samples before and after, one behind the other.
    pub fn samples<S: Sample>(inputs: usize, times: usize) -> Self {
        let stride = times.saturating_mul(size_of::<S>());
        let bits = 8 * size_of::<S>() as u32;
        Self { inputs, bits, from_times: times, to_times: times, from_stride: stride, to_stride: stride }
    }

    /// Rows of as many packed samples before and after, each from a whole byte on.
    pub fn packed(bits: u32, inputs: usize, times: usize) -> Self {
        let stride = times.saturating_mul(bits as usize).div_ceil(8);
        Self { inputs, bits, from_times: times, to_times: times, from_stride: stride, to_stride: stride }
    }

    /// Bytes of a row of so many samples.
    fn row(&self, times: usize) -> Result<usize, DelayError> {
        Ok(product("samples", &[times, self.bits as usize])?.div_ceil(8))
    }

    fn rows(&self, times: usize, stride: usize) -> Result<usize, DelayError> {
        match self.inputs.checked_sub(1) {
            None => Ok(0),
            Some(others) => Ok(product("samples", &[others, stride])?.saturating_add(self.row(times)?)),
        }
    }

    /// Bytes of all rows of `x`.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] where no memory can be as large.
    pub fn from_bytes(&self) -> Result<usize, DelayError> {
        self.rows(self.from_times, self.from_stride)
    }

    /// Bytes of all rows of `y`.
    ///
    /// # Errors
    /// As [`ShiftShape::from_bytes`].
    pub fn to_bytes(&self) -> Result<usize, DelayError> {
        self.rows(self.to_times, self.to_stride)
    }

    /// `Ok` if there are 1 to 64 bits and rows of `y` do not overlap; the bytes of one.
    pub(super) fn check(&self) -> Result<usize, DelayError> {
        if !(1..=64).contains(&self.bits) {
            return Err(DelayError::SampleBits { actual: self.bits });
        }
        let (expected, actual) = (self.row(self.to_times)?, self.to_stride);
        if actual < expected {
            return Err(DelayError::RowStride { expected, actual });
        }
        self.from_bytes()?;
        self.to_bytes()?;
        Ok(expected)
    }
}

/// Where voltages lie that are rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RotationLayout {
    /// `[channel][time][input]`.
    Voltages {
        /// Channels.
        channels: usize,
        /// Times.
        times: usize,
        /// Inputs.
        inputs: usize,
    },
    /// Heaps `[batch][antenna][channel][spectrum][pol]`; time is `batch * spectra + spectrum`, input `antenna * pols +
    /// pol`.
    Heaps {
        /// Batches.
        batches: usize,
        /// Antennas.
        antennas: usize,
        /// Channels.
        channels: usize,
        /// Spectra of a heap.
        spectra: usize,
        /// Polarisations of an antenna, 1 or 2.
        pols: usize,
    },
    /// The correlator's rows `[channel][time / R][input][R]` of 128 bytes. Times past the end, which are zero, stay so.
    Rows {
        /// Channels.
        channels: usize,
        /// Times.
        times: usize,
        /// Inputs.
        inputs: usize,
    },
}

impl RotationLayout {
    /// Channels.
    pub fn channels(&self) -> usize {
        match *self {
            Self::Voltages { channels, .. } | Self::Heaps { channels, .. } | Self::Rows { channels, .. } => channels,
        }
    }

    /// Times.
    pub fn times(&self) -> usize {
        match *self {
            Self::Voltages { times, .. } | Self::Rows { times, .. } => times,
            Self::Heaps { batches, spectra, .. } => batches.saturating_mul(spectra),
        }
    }

    /// Inputs.
    pub fn inputs(&self) -> usize {
        match *self {
            Self::Voltages { inputs, .. } | Self::Rows { inputs, .. } => inputs,
            Self::Heaps { antennas, pols, .. } => antennas.saturating_mul(pols),
        }
    }

    /// Voltages of the whole array, with those of rows past the last time.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`] where no memory can be as large.
    pub fn samples<V: VoltageSample>(&self) -> Result<usize, DelayError> {
        match *self {
            Self::Voltages { channels, times, inputs } => product("voltages", &[channels, times, inputs]),
            Self::Heaps { batches, antennas, channels, spectra, pols } => {
                product("heaps", &[batches, antennas, channels, spectra, pols])
            }
            Self::Rows { channels, times, inputs } => {
                let row = ROW_BYTES / size_of::<V>();
                product("rows", &[channels, times.div_ceil(row), inputs, row])
            }
        }
    }

    /// `Ok` if heaps have 1 or 2 polarisations.
    pub(super) fn check(&self) -> Result<(), DelayError> {
        match *self {
            Self::Heaps { pols: actual, .. } if !(1..=2).contains(&actual) => Err(TypesError::Pols { actual }.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fringes_types::{Complex, Complex4};

    #[test]
    fn shifts_that_no_kernel_does_are_errors() {
        let shape = ShiftShape::packed(10, 3, 100);
        assert_eq!(shape.check(), Ok(125));
        assert_eq!(ShiftShape { bits: 0, ..shape }.check(), Err(DelayError::SampleBits { actual: 0 }));
        assert_eq!(ShiftShape { bits: 65, ..shape }.check(), Err(DelayError::SampleBits { actual: 65 }));
        let expected = Err(DelayError::RowStride { expected: 125, actual: 124 });
        assert_eq!(ShiftShape { to_stride: 124, ..shape }.check(), expected);
        // Rows of `x` may overlap: they are read alone.
        assert_eq!(ShiftShape { from_stride: 1, ..shape }.check(), Ok(125));
        for shape in [ShiftShape { from_times: usize::MAX, ..shape }, ShiftShape { from_stride: usize::MAX, ..shape }] {
            assert!(matches!(shape.check(), Err(DelayError::Types(TypesError::TooLarge { .. }))));
        }
        assert_eq!(ShiftShape { inputs: 0, ..shape }.to_bytes(), Ok(0));
    }

    #[test]
    fn layouts_count_their_voltages() {
        let rows = RotationLayout::Rows { channels: 3, times: 65, inputs: 2 };
        assert_eq!(rows.samples::<Complex<i8>>(), Ok(3 * 2 * 2 * 64));
        assert_eq!(rows.samples::<Complex4>(), Ok(3 * 2 * 128));
        let heaps = RotationLayout::Heaps { batches: 2, antennas: 3, channels: 4, spectra: 5, pols: 2 };
        assert_eq!((heaps.channels(), heaps.times(), heaps.inputs()), (4, 10, 6));
        assert_eq!(heaps.samples::<Complex4>(), Ok(240));
        assert_eq!(heaps.check(), Ok(()));
        let heaps = RotationLayout::Heaps { batches: 2, antennas: 3, channels: 4, spectra: 5, pols: 3 };
        assert_eq!(heaps.check(), Err(TypesError::Pols { actual: 3 }.into()));
        let huge = RotationLayout::Voltages { channels: usize::MAX, times: 2, inputs: 2 };
        assert!(huge.samples::<Complex4>().is_err());
    }
}
