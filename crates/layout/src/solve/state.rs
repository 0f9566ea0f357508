//! Arrangements of an array's bits as numbers.

/// Most places outside the registers' numbers: three `b` bits and five lane bits.
pub(super) const PLACES: usize = 8;

/// The bit at each place; the others are register bits, in any order.
pub(super) type Tuple = [u8; PLACES];

/// Numbers the ways to put some of `symbols` bits at `places` places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codec {
    pub(super) symbols: usize,
    pub(super) places: usize,
}

impl Codec {
    /// Number of arrangements.
    pub(super) fn count(&self) -> usize {
        (0..self.places).map(|at| self.symbols - at).product()
    }

    /// The number of an arrangement.
    #[inline]
    pub(super) fn rank(&self, tuple: &Tuple) -> usize {
        let mut rank = 0usize;
        for at in 0..self.places {
            let symbol = tuple[at];
            let below = tuple[..at].iter().fold(symbol, |below, &before| below - u8::from(before < symbol));
            rank = rank * (self.symbols - at) + below as usize;
        }
        rank
    }

    /// The arrangement of a number.
    #[inline]
    pub(super) fn tuple(&self, mut rank: usize) -> Tuple {
        let mut digits = [0u8; PLACES];
        for at in (0..self.places).rev() {
            let base = self.symbols - at;
            digits[at] = (rank % base) as u8;
            rank /= base;
        }
        let (mut tuple, mut free) = ([0u8; PLACES], (1u32 << self.symbols) - 1);
        for at in 0..self.places {
            let mut left = free;
            for _ in 0..digits[at] {
                left &= left - 1;
            }
            let symbol = left.trailing_zeros();
            tuple[at] = symbol as u8;
            free &= !(1 << symbol);
        }
        tuple
    }

    /// The bits that are at no place, as a mask.
    #[inline]
    pub(super) fn rest(&self, tuple: &Tuple) -> u32 {
        let used = tuple[..self.places].iter().fold(0u32, |used, symbol| used | 1 << symbol);
        ((1u32 << self.symbols) - 1) & !used
    }
}

/// The symbols of a mask, lowest first.
#[inline]
pub(super) fn members(mut mask: u32) -> impl Iterator<Item = u8> + Clone {
    core::iter::from_fn(move || {
        (mask != 0).then(|| {
            let symbol = mask.trailing_zeros() as u8;
            mask &= mask - 1;
            symbol
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_arrangement() {
        for (symbols, places) in [(6, 6), (7, 5), (6, 3)] {
            let codec = Codec { symbols, places };
            let mut seen = std::collections::HashSet::new();
            for rank in 0..codec.count() {
                let tuple = codec.tuple(rank);
                assert_eq!(codec.rank(&tuple), rank);
                assert_eq!(codec.rest(&tuple).count_ones() as usize, symbols - places);
                assert!(seen.insert(tuple));
            }
        }
    }
}
