//! How much of an integration a mask has left out.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::{Dimension, TypesError};

/// Spectra that a mask left out of an integration, of those in which both inputs of a baseline were present.
///
/// A mask is the same for all inputs, so where every input was present it takes the same number of spectra from every
/// baseline of a channel: one number a channel ([`MaskedSamples::channels`]). Where an input was absent under the mask,
/// its baselines lose less; such blocks are counted for each baseline ([`MaskedSamples::baselines`]), an array that
/// exists only if there are any.
///
/// `masked(channel, baseline) = channels[channel] + baselines[(channel, baseline)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedSamples {
    channels: Array1<u64>,
    baselines: Option<Array2<u64>>,
}

impl MaskedSamples {
    /// Counts for all baselines of a channel alike, and `[channel][baseline]` for those that differ.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the two have other numbers of channels.
    pub fn new(channels: Array1<u64>, baselines: Option<Array2<u64>>) -> Result<Self, TypesError> {
        if let Some(baselines) = &baselines
            && baselines.nrows() != channels.len()
        {
            let (array, dimension) = ("masked samples", Dimension::Channel);
            return Err(TypesError::Dimension {
                array,
                dimension,
                expected: channels.len(),
                actual: baselines.nrows(),
            });
        }
        Ok(Self { channels, baselines })
    }

    /// What every baseline of a channel has lost, `[channel]`.
    pub fn channels(&self) -> ArrayView1<'_, u64> {
        self.channels.view()
    }

    /// What baselines have lost beside that, `[channel][baseline]`; `None` if all have lost the same.
    pub fn baselines(&self) -> Option<ArrayView2<'_, u64>> {
        self.baselines.as_ref().map(|counts| counts.view())
    }

    /// Masked spectra of a channel and a baseline in which both inputs were present; 0 past the last of either.
    pub fn masked(&self, channel: usize, baseline: usize) -> u64 {
        let beside = self.baselines.as_ref().and_then(|counts| counts.get((channel, baseline)));
        self.channels.get(channel).map_or(0, |&all| all + beside.copied().unwrap_or(0))
    }

    /// Checks that the counts are of so many channels and baselines.
    pub(crate) fn check(&self, channels: usize, baselines: usize) -> Result<(), TypesError> {
        let found = self.baselines.as_ref().map_or(baselines, |counts| counts.ncols());
        for (dimension, expected, actual) in
            [(Dimension::Channel, channels, self.channels.len()), (Dimension::Baseline, baselines, found)]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "masked samples", dimension, expected, actual });
            }
        }
        Ok(())
    }

    /// The counts of two integrations together.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if they are of other channels or baselines.
    pub fn plus(mut self, other: &Self) -> Result<Self, TypesError> {
        let baselines = self.baselines.as_ref().or(other.baselines.as_ref()).map_or(0, |counts| counts.ncols());
        other.check(self.channels.len(), baselines)?;
        self.channels += &other.channels;
        self.baselines = match (self.baselines, &other.baselines) {
            (Some(counts), Some(more)) => Some(counts + more),
            (counts, more) => counts.or_else(|| more.clone()),
        };
        Ok(self)
    }

    /// The counts with other baselines: `from(to)` says which of these each of `baselines` is.
    #[must_use]
    pub fn reordered(&self, baselines: usize, from: impl Fn(usize) -> Option<usize>) -> Self {
        let of = |counts: &Array2<u64>| {
            let mut reordered = Array2::zeros((counts.nrows(), baselines));
            for to in 0..baselines {
                let Some(from) = from(to).filter(|&from| from < counts.ncols()) else { continue };
                reordered.column_mut(to).assign(&counts.column(from));
            }
            reordered
        };
        Self { channels: self.channels.clone(), baselines: self.baselines.as_ref().map(of) }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn counts_of_channels_and_of_baselines_add_up() {
        let alike = MaskedSamples::new(array![3, 5], None).unwrap();
        let apart = MaskedSamples::new(array![1, 0], Some(array![[0, 7, 1], [2, 0, 0]])).unwrap();
        assert_eq!((alike.masked(1, 2), apart.masked(0, 1), apart.masked(2, 0)), (5, 8, 0));
        for sum in [alike.clone().plus(&apart).unwrap(), apart.clone().plus(&alike).unwrap()] {
            assert_eq!((sum.masked(0, 1), sum.masked(1, 0), sum.masked(1, 2)), (11, 7, 5));
        }
        assert_eq!(apart.clone().plus(&apart).unwrap().masked(0, 1), 16);
        let reversed = apart.reordered(3, |to| Some(2 - to));
        assert_eq!((reversed.masked(0, 0), reversed.masked(0, 1), reversed.masked(1, 2)), (2, 8, 2));
    }

    #[test]
    fn other_shapes_are_errors() {
        assert!(MaskedSamples::new(array![3, 5], Some(Array2::zeros((3, 1)))).is_err());
        let counts = MaskedSamples::new(array![3, 5], Some(Array2::zeros((2, 6)))).unwrap();
        let other = MaskedSamples::new(array![3, 5], Some(Array2::zeros((2, 5)))).unwrap();
        assert!(counts.clone().plus(&other).is_err());
        assert!(counts.check(2, 6).is_ok() && counts.check(2, 5).is_err() && counts.check(1, 6).is_err());
    }
}
