//! Shifts a frequency of an npy file's samples to 0 Hz, filters and decimates.
//!
//! In: `int16` or `float32` (real) or `complex64` `[input][time]`, and a filter `float32` or `float64` `[tap]`.
//! Out: `complex64 [input][time]`, `y_j = sum_k h_k x_(S j + k) exp(-2 pi i c (S j + k))` for centre `c` and decimation
//! `S`.
//!
//! ```text
//! cargo run --release --example down_convert_npy -- --input x.npy --output y.npy \
//!     --centre 0.21 --decimation 8 --filter h.npy
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{AnySamples, BackendArguments, Failure};
use fringes::{DownConverter, down_convert};

/// Down-convert samples: int16, float32 or complex64 [input][time] in, complex64 [input][time] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Samples, int16 or float32 (real) or complex64, [input][time].
    #[arg(long)]
    input: PathBuf,
    /// Where the result goes, complex64 [input][time].
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
    #[command(flatten)]
    backend: BackendArguments,
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let filter = common::read_filter(&arguments.filter)?;
    let plan = DownConverter::new(arguments.centre, arguments.decimation, filter)?;
    let result = match AnySamples::read(&arguments.input)? {
        AnySamples::Int16(samples) => down_convert(&backend, &samples, &plan)?,
        AnySamples::Float32(samples) => down_convert(&backend, &samples, &plan)?,
        AnySamples::Complex32(samples) => down_convert(&backend, &samples, &plan)?,
    };
    common::write(&arguments.output, result.data())
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
