//! Every 4x4 matrix and every permutation of 5 and 6 bits, against arrays filled place by place.

use fringes_layout_core::{Layout, LayoutError, Space, conversion};

use crate::algebra::table::space;

const SIZE: usize = 16;

/// What each of the 16 places holds.
fn held(columns: [u64; 4]) -> [usize; SIZE] {
    let mut held = [0; SIZE];
    for (place, element) in held.iter_mut().enumerate() {
        for (bit, column) in columns.iter().enumerate() {
            if place >> bit & 1 == 1 {
                *element ^= *column as usize;
            }
        }
    }
    held
}

/// The columns of matrix number `index`.
fn columns(index: u64) -> [u64; 4] {
    [0, 4, 8, 12].map(|shift| index >> shift & 15)
}

fn spaces() -> (Space, Space) {
    (space(&["t0", "t1", "r0", "r1"]), space(&["n0", "n1", "n2", "n3"]))
}

fn values(layout: &Layout) -> Vec<usize> {
    (0..layout.physical().size()).map(|place| layout.apply(place) as usize).collect()
}

#[test]
fn all_65536_matrices_are_judged_and_inverted_as_their_tables_say() {
    let (physical, logical) = spaces();
    let (mut invertible, mut ranks) = (0, [0; 5]);
    for number in 0..1 << 16 {
        let offset = number % 13;
        let layout = Layout::from_columns(physical, logical, &columns(number)).unwrap().with_offset(offset).unwrap();
        let held = held(columns(number)).map(|element| element ^ offset as usize);
        assert_eq!(values(&layout), held);
        // The lowest place of each element.
        let mut lowest = [None; SIZE];
        for place in (0..SIZE).rev() {
            lowest[held[place]] = Some(place);
        }
        let different = lowest.iter().flatten().count();
        assert_eq!(1 << layout.rank(), different);
        ranks[layout.rank()] += 1;
        assert_eq!(layout.is_injective(), different == SIZE);
        assert_eq!(layout.is_surjective(), different == SIZE);
        let kernel = layout.kernel();
        let unchanged = (0..SIZE).filter(|&flipped| held[flipped] == held[0]).fold(0u32, |set, place| set | 1 << place);
        let spanned = (0..1u64 << kernel.width()).fold(0u32, |set, choice| set | 1 << kernel.apply(choice));
        assert_eq!(spanned, unchanged);
        match layout.pseudo_invert() {
            Ok(inverse) => {
                invertible += 1;
                let places: Vec<usize> = lowest.iter().map(|place| place.unwrap()).collect();
                assert_eq!(values(&inverse), places);
                assert_eq!(layout.invert(), Ok(inverse));
            }
            Err(error) => {
                assert!(different < SIZE);
                assert!(matches!(error, LayoutError::NotSurjective { .. }), "{error}");
            }
        }
        // Its conversion from a layout that holds each element once finds it, and to such a layout only if it holds
        // everything.
        let other = Layout::identity(logical);
        assert_eq!(values(&conversion(&other, &layout).unwrap()), held);
        assert_eq!(conversion(&layout, &other).is_ok(), different == SIZE);
        // The part that holds what place 0 and its like hold in n0 and n2.
        let part = layout.restrict_logical(&["n0", "n2"], offset & 1 | offset >> 1 & 2).unwrap();
        let wanted = held.iter().filter(|&&element| (element as u64 ^ offset) & 0b0101 == 0);
        let mut wanted: Vec<usize> = wanted.map(|element| element >> 1 & 1 | element >> 2 & 2).collect();
        let mut found = values(&part);
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted);
    }
    assert_eq!(invertible, 20160); // (16 - 1)(16 - 2)(16 - 4)(16 - 8)
    // Matrices of rank r: (products of 16 - 2^i over i < r)^2 / products of 2^r - 2^i.
    assert_eq!(ranks, [1, 225, 7350, 37800, 20160]);
}

#[test]
fn all_rectangular_matrices_of_two_and_three_bits_have_the_inverses_that_exist() {
    for (places, elements) in [(2usize, 3usize), (3, 2), (3, 3), (2, 4), (4, 2), (4, 3)] {
        let physical = Space::numbered("p", places).unwrap();
        let logical = Space::numbered("n", elements).unwrap();
        for number in 0..1u64 << (places * elements) {
            let columns: Vec<u64> = (0..places).map(|bit| number >> (bit * elements) & ((1 << elements) - 1)).collect();
            let offset = number % 7 % (1 << elements);
            let layout = Layout::from_columns(physical, logical, &columns).unwrap().with_offset(offset).unwrap();
            let held = values(&layout);
            let places_of =
                |element: usize| (0..held.len()).filter(|&place| held[place] == element).collect::<Vec<_>>();
            let injective = (0..1 << elements).all(|element| places_of(element).len() <= 1);
            let surjective = (0..1 << elements).all(|element| !places_of(element).is_empty());
            match layout.left_inverse() {
                Ok(inverse) => {
                    assert!(injective);
                    assert!((0..held.len()).all(|place| inverse.apply(held[place] as u64) as usize == place));
                }
                Err(_) => assert!(!injective),
            }
            match layout.right_inverse() {
                Ok(inverse) => {
                    assert!(surjective);
                    assert!(
                        (0..1 << elements)
                            .all(|element| inverse.apply(element as u64) as usize == places_of(element)[0])
                    );
                }
                Err(_) => assert!(!surjective),
            }
        }
    }
}

