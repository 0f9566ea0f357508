//! SIGPROC filterbank files: read back by a few lines that share nothing with the writer.

#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

use std::collections::BTreeMap;
use std::path::Path;

use fringes_io::IoError;
use fringes_io::write::{BeamObservation, FilterbankWriter};
use fringes_types::{DetectedBeams, DetectedProducts, Dimension, Frequencies, SpectrumClock, TypesError};
use ndarray::{Array4, s};

const CLOCK: SpectrumClock =
    SpectrumClock { first_sample: 3_000_000, samples_between_spectra: 640, sample_rate_hz: 1e6 };
const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };

/// Keywords as text, and the bytes behind the header.
fn read(path: &Path) -> (BTreeMap<String, String>, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let mut at = 0;
    let mut take = |count: usize| {
        at += count;
        bytes[at - count..at].to_vec()
    };
    let text = |take: &mut dyn FnMut(usize) -> Vec<u8>| {
        let length = i32::from_le_bytes(take(4).try_into().unwrap());
        String::from_utf8(take(length as usize)).unwrap()
    };
    assert_eq!(text(&mut take), "HEADER_START");
    let mut header = BTreeMap::new();
    loop {
        let keyword = text(&mut take);
        let value = match keyword.as_str() {
            "HEADER_END" => break,
            "source_name" => text(&mut take),
            "fch1" | "foff" | "tstart" | "tsamp" | "src_raj" | "src_dej" | "az_start" | "za_start" => {
                f64::from_le_bytes(take(8).try_into().unwrap()).to_string()
            }
            _ => i32::from_le_bytes(take(4).try_into().unwrap()).to_string(),
        };
        header.insert(keyword, value);
    }
    (header, bytes[at..].to_vec())
}

fn observation() -> BeamObservation {
    let observation = BeamObservation::new("2026-03-20T18:00:00".parse().unwrap());
    let direction = Some("05:34:31.95,-22:00:52.25".parse().unwrap());
    BeamObservation { source: "Crab, not".into(), direction, ..observation }
}

fn beams<T: Copy>(times: std::ops::Range<usize>, value: impl Fn(usize, usize, usize, usize) -> T) -> DetectedBeams<T> {
    let data = Array4::from_shape_fn((5, times.len(), 3, 4), |(c, t, b, p)| value(c, times.start + t, b, p));
    let clock = SpectrumClock { first_sample: CLOCK.sample_of(times.start), ..CLOCK };
    DetectedBeams::new(data, DetectedProducts::Stokes, FREQUENCIES, clock).unwrap()
}

#[test]
fn a_file_of_bytes_has_the_spectra_of_all_chunks_from_the_highest_channel_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fil");
    let value = |c: usize, t: usize, b: usize, p: usize| (c * 50 + t * 7 + b * 3 + p) as u8;
    let mut writer = FilterbankWriter::create(&path, &observation(), 1).unwrap();
    for times in [0..3, 3..3, 3..310] {
        writer.write(&beams(times, value)).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 310);
    let (header, data) = read(&path);
    for (keyword, expected) in [
        ("source_name", "Crab, not"),
        ("nbits", "8"),
        ("nifs", "4"),
        ("nchans", "5"),
        ("nbeams", "3"),
        ("ibeam", "2"),
        ("data_type", "1"),
        ("fch1", "1400.0625"),
        ("foff", "-0.015625"),
        ("tsamp", "0.00064"),
        ("src_raj", "53431.95"),
        ("src_dej", "-220052.25"),
    ] {
        assert_eq!(header[keyword], expected, "{keyword}");
    }
    // 3 s after 18 h of 20 March 2026, which is day 61119.
    let tstart: f64 = header["tstart"].parse().unwrap();
    assert!((tstart - 61119.75 - 3.0 / 86400.0).abs() < 1e-11, "{tstart}");
    let expected = (0..310).flat_map(|t| (0..4).flat_map(move |p| (0..5).rev().map(move |c| value(c, t, 1, p))));
    assert_eq!(data, expected.collect::<Vec<u8>>());
}

