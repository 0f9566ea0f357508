//! The grid of a picture: which physical bits number rows, columns and the parts of a cell.

use fringes_layout_core::{Layout, Name};

use super::{Labels, TextOptions};

/// Address bits within a row of memory: one word of each bank.
const ROW_BITS: usize = 7;
/// Columns, and parts of a cell, that are shown at most.
const MOST_COLUMNS: u64 = 256;
const MOST_PARTS: u64 = 16;

/// Physical bits that number the rows, the columns or the parts of a cell.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// What is counted.
    pub(super) title: String,
    /// The physical bit of each bit of the number; none where the layout has no such bit.
    bits: Vec<Option<usize>>,
    labels: AxisLabels,
}

/// How an axis is labelled.
#[derive(Debug, Clone)]
enum AxisLabels {
    /// By what the place's bits of each stem spell, after the stem if `named`.
    Stems { stems: Vec<String>, named: bool },
    /// By the number, this many times.
    Scaled(u64),
}

impl Axis {
    /// An axis of the bits of some stems, the first lowest.
    fn of_stems(layout: &Layout, stems: &[&str], title: &str, named: bool) -> Self {
        let physical = layout.physical();
        let names = stems.iter().flat_map(|stem| physical.bits_of_stem(stem).iter().collect::<Vec<Name>>());
        let bits = names.map(|name| physical.position(&name)).collect();
        let mut stems: Vec<_> =
            stems.iter().filter(|stem| physical.stem_mask(stem) != 0).map(|&s| s.to_owned()).collect();
        stems.reverse();
        let named = named || stems.len() > 1;
        Self { title: title.to_owned(), bits, labels: AxisLabels::Stems { stems, named } }
    }

    /// An axis of the bits `from..to` of an address.
    fn of_address(layout: &Layout, stem: &str, from: usize, to: usize, title: &str, scale: u64) -> Self {
        let physical = layout.physical();
        let place = |number| Name::numbered(stem, number).ok().and_then(|name| physical.position(&name));
        let bits = (from..to).map(place).collect();
        Self { title: title.to_owned(), bits, labels: AxisLabels::Scaled(scale) }
    }

    /// Numbers on the axis.
    pub(super) fn size(&self) -> u64 {
        1 << self.bits.len()
    }

