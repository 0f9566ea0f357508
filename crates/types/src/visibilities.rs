//! Visibilities `[channel][baseline]`.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView1, ArrayView2};
use num_complex::Complex;

use crate::linear::check_elements;
use crate::{
    Accumulator, BaselineOrder, Dimension, Frequencies, Inputs, LinearArray, MaskedSamples, SpectrumClock, TypesError,
    ValidSamples,
};

/// Sums of voltage products over some time, `[channel][baseline]`, with the number of valid samples of each baseline.
///
/// [`Visibilities::valid_samples`] is of all channels alike: spectra in which both inputs were present. Where channels
/// were masked, [`Visibilities::valid`] says how many of them a channel's sum is made of.
///
/// `D` is the array: an `ndarray` one, or a [`LinearArray`] in standard layout in device memory
/// ([`Visibilities::from_array`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Visibilities<A: Accumulator, D = Array2<A>> {
    data: D,
    channels: usize,
    accumulator: PhantomData<fn() -> A>,
    inputs: Inputs,
    order: BaselineOrder,
    valid_samples: ValidSamples,
    masked_samples: Option<MaskedSamples>,
    times: u64,
    frequencies: Frequencies,
    clock: SpectrumClock,
}

impl<A: Accumulator> Visibilities<A> {
    /// Visibilities of `times` spectra that `clock` stamps, of which `valid_samples[baseline]` were present on both
    /// inputs.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if an array does not have the number of baselines of `order`,
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs, [`TypesError::NotPositive`] for a bad clock,
    /// [`TypesError::NotFinite`] for frequencies that are not finite.
    pub fn new(
        data: Array2<A>,
        inputs: Inputs,
        order: BaselineOrder,
        valid_samples: impl Into<ValidSamples>,
        times: u64,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        let (channels, actual) = data.dim();
        let expected = order.len(inputs);
        if actual != expected {
            return Err(TypesError::Dimension {
                array: "visibilities",
                dimension: Dimension::Baseline,
                expected,
                actual,
            });
        }
        Self::of_channels(data, channels, inputs, order, valid_samples, times, frequencies, clock)
    }

    /// The sums of this integration and another one, part by part, and of their valid samples; everything else is this
    /// one's.
    ///
    /// # Precision
    /// Exact for integers (no legal run reaches 2^63); one rounding of `2^-53` a part for floats.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the other one has other channels, or baselines of other inputs or another order.
    pub fn plus(mut self, other: &Self) -> Result<Self, TypesError> {
        let same = self.inputs == other.inputs && self.order == other.order;
        for (dimension, expected, actual) in [
            (Dimension::Channel, self.data.nrows(), other.data.nrows()),
            (Dimension::Baseline, self.data.ncols(), if same { other.data.ncols() } else { 0 }),
        ] {
            if expected != actual {
                return Err(TypesError::Dimension { array: "visibilities to add", dimension, expected, actual });
            }
        }
        ndarray::Zip::from(&mut self.data).and(&other.data).par_for_each(|sum, &part| *sum = sum.add(part));
        self.valid_samples = self.valid_samples.plus(&other.valid_samples);
        self.masked_samples = match (self.masked_samples, &other.masked_samples) {
            (Some(masked), Some(more)) => Some(masked.plus(more)?),
            (masked, more) => masked.or_else(|| more.clone()),
        };
        Ok(self)
    }

    /// The sums `[channel][baseline]`.
    pub fn data(&self) -> ArrayView2<'_, A> {
        self.data.view()
    }

    /// Takes the array back.
    pub fn into_data(self) -> Array2<A> {
        self.data
    }
}

impl<A: Accumulator, D: LinearArray<A>> Visibilities<A, D> {
    /// Visibilities `[channel][baseline]` in memory of any kind, in standard layout, as [`Visibilities::new`] takes
    /// them.
    ///
    /// # Errors
    /// As [`Visibilities::new`]; [`TypesError::Elements`] unless the array has exactly `channels x baselines` elements.
    #[allow(
        clippy::too_many_arguments,
        reason = "the arguments of `new` and the shape that an ndarray array has itself"
    )]
    pub fn from_array(
        data: D,
        channels: usize,
        inputs: Inputs,
        order: BaselineOrder,
        valid_samples: impl Into<ValidSamples>,
        times: u64,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        check_elements("visibilities", &[channels, order.len(inputs)], data.len())?;
        Self::of_channels(data, channels, inputs, order, valid_samples, times, frequencies, clock)
    }
}

