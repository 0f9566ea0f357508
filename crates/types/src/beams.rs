//! Beam weights and beams.

use std::marker::PhantomData;

use ndarray::{Array3, ArrayView3};
use num_complex::Complex;

use crate::linear::check_elements;
use crate::{ChannelMask, Dimension, Frequencies, InputCounts, LinearArray, SpectrumClock, TypesError};

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

/// Beams `[channel][time][beam]`: `T` is `Complex<f32>` or `Complex<f16>` for voltages and `f32` for powers.
///
/// # Layout
/// `A` is the array: an `ndarray` one, or a [`LinearArray`] in standard layout in pinned or device memory
/// ([`Beams::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Beams<T, A = Array3<T>> {
    data: A,
    /// Of `[channel][time][beam]`.
    shape: [usize; 3],
    sample: PhantomData<fn() -> T>,
    frequencies: Frequencies,
    clock: SpectrumClock,
    counts: Option<InputCounts>,
    mask: Option<ChannelMask>,
}

impl<T> Beams<T> {
    /// Beams with their axes.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] if the clock's rate or spacing is not positive, [`TypesError::NotFinite`] for
    /// frequencies that are not finite.
    pub fn new(data: Array3<T>, frequencies: Frequencies, clock: SpectrumClock) -> Result<Self, TypesError> {
        let (channels, times, beams) = data.dim();
        Self::of_shape(data, [channels, times, beams], frequencies, clock)
    }

    /// The beams `[channel][time][beam]`.
    pub fn data(&self) -> ArrayView3<'_, T> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array3<T> {
        self.data
    }
}

impl<T, A: LinearArray<T>> Beams<T, A> {
    /// Beams of `shape = [channels, times, beams]` in memory of any kind, in standard layout.
    ///
    /// # Errors
    /// [`TypesError::Elements`] unless the array has exactly `channels x times x beams` elements; as [`Beams::new`] for
    /// the axes.
    pub fn from_array(
        data: A,
        shape: [usize; 3],
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        check_elements("beams", &shape, data.len())?;
        Self::of_shape(data, shape, frequencies, clock)
    }
}

impl<T, A> Beams<T, A> {
    fn of_shape(
        data: A,
        shape: [usize; 3],
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        clock.check()?;
        frequencies.check()?;
        Ok(Self { data, shape, sample: PhantomData, frequencies, clock, counts: None, mask: None })
    }

    /// Says how many inputs of each beam were there.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for counts of other times or beams.
    pub fn with_input_counts(mut self, counts: InputCounts) -> Result<Self, TypesError> {
        counts.check(self.shape[1], self.shape[2])?;
        self.counts = Some(counts);
        Ok(self)
    }

    /// Says which channels were masked, and when: the voltages that these beams are of counted as zero there.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for a mask of other channels, [`TypesError::MaskGrid`] and [`TypesError::MaskRange`]
    /// for one that does not cover the beams' times.
    pub fn with_mask(mut self, mask: ChannelMask) -> Result<Self, TypesError> {
        let (expected, actual) = (self.shape[0], mask.channels());
        if expected != actual {
            return Err(TypesError::Dimension { array: "mask", dimension: Dimension::Channel, expected, actual });
        }
        mask.place(self.clock, self.shape[1])?;
        self.mask = Some(mask);
        Ok(self)
    }

    /// The same beams in another array of the same shape, in standard layout: a copy elsewhere, which its caller made.
    ///
    /// # Errors
    /// [`TypesError::Elements`] if the number of elements differs.
    pub fn with_array<B: LinearArray<T>>(&self, data: B) -> Result<Beams<T, B>, TypesError> {
        check_elements("beams", &self.shape, data.len())?;
        let Self { shape, sample, frequencies, clock, ref counts, ref mask, .. } = *self;
        Ok(Beams { data, shape, sample, frequencies, clock, counts: counts.clone(), mask: mask.clone() })
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &A {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> A {
        self.data
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.shape[0]
    }

    /// Number of spectra.
    pub fn times(&self) -> usize {
        self.shape[1]
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.shape[2]
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }

    /// How many inputs of each beam were there; `None` if all were.
    pub fn input_counts(&self) -> Option<&InputCounts> {
        self.counts.as_ref()
    }

    /// Which channels were masked, and when: the beams are zero there. `None` if nothing was.
    pub fn mask(&self) -> Option<&ChannelMask> {
        self.mask.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beams_in_other_memory_have_the_same_axes_and_as_many_elements() {
        let clock = SpectrumClock { first_sample: 7, ..SpectrumClock::default() };
        let data = Array3::from_shape_fn((2, 3, 5), |(channel, time, beam)| (channel * 100 + time * 10 + beam) as f32);
        let host = Beams::new(data.clone(), Frequencies::default(), clock).unwrap();
        assert_eq!((host.channels(), host.times(), host.beams()), (2, 3, 5));
        let flat: Vec<f32> = data.iter().copied().collect();
        let linear = Beams::from_array(flat.clone(), [2, 3, 5], Frequencies::default(), clock).unwrap();
        assert_eq!(host.with_array(flat), Ok(linear.clone()));
        assert_eq!((linear.channels(), linear.times(), linear.beams(), linear.clock()), (2, 3, 5, clock));
        let error = TypesError::Elements { array: "beams", expected: 30, actual: 29 };
        assert_eq!(linear.with_array(vec![0f32; 29]), Err(error.clone()));
        assert_eq!(Beams::from_array(vec![0f32; 29], [2, 3, 5], Frequencies::default(), clock), Err(error));
        let bad = SpectrumClock { samples_between_spectra: 0, ..clock };
        let error = Beams::from_array(vec![0f32; 30], [2, 3, 5], Frequencies::default(), bad);
        assert!(matches!(error, Err(TypesError::NotPositive { .. })));
    }

    #[test]
    fn a_mask_covers_the_beams_and_goes_with_them() {
        let clock = SpectrumClock { first_sample: 70, samples_between_spectra: 10, ..SpectrumClock::default() };
        let beams = Beams::new(Array3::<f32>::zeros((2, 3, 5)), Frequencies::default(), clock).unwrap();
        let mask = |channels, first_sample| {
            let clock = SpectrumClock { first_sample, ..clock };
            ChannelMask::new(ndarray::Array2::from_elem((channels, 2), true), 2, clock).unwrap()
        };
        let masked = beams.clone().with_mask(mask(2, 60)).unwrap();
        assert_eq!((masked.mask(), beams.mask()), (Some(&mask(2, 60)), None));
        assert_eq!(masked.with_array(vec![0f32; 30]).unwrap().mask(), Some(&mask(2, 60)));
        let (array, dimension) = ("mask", Dimension::Channel);
        let error = TypesError::Dimension { array, dimension, expected: 2, actual: 3 };
        assert_eq!(beams.clone().with_mask(mask(3, 70)), Err(error));
        assert!(matches!(beams.clone().with_mask(mask(2, 50)), Err(TypesError::MaskRange { .. })));
        assert!(matches!(beams.with_mask(mask(2, 65)), Err(TypesError::MaskGrid { .. })));
    }
}
