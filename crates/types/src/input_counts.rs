//! How many inputs of beams were there.

use ndarray::{Array2, ArrayView2};

use crate::{Dimension, TypesError};

/// How many of a beam's inputs were present, for every time and beam.
///
/// Of detected beams, whose times are sums of spectra, they are counts of inputs and spectra: an input that was there
/// in three spectra of a sum counts three times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputCounts {
    expected: Vec<u32>,
    absent: Array2<u32>,
}

impl InputCounts {
    /// Counts of beams that sum `expected` inputs each, of which `absent` (`[time][beam]`) did not come.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for absent inputs of another number of beams, or of more than there are.
    pub fn new(expected: Vec<u32>, absent: Array2<u32>) -> Result<Self, TypesError> {
        let (array, found) = ("absent inputs of beams", absent.ncols());
        if found != expected.len() {
            let (dimension, expected) = (Dimension::Beam, expected.len());
            return Err(TypesError::Dimension { array, dimension, expected, actual: found });
        }
        if let Some(((_, beam), &actual)) = absent.indexed_iter().find(|&((_, beam), &count)| count > expected[beam]) {
            let (dimension, expected, actual) = (Dimension::Input, expected[beam] as usize, actual as usize);
            return Err(TypesError::Dimension { array, dimension, expected, actual });
        }
        Ok(Self { expected, absent })
    }

    /// Number of times.
    pub fn times(&self) -> usize {
        self.absent.nrows()
    }

    /// Inputs that each beam sums.
    pub fn expected(&self) -> &[u32] {
        &self.expected
    }

    /// Inputs that did not come, `[time][beam]`.
    pub fn absent(&self) -> ArrayView2<'_, u32> {
        self.absent.view()
    }

    /// Inputs of a beam that came at a time, `None` past the last of either.
    pub fn present(&self, time: usize, beam: usize) -> Option<u32> {
        Some(self.expected.get(beam)? - self.absent.get((time, beam))?)
    }

    /// Checks that the counts are of so many times and beams.
    pub(crate) fn check(&self, times: usize, beams: usize) -> Result<(), TypesError> {
        let array = "counts of inputs";
        for (dimension, expected, actual) in
            [(Dimension::Time, times, self.times()), (Dimension::Beam, beams, self.expected.len())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array, dimension, expected, actual });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_beams() {
        let absent = Array2::from_shape_vec((2, 3), vec![0, 1, 2, 3, 0, 0]).unwrap();
        let counts = InputCounts::new(vec![4, 4, 2], absent.clone()).unwrap();
        assert_eq!((counts.present(0, 1), counts.present(1, 0), counts.present(0, 2)), (Some(3), Some(1), Some(0)));
        assert_eq!((counts.present(2, 0), counts.present(0, 3)), (None, None));
        assert!(counts.check(2, 3).is_ok() && counts.check(3, 3).is_err() && counts.check(2, 2).is_err());
        let array = "absent inputs of beams";
        let error = TypesError::Dimension { array, dimension: Dimension::Beam, expected: 2, actual: 3 };
        assert_eq!(InputCounts::new(vec![4, 4], absent.clone()), Err(error));
        let error = TypesError::Dimension { array, dimension: Dimension::Input, expected: 1, actual: 2 };
        assert_eq!(InputCounts::new(vec![4, 4, 1], absent), Err(error));
    }
}
