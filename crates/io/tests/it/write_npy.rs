//! Npy files: what is written is read, and what numpy could have written is read or refused with a reason.
#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

use std::fs;
use std::path::{Path, PathBuf};

use fringes_io::IoError;
use fringes_io::write::npy::{NpyElement, npy_info, read_npy, write_npy};
use ndarray::{Array, Array1, Array2, Array3, ArrayD, Dimension, ShapeBuilder, array};
use num_complex::Complex;
use proptest::prelude::*;

/// A version 1 file with this header text and data.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let text = format!("{header:<117}\n");
    bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend(text.bytes());
    bytes.extend(data);
    bytes
}

fn file(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("x.npy");
    fs::write(&path, bytes).unwrap();
    path
}

fn check<T: NpyElement + PartialEq + std::fmt::Debug, D: Dimension>(path: &Path, array: &Array<T, D>) {
    write_npy(path, array).unwrap();
    assert_eq!(&read_npy::<T, D>(path).unwrap(), array);
}

#[test]
fn arrays_of_every_type_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    check(&path, &array![[i8::MIN, -1, 0, i8::MAX]]);
    check(&path, &array![i16::MIN, -1, i16::MAX]);
    check(&path, &array![[[f32::MIN_POSITIVE, -1.5]], [[f32::MAX, 0.0]]]);
    check(&path, &array![[Complex::new(1.0f32, -2.0), Complex::new(0.5, 3.0)]]);
    check(&path, &array![i64::MIN, i64::MAX]);
    check(&path, &array![1.0f64, -0.1]);
    check(&path, &Array3::<f32>::zeros((2, 0, 3)));
}

#[test]
fn bytes_of_a_written_file_are_those_of_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, &array![[1i16, 2, 3], [4, 5, -1]]).unwrap();
    let bytes = fs::read(&path).unwrap();
    let text = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)}";
    assert_eq!(bytes.len(), 128 + 12, "the header ends at a multiple of 64");
    assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(std::str::from_utf8(&bytes[10..128]).unwrap().trim_end().replace(", }", "}"), text);
    assert_eq!(&bytes[128..], [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 255, 255]);
}

#[test]
fn fortran_order_is_read_into_standard_layout() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        file(folder.path(), &npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", &[1, 4, 2, 5, 3, 6]));
    let read: Array2<i8> = read_npy(&path).unwrap();
    assert_eq!(read, array![[1, 2, 3], [4, 5, 6]]);
    assert!(read.is_standard_layout());
    assert!(npy_info(&path).unwrap().fortran_order);
    // Fortran layout in memory is written as such and comes back the same.
    let fortran = Array3::from_shape_fn((2, 3, 4).f(), |(i, j, k)| (100 * i + 10 * j + k) as f32);
    write_npy(&path, &fortran).unwrap();
    assert!(npy_info(&path).unwrap().fortran_order);
    assert_eq!(read_npy::<f32, _>(&path).unwrap(), fortran);
    // So are views that are neither.
    let stepped = fortran.slice(ndarray::s![.., ..;2, 1..3]);
    write_npy(&path, &stepped).unwrap();
    assert_eq!(read_npy::<f32, _>(&path).unwrap(), stepped);
}

#[test]
fn either_byte_order_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        file(folder.path(), &npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", &[1, 2, 255, 254]));
    assert_eq!(read_npy::<i16, ndarray::Ix1>(&path).unwrap(), array![258, -2]);
}

#[test]
fn another_type_is_an_error_that_names_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, &array![1.0f64]).unwrap();
    match read_npy::<f32, ndarray::Ix1>(&path) {
        Err(IoError::NpyType { expected, actual, .. }) => assert_eq!((&*expected, &*actual), ("<f4", "<f8")),
        other => panic!("{other:?}"),
    }
    let info = npy_info(&path).unwrap();
    assert_eq!((&*info.dtype, &*info.shape, info.fortran_order), ("<f8", &[1][..], false));
}

#[test]
fn another_rank_is_an_error_that_names_the_shape() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    write_npy(&path, &Array2::<f32>::zeros((3, 5))).unwrap();
    match read_npy::<f32, ndarray::Ix3>(&path) {
        Err(IoError::NpyRank { expected, actual, .. }) => assert_eq!((expected, actual), (3, vec![3, 5])),
        other => panic!("{other:?}"),
    }
    let any: ArrayD<f32> = read_npy(&path).unwrap();
    assert_eq!(any.shape(), [3, 5]);
}

#[test]
fn a_file_cut_at_any_byte_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", &[0; 24]);
    for length in 0..whole.len() {
        let path = file(folder.path(), &whole[..length]);
        match read_npy::<f32, ndarray::Ix2>(&path) {
            Err(IoError::NpyHeader { .. }) if length < 128 => {}
            Err(IoError::NpyLength { expected, actual, .. }) if length >= 128 => {
                assert_eq!((expected, actual), ("24".into(), length as u64 - 128));
            }
            other => panic!("{length}: {other:?}"),
        }
    }
    let path = file(folder.path(), &[&whole[..], b"more"].concat());
    assert!(matches!(read_npy::<f32, ndarray::Ix2>(&path), Err(IoError::NpyLength { actual: 28, .. })));
}

