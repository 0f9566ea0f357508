//! Channelised voltages as the correlator's kernels read them: rows of 128 bytes, `[channel][time / R][input][R]`.

use std::marker::PhantomData;

use fringes_kernel_abi::rows as abi;
use ndarray::{Array2, Array4, ArrayView2, ArrayView4, Axis};

use crate::linear::check_elements;
use crate::{
    Dimension, Frequencies, Inputs, LinearArray, SampleFormat, SpectrumClock, TypesError, VoltageSample, Voltages,
};

/// Bytes of a row.
pub const ROW_BYTES: usize = abi::BYTES;

/// Times of a row, `R`: complex samples of 128 bytes.
///
/// | format | 4-bit | 8-bit | 16-bit integers and floats | 32-bit floats |
/// |---|---|---|---|---|
/// | times | 128 | 64 | 32 | 16 |
pub const fn row_times(format: SampleFormat) -> usize {
    let sample_bytes = match format {
        SampleFormat::Int4 => 1,
        SampleFormat::Int8 => 2,
        SampleFormat::Int16 | SampleFormat::Float16 => 4,
        SampleFormat::Float32 => 8,
    };
    abi::times(sample_bytes)
}

/// A chunk of voltages in rows of 128 bytes, `[channel][time / R][input][R]`, `R` = [`row_times`]: what an F-engine
/// gives to a correlator on the same device. For 8-bit samples (R = 64), two inputs and 100 times, a channel is
///
/// | row | 0 | 1 | 2 | 3 |
/// |---|---|---|---|---|
/// | times | 0..64 | 0..64 | 64..100, then zeros | 64..100, then zeros |
/// | input | 0 | 1 | 0 | 1 |
///
/// Whoever makes rows writes 0 for times behind the last one, and for voltages that are absent: flags say what counts,
/// not what is read.
///
/// # Layout
/// On the host any `ndarray` layout is taken; `A` is the array: an `ndarray` one, or a [`LinearArray`] in standard
/// layout in pinned or device memory ([`Rows::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<V: VoltageSample, A = Array4<V>> {
    data: A,
    channels: usize,
    times: usize,
    sample: PhantomData<fn() -> V>,
    inputs: Inputs,
    frequencies: Frequencies,
    clock: SpectrumClock,
    presence: Option<Array2<bool>>,
}

impl<V: VoltageSample> Rows<V> {
    /// Times of a row.
    pub const ROW_TIMES: usize = row_times(V::FORMAT);

    /// Rows `[channel][time / R][input][R]` of `times` times with default axes, all present.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without channels, [`TypesError::Dimension`] if the array is not `ceil(times / R)` rows of
    /// `R` of each of the inputs, [`TypesError::MostNegative`] for an illegal integer value,
    /// [`TypesError::NotZero`] for a value behind the last time that is not 0.
    pub fn new(data: Array4<V>, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        let (channels, rows, actual_inputs, row) = data.dim();
        let array = "rows";
        for (dimension, expected, actual) in [
            (Dimension::Time, times.div_ceil(Self::ROW_TIMES), rows),
            (Dimension::Input, inputs.len(), actual_inputs),
            (Dimension::Time, Self::ROW_TIMES, row),
        ] {
            if expected != actual {
                return Err(TypesError::Dimension { array, dimension, expected, actual });
            }
        }
        for ((channel, row, input, time), value) in data.indexed_iter() {
            let index = || vec![channel, row, input, time];
            if !value.is_sample() {
                return Err(TypesError::MostNegative { format: V::FORMAT, index: index() });
            }
            if row * Self::ROW_TIMES + time >= times && *value != V::zeroed() {
                return Err(TypesError::NotZero { array, index: index() });
            }
        }
        Self::of_shape(data, channels, times, inputs)
    }

