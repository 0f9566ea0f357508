//! What the programs that need a GPU share: the choice of the GPU, exit statuses, and measurement records.
//!
//! A record is a JSON object `{"date", "gpu", "driver", "commit", "clock_mhz", "rows"}`, one row a kernel and size, as
//! docs/performance is made from.
#![allow(dead_code)] // each program uses a part

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use fringes_gpu::{Device, GpuError};
use serde::Serialize;

/// Exit status where a check fails or the GPU does.
pub(crate) const FAILED: u8 = 1;
/// Exit status of bad arguments.
pub(crate) const BAD_ARGUMENT: u8 = 2;
/// Exit status where there is no GPU to work on.
pub(crate) const NO_GPU: u8 = 3;

/// Options of every program that needs a GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct GpuArguments {
    /// Index of the GPU. Without it: what the variable FRINGES_GPU says, or else the best one.
    #[arg(long, value_name = "N")]
    gpu: Option<usize>,
    /// Also write a measurement record to this file.
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
}

impl GpuArguments {
    /// The GPU to work on.
    pub(crate) fn open(&self) -> Result<Device, End> {
        Ok(match self.gpu {
            Some(index) => Device::open(index)?,
            None => Device::best()?,
        })
    }
}

/// Why a program ends early: an exit status and one line.
#[derive(Debug)]
pub(crate) struct End {
    status: u8,
    line: String,
}

impl End {
    /// A failure.
    pub(crate) fn failed(line: impl std::fmt::Display) -> Self {
        Self { status: FAILED, line: line.to_string() }
    }
}

impl From<GpuError> for End {
    fn from(error: GpuError) -> Self {
        let status = match error {
            GpuError::NoDriver | GpuError::NoDevice { .. } | GpuError::ComputeCapability { .. } => NO_GPU,
            GpuError::Environment { .. } => BAD_ARGUMENT,
            _ => FAILED,
        };
        Self { status, line: error.to_string() }
    }
}

/// The exit status, after a line on standard error where there is something to say.
pub(crate) fn exit(result: Result<(), End>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(End { status, line }) => {
            eprintln!("error: {}", line.replace('\n', " "));
            ExitCode::from(status)
        }
    }
}

/// Sizes of a case, by name.
pub(crate) type Params = BTreeMap<&'static str, u64>;

/// `params([("channels", 64), ...])`.
pub(crate) fn params<const N: usize>(sizes: [(&'static str, usize); N]) -> Params {
    sizes.into_iter().map(|(name, size)| (name, size as u64)).collect()
}

/// Sizes on one line: `channels=64 inputs=128 times=4096`.
pub(crate) fn line(params: &Params) -> String {
    let mut text = String::new();
    for (name, size) in params {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{name}={size}");
    }
    text
}

/// One kernel at one size.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// Name of the kernel or the operation.
    pub(crate) kernel: &'static str,
    /// What else tells it from other rows of the kernel.
    pub(crate) variant: String,
    /// Sizes.
    pub(crate) params: Params,
    /// Median time.
    pub(crate) time_ms: f64,
    /// Rate.
    pub(crate) value: f64,
    /// Unit of the rate.
    pub(crate) unit: &'static str,
    /// Highest rate that the bound allows.
    pub(crate) floor: Option<f64>,
    /// The bound.
    pub(crate) bound_by: String,
    /// What it was compared with and the error.
    pub(crate) check: String,
}

/// A measurement record.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    date: String,
    gpu: String,
    driver: String,
    commit: String,
    /// Highest clock of the multiprocessors.
    clock_mhz: u32,
    /// Rows.
    pub(crate) rows: Vec<Row>,
}

impl Record {
    /// A record of today's, without rows.
    pub(crate) fn new(device: &Device) -> Self {
        let info = device.info();
        Self {
            date: date(SystemTime::now()),
            gpu: info.name.clone(),
            driver: driver(info.driver_version),
            commit: commit(),
            clock_mhz: info.clock_khz / 1000,
            rows: Vec::new(),
        }
    }

    /// A record of today's of a program that ran without a GPU, without rows.
    pub(crate) fn without_gpu(place: &str) -> Self {
        let date = date(SystemTime::now());
        Self { date, gpu: place.into(), driver: String::new(), commit: commit(), clock_mhz: 0, rows: Vec::new() }
    }

    /// Writes the record, if a path is given.
    pub(crate) fn write(&self, path: Option<&Path>) -> Result<(), End> {
        let Some(path) = path else { return Ok(()) };
        let text = serde_json::to_string_pretty(self).map_err(End::failed)?;
        std::fs::write(path, text + "\n").map_err(|error| End::failed(format!("{}: {error}", path.display())))
    }
}

/// The driver's CUDA version, and its own where the system tells: `CUDA 13.0, driver 580.95.05`.
pub(crate) fn driver((major, minor): (u32, u32)) -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let number = |word: &&str| word.split('.').count() >= 2 && word.split('.').all(|part| part.parse::<u32>().is_ok());
    match text.lines().next().and_then(|line| line.split_whitespace().find(number)) {
        Some(version) => format!("CUDA {major}.{minor}, driver {version}"),
        None => format!("CUDA {major}.{minor}"),
    }
}

/// The commit that was built: what the variable FRINGES_COMMIT says, or else git (`+` if files were changed since).
fn commit() -> String {
    if let Ok(commit) = std::env::var("FRINGES_COMMIT") {
        return commit;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=7", "HEAD"]) else { return "unknown".into() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|text| !text.is_empty());
    if changed { commit + "+" } else { commit }
}

/// A date of the Gregorian calendar, `YYYY-MM-DD` in UTC.
fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}
