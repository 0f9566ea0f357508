//! Phases of the transform: which pairs of bits each factor has, and their values.

use std::f64::consts::TAU;

use crate::{Layout, Space};

/// Numbers of output bits and of input bits whose pairs a factor has.
pub(super) type Pairs = (&'static [usize], &'static [usize]);

/// (7), as written.
pub(super) const FACTORIZATION: [Pairs; 5] = [
    (&[6, 7, 8], &[0, 1, 2]),
    (&[3, 4, 5], &[0, 1, 2]),
    (&[3, 4, 5], &[3, 4, 5]),
    (&[0, 1, 2], &[2, 3, 4, 5]),
    (&[0, 1, 2], &[0, 1, 6, 7]),
];

/// (19) to (23).
pub(super) const X_Z1: Pairs = FACTORIZATION[4];
pub(super) const Z1_Z2: Pairs = FACTORIZATION[3];
pub(super) const Z2_Z3: Pairs = FACTORIZATION[2];
pub(super) const Z3_Z4: Pairs = FACTORIZATION[1];
pub(super) const Z4_Y: Pairs = FACTORIZATION[0];

/// Bits of the output's and of the input's index.
pub(super) const OUTPUT_BITS: usize = 9;
pub(super) const INPUT_BITS: usize = 8;

/// The number that the bits of a stem spell, of those given; the others, and those that the space does not have, are 0.
fn number(space: &Space, index: u64, stem: &str, bits: &[usize]) -> u64 {
    space.number(stem, index) & bits.iter().fold(0, |mask, bit| mask | 1 << bit)
}

/// Turns of a phase: the product over the pairs of those `E(q_j, n_k)` whose bits are both set in the logical index.
pub(super) fn turns(pairs: Pairs, space: &Space, index: u64) -> f64 {
    let product = number(space, index, "q", pairs.0) * number(space, index, "n", pairs.1);
    (product % (1 << OUTPUT_BITS)) as f64 / f64::from(1 << OUTPUT_BITS)
}

/// Real (0) or imaginary (1) part of a phase.
pub(super) fn part(turns: f64, imaginary: bool) -> f64 {
    let angle = TAU * turns;
    if imaginary { angle.sin() } else { angle.cos() }
}

/// The element of a complex matrix as a real one: row and column of `((Re, -Im), (Im, Re))` by `ReIm_out` and
/// `ReIm_in`.
pub(super) fn of_matrix(turns: f64, out: bool, input: bool) -> f64 {
    match (out, input) {
        (false, false) | (true, true) => part(turns, false),
        (true, false) => part(turns, true),
        (false, true) => -part(turns, true),
    }
}

/// Whether an index has this bit, a real-or-imaginary one, set.
pub(super) fn imaginary(layout: &Layout, index: u64, bit: &str) -> bool {
    layout.logical().find(bit).is_ok_and(|at| index >> at & 1 == 1)
}

/// Every phase that an array of phases holds, place by place: real and imaginary parts as they lie in its registers.
pub(super) fn contents(pairs: Pairs, layout: &Layout) -> Vec<f64> {
    let value = |place| {
        let index = layout.apply(place);
        part(turns(pairs, layout.logical(), index), imaginary(layout, index, "ReIm"))
    };
    (0..layout.physical().size()).map(value).collect()
}
