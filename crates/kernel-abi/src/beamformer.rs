//! FFT beams: the shape of a block.

/// Warps of a block. Each forms the beams of one line at one time after the other.
pub const WARPS: u32 = 4;

/// Bytes of shared memory of a block of lines of `inputs` inputs: gains of two polarisations for each warp.
#[inline(always)]
pub const fn shared_bytes(inputs: u32) -> u32 {
    2 * 4 * WARPS * inputs
}
