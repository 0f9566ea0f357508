//! Which spectra are made together, and which wait for a later chunk.

/// Which spectra are taken together: the first of a frame, then the next, and at last those up to its end. Those that
/// are not complete are made with a later chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Together {
    /// Spectra of a frame.
    pub frame: usize,
    /// Spectra of a part of it.
    pub part: usize,
}

impl Together {
    /// Every spectrum by itself.
    pub const SINGLE: Self = Self { frame: 1, part: 1 };

    /// How many of `ready` spectra from number `first` on are made now.
    pub(super) fn of(self, first: u64, ready: usize) -> usize {
        let end = first.saturating_add(ready as u64);
        let place = end % self.frame.max(1) as u64;
        let left = place % self.part.max(1) as u64;
        (ready as u64).saturating_sub(left) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spectra_that_are_taken_together_end_with_a_part_or_a_frame() {
        let together = Together { frame: 10, part: 4 };
        for (first, ready, expected) in [(0, 3, 0), (0, 4, 4), (0, 9, 8), (0, 10, 10), (8, 1, 0), (8, 2, 2), (8, 7, 6)]
        {
            assert_eq!(together.of(first, ready), expected, "{first} {ready}");
        }
        assert!((0..40).all(|ready| Together::SINGLE.of(7, ready) == ready));
    }
}
