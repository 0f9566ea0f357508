//! What is received: sources of noise and sine waves.

use fringes_delay_model::Source;

use super::{MAX_DELAY_SAMPLES, MAX_RATE, Simulation, length};
use crate::SimulatorError;
use crate::error::check;

/// When a wave arrives at the antennas. Clocks come on top.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Arrival {
    /// At the same time everywhere.
    #[default]
    Together,
    /// Given delays: antenna `a` hears at sample `n` what was emitted at
    /// `n - samples[a] - rate[a] (n - epoch_sample)`.
    Given {
        /// Samples by which each antenna hears it later, at most [`MAX_DELAY_SAMPLES`].
        samples: Vec<f64>,
        /// Samples a sample by which that grows, at most [`MAX_RATE`]; one an antenna, or none.
        #[cfg_attr(feature = "serde", serde(default))]
        rate: Vec<f64>,
    },
    /// From a direction, by the positions of [`Simulation::array`]: `x_a(t) = e(t + r_a . s(t) / c)`, with `e` the wave
    /// at the site. [`Source::RaDec`] and [`Source::HourAngle`] move with the sky, [`Source::AzEl`] stands still. With
    /// `serde` it is text, such as `05:34:31.9,+22:00:52` or `azel 90,45`.
    Sky(#[cfg_attr(feature = "serde", serde(with = "super::text::source"))] Source),
}

impl Arrival {
    fn check(&self, name: &str, simulation: &Simulation) -> Result<(), SimulatorError> {
        match self {
            Self::Together => Ok(()),
            Self::Given { samples, rate } => {
                length(&format!("{name}.arrival.samples"), samples.len(), simulation.antennas, false)?;
                length(&format!("{name}.arrival.rate"), rate.len(), simulation.antennas, true)?;
                for &delay in samples {
                    let good = delay.abs() <= MAX_DELAY_SAMPLES;
                    check(good, &format!("{name}.arrival.samples"), "at most 2^30 samples", delay)?;
                }
                for &rate in rate {
                    let good = rate.abs() <= MAX_RATE;
                    check(good, &format!("{name}.arrival.rate"), "at most 1e-4 samples a sample", rate)?;
                }
                Ok(())
            }
            Self::Sky(source) => {
                source.check()?;
                let what = || SimulatorError::NoArray { what: name.to_owned() };
                simulation.array.as_ref().map(|_| ()).ok_or_else(what)
            }
        }
    }
}

/// Edges of a band in Hz, within 0 to half the sample rate.
///
/// The filter has half of its amplitude at the edges and goes from 1 to 0, but for 0.2 % of amplitude, within
/// `sample_rate / 64` on each side of an edge. An edge at 0 or at half the sample rate is none.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Band {
    /// Lower edge in Hz.
    pub low_hz: f64,
    /// Upper edge in Hz.
    pub high_hz: f64,
}

/// Periodic pulses: the source is on for a part of each period, and off for the rest of it.
///
/// Its signal is switched before the filters of delays and bands, half of whose taps (20, with a band 64 samples) an
/// edge reaches to each side. A whole delay without a band has sharp edges.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Pulse {
    /// Period in seconds, at least two samples.
    pub period_s: f64,
    /// Part of the period that it is on, above 0 and below 1. It is on from phase 0 on.
    pub duty: f64,
    /// Phase in turns of what is emitted at [`Simulation::epoch_sample`].
    #[cfg_attr(feature = "serde", serde(default))]
    pub phase_turns: f64,
}

/// A source of Gaussian noise: on the sky, or interference.
///
/// Without `band` and `pulse` it is white: its power of [`PointSource::flux`] spreads evenly over 0 to half the sample
/// rate. A band takes from that spectrum what is outside, pulses what is between them.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct PointSource {
    /// Mean square voltage, by polarisation; the second one is not used with one polarisation.
    pub flux: [f64; 2],
    /// Correlation of the two polarisations, -1 to 1: `E[x y] / sqrt(E[x^2] E[y^2])`. 0 with equal fluxes is an
    /// unpolarised source.
    #[cfg_attr(feature = "serde", serde(default))]
    pub correlation: f64,
    /// When it arrives.
    #[cfg_attr(feature = "serde", serde(default))]
    pub arrival: Arrival,
    /// The band that it has, if not all.
    #[cfg_attr(feature = "serde", serde(default))]
    pub band: Option<Band>,
    /// Its pulses, if it is not always on.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pulse: Option<Pulse>,
    /// Factor of its voltage at each antenna, at most 1e6 (0 where it is not heard), or none: 1 everywhere.
    #[cfg_attr(feature = "serde", serde(default))]
    pub antenna_gains: Vec<f64>,
}

