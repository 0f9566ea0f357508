//! Runs every intrinsic of `fringes-device` on a GPU against its twin in the emulator, on random and edge inputs.
//!
//! ```text
//! cargo run --release -p fringes-tools -- conformance [--gpu N] [--case NAME]... [--rounds N] [--json PATH]
//! ```
//!
//! One line a case and PTX text; under a failed one the first wrong word with its inputs. The JSON record holds up to
//! 20 wrong words of each case, so that a twin can be mended where there is no GPU. Exit status 0 if all pass, 1 if
//! not, 3 without a GPU.

mod record;
mod supervise;
mod worker;

use std::path::PathBuf;

use crate::end::End;
use fringes_gpu::{Device, GpuError, PtxSet, PtxTarget};
use fringes_kernels_tools_conformance::cases;
use record::Outcome;
use serde::Serialize;

/// The kernels.
static KERNELS: PtxSet = PtxSet::new(include_str!("../../../kernels-rs/tools/conformance/ptx/conformance_sm_80.ptx"))
    .with_sm_90a(include_str!("../../../kernels-rs/tools/conformance/ptx/conformance_sm_90a.ptx"));

/// What they are compiled for.
const TARGETS: [PtxTarget; 2] = [PtxTarget::Sm80, PtxTarget::Sm90a];

/// Runs every intrinsic on a GPU against its twin in the emulator.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Index of the GPU; without it the best one.
    #[arg(long, value_name = "N")]
    gpu: Option<usize>,
    /// Runs cases of this name only; may be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Rounds of inputs for each case.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Writes a record, with wrong words and their inputs, to this file.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Seconds of silence after which a case counts as hanging.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// Works on the cases of standard input, for the process that started this one.
    #[arg(long, hide = true)]
    worker: bool,
}

/// Why the program ends early.
#[derive(Debug)]
struct Failure(String);

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The record.
#[derive(Debug, Serialize)]
struct Record<'a> {
    gpu: String,
    compute_capability: (u32, u32),
    driver_version: (u32, u32),
    rounds: u64,
    passed: usize,
    failed: usize,
    cases: &'a [Outcome],
}

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), End> {
    let device = arguments.gpu.map_or_else(Device::best, Device::open)?;
    if arguments.worker {
        return worker::work(&device, arguments.rounds).map_err(|Failure(line)| End::failed(line));
    }
    match judge(&device, arguments).map_err(|Failure(line)| End::failed(line))? {
        0 => Ok(()),
        failed => Err(End::failed(format!("{failed} cases failed"))),
    }
}

/// Runs the chosen cases; tells how many failed.
fn judge(device: &Device, arguments: &Arguments) -> Result<usize, Failure> {
    let info = device.info();
    println!("{info}");
    let chosen = |name: &str| arguments.case.is_empty() || arguments.case.iter().any(|case| case == name);
    let cases = cases();
    if let Some(name) = arguments.case.iter().find(|name| cases.iter().all(|case| case.name != **name)) {
        return Err(Failure(format!("no case `{name}`")));
    }
    let mut left: Vec<(String, String)> = Vec::new();
    for target in TARGETS.into_iter().filter(|target| target.runs_on(info.compute_capability)) {
        let text = KERNELS.get(target).map_or(Ok(Default::default()), |text| text.read());
        let text = text.map_err(|error| Failure(error.to_string()))?;
        let entries: Vec<String> = fringes_kernel_declaration::KernelDeclaration::all(&text)
            .map_err(|error| Failure(error.to_string()))?
            .into_iter()
            .map(|kernel| kernel.name)
            .collect();
        let runs = |case: &&fringes_kernels_tools_conformance::Case| {
            chosen(case.name)
                && case.compute_capability <= info.compute_capability
                && entries.iter().any(|name| name == case.name)
        };
        left.extend(cases.iter().filter(runs).map(|case| (target.name().to_owned(), case.name.to_owned())));
    }
    let mut outcomes = Vec::new();
    for case in cases.iter().filter(|case| chosen(case.name) && case.compute_capability <= info.compute_capability) {
        if left.iter().all(|(_, name)| name != case.name) {
            let error = Some("no PTX text for this device has the kernel; run `cargo xtask kernels`".into());
            outcomes.push(Outcome { case: case.name.into(), error, ..Outcome::default() });
        }
    }
    while !left.is_empty() {
        let jobs = left.clone();
        let mut finished = |outcome: Outcome| {
            left.retain(|(target, name)| *target != outcome.target || *name != outcome.case);
            println!("{}", outcome.line());
            outcome.complaints().iter().for_each(|line| println!("{line}"));
            outcomes.push(outcome);
        };
        supervise::one_process(&jobs, arguments, &mut finished)?;
        if left.len() == jobs.len() {
            return Err(Failure("the process that works on the GPU ended without a result".into()));
        }
        write(device, arguments, &outcomes)?; // what there is, in case the rest is cut off
    }
    write(device, arguments, &outcomes)?;
    let failed = outcomes.iter().filter(|outcome| !outcome.passed()).count();
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(failed)
}

/// Writes the record, if a path is given.
fn write(device: &Device, arguments: &Arguments, outcomes: &[Outcome]) -> Result<(), Failure> {
    let Some(path) = &arguments.json else { return Ok(()) };
    let info = device.info();
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    let record = Record {
        gpu: info.name.clone(),
        compute_capability: info.compute_capability,
        driver_version: info.driver_version,
        rounds: arguments.rounds,
        passed,
        failed: outcomes.len() - passed,
        cases: outcomes,
    };
    let text = serde_json::to_string_pretty(&record).map_err(|error| Failure(error.to_string()))?;
    std::fs::write(path, text + "\n").map_err(|error| Failure(format!("{}: {error}", path.display())))
}
