//! Pictures as SVG.

use std::fmt::Write;

use fringes_layout_core::Layout;

use super::SvgOptions;
use super::color::Coloring;
use super::grid::Grid;

/// Sizes in pixels.
const FONT: f64 = 10.0;
const SMALL_FONT: f64 = 8.5;
const TITLE_FONT: f64 = 15.0;
const HEADING_FONT: f64 = 12.0;
const ROW_HEIGHT: f64 = 15.0;
const MARGIN: f64 = 16.0;
/// Space after every eighth row.
const GROUP_GAP: f64 = 3.0;
/// Characters that are free between the labels of two cells beside each other, so that they are read as two.
const BETWEEN_LABELS: usize = 2;
/// Space between two grids.
const BETWEEN: f64 = 56.0;
/// Grids that are wider together are put below each other.
const WIDEST_PAIR: f64 = 1300.0;
/// Width of a character of a monospaced font, in font sizes, with some to spare.
const CHARACTER: f64 = 0.61;

/// A layout drawn as a grid: the title, the layout's text form, the cells coloured by some logical bits, and a legend
/// of the colours.
pub fn svg(layout: &Layout, options: &SvgOptions<'_>) -> String {
    let coloring = Coloring::new(&[layout], options.color_by);
    let panel = Panel::new("", layout, layout, &coloring, options);
    document(&[panel], &coloring, options.title)
}

/// Two layouts side by side, such as a conversion's source and destination; an element has the same colour in both.
pub fn svg_pair(before: (&str, &Layout), after: (&str, &Layout), options: &SvgOptions<'_>) -> String {
    let coloring = Coloring::new(&[before.1, after.1], options.color_by);
    let panels = [before, after].map(|(heading, layout)| Panel::new(heading, layout, before.1, &coloring, options));
    document(&panels, &coloring, options.title)
}

/// Width of a text.
fn width(text: &str, font: f64) -> f64 {
    text.chars().count() as f64 * font * CHARACTER
}

/// A text element; anchors are `start`, `middle` and `end`.
fn write_text(body: &mut String, x: f64, y: f64, font: f64, anchor: &str, class: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Writing to a String cannot fail.
    let _ = writeln!(
        body,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{font}" text-anchor="{anchor}" class="{class}" xml:space="preserve">{text}</text>"#
    );
}

fn write_cell(body: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
    let _ = writeln!(
        body,
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{color}" class="part"/>"#
    );
}

/// One grid, drawn from its own origin.
struct Panel {
    width: f64,
    height: f64,
    body: String,
}

impl Panel {
    fn new(heading: &str, layout: &Layout, like: &Layout, coloring: &Coloring, options: &SvgOptions<'_>) -> Self {
        let grid = Grid::new(layout, like, &options.text);
        let (rows, columns, parts) = (grid.row_count(), grid.column_count(), grid.part_count());
        let labels: Vec<String> = (0..rows).map(|row| grid.row_label(row)).collect();
        let longest =
            labels.iter().map(|label| width(label, SMALL_FONT)).fold(width(&grid.rows.title, SMALL_FONT), f64::max);
        let left = longest + 8.0;
        let part = ((grid.widest_label() + BETWEEN_LABELS) as f64 * SMALL_FONT * CHARACTER).max(14.0);
        let headers: Vec<String> = (0..columns).map(|column| grid.column_label(column)).collect();
        let header = headers.iter().map(|label| width(label, SMALL_FONT)).fold(0.0, f64::max);
        let cell = (part * parts as f64).max(header + 4.0);
        let part = cell / parts as f64;
        let gap = if columns > 1 && parts > 1 { 4.0 } else { 0.0 };
        let columns_end = left + (cell + gap) * columns as f64 - gap;

        let mut body = String::new();
        let mut y = 0.0;
        if !heading.is_empty() {
            y += HEADING_FONT;
            write_text(&mut body, 0.0, y, HEADING_FONT, "start", "strong", heading);
            y += 4.0;
        }
        let form = wrap(&layout.to_string(), columns_end.max(320.0));
        let form_width = form.iter().map(|line| width(line, FONT)).fold(0.0, f64::max);
        for line in &form {
            y += FONT + 3.0;
            write_text(&mut body, 0.0, y, FONT, "start", "plain", line);
        }
        y += 10.0;
        if !grid.columns.title.is_empty() {
            y += SMALL_FONT;
            write_text(&mut body, left, y, SMALL_FONT, "start", "faint", &grid.columns.title);
            y += 4.0;
        }
        y += SMALL_FONT;
        write_text(&mut body, left - 6.0, y, SMALL_FONT, "end", "faint", &grid.rows.title);
        for (column, label) in headers.iter().enumerate() {
            let x = left + (cell + gap) * column as f64 + cell / 2.0;
            write_text(&mut body, x, y, SMALL_FONT, "middle", "faint", label);
        }
        y += 5.0;
        for (row, label) in (0..rows).zip(&labels) {
            let base = y + ROW_HEIGHT / 2.0 + SMALL_FONT * 0.35;
            write_text(&mut body, left - 6.0, base, SMALL_FONT, "end", "faint", label);
            for column in 0..columns {
                let cell_x = left + (cell + gap) * column as f64;
                for number in 0..parts {
                    let x = cell_x + part * number as f64;
                    if let Some(element) = grid.element(row, column, number) {
                        write_cell(&mut body, (x, y), (part, ROW_HEIGHT), coloring.of(layout, element));
                        write_text(
                            &mut body,
                            x + part / 2.0,
                            base,
                            SMALL_FONT,
                            "middle",
                            "plain",
                            &grid.element_label(element),
                        );
                    } else {
                        write_cell(&mut body, (x, y), (part, ROW_HEIGHT), "#f4f4f4");
                    }
                }
                let _ = writeln!(
                    body,
                    r#"<rect x="{cell_x:.1}" y="{y:.1}" width="{cell:.1}" height="{ROW_HEIGHT}" class="cell"/>"#
                );
            }
            y += ROW_HEIGHT + if row % 8 == 7 && row + 1 < rows { GROUP_GAP } else { 0.0 };
        }
        let mut note = if grid.legend().is_empty() { String::new() } else { format!("cells: {}", grid.legend()) };
        let left_out = grid.left_out();
        if !left_out.is_empty() {
            note = format!("{note}{}{left_out}", if note.is_empty() { "" } else { "; " });
        }
        if !note.is_empty() {
            y += SMALL_FONT + 6.0;
            write_text(&mut body, left, y, SMALL_FONT, "start", "faint", &note);
        }
        let width = columns_end.max(form_width).max(width(heading, HEADING_FONT)).max(left + width(&note, SMALL_FONT));
        Self { width, height: y + 4.0, body }
    }
}

