//! That the ring of an instrument on a GPU holds the F-engine's voltages.

use std::path::Path;
use std::time::Duration;

use fringes::io::read::{OpenOptions, open};
use fringes::io::write::BeamObservation;
use fringes::stream::RingFormat;
use fringes::stream::source::{Received, Source};
use fringes::{Backend, Complex, Precision, Voltages};
use fringes_gpu::{Device, PinnedPool};
use ndarray::{Axis, concatenate};

use crate::end::End;
use crate::instrument::case::{Case, Memory, filled};

/// Spectra that the ring has at least.
const RING: usize = 500;

/// Writes the ring of an instrument that has ended, and compares the files with what the F-engine gives chunk by chunk.
pub(super) fn run(device: &Device, case: Case, chunks: u64) -> Result<String, End> {
    let backend = Backend::on(device.clone());
    let pool = filled(device, 4 * case.words())?;
    let fx = case.fx(&backend, Precision::Half)?.ring(RING);
    let running = fx.start(case.samples(&pool, Memory::Pinned, chunks)?).map_err(End::failed)?;
    while !running.is_finished() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let expected = voltages(&backend, case, &pool, chunks)?;
    let stride = 2 * case.channels as u64;
    let end = expected.times() as u64 * stride;
    let folder = tempfile::tempdir().map_err(End::failed)?;
    let observation = BeamObservation::new("2026-03-20T16:30:00".parse().map_err(End::failed)?);
    let range = end - (RING - case.frame) as u64 * stride..end;
    let written = running.write_ring(range, folder.path(), &observation, RingFormat::GuppiRaw).map_err(End::failed)?;
    running.join().into_result().map_err(End::failed)?;
    let mut values = 0;
    for antenna in 0..case.antennas {
        values += compare(folder.path(), antenna, &expected, stride)?;
    }
    let asked = written.spectra as usize * 2 * case.channels * case.antennas;
    if written.pieces != 1 || values != asked || (written.spectra as usize) < RING - case.frame {
        return Err(End::failed(format!("{written:?}: expected {asked} values in the files, found {values}")));
    }
    Ok(format!("{values} voltages of the last {} spectra are the F-engine's, bit for bit", written.spectra))
}

/// All voltages of the F-engine, `[channel][time][input]`.
fn voltages(backend: &Backend, case: Case, pool: &PinnedPool, chunks: u64) -> Result<Voltages<Complex<i8>>, End> {
    let mut engine = case.engine(Precision::Half)?.build::<Complex<i8>>(backend).map_err(End::failed)?;
    let mut source = case.samples(pool, Memory::Pinned, chunks)?;
    let mut parts = Vec::new();
    while let Some(Received::Samples(block)) = source.next().map_err(End::failed)? {
        let frames = engine.push(block.as_chunk()).map_err(End::failed)?.frames;
        parts.extend(frames.into_iter().map(|frames| frames.voltages.to_voltages()));
    }
    parts.extend(engine.flush().map_err(End::failed)?.map(|frames| frames.voltages.to_voltages()));
    let views: Vec<_> = parts.iter().map(Voltages::data).collect();
    Voltages::new(concatenate(Axis(1), &views).map_err(End::failed)?, case.inputs()?).map_err(End::failed)
}

/// Compares an antenna's file; says how many voltages it has.
fn compare(folder: &Path, antenna: usize, expected: &Voltages<Complex<i8>>, stride: u64) -> Result<usize, End> {
    let begins = format!("antenna-{antenna}-");
    let mut names = std::fs::read_dir(folder).map_err(End::failed)?.filter_map(Result::ok).map(|entry| entry.path());
    let path = names.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins)));
    let path = path.ok_or_else(|| End::failed(format!("no file of antenna {antenna}")))?;
    let stamp = path.file_stem().and_then(|name| name.to_str()?.rsplit('-').next()?.parse::<u64>().ok());
    let first = (stamp.ok_or_else(|| End::failed("a file without a stamp"))? / stride) as usize;
    let mut reader = open(&[path], &OpenOptions::default()).map_err(End::failed)?;
    let (mut spectra, mut values) = (0, 0);
    while let Some(block) = reader.read(1 << 20).map_err(End::failed)? {
        let found = block.voltages().map_err(End::failed)?;
        for ((channel, time, pol), value) in found.data().indexed_iter() {
            let of = expected.data()[(channel, first + spectra + time, 2 * antenna + pol)];
            if *value != Complex::new(f32::from(of.re), f32::from(of.im)) {
                let place = format!("antenna {antenna}, channel {channel}, spectrum {}", first + spectra + time);
                return Err(End::failed(format!("{place}: expected {of}, found {value}")));
            }
            values += 1;
        }
        spectra += found.times();
    }
    Ok(values)
}
