//! Down-conversion through the public stream, on chunks in device memory that follow each other without a gap; and
//! kernels of compute capability 8.0 and higher by themselves, on any device.

use fringes::channelizer::internals::format::Numbers;
use fringes::channelizer::internals::{DownConvertKernels, TensorCores, WindowRows};
use fringes::types::ChunkFormat;
use fringes::{Backend, Complex, DeviceSamples, DownConverter, DownConverterStream, Inputs};
use fringes_gpu::Buffer;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::streams::Chunk;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "down_convert";
/// Name of the rows of kernels by themselves.
const FORCED: &str = "down_convert_mma";
/// Bits of samples of these.
const FORCED_BITS: [u32; 5] = [4, 8, 10, 12, 16];
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
    // Samples of the most bits, and outputs of the least decimation.
    if bench.wants(FORCED) && bench.fits("samples to down-convert", 2 * SAMPLES + 8 * SAMPLES / 5)? {
        let mut words = Buffer::<u32>::alloc(&bench.device, SAMPLES / 2 + DeviceSamples::PADDING_WORDS)?;
        Source::bytes(&bench.stream)?.fill(&bench.stream, &mut words.view_mut().cast::<u8>()?)?;
        for bits in FORCED_BITS {
            for (taps, decimation) in PLANS.into_iter().take(if bits == BITS { PLANS.len() } else { 3 }) {
                forced(bench, ceilings, &words, bits, taps, decimation)?;
            }
        }
    }
    Ok(())
}

/// Launches of the kernels for compute capability 8.0 and higher.
fn forced(
    bench: &mut Bench,
    ceilings: &Ceilings,
    words: &Buffer<u32>,
    bits: u32,
    taps: usize,
    decimation: usize,
) -> Result<(), End> {
    let converter =
        DownConverter::new(0.123_456_789, decimation, vec![1.0 / taps as f64; taps]).map_err(End::failed)?;
    let kernels = DownConvertKernels::load_of(&bench.device, &converter, TensorCores::Mma).map_err(End::failed)?;
    if !kernels.has_mma(bits) {
        return Ok(());
    }
    let rows = WindowRows {
        samples: words.view(),
        inputs: 1,
        row_bits: SAMPLES as u64 * u64::from(bits),
        first_bit: 0,
        first_sample: 0,
        times: SAMPLES,
        numbers: Numbers::of(ChunkFormat::Packed { bits }).map_err(End::failed)?,
    };
    let outputs = (SAMPLES - taps) / decimation + 1;
    let mut out = Buffer::<Complex<f32>>::alloc(&bench.device, outputs)?;
    let timing = bench.time(|_| {
        kernels.launch(&bench.stream, &rows, 0..outputs as u64, out.view_mut(), outputs).map_err(End::failed)
    })?;
    let bytes = SAMPLES as f64 * (f64::from(bits) / 8.0 + 8.0 / decimation as f64);
    bench.add(Measured {
        kernel: FORCED,
        variant: format!("sm_80 code forced, {bits} bits"),
        params: params([("taps", taps), ("decimation", decimation), ("samples", SAMPLES)]),
        timing,
        work: SAMPLES as f64,
        unit: "Gsamples/s",
        bound: Some(ceilings.bytes(bytes)),
        check: "not compared in this run: validate's down_convert compares such, forced too".into(),
    });
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
