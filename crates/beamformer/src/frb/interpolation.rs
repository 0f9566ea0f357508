//! Intensities at directions between the beams.

use fringes_types::TypesError;
use ndarray::{Array3, Array5, ArrayView3, ArrayView5, Axis, s};
use rayon::prelude::*;

use super::builder::check_shape;
use super::grid::{SPEED_OF_LIGHT, check_all_finite};
use super::preset::{CASM_OUTS, CASM_PADDED};
use crate::{BeamformerError, FrbPowers};

/// Distance of the feeds of CASM's lines in m.
const CASM_FEED_M: f64 = 0.5;

/// Interpolation of powers between beams: cubic, through the four beams around a position in each direction.
///
/// A position of `(north, east)` is in beams: `P = sum_ij L_i(north) L_j(east) P[out_j][q_i]` over `q` of
/// `floor(north) - 1` to `floor(north) + 2`, periodic in the number of beams toward north, and `out` of
/// `floor(east) - 1` to `floor(east) + 2`. `L` are Lagrange's weights: cubic polynomials are exact. The beams must be
/// all outputs of the transform in their order, which is what [`FrbBeams`](crate::FrbBeams) has without a map.
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_beamformer::{FrbBeams, FrbInterpolation, FrbVoltages, frb_beams};
/// use fringes_types::Complex;
/// use ndarray::{Array4, Array5};
///
/// // CASM's grid hears the same everywhere: a source at the zenith, between beams 11 and 12 toward east.
/// let beams = FrbBeams::casm(&[450e6], Array4::from_elem((1, 2, 6, 43), Complex::new(1f32, 0.0)))?;
/// let voltages = FrbVoltages::new(Array5::from_elem((32, 1, 2, 6, 43), Complex::new(1i8, 0)))?;
/// let powers = frb_beams(&Backend::cpu(), &beams, &voltages, None)?;
/// let directions = [[0.0, 0.0], [0.3, 0.1]]; // sines toward north and east
/// let at = FrbInterpolation::casm(&[450e6], &directions)?.interpolate(&powers)?;
/// assert_eq!(at.data.dim(), (1, 1, 1, 2, 1));
/// let zenith = at.data[(0, 0, 0, 0, 0)] / 258f32.powi(2);
/// assert!((zenith - 0.9718).abs() < 1e-4); // the cubic is 2.8 % below the beam's peak
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Precision
/// Weights in f64, rounded to f32, and sums in f32: off by at most `20 u sum abs(L_i L_j P)`, `u = 2^-24`, which is at
/// most `32 u` of the largest power around.
///
/// Source: CASM's published beamformer; docs/frb.md.
#[derive(Debug, Clone, PartialEq)]
pub struct FrbInterpolation {
    outs: usize,
    north_beams: usize,
    /// `[frequency][position][north, east]`.
    positions: Array3<f64>,
}

/// The beams around a position, and their weights.
struct Around {
    out: usize,
    north: [usize; 4],
    of_east: [f32; 4],
    of_north: [f32; 4],
}

