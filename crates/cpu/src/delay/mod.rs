//! Delays of samples and of voltages that are channelised already, as `fringes_reference::delay`.
//!
//! [`coarse_shift`] moves rows of samples by whole samples, [`rotate()`] turns voltages by gains and phases.

mod rotate;
mod shift;

#[cfg(test)]
mod tests;

pub use rotate::{Layout, Rotation, rotate, rotate_scratch_bytes};
pub use shift::{coarse_shift, coarse_shift_packed};
