//! Where the beams of a grid look: maps of the transform's outputs, phases of lines, and the constants of telescopes.

use std::f64::consts::TAU;

use fringes_types::TypesError;
use ndarray::Array3;
use num_complex::Complex;

use super::builder::check_positive;
use crate::BeamformerError;

/// Speed of light in m/s, exact.
pub(super) const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// CHIME's response of the 16 sums of 8 finer channels, 0 Hz in the middle: powers are divided by it.
///
/// Source: CHIME's published FRB beamformer.
pub const CHIME_BANDPASS: [f64; 16] = [
    0.52225748, 0.58330915, 0.6868705, 0.80121821, 0.89386546, 0.95477358, 0.98662733, 0.99942558, 0.99988676,
    0.98905127, 0.95874124, 0.90094667, 0.81113021, 0.6999944, 0.59367968, 0.52614263,
];

/// Distances of CASM's six lines in m, from west to east.
///
/// Source: CASM's published beamformer.
pub const CASM_SPACINGS_M: [f64; 5] = [0.38, 0.445, 0.38, 0.445, 0.38];

/// The frequency in Hz at which the phase falls by half a turn from feed to feed, `spacing_m` apart, for a source at
/// `limit_rad` from the zenith: `c / (2 spacing sin(limit))`.
///
/// CHIME, 0.3048 m and 60 degrees: 567.865 MHz.
///
/// # Errors
/// [`TypesError::NotPositive`] if the spacing or the sine of the limit is not positive.
pub fn reference_frequency(limit_rad: f64, spacing_m: f64) -> Result<f64, BeamformerError> {
    check_positive("distance of feeds in m", spacing_m)?;
    check_positive("sine of the limit of the beams", limit_rad.sin())?;
    let reference = SPEED_OF_LIGHT / (2.0 * spacing_m * limit_rad.sin());
    check_positive("reference frequency in Hz", reference)?;
    Ok(reference)
}

/// The transform's output of each of `beams` beams that are evenly spaced in the sine of the zenith angle, the same at
/// every frequency: `floor((padded / beams) (b - beams / 2) frequency / reference + 1/2) mod padded`.
///
/// Beam `b` looks at `sin(angle) = sin(limit) (b - beams / 2) / (beams / 2)`, rounded to a step of the transform, with
/// the limit of [`reference_frequency`].
///
/// # Errors
/// [`TypesError::NotPositive`] for a frequency that is not positive, or their ratio; [`BeamformerError::Zero`] without
/// beams; [`BeamformerError::OutOfRange`] for `padded` below 1 or above 2^24.
///
/// Source: CHIME's published FRB beamformer, of 256 beams padded to 512.
pub fn north_map(
    frequency_hz: f64,
    reference_hz: f64,
    beams: usize,
    padded: usize,
) -> Result<Vec<u32>, BeamformerError> {
    check_positive("frequency in Hz", frequency_hz)?;
    check_positive("reference frequency in Hz", reference_hz)?;
    check_positive("frequency over reference frequency", frequency_hz / reference_hz)?;
    if beams == 0 {
        return Err(BeamformerError::Zero { quantity: "beams of the map" });
    }
    if !(1..=1 << 24).contains(&padded) {
        let (quantity, index) = ("outputs of a line's transform", Vec::new());
        return Err(BeamformerError::OutOfRange { quantity, least: 1, most: 1 << 24, actual: padded, index });
    }
    let step = padded as f64 / beams as f64;
    let output = |b: usize| {
        let q = (step * (b as f64 - beams as f64 / 2.0) * frequency_hz / reference_hz + 0.5).floor();
        // An integer below 2^24; of huge ratios the remainder of the f64 that the product is.
        (q.rem_euclid(padded as f64) as u32).min(padded as u32 - 1)
    };
    Ok((0..beams).map(output).collect())
}

/// The matrix `[frequency][out][line]` of beams at these sines of the angle toward the lines' axis:
/// `exp(2 pi i sine position frequency / c)`.
///
/// # Precision
/// Phases in f64, rounded once.
///
/// # Errors
/// [`TypesError::NotFinite`] for a number that is NaN or infinite, with its index.
pub fn line_phases(
    frequencies_hz: &[f64],
    sines: &[f64],
    positions_m: &[f64],
) -> Result<Array3<Complex<f32>>, BeamformerError> {
    for (quantity, values) in [
        ("frequency in Hz", frequencies_hz),
        ("sine of a beam's angle", sines),
        ("position of a line in m", positions_m),
    ] {
        check_all_finite(quantity, values)?;
    }
    let shape = (frequencies_hz.len(), sines.len(), positions_m.len());
    let phases = Array3::from_shape_fn(shape, |(frequency, out, line)| {
        let turns = sines[out] * positions_m[line] * frequencies_hz[frequency] / SPEED_OF_LIGHT;
        let value = Complex::cis(TAU * turns.fract());
        Complex::new(value.re as f32, value.im as f32)
    });
    Ok(phases)
}

/// Positions of lines these distances apart, with their mean at 0.
pub fn centred_positions(spacings_m: &[f64]) -> Vec<f64> {
    let mut position = 0.0;
    let mut positions = vec![position];
    for spacing in spacings_m {
        position += spacing;
        positions.push(position);
    }
    let mean = positions.iter().sum::<f64>() / positions.len() as f64;
    positions.iter().map(|position| position - mean).collect()
}

/// Sines of `beams` beams that are evenly spaced, the second at -1 and the last but one at 1:
/// `(2 b - (beams - 1)) / (beams - 3)`; one more on each side is what [`FrbInterpolation`](crate::FrbInterpolation)
/// needs.
///
/// # Errors
/// [`BeamformerError::OutOfRange`] for fewer than 4 beams.
///
/// Source: CASM's published beamformer, of 24 beams.
pub fn spread_beams(beams: usize) -> Result<Vec<f64>, BeamformerError> {
    if beams < 4 {
        let (quantity, most) = ("beams that are spread", usize::MAX);
        return Err(BeamformerError::OutOfRange { quantity, least: 4, most, actual: beams, index: Vec::new() });
    }
    let of_all = beams as f64;
    Ok((0..beams).map(|b| (2.0 * b as f64 - (of_all - 1.0)) / (of_all - 3.0)).collect())
}

/// `Ok` if all numbers are finite.
pub(super) fn check_all_finite(quantity: &'static str, values: &[f64]) -> Result<(), TypesError> {
    match values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        Some((index, value)) => Err(TypesError::NotFinite { quantity, actual: value.to_string(), index: vec![index] }),
        None => Ok(()),
    }
}
