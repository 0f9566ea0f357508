//! A topic's page: peers, then a section a record with a table a kernel.

use std::fmt::Write as _;

use serde_json::Value;

use super::numbers::{grouped, stated, three};
use super::peers::Peers;
use super::record::{Record, Row};
use super::topics::{Kernel, Topic};

/// Columns of a line of text.
const WIDTH: usize = 120;

/// The page.
pub(super) fn page(topic: &Topic, records: &[Record], peers: &Peers) -> String {
    let mut page = format!("# {}, measured\n\n", topic.title);
    page.push_str("Made by `cargo xtask performance` from [the records](../measurements); do not edit.\n\n");
    page.push_str(&wrapped(topic.about));
    page.push('\n');
    page.push_str(&wrapped(
        "Columns: *ms* is the median time of a run, *floor %* the part of what the bound below the table \
         allows. Parameters that all rows share stand above the table. Values have three significant digits; \
         the records have all.",
    ));
    peers_table(&mut page, topic, peers);
    for record in records.iter().filter(|record| topic.takes(record)) {
        let rows = |kernel: &Kernel| record.rows.iter().filter(|row| row.kernel == kernel.name).collect::<Vec<_>>();
        let shown: Vec<_> = topic.kernels.iter().map(|kernel| (kernel, rows(kernel))).collect();
        let shown: Vec<_> = shown.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
        if shown.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {}, {}: {}\n\n", record.date, record.on(), record.subject());
        let commit = &record.commit;
        let text = format!("Record [{0}](../measurements/{0}), commit `{commit}`. {1}", record.file, record.note);
        page.push_str(&wrapped(&text));
        for (kernel, rows) in shown {
            section(&mut page, topic, kernel, &rows);
        }
    }
    page
}

fn peers_table(page: &mut String, topic: &Topic, peers: &Peers) {
    let rows: Vec<_> = peers.rows.iter().filter(|peer| peer.topic == topic.file).collect();
    if rows.is_empty() {
        return;
    }
    page.push_str("\n## Peers\n\nFrom [peers.json](../measurements/peers.json).\n\n");
    page.push_str("| operation | size | peer | value | measured |\n|---|---|---|---|---|\n");
    let mut ways: Vec<String> = Vec::new();
    for peer in rows {
        let way = format!("{}, {}: {}", peer.date, peer.gpu, peer.how);
        let number = ways.iter().position(|known| *known == way).unwrap_or_else(|| {
            ways.push(way);
            ways.len() - 1
        });
        let value = format!("{} {}", stated(peer.value), peer.unit);
        let _ = writeln!(page, "| {} | {} | {} | {value} | {} |", peer.operation, peer.size, peer.peer, number + 1);
    }
    for (index, way) in ways.iter().enumerate() {
        page.push('\n');
        page.push_str(&wrapped(&format!("({}) {way}", index + 1)));
    }
}

/// A kernel's rows of a record.
fn section(page: &mut String, topic: &Topic, kernel: &Kernel, rows: &[&Row]) {
    let mut units: Vec<&str> = Vec::new();
    for row in rows {
        if !units.contains(&row.unit.as_str()) {
            units.push(&row.unit);
        }
    }
    for unit in units {
        let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.unit == unit).collect();
        let _ = write!(page, "\n### `{}`: {} ({unit})\n\n", kernel.name, kernel.what);
        match kernel.across.filter(|param| distinct(&rows, param).len() > 1) {
            Some(param) => table_across(page, &rows, param),
            None => table(page, topic, &rows),
        }
        let bounds = examples(rows.iter().map(|row| row.bound_by.as_str()));
        let checks = examples(rows.iter().map(|row| row.check.as_str()));
        let bound = if topic.cpu { "Against" } else { "Bound by" };
        for (title, lines) in [(bound, bounds), ("Checked", checks)] {
            if !lines.is_empty() {
                page.push('\n');
                page.push_str(&wrapped(&format!("{title}: {}.", lines.join("; "))));
            }
        }
    }
}

