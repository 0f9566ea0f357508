//! How many spectra sums are made of.

use ndarray::{Array0, Array1, ArrayView1, arr0};

/// Numbers of valid samples by baseline: one number where all have as many, which is the usual case, and of an array
/// of thousands of inputs hundreds of megabytes less.
///
/// ```
/// use fringes_types::ValidSamples;
/// use ndarray::array;
///
/// let (same, each) = (ValidSamples::same(7, 3), ValidSamples::from(array![7, 7, 7]));
/// assert_eq!(same, each);
/// assert_eq!(same.plus(&array![0, 1, 2].into()).view(), array![7, 8, 9]);
/// ```
#[derive(Debug, Clone)]
pub struct ValidSamples(Counts);

#[derive(Debug, Clone)]
enum Counts {
    /// So many baselines with one number.
    Same(Array0<u64>, usize),
    Each(Array1<u64>),
}

impl ValidSamples {
    /// As many of all baselines.
    #[must_use]
    pub fn same(count: u64, baselines: usize) -> Self {
        Self(Counts::Same(arr0(count), baselines))
    }

    /// Number of baselines.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Counts::Same(_, baselines) => *baselines,
            Counts::Each(counts) => counts.len(),
        }
    }

    /// Whether there are no baselines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number that all baselines have, if it is known to be one.
    #[must_use]
    pub fn all(&self) -> Option<u64> {
        match &self.0 {
            Counts::Same(count, _) => Some(count[()]),
            Counts::Each(_) => None,
        }
    }

    /// The numbers. Those that are all alike are one number in memory: a stride of 0, and no slice.
    #[must_use]
    pub fn view(&self) -> ArrayView1<'_, u64> {
        match &self.0 {
            // No array is too long for a stride of 0 but those that no address space has.
            Counts::Same(count, baselines) => count.broadcast(*baselines).unwrap_or_else(|| ArrayView1::from(&[])),
            Counts::Each(counts) => counts.view(),
        }
    }

    /// The number of a baseline; `None` past the last.
    #[must_use]
    pub fn get(&self, baseline: usize) -> Option<u64> {
        match &self.0 {
            Counts::Same(count, baselines) => (baseline < *baselines).then(|| count[()]),
            Counts::Each(counts) => counts.get(baseline).copied(),
        }
    }

    /// The sums with those of as many other baselines, saturating. Baselines that the other numbers do not have keep
    /// theirs.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        if let (Some(all), Some(more)) = (self.all(), other.all())
            && self.len() == other.len()
        {
            return Self::same(all.saturating_add(more), self.len());
        }
        let mut sums = match self.0 {
            Counts::Each(counts) => counts,
            Counts::Same(count, baselines) => Array1::from_elem(baselines, count[()]),
        };
        sums.iter_mut().zip(other.view()).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        Self(Counts::Each(sums))
    }
}

impl From<Array1<u64>> for ValidSamples {
    fn from(counts: Array1<u64>) -> Self {
        Self(Counts::Each(counts))
    }
}

/// Of the numbers, however they are kept.
impl PartialEq for ValidSamples {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && match (self.all(), other.all()) {
                (Some(all), Some(others)) => all == others,
                _ => self.view() == other.view(),
            }
    }
}

impl Eq for ValidSamples {}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn one_number_is_as_many_numbers() {
        let (same, each) = (ValidSamples::same(5, 3), ValidSamples::from(array![5, 5, 5]));
        assert_eq!((same.view(), same.len()), (each.view(), 3));
        assert_eq!([0, 2, 3].map(|at| same.get(at)), [Some(5), Some(5), None]);
        assert_eq!([0, 2, 3].map(|at| each.get(at)), [Some(5), Some(5), None]);
        assert_eq!((same.all(), each.all()), (Some(5), None));
        assert_eq!(same, each);
        for other in [ValidSamples::same(5, 2), ValidSamples::same(4, 3), array![5, 5, 6].into()] {
            assert_ne!(same, other);
            assert_ne!(each, other);
        }
        assert!(ValidSamples::same(1, 0).is_empty() && ValidSamples::same(1, 0).view().is_empty());
    }

    #[test]
    fn sums_are_of_baselines() {
        let (same, each) = (ValidSamples::same(5, 3), ValidSamples::from(array![0, 1, u64::MAX]));
        let sum = ValidSamples::from(array![5, 6, u64::MAX]);
        assert_eq!((same.clone().plus(&each), each.plus(&same)), (sum.clone(), sum));
        assert_eq!(same.clone().plus(&same).all(), Some(10));
    }
}