    /// The rows of voltages, on the same axes. Absent voltages become 0.
    pub fn from_voltages(voltages: &Voltages<V>) -> Self {
        let (channels, times, inputs) = (voltages.channels(), voltages.times(), voltages.inputs());
        let shape = (channels, times.div_ceil(Self::ROW_TIMES), inputs.len(), Self::ROW_TIMES);
        let (data, presence) = (voltages.data(), voltages.presence());
        let data = Array4::from_shape_fn(shape, |(channel, row, input, time)| {
            let time = row * Self::ROW_TIMES + time;
            let present = time < times && presence.is_none_or(|flags| flags[(time, input)]);
            if present { data[(channel, time, input)] } else { V::zeroed() }
        });
        let (frequencies, clock, sample) = (voltages.frequencies(), voltages.clock(), PhantomData);
        let presence = presence.map(|flags| flags.to_owned());
        Self { data, channels, times, sample, inputs, frequencies, clock, presence }
    }

    /// The same voltages as `[channel][time][input]`, for the operations that take those.
    pub fn to_voltages(&self) -> Voltages<V> {
        let mut data = ndarray::Array3::from_elem((self.channels, self.times, self.inputs.len()), V::zeroed());
        for (from, mut to) in self.data.outer_iter().zip(data.outer_iter_mut()) {
            for (rows, mut to) in from.outer_iter().zip(to.axis_chunks_iter_mut(Axis(0), Self::ROW_TIMES)) {
                let times = to.nrows();
                to.assign(&rows.slice(ndarray::s![.., ..times]).t());
            }
        }
        Voltages::from_parts(data, self.inputs, self.frequencies, self.clock, self.presence.clone())
    }

    /// The rows `[channel][time / R][input][R]`.
    pub fn data(&self) -> ArrayView4<'_, V> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array4<V> {
        self.data
    }
}

impl<V: VoltageSample, A: LinearArray<V>> Rows<V, A> {
    /// Rows in memory of any kind, in standard layout, with default axes, all present. Values are not looked at:
    /// integers are within +-127 or +-7, and those behind the last time are 0.
    ///
    /// # Errors
    /// [`TypesError::Elements`] unless the array has exactly `channels x ceil(times / R) x inputs x R` elements,
    /// [`TypesError::Empty`] without channels.
    pub fn from_array(data: A, channels: usize, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        let row = row_times(V::FORMAT);
        check_elements("rows", &[channels, times.div_ceil(row), inputs.len(), row], data.len())?;
        Self::of_shape(data, channels, times, inputs)
    }
}

impl<V: VoltageSample, A> Rows<V, A> {
    fn of_shape(data: A, channels: usize, times: usize, inputs: Inputs) -> Result<Self, TypesError> {
        if channels == 0 {
            return Err(TypesError::Empty { array: "rows", dimension: Dimension::Channel });
        }
        let (frequencies, clock, sample) = (Frequencies::default(), SpectrumClock::default(), PhantomData);
        Ok(Self { data, channels, times, sample, inputs, frequencies, clock, presence: None })
    }