/// Rows one below the other.
fn table(page: &mut String, topic: &Topic, rows: &[&Row]) {
    let names: Vec<String> = columns(rows);
    let (fixed, free): (Vec<_>, Vec<_>) =
        names.iter().partition(|name| distinct(rows, name).len() == 1 && rows.len() > 1);
    fixed_line(page, rows, &fixed);
    let variants = rows.iter().any(|row| !row.variant.is_empty());
    let shares = rows.iter().any(|row| row.share().is_some());
    let times = rows.iter().any(|row| row.time_ms.is_some());
    let each = rows.iter().all(|row| row.kernel == "fft" && row.param("transforms").is_some());
    let joules = rows.iter().any(|row| row.joules_per_run.is_some());
    let per_watt = rows.iter().any(|row| row.tops_per_watt.is_some());
    let mut head: Vec<&str> = if variants { vec!["variant"] } else { Vec::new() };
    head.extend(free.iter().map(|name| name.as_str()));
    head.extend(times.then_some("ms"));
    head.push("value");
    head.extend(each.then_some("ns each"));
    head.extend(shares.then_some(if topic.cpu { "peer" } else { "floor %" }));
    head.extend(joules.then_some("J a run"));
    head.extend(per_watt.then_some("TOPS per watt"));
    let _ = write!(page, "| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let mut cells: Vec<String> = if variants { vec![row.variant.clone()] } else { Vec::new() };
        cells.extend(free.iter().map(|name| cell(row, name)));
        cells.extend(times.then(|| row.time_ms.map(three).unwrap_or_default()));
        cells.push(three(row.value));
        if each {
            let (count, ms) = (row.param("transforms").unwrap_or(0) as f64, row.time_ms.unwrap_or(f64::NAN));
            cells.push(three(ms * 1e6 / count));
        }
        if shares {
            let share = |share: f64| format!("{:.0}", 100.0 * share);
            let last = if topic.cpu { row.floor.map(three) } else { row.share().map(share) };
            cells.push(last.unwrap_or_default());
        }
        cells.extend(joules.then(|| row.joules_per_run.map(three).unwrap_or_default()));
        cells.extend(per_watt.then(|| row.tops_per_watt.map(three).unwrap_or_default()));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// Values with a parameter across; parameters that follow from it are left out.
fn table_across(page: &mut String, rows: &[&Row], param: &str) {
    let mut across = distinct(rows, param);
    across.sort_by_key(|value| value.parse::<u64>().unwrap_or(0));
    let fixed: Vec<String> = columns(rows).into_iter().filter(|name| distinct(rows, name).len() == 1).collect();
    fixed_line(page, rows, &fixed.iter().collect::<Vec<_>>());
    let mut variants: Vec<&str> = Vec::new();
    for row in rows {
        if !variants.contains(&row.variant.as_str()) {
            variants.push(&row.variant);
        }
    }
    let heads = across.iter().map(|value| value.parse().map_or_else(|_| value.clone(), grouped));
    let _ = writeln!(page, "| variant, by {param} | {} |", heads.collect::<Vec<_>>().join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(across.len() + 1));
    for variant in variants {
        let values = across.iter().map(|value| {
            let here = rows.iter().filter(|row| row.variant == variant && cell_text(row, param) == *value);
            here.map(|row| three(row.value)).collect::<Vec<_>>().join(", ")
        });
        let _ = writeln!(page, "| {variant} | {} |", values.collect::<Vec<_>>().join(" | "));
    }
}

/// `With channels = 128, times = 1024:`
fn fixed_line(page: &mut String, rows: &[&Row], fixed: &[&String]) {
    if let Some(row) = rows.first().filter(|_| !fixed.is_empty()) {
        let values: Vec<String> = fixed.iter().map(|name| format!("{name} = {}", cell(row, name))).collect();
        page.push_str(&wrapped(&format!("With {}:", values.join(", "))));
        page.push('\n');
    }
}

/// Names of parameters, in the order of the rows.
fn columns(rows: &[&Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|row| row.params.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn distinct(rows: &[&Row], name: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for row in rows {
        let value = cell_text(row, name);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn cell_text(row: &Row, name: &str) -> String {
    row.params.get(name).map_or_else(String::new, |value| value.to_string().trim_matches('"').to_string())
}

fn cell(row: &Row, name: &str) -> String {
    row.params.get(name).and_then(Value::as_u64).map_or_else(|| cell_text(row, name), grouped)
}

/// One text of each kind: texts that differ in their numbers alone are one kind.
fn examples<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut kinds: Vec<(String, &str, bool)> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        let kind: String = text.split(|c: char| c.is_ascii_digit() || c == '.' || c == '-').collect();
        match kinds.iter_mut().find(|known| known.0 == kind) {
            Some(known) => known.2 |= known.1 != text,
            None => kinds.push((kind, text, false)),
        }
    }
    let others =
        |(_, text, more): (String, &str, bool)| if more { format!("{text} (first of such)") } else { text.into() };
    kinds.into_iter().map(others).collect()
}

/// Text in lines of at most [`WIDTH`] columns. Words are not broken.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut columns = 0;
    for word in text.split_whitespace() {
        let wide = word.chars().count();
        if columns > 0 && columns + 1 + wide > WIDTH {
            lines.push('\n');
            columns = 0;
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines.push_str(word);
        columns += wide;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::{record, row};
    use super::super::topics::TOPICS;
    use super::*;

    #[test]
    fn texts_that_differ_in_numbers_are_told_once() {
        let texts = ["2 sums equal, error 0", "31 sums equal, error 0", "", "none", "none"];
        assert_eq!(examples(texts.into_iter()), ["2 sums equal, error 0 (first of such)", "none"]);
    }

    #[test]
    fn text_is_wrapped_at_the_width() {
        let text = wrapped(&"word ".repeat(50));
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.lines().count() == 3);
        assert_eq!(text.split_whitespace().count(), 50);
    }

    #[test]
    fn parameters_that_all_rows_share_stand_above_the_table() {
        let beams = TOPICS.iter().find(|topic| topic.file == "beams").unwrap();
        let rows = [("a", 64, 3100.4), ("b", 65_536, 2900.0)];
        let rows = rows.map(|(variant, times, value)| {
            row("fft_beams", variant, &[("channels", 16), ("times", times)], value, "GB/s")
        });
        let page = page(beams, &[record("2026-11-23-a.json", rows.into())], &Peers { rows: Vec::new() });
        assert!(page.contains("With channels = 16:\n\n| variant | times | ms | value |\n"), "{page}");
        assert!(page.contains("| b | 65 536 | 1.50 | 2900 |\n"), "{page}");
        assert!(page.contains("Bound by: bytes at 4079 GB/s.\n"), "{page}");
    }

    #[test]
    fn energy_has_columns_where_a_row_has_it() {
        let beams = TOPICS.iter().find(|topic| topic.file == "beams").unwrap();
        let mut rows = ["a", "b"].map(|variant| row("tied_array", variant, &[("inputs", 512)], 900.0, "TOPS"));
        (rows[0].joules_per_run, rows[0].tops_per_watt) = (Some(0.75), Some(1.5));
        let page = page(beams, &[record("2026-11-23-a.json", rows.into())], &Peers { rows: Vec::new() });
        assert!(page.contains("| variant | ms | value | J a run | TOPS per watt |\n"), "{page}");
        assert!(page.contains("| a | 1.50 | 900 | 0.750 | 1.50 |\n| b | 1.50 | 900 |  |  |\n"), "{page}");
    }

    #[test]
    fn a_parameter_across_has_a_column_for_each_of_its_values() {
        let f_engine = TOPICS.iter().find(|topic| topic.file == "f-engine").unwrap();
        let rows = [("8 bits", 4096, 190.9), ("8 bits", 1024, 246.1), ("4 bits", 1024, 171.0)];
        let rows = rows.map(|(variant, channels, value)| {
            row("channelize", variant, &[("channels", channels), ("inputs", 2)], value, "Gsamples/s")
        });
        let page = page(f_engine, &[record("2026-11-23-a.json", rows.into())], &Peers { rows: Vec::new() });
        assert!(
            page.contains("| variant, by channels | 1024 | 4096 |\n|---|---|---|\n| 8 bits | 246 | 191 |\n"),
            "{page}"
        );
        assert!(page.contains("| 4 bits | 171 |  |\n") && page.contains("With inputs = 2:\n"), "{page}");
    }
}
