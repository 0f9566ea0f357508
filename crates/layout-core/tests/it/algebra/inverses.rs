//! Inverses and conversions at random.

use std::collections::{BTreeMap, BTreeSet};

use fringes_layout_core::{Layout, LayoutError, Name, Space, conversion};
use proptest::prelude::*;

use crate::algebra::table::{
    Bits, ELEMENTS, OTHERS, PLACES, Table, any_bijection, any_layout, any_space, bits, index, layout_of, names, space,
    table,
};

/// The places of each element held.
fn holders(table: &Table) -> BTreeMap<Bits, Vec<Bits>> {
    let mut holders = BTreeMap::new();
    for (place, element) in table {
        holders.entry(element.clone()).or_insert_with(Vec::new).push(place.clone());
    }
    holders
}

/// Two layouts of the same elements, in different orders, whose physical bits may have the same names.
fn from_and_to() -> impl Strategy<Value = (Layout, Layout)> {
    let places = || prop_oneof![any_space(PLACES, 0..=6), any_space(OTHERS, 0..=3)];
    (any_space(ELEMENTS, 0..=5), places(), places()).prop_flat_map(|(elements, from, to)| {
        let shuffled = Just(names(&elements)).prop_shuffle();
        (
            layout_of(from, elements),
            shuffled.prop_flat_map(move |names| {
                layout_of(to, space(&names.iter().map(String::as_str).collect::<Vec<_>>()))
            }),
        )
    })
}

/// That a conversion is right by the tables, and as documented among several places.
fn check_conversion(from: &Layout, to: &Layout) -> Result<(), TestCaseError> {
    let (source, wanted) = (table(from), table(to));
    let sources = holders(&source);
    // A physical bit is free if flipping it can be undone by bits below it.
    let free: Vec<Name> = (0..from.physical().len())
        .filter(|&bit| (0..1u64 << bit).any(|lower| from.apply(lower) == from.apply(1 << bit)))
        .map(|bit| from.physical().get(bit))
        .collect();
    match conversion(from, to) {
        Ok(found) => {
            prop_assert_eq!((found.physical(), found.logical()), (to.physical(), from.physical()));
            for (place, from_place) in table(&found) {
                prop_assert_eq!(&source[&from_place], &wanted[&place]);
                for bit in &free {
                    prop_assert_eq!(place.contains(&bit.to_string()), from_place.contains(&bit.to_string()));
                }
            }
        }
        Err(LayoutError::NotHeld { bit }) => {
            prop_assert!(wanted.values().any(|element| !sources.contains_key(element)));
            prop_assert!(from.logical().position(&bit).is_some());
        }
        Err(error) => prop_assert!(false, "{}", error),
    }
    Ok(())
}

