//! `soak` on the CPU: some dumps all equal their exact sums, and one that is changed is found.
#![allow(clippy::unwrap_used)] // helper functions of tests

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The example programs are built beside this test: `target/<profile>/deps/<test>` and
/// `target/<profile>/examples/<name>`.
fn soak(arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program: PathBuf = profile.join("examples").join(format!("soak{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run `cargo build --examples` first", program.display());
    Command::new(program).args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("FRINGES_GPU").output().unwrap()
}

#[test]
fn fifty_dumps_on_the_cpu_are_exact_and_some_saturate() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.json");
    let output = soak(&["--backend", "cpu", "--dumps", "50", "--seed", "1", "--json", &record.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let row = &record["rows"][0];
    assert!(row["params"]["dumps"].as_u64().unwrap() >= 50, "{row}");
    assert!(row["params"]["saturated"].as_u64().unwrap() > 0, "{row}");
    assert!(row["check"].as_str().unwrap().starts_with("equals exact sums"), "{row}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("--seed 1\n"), "{output:?}");
}

#[test]
fn a_changed_value_is_found_and_the_stream_named() {
    let output = soak(&["--backend", "cpu", "--dumps", "50", "--seed", "1", "--plant-fault", "23"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line.trim_end().lines().count(), 1, "{line}");
    assert!(line.contains("dump 23") && line.contains("--seed"), "{line}");
}

#[test]
fn without_a_gpu_there_is_one_line_and_status_3() {
    let output = soak(&[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{output:?}");
    assert_eq!(soak(&["--dumps", "0"]).status.code(), Some(2));
}
