//! Beam weights and beams.

use ndarray::{Array3, ArrayView3};
use num_complex::Complex;

use crate::{Dimension, Frequencies, SpectrumClock, TypesError};

/// Weights of tied-array beams, `[beam][channel][input]`, finite by construction.
///
/// A beam is `sum over inputs of weight * voltage`: the weights are used as given, not conjugated.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamWeights {
    data: Array3<Complex<f32>>,
}

impl BeamWeights {
    /// Checks and takes weights `[beam][channel][input]`.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without beams, channels or inputs, [`TypesError::NotFinite`] for a weight that is NaN or
    /// infinite.
    pub fn new(data: Array3<Complex<f32>>) -> Result<Self, TypesError> {
        let (beams, channels, inputs) = data.dim();
        for (dimension, length) in
            [(Dimension::Beam, beams), (Dimension::Channel, channels), (Dimension::Input, inputs)]
        {
            if length == 0 {
                return Err(TypesError::Empty { array: "beam weights", dimension });
            }
        }
        if let Some(((beam, channel, input), value)) = data.indexed_iter().find(|(_, value)| !value.is_finite()) {
            return Err(TypesError::NotFinite {
                quantity: "beam weight",
                actual: value.to_string(),
                index: vec![beam, channel, input],
            });
        }
        Ok(Self { data })
    }

    /// The weights `[beam][channel][input]`.
    pub fn data(&self) -> ArrayView3<'_, Complex<f32>> {
        self.data.view()
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.data.dim().0
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.data.dim().1
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.data.dim().2
    }
}

/// Beams `[channel][time][beam]`: `T` is `Complex<f32>` for voltages and `f32` for powers.
#[derive(Debug, Clone, PartialEq)]
pub struct Beams<T> {
    data: Array3<T>,
    frequencies: Frequencies,
    clock: SpectrumClock,
}

impl<T> Beams<T> {
    /// Beams with their axes.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if the clock's rate or spacing is not positive, [`TypesError::NotFinite`] for
    /// frequencies that are not finite.
    pub fn new(data: Array3<T>, frequencies: Frequencies, clock: SpectrumClock) -> Result<Self, TypesError> {
        clock.check()?;
        frequencies.check()?;
        Ok(Self { data, frequencies, clock })
    }

    /// The beams `[channel][time][beam]`.
    pub fn data(&self) -> ArrayView3<'_, T> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array3<T> {
        self.data
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }
}
