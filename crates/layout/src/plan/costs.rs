//! What instructions cost on an architecture.

use crate::program::Counts;

/// SM-cycles that one warp instruction occupies its pipe, per kind. A warp instruction of throughput 32 lanes a cycle
/// and SM costs 1; one that a GPU does not have costs infinitely much, and no plan uses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// `selp`.
    pub select: f64,
    /// `prmt`.
    pub permute: f64,
    /// `shfl`.
    pub shuffle: f64,
    /// `movmatrix`.
    pub move_matrix: f64,
    /// One 32-bit word a lane of conflict-free `st.shared`.
    pub store_word: f64,
    /// One 32-bit word a lane of conflict-free `ld.shared`.
    pub load_word: f64,
    /// One matrix of `stmatrix`.
    pub store_matrix: f64,
    /// One matrix of `ldmatrix`.
    pub load_matrix: f64,
    /// Logical operation on an address.
    pub logic: f64,
    /// `bar.warp.sync`.
    pub barrier: f64,
    /// `fma.f16x2`.
    pub half2: f64,
    /// `mma.m16n8k8`, f16.
    pub mma_k8: f64,
    /// `mma.m16n8k16`, f16.
    pub mma_k16: f64,
}

/// A cost table: an architecture and its rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// What was measured, and where the numbers are from.
    pub name: &'static str,
    /// The rates.
    pub rates: Rates,
}

impl Costs {
    /// The FRB note's table for an A40 and L40S: permutes and half2 operations 0.5, shuffles 2, MMAs 2 and 4. The note
    /// gives no rate for selects (taken as a permute's), `movmatrix` (a shuffle's) and shared memory (one word a
    /// lane and cycle, as the hardware's documentation has it); these chips have no `stmatrix`.
    pub const NOTE: Self = Self {
        name: "A40/L40S, as the FRB note has it",
        rates: Rates {
            select: 0.5,
            permute: 0.5,
            shuffle: 2.0,
            move_matrix: 2.0,
            store_word: 1.0,
            load_word: 1.0,
            store_matrix: f64::INFINITY,
            load_matrix: 1.0,
            logic: 0.5,
            barrier: 0.5,
            half2: 0.5,
            mma_k8: 2.0,
            mma_k16: 4.0,
        },
    };

    /// Measured on an H200 at 1980 MHz, 16 warps an SM, instructions of the same kind back to back, without bank
    /// conflicts: `bench_gpu --only rates`, record in docs/measurements. A `movmatrix` takes no longer than a
    /// shuffle, and `stmatrix` and `ldmatrix` no longer than the words that they move.
    pub const H200: Self = Self {
        name: "H200, measured",
        rates: Rates {
            select: 0.51,
            permute: 0.51,
            shuffle: 1.0,
            move_matrix: 1.0,
            store_word: 1.0,
            load_word: 1.0,
            store_matrix: 1.0,
            load_matrix: 1.0,
            logic: 0.51,
            barrier: 0.28,
            half2: 0.28,
            mma_k8: 1.02,
            mma_k16: 1.56,
        },
    };

    /// SM-cycles of a program on this architecture: the sum over its instructions.
    pub fn cost(&self, counts: &Counts) -> f64 {
        let rates = &self.rates;
        [
            (counts.select, rates.select),
            (counts.permute, rates.permute),
            (counts.shuffle, rates.shuffle),
            (counts.move_matrix, rates.move_matrix),
            (counts.store_words, rates.store_word),
            (counts.load_words, rates.load_word),
            (counts.store_matrix, rates.store_matrix),
            (counts.load_matrix, rates.load_matrix),
            (counts.address, rates.logic),
            (counts.barrier, rates.barrier),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0) // none of an instruction that there is not costs nothing
        .fold(0.0, |sum, (count, rate)| sum + f64::from(count) * rate) // (the sum of no f64 is -0)
    }
}
