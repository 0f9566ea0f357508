//! The search: channels added up with the delays of each dispersion, for every beam.

use ndarray::{Array2, Array3, ArrayView2, Axis, s};
use rayon::prelude::*;

use crate::sky::{BLOCKS, TIME_S, UPCHANNELISATION};

/// Seconds of a sum.
pub(crate) const SUM_S: f64 = (UPCHANNELISATION * BLOCKS) as f64 * TIME_S;
/// Seconds that a pulse of DM 1 comes later at 1 Hz: 4.148808 ms at 1 GHz.
const DISPERSION_S: f64 = 4.148_808e15;
/// Trials: from 0 to so many pc/cm^3, and a pulse of so many sums.
const MOST_DM: usize = 80;
const WIDTHS: [usize; 3] = [1, 2, 4];

/// Seconds that a pulse comes later at a frequency than at another.
pub(crate) fn delay_s(dm: f64, hz: f64, than_hz: f64) -> f64 {
    DISPERSION_S * dm * (hz.powi(-2) - than_hz.powi(-2))
}

/// Powers of all beams, ready to be searched.
pub(crate) struct Search {
    /// `[beam][channel][time]`, less the mean of the channel, in units of their scatter.
    powers: Array3<f32>,
    pub(crate) channels_hz: Vec<f64>,
}

/// A peak.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) beam: usize,
    /// Its middle at the highest frequency.
    pub(crate) time_s: f64,
    pub(crate) dm: f64,
    pub(crate) ratio: f64,
}

impl Search {
    /// Of powers `[channel][time][beam]`.
    pub(crate) fn new(powers: Array3<f32>, channels_hz: Vec<f64>) -> Self {
        let mut powers = powers.permuted_axes([2, 0, 1]).as_standard_layout().into_owned();
        for mut row in powers.rows_mut() {
            let mean = row.mean().unwrap_or(0.0).max(f32::MIN_POSITIVE);
            let scatter = row.iter().map(|power| (power / mean - 1.0).powi(2)).sum::<f32>() / row.len() as f32;
            let scale = 1.0 / scatter.sqrt().max(f32::MIN_POSITIVE);
            row.mapv_inplace(|power| (power / mean - 1.0) * scale);
        }
        Self { powers, channels_hz }
    }

    /// Of a beam, `[channel][time]`.
    pub(crate) fn beam(&self, beam: usize) -> ArrayView2<'_, f32> {
        self.powers.index_axis(Axis(0), beam)
    }

    /// The highest peak of all beams.
    pub(crate) fn best(&self) -> Found {
        let peaks = self.peaks();
        peaks.into_iter().fold(Found::NONE, |best, peak| if peak.ratio > best.ratio { peak } else { best })
    }

    /// The highest peak of each beam.
    pub(crate) fn peaks(&self) -> Vec<Found> {
        let beams = self.powers.dim().0;
        (0..beams).into_par_iter().map(|beam| self.peak(beam)).collect()
    }

    fn peak(&self, beam: usize) -> Found {
        let mut best = Found::NONE;
        for dm in 0..=MOST_DM {
            let dm = dm as f64;
            let series = self.series(beam, dm);
            for width in WIDTHS {
                for (time, sums) in series.windows(width).enumerate() {
                    let ratio = sums.iter().sum::<f64>() / (width as f64).sqrt();
                    if ratio > best.ratio {
                        let time_s = (time as f64 + 0.5 * width as f64) * SUM_S;
                        best = Found { beam, time_s, dm, ratio };
                    }
                }
            }
        }
        best
    }

    /// Channels of a beam added up, in units of the scatter of noise.
    pub(crate) fn series(&self, beam: usize, dm: f64) -> Vec<f64> {
        let channels = self.channels_hz.len() as f64;
        let sum = self.dedispersed(beam, dm).sum_axis(Axis(0));
        sum.iter().map(|power| f64::from(*power) / channels.sqrt()).collect()
    }

    /// A beam `[channel][time]` with each channel as much earlier as a pulse comes later there. The last times are
    /// left out, where low channels have none.
    pub(crate) fn dedispersed(&self, beam: usize, dm: f64) -> Array2<f32> {
        let shifts = self.shifts(dm);
        let times = self.powers.dim().2;
        let left = times - shifts.iter().copied().max().unwrap_or(0).min(times);
        let mut moved = Array2::zeros((shifts.len(), left));
        for ((mut to, from), shift) in moved.rows_mut().into_iter().zip(self.beam(beam).rows()).zip(shifts) {
            to.assign(&from.slice(s![shift..shift + left]));
        }
        moved
    }

    /// Sums that a pulse comes later in each channel than at the top of the band.
    pub(crate) fn shifts(&self, dm: f64) -> Vec<usize> {
        let last = self.channels_hz.len() - 1;
        let top = self.channels_hz[last] + 0.5 * (self.channels_hz[last] - self.channels_hz[last - 1]);
        self.channels_hz.iter().map(|&hz| (delay_s(dm, hz, top) / SUM_S).round() as usize).collect()
    }
}

impl Found {
    const NONE: Self = Self { beam: 0, time_s: 0.0, dm: 0.0, ratio: 0.0 };
}
