//! The ring of voltages, and the files that are written of it.

use std::ops::Range;
use std::path::Path;

use fringes_backend::Backend;
use fringes_f_engine::f_engine;
use fringes_io::read::{OpenOptions, open};
use fringes_io::write::BeamObservation;
use fringes_stream::sink::{MemorySink, Overflow};
use fringes_stream::source::{Blocks, Received, SourceInfo};
use fringes_stream::{Fx, RingFormat, RingWritten, Running, SampleBlock, StreamError, StreamSample};
use fringes_types::{Complex, Complex4, Gains, SamplePresence, Samples};
use ndarray::Array2;

use crate::support::{FRAME, Gate, SPECTRA, STRIDE, block, engine, info, inputs, noise, sample, schedule, whole};

#[test]
fn the_ring_gives_the_voltages_of_a_trigger_as_guppi_raw() {
    let end = 64 * FRAME;
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (sink, _) = MemorySink::new();
    let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(2)).ring(40);
    let running = fx.sink(sink, Overflow::Block).start(Gate { source: noise(777, end), wait: Some(wait) }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let observation = BeamObservation::new("2026-03-20T16:30:00".parse().unwrap());
    let error = running.write_ring(0..FRAME, folder.path(), &observation, RingFormat::GuppiRaw).unwrap_err();
    assert!(matches!(error, StreamError::NotInRing { held_end: 0, .. }), "{error}");
    go.send(()).unwrap();
    while !running.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // 40 spectra are ten frames; the oldest went.
    let range = 57 * FRAME + 3..59 * FRAME;
    let written = running.write_ring(range, folder.path(), &observation, RingFormat::GuppiRaw).unwrap();
    assert_eq!((written.pieces, written.spectra % 4, written.spectra >= 8), (1, 0, true));
    assert!(matches!(
        running.write_ring(0..FRAME, folder.path(), &observation, RingFormat::GuppiRaw).unwrap_err(),
        StreamError::NotInRing { .. }
    ));
    let all = whole(&[block(0, end as usize)], end);
    let frames = fringes_f_engine::f_engine::<Complex<i8>>(&Backend::cpu(), all.as_chunk(), engine()).unwrap();
    let expected = frames.frames[0].voltages.to_voltages();
    for antenna in 0..2usize {
        let mut names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let path = names.find(|path| path.to_string_lossy().contains(&format!("antenna-{antenna}-"))).unwrap();
        let stamp: u64 = path.file_stem().unwrap().to_str().unwrap().rsplit('-').next().unwrap().parse().unwrap();
        let mut reader = open(&[path], &OpenOptions::default()).unwrap();
        let mut spectra = 0;
        while let Some(block) = reader.read(1 << 20).unwrap() {
            let voltages = block.voltages().unwrap();
            for ((channel, time, pol), value) in voltages.data().indexed_iter() {
                let of = expected.data()[(channel, spectra + time + (stamp / 128) as usize, 2 * antenna + pol)];
                assert_eq!(*value, Complex::new(f32::from(of.re), f32::from(of.im)), "{channel} {time} {pol}");
            }
            spectra += voltages.times();
        }
        assert_eq!(spectra as u64, written.spectra);
    }
}

/// 8000 spectra a second.
const RATE: f64 = 1.024e6;
const END: u64 = 64 * FRAME;
/// Samples of the second antenna that never came: frames 41 to 51, and a part of the next.
const LOST: Range<u64> = 41 * FRAME..52 * FRAME + 7;

fn at_rate(first: u64, times: usize) -> SampleBlock {
    let data = Array2::from_shape_fn((inputs().len(), times), |(input, time)| sample(input, first + time as u64));
    let flags = Array2::from_shape_fn(data.dim(), |(input, time)| input < 2 || !LOST.contains(&(first + time as u64)));
    let samples = Samples::new(data, inputs()).unwrap().with_first_sample(first).with_sample_rate(RATE).unwrap();
    samples.with_presence(SamplePresence::new(1, flags).unwrap()).unwrap().into()
}

/// An instrument that has ended, with its ring.
fn ended<V: StreamSample>(gains: f32) -> Running<V> {
    let chunks = (0..END / 2048).map(|chunk| Ok(Received::Samples(at_rate(2048 * chunk, 2048))));
    let source = Blocks::new(SourceInfo { sample_rate_hz: RATE, ..info(END) }, chunks);
    let engine = engine().gains(Gains::uniform(gains).unwrap());
    let running = Fx::<V>::new(&Backend::cpu(), engine).cadence(schedule(2)).ring(200).start(source).unwrap();
    while !running.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(running.control().report().frames > 60);
    running
}

fn vdif(station: Option<u16>, spectra_per_frame: Option<usize>) -> RingFormat {
    RingFormat::Vdif { station, spectra_per_frame }
}

