//! Delay polynomials over time: one segment per antenna and interval.

use std::ops::Range;

use crate::error::{check_finite, check_positive};
use crate::{DelayModel, DelayModelError, DelaySegment, Geometry};

/// Highest degree that is fitted.
const MAX_DEGREE: usize = 8;
/// Most intervals of one track.
const MAX_INTERVALS: u64 = 1 << 20;

/// Which sample is taken at a geometry's epoch, and how fast samples follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleClock {
    /// Sample counter at the epoch.
    pub epoch_sample: u64,
    /// Sample rate in Hz.
    pub sample_rate_hz: f64,
}

impl SampleClock {
    /// Seconds from the epoch to a sample: the difference of the counters, then one division.
    pub fn seconds(&self, sample: u64) -> f64 {
        let distance = sample.abs_diff(self.epoch_sample) as f64 / self.sample_rate_hz;
        if sample >= self.epoch_sample { distance } else { -distance }
    }
}

/// Delay polynomials of all antennas over a range of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayTrack {
    /// `[antenna][interval]`.
    segments: Vec<Vec<DelaySegment>>,
    sample_rate_hz: f64,
    offset_seconds: f64,
    error_bound_seconds: f64,
}

impl Geometry {
    /// Fits delay polynomials to [`Geometry::output_delays`] over consecutive intervals of `interval_samples`, starting
    /// at `samples.start` and covering `samples`. Each polynomial interpolates the delay at the Chebyshev nodes of
    /// its interval.
    ///
    /// # Precision
    /// With `h` the interval in seconds, `n` the degree, `w` the Earth's rotation rate and `A` the largest `|r| / c` in
    /// the plane of the equator, the polynomials are within
    ///
    /// ```text
    /// 1.01 A w^(n+1) 2 (h/4)^(n+1) / (n+1)!  +  2^-53 (2048 A + 64 D + 12 w A T)     seconds
    /// ```
    ///
    /// of the delays ([`DelayTrack::error_bound_seconds`]): the interpolation error, with 1% for aberration and for
    /// the output time, and rounding, with `D` the largest delay and `T` the largest time since the epoch plus a day.
    /// (The first rounding term is that of the Earth's rotation angle: 100 turns beyond the whole days since 2000,
    /// three times for the interpolation.)
    ///
    /// | `A c` | interval | degree | bound |
    /// |---|---|---|---|
    /// | 1 km | 1 s | 1 | 1.1e-15 s |
    /// | 1 km | 10 s | 2 | 7.6e-18 s |
    /// | 1 km | 10 s | 3 | 8.1e-19 s |
    /// | 6000 km | 10 s | 3 | 4.9e-15 s |
    ///
    /// # Errors
    /// [`DelayModelError::OutOfRange`] for a degree above 8, an empty range or interval, or more than 2^20 intervals;
    /// [`DelayModelError::NotPositive`] for the sample rate; as [`Geometry::output_delays`].
    pub fn track(
        &self,
        clock: SampleClock,
        samples: Range<u64>,
        interval_samples: u64,
        degree: usize,
    ) -> Result<DelayTrack, DelayModelError> {
        check_positive("sample_rate_hz", clock.sample_rate_hz)?;
        let length = samples.end.saturating_sub(samples.start);
        if length == 0 {
            return Err(out_of_range("samples of a track", "at least 1", 0.0));
        }
        if interval_samples == 0 {
            return Err(out_of_range("samples of an interval", "at least 1", 0.0));
        }
        if degree > MAX_DEGREE {
            return Err(out_of_range("degree of the delay polynomials", "0 to 8", degree as f64));
        }
        let intervals = length.div_ceil(interval_samples);
        if intervals > MAX_INTERVALS {
            return Err(out_of_range("intervals of a track", "at most 2^20", intervals as f64));
        }
        let nodes = chebyshev_nodes(degree);
        let interval_seconds = interval_samples as f64 / clock.sample_rate_hz;
        check_finite("interval in seconds", interval_seconds, 0)?;
        let mut segments = vec![Vec::with_capacity(intervals as usize); self.antennas()];
        let mut longest = 0.0_f64;
        for interval in 0..intervals {
            let start_sample = samples.start + interval * interval_samples;
            let start = clock.seconds(start_sample);
            let delays = nodes
                .iter()
                .map(|u| self.output_delays(start + u * interval_seconds))
                .collect::<Result<Vec<_>, _>>()?;
            for (antenna, segments) in segments.iter_mut().enumerate() {
                let values: Vec<f64> = delays.iter().map(|delays| delays[antenna]).collect();
                longest = values.iter().copied().fold(longest, f64::max);
                let mut scale = clock.sample_rate_hz;
                let mut delay_samples = interpolate(&nodes, values);
                for coefficient in &mut delay_samples {
                    *coefficient *= scale;
                    scale /= interval_samples as f64;
                }
                segments.push(DelaySegment::new(start_sample, delay_samples));
            }
        }
        let farthest = clock.seconds(samples.start).abs().max(clock.seconds(samples.end).abs()) + interval_seconds;
        Ok(DelayTrack {
            segments,
            sample_rate_hz: clock.sample_rate_hz,
            offset_seconds: self.offset_seconds(),
            error_bound_seconds: self.error_bound(interval_seconds, degree, longest, farthest),
        })
    }

