//! An instrument (`Fx`) on a GPU whose voltages come from host memory: that what it gives is right, and what share of
//! the link it reaches.
//!
//! ```text
//! cargo run --release -p fringes-tools -- instrument
//! cargo run --release -p fringes-tools -- instrument --json record.json
//! ```
//!
//! First dumps of chunks in pinned and in pageable memory are compared bit for bit, and those of heaps with the CPU's.
//! Then times: the link alone, by copies of the same pinned memory, and instruments from pinned and from pageable
//! memory, F- and X-engine, X-engine alone, and one whose kernels are slower than the link. Each has its dumps brought
//! to the host, with the time from the chunk that completes one to a sink's having it, and the processor time of this
//! process a gigabyte.
//!
//! Exit status: 0, 1 if a check fails or the GPU does, 2 for bad arguments, 3 if there is no GPU.

mod beside;
mod case;
mod check;
mod check_ring;
mod check_spead;
mod load;
mod on_device;
mod process;
mod stamps;

use fringes::Backend;
use fringes_gpu::Device;

use crate::end::End;
use crate::gpu_report::{GpuArguments, Record};

/// Check and time instruments from host memory on a GPU. Exit status 0, 1 if a check fails, 3 if there is no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Time nothing.
    #[arg(long)]
    check_only: bool,
    /// Check nothing, and time sums by bins alone.
    #[arg(long, conflicts_with = "check_only")]
    bins_only: bool,
    /// Gigabytes that each instrument gets.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    gigabytes: u64,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device: Device = arguments.gpu.open()?;
    println!("{}", device.info());
    let mut record = Record::new(&device).kept_in(arguments.gpu.json.as_deref())?;
    if arguments.bins_only {
        on_device::bins(&device, &Backend::on(device.clone()), &mut record)?;
        return record.finish();
    }
    let mut failures = Vec::new();
    for (what, ended) in check::run(&device) {
        match ended {
            Ok(said) => println!("{what}: {said}"),
            Err(error) => {
                println!("FAILED  {what}: {error}");
                failures.push(format!("{what}: {error}"));
            }
        }
    }
    if !arguments.check_only {
        for (what, error) in load::run(&device, arguments.gigabytes << 30, &mut record)? {
            println!("FAILED  {what}: {error}");
            failures.push(format!("{what}: {error}"));
        }
        record.finish()?;
    }
    if failures.is_empty() { Ok(()) } else { Err(End::failed(failures.join("; "))) }
}