/// Writes frames 36 to 55 as VDIF of 25 spectra a frame, and checks both files against the F-engine's voltages.
fn check_vdif<V: StreamSample>(gains: f32, bits: u32, station: Option<u16>, stations: [&str; 2]) {
    let running = ended::<V>(gains);
    let folder = tempfile::tempdir().unwrap();
    // A quarter of a second is 2000 spectra.
    let observation = BeamObservation::new("2026-03-20T16:30:00.25".parse().unwrap());
    let range = 36 * FRAME + 3..56 * FRAME;
    let written = running.write_ring(range, folder.path(), &observation, vdif(station, Some(25))).unwrap();
    assert_eq!(written, RingWritten { pieces: 1, spectra: written.spectra });
    let whole = at_rate(0, END as usize);
    let engine = engine().gains(Gains::uniform(gains).unwrap());
    let frames = f_engine::<V>(&Backend::cpu(), whole.as_chunk(), engine).unwrap().frames.remove(0);
    let (expected, heaps) = (frames.voltages.to_voltages(), &frames.voltages);
    for (antenna, station) in stations.into_iter().enumerate() {
        let path = file(folder.path(), antenna);
        let name = path.file_stem().unwrap().to_str().unwrap();
        let first = name.rsplit('-').next().unwrap().parse::<u64>().unwrap() / STRIDE;
        assert_eq!(path.extension().unwrap(), "vdif");
        // Both polarisations of one antenna.
        let options = OpenOptions { mapping: Some("0:0x,1:0y".parse().unwrap()), ..OpenOptions::default() };
        let mut reader = open(&[path], &options).unwrap();
        let info = reader.info().clone();
        assert_eq!((info.bits, info.channels, info.sample_rate_hz), (bits, 64, Some(8000.0)));
        assert_eq!(info.telescope.as_deref(), Some(station));
        let leading = (2000 + first) % 25;
        let start = observation.sample_zero.plus_seconds((first - leading) as f64 / 8000.0);
        assert!(info.start.unwrap().seconds_since(start).abs() < 1e-10, "{:?}", info.start);
        let (mut at, mut flagged) = (0, 0);
        while let Some(block) = reader.read(1 << 20).unwrap() {
            let voltages = block.voltages().unwrap();
            for time in 0..voltages.times() as u64 {
                // Where a frame has zeros, before and behind what was written.
                let spectrum = (at + time).checked_sub(leading).filter(|&of| of < written.spectra).map(|of| of + first);
                for (channel, pol) in (0..64).flat_map(|channel| [(channel, 0), (channel, 1)]) {
                    let of = spectrum.map(|of| expected.data()[(channel, of as usize, 2 * antenna + pol)].to_c32());
                    let found = voltages.data()[(channel, time as usize, pol)];
                    assert_eq!(found, of.unwrap_or_default(), "antenna {antenna}, {channel} {spectrum:?} {pol}");
                }
            }
            // VDIF frames of which nothing came, and no others, are flagged.
            for frame in 0..voltages.times() / 25 {
                let spectra = (25 * frame as u64..).take(25).filter_map(|time| (at + time).checked_sub(leading));
                let mut spectra = spectra.filter(|&of| of < written.spectra).map(|of| (of + first) / SPECTRA);
                let came = spectra.any(|batch| heaps.presence().is_none_or(|flags| flags[(batch as usize, antenna)]));
                let present = block.presence.as_ref().is_none_or(|presence| presence.is_present(1, 25 * frame + 12));
                assert_eq!(present, came, "antenna {antenna}, VDIF frame {frame}");
                flagged += usize::from(!present);
            }
            at += voltages.times() as u64;
        }
        assert_eq!(at, (leading + written.spectra).div_ceil(25) * 25);
        // Spectra 175 to 199 are one VDIF frame.
        assert_eq!(flagged, antenna, "antenna {antenna}");
    }
}

/// The file of an antenna, of which there is one.
fn file(folder: &Path, antenna: usize) -> std::path::PathBuf {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        names.filter(|path| path.to_string_lossy().contains(&format!("antenna-{antenna}-"))).collect();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn the_ring_gives_the_voltages_of_a_trigger_as_vdif() {
    check_vdif::<Complex<i8>>(0.05, 8, Some(u16::from_be_bytes(*b"Mk")), ["Mk", "Mk"]);
    check_vdif::<Complex4>(0.004, 4, None, ["0x0000", "0x0001"]);
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_files_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let observation = BeamObservation::new("2026-03-20T16:30:00".parse().unwrap());
    let range = 36 * FRAME..40 * FRAME;
    let running = ended::<Complex<i8>>(0.05);
    let refused = |format| {
        let error = running.write_ring(range.clone(), folder.path(), &observation, format).unwrap_err();
        assert!(matches!(error, StreamError::Io(fringes_io::IoError::Vdif { .. })), "{error}");
        error.to_string()
    };
    assert!(refused(vdif(None, Some(24))).contains("a divisor of 8000, the spectra of a second"));
    let floats = ended::<Complex<f32>>(1.0);
    for format in [RingFormat::GuppiRaw, vdif(None, None)] {
        let error = floats.write_ring(range.clone(), folder.path(), &observation, format).unwrap_err();
        assert!(matches!(error, StreamError::Plan { what: "voltages of a file", .. }), "{error}");
    }
    // 7812.5 spectra a second.
    let fx = Fx::<Complex<i8>>::new(&Backend::cpu(), engine()).cadence(schedule(2)).ring(200);
    let running = fx.start(noise(777, END)).unwrap();
    while !running.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let error = running.write_ring(range, folder.path(), &observation, vdif(None, None)).unwrap_err().to_string();
    assert!(error.contains("spectra of a second: expected a whole number") && error.contains("7812.5"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