/// The 12 matrices that add one bit to another: with them every invertible matrix can be made.
fn additions() -> impl Iterator<Item = [u64; 4]> {
    (0..16).filter(|pair| pair / 4 != pair % 4).map(|pair| {
        let mut columns = [1, 2, 4, 8];
        columns[pair / 4] |= 1 << (pair % 4);
        columns
    })
}

#[test]
fn all_20160_invertible_matrices_compose_and_undo() {
    let (physical, logical) = spaces();
    let identity = Layout::identity(physical);
    let layout = |columns: [u64; 4]| Layout::from_columns(physical, logical, &columns).unwrap();
    let steps: Vec<([usize; SIZE], Layout)> =
        additions().map(|columns| (held(columns), layout(columns).reshape_physical(&logical).unwrap())).collect();
    for number in (0..1 << 16).filter(|&number| columns(number).len() == layout(columns(number)).rank()) {
        let offset = number % 16;
        let first = layout(columns(number)).with_offset(offset).unwrap();
        let held = held(columns(number)).map(|element| element ^ offset as usize);
        let inverse = first.invert().unwrap();
        assert_eq!(first.compose(&inverse), Ok(identity));
        assert_eq!(inverse.compose(&first), Ok(Layout::identity(logical)));
        for (step_held, step) in &steps {
            let both = first.compose(step).unwrap();
            assert_eq!(values(&both), held.map(|element| step_held[element]));
            // The inverse of the product is the product of the inverses, turned round.
            let back = step.invert().unwrap().compose(&inverse).unwrap();
            assert_eq!(both.invert(), Ok(back));
        }
    }
}

/// All orders of `0..count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![vec![]];
    }
    let insert = |order: &Vec<usize>, at: usize| [&order[..at], &[count - 1], &order[at..]].concat();
    orders(count - 1).iter().flat_map(|order| (0..count).map(move |at| insert(order, at))).collect()
}

fn permutation(physical: &Space, logical: &Space, order: &[usize]) -> Layout {
    let columns: Vec<u64> = order.iter().map(|bit| 1 << bit).collect();
    Layout::from_columns(*physical, *logical, &columns).unwrap()
}

#[test]
fn all_permutations_of_five_bits_convert_to_each_other() {
    let places = space(&["t0", "t1", "t2", "r0", "r1"]);
    let logical = Space::numbered("n", 5).unwrap();
    let layouts: Vec<(Vec<usize>, Layout)> =
        orders(5).into_iter().map(|order| (order.clone(), permutation(&places, &logical, &order))).collect();
    assert_eq!(layouts.len(), 120);
    for (from_order, from) in &layouts {
        assert!(from.is_permutation());
        for (to_order, to) in &layouts {
            let found = conversion(from, to).unwrap();
            for (bit, element) in to_order.iter().enumerate() {
                let source = from_order.iter().position(|other| other == element).unwrap();
                assert_eq!(found.column(bit), 1 << source);
            }
        }
    }
}

#[test]
fn all_permutations_of_six_bits_invert_and_survive_their_text() {
    let places = space(&["t0", "t1", "t2", "t3", "t4", "r0"]);
    let logical = Space::numbered("n", 6).unwrap();
    let orders = orders(6);
    assert_eq!(orders.len(), 720);
    for order in orders {
        let layout = permutation(&places, &logical, &order);
        let inverse = layout.invert().unwrap();
        assert!(layout.is_permutation() && inverse.is_permutation());
        for (bit, element) in order.iter().enumerate() {
            assert_eq!(inverse.column(*element), 1 << bit);
        }
        let text = layout.to_string();
        assert!(Layout::parse(&text).unwrap().same_map(&layout), "{text}");
        // The names read from the text, one by one.
        let sides = text.replace("r<->", "<->").replace("<->", " ");
        let listed: Vec<String> =
            sides.split_whitespace().filter(|name| name.starts_with('n')).map(String::from).collect();
        assert_eq!(listed, order.iter().map(|element| format!("n{element}")).collect::<Vec<_>>());
    }
}
