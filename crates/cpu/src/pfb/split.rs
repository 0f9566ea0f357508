//! How the work of a call is cut into blocks, and what memory that takes.

use super::{Pfb, fir};

/// Size of a block, and how many are worked on at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Spectra of a block.
    pub times: usize,
    /// Inputs of a block.
    pub inputs: usize,
    /// Blocks worked on at a time, each with its own buffers.
    pub workers: usize,
}

/// Bytes of a block's rows that are aimed at: they shall be in the L2 cache, or not far, until they are transposed.
const BLOCK_BYTES: usize = 1280 * 1024;
/// Inputs of a block where there are more: 8 of them fill a cache line of the output.
const BLOCK_INPUTS: usize = 8;
/// Spectra of a block, at the least and at the most. Neighbouring windows share all but a step of their samples: short
/// blocks read them again and again.
const BLOCK_TIMES: (usize, usize) = (16, 512);

impl Split {
    /// The split that is fastest within `limit` bytes of workspace: blocks that fit the cache, fewer workers and
    /// smaller blocks if that is too much. The result may exceed the limit only where [`Split::smallest_bytes`]
    /// does.
    pub fn choose(pfb: &Pfb, times: usize, inputs: usize, limit: Option<u64>) -> Self {
        Self::choose_with(pfb, times, inputs, limit, 0)
    }

    /// As [`Split::choose`] where a worker needs `row_bytes` more for each spectrum of an input.
    pub fn choose_with(pfb: &Pfb, times: usize, inputs: usize, limit: Option<u64>, row_bytes: u64) -> Self {
        let threads = rayon::current_num_threads().max(1);
        let block_inputs = inputs.clamp(1, BLOCK_INPUTS);
        let rows = BLOCK_BYTES / (pfb.row_stride() * 8);
        let block_times = (rows / block_inputs).clamp(BLOCK_TIMES.0, BLOCK_TIMES.1);
        // Enough blocks that every thread has some, of whole groups of the FIR kernel.
        let block_times = block_times.min(times.div_ceil(threads).max(1)).next_multiple_of(fir::GROUP);
        let mut split = Self { times: block_times, inputs: block_inputs, workers: threads };
        let Some(limit) = limit else { return split };
        while split.bytes_with(pfb, row_bytes) > limit {
            if split.times > 1 {
                split.times = split.times.div_ceil(2);
            } else if split.inputs > 1 {
                split.inputs = split.inputs.div_ceil(2);
            } else if split.workers > 1 {
                split.workers -= 1;
            } else {
                break;
            }
        }
        split
    }

    /// Bytes of workspace that the split takes.
    pub fn bytes(&self, pfb: &Pfb) -> u64 {
        self.bytes_with(pfb, 0)
    }

    /// As [`Split::bytes`] where a worker needs `row_bytes` more for each spectrum of an input.
    pub fn bytes_with(&self, pfb: &Pfb, row_bytes: u64) -> u64 {
        let rows = (self.times as u64).saturating_mul(self.inputs as u64).saturating_mul(row_bytes);
        pfb.scratch_bytes(self.times, self.inputs).saturating_add(rows).saturating_mul(self.workers as u64)
    }

    /// Bytes of workspace of one spectrum at a time, the least there is.
    pub fn smallest_bytes(pfb: &Pfb) -> u64 {
        pfb.scratch_bytes(1, 1)
    }
}
