//! Changes of a whole instrument, of which every rank makes its own part.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use fringes_beamformer::TiedArrayBeams;
use fringes_delay_model::DelaySegment;
use fringes_types::Gains;

use super::controls::Controls;
use super::running::Control;
use crate::StreamError;

/// A change of an instrument at a sample. Inputs and channels are those of the whole instrument, also where ranks
/// divide them ([`Fx::turned`](super::Fx::turned)).
///
/// Changes that are known before the start go to [`Fx::change`](super::Fx::change), the same to every rank; later ones
/// to an [`InstrumentControl`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// The gains of all inputs, as [`Control::set_gains`].
    Gains {
        /// From which sample on.
        sample: u64,
        /// `[channel][input]`, or one for all.
        gains: Gains,
    },
    /// The delay of an input, as [`Control::set_delay`].
    Delay {
        /// The input.
        input: usize,
        /// What holds from its first sample on.
        segment: DelaySegment,
    },
    /// The beams, as [`Control::set_beams`].
    Beams {
        /// From which sample on.
        sample: u64,
        /// Of all channels and inputs.
        beams: Box<TiedArrayBeams>,
    },
    /// The channels that are left out of dumps and beams, as [`Control::set_masked_channels`].
    MaskedChannels {
        /// From which sample on.
        sample: u64,
        /// Those that are left out, and no others.
        channels: Vec<usize>,
    },
}

impl Change {
    /// The sample from which on it holds.
    #[must_use]
    pub fn sample(&self) -> u64 {
        match self {
            Self::Gains { sample, .. } | Self::Beams { sample, .. } | Self::MaskedChannels { sample, .. } => *sample,
            Self::Delay { segment, .. } => segment.start_sample,
        }
    }
}

/// What a rank has of an instrument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Inputs of the whole instrument.
    pub(super) inputs: usize,
    /// Channels of the whole instrument.
    pub(super) channels: usize,
    /// Inputs that the rank channelises; `None` where voltages come as heaps.
    pub(super) own_inputs: Option<Range<usize>>,
    /// Channels that the rank correlates.
    pub(super) own_channels: Range<usize>,
}

impl Part {
    /// The inputs of the rank's F-engine.
    fn f_engine(&self, what: &'static str, sample: u64) -> Result<&Range<usize>, StreamError> {
        let reason = || "expected an F-engine, found heaps of a source".into();
        self.own_inputs.as_ref().ok_or_else(|| StreamError::Change { what, sample, reason: reason() })
    }

    /// What the rank is to do; `None` if it has nothing to do with it.
    ///
    /// # Errors
    /// [`StreamError::Change`] for what does not fit the whole instrument.
    fn own(&self, change: &Change) -> Result<Option<Change>, StreamError> {
        let sample = change.sample();
        let refused = |what, reason: String| StreamError::Change { what, sample, reason };
        match change {
            Change::Gains { gains, .. } => {
                let own = self.f_engine("gains", sample)?;
                let gains = gains.of_inputs(self.channels, self.inputs, own.clone());
                let gains = gains.map_err(|error| refused("gains", error.to_string()))?;
                Ok((!own.is_empty()).then_some(Change::Gains { sample, gains }))
            }
            Change::Delay { input, segment } => {
                let own = self.f_engine("delay", sample)?;
                if *input >= self.inputs {
                    return Err(refused("delay", format!("expected an input of 0..{}, found {input}", self.inputs)));
                }
                let input = own.contains(input).then(|| input - own.start);
                Ok(input.map(|input| Change::Delay { input, segment: segment.clone() }))
            }
            Change::Beams { beams, .. } => {
                let failed = |error: fringes_beamformer::BeamformerError| refused("beams", error.to_string());
                let (expected, weights) = ([self.channels, self.inputs], beams.weights().map_err(failed)?);
                let actual = [weights.channels(), weights.inputs()];
                if expected != actual {
                    let say = |[channels, inputs]: [usize; 2]| format!("{channels} channels and {inputs} inputs");
                    return Err(refused("beams", format!("expected {}, found {}", say(expected), say(actual))));
                }
                if self.own_channels.is_empty() {
                    return Ok(None);
                }
                if self.own_channels.len() == self.channels {
                    return Ok(Some(change.clone()));
                }
                let beams = Box::new(beams.of_channels(self.own_channels.clone()).map_err(failed)?);
                Ok(Some(Change::Beams { sample, beams }))
            }
            Change::MaskedChannels { channels, .. } => {
                if let Some(channel) = channels.iter().find(|&&channel| channel >= self.channels) {
                    let reason = format!("expected channels of 0..{}, found {channel}", self.channels);
                    return Err(refused("masked channels", reason));
                }
                let own = &self.own_channels;
                let channels = channels.iter().filter(|channel| own.contains(channel));
                let channels = channels.map(|channel| channel - own.start).collect();
                Ok((!own.is_empty()).then_some(Change::MaskedChannels { sample, channels }))
            }
        }
    }

