//! The kernels in the emulator, with the launches that the host crate makes, against the reference in f64.

use crate::common;

use common::{Case, error, kernels, padded};
use fringes_beamformer::FftBeams;
use fringes_beamformer::internals::transform_size;
use fringes_kernels_beamformer_fft::{BeamKernel, KERNELS};
use num_complex::Complex;

/// What the host states.
fn bound() -> f64 {
    FftBeams::new(1, 1, 64).unwrap().relative_error()
}

fn within_the_bound(kernel: &BeamKernel, case: &Case) {
    let (words, _) = case.run(kernel);
    let error = error(kernel, &words, &case.expected());
    println!("{:<24} {} feeds, {} pols: {error:.2e}", kernel.name(), case.lines.feeds, case.lines.pols);
    assert!(error <= bound(), "{}, {:?}: {error:e}", kernel.name(), case.lines);
}

/// Feeds that a kernel is for.
fn feeds(kernel: &BeamKernel) -> usize {
    kernel.size().unwrap().0
}

#[test]
fn beams_are_those_of_the_reference() {
    for (seed, kernel) in KERNELS.iter().enumerate() {
        let seed = seed as u64;
        for pols in [1, 2] {
            let case = Case::noise(kernel, [1, feeds(kernel), pols], [2, 1], seed);
            within_the_bound(kernel, &case.with_gains(seed ^ 99));
        }
    }
}

#[test]
fn lines_with_fewer_feeds_than_the_transform_takes_are_padded_with_zeros() {
    for (seed, kernel) in KERNELS.iter().enumerate() {
        let all = feeds(kernel);
        // The least number of feeds for which the host takes this transform.
        let least = if transform_size(1, padded(kernel)).unwrap().inputs() == all { 1 } else { padded(kernel) / 2 + 1 };
        let counts = [least, all - 1, (all * 25 / 32).max(least), all - 2];
        // Two numbers of feeds of each kernel; kernels of a size differ in theirs.
        for (at, pols) in [(seed, 1), (seed / 2 + 1, 2)] {
            let (count, seed) = (counts[at % 4], seed as u64);
            within_the_bound(kernel, &Case::noise(kernel, [1, count, pols], [1, 1], seed).with_gains(seed));
        }
    }
}

#[test]
fn absent_voltages_count_as_zero() {
    for (seed, kernel) in kernels("256_512").enumerate() {
        let seed = seed as u64;
        // Read in pairs, and one by one.
        for (count, pols) in [(200, 1), (200, 2), (171, 1), (171, 2)] {
            let case = Case::noise(kernel, [2, count, pols], [2, 2], seed);
            within_the_bound(kernel, &case.with_gains(seed).with_flags(seed));
        }
    }
    for (seed, kernel) in kernels("power").enumerate() {
        let seed = seed as u64;
        within_the_bound(kernel, &Case::noise(kernel, [1, feeds(kernel), 2], [1, 1], seed).with_flags(seed));
    }
}

#[test]
fn any_numbers_of_lines_channels_and_times_are_formed() {
    for kernel in [kernels("256_512_i4_f16"), kernels("256_512_i8_power")].into_iter().flatten() {
        for (lines, pols, dim) in [(1, 1, [1, 1]), (3, 2, [1, 33]), (4, 1, [3, 1]), (1, 2, [5, 7])] {
            within_the_bound(kernel, &Case::noise(kernel, [lines, 256, pols], dim, 5).with_gains(6));
        }
    }
}

#[test]
fn voltages_at_any_address_give_the_same_bits() {
    for (seed, kernel) in kernels("256_512").enumerate() {
        for pols in [1, 2] {
            let case = Case::noise(kernel, [2, 150, pols], [1, 2], seed as u64).with_flags(7);
            let shifted = Case { shift: 1, ..case.clone() };
            assert_eq!(case.run(kernel).0, shifted.run(kernel).0, "{}", kernel.name());
        }
    }
}

#[test]
fn the_number_of_blocks_changes_no_bit() {
    for kernel in kernels("256_512_i8_c32") {
        let case = Case::noise(kernel, [3, 256, 2], [2, 9], 3);
        let expected = case.run(kernel).0;
        for blocks in [1, 2, 100] {
            assert_eq!(Case { blocks, ..case.clone() }.run(kernel).0, expected);
        }
    }
}

#[test]
fn the_strongest_wave_overflows_nowhere() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.part(4) != "f16" && kernel.part(3) == "i8") {
        let mut case = Case::noise(kernel, [1, feeds(kernel), 2], [1, 1], 1);
        case.voltages.fill(Complex::new(-128, -128));
        within_the_bound(kernel, &case);
        // All of it in one beam, off which the phases' roundings show.
        case.voltages.indexed_iter_mut().for_each(|((_, _, input), voltage)| {
            let feed = input / 2;
            *voltage = if feed % 2 == 0 { Complex::new(-128, -128) } else { Complex::new(127, 127) };
        });
        within_the_bound(kernel, &case);
    }
}

#[test]
fn scales_are_exact() {
    for kernel in kernels("256_512_i4_c32").chain(kernels("256_512_i4_power")) {
        let case = Case::noise(kernel, [1, 256, 1], [1, 1], 1);
        let values = |scale| -> Vec<f32> {
            let (words, _) = Case { scale, ..case.clone() }.run(kernel);
            words.into_iter().map(f32::from_bits).collect()
        };
        let factor = if kernel.part(4) == "power" { 2f32.powi(-10) } else { 2f32.powi(-5) };
        let expected: Vec<f32> = values(0).iter().map(|value| value * factor).collect();
        assert_eq!(values(-5), expected);
    }
    // f16 beams, too large without the scale.
    for kernel in kernels("256_512_i8_f16") {
        let mut case = Case { scale: -3, ..Case::noise(kernel, [1, 256, 1], [1, 1], 1) };
        case.voltages.fill(Complex::new(127, -127));
        within_the_bound(kernel, &case);
    }
}
