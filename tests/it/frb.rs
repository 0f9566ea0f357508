//! The example `frb` as a user runs it: it checks itself, and one line with exit status 2 says what is wrong.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::example("frb")).current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn a_pulse_is_found_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["--backend", "cpu", "--dm", "37", "--seed", "3", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["grid.png", "waterfall.png"] {
        assert!(fs::metadata(folder.path().join("out").join(name)).unwrap().len() > 10_000);
    }
}

#[test]
fn what_is_not_found_or_cannot_be_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--pulse", "0"][..], &["--dm", "nan"], &["--dm", "100"], &["--pulse", "0.001"]] {
        let output = run(folder.path(), arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
    }
}
