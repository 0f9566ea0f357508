//! Floating-point values of every size.

use fringes_kernels_f_engine_two_pass::channels_256::{rows_256_f16, rows_256_f32};
use fringes_kernels_f_engine_two_pass::channels_512::rows_512_f32;
use fringes_kernels_f_engine_two_pass::channels_1024::rows_1024_f32;
use fringes_kernels_f_engine_two_pass::channels_2048::rows_2048_f32;
use fringes_kernels_f_engine_two_pass::channels_4096::rows_4096_f32;
use fringes_kernels_f_engine_two_pass::channels_8192::rows_8192_f32;
use fringes_kernels_f_engine_two_pass::channels_16384::rows_16384_f32;
use fringes_kernels_f_engine_two_pass::channels_32768::rows_32768_f32;
use fringes_kernels_f_engine_two_pass::channels_65536::rows_65536_f32;
use fringes_kernels_f_engine_two_pass::filter::{
    columns_b8_m1_r8, columns_b10_m1_r8, columns_b10_m1_r16, columns_b10_m2_r8, columns_b10_m2_r16,
};
use half::f16;
use num_complex::Complex64;

use crate::case::{Case, Input, Outcome, PAIR, run};

/// 1e-5 of the samples' full scale; weights have a sum of squares of 1.
pub(crate) fn bound(case: &Case) -> f64 {
    1e-5 * case.full_scale()
}

pub(crate) fn check(case: &Case, out: &Outcome<[f32; 2]>) {
    let mut worst = (0.0, [0; 3]);
    case.compare(out, |at, expected, [re, im]| {
        let error = (Complex64::new(f64::from(re), f64::from(im)) - expected).norm();
        // Not a number is worst.
        if error.is_nan() || error > worst.0 {
            worst = (if error.is_nan() { f64::INFINITY } else { error }, at);
        }
    });
    println!("{} channels, {} taps: worst {} at {:?}", case.channels, case.taps, worst.0, worst.1);
    assert!(worst.0 < bound(case), "{worst:?}");
}

macro_rules! sizes {
    ($($test:ident $channels:literal $spectra:literal $columns:ident $rows:ident;)*) => { $(
        #[test]
        fn $test() {
            let case = Case { tiles: if $channels > 8192 { 1 } else { u32::MAX }, ..Case::new($channels, $spectra) };
            check(&case, &run!(case, $columns, $rows, [f32; 2]));
        }
    )* };
}

sizes! {
    two_hundred_fifty_six_channels_are_the_references 256 9 columns_b10_m1_r8 rows_256_f32;
    five_hundred_twelve_channels_are_the_references 512 5 columns_b10_m1_r8 rows_512_f32;
    one_thousand_twenty_four_channels_are_the_references 1024 3 columns_b10_m1_r8 rows_1024_f32;
    two_thousand_forty_eight_channels_are_the_references 2048 2 columns_b10_m1_r8 rows_2048_f32;
    four_thousand_ninety_six_channels_are_the_references 4096 2 columns_b10_m1_r8 rows_4096_f32;
    eight_thousand_one_hundred_ninety_two_channels_are_the_references 8192 2 columns_b10_m1_r16 rows_8192_f32;
    sixteen_thousand_three_hundred_eighty_four_channels_are_the_references 16384 1 columns_b10_m1_r16 rows_16384_f32;
    thirty_two_thousand_seven_hundred_sixty_eight_channels_are_the_references 32768 1 columns_b10_m1_r16 rows_32768_f32;
    sixty_five_thousand_five_hundred_thirty_six_channels_are_the_references 65536 1 columns_b10_m1_r16 rows_65536_f32;
}

/// Every spectrum of a whole group, and of a second one that is run with the same workspace.
#[test]
fn jobs_of_64_spectra_are_the_references() {
    let case = Case { at_once: 1, ..Case::new(256, 67) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn a_last_job_may_be_alone() {
    let case = Case { inputs: PAIR[..1].to_vec(), of_job: 3, ..Case::new(256, 7) };
    let out = run!(case, columns_b10_m1_r8, rows_256_f32, [f32; 2]);
    assert_eq!(out.made.jobs.iter().map(|job| job.spectra).collect::<Vec<_>>(), [3, 3, 1]);
    check(&case, &out);
}

#[test]
fn jobs_of_a_group_may_be_of_three_inputs_and_of_other_spectra() {
    let third = Input { start: 64, turns: (0.0, 0.5), slope: (0.25, 0.0) };
    let case = Case { inputs: vec![PAIR[1], third, PAIR[0]], of_job: 4, ..Case::new(256, 6) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn spectra_have_the_same_bits_in_whatever_job_they_are() {
    // Phases that stay, so that nothing else depends on where jobs begin.
    let inputs = PAIR.map(|input| Input { turns: (input.turns.0, 0.0), slope: (input.slope.0, 0.0), ..input });
    let case = |of_job: usize| Case { inputs: inputs.to_vec(), of_job, ..Case::new(256, 21) };
    let bits = |out: Outcome<[f32; 2]>| -> Vec<_> {
        out.values.into_iter().map(|value| value.map(|value| value.map(f32::to_bits))).collect()
    };
    let expected = bits(run!(case(64), columns_b10_m1_r8, rows_256_f32, [f32; 2]));
    for of_job in [1, 5, 13] {
        let found = bits(run!(case(of_job), columns_b10_m1_r8, rows_256_f32, [f32; 2]));
        assert!(found == expected, "jobs of {of_job}");
    }
}

#[test]
fn any_number_of_taps_is_the_references() {
    for taps in [1, 4, 15] {
        let case = Case { taps, ..Case::new(256, 3) };
        check(&case, &run!(case, columns_b10_m1_r8, rows_256_f32, [f32; 2]));
    }
    for taps in [17, 32] {
        let case = Case { taps, ..Case::new(256, 20) };
        check(&case, &run!(case, columns_b10_m2_r8, rows_256_f32, [f32; 2]));
    }
}

#[test]
fn many_taps_of_many_channels_are_the_references() {
    let case = Case { taps: 32, inputs: PAIR[1..].to_vec(), ..Case::new(8192, 1) };
    check(&case, &run!(case, columns_b10_m2_r16, rows_8192_f32, [f32; 2]));
}

#[test]
fn samples_of_eight_bits_are_the_references() {
    let case = Case { bits: 8, ..Case::new(256, 5) };
    check(&case, &run!(case, columns_b8_m1_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn some_channels_and_frames_are_written_and_nothing_else() {
    // Of the second frame, the last two spectra are not there.
    let case = Case { range: 31..130, period: 4, ..Case::new(256, 6) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_256_f32, [f32; 2]));
    let case = Case { range: 2047..4096, period: 3, of_job: 1, ..Case::new(4096, 2) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_4096_f32, [f32; 2]));
}

#[test]
fn half_floats_are_rounded_once() {
    let case = Case::new(256, 4);
    let out = run!(case, columns_b10_m1_r8, rows_256_f16, u32);
    case.compare(&out, |at, expected, value| {
        for (part, bits) in [(expected.re, value as u16), (expected.im, (value >> 16) as u16)] {
            let error = (f16::from_bits(bits).to_f64() - part).abs();
            assert!(error <= bound(&case) + 2f64.powi(-11) * (part.abs() + bound(&case)), "{at:?}: {error} of {part}");
        }
    });
}
