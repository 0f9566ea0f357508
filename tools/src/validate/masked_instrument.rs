//! An instrument on the device with a masker: dumps and bins of streams in chunks of any length, against one masked
//! call on the CPU of the frames that the device's F-engine gives; and beams, against one call of the device's detector
//! of these frames with zeros where they are masked.

use std::sync::Arc;

use fringes::backend::{Backend, ToHost, Uploader};
use fringes::channelizer::Channelizer;
use fringes::correlator::{BinnedIntegrator, Bins, DumpSchedule, Integrator};
use fringes::stream::sink::{MemorySink, Overflow, Product, Sums};
use fringes::stream::source::{Blocks, Received, SourceInfo};
use fringes::stream::{Fx, SampleBlock};
use fringes::types::MaskedSpectra;
use fringes::{
    BeamWeights, ChannelMask, Complex, DetectedBeams, DetectedProducts, Detection, FEngine, FEngineBuilder, Gains,
    Heaps, Inputs, Masker, Samples, TiedArrayBeams, TiedArrayDetector, Visibilities, f_engine, power_sums,
};
use ndarray::{Array2, Array3};

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

type Failure = Box<dyn std::error::Error>;
type Dumps = Vec<(Option<usize>, Visibilities<Complex<i64>>)>;

/// Samples between spectra, spectra of a frame, and of a block: 64 frames.
const STRIDE: u64 = 128;
const SPECTRA: u64 = 4;
const BLOCK: usize = 256;
/// Channels.
const CHANNELS: usize = 64;
/// Samples of the stream.
const END: u64 = 400 * STRIDE * SPECTRA;

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    for times in [1000, 50_000, 300_000] {
        let sizes = params([("block", BLOCK), ("channels", CHANNELS), ("chunk", times)]);
        session.case("masked_instrument", "8-bit integer", sizes, |session| {
            let backend = Backend::on(session.device.clone());
            let (expected, beams, masked) = one_call(&backend)?;
            let start = std::time::Instant::now();
            let (sink, products) = MemorySink::new();
            let fx = Fx::<Complex<i8>>::new(&backend, engine()?).cadence(schedule()?).bins(schedule()?, bins()?);
            let fx = fx.beams(beam_set()?, detection()?).mask(Masker::new(1e-4)?, BLOCK);
            let running = fx.sink(sink, Overflow::Block).start(source(times)?)?;
            let report = running.join().into_result()?;
            let time_ms = start.elapsed().as_secs_f64() * 1e3;
            let (mut found, mut found_beams) = (Dumps::new(), Vec::new());
            for product in products.take() {
                match product {
                    Product::Dump(dump) => {
                        if let Sums::Integers(sums) = &dump.sums {
                            found.push((dump.bin, sums.clone()));
                        }
                    }
                    Product::Beams(beams) => found_beams.push(beams),
                    _ => {}
                }
            }
            // Counts of masked samples are the same where they say the same; how they are kept is not looked at.
            let of = |dumps: &Dumps, bin: Option<usize>| -> Vec<_> {
                let of_bin = dumps.iter().filter(|dump| dump.0 == bin);
                let parts = |(_, dump): &(_, Visibilities<Complex<i64>>)| {
                    let valid: Vec<u64> =
                        dump.data().indexed_iter().map(|((row, column), _)| dump.valid(row, column)).collect();
                    (dump.data().to_owned(), valid, dump.clock(), dump.times(), dump.frequencies())
                };
                of_bin.map(parts).collect()
            };
            let bins = [None, Some(0), Some(1)];
            let verdict = if masked[0] == 0 || masked[0] == masked[1] {
                Err(format!("nothing to compare: {masked:?} cells are masked"))
            } else if report.masked != masked {
                Err(format!("expected {masked:?} masked cells, found {:?}", report.masked))
            } else {
                let other = bins.into_iter().find(|&bin| of(&found, bin) != of(&expected, bin));
                other.map_or(Ok(()), |bin| Err(format!("other dumps of bin {bin:?}")))
            };
            let verdict = verdict.and(same_beams(&found_beams, &beams));
            Ok(Outcome {
                time_ms,
                value: END as f64 / time_ms / 1e3,
                unit: "Msamples/s an input",
                against: "one call of the F-engine on the device, masked and correlated on the CPU, detected on the device",
                verdict,
            })
        })?;
    }
    Ok(())
}

