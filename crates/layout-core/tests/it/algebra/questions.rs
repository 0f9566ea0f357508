//! Queries, by the table.

use std::collections::BTreeSet;

use fringes_layout_core::{Layout, Name};
use proptest::prelude::*;

use crate::algebra::table::{Bits, any_layout, flip, index, layout_of, names, space, table};

/// The numbers of the places and elements of a layout's table.
fn rows(layout: &Layout) -> Vec<(u64, u64)> {
    let rows = table(layout).into_iter();
    rows.map(|(place, element)| (index(layout.physical(), &place), index(layout.logical(), &element))).collect()
}

/// Whether 2^count elements in a row, aligned, lie in order in the lowest `count` of these physical bits, in every
/// place.
fn is_vector(layout: &Layout, stems: &[u64], count: usize) -> bool {
    let mask = stems[..count].iter().fold(0, |mask, bit| mask | bit);
    rows(layout).into_iter().filter(|(place, _)| place & mask == 0).all(|(place, element)| {
        element % (1 << count) == 0
            && (0..1u64 << count).all(|step| {
                let bits = (0..count).filter(|bit| step >> bit & 1 == 1).fold(0, |sum, bit| sum | stems[bit]);
                layout.apply(place | bits) == element + step
            })
    })
}

/// Whether the bits of a mask alone hold aligned groups of 2^count elements, at places in the group that depend on the
/// mask's bits only.
fn is_gathered(layout: &Layout, mask: u64, count: usize) -> bool {
    let rows = rows(layout);
    rows.iter().all(|&(place, element)| {
        let group: BTreeSet<u64> =
            rows.iter().filter(|(other, _)| other & !mask == place & !mask).map(|&(_, element)| element).collect();
        let in_group = layout.apply(place & mask) % (1 << count) == element % (1 << count);
        in_group && (0..1u64 << count).all(|step| group.contains(&(element ^ step)))
    })
}

proptest! {
    #[test]
    fn the_queries_agree_with_the_table(layout in any_layout()) {
        let table = table(&layout);
        let elements: BTreeSet<&Bits> = table.values().collect();
        prop_assert_eq!(elements.len() as u64, 1 << layout.rank());
        prop_assert_eq!(layout.is_injective(), elements.len() == table.len());
        prop_assert_eq!(layout.is_surjective(), elements.len() as u64 == layout.logical().size());
        prop_assert_eq!(layout.is_bijective(), layout.is_injective() && layout.is_surjective());
        prop_assert_eq!(layout.require_bijective().is_ok(), layout.is_bijective());
        // Each broadcast bit changes no row, every other one does; in fixed bits all rows agree.
        for name in names(layout.physical()) {
            let changes = table.iter().any(|(place, element)| &table[&flip(place, &vec![name.clone()])] != element);
            prop_assert_eq!(layout.broadcast_bits().position(&Name::new(&name).unwrap()).is_none(), changes);
        }
        for name in names(layout.logical()) {
            let first = table[&Bits::new()].contains(&name);
            let fixed = table.values().all(|element| element.contains(&name) == first);
            prop_assert_eq!(layout.fixed_bits().position(&Name::new(&name).unwrap()).is_some(), fixed);
        }
        // The kernel spans exactly the changes that change nothing.
        let kernel = layout.kernel();
        let spanned: BTreeSet<u64> = (0..1 << kernel.width()).map(|choice| kernel.apply(choice)).collect();
        let unchanged: BTreeSet<u64> =
            (0..layout.physical().size()).filter(|&flipped| layout.apply(flipped) == layout.offset()).collect();
        prop_assert_eq!(spanned, unchanged);
        prop_assert_eq!(kernel.width() + layout.rank(), layout.physical().len());
        // So does the basis of what is reached, from the element of place 0.
        let reached = layout.reached();
        let spanned: BTreeSet<u64> = (0..1 << reached.width()).map(|choice| layout.offset() ^ reached.apply(choice)).collect();
        prop_assert_eq!(spanned, rows(&layout).into_iter().map(|(_, element)| element).collect());
    }

    #[test]
    fn a_permutation_moves_single_bits(layout in any_layout()) {
        let table = table(&layout);
        let single = |set: &Bits| set.len() == 1;
        let permutes = layout.is_bijective()
            && table[&Bits::new()].is_empty()
            && table.iter().all(|(place, element)| single(place) == single(element));
        prop_assert_eq!(layout.is_permutation(), permutes);
    }

    #[test]
    fn contiguous_bits_are_the_widest_vector(
        layout in prop::collection::vec(prop_oneof![
            3 => (0u64..5).prop_map(|bit| 1 << bit),
            1 => 0u64..32,
        ], 5).prop_flat_map(|columns| {
            let layout = Layout::from_columns(space(&["r1", "b0", "t0", "r0", "t1"]),
                space(&["g0", "g1", "g2", "g3", "g4"]), &columns).unwrap();
            (Just(layout), prop_oneof![2 => Just(0u64), 1 => 0u64..32])
        }).prop_map(|(layout, offset)| layout.with_offset(offset).unwrap())
    ) {
        for (stems, bits) in [(&["b", "r"][..], &[2u64, 8, 1][..]), (&["r"], &[8, 1]), (&["r", "b", "t"], &[8, 1, 2, 4, 16])] {
            let widest = (0..=bits.len()).rev().find(|&count| is_vector(&layout, bits, count)).unwrap();
            prop_assert_eq!(layout.contiguous_bits(stems), widest);
            let mask = bits.iter().fold(0, |mask, bit| mask | bit);
            let widest = (0..=5).rev().find(|&count| is_gathered(&layout, mask, count)).unwrap();
            prop_assert_eq!(layout.contiguous_bits_in_any_order(stems), widest);
        }
        prop_assert_eq!(layout.contiguous_bits(&["w"]), 0);
        prop_assert_eq!(layout.contiguous_bits(&["r", "r"]), 0);
    }

    #[test]
    fn a_fault_names_a_bit_that_explains_it(layout in layout_of(space(&["t0", "t1", "r0"]), space(&["n0", "n1", "n2"]))) {
        use fringes_layout_core::LayoutError::{NotInjective, NotSurjective};
        match layout.require_injective() {
            Err(NotInjective { bit }) => {
                let smaller = layout.restrict_physical(&[bit.as_str()], 0).unwrap();
                prop_assert_eq!(smaller.rank(), layout.rank());
            }
            result => prop_assert!(result.is_ok() && layout.is_injective()),
        }
        match layout.require_surjective() {
            Err(NotSurjective { bit }) => {
                // With a place bit that flips it alone, one more bit is reached.
                let columns = [layout.matrix().columns(), &[1 << layout.logical().position(&bit).unwrap()]].concat();
                let more = layout.physical().with(Name::new("w").unwrap()).unwrap();
                let more = Layout::from_columns(more, *layout.logical(), &columns).unwrap();
                prop_assert_eq!(more.rank(), layout.rank() + 1);
            }
            result => prop_assert!(result.is_ok() && layout.is_surjective()),
        }
    }
}

#[test]
fn faults_read_as_sentences() {
    let layout = |text| Layout::parse(text).unwrap();
    let error = layout("t0 t1<->n0 n0").require_injective().unwrap_err();
    assert_eq!(error.to_string(), "not injective: flipping bit t1 (with lower ones) gives the same element");
    let error = layout("t0 t1<->n0 n1^n2").require_surjective().unwrap_err();
    assert_eq!(error.to_string(), "not surjective: no change of place flips bit n1 alone");
}