impl FrbInterpolation {
    /// Positions `[frequency][position][2]`, in beams: first toward north, any finite number; then toward east, from 1
    /// to `outs - 2`. `outs` and `north_beams` are those of the beams.
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] unless the last dimension is 2; [`BeamformerError::OutOfRange`] for fewer than 4 outs
    /// or no beams toward north; [`TypesError::NotFinite`] for a position that is NaN or infinite, and
    /// [`BeamformerError::Position`] for one too far east or west, with its frequency and number.
    pub fn new(outs: usize, north_beams: usize, positions: Array3<f64>) -> Result<Self, BeamformerError> {
        let (frequencies, count, _) = positions.dim();
        check_shape("positions [frequency][position][2]", &[frequencies, count, 2], positions.shape())?;
        for (quantity, least, actual) in [("beams toward east", 4, outs), ("beams toward north", 1, north_beams)] {
            if actual < least {
                let (most, index) = (usize::MAX, Vec::new());
                return Err(BeamformerError::OutOfRange { quantity, least, most, actual, index });
            }
        }
        let most = (outs - 2) as f64;
        for ((frequency, position, which), &actual) in positions.indexed_iter() {
            let index = vec![frequency, position];
            if !actual.is_finite() {
                let actual = actual.to_string();
                return Err(TypesError::NotFinite { quantity: "position in beams", actual, index }.into());
            }
            if which == 1 && !(1.0..=most).contains(&actual) {
                return Err(BeamformerError::Position { least: 1.0, most, actual, index });
            }
        }
        Ok(Self { outs, north_beams, positions })
    }

    /// Positions of directions `(sin north, sin east)` among the beams of [`FrbBeams::casm`](crate::FrbBeams::casm):
    /// `sin(north) 128 0.5 m f / c` and `10.5 sin(east) + 11.5`.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a frequency or a direction that is NaN or infinite, [`BeamformerError::Position`]
    /// for a sine toward east beyond -1 to 1.
    pub fn casm(frequencies_hz: &[f64], directions: &[[f64; 2]]) -> Result<Self, BeamformerError> {
        check_all_finite("frequency in Hz", frequencies_hz)?;
        let shape = (frequencies_hz.len(), directions.len(), 2);
        let (step, outs) = (CASM_PADDED as f64 * CASM_FEED_M / SPEED_OF_LIGHT, CASM_OUTS as f64);
        let positions = Array3::from_shape_fn(shape, |(frequency, position, which)| {
            let [north, east] = directions[position];
            if which == 0 { north * step * frequencies_hz[frequency] } else { 0.5 * ((outs - 3.0) * east + outs - 1.0) }
        });
        Self::new(CASM_OUTS, CASM_PADDED, positions)
    }

    /// Positions `[frequency][position][north, east]` in beams.
    pub fn positions(&self) -> ArrayView3<'_, f64> {
        self.positions.view()
    }

    /// Powers at the positions, `[frequency][fine][time][position][product]`, of powers of the beams.
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] for powers of other frequencies or beams.
    pub fn interpolate(&self, powers: &FrbPowers) -> Result<FrbPowers, BeamformerError> {
        Ok(FrbPowers { data: self.interpolate_powers(powers.data.view())?, good_blocks: powers.good_blocks.clone() })
    }

    /// As [`interpolate`](Self::interpolate), of the powers alone.
    ///
    /// # Errors
    /// As [`interpolate`](Self::interpolate).
    pub fn interpolate_powers(&self, powers: ArrayView5<'_, f32>) -> Result<Array5<f32>, BeamformerError> {
        let (frequencies, count, _) = self.positions.dim();
        let (_, fine, times, beams, products) = powers.dim();
        let expected = [frequencies, fine, times, self.outs.saturating_mul(self.north_beams), products];
        check_shape("powers [frequency][fine][time][beam][product]", &expected, powers.shape())?;
        let shape = [frequencies, fine, times, count, products];
        let elements = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length.max(1)));
        if elements.is_none_or(|elements| elements > isize::MAX as usize / size_of::<f32>()) {
            return Err(TypesError::TooLarge { array: "powers at positions", elements: format!("{shape:?}") }.into());
        }
        debug_assert_eq!(beams, self.outs * self.north_beams);
        let mut data = Array5::zeros(shape);
        data.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(frequency, mut of_frequency)| {
            for position in 0..count {
                let around =
                    self.around(self.positions[(frequency, position, 0)], self.positions[(frequency, position, 1)]);
                for fine in 0..fine {
                    for time in 0..times {
                        for product in 0..products {
                            let beams = powers.slice(s![frequency, fine, time, .., product]);
                            of_frequency[(fine, time, position, product)] =
                                around.sum(|out, q| beams[out * self.north_beams + q]);
                        }
                    }
                }
            }
        });
        Ok(data)
    }

    /// Beams toward east and north.
    pub(super) fn grid(&self) -> (usize, usize) {
        (self.outs, self.north_beams)
    }

    /// Positions as the kernel takes them: the first of four outs, the beam along a line before the position, and how
    /// far the position is from the second of four beams, along a line and over outs, as f32.
    pub(super) fn places(&self) -> Vec<[u32; 4]> {
        let of = |position: ndarray::ArrayView1<'_, f64>| {
            let (north, east) = (position[0], position[1]);
            let around = self.around(north, east);
            let part = |value: f64| (value as f32).to_bits();
            let [first, ..] = around.north;
            [around.out as u32, first as u32, part(north - north.floor()), part(east - (around.out + 1) as f64)]
        };
        self.positions.rows().into_iter().map(of).collect()
    }

    fn around(&self, north: f64, east: f64) -> Around {
        // The last place that has four beams around it has those of the place before.
        let first_out = (east.floor() as usize).clamp(1, self.outs - 3);
        let period = self.north_beams as f64;
        let below = north.floor().rem_euclid(period);
        let place = |i: usize| ((below + i as f64 - 1.0).rem_euclid(period) as usize).min(self.north_beams - 1);
        Around {
            out: first_out - 1,
            north: std::array::from_fn(place),
            of_east: lagrange_weights(east - first_out as f64),
            of_north: lagrange_weights(north - north.floor()),
        }
    }
}

impl Around {
    fn sum(&self, power: impl Fn(usize, usize) -> f32) -> f32 {
        let of_out = |out: usize| -> f32 {
            self.north.iter().zip(self.of_north).map(|(&q, weight)| weight * power(out, q)).sum()
        };
        self.of_east.iter().enumerate().map(|(j, weight)| weight * of_out(self.out + j)).sum()
    }
}

/// Weights of the values at -1, 0, 1 and 2 in a cubic polynomial's value at `x`: Lagrange's.
fn lagrange_weights(x: f64) -> [f32; 4] {
    [
        -x * (x - 1.0) * (x - 2.0) / 6.0,
        (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
        -(x + 1.0) * x * (x - 2.0) / 2.0,
        (x + 1.0) * x * (x - 1.0) / 6.0,
    ]
    .map(|weight| weight as f32)
}
