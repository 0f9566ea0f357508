//! Channelised voltages `[channel][time][input]`.

use std::marker::PhantomData;

use ndarray::{Array2, Array3, ArrayView2, ArrayView3};

use crate::linear::check_elements;
use crate::{Dimension, Frequencies, Inputs, LinearArray, SpectrumClock, TypesError, VoltageSample};

/// Channelised voltages `[channel][time][input]` of one of the formats of [`VoltageSample`].
///
/// Integer formats are checked at construction: the most negative value is not a sample. Where data may be missing,
/// [`Voltages::from_received`] takes the flags with the data and asks nothing of what is absent.
///
/// # Layout
/// Any `ndarray` layout is taken; standard (row-major) layout is fastest. `A` is the array: an `ndarray` one, or a
/// [`LinearArray`] in standard layout in pinned or device memory ([`Voltages::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Voltages<V: VoltageSample, A = Array3<V>> {
    data: A,
    channels: usize,
    times: usize,
    sample: PhantomData<fn() -> V>,
    inputs: Inputs,
    frequencies: Frequencies,
    clock: SpectrumClock,
    presence: Option<Array2<bool>>,
}

impl<V: VoltageSample> Voltages<V> {
    /// Voltages with default axes, all present.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the last dimension is not `inputs.len()`, [`TypesError::Empty`] without channels,
    /// [`TypesError::MostNegative`] for an illegal integer value.
    pub fn new(data: Array3<V>, inputs: Inputs) -> Result<Self, TypesError> {
        let voltages = Self::from_checked(data, inputs)?;
        let illegal = voltages.data.indexed_iter().find(|(_, value)| !value.is_sample());
        if let Some(((channel, time, input), _)) = illegal {
            return Err(TypesError::MostNegative { format: V::FORMAT, index: vec![channel, time, input] });
        }
        Ok(voltages)
    }

    /// Voltages as they were received, with presence flags `[time][input]`, true where the voltage is present (in all
    /// channels). Absent voltages may hold anything, such as what was in a buffer before: illegal integers among them
    /// become 0.
    ///
    /// # Errors
    /// As [`Voltages::new`] for present values, and as [`Voltages::with_presence`].
    pub fn from_received(data: Array3<V>, inputs: Inputs, presence: Array2<bool>) -> Result<Self, TypesError> {
        let mut voltages = Self::from_checked(data, inputs)?.with_presence(presence)?;
        let Self { data, presence, .. } = &mut voltages;
        for ((channel, time, input), value) in data.indexed_iter_mut().filter(|(_, value)| !value.is_sample()) {
            if presence.as_ref().is_none_or(|flags| flags[(time, input)]) {
                return Err(TypesError::MostNegative { format: V::FORMAT, index: vec![channel, time, input] });
            }
            *value = V::zeroed();
        }
        Ok(voltages)
    }

    /// As [`Voltages::new`] for data whose values are legal by construction, such as a quantiser's output: checks the
    /// shape only.
    ///
    /// # Errors
    /// As [`Voltages::new`], but for the values.
    pub fn from_checked(data: Array3<V>, inputs: Inputs) -> Result<Self, TypesError> {
        let (channels, times, actual) = data.dim();
        if actual != inputs.len() {
            return Err(TypesError::Dimension {
                array: "voltages",
                dimension: Dimension::Input,
                expected: inputs.len(),
                actual,
            });
        }
        Self::of_shape(data, channels, times, inputs)
    }

    /// The voltages `[channel][time][input]`.
    pub fn data(&self) -> ArrayView3<'_, V> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array3<V> {
        self.data
    }

    /// Voltages of parts that fit each other.
    pub(crate) fn from_parts(
        data: Array3<V>,
        inputs: Inputs,
        frequencies: Frequencies,
        clock: SpectrumClock,
        presence: Option<Array2<bool>>,
    ) -> Self {
        let ((channels, times, _), sample) = (data.dim(), PhantomData);
        Self { data, channels, times, sample, inputs, frequencies, clock, presence }
    }
}

