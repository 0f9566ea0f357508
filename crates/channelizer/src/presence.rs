//! Which samples are missing, as intervals on the absolute sample axis.
//!
//! ```text
//! blocks of 4 samples from sample 100:   present  missing  missing  present    ->   104 .. 112
//! ```
//!
//! Intervals are ascending and do not touch, so whether a window holds a missing sample is one binary search, whatever
//! block sizes the chunks came with.

use std::ops::Range;

use fringes_types::SamplePresence;

/// Missing samples of one input.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MissingSamples {
    intervals: Vec<Range<i64>>,
}

impl MissingSamples {
    /// Adds the missing samples of `times` samples from `first` on, which come after all that were added before.
    pub(crate) fn append(&mut self, presence: Option<&SamplePresence>, input: usize, first: i64, times: usize) {
        let Some(presence) = presence else { return };
        let block = presence.samples_per_block();
        for (index, &present) in presence.flags().row(input).iter().enumerate() {
            if !present {
                let start = index.saturating_mul(block).min(times);
                let end = start.saturating_add(block).min(times);
                self.push(first + start as i64..first + end as i64);
            }
        }
    }

    fn push(&mut self, interval: Range<i64>) {
        match self.intervals.last_mut() {
            _ if interval.is_empty() => {}
            Some(last) if last.end == interval.start => last.end = interval.end,
            _ => self.intervals.push(interval),
        }
    }

    /// Whether a sample of the window is missing.
    pub(crate) fn any_in(&self, window: Range<i64>) -> bool {
        self.between(window.start, window.end).next().is_some()
    }

    /// The missing samples that overlap a range.
    pub(crate) fn between(&self, from: i64, to: i64) -> impl Iterator<Item = &Range<i64>> {
        let first = self.intervals.partition_point(|interval| interval.end <= from);
        self.intervals[first..].iter().take_while(move |interval| interval.start < to)
    }

    /// Forgets what lies before a sample.
    pub(crate) fn discard_before(&mut self, sample: i64) {
        let gone = self.intervals.partition_point(|interval| interval.end <= sample);
        self.intervals.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn a_window_is_missing_exactly_if_one_of_its_samples_is() {
        // Two chunks with other block sizes; the last block of each is partial.
        let chunks = [
            (3, 10, vec![true, false, false, true]),
            (4, 9, vec![false, true, false]),
            (1, 5, vec![true, true, false, true, true]),
        ];
        let (mut missing, mut flags, mut first) = (MissingSamples::default(), Vec::new(), 100);
        for (block, times, blocks) in chunks {
            let presence =
                SamplePresence::new(block, Array2::from_shape_vec((1, blocks.len()), blocks).unwrap()).unwrap();
            missing.append(Some(&presence), 0, first, times);
            flags.extend((0..times).map(|time| presence.is_present(0, time)));
            first += times as i64;
        }
        for cut in [0, 104, 109, 118] {
            missing.discard_before(cut);
            for start in (cut - 100).max(0) as usize..flags.len() {
                for end in start + 1..=flags.len() {
                    let expected = flags[start..end].iter().any(|present| !present);
                    assert_eq!(missing.any_in(start as i64 + 100..end as i64 + 100), expected, "{start}..{end}");
                }
            }
        }
    }
}
