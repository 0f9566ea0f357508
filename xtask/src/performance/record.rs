//! Measurement records, as docs/measurements has them.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Records under `checks/` that have rates as well, and are shown.
const CHECKS: [&str; 3] = [
    "checks/2026-11-22-h200-channelizer-one-pass.json",
    "checks/2026-11-22-h200-l2.json",
    "checks/2026-11-23-h200-quantise.json",
];

/// A run of a measuring program.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    /// Path below docs/measurements.
    #[serde(skip)]
    pub(super) file: String,
    pub(super) date: String,
    /// Name of the GPU, or of the machine if nothing ran on a GPU.
    gpu: Option<String>,
    machine: Option<String>,
    pub(super) commit: String,
    #[serde(default)]
    pub(super) note: String,
    pub(super) rows: Vec<Row>,
}

/// One measurement.
#[derive(Debug, Deserialize)]
pub(super) struct Row {
    pub(super) kernel: String,
    #[serde(default)]
    pub(super) variant: String,
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    pub(super) time_ms: Option<f64>,
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) floor: Option<f64>,
    #[serde(default)]
    pub(super) bound_by: String,
    #[serde(default)]
    pub(super) check: String,
    /// Median times of other programs for the same, measured in turn with ours.
    #[serde(default)]
    pub(super) peers_ms: Map<String, Value>,
    /// Mean energy of a run of the whole board, where it was measured.
    pub(super) joules_per_run: Option<f64>,
    /// Operations a joule, in units of 10^12, where the energy was measured and the rate is of operations.
    pub(super) tops_per_watt: Option<f64>,
}

impl Record {
    /// What the run was on.
    pub(super) fn on(&self) -> &str {
        self.gpu.as_deref().or(self.machine.as_deref()).unwrap_or("an unnamed machine")
    }

    /// What the run was of, by the file's name: `2026-11-22-h200-fft.json` is of `fft`.
    pub(super) fn subject(&self) -> &str {
        let name = self.file.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
        let words = name.splitn(5, '-').nth(4);
        words.unwrap_or(name)
    }

    /// Whether nothing of it ran on a GPU.
    pub(super) fn is_cpu(&self) -> bool {
        self.gpu.is_none()
    }
}

impl Row {
    /// A whole number among the parameters.
    pub(super) fn param(&self, name: &str) -> Option<u64> {
        self.params.get(name).and_then(Value::as_u64)
    }

    /// Whether smaller values are better: times and cycles, where other units are rates.
    pub(super) fn is_cost(&self) -> bool {
        ["SM-cycles", "ns/FFT", "ms"].contains(&self.unit.as_str())
    }

    /// The part of what its bound allows that was reached.
    pub(super) fn share(&self) -> Option<f64> {
        let floor = self.floor.filter(|floor| *floor > 0.0 && self.value > 0.0)?;
        Some(if self.is_cost() { floor / self.value } else { self.value / floor })
    }
}

/// All records that are shown, the newest first.
pub(super) fn load(folder: &Path) -> Result<Vec<Record>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json") && name != "peers.json").collect();
    names.extend(CHECKS.map(String::from));
    let date = |name: &str| name.trim_start_matches("checks/").to_string();
    names.sort_by_key(|name| std::cmp::Reverse(date(name)));
    names.into_iter().map(|name| read(folder, name)).collect()
}

fn read(folder: &Path, file: String) -> Result<Record, String> {
    let text = std::fs::read_to_string(folder.join(&file)).map_err(|error| format!("{file}: {error}"))?;
    let record: Record = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    Ok(Record { file, ..record })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row in few words.
    pub(in super::super) fn row(kernel: &str, variant: &str, params: &[(&str, u64)], value: f64, unit: &str) -> Row {
        let params = params.iter().map(|(name, value)| ((*name).to_string(), Value::from(*value))).collect();
        let (kernel, variant, unit) = (kernel.into(), variant.into(), unit.into());
        let (bound_by, check) = ("bytes at 4079 GB/s".into(), "2 sums equal, error 0".into());
        Row {
            kernel,
            variant,
            params,
            time_ms: Some(1.5),
            value,
            unit,
            floor: None,
            bound_by,
            check,
            peers_ms: Map::new(),
            joules_per_run: None,
            tops_per_watt: None,
        }
    }

    /// A record of a GPU.
    pub(in super::super) fn record(file: &str, rows: Vec<Row>) -> Record {
        let (date, commit) = (file.trim_start_matches("checks/")[..10].to_string(), "abcdef0".to_string());
        Record {
            file: file.into(),
            date,
            gpu: Some("NVIDIA H200".into()),
            machine: None,
            commit,
            note: String::new(),
            rows,
        }
    }

    #[test]
    fn energy_is_read_where_a_row_has_it() {
        let read = |text: &str| serde_json::from_str::<Row>(text).unwrap();
        let without = read(r#"{"kernel": "tied_array", "value": 900.0, "unit": "TOPS"}"#);
        assert_eq!((without.joules_per_run, without.tops_per_watt), (None, None));
        let text = r#"{"kernel": "k", "value": 900.0, "unit": "TOPS", "joules_per_run": 0.25, "tops_per_watt": 1.5}"#;
        assert_eq!((read(text).joules_per_run, read(text).tops_per_watt), (Some(0.25), Some(1.5)));
    }

    #[test]
    fn a_record_is_called_by_its_subject() {
        assert_eq!(record("checks/2026-11-23-h200-quantise.json", Vec::new()).subject(), "quantise");
        assert_eq!(record("2026-11-22-h200-correlator-packs.json", Vec::new()).subject(), "correlator-packs");
    }

    #[test]
    fn shares_of_costs_and_rates_are_of_the_bound() {
        let mut rate = row("fft", "", &[], 3000.0, "GB/s");
        rate.floor = Some(4000.0);
        assert_eq!(rate.share(), Some(0.75));
        let mut cost = row("fft_cycles", "", &[], 40.0, "SM-cycles");
        cost.floor = Some(30.0);
        assert_eq!(cost.share(), Some(0.75));
        assert_eq!(row("fft", "", &[], 3000.0, "GB/s").share(), None);
    }
}
