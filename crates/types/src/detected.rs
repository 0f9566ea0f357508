//! Detected beams `[channel][time][beam][product]`.

use std::marker::PhantomData;

use ndarray::{Array4, ArrayView4};

use crate::linear::check_elements;
use crate::{
    DetectedProducts, Dimension, Frequencies, InputCounts, LinearArray, MaskedSpectra, SpectrumClock, TypesError,
};

/// Detected beams `[channel][time][beam][product]`: `T` is `f32`, or `u8` for files.
///
/// Channels are at the middle of those that were summed; the stamp of a sum is that of its first spectrum.
///
/// # Layout
/// `A` is the array: an `ndarray` one, or a [`LinearArray`] in standard layout in pinned or device memory
/// ([`DetectedBeams::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct DetectedBeams<T, A = Array4<T>> {
    data: A,
    /// Of `[channel][time][beam]`.
    shape: [usize; 3],
    products: DetectedProducts,
    value: PhantomData<fn() -> T>,
    frequencies: Frequencies,
    clock: SpectrumClock,
    counts: Option<InputCounts>,
    masked: Option<MaskedSpectra>,
}

impl<T> DetectedBeams<T> {
    /// Detected beams with their axes.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the last dimension has another length than the products have,
    /// [`TypesError::NotPositive`] if the clock's rate or spacing is not positive, [`TypesError::NotFinite`] for
    /// frequencies that are not finite.
    pub fn new(
        data: Array4<T>,
        products: DetectedProducts,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        let (channels, times, beams, actual) = data.dim();
        if actual != products.count() {
            return Err(TypesError::Dimension {
                array: "detected beams",
                dimension: Dimension::Product,
                expected: products.count(),
                actual,
            });
        }
        Self::of_shape(data, [channels, times, beams], products, frequencies, clock)
    }

    /// The sums `[channel][time][beam][product]`.
    pub fn data(&self) -> ArrayView4<'_, T> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array4<T> {
        self.data
    }
}

impl<T, A: LinearArray<T>> DetectedBeams<T, A> {
    /// Detected beams of `shape = [channels, times, beams]` in memory of any kind, `[channel][time][beam][product]` in
    /// standard layout.
    ///
    /// # Errors
    /// [`TypesError::Elements`] unless the array has exactly `channels x times x beams x products` elements; as
    /// [`DetectedBeams::new`] for the axes.
    pub fn from_array(
        data: A,
        shape: [usize; 3],
        products: DetectedProducts,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        check_elements("detected beams", &[shape[0], shape[1], shape[2], products.count()], data.len())?;
        Self::of_shape(data, shape, products, frequencies, clock)
    }
}

impl<T, A> DetectedBeams<T, A> {
    fn of_shape(
        data: A,
        shape: [usize; 3],
        products: DetectedProducts,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        clock.check()?;
        frequencies.check()?;
        Ok(Self { data, shape, products, value: PhantomData, frequencies, clock, counts: None, masked: None })
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

    /// Says how many spectra of each channel and time were masked.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for counts of other channels or times.
    pub fn with_masked_spectra(mut self, masked: MaskedSpectra) -> Result<Self, TypesError> {
        masked.check(self.shape[0], self.shape[1])?;
        self.masked = Some(masked);
        Ok(self)
    }

    /// The same sums in another array of the same shape, in standard layout: a copy elsewhere, which its caller made.
    ///
    /// # Errors
    /// [`TypesError::Elements`] if the number of elements differs.
    pub fn with_array<B: LinearArray<T>>(&self, data: B) -> Result<DetectedBeams<T, B>, TypesError> {
        let Self { shape, products, value, frequencies, clock, .. } = *self;
        let (counts, masked) = (self.counts.clone(), self.masked.clone());
        check_elements("detected beams", &[shape[0], shape[1], shape[2], products.count()], data.len())?;
        Ok(DetectedBeams { data, shape, products, value, frequencies, clock, counts, masked })
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &A {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> A {
        self.data
    }

    /// Number of channels, each the sum of several.
    pub fn channels(&self) -> usize {
        self.shape[0]
    }

    /// Number of times, each the sum of several spectra.
    pub fn times(&self) -> usize {
        self.shape[1]
    }

    /// Number of beams, each of one or two polarisations.
    pub fn beams(&self) -> usize {
        self.shape[2]
    }

    /// The products of a beam.
    pub fn products(&self) -> DetectedProducts {
        self.products
    }

    /// Middles of the channels.
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

    /// How many spectra of each channel and time a mask left out of the sums, where they count as zero; `None` if it
    /// left out none.
    pub fn masked_spectra(&self) -> Option<&MaskedSpectra> {
        self.masked.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detected_beams_have_an_element_for_each_product() {
        let (frequencies, clock) = (Frequencies::default(), SpectrumClock::default());
        let host =
            DetectedBeams::new(Array4::from_elem((2, 3, 5, 4), 7u8), DetectedProducts::Stokes, frequencies, clock);
        let host = host.unwrap();
        assert_eq!((host.channels(), host.times(), host.beams(), host.products().count()), (2, 3, 5, 4));
        let linear = DetectedBeams::from_array(vec![7u8; 120], [2, 3, 5], DetectedProducts::Stokes, frequencies, clock);
        assert_eq!(host.with_array(vec![7u8; 120]), linear);
        let error = TypesError::Elements { array: "detected beams", expected: 120, actual: 30 };
        assert_eq!(host.with_array(vec![7u8; 30]), Err(error));
        let products = DetectedProducts::StokesI;
        let wrong = DetectedBeams::new(Array4::from_elem((2, 3, 5, 4), 7u8), products, frequencies, clock);
        let dimension = Dimension::Product;
        let error = TypesError::Dimension { array: "detected beams", dimension, expected: 1, actual: 4 };
        assert_eq!(wrong, Err(error));
    }

    #[test]
    fn counts_of_masked_spectra_go_with_the_beams() {
        let (frequencies, clock) = (Frequencies::default(), SpectrumClock::default());
        let products = DetectedProducts::Power;
        let beams = DetectedBeams::new(Array4::from_elem((2, 3, 5, 1), 7u8), products, frequencies, clock).unwrap();
        let counts = |shape| MaskedSpectra::new(4, ndarray::Array2::from_elem(shape, 1)).unwrap();
        let masked = beams.clone().with_masked_spectra(counts((2, 3))).unwrap();
        assert_eq!(masked.with_array(vec![7u8; 30]).unwrap().masked_spectra(), Some(&counts((2, 3))));
        assert_eq!(beams.masked_spectra(), None);
        let (array, dimension) = ("masked spectra", Dimension::Time);
        let error = TypesError::Dimension { array, dimension, expected: 3, actual: 4 };
        assert_eq!(beams.with_masked_spectra(counts((2, 4))), Err(error));
    }
}
