//! The coefficients as a table of Markdown.

use std::error::Error;
use std::fmt::Write;

use fringes_plan_model::Coefficients;

use crate::units::digits;

/// A row for each curve.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let coefficients = Coefficients::h200()?;
    let mut out = String::from("| coefficient | what | by | values | unit | records |\n|---|---|---|---|---|---|\n");
    for (name, curve) in &coefficients.curves {
        let value = |point: &fringes_plan_model::Point| {
            let value = digits(point.value);
            if curve.axis == "none" { value } else { format!("{}: {value}", point.at) }
        };
        let values: Vec<_> = curve.points.iter().map(value).collect();
        let mut records: Vec<_> = curve.points.iter().map(|point| point.record.as_str()).collect();
        records.dedup();
        let records: Vec<_> = records.iter().map(|name| format!("[{name}](measurements/{name})")).collect();
        let gpu = curve.gpu.as_ref().map_or(String::new(), |gpu| format!("; on {gpu}"));
        let by = if curve.axis == "none" { "" } else { &curve.axis };
        writeln!(
            out,
            "| `{name}` | {}{gpu} | {by} | {} | {} | {} |",
            curve.what,
            values.join(", "),
            curve.unit,
            records.join(", ")
        )?;
    }
    let board = &coefficients.board_watts;
    writeln!(
        out,
        "| `board_watts` | the board's limit | | {} | W | [{}](measurements/{}) |",
        digits(board.value),
        board.record,
        board.record
    )?;
    Ok(out)
}