proptest! {
    #[test]
    fn an_inverse_undoes_both_ways(layout in any_bijection()) {
        let inverse = layout.invert().unwrap();
        prop_assert!(layout.compose(&inverse).unwrap().same_map(&Layout::identity(*layout.physical())));
        prop_assert!(inverse.compose(&layout).unwrap().same_map(&Layout::identity(*layout.logical())));
        let places = table(&inverse);
        for (place, element) in table(&layout) {
            prop_assert_eq!(&places[&element], &place);
        }
        prop_assert_eq!(inverse.invert(), Ok(layout));
        prop_assert_eq!((layout.right_inverse(), layout.left_inverse()), (Ok(inverse), Ok(inverse)));
    }

    #[test]
    fn pseudo_inverses_are_right_or_left_or_refused(layout in any_layout()) {
        let held = holders(&table(&layout));
        let injective = held.values().all(|places| places.len() == 1);
        let surjective = held.len() as u64 == layout.logical().size();
        match layout.right_inverse() {
            Ok(inverse) => {
                prop_assert!(surjective);
                for (element, place) in table(&inverse) {
                    let lowest = held[&element].iter().map(|place| index(layout.physical(), place)).min();
                    prop_assert_eq!(Some(index(layout.physical(), &place)), lowest);
                }
            }
            Err(LayoutError::NotSurjective { bit }) => {
                // The element that differs in this bit alone from one that is held is not.
                let other = layout.offset() ^ 1 << layout.logical().position(&bit).unwrap();
                prop_assert!(!held.contains_key(&bits(layout.logical(), other)));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        match layout.left_inverse() {
            Ok(inverse) => {
                prop_assert!(injective);
                let places = table(&inverse);
                for (place, element) in table(&layout) {
                    prop_assert_eq!(&places[&element], &place);
                }
                // It reads as many bits as there are physical ones, the lowest that suffice, and no others.
                let read: Vec<usize> = (0..layout.logical().len()).filter(|&bit| inverse.column(bit) != 0).collect();
                let tell_apart = |bits: &[usize]| {
                    let seen = (0..layout.physical().size()).map(|place| {
                        bits.iter().map(|&bit| layout.apply(place) >> bit & 1).collect::<Vec<_>>()
                    });
                    seen.collect::<BTreeSet<_>>().len()
                };
                prop_assert_eq!(read.len(), layout.physical().len());
                for bit in 0..layout.logical().len() {
                    let below: Vec<usize> = (0..bit).collect();
                    prop_assert_eq!(read.contains(&bit), tell_apart(&(0..=bit).collect::<Vec<_>>()) > tell_apart(&below));
                }
            }
            Err(LayoutError::NotInjective { bit }) => {
                // Flipping the bit and lower ones changes nothing.
                let at = layout.physical().position(&bit).unwrap();
                prop_assert!((1u64 << at..2 << at).any(|flipped| layout.apply(flipped) == layout.apply(0)));
                prop_assert!((1..1u64 << at).all(|flipped| layout.apply(flipped) != layout.apply(0)));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        prop_assert_eq!(layout.left_inverse().is_ok(), injective);
        prop_assert_eq!(layout.right_inverse().is_ok(), surjective);
        prop_assert_eq!(layout.invert().is_ok(), injective && surjective);
        match layout.pseudo_invert() {
            Ok(inverse) if injective => prop_assert_eq!(Ok(inverse), layout.left_inverse()),
            Ok(inverse) => prop_assert_eq!(Ok(inverse), layout.right_inverse()),
            Err(error) => {
                prop_assert!(!injective && !surjective);
                prop_assert_eq!(Err(error), layout.right_inverse());
            }
        }
    }

    #[test]
    fn a_conversion_finds_every_element((from, to) in from_and_to()) {
        check_conversion(&from, &to)?;
    }

    #[test]
    fn a_conversion_of_bijections_always_exists(
        (from, to) in any_bijection().prop_flat_map(|from| {
            let elements = *from.logical();
            let columns: Vec<Name> = elements.iter().collect();
            (Just(from), Just(columns).prop_shuffle().prop_flat_map(move |order| {
                let order = order.into_iter().fold(Space::new(), |space, name| space.with(name).unwrap());
                crate::algebra::table::bijection_of(space(&PLACES[..order.len()]), order)
            }))
        })
    ) {
        prop_assert!(conversion(&from, &to).is_ok());
        check_conversion(&from, &to)?;
        // There and back is the identity.
        let there = conversion(&from, &to).unwrap();
        let back = conversion(&to, &from).unwrap();
        prop_assert!(there.compose(&back).unwrap().same_map(&Layout::identity(*to.physical())));
        // It is the inverse of `from` after `to`.
        prop_assert!(to.compose(&from.invert().unwrap()).unwrap().same_map(&there));
    }

    #[test]
    fn a_layout_converts_to_itself_in_place(layout in any_layout()) {
        prop_assert_eq!(conversion(&layout, &layout), Ok(Layout::identity(*layout.physical())));
    }
}

#[test]
fn what_cannot_be_converted_is_named() {
    let bit = |name| Name::new(name).unwrap();
    let layout = |text| Layout::parse(text).unwrap();
    let refused = |from, to| conversion(&layout(from), &layout(to)).unwrap_err();
    assert_eq!(refused("t0<->n0", "t0 t1<->n0 n1"), LayoutError::Missing { bit: bit("n1") });
    assert_eq!(refused("t0 t1<->n0 n1", "t0<->n0"), LayoutError::Unexpected { bit: bit("n1") });
    assert_eq!(refused("t0<->n0  0<->n1", "t0 t1<->n0 n1"), LayoutError::NotHeld { bit: bit("n1") });
    assert_eq!(refused("t0<->n0  0<->n1", "t0<->n0  0<->n1 + n1"), LayoutError::NotHeld { bit: bit("n1") });
    assert_eq!(
        refused("t0<->n0  0<->n1", "t0 t1<->n0 n1").to_string(),
        "no place holds the elements asked for: bit n1 is out of reach"
    );
}
