//! Channelised voltages as F-engines send them: `[batch][antenna][channel][spectrum][pol]`.

use std::marker::PhantomData;

use ndarray::{Array2, Array3, Array5, ArrayView2, ArrayView5};

use crate::linear::check_elements;
use crate::{Dimension, Frequencies, Inputs, LinearArray, SpectrumClock, TypesError, VoltageSample, Voltages};

/// A chunk of heaps `[batch][antenna][channel][spectrum][pol]` of one of the formats of [`VoltageSample`].
///
/// A heap is what one antenna's F-engine sends at once: some spectra of all channels and both polarisations. Heaps of
/// all antennas with the same timestamp are a batch, and a chunk is some consecutive batches. For two antennas of two
/// polarisations, one channel and heaps of three spectra, a batch is
///
/// | position | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 |
/// |---|---|---|---|---|---|---|---|---|---|---|---|---|
/// | antenna | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 1 | 1 | 1 | 1 | 1 |
/// | spectrum | 0 | 0 | 1 | 1 | 2 | 2 | 0 | 0 | 1 | 1 | 2 | 2 |
/// | pol | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 1 |
///
/// Integer formats are checked at construction: the most negative value is not a sample. Where packets may be lost,
/// [`Heaps::from_received`] takes the flags with the data and asks nothing of heaps that did not come.
///
/// # Layout
/// Any `ndarray` layout is taken; standard (row-major) layout is fastest, and the only one that goes to a GPU without a
/// copy. `A` is the array: an `ndarray` one, or a [`LinearArray`] in standard layout in pinned or device memory
/// ([`Heaps::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Heaps<V: VoltageSample, A = Array5<V>> {
    data: A,
    /// Of `[batch][antenna][channel][spectrum][pol]`.
    shape: [usize; 5],
    sample: PhantomData<fn() -> V>,
    inputs: Inputs,
    frequencies: Frequencies,
    clock: SpectrumClock,
    presence: Option<Array2<bool>>,
}

impl<V: VoltageSample> Heaps<V> {
    /// Heaps with default axes, all present. The array says how many antennas and polarisations there are.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without antennas, channels or spectra, [`TypesError::Pols`] if there are not 1 or 2
    /// polarisations, [`TypesError::MostNegative`] for an illegal integer value.
    pub fn new(data: Array5<V>) -> Result<Self, TypesError> {
        let heaps = Self::from_checked(data)?;
        let illegal = heaps.data.indexed_iter().find(|(_, value)| !value.is_sample());
        if let Some(((batch, antenna, channel, spectrum, pol), _)) = illegal {
            let index = vec![batch, antenna, channel, spectrum, pol];
            return Err(TypesError::MostNegative { format: V::FORMAT, index });
        }
        Ok(heaps)
    }

    /// Heaps as they were received, with presence flags `[batch][antenna]`, true where the heap came. What an absent
    /// heap's part of the array holds does not matter, such as what was in a buffer before: illegal integers in it
    /// become 0.
    ///
    /// # Errors
    /// As [`Heaps::new`] for the heaps that came, and as [`Heaps::with_presence`].
    pub fn from_received(data: Array5<V>, presence: Array2<bool>) -> Result<Self, TypesError> {
        let mut heaps = Self::from_checked(data)?.with_presence(presence)?;
        let Self { data, presence, .. } = &mut heaps;
        for ((batch, antenna, channel, spectrum, pol), value) in
            data.indexed_iter_mut().filter(|(_, value)| !value.is_sample())
        {
            if presence.as_ref().is_none_or(|flags| flags[(batch, antenna)]) {
                let index = vec![batch, antenna, channel, spectrum, pol];
                return Err(TypesError::MostNegative { format: V::FORMAT, index });
            }
            *value = V::zeroed();
        }
        Ok(heaps)
    }

    /// As [`Heaps::new`] for data whose values are legal by construction, such as a quantiser's output: checks the
    /// shape only.
    ///
    /// # Errors
    /// As [`Heaps::new`], but for the values.
    pub fn from_checked(data: Array5<V>) -> Result<Self, TypesError> {
        let (batches, antennas, channels, spectra, pols) = data.dim();
        Self::of_shape(data, [batches, antennas, channels, spectra, pols])
    }

    /// The heaps `[batch][antenna][channel][spectrum][pol]`.
    pub fn data(&self) -> ArrayView5<'_, V> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array5<V> {
        self.data
    }
}

