//! Digitisers, and numbers that each input may have of its own.

use super::length;
use crate::SimulatorError;
use crate::error::check;

/// A number for all inputs, or one for each. With `serde` it is a number or a list. The default is 1 for all.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum PerInput {
    /// The same for all.
    All(f64),
    /// One an input, `antenna * pols + pol`.
    Each(Vec<f64>),
}

impl Default for PerInput {
    fn default() -> Self {
        Self::All(1.0)
    }
}

impl PerInput {
    /// The number of an input; NaN for one that does not exist.
    pub fn of(&self, input: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values.get(input).copied().unwrap_or(f64::NAN),
        }
    }

    pub(super) fn check(
        &self,
        name: &str,
        inputs: usize,
        expected: &str,
        good: impl Fn(f64) -> bool,
    ) -> Result<(), SimulatorError> {
        let values = match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => {
                length(name, values.len(), inputs, false)?;
                values
            }
        };
        // What is rendered is f32: its products and sums stay finite with these.
        values.iter().try_for_each(|&value| check(value.abs() <= 1e15 && good(value), name, expected, value))
    }
}

/// How far a digitiser is driven.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Level {
    /// The mean rms of each input in LSB, without the offset: receiver, sources and tones together, pulses by their
    /// duty.
    Rms(PerInput),
    /// LSB per unit of voltage.
    Gain(PerInput),
}

/// The digitisers: `code = clamp(round_half_to_even(gain * voltage + offset))`.
///
/// Codes of `b` bits are `-2^(b-1)` to `2^(b-1) - 1`. What lies outside is clamped and counted. f32 samples are
/// `gain * voltage + offset`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
pub struct Adc {
    /// How far they are driven.
    pub level: Level,
    /// What is added, in LSB.
    pub offset_lsb: PerInput,
}

impl Default for Adc {
    /// An rms of 20 LSB, no offset.
    fn default() -> Self {
        Self { level: Level::Rms(PerInput::All(20.0)), offset_lsb: PerInput::All(0.0) }
    }
}

impl Adc {
    pub(super) fn check(&self, inputs: usize) -> Result<(), SimulatorError> {
        let (name, level) = match &self.level {
            Level::Rms(level) => ("adc.level.rms", level),
            Level::Gain(level) => ("adc.level.gain", level),
        };
        level.check(name, inputs, "0 to 1e15", |level| level >= 0.0)?;
        self.offset_lsb.check("adc.offset_lsb", inputs, "-1e15 to 1e15", |_| true)
    }
}
