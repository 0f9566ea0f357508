//! Requests whose addresses are a linear map of the lane index.

use super::{AccessError, GlobalCost, LANES, LaneAddresses, SharedCost, Width};
use crate::Name;

/// One load or store of a warp whose byte addresses are a linear (affine) map of the lane index over F2:
/// `address(lane) = offset ^ XOR of columns[i] over the bits i that are set in lane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    columns: [u64; 5],
    offset: u64,
    width: Width,
}

impl Request {
    /// A request from its columns (what flipping bit `i` of the lane index flips in the byte address) and lane 0's
    /// address.
    ///
    /// # Errors
    /// [`AccessError::BitAlignment`] or [`AccessError::BaseAlignment`] if an address is no multiple of the width.
    pub const fn new(columns: [u64; 5], offset: u64, width: Width) -> Result<Self, AccessError> {
        let mut lane = 0;
        while lane < 5 {
            if columns[lane] & (width.bytes() - 1) != 0 {
                return match Name::numbered("t", lane) {
                    Ok(bit) => Err(AccessError::BitAlignment { bit, moves: columns[lane], bytes: width.bytes() }),
                    Err(error) => Err(AccessError::Layout(error)),
                };
            }
            lane += 1;
        }
        if offset & (width.bytes() - 1) != 0 {
            return Err(AccessError::BaseAlignment { address: offset, bytes: width.bytes() });
        }
        Ok(Self { columns, offset, width })
    }

    /// Bytes that each lane accesses.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// What flipping each bit of the lane index flips in the address.
    pub const fn columns(&self) -> [u64; 5] {
        self.columns
    }

    /// The address of a lane.
    pub const fn address(&self, lane: usize) -> u64 {
        let (mut address, mut bit) = (self.offset, 0);
        while bit < 5 {
            address ^= self.columns[bit] & ((lane >> bit & 1) as u64).wrapping_neg();
            bit += 1;
        }
        address
    }

    /// The addresses of all lanes.
    pub const fn lanes(&self) -> LaneAddresses {
        let (mut addresses, mut lane) = ([0; LANES], 0);
        while lane < LANES {
            addresses[lane] = self.address(lane);
            lane += 1;
        }
        LaneAddresses::full(addresses, self.width)
    }

    /// Wavefronts of shared memory.
    ///
    /// In each phase the lanes' words are `2^w` distinct ones in `2^b` banks, where `w` is the rank of the map from
    /// lane and word bits to the word address, and `b` that of the map to the bank bits; every bank that is hit has
    /// `2^(w - b)` of them.
    pub const fn shared(&self) -> SharedCost {
        let phase_bits = self.width.phase_bits();
        let words = self.rank(phase_bits, 2, u64::MAX);
        let banks = self.rank(phase_bits, 2, 31);
        let phases = 1u32 << (5 - phase_bits);
        let degree = 1 << (words - banks);
        SharedCost { wavefronts: phases * degree, ideal: (phases << words).div_ceil(32), degree }
    }

    /// Wavefronts of shared memory for an atomic operation, whose lanes do not share a word.
    pub const fn atomic(&self) -> SharedCost {
        let phase_bits = self.width.phase_bits();
        let word_bits = self.width.bits().saturating_sub(2);
        let banks = self.rank(phase_bits, 2, 31);
        let degree = 1 << (phase_bits + word_bits - banks);
        let SharedCost { ideal, .. } = self.shared();
        SharedCost { wavefronts: degree << (5 - phase_bits), ideal, degree }
    }

    /// Sectors of global memory.
    pub const fn global(&self) -> GlobalCost {
        let (sectors, bytes) = (self.rank(5, 5, u64::MAX), self.rank(5, 0, u64::MAX));
        GlobalCost { sectors: 1 << sectors, ideal: (1u32 << bytes).div_ceil(32) }
    }

    /// Wavefronts of an `ldmatrix` or `stmatrix` of 1, 2 or 4 matrices, `2^matrix_bits`: lane `8 m + i` gives the
    /// address of row `i` of matrix `m`, and a matrix is a phase.
    ///
    /// # Errors
    /// [`AccessError::Width`] if the request is not of 16 bytes (a row), [`AccessError::TooMany`] beyond four matrices.
    pub const fn matrices(&self, matrix_bits: usize) -> Result<SharedCost, AccessError> {
        if self.width.bits() != 4 {
            return Err(AccessError::Width { actual: self.width.bytes(), expected: 16 });
        }
        if matrix_bits > 2 {
            return Err(AccessError::TooMany { actual: matrix_bits, limit: 2 });
        }
        let SharedCost { degree, .. } = self.shared();
        Ok(SharedCost { wavefronts: degree << matrix_bits, ideal: 1 << matrix_bits, degree })
    }

    /// Rank of the map from the lowest `lane_bits` of the lane index and the bits inside the access to `address >>
    /// shift & mask`.
    const fn rank(&self, lane_bits: usize, shift: usize, mask: u64) -> usize {
        let mut vectors = [0; 9];
        let (mut count, mut bit) = (0, 0);
        while bit < lane_bits {
            vectors[count] = self.columns[bit] >> shift & mask;
            count += 1;
            bit += 1;
        }
        bit = 0;
        while bit < self.width.bits() {
            vectors[count] = 1 << bit >> shift & mask;
            count += 1;
            bit += 1;
        }
        rank(vectors)
    }
}

/// Dimension of the span of some vectors.
const fn rank(mut vectors: [u64; 9]) -> usize {
    let (mut rank, mut at) = (0, 0);
    while at < vectors.len() {
        let pivot = vectors[at];
        if pivot != 0 {
            rank += 1;
            let lowest = pivot & pivot.wrapping_neg();
            let mut other = at + 1;
            while other < vectors.len() {
                if vectors[other] & lowest != 0 {
                    vectors[other] ^= pivot;
                }
                other += 1;
            }
        }
        at += 1;
    }
    rank
}
