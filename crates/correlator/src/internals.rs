//! What tests, measurements and tuning need of the kernels, and users do not: no part of the interface.

/// The kernels of 32-bit floats.
pub mod float {
    pub use crate::kernels::float::*;
}

/// The kernels of integers and f16 that every device runs.
pub mod mma {
    pub use crate::kernels::mma::*;
}

/// The kernels of integers and f16 of compute capability 9.0.
pub mod wgmma {
    pub use crate::kernels::wgmma::*;
}

pub use crate::device::{Cutting, Granule, cut};
pub use crate::kernels::shape::{MAX_LAUNCH_TIMES, ROW_TIMES, Shape};
pub use crate::kernels::tune::{Measured, OPERATIONS, sweep};
