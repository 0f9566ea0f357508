//! Channelised voltages `[channel][time][input]`.

use ndarray::{Array2, Array3, ArrayView2, ArrayView3};

use crate::{Dimension, Frequencies, Inputs, SpectrumClock, TypesError, VoltageSample};

/// Channelised voltages `[channel][time][input]` of one of the formats of [`VoltageSample`].
///
/// Integer formats are checked at construction: the most negative value is not a sample.
///
/// # Layout
/// Any `ndarray` layout is taken; standard (row-major) layout is fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Voltages<V: VoltageSample> {
    data: Array3<V>,
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

    /// As [`Voltages::new`] for data whose values are legal by construction, such as a quantiser's output: checks the
    /// shape only.
    ///
    /// # Errors
    /// As [`Voltages::new`], but for the values.
    pub fn from_checked(data: Array3<V>, inputs: Inputs) -> Result<Self, TypesError> {
        let (channels, _, actual) = data.dim();
        if channels == 0 {
            return Err(TypesError::Empty { array: "voltages", dimension: Dimension::Channel });
        }
        if actual != inputs.len() {
            return Err(TypesError::Dimension {
                array: "voltages",
                dimension: Dimension::Input,
                expected: inputs.len(),
                actual,
            });
        }
        Ok(Self { data, inputs, frequencies: Frequencies::default(), clock: SpectrumClock::default(), presence: None })
    }

    /// Voltages of parts that fit each other.
    pub(crate) fn from_parts(
        data: Array3<V>,
        inputs: Inputs,
        frequencies: Frequencies,
        clock: SpectrumClock,
        presence: Option<Array2<bool>>,
    ) -> Self {
        Self { data, inputs, frequencies, clock, presence }
    }

    /// Sets the channel frequencies.
    pub fn with_frequencies(mut self, frequencies: Frequencies) -> Self {
        self.frequencies = frequencies;
        self
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

    /// The voltages `[channel][time][input]`.
    pub fn data(&self) -> ArrayView3<'_, V> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array3<V> {
        self.data
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.data.dim().0
    }

    /// Number of spectra.
    pub fn times(&self) -> usize {
        self.data.dim().1
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