impl<A: Accumulator, D> Visibilities<A, D> {
    #[allow(clippy::too_many_arguments, reason = "as from_array")]
    fn of_channels(
        data: D,
        channels: usize,
        inputs: Inputs,
        order: BaselineOrder,
        valid_samples: impl Into<ValidSamples>,
        times: u64,
        frequencies: Frequencies,
        clock: SpectrumClock,
    ) -> Result<Self, TypesError> {
        order.check(inputs)?;
        clock.check()?;
        frequencies.check()?;
        let valid_samples = valid_samples.into();
        let (expected, actual) = (order.len(inputs), valid_samples.len());
        if actual != expected {
            return Err(TypesError::Dimension {
                array: "valid samples",
                dimension: Dimension::Baseline,
                expected,
                actual,
            });
        }
        let accumulator = PhantomData;
        let masked_samples = None;
        Ok(Self {
            data,
            channels,
            accumulator,
            inputs,
            order,
            valid_samples,
            masked_samples,
            times,
            frequencies,
            clock,
        })
    }

    /// Sets what a mask has left out, counted in the order of these baselines.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if the counts are of other channels or baselines.
    pub fn with_masked_samples(mut self, masked: MaskedSamples) -> Result<Self, TypesError> {
        masked.check(self.channels, self.valid_samples.len())?;
        self.masked_samples = Some(masked);
        Ok(self)
    }

    /// The array, wherever it lies.
    pub fn array(&self) -> &D {
        &self.data
    }

    /// Takes the array, wherever it lies.
    pub fn into_array(self) -> D {
        self.data
    }

    /// Sets the time axis.
    ///
    /// # Errors
    /// [`TypesError::NotPositive`] for a bad clock.
    pub fn with_clock(mut self, clock: SpectrumClock) -> Result<Self, TypesError> {
        clock.check()?;
        self.clock = clock;
        Ok(self)
    }

    /// Sets how many spectra the integration covers, present or not.
    pub fn with_times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Order of the baselines.
    pub fn order(&self) -> BaselineOrder {
        self.order
    }

    /// Number of spectra of each baseline in which both inputs were present, in all channels alike: what masks took is
    /// not taken off ([`Visibilities::valid`]). Where all are alike the view has a stride of 0, and is no slice.
    pub fn valid_samples(&self) -> ArrayView1<'_, u64> {
        self.valid_samples.view()
    }

    /// The same numbers as they are kept: one where all are alike.
    pub fn valid_counts(&self) -> &ValidSamples {
        &self.valid_samples
    }

    /// What masks took of [`Visibilities::valid_samples`]; `None` if nothing was masked.
    pub fn masked_samples(&self) -> Option<&MaskedSamples> {
        self.masked_samples.as_ref()
    }

    /// Number of spectra that a sum is made of: both inputs were present, and the channel was not masked. 0 past the
    /// last channel or baseline. Divide by it for a mean.
    pub fn valid(&self, channel: usize, baseline: usize) -> u64 {
        let present = if channel < self.channels { self.valid_samples.get(baseline) } else { None };
        let masked = self.masked_samples.as_ref().map_or(0, |masked| masked.masked(channel, baseline));
        present.map_or(0, |present| present.saturating_sub(masked))
    }

    /// Number of spectra that the integration covers, present or not.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// Channel frequencies.
    pub fn frequencies(&self) -> Frequencies {
        self.frequencies
    }

    /// Time axis: the stamp of the first spectrum, the spacing and the sample rate.
    pub fn clock(&self) -> SpectrumClock {
        self.clock
    }
}

impl<A: Accumulator> Visibilities<A> {
    /// The sums in another order, as a new value.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`] if the order cannot hold the inputs.
    pub fn reordered(&self, order: BaselineOrder) -> Result<Self, TypesError> {
        order.check(self.inputs)?;
        let baselines = order.len(self.inputs);
        let mut data = Array2::from_elem((self.data.nrows(), baselines), A::default());
        let mut valid = self.valid_samples.all().is_none().then(|| ndarray::Array1::zeros(baselines));
        for to in 0..baselines {
            if let Some((from, conjugate)) = order.product(self.inputs, to).and_then(|product| self.find(product)) {
                if let Some(valid) = &mut valid {
                    valid[to] = self.valid_samples.get(from).unwrap_or(0);
                }
                for channel in 0..self.data.nrows() {
                    let value = self.data[(channel, from)];
                    data[(channel, to)] = if conjugate { value.conj() } else { value };
                }
            }
        }
        let masked_samples = self.masked_samples.as_ref().map(|masked| {
            let from = |to| Some(self.find(order.product(self.inputs, to)?)?.0);
            masked.reordered(baselines, from)
        });
        let all = || ValidSamples::same(self.valid_samples.all().unwrap_or(0), baselines);
        let valid_samples = valid.map_or_else(all, ValidSamples::from);
        Ok(Self { data, order, valid_samples, masked_samples, ..self.clone() })
    }

    /// Position of a product and whether the value there is its conjugate.
    fn find(&self, product: crate::Product) -> Option<(usize, bool)> {
        let swapped = crate::Product { a: product.b, b: product.a };
        let direct = self.order.position(self.inputs, product).map(|position| (position, false));
        direct.or_else(|| self.order.position(self.inputs, swapped).map(|position| (position, true)))
    }

