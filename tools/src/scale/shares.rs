//! What each rank has of something.

use std::ops::Range;

/// `total` things shared among ranks in order, the first ones having one more where they do not divide.
pub(crate) fn shares(total: usize, ranks: usize) -> Vec<Range<usize>> {
    let (each, more) = (total / ranks.max(1), total % ranks.max(1));
    let start = |rank: usize| rank * each + rank.min(more);
    (0..ranks).map(|rank| start(rank)..start(rank + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_are_all_of_it_in_order_and_differ_by_one_at_most() {
        assert_eq!(shares(8, 2), [0..4, 4..8]);
        assert_eq!(shares(5, 2), [0..3, 3..5]);
        assert_eq!(shares(11, 4), [0..3, 3..6, 6..9, 9..11]);
        assert_eq!(shares(7, 1).first(), Some(&(0..7)));
    }
}