    /// The place of a number, if the layout has it.
    fn place(&self, number: u64) -> Option<u64> {
        let set = self.bits.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1);
        set.map(|(_, bit)| bit.map(|bit| 1 << bit)).sum()
    }

    /// What stands beside a number.
    fn label(&self, layout: &Layout, number: u64) -> String {
        match &self.labels {
            AxisLabels::Scaled(scale) => (number * scale).to_string(),
            AxisLabels::Stems { stems, named } => {
                let place = self.place(number).unwrap_or_default();
                let value = |stem: &String| layout.physical().number(stem, place);
                let parts = stems
                    .iter()
                    .map(|stem| if *named { format!("{stem}{}", value(stem)) } else { value(stem).to_string() });
                parts.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// A layout as a grid.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    layout: &'a Layout,
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    pub(super) parts: Axis,
    /// Logical stems, in the order in which labels have them.
    stems: Vec<String>,
    labels: Labels,
    max_rows: usize,
}

impl<'a> Grid<'a> {
    /// The grid of a layout; labels have the order of another's logical stems.
    pub(super) fn new(layout: &'a Layout, like: &Layout, options: &TextOptions<'_>) -> Self {
        let (rows, columns, parts) = axes(layout, options);
        let (own, mut ordered) = (stems(layout), stems(like));
        ordered.retain(|stem| own.contains(stem));
        ordered.extend(own);
        let mut stems = Vec::new();
        for stem in ordered {
            if !stems.contains(&stem) {
                stems.push(stem);
            }
        }
        Self { layout, rows, columns, parts, stems, labels: options.labels, max_rows: options.max_rows.max(1) }
    }

    /// Rows shown.
    pub(super) fn row_count(&self) -> u64 {
        self.rows.size().min(self.max_rows as u64)
    }

    /// Columns shown.
    pub(super) fn column_count(&self) -> u64 {
        self.columns.size().min(MOST_COLUMNS)
    }

    /// Parts of a cell shown.
    pub(super) fn part_count(&self) -> u64 {
        self.parts.size().min(MOST_PARTS)
    }

    /// What is not shown, empty if all is.
    pub(super) fn left_out(&self) -> String {
        let counts = [
            (self.rows.size() - self.row_count(), "rows"),
            (self.columns.size() - self.column_count(), "columns"),
            (self.parts.size() - self.part_count(), "parts of cells"),
        ];
        let some = counts.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{count} {what} more")).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn row_label(&self, row: u64) -> String {
        self.rows.label(self.layout, row)
    }

    pub(super) fn column_label(&self, column: u64) -> String {
        self.columns.label(self.layout, column)
    }

    /// The element in a part of a cell, if the layout has the place.
    pub(super) fn element(&self, row: u64, column: u64, part: u64) -> Option<u64> {
        let place = self.rows.place(row)? | self.columns.place(column)? | self.parts.place(part)?;
        Some(self.layout.apply(place))
    }

    /// An element as text.
    pub(super) fn element_label(&self, element: u64) -> String {
        let logical = self.layout.logical();
        let values = |named: bool| {
            let values = self.stems.iter().map(|stem| (logical.number(stem, element), stem));
            values
                .map(|(value, stem)| if named { format!("{stem}{value}") } else { value.to_string() })
                .collect::<Vec<_>>()
        };
        match self.labels {
            Labels::Values => values(false).join(","),
            Labels::Named => values(true).join(" "),
            Labels::Index => element.to_string(),
            Labels::Bits => format!("{element:0width$b}", width = logical.len()),
        }
    }

    /// What the elements' texts are made of.
    pub(super) fn legend(&self) -> String {
        match self.labels {
            Labels::Values => self.stems.join(","),
            Labels::Named => String::new(),
            Labels::Index => "index".to_owned(),
            Labels::Bits => {
                let logical = self.layout.logical();
                (0..logical.len()).rev().map(|bit| logical.get(bit).to_string()).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Longest text of an element.
    pub(super) fn widest_label(&self) -> usize {
        let cells = (0..self.row_count()).flat_map(|row| (0..self.column_count()).map(move |column| (row, column)));
        let parts = cells.flat_map(|(row, column)| (0..self.part_count()).map(move |part| (row, column, part)));
        let elements = parts.filter_map(|(row, column, part)| self.element(row, column, part));
        elements.map(|element| self.element_label(element).len()).max().unwrap_or_default()
    }
}

/// Stems of the logical bits, in the order of the space.
pub(super) fn stems(layout: &Layout) -> Vec<String> {
    let mut stems = Vec::<String>::new();
    for name in layout.logical().iter() {
        if !stems.iter().any(|stem| stem == name.stem()) {
            stems.push(name.stem().to_owned());
        }
    }
    stems
}

/// Rows, columns and parts of cells.
fn axes(layout: &Layout, options: &TextOptions<'_>) -> (Axis, Axis, Axis) {
    let physical = layout.physical();
    let mut all: Vec<String> = Vec::new();
    for name in physical.iter() {
        if !all.iter().any(|stem| stem == name.stem()) {
            all.push(name.stem().to_owned());
        }
    }
    let has = |stem: &str| all.iter().any(|other| other == stem);
    let none = Axis::of_stems(layout, &[], "", false);
    if !options.rows.is_empty() || !options.columns.is_empty() {
        let rest: Vec<&str> = all.iter().map(String::as_str).collect();
        let rest = |given: &[&str]| rest.iter().copied().filter(|stem| !given.contains(stem)).collect::<Vec<_>>();
        let columns = if options.columns.is_empty() { rest(options.rows) } else { options.columns.to_vec() };
        let rows = if options.rows.is_empty() { rest(&columns) } else { options.rows.to_vec() };
        let both = [rows.as_slice(), columns.as_slice()].concat();
        let axis = |stems: &[&str]| Axis::of_stems(layout, stems, &stems.join(" "), false);
        return (axis(&rows), axis(&columns), axis(&rest(&both)));
    }
    for stem in ["s", "g"] {
        if has(stem) && !has("r") && !has("t") {
            let numbers = physical.bits_of_stem(stem);
            let numbers: Vec<usize> = numbers.iter().filter_map(|name| name.number()).collect();
            let (lowest, highest) = (numbers.first().copied().unwrap_or(0), numbers.last().copied().unwrap_or(0));
            let unit = lowest.clamp(2, ROW_BITS);
            let title = if unit == 2 && stem == "s" { "bank" } else { "byte" };
            let scale = if title == "bank" { 1 } else { 1 << unit };
            let end = (highest + 1).max(unit);
            let rows = Axis::of_address(layout, stem, ROW_BITS, end.max(ROW_BITS), "address", 1 << ROW_BITS);
            let columns = Axis::of_address(layout, stem, unit, end.min(ROW_BITS), title, scale);
            let parts = Axis::of_address(layout, stem, lowest.min(unit), unit, "", 1);
            return (rows, columns, parts);
        }
    }
    if has("t") || has("r") {
        let mut stems: Vec<&str> = all.iter().map(String::as_str).filter(|&stem| stem != "r" && stem != "b").collect();
        stems.sort_by_key(|&stem| stem != "t");
        let rows = Axis::of_stems(layout, &stems, "lane", false);
        return (
            rows,
            Axis::of_stems(layout, &["r"], "", true).or_only("r0"),
            Axis::of_stems(layout, &["b"], "", false),
        );
    }
    let half = all.len() / 2;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let axis = |stems: &[&str]| Axis::of_stems(layout, stems, &stems.join(" "), false);
    (axis(&all[half..]), axis(&all[..half]), none)
}

impl Axis {
    /// The axis, or one with a single number of this label if it has no bit.
    fn or_only(self, label: &str) -> Self {
        if !self.bits.is_empty() {
            return self;
        }
        let stem = label.trim_end_matches(char::is_numeric).to_owned();
        Self { labels: AxisLabels::Stems { stems: vec![stem], named: true }, ..self }
    }
}
