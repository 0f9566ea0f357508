//! The tools that need a GPU, where there is none: one line on standard error and exit status 3; and exit status 2 for
//! arguments that mean nothing.

use std::process::Output;

use crate::run;

const PROGRAMS: [&str; 6] = ["validate", "bench", "conformance", "saxpy", "scale", "tune"];

fn lines(output: &Output) -> usize {
    String::from_utf8_lossy(&output.stderr).trim_end().lines().count()
}

#[test]
fn without_a_gpu_there_is_one_line_and_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.json");
    for name in PROGRAMS {
        let output = run(name, &[]);
        assert_eq!(output.status.code(), Some(3), "{name}: {output:?}");
        assert_eq!(lines(&output), 1, "{name}: {output:?}");
        assert!(output.stdout.is_empty(), "{name}: {output:?}");
    }
    for name in ["validate", "bench"] {
        let output = run(name, &["--gpu", "0", "--json", &record.to_string_lossy()]);
        assert_eq!((output.status.code(), lines(&output)), (Some(3), 1), "{name}: {output:?}");
        assert!(!record.exists(), "{name}");
    }
}

#[test]
fn arguments_that_mean_nothing_are_status_2() {
    for name in PROGRAMS {
        let output = run(name, &["--no-such-option"]);
        assert_eq!(output.status.code(), Some(2), "{name}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{name}: {output:?}");
    }
    let cases: [(&str, &[&str], &str); 7] = [
        ("validate", &["--only", "fft"], "fft"),
        ("validate", &["--gpu", "first"], "first"),
        ("bench", &["--only", "mma_s8"], "mma_s8"),
        ("bench", &["--runs", "9"], "9"),
        ("bench", &["--runs", "many"], "many"),
        ("scale", &["--gpus", "0"], "0"),
        ("saxpy", &["1.5"], "1.5"),
    ];
    for (name, arguments, named) in cases {
        let output = run(name, arguments);
        assert_eq!((output.status.code(), lines(&output)), (Some(2), 1), "{name} {arguments:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(named), "{name} {arguments:?}: {output:?}");
    }
}
