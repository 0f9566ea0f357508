//! Files of some channels each, joined.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fringes_io::IoError;
use fringes_io::write::{Uvh5Writer, VisibilityHeader, VisibilityIntegration, join_uvh5_channels};
use fringes_types::{Complex, Frequencies, TypesError};
use ndarray::{Array1, Array2, s};

use super::{LENGTH_S, check, geometry, header, middle};

type Parts = Vec<(PathBuf, VisibilityHeader)>;

/// The header of some channels.
fn part_of(header: &VisibilityHeader, channels: &Range<usize>) -> VisibilityHeader {
    let frequencies = Frequencies { first_hz: header.frequencies.channel_hz(channels.start), ..header.frequencies };
    VisibilityHeader { channels: channels.len(), frequencies, ..header.clone() }
}

/// Values that tell their place, some not finite; weights of which some are 0, and all in every fourth integration.
fn integration(header: &VisibilityHeader, number: u64) -> (Array2<Complex<f32>>, Array1<f32>) {
    let baselines = header.inputs.triangle_len();
    let values = Array2::from_shape_fn((header.channels, baselines), |(channel, baseline)| {
        let imaginary = if (channel + baseline) % 11 == 7 { f32::NAN } else { baseline as f32 - 7.0 };
        Complex::new((channel * 1000 + baseline) as f32 + 0.25 * number as f32, imaginary)
    });
    let weight = |baseline: usize| if number % 4 == 3 || baseline % 5 == 2 { 0.0 } else { 100.0 - baseline as f32 };
    (values, Array1::from_shape_fn(baselines, weight))
}

