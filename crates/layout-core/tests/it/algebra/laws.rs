//! Composition, product and division at random.

use fringes_layout_core::{Layout, LayoutError, Name, Space};
use proptest::prelude::*;

use crate::algebra::table::{OTHERS, PLACES, any_layout, any_space, bits, flip, index, layout_of, names, space, table};

/// Two layouts of which the second takes the first's elements, in another order.
fn pair() -> impl Strategy<Value = (Layout, Layout)> {
    (any_layout(), any_space(OTHERS, 0..=6)).prop_flat_map(|(first, last)| {
        let shuffled = Just(names(first.logical())).prop_shuffle();
        (
            Just(first),
            shuffled.prop_flat_map(move |names| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                layout_of(space(&names), last)
            }),
        )
    })
}

proptest! {
    #[test]
    fn apply_is_the_sum_of_columns(layout in any_layout()) {
        for (place, element) in table(&layout) {
            let place = index(layout.physical(), &place);
            prop_assert_eq!(bits(layout.logical(), layout.apply(place)), element.clone());
            prop_assert_eq!(layout.apply(place | u64::MAX << layout.physical().len()), layout.apply(place));
        }
    }

    #[test]
    fn composition_is_one_layout_after_the_other((first, second) in pair()) {
        let (inner, outer) = (table(&first), table(&second));
        let both = table(&first.compose(&second).unwrap());
        prop_assert_eq!(both.len(), inner.len());
        for (place, element) in inner {
            prop_assert_eq!(&both[&place], &outer[&element]);
        }
    }

    #[test]
    fn composition_is_associative(
        ((first, second), seed) in (pair(), any_space(PLACES, 0..=5)),
        columns in prop::collection::vec(any::<u64>(), 6),
        offset in any::<u64>(),
    ) {
        let mask = seed.size() - 1;
        let columns: Vec<u64> = columns[..second.logical().len()].iter().map(|column| column & mask).collect();
        let third = Layout::from_columns(*second.logical(), seed, &columns).unwrap().with_offset(offset & mask).unwrap();
        let left = first.compose(&second).unwrap().compose(&third).unwrap();
        let right = first.compose(&second.compose(&third).unwrap()).unwrap();
        prop_assert_eq!(left, right);
    }

    #[test]
    fn the_identity_changes_nothing(layout in any_layout()) {
        prop_assert_eq!(Layout::identity(*layout.physical()).compose(&layout), Ok(layout));
        prop_assert_eq!(layout.compose(&Layout::identity(*layout.logical())), Ok(layout));
    }

    #[test]
    fn the_order_of_bits_is_no_part_of_the_map(
        (layout, places, elements) in any_layout().prop_flat_map(|layout| (
            Just(layout),
            Just(names(layout.physical())).prop_shuffle(),
            Just(names(layout.logical())).prop_shuffle(),
        ))
    ) {
        let order = |names: &[String]| space(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let (places, elements) = (order(&places), order(&elements));
        let other = layout.with_physical_order(&places).unwrap().with_logical_order(&elements).unwrap();
        prop_assert_eq!((*other.physical(), *other.logical()), (places, elements));
        prop_assert_eq!(table(&other), table(&layout));
        prop_assert!(other.same_map(&layout) && layout.same_map(&other));
    }

    #[test]
    fn same_map_is_equality_of_tables((first, second) in (any_layout(), any_layout())) {
        let same_spaces = |a: &Space, b: &Space| a.matched(b).is_ok();
        let same = same_spaces(first.physical(), second.physical())
            && same_spaces(first.logical(), second.logical())
            && table(&first) == table(&second);
        prop_assert_eq!(first.same_map(&second), same);
        // One entry of the table changed is another map.
        if !first.logical().is_empty() {
            prop_assert!(!first.same_map(&first.with_offset(1).unwrap()));
            for bit in 0..first.physical().len() {
                let mut columns = first.matrix().columns().to_vec();
                columns[bit] ^= 1;
                let changed = Layout::from_columns(*first.physical(), *first.logical(), &columns).unwrap();
                prop_assert!(!first.same_map(&changed.with_offset(first.offset()).unwrap()));
            }
        }
    }

    #[test]
    fn a_product_holds_both_and_each_factor_divides_it(first in any_layout(), second in (any_space(OTHERS, 0..=4),
        Just(space(&["k0", "k1", "k2"]))).prop_flat_map(|(physical, logical)| layout_of(physical, logical)))
    {
        let product = first.product(&second).unwrap();
        let (a, b, both) = (table(&first), table(&second), table(&product));
        prop_assert_eq!(both.len(), a.len() * b.len());
        for (i, x) in &a {
            for (j, y) in &b {
                prop_assert_eq!(&both[&flip(i, j)], &flip(x, y));
            }
        }
        prop_assert_eq!(product.divide_left(&first), Ok(second));
        prop_assert_eq!(product.divide_right(&second), Ok(first));
        prop_assert_eq!(product.divide(&first), Ok(second));
        prop_assert_eq!(product.divide(&second), Ok(first));
        let turned = second.product(&first).unwrap();
        prop_assert!(turned.same_map(&product));
        prop_assert_eq!(turned.divide(&first), Ok(second));
    }

    #[test]
    fn a_quotient_times_the_factor_is_the_layout(layout in any_layout(), places in 0u64..64, elements in 0u64..64) {
        // The factor wanted is the part of the layout in some bits; where it is one, the product gives the layout back.
        let (places, elements) = (layout.physical().select(places), layout.logical().select(elements));
        let (kept, rest) = (names(&elements), names(layout.physical()));
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|bit| places.find(bit).is_err()).collect();
        let factor = layout.project(&kept).unwrap().restrict_physical(&rest, 0).unwrap();
        match layout.divide(&factor) {
            Ok(quotient) => prop_assert!(factor.product(&quotient).unwrap().same_map(&layout)),
            Err(LayoutError::NotAFactor { bit }) => {
                // The bit named is a place of the factor that leaves its elements, or another place that enters them.
                let column = bits(layout.logical(), layout.column_of(&bit).expect("a physical bit"));
                let inside = |element: &String| elements.position(&Name::new(element).unwrap()).is_some();
                match places.position(&bit) {
                    Some(_) => prop_assert!(!column.iter().all(inside)),
                    None => prop_assert!(column.iter().any(inside)),
                }
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let bit = |name| Name::new(name).unwrap();
    let layout = |text| Layout::parse(text).unwrap();
    let lanes = layout("t0 t1<->n0 n1");
    assert_eq!(lanes.compose(&layout("n0<->a")), Err(LayoutError::Missing { bit: bit("n1") }));
    assert_eq!(lanes.compose(&layout("n0 n1 n2<->a b c")), Err(LayoutError::Unexpected { bit: bit("n2") }));
    assert_eq!(lanes.with_physical_order(&space(&["t1"])), Err(LayoutError::Missing { bit: bit("t0") }));
    assert_eq!(lanes.with_logical_order(&space(&["n1", "n0", "n2"])), Err(LayoutError::Unexpected { bit: bit("n2") }));
    assert_eq!(lanes.product(&layout("t1<->m")), Err(LayoutError::Twice { bit: bit("t1") }));
    assert_eq!(lanes.product(&layout("t2<->n0")), Err(LayoutError::Twice { bit: bit("n0") }));
    assert_eq!(lanes.divide(&layout("t2<->n0")), Err(LayoutError::Missing { bit: bit("t2") }));
    assert_eq!(lanes.divide(&layout("t0<->m")), Err(LayoutError::Missing { bit: bit("m") }));
    assert_eq!(lanes.divide(&layout("t0<->n1")), Err(LayoutError::NotAFactor { bit: bit("t0") }));
    assert_eq!(lanes.divide(&layout("t0<->n0 + n0")), Err(LayoutError::NotAFactor { bit: bit("n0") }));
    assert_eq!(layout("t0 t1<->n0 n1^n0").divide(&layout("t0<->n0")), Err(LayoutError::NotAFactor { bit: bit("t1") }));
    assert_eq!(lanes.divide_left(&layout("t1<->n1")), Err(LayoutError::NotAFactor { bit: bit("t1") }));
    assert_eq!(lanes.divide_right(&layout("t0<->n0")), Err(LayoutError::NotAFactor { bit: bit("t0") }));
    let large = Layout::identity(Space::numbered("x", 30).unwrap());
    let other = Layout::identity(Space::numbered("y", 30).unwrap());
    assert_eq!(large.product(&other), Err(LayoutError::TooMany { actual: 49, limit: 48 }));
    let error = Layout::from_columns(space(&["t0"]), space(&["n0"]), &[1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "2 bits where 1 are expected");
    let error = Layout::from_columns(space(&["t0"]), space(&["n0"]), &[0b100]).unwrap_err();
    assert_eq!(error, LayoutError::TooMany { actual: 3, limit: 1 });
    assert_eq!(lanes.with_offset(0b110), Err(LayoutError::TooMany { actual: 3, limit: 2 }));
    // All 48 bits: nothing shifts out.
    let full = Layout::identity(Space::numbered("x", 48).unwrap());
    assert_eq!(full.invert().unwrap().apply(1 << 47), 1 << 47);
    assert_eq!(full.product(&Layout::identity(Space::new())), Ok(full));
    assert_eq!(full.physical().size(), 1 << 48);
}
