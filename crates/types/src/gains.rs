//! Gains of channels and inputs.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use num_complex::Complex;

use crate::{Dimension, TypesError};

/// Complex gains that scale voltages before they are rounded, finite by construction.
#[derive(Debug, Clone, PartialEq)]
pub struct Gains(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Uniform(f32),
    PerChannelInput(Array2<Complex<f32>>),
}

impl Gains {
    /// One real gain for every channel and input.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if it is NaN or infinite.
    pub fn uniform(gain: f32) -> Result<Self, TypesError> {
        if !gain.is_finite() {
            return Err(not_finite(gain.to_string(), Vec::new()));
        }
        Ok(Self(Kind::Uniform(gain)))
    }

    /// A complex gain for each channel and input, `[channel][input]`.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub fn per_channel_input(gains: Array2<Complex<f32>>) -> Result<Self, TypesError> {
        match gains.indexed_iter().find(|(_, gain)| !gain.is_finite()) {
            Some(((channel, input), gain)) => Err(not_finite(gain.to_string(), vec![channel, input])),
            None => Ok(Self(Kind::PerChannelInput(gains))),
        }
    }

    /// The gains of some of the inputs, of gains of so many channels and inputs.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if they are of other channels or inputs, or have not all of the range.
    pub fn of_inputs(&self, channels: usize, inputs: usize, range: Range<usize>) -> Result<Self, TypesError> {
        if range.start > range.end || range.end > inputs {
            let (array, dimension, expected) = ("range of gains", Dimension::Input, inputs);
            return Err(TypesError::Dimension { array, dimension, expected, actual: range.end.max(range.start) });
        }
        match &self.0 {
            Kind::Uniform(_) => Ok(self.clone()),
            Kind::PerChannelInput(gains) => {
                self.check(channels, inputs)?;
                Ok(Self(Kind::PerChannelInput(gains.slice(s![.., range]).to_owned())))
            }
        }
    }

    /// The real gain of every channel and input, if there is one for all.
    #[must_use]
    pub fn as_uniform(&self) -> Option<f32> {
        match self.0 {
            Kind::Uniform(gain) => Some(gain),
            Kind::PerChannelInput(_) => None,
        }
    }

    /// The gains `[channel][input]`, unless there is one for all.
    #[must_use]
    pub fn as_channel_input(&self) -> Option<ArrayView2<'_, Complex<f32>>> {
        match &self.0 {
            Kind::Uniform(_) => None,
            Kind::PerChannelInput(gains) => Some(gains.view()),
        }
    }

    /// Checks that gains of channels and inputs are of so many.
    fn check(&self, channels: usize, inputs: usize) -> Result<(), TypesError> {
        let Kind::PerChannelInput(gains) = &self.0 else { return Ok(()) };
        for (dimension, expected, actual) in
            [(Dimension::Channel, channels, gains.nrows()), (Dimension::Input, inputs, gains.ncols())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "gains", dimension, expected, actual });
            }
        }
        Ok(())
    }

    /// The gains as `[channel][input]`, if they fit.
    ///
    /// # Layout
    /// That of the array that came, or standard layout.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if they are of other channels or inputs.
    pub fn expand(&self, channels: usize, inputs: usize) -> Result<Array2<Complex<f32>>, TypesError> {
        match &self.0 {
            Kind::Uniform(gain) => Ok(Array2::from_elem((channels, inputs), Complex::new(*gain, 0.0))),
            Kind::PerChannelInput(gains) => {
                self.check(channels, inputs)?;
                Ok(gains.clone())
            }
        }
    }
}

fn not_finite(actual: String, index: Vec<usize>) -> TypesError {
    TypesError::NotFinite { quantity: "gain", actual, index }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_of_some_inputs_are_theirs_and_what_does_not_fit_is_an_error() {
        let value = |channel: usize, input: usize| Complex::new(channel as f32, input as f32);
        let of = |first: usize, inputs| Array2::from_shape_fn((3, inputs), |(row, column)| value(row, first + column));
        let gains = Gains::per_channel_input(of(0, 5)).unwrap();
        assert_eq!(gains.of_inputs(3, 5, 2..4), Gains::per_channel_input(of(2, 2)));
        let uniform = Gains::uniform(2.0).unwrap();
        assert_eq!(uniform.of_inputs(3, 5, 2..4), Ok(uniform.clone()));
        let dimension = |gains: Result<Gains, TypesError>| match gains {
            Err(TypesError::Dimension { dimension, expected, actual, .. }) => (dimension, expected, actual),
            other => panic!("{other:?}"),
        };
        assert_eq!(dimension(gains.of_inputs(3, 6, 0..2)), (Dimension::Input, 6, 5));
        assert_eq!(dimension(gains.of_inputs(4, 5, 0..2)), (Dimension::Channel, 4, 3));
        assert_eq!(dimension(uniform.of_inputs(3, 5, 4..6)), (Dimension::Input, 5, 6));
        let backwards = std::ops::Range { start: 4, end: 2 };
        assert_eq!(dimension(gains.of_inputs(3, 5, backwards)), (Dimension::Input, 5, 4));
    }
}