/// Writes some channels of integrations, flushed or not.
fn write(path: &Path, whole: &VisibilityHeader, channels: &Range<usize>, numbers: Range<u64>, flush: bool) {
    let header = part_of(whole, channels);
    let geometry = geometry(header.inputs.antennas());
    let mut writer = Uvh5Writer::create(path, &header).unwrap();
    for number in numbers {
        let (values, weights) = integration(whole, number);
        let uvw = geometry.uvw(middle(number)).unwrap();
        let uvw = Array2::from_shape_fn((uvw.len(), 3), |(antenna, axis)| uvw[antenna][axis]);
        let integration = VisibilityIntegration {
            mid_seconds: 86_390.0 + middle(number),
            integration_seconds: LENGTH_S,
            visibilities: values.slice(s![channels.clone(), ..]),
            weights: weights.view(),
            uvw_m: uvw.view(),
        };
        writer.append_integration(&integration).unwrap();
        if flush {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
}

/// Writes a part each of so many channels.
fn write_parts(folder: &Path, whole: &VisibilityHeader, channels: &[usize], numbers: Range<u64>) -> Parts {
    let mut first = 0;
    let mut parts = Vec::new();
    for (at, &channels) in channels.iter().enumerate() {
        let channels = first..first + channels;
        let path = folder.join(format!("part{at}.uvh5"));
        write(&path, whole, &channels, numbers.clone(), at == 1);
        parts.push((path, part_of(whole, &channels)));
        first = channels.end;
    }
    parts
}

#[test]
fn joined_parts_are_the_bytes_of_the_whole() {
    for (antennas, pols, channels, integrations) in [
        (3, 2, &[1, 4, 2][..], 5),
        (1, 1, &[1, 1, 1], 3000),
        (4, 1, &[60, 3, 1], 70),
        (30, 1, &[1, 2, 1], 9),
        // Several pieces an integration, and rows of 0.6 MB.
        (12, 2, &[500, 7, 600], 3),
        (2, 2, &[2000, 9000, 8200], 5),
        (3, 2, &[5], 4),
        (2, 1, &[3, 2], 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let all = channels.iter().sum();
        let whole = header(antennas, pols, all);
        write(&path("whole"), &whole, &(0..all), 0..integrations, false);
        let parts = write_parts(folder.path(), &whole, channels, 0..integrations);
        let before: Vec<_> = parts.iter().map(|(path, _)| fs::read(path).unwrap()).collect();
        assert_eq!(join_uvh5_channels(&parts, &path("joined"), &whole).unwrap(), integrations);
        let same = fs::read(path("joined")).unwrap() == fs::read(path("whole")).unwrap();
        assert!(same, "{antennas} {pols} {channels:?} {integrations}");
        for ((path, _), before) in parts.iter().zip(before) {
            assert!(fs::read(path).unwrap() == before, "parts stay as they are");
        }
    }
}

#[test]
fn a_joined_file_goes_on_as_another_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let whole = header(3, 2, 6);
    let geometry = geometry(3);
    let mut parts: Parts = Vec::new();
    for (name, channels) in [("a", 0..2), ("b", 2..6)] {
        let own = part_of(&whole, &channels);
        let mut writer = Uvh5Writer::create(&path(name), &own).unwrap();
        for number in 0..3 {
            let dump = super::dump(&whole, number);
            let sums = dump.data().slice(s![channels.clone(), ..]).to_owned();
            let (order, valid, clock) = (dump.order(), dump.valid_samples().to_owned(), dump.clock());
            let part = fringes_types::Visibilities::new(
                sums,
                own.inputs,
                order,
                valid,
                super::SPECTRA,
                own.frequencies,
                clock,
            );
            writer.append_dump(&part.unwrap(), &geometry, super::EPOCH_SAMPLE).unwrap();
        }
        writer.finish().unwrap();
        parts.push((path(name), own));
    }
    assert_eq!(join_uvh5_channels(&parts, &path("joined"), &whole).unwrap(), 3);
    check(&path("joined"), &whole, 3);
    let mut writer = Uvh5Writer::resume(&path("joined"), &whole).unwrap();
    writer.append_dump(&super::dump(&whole, 3), &geometry, super::EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    check(&path("joined"), &whole, 4);
}

#[test]
fn a_joined_file_has_the_integrations_that_all_parts_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let whole = header(4, 2, 12);
    let ranges = [0..5, 5..6, 6..12];
    for (at, numbers) in [[9, 7, 8], [0, 3, 3], [4, 4, 2]].into_iter().enumerate() {
        let least = numbers.into_iter().min().unwrap();
        let mut parts: Parts = Vec::new();
        for (part, (channels, number)) in ranges.iter().zip(numbers).enumerate() {
            let path = path(&format!("{at}-{part}"));
            write(&path, &whole, channels, 0..number, part == 1);
            parts.push((path, part_of(&whole, channels)));
        }
        // What was appended and never flushed does not count, and is not cut.
        let (last, own) = parts.last().unwrap();
        let tail = [fs::read(last).unwrap(), vec![1; 3000]].concat();
        fs::write(last, &tail).unwrap();
        let joined = path(&format!("{at}-joined"));
        assert_eq!(join_uvh5_channels(&parts, &joined, &whole).unwrap(), least);
        assert!(fs::read(last).unwrap() == tail, "{own:?}");
        let alone = path(&format!("{at}-whole"));
        write(&alone, &whole, &(0..12), 0..least, false);
        assert!(fs::read(joined).unwrap() == fs::read(alone).unwrap(), "{numbers:?}");
    }
}

/// The error of a join, which leaves no file.
fn refused<P: AsRef<Path>>(parts: &[(P, VisibilityHeader)], path: &Path, header: &VisibilityHeader) -> IoError {
    let error = join_uvh5_channels(parts, path, header).unwrap_err();
    assert!(!path.exists(), "{error}");
    error
}

#[test]
fn headers_that_do_not_make_up_the_whole_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    let whole = header(3, 2, 7);
    let parts = write_parts(folder.path(), &whole, &[1, 4, 2], 0..2);
    assert!(matches!(refused::<PathBuf>(&[], &joined, &whole), IoError::NoFiles));
    let channels = |error: IoError| match error {
        IoError::Axis { quantity: "channels of all parts", expected, actual } => (expected, actual),
        error => panic!("{error}"),
    };
    assert_eq!(channels(refused(&parts[..2], &joined, &whole)), ("7".into(), "5".into()));
    let more = VisibilityHeader { channels: 8, ..whole.clone() };
    assert_eq!(channels(refused(&parts, &joined, &more)), ("8".into(), "7".into()));

    let told = |parts: &Parts, header: &VisibilityHeader, part: usize| match refused(parts, &joined, header) {
        IoError::PartHeader { path, quantity, expected, actual } => {
            assert_eq!(path, parts[part].0);
            assert_ne!(expected, actual);
            (quantity, expected, actual)
        }
        error => panic!("{error}"),
    };
    let first = "frequency of the first channel in Hz";
    let mut order = parts.clone();
    order.swap(1, 2);
    assert_eq!(told(&order, &whole, 1), (first, "1300250000".into(), "1301250000".into()));
    let mut twice = parts.clone();
    twice[2] = parts[1].clone();
    assert_eq!(told(&twice, &whole, 2), (first, "1301250000".into(), "1300250000".into()));
    assert_eq!(told(&parts[1..].to_vec(), &whole, 0).0, first);
    let changed = |change: &dyn Fn(&mut VisibilityHeader)| {
        let mut other = parts.clone();
        change(&mut other[1].1);
        told(&other, &whole, 1).0
    };
    assert_eq!(changed(&|header| header.frequencies.first_hz += 0.01), first);
    assert_eq!(changed(&|header| header.frequencies.first_hz = f64::NAN), first);
    assert_eq!(changed(&|header| header.frequencies.step_hz *= 1.001), "channel width in Hz");
    assert_eq!(changed(&|header| header.frequencies.step_hz *= -1.0), "channel width in Hz");
    assert_eq!(changed(&|header| header.inputs = super::header(3, 1, 4).inputs), "inputs");
    assert_eq!(changed(&|header| header.antennas[1].name = "new".into()), "antennas");
    assert_eq!(changed(&|header| header.antennas[1].position_m[2] += 1e-3), "antennas");
    assert_eq!(changed(&|header| header.array_position_m[0] += 1.0), "position of the array");
    assert_eq!(changed(&|header| header.telescope = "Other".into()), "telescope name");
    assert_eq!(changed(&|header| header.source = "Crab".into()), "source name");
    assert_eq!(changed(&|header| header.phase_centre_ra_rad += 1e-9), "right ascension of the phase centre");
    assert_eq!(changed(&|header| header.phase_centre_dec_rad += 1e-9), "declination of the phase centre");
    // Another day is another header, of the same files.
    let mut other = parts.clone();
    other[1].1.reference_mjd_day += 1;
    join_uvh5_channels(&other, &joined, &whole).unwrap();
    fs::remove_file(&joined).unwrap();
    // A header that no file can have.
    let wrong = VisibilityHeader { channels: 0, ..whole.clone() };
    assert!(matches!(refused(&parts, &joined, &wrong), IoError::Types(TypesError::Empty { .. })));
    let mut none = parts.clone();
    none[1].1.channels = 0;
    none[2].1.frequencies = none[1].1.frequencies;
    let three = VisibilityHeader { channels: 3, ..whole.clone() };
    assert!(matches!(refused(&none, &joined, &three), IoError::Types(TypesError::Empty { .. })));
}

#[test]
fn frequencies_may_differ_by_rounding() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    let mut whole = header(2, 1, 300);
    whole.frequencies = Frequencies { first_hz: 1.4e9 / 3.0, step_hz: 1e6 / 7.0 };
    let ranges = [0..101, 101..300];
    let mut parts: Parts = Vec::new();
    for (at, channels) in ranges.iter().enumerate() {
        let path = folder.path().join(format!("{at}"));
        let mut own = part_of(&whole, channels);
        own.frequencies.first_hz = own.frequencies.first_hz.next_up();
        Uvh5Writer::create(&path, &own).unwrap().finish().unwrap();
        parts.push((path, own));
    }
    assert_eq!(join_uvh5_channels(&parts, &joined, &whole).unwrap(), 0);
    Uvh5Writer::resume(&joined, &whole).unwrap();
}

