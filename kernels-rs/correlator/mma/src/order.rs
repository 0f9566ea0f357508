//! Orders of samples: where a stage has those of an input, and which inputs a fragment has.
//!
//! A stage has a number of bytes of each row of a tile's side, 128 to a row of shared memory, and a quarter of them
//! makes the words of a fragment:
//!
//! | order | rows of a side | bytes of each | fragment of 16 inputs |
//! |---|---|---|---|
//! | [`Rows`] | inputs | 128 | `ldmatrix`: 16 inputs, 32 bytes each; halves are the first and the last 8 |
//! | [`SingleHeaps`] | antennas of one polarisation | 128 | the same |
//! | [`DualHeaps`] | antennas of two polarisations | 256 | 16 bytes a lane, 64 of each antenna; halves: pols |
//!
//! In heaps of two polarisations a lane's 16 bytes are whole spectra of one antenna, both polarisations, and byte
//! permutes part them ([`part_polarisations`](crate::format::Format::part_polarisations)); so the fragment's rows are
//! antennas in the one half as in the other.

use fringes_device::Shared;
use fringes_device::matrix::ldmatrix_x4_shared_b16;

use crate::format::Format;
use crate::places;

/// An order.
pub trait Order {
    /// Samples are in heaps: they may start at any sample, and rows are as far apart as a heap says.
    const HEAPS: bool;
    /// A row has two polarisations.
    const DUAL: bool;
    /// Inputs of a row.
    const POLARISATIONS: u32 = if Self::DUAL { 2 } else { 1 };
    /// Bytes of a row in a stage.
    const BYTES: u32 = 128 * Self::POLARISATIONS;
    /// Bytes from a fragment's rows to the next one's.
    const FRAGMENT: u32;

    /// Byte of an operand at which this lane's part of the fragment of rows from input `first` on begins.
    fn row(first: u32, lane: u32) -> u32;

    /// The same of a fragment of columns.
    fn column(first: u32, lane: u32) -> u32;

    /// Where quarter `k` of a lane's part lies if the first one lies at `at`; the operand has `side` inputs.
    fn quarter(at: u32, side: u32, k: u32) -> u32;

    /// The words of a fragment.
    ///
    /// # Safety
    /// All lanes of the warp execute it together, with addresses as the functions above give them.
    unsafe fn load(at: u32) -> [u32; 4];

    /// The words of a fragment of rows from those that were loaded.
    fn row_words<F: Format>(words: [u32; 4]) -> [u32; 4];

    /// The words of either half of a fragment of columns from those that were loaded.
    fn column_words<F: Format>(words: [u32; 4]) -> [[u32; 2]; 2];
}

macro_rules! rows {
    ($(#[doc = $doc:literal] $name:ident $heaps:literal;)*) => { $(
        #[doc = $doc]
        pub enum $name {}

        impl Order for $name {
            const HEAPS: bool = $heaps;
            const DUAL: bool = false;
            const FRAGMENT: u32 = 16 * 128;

            #[inline(always)]
            fn row(first: u32, lane: u32) -> u32 {
                let (row, chunk) = places::row_of_lane(first, lane);
                places::chunk_of_row(row, chunk)
            }

            #[inline(always)]
            fn column(first: u32, lane: u32) -> u32 {
                let (row, chunk) = places::column_of_lane(first, lane);
                places::chunk_of_row(row, chunk)
            }

            #[inline(always)]
            fn quarter(at: u32, _: u32, k: u32) -> u32 {
                // Two chunks on, whatever they are XORed with.
                at ^ (32 * k)
            }

            #[inline(always)]
            unsafe fn load(at: u32) -> [u32; 4] {
                ldmatrix_x4_shared_b16(at)
            }

            #[inline(always)]
            fn row_words<F: Format>(words: [u32; 4]) -> [u32; 4] {
                words
            }

            #[inline(always)]
            fn column_words<F: Format>(words: [u32; 4]) -> [[u32; 2]; 2] {
                // As the product takes them, two neighbouring registers: nothing to move.
                [[words[0], words[1]], [words[2], words[3]]]
            }
        }
    )* };
}

rows! {
    /// Rows of 128 bytes, `[channel][time / R][input][R]`.
    Rows false;
    /// Heaps of one polarisation, `[batch][antenna][channel][spectrum]`.
    SingleHeaps true;
}

/// Heaps of two polarisations, `[batch][antenna][channel][spectrum][pol]`.
pub enum DualHeaps {}

impl Order for DualHeaps {
    const HEAPS: bool = true;
    const DUAL: bool = true;
    const FRAGMENT: u32 = 8 * 128;

    #[inline(always)]
    fn row(first: u32, lane: u32) -> u32 {
        let (row, chunk) = places::antenna_of_lane(first / 2, lane);
        places::chunk_of_row(row, chunk)
    }

    #[inline(always)]
    fn column(first: u32, lane: u32) -> u32 {
        Self::row(first, lane)
    }

    #[inline(always)]
    fn quarter(at: u32, side: u32, k: u32) -> u32 {
        // Four chunks on, or in the rows of the last 128 bytes.
        (at ^ (64 * (k % 2))) + k / 2 * side / 2 * 128
    }

    #[inline(always)]
    unsafe fn load(at: u32) -> [u32; 4] {
        Shared::<[u32; 4]>::from_raw_parts(at, 1).load(0)
    }

    #[inline(always)]
    fn row_words<F: Format>(words: [u32; 4]) -> [u32; 4] {
        F::part_polarisations(words)
    }

    #[inline(always)]
    fn column_words<F: Format>(words: [u32; 4]) -> [[u32; 2]; 2] {
        let words = F::part_polarisations(words);
        [[words[0], words[2]], [words[1], words[3]]]
    }
}