impl<V: VoltageSample, A: LinearArray<V>> Heaps<V, A> {
    /// Heaps in memory of any kind, in standard layout, with default axes, all present. Values are not looked at:
    /// integers are within +-127 or +-7, as a quantiser gives them.
    ///
    /// # Errors
    /// [`TypesError::Elements`] unless the array has exactly `batches x antennas x channels x spectra x pols` elements,
    /// [`TypesError::Empty`] without channels or spectra.
    pub fn from_array(
        data: A,
        batches: usize,
        inputs: Inputs,
        channels: usize,
        spectra_per_heap: usize,
    ) -> Result<Self, TypesError> {
        let shape = [batches, inputs.antennas(), channels, spectra_per_heap, inputs.pols()];
        check_elements("heaps", &shape, data.len())?;
        Self::of_shape(data, shape)
    }
}

impl<V: VoltageSample, A> Heaps<V, A> {
    fn of_shape(data: A, shape: [usize; 5]) -> Result<Self, TypesError> {
        let [_, antennas, channels, spectra, pols] = shape;
        for (dimension, length) in [(Dimension::Channel, channels), (Dimension::Spectrum, spectra)] {
            if length == 0 {
                return Err(TypesError::Empty { array: "heaps", dimension });
            }
        }
        let (inputs, sample) = (Inputs::new(antennas, pols)?, PhantomData);
        let (frequencies, clock) = (Frequencies::default(), SpectrumClock::default());
        Ok(Self { data, shape, sample, inputs, frequencies, clock, presence: None })
    }

