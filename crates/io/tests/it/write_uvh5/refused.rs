//! What a UVH5 file cannot hold or does not go on with.

use std::fs;
use std::path::Path;

use fringes_delay_model::{Geometry, Source};
use fringes_io::IoError;
use fringes_io::write::{UvfitsWriter, Uvh5Writer, VisibilityHeader, VisibilityIntegration};
use fringes_types::{Frequencies, Inputs, TypesError};
use ndarray::{Array1, Array2, s};
use num_complex::Complex;

use super::{EPOCH_SAMPLE, array, check, dump, geometry, header};

/// The error of creating a file with a changed header. Nothing may be left behind.
fn refused(change: impl FnOnce(&mut VisibilityHeader)) -> IoError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let mut header = header(3, 2, 4);
    change(&mut header);
    let error = Uvh5Writer::create(&path, &header).unwrap_err();
    assert!(!path.exists());
    error
}

#[test]
fn headers_that_a_file_cannot_hold_are_typed_errors() {
    for name in ["", "  ", "ninechars", "Ä1"] {
        let error = refused(|header| header.antennas[1].name = name.into());
        assert!(matches!(&error, IoError::FitsText { field: "antenna name", .. }), "{error}");
    }
    let long = "x".repeat(69);
    let error = refused(|header| header.telescope = long.clone());
    assert!(matches!(error, IoError::FitsText { field: "telescope name", limit: 68, .. }), "{error}");
    let error = refused(|header| header.source = "line\nbreak".into());
    assert!(matches!(error, IoError::FitsText { field: "source name", .. }), "{error}");
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
    let error = refused(|header| {
        header.antennas.pop();
    });
    assert!(matches!(error, IoError::Types(TypesError::Dimension { expected: 3, actual: 2, .. })), "{error}");
    let error = refused(|header| header.channels = 0);
    assert!(matches!(error, IoError::Types(TypesError::Empty { .. })), "{error}");
    for channels in [usize::MAX, usize::MAX / 12, 1 << 27] {
        let error = refused(|header| header.channels = channels);
        assert!(matches!(error, IoError::Types(TypesError::TooLarge { .. })), "{error}");
    }
    for day in [i64::MIN, -1, 40_000, 1 << 40, i64::MAX] {
        let error = refused(|header| header.reference_mjd_day = day);
        assert!(matches!(error, IoError::FitsDate { .. } | IoError::Delay(_)), "{error}");
    }
    let error = refused(|header| header.array_position_m = [0.0, 0.0, 1.0]);
    assert!(matches!(error, IoError::Delay(_)), "{error}");
}

#[test]
fn a_file_that_exists_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    fs::write(&path, b"precious").unwrap();
    match Uvh5Writer::create(&path, &header(2, 1, 4)).unwrap_err() {
        IoError::File { path: told, source } => {
            assert_eq!((told, source.kind()), (path.clone(), std::io::ErrorKind::AlreadyExists));
        }
        error => panic!("{error}"),
    }
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let absent = folder.path().join("no such folder").join("x.uvh5");
    assert!(matches!(Uvh5Writer::create(&absent, &header(2, 1, 4)), Err(IoError::File { .. })));
    assert!(matches!(Uvh5Writer::resume(&absent, &header(2, 1, 4)), Err(IoError::File { .. })));
}

#[test]
fn integrations_that_do_not_fit_the_header_are_typed_errors_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(2, 1, 4);
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    writer.append_dump(&dump(&header, 0), &geometry(2), EPOCH_SAMPLE).unwrap();
    let visibilities = Array2::from_elem((4, 3), Complex::new(1.0f32, 0.0));
    let weights = Array1::from_elem(3, 1.0f32);
    let uvw = Array2::zeros((2, 3));
    let good = VisibilityIntegration {
        mid_seconds: 90_000.0,
        integration_seconds: 1.0,
        visibilities: visibilities.view(),
        weights: weights.view(),
        uvw_m: uvw.view(),
    };
    let short = weights.slice(s![..2]);
    for (dimension, bad) in [
        ("channel", VisibilityIntegration { visibilities: visibilities.slice(s![..3, ..]), ..good }),
        ("baseline", VisibilityIntegration { visibilities: visibilities.slice(s![.., ..2]), ..good }),
        ("baseline", VisibilityIntegration { weights: short, ..good }),
        ("antenna", VisibilityIntegration { uvw_m: uvw.slice(s![..1, ..]), ..good }),
        ("time", VisibilityIntegration { uvw_m: uvw.slice(s![.., ..2]), ..good }),
    ] {
        match writer.append_integration(&bad) {
            Err(IoError::Types(TypesError::Dimension { dimension: found, .. })) => {
                assert_eq!(found.to_string(), dimension);
            }
            other => panic!("{dimension}: {other:?}"),
        }
    }
    let (bad_weight, bad_uvw) = (Array1::from_elem(3, f32::NAN), Array2::from_elem((2, 3), f64::INFINITY));
    for bad in [
        VisibilityIntegration { mid_seconds: f64::NAN, ..good },
        VisibilityIntegration { integration_seconds: f64::INFINITY, ..good },
        VisibilityIntegration { weights: bad_weight.view(), ..good },
        VisibilityIntegration { uvw_m: bad_uvw.view(), ..good },
    ] {
        let error = writer.append_integration(&bad).unwrap_err();
        assert!(matches!(error, IoError::Types(TypesError::NotFinite { .. })), "{error}");
    }
    let far = VisibilityIntegration { mid_seconds: 1e15, ..good };
    assert!(matches!(writer.append_integration(&far), Err(IoError::Delay(_))));
    // Dumps of other arrays, and of another phase centre.
    let (other_inputs, other_channels) = (super::header(3, 1, 4), super::header(2, 1, 5));
    let error = writer.append_dump(&dump(&other_inputs, 1), &geometry(3), EPOCH_SAMPLE).unwrap_err();
    assert!(matches!(error, IoError::Axis { quantity: "inputs", .. }), "{error}");
    let error = writer.append_dump(&dump(&other_channels, 1), &geometry(2), EPOCH_SAMPLE).unwrap_err();
    assert!(matches!(error, IoError::Types(TypesError::Dimension { expected: 4, actual: 5, .. })), "{error}");
    let elsewhere = Source::RaDec { ra_rad: 1.25, dec_rad: -0.6 };
    let elsewhere = Geometry::new(&array(2), elsewhere, geometry(2).pointing().epoch()).unwrap();
    let error = writer.append_dump(&dump(&header, 1), &elsewhere, EPOCH_SAMPLE).unwrap_err();
    assert!(matches!(error, IoError::Axis { quantity: "phase centre", .. }), "{error}");
    // None of them left anything in the file.
    assert_eq!(writer.finish().unwrap(), 1);
    check(&path, &header, 1);
}

