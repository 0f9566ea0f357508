//! A rate by size, interpolated between the sizes that were measured.
//!
//! ```text
//! below the first size   the first rate x size / first size: a kernel takes no less time for less work
//! between two sizes      a straight line in the logarithm of the size
//! above the last size    the last rate
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{PlanError, in_range};

/// A size and its value.
type Pair = (f64, f64);

/// A rate by size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Curve {
    /// What was measured.
    pub what: String,
    /// The GPU, where it is another than that of the other coefficients.
    #[serde(default)]
    pub gpu: Option<String>,
    /// Unit of the values.
    pub unit: String,
    /// Name of the size.
    pub axis: String,
    /// Field of the record's rows that has the values.
    pub field: String,
    /// What was measured, by growing size.
    pub points: Vec<Point>,
}

/// One row of a record, or two.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Point {
    /// The size.
    pub at: f64,
    /// The value, in the curve's unit.
    pub value: f64,
    /// File under `docs/measurements`.
    pub record: String,
    /// The row's kernel.
    pub kernel: String,
    /// The row's variant.
    pub variant: String,
    /// The row's sizes.
    pub params: BTreeMap<String, f64>,
    /// Where no row has the value: what it is made of.
    #[serde(default)]
    pub less: Option<Difference>,
}

/// A value that is the difference of two rows of the same sizes, joules a run, in 1e-9 J a sample.
///
/// ```text
/// value = (joules of the point's variant - joules of this variant) x 1e9 / samples
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Difference {
    /// The variant of the row that is taken away.
    pub variant: String,
    /// Samples of a run.
    pub samples: f64,
}

impl Curve {
    /// The value at a size, as the module says.
    pub fn at(&self, size: f64) -> Result<f64, PlanError> {
        between(&self.pairs(), size)
    }

    /// The value at a size; outside of the sizes that were measured, that of the nearest one.
    pub fn at_most(&self, size: f64) -> Result<f64, PlanError> {
        let pairs = self.pairs();
        let (first, last) = ends(&pairs)?;
        between(&pairs, size.clamp(first.0, last.0))
    }

    /// The value at a size that lies between those that were measured, or an error that names `quantity`.
    pub fn within(&self, quantity: &'static str, size: f64) -> Result<f64, PlanError> {
        let pairs = self.pairs();
        let (first, last) = ends(&pairs)?;
        in_range(quantity, size, (first.0, last.0))?;
        between(&pairs, size)
    }

    /// The smallest and the largest size that was measured.
    pub(crate) fn ends(&self) -> Result<(f64, f64), PlanError> {
        let (first, last) = ends(&self.pairs())?;
        Ok((first.0, last.0))
    }

    fn pairs(&self) -> Vec<Pair> {
        self.points.iter().map(|point| (point.at, point.value)).collect()
    }
}

/// The value at a size from pairs of growing sizes.
pub(super) fn between(pairs: &[Pair], size: f64) -> Result<f64, PlanError> {
    let (first, last) = ends(pairs)?;
    if size <= first.0 {
        return Ok(first.1 * size / first.0);
    }
    for two in pairs.windows(2) {
        let (low, high) = (two[0], two[1]);
        if size <= high.0 {
            let along = (size / low.0).ln() / (high.0 / low.0).ln();
            return Ok(low.1 + (high.1 - low.1) * along);
        }
    }
    Ok(last.1)
}

/// The first and the last pair.
fn ends(pairs: &[Pair]) -> Result<(Pair, Pair), PlanError> {
    match (pairs.first(), pairs.last()) {
        (Some(&first), Some(&last)) => Ok((first, last)),
        _ => Err(PlanError::Coefficients("a curve without points".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(f64, f64); 3] = [(64.0, 400.0), (128.0, 600.0), (512.0, 900.0)];

    #[test]
    fn measured_sizes_have_the_measured_values() {
        for (size, value) in PAIRS {
            assert_eq!(between(&PAIRS, size), Ok(value));
        }
    }

    #[test]
    fn between_sizes_the_logarithm_counts_and_outside_of_them_nothing_is_gained() {
        assert_eq!(between(&PAIRS, 256.0), Ok(750.0));
        assert_eq!(between(&PAIRS, 32.0), Ok(200.0));
        assert_eq!(between(&PAIRS, 4096.0), Ok(900.0));
        assert!(between(&[], 1.0).is_err());
    }
}
