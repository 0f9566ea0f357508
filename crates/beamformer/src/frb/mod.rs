//! FRB beams.

pub(crate) mod kernels;
