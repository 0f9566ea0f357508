//! Figures of the pages are those of the records.
//!
//! A link to a record whose text begins with a number, `[1321 useful TOPS](docs/measurements/....json)`, quotes it: the
//! record has a value (or a floor, or a peer) of that unit that rounds to the number. References, `[1321 useful
//! TOPS][r]`, count as well.

use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
struct Record {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    value: f64,
    /// What the row's bound allows, or the peer's value, in the same unit.
    floor: Option<f64>,
    unit: String,
}

impl Row {
    fn has(&self, figure: f64, half: f64, unit: &str) -> bool {
        let mut values = [Some(self.value), self.floor].into_iter().flatten();
        self.unit == unit && values.any(|value| (value - figure).abs() <= half)
    }
}

/// Figures of a page that its record does not have.
pub(super) fn faults(root: &Path, file: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (quoted, record) in quotations(file, text) {
        let Some((number, unit)) = quoted.split_once(' ') else { continue };
        let Ok(figure) = number.parse::<f64>() else { continue };
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let half = 0.5 / 10f64.powi(i32::try_from(decimals).unwrap_or(0));
        let read = std::fs::read_to_string(root.join(&record)).map_err(|error| error.to_string());
        match read.and_then(|text| serde_json::from_str::<Record>(&text).map_err(|error| error.to_string())) {
            Err(error) => faults.push(format!("{file}: quotes {quoted} of {record}: {error}")),
            Ok(rows) if rows.rows.iter().any(|row| row.has(figure, half, unit)) => {}
            Ok(_) => faults.push(format!("{file}: quotes {quoted}, and {record} has no such value")),
        }
    }
    faults
}

/// Texts of links to records, and the records' paths from the root.
fn quotations(file: &str, text: &str) -> Vec<(String, String)> {
    let record = |address: &str| {
        let inside = address.find("measurements/").filter(|_| address.ends_with(".json"))?;
        Some(format!("docs/{}", &address[inside..]))
    };
    if !file.ends_with(".md") {
        return Vec::new();
    }
    let definitions: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
        .map(|(name, address)| (name, address.trim()))
        .collect();
    let mut found = Vec::new();
    for part in text.split('[').skip(1) {
        let Some((quoted, rest)) = part.split_once(']') else { continue };
        let address = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(address, _)| address);
        found.extend(address.and_then(record).map(|record| (unwrapped(quoted), record)));
    }
    for (name, address) in definitions {
        let Some(record) = record(address) else { continue };
        let mark = format!("][{name}]");
        let before =
            text.match_indices(&mark).filter_map(|(at, _)| text[..at].rfind('[').map(|from| &text[from + 1..at]));
        found.extend(before.map(|quoted| (unwrapped(quoted), record.clone())));
    }
    found
}

/// A text on one line.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"rows": [{"value": 1320.668, "unit": "useful TOPS"}, {"value": 0.6024, "unit": "ns"}]}"#;

    fn of(page: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("docs/measurements")).unwrap();
        std::fs::write(root.path().join("docs/measurements/x.json"), RECORD).unwrap();
        faults(root.path(), "docs/page.md", page)
    }

    #[test]
    fn what_the_record_has_may_be_quoted_at_any_precision() {
        assert_eq!(of("[1321 useful\nTOPS](measurements/x.json) and [0.60 ns](measurements/x.json)"), [""; 0]);
        assert_eq!(of("[1321 useful TOPS][r]\n\n[r]: ../docs/measurements/x.json\n"), [""; 0]);
        assert_eq!(of("[the record](measurements/x.json), [1 thing](elsewhere.md)"), [""; 0]);
    }

    #[test]
    fn other_numbers_units_and_records_are_faults() {
        for page in ["[1322 useful TOPS](measurements/x.json)", "[1321 GB/s](measurements/x.json)"] {
            assert_eq!(of(page).len(), 1, "{page}");
        }
        assert_eq!(of("[1319 useful TOPS][r]\n\n[r]: measurements/x.json\n").len(), 1);
        assert_eq!(of("[1321 useful TOPS](measurements/y.json)").len(), 1);
    }
}
