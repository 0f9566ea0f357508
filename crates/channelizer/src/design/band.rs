//! Bands of a filter that is to be designed.

use super::DesignError;

/// A band of frequencies, the gain wanted there, and how much an error counts there.
///
/// Edges are in cycles per sample, 0 to 0.5. Gaps between bands are free: no design looks at the gain there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    from: f64,
    to: f64,
    gain: f64,
    weight: f64,
}

impl Band {
    /// A band with a gain of 1 and a weight of 1.
    pub fn pass(from: f64, to: f64) -> Self {
        Self { from, to, gain: 1.0, weight: 1.0 }
    }

    /// A band with a gain of 0 and a weight of 1.
    pub fn stop(from: f64, to: f64) -> Self {
        Self { gain: 0.0, ..Self::pass(from, to) }
    }

    /// Another gain.
    #[must_use]
    pub fn with_gain(self, gain: f64) -> Self {
        Self { gain, ..self }
    }

    /// Another weight, relative to that of other bands: of the error for equal ripples, of its square for least
    /// squares.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Lower edge in cycles per sample.
    pub fn from(&self) -> f64 {
        self.from
    }

    /// Upper edge in cycles per sample.
    pub fn to(&self) -> f64 {
        self.to
    }

    /// The gain wanted.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// How much an error counts.
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

/// Checks the number of taps of a filter.
pub(super) fn check_taps(taps: usize) -> Result<(), DesignError> {
    let limit = super::MAX_TAPS;
    if !(1..=limit).contains(&taps) {
        return Err(DesignError::Taps { actual: taps, limit });
    }
    Ok(())
}

/// Checks that bands ascend with gaps between them, and that symmetric taps can have their gains.
pub(super) fn check(taps: usize, bands: &[Band]) -> Result<(), DesignError> {
    check_taps(taps)?;
    if bands.is_empty() {
        return Err(DesignError::NoBands);
    }
    let mut last = None;
    for (index, band) in bands.iter().enumerate() {
        let Band { from, to, gain, weight } = *band;
        let beyond = last.is_none_or(|last| from > last);
        if !(0.0 <= from && from < to && to <= 0.5 && beyond) {
            return Err(DesignError::Edges { index, from, to });
        }
        if !gain.is_finite() {
            return Err(DesignError::Band { index, quantity: "gain (a finite number)", actual: gain });
        }
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(DesignError::Band { index, quantity: "weight (a finite number above 0)", actual: weight });
        }
        if taps.is_multiple_of(2) && to == 0.5 && gain != 0.0 {
            return Err(DesignError::HalfRate { index, taps });
        }
        last = Some(to);
    }
    Ok(())
}
