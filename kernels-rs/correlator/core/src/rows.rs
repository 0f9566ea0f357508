//! The correlator's input: rows of 128 bytes, `[channel][time / 64][input][64]`.
//!
//! ```text
//! channel c, block of time k, input a:  re(64k) im(64k) re(64k+1) im(64k+1) ... re(64k+63) im(64k+63)     128 bytes
//! ```
//! Inputs follow each other without padding; the last block of time may be partly filled, and what its rows hold past
//! the last time does not matter: the kernels mask it.

use fringes_kernel_abi::format::Format;
pub use fringes_kernel_abi::rows::BYTES;

/// Complex samples of a row.
pub const TIMES: usize = Format::I8.row_times();

/// Blocks of time that `times` spectra need.
pub const fn blocks(times: usize) -> usize {
    times.div_ceil(TIMES)
}

/// Byte at which the row of (`channel`, `block`, `input`) starts, of `blocks` blocks a channel and `inputs` inputs.
#[inline(always)]
pub const fn offset(channel: usize, block: usize, input: usize, blocks: usize, inputs: usize) -> usize {
    ((channel * blocks + block) * inputs + input) * BYTES
}

/// Bytes of the rows of so many channels, times and inputs; the largest number where it does not fit.
#[inline(always)]
pub const fn bytes(channels: u32, times: u64, inputs: u32) -> u64 {
    product(channels, times.div_ceil(TIMES as u64) * inputs as u64).saturating_mul(BYTES as u64)
}

/// `a b`; the largest number where it does not fit.
#[inline(always)]
pub const fn product(a: u32, b: u64) -> u64 {
    (a as u64).saturating_mul(b)
}
