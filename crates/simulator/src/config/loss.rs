//! Lost packets.

use crate::SimulatorError;
use crate::error::check;

/// Samples that are lost, whatever the input.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct LostRange {
    /// First sample.
    pub start: u64,
    /// The sample after the last one.
    pub end: u64,
    /// The inputs that lose them, or none: all.
    #[cfg_attr(feature = "serde", serde(default))]
    pub inputs: Vec<usize>,
}

/// Packets of samples that do not arrive. Packet `k` of an input holds samples `k packet_samples ..`.
///
/// Lost samples are 0 and flagged absent.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Loss {
    /// Samples of a packet of an input.
    pub packet_samples: u64,
    /// Probability that a packet is lost, independent of all others.
    #[cfg_attr(feature = "serde", serde(default))]
    pub probability: f64,
    /// Samples that are lost whatever happens: every packet that has one of them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ranges: Vec<LostRange>,
}

impl Loss {
    pub(super) fn check(&self, inputs: usize) -> Result<(), SimulatorError> {
        let samples = self.packet_samples as f64;
        check((1.0..=2f64.powi(40)).contains(&samples), "loss.packet_samples", "1 to 2^40", samples)?;
        let good = (0.0..=1.0).contains(&self.probability);
        check(good, "loss.probability", "0 to 1", self.probability)?;
        for (index, range) in self.ranges.iter().enumerate() {
            let name = format!("loss.ranges[{index}]");
            if range.end <= range.start {
                let expected = format!("an end above {}", range.start);
                return check(false, &name, &expected, range.end as f64);
            }
            if let Some(&actual) = range.inputs.iter().find(|&&input| input >= inputs) {
                return Err(SimulatorError::Index { what: "input of a lost range", expected: inputs, actual });
            }
        }
        Ok(())
    }
}
