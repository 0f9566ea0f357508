//! The example `beams` as a user runs it: it checks itself, and one line with exit status 2 says what is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::example("beams")).current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn a_short_run_agrees_with_theory_and_writes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--backend", "cpu", "--duration", "0.6", "--output", "pulsar.fil", "--out", "out"];
    let output = run(folder.path(), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("allowed"), "{text}");
    assert!(fs::metadata(folder.path().join("out/beams.png")).unwrap().len() > 10_000);
    // 18 periods of 32 bins and 16 channels.
    let file = fs::read(folder.path().join("pulsar.fil")).unwrap();
    let end = file.windows(10).position(|bytes| bytes == b"HEADER_END").unwrap() + 10;
    assert_eq!(file.len() - end, 18 * 32 * 16);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--duration", "0.1"][..],
        &["--duration", "nan"],
        &["--antennas", "3"],
        &["--transmitter", "9"],
        &["--output", "none/pulsar.fil"],
    ] {
        let output = run(folder.path(), arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    }
}
