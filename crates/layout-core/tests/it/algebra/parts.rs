//! Restriction, projection, renaming and reshaping.

use std::collections::BTreeMap;

use fringes_layout_core::{Layout, LayoutError, Name, Space};
use proptest::prelude::*;

use crate::algebra::table::{Bits, any_layout, bits, names, space, table};

/// A layout, some bits of one of its sides in any order, and values for them.
fn layout_and_bits(side: fn(&Layout) -> &Space) -> impl Strategy<Value = (Layout, Vec<String>, u64)> {
    any_layout().prop_flat_map(move |layout| {
        let names = names(side(&layout));
        let count = 0..=names.len();
        (Just(layout), prop::sample::subsequence(names, count).prop_shuffle(), 0..8u64)
    })
}

fn as_str(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Whether the named bits have these values in a set of bits.
fn agrees(set: &Bits, names: &[String], values: u64) -> bool {
    names.iter().enumerate().all(|(at, name)| set.contains(name) == (values >> at & 1 == 1))
}

/// The bits of a set that are not named.
fn others(set: &Bits, names: &[String]) -> Bits {
    set.iter().filter(|bit| !names.contains(bit)).cloned().collect()
}

proptest! {
    #[test]
    fn restricting_places_keeps_the_rows_of_the_table((layout, fixed, values) in layout_and_bits(Layout::physical)) {
        let part = layout.restrict_physical(&as_str(&fixed), values).unwrap();
        let expected: BTreeMap<Bits, Bits> = table(&layout)
            .into_iter()
            .filter(|(place, _)| agrees(place, &fixed, values))
            .map(|(place, element)| (others(&place, &fixed), element))
            .collect();
        prop_assert_eq!(table(&part), expected);
    }

    #[test]
    fn restricting_elements_keeps_the_rows_that_hold_them((layout, fixed, values) in layout_and_bits(Layout::logical)) {
        let rows: Vec<(Bits, Bits)> =
            table(&layout).into_iter().filter(|(_, element)| agrees(element, &fixed, values)).collect();
        match layout.restrict_logical(&as_str(&fixed), values) {
            Ok(part) => {
                if let [bit] = &fixed[..] {
                    // The place bit that goes is the highest that changes the element's.
                    let mask = 1 << layout.logical().find(bit).unwrap();
                    let changes = (0..layout.physical().len()).rev().find(|&place| layout.column(place) & mask != 0);
                    let gone = names(layout.physical()).into_iter().find(|name| part.physical().find(name).is_err());
                    prop_assert_eq!(gone, changes.map(|place| layout.physical().get(place).to_string()));
                }
                let table = table(&part);
                prop_assert_eq!(table.len(), rows.len());
                let kept = names(part.physical());
                for (place, element) in rows {
                    let place: Bits = place.into_iter().filter(|bit| kept.contains(bit)).collect();
                    prop_assert_eq!(&table[&place], &others(&element, &fixed));
                }
            }
            Err(LayoutError::NotHeld { bit }) => {
                prop_assert!(rows.is_empty());
                prop_assert!(fixed.contains(&bit.to_string()));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn projection_keeps_the_named_bits_of_every_element((layout, kept, _) in layout_and_bits(Layout::logical)) {
        let part = layout.project(&as_str(&kept)).unwrap();
        prop_assert_eq!(names(part.logical()), kept.clone());
        let dropped: Vec<String> = names(layout.logical()).into_iter().filter(|bit| !kept.contains(bit)).collect();
        let expected: BTreeMap<Bits, Bits> =
            table(&layout).into_iter().map(|(place, element)| (place, others(&element, &dropped))).collect();
        prop_assert_eq!(table(&part), expected);
        let other = layout.drop_logical(&as_str(&dropped)).unwrap();
        prop_assert!(other.same_map(&part));
    }

    #[test]
    fn renaming_changes_names_alone(layout in any_layout(), at in 0usize..6) {
        let renamed = |set: &Bits, old: &str| {
            let mut set: Bits = set.iter().map(|bit| if bit == old { "new5".to_string() } else { bit.clone() }).collect();
            set.sort();
            set
        };
        if at < layout.physical().len() {
            let old = layout.physical().get(at);
            let other = layout.rename_physical(old.as_str(), "new5").unwrap();
            let expected: BTreeMap<Bits, Bits> =
                table(&layout).into_iter().map(|(place, element)| (renamed(&place, old.as_str()), element)).collect();
            prop_assert_eq!(table(&other), expected);
            prop_assert_eq!(other.rename_physical("new5", old.as_str()), Ok(layout));
        }
        if at < layout.logical().len() {
            let old = layout.logical().get(at);
            let other = layout.rename_logical(old.as_str(), "new5").unwrap();
            let expected: BTreeMap<Bits, Bits> =
                table(&layout).into_iter().map(|(place, element)| (place, renamed(&element, old.as_str()))).collect();
            prop_assert_eq!(table(&other), expected);
            prop_assert_eq!(other.rename_logical("new5", old.as_str()), Ok(layout));
        }
    }

    #[test]
    fn reshaping_keeps_every_number(layout in any_layout()) {
        let flat = Space::numbered("flat", layout.logical().len()).unwrap();
        let places = Space::numbered("p", layout.physical().len()).unwrap();
        let other = layout.reshape_logical(&flat).unwrap().reshape_physical(&places).unwrap();
        prop_assert_eq!((*other.physical(), *other.logical()), (places, flat));
        for place in 0..places.size() {
            prop_assert_eq!(other.apply(place), layout.apply(place));
        }
        let back = other.reshape_logical(layout.logical()).unwrap().reshape_physical(layout.physical()).unwrap();
        prop_assert_eq!(back, layout);
    }

    #[test]
    fn numbers_of_stems_go_into_an_index_and_come_out(
        order in Just(vec!["t0", "r1", "t2", "w", "t1", "r0", "r9"]).prop_shuffle(),
        index in 0u64..128,
    ) {
        let space = space(&order);
        let numbers = ["t", "r", "w"].map(|stem| (stem, space.number(stem, index)));
        prop_assert_eq!(space.index(&numbers), index);
        // Bit 9 of r's number is r9; bits 2 to 8 have no place.
        prop_assert_eq!(space.number("r", space.index(&[("r", 0b11_1111_1111)])), 0b10_0000_0011);
        prop_assert_eq!(bits(&space, space.index(&[("t", 6), ("w", 1)])), ["t1", "t2", "w"]);
        prop_assert_eq!(names(&space.bits_of_stem("t")), ["t0", "t1", "t2"]);
        prop_assert_eq!(names(&space.bits_of_stem("r")), ["r0", "r1", "r9"]);
    }
}

#[test]
fn a_flat_array_is_addressed_by_row_times_width_plus_column() {
    let array = Layout::flat("g", &[("col", 3), ("row", 2), ("plane", 1)]).unwrap();
    for address in 0..64 {
        let element = array.apply(address);
        let (col, row, plane) = (address % 8, address / 8 % 4, address / 32);
        let number = |stem| array.logical().number(stem, element);
        assert_eq!((number("col"), number("row"), number("plane")), (col, row, plane));
    }
    let address = array.invert().unwrap();
    let element = array.logical().index(&[("row", 2), ("col", 5), ("plane", 1)]);
    assert_eq!(address.apply(element), (4 + 2) * 8 + 5);
}

#[test]
fn renumbered_registers_make_room_for_a_factor() {
    let tile = Layout::parse("t0<->n0  r<->m0 m1").unwrap();
    let moved = tile.renumber_physical("r", "r", 1).unwrap().renumber_logical("m", "k", 4).unwrap();
    assert_eq!(moved.to_string(), "t0<->n0  r1 r2<->k4 k5");
    // Overlapping numbers are renamed at once.
    let more = moved.product(&Layout::parse("r<->j").unwrap()).unwrap();
    assert_eq!(more.to_string(), "t0<->n0  r1 r2 r0<->k4 k5 j");
    let error = more.renumber_physical("t", "r", 2).unwrap_err();
    assert_eq!(error, LayoutError::Twice { bit: Name::new("r2").unwrap() });
    assert_eq!(more.renumber_physical("w", "r", 2), Ok(more));
}

#[test]
fn what_is_not_there_is_named() {
    let bit = |name| Name::new(name).unwrap();
    let layout = Layout::parse("t0 t1<->n0 n1  0<->n2").unwrap();
    assert_eq!(layout.restrict_physical(&["r0"], 0), Err(LayoutError::Missing { bit: bit("r0") }));
    assert_eq!(layout.restrict_physical(&["t0", "t0"], 0), Err(LayoutError::Twice { bit: bit("t0") }));
    assert!(matches!(layout.restrict_physical(&["0"], 0), Err(LayoutError::Name { .. })));
    assert_eq!(layout.restrict_logical(&["m"], 0), Err(LayoutError::Missing { bit: bit("m") }));
    assert_eq!(layout.restrict_logical(&["n2"], 1), Err(LayoutError::NotHeld { bit: bit("n2") }));
    assert_eq!(layout.restrict_logical(&["n2"], 0).unwrap().to_string(), "t0 t1<->n0 n1");
    assert_eq!(layout.project(&["n1", "n1"]), Err(LayoutError::Twice { bit: bit("n1") }));
    assert_eq!(layout.drop_logical(&["t0"]), Err(LayoutError::Missing { bit: bit("t0") }));
    assert_eq!(layout.rename_physical("t0", "t1"), Err(LayoutError::Twice { bit: bit("t1") }));
    assert_eq!(layout.rename_physical("t0", "t0"), Ok(layout));
    assert_eq!(layout.rename_logical("t0", "x"), Err(LayoutError::Missing { bit: bit("t0") }));
    assert_eq!(layout.reshape_logical(&space(&["x"])), Err(LayoutError::Count { actual: 1, expected: 3 }));
    assert_eq!(layout.reshape_physical(&space(&["x"])), Err(LayoutError::Count { actual: 1, expected: 2 }));
    assert_eq!(Layout::in_order(space(&["x"]), Space::new()), Err(LayoutError::Count { actual: 0, expected: 1 }));
    assert_eq!(Layout::flat("g", &[("n", 49)]), Err(LayoutError::TooMany { actual: 49, limit: 48 }));
}
