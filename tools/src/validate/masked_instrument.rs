//! An instrument on the device with a masker: dumps and bins of streams in chunks of any length, against one masked
//! call on the CPU of the frames that the device's F-engine gives.

use fringes::backend::Backend;
use fringes::channelizer::Channelizer;
use fringes::correlator::{BinnedIntegrator, Bins, DumpSchedule, Integrator};
use fringes::stream::sink::{MemorySink, Overflow, Product, Sums};
use fringes::stream::source::{Blocks, Received, SourceInfo};
use fringes::stream::{Fx, SampleBlock};
use fringes::{Complex, FEngine, FEngineBuilder, Gains, Inputs, Masker, Samples, Visibilities, f_engine, power_sums};
use ndarray::Array2;

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
            let (expected, masked) = one_call(&backend)?;
            let start = std::time::Instant::now();
            let (sink, products) = MemorySink::new();
            let fx = Fx::<Complex<i8>>::new(&backend, engine()?).cadence(schedule()?).bins(schedule()?, bins()?);
            let running = fx.mask(Masker::new(1e-4)?, BLOCK).sink(sink, Overflow::Block).start(source(times)?)?;
            let report = running.join().into_result()?;
            let time_ms = start.elapsed().as_secs_f64() * 1e3;
            let found: Dumps = products
                .take()
                .into_iter()
                .filter_map(|product| match product {
                    Product::Dump(dump) => match &dump.sums {
                        Sums::Integers(sums) => Some((dump.bin, sums.clone())),
                        Sums::Floats(_) => None,
                    },
                    _ => None,
                })
                .collect();
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
            Ok(Outcome {
                time_ms,
                value: END as f64 / time_ms / 1e3,
                unit: "Msamples/s an input",
                against: "one call of the F-engine on the device, masked and correlated on the CPU",
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

/// Dumps and bins of the whole stream at once, and how many cells of all are masked.
fn one_call(backend: &Backend) -> Result<(Dumps, [u64; 2]), Failure> {
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
    Ok((dumps, [masked, mask.masked().len() as u64]))
}
