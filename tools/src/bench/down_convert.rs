//! Down-conversion through the public stream, on chunks in device memory that follow each other without a gap; the
//! kernel of FP32 products alone, for which a stream has samples of other formats; and kernels of compute capability
//! 8.0 and higher by themselves, on any device.

use fringes::channelizer::DownConvertedSample;
use fringes::channelizer::internals::format::Numbers;
use fringes::channelizer::internals::{DownConvertKernels, TensorCores, WindowRows};
use fringes::types::{ChunkFormat, SampleFormat};
use fringes::{
    Backend, Complex, DeviceArray, DeviceSamples, DownConverter, DownConverterStream, Inputs, Precision, f16,
};
use fringes_gpu::Buffer;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::streams::Chunk;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "down_convert";
/// Name of the rows of the kernel of FP32 products.
const GENERAL: &str = "down_convert_general";
/// Samples of a chunk of those.
const GENERAL_SAMPLES: usize = 1 << 26;
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
            for precision in [Precision::Single, Precision::Half] {
                plan::<Complex<f32>>(bench, ceilings, &chunk, (taps, decimation), precision)?;
                plan::<Complex<f16>>(bench, ceilings, &chunk, (taps, decimation), precision)?;
            }
        }
    }
    // The largest samples are complex f32.
    if bench.wants(GENERAL) && bench.fits("chunks of samples of other formats", 3 * 8 * GENERAL_SAMPLES)? {
        let real = |format| ChunkFormat::Typed { format, complex: false };
        let complex = |format| ChunkFormat::Typed { format, complex: true };
        general::<Complex<i16>>(bench, ceilings, ChunkFormat::Packed { bits: BITS }, (128, 8), false)?;
        general::<Complex<i8>>(bench, ceilings, ChunkFormat::Packed { bits: BITS }, (128, 8), false)?;
        general::<Complex<i8>>(bench, ceilings, ChunkFormat::Packed { bits: BITS }, (128, 8), true)?;
        for statistics in [false, true] {
            general::<Complex<f32>>(bench, ceilings, ChunkFormat::Packed { bits: 12 }, (128, 8), statistics)?;
        }
        general::<Complex<f32>>(bench, ceilings, real(SampleFormat::Float32), (128, 8), false)?;
        general::<Complex<f32>>(bench, ceilings, complex(SampleFormat::Float32), (64, 4), false)?;
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

/// Samples of a format that tensor cores do not take, or outputs that they do not give.
fn general<T: DownConvertedSample>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    format: ChunkFormat,
    (taps, decimation): (usize, usize),
    statistics: bool,
) -> Result<(), End> {
    let inputs = Inputs::single_pol(1).map_err(End::failed)?;
    let row_bytes = DeviceSamples::row_length(format, GENERAL_SAMPLES).map_err(End::failed)?;
    let mut words = Buffer::<u32>::alloc(&bench.device, row_bytes.div_ceil(4) + DeviceSamples::PADDING_WORDS)?;
    if format.codes().is_some() {
        Source::bytes(&bench.stream)?.fill(&bench.stream, &mut words.view_mut().cast::<u8>()?)?;
    } else {
        // Numbers from 1 to 2, with every bit of a fraction: a float's rate does not depend on what it is.
        let numbers = |i: usize| 1.0 + (i.wrapping_mul(0x9e37_79b9) & 0x7f_ffff) as f32 / 8_388_608.0;
        let numbers: Vec<u32> = (0..words.len()).map(|i| numbers(i).to_bits()).collect();
        words.copy_from_slice(&bench.stream, &numbers)?;
    }
    let backend = Backend::on(bench.device.clone());
    let converter = DownConverter::new(0.123_456_789, decimation, vec![1.0 / taps as f64; taps]);
    let stream = DownConverterStream::new(&backend, converter.map_err(End::failed)?, inputs).map_err(End::failed)?;
    let stream = stream.with_output::<T>().map_err(End::failed)?;
    let mut stream = stream.on(&bench.stream).map_err(End::failed)?;
    if statistics {
        stream = stream.with_statistics().map_err(End::failed)?;
    }
    let (mut next, mut outputs) = (0, 0);
    let timing = bench.time(|_| {
        let array = DeviceArray::from(words.view());
        let samples = DeviceSamples::new(array, row_bytes, format, GENERAL_SAMPLES, inputs).map_err(End::failed)?;
        let pieces = stream.push(&samples.with_first_sample(next)).map_err(End::failed)?;
        next += GENERAL_SAMPLES as u64;
        outputs += pieces.iter().map(|piece| piece.times() as u64).sum::<u64>();
        Ok::<_, End>(())
    })?;
    if outputs != (next - taps as u64) / decimation as u64 + 1 {
        return Err(End::failed(format!("{GENERAL}: {outputs} outputs of {next} samples")));
    }
    let bytes = row_bytes as f64 + (GENERAL_SAMPLES / decimation * size_of::<T>()) as f64;
    let counted = if statistics { ", statistics" } else { "" };
    bench.add(Measured {
        kernel: GENERAL,
        variant: format!("DownConverterStream::push, {format} to {}{counted}", T::NAME),
        params: params([("taps", taps), ("decimation", decimation), ("samples", GENERAL_SAMPLES)]),
        timing,
        work: GENERAL_SAMPLES as f64,
        unit: "Gsamples/s",
        bound: Some(ceilings.bytes(bytes)),
        check: "the number of outputs; values not compared in this run: validate's down_convert compares such".into(),
    });
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

fn plan<T: DownConvertedSample>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    chunk: &Chunk,
    (taps, decimation): (usize, usize),
    precision: Precision,
) -> Result<(), End> {
    let backend = Backend::on(bench.device.clone());
    // A mean: what the taps are makes no difference to the time.
    let filter = vec![1.0 / taps as f64; taps];
    let converter = DownConverter::new(0.123_456_789, decimation, filter).map_err(End::failed)?;
    let converter = converter.with_precision(precision);
    let stream = DownConverterStream::new(&backend, converter, chunk.inputs()).map_err(End::failed)?;
    let stream = stream.with_output::<T>().map_err(End::failed)?;
    let mut stream = stream.on(&bench.stream).map_err(End::failed)?;
    let (mut next, mut outputs, mut chunks) = (0, 0, 0);
    let timing = bench.time(|_| {
        let samples = chunk.at(next)?;
        next += SAMPLES as u64;
        chunks += 1;
        let output = stream.push(&samples).map_err(End::failed)?;
        outputs += output.iter().map(|piece| piece.times() as u64).sum::<u64>();
        Ok::<_, End>(())
    })?;
    // All windows that end with the last sample.
    let expected = (next - taps as u64) / decimation as u64 + 1;
    if outputs != expected {
        return Err(End::failed(format!("{NAME}: {outputs} outputs of {chunks} chunks, not {expected}")));
    }
    let bytes = SAMPLES as f64 * (f64::from(BITS) / 8.0 + size_of::<T>() as f64 / decimation as f64);
    let half = if precision == Precision::Half { ", half precision" } else { "" };
    bench.add(Measured {
        kernel: NAME,
        variant: format!("DownConverterStream::push, {BITS} bits to {}{half}", T::NAME),
        params: params([("taps", taps), ("decimation", decimation), ("samples", SAMPLES)]),
        timing,
        work: SAMPLES as f64,
        unit: "Gsamples/s",
        bound: Some(ceilings.bytes(bytes)),
        check: "the number of outputs; values not compared in this run: validate's down_convert compares such".into(),
    });
    Ok(())
}
