//! GUPPI raw files of beams: read back by our reader, which is checked against other programs' files.

#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

use std::path::Path;

use fringes_io::IoError;
use fringes_io::read::{OpenOptions, StreamInfo};
use fringes_io::write::{BeamObservation, GuppiEnd, GuppiWriter};
use fringes_types::{Beams, Complex, Dimension, Frequencies, SpectrumClock, TypesError};
use ndarray::Array3;

use crate::read_support::{Everything, open_bytes, read_all};

type C8 = Complex<i8>;

const CLOCK: SpectrumClock =
    SpectrumClock { first_sample: 2_500_000, samples_between_spectra: 64, sample_rate_hz: 1e6 };
const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };

fn observation() -> BeamObservation {
    let observation = BeamObservation::new("2026-03-20T23:59:59.25".parse().unwrap());
    let direction = Some("05:34:31.95,-02:00:52.25".parse().unwrap());
    BeamObservation { telescope: "MeerKAT".into(), source: "Crab / not".into(), direction, ..observation }
}

fn value(channel: usize, time: usize, beam: usize) -> C8 {
    let part = |seed: usize| ((channel * 31 + time * 17 + beam * 101 + seed) % 255) as i16 - 127;
    Complex::new(part(3) as i8, part(88) as i8)
}

fn beams(times: std::ops::Range<usize>) -> Beams<C8> {
    let data = Array3::from_shape_fn((6, times.len(), 6), |(c, t, b)| value(c, times.start + t, b));
    let clock = SpectrumClock { first_sample: CLOCK.sample_of(times.start), ..CLOCK };
    Beams::new(data, FREQUENCIES, clock).unwrap()
}

/// Writes the first 107 spectra in chunks, and reads the file.
fn written(path: &Path, beam: usize, pols: usize, block: usize) -> (GuppiEnd, StreamInfo, Everything) {
    let mut writer = GuppiWriter::create(path, &observation(), beam, pols, block).unwrap();
    for times in [0..1, 1..50, 50..50, 50..107] {
        writer.write(&beams(times)).unwrap();
    }
    let end = writer.finish().unwrap();
    let mut reader = open_bytes(&[std::fs::read(path).unwrap()], &OpenOptions::default()).unwrap();
    let info = reader.info().clone();
    let (all, error) = read_all(reader.as_mut(), 1000);
    assert!(error.is_none(), "{error:?}");
    (end, info, all)
}

#[test]
fn our_reader_finds_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.raw");
    for (beam, pols, block) in [(0, 2, 32), (2, 2, 107), (5, 1, 10), (1, 1, 1000)] {
        let (end, info, all) = written(&path, beam, pols, block);
        let blocks = 107usize.div_ceil(block);
        assert_eq!(end, GuppiEnd { blocks: blocks as u64, padding: blocks * block - 107 });
        assert_eq!((info.channels, info.inputs.pols(), info.bits, info.inverted), (6, pols, 8, false));
        assert_eq!((info.sample_rate_hz, info.frequencies), (Some(1.0 / 64e-6), Some(FREQUENCIES)));
        assert_eq!(info.start.unwrap().to_string(), "2026-03-21T00:00:01.750000Z");
        assert_eq!(info.telescope.as_deref(), Some("MeerKAT"));
        let source = info.source.unwrap();
        assert_eq!(source.name, "Crab / not");
        assert!((source.ra_deg.unwrap() - 15.0 * (5.0 + 34.0 / 60.0 + 31.95 / 3600.0)).abs() < 1e-9);
        assert!((source.dec_deg.unwrap() + 2.0 + 52.25 / 3600.0).abs() < 1e-9);
        assert!(all.clamped == 0 && all.present.iter().flatten().all(|&present| present));
        for channel in 0..6 {
            for pol in 0..pols {
                let found = &all.samples[channel][pol];
                assert_eq!(found.len(), blocks * block);
                for (time, &found) in found.iter().enumerate() {
                    let value = if time < 107 { value(channel, time, beam * pols + pol) } else { C8::default() };
                    assert_eq!(found, Complex::new(value.re.into(), value.im.into()));
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.raw");
    let types = |error: IoError| match error {
        IoError::Types(error) => error,
        other => panic!("{other}"),
    };
    let create = |beam, pols, block| GuppiWriter::create(&path, &observation(), beam, pols, block);
    assert_eq!(types(create(0, 3, 8).unwrap_err()), TypesError::Pols { actual: 3 });
    assert!(matches!(types(create(0, 2, 0).unwrap_err()), TypesError::NotPositive { .. }));
    let named = BeamObservation { telescope: "x".repeat(67), ..observation() };
    let error = GuppiWriter::create(&path, &named, 0, 2, 8).unwrap_err();
    assert!(matches!(error, IoError::HeaderText { field: "telescope", limit: 66, .. }), "{error}");

    let (array, dimension) = ("beams", Dimension::Beam);
    let error = types(create(3, 2, 8).unwrap().write(&beams(0..2)).unwrap_err());
    assert_eq!(error, TypesError::Dimension { array, dimension, expected: 8, actual: 6 });
    let error = types(create(0, 2, usize::MAX / 8).unwrap().write(&beams(0..2)).unwrap_err());
    assert!(matches!(error, TypesError::TooLarge { .. }));
    let mut writer = create(0, 2, 8).unwrap();
    let unset = Beams::new(Array3::default((6, 1, 6)), FREQUENCIES, SpectrumClock::default()).unwrap();
    assert!(matches!(writer.write(&unset).unwrap_err(), IoError::UnsetSampleRate));
    writer.write(&beams(0..2)).unwrap();
    let error = writer.write(&beams(3..4)).unwrap_err();
    assert!(matches!(error, IoError::Axis { quantity: "first sample", .. }), "{error}");
    writer.write(&beams(2..4)).unwrap();
    assert_eq!(writer.finish().unwrap(), GuppiEnd { blocks: 1, padding: 4 });
}
