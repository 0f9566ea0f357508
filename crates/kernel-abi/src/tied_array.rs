//! Tied-array beams: tiles of times and columns, tables of weights, numbers of a launch.
//!
//! A *tile* of the product has [`TIMES`] times and 16, 64 or 128 *columns*, digits of weights: one a beam of 8-bit
//! and f16 weights, two of 16-bit ones. Inputs come a *chunk* at a time, 128 bytes of a column.
//!
//! ```text
//! weights   [channel][tile][chunk][column][128 bytes]    pieces of 16 bytes at piece XOR column % 8
//! bytes     (re, -im) of 64 inputs                       8-bit digits
//!           (re, -im) of 32 inputs, as f16               of eight inputs 0 2 4 6 1 3 5 7
//! scales    [channel][tile][beam]                        f32
//! ```
//!
//! A weight of 16 bits is `256 high + low`, `low` within -128 to 127.

/// Times of a tile.
pub const TIMES: u32 = 128;

/// Columns that tiles may have.
pub const COLUMNS: [u32; 3] = [16, 64, 128];

/// Bytes of a column's weights in a chunk.
pub const CHUNK_BYTES: u32 = 128;

/// Most inputs, so that 32-bit sums of integers do not overflow: `2 * 127 * 128 * 2^14 < 2^31`.
pub const MOST_INPUTS: u32 = 1 << 14;

/// Largest magnitude of 8-bit weights.
pub const LIMIT_8: f32 = 127.0;

/// Largest magnitude of 16-bit weights.
pub const LIMIT_16: f32 = 32_639.0;

/// What a seed of the beams' dither is XORed with, so that it is not that of an F-engine with the same seed.
pub const DITHER: u64 = 0x6265_616d_7300_0000;

/// Kinds of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Weights {
    /// One 8-bit integer a part.
    Int8 = 0,
    /// Two.
    Int16 = 1,
    /// f16.
    Float16 = 2,
}

impl Weights {
    /// Columns of a beam.
    #[inline(always)]
    pub const fn digits(self) -> u32 {
        match self {
            Self::Int16 => 2,
            _ => 1,
        }
    }

    /// Inputs of a chunk.
    #[inline(always)]
    pub const fn chunk_inputs(self) -> u32 {
        match self {
            Self::Float16 => 32,
            _ => 64,
        }
    }
}

/// Neighbouring beams that a lane holds: `most` (2, 4 or 8), or all that there are.
#[inline(always)]
pub const fn run(most: u32, columns: u32, digits: u32) -> u32 {
    let all = columns / digits / 4;
    if most < all { most } else { all }
}

/// Column of digit `digit` (0 the high one) of beam `beam` of a tile, where a lane holds `run` neighbouring beams.
#[inline(always)]
pub const fn column(beam: u32, digit: u32, digits: u32, run: u32) -> u32 {
    let (super_block, rest) = (beam / (4 * run), beam % (4 * run));
    let (lane, place) = (rest / run, rest % run);
    let block = super_block * (run / 2) + place / 2;
    8 * (block * digits + digit) + 2 * lane + place % 2
}

/// Byte of input `input` of a chunk of f16 weights.
#[inline(always)]
pub const fn byte_f16(input: u32) -> u32 {
    let within = input % 8;
    32 * (input / 8) + 4 * (within / 2 + 4 * (within % 2))
}

/// Where byte `byte` of a column lies in a chunk of weights.
#[inline(always)]
pub const fn place(column: u32, byte: u32) -> u32 {
    CHUNK_BYTES * column + (byte ^ (16 * (column % 8)))
}

/// What becomes of beams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Output {
    /// Complex f32 `[channel][time][beam]`.
    Float32 = 0,
    /// Complex f16.
    Float16 = 1,
    /// Complex 8-bit integers.
    Int8 = 2,
    /// Powers f32, summed over up to 16 times.
    Power = 3,
    /// `|x|^2, |y|^2, Re x conj y, Im x conj y` of neighbouring beams, f32, summed over up to 16 times.
    Coherency = 4,
}

impl Output {
    /// Neighbouring beams that a lane holds at most: 16 bytes of them.
    #[inline(always)]
    pub const fn most_run(self) -> u32 {
        match self {
            Self::Float16 => 4,
            Self::Int8 => 8,
            _ => 2,
        }
    }

    /// Bytes of a beam.
    #[inline(always)]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Int8 => 2,
            Self::Float16 | Self::Power => 4,
            Self::Float32 | Self::Coherency => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_of_a_beam_has_a_column_of_its_own() {
        for columns in COLUMNS {
            for digits in [1, 2] {
                for most in [2, 4, 8] {
                    let run = run(most, columns, digits);
                    let mut seen = [false; 128];
                    for beam in 0..columns / digits {
                        for digit in 0..digits {
                            let column = column(beam, digit, digits, run) as usize;
                            assert!(!core::mem::replace(&mut seen[column], true), "{columns} {digits} {run} {beam}");
                        }
                    }
                    assert!(seen[..columns as usize].iter().all(|&seen| seen));
                }
            }
        }
    }

    #[test]
    fn f16_weights_of_a_chunk_have_all_its_bytes() {
        let mut seen = [false; 32];
        for input in 0..32 {
            let byte = byte_f16(input);
            assert!(byte % 4 == 0 && !core::mem::replace(&mut seen[byte as usize / 4], true));
        }
    }
}
