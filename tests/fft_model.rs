//! The example `fft_model`, as a user without a GPU runs it.
#![allow(clippy::unwrap_used)] // helper functions of tests

use std::path::Path;
use std::process::{Command, Output};

/// The example programs are built beside this test: `target/<profile>/deps/<test>` and
/// `target/<profile>/examples/<name>`.
fn run(arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("fft_model{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run `cargo build --examples` first", program.display());
    Command::new(program).args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("FRINGES_GPU").output().unwrap()
}

/// The record's rates, one transform at 16 and at 8 warps, and one more record that is older.
fn records(folder: &Path) {
    let rate = |variant: &str, value: f64| format!(r#"{{"kernel": "rate", "variant": "{variant}", "value": {value}}}"#);
    let rates = [
        ("selp", 0.5),
        ("prmt", 0.5),
        ("lop3", 0.5),
        ("fma.f16x2", 0.25),
        ("bar.warp.sync", 0.25),
        ("shfl.bfly", 1.0),
        ("st.shared.b32", 1.0),
        ("ld.shared.b32", 1.0),
        ("mma.m16n8k8 f16", 1.0),
        ("mma.m16n8k16 f16", 1.5),
    ];
    let rates: Vec<String> = rates.map(|(variant, value)| rate(variant, value)).into();
    let transform = |warps: u32, value: f64| {
        format!(
            r#"{{"kernel": "fft_cycles", "variant": "a_transform", "params": {{"warps": {warps}}}, "value": {value}}}"#
        )
    };
    let record =
        |rows: &[String]| format!(r#"{{"gpu": "NVIDIA H200", "clock_mhz": 2000, "rows": [{}]}}"#, rows.join(", "));
    std::fs::write(folder.join("2026-01-01-rates.json"), record(&rates)).unwrap();
    let transforms = [transform(16, 52.8), transform(8, 66.0)];
    std::fs::write(folder.join("2026-01-02-fft.json"), record(&transforms)).unwrap();
    std::fs::write(folder.join("2025-01-01-fft.json"), record(&[transform(16, 11.0)])).unwrap();
}

#[test]
fn without_a_gpu_it_prints_the_note_and_what_the_records_say() {
    let folder = tempfile::tempdir().unwrap();
    records(folder.path());
    let output = run(&["--records", &folder.path().to_string_lossy()]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // The note's: 160 SM-cycles, 5e7 a second, 2.67 %.
    for line in ["= 160 SM-cycles", "= 5.00e7 transforms a second", "5e7 and 3e11: load 2.67 %"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // 8 x 1 + 16 x 1.5 + 64 x 0.25 + 16 x 1 + 32 x 0.5, on 132 SMs x 2 GHz.
    assert!(text.contains("= 80.00 SM-cycles") && text.contains("load 1.52 %"), "{text}");
    // The note's way unpacked: 24 half-cycles of selects more, at the rates of the record.
    let pipes: Vec<&str> =
        text.lines().find(|line| line.starts_with("note_by_transposes_unpacked")).unwrap().split_whitespace().collect();
    assert_eq!(pipes[1..], ["32.00", "16.00", "40.00", "16.00", "46.00", "104.00"]);
    // 132 SMs x 2 GHz / 52.8 = 5e9 a second, of which CHIME needs 1 %.
    let fastest: Vec<&str> =
        text.lines().find(|line| line.starts_with("a_transform")).unwrap().split_whitespace().collect();
    assert_eq!(fastest[1..], ["16", "52.80", "5.000e9", "1.00", "%"]);
    assert!(text.contains("no GPU here: record 2026-01-01-rates.json, transforms 2026-01-02-fft.json"), "{text}");
}

#[test]
fn the_records_of_the_repository_are_read() {
    let output = run(&["--no-gpu"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("NVIDIA H200 (no GPU here: record "), "{text}");
}

#[test]
fn records_that_are_not_there_are_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nothing");
    for (records, reason) in [(missing.as_path(), "nothing"), (folder.path(), "no record has the rates")] {
        let output = run(&["--records", &records.to_string_lossy()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.trim_end().lines().count()), (Some(1), 1), "{error}");
        assert!(error.contains(reason), "{error}");
    }
    let output = run(&["--rates"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
