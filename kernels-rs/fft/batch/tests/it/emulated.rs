//! Every kernel in the emulator: results against equation (1) of the FFT note in f64, with all detectors on.

use crate::support;

use fringes_fft::{Fft, Sign};
use fringes_kernels_fft_batch::{BatchKernel, KERNELS, Run};
use fringes_types::Complex4;
use num_complex::Complex64;
use support::{Case, Outputs, bits, rms};

/// What the samples of a test are.
fn noise(kernel: &BatchKernel, transforms: usize, seed: u64) -> Case<'_> {
    Case::noise(kernel, transforms, seed)
}

/// Root of the mean square of the difference, over that of what is expected.
fn error(found: &[Complex64], expected: &[Complex64]) -> f64 {
    let difference: Vec<_> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    rms(&difference) / rms(expected)
}

#[test]
fn noise_is_transformed_within_the_bound_with_either_sign_and_any_number_of_transforms() {
    let mut worst = std::collections::BTreeMap::new();
    for kernel in KERNELS {
        for (transforms, sign, seed) in
            [(1, Sign::Positive, None), (31, Sign::Negative, Some(1)), (33, Sign::Positive, Some(2))]
        {
            let case = noise(kernel, transforms, 7 + transforms as u64);
            let (outputs, report) = case.run(sign, 0, seed);
            report.assert_clean();
            let expected = case.expected(sign);
            let found = match outputs {
                Outputs::Spectra(found) => error(&found, &expected),
                // A power is off by 2 Re(conj(Y) e): its mean square is 2 mean(|Y|^2 |e|^2), and for noise, whose |Y|^4
                // has the mean 2, at most (2 error)^2 times the mean power squared, which it is where the error is in
                // proportion to |Y|.
                Outputs::Powers(found) => {
                    let mean = expected.iter().map(|y| y.norm_sqr()).sum::<f64>() / expected.len() as f64;
                    let squares: f64 = found.iter().zip(&expected).map(|(p, y)| (p - y.norm_sqr()).powi(2)).sum();
                    (squares / found.len() as f64).sqrt() / mean / 2.0
                }
            };
            let (inputs, outputs) = kernel.size().unwrap();
            let bound = Fft::<Complex4, f32>::new(inputs, outputs).unwrap().relative_error();
            assert!(found < bound, "{} of {transforms}, {sign:?}: {found:e}", kernel.name());
            let largest: &mut f64 = worst.entry((inputs, kernel.name().ends_with("saturating"))).or_default();
            *largest = largest.max(found);
        }
    }
    println!("largest rms errors by inputs and saturation {worst:?}");
}

#[test]
fn an_impulse_at_each_place_has_its_own_phases() {
    for kernel in KERNELS.iter().filter(|kernel| matches!(kernel.run, Run::Half(_)) && kernel.samples() == "i4") {
        let (inputs, outputs) = kernel.size().unwrap();
        let case = Case::impulses(kernel, inputs);
        let (found, report) = case.run(Sign::Positive, 0, None);
        report.assert_clean();
        let Outputs::Spectra(found) = found else { panic!("complex results") };
        for n in 0..inputs {
            for q in 0..outputs {
                let expected = 5.0 * Complex64::cis(std::f64::consts::TAU * (q * n % outputs) as f64 / outputs as f64);
                // Two products with rounded phases and at most eight roundings, each within 2^-11 of a value of
                // magnitude 5 at most.
                let error = (found[n * outputs + q] - expected).norm();
                assert!(error < 5.0 * 10.0 * 2f64.powi(-11), "{} n {n} q {q}: {error}", kernel.name());
            }
        }
    }
}