#[test]
fn a_shape_larger_than_the_file_is_refused_before_anything_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    for shape in [
        "(1000000000000,)",
        "(4294967296, 4294967296)",
        "(18446744073709551615, 18446744073709551615, 2)",
        "(9223372036854775807,)",
    ] {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        let path = file(folder.path(), &npy(&header, &[0; 16]));
        assert!(
            matches!(read_npy::<f32, ndarray::IxDyn>(&path), Err(IoError::NpyLength { actual: 16, .. })),
            "{shape}"
        );
    }
    // No elements, and two other lengths that overflow.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807), }";
    let path = file(folder.path(), &npy(header, &[]));
    assert!(matches!(read_npy::<f32, ndarray::Ix3>(&path), Err(IoError::NpyLength { actual: 0, .. })));
    // A length that is no 64-bit integer.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }";
    let path = file(folder.path(), &npy(header, &[]));
    assert!(matches!(npy_info(&path), Err(IoError::NpyHeader { .. })));
}

#[test]
fn headers_that_are_not_numpys_are_typed_errors() {
    let folder = tempfile::tempdir().unwrap();
    for header in [
        "",
        "[]",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1, }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1, }",
    ] {
        let path = file(folder.path(), &npy(header, &[0; 4]));
        assert!(matches!(npy_info(&path), Err(IoError::NpyHeader { .. })), "{header}");
    }
    // Brackets that a recursive parser would follow to the end of its stack.
    for bracket in ["(", "[", "{"] {
        let path = file(folder.path(), &npy(&bracket.repeat(9000), &[]));
        assert!(matches!(npy_info(&path), Err(IoError::NpyHeader { .. })), "{bracket}");
    }
    // A version 2 header of 4 GiB, a version 4, and no npy file at all.
    for bytes in
        [&b"\x93NUMPY\x02\x00\xff\xff\xff\xff{"[..], b"\x93NUMPY\x04\x00\x76\x00", b"PK\x03\x04 not an npy file"]
    {
        let path = file(folder.path(), bytes);
        assert!(matches!(npy_info(&path), Err(IoError::NpyHeader { .. })), "{bytes:?}");
    }
}

#[test]
fn files_that_cannot_be_opened_or_written_are_typed_errors() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("no such folder").join("x.npy");
    let is_file = |error: IoError| matches!(&error, IoError::File { path, .. } if *path == absent);
    assert!(is_file(npy_info(&absent).unwrap_err()));
    assert!(is_file(read_npy::<i8, ndarray::Ix1>(&absent).unwrap_err()));
    assert!(is_file(write_npy(&absent, &array![1i8]).unwrap_err()));
    let full = Path::new("/dev/full"); // every write fails: no space left
    if full.exists() {
        let large = Array1::<f32>::zeros(1 << 16);
        for result in [write_npy(full, &large), write_npy(full, &array![1i8])] {
            match result {
                Err(IoError::File { source, .. }) => assert_eq!(source.raw_os_error(), Some(28)),
                other => panic!("{other:?}"),
            }
        }
    }
}

proptest! {
    /// Whatever the bytes, the answer is an array of the header's shape or a typed error.
    #[test]
    fn changed_bytes_never_panic(changes in prop::collection::vec((0usize..160, any::<u8>()), 1..6), cut in 0usize..400) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", &[1; 24]);
        for (at, byte) in changes {
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
        }
        bytes.truncate(cut);
        let path = file(folder.path(), &bytes);
        if let Ok(array) = read_npy::<f32, ndarray::IxDyn>(&path) {
            prop_assert_eq!(array.shape(), &npy_info(&path).unwrap().shape[..]);
        }
    }

    /// The same for texts that a header could hold.
    #[test]
    fn headers_of_python_pieces_never_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "(", ")", "[", "]", ",", ":", "'", "'descr'", "'shape'", "'fortran_order'", "'<f4'", "True", "None",
            "0", "-1", "1e999", "18446744073709551616", "0x7f", "1j", "'\\x'", "b'a'", " ",
        ]), 0..12),
        shape in prop::sample::select(vec!["(6,)", "(2, 3)", "()", "(0,)", "(1,) ", "(6, 0, 99999999999999999)"]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for header in [
            pieces.concat(),
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", pieces.concat()),
            format!("{{'descr': {}, 'fortran_order': False, 'shape': {shape}, }}", pieces.concat()),
        ] {
            let path = file(folder.path(), &npy(&header, &[1; 24]));
            let _ = npy_info(&path);
            let _ = read_npy::<f32, ndarray::IxDyn>(&path);
            let _ = read_npy::<i8, ndarray::Ix1>(&path);
        }
    }
}
