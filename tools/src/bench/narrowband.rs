//! The narrowband F-engine through its public stream, on chunks in device memory that follow each other without a gap:
//! a down-converter and a filter bank, samples between them in device memory.

use fringes::delay::DelayModel;
use fringes::design::DownConversionFilter;
use fringes::{
    Backend, Channelizer, ChannelizerError, Complex, DeviceError, DownConverter, Gains, Inputs, Intermediate,
    NarrowbandFEngine, NarrowbandFEngineBuilder, Precision,
};
use fringes_gpu::Timing;

use crate::bench::ceilings::Ceilings;
use crate::bench::streams::Chunk;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "narrowband";
/// Samples of an input of a chunk: 39 and 157 ms of MeerKAT's.
const SAMPLES: [usize; 2] = [1 << 26, 1 << 28];
/// Pushes of a timed run: the first stage of one is beside the second of the one before, so that single ones vary.
const PUSHES: usize = 16;
/// Bits of a sample.
const BITS: u32 = 10;
const DECIMATION: usize = 8;
const FILTER_TAPS: usize = 128;
/// Taps of the filter bank.
const TAPS: usize = 16;
/// Spectra of a frame.
const FRAME: usize = 256;
/// Channels that come out: the inner half.
const CHANNELS: [usize; 2] = [4096, 32768];

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if bench.wants(NAME) && bench.fits("chunks of samples for the narrowband F-engine", 3 << 30)? {
        let inputs = Inputs::new(1, 2).map_err(End::failed)?;
        for samples in SAMPLES {
            let chunk = Chunk::new(bench, inputs, samples)?;
            for channels in CHANNELS {
                for (intermediate, precision, incoming) in [
                    (Intermediate::Float32, Precision::Single, true),
                    (Intermediate::Float16, Precision::Single, true),
                    (Intermediate::Float16, Precision::Half, true),
                    (Intermediate::Float16, Precision::Half, false),
                ] {
                    let what = (intermediate, precision, incoming);
                    of_channels(bench, ceilings, (&chunk, samples), channels, what)?;
                }
            }
        }
    }
    Ok(())
}

fn builder(channels: usize, inputs: Inputs) -> Result<NarrowbandFEngineBuilder, End> {
    let filter = DownConversionFilter::outer_half_discarded(DECIMATION).taps(FILTER_TAPS).build();
    let down_converter = DownConverter::designed(0.123_456_789, &filter.map_err(End::failed)?).map_err(End::failed)?;
    let plan = Channelizer::complex(2 * channels).taps(TAPS).build().map_err(End::failed)?;
    let delay = |input: usize| DelayModel::constant(37.3 + 0.7 * input as f64, 0.11).map_err(End::failed);
    let delays = (0..inputs.len()).map(delay).collect::<Result<Vec<_>, _>>()?;
    Ok(NarrowbandFEngineBuilder::new(down_converter, plan, inputs)
        .outer_half_discarded()
        .spectra_per_frame(FRAME)
        .gains(Gains::uniform(0.3).map_err(End::failed)?)
        .dither(20261124)
        .delays(delays))
}

fn of_channels(
    bench: &mut Bench,
    ceilings: &Ceilings,
    (chunk, length): (&Chunk, usize),
    channels: usize,
    (intermediate, precision, comes): (Intermediate, Precision, bool),
) -> Result<(), End> {
    let backend = Backend::on(bench.device.clone());
    let engine: NarrowbandFEngine<Complex<i8>> =
        match builder(channels, chunk.inputs())?.intermediate(intermediate).precision(precision).build(&backend) {
            Ok(engine) => engine,
            Err(ChannelizerError::Device(error @ DeviceError::NoKernel { .. })) => {
                println!("{NAME}, {channels} channels: skipped, {error}");
                return Ok(());
            }
            Err(error) => return Err(End::failed(error)),
        };
    let mut engine = engine.on(&bench.stream).map_err(End::failed)?;
    let (mut next, mut frames, incoming) = (0, 0, bench.device.new_stream()?);
    let timing = bench.time(|_| {
        for _ in 0..PUSHES {
            let samples = if comes { chunk.come_on(&incoming, next)? } else { chunk.at(next)? };
            next += length as u64;
            let given = engine.push(&samples).map_err(End::failed)?.frames;
            frames += given.iter().map(|frames| frames.frames() as u64).sum::<u64>();
        }
        Ok::<_, End>(())
    })?;
    let timing = Timing::new(timing.all_ms.iter().map(|ms| ms / PUSHES as f64).collect())?;
    if engine.precision() != Some(precision) {
        let found = engine.precision();
        return Err(End::failed(format!("{NAME}, {channels} channels: computed in {found:?}, not in {precision:?}")));
    }
    // The first frame begins with the second one's samples at the latest; of a window some samples are still to come.
    let of_frame = FRAME as u64 * engine.stride();
    let window = TAPS as u64 * engine.stride() + FILTER_TAPS as u64;
    let most = next / of_frame;
    let least = ((next - window) / of_frame).saturating_sub(2);
    if !(least..=most).contains(&frames) {
        return Err(End::failed(format!("{NAME}: {frames} frames of {next} samples, not {least} to {most}")));
    }
    let work = (length * chunk.inputs().len()) as f64;
    // Samples in, and of 2 C S of them C channels of two bytes out; samples between the stages are not counted.
    let bytes = work * (f64::from(BITS) / 8.0 + 1.0 / DECIMATION as f64);
    bench.add(Measured {
        kernel: NAME,
        variant: format!(
            "NarrowbandFEngine::push, {BITS} bits, {intermediate:?}, 8 bits, dither, {TAPS} taps, inner half{}{}",
            if precision == Precision::Half { ", half precision" } else { "" },
            if comes { "" } else { ", samples of the same stream" }
        ),
        params: params([
            ("channels", channels),
            ("decimation", DECIMATION),
            ("filter_taps", FILTER_TAPS),
            ("samples", length),
            ("inputs", chunk.inputs().len()),
        ]),
        timing,
        work,
        unit: "Gsamples/s",
        bound: Some(ceilings.bytes(bytes)),
        check: "the number of frames; values not compared in this run: validate's narrowband compares such".into(),
    });
    Ok(())
}
