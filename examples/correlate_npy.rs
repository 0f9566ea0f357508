//! Correlates 8-bit voltages of an npy file: for every channel, the sums over time of `x_a conj(x_b)`.
//!
//! In: `int8 [channel][time][input][2]`, real part first. Out: `int64 [channel][baseline][2]`, exact.
//!
//! ```text
//! cargo run --release --example correlate_npy -- --input x.npy --output v.npy
//! ```

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use common::{BackendArguments, Failure, failure};
use fringes::{BaselineOrder, Complex, Voltages, correlate};
use ndarray::{Array3, Axis};

/// Correlate 8-bit voltages: int8 [channel][time][input][2] in, int64 [channel][baseline][2] out.
#[derive(clap::Parser)]
struct Arguments {
    /// Voltages, int8 [channel][time][input][2] with the real part first; -128 is not a sample.
    #[arg(long)]
    input: PathBuf,
    /// Where the sums go, int64 [channel][baseline][2].
    #[arg(long)]
    output: PathBuf,
    /// Take -128 as -127 and count, instead of refusing it.
    #[arg(long)]
    clamp: bool,
    /// Polarisations of an antenna: input = antenna * pols + pol.
    #[arg(long, default_value_t = 1)]
    pols: usize,
    /// Order of the baselines.
    #[arg(long, value_enum, default_value_t = Order::Triangle)]
    order: Order,
    #[command(flatten)]
    backend: BackendArguments,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    /// Packed lower triangle: inputs a >= b at a (a + 1) / 2 + b.
    Triangle,
    /// Antennas ant1 <= ant2 at 4 (ant2 (ant2 + 1) / 2 + ant1), products aa ba ab bb (ant1's letter first); needs
    /// --pols 2.
    AntennaPairs,
    /// Inputs a and b at a n + b.
    Full,
}

impl From<Order> for BaselineOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Triangle => BaselineOrder::Triangle,
            Order::AntennaPairs => BaselineOrder::AntennaPairs,
            Order::Full => BaselineOrder::Full,
        }
    }
}

/// Takes the most negative value of every real and imaginary part as -127, and says how many there were.
fn clamp_most_negative(voltages: &mut Array3<Complex<i8>>) -> usize {
    let mut clamped = 0;
    for value in voltages.iter_mut() {
        for part in [&mut value.re, &mut value.im] {
            if *part == i8::MIN {
                *part = -i8::MAX;
                clamped += 1;
            }
        }
    }
    clamped
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let backend = arguments.backend.open()?;
    let input = &arguments.input;
    let mut data = common::read_voltages(input)?;
    if arguments.clamp {
        let clamped = clamp_most_negative(&mut data);
        eprintln!("{}: {clamped} of {} values were -128 and are taken as -127", input.display(), 2 * data.len());
    }
    let inputs = common::inputs(input, data.len_of(Axis(2)), arguments.pols)?;
    let voltages = Voltages::new(data, inputs).map_err(|error| failure(input.display(), error))?;
    let visibilities = correlate(&backend, &voltages, arguments.order.into())?.into_data();
    let (channels, baselines) = visibilities.dim();
    let parts = visibilities.iter().flat_map(|sum| [sum.re, sum.im]).collect();
    let parts = Array3::from_shape_vec((channels, baselines, 2), parts)?;
    common::write(&arguments.output, parts.view())
}

fn main() -> ExitCode {
    common::exit(run(&common::arguments()))
}
