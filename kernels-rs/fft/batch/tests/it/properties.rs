//! What holds for the transform of any signal, of kernels in the emulator.

use crate::support;

use fringes_fft::{Fft, Sign};
use fringes_kernels_fft_batch::{BatchKernel, KERNELS};
use fringes_types::Complex4;
use num_complex::Complex64;
use proptest::prelude::*;
use support::{Case, Outputs, rms};

/// Bound on the rms error of a kernel's spectra over their rms.
fn bound(kernel: &BatchKernel) -> f64 {
    let (inputs, outputs) = kernel.size().unwrap();
    Fft::<Complex4, f32>::new(inputs, outputs).unwrap().relative_error()
}

/// Pseudorandom integers of up to three, which sum and difference leave within any format.
fn sample(seed: u64, n: usize) -> Complex64 {
    let bits = (seed ^ (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd134_2543_de82_ef95);
    let part = |shift: u32| f64::from((bits >> shift) as u8 % 7) - 3.0;
    Complex64::new(part(40), part(52))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_transform_of_a_sum_is_the_sum_of_the_transforms(at in 0..KERNELS.len(), one: u64, other: u64, backward: bool) {
        let kernel = &KERNELS[at];
        let sign = if backward { Sign::Positive } else { Sign::Negative };
        let spectra = |x: &dyn Fn(usize) -> Complex64| match Case::of(kernel, 1, |_, n| x(n)).run(sign, 0, None).0 {
            Outputs::Spectra(spectra) => Some(spectra),
            Outputs::Powers(_) => None,
        };
        let (a, b) = (|n| sample(one, n), |n| sample(other, n));
        if let (Some(sum), Some(a), Some(b)) = (spectra(&|n| a(n) + b(n)), spectra(&a), spectra(&b)) {
            let difference: Vec<_> = sum.iter().zip(a.iter().zip(&b)).map(|(sum, (a, b))| sum - a - b).collect();
            // Each of the three is off by its own error.
            prop_assert!(rms(&difference) <= bound(kernel) * (rms(&sum) + rms(&a) + rms(&b)), "{}", kernel.name());
        }
    }

    #[test]
    fn power_is_that_of_the_samples_times_the_length(at in 0..KERNELS.len(), seed: u64) {
        let kernel = &KERNELS[at];
        let (inputs, outputs) = kernel.size().unwrap();
        let total = match Case::of(kernel, 1, |_, n| sample(seed, n)).run(Sign::Negative, 0, None).0 {
            Outputs::Spectra(spectra) => spectra.iter().map(|y| y.norm_sqr()).sum::<f64>(),
            Outputs::Powers(powers) => powers.iter().sum(),
        };
        let samples: f64 = (0..inputs).map(|n| sample(seed, n).norm_sqr()).sum();
        // Norms differ by no more than the norm of the error.
        let ratio = (total / (outputs as f64 * samples)).sqrt();
        prop_assert!((ratio - 1.0).abs() <= bound(kernel), "{}: {ratio}", kernel.name());
    }
}
