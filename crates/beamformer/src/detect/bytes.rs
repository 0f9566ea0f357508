//! Beams as 8-bit numbers, for files.

use fringes_cpu::f_engine::FrameValue;
use fringes_types::{Beams, DetectedBeams, Dimension, TypesError, VoltageSample};
use ndarray::{Array1, Array3, ArrayView3, ArrayView4, Axis, Zip};
use num_complex::Complex;

use crate::BeamformerError;
use crate::set::check_length;

/// How sums become bytes: `offset + scale * sum`, with one of each for every channel, beam and product.
#[derive(Debug, Clone, PartialEq)]
pub struct ByteScale {
    scale: Array3<f32>,
    offset: Array3<f32>,
}

impl ByteScale {
    /// Scales and offsets `[channel][beam][product]`.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] if their shapes differ, [`TypesError::NotFinite`] for one that is NaN or infinite.
    pub fn new(scale: Array3<f32>, offset: Array3<f32>) -> Result<Self, BeamformerError> {
        check_shape("offsets of bytes", scale.dim(), offset.dim())?;
        for (quantity, array) in [("scale of bytes", &scale), ("offset of bytes", &offset)] {
            if let Some(((channel, beam, product), value)) = array.indexed_iter().find(|(_, value)| !value.is_finite())
            {
                let (actual, index) = (value.to_string(), vec![channel, beam, product]);
                return Err(TypesError::NotFinite { quantity, actual, index }.into());
            }
        }
        Ok(Self { scale, offset })
    }

    /// Puts the mean of each channel, beam and product at `mean`, and its standard deviation at `deviation`; values
    /// that do not vary all become `mean`. Sums that are not finite count as 0.
    ///
    /// 8-bit filterbanks have a mean of 64 or 96 and a deviation of 8 to 32: a pulse is positive.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without times, [`TypesError::NotFinite`] for a mean or deviation that is not finite.
    pub fn of(beams: &DetectedBeams<f32>, mean: f32, deviation: f32) -> Result<Self, BeamformerError> {
        if beams.times() == 0 {
            return Err(TypesError::Empty { array: "detected beams", dimension: Dimension::Time }.into());
        }
        let shape = (beams.channels(), beams.beams(), beams.products().count());
        let (mut scale, mut offset) = (Array3::zeros(shape), Array3::zeros(shape));
        let finite = |value: &f32| if value.is_finite() { f64::from(*value) } else { 0.0 };
        let data = beams.data();
        for (at, scale) in scale.indexed_iter_mut() {
            let series = data.index_axis(Axis(3), at.2);
            let series = series.index_axis(Axis(2), at.1);
            let series = series.index_axis(Axis(0), at.0);
            let own_mean = series.iter().map(finite).sum::<f64>() / series.len() as f64;
            let variance = series.iter().map(|value| (finite(value) - own_mean).powi(2)).sum::<f64>();
            let own_deviation = (variance / series.len() as f64).sqrt();
            // Deviations that are rounding errors of the mean are none.
            let varies = own_deviation > 1e-6 * own_mean.abs();
            let factor = if varies { f64::from(deviation) / own_deviation } else { 0.0 };
            (*scale, offset[at]) = (factor as f32, (f64::from(mean) - factor * own_mean) as f32);
        }
        Self::new(scale, offset)
    }

    /// Scales `[channel][beam][product]`.
    pub fn scale(&self) -> ArrayView3<'_, f32> {
        self.scale.view()
    }

    /// Offsets `[channel][beam][product]`.
    pub fn offset(&self) -> ArrayView3<'_, f32> {
        self.offset.view()
    }
}

/// Detected beams in bytes, and how many sums did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectedBytes {
    /// The beams; axes are those of the sums.
    pub beams: DetectedBeams<u8>,
    /// Sums of each beam that were clamped or were not numbers, over all channels, times and products.
    pub saturated: Array1<u64>,
}

