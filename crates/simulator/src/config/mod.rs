//! What is simulated, as plain data: [`Simulation`] and its parts.

mod adc;
mod emitters;
mod loss;
#[cfg(feature = "serde")]
mod text;

pub use adc::{Adc, Level, PerInput};
pub use emitters::{Arrival, Band, PointSource, Pulse, Tone};
use fringes_delay_model::{AntennaArray, Epoch};
use fringes_types::Inputs;
pub use loss::{Loss, LostRange};

use crate::SimulatorError;
use crate::error::check;

/// Largest rate of a delay in samples a sample, and of a clock in seconds a second.
pub const MAX_RATE: f64 = 1e-4;
/// Largest delay in samples, 2^30.
pub const MAX_DELAY_SAMPLES: f64 = (1u64 << 30) as f64;

/// Where the antennas are, and when.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Placement {
    /// Positions of the antennas. With `serde` it is the text of a table of antennas.
    #[cfg_attr(feature = "serde", serde(with = "text::array"))]
    pub antennas: AntennaArray,
    /// The instant of sample [`Simulation::epoch_sample`]. With `serde` it is text, such as `2026-03-20T12:00:00`,
    /// written to a microsecond.
    #[cfg_attr(feature = "serde", serde(with = "text::epoch"))]
    pub epoch: Epoch,
}

/// The clock of an antenna's digitiser.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
pub struct Clock {
    /// Seconds that it is ahead at [`Simulation::epoch_sample`]: a sample stamped `t` was taken at `t - offset_s`, so
    /// the sky appears `offset_s` later.
    pub offset_s: f64,
    /// Seconds a second by which it runs fast, at most [`MAX_RATE`].
    pub drift: f64,
}

/// All that is simulated: change its fields, then make a [`Simulator`](crate::Simulator).
///
/// Voltages have arbitrary units, the same for receivers, sources and tones; [`Adc`] says how they become integers.
/// Frequencies are those that are sampled, from 0 to half the sample rate.
///
/// With the feature `serde` it is read from and written to any format; what is left out has the value that
/// [`Simulation::new`] gives it, and unknown fields are errors. Angles are written in degrees: read again, they may
/// differ in the last bit.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct Simulation {
    /// Number of antennas.
    pub antennas: usize,
    /// Polarisations of an antenna, 1 or 2.
    pub pols: usize,
    /// Samples a second.
    pub sample_rate_hz: f64,
    /// Whatever is random follows from it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub seed: u64,
    /// The sample at which given delays, clock offsets and phases of pulses hold, and which is taken at the epoch.
    #[cfg_attr(feature = "serde", serde(default))]
    pub epoch_sample: u64,
    /// Where the antennas are; [`Arrival::Sky`] needs it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub array: Option<Placement>,
    /// Sources of noise: on the sky, or interference.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sources: Vec<PointSource>,
    /// Sine waves.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tones: Vec<Tone>,
    /// Rms of the receivers' noise, independent of input to input.
    #[cfg_attr(feature = "serde", serde(default))]
    pub receiver_rms: PerInput,
    /// The antennas' clocks: one an antenna, or none at all.
    #[cfg_attr(feature = "serde", serde(default))]
    pub clocks: Vec<Clock>,
    /// The digitisers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub adc: Adc,
    /// Lost packets.
    #[cfg_attr(feature = "serde", serde(default))]
    pub loss: Option<Loss>,
}

impl Simulation {
    /// Receivers of rms 1 and digitisers of rms 20 LSB; no sources, nothing lost, seed 0.
    pub fn new(antennas: usize, pols: usize, sample_rate_hz: f64) -> Self {
        Self {
            antennas,
            pols,
            sample_rate_hz,
            seed: 0,
            epoch_sample: 0,
            array: None,
            sources: Vec::new(),
            tones: Vec::new(),
            receiver_rms: PerInput::default(),
            clocks: Vec::new(),
            adc: Adc::default(),
            loss: None,
        }
    }

    /// Checks every number and every list.
    ///
    /// # Errors
    /// As [`Simulator::new`](crate::Simulator::new), but for geometries that fail later.
    pub fn check(&self) -> Result<Inputs, SimulatorError> {
        let inputs = Inputs::new(self.antennas, self.pols)?;
        let rate = self.sample_rate_hz;
        check(rate.is_finite() && rate > 0.0, "sample_rate_hz", "a finite number above 0", rate)?;
        if let Some(array) = &self.array {
            length("array.antennas", array.antennas.len(), self.antennas, false)?;
        }
        for (index, source) in self.sources.iter().enumerate() {
            source.check(&format!("sources[{index}]"), self)?;
        }
        for (index, tone) in self.tones.iter().enumerate() {
            tone.check(&format!("tones[{index}]"), self)?;
        }
        self.receiver_rms.check("receiver_rms", inputs.len(), "0 to 1e15", |rms| rms >= 0.0)?;
        length("clocks", self.clocks.len(), self.antennas, true)?;
        for (index, clock) in self.clocks.iter().enumerate() {
            let samples = clock.offset_s * rate;
            let (name, limit) = (format!("clocks[{index}].offset_s times the sample rate"), "at most 2^30 samples");
            check(samples.abs() <= MAX_DELAY_SAMPLES, &name, limit, samples)?;
            let name = format!("clocks[{index}].drift");
            check(clock.drift.abs() <= MAX_RATE, &name, "at most 1e-4 seconds a second", clock.drift)?;
        }
        self.adc.check(inputs.len())?;
        self.loss.as_ref().map_or(Ok(()), |loss| loss.check(inputs.len()))?;
        Ok(inputs)
    }
}

/// `Ok` if a list has as many elements as there are things, or none where it may.
pub(crate) fn length(list: &str, actual: usize, expected: usize, or_none: bool) -> Result<(), SimulatorError> {
    if actual == expected || (or_none && actual == 0) {
        return Ok(());
    }
    let expected = if or_none { format!("{expected} or none") } else { expected.to_string() };
    Err(SimulatorError::Length { list: list.to_owned(), expected, actual })
}
