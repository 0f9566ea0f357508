//! What loading kernels costs: bytes of the correlator's PTX in the program, the time to inflate them, and, on a GPU,
//! the first and the next load of each set and the first and the next `correlate()`.
//!
//! ```text
//! cargo run --release -p fringes-tools -- loading
//! ```
//!
//! Without a GPU it says so and ends behind the first table. The first load compiles what the driver has not compiled
//! on this machine before; `CUDA_CACHE_DISABLE=1` makes it compile all.

use std::time::Instant;

use crate::end::End;
use fringes::correlator::internals::mma::{Format, MmaKernel, Order};
use fringes::gpu::{Device, GpuError, PtxSet, PtxTarget};
use fringes::ndarray::Array3;
use fringes::{Backend, BaselineOrder, Complex, Inputs, Voltages, correlate};

type Failure = Box<dyn std::error::Error>;

/// How often what can be repeated is timed.
const RUNS: usize = 21;

/// The sets for compute capability 8.0 and higher, by name.
fn sets() -> impl Iterator<Item = (String, &'static PtxSet)> {
    Format::ALL.into_iter().flat_map(|format| {
        [Order::Rows, Order::DualHeaps].map(|order| {
            let set = MmaKernel::choose(format, order, 64).ptx();
            (format!("{format:?} {order:?}"), set)
        })
    })
}

/// Runs the tool.
pub(crate) fn run() -> Result<(), End> {
    measure().map_err(End::failed)
}

fn measure() -> Result<(), Failure> {
    println!("{:<16} {:>10} {:>10} {:>12}", "set", "stored", "text", "inflate us");
    for (name, set) in sets() {
        let Some(stored) = set.get(PtxTarget::Sm80) else { continue };
        let text = stored.read()?.len();
        let median = median((0..RUNS).map(|_| microseconds(|| stored.read().map(|text| text.len()))).collect())?;
        println!("{name:<16} {:>10} {text:>10} {median:>12.0}", stored.stored_bytes());
    }
    let device = match Device::best() {
        Ok(device) => device,
        Err(error @ (GpuError::NoDriver | GpuError::NoDevice { .. })) => {
            println!("loads are not measured: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    println!("\n{}\n{:<16} {:>14} {:>14}", device.info().name, "set", "first load us", "next load us");
    for (name, set) in sets() {
        let first = microseconds(|| device.load(set))?;
        let next = median((0..RUNS).map(|_| microseconds(|| device.load(set))).collect())?;
        println!("{name:<16} {first:>14.1} {next:>14.2}");
    }
    let voltages = Voltages::new(
        Array3::from_shape_fn((16, 256, 64), |(channel, time, input)| {
            let value = (channel * 31 + time * 17 + input * 7) % 251;
            Complex::new(value as i8 / 2, (value * 3 % 127) as i8)
        }),
        Inputs::new(32, 2)?,
    )?;
    let backend = Backend::on(device);
    let call = || correlate(&backend, &voltages, BaselineOrder::Triangle);
    let (first, second) = (microseconds(call)?, microseconds(call)?);
    let next = median((0..RUNS).map(|_| microseconds(call)).collect())?;
    println!("\ncorrelate() of 64 inputs, 16 channels, 256 times:");
    println!("first {first:.0} us, second {second:.0} us, median of the next {next:.0} us");
    Ok(())
}

/// How long something takes that must not fail.
fn microseconds<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<f64, E> {
    let start = Instant::now();
    std::hint::black_box(work()?);
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// The median of times, or the first failure.
fn median<E>(times: Vec<Result<f64, E>>) -> Result<f64, E> {
    let mut times = times.into_iter().collect::<Result<Vec<f64>, E>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
