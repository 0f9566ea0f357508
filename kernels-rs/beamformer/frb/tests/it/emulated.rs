//! Powers of kernels in the emulator.

use fringes_kernels_beamformer_frb::SIGNED;
use ndarray::Array2;

use crate::common::Case;

/// Compares a case with the chain in f64: `terms` powers are in each sum.
///
/// # Bound
/// A voltage has an error of `e <= 9e-4` of its rms, as FFT beams have, and that of the transform over time, `6e-4`:
/// its power is off by `2 e` times a number of variance 1/2, and a mean of `terms` of them by that over their root.
/// Beside it every beam has a gain of its own at all times: where all its phases are of 45 degrees, which f16 has as
/// 1.07e-4 less, its power is 2.1e-4 less than the mean that the factors make good.
fn check(case: &Case, terms: f64) {
    let [rms, mean] = case.errors();
    let bound = (2f64.sqrt() * 9e-4f64.hypot(6e-4) / terms.sqrt()).hypot(2.1e-4);
    println!("{}: rms {rms:.2e} of {bound:.2e}, mean {mean:.2e}", case.kernel.name());
    assert!(rms < bound, "{}: rms {rms:.2e}, at most {bound:.2e}", case.kernel.name());
    // The mean is of correlated errors: weights' rounding is the same at all times.
    assert!(mean.abs() < 1e-4, "{}: bias {mean:.2e}", case.kernel.name());
}

#[test]
fn powers_of_full_lines_with_weights_in_registers() {
    let mut case = Case::noise("frb_256_512_128_i4_4", [2, 2, 2, 4, 256, 250], [1, 2], 1);
    check(&case, 32.0);
    case.signs = SIGNED;
    case.centre = true;
    check(&case, 32.0);
}

#[test]
fn powers_of_any_number_of_lines_of_any_number_of_feeds() {
    check(&Case::noise("frb_256_512_128_i4_any", [1, 2, 2, 3, 250, 130], [2, 1], 2), 16.0);
    let mut case = Case::noise("frb_256_512_128_i4_any", [1, 1, 1, 2, 201, 31], [1, 1], 3);
    case.gap = 3;
    check(&case, 8.0);
    check(&Case::noise("frb_256_512_128_i8_any", [1, 1, 1, 5, 255, 64], [1, 1], 4), 8.0);
    check(&Case::noise("frb_256_512_128_i8_any", [1, 1, 1, 5, 256, 64], [1, 1], 4), 8.0);
}

#[test]
fn powers_of_lines_of_other_lengths() {
    for (name, feeds) in [
        ("frb_128_256_128_i4_any", 128),
        ("frb_128_256_128_i8_any", 97),
        ("frb_256_256_128_i4_any", 201),
        ("frb_256_256_128_i8_any", 256),
    ] {
        check(&Case::noise(name, [1, 1, 2, 3, feeds, 50], [1, 1], 9), 8.0);
    }
}

#[test]
fn groups_of_every_size() {
    for group_bits in 0..=7 {
        let mut case = Case::noise("frb_256_512_128_i4_4", [1, 1, 1, 4, 256, 33], [1, 2], 5);
        case.group_bits = group_bits;
        check(&case, 2.0 * f64::from(1 << group_bits));
    }
}

#[test]
fn polarisations_by_themselves_masked_blocks_and_parts() {
    let mut case = Case::noise("frb_256_512_128_i4_4", [2, 2, 1, 4, 256, 99], [2, 3], 6);
    case.summed = false;
    case.shared = 40 << 10;
    case.good = Some(Array2::from_shape_fn((2, 6), |(frequency, block)| (frequency + block) % 3 != 0));
    check(&case, 16.0);
}

#[test]
fn nothing_good_gives_zeros() {
    let mut case = Case::noise("frb_256_512_128_i4_4", [1, 1, 1, 4, 256, 20], [2, 2], 7);
    case.good = Some(Array2::from_elem((1, 4), false));
    assert!(case.run().iter().all(|&power| power == 0.0));
}
