//! The chains of telescopes, with their numbers.

use ndarray::{Array2, Array3, Array4};
use num_complex::Complex;

use super::builder::check_shape;
use super::grid::{
    CASM_SPACINGS_M, CHIME_BANDPASS, centred_positions, check_all_finite, line_phases, north_map, reference_frequency,
    spread_beams,
};
use crate::{BeamformerError, FrbBeams};

type C32 = Complex<f32>;

/// Gains of a preset.
const GAINS: &str = "gains [frequency][pol][line][feed]";

/// Distance of CHIME's feeds along a cylinder, in m.
const CHIME_FEED_M: f64 = 0.3048;

/// Distance of CHIME's cylinders in m.
const CHIME_CYLINDER_M: f64 = 22.0;

/// Zenith angle of CHIME's outermost beams, in degrees.
const CHIME_LIMIT_DEG: f64 = 60.0;

/// CASM: outputs of the transform of a line, beams toward east-west, times of a sum.
pub(super) const CASM_PADDED: usize = 128;
pub(super) const CASM_OUTS: usize = 24;
const CASM_TIMES: usize = 32;

/// The grid of [`FrbBeams::chord`]. The default is 24 lines of 24 dishes, 6.3 m apart toward east-west and 8.5 m toward
/// north-south, and 48 beams up to 0.05 rad to each side of where the dishes point: the last two a choice of this
/// crate, not a published one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChordGrid {
    /// Lines of dishes.
    pub lines: usize,
    /// Dishes of a line.
    pub feeds: usize,
    /// Distance of lines in m.
    pub ew_spacing_m: f64,
    /// Distance of the dishes of a line in m.
    pub ns_spacing_m: f64,
    /// Length that a line is zero-padded to.
    pub padded: usize,
    /// Beams toward north-south.
    pub north_beams: usize,
    /// Angle of the outermost of these, on one side, in radians.
    pub north_limit_rad: f64,
}

impl Default for ChordGrid {
    fn default() -> Self {
        Self {
            lines: 24,
            feeds: 24,
            ew_spacing_m: 6.3,
            ns_spacing_m: 8.5,
            padded: 64,
            north_beams: 48,
            north_limit_rad: 0.05,
        }
    }
}

impl FrbBeams {
    /// CHIME's chain: four cylinders of 256 feeds with two polarisations, one beam toward east-west for each of the
    /// angles (CHIME has four), each 256 beams toward north-south between zenith angles of 60 degrees.
    ///
    /// Voltages are conjugated; the matrix is `exp(2 pi i sin(angle) cylinder 22 m f / c) / 4`; beam `b` is output
    /// `map[255 - b]` of the padded transform of 512, with [`north_map`]; blocks of 128 times give 128 finer channels,
    /// summed by 8 over 3 blocks and both polarisations, divided by 48 and [`CHIME_BANDPASS`], with 0 Hz in the middle.
    ///
    /// Another limit, map or matrix: [`FrbBeams::into_builder`].
    ///
    /// ```
    /// use fringes_beamformer::FrbBeams;
    /// use fringes_types::Complex;
    /// use ndarray::Array4;
    ///
    /// let frequencies_hz = [600e6, 625e6];
    /// let gains = Array4::from_elem((2, 2, 4, 256), Complex::new(1f32, 0.0));
    /// let beams = FrbBeams::chime(&frequencies_hz, gains, &[-0.4f64.to_radians(), 0.0, 0.007, 0.014])?;
    /// assert_eq!((beams.beams(), beams.fine_channels(), beams.sum_times()), (1024, 16, 384));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] for gains that are not `[frequency][2][4][256]`;
    /// [`TypesError::NotPositive`](fringes_types::TypesError::NotPositive) for a frequency that is not positive; as
    /// [`line_phases`] and [`FrbBeamsBuilder::build`](crate::FrbBeamsBuilder::build).
    ///
    /// Source: CHIME's published FRB beamformer; docs/frb.md.
    pub fn chime(
        frequencies_hz: &[f64],
        gains: Array4<Complex<f32>>,
        ew_angles_rad: &[f64],
    ) -> Result<Self, BeamformerError> {
        check_shape(GAINS, &[frequencies_hz.len(), 2, 4, 256], gains.shape())?;
        let positions: Vec<f64> = (0..4).map(|cylinder| f64::from(cylinder) * CHIME_CYLINDER_M).collect();
        let matrix = line_phases(frequencies_hz, &sines(ew_angles_rad)?, &positions)? * C32::new(0.25, 0.0);
        let reference = reference_frequency(CHIME_LIMIT_DEG.to_radians(), CHIME_FEED_M)?;
        let mut map = maps(frequencies_hz, reference, 256, 512)?;
        map.invert_axis(ndarray::Axis(1));
        Self::builder(gains, matrix, 512)
            .map(map)
            .conjugate(true)
            .upchannelisation(128)
            .group(8)
            .blocks(3)
            .normalisation(1.0 / 48.0)
            .bandpass(CHIME_BANDPASS)
            .centre(true)
            .build()
    }

