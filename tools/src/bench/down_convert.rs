//! Down-conversion through the public stream, on chunks in device memory that follow each other without a gap.

use fringes::{Backend, DownConverter, DownConverterStream, Inputs};

use crate::bench::ceilings::Ceilings;
use crate::bench::streams::Chunk;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "down_convert";
/// Samples of a chunk.
const SAMPLES: usize = 1 << 28;
/// Bits of a sample.
const BITS: u32 = 10;
/// Taps and decimations.
const PLANS: [(usize, usize); 7] = [(128, 8), (256, 16), (512, 32), (160, 5), (96, 17), (1024, 64), (2048, 128)];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    // A chunk, and the outputs of some, which are 8 bytes each.
    if bench.wants(NAME)
        && bench.fits("chunks of samples to down-convert", SAMPLES / 8 * BITS as usize + 8 * SAMPLES)?
    {
        let inputs = Inputs::single_pol(1).map_err(End::failed)?;
        let chunk = Chunk::new(bench, inputs, SAMPLES)?;
        for (taps, decimation) in PLANS {
            plan(bench, ceilings, &chunk, taps, decimation)?;
        }
    }
    Ok(())
}

fn plan(bench: &mut Bench, ceilings: &Ceilings, chunk: &Chunk, taps: usize, decimation: usize) -> Result<(), End> {
    let backend = Backend::on(bench.device.clone());
    // A mean: what the taps are makes no difference to the time.
    let filter = vec![1.0 / taps as f64; taps];
    let converter = DownConverter::new(0.123_456_789, decimation, filter).map_err(End::failed)?;
    let stream = DownConverterStream::new(&backend, converter, chunk.inputs()).map_err(End::failed)?;
    let mut stream = stream.on(&bench.stream).map_err(End::failed)?;
    let (mut next, mut outputs, mut chunks) = (0, 0, 0);
    let timing = bench.time(|_| {
        let samples = chunk.at(next)?;
        next += SAMPLES as u64;
        chunks += 1;
        let output = stream.push(&samples).map_err(End::failed)?;
        outputs += output.map_or(0, |output| output.times() as u64);
        Ok::<_, End>(())
    })?;
    // All windows that end with the last sample.
    let expected = (next - taps as u64) / decimation as u64 + 1;
    if outputs != expected {
        return Err(End::failed(format!("{NAME}: {outputs} outputs of {chunks} chunks, not {expected}")));
    }
    let bytes = SAMPLES as f64 * (f64::from(BITS) / 8.0 + 8.0 / decimation as f64);
    bench.add(Measured {
        kernel: NAME,
        variant: format!("DownConverterStream::push, {BITS} bits"),
        params: params([("taps", taps), ("decimation", decimation), ("samples", SAMPLES)]),
        timing,
        work: SAMPLES as f64,
        unit: "Gsamples/s",
        bound: Some(ceilings.bytes(bytes)),
        check: "the number of outputs; values not compared in this run: validate's down_convert compares such".into(),
    });
    Ok(())
}