#[test]
fn a_part_that_is_not_its_headers_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    let whole = header(3, 2, 7);
    let parts = write_parts(folder.path(), &whole, &[1, 4, 2], 0..2);
    let good = fs::read(&parts[1].0).unwrap();
    for bytes in [&b""[..], &[b'?'; 9000], &good[..4100]] {
        fs::write(&parts[1].0, bytes).unwrap();
        match refused(&parts, &joined, &whole) {
            IoError::NotUvh5 { path, .. } => assert_eq!(path, parts[1].0),
            error => panic!("{error}"),
        }
        assert!(fs::read(&parts[1].0).unwrap() == bytes);
    }
    fs::write(&parts[1].0, &good[..good.len() - 1]).unwrap();
    let error = refused(&parts, &joined, &whole);
    assert!(matches!(&error, IoError::Truncated { path, .. } if *path == parts[1].0), "{error}");
    fs::copy(&parts[0].0, &parts[1].0).unwrap();
    match refused(&parts, &joined, &whole) {
        IoError::Field { path, field, expected, actual, .. } => {
            assert_eq!((path, field), (parts[1].0.clone(), "Nfreqs"));
            assert_eq!((&*expected, &*actual), ("4", "1"));
        }
        error => panic!("{error}"),
    }
    fs::remove_file(&parts[1].0).unwrap();
    let error = refused(&parts, &joined, &whole);
    assert!(matches!(&error, IoError::File { path, .. } if *path == parts[1].0), "{error}");
}

