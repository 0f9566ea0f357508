//! Forms tied-array beams from 8-bit voltages of an npy file: weighted sums over the inputs.
//!
//! In: `int8 [channel][time][input][2]`, real part first, and weights `complex64 [beam][channel][input]`, used as they
//! are. Out: `complex64 [channel][time][beam]`, `sum over inputs of weight * voltage`.
//!
//! ```text
//! cargo run --release --example beamform_npy -- --input x.npy --weights w.npy --output y.npy
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{BackendArguments, Failure, failure};
use fringes::{BeamWeights, Voltages, beamform};
use ndarray::Axis;

/// Form beams: int8 [channel][time][input][2] and complex64 weights in, complex64 [channel][time][beam] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Voltages, int8 [channel][time][input][2] with the real part first; -128 is not a sample.
    #[arg(long)]
    input: PathBuf,
    /// Weights, complex64 [beam][channel][input], not conjugated.
    #[arg(long)]
    weights: PathBuf,
    /// Where the beams go, complex64 [channel][time][beam].
    #[arg(long)]
    output: PathBuf,
    #[command(flatten)]
    backend: BackendArguments,
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let (input, weights) = (&arguments.input, &arguments.weights);
    let data = common::read_voltages(input)?;
    let inputs = common::inputs(input, data.len_of(Axis(2)), 1)?;
    let voltages = Voltages::new(data, inputs).map_err(|error| failure(input.display(), error))?;
    let data = common::read_weights(weights)?;
    let weights = BeamWeights::new(data).map_err(|error| failure(weights.display(), error))?;
    let beams = beamform(&backend, &voltages, &weights)?;
    common::write(&arguments.output, beams.data())
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
