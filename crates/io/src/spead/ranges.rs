//! Which bytes of a heap have come.

/// Ranges of bytes, apart from each other and in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    ranges: Vec<(usize, usize)>,
    bytes: usize,
}

/// What a further range is to those that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// None of it had come.
    New,
    /// All of it had come.
    Duplicate,
    /// A part of it had come. It is not counted.
    Overlap,
    /// It would be one range too many. It is not counted.
    TooMany,
}

impl Ranges {
    /// Bytes that came.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
    }

    /// Adds `start .. start + length`, which must not overflow. At most `limit` ranges lie apart.
    pub(crate) fn insert(&mut self, start: usize, length: usize, limit: usize) -> Inserted {
        let end = start + length;
        if length == 0 {
            return Inserted::New;
        }
        // In order, it is behind the last: nothing to look for.
        let at = match self.ranges.last() {
            Some(&(last, _)) if start >= last => self.ranges.len(),
            _ => self.ranges.partition_point(|&(first, _)| first <= start),
        };
        let before = at.checked_sub(1).map(|index| self.ranges[index]);
        let after = self.ranges.get(at).copied();
        if before.is_some_and(|(_, last)| last >= end) {
            return Inserted::Duplicate;
        }
        if before.is_some_and(|(_, last)| last > start) || after.is_some_and(|(first, _)| first < end) {
            return Inserted::Overlap;
        }
        let joins_before = before.is_some_and(|(_, last)| last == start);
        let joins_after = after.is_some_and(|(first, _)| first == end);
        match (joins_before, joins_after) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = end,
            (false, true) => self.ranges[at].0 = start,
            (false, false) if self.ranges.len() >= limit => return Inserted::TooMany,
            (false, false) => self.ranges.insert(at, (start, end)),
        }
        self.bytes += length;
        Inserted::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_that_are_one_too_many_are_told() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(0, 2, 2), Inserted::New);
        assert_eq!(ranges.insert(4, 2, 2), Inserted::New);
        assert_eq!(ranges.insert(8, 2, 2), Inserted::TooMany);
        assert_eq!(ranges.insert(2, 2, 2), Inserted::New);
        assert_eq!(ranges.insert(8, 2, 2), Inserted::New);
        assert_eq!(ranges.bytes(), 8);
    }

    proptest! {
        #[test]
        fn ranges_are_a_set_of_bytes(pieces in prop::collection::vec((0usize..60, 0usize..12), 0..40)) {
            let (mut ranges, mut set) = (Ranges::default(), [false; 80]);
            for (start, length) in pieces {
                let there = set[start..start + length].iter().filter(|&&flag| flag).count();
                let expected = match there {
                    0 => Inserted::New,
                    all if all == length => Inserted::Duplicate,
                    _ => Inserted::Overlap,
                };
                // A range may be all there only in one piece, as ranges that touch are joined.
                prop_assert_eq!(ranges.insert(start, length, 100), expected);
                if expected == Inserted::New {
                    set[start..start + length].fill(true);
                }
                prop_assert_eq!(ranges.bytes(), set.iter().filter(|&&flag| flag).count());
            }
        }
    }
}