#[test]
fn a_tone_is_in_its_own_result() {
    for kernel in KERNELS {
        let (inputs, outputs) = kernel.size().unwrap();
        let bin = outputs / 4; // a quarter of a turn a sample is exact in every format
        let case = Case::of(kernel, 1, |_, n| {
            4.0 * [1.0, 0.0, -1.0, 0.0, 1.0][n % 4] - Complex64::I * 4.0 * [0.0, 1.0, 0.0, -1.0][n % 4]
        });
        let (found, report) = case.run(Sign::Positive, 0, None);
        report.assert_clean();
        let largest = 4.0 * inputs as f64;
        let magnitude: Vec<f64> = match found {
            Outputs::Spectra(found) => found.iter().map(|y| y.norm()).collect(),
            Outputs::Powers(found) => found.iter().map(|p| p.sqrt()).collect(),
        };
        assert!((magnitude[bin] / largest - 1.0).abs() < 2e-3, "{}: {}", kernel.name(), magnitude[bin]);
        if inputs == outputs {
            let other = magnitude.iter().enumerate().filter(|(q, _)| *q != bin).map(|(_, m)| *m).fold(0.0, f64::max);
            assert!(other < 2e-3 * largest, "{}: {other}", kernel.name());
        }
    }
}

#[test]
fn a_launch_of_more_blocks_than_transforms_and_of_fewer_gives_the_same_bits() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.samples() == "i8") {
        let case = noise(kernel, 13, 3);
        let [many, few] = [8, 1].map(|blocks| bits(case.run_on(blocks, Sign::Negative, 0, None).0));
        assert_eq!(many, few, "{}", kernel.name());
    }
}

#[test]
fn what_overflows_saturates_where_it_is_asked_to_and_is_infinite_elsewhere() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.samples() == "f16" && matches!(kernel.run, Run::Half(_))) {
        let (inputs, _) = kernel.size().unwrap();
        let case = Case::of(kernel, 1, |_, _| Complex64::new(60000.0, -60000.0));
        let (outputs, report) = case.run(Sign::Positive, 0, None);
        report.assert_clean();
        let Outputs::Spectra(found) = outputs else { panic!("complex results") };
        let saturating = kernel.name().ends_with("saturating");
        assert_eq!(found.iter().all(|y| y.re.is_finite() && y.im.is_finite()), saturating, "{}", kernel.name());
        if saturating {
            assert_eq!(found[0], Complex64::new(65504.0, -65504.0), "{} of {inputs}", kernel.name());
        }
    }
}

#[test]
fn a_scale_is_exact() {
    for kernel in KERNELS.iter().filter(|kernel| kernel.samples() == "i4") {
        let case = noise(kernel, 2, 11);
        let (plain, scaled) = (case.run(Sign::Positive, 0, None).0, case.run(Sign::Positive, -2, None).0);
        let factor = if matches!(kernel.run, Run::Half(_)) { 0.25 } else { 0.0625 };
        for (plain, scaled) in support::values(plain).into_iter().zip(support::values(scaled)) {
            // Below 2^-14 f16 has fewer bits.
            assert!((plain * factor - scaled).abs() <= 2f64.powi(-24) * 16.0, "{}: {plain} {scaled}", kernel.name());
        }
    }
}

#[test]
fn a_transform_from_256_to_512_is_16_products_and_48_half2_operations_and_moves_nothing() {
    let kernel = KERNELS.iter().find(|kernel| kernel.name() == "fft_256_512_f16_f16").expect("the kernel");
    let (_, report) = noise(kernel, 3, 1).run(Sign::Positive, 0, None);
    let count = |name: &str| report.count(name).warps;
    assert_eq!(count("mma_m16n8k16_f16_f16"), 3 * 16);
    // 32 for the phases between the contractions, 16 for the splits. A negation is part of the instruction that uses
    // it.
    assert_eq!((count("fma_rn_f16x2"), count("mul_rn_f16x2"), count("neg_f16x2")), (3 * 32, 3 * 16, 3 * 24));
    let computing = ["mma_m16n8k16_f16_f16", "fma_rn_f16x2", "mul_rn_f16x2", "neg_f16x2"];
    let others: Vec<_> = report.instructions.iter().filter(|(name, _)| !computing.contains(name)).collect();
    assert!(others.iter().all(|(_, count)| count.warps <= 8), "once a warp: {others:?}");
}

#[test]
fn every_access_is_of_whole_sectors_except_those_of_narrow_samples() {
    for kernel in KERNELS {
        let case = noise(kernel, 4, 5);
        let (_, report) = case.run(Sign::Positive, 0, None);
        if kernel.samples() != "i4" {
            assert_eq!(report.global_sectors, report.global_sectors_ideal, "{}:\n{report}", kernel.name());
        }
    }
}
