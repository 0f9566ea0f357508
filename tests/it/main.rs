//! The examples as a user runs them.
#![allow(clippy::unwrap_used)] // helper functions of tests

mod beams;
mod frb;
mod fx;
mod npy;

use std::path::{Path, PathBuf};

/// A program of this package, which Cargo builds beside this test: `target/<profile>/deps/<test>` and
/// `target/<profile>/examples/<name>`.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run `cargo build --examples` first", program.display());
    program
}
