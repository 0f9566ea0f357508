//! Files as a process that is killed leaves them, read by the reader of `rust-hdf5`: the writer uses its encodings of
//! single structures, but none of its code that finds chunks or reads files.

use std::fs;
use std::path::Path;

use rust_hdf5::H5File;

use super::disk::Step;
use super::{ColumnKind, Count, Description, Field, GrowingFile, Kind};
use crate::IoError;

fn description() -> Description {
    let field = |name, bytes: Vec<u8>| Field {
        group: "Header/inner",
        name,
        kind: Kind::I64,
        shape: vec![bytes.len() as u64 / 8],
        bytes,
        must_agree: true,
    };
    let fields = vec![field("small", 7i64.to_le_bytes().to_vec()), field("large", 9i64.to_le_bytes().repeat(100))];
    let column = |name, kind, row_shape, chunk_rows| ColumnKind { name: ("Data", name), kind, row_shape, chunk_rows };
    Description {
        fields,
        columns: vec![column("narrow", Kind::F64, vec![], 1), column("wide", Kind::I64, vec![2, 3], 4)],
        counts: vec![Count { name: ("Header", "rows"), rows: 1 }, Count { name: ("Header", "pairs"), rows: 2 }],
    }
}

/// Appends rows whose values tell their number.
fn append(file: &mut GrowingFile, rows: u64) {
    let first = file.rows();
    let narrow: Vec<u8> = (first..first + rows).flat_map(|row| (row as f64 + 0.5).to_le_bytes()).collect();
    let wide: Vec<u8> = (6 * first..6 * (first + rows)).flat_map(u64::to_le_bytes).collect();
    // In two parts, as the writer of visibilities does.
    let half = rows / 2;
    let (one, other) = wide.split_at(48 * half as usize);
    file.write(1, 0, one).unwrap();
    file.write(1, half, other).unwrap();
    file.write(0, 0, &narrow).unwrap();
    file.advance(rows);
}

/// Checks that a file has so many rows, all of them right.
fn check(path: &Path, rows: u64) {
    let file = H5File::open(path).unwrap();
    let set = |name: &str| file.dataset(name).unwrap();
    assert_eq!(set("Header/rows").read_raw::<i64>().unwrap(), [rows as i64]);
    assert_eq!(set("Header/pairs").read_raw::<i64>().unwrap(), [rows as i64 / 2]);
    assert_eq!(set("Header/inner/small").read_raw::<i64>().unwrap(), [7]);
    assert_eq!(set("Header/inner/large").read_raw::<i64>().unwrap(), [9; 100]);
    assert_eq!(set("Data/narrow").shape(), [rows as usize]);
    assert_eq!(set("Data/wide").shape(), [rows as usize, 2, 3]);
    if rows > 0 {
        let expected: Vec<f64> = (0..rows).map(|row| row as f64 + 0.5).collect();
        assert!(set("Data/narrow").read_raw::<f64>().unwrap() == expected, "{rows}");
        let expected: Vec<i64> = (0..6 * rows as i64).collect();
        assert!(set("Data/wide").read_raw::<i64>().unwrap() == expected, "{rows}");
    }
}

#[test]
fn whatever_write_was_the_last_the_file_has_the_rows_of_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5");
    let mut file = GrowingFile::create(&path, &description()).unwrap();
    let mut commits = vec![0];
    for step in 0..120 {
        append(&mut file, [1, 5, 2, 3][step % 4]);
        if step % 3 != 1 {
            file.commit().unwrap();
            commits.push(file.rows());
        }
    }
    let left = folder.path().join("left.h5");
    let mut bytes: Vec<u8> = Vec::new();
    let mut commits = commits.into_iter();
    let mut committed = None;
    let mut states = 0;
    let put = |bytes: &mut Vec<u8>, offset: u64, part: &[u8]| {
        let end = offset as usize + part.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[offset as usize..end].copy_from_slice(part);
    };
    for step in &file.disk.journal {
        match step {
            Step::Length(length) => bytes.resize(*length as usize, 0),
            Step::Write(offset, part) => {
                let root = *offset == 0;
                assert_eq!(root, *offset < 4096, "only whole root pages are written to the root page");
                if !root && let Some(rows) = committed {
                    // Half of it alone.
                    put(&mut bytes, *offset, &part[..part.len() / 2]);
                    fs::write(&left, &bytes).unwrap();
                    check(&left, rows);
                }
                put(&mut bytes, *offset, part);
                if root {
                    assert_eq!(part.len(), 4096);
                    committed = commits.next();
                }
            }
        }
        if let Some(rows) = committed {
            fs::write(&left, &bytes).unwrap();
            check(&left, rows);
            states += 1;
        }
    }
    assert!(commits.next().is_none() && states > 500, "{states}");
    assert!(bytes == fs::read(&path).unwrap());
}

