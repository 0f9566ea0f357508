//! Which times of a chunk are added.

use std::ops::Range;

use crate::chunk::Layout;

/// Times of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Times<'a> {
    /// Times that follow each other.
    Range(Range<usize>),
    /// Ascending times.
    List(&'a [usize]),
}

impl<'a> Times<'a> {
    /// Ascending times, as a range if they are one.
    pub(crate) fn of(list: &'a [usize]) -> Self {
        match list {
            [first, .., last] if last - first + 1 == list.len() => Self::Range(*first..last + 1),
            [only] => Self::Range(*only..only + 1),
            [] => Self::Range(0..0),
            list => Self::List(list),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(list) => list.len(),
        }
    }

    /// From the first time to behind the last one.
    pub(crate) fn span(&self) -> Range<usize> {
        match self {
            Self::Range(range) => range.clone(),
            Self::List(list) => list.first().copied().unwrap_or(0)..list.last().map_or(0, |last| last + 1),
        }
    }

    /// The list that says which times, if they are no range from 0 on.
    pub(crate) fn list(&self) -> Option<&'a [usize]> {
        match self {
            Self::Range(_) => None,
            Self::List(list) => Some(list),
        }
    }

    /// The times in runs that follow each other.
    pub(crate) fn runs(&self) -> Vec<Range<usize>> {
        match self {
            Self::Range(range) => vec![range.clone()],
            Self::List(list) => list
                .chunk_by(|&time, &next| next == time + 1)
                .filter_map(|run| Some(*run.first()?..run.last()? + 1))
                .collect(),
        }
    }

    /// Ascending times of heaps of `spectra` spectra: as a range if they are one of whole heaps.
    pub(crate) fn of_heaps(list: &'a [usize], spectra: usize) -> Self {
        match Self::of(list) {
            Self::Range(range) if !(range.start.is_multiple_of(spectra) && range.end.is_multiple_of(spectra)) => {
                Self::List(list)
            }
            times => times,
        }
    }

    /// Whether these are runs that are long enough to be sent one by one, and of whole heaps.
    pub(crate) fn has_long_runs(&self, layout: Layout) -> bool {
        /// Spectra of a run on the average.
        const LONG: usize = 512;
        let whole = |run: &Range<usize>| match layout {
            Layout::Heaps { spectra } => run.start.is_multiple_of(spectra) && run.end.is_multiple_of(spectra),
            Layout::Voltages | Layout::Rows => true,
        };
        let runs = self.runs();
        self.len() / runs.len().max(1) >= LONG && runs.iter().all(whole)
    }

    /// The times by blocks of `spectra`, of which block 0 begins `lead` times before time 0 (or later, if that is below
    /// 0, and no time is before): the blocks that have any.
    pub(crate) fn by_block(&self, lead: isize, spectra: usize) -> Vec<(usize, Times<'a>)> {
        let block = |time: usize| time.saturating_add_signed(lead) / spectra;
        match self {
            Self::Range(range) if range.is_empty() => Vec::new(),
            Self::Range(range) => (block(range.start)..=block(range.end - 1))
                .map(|number| {
                    let edge = |number: usize| (number * spectra).saturating_add_signed(lead.saturating_neg());
                    (number, Self::Range(edge(number).max(range.start)..edge(number + 1).min(range.end)))
                })
                .collect(),
            Self::List(list) => list
                .chunk_by(|&time, &next| block(time) == block(next))
                .filter_map(|times| Some((block(*times.first()?), Self::of(times))))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_ranges_are_ranges() {
        assert_eq!(Times::of(&[3, 4, 5]), Times::Range(3..6));
        assert_eq!((Times::of(&[7]), Times::of(&[])), (Times::Range(7..8), Times::Range(0..0)));
        assert_eq!(Times::of(&[3, 5]), Times::List(&[3, 5]));
        assert_eq!(Times::of(&[3, 4, 7, 9, 10]).runs(), [3..5, 7..8, 9..11]);
        assert_eq!((Times::of(&[3, 5]).span(), Times::of(&[3, 5]).len()), (3..6, 2));
    }

    #[test]
    fn blocks_have_their_times() {
        let of = Times::Range(2..9).by_block(3, 4);
        assert_eq!(of, [(1, Times::Range(2..5)), (2, Times::Range(5..9))]);
        let list = [0, 1, 5, 8, 9];
        let of = Times::of(&list).by_block(3, 4);
        assert_eq!(
            of,
            [(0, Times::Range(0..1)), (1, Times::Range(1..2)), (2, Times::List(&[5, 8])), (3, Times::Range(9..10))]
        );
        assert_eq!(Times::Range(4..4).by_block(0, 4), []);
        let of = Times::Range(9..14).by_block(-8, 4);
        assert_eq!(of, [(0, Times::Range(9..12)), (1, Times::Range(12..14))]);
    }
}
