//! Several bands of the same chunks in device memory: a bank, with its launches in several orders, beside as many
//! streams that take each chunk one after the other.

use fringes::channelizer::internals::BandOrder;
use fringes::{Backend, DownConverter, DownConverterBank, DownConverterStream, Inputs};

use crate::bench::ceilings::Ceilings;
use crate::bench::streams::Chunk;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "down_convert_bank";
/// Bands.
const BANDS: usize = 8;
/// Samples of a chunk: far beyond the L2, and within it.
const SAMPLES: [usize; 2] = [1 << 28, 1 << 24];
/// Bits of a sample.
const BITS: u32 = 10;
/// Taps and decimations.
const PLANS: [(usize, usize); 2] = [(512, 32), (128, 8)];

/// What is timed: streams of a band each, or a bank with an order of launches.
fn kinds() -> Vec<(&'static str, Option<BandOrder>)> {
    let of = |streams, piece_bytes| BandOrder { streams, piece_bytes };
    let orders = [
        ("bank, side by side", of(16, u64::MAX)),
        ("bank, in turn", of(1, u64::MAX)),
        ("bank, in turn, pieces of 20 MB", of(1, 20_000_000)),
        ("bank, in turn, pieces of 40 MB", of(1, 40_000_000)),
        ("bank, side by side, pieces of 40 MB", of(16, 40_000_000)),
        ("bank, two streams, pieces of 20 MB", of(2, 20_000_000)),
    ];
    let chosen = BandOrder::default();
    let others = orders.into_iter().filter(|(_, order)| *order != chosen).map(|(name, order)| (name, Some(order)));
    [("DownConverterBank::push", Some(chosen)), ("a DownConverterStream a band", None)]
        .into_iter()
        .chain(others)
        .collect()
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    for samples in SAMPLES {
        // A chunk, and of each kind the outputs of all bands of the least decimation, which are 8 bytes each.
        let bytes = samples / 8 * BITS as usize + 8 * kinds().len() * BANDS * samples / 8;
        if bench.wants(NAME) && bench.fits("chunks of samples for a bank of down-converters", bytes)? {
            let inputs = Inputs::single_pol(1).map_err(End::failed)?;
            let chunk = Chunk::new(bench, inputs, samples)?;
            for (taps, decimation) in PLANS {
                plan(bench, ceilings, &chunk, samples, (taps, decimation))?;
            }
        }
    }
    Ok(())
}

/// Bands side by side in frequency; what the taps are makes no difference to the time.
fn bands(taps: usize, decimation: usize) -> Result<Vec<DownConverter>, End> {
    let band = |number: usize| {
        let centre = 0.01 + 0.06 * number as f64;
        DownConverter::new(centre, decimation, vec![1.0 / taps as f64; taps]).map_err(End::failed)
    };
    (0..BANDS).map(band).collect()
}

/// What takes a chunk for all bands.
enum Kind {
    Bank(Box<DownConverterBank>),
    Streams(Vec<DownConverterStream>),
}

impl Kind {
    fn new(bench: &Bench, inputs: Inputs, plans: Vec<DownConverter>, order: Option<BandOrder>) -> Result<Self, End> {
        let backend = Backend::on(bench.device.clone());
        if let Some(order) = order {
            let mut bank = DownConverterBank::new(&backend, plans, inputs).map_err(End::failed)?;
            bank.set_order(order).map_err(End::failed)?;
            return Ok(Self::Bank(Box::new(bank.on(&bench.stream).map_err(End::failed)?)));
        }
        let stream = |plan| {
            let stream = DownConverterStream::new(&backend, plan, inputs).map_err(End::failed)?;
            stream.on(&bench.stream).map_err(End::failed)
        };
        Ok(Self::Streams(plans.into_iter().map(stream).collect::<Result<_, End>>()?))
    }

    /// Takes a chunk; says how many outputs all bands have.
    fn push(&mut self, chunk: &Chunk, first_sample: u64) -> Result<u64, End> {
        let samples = chunk.at(first_sample)?;
        let times = |pieces: &[_]| pieces.iter().map(fringes::DeviceSamples::times).sum::<usize>() as u64;
        match self {
            Self::Bank(bank) => {
                let bands = bank.push(&samples).map_err(End::failed)?;
                Ok(bands.iter().map(|pieces| times(pieces)).sum())
            }
            Self::Streams(streams) => {
                // All outputs are held until the last, as a bank's are.
                let bands = streams.iter_mut().map(|stream| stream.push(&samples)).collect::<Result<Vec<_>, _>>();
                Ok(bands.map_err(End::failed)?.iter().map(|pieces| times(pieces)).sum())
            }
        }
    }
}

fn plan(
    bench: &mut Bench,
    ceilings: &Ceilings,
    chunk: &Chunk,
    samples: usize,
    (taps, decimation): (usize, usize),
) -> Result<(), End> {
    let kinds = kinds();
    let made = kinds.iter().map(|(_, order)| Kind::new(bench, chunk.inputs(), bands(taps, decimation)?, *order));
    let mut made = made.collect::<Result<Vec<_>, End>>()?;
    let (mut next, mut outputs) = (vec![0u64; made.len()], vec![0u64; made.len()]);
    let timings = bench.time_in_turn(made.len(), |kind| {
        outputs[kind] += made[kind].push(chunk, next[kind])?;
        next[kind] += samples as u64;
        Ok::<_, End>(())
    })?;
    for (kind, ((variant, order), timing)) in kinds.into_iter().zip(timings).enumerate() {
        // All windows that end with the last sample.
        let expected = BANDS as u64 * ((next[kind] - taps as u64) / decimation as u64 + 1);
        if outputs[kind] != expected {
            return Err(End::failed(format!("{NAME}, {variant}: {} outputs, not {expected}", outputs[kind])));
        }
        let read = if order.is_some() { 1.0 } else { BANDS as f64 } * f64::from(BITS) / 8.0;
        let bytes = samples as f64 * (read + 8.0 * BANDS as f64 / decimation as f64);
        bench.add(Measured {
            kernel: NAME,
            variant: format!("{variant}, {BITS} bits"),
            params: params([("bands", BANDS), ("taps", taps), ("decimation", decimation), ("samples", samples)]),
            timing,
            work: (BANDS * samples) as f64,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(bytes)),
            check: "the number of outputs; values not compared in this run: validate's down_convert compares such"
                .into(),
        });
    }
    Ok(())
}