    /// `V[a][b]` of a channel as complex f64, whichever of `V[a][b]` and `V[b][a]` the order holds; `None` if a channel
    /// or an input does not exist.
    pub fn get(&self, channel: usize, a: usize, b: usize) -> Option<Complex<f64>> {
        let (position, conjugate) = self.find(crate::Product { a, b })?;
        let value = self.data.get((channel, position))?.to_c64();
        Some(if conjugate { value.conj() } else { value })
    }

    /// Coherence `V[a][b] / sqrt(V[a][a] V[b][b])` of a channel; 0 where an autocorrelation is 0, `None` as
    /// [`Visibilities::get`].
    pub fn coherence(&self, channel: usize, a: usize, b: usize) -> Option<Complex<f64>> {
        let power = self.get(channel, a, a)?.re * self.get(channel, b, b)?.re;
        let value = self.get(channel, a, b)?;
        Some(if power > 0.0 { value / power.sqrt() } else { Complex::default() })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    #[test]
    fn sums_and_valid_samples_add_and_others_do_not() {
        let inputs = Inputs::single_pol(2).unwrap();
        let of = |value: i64, valid: u64, order: BaselineOrder| {
            let baselines = order.len(inputs);
            let data = Array2::from_elem((2, baselines), Complex::new(value, -value));
            let valid = Array1::from_elem(baselines, valid);
            Visibilities::new(data, inputs, order, valid, 9, Frequencies::default(), SpectrumClock::default()).unwrap()
        };
        let sum = of(1 << 40, 5, BaselineOrder::Full).plus(&of(3, 2, BaselineOrder::Full)).unwrap();
        assert!(sum.data().iter().all(|value| *value == Complex::new((1 << 40) + 3, -(1 << 40) - 3)));
        assert_eq!((sum.valid_samples().to_vec(), sum.times()), (vec![7; 4], 9));
        let error = sum.plus(&of(1, 1, BaselineOrder::Triangle)).unwrap_err();
        assert!(matches!(error, TypesError::Dimension { dimension: Dimension::Baseline, .. }), "{error}");
    }

    #[test]
    fn masked_samples_are_taken_off_add_up_and_follow_their_baselines() {
        let inputs = Inputs::single_pol(2).unwrap();
        let plain = Visibilities::new(
            Array2::from_elem((2, 3), Complex::new(1i64, 0)),
            inputs,
            BaselineOrder::Triangle,
            Array1::from(vec![9, 8, 8]),
            9,
            Frequencies::default(),
            SpectrumClock::default(),
        )
        .unwrap();
        assert_eq!((plain.valid(1, 0), plain.valid(0, 1), plain.valid(2, 0), plain.valid(0, 3)), (9, 8, 0, 0));
        let counts = ndarray::array![[0, 1, 2], [0, 0, 0]];
        let masked = MaskedSamples::new(Array1::from(vec![2, 0]), Some(counts)).unwrap();
        let some = plain.clone().with_masked_samples(masked).unwrap();
        assert_eq!([0, 1, 2].map(|baseline| some.valid(0, baseline)), [7, 5, 4]);
        assert_eq!(some.valid_samples(), plain.valid_samples());
        let full = some.reordered(BaselineOrder::Full).unwrap();
        assert_eq!([0, 1, 2, 3].map(|baseline| full.valid(0, baseline)), [7, 5, 5, 4]);
        for sum in [some.clone().plus(&plain).unwrap(), plain.clone().plus(&some).unwrap()] {
            assert_eq!([0, 1, 2].map(|baseline| sum.valid(0, baseline)), [16, 13, 12]);
        }
        assert_eq!(some.clone().plus(&some).unwrap().valid(0, 2), 8);
        let other = MaskedSamples::new(Array1::zeros(3), None).unwrap();
        assert!(matches!(plain.with_masked_samples(other), Err(TypesError::Dimension { .. })));
    }

    #[test]
    fn orders_hold_the_same_sums() {
        let inputs = Inputs::new(3, 2).unwrap();
        let full = Array2::from_shape_fn((2, 36), |(channel, position)| {
            let (a, b) = ((position / 6) as i64, (position % 6) as i64);
            Complex::new(a * b + channel as i64, a - b) // Hermitian
        });
        let visibilities = Visibilities::new(
            full,
            inputs,
            BaselineOrder::Full,
            Array1::from_elem(36, 7),
            7,
            Frequencies::default(),
            SpectrumClock::default(),
        )
        .unwrap();
        for order in [BaselineOrder::Triangle, BaselineOrder::AntennaPairs] {
            let reordered = visibilities.reordered(order).unwrap();
            assert_eq!(reordered.reordered(BaselineOrder::Full).unwrap(), visibilities, "{order:?}");
            assert_eq!(reordered.get(1, 2, 4), Some(Complex::new(9.0, -2.0)));
        }
    }
}
