//! F-engines and X-engines on several GPUs of one host: that the corner turn changes no bit, and what each GPU adds.
//!
//! ```text
//! cargo run --release -p fringes-tools -- scale
//! cargo run --release -p fringes-tools -- scale --gpus 2 --json record.json
//! ```
//!
//! First the turn, by copies between the GPUs, by stores of the F-engines, by copies of frames, and by NCCL (where its
//! library is found), is compared with the host's, and visibilities of several F- and X-engines with those of one. On
//! one GPU its two ranks are the same GPU.
//!
//! Then times, on one GPU and on all: the X-engine alone, F- and X-engine, the turn alone. Each GPU has a thread of its
//! own and two streams, one that computes and one for the turn, two blocks under way ([`pipeline`]).
//!
//! Exit status: 0, 1 if a check fails or a GPU does, 2 for bad arguments, 3 if there is no GPU.

mod bench;
mod case;
mod check_direct;
mod check_fx;
mod check_turn;
mod energy;
mod meeting;
mod pipeline;
mod shares;
mod stock;
mod turner;

use std::path::PathBuf;
use std::time::Instant;

use fringes_gpu::{Device, GpuError, device_count};

use crate::end::End;
use crate::gpu_report::Record;
use bench::Bench;
use turner::Way;

/// Check and time F-engines, corner turn and X-engines on the GPUs of this machine. Exit status 0, 1 if a check fails,
/// 3 if there is no GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many GPUs, the first ones. Without it: all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    gpus: Option<u8>,
    /// Stations of the sizes to time, 64 (4096 channels) or 512 (1024 channels); may be given twice.
    #[arg(long, value_name = "N", value_parser = ["64", "512"])]
    stations: Vec<String>,
    /// Time each for half a second in place of one and a half.
    #[arg(long)]
    quick: bool,
    /// Time nothing.
    #[arg(long)]
    check_only: bool,
    /// Also write a measurement record to this file.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// What failed so far, in words. A failure ends the program with status 1, and all that can be measured is before.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<String>);

impl Failures {
    /// Prints how a step ended, and notes it if it failed.
    pub(crate) fn note<T>(&mut self, what: &str, ended: Result<T, End>) -> Option<T> {
        match ended {
            Ok(value) => Some(value),
            Err(error) => {
                println!("FAILED  {what}: {error}");
                self.0.push(format!("{what}: {error}"));
                None
            }
        }
    }

    /// The end of the program.
    fn end(self) -> Result<(), End> {
        if self.0.is_empty() { Ok(()) } else { Err(End::failed(self.0.join("; "))) }
    }
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let devices = open(arguments.gpus.map(usize::from))?;
    println!("{}", devices[0].info());
    describe(&devices)?;
    let begun = Instant::now();
    let mut failures = Failures::default();
    let mut record = Record::new(&devices[0]).of_gpus(devices.len()).kept_in(arguments.json.as_deref())?;
    let seconds = if arguments.quick { 0.5 } else { 1.5 };
    let mut bases = Vec::new();
    // All that needs no other library comes first, and is written then.
    for way in ways() {
        println!("\n-- turn by {}, after {:.0} s", way.name(), begun.elapsed().as_secs_f64());
        if way.has_ring() {
            check_direct::run(&devices, way, &mut failures);
        } else {
            check_turn::run(&devices, way, &mut failures);
            check_fx::run(&devices, way, &mut failures);
        }
        if !arguments.check_only {
            let mut bench = Bench::new(&devices, seconds, &mut record, &mut failures)?;
            if way == Way::Copies {
                bases = bench.cases(&arguments.stations)?.into_iter().map(|case| bench.base(case)).collect();
            }
            bases.iter().for_each(|base| bench.way(way, *base));
        }
        record.finish()?;
    }
    println!("\n{:.0} s in all", begun.elapsed().as_secs_f64());
    failures.end()
}

/// The first GPUs.
fn open(wanted: Option<usize>) -> Result<Vec<Device>, End> {
    let count = device_count()?;
    let wanted = wanted.unwrap_or(count.max(1));
    if count == 0 || wanted > count {
        return Err(GpuError::NoDevice { index: wanted - 1, count }.into());
    }
    Ok((0..wanted).map(Device::open).collect::<Result<_, _>>()?)
}

/// Prints which GPUs reach one another's memory.
fn describe(devices: &[Device]) -> Result<(), End> {
    println!("{} GPU{}", devices.len(), if devices.len() == 1 { "" } else { "s" });
    for from in devices {
        for to in devices.iter().filter(|to| !to.is_same(from)) {
            let reaches = if from.can_access_peer(to)? { "reaches" } else { "does not reach" };
            println!("GPU {} {reaches} the memory of GPU {}", from.info().index, to.info().index);
        }
    }
    Ok(())
}

/// The ways to turn that this machine has.
fn ways() -> Vec<Way> {
    match turner::nccl() {
        Ok(version) => {
            println!("NCCL {version}");
            vec![Way::Copies, Way::Stores, Way::Frames, Way::Nccl]
        }
        Err(reason) => {
            println!("no turn by NCCL: {reason}");
            vec![Way::Copies, Way::Stores, Way::Frames]
        }
    }
}
