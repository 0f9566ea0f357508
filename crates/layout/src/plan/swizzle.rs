//! The synthesis of a memory layout without bank conflicts.
//!
//! A store's phase (32 lanes of one word, 16 of two, 8 of four, or 8 rows of a matrix) touches 128 bytes, and so does a
//! load's. It is free of conflicts if the five bank bits of the address tell all its words apart, that is, if they are
//! independent on the vectors that the phase's lanes and the word's position span: a space `A` for the store, `B` for
//! the load, of the same dimension. Two subspaces of the same dimension have a common complement `C`; bank bits that
//! vanish on `C` and nowhere else on `A` or `B` serve both. With `a_i` and `b_i` completing bases of `A` and `B` from
//! one of their intersection, `C` is spanned by the `a_i + b_i` and what is in neither: each bank bit beyond the
//! intersection is the XOR of one bit of the store's lanes and one of the load's.

use fringes_layout_core::Matrix;

/// What one side of a round trip asks of the memory layout: vectors of the array's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    /// Positions inside a word, lowest address bit first: in bytes or halves.
    pub word: Vec<u32>,
    /// Words that must lie side by side, lowest address bit first.
    pub side_by_side: Vec<u32>,
    /// What else tells the words of a phase apart.
    pub phase: Vec<u32>,
}

/// A linear map from the array's index to byte addresses.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    coordinates: Matrix,
    addresses: Vec<u32>,
}

impl Memory {
    /// The byte address of an index.
    pub(super) fn address(&self, index: u32) -> u32 {
        let coordinates = self.coordinates.apply(u64::from(index));
        let set = self.addresses.iter().enumerate().filter(|(at, _)| coordinates >> at & 1 == 1);
        set.fold(0, |sum, (_, address)| sum ^ address)
    }

    /// A layout of `1 << bits` elements that serves both sides without conflicts: none if they ask for different words
    /// side by side.
    pub(super) fn new(store: &Demand, load: &Demand, bits: usize) -> Option<Self> {
        let (longer, shorter) = if store.side_by_side.len() >= load.side_by_side.len() {
            (&store.side_by_side, &load.side_by_side)
        } else {
            (&load.side_by_side, &store.side_by_side)
        };
        if store.word != load.word || !longer.starts_with(shorter) {
            return None;
        }
        let mut basis = Basis::default();
        let first_word = 2;
        for (at, &vector) in store.word.iter().enumerate() {
            basis.push(vector, 1 << (first_word - store.word.len() + at)).then_some(())?;
        }
        for (at, &vector) in longer.iter().enumerate() {
            basis.push(vector, 4 << at).then_some(())?;
        }
        let mut next = 4u32 << longer.len();
        let mut take = || {
            next <<= 1;
            next >> 1
        };
        // The intersection of the phases.
        let mut other = basis.clone();
        for &vector in &load.phase {
            other.push(vector, 0);
        }
        for choice in 1u32..1 << store.phase.len() {
            let vector = sum(&store.phase, choice);
            if other.spans(vector) && !basis.spans(vector) {
                basis.push(vector, take());
            }
        }
        let common = basis.clone();
        let complete = |vectors: &[u32]| {
            let mut basis = common.clone();
            vectors.iter().copied().filter(|&vector| basis.push(vector, 0)).collect::<Vec<_>>()
        };
        let (stored, loaded) = (complete(&store.phase), complete(&load.phase));
        let banks = (basis.vectors.len() - store.word.len()) + stored.len().max(loaded.len());
        if banks > 5 {
            return None;
        }
        for &vector in &stored {
            basis.push(vector, take());
        }
        for &vector in loaded.iter().skip(stored.len()) {
            basis.push(vector, take());
        }
        for (one, other) in stored.iter().zip(&loaded) {
            basis.push(one ^ other, take());
        }
        for bit in 0..bits {
            if !basis.spans(1 << bit) {
                basis.push(1 << bit, take());
            }
        }
        let columns: Vec<u64> = basis.vectors.iter().map(|&vector| u64::from(vector)).collect();
        let coordinates = Matrix::from_columns(&columns).ok()?.inverse()?;
        Some(Self { coordinates, addresses: basis.addresses })
    }
}

/// Independent vectors and the address bits that they are given.
#[derive(Debug, Clone, Default)]
struct Basis {
    vectors: Vec<u32>,
    addresses: Vec<u32>,
    reduced: Vec<u32>,
}

impl Basis {
    fn reduce(&self, vector: u32) -> u32 {
        self.reduced.iter().fold(vector, |vector, &each| vector.min(vector ^ each))
    }

    fn spans(&self, vector: u32) -> bool {
        self.reduce(vector) == 0
    }

    /// Adds a vector if it is independent of the others.
    fn push(&mut self, vector: u32, address: u32) -> bool {
        let reduced = self.reduce(vector);
        if reduced != 0 {
            self.reduced.push(reduced);
            self.reduced.sort_unstable_by(|one, other| other.cmp(one));
            self.vectors.push(vector);
            self.addresses.push(address);
        }
        reduced != 0
    }
}

/// The sum of the vectors whose bit is set.
pub(super) fn sum(vectors: &[u32], choice: u32) -> u32 {
    let set = vectors.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
    set.fold(0, |sum, (_, vector)| sum ^ vector)
}
