//! What comes out: sums of powers and counts of good blocks.

use fringes_types::{DetectedBeams, DetectedProducts, Detection, Frequencies, SpectrumClock, TypesError};
use ndarray::{Array2, Array4, Array5, s};

use super::builder::{check_positive, check_shape};
use super::grid::check_all_finite;
use crate::{BeamformerError, FrbBeams};
use fringes_fft::Sign;

/// How far a frequency may be from where even spacing has it, in widths of a channel.
const SPACING_TOLERANCE: f64 = 1e-6;

/// Sums of powers of beams in finer channels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FrbPowers {
    /// The sums, `[frequency][fine][time][beam][product]`.
    pub data: Array5<f32>,
    /// Good blocks of each sum, `[frequency][time]`: of all blocks, `blocks` of [`FrbBeams`].
    pub good_blocks: Array2<u32>,
}

impl FrbPowers {
    /// The sums as detected beams, channel `= frequency * fine_channels + v` with `v` in the order of the sky: finer
    /// channels are put in the order in which their frequencies go on from channel to channel.
    ///
    /// `width_hz` is the width of a channel of the voltages, negative where a higher baseband frequency of a channel is
    /// a lower one of the sky, as in an even Nyquist zone. With finer channels, frequencies must be as far apart as
    /// channels are wide, so that all are evenly spaced; without them, evenly spaced. `clock` is of the voltages.
    ///
    /// Finer channel `f` of `U` hears `f / U` of the width above the middle of the channel (`f - U` from the middle
    /// on), if the exponent over times is negative or voltages are conjugated, but not both; else below.
    ///
    /// `beams` says how the sums were made; positions between beams
    /// ([`FrbInterpolation`](crate::FrbInterpolation)) are as good as beams. Products are Stokes I of two
    /// polarisations, else powers: those of polarisations apart are beams `beam * pols + pol`. Take
    /// [`FrbPowers::good_blocks`] first, if it is wanted.
    ///
    /// # Errors
    /// [`BeamformerError::Shape`] if the sums have other frequencies, fine channels or products;
    /// [`BeamformerError::Spacing`] for frequencies that are not spaced as said; [`TypesError::NotFinite`] and
    /// [`TypesError::NotPositive`] for frequencies, a width or a clock that cannot be; [`TypesError::TooLarge`] if a
    /// sum covers more than 2^64 samples.
    pub fn into_detected(
        self,
        beams: &FrbBeams,
        frequencies_hz: &[f64],
        width_hz: f64,
        clock: SpectrumClock,
    ) -> Result<DetectedBeams<f32>, BeamformerError> {
        let (_, _, times, count, _) = self.data.dim();
        let (fine, products) = (beams.fine_channels(), beams.product_count());
        let expected = [beams.frequencies(), fine, times, count, products];
        check_shape("powers [frequency][fine][time][beam][product]", &expected, self.data.shape())?;
        check_shape("frequencies", &[beams.frequencies()], &[frequencies_hz.len()])?;
        check_all_finite("frequency in Hz", frequencies_hz)?;
        check_positive("width of a channel in Hz, without its sign", width_hz.abs())?;
        let step_hz = match frequencies_hz {
            [first, second, ..] if fine == 1 => second - first,
            _ => width_hz,
        };
        for (index, &actual_hz) in frequencies_hz.iter().enumerate() {
            let expected_hz = frequencies_hz[0] + index as f64 * step_hz;
            if (actual_hz - expected_hz).abs() > SPACING_TOLERANCE * width_hz.abs() {
                return Err(BeamformerError::Spacing { index, expected_hz, actual_hz });
            }
        }
        let clock = Detection::new(DetectedProducts::Power, beams.sum_times(), 1)?.clock(clock)?;
        let axis = Frequencies {
            first_hz: frequencies_hz[0] + first_offset(beams) * width_hz,
            step_hz: step_hz / fine as f64,
        };
        let (products, all_beams) = match (beams.pols(), products) {
            (2, 1) => (DetectedProducts::StokesI, count),
            _ => (DetectedProducts::Power, count * products),
        };
        let data = in_sky_order(self.data, beams);
        let shape = (beams.frequencies() * fine, times, all_beams, 1);
        let too_large = |_| TypesError::TooLarge { array: "detected beams", elements: format!("{shape:?}") };
        let data: Array4<f32> = data.into_shape_with_order(shape).map_err(too_large)?;
        Ok(DetectedBeams::new(data, products, axis, clock)?)
    }
}

/// Whether finer channels go up with their number, in the channel's own baseband.
fn goes_up(beams: &FrbBeams) -> bool {
    (beams.time_sign() == Sign::Negative) != beams.conjugate()
}

/// Where the first finer channel of a channel lies, in widths of the channel from its middle.
fn first_offset(beams: &FrbBeams) -> f64 {
    let (length, group) = (beams.upchannelisation() as f64, beams.group() as f64);
    let half = (beams.upchannelisation() / 2) as f64;
    // The middle of the sum of the `group` lowest, or what mirrors the middle of that of the highest.
    let lowest = 0.5 * (group - 1.0) - half;
    let highest = length - group + lowest;
    if goes_up(beams) { lowest / length } else { -highest / length }
}

/// Puts finer channels in the order of the sky, in standard layout.
fn in_sky_order(data: Array5<f32>, beams: &FrbBeams) -> Array5<f32> {
    let fine = beams.fine_channels();
    let middle = if beams.centre() { 0 } else { fine / 2 };
    if middle == 0 && (goes_up(beams) || fine == 1) && data.is_standard_layout() {
        return data;
    }
    let mut ordered = Array5::zeros(data.dim());
    for v in 0..fine {
        let held = if goes_up(beams) { v } else { fine - 1 - v } ^ middle;
        ordered.slice_mut(s![.., v, .., .., ..]).assign(&data.slice(s![.., held, .., .., ..]));
    }
    ordered
}
