//! Published designs as a table of Markdown.

use std::error::Error;
use std::fmt::Write;

use fringes_plan_model::published::{SOURCES, comparisons};

use crate::units::digits;

/// The table and its sources, or JSON of the comparisons.
pub(crate) fn text(json: bool) -> Result<String, Box<dyn Error>> {
    let all = comparisons()?;
    if json {
        return Ok(serde_json::to_string_pretty(&all)? + "\n");
    }
    let mut out = String::from(
        "| design | what | published | ours | ours / published | sources | how, and why they disagree |\n\
         |---|---|---:|---:|---:|---|---|\n",
    );
    for comparison in &all {
        let published = comparison.published.map_or("not found".to_owned(), digits);
        let ratio = comparison.ratio().map_or(String::new(), digits);
        let sources: Vec<_> = comparison.sources.iter().map(usize::to_string).collect();
        writeln!(
            out,
            "| {} | {}, {} | {published} | {} | {ratio} | {} | {} |",
            comparison.design,
            comparison.quantity,
            comparison.unit,
            digits(comparison.ours),
            sources.join(", "),
            comparison.why,
        )?;
    }
    out.push_str("\n| number | source | where |\n|---|---|---|\n");
    for (index, source) in SOURCES.iter().enumerate() {
        writeln!(out, "| {} | {} | {} |", index + 1, source.citation, source.address)?;
    }
    Ok(out)
}