    /// Hands the rank's part of a change to its stages.
    ///
    /// # Errors
    /// [`StreamError::Change`] for what does not fit the whole instrument.
    pub(super) fn change(&self, change: &Change, controls: &Controls) -> Result<(), StreamError> {
        if let Some(own) = self.own(change)? {
            hand(own, controls);
        }
        Ok(())
    }
}

/// Hands a rank's own change to its stages.
fn hand(change: Change, controls: &Controls) {
    match change {
        Change::Gains { sample, gains } => controls.set_gains(sample, gains),
        Change::Delay { input, segment } => controls.set_delay(input, segment),
        Change::Beams { sample, beams } => controls.set_beams(sample, *beams),
        Change::MaskedChannels { sample, channels } => controls.set_masked_channels(sample, channels),
    }
}

/// Stops and changes an instrument wherever its ranks are: one call changes all of them at the same sample.
///
/// With the controls of all ranks, threads of this process, changes are there when the call returns. Where some ranks
/// are other processes, the controls of this one are enough: the corner turn tells all ranks with the headers of the
/// next block, which come twice a second if no data do. All have the changes of all in the same order.
///
/// ```no_run
/// use fringes_stream::fx::{Change, InstrumentControl};
/// use fringes_stream::{Control, StreamError};
///
/// # fn example(ranks: Vec<Control>, sample_rate_hz: f64) -> Result<(), StreamError> {
/// let instrument = InstrumentControl::new(ranks)?; // of `Running::control`
/// // Far enough ahead of every rank: half a second.
/// let sample = instrument.next_sample() + (sample_rate_hz / 2.0) as u64;
/// instrument.change(&Change::MaskedChannels { sample, channels: (100..120).collect() })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InstrumentControl {
    ranks: Vec<Control>,
}

impl InstrumentControl {
    /// Of the ranks of one instrument, those of this process, or of those that take turns in time.
    ///
    /// # Errors
    /// [`StreamError::Plan`] for none, or ranks of instruments of other inputs or channels.
    pub fn new(ranks: impl IntoIterator<Item = Control>) -> Result<Self, StreamError> {
        let ranks: Vec<_> = ranks.into_iter().collect();
        let refuse = |what, expected: String, actual| Err(StreamError::Plan { what, expected, actual });
        let Some(first) = ranks.first() else {
            return refuse("ranks of an instrument", "at least 1".into(), "none".into());
        };
        let say = |control: &Control| {
            let Part { inputs, channels, .. } = &control.shared.part;
            format!("{inputs} inputs and {channels} channels")
        };
        let expected = say(first);
        if let Some(other) = ranks.iter().map(say).find(|other| *other != expected) {
            return refuse("rank of an instrument", expected, other);
        }
        Ok(Self { ranks })
    }

    /// The furthest sample that a rank's source has come to; that of other processes as they said with their last
    /// block. A change that all ranks are to make at the same sample names one that is ahead of it by what is under way
    /// and comes meanwhile.
    #[must_use]
    pub fn next_sample(&self) -> u64 {
        let of = |rank: &Control| {
            let others = rank.shared.others_next_sample.load(Ordering::Relaxed);
            rank.report().next_sample.max(others)
        };
        self.ranks.iter().map(of).max().unwrap_or(0)
    }

    /// A rank that has to tell ranks of other processes, if there are any.
    fn teller(&self) -> Option<&Control> {
        let known = |number: usize, rank: &Control| {
            self.ranks[..number].iter().any(|other| Arc::ptr_eq(&other.shared, &rank.shared))
        };
        let here = self.ranks.iter().enumerate().filter(|(number, rank)| !known(*number, rank)).count();
        self.ranks.first().filter(|rank| here < rank.shared.ranks)
    }

    /// Changes every rank. A rank that the change comes too late for makes it as soon as it can, as [`Control`] says of
    /// each kind; [`TurnReport::changes`](super::TurnReport::changes) counts what a rank was told.
    ///
    /// # Errors
    /// [`StreamError::Change`] for gains, beams, inputs or channels that the instrument has not: nothing changes then.
    /// That an F-engine has no delays, or that another number of beams is asked for, ends the run.
    pub fn change(&self, change: &Change) -> Result<(), StreamError> {
        let own = self.ranks.iter().map(|rank| rank.shared.part.own(change)).collect::<Result<Vec<_>, _>>()?;
        if let Some(teller) = self.teller() {
            let mut to_tell = teller.shared.to_tell.lock().unwrap_or_else(PoisonError::into_inner);
            to_tell.push(change.clone());
            return Ok(());
        }
        for (rank, own) in self.ranks.iter().zip(own) {
            if let Some(own) = own {
                hand(own, &rank.shared.controls);
            }
        }
        Ok(())
    }

