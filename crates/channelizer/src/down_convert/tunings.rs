//! What counts from an output on: tunings, in the order of outputs.
//!
//! ```text
//! output     0 ......... 1000 ......... 1000 ......... 2500 ......
//! tuning     first           second (nothing)  third            fourth
//! ```

use std::collections::VecDeque;
use std::ops::Range;

/// Values with the outputs that they count from, in ascending order. There is always one.
#[derive(Debug, Clone)]
pub(super) struct Tunings<T> {
    now: T,
    coming: VecDeque<(u64, T)>,
}

impl<T> Tunings<T> {
    /// One that counts for all outputs.
    pub(super) fn new(now: T) -> Self {
        Self { now, coming: VecDeque::new() }
    }

    /// Adds one that counts from an output on, which is none before the last one's.
    pub(super) fn push(&mut self, from: u64, tuning: T) {
        self.coming.push_back((from, tuning));
    }

    /// That of the next output.
    pub(super) fn now(&self) -> &T {
        &self.now
    }

    /// The last one.
    pub(super) fn last(&self) -> &T {
        self.coming.back().map_or(&self.now, |(_, tuning)| tuning)
    }

    /// That of an output which is not before the next one.
    pub(super) fn of(&self, output: u64) -> &T {
        let count = self.coming.partition_point(|(from, _)| *from <= output);
        count.checked_sub(1).and_then(|last| self.coming.get(last)).map_or(&self.now, |(_, tuning)| tuning)
    }

    /// Outputs cut where tunings change, each part with its own. No part is empty.
    pub(super) fn cut(&self, outputs: Range<u64>) -> Vec<(Range<u64>, &T)> {
        let (mut parts, mut first, mut tuning) = (Vec::new(), outputs.start, &self.now);
        for (from, next) in self.coming.iter().take_while(|(from, _)| *from < outputs.end) {
            if first < *from {
                parts.push((first..*from, tuning));
                first = *from;
            }
            tuning = next;
        }
        if first < outputs.end {
            parts.push((first..outputs.end, tuning));
        }
        parts
    }

    /// Forgets those that no output from `next` on has.
    pub(super) fn pass(&mut self, next: u64) {
        while self.coming.front().is_some_and(|(from, _)| *from <= next) {
            if let Some((_, tuning)) = self.coming.pop_front() {
                self.now = tuning;
            }
        }
    }

    /// All of them, as something else.
    pub(super) fn try_map<U, E>(&self, mut of: impl FnMut(&T) -> Result<U, E>) -> Result<Tunings<U>, E> {
        let now = of(&self.now)?;
        let coming = self.coming.iter().map(|(from, tuning)| Ok((*from, of(tuning)?))).collect::<Result<_, E>>()?;
        Ok(Tunings { now, coming })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_the_last_tuning_at_or_before_them() {
        let mut tunings = Tunings::new('a');
        for (from, tuning) in [(10, 'b'), (10, 'c'), (15, 'd'), (40, 'e')] {
            tunings.push(from, tuning);
        }
        let of = |tunings: &Tunings<char>, output| *tunings.of(output);
        assert_eq!(
            [0, 9, 10, 14, 15, 39, 40, 99].map(|output| of(&tunings, output)),
            ['a', 'a', 'c', 'c', 'd', 'd', 'e', 'e']
        );
        let cut = |tunings: &Tunings<char>, outputs| {
            tunings.cut(outputs).into_iter().map(|(part, tuning)| (part, *tuning)).collect::<Vec<_>>()
        };
        assert_eq!(cut(&tunings, 3..20), [(3..10, 'a'), (10..15, 'c'), (15..20, 'd')]);
        assert_eq!(cut(&tunings, 10..15), [(10..15, 'c')]);
        assert_eq!(cut(&tunings, 3..3), []);
        tunings.pass(14);
        assert_eq!((*tunings.now(), *tunings.last()), ('c', 'e'));
        assert_eq!(cut(&tunings, 14..16), [(14..15, 'c'), (15..16, 'd')]);
        // A gap passes several.
        tunings.pass(1000);
        assert_eq!((*tunings.now(), cut(&tunings, 1000..1002)), ('e', vec![(1000..1002, 'e')]));
    }
}
