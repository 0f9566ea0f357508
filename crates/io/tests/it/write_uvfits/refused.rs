//! What a UVFITS file cannot hold, and places where it cannot be written.

use std::path::Path;

use fringes_io::IoError;
use fringes_io::write::{UvfitsHeader, UvfitsIntegration, UvfitsWriter};
use fringes_types::TypesError;
use ndarray::{Array1, Array2};
use num_complex::Complex;

use crate::write_uvfits::header;

/// The error of creating a file with a changed header. Nothing may be left behind.
fn refused(change: impl FnOnce(&mut UvfitsHeader)) -> IoError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    let mut header = header(3, 2, 4);
    change(&mut header);
    let error = UvfitsWriter::create(&path, &header).unwrap_err();
    assert!(!path.exists());
    error
}

#[test]
fn names_that_fits_cannot_hold_are_typed_errors() {
    for name in ["", "  ", "ninechars", "Ä1", "tab\there", "quote'''"] {
        let error = refused(|header| header.antennas[1].name = name.into());
        assert!(
            matches!(&error, IoError::FitsText { field: "antenna name", limit: 8, actual } if actual == name),
            "{error}"
        );
    }
    for text in ["Effelsberg, Ø 100 m", "line\nbreak", &"x".repeat(69), &"'".repeat(35)] {
        for (field, error) in [
            ("telescope name", refused(|header| header.telescope = text.into())),
            ("source name", refused(|header| header.source = text.into())),
        ] {
            assert!(matches!(&error, IoError::FitsText { field: f, limit: 68, .. } if *f == field), "{error}");
        }
    }
}

#[test]
fn names_at_the_limit_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    let mut header = header(1, 1, 1);
    header.telescope = "'".repeat(34);
    header.source = "x".repeat(68);
    header.antennas[0].name = "eight ch".into();
    UvfitsWriter::create(&path, &header).unwrap().finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let hdus = crate::write_uvfits::hdus(&bytes);
    assert_eq!(hdus[0].text("TELESCOP"), header.telescope);
    assert_eq!(hdus[0].text("OBJECT"), header.source);
    assert_eq!(hdus[1].data[..8], *b"eight ch");
}

#[test]
fn numbers_that_are_not_finite_are_typed_errors() {
    let nan = f64::NAN;
    for error in [
        refused(|header| header.antennas[2].position_m[1] = nan),
        refused(|header| header.array_position_m[0] = f64::INFINITY),
        refused(|header| header.phase_centre_ra_rad = nan),
        refused(|header| header.phase_centre_dec_rad = nan),
        refused(|header| header.frequencies.first_hz = nan),
        refused(|header| header.frequencies.step_hz = nan),
        refused(|header| header.ut1_minus_utc_s = nan),
    ] {
        assert!(matches!(error, IoError::Types(TypesError::NotFinite { .. })), "{error}");
    }
    let error = refused(|header| header.frequencies.step_hz = 0.0);
    assert!(matches!(error, IoError::Types(TypesError::NotPositive { .. })), "{error}");
}

#[test]
fn arrays_that_do_not_fit_each_other_are_typed_errors() {
    let error = refused(|header| {
        header.antennas.pop();
    });
    assert!(matches!(error, IoError::Types(TypesError::Dimension { expected: 3, actual: 2, .. })), "{error}");
    let error = refused(|header| header.channels = 0);
    assert!(matches!(error, IoError::Types(TypesError::Empty { .. })), "{error}");
    for channels in [usize::MAX, usize::MAX / 12, isize::MAX as usize / 20] {
        let error = refused(|header| header.channels = channels);
        assert!(matches!(error, IoError::Types(TypesError::TooLarge { .. })), "{error}");
    }
}

#[test]
fn days_without_a_utc_date_are_typed_errors() {
    for day in [i64::MIN, -1, 36_933, 2_973_484, 1 << 40, i64::MAX] {
        let error = refused(|header| header.reference_mjd_day = day);
        assert!(matches!(error, IoError::FitsDate { mjd_day } if mjd_day == day), "{error}");
    }
}