/// Sums in bytes: `offset + scale * sum`, rounded half to even and clamped to 0..=255. What is not a number becomes 0.
///
/// # Precision
/// Products and sums are made in f64, so that only a value within `2^-52` of its size of a rounding tie may be rounded
/// to the other neighbour.
///
/// # Errors
/// [`TypesError::Dimension`] for scales of other channels, beams or products.
pub fn to_u8(beams: &DetectedBeams<f32>, scale: &ByteScale) -> Result<DetectedBytes, BeamformerError> {
    let data: ArrayView4<'_, f32> = beams.data();
    let (channels, times, count, products) = data.dim();
    check_shape("scales of bytes", (channels, count, products), scale.scale.dim())?;
    let mut bytes = ndarray::Array4::zeros((channels, times, count, products));
    let mut saturated = Array1::<u64>::zeros(count);
    for (channel, mut bytes) in bytes.outer_iter_mut().enumerate() {
        let (scale, offset) = (scale.scale.index_axis(Axis(0), channel), scale.offset.index_axis(Axis(0), channel));
        for (mut bytes, sums) in bytes.outer_iter_mut().zip(data.index_axis(Axis(0), channel).outer_iter()) {
            Zip::indexed(&mut bytes).and(&sums).and(scale).and(offset).for_each(
                |(beam, _), byte, &sum, &scale, &offset| {
                    let value = (f64::from(offset) + f64::from(scale) * f64::from(sum)).round_ties_even();
                    saturated[beam] += u64::from(!(0.0..=255.0).contains(&value));
                    *byte = value as u8; // saturates, and NaN is 0
                },
            );
        }
    }
    let of = beams;
    let mut beams = DetectedBeams::new(bytes, of.products(), of.frequencies(), of.clock())?;
    if let Some(counts) = of.input_counts() {
        beams = beams.with_input_counts(counts.clone())?;
    }
    if let Some(masked) = of.masked_spectra() {
        beams = beams.with_masked_spectra(masked.clone())?;
    }
    Ok(DetectedBytes { beams, saturated })
}

/// Voltage beams in 8-bit integers, and how many values did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantisedBeams {
    /// The beams; axes are those of the input.
    pub beams: Beams<Complex<i8>>,
    /// Saturated complex values of each beam, over all channels and times.
    pub saturated: Array1<u64>,
}

/// Voltage beams times a gain for each beam, rounded half to even and clamped to -127..=127, as files of voltages hold
/// them. What is not a number becomes 0.
///
/// # Precision
/// As [`to_u8`].
///
/// # Errors
/// [`TypesError::Dimension`] for other than one gain a beam, [`TypesError::NotFinite`] for a gain that is not finite.
pub fn quantise_beams<V: VoltageSample>(beams: &Beams<V>, gains: &[f32]) -> Result<QuantisedBeams, BeamformerError> {
    check_length("gains of beams", Dimension::Beam, beams.beams(), gains.len())?;
    if let Some((index, gain)) = gains.iter().enumerate().find(|(_, gain)| !gain.is_finite()) {
        let (quantity, actual, index) = ("gain of a beam", gain.to_string(), vec![index]);
        return Err(TypesError::NotFinite { quantity, actual, index }.into());
    }
    let mut saturated = Array1::<u64>::zeros(beams.beams());
    let mut data = Array3::from_elem(beams.data().raw_dim(), Complex::new(0i8, 0));
    Zip::indexed(&mut data).and(beams.data()).for_each(|(_, _, beam), out, voltage| {
        let voltage = voltage.to_c32();
        let [re, im] = [voltage.re, voltage.im].map(|part| f64::from(gains[beam]) * f64::from(part));
        let (value, lost) = FrameValue::from_product(re, im);
        saturated[beam] += u64::from(lost);
        *out = value;
    });
    let mut quantised = Beams::new(data, beams.frequencies(), beams.clock())?;
    if let Some(counts) = beams.input_counts() {
        quantised = quantised.with_input_counts(counts.clone())?;
    }
    if let Some(mask) = beams.mask() {
        quantised = quantised.with_mask(mask.clone())?;
    }
    Ok(QuantisedBeams { beams: quantised, saturated })
}

pub(super) fn check_shape(
    array: &'static str,
    expected: (usize, usize, usize),
    actual: (usize, usize, usize),
) -> Result<(), TypesError> {
    check_length(array, Dimension::Channel, expected.0, actual.0)?;
    check_length(array, Dimension::Beam, expected.1, actual.1)?;
    check_length(array, Dimension::Product, expected.2, actual.2)
}
