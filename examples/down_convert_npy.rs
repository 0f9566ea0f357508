//! Shifts a frequency of an npy file's samples to 0 Hz, filters and decimates.
//!
//! In: `int16` or `float32` (real) or `complex64` `[input][time]`, and a filter `float32` or `float64` `[tap]`.
//! Out: `complex64 [input][time]`, `y_j = g sum_k h_k x_(S j + k) exp(-2 pi i c (S j + k))` for centre `c`, decimation
//! `S` and gain `g`; or with `--to int8` and `int16` integers `[input][time][2]`, real and imaginary part, with
//! `--to float16` the values of f16 as `complex64`.
//!
//! `--retune 1000:0.3` moves the centre to 0.3 at sample 1000, in which the mixer's phase is continuous; it may come
//! several times, in order.
//!
//! ```text
//! cargo run --release --example down_convert_npy -- --input x.npy --output y.npy \
//!     --centre 0.21 --decimation 8 --filter h.npy --to int8 --gain 0.05
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{AnySamples, BackendArguments, Failure, failure};
use fringes::channelizer::DownConvertedSample;
use fringes::{Backend, Complex, DownConverter, DownConverterStream, Sample, Samples, down_convert_to, f16};
use ndarray::{Array2, Array3, Axis, concatenate};

/// Down-convert samples: int16, float32 or complex64 [input][time] in, complex64 [input][time] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Samples, int16 or float32 (real) or complex64, [input][time].
    #[arg(long)]
    input: PathBuf,
    /// Where the result goes.
    #[arg(long)]
    output: PathBuf,
    /// The frequency that lands on 0 Hz, in cycles per sample.
    #[arg(long, value_name = "CYCLES_PER_SAMPLE", allow_negative_numbers = true)]
    centre: f64,
    /// Input samples per output sample.
    #[arg(long)]
    decimation: usize,
    /// Filter, float32 or float64 [tap], applied as it is, not reversed.
    #[arg(long)]
    filter: PathBuf,
    /// What outputs are multiplied by.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    gain: f64,
    /// What outputs become.
    #[arg(long, value_enum, default_value_t = Output::Complex64)]
    to: Output,
    /// A sample, and the centre from there on.
    #[arg(long, value_name = "SAMPLE:CYCLES_PER_SAMPLE", value_parser = retune)]
    retune: Vec<(u64, f64)>,
    #[command(flatten)]
    backend: BackendArguments,
}

/// A type of outputs.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Output {
    Complex64,
    Float16,
    Int16,
    Int8,
}

fn retune(text: &str) -> Result<(u64, f64), String> {
    let expected = "expected SAMPLE:CYCLES_PER_SAMPLE";
    let (sample, centre) = text.split_once(':').ok_or(expected)?;
    Ok((sample.parse().map_err(|_| expected)?, centre.parse().map_err(|_| expected)?))
}

/// Outputs of a type, and how many of each input saturated.
fn convert<T: DownConvertedSample, S: Sample>(
    backend: &Backend,
    samples: &Samples<S>,
    plan: &DownConverter,
    retunes: &[(u64, f64)],
) -> Result<Array2<T>, Failure> {
    let (data, saturated) = if retunes.is_empty() {
        let result = down_convert_to::<T, _>(backend, samples, plan)?;
        (result.samples.into_data(), result.saturated.to_vec())
    } else {
        let stream = DownConverterStream::new(backend, plan.clone(), samples.inputs())?;
        let mut stream = stream.with_output::<T>()?.with_statistics()?;
        for &(sample, centre) in retunes {
            stream.retune(sample, centre)?;
        }
        let pieces = stream.push(samples)?;
        let data: Vec<_> = pieces.iter().map(Samples::data).collect();
        let data = concatenate(Axis(1), &data).map_err(|_| failure("samples", "too few for one output"))?;
        (data, stream.take_statistics()?.iter().map(|of| of.outputs.saturated).collect())
    };
    if saturated.iter().any(|&count| count > 0) {
        println!("saturated, of {} outputs: {saturated:?}", data.ncols());
    }
    Ok(data)
}

fn outputs<T: DownConvertedSample>(arguments: &Arguments, backend: &Backend) -> Result<Array2<T>, Failure> {
    let filter = common::read_filter(&arguments.filter)?;
    let plan = DownConverter::new(arguments.centre, arguments.decimation, filter)?.with_gain(arguments.gain)?;
    match AnySamples::read(&arguments.input)? {
        AnySamples::Int16(samples) => convert(backend, &samples, &plan, &arguments.retune),
        AnySamples::Float32(samples) => convert(backend, &samples, &plan, &arguments.retune),
        AnySamples::Complex32(samples) => convert(backend, &samples, &plan, &arguments.retune),
    }
}

/// Parts of integers along a last axis, which is what numpy has for them.
fn parts<T: Copy>(data: &Array2<Complex<T>>) -> Array3<T> {
    Array3::from_shape_fn((data.nrows(), data.ncols(), 2), |(input, time, part)| {
        let value = data[(input, time)];
        if part == 0 { value.re } else { value.im }
    })
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    match arguments.to {
        Output::Complex64 => common::write(&arguments.output, outputs::<Complex<f32>>(arguments, &backend)?.view()),
        Output::Float16 => {
            let data = outputs::<Complex<f16>>(arguments, &backend)?.mapv(Sample::to_c32);
            common::write(&arguments.output, data.view())
        }
        Output::Int16 => common::write(&arguments.output, parts(&outputs::<Complex<i16>>(arguments, &backend)?).view()),
        Output::Int8 => common::write(&arguments.output, parts(&outputs::<Complex<i8>>(arguments, &backend)?).view()),
    }
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
