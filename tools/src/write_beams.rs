//! Writes beams: noise as detected beams in SIGPROC filterbank files and as voltages in GUPPI raw and VDIF files.
//!
//! ```text
//! cargo run --release -p fringes-tools -- write-beams --out DIR
//! ```
//!
//! In DIR, `stokes.fil` (8 bits), `coherency.fil` (f32), `power.fil` (f32) and `voltages.raw` hold beam 1 of three;
//! `voltages8.vdif` and `voltages4.vdif` hold its first channels, a power of two of them, with 8 bits and with 4, which
//! are a sixteenth of those with 8, cut off. `beams.npz` has the voltages before and after they were rounded, for
//! whoever wants to make the same of them.

use std::fs::{File, create_dir_all};
use std::path::PathBuf;

use fringes::delay::{Epoch, Source};
use fringes::io::write::{BeamObservation, FilterbankWriter, GuppiWriter, VdifOptions, VdifWriter};
use fringes::{
    Beams, ByteScale, Complex, DetectStream, DetectedProducts, Detection, Frequencies, SpectrumClock, quantise_beams,
    to_u8,
};
use ndarray::{Array3, arr1, s};
use ndarray_npy::NpzWriter;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::{Failure, failure};

/// Write noise as beams in SIGPROC filterbank, GUPPI raw and VDIF files.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder for the files; made if it does not exist.
    #[arg(long)]
    out: PathBuf,
    /// Channels of 250 kHz from 1400 MHz.
    #[arg(long, default_value_t = 24)]
    channels: usize,
    /// Spectra, 4 microseconds apart.
    #[arg(long, default_value_t = 4096)]
    times: usize,
}

const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 250e3 };
const CLOCK: SpectrumClock =
    SpectrumClock { first_sample: 8_000_000, samples_between_spectra: 32, sample_rate_hz: 8e6 };
/// Beams of two polarisations, and the one that is written.
const BEAMS: usize = 3;
const BEAM: usize = 1;
/// Spectra and channels of a sum.
const SUMMED: (usize, usize) = (16, 2);
/// Spectra of a chunk: no multiple of those of a sum or a block.
const CHUNK: usize = 1000;
const BLOCK: usize = 512;
const GAIN: f32 = 20.0;

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let &Arguments { channels, times, .. } = arguments;
    create_dir_all(&arguments.out).map_err(|error| failure(arguments.out.display(), error))?;
    let path = |name: &str| arguments.out.join(name);
    let observation = BeamObservation {
        telescope: "Simulated".into(),
        source: "Noise".into(),
        direction: Some(Source::RaDec { ra_rad: 1.9, dec_rad: -0.6 }),
        sample_zero: Epoch::new(61_119, 86_399.25)?,
    };
    let voltages = noise(channels, times);
    let stream = |products| Ok::<_, Failure>(DetectStream::new(Detection::new(products, SUMMED.0, SUMMED.1)?));
    let mut stokes = stream(DetectedProducts::Stokes)?;
    let mut coherency = stream(DetectedProducts::Coherency)?;
    let mut power = stream(DetectedProducts::Power)?;
    let mut scale = None;
    let mut files = (
        FilterbankWriter::<u8>::create(&path("stokes.fil"), &observation, BEAM)?,
        FilterbankWriter::<f32>::create(&path("coherency.fil"), &observation, BEAM)?,
        FilterbankWriter::<f32>::create(&path("power.fil"), &observation, BEAM)?,
        GuppiWriter::create(&path("voltages.raw"), &observation, BEAM, 2, BLOCK)?,
    );
    let station = VdifOptions::new(u16::from_be_bytes(*b"Ef"));
    let vdif = |name: &str, options| VdifWriter::create(&path(name), observation.sample_zero, options, BEAM, 2);
    let mut eight = vdif("voltages8.vdif", station)?;
    // The first spectrum is within a frame.
    let mut four = vdif("voltages4.vdif", VdifOptions { bits: 4, spectra_per_frame: Some(1000), ..station })?;
    // The largest power of two; 0 stays 0, which the writers refuse.
    let some = channels.checked_ilog2().map_or(0, |log2| 1 << log2);
    let mut rounded = Array3::from_elem(voltages.raw_dim(), Complex::new(0f32, 0.0));
    for first in (0..times).step_by(CHUNK) {
        let chunk = first..(first + CHUNK).min(times);
        let clock = SpectrumClock { first_sample: CLOCK.sample_of(first), ..CLOCK };
        let beams = Beams::new(voltages.slice(s![.., chunk.clone(), ..]).to_owned(), FREQUENCIES, clock)?;
        let sums = stokes.push(&beams)?;
        if scale.is_none() {
            scale = Some(ByteScale::of(&sums, 96.0, 16.0)?);
        }
        if let Some(scale) = &scale {
            files.0.write(&to_u8(&sums, scale)?.beams)?;
        }
        files.1.write(&coherency.push(&beams)?)?;
        files.2.write(&power.push(&beams)?)?;
        let quantised = quantise_beams(&beams, &[GAIN; 2 * BEAMS])?.beams;
        let wide = quantised.data().mapv(|value| Complex::new(f32::from(value.re), f32::from(value.im)));
        rounded.slice_mut(s![.., chunk, ..]).assign(&wide);
        files.3.write(&quantised)?;
        let part = quantised.data().slice(s![..some, .., ..]).to_owned();
        let low = part.mapv(|value| Complex::new(value.re / 16, value.im / 16));
        eight.write(&Beams::new(part, FREQUENCIES, clock)?)?;
        four.write(&Beams::new(low, FREQUENCIES, clock)?)?;
    }
    eight.finish()?;
    four.finish()?;
    files.0.finish()?;
    files.1.finish()?;
    files.2.finish()?;
    files.3.finish()?;

    let mut archive = NpzWriter::new(File::create(path("beams.npz"))?);
    archive.add_array("voltages", &voltages)?;
    archive.add_array("rounded", &rounded)?;
    if let Some(scale) = scale {
        archive.add_array("scale", &scale.scale())?;
        archive.add_array("offset", &scale.offset())?;
    }
    archive.add_array("beam", &arr1(&[BEAM as i64]))?;
    archive.add_array("gain", &arr1(&[GAIN]))?;
    archive.add_array("summed", &arr1(&[SUMMED.0 as i64, SUMMED.1 as i64]))?;
    archive.add_array("frequencies_hz", &arr1(&[FREQUENCIES.first_hz, FREQUENCIES.step_hz]))?;
    archive.add_array("spectrum_s", &arr1(&[CLOCK.spectrum_seconds()]))?;
    // 1 s after 23:59:59.25.
    archive.add_array("start_mjd", &arr1(&[61_120.0, 0.25]))?;
    archive.add_array("direction_rad", &arr1(&[1.9, -0.6]))?;
    archive.finish()?;
    println!("{}: 3 filterbank files, 3 files of voltages, beams.npz", arguments.out.display());
    Ok(())
}

/// Noise `[channel][time][beam]`, with polarisations that have different powers and are partly alike.
fn noise(channels: usize, times: usize) -> Array3<Complex<f32>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(24);
    let mut normal =
        || -> Complex<f32> { Complex::new(StandardNormal.sample(&mut random), StandardNormal.sample(&mut random)) };
    let mut data = Array3::default((channels, times, 2 * BEAMS));
    for mut pair in data.exact_chunks_mut((1, 1, 2)) {
        let common = normal();
        pair[(0, 0, 0)] = common + normal();
        pair[(0, 0, 1)] = common * Complex::new(0.3, 0.6) + normal();
    }
    data
}
