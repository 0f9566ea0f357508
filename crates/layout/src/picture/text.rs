//! Pictures as text.

use fringes_layout_core::Layout;

use super::TextOptions;
use super::grid::Grid;

/// A layout as a table: its text form, then a line for every row of the grid. Parts of a cell are separated by `|`,
/// cells by spaces.
pub fn text(layout: &Layout, options: &TextOptions<'_>) -> String {
    lines(layout, layout, options).into_iter().map(|line| line + "\n").collect()
}

/// Two layouts side by side, such as a conversion's source and destination.
pub fn text_pair(before: &Layout, after: &Layout, options: &TextOptions<'_>) -> String {
    let (left, right) = (lines(before, before, options), lines(after, before, options));
    let width = left.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let line = |at: usize| {
        let (left, right) = (left.get(at).map_or("", String::as_str), right.get(at).map_or("", String::as_str));
        format!("{left:width$}   {right}").trim_end().to_owned() + "\n"
    };
    (0..left.len().max(right.len())).map(line).collect()
}

fn lines(layout: &Layout, like: &Layout, options: &TextOptions<'_>) -> Vec<String> {
    let grid = Grid::new(layout, like, options);
    let mut lines = vec![layout.to_string()];
    if !grid.legend().is_empty() {
        lines.push(format!("cells: {}", grid.legend()));
    }
    let (rows, columns) = (grid.row_count(), grid.column_count());
    let part_width = grid.widest_label();
    let labels: Vec<String> = (0..rows).map(|row| grid.row_label(row)).collect();
    let label_width = labels.iter().map(String::len).chain([grid.rows.title.len()]).max().unwrap_or_default();
    let cell_width = (part_width as u64 + 1) * grid.part_count() - 1;
    let headers: Vec<String> = (0..columns).map(|column| grid.column_label(column)).collect();
    let width = headers.iter().map(String::len).max().unwrap_or_default().max(cell_width as usize);
    let row = |label: &str, cells: Vec<String>| {
        let cells = cells.into_iter().map(|cell| format!("{cell:width$}")).collect::<Vec<_>>().join("  ");
        format!("{label:>label_width$} | {cells}").trim_end().to_owned()
    };
    if !grid.columns.title.is_empty() {
        lines.push(format!("{:label_width$}   {}", "", grid.columns.title));
    }
    lines.push(row(&grid.rows.title, headers));
    for (number, label) in (0..rows).zip(&labels) {
        let cell = |column| {
            let part = |part| grid.element(number, column, part).map_or(String::new(), |e| grid.element_label(e));
            let parts: Vec<String> = (0..grid.part_count()).map(|at| format!("{:>part_width$}", part(at))).collect();
            parts.join("|")
        };
        lines.push(row(label, (0..columns).map(cell).collect()));
    }
    let left_out = grid.left_out();
    if !left_out.is_empty() {
        lines.push(format!("({left_out})"));
    }
    lines
}