impl PointSource {
    /// An unpolarised white source that arrives everywhere at the same time, with this mean square voltage in each
    /// polarisation.
    pub fn new(flux: f64) -> Self {
        Self {
            flux: [flux; 2],
            correlation: 0.0,
            arrival: Arrival::Together,
            band: None,
            pulse: None,
            antenna_gains: Vec::new(),
        }
    }

    /// The same source with another arrival.
    #[must_use]
    pub fn with_arrival(mut self, arrival: Arrival) -> Self {
        self.arrival = arrival;
        self
    }

    pub(super) fn check(&self, name: &str, simulation: &Simulation) -> Result<(), SimulatorError> {
        let nyquist = simulation.sample_rate_hz / 2.0;
        for flux in self.flux {
            check((0.0..=1e30).contains(&flux), &format!("{name}.flux"), "0 to 1e30", flux)?;
        }
        let good = self.correlation.abs() <= 1.0;
        check(good, &format!("{name}.correlation"), "-1 to 1", self.correlation)?;
        if let Some(Band { low_hz, high_hz }) = self.band {
            let expected = format!("0 to half the sample rate, {nyquist}");
            check((0.0..=nyquist).contains(&low_hz), &format!("{name}.band.low_hz"), &expected, low_hz)?;
            let expected = format!("above {low_hz}, at most {nyquist}");
            check(high_hz > low_hz && high_hz <= nyquist, &format!("{name}.band.high_hz"), &expected, high_hz)?;
        }
        if let Some(Pulse { period_s, duty, phase_turns }) = self.pulse {
            let samples = period_s * simulation.sample_rate_hz;
            let quantity = format!("{name}.pulse.period_s times the sample rate");
            check((2.0..=1e15).contains(&samples), &quantity, "2 to 1e15 samples", samples)?;
            check(duty > 0.0 && duty < 1.0, &format!("{name}.pulse.duty"), "above 0 and below 1", duty)?;
            let quantity = format!("{name}.pulse.phase_turns");
            check(phase_turns.is_finite(), &quantity, "a finite number", phase_turns)?;
        }
        check_gains(name, &self.antenna_gains, simulation)?;
        self.arrival.check(name, simulation)
    }
}

/// A sine wave: `amplitude cos(2 pi (frequency_hz (t - delay) + phase_turns))`, with `t` the seconds since sample 0.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct Tone {
    /// Frequency in Hz, 0 to half the sample rate. It is rounded to 2^-64 cycles a sample.
    pub frequency_hz: f64,
    /// Peak voltage, the same in both polarisations.
    pub amplitude: f64,
    /// Phase at sample 0 in turns.
    #[cfg_attr(feature = "serde", serde(default))]
    pub phase_turns: f64,
    /// When it arrives.
    #[cfg_attr(feature = "serde", serde(default))]
    pub arrival: Arrival,
    /// Factor of its voltage at each antenna, at most 1e6 (0 where it is not heard), or none: 1 everywhere.
    #[cfg_attr(feature = "serde", serde(default))]
    pub antenna_gains: Vec<f64>,
}

impl Tone {
    /// A tone that arrives everywhere at the same time.
    pub fn new(frequency_hz: f64, amplitude: f64) -> Self {
        Self { frequency_hz, amplitude, phase_turns: 0.0, arrival: Arrival::Together, antenna_gains: Vec::new() }
    }

    pub(super) fn check(&self, name: &str, simulation: &Simulation) -> Result<(), SimulatorError> {
        let nyquist = simulation.sample_rate_hz / 2.0;
        let expected = format!("0 to half the sample rate, {nyquist}");
        let good = (0.0..=nyquist).contains(&self.frequency_hz);
        check(good, &format!("{name}.frequency_hz"), &expected, self.frequency_hz)?;
        check((0.0..=1e15).contains(&self.amplitude), &format!("{name}.amplitude"), "0 to 1e15", self.amplitude)?;
        let quantity = format!("{name}.phase_turns");
        check(self.phase_turns.is_finite(), &quantity, "a finite number", self.phase_turns)?;
        check_gains(name, &self.antenna_gains, simulation)?;
        self.arrival.check(name, simulation)
    }
}

fn check_gains(name: &str, gains: &[f64], simulation: &Simulation) -> Result<(), SimulatorError> {
    let name = format!("{name}.antenna_gains");
    length(&name, gains.len(), simulation.antennas, true)?;
    gains.iter().try_for_each(|&gain| check(gain.abs() <= 1e6, &name, "-1e6 to 1e6", gain))
}
