//! The example `xengine`, as a user without a GPU runs it: it draws a record, and says what is wrong with one.
#![allow(clippy::unwrap_used)] // helper functions of tests

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// The example programs are built beside this test: `target/<profile>/deps/<test>` and
/// `target/<profile>/examples/<name>`.
fn run(arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("xengine{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: run `cargo build --examples` first", program.display());
    let mut command = Command::new(program);
    command.args(arguments).env("CUDA_VISIBLE_DEVICES", "").env_remove("FRINGES_GPU");
    command.output().unwrap()
}

fn row(figure: usize, variant: &str, [stations, channels, times]: [usize; 3]) -> Value {
    let params = json!({
        "figure": figure, "stations": stations, "channels": channels, "times": times,
        "computed_pairs": 4 * stations * stations, "tile_stations": 32,
    });
    json!({
        "kernel": "correlate_f32", "variant": variant, "params": params, "time_ms": (stations * stations * channels * times) as f64 * 1e-9,
        "value": 1.0, "unit": "useful TOPS", "floor": null, "bound_by": "", "check": "",
    })
}

fn record(folder: &Path, figures: &[usize]) -> PathBuf {
    let mut rows = Vec::new();
    for &figure in figures {
        for power in 5..9 {
            let variants: &[&str] = match figure {
                4 => &["kernel", "transfer from the host"],
                5 => &["kernel"],
                _ => &["kernel", "kernel without output"],
            };
            for variant in variants {
                let (stations, channels) = if figure == 6 { (128, 1 << power) } else { (1 << power, 16) };
                rows.push(row(figure, variant, [stations, channels, 16384 / channels]));
            }
        }
    }
    let record =
        json!({ "date": "2000-01-01", "gpu": "none", "driver": "", "commit": "", "clock_mhz": 0, "rows": rows });
    let path = folder.join("record.json");
    std::fs::write(&path, record.to_string()).unwrap();
    path
}

#[test]
fn a_record_becomes_a_picture_for_each_figure_that_it_has() {
    for (figures, pictures) in [
        (&[4, 5, 6][..], &["transfer.png", "stations.png", "integration.png"][..]),
        (&[5], &["stations.png"]),
        (&[], &[]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (record(folder.path(), figures), folder.path().join("out"));
        let output = run(&["--from", &path.to_string_lossy(), "--out", &out.to_string_lossy()]);
        assert!(output.status.success(), "{output:?}");
        let listed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(listed.lines().count(), pictures.len());
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), pictures.len());
        for picture in pictures {
            let bytes = std::fs::read(out.join(picture)).unwrap();
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{picture}: {} bytes", bytes.len());
        }
    }
}

#[test]
fn what_is_no_record_is_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, bad) = (folder.path().join("missing.json"), folder.path().join("bad.json"));
    std::fs::write(&bad, "{\"rows\": 1}").unwrap();
    for path in [missing, bad] {
        let output = run(&["--from", &path.to_string_lossy(), "--out", &folder.path().to_string_lossy()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(error.lines().count() == 1 && error.contains(&*path.to_string_lossy()), "{error}");
    }
}

#[test]
fn without_a_gpu_there_is_one_line_and_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["--out", &folder.path().to_string_lossy()]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(output.stdout.is_empty() && String::from_utf8(output.stderr).unwrap().lines().count() == 1);
}
