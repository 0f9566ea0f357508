//! Rows: the correlator's input, `[channel][time / R][input][R]` of complex samples, time fastest.
//!
//! ```text
//! channel c, block of time k, input a:   x(R k)  x(R k + 1)  ...  x(R k + R - 1)        128 bytes
//! ```
//!
//! Inputs follow each other without padding. The last block of time may be partly filled; what its rows hold past the
//! last time does not matter, the kernels mask it. A row is a line of the L2 cache; eight are an atom of the 128-byte
//! swizzle.

/// Bytes of a row.
pub const BYTES: usize = 128;

/// Bytes of a piece: what a thread loads or stores at once. Eight are a row.
pub const PIECE_BYTES: usize = 16;

/// Samples of a row, `R`, of samples of `bytes` bytes: a power of two, at most 128.
#[inline(always)]
pub const fn times(bytes: usize) -> usize {
    BYTES / bytes
}

/// Rows that `times` times of an input take, of samples of `bytes` bytes.
#[inline(always)]
pub const fn blocks(times: usize, bytes: usize) -> usize {
    times.div_ceil(self::times(bytes))
}

/// Number of the row of (`channel`, `block`, `input`), where channels have `blocks` blocks of time of `inputs` inputs.
/// Sizes whose product does not fit wrap or panic, as numbers do.
#[inline(always)]
pub const fn index(channel: usize, block: usize, input: usize, blocks: usize, inputs: usize) -> usize {
    (channel * blocks + block) * inputs + input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_in_the_order_of_memory() {
        let mut next = 0;
        for channel in 0..3 {
            for block in 0..5 {
                for input in 0..7 {
                    assert_eq!(index(channel, block, input, 5, 7), next);
                    next += 1;
                }
            }
        }
        assert_eq!([blocks(0, 2), blocks(1, 2), blocks(64, 2), blocks(65, 2), blocks(65, 1)], [0, 1, 1, 2, 1]);
    }
}
