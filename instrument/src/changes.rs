//! Changes of a configuration, `[[change]]`, as those of an instrument: each has a time and any of gains, masked
//! channels and beams.

use std::ops::Range;

use fringes::stream::Change;
use fringes::{Complex, Gains};
use ndarray::Array2;

use crate::build::Parts;
use crate::config::{ChangeConfig, Config};
use crate::failure::{At, Failure, Result};

impl Parts {
    /// What changes while it runs, of the whole instrument.
    pub(crate) fn changes(&self, config: &Config) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for (number, change) in config.change.iter().enumerate() {
            let refuse = |what: String| Failure::at(format!("change {number}"), what);
            let sample = self.sample_of(change).map_err(&refuse)?;
            if let Some(factors) = &change.gains {
                let gains = match factors.as_slice() {
                    [factor] => Gains::uniform((f64::from(self.gain) * factor) as f32),
                    all if all.len() == self.inputs.len() => {
                        let of = |(_, input)| Complex::new((f64::from(self.gain) * all[input]) as f32, 0.0);
                        Gains::per_channel_input(Array2::from_shape_fn((self.all_channels, all.len()), of))
                    }
                    other => {
                        let inputs = self.inputs.len();
                        return Err(refuse(format!("expected 1 or {inputs} gains, found {}", other.len())));
                    }
                };
                changes.push(Change::Gains { sample, gains: gains.at(format!("change {number}: gains"))? });
            }
            if let Some(channels) = &change.masked_channels {
                let channels: Vec<_> = channels.iter().map(|channels| channels.channels()).collect();
                let wrong = |of: &&Range<usize>| of.is_empty() || of.end > self.all_channels;
                if let Some(of) = channels.iter().find(wrong) {
                    let all = self.all_channels;
                    return Err(refuse(format!("masked_channels: expected channels of 0..{all}, found {of:?}")));
                }
                changes.push(Change::MaskedChannels { sample, channels: channels.into_iter().flatten().collect() });
            }
            if let Some(offsets) = &change.beam_offsets {
                let expected = config.beams.as_ref().map_or(0, |beams| beams.offsets.len());
                let Some(tracking) = self.tracking.as_ref().filter(|_| expected == offsets.len()) else {
                    let found = offsets.len();
                    return Err(refuse(format!("beam_offsets: expected {expected} as in [beams], found {found}")));
                };
                let beams = self.beam_set(tracking, offsets, self.all_channels, self.all_frequencies)?;
                changes.push(Change::Beams { sample, beams: Box::new(beams) });
            }
        }
        Ok(changes)
    }

    /// The sample from which on a change holds; else what is wrong.
    fn sample_of(&self, change: &ChangeConfig) -> std::result::Result<u64, String> {
        match (change.seconds, change.sample) {
            (None, Some(sample)) => Ok(sample),
            (Some(seconds), None) if seconds.is_finite() && seconds >= 0.0 => {
                Ok((seconds * self.sample_rate_hz).round() as u64)
            }
            (Some(seconds), None) => Err(format!("expected seconds from 0 on, found {seconds}")),
            _ => Err("expected one of seconds and sample".into()),
        }
    }
}
