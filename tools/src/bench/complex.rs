//! The F-engine of complex samples, as a down-converter gives them, through the public stream on chunks in device
//! memory that follow each other without a gap.
//!
//! The floor is that of the bytes: samples in, kept channels out. A sample is both of its parts.

use std::ops::Range;

use fringes::delay::{DelayModel, DelaySegment};
use fringes::{
    Backend, Channelizer, ChunkFormat, Complex, DeviceArray, DeviceSamples, FEngine, Gains, Inputs, Precision,
    SampleFormat,
};
use fringes_gpu::Buffer;

use crate::bench::ceilings::Ceilings;
use crate::bench::streams::random_words;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// Name of the rows.
const NAME: &str = "f_engine_complex";
/// Samples of an input of a chunk.
const SAMPLES: usize = 1 << 25;
const TAPS: usize = 16;
const INPUTS: usize = 2;
/// Spectra of a frame.
const FRAME: usize = 256;
/// Key of the dither.
const SEED: u64 = 20261124;

/// Numbers of channels, and those that are kept.
fn plans() -> [(usize, Range<usize>); 6] {
    let inner = |channels: usize| channels / 4..3 * channels / 4;
    [(1024, 0..1024), (4096, 0..4096), (8192, inner(8192)), (8192, 0..8192), (32768, 0..32768), (65536, inner(65536))]
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    // Samples, and frames under way.
    if !bench.wants(NAME) || !bench.fits("chunks of complex samples", INPUTS * SAMPLES * (8 + 4 * 2) + (128 << 20))? {
        return Ok(());
    }
    for format in [SampleFormat::Float16, SampleFormat::Float32, SampleFormat::Int8, SampleFormat::Int16] {
        let chunk = Chunk::new(bench, format)?;
        for (channels, kept) in plans() {
            chunk.run(bench, ceilings, channels, kept.clone(), Precision::Single)?;
            // f32 has no kernels of half precision.
            if format != SampleFormat::Float32 {
                chunk.run(bench, ceilings, channels, kept, Precision::Half)?;
            }
        }
    }
    Ok(())
}

/// Random samples on the device, which every chunk has.
struct Chunk {
    words: Buffer<u32>,
    format: ChunkFormat,
}

impl Chunk {
    fn new(bench: &Bench, format: SampleFormat) -> Result<Self, End> {
        let format = ChunkFormat::Typed { format, complex: true };
        let length = INPUTS * SAMPLES * format.sample_bits() as usize / 32 + DeviceSamples::PADDING_WORDS;
        let words = random_words(bench, length, format)?;
        Ok(Self { words, format })
    }

    fn run(
        &self,
        bench: &mut Bench,
        ceilings: &Ceilings,
        channels: usize,
        kept: Range<usize>,
        precision: Precision,
    ) -> Result<(), End> {
        let inputs = Inputs::new(1, INPUTS).map_err(End::failed)?;
        let plan = Channelizer::complex(channels).taps(TAPS).build().map_err(End::failed)?;
        let delay = |input: usize| {
            let segment = DelaySegment::new(0, vec![-37.3 + 0.7 * input as f64]).with_phase(0.11 * input as f64, 0.0);
            DelayModel::from_segment(segment).map_err(End::failed)
        };
        let full_scale = match self.format {
            ChunkFormat::Typed { format: SampleFormat::Int8, .. } => 128.0,
            ChunkFormat::Typed { format: SampleFormat::Int16, .. } => 32768.0,
            _ => 1.0,
        };
        let engine = FEngine::<Complex<i8>>::builder(plan, inputs)
            .spectra_per_frame(FRAME)
            .channels(kept.clone())
            .dither(SEED)
            .precision(precision)
            .gains(Gains::uniform(20.0 / full_scale).map_err(End::failed)?)
            .delays((0..INPUTS).map(delay).collect::<Result<_, _>>()?);
        let engine = engine.build::<Complex<i8>>(&Backend::on(bench.device.clone())).map_err(End::failed)?;
        let mut engine = engine.on(&bench.stream).map_err(End::failed)?;
        let row_bytes = SAMPLES * self.format.sample_bits() as usize / 8;
        let (mut next, mut frames) = (0, 0);
        let timing = bench.time(|_| {
            let array = DeviceArray::from(self.words.view());
            let samples = DeviceSamples::new(array, row_bytes, self.format, SAMPLES, inputs).map_err(End::failed)?;
            let given = engine.push(&samples.with_first_sample(next)).map_err(End::failed)?.frames;
            next += SAMPLES as u64;
            frames += given.iter().map(|frames| frames.frames()).sum::<usize>();
            Ok::<_, End>(())
        })?;
        if engine.precision() != Some(precision) {
            let found = engine.precision();
            return Err(End::failed(format!(
                "{NAME}, {channels} channels: computed in {found:?}, not in {precision:?}"
            )));
        }
        // All frames whose windows have ended, but for the first that a delay, and the last that a window cuts.
        let expected = next as usize / (channels * FRAME);
        if frames + 2 < expected || frames > expected {
            return Err(End::failed(format!("{NAME}, {channels} channels: {frames} frames of {expected}")));
        }
        let work = (SAMPLES * INPUTS) as f64;
        let out = 2.0 * kept.len() as f64 / channels as f64;
        bench.add(Measured {
            kernel: NAME,
            variant: format!(
                "FEngine::push, {} to 8, dither, {TAPS} taps{}",
                self.format,
                if precision == Precision::Half { ", half precision" } else { "" }
            ),
            params: params([("channels", channels), ("kept", kept.len()), ("samples", SAMPLES), ("inputs", INPUTS)]),
            timing,
            work,
            unit: "Gsamples/s",
            bound: Some(ceilings.bytes(work * (f64::from(self.format.sample_bits()) / 8.0 + out))),
            check: "the number of frames; values not compared in this run: validate's f_engine_device and f_engine_half compare such"
                .into(),
        });
        Ok(())
    }
}
