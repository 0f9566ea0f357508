//! Values that others publish: the documentation and test vectors of Triton's linear layouts, and the documentation of
//! CuTe.
//!
//! Triton writes a layout as the values at the powers of two of each input, `in: {{out1, out2}, ...}`; CuTe as
//! `shape:stride`, from coordinates to addresses.

use fringes_layout_core::{Layout, Matrix, Space, conversion};

/// The layout from inputs to outputs of these stems and numbers of bits, with Triton's bases in the order of the
/// inputs.
fn triton(inputs: &[(&str, usize)], outputs: &[(&str, usize)], bases: &[&[u64]]) -> Layout {
    let space = |dimensions: &[(&str, usize)]| {
        dimensions.iter().fold(Space::new(), |space, (stem, bits)| space.with_numbered(stem, *bits).unwrap())
    };
    let (physical, logical) = (space(inputs), space(outputs));
    let column = |basis: &&[u64]| {
        let numbers: Vec<(&str, u64)> = outputs.iter().map(|(stem, _)| *stem).zip(basis.iter().copied()).collect();
        logical.index(&numbers)
    };
    Layout::from_columns(physical, logical, &bases.iter().map(column).collect::<Vec<_>>()).unwrap()
}

#[test]
fn tritons_example_fills_its_table() {
    let layout = triton(&[("w", 2), ("t", 2)], &[("x", 2), ("y", 2)], &[&[0, 1], &[0, 2], &[1, 1], &[2, 2]]);
    let table = [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(1, 1), (1, 0), (1, 3), (1, 2)],
        [(2, 2), (2, 3), (2, 0), (2, 1)],
        [(3, 3), (3, 2), (3, 1), (3, 0)],
    ];
    for (t, row) in (0..).zip(table) {
        for (w, expected) in (0..).zip(row) {
            let element = layout.apply(layout.physical().index(&[("t", t), ("w", w)]));
            assert_eq!((layout.logical().number("x", element), layout.logical().number("y", element)), expected);
        }
    }
}

#[test]
fn tritons_small_examples_have_its_values() {
    let transpose = triton(&[("x", 4)], &[("y", 4)], &[&[4], &[8], &[1], &[2]]);
    let values: Vec<u64> = (0..16).map(|x| transpose.apply(x)).collect();
    assert_eq!(values, [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
    assert_eq!(Matrix::from_columns(&[1, 2, 14, 12]).unwrap().apply(6), 12);
    let broadcast = triton(&[("y", 2), ("x", 2)], &[("z", 2)], &[&[0], &[0], &[1], &[2]]);
    assert!((0..16).all(|place| broadcast.apply(place) == broadcast.physical().number("x", place)));
}

#[test]
fn tritons_composition_comes_out() {
    let first = triton(&[("a", 2), ("b", 2)], &[("x", 1), ("y", 2)], &[&[1, 1], &[0, 1], &[1, 0], &[1, 2]]);
    let second = triton(&[("x", 1), ("y", 2)], &[("p", 2), ("q", 2)], &[&[2, 2], &[1, 1], &[2, 1]]);
    let expected = triton(&[("a", 2), ("b", 2)], &[("p", 2), ("q", 2)], &[&[3, 3], &[1, 1], &[2, 2], &[0, 3]]);
    assert_eq!(first.compose(&second), Ok(expected));
    assert!(!expected.is_surjective());
}

#[test]
fn tritons_inverse_after_a_layout_is_the_conversion() {
    let from = triton(&[("from", 3)], &[("out", 3)], &[&[4], &[1], &[2]]);
    let to = triton(&[("to", 3)], &[("out", 3)], &[&[2], &[1], &[4]]);
    let expected = triton(&[("to", 3)], &[("from", 3)], &[&[4], &[2], &[1]]);
    assert_eq!(conversion(&from, &to), Ok(expected));
    // With a broadcast bit, the lowest, in the source.
    let from = triton(&[("from", 4)], &[("out", 3)], &[&[0], &[2], &[1], &[4]]);
    let expected = triton(&[("to", 3)], &[("from", 4)], &[&[2], &[4], &[8]]);
    assert_eq!(conversion(&from, &to), Ok(expected));
}

#[test]
fn tritons_reshapes_come_out() {
    let layout = triton(&[("a", 3), ("b", 1)], &[("out", 4)], &[&[1], &[4], &[8], &[3]]);
    let outputs = Space::numbered("x", 1).unwrap().with_numbered("y", 3).unwrap();
    let expected = triton(&[("a", 3), ("b", 1)], &[("x", 1), ("y", 3)], &[&[1, 0], &[0, 2], &[0, 4], &[1, 1]]);
    assert_eq!(layout.reshape_logical(&outputs), Ok(expected));
    let layout = triton(&[("a", 3), ("b", 1)], &[("out", 4)], &[&[1], &[4], &[8], &[2]]);
    let inputs = Space::numbered("c", 1).unwrap().with_numbered("d", 3).unwrap();
    let expected = triton(&[("c", 1), ("d", 3)], &[("out", 4)], &[&[1], &[4], &[8], &[2]]);
    assert_eq!(layout.reshape_physical(&inputs), Ok(expected));
}

#[test]
fn cutes_nested_layout_is_a_permutation_of_bits() {
    // (2,(2,2)):(4,(2,1)), row by column, and its one-dimensional walk, rows fastest.
    let layout =
        Layout::parse("row<->a2  col<->a1 a0").unwrap().with_logical_order(&Space::numbered("a", 3).unwrap()).unwrap();
    for (row, expected) in (0..).zip([[0, 2, 1, 3], [4, 6, 5, 7]]) {
        let address = |col| layout.apply(layout.physical().index(&[("row", row), ("col", col)]));
        assert_eq!([0, 1, 2, 3].map(address), expected);
    }
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|walk| layout.apply(walk)), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert!(layout.is_permutation());
}