    /// The same rows in another array of the same shape, in standard layout: a copy elsewhere, which its caller made.
    ///
    /// # Errors
    /// [`TypesError::Elements`] if the number of elements differs.
    pub fn with_array<B: LinearArray<V>>(&self, data: B) -> Result<Rows<V, B>, TypesError> {
        check_elements("rows", &self.shape(), data.len())?;
        let Self { channels, times, sample, inputs, frequencies, clock, ref presence, .. } = *self;
        Ok(Rows { data, channels, times, sample, inputs, frequencies, clock, presence: presence.clone() })
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

    /// Sets presence flags `[time][input]`, true where the voltage is present (in all channels). Absent voltages are 0
    /// in the array.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if their shape differs from the data's.
    pub fn with_presence(mut self, presence: Array2<bool>) -> Result<Self, TypesError> {
        for (dimension, expected, actual) in
            [(Dimension::Time, self.times, presence.nrows()), (Dimension::Input, self.inputs.len(), presence.ncols())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "presence flags", dimension, expected, actual });
            }
        }
        self.presence = Some(presence);
        Ok(self)
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &A {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> A {
        self.data
    }

    /// Lengths of `[channel][time / R][input][R]`.
    pub fn shape(&self) -> [usize; 4] {
        let row = row_times(V::FORMAT);
        [self.channels, self.times.div_ceil(row), self.inputs.len(), row]
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
    use ndarray::Array3;
    use num_complex::Complex;

    use super::*;

    /// Each value tells its own place.
    fn voltages(channels: usize, times: usize, inputs: usize) -> Voltages<Complex<f32>> {
        let data = Array3::from_shape_fn((channels, times, inputs), |(channel, time, input)| {
            Complex::new(time as f32 + 1.0, (channel * 100 + input) as f32)
        });
        let clock = SpectrumClock { first_sample: 77, samples_between_spectra: 16, sample_rate_hz: 2.0 };
        Voltages::new(data, Inputs::single_pol(inputs).unwrap()).unwrap().with_clock(clock).unwrap()
    }

    #[test]
    fn rows_have_every_voltage_in_its_place_and_zeros_behind() {
        let voltages = voltages(2, 37, 3);
        let rows = Rows::from_voltages(&voltages);
        assert_eq!((rows.shape(), rows.times(), rows.clock()), ([2, 3, 3, 16], 37, voltages.clock()));
        for ((channel, row, input, time), &value) in rows.data().indexed_iter() {
            let time = 16 * row + time;
            let expected = if time < 37 { voltages.data()[(channel, time, input)] } else { Complex::new(0.0, 0.0) };
            assert_eq!(value, expected);
        }
        assert_eq!(rows.to_voltages(), voltages);
        let again = Rows::new(rows.data().to_owned(), 37, rows.inputs()).unwrap().with_clock(rows.clock()).unwrap();
        assert_eq!(again, rows);
    }

    #[test]
    fn absent_voltages_are_zeros_and_stay_flagged() {
        let flags = Array2::from_shape_fn((37, 3), |(time, input)| time % 5 != input);
        let voltages = voltages(2, 37, 3).with_presence(flags.clone()).unwrap();
        let rows = Rows::from_voltages(&voltages);
        assert_eq!(rows.presence().unwrap(), flags);
        assert_eq!(rows.data()[(1, 0, 2, 2)], Complex::new(0.0, 0.0));
        assert_ne!(rows.data()[(1, 0, 1, 2)], Complex::new(0.0, 0.0));
    }

    #[test]
    fn rows_that_cannot_be_are_errors() {
        let inputs = Inputs::single_pol(3).unwrap();
        let new = |shape, times| Rows::new(Array4::from_elem(shape, Complex::new(0i8, 0)), times, inputs).map(|_| ());
        assert_eq!(new((1, 2, 3, 64), 65), Ok(()));
        let dimension =
            |dimension, expected, actual| Err(TypesError::Dimension { array: "rows", dimension, expected, actual });
        assert_eq!(new((1, 2, 3, 64), 64), dimension(Dimension::Time, 1, 2));
        assert_eq!(new((1, 2, 2, 64), 65), dimension(Dimension::Input, 3, 2));
        assert_eq!(new((1, 2, 3, 32), 65), dimension(Dimension::Time, 64, 32));
        assert_eq!(new((0, 2, 3, 64), 65), Err(TypesError::Empty { array: "rows", dimension: Dimension::Channel }));
        let mut data = Array4::from_elem((1, 2, 3, 64), Complex::new(0i8, 0));
        data[(0, 1, 2, 1)].im = 1;
        let error = Rows::new(data.clone(), 65, inputs).unwrap_err();
        assert_eq!(error, TypesError::NotZero { array: "rows", index: vec![0, 1, 2, 1] });
        data[(0, 1, 2, 1)].im = 0;
        data[(0, 0, 0, 3)].re = -128;
        let error = Rows::new(data, 65, inputs).unwrap_err();
        assert_eq!(error, TypesError::MostNegative { format: SampleFormat::Int8, index: vec![0, 0, 0, 3] });
        let short = Rows::<Complex<i8>, Vec<Complex<i8>>>::from_array(vec![Complex::new(0, 0); 383], 1, 65, inputs);
        assert_eq!(short.unwrap_err(), TypesError::Elements { array: "rows", expected: 384, actual: 383 });
    }
}
