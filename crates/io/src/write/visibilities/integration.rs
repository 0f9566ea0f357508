//! One integration as it goes into a file, made of a dump or of a part of a cube.

use std::borrow::Cow;

use fringes_delay_model::{Geometry, SampleClock};
use fringes_types::{Accumulator, Dimension, TypesError, Visibilities};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, CowArray, Ix2};
use num_complex::Complex;
use sofars::consts::DAYSEC;

use super::VisibilityHeader;
use super::checks::check_finite;
use crate::IoError;
use crate::write::VisibilityCube;
use crate::write::cube::{channel_weights, check_integration, triangle_of};

/// One integration of all baselines.
#[derive(Debug, Clone, Copy)]
pub struct VisibilityIntegration<'a> {
    /// Middle of the integration in seconds (UTC) after midnight of [`VisibilityHeader::reference_mjd_day`]; it may
    /// exceed a day.
    pub mid_seconds: f64,
    /// Length of the integration in seconds.
    pub integration_seconds: f64,
    /// Visibilities `[channel][baseline]`, packed lower triangle of inputs, stopped on the phase centre.
    pub visibilities: ArrayView2<'a, Complex<f32>>,
    /// Weights `[baseline]`, e.g. numbers of valid samples; 0 or less means flagged.
    pub weights: ArrayView1<'a, f32>,
    /// Position of each antenna in metres, `[antenna][3]`: u east, v north, w towards the phase centre.
    pub uvw_m: ArrayView2<'a, f64>,
}

/// Weights of an integration: those of all channels alike, or each channel's own.
#[derive(Debug, Clone, Copy)]
pub(in crate::write) struct Weights<'a> {
    /// `[baseline]`.
    alike: ArrayView1<'a, f32>,
    /// `[channel][baseline]`, where channels differ.
    of_channels: Option<ArrayView2<'a, f32>>,
}

impl<'a> Weights<'a> {
    /// Weights `[baseline]` of all channels.
    pub(in crate::write) fn alike(alike: ArrayView1<'a, f32>) -> Self {
        Self { alike, of_channels: None }
    }

    /// The weight of a channel of a baseline; both are there.
    pub(in crate::write) fn of(&self, channel: usize, baseline: usize) -> f32 {
        match self.of_channels {
            Some(weights) => weights[(channel, baseline)],
            None => self.alike[baseline],
        }
    }
}

impl VisibilityIntegration<'_> {
    /// Checks shapes against the header, and that numbers are finite.
    pub(in crate::write) fn check(&self, header: &VisibilityHeader) -> Result<(), IoError> {
        check_integration(header.inputs, header.channels, self.visibilities, self.weights)?;
        for (dimension, expected, actual) in [
            (Dimension::Antenna, header.inputs.antennas(), self.uvw_m.nrows()),
            (Dimension::Time, 3, self.uvw_m.ncols()),
        ] {
            if expected != actual {
                return Err(TypesError::Dimension { array: "uvw", dimension, expected, actual }.into());
            }
        }
        check_finite("middle of the integration in seconds", self.mid_seconds, &[])?;
        check_finite("length of the integration in seconds", self.integration_seconds, &[])?;
        for (baseline, &weight) in self.weights.iter().enumerate() {
            check_finite("weight", f64::from(weight), &[baseline])?;
        }
        for ((antenna, axis), &metres) in self.uvw_m.indexed_iter() {
            check_finite("uvw in metres", metres, &[antenna, axis])?;
        }
        Ok(())
    }
}

/// An integration whose middle is so many seconds after a geometry's epoch.
pub(in crate::write) struct TimedIntegration<'a> {
    /// Middle, in seconds after the epoch.
    pub(in crate::write) seconds: f64,
    integration_seconds: f64,
    /// `[channel][baseline]`.
    visibilities: CowArray<'a, Complex<f32>, Ix2>,
    /// `[baseline]`.
    weights: Cow<'a, [f32]>,
    /// `[channel][baseline]`, where channels were masked.
    of_channels: Option<CowArray<'a, f32, Ix2>>,
}

impl<'a> TimedIntegration<'a> {
    /// A correlator's dump in any baseline order; `epoch_sample` was taken at the geometry's epoch.
    pub(in crate::write) fn of_dump<A: Accumulator>(
        header: &VisibilityHeader,
        dump: &Visibilities<A>,
        epoch_sample: u64,
    ) -> Result<Self, IoError> {
        let clock = dump.clock();
        if !clock.has_sample_rate() {
            return Err(IoError::UnsetSampleRate);
        }
        header.check_axes(dump.inputs(), dump.frequencies())?;
        let integration_seconds = dump.times() as f64 * clock.spectrum_seconds();
        let start = SampleClock { epoch_sample, sample_rate_hz: clock.sample_rate_hz }.seconds(clock.first_sample);
        let (visibilities, weights) = triangle_of(dump)?;
        let seconds = start + integration_seconds / 2.0;
        let of_channels = channel_weights(dump)?.map(CowArray::from);
        let (visibilities, weights) = (visibilities.into(), weights.into());
        Ok(Self { seconds, integration_seconds, visibilities, weights, of_channels })
    }

    /// The integrations of a cube, whose times count from the geometry's epoch.
    pub(in crate::write) fn of_cube(
        header: &VisibilityHeader,
        cube: &'a VisibilityCube,
        integration_seconds: f64,
    ) -> Result<Vec<Self>, IoError> {
        header.check_axes(cube.inputs(), cube.frequencies())?;
        let (data, weights, of_channels) = (cube.data(), cube.weight(), cube.channel_weight());
        let timed = (0..cube.integrations()).map(|integration| Self {
            seconds: cube.time_s()[integration],
            integration_seconds,
            visibilities: data.index_axis_move(Axis(0), integration).into(),
            weights: weights.row(integration).to_vec().into(),
            of_channels: of_channels.map(|weights| weights.index_axis_move(Axis(0), integration).into()),
        });
        Ok(timed.collect())
    }

    /// Calls `write` with the integration, its place in time after a day's midnight, and its antennas' coordinates; and
    /// with its weights, which may be those of channels.
    pub(in crate::write) fn with_geometry<T>(
        &self,
        reference_mjd_day: i64,
        geometry: &Geometry,
        write: impl FnOnce(&VisibilityIntegration<'_>, Weights<'_>) -> Result<T, IoError>,
    ) -> Result<T, IoError> {
        let epoch = geometry.pointing().epoch();
        let days = epoch.mjd_day.saturating_sub(reference_mjd_day) as f64;
        let uvw = geometry.uvw(self.seconds)?;
        let uvw_m = Array2::from_shape_fn((uvw.len(), 3), |(antenna, axis)| uvw[antenna][axis]);
        let alike = ArrayView1::from(&*self.weights);
        let of_channels = self.of_channels.as_ref().map(|weights| weights.view());
        let integration = VisibilityIntegration {
            mid_seconds: days * DAYSEC + epoch.seconds + self.seconds,
            integration_seconds: self.integration_seconds,
            visibilities: self.visibilities.view(),
            weights: alike,
            uvw_m: uvw_m.view(),
        };
        write(&integration, Weights { alike, of_channels })
    }
}
