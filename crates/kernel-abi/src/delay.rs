//! Coarse shift and fine rotation: tiles of a launch, runs of a thread.

use crate::format::Format;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Warps of a block, each of which takes tiles of its own.
pub const WARPS: u32 = THREADS / 32;

/// Pieces of 16 bytes that a thread of `shift` writes.
pub const SHIFT_PIECES: u32 = 4;

/// Bytes that a thread of `shift_any` writes.
pub const SHIFT_BYTES: u32 = 8;

/// Bytes of a tile, what a warp writes, of `shift` and of `shift_any`.
pub const SHIFT_TILES: [usize; 2] = [32 * 16 * SHIFT_PIECES as usize, 32 * SHIFT_BYTES as usize];

/// Most samples of a row that is shifted.
pub const MOST_SHIFT_TIMES: u64 = 1 << 48;

/// How a rotation's kernels of a format divide their work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// Samples of a run of voltages `[channel][time][input]`: neighbouring inputs.
    pub voltages: usize,
    /// Runs of voltages that a thread has, of times far apart: they have the same gains.
    pub times: usize,
    /// Samples of a run of heaps and of rows: neighbouring times and polarisations.
    pub heaps: usize,
    /// Channels that a thread follows by multiplication.
    pub channels: u32,
}

/// Those of a format.
#[inline(always)]
pub const fn runs(format: Format) -> Runs {
    match format {
        Format::I4 | Format::I8 => Runs { voltages: 4, times: 2, heaps: 8, channels: 32 },
        Format::F16 => Runs { voltages: 4, times: 2, heaps: 4, channels: 16 },
        Format::F32 => Runs { voltages: 2, times: 4, heaps: 2, channels: 16 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_shifts_2048_bytes_by_pieces_and_256_by_bytes() {
        assert_eq!(SHIFT_TILES, [2048, 256]);
    }

    #[test]
    fn runs_divide_rows_and_pieces() {
        for format in Format::ALL {
            let Runs { voltages, heaps, .. } = runs(format);
            assert!(format.row_times().is_multiple_of(heaps), "{format:?}");
            assert!(voltages * format.bytes() <= 16 && heaps * format.bytes() <= 16, "{format:?}");
        }
    }
}
