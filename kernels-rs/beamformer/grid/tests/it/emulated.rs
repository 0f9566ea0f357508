//! Powers and voltages of kernels in the emulator.

use fringes_kernels_beamformer_frb::SIGNED;
use fringes_kernels_beamformer_grid::{EIGHT, FOUR};
use ndarray::Array2;

use crate::common::{Case, HALF};

/// Error of a voltage, relative to its rms: gains, their products (twice), phases, what the first product leaves and
/// the matrix of lines are rounded to f16, each by `2^-11 / sqrt(3)` rms at most.
const VOLTAGE: f64 = 6.91e-4;

/// Compares a case with sums in f64: `terms` powers are in each sum.
///
/// # Bound
/// A power is off by twice the error of its voltage times a number of variance 1/2, and a mean of `terms` of them by
/// that over their root. Beside it every beam has a gain of its own at all times: where all its phases are of 45
/// degrees, as for the kernels of FRB beams, and by the rounding of the matrix of lines, whose factors are as many as
/// lines.
fn check(case: &Case, terms: f64) {
    let [rms, mean] = case.errors();
    let matrix = 2f64.powi(-10) / 3f64.sqrt() / (case.voltages.dim().4 as f64).sqrt();
    let bound = (2f64.sqrt() * VOLTAGE / terms.sqrt()).hypot(2.1e-4).hypot(matrix);
    println!("{}: rms {rms:.2e} of {bound:.2e}, mean {mean:.2e}", case.name());
    assert!(rms < bound, "{}: rms {rms:.2e}, at most {bound:.2e}", case.name());
    // The mean is of few powers, whose errors are correlated: gains' rounding is the same at all times.
    assert!(mean.abs() < 1e-4, "{}: bias {mean:.2e}", case.name());
}

#[test]
fn powers_with_fragments_in_registers() {
    let mut casm = Case::noise(FOUR, [2, 2, 24, 6, 43, 128], [2, 5, 1, 1], 128);
    assert_eq!(casm.name(), "grid_powers_1_6");
    casm.signs = SIGNED;
    check(&casm, 10.0);
    let mut chord = Case::noise(FOUR, [2, 2, 20, 24, 24, 48], [3, 1, 1, 1], 64);
    assert_eq!(chord.name(), "grid_powers_3_3");
    chord.conjugate = true;
    check(&chord, 2.0);
    check(&Case::noise(EIGHT, [1, 1, 25, 17, 20, 17], [1, 3, 1, 1], 64), 3.0);
}

#[test]
fn powers_of_any_lines() {
    for (lines, feeds, padded, beams) in
        [(1, 64, 64, 64), (2, 41, 64, 13), (3, 30, 128, 50), (4, 70, 128, 75), (5, 9, 64, 8), (13, 18, 256, 33)]
    {
        check(&Case::noise(FOUR, [1, 2, 5, lines, feeds, beams], [2, 3, 1, 1], padded), 6.0);
    }
    let mut case = Case::noise(EIGHT, [2, 1, 18, 4, 64, 20], [1, 11, 1, 1], 64);
    check(&case, 11.0);
    case.gap = 6;
    check(&case, 11.0);
    // One group of tiles.
    case.shared = 24 << 10;
    check(&case, 11.0);
}

#[test]
fn powers_of_both_kinds_of_kernels_are_alike() {
    let mut casm = Case::noise(FOUR, [1, 2, 3, 6, 43, 20], [2, 5, 1, 1], 128);
    let kept = casm.run_powers();
    casm.any = true;
    assert_eq!(casm.name(), "grid_powers_any");
    assert_eq!(kept, casm.run_powers());
}

#[test]
fn powers_of_fine_channels_masked_blocks_and_polarisations_by_themselves() {
    for lines in [2, 6] {
        let feeds = if lines == 6 { 44 } else { 20 };
        let mut case = Case::noise(HALF, [2, 2, 3, lines, feeds, 11], [3, 2, 4, 2], 64);
        check(&case, 8.0);
        case.centre = true;
        case.summed = false;
        case.splits = 2;
        case.grid = 5;
        case.good = Some(Array2::from_shape_fn((2, 6), |(frequency, block)| (frequency + block) % 3 != 0));
        check(&case, 2.0);
        case.good = Some(Array2::from_elem((2, 6), false));
        assert!(case.run_powers().iter().all(|&power| power == 0.0));
    }
}

#[test]
fn voltages_of_chosen_beams() {
    let case = Case::noise(FOUR, [2, 2, 5, 6, 43, 20], [7, 1, 1, 1], 128);
    for narrow in [false, true] {
        let error = case.voltage_error(&[3, 99, 0, 41], narrow);
        println!("rms {error:.2e} of {VOLTAGE:.2e}");
        assert!(error < if narrow { VOLTAGE.hypot(2f64.powi(-11) / 3f64.sqrt()) } else { VOLTAGE });
    }
    let few = Case::noise(EIGHT, [1, 1, 2, 1, 33, 70], [9, 1, 1, 1], 64);
    let error = few.voltage_error(&(0..140).collect::<Vec<_>>(), false);
    assert!(error < VOLTAGE, "{error:.2e}");
}
