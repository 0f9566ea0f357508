//! The tools as a user without a GPU runs them, and what they expect of a GPU held against the emulator.
#![allow(clippy::unwrap_used)] // helper functions of tests

mod fft_model;
mod gpu_programs;
mod kernels_page;
mod layout;
mod program;
mod soak;
mod validate_data;
mod validate_fft_data;
mod xengine;

use std::process::{Command, Output};

/// Runs a tool, which sees no GPU, whatever the machine has.
fn run(tool: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fringes-tools"));
    command.arg(tool).args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("FRINGES_GPU");
    command.output().unwrap()
}
