//! Builds GPU kernels written in Rust into PTX.
