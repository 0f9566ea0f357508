//! Jobs of the F-engine's kernels: some consecutive spectra of one input each.

pub use fringes_kernel_abi::f_engine::{JOB_PIECES, JOB_WORDS, Job};
