//! What changes while an instrument runs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fringes_beamformer::TiedArrayBeams;
use fringes_delay_model::DelaySegment;
use fringes_types::Gains;

/// Changes that wait, each with the sample from which on it holds, in the order of samples.
#[derive(Debug, Default)]
pub(crate) struct Controls {
    gains: Mutex<VecDeque<(u64, Gains)>>,
    delays: Mutex<Vec<(usize, DelaySegment)>>,
    beams: Mutex<VecDeque<(u64, TiedArrayBeams)>>,
    masked_channels: Mutex<Vec<(u64, Vec<usize>)>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a change in its place; one of the same sample replaces the one before it.
pub(super) fn insert<T>(list: &mut VecDeque<(u64, T)>, sample: u64, change: T) {
    let place = list.partition_point(|&(at, _)| at < sample);
    if list.get(place).is_some_and(|&(at, _)| at == sample) {
        list[place] = (sample, change);
    } else {
        list.insert(place, (sample, change));
    }
}

impl Controls {
    pub(crate) fn set_gains(&self, sample: u64, gains: Gains) {
        insert(&mut lock(&self.gains), sample, gains);
    }

    /// The sample of the next change of gains.
    pub(crate) fn next_gains(&self) -> Option<u64> {
        lock(&self.gains).front().map(|&(sample, _)| sample)
    }

    /// Takes the next change of gains, which is that of a sample.
    pub(crate) fn take_gains(&self, sample: u64) -> Option<Gains> {
        let mut gains = lock(&self.gains);
        if gains.front().is_some_and(|&(at, _)| at == sample) {
            gains.pop_front().map(|(_, gains)| gains)
        } else {
            None
        }
    }

    pub(crate) fn set_delay(&self, input: usize, segment: DelaySegment) {
        lock(&self.delays).push((input, segment));
    }

    pub(crate) fn take_delays(&self) -> Vec<(usize, DelaySegment)> {
        std::mem::take(&mut *lock(&self.delays))
    }

    pub(crate) fn set_beams(&self, sample: u64, beams: TiedArrayBeams) {
        insert(&mut lock(&self.beams), sample, beams);
    }

    pub(crate) fn take_beams(&self) -> VecDeque<(u64, TiedArrayBeams)> {
        std::mem::take(&mut *lock(&self.beams))
    }

    pub(crate) fn set_masked_channels(&self, sample: u64, channels: Vec<usize>) {
        lock(&self.masked_channels).push((sample, channels));
    }

    /// Changes of masked channels, in the order in which they were asked for.
    pub(crate) fn take_masked_channels(&self) -> Vec<(u64, Vec<usize>)> {
        std::mem::take(&mut *lock(&self.masked_channels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_the_order_of_samples_and_the_last_of_a_sample_holds() {
        let controls = Controls::default();
        for (sample, gain) in [(30, 1.0), (10, 2.0), (20, 3.0), (10, 4.0)] {
            controls.set_gains(sample, Gains::uniform(gain).unwrap());
        }
        let mut samples = Vec::new();
        while let Some(sample) = controls.next_gains() {
            assert!(controls.take_gains(sample + 1).is_none());
            samples.push((sample, controls.take_gains(sample)));
        }
        let expected = [(10, 4.0), (20, 3.0), (30, 1.0)];
        assert_eq!(samples, expected.map(|(sample, gain)| (sample, Gains::uniform(gain).ok())));
    }
}