    fn error_bound(&self, interval_seconds: f64, degree: usize, longest: f64, farthest: f64) -> f64 {
        let rotation = self.pointing().rotation_rate();
        let amplitude = self.equatorial_light_time();
        let interpolation =
            (0..=degree).fold(2.02 * amplitude, |term, i| term * rotation * interval_seconds / 4.0 / (i + 1) as f64);
        let rounding = 2048.0 * amplitude + 64.0 * longest + 12.0 * rotation * amplitude * (farthest + 86_400.0);
        interpolation + rounding * f64::EPSILON / 2.0
    }
}

impl DelayTrack {
    /// Adds to every segment the phase that stops the fringe at a sky frequency, the one at the middle of the band; see
    /// [`DelaySegment::with_fringe_stopping`].
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`] for the frequency.
    pub fn with_fringe_stopping(mut self, sky_frequency_hz: f64) -> Result<Self, DelayModelError> {
        for segment in self.segments.iter_mut().flatten() {
            *segment = std::mem::take(segment).with_fringe_stopping(sky_frequency_hz, self.sample_rate_hz)?;
        }
        Ok(self)
    }

    /// Number of antennas.
    pub fn antennas(&self) -> usize {
        self.segments.len()
    }

    /// The segments of an antenna in order of time, or `None` if there is no such antenna.
    pub fn segments(&self, antenna: usize) -> Option<&[DelaySegment]> {
        self.segments.get(antenna).map(Vec::as_slice)
    }

    /// What was added to every antenna's delay.
    pub fn offset_seconds(&self) -> f64 {
        self.offset_seconds
    }

    /// How far a polynomial may be from the delay inside its interval; see [`Geometry::track`].
    pub fn error_bound_seconds(&self) -> f64 {
        self.error_bound_seconds
    }

    /// Delay models of the inputs, `input = antenna * pols + pol`: the polarisations of an antenna share its geometry.
    ///
    /// # Errors
    /// As [`DelayModel::push`].
    pub fn models(&self, pols: usize) -> Result<Vec<DelayModel>, DelayModelError> {
        let mut models = Vec::with_capacity(self.antennas() * pols);
        for segments in &self.segments {
            let model = DelayModel::from_segments(segments.iter().cloned())?;
            models.extend(std::iter::repeat_n(model, pols));
        }
        Ok(models)
    }
}

fn out_of_range(quantity: &'static str, expected: &'static str, actual: f64) -> DelayModelError {
    DelayModelError::OutOfRange { quantity, expected, actual }
}

/// The `degree + 1` Chebyshev nodes of the interval from 0 to 1.
fn chebyshev_nodes(degree: usize) -> Vec<f64> {
    let count = (degree + 1) as f64;
    (0..=degree).map(|i| 0.5 - 0.5 * (std::f64::consts::PI * (i as f64 + 0.5) / count).cos()).collect()
}

/// Monomial coefficients of the polynomial through `(nodes[i], values[i])`: Newton's divided differences, then
/// expanded.
fn interpolate(nodes: &[f64], mut values: Vec<f64>) -> Vec<f64> {
    let count = nodes.len();
    for order in 1..count {
        for i in (order..count).rev() {
            values[i] = (values[i] - values[i - 1]) / (nodes[i] - nodes[i - order]);
        }
    }
    let mut coefficients = vec![0.0; count];
    for i in (0..count).rev() {
        // coefficients = coefficients * (u - nodes[i]) + values[i]
        for j in (1..count).rev() {
            coefficients[j] = coefficients[j - 1] - nodes[i] * coefficients[j];
        }
        coefficients[0] = values[i] - nodes[i] * coefficients[0];
    }
    coefficients
}