#[test]
fn an_index_that_leads_out_of_a_part_is_told_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    // A chunk a row: 30 of them, so that the last is in the second data block of the index.
    let whole = header(2, 2, 9001);
    let parts = write_parts(folder.path(), &whole, &[1, 9000], 0..10);
    let path = &parts[1].0;
    let mut bytes = fs::read(path).unwrap();
    // The place of chunk 16, the first that the first data block names.
    let block = bytes.windows(4).position(|bytes| bytes == b"EADB").unwrap();
    bytes[block + 18..][..8].copy_from_slice(&(1u64 << 50).to_le_bytes());
    fs::write(path, &bytes).unwrap();
    match refused(&parts, &joined, &whole) {
        IoError::NotUvh5 { path: told, reason } => {
            assert_eq!((&told, &*reason), (path, "row 16 of visdata lies beyond the end of the file"));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn rows_of_other_times_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    let whole = header(3, 2, 7);
    let mut parts = write_parts(folder.path(), &whole, &[1, 4], 0..5);
    let late = folder.path().join("late");
    parts.push((late.clone(), part_of(&whole, &(5..7))));
    write(&late, &whole, &(5..7), 1..6, false);
    let told = |error| match error {
        IoError::PartRow { path, row, column, expected, actual } => (path, row, column, expected, actual),
        error => panic!("{error}"),
    };
    let (path, row, column, expected, actual) = told(refused(&parts, &joined, &whole));
    assert_eq!((path, row, column), (late.clone(), 0, "time_array"));
    let (expected, actual): (f64, f64) = (expected.parse().unwrap(), actual.parse().unwrap());
    assert!(((actual - expected) * 86_400.0 - LENGTH_S).abs() < 1e-4, "{expected} {actual}");
    // One that misses an integration in the middle: its fourth is the others' fifth.
    fs::remove_file(&late).unwrap();
    write(&late, &whole, &(5..7), 0..3, false);
    let with_gap = folder.path().join("gap");
    let mut writer = Uvh5Writer::resume(&late, &parts[2].1).unwrap();
    assert_eq!(writer.integrations(), 3);
    let dump = super::dump(&whole, 4);
    let sums = dump.data().slice(s![5.., ..]).to_owned();
    let (order, valid, clock) = (dump.order(), dump.valid_samples().to_owned(), dump.clock());
    let frequencies = parts[2].1.frequencies;
    let dump =
        fringes_types::Visibilities::new(sums, whole.inputs, order, valid, super::SPECTRA, frequencies, clock).unwrap();
    writer.append_dump(&dump, &geometry(3), super::EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    fs::rename(&late, &with_gap).unwrap();
    parts[2].0 = with_gap.clone();
    let (path, row, column, ..) = told(refused(&parts, &joined, &whole));
    assert_eq!((path, row, column), (with_gap, 18, "time_array"));
}

#[test]
fn rows_of_other_coordinates_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let joined = folder.path().join("joined");
    let whole = header(2, 1, 2);
    let mut parts: Parts = Vec::new();
    for (name, channel, east) in [("a", 0, 1.0), ("b", 1, 1.5)] {
        let own = part_of(&whole, &(channel..channel + 1));
        let path = folder.path().join(name);
        let mut writer = Uvh5Writer::create(&path, &own).unwrap();
        let (values, weights) = (Array2::zeros((1, 3)), Array1::ones(3));
        let uvw = Array2::from_shape_vec((2, 3), vec![0.0, 0.0, 0.0, 3.0, east, 2.0]).unwrap();
        writer
            .append_integration(&VisibilityIntegration {
                mid_seconds: 86_400.0,
                integration_seconds: 1.0,
                visibilities: values.view(),
                weights: weights.view(),
                uvw_m: uvw.view(),
            })
            .unwrap();
        writer.finish().unwrap();
        parts.push((path, own));
    }
    match refused(&parts, &joined, &whole) {
        IoError::PartRow { path, row, column, expected, actual } => {
            assert_eq!((path, row, column), (parts[1].0.clone(), 1, "uvw_array"));
            assert_eq!((&*expected, &*actual), ("1", "1.5"));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn a_join_replaces_no_file_and_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let whole = header(3, 2, 7);
    let parts = write_parts(folder.path(), &whole, &[1, 4, 2], 0..2);
    let before = fs::read(&parts[0].0).unwrap();
    let error = join_uvh5_channels(&parts, &parts[0].0, &whole).unwrap_err();
    assert!(matches!(&error, IoError::File { path, .. } if *path == parts[0].0), "{error}");
    assert!(fs::read(&parts[0].0).unwrap() == before);
}
