//! Turns the samples of an npy file into quantised, delayed channels: the F-engine in one pass.
//!
//! In: `int16 [input][time]` of an ADC, inputs of one antenna next to each other, and perhaps delays, `float64 [input]`
//! in samples. Out: `int8 [frame][antenna][channel][spectrum][pol][2]`, the real part first; the first frame begins
//! with the first stamp that all its samples exist for, which is printed. Spectra that are incomplete are zero; their
//! number is printed as well.
//!
//! ```text
//! cargo run --release --example f_engine_npy -- --input x.npy --output y.npy --channels 1024 --gain 0.05
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{BackendArguments, Failure, failure};
use fringes::{Channelizer, Complex, DelayModel, FEngine, Gains, Heaps, f_engine};
use ndarray::{Axis, concatenate};

/// Run the F-engine over samples: int16 [input][time] in, int8 [frame][antenna][channel][spectrum][pol][2] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Samples, int16 [input][time].
    #[arg(long)]
    input: PathBuf,
    /// Where the frames go, int8 [frame][antenna][channel][spectrum][pol][2].
    #[arg(long)]
    output: PathBuf,
    /// Delays of the inputs in samples, float64 [input]: positive ones make an input later, phases with it.
    #[arg(long)]
    delays: Option<PathBuf>,
    /// Number of channels: half the transform's length.
    #[arg(long)]
    channels: usize,
    /// Number of taps of each branch of the filter bank.
    #[arg(long, default_value_t = 16)]
    taps: usize,
    /// Spectra of a frame.
    #[arg(long, default_value_t = 256)]
    spectra: usize,
    /// Polarisations of an antenna.
    #[arg(long, default_value_t = 1)]
    pols: usize,
    /// Factor from the filter bank's values to counts, before they are rounded and clamped at +-127.
    #[arg(long, default_value_t = 1.0)]
    gain: f64,
    /// Seed of the dither that is added before rounding; without it values are rounded to the nearest.
    #[arg(long)]
    dither: Option<u64>,
    #[command(flatten)]
    backend: BackendArguments,
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let samples = common::read_adc(&arguments.input, arguments.pols)?;
    let plan = Channelizer::real(arguments.channels).taps(arguments.taps).build()?;
    let gains = Gains::uniform(arguments.gain as f32)?;
    let mut engine = FEngine::builder(plan, samples.inputs()).spectra_per_frame(arguments.spectra).gains(gains);
    if let Some(seed) = arguments.dither {
        engine = engine.dither(seed);
    }
    if let Some(path) = &arguments.delays {
        let delays = common::read_vector(path, "float32 or float64 [input]")?;
        // A model's delay leaves the phase at the middle of the band, a quarter of the sample rate, as it was.
        let models: Result<Vec<_>, _> = delays.iter().map(|&delay| DelayModel::constant(delay, -delay / 4.0)).collect();
        engine = engine.delays(models.map_err(|error| failure(path.display(), error))?);
    }
    let channelized = f_engine::<Complex<i8>>(&backend, &samples, engine)?;
    for frames in &channelized.frames {
        let absent = frames.spectra_present.iter().filter(|present| !**present).count();
        let (number, first, saturated) = (frames.frames(), frames.first_stamp(), frames.saturated.sum());
        eprintln!("{number} frames from sample {first}; {absent} spectra absent, {saturated} values saturated");
        common::write(&arguments.output, parts(&frames.voltages)?.view())?;
    }
    Ok(())
}

/// Real and imaginary parts, as a last dimension.
fn parts(heaps: &Heaps<Complex<i8>>) -> Result<ndarray::Array<i8, ndarray::Ix6>, Failure> {
    let part = |get: fn(&Complex<i8>) -> i8| heaps.data().map(get).insert_axis(Axis(5));
    Ok(concatenate(Axis(5), &[part(|x| x.re).view(), part(|x| x.im).view()])?)
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
