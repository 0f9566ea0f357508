//! VDIF files of voltages: byte by byte from the format's description, and read back by our reader, which is checked
//! against other programs' files.

#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

use std::ops::Range;
use std::path::Path;

use fringes_io::IoError;
use fringes_io::read::OpenOptions;
use fringes_io::write::{VdifEnd, VdifOptions, VdifWriter};
use fringes_types::{Beams, Complex, Dimension, Frequencies, SpectrumClock, TypesError};
use ndarray::Array3;

use crate::read_support::{VdifFrame, open_bytes, read_all};

type C8 = Complex<i8>;

/// 250000 spectra a second.
const CLOCK: SpectrumClock =
    SpectrumClock { first_sample: 8_000_000, samples_between_spectra: 32, sample_rate_hz: 8e6 };
const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 250e3 };
const STATION: u16 = u16::from_be_bytes(*b"Ef");
/// The first spectrum is 70 spectra behind this second: half of them by this, half by the clock.
const ZERO: &str = "2026-03-20T23:59:58.000140";

fn value(bits: u32, channel: usize, time: usize, beam: usize) -> C8 {
    let limit = if bits == 4 { 7 } else { 127 };
    let part = |seed: usize| ((channel * 31 + time * 17 + beam * 101 + seed) % (2 * limit + 1)) as i16 - limit as i16;
    Complex::new(part(3) as i8, part(88) as i8)
}

fn beams(bits: u32, channels: usize, times: Range<usize>) -> Beams<C8> {
    let shape = (channels, times.len(), 6);
    let data = Array3::from_shape_fn(shape, |(c, t, b)| value(bits, c, times.start + t, b));
    let clock = SpectrumClock { first_sample: CLOCK.sample_of(35 + times.start), ..CLOCK };
    Beams::new(data, FREQUENCIES, clock).unwrap()
}

fn create(path: &Path, options: VdifOptions, beam: usize, pols: usize) -> VdifWriter {
    VdifWriter::create(path, ZERO.parse().unwrap(), options, beam, pols).unwrap()
}

