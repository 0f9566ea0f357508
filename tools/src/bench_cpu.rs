//! Times one operation of the facade again and again, on demand: the half of `benches/compare.py` that is ours.
//!
//! A case is named on the command line. The program makes its input and prints one JSON line that describes the case.
//! Then, for every line on standard input, it runs the operation twice and prints the time of the second,
//! `{"seconds": s}`. Timed is the whole public call: checks, repacking, the work, and the allocation of the
//! output. Not timed are the making of the input, the release of the output, and any file.
//!
//! ```text
//! yes | head -n 10 | cargo run --release -p fringes-tools -- bench-cpu correlate
//! ```

use std::any::Any;
use std::io::{BufRead, Write};
use std::time::Instant;

use crate::end::End;
use fringes::beamformer::{TiedArrayBeams, WeightPrecision};
use fringes::{
    Backend, BaselineOrder, BeamWeights, Channelizer, Complex, DownConverter, Error, Inputs, Samples, Voltages, Window,
    beamform, channelize, correlate, down_convert,
};
use ndarray::{Array2, Array3};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Time an operation of the CPU backend once per line of standard input.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to time.
    #[arg(value_enum)]
    case: Case,
    /// Polarisations, antennas or beams, see the case.
    #[arg(long, default_value_t = 128)]
    inputs: usize,
    /// Number of channels.
    #[arg(long, default_value_t = 64)]
    channels: usize,
    /// Spectra, or output samples of down-conversion.
    #[arg(long, default_value_t = 4096)]
    times: usize,
    /// Taps of the filter bank or the filter.
    #[arg(long, default_value_t = 16)]
    taps: usize,
    /// Decimation of down-conversion.
    #[arg(long, default_value_t = 8)]
    decimation: usize,
    /// Number of beams.
    #[arg(long, default_value_t = 64)]
    beams: usize,
    /// How the weights of beams are held.
    #[arg(long, value_enum, default_value_t = Weights::F32)]
    weights: Weights,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Weights {
    /// As they are, `BeamWeights`.
    F32,
    /// `WeightPrecision::Int16`.
    Int16,
    /// `WeightPrecision::Int8`.
    Int8,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Case {
    /// 8-bit voltages to the packed triangle.
    Correlate,
    /// Real float32 samples, Hann window.
    Channelize,
    /// Real float32 samples.
    DownConvert,
    /// 8-bit voltages to tied-array beams.
    Beamform,
}

/// Random voltages of about 20 counts rms.
fn voltages(arguments: &Arguments, random: &mut Xoshiro256PlusPlus) -> Result<Voltages<Complex<i8>>, Error> {
    let shape = (arguments.channels, arguments.times, arguments.inputs);
    let data = Array3::from_shape_simple_fn(shape, || {
        Complex::new(random.random_range(-35..=35), random.random_range(-35..=35))
    });
    Ok(Voltages::new(data, Inputs::single_pol(arguments.inputs)?)?)
}

fn samples(inputs: usize, times: usize, random: &mut Xoshiro256PlusPlus) -> Result<Samples<f32>, Error> {
    let data = Array2::from_shape_simple_fn((inputs, times), || random.random_range(-1.0f32..1.0));
    Ok(Samples::new(data, Inputs::single_pol(inputs)?)?)
}

/// An operation on data of its own; what it returns is its output.
type Operation = Box<dyn Fn() -> Result<Box<dyn Any>, Error>>;

/// The operation, ready to be run.
fn prepare(arguments: &Arguments) -> Result<Operation, Error> {
    let backend = Backend::cpu();
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(1);
    let Arguments { inputs, channels, times, taps, decimation, beams, .. } = *arguments;
    Ok(match arguments.case {
        Case::Correlate => {
            let voltages = voltages(arguments, random)?;
            Box::new(move || Ok(Box::new(correlate(&backend, &voltages, BaselineOrder::Triangle)?)))
        }
        Case::Channelize => {
            let plan = Channelizer::real(channels).taps(taps).window(Window::Hann).build()?;
            let samples = samples(inputs, (times + taps).saturating_sub(1) * 2 * channels, random)?;
            Box::new(move || Ok(Box::new(channelize(&backend, &samples, &plan)?)))
        }
        Case::DownConvert => {
            let filter = (0..taps).map(|_| random.random_range(-1.0..1.0)).collect();
            let plan = DownConverter::new(0.21, decimation, filter)?;
            let samples = samples(inputs, times.saturating_sub(1) * decimation + taps, random)?;
            Box::new(move || Ok(Box::new(down_convert(&backend, &samples, &plan)?)))
        }
        Case::Beamform => {
            let voltages = voltages(arguments, random)?;
            let weights = Array3::from_shape_simple_fn((beams, channels, inputs), || {
                Complex::new(random.random_range(-1.0f32..1.0), random.random_range(-1.0f32..1.0))
            });
            let weights = BeamWeights::new(weights)?;
            let precision = match arguments.weights {
                Weights::F32 => return Ok(Box::new(move || Ok(Box::new(beamform(&backend, &voltages, &weights)?)))),
                Weights::Int16 => WeightPrecision::Int16,
                Weights::Int8 => WeightPrecision::Int8,
            };
            let beams = TiedArrayBeams::new(weights).with_precision(precision);
            Box::new(move || Ok(Box::new(beamform(&backend, &voltages, &beams)?)))
        }
    })
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    serve(arguments).map_err(End::failed)
}

fn serve(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let operation = prepare(arguments)?;
    let mut stdout = std::io::stdout().lock();
    let about = serde_json::json!({ "backend": Backend::cpu().name(), "threads": rayon::current_num_threads() });
    writeln!(stdout, "{about}")?;
    stdout.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        // Warms up caches, clocks and the memory that the output goes to.
        drop(operation()?);
        let start = Instant::now();
        let output = operation()?;
        let seconds = start.elapsed().as_secs_f64();
        drop(output);
        writeln!(stdout, "{}", serde_json::json!({ "seconds": seconds }))?;
        stdout.flush()?;
    }
    Ok(())
}
