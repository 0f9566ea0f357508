//! Checks this crate on the GPU that it finds: `cargo run --release -p fringes-gpu --example self_check`.
//!
//! Every line is a claim. Exits with 0 when all hold, with 1 when one does not, and with 3 where there is no GPU. The
//! last check makes a kernel fail on purpose; `--without-fault` leaves it out, for tools that watch for such failures.

mod launches;
mod memory;
mod order;
mod others;

use std::process::ExitCode;

use fringes_gpu::{Device, GpuError, Kernel, Module, PtxSet, Stream, devices};

/// The kernels that the checks launch.
pub(crate) static KERNELS: PtxSet = PtxSet::new(include_str!("kernels.ptx"));

/// What the checks work with.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    pub(crate) module: Module,
}

impl Bench {
    fn new() -> Result<Self, GpuError> {
        let device = Device::best()?;
        let stream = device.new_stream()?;
        let module = device.load(&KERNELS)?;
        Ok(Self { device, stream, module })
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, GpuError> {
        self.module.kernel(name)
    }

    /// Keeps a stream busy for a while.
    pub(crate) fn spin(&self, stream: &Stream, milliseconds: u64) -> Result<(), GpuError> {
        let one = fringes_gpu::LaunchConfig::default();
        self.kernel("spin")?.launch_safe(stream, &one, fringes_gpu::args![milliseconds * 1_000_000])
    }
}

/// Why a check does not hold.
pub(crate) struct Broken(String);

impl From<GpuError> for Broken {
    fn from(error: GpuError) -> Self {
        Self(error.to_string())
    }
}

/// Outcome of a check: a note, or why it does not hold.
pub(crate) type Outcome = Result<Option<String>, Broken>;

/// Demands that two things are equal.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Result<(), Broken> {
    if actual == expected {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(100).collect::<String>();
    Err(Broken(format!("{what}: expected {}, got {}", short(&expected), short(&actual))))
}

/// Demands that something holds.
pub(crate) fn holds(what: &str, truth: bool) -> Result<(), Broken> {
    equal(what, truth, true)
}

/// Demands a failure of this kind.
pub(crate) fn fails<T>(
    what: &str,
    result: Result<T, GpuError>,
    kind: impl FnOnce(&GpuError) -> bool,
) -> Result<(), Broken> {
    match result {
        Err(error) if kind(&error) => Ok(()),
        Err(error) => Err(Broken(format!("{what}: another error than expected: {error}"))),
        Ok(_) => Err(Broken(format!("{what}: expected an error, got none"))),
    }
}

type Check = (&'static str, fn(&Bench) -> Outcome);

fn main() -> ExitCode {
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(error) if error.is_absence() => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for info in devices().unwrap_or_default() {
        println!("{info}");
    }
    println!("checking GPU {} with kernels for {}", bench.device.info().index, bench.module.target());
    let mut checks: Vec<Check> = [memory::CHECKS, order::CHECKS, launches::CHECKS, others::CHECKS].concat();
    if !std::env::args().any(|argument| argument == "--without-fault") {
        checks.push(others::FAULT);
    }
    let mut broken = 0;
    for (claim, check) in &checks {
        match check(&bench) {
            Ok(None) => println!("ok      {claim}"),
            Ok(Some(note)) => println!("ok      {claim} ({note})"),
            Err(Broken(reason)) => {
                broken += 1;
                println!("BROKEN  {claim}: {reason}");
            }
        }
    }
    println!("{} of {} hold", checks.len() - broken, checks.len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