    /// As [`Control::stop`], of all ranks.
    pub fn stop(&self) {
        self.ranks.iter().for_each(Control::stop);
    }

    /// As [`Control::stop_now`], of all ranks.
    pub fn stop_now(&self) {
        self.ranks.iter().for_each(Control::stop_now);
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{BeamWeights, Complex};
    use ndarray::{Array2, Array3};

    use super::*;

    /// Inputs 2 and 3 of 6, channels 4 to 7 of 8.
    fn part() -> Part {
        Part { inputs: 6, channels: 8, own_inputs: Some(2..4), own_channels: 4..7 }
    }

    fn value(channel: usize, input: usize) -> Complex<f32> {
        Complex::new(channel as f32, input as f32)
    }

    #[test]
    fn a_rank_takes_what_is_its_own() {
        let gains = |first: [usize; 2], shape| {
            let of = |(channel, input)| value(first[0] + channel, first[1] + input);
            Gains::per_channel_input(Array2::from_shape_fn(shape, of)).unwrap()
        };
        let own = part().own(&Change::Gains { sample: 7, gains: gains([0, 0], (8, 6)) }).unwrap();
        assert_eq!(own, Some(Change::Gains { sample: 7, gains: gains([0, 2], (8, 2)) }));
        let beams = |first: usize, channels| {
            let of = |(beam, channel, input)| value(10 * beam + first + channel, input);
            let weights = BeamWeights::new(Array3::from_shape_fn((2, channels, 6), of)).unwrap();
            Box::new(TiedArrayBeams::new(weights).with_scale(0.5).unwrap().with_dither(3))
        };
        let own = part().own(&Change::Beams { sample: 8, beams: beams(0, 8) }).unwrap();
        assert_eq!(own, Some(Change::Beams { sample: 8, beams: beams(4, 3) }));
        let own = part().own(&Change::MaskedChannels { sample: 9, channels: vec![7, 6, 0, 4] }).unwrap();
        assert_eq!(own, Some(Change::MaskedChannels { sample: 9, channels: vec![2, 0] }));
    }

    #[test]
    fn a_rank_without_inputs_or_channels_has_nothing_to_do() {
        let idle = Part { own_inputs: Some(6..6), own_channels: 8..8, ..part() };
        let gains = Gains::uniform(2.0).unwrap();
        assert_eq!(idle.own(&Change::Gains { sample: 0, gains }).unwrap(), None);
        assert_eq!(idle.own(&Change::MaskedChannels { sample: 0, channels: vec![1] }).unwrap(), None);
        // None of the rank's channels is left out: what was left out before is not any more.
        let own = part().own(&Change::MaskedChannels { sample: 0, channels: vec![1] }).unwrap();
        assert_eq!(own, Some(Change::MaskedChannels { sample: 0, channels: vec![] }));
    }

    #[test]
    fn what_does_not_fit_the_whole_is_refused_by_every_rank() {
        let weights = BeamWeights::new(Array3::from_elem((1, 3, 6), value(1, 1))).unwrap();
        let beams = Box::new(TiedArrayBeams::new(weights));
        let gains = Gains::per_channel_input(Array2::from_elem((8, 2), value(1, 1))).unwrap();
        for (change, says) in [
            (Change::Gains { sample: 5, gains }, "gains at sample 5: dimension `input` of gains: expected 6, found 2"),
            (
                Change::Beams { sample: 5, beams },
                "beams at sample 5: expected 8 channels and 6 inputs, found 3 channels",
            ),
            (Change::MaskedChannels { sample: 5, channels: vec![8] }, "expected channels of 0..8, found 8"),
        ] {
            for rank in [part(), Part { own_channels: 8..8, ..part() }] {
                let error = rank.own(&change).unwrap_err().to_string();
                assert!(error.contains(says), "{error}");
            }
        }
        let heaps = Part { own_inputs: None, ..part() };
        let gains = Gains::uniform(1.0).unwrap();
        let error = heaps.own(&Change::Gains { sample: 5, gains }).unwrap_err().to_string();
        assert_eq!(error, "gains at sample 5: expected an F-engine, found heaps of a source");
        assert!(InstrumentControl::new([]).is_err());
        let beams = TiedArrayBeams::new(BeamWeights::new(Array3::from_elem((1, 3, 6), value(1, 1))).unwrap());
        assert!(
            beams.of_channels(1..4).is_err() && beams.of_channels(2..2).is_err() && beams.of_channels(1..3).is_ok()
        );
    }
}