#[test]
fn integrations_that_do_not_fit_the_header_are_typed_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    let mut writer = UvfitsWriter::create(&path, &header(2, 1, 4)).unwrap();
    let visibilities = Array2::from_elem((4, 3), Complex::new(1.0f32, 0.0));
    let weights = Array1::from_elem(3, 1.0f32);
    let uvw = Array2::zeros((2, 3));
    let good = UvfitsIntegration {
        mid_seconds: 1.0,
        integration_seconds: 1.0,
        visibilities: visibilities.view(),
        weights: weights.view(),
        uvw_m: uvw.view(),
    };
    let short = weights.slice(ndarray::s![..2]);
    for (dimension, bad) in [
        ("channel", UvfitsIntegration { visibilities: visibilities.slice(ndarray::s![..3, ..]), ..good }),
        ("baseline", UvfitsIntegration { visibilities: visibilities.slice(ndarray::s![.., ..2]), ..good }),
        ("baseline", UvfitsIntegration { weights: short, ..good }),
        ("antenna", UvfitsIntegration { uvw_m: uvw.slice(ndarray::s![..1, ..]), ..good }),
        ("time", UvfitsIntegration { uvw_m: uvw.slice(ndarray::s![.., ..2]), ..good }),
    ] {
        match writer.write_integration(&bad) {
            Err(IoError::Types(TypesError::Dimension { dimension: found, .. })) => {
                assert_eq!(found.to_string(), dimension);
            }
            other => panic!("{dimension}: {other:?}"),
        }
    }
    let (bad_weight, bad_uvw) = (Array1::from_elem(3, f32::NAN), Array2::from_elem((2, 3), f64::INFINITY));
    for bad in [
        UvfitsIntegration { mid_seconds: f64::NAN, ..good },
        UvfitsIntegration { integration_seconds: f64::INFINITY, ..good },
        UvfitsIntegration { weights: bad_weight.view(), ..good },
        UvfitsIntegration { uvw_m: bad_uvw.view(), ..good },
    ] {
        let error = writer.write_integration(&bad).unwrap_err();
        assert!(matches!(error, IoError::Types(TypesError::NotFinite { .. })), "{error}");
    }
    // None of them left anything in the file.
    writer.write_integration(&good).unwrap();
    assert_eq!(writer.finish().unwrap(), 3);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(crate::write_uvfits::hdus(&bytes)[0].number("GCOUNT"), 3.0);
}

#[test]
fn places_that_cannot_be_written_are_typed_errors() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("no such folder").join("x.uvfits");
    let error = UvfitsWriter::create(&absent, &header(2, 1, 4)).unwrap_err();
    assert!(matches!(error, IoError::File { path, .. } if path == absent));
    let full = Path::new("/dev/full"); // every write fails: no space left
    if full.exists() {
        let header = header(40, 2, 64);
        let mut writer = UvfitsWriter::create(full, &header).unwrap(); // still in the buffer
        let values = crate::write_uvfits::visibilities(header.inputs, header.channels);
        let (weights, uvw) = (Array1::zeros(values.ncols()), crate::write_uvfits::uvw(40));
        let result = writer.write_integration(&UvfitsIntegration {
            mid_seconds: 0.0,
            integration_seconds: 1.0,
            visibilities: values.view(),
            weights: weights.view(),
            uvw_m: uvw.view(),
        });
        for result in [result.map(|()| 0), writer.finish()] {
            match result {
                Err(IoError::File { source, .. }) => assert_eq!(source.raw_os_error(), Some(28)),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn what_was_written_without_finishing_claims_no_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    drop(UvfitsWriter::create(&path, &header(2, 1, 4)).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(crate::write_uvfits::hdus(&bytes)[0].number("GCOUNT"), 0.0);
}