#[test]
fn time_goes_forward() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(2, 1, 4);
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    for number in [0, 1] {
        writer.append_dump(&dump(&header, number), &geometry(2), EPOCH_SAMPLE).unwrap();
    }
    for number in [1, 0] {
        let error = writer.append_dump(&dump(&header, number), &geometry(2), EPOCH_SAMPLE).unwrap_err();
        assert!(matches!(error, IoError::TimeOrder { previous, actual } if actual <= previous), "{error}");
    }
    writer.finish().unwrap();
    let mut writer = Uvh5Writer::resume(&path, &header).unwrap();
    let error = writer.append_dump(&dump(&header, 1), &geometry(2), EPOCH_SAMPLE).unwrap_err();
    assert!(matches!(error, IoError::TimeOrder { .. }), "{error}");
    writer.append_dump(&dump(&header, 2), &geometry(2), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    check(&path, &header, 3);
}

#[test]
fn a_file_of_another_header_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let own = header(3, 2, 4);
    let mut writer = Uvh5Writer::create(&path, &own).unwrap();
    writer.append_dump(&dump(&own, 0), &geometry(3), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    let before = fs::read(&path).unwrap();
    let told = |other: &VisibilityHeader| match Uvh5Writer::resume(&path, other).unwrap_err() {
        IoError::Field { field, expected, actual, .. } => (field, expected, actual),
        error => panic!("{error}"),
    };
    let fields = |field, expected: &str, actual: &str| (field, expected.to_string(), actual.to_string());
    assert_eq!(told(&header(4, 2, 4)), fields("Nants_telescope", "4", "3"));
    assert_eq!(told(&header(3, 1, 4)), fields("Npols", "1", "4"));
    assert_eq!(told(&header(3, 2, 300)), fields("Nfreqs", "300", "4"));
    let changed = |change: &dyn Fn(&mut VisibilityHeader)| {
        let mut other = own.clone();
        change(&mut other);
        told(&other)
    };
    let telescope = changed(&|header| header.telescope = "Other".into());
    assert_eq!(telescope, fields("telescope_name", "\"Other\"", "\"Test array\""));
    assert_eq!(changed(&|header| header.source = "Crab".into()), fields("cat_name", "\"Crab\"", "\"3C 286\""));
    let names = changed(&|header| header.antennas[1].name = "new".into());
    assert_eq!(names, fields("antenna_names", "\"new\" (element 1)", "\"ant1\" (element 1)"));
    assert_eq!(changed(&|header| header.antennas[2].position_m[1] += 1.0).0, "antenna_positions");
    assert_eq!(changed(&|header| header.array_position_m[1] += 1.0).0, "latitude");
    assert_eq!(changed(&|header| header.phase_centre_ra_rad = 1.5), fields("cat_lon", "1.5", "1.25"));
    let frequencies = Frequencies { first_hz: 1.4e9, ..own.frequencies };
    let first = changed(&|header| header.frequencies = frequencies);
    assert_eq!(first, fields("freq_array", "1400000000 (element 0)", "1300000000 (element 0)"));
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_file_that_is_no_uvh5_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let header = header(2, 1, 4);
    let refused = |path: &Path| {
        let before = fs::read(path).unwrap();
        let error = Uvh5Writer::resume(path, &header).unwrap_err();
        assert!(matches!(error, IoError::NotUvh5 { .. }), "{error}");
        assert!(fs::read(path).unwrap() == before);
    };
    fs::write(&path, []).unwrap();
    refused(&path);
    fs::write(&path, [b'?'; 9000]).unwrap();
    refused(&path);
    UvfitsWriter::create(&path, &header).unwrap().finish().unwrap();
    refused(&path);
    // HDF5 of another program.
    let file = rust_hdf5::H5File::create(&path).unwrap();
    file.new_dataset::<f64>().shape([5000]).create("data").unwrap().write_raw(&[0.5; 5000]).unwrap();
    file.close().unwrap();
    refused(&path);
    // One that was cut.
    fs::remove_file(&path).unwrap();
    let inputs = Inputs::new(2, 1).unwrap();
    assert_eq!(header.inputs, inputs);
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    writer.append_dump(&dump(&header, 0), &geometry(2), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    fs::File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
    match Uvh5Writer::resume(&path, &header).unwrap_err() {
        IoError::Truncated { expected, actual, .. } => assert_eq!((expected, actual), (length, length - 1)),
        error => panic!("{error}"),
    }
}
