//! docs/performance.md from the measurement records.
//!
//! A record is a JSON object `{"date", "machine" | "gpu", "commit", "rows": [{"kernel", "variant", "params", "value",
//! "unit", "floor", "bound_by", "check"}]}`; the page has one table a record, newest first.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Record {
    date: String,
    #[serde(alias = "gpu")]
    machine: String,
    commit: String,
    #[serde(default)]
    note: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    kernel: String,
    #[serde(default)]
    variant: String,
    #[serde(default)]
    params: serde_json::Map<String, Value>,
    time_ms: f64,
    value: f64,
    unit: String,
    floor: Option<f64>,
    #[serde(default)]
    bound_by: String,
    #[serde(default)]
    check: String,
}

/// Writes the page, or with `check` fails if it differs from what would be written.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let path = root.join("docs/performance.md");
    let page = page(&root.join("docs/measurements"))?;
    if check {
        return match std::fs::read_to_string(&path) {
            Ok(current) if current == page => Ok(()),
            _ => Err("docs/performance.md is stale; run `cargo xtask performance`".into()),
        };
    }
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))
}

fn page(folder: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.reverse();
    let mut page = String::from(
        "# Measured performance\n\n\
         Made by `cargo xtask performance` from `docs/measurements/*.json`; do not edit. Values are medians of repeated, warmed-up\n\
         runs; `floor` is what the row's bound allows, or the peer measured in the same run.\n",
    );
    for file in files {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
        let record: Record = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
        write_record(&mut page, &name, &record).map_err(|error| error.to_string())?;
    }
    Ok(page)
}

fn write_record(page: &mut String, name: &str, record: &Record) -> std::fmt::Result {
    writeln!(page, "\n## {} on {}\n", record.date, record.machine)?;
    writeln!(page, "Record `{name}`, commit `{}`. {}\n", record.commit, record.note)?;
    writeln!(page, "| operation | variant | parameters | ms | value | floor | bound by | checked against |")?;
    writeln!(page, "|---|---|---|---|---|---|---|---|")?;
    for row in &record.rows {
        let params: Vec<String> =
            row.params.iter().map(|(key, value)| format!("{key}={}", value.to_string().trim_matches('"'))).collect();
        let floor = row.floor.map(|floor| format!("{floor:.4}")).unwrap_or_default();
        writeln!(
            page,
            "| {} | {} | {} | {:.3} | {:.4} {} | {floor} | {} | {} |",
            row.kernel,
            row.variant,
            params.join(" "),
            row.time_ms,
            row.value,
            row.unit,
            row.bound_by,
            row.check
        )?;
    }
    Ok(())
}
