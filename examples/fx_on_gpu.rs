//! F-engine to X-engine to dumps, chunk by chunk; on a GPU nothing but samples and dumps crosses to or from the host.
//!
//! ```text
//! samples (host) ── Uploader ──> samples ── FEngine ──> rows ── Integrator ──> dumps ── to_host ──> (host)
//!                                        └──────────── device memory, one stream ────────┘
//! ```
//!
//! `cargo run --release --example fx_on_gpu` takes the best GPU, or the CPU where there is none; `-- --backend cpu`
//! takes the CPU.

mod common;

use std::process::ExitCode;

use fringes::correlator::{DumpSchedule, Integrator};
use fringes::ndarray::Array2;
use fringes::prelude::*;
use fringes::{Error, ToHost, Uploader};
use rand::{RngExt, SeedableRng};

const CHANNELS: usize = 256;
const SAMPLES: usize = 1 << 20; // of a chunk
const CHUNKS: u64 = 8;
const RATE_HZ: f64 = 1712e6;

/// F-engine to X-engine to dumps of noise that four antennas share, on a GPU or on the CPU.
#[derive(clap::Parser)]
struct Arguments {
    #[command(flatten)]
    backend: common::BackendArguments,
}

fn main() -> ExitCode {
    let run = |arguments: &Arguments| Ok(instrument(&arguments.backend.open()?)?);
    common::exit(run(&common::arguments()))
}

fn instrument(backend: &Backend) -> Result<(), Error> {
    let inputs = Inputs::new(4, 2)?;

    // 10-bit samples become 8-bit voltages in frames of 256 spectra; 8 frames are a dump.
    let plan = Channelizer::real(CHANNELS).taps(16).build()?;
    let schedule = DumpSchedule::new(plan.stride() as u64, 256, 8)?;
    let builder = FEngine::builder(plan, inputs).gains(Gains::uniform(0.25)?).dither(1);
    let mut f_engine = builder.build_rows::<Complex<i8>>(backend)?;
    let integrator = Integrator::<Complex<i8>>::new(backend, schedule, inputs, CHANNELS)?;

    let mut dumps: Vec<Visibilities<Complex<i64>>> = Vec::new();
    match backend.device() {
        // On a GPU: all on one stream. Rows and dumps stay in device memory; a dump is copied when it is wanted.
        Some(device) => {
            let stream = device.new_stream()?;
            let (mut f_engine, mut uploader) = (f_engine.on(&stream)?, Uploader::new(&stream));
            let mut integrator = integrator.on(&stream)?.dumps_on_device()?;
            for number in 0..CHUNKS {
                let samples = uploader.samples(&chunk(number, inputs)?)?;
                for frames in f_engine.push(&samples)?.frames {
                    for dump in integrator.push(&frames.voltages)? {
                        dumps.push(dump.to_host()?);
                    }
                }
            }
        }
        // On the CPU: the same calls on the same chunks, which lie on the host.
        None => {
            let mut integrator = integrator;
            for number in 0..CHUNKS {
                for frames in f_engine.push(&chunk(number, inputs)?)?.frames {
                    dumps.extend(integrator.push(&frames.voltages)?);
                }
            }
        }
    }
    println!("backend {}: {} dumps of {} spectra", backend.name(), dumps.len(), schedule.spectra_per_dump());
    for dump in &dumps {
        let auto: f64 = (0..CHANNELS).filter_map(|channel| dump.get(channel, 0, 0)).map(|value| value.re).sum();
        let cross: Complex<f64> = (0..CHANNELS).filter_map(|channel| dump.get(channel, 2, 0)).sum();
        let (stamp, coherence) = (dump.clock().first_sample, cross.norm() / auto);
        println!("dump at sample {stamp:>8}: coherence of antennas 1 and 0 is {coherence:.3} (a quarter is common)");
    }
    Ok(())
}

/// Noise, of which a quarter of the power is common to all antennas.
fn chunk(number: u64, inputs: Inputs) -> Result<PackedSamples, Error> {
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(number);
    let mut noise = || random.random_range(-100.0..100.0f32);
    let common: Vec<f32> = (0..SAMPLES).map(|_| noise()).collect();
    let data = Array2::from_shape_fn((inputs.len(), SAMPLES), |(_, time)| {
        (0.5 * common[time] + 0.75f32.sqrt() * noise()).round() as i16
    });
    let samples = PackedSamples::pack(data.view(), 10, inputs)?.with_first_sample(number * SAMPLES as u64);
    Ok(samples.with_sample_rate(RATE_HZ)?)
}
