//! The brute-force model: a layout as a table of every place and its element, by the bits' names, and layouts made at
//! random.

use std::collections::BTreeMap;

use fringes_layout_core::{Layout, Name, Space};
use proptest::prelude::*;

/// A set of bits that are 1, by name.
pub(crate) type Bits = Vec<String>;

/// Every place and the element that it holds.
pub(crate) type Table = BTreeMap<Bits, Bits>;

/// The names of the bits of an index that are 1, sorted.
pub(crate) fn bits(space: &Space, index: u64) -> Bits {
    let mut bits: Bits =
        (0..space.len()).filter(|bit| index >> bit & 1 == 1).map(|bit| space.get(bit).to_string()).collect();
    bits.sort();
    bits
}

/// The index in which exactly the bits of these names are 1.
pub(crate) fn index(space: &Space, bits: &Bits) -> u64 {
    bits.iter().map(|bit| 1 << space.position(&Name::new(bit).unwrap()).expect("a bit of the space")).sum()
}

/// What two sets of bits make when one flips the other.
pub(crate) fn flip(a: &Bits, b: &Bits) -> Bits {
    let mut sum: Bits = a.iter().filter(|bit| !b.contains(bit)).cloned().collect();
    sum.extend(b.iter().filter(|bit| !a.contains(bit)).cloned());
    sum.sort();
    sum
}

/// The table of a layout, from its columns and its offset alone.
pub(crate) fn table(layout: &Layout) -> Table {
    let element = |place: u64| {
        let columns = (0..layout.physical().len()).filter(|bit| place >> bit & 1 == 1);
        columns.fold(bits(layout.logical(), layout.offset()), |sum, bit| {
            flip(&sum, &bits(layout.logical(), layout.column(bit)))
        })
    };
    (0..layout.physical().size()).map(|place| (bits(layout.physical(), place), element(place))).collect()
}

pub(crate) fn space(names: &[&str]) -> Space {
    Space::from_names(names).unwrap()
}

/// The names of a space.
pub(crate) fn names(space: &Space) -> Vec<String> {
    space.iter().map(|name| name.to_string()).collect()
}

/// Names of places.
pub(crate) const PLACES: &[&str] = &["t0", "t1", "t2", "r0", "r1", "r2", "b", "w7"];
/// Names of elements.
pub(crate) const ELEMENTS: &[&str] = &["n0", "n1", "n2", "n3", "m0", "m1", "ReIm", "q9"];
/// Names that are neither.
pub(crate) const OTHERS: &[&str] = &["g0", "g1", "g2", "g3", "g4", "g5", "row'", "x_"];

/// Some of these names, in any order.
pub(crate) fn any_space(
    pool: &'static [&'static str],
    count: impl Into<prop::sample::SizeRange>,
) -> impl Strategy<Value = Space> {
    prop::sample::subsequence(pool, count).prop_shuffle().prop_map(|names| space(&names))
}

/// Any layout between two spaces.
pub(crate) fn layout_of(physical: Space, logical: Space) -> impl Strategy<Value = Layout> {
    (prop::collection::vec(0..logical.size(), physical.len()), 0..logical.size()).prop_map(move |(columns, offset)| {
        Layout::from_columns(physical, logical, &columns).unwrap().with_offset(offset).unwrap()
    })
}

/// Any layout of at most six bits a side.
pub(crate) fn any_layout() -> impl Strategy<Value = Layout> {
    (any_space(PLACES, 0..=6), any_space(ELEMENTS, 0..=6))
        .prop_flat_map(|(physical, logical)| layout_of(physical, logical))
}

/// Any one-to-one layout between two spaces of the same size, made by elementary steps from the identity.
pub(crate) fn bijection_of(physical: Space, logical: Space) -> impl Strategy<Value = Layout> {
    let size = physical.len().max(1);
    let steps = prop::collection::vec((0..size, 0..size), 0..40);
    (steps, 0..logical.size()).prop_map(move |(steps, offset)| {
        let mut columns: Vec<u64> = (0..physical.len()).map(|bit| 1 << bit).collect();
        for (from, to) in steps.into_iter().filter(|(from, to)| from != to) {
            columns[to] ^= columns[from];
        }
        Layout::from_columns(physical, logical, &columns).unwrap().with_offset(offset).unwrap()
    })
}

/// Any one-to-one layout of at most six bits.
pub(crate) fn any_bijection() -> impl Strategy<Value = Layout> {
    (0..=6usize).prop_flat_map(|size| {
        (any_space(PLACES, size), any_space(ELEMENTS, size))
            .prop_flat_map(|(physical, logical)| bijection_of(physical, logical))
    })
}
