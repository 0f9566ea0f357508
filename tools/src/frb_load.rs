//! How much of a GPU the chains of searches for fast radio bursts take, in percent of real time.

use crate::bench::Bench;
use crate::bench::ceilings;
use crate::bench::frb::loads;
use crate::end::End;
use crate::gpu_report::{self, GpuArguments};

/// Time the chains of CHIME, CASM and CHORD on a GPU, and print what part of real time they take. Exit status 3 if
/// there is no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    gpu: GpuArguments,
    /// Timed runs of each chain.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(10..=1000))]
    runs: u16,
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device = arguments.gpu.open()?;
    println!("{}\ndriver {}\n", device.info(), gpu_report::driver(device.info().driver_version));
    let name = device.info().name.clone();
    let mut bench = Bench::new(device, vec!["frb".into()], arguments.runs.into(), arguments.gpu.json.as_deref())?;
    let ceilings = ceilings::measure(&mut bench)?;
    let loads = loads(&mut bench, &ceilings)?;
    println!(
        "\n{:<28} {:>6} {:>12} {:>11} {:>11}   of {name}",
        "chain", "beams", "frequencies", "% of time", "its bytes"
    );
    for load in &loads {
        println!(
            "{:<28} {:>6} {:>12} {:>11.3} {:>11.3}   times of {} us",
            load.variant, load.beams, load.frequencies, load.percent, load.bytes_percent, load.time_us
        );
    }
    println!();
    println!("CHIME's first transform alone, by its published note: 2.67 % of an L40S.");
    println!(
        "CHIME's chain by its published kernels: 7.7 % of an H200 at least, by their machine code; they were not run."
    );
    println!("CHORD's times and sums are CHIME's here: its own are not published.");
    bench.record.finish()
}