    /// The same heaps in another array of the same shape, in standard layout: a copy elsewhere, which its caller made.
    ///
    /// # Errors
    /// [`TypesError::Elements`] if the number of elements differs.
    pub fn with_array<B: LinearArray<V>>(&self, data: B) -> Result<Heaps<V, B>, TypesError> {
        check_elements("heaps", &self.shape, data.len())?;
        let Self { shape, sample, inputs, frequencies, clock, ref presence, .. } = *self;
        Ok(Heaps { data, shape, sample, inputs, frequencies, clock, presence: presence.clone() })
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

    /// Sets the time axis: the stamp of the first batch's first spectrum, and the spacing of spectra.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if the clock's rate or spacing is not positive.
    pub fn with_clock(mut self, clock: SpectrumClock) -> Result<Self, TypesError> {
        clock.check()?;
        self.clock = clock;
        Ok(self)
    }

    /// Sets presence flags `[batch][antenna]`, true where the heap came. What an absent heap's part of the array holds
    /// does not matter; where that may be an illegal integer, [`Heaps::from_received`] takes both at once.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if their shape differs from the data's.
    pub fn with_presence(mut self, presence: Array2<bool>) -> Result<Self, TypesError> {
        for (dimension, expected, actual) in [
            (Dimension::Batch, self.batches(), presence.nrows()),
            (Dimension::Antenna, self.inputs.antennas(), presence.ncols()),
        ] {
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

    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.shape[0]
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.shape[2]
    }

    /// Number of spectra of a heap.
    pub fn spectra_per_heap(&self) -> usize {
        self.shape[3]
    }

    /// Number of spectra of all batches.
    pub fn times(&self) -> usize {
        self.batches() * self.spectra_per_heap()
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis, of spectra: batch `i` is stamped `sample_of(i * spectra_per_heap)`.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// Presence flags `[batch][antenna]`, `None` if every heap came.
    pub fn presence(&self) -> Option<ArrayView2<'_, bool>> {
        self.presence.as_ref().map(|presence| presence.view())
    }
}

impl<V: VoltageSample> Heaps<V> {
    /// The same voltages as `[channel][time][input]`, `time = batch * spectra_per_heap + spectrum`, for the operations
    /// that take those.
    pub fn to_voltages(&self) -> Voltages<V> {
        let (pols, spectra) = (self.inputs.pols(), self.spectra_per_heap());
        let shape = (self.channels(), self.times(), self.inputs.len());
        let data = Array3::from_shape_fn(shape, |(channel, time, input)| {
            self.data[(time / spectra, input / pols, channel, time % spectra, input % pols)]
        });
        let presence = self.presence.as_ref().map(|flags| {
            Array2::from_shape_fn((self.times(), self.inputs.len()), |(time, input)| {
                flags[(time / spectra, input / pols)]
            })
        });
        Voltages::from_parts(data, self.inputs, self.frequencies, self.clock, presence)
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;

    /// Each value tells its own place.
    fn heaps(shape: (usize, usize, usize, usize, usize)) -> Heaps<Complex<f32>> {
        let data = Array5::from_shape_fn(shape, |(batch, antenna, channel, spectrum, pol)| {
            Complex::new((batch * 100 + spectrum) as f32, (channel * 100 + antenna * 10 + pol) as f32)
        });
        Heaps::new(data).unwrap()
    }

    #[test]
    fn voltages_of_heaps_are_in_the_order_of_time_and_input() {
        let flags = Array2::from_shape_fn((3, 4), |(batch, antenna)| (batch + antenna) % 3 != 0);
        let clock = SpectrumClock { first_sample: 640, samples_between_spectra: 16, sample_rate_hz: 1e9 };
        let heaps = heaps((3, 4, 2, 5, 2)).with_presence(flags.clone()).unwrap().with_clock(clock).unwrap();
        assert_eq!((heaps.batches(), heaps.channels(), heaps.spectra_per_heap(), heaps.times()), (3, 2, 5, 15));
        let voltages = heaps.to_voltages();
        assert_eq!(voltages.data().dim(), (2, 15, 8));
        assert_eq!((voltages.clock(), voltages.inputs()), (clock, Inputs::new(4, 2).unwrap()));
        for ((channel, time, input), value) in voltages.data().indexed_iter() {
            let (batch, spectrum, antenna, pol) = (time / 5, time % 5, input / 2, input % 2);
            let expected = ((batch * 100 + spectrum) as f32, (channel * 100 + antenna * 10 + pol) as f32);
            assert_eq!((value.re, value.im), expected);
            assert_eq!(voltages.presence().unwrap()[(time, input)], flags[(batch, antenna)]);
        }
        assert!(self::heaps((1, 1, 1, 1, 1)).to_voltages().presence().is_none());
    }

    #[test]
    fn absent_heaps_may_hold_anything() {
        let mut data = Array5::from_elem((2, 3, 4, 5, 2), Complex::new(1i8, 1));
        let flags = Array2::from_shape_fn((2, 3), |at| at != (0, 2));
        data[(0, 2, 3, 4, 1)] = Complex::new(-128, 7);
        let received = Heaps::from_received(data.clone(), flags.clone()).unwrap();
        assert_eq!(received.presence().unwrap(), flags);
        assert_eq!(received.data()[(0, 2, 3, 4, 1)], Complex::new(0, 0));
        data[(1, 2, 3, 4, 1)].re = -128; // came
        let error = Heaps::from_received(data, flags).unwrap_err();
        assert_eq!(error, TypesError::MostNegative { format: crate::SampleFormat::Int8, index: vec![1, 2, 3, 4, 1] });
        let data = Array5::from_elem((2, 3, 4, 5, 2), crate::Complex4(0x80));
        assert!(Heaps::from_received(data, Array2::from_elem((2, 3), false)).is_ok());
    }

    #[test]
    fn heaps_that_cannot_be_are_errors() {
        let shaped = |shape| Heaps::new(Array5::from_elem(shape, Complex::new(1i8, 1))).map(|_| ());
        assert_eq!(shaped((2, 3, 4, 5, 2)), Ok(()));
        assert_eq!(shaped((0, 3, 4, 5, 1)), Ok(())); // no batch came
        let empty = |array, dimension| Err(TypesError::Empty { array, dimension });
        assert_eq!(shaped((2, 0, 4, 5, 2)), empty("inputs", Dimension::Antenna));
        assert_eq!(shaped((2, 3, 0, 5, 2)), empty("heaps", Dimension::Channel));
        assert_eq!(shaped((2, 3, 4, 0, 2)), empty("heaps", Dimension::Spectrum));
        assert_eq!(shaped((2, 3, 4, 5, 3)), Err(TypesError::Pols { actual: 3 }));
        let mut data = Array5::from_elem((2, 3, 4, 5, 2), Complex::new(1i8, 1));
        data[(1, 2, 3, 4, 1)].im = -128;
        let error = Heaps::new(data).unwrap_err();
        assert_eq!(error, TypesError::MostNegative { format: crate::SampleFormat::Int8, index: vec![1, 2, 3, 4, 1] });
        for (shape, dimension, expected, actual) in
            [((3, 3), Dimension::Batch, 2, 3), ((2, 6), Dimension::Antenna, 3, 6)]
        {
            let error = heaps((2, 3, 1, 1, 2)).with_presence(Array2::from_elem(shape, true)).unwrap_err();
            assert_eq!(error, TypesError::Dimension { array: "presence flags", dimension, expected, actual });
        }
        let clock = SpectrumClock { samples_between_spectra: 0, ..SpectrumClock::default() };
        assert!(heaps((2, 3, 1, 1, 2)).with_clock(clock).is_err());
    }
}