    /// A chain for CHORD's grid of dishes: a beam toward east-west for each of the angles, and for each of these
    /// `north_beams` toward north-south, evenly spaced in the sine of the angle, from the padded transform of a line.
    ///
    /// The matrix is `exp(2 pi i sin(angle) position f / c) / lines`, positions with their middle at 0. Angles are
    /// from where the gains point the array. Powers are of every time, of both polarisations; finer channels and sums
    /// are set with [`FrbBeams::into_builder`], as CHORD's own are not published.
    ///
    /// ```
    /// use fringes_beamformer::{ChordGrid, FrbBeams};
    /// use fringes_types::Complex;
    /// use ndarray::Array4;
    ///
    /// let gains = Array4::from_elem((1, 2, 24, 24), Complex::new(1f32, 0.0));
    /// let beams = FrbBeams::chord(&[900e6], gains, &[-0.01, 0.0, 0.01], ChordGrid::default())?;
    /// let beams = beams.into_builder().upchannelisation(16).blocks(12).centre(true).build()?;
    /// assert_eq!((beams.beams(), beams.fine_channels(), beams.sum_times()), (3 * 48, 16, 192));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] for gains that are not of the grid's lines and feeds;
    /// [`TypesError::NotPositive`](fringes_types::TypesError::NotPositive) for a frequency, a distance or a limit that
    /// is not positive; as [`line_phases`], [`north_map`] and
    /// [`FrbBeamsBuilder::build`](crate::FrbBeamsBuilder::build).
    pub fn chord(
        frequencies_hz: &[f64],
        gains: Array4<Complex<f32>>,
        ew_angles_rad: &[f64],
        grid: ChordGrid,
    ) -> Result<Self, BeamformerError> {
        let pols = gains.dim().1;
        check_shape(GAINS, &[frequencies_hz.len(), pols, grid.lines, grid.feeds], gains.shape())?;
        super::builder::check_positive("distance of lines in m", grid.ew_spacing_m)?;
        let reference = reference_frequency(grid.north_limit_rad, grid.ns_spacing_m)?;
        let map = maps(frequencies_hz, reference, grid.north_beams, grid.padded)?;
        let matrix = if grid.lines == 0 {
            Array3::zeros((frequencies_hz.len(), ew_angles_rad.len(), 0))
        } else {
            let positions = centred_positions(&vec![grid.ew_spacing_m; grid.lines - 1]);
            let phases = line_phases(frequencies_hz, &sines(ew_angles_rad)?, &positions)?;
            phases * C32::new(1.0 / grid.lines as f32, 0.0)
        };
        Self::builder(gains, matrix, grid.padded).map(map).build()
    }

    /// CASM's chain: six lines of 43 feeds with two polarisations, 24 beams toward east-west
    /// ([`spread_beams`]) of 128 each toward north-south, mean powers of 32 times and both polarisations.
    ///
    /// Voltages are not conjugated, and the matrix is `exp(2 pi i sine position f / c)` with positions of
    /// [`CASM_SPACINGS_M`] with their middle at 0. A place of the grid without a feed has gain 0. Intensities at
    /// directions between the beams: [`FrbInterpolation::casm`](crate::FrbInterpolation::casm).
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] for gains that are not `[frequency][2][6][43]`; as [`line_phases`] and
    /// [`FrbBeamsBuilder::build`](crate::FrbBeamsBuilder::build).
    ///
    /// Source: CASM's published beamformer; docs/frb.md.
    pub fn casm(frequencies_hz: &[f64], gains: Array4<Complex<f32>>) -> Result<Self, BeamformerError> {
        check_shape(GAINS, &[frequencies_hz.len(), 2, 6, 43], gains.shape())?;
        let positions = centred_positions(&CASM_SPACINGS_M);
        let matrix = line_phases(frequencies_hz, &spread_beams(CASM_OUTS)?, &positions)?;
        let normalisation = 1.0 / (2.0 * CASM_TIMES as f64);
        Self::builder(gains, matrix, CASM_PADDED).blocks(CASM_TIMES).normalisation(normalisation).build()
    }
}

/// Sines of finite angles.
fn sines(angles_rad: &[f64]) -> Result<Vec<f64>, BeamformerError> {
    check_all_finite("angle of a beam in radians", angles_rad)?;
    Ok(angles_rad.iter().map(|angle| angle.sin()).collect())
}

/// The map of every frequency, `[frequency][b]`.
fn maps(
    frequencies_hz: &[f64],
    reference_hz: f64,
    beams: usize,
    padded: usize,
) -> Result<Array2<u32>, BeamformerError> {
    let mut map = Array2::zeros((frequencies_hz.len(), beams));
    for (mut row, &frequency) in map.rows_mut().into_iter().zip(frequencies_hz) {
        row.iter_mut().zip(north_map(frequency, reference_hz, beams, padded)?).for_each(|(place, q)| *place = q);
    }
    Ok(map)
}