#[test]
fn a_file_goes_on_from_every_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    for rows in (0..40).chain((40..330).step_by(7)) {
        let path = folder.path().join(format!("{rows}.h5"));
        let mut file = GrowingFile::create(&path, &description()).unwrap();
        (0..rows).for_each(|_| append(&mut file, 1));
        file.commit().unwrap();
        append(&mut file, 90); // never committed
        drop(file);
        check(&path, rows);
        for more in [3, 50] {
            let mut file = GrowingFile::resume(&path, &description()).unwrap();
            let first = file.rows();
            let last = file.last_row(0).unwrap().map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()));
            assert_eq!(last, first.checked_sub(1).map(|row| row as f64 + 0.5));
            append(&mut file, more);
            file.commit().unwrap();
            check(&path, first + more);
        }
    }
}

#[test]
fn twenty_thousand_chunks_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5");
    drop(GrowingFile::create(&path, &description()).unwrap());
    for rows in [0, 7001, 14_002] {
        let mut file = GrowingFile::resume(&path, &description()).unwrap();
        assert_eq!(file.rows(), rows);
        for _ in 0..7 {
            (0..7).for_each(|_| append(&mut file, 142));
            append(&mut file, 6);
            file.commit().unwrap();
        }
        append(&mut file, 1);
        file.commit_and_sync().unwrap();
        check(&path, rows + 7001);
    }
    // The same rows through the reader of this module, in pieces of all sizes and from any place on.
    let mut file = GrowingFile::open(&path, &description()).unwrap();
    assert_eq!(file.rows(), 21_003);
    let mut row = 0;
    for rows in (1..).step_by(5) {
        let rows = rows.min(file.rows() - row);
        let (mut narrow, mut wide) = (vec![0; 8 * rows as usize], vec![0; 48 * rows as usize]);
        file.read(0, row, &mut narrow).unwrap();
        file.read(1, row, &mut wide).unwrap();
        assert!(narrow.chunks(8).zip(row..).all(|(bytes, row)| bytes == (row as f64 + 0.5).to_le_bytes()), "{row}");
        assert!(wide.chunks(8).zip(6 * row..).all(|(bytes, value)| bytes == value.to_le_bytes()), "{row}");
        row += rows;
        if row == file.rows() {
            break;
        }
    }
    for row in (0..21_003).rev().step_by(97) {
        let mut narrow = [0; 8];
        file.read(0, row, &mut narrow).unwrap();
        assert_eq!(f64::from_le_bytes(narrow), row as f64 + 0.5);
    }
}

#[test]
fn a_file_that_is_read_alone_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5");
    let mut file = GrowingFile::create(&path, &description()).unwrap();
    append(&mut file, 30);
    file.commit().unwrap();
    append(&mut file, 500); // never committed
    drop(file);
    let before = fs::read(&path).unwrap();
    let mut file = GrowingFile::open(&path, &description()).unwrap();
    assert_eq!(file.rows(), 30);
    let mut narrow = vec![0; 8 * 30];
    file.read(0, 0, &mut narrow).unwrap();
    assert_eq!(narrow[8 * 29..], 29.5f64.to_le_bytes());
    // It is not open for writing.
    assert!(matches!(file.write(0, 0, &narrow), Err(IoError::File { .. })));
    drop(file);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn what_is_no_file_of_this_writer_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5");
    let mut file = GrowingFile::create(&path, &description()).unwrap();
    append(&mut file, 100);
    file.commit().unwrap();
    drop(file);
    let good = fs::read(&path).unwrap();
    let resumed = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = GrowingFile::resume(&path, &description()).map(|_| ()).unwrap_err();
        assert!(fs::read(&path).unwrap() == bytes, "a file that is refused is left as it was");
        error
    };
    for end in [0, 1, 4095] {
        assert!(matches!(resumed(&good[..end]), IoError::NotUvh5 { .. }), "{end}");
    }
    assert!(matches!(resumed(&good[..4100]), IoError::NotUvh5 { .. }));
    assert!(matches!(resumed(&good[..good.len() - 1]), IoError::Truncated { .. }));
    assert!(matches!(resumed(&[b'x'; 10_000]), IoError::NotUvh5 { .. }));
    // Bytes all over the root page that are not what they were.
    for at in (0..4096).step_by(5) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let error = resumed(&bytes);
        let known = matches!(error, IoError::NotUvh5 { .. } | IoError::Hdf5(_) | IoError::Truncated { .. });
        assert!(known || matches!(error, IoError::File { .. }), "{at}: {error}");
    }
    // Bytes of what it leads to: read as rows where they are, else an error; not a panic.
    let mut refused = 0;
    for at in (4096..good.len()).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(GrowingFile::resume(&path, &description()).is_err());
    }
    assert!(refused > 100, "{refused}");
    // A value that must agree.
    let mut other = description();
    other.fields[1].bytes[3 * 8] = 5;
    fs::write(&path, &good).unwrap();
    match GrowingFile::resume(&path, &other).unwrap_err() {
        IoError::Field { field, expected, actual, .. } => {
            assert_eq!((field, &*expected, &*actual), ("large", "5 (element 3)", "9 (element 3)"));
        }
        error => panic!("{error}"),
    }
    other.fields[1].must_agree = false;
    GrowingFile::resume(&path, &other).unwrap();
}
