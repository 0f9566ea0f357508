//! Shapes of blocks of the correlator's kernels, as far as host and device both have to know them.

/// Threads of a block of the kernels that pack voltages and reduce sums.
pub const PACK_THREADS: u32 = 256;

/// Positions of a channel that a thread of a reduction in an order of baselines has.
pub const REDUCE_POSITIONS: u32 = 4;

/// Rows and columns of a tile of a reduction to the full matrix.
pub const REDUCE_TILE: u32 = 32;

/// Most inputs of a correlation of rows or heaps.
pub const MOST_INPUTS: u32 = 1 << 15;

/// Most parts of the time of a launch.
pub const MOST_PARTS: u32 = 65535;

/// The correlator of 32-bit floats.
pub mod float {
    use crate::rows;

    /// Complex samples of a row.
    pub const ROW_TIMES: u32 = rows::times(8) as u32;

    /// Rows of time that are summed in registers before they are added to what lies in global memory.
    pub const FLUSH_ROWS: u32 = 64;

    /// Times that are summed in registers before they are added to what lies in global memory.
    pub const FLUSH_TIMES: u32 = FLUSH_ROWS * ROW_TIMES;

    /// Inputs on either side of a tile of the kernels for all architectures.
    pub const TILE: u32 = 64;

    /// Threads of a block of these.
    pub const THREADS: u32 = 64;

    /// Bytes of shared memory of a block of these: two stages of rows and columns.
    pub const SHARED_BYTES: u32 = 2 * 2 * TILE * rows::BYTES as u32;

    /// Blocks of a channel of the kernel for sm_90a: tiles of 128 rows and 64 columns that are not wholly above the
    /// diagonal.
    #[inline(always)]
    pub const fn wgmma_tiles(inputs: u64) -> u64 {
        let rows = inputs.div_ceil(128);
        rows * (rows + 1) - inputs.div_ceil(64) % 2
    }

    /// Threads of a block of the kernel for sm_90a.
    pub const WGMMA_THREADS: u32 = 384;

    /// Bytes of shared memory of a block of the kernel for sm_90a.
    pub const WGMMA_SHARED_BYTES: u32 = 196_672;

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn tiles_are_those_with_a_pair_of_inputs_on_or_below_the_diagonal() {
            for inputs in (1..700u64).chain([8192]) {
                let mut count = 0;
                for row in 0..inputs.div_ceil(128) {
                    let last = inputs.min(128 * (row + 1)) - 1;
                    count += (0..inputs.div_ceil(64)).filter(|column| 64 * column <= last).count() as u64;
                }
                assert_eq!(wgmma_tiles(inputs), count, "{inputs}");
            }
        }
    }
}