/// A layout's text form in lines, broken between groups.
fn wrap(form: &str, limit: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for group in form.split("  ") {
        let at = lines.len() - 1;
        if lines[at].is_empty() {
            lines[at].push_str(group);
        } else if width(&lines[at], FONT) + width(group, FONT) + width("  ", FONT) <= limit {
            lines[at].push_str("  ");
            lines[at].push_str(group);
        } else {
            lines.push(group.to_owned());
        }
    }
    lines
}

/// Panels beside each other, with a title above and the colours' legend below.
fn document(panels: &[Panel], coloring: &Coloring, title: &str) -> String {
    let mut body = String::new();
    let mut y = MARGIN;
    if !title.is_empty() {
        y += TITLE_FONT;
        write_text(&mut body, MARGIN, y, TITLE_FONT, "start", "strong", title);
        y += 12.0;
    }
    let mut right = MARGIN + width(title, TITLE_FONT);
    let beside = panels.iter().map(|panel| panel.width).sum::<f64>() <= WIDEST_PAIR;
    let highest = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);
    let mut x = MARGIN;
    for (at, panel) in panels.iter().enumerate() {
        let gap = if at == 0 { 0.0 } else { BETWEEN };
        let arrow = match (at, beside) {
            (0, _) => None,
            (_, true) => Some((x + (gap - 26.0) / 2.0, y + highest / 2.0, "h26 m-7 -6 l7 6 l-7 6")),
            (_, false) => Some((MARGIN + panel.width / 2.0, y + (gap - 26.0) / 2.0, "v26 m-6 -7 l6 7 l6 -7")),
        };
        if let Some((from_x, from_y, path)) = arrow {
            let _ = writeln!(body, r#"<path d="M{from_x:.1} {from_y:.1} {path}" class="arrow"/>"#);
        }
        if beside {
            x += gap;
        } else {
            y += gap;
        }
        let _ = writeln!(body, r#"<g transform="translate({x:.1} {y:.1})">"#);
        body.push_str(&panel.body);
        body.push_str("</g>\n");
        right = right.max(x + panel.width);
        if beside {
            x += panel.width;
        } else {
            y += panel.height;
        }
    }
    y += if beside { highest } else { 0.0 } + 8.0;
    if !coloring.bits.is_empty() {
        let names = coloring.bits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        write_text(&mut body, MARGIN, y + 11.0, FONT, "start", "plain", &names);
        let first = MARGIN + width(&names, FONT) + 12.0;
        let digits = coloring.bits.len();
        let step = 14.0 + 5.0 + digits as f64 * FONT * CHARACTER + 12.0;
        // As many swatches a line as fit.
        let a_line = (((right - first) / step) as usize).clamp(coloring.count().min(4), coloring.count());
        for value in 0..coloring.count() {
            let (column, line) = (value % a_line, value / a_line);
            let (x, top) = (first + step * column as f64, y + 18.0 * line as f64);
            write_cell(&mut body, (x, top), (14.0, 14.0), Coloring::color(value));
            write_text(&mut body, x + 19.0, top + 11.0, FONT, "start", "plain", &format!("{value:0digits$b}"));
            right = right.max(x + step - 12.0);
        }
        y += 18.0 * coloring.count().div_ceil(a_line) as f64;
    }
    let (width, height) = (right + MARGIN, y + MARGIN);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}">
<style>text {{ font-family: "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace; fill: #1a1a1a }}
.strong {{ font-weight: bold }} .faint {{ fill: #5a5a5a }} .part {{ stroke: #ffffff; stroke-width: 0.7 }}
.cell {{ fill: none; stroke: #7a7a7a; stroke-width: 0.6 }} .arrow {{ fill: none; stroke: #444444; stroke-width: 2 }}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
{body}</svg>
"##
    )
}