#[test]
fn a_file_of_floats_has_their_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fil");
    let value = |c: usize, t: usize, b: usize, p: usize| (c as f32 + 0.1) * 1e7 - (t * 31 + b * 7 + p) as f32;
    let all = beams(0..9, value);
    let power = all.data().slice(s![.., .., .., ..1]).to_owned();
    let power = DetectedBeams::new(power, DetectedProducts::Power, FREQUENCIES, CLOCK).unwrap();
    let mut writer = FilterbankWriter::create(&path, &BeamObservation::new(observation().sample_zero), 2).unwrap();
    writer.write(&power).unwrap();
    writer.finish().unwrap();
    let (header, data) = read(&path);
    assert_eq!((header["nbits"].as_str(), header["nifs"].as_str()), ("32", "1"));
    assert!(!header.contains_key("src_raj"), "the direction is not known");
    let expected = (0..9).flat_map(|t| (0..5).rev().flat_map(move |c| value(c, t, 2, 0).to_le_bytes()));
    assert_eq!(data, expected.collect::<Vec<u8>>());
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fil");
    let value = |c: usize, t: usize, b: usize, p: usize| (c + t + b + p) as u8;
    for name in ["", "  ", "na\u{ef}ve", "a'b", &"x".repeat(81)] {
        let named = BeamObservation { source: name.into(), ..observation() };
        let error = FilterbankWriter::<u8>::create(&path, &named, 0).unwrap_err();
        assert!(matches!(error, IoError::HeaderText { field: "source", limit: 80, .. }), "{error}");
    }
    let error = FilterbankWriter::<u8>::create(&folder.path().join("none/x.fil"), &observation(), 0).unwrap_err();
    assert!(matches!(error, IoError::File { .. }));

    let mut writer = FilterbankWriter::create(&path, &observation(), 3).unwrap();
    let error = writer.write(&beams(0..2, value)).unwrap_err();
    let types = |error: IoError| match error {
        IoError::Types(error) => error,
        other => panic!("{other}"),
    };
    let (array, dimension) = ("beams", Dimension::Beam);
    assert_eq!(types(error), TypesError::Dimension { array, dimension, expected: 4, actual: 3 });
    let mut writer = FilterbankWriter::create(&path, &observation(), 0).unwrap();
    let with = |frequencies, clock| {
        DetectedBeams::new(beams(2..4, value).into_data(), DetectedProducts::Stokes, frequencies, clock).unwrap()
    };
    let unset = SpectrumClock { sample_rate_hz: SpectrumClock::UNSET_SAMPLE_RATE_HZ, ..CLOCK };
    assert!(matches!(writer.write(&with(FREQUENCIES, unset)).unwrap_err(), IoError::UnsetSampleRate));
    let downward = Frequencies { step_hz: -1.0, ..FREQUENCIES };
    assert!(matches!(types(writer.write(&with(downward, CLOCK)).unwrap_err()), TypesError::NotPositive { .. }));

    writer.write(&beams(0..2, value)).unwrap();
    let next = SpectrumClock { first_sample: CLOCK.sample_of(2), ..CLOCK };
    for (quantity, chunk) in [
        ("first sample", beams(3..4, value)),
        ("first sample", beams(1..4, value)),
        ("frequencies", with(Frequencies { first_hz: 1.3e9, ..FREQUENCIES }, next)),
        ("sample rate in Hz", with(FREQUENCIES, SpectrumClock { sample_rate_hz: 2e6, ..next })),
        ("samples between spectra", with(FREQUENCIES, SpectrumClock { samples_between_spectra: 64, ..next })),
    ] {
        let error = writer.write(&chunk).unwrap_err();
        assert!(matches!(error, IoError::Axis { quantity: q, .. } if q == quantity), "{error}");
    }
    writer.write(&beams(2..4, value)).unwrap();
    assert_eq!(writer.finish().unwrap(), 4);
    assert_eq!(read(&path).1.len(), 4 * 4 * 5);
}
