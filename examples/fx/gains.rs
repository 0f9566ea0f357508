//! Gains that fill the levels of a quantiser, measured on the data: one for each channel and input.

use fringes::{Complex, Gains, Voltages};
use ndarray::{Array2, Axis};

use crate::failure::Result;

/// Gains `[channel][input]`, fixed from the first spectra that have power on; until then 1.
///
/// A gain is fixed before the first value other than zero passes, so every sum of products was made with one gain for
/// each of its inputs, and dividing it out afterwards is exact.
pub(crate) struct AutoGains {
    /// Root mean square of the real and imaginary parts that the quantiser shall see.
    target: f64,
    values: Array2<f32>,
    pending: usize,
    fixed: Array2<bool>,
    gains: Gains,
}

impl AutoGains {
    /// Gains to be measured.
    pub(crate) fn new(channels: usize, inputs: usize, target: f64) -> Result<Self> {
        let shape = (channels, inputs);
        Ok(Self {
            target,
            values: Array2::ones(shape),
            pending: channels * inputs,
            fixed: Array2::from_elem(shape, false),
            gains: Gains::uniform(1.0)?,
        })
    }

    /// Fixes the gains of all channels and inputs that have power in these voltages for the first time.
    pub(crate) fn update(&mut self, voltages: &Voltages<Complex<f32>>) -> Result<&Gains> {
        if self.pending == 0 {
            return Ok(&self.gains);
        }
        let (data, presence) = (voltages.data(), voltages.presence());
        for (channel, rows) in data.axis_iter(Axis(0)).enumerate() {
            for (input, series) in rows.axis_iter(Axis(1)).enumerate() {
                if self.fixed[(channel, input)] {
                    continue;
                }
                let (mut sum, mut count) = (0.0, 0u64);
                for (time, value) in series.iter().enumerate() {
                    let power = f64::from(value.norm_sqr());
                    if power.is_finite() && presence.is_none_or(|presence| presence[(time, input)]) {
                        sum += power;
                        count += 1;
                    }
                }
                // Half of the power is in each of the two parts.
                let gain = (self.target / (sum / count as f64 / 2.0).sqrt()) as f32;
                if gain.is_finite() && gain > 0.0 {
                    self.values[(channel, input)] = gain;
                    self.fixed[(channel, input)] = true;
                    self.pending -= 1;
                }
            }
        }
        self.gains = Gains::per_channel_input(self.values.mapv(|gain| Complex::new(gain, 0.0)))?;
        Ok(&self.gains)
    }

    /// The gain of a channel and an input.
    pub(crate) fn of(&self, channel: usize, input: usize) -> f64 {
        f64::from(self.values[(channel, input)])
    }
}
