//! Where the beams of a grid look: maps of the transform's outputs, phases of lines, and the constants of telescopes.

use std::f64::consts::TAU;

use ndarray::Array3;
use num_complex::Complex64 as C64;

/// Speed of light in m/s, exact.
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

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

/// The frequency in Hz at which beams between the horizon's side of `zenith_limit_rad` fill the transform of feeds
/// `spacing_m` apart: `c / (2 spacing sin(limit))`.
///
/// There, the phase falls by half a turn from feed to feed for a source at the limit.
pub fn reference_frequency(zenith_limit_rad: f64, spacing_m: f64) -> f64 {
    SPEED_OF_LIGHT / (2.0 * spacing_m * zenith_limit_rad.sin())
}

/// The transform's output of each of `beams` beams that are evenly spaced in the sine of the zenith angle, the same at
/// every frequency: `floor((padded / beams) (b - beams / 2) frequency / reference + 1/2) mod padded`.
///
/// Beam `b` looks at `sin(angle) = sin(limit) (b - beams / 2) / (beams / 2)`, rounded to a step of the transform, with
/// the limit of [`reference_frequency`].
///
/// Source: CHIME's published FRB beamformer, of 256 beams padded to 512.
pub fn north_map(frequency_hz: f64, reference_hz: f64, beams: usize, padded: usize) -> Vec<usize> {
    let step = padded as f64 / beams as f64;
    (0..beams)
        .map(|b| {
            let q = (step * (b as f64 - beams as f64 / 2.0) * frequency_hz / reference_hz + 0.5).floor();
            q.rem_euclid(padded as f64) as usize
        })
        .collect()
}

/// The matrix `[frequency][out][line]` of beams at these sines of the angle toward the lines' axis:
/// `exp(2 pi i sine position frequency / c)`.
pub fn line_phases(frequencies_hz: &[f64], sines: &[f64], positions_m: &[f64]) -> Array3<C64> {
    Array3::from_shape_fn((frequencies_hz.len(), sines.len(), positions_m.len()), |(frequency, out, line)| {
        C64::cis(TAU * sines[out] * positions_m[line] * frequencies_hz[frequency] / SPEED_OF_LIGHT)
    })
}

/// Positions of lines these distances apart, with their mean at 0.
pub fn centred_positions(spacings_m: &[f64]) -> Vec<f64> {
    let mut positions = vec![0.0];
    let mut position = 0.0;
    for spacing in spacings_m {
        position += spacing;
        positions.push(position);
    }
    let mean = positions.iter().sum::<f64>() / positions.len() as f64;
    positions.iter().map(|position| position - mean).collect()
}

/// Sines of `beams` beams that are evenly spaced, the second at -1 and the last but one at 1:
/// `(2 b - (beams - 1)) / (beams - 3)`; one more on each side is what the interpolation needs.
///
/// Source: CASM's published beamformer, of 24 beams.
///
/// # Panics
/// If there are fewer than 4 beams.
pub fn spread_beams(beams: usize) -> Vec<f64> {
    assert!(beams > 3, "at least 4 beams, found {beams}");
    (0..beams).map(|b| (2.0 * b as f64 - (beams as f64 - 1.0)) / (beams as f64 - 3.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::approx_constant)]
    fn the_reference_frequency_is_the_published_one() {
        let reference = reference_frequency(60f64.to_radians(), 0.3048);
        // As it was published, with a pi of nine digits; with this one it is 0.4 Hz less.
        let published = reference_frequency(3.14159265 / 3.0, 0.3048);
        assert!((published - 567.8650146e6).abs() < 0.05, "{published}");
        assert!((published - reference - 0.39).abs() < 0.01, "{reference}");
        let written = SPEED_OF_LIGHT * 128.0 / (60f64.to_radians().sin() * 0.3048 * 256.0);
        assert!((reference - written).abs() < 4.0 * f64::EPSILON * written);
    }

    #[test]
    fn at_the_reference_frequency_the_map_steps_by_two() {
        let map = north_map(5e8, 5e8, 256, 512);
        for (b, &q) in map.iter().enumerate() {
            assert_eq!(q, (2 * b + 256) % 512);
        }
        // At half of it by one, and nothing repeats; at zenith the beam is always 0.
        let half = north_map(2.5e8, 5e8, 256, 512);
        assert!(half.windows(2).all(|pair| (pair[0] + 1) % 512 == pair[1]));
        for frequency in [4e8, 4.37e8, 8e8] {
            assert_eq!(north_map(frequency, 5e8, 256, 512)[128], 0);
        }
    }

    #[test]
    fn positions_have_their_middle_at_zero_and_beams_overlap_the_horizon() {
        let positions = centred_positions(&CASM_SPACINGS_M);
        assert_eq!(positions.len(), 6);
        assert!(positions.iter().sum::<f64>().abs() < 16.0 * f64::EPSILON);
        assert!((positions[5] - positions[0] - 2.03).abs() < 16.0 * f64::EPSILON);
        let sines = spread_beams(24);
        assert_eq!((sines[1], sines[22], sines[0] + sines[23]), (-1.0, 1.0, 0.0));
        assert_eq!(sines[7], (2.0 * 7.0 - 23.0) / 21.0);
    }
}
