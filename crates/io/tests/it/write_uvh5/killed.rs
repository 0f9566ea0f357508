//! A process that is killed, and one whose disk is full. The test program runs itself as that process.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fringes_io::IoError;
use fringes_io::write::Uvh5Writer;

use super::{EPOCH_SAMPLE, check, dump, geometry, header};

/// The environment variable that names the file of the process.
const FILE: &str = "FRINGES_TEST_UVH5";

/// Appends dumps for as long as it lives, and prints how many are flushed after every third.
#[test]
#[ignore = "the process that other tests start"]
fn append_until_killed() {
    let Ok(path) = std::env::var(FILE) else { return };
    let (path, header, geometry) = (Path::new(&path), header(3, 2, 40), geometry(3));
    let mut writer = match Uvh5Writer::resume(path, &header) {
        Err(IoError::File { .. }) => Uvh5Writer::create(path, &header).unwrap(),
        resumed => resumed.unwrap(),
    };
    for number in writer.integrations().. {
        if let Err(error) = writer.append_dump(&dump(&header, number), &geometry, EPOCH_SAMPLE) {
            // Nothing more can be appended, and that is said again.
            assert!(matches!(&error, IoError::File { .. }), "{error}");
            let again = writer.append_dump(&dump(&header, number), &geometry, EPOCH_SAMPLE).unwrap_err();
            assert!(matches!(&again, IoError::Unfinished { .. }), "{again}");
            println!("\nfull {number}");
            return;
        }
        if number % 3 == 2 {
            if let Err(error) = writer.flush() {
                assert!(matches!(&error, IoError::File { .. }), "{error}");
                println!("\nfull {number}");
                return;
            }
            println!("\nflushed {}", number + 1);
        }
    }
}

/// Starts the process; `limit` is a shell's command that comes first.
fn start(path: &Path, limit: &str) -> Child {
    let test = "write_uvh5::killed::append_until_killed";
    Command::new("sh")
        .arg("-c")
        .arg(format!("{limit} exec \"$0\" --ignored --exact {test} --nocapture"))
        .arg(std::env::current_exe().unwrap())
        .env(FILE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The numbers that the process prints behind a word.
fn numbers(child: &mut Child, word: &'static str) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(move |line| line.strip_prefix(word)?.trim().parse().ok())
}

#[test]
fn a_process_that_is_killed_leaves_what_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(3, 2, 40);
    let mut whole = 0;
    for kill in 0..8 {
        let mut child = start(&path, "");
        let mut flushed = numbers(&mut child, "flushed");
        let seen = flushed.nth(kill % 5).unwrap();
        child.kill().unwrap(); // SIGKILL
        let seen = flushed.last().unwrap_or(seen);
        child.wait().unwrap();
        let writer = Uvh5Writer::resume(&path, &header).unwrap();
        let there = writer.integrations();
        drop(writer);
        assert!(there >= seen && there > whole && there.is_multiple_of(3), "{there} {seen} {whole}");
        whole = there;
        check(&path, &header, whole);
    }
}

#[test]
fn a_full_disk_is_a_typed_error_and_leaves_what_was_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(3, 2, 40);
    // No file may have more than 1.5 MB; without the signal, a write fails.
    let mut child = start(&path, "trap '' XFSZ; ulimit -f 3000;");
    let full = numbers(&mut child, "full").last().expect("the disk is full at last");
    assert!(child.wait().unwrap().success());
    let mut writer = Uvh5Writer::resume(&path, &header).unwrap();
    let there = writer.integrations();
    assert!(there > 10 && there <= full && there.is_multiple_of(3), "{there} {full}");
    check(&path, &header, there);
    writer.append_dump(&dump(&header, there), &geometry(3), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    check(&path, &header, there + 1);
}
