//! How much of sums of spectra a mask has left out.

use ndarray::{Array2, ArrayView2};

use crate::{Dimension, TypesError};

/// Spectra that a mask left out of the sums of detected beams, for each channel and time of the sums, of all beams
/// alike.
///
/// A sum over `n` spectra and `m` channels has `n m` of them, each of which is masked or not. A mask is a choice, and
/// missing data is not: inputs that did not come are counted apart ([`InputCounts`](crate::InputCounts)).
///
/// A power that does not depend on what was masked is a sum's over [`MaskedSpectra::kept`]:
///
/// ```
/// use fringes_types::MaskedSpectra;
/// use ndarray::array;
///
/// // Sums of 16 spectra of two channels and two times.
/// let counts = MaskedSpectra::new(16, array![[0, 4], [16, 0]])?;
/// assert_eq!([counts.kept(0, 0), counts.kept(0, 1), counts.kept(1, 0)], [16, 12, 0]);
/// # Ok::<(), fringes_types::TypesError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedSpectra {
    summed: u64,
    masked: Array2<u64>,
}

impl MaskedSpectra {
    /// Counts `[channel][time]` of sums of `summed` spectra each.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if more spectra are masked than were summed.
    pub fn new(summed: u64, masked: Array2<u64>) -> Result<Self, TypesError> {
        let most = masked.iter().copied().max().unwrap_or(0);
        if most > summed {
            let of = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            let (array, dimension) = ("masked spectra of a sum", Dimension::Time);
            return Err(TypesError::Dimension { array, dimension, expected: of(summed), actual: of(most) });
        }
        Ok(Self { summed, masked })
    }

    /// Spectra of a sum, masked or not, those of its channels counted one by one.
    pub fn summed(&self) -> u64 {
        self.summed
    }

    /// What was masked of them, `[channel][time]`.
    pub fn masked(&self) -> ArrayView2<'_, u64> {
        self.masked.view()
    }

    /// Spectra of a sum that were not masked; 0 past the last channel or time.
    pub fn kept(&self, channel: usize, time: usize) -> u64 {
        self.masked.get((channel, time)).map_or(0, |masked| self.summed - masked)
    }

    /// Checks that the counts are of so many channels and times.
    pub(crate) fn check(&self, channels: usize, times: usize) -> Result<(), TypesError> {
        for (dimension, expected, actual) in
            [(Dimension::Channel, channels, self.masked.nrows()), (Dimension::Time, times, self.masked.ncols())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "masked spectra", dimension, expected, actual });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn counts_are_those_of_the_sums() {
        let counts = MaskedSpectra::new(6, array![[0, 1, 6], [2, 0, 0]]).unwrap();
        assert_eq!((counts.kept(0, 2), counts.kept(1, 0), counts.summed()), (0, 4, 6));
        assert_eq!((counts.kept(2, 0), counts.kept(0, 3)), (0, 0));
        assert!(counts.check(2, 3).is_ok() && counts.check(3, 3).is_err() && counts.check(2, 2).is_err());
        let array = "masked spectra of a sum";
        let error = TypesError::Dimension { array, dimension: Dimension::Time, expected: 6, actual: 7 };
        assert_eq!(MaskedSpectra::new(6, array![[0, 7]]), Err(error));
    }
}
