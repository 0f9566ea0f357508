//! What the tools that need a GPU share: the choice of the GPU, and measurement records.
//!
//! A record is a JSON object `{"date", "gpu", "driver", "commit", "clock_mhz", "rows"}`, one row a kernel and size, as
//! the pages under docs/performance are made from.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use fringes_gpu::Device;
use serde::Serialize;

use crate::end::End;

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
    /// Energy, if it was measured: fields of the row.
    #[serde(flatten)]
    pub(crate) energy: Option<Energy>,
}

/// Energy of the whole board.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Energy {
    /// Mean energy of a run.
    pub(crate) joules_per_run: f64,
    /// Operations, in units of 10^12, a joule; none where the rate is not of operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tops_per_watt: Option<f64>,
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} J a run", self.joules_per_run)?;
        self.tops_per_watt.map_or(Ok(()), |rate| write!(f, ", {rate:.2} TOPS per watt"))
    }
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
    /// Where it is written, if a path is given.
    #[serde(skip)]
    path: Option<PathBuf>,
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
            path: None,
        }
    }

    /// A record of today's of a program that ran without a GPU, without rows.
    pub(crate) fn without_gpu(place: &str) -> Self {
        let date = date(SystemTime::now());
        Self {
            date,
            gpu: place.into(),
            driver: String::new(),
            commit: commit(),
            clock_mhz: 0,
            rows: Vec::new(),
            path: None,
        }
    }

    /// The record of so many GPUs of the kind.
    pub(crate) fn of_gpus(mut self, count: usize) -> Self {
        if count > 1 {
            self.gpu = format!("{count} x {}", self.gpu);
        }
        self
    }

    /// Kept in a file, if a path is given: with every row as it comes, so that a run that is ended early leaves those
    /// that it has. A path that cannot be written is told before anything runs.
    pub(crate) fn kept_in(mut self, path: Option<&Path>) -> Result<Self, End> {
        self.path = path.map(Path::to_owned);
        self.finish()?;
        Ok(self)
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
        // Not to a pipe or a terminal, which have it once, in the end. What fails here fails there too, and is told.
        if self.path.as_deref().is_some_and(Path::is_file) {
            let _ = self.finish();
        }
    }

    /// Writes the record, if a path is given.
    pub(crate) fn finish(&self) -> Result<(), End> {
        self.path.as_deref().map_or(Ok(()), |path| self.write(path))
    }

    /// Writes the record as it is.
    pub(crate) fn write(&self, path: &Path) -> Result<(), End> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn row(variant: &str) -> Row {
        Row {
            kernel: "kernel",
            variant: variant.into(),
            params: params([("channels", 64)]),
            time_ms: 1.0,
            value: 2.0,
            unit: "GB/s",
            floor: None,
            bound_by: String::new(),
            check: "none".into(),
            energy: None,
        }
    }

    #[test]
    fn a_record_has_its_rows_before_the_run_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let variants = || -> Vec<String> {
            let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let rows = record["rows"].as_array().unwrap();
            rows.iter().map(|row| row["variant"].as_str().unwrap().to_owned()).collect()
        };
        let mut record = Record::without_gpu("cpu").kept_in(Some(&path)).unwrap();
        assert!(variants().is_empty());
        record.push(row("first"));
        assert_eq!(variants(), ["first"]);
        record.push(row("second"));
        record.finish().unwrap();
        assert_eq!(variants(), ["first", "second"]);
        // Without a path there is none; one that cannot be written is told at once.
        let mut other = Record::without_gpu("cpu").kept_in(None).unwrap();
        other.push(row("first"));
        other.finish().unwrap();
        let nowhere = folder.path().join("missing").join("record.json");
        assert!(Record::without_gpu("cpu").kept_in(Some(&nowhere)).is_err());
    }
}
