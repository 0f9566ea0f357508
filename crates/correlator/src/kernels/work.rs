//! What a launch correlates: which samples of which array.

use std::ops::Range;

use fringes_types::{Inputs, VoltageSample};

use crate::layout::{check_range, product};
use crate::{CorrelatorError, layout};

/// Samples on a device, and which of them a launch correlates.
///
/// ```
/// use fringes_correlator::kernels::Work;
///
/// let rows = Work::rows(128, 4096); // all of 128 channels x 4096 times
/// assert_eq!(rows.times(), 4096);
/// assert_eq!(rows.part(64..100).times(), 36);
/// assert_eq!(Work::heaps(128, 16, 256).part(2..4).times(), 512); // two batches of 256 spectra
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Work {
    /// Rows `[channel][time / R][input][R]`, `R` = [`row_times`](fringes_types::row_times).
    Rows {
        /// Channels.
        channels: usize,
        /// Times that the rows hold.
        times: usize,
        /// Times that are correlated.
        range: Range<usize>,
    },
    /// Heaps `[batch][antenna][channel][spectrum][pol]`.
    Heaps {
        /// Channels.
        channels: usize,
        /// Batches that there are.
        batches: usize,
        /// Spectra of a heap.
        spectra: usize,
        /// Batches that are correlated.
        range: Range<usize>,
    },
}

impl Work {
    /// All times of rows.
    pub fn rows(channels: usize, times: usize) -> Self {
        Self::Rows { channels, times, range: 0..times }
    }

    /// All batches of heaps.
    pub fn heaps(channels: usize, batches: usize, spectra: usize) -> Self {
        Self::Heaps { channels, batches, spectra, range: 0..batches }
    }

    /// These times of the same rows, or batches of the same heaps.
    #[must_use]
    pub fn part(mut self, part: Range<usize>) -> Self {
        let (Self::Rows { range, .. } | Self::Heaps { range, .. }) = &mut self;
        *range = part;
        self
    }

    /// Channels.
    pub fn channels(&self) -> usize {
        match *self {
            Self::Rows { channels, .. } | Self::Heaps { channels, .. } => channels,
        }
    }

    /// Times that are correlated, saturating.
    pub fn times(&self) -> usize {
        match self {
            Self::Rows { range, .. } => range.len(),
            Self::Heaps { spectra, range, .. } => range.len().saturating_mul(*spectra),
        }
    }

    /// Samples of the array.
    ///
    /// # Errors
    /// [`TypesError::TooLarge`](fringes_types::TypesError::TooLarge) where no memory can be as large.
    pub fn samples<V: VoltageSample>(&self, inputs: Inputs) -> Result<usize, CorrelatorError> {
        match *self {
            Self::Rows { channels, times, .. } => {
                Ok(layout::row_bytes::<V>(channels, times, inputs.len())? / size_of::<V>())
            }
            Self::Heaps { channels, batches, spectra, .. } => {
                product("heaps", &[batches, inputs.len(), channels, spectra])
            }
        }
    }

    /// Name of the array.
    pub(crate) fn array(&self) -> &'static str {
        if self.is_heaps() { "heaps" } else { "rows" }
    }

    pub(crate) fn is_heaps(&self) -> bool {
        matches!(self, Self::Heaps { .. })
    }

    /// Whether the range lies within the array.
    pub(crate) fn check(&self) -> Result<(), CorrelatorError> {
        match self {
            Self::Rows { times, range, .. } => check_range(range, *times),
            Self::Heaps { batches, range, .. } if range.start > range.end || range.end > *batches => {
                Err(CorrelatorError::BatchRange { start: range.start, end: range.end, batches: *batches })
            }
            Self::Heaps { .. } => Ok(()),
        }
    }

    /// What choices depend on.
    pub(super) fn size(&self) -> Size {
        match self {
            Self::Rows { channels, range, .. } => {
                Size { channels: *channels, times: range.len(), spectra: 0, start: range.start % layout::ROW_BYTES }
            }
            Self::Heaps { channels, spectra, range, .. } => {
                Size { channels: *channels, times: range.len(), spectra: *spectra, start: 0 }
            }
        }
    }
}

/// Sizes of a launch, of which two are alike to every kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Size {
    channels: usize,
    /// Times or batches.
    times: usize,
    /// Spectra of a heap, 0 of rows.
    spectra: usize,
    /// Where in a row the first time is, counted in the times of the longest one.
    start: usize,
}

#[cfg(test)]
mod tests {
    use fringes_types::Complex;

    use super::*;

    #[test]
    fn ranges_outside_of_the_array_are_errors() {
        assert!(Work::rows(3, 100).part(10..100).check().is_ok());
        let error = CorrelatorError::TimeRange { start: 10, end: 101, times: 100 };
        assert_eq!(Work::rows(3, 100).part(10..101).check(), Err(error));
        let error = CorrelatorError::BatchRange { start: 1, end: 5, batches: 4 };
        assert_eq!(Work::heaps(3, 4, 7).part(1..5).check(), Err(error));
    }

    #[test]
    fn samples_are_those_of_whole_rows_and_of_all_batches() {
        let inputs = Inputs::new(5, 2).unwrap();
        let of = |work: Work| work.part(0..1).samples::<Complex<i8>>(inputs).unwrap();
        assert_eq!(of(Work::rows(3, 65)), 3 * 2 * 10 * 64);
        assert_eq!(of(Work::heaps(3, 4, 7)), 4 * 10 * 3 * 7);
        assert!(Work::rows(1 << 40, 1 << 40).samples::<Complex<i8>>(inputs).is_err());
    }
}
