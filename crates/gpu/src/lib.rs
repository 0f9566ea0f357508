//! GPUs from Rust.