impl<V: VoltageSample, A: LinearArray<V>> Voltages<V, A> {
    /// Voltages in memory of any kind, in standard layout, with default axes, all present. Values are not looked at:
    /// integers are within +-127 or +-7, as a quantiser gives them.
    ///
    /// # Errors
    /// [`TypesError::Elements`] unless the array has exactly `channels x times x inputs` elements,
    /// [`TypesError::Empty`] without channels.
    pub fn from_array(data: A, channels: usize, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        check_elements("voltages", &[channels, times, inputs.len()], data.len())?;
        Self::of_shape(data, channels, times, inputs)
    }
}

impl<V: VoltageSample, A> Voltages<V, A> {
    fn of_shape(data: A, channels: usize, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        if channels == 0 {
            return Err(TypesError::Empty { array: "voltages", dimension: Dimension::Channel });
        }
        let (frequencies, clock, sample) = (Frequencies::default(), SpectrumClock::default(), PhantomData);
        Ok(Self { data, channels, times, sample, inputs, frequencies, clock, presence: None })
    }

    /// The same voltages in another array of the same shape, in standard layout: a copy elsewhere, which its caller
    /// made.
    ///
    /// # Errors
    /// [`TypesError::Elements`] if the number of elements differs.
    pub fn with_array<B: LinearArray<V>>(&self, data: B) -> Result<Voltages<V, B>, TypesError> {
        check_elements("voltages", &[self.channels, self.times, self.inputs.len()], data.len())?;
        let Self { channels, times, sample, inputs, frequencies, clock, ref presence, .. } = *self;
        Ok(Voltages { data, channels, times, sample, inputs, frequencies, clock, presence: presence.clone() })
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &A {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> A {
        self.data
    }

    /// Sets the channel frequencies.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] if one of the two numbers is not finite.
    pub fn with_frequencies(mut self, frequencies: Frequencies) -> Result<Self, TypesError> {
        frequencies.check()?;
        self.frequencies = frequencies;
        Ok(self)
    }

    /// Sets the time axis.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if the clock's rate or spacing is not positive.
    pub fn with_clock(mut self, clock: SpectrumClock) -> Result<Self, TypesError> {
        clock.check()?;
        self.clock = clock;
        Ok(self)
    }

    /// Sets presence flags `[time][input]`, true where the voltage is present (in all channels).
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if their shape differs from the data's.
    pub fn with_presence(mut self, presence: Array2<bool>) -> Result<Self, TypesError> {
        for (dimension, expected, actual) in
            [(Dimension::Time, self.times(), presence.nrows()), (Dimension::Input, self.inputs.len(), presence.ncols())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "presence flags", dimension, expected, actual });
            }
        }
        self.presence = Some(presence);
        Ok(self)
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Number of spectra.
    pub fn times(&self) -> usize {
        self.times
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// Presence flags `[time][input]`, `None` if everything is present.
    pub fn presence(&self) -> Option<ArrayView2<'_, bool>> {
        self.presence.as_ref().map(|presence| presence.view())
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::SampleFormat;

    #[test]
    fn absent_voltages_may_hold_anything() {
        let inputs = Inputs::single_pol(2).unwrap();
        let mut data = Array3::from_elem((3, 4, 2), Complex::new(5i8, -5));
        let flags = Array2::from_shape_fn((4, 2), |at| at != (1, 0));
        data[(2, 1, 0)].im = -128;
        let received = Voltages::from_received(data.clone(), inputs, flags.clone()).unwrap();
        assert_eq!(received.data()[(2, 1, 0)], Complex::new(0, 0));
        assert_eq!(received.data()[(2, 1, 1)], Complex::new(5, -5));
        assert_eq!(received.presence().unwrap(), flags);
        data[(0, 3, 1)].re = -128; // present
        let error = Voltages::from_received(data, inputs, flags).unwrap_err();
        assert_eq!(error, TypesError::MostNegative { format: SampleFormat::Int8, index: vec![0, 3, 1] });
    }

    #[test]
    fn frequencies_that_are_no_numbers_are_refused() {
        let voltages = Voltages::new(Array3::from_elem((1, 1, 1), Complex::new(1i8, 1)), Inputs::new(1, 1).unwrap());
        let frequencies = Frequencies { first_hz: f64::NAN, step_hz: 1.0 };
        let error = voltages.unwrap().with_frequencies(frequencies).unwrap_err();
        assert!(matches!(error, TypesError::NotFinite { .. }), "{error}");
    }
}
