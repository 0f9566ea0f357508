//! Colours of cells.

use fringes_layout_core::{Layout, Name};

use super::{MOST_COLOR_BITS, grid};

/// Light colours on which dark text is read easily; neighbours differ in hue.
const PALETTE: [&str; 1 << MOST_COLOR_BITS] = [
    "#a6cee3", "#fdd49e", "#b2df8a", "#fbb4b9", "#cab2d6", "#ffffb3", "#99d8c9", "#e5c9a8", "#7fb4d8", "#fdae61",
    "#8cc66d", "#f48f98", "#ab8fc4", "#e6dd5c", "#5fbfa9", "#c9a06c",
];

/// The bits that colour, the highest first.
#[derive(Debug, Clone)]
pub(super) struct Coloring {
    pub(super) bits: Vec<Name>,
}

impl Coloring {
    /// Colours by the bits named that any of the layouts has, or by the highest of the first layout's largest stem.
    pub(super) fn new(layouts: &[&Layout], names: &[&str]) -> Self {
        let mut bits: Vec<Name> = names.iter().filter_map(|name| Name::new(name).ok()).collect();
        bits.retain(|bit| layouts.iter().any(|layout| layout.logical().position(bit).is_some()));
        if names.is_empty()
            && let Some(layout) = layouts.first()
        {
            let logical = layout.logical();
            let size = |stem: &String| logical.stem_mask(stem).count_ones();
            // Of equally large ones the first.
            let largest = grid::stems(layout).into_iter().rev().max_by_key(size).unwrap_or_default();
            let mut highest: Vec<Name> = logical.bits_of_stem(&largest).iter().collect();
            highest.reverse();
            bits = highest.into_iter().take(3).collect();
        }
        bits.truncate(MOST_COLOR_BITS);
        Self { bits }
    }

    /// Colours in use.
    pub(super) fn count(&self) -> usize {
        1 << self.bits.len()
    }

    /// The colour of a value of the bits.
    pub(super) fn color(value: usize) -> &'static str {
        PALETTE[value % PALETTE.len()]
    }

    /// The colour of an element.
    pub(super) fn of(&self, layout: &Layout, element: u64) -> &'static str {
        let bit = |name: &Name| layout.logical().position(name).map_or(0, |at| element >> at & 1);
        Self::color(self.bits.iter().fold(0, |value, name| 2 * value + bit(name) as usize))
    }
}