/// Writes the first 1107 spectra in chunks.
fn written(path: &Path, options: VdifOptions, channels: usize, beam: usize, pols: usize) -> VdifEnd {
    let mut writer = create(path, options, beam, pols);
    for times in [0..1, 1..50, 50..50, 50..1107] {
        writer.write(&beams(options.bits, channels, times)).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn our_reader_finds_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vdif");
    for (bits, channels, beam, pols, asked, spectra) in [
        (8, 64, 0, 2, None, 50),
        (8, 64, 2, 2, Some(1), 1),
        (4, 64, 1, 2, None, 125),
        (8, 1, 5, 1, Some(20), 20),
        (4, 2, 2, 2, Some(1000), 1000),
        (4, 1, 3, 1, Some(2000), 2000),
        (8, 1024, 0, 1, None, 4),
    ] {
        let case = format!("{bits} bits, {channels} channels, frames of {spectra}");
        let options = VdifOptions { bits, spectra_per_frame: asked, ..VdifOptions::new(STATION) };
        let end = written(&path, options, channels, beam, pols);
        let (leading, behind) = (70 % spectra, (70 % spectra + 1107) % spectra);
        let frames = (leading + 1107usize).div_ceil(spectra);
        let trailing = frames * spectra - leading - 1107;
        assert_eq!((end.frames, end.invalid, end.spectra_per_frame), (frames as u64, 0, spectra), "{case}");
        assert_eq!((end.leading, end.trailing), (leading, trailing), "{case}");
        assert!(behind == 0 || trailing == spectra - behind);

        let mut reader = open_bytes(&[std::fs::read(&path).unwrap()], &OpenOptions::default()).unwrap();
        let info = reader.info().clone();
        assert_eq!((info.complex, info.bits, info.channels, info.inputs.len()), (true, bits, channels, pols));
        // The rate is in the header, so that it needs no whole second of data.
        assert_eq!(info.sample_rate_hz, Some(250_000.0));
        assert_eq!(info.telescope.as_deref(), Some("Ef"));
        // A second behind, at the frame that spectrum 70 is in.
        let start = info.start.unwrap();
        let second = "2026-03-20T23:59:59".parse().unwrap();
        let expected = (70 / spectra * spectra) as f64 / 250e3;
        assert!((start.seconds_since(second) - expected).abs() < 1e-10, "{case}: {start}");
        let (all, error) = read_all(reader.as_mut(), 1000);
        assert!(error.is_none(), "{error:?}");
        assert!(all.clamped == 0 && all.present.iter().flatten().all(|&present| present), "{case}");
        for channel in 0..channels {
            for pol in 0..pols {
                let found = &all.samples[channel][pol];
                assert_eq!(found.len(), frames * spectra, "{case}");
                for (at, &found) in found.iter().enumerate() {
                    let time = at.checked_sub(leading).filter(|&time| time < 1107);
                    let value = time.map_or(C8::default(), |time| value(bits, channel, time, beam * pols + pol));
                    assert_eq!(found, Complex::new(value.re.into(), value.im.into()), "{case}: {channel} {pol} {at}");
                }
            }
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vdif");
    for (bits, pols) in [(8, 2), (4, 2), (8, 1)] {
        let options = VdifOptions { bits, spectra_per_frame: Some(500), ..VdifOptions::new(STATION) };
        let end = written(&path, options, 4, 1, pols);
        assert_eq!((end.frames, end.leading, end.trailing), (3, 70, 323));
        let mut expected = Vec::new();
        for frame in 0..3usize {
            for pol in 0..pols {
                let number = |at: usize, channel: usize| {
                    let time = (500 * frame + at).checked_sub(70).filter(|&time| time < 1107);
                    time.map_or(C8::default(), |time| value(bits, channel, time, pols + pol))
                };
                let values = (0..500).flat_map(|at| (0..4).map(move |channel| (at, channel)));
                let values = values.flat_map(|(at, channel)| [number(at, channel).re, number(at, channel).im]);
                let frame = VdifFrame {
                    second: 79 * 86_400 - 1,
                    epoch: 52,
                    frame: frame as u32,
                    log2_channels: 2,
                    complex: true,
                    bits,
                    thread: pol as u32,
                    station: STATION,
                    extended: [1 << 24 | 250, 0xACAB_FEED, 0, 0],
                    values: values.map(|part| (i32::from(part) + (1 << (bits - 1))) as u32).collect(),
                    ..VdifFrame::default()
                };
                expected.extend(frame.bytes());
            }
        }
        assert!(std::fs::read(&path).unwrap() == expected, "{bits} bits, {pols} polarisations");
    }
}

#[test]
fn frames_go_over_seconds_and_those_that_never_came_are_flagged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vdif");
    // 1000 spectra a second, 100 a frame: the last frame of a second and the first two of the next.
    let clock = SpectrumClock { first_sample: 950, samples_between_spectra: 1, sample_rate_hz: 1e3 };
    let mut writer = VdifWriter::create(
        &path,
        "2016-12-31T23:59:59".parse().unwrap(),
        VdifOptions { spectra_per_frame: Some(100), ..VdifOptions::new(7) },
        0,
        1,
    )
    .unwrap();
    let data = Array3::from_elem((8, 250, 1), C8::new(-128, 1));
    // Spectra 950..1000 came, 1000..1100 did not, 1100..1200 in part.
    let present: Vec<bool> = (950..1200).map(|time| !(1000..1199).contains(&time)).collect();
    writer.write_present(&Beams::new(data, FREQUENCIES, clock).unwrap(), &present).unwrap();
    let end = writer.finish().unwrap();
    assert_eq!((end.frames, end.invalid, end.leading, end.trailing), (3, 1, 50, 0));
    let bytes = std::fs::read(&path).unwrap();
    let frame_bytes = 32 + 100 * 8 * 2;
    assert_eq!(bytes.len(), 3 * frame_bytes);
    let words = |frame: usize| {
        [0, 1].map(|word| {
            let at = frame * frame_bytes + 4 * word;
            u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
        })
    };
    // The second behind the first is the leap second.
    let seconds = 184 * 86_400 - 1;
    assert_eq!(words(0), [seconds, 33 << 24 | 9]);
    assert_eq!(words(1), [1 << 31 | (seconds + 1), 33 << 24]);
    assert_eq!(words(2), [seconds + 1, 33 << 24 | 1]);
    let mut reader = open_bytes(&[bytes], &OpenOptions::default()).unwrap();
    assert_eq!(reader.info().telescope.as_deref(), Some("0x0007"));
    let (all, error) = read_all(reader.as_mut(), 77);
    assert!(error.is_none(), "{error:?}");
    let flags: Vec<bool> = (0..300).map(|time| !(100..200).contains(&time)).collect();
    assert_eq!(all.present[0], flags);
    // The reader takes the most negative value for the one above it.
    assert_eq!((all.samples[3][0][49], all.samples[3][0][50]), (Complex::default(), Complex::new(-127.0, 1.0)));
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vdif");
    std::fs::write(&path, b"before").unwrap();
    let types = |error: IoError| match error {
        IoError::Types(error) => error,
        other => panic!("{other}"),
    };
    let options = VdifOptions { spectra_per_frame: Some(10), ..VdifOptions::new(STATION) };
    let zero = || ZERO.parse().unwrap();
    let error = VdifWriter::create(&path, zero(), options, 0, 3).unwrap_err();
    assert_eq!(types(error), TypesError::Pols { actual: 3 });
    let error = VdifWriter::create(&path, zero(), VdifOptions { bits: 2, ..options }, 0, 2).unwrap_err();
    assert_eq!(error.to_string(), "VDIF: bits of a part of a voltage: expected 4 or 8, found 2");

    let refused =
        |options: VdifOptions, beams: &Beams<C8>| create(&path, options, 0, 2).write(beams).unwrap_err().to_string();
    assert_eq!(refused(options, &beams(8, 24, 0..2)), "VDIF: channels: expected a power of two, found 24");
    let error = refused(VdifOptions { spectra_per_frame: Some(3), ..options }, &beams(8, 8, 0..2));
    assert!(error.contains("a divisor of 250000") && error.contains("such as 2 or 4, found 3"), "{error}");
    let error = refused(VdifOptions { bits: 4, ..options }, &beams(8, 8, 0..2));
    assert!(error.starts_with("VDIF: part of a voltage in 4 bits: expected -8 to 7, found "), "{error}");
    let at = |clock| Beams::new(Array3::<C8>::default((8, 1, 6)), FREQUENCIES, clock).unwrap();
    let error = refused(options, &at(SpectrumClock { sample_rate_hz: 8e6 + 1.0, ..CLOCK }));
    assert!(error.contains("spectra of a second") && error.contains("250000.03125"), "{error}");
    let error = refused(options, &at(SpectrumClock { first_sample: 8, ..CLOCK }));
    assert!(error.contains("start of the first spectrum"), "{error}");
    let error = create(&path, options, 0, 2).write(&at(SpectrumClock::default())).unwrap_err();
    assert!(matches!(error, IoError::UnsetSampleRate));
    let error = types(create(&path, options, 3, 2).write(&beams(8, 8, 0..2)).unwrap_err());
    let (array, dimension) = ("beams", Dimension::Beam);
    assert_eq!(error, TypesError::Dimension { array, dimension, expected: 8, actual: 6 });
    let error = types(create(&path, options, 0, 2).write_present(&beams(8, 8, 0..2), &[true]).unwrap_err());
    let (array, dimension) = ("presence flags", Dimension::Time);
    assert_eq!(error, TypesError::Dimension { array, dimension, expected: 2, actual: 1 });
    let wrong = fringes_delay_model::Epoch { mjd_day: 61_000, seconds: f64::NAN };
    let mut writer = VdifWriter::create(&path, wrong, options, 0, 2).unwrap();
    assert!(matches!(writer.write(&beams(8, 8, 0..2)).unwrap_err(), IoError::Delay(_)));
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
    assert_eq!(create(&path, options, 0, 2).finish().unwrap(), VdifEnd::default());
    assert_eq!(std::fs::read(&path).unwrap(), b"before");

    // A chunk that does not go on is refused, and the file goes on.
    let mut writer = create(&path, options, 0, 2);
    writer.write(&beams(8, 8, 0..2)).unwrap();
    let error = writer.write(&beams(8, 8, 3..4)).unwrap_err();
    assert!(matches!(error, IoError::Axis { quantity: "first sample", .. }), "{error}");
    let error = writer.write(&beams(8, 16, 2..4)).unwrap_err();
    assert!(matches!(error, IoError::Axis { quantity: "channels", .. }), "{error}");
    writer.write(&beams(8, 8, 2..4)).unwrap();
    let end = writer.finish().unwrap();
    assert_eq!((end.frames, end.leading, end.trailing), (1, 0, 6));
    let error = create(folder.path(), options, 0, 2).write(&beams(8, 8, 0..2)).unwrap_err();
    assert!(matches!(error, IoError::File { .. }), "{error}");
}