fn inputs() -> Result<Inputs, Failure> {
    Ok(Inputs::new(2, 2)?)
}

fn engine() -> Result<FEngineBuilder, Failure> {
    let plan = Channelizer::real(CHANNELS).taps(4).build()?;
    Ok(FEngine::builder(plan, inputs()?).spectra_per_frame(SPECTRA as usize).gains(Gains::uniform(0.05)?))
}

fn schedule() -> Result<DumpSchedule, Failure> {
    Ok(DumpSchedule::new(STRIDE, SPECTRA, 96)?)
}

/// Two bins of whole frames.
fn bins() -> Result<Bins, Failure> {
    Ok(Bins::table(2, SPECTRA, vec![Some(1), Some(0), Some(0)])?)
}

/// Noise with a tone in the middle of the band, on for an eighth of the time.
fn block(first: u64, times: usize) -> Result<SampleBlock, Failure> {
    let data = Array2::from_shape_fn((inputs()?.len(), times), |(input, time)| {
        let time = first + time as u64;
        let mut state = (time * 4 + input as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let noise = ((state >> 33) % 101) as f64 - 50.0;
        let on = if (time / 2048).is_multiple_of(8) { 60.0 } else { 0.0 };
        (noise + on * (std::f64::consts::TAU * 0.25 * time as f64).cos()).round() as i8
    });
    Ok(Samples::new(data, inputs()?)?.with_first_sample(first).with_sample_rate(1e6)?.into())
}

fn source(times: usize) -> Result<Blocks<std::vec::IntoIter<Result<Received, fringes::stream::BoxError>>>, Failure> {
    let mut chunks = Vec::new();
    for first in (0..END).step_by(times) {
        let length = times.min((END - first) as usize);
        chunks.push(Ok(Received::Samples(block(first, length)?)));
    }
    let label = "noise and a tone".into();
    let (sample_rate_hz, end_sample) = (1e6, Some(END));
    let info = SourceInfo { label, inputs: inputs()?, sample_rate_hz, sample_zero: None, end_sample };
    Ok(Blocks::new(info, chunks.into_iter()))
}

fn beam_set() -> Result<TiedArrayBeams, Failure> {
    let weights = Array3::from_shape_fn((3, CHANNELS, inputs()?.len()), |(beam, channel, input)| {
        Complex::from_polar(1.0, (beam * input) as f32 * 0.3 + channel as f32 * 0.01)
    });
    Ok(TiedArrayBeams::new(BeamWeights::new(weights)?))
}

/// Sums of spectra and channels, which blocks cut.
fn detection() -> Result<Detection, Failure> {
    Ok(Detection::new(DetectedProducts::Power, 24, 2)?)
}

/// The beams of frames with zeros where a mask says so, on the device, with counts of what it says.
fn beams_of(backend: &Backend, heaps: &Heaps<Complex<i8>>, mask: &ChannelMask) -> Result<DetectedBeams<f32>, Failure> {
    let mut data = heaps.data().to_owned();
    let is_masked = |channel: usize, time: usize| mask.masked()[(channel, time / BLOCK)];
    for ((batch, _, channel, spectrum, _), value) in data.indexed_iter_mut() {
        if is_masked(channel, batch * SPECTRA as usize + spectrum) {
            *value = Complex::new(0, 0);
        }
    }
    let zeroed = Heaps::from_checked(data)?.with_clock(heaps.clock())?.with_frequencies(heaps.frequencies())?;
    let zeroed = match heaps.presence() {
        Some(flags) => zeroed.with_presence(flags.to_owned())?,
        None => zeroed,
    };
    let device = backend.device().ok_or("expected a GPU")?;
    let there = Uploader::new(&device.new_stream()?).heaps(&zeroed)?;
    let detection = detection()?;
    let mut detector = TiedArrayDetector::<Complex<i8>>::new(backend, beam_set()?, inputs()?, detection)?;
    let beams = detector.push(&there)?.to_host()?;
    let counts = Array2::from_shape_fn((beams.channels(), beams.times()), |(channel, time)| {
        let spectra = time * detection.times()..(time + 1) * detection.times();
        spectra.map(|spectrum| (0..2).filter(|at| is_masked(2 * channel + at, spectrum)).count() as u64).sum()
    });
    Ok(beams.with_masked_spectra(MaskedSpectra::new(2 * detection.times() as u64, counts)?)?)
}

/// Sums in parts, with those of one call: additions are in another order.
fn same_beams(parts: &[Arc<DetectedBeams<f32>>], expected: &DetectedBeams<f32>) -> Result<(), String> {
    let (mut first, counts) = (0, expected.masked_spectra().ok_or("nothing is masked")?);
    for part in parts {
        if first + part.times() > expected.times() {
            return Err(format!("more than {} sums of beams", expected.times()));
        }
        for (at, &found) in part.data().indexed_iter() {
            let value = expected.data()[(at.0, first + at.1, at.2, at.3)];
            // Both sides: 4 roundings of a power, those of 24 spectra and 2 channels.
            if (found - value).abs() > 2.0 * 30.0 * 2f32.powi(-24) * value {
                return Err(format!("beam {at:?} behind sum {first}: {found}, not {value}"));
            }
        }
        for channel in 0..part.channels() {
            for time in 0..part.times() {
                let found = part.masked_spectra().map_or(counts.summed(), |counts| counts.kept(channel, time));
                let expected = counts.kept(channel, first + time);
                if found != expected {
                    return Err(format!("{found} spectra of sum {} are kept, not {expected}", first + time));
                }
            }
        }
        first += part.times();
    }
    if first == expected.times() { Ok(()) } else { Err(format!("{first} sums of beams, not {}", expected.times())) }
}

/// Dumps, bins and beams of the whole stream at once, and how many cells of all are masked.
fn one_call(backend: &Backend) -> Result<(Dumps, DetectedBeams<f32>, [u64; 2]), Failure> {
    let cpu = Backend::cpu();
    let whole = block(0, END as usize)?;
    let mut frames = f_engine::<Complex<i8>>(backend, whole.as_chunk(), engine()?)?.frames;
    let heaps = frames.pop().filter(|_| frames.is_empty()).ok_or("expected the frames of one piece")?.voltages;
    let mask = Masker::new(1e-4)?.mask(&power_sums(&cpu, &heaps, BLOCK)?)?.mask;
    let mut integrator = Integrator::<Complex<i8>>::new(&cpu, schedule()?, inputs()?, CHANNELS)?;
    let mut plain = integrator.push_masked(&heaps, &mask)?;
    plain.extend(integrator.finish()?);
    let mut binned = BinnedIntegrator::<Complex<i8>>::new(&cpu, schedule()?, bins()?, inputs()?, CHANNELS)?;
    let mut in_bins = binned.push_masked(&heaps, &mask)?;
    in_bins.extend(binned.finish()?);
    let mut dumps: Dumps = plain.into_iter().map(|dump| (None, dump)).collect();
    for dump in in_bins {
        dumps.extend(dump.bins.into_iter().enumerate().map(|(bin, sums)| (Some(bin), sums)));
    }
    let masked = mask.masked().iter().filter(|&&masked| masked).count() as u64;
    Ok((dumps, beams_of(backend, &heaps, &mask)?, [masked, mask.masked().len() as u64]))
}
