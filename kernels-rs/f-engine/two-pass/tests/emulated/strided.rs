//! Spectra any number of points apart, long filters, samples of any width.

use fringes_kernels_f_engine_two_pass::channels_64::rows_64_f32;
use fringes_kernels_f_engine_two_pass::channels_128::rows_128_f32;
use fringes_kernels_f_engine_two_pass::channels_256::{rows_256_f32, rows_256_i8};
use fringes_kernels_f_engine_two_pass::channels_512::rows_512_f32;
use fringes_kernels_f_engine_two_pass::channels_8192::rows_8192_f32;
use fringes_kernels_f_engine_two_pass::complex_64::complex_64_f32;
use fringes_kernels_f_engine_two_pass::complex_128::complex_128_f32;
use fringes_kernels_f_engine_two_pass::complex_256::complex_256_f32;
use fringes_kernels_f_engine_two_pass::filter::{columns_b8_m4_r8, columns_b10_m4_r8};
use fringes_kernels_f_engine_two_pass::strided_filter::{
    strided_b12_r2, strided_b12_r4, strided_b12_r8, strided_b12_r16, strided_f16_r2, strided_f16_r4, strided_f16_r8,
    strided_f16_r16, strided_floats_r2, strided_floats_r4, strided_floats_r8, strided_floats_r16, strided_integers_r2,
    strided_integers_r4, strided_integers_r8, strided_integers_r16,
};

use crate::case::{Case, Input, Number, Outcome, PAIR, run};
use crate::{floats, integers};

/// Spectra of an oversampled plan.
fn strided(oversampling: (usize, usize), case: Case) -> Case {
    Case { strided: Some(oversampling), ..case }
}

#[test]
fn oversampled_spectra_are_the_references() {
    for (oversampling, taps) in [((32, 27), 4), ((4, 3), 16), ((2, 1), 3), ((64, 57), 1)] {
        let case = strided(oversampling, Case { taps, of_job: 5, ..Case::new(256, 9) });
        floats::check(&case, &run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]));
    }
    let case = strided((8, 7), Case { taps: 5, ..Case::new(512, 3) });
    floats::check(&case, &run!(strided case, strided_b12_r8, rows_512_f32, [f32; 2]));
}

#[test]
fn few_channels_are_the_references() {
    for oversampling in [(1, 1), (32, 27), (4, 3)] {
        let case = strided(oversampling, Case { taps: 5, of_job: 7, ..Case::new(64, 20) });
        floats::check(&case, &run!(strided case, strided_b12_r2, rows_64_f32, [f32; 2]));
        let case = strided(oversampling, Case { taps: 16, of_job: 64, ..Case::new(128, 70) });
        floats::check(&case, &run!(strided case, strided_b12_r4, rows_128_f32, [f32; 2]));
        let case = strided(oversampling, Case { taps: 4, of_job: 7, ..Case::complex(64, 9, Number::Int16) });
        floats::check(&case, &run!(strided case, strided_integers_r2, complex_64_f32, [f32; 2]));
        let case = strided(oversampling, Case { taps: 3, range: 32..96, ..Case::complex(128, 9, Number::Int16) });
        floats::check(&case, &run!(strided case, strided_integers_r4, complex_128_f32, [f32; 2]));
    }
    let case = strided((1, 1), Case { taps: 64, ..Case::of(64, 66, Number::Float16) });
    floats::check(&case, &run!(strided case, strided_f16_r2, rows_64_f32, [f32; 2]));
    let case = strided((1, 1), Case { taps: 17, ..Case::of(64, 9, Number::Float32(0.5)) });
    floats::check(&case, &run!(strided case, strided_floats_r2, rows_64_f32, [f32; 2]));
    let case = strided((32, 27), Case { taps: 3, ..Case::complex(128, 9, Number::Float16) });
    floats::check(&case, &run!(strided case, strided_f16_r4, complex_128_f32, [f32; 2]));
    let case = strided((2, 1), Case { taps: 2, ..Case::complex(128, 9, Number::Float32(3.0)) });
    floats::check(&case, &run!(strided case, strided_floats_r4, complex_128_f32, [f32; 2]));
}

#[test]
fn long_filters_by_products_are_the_references() {
    let case = Case { taps: 33, of_job: 5, ..Case::new(256, 9) };
    floats::check(&case, &run!(case, columns_b10_m4_r8, rows_256_f32, [f32; 2]));
    let case = Case { taps: 64, bits: 8, at_once: 1, ..Case::new(256, 67) };
    floats::check(&case, &run!(case, columns_b8_m4_r8, rows_256_f32, [f32; 2]));
}

/// Every spectrum of a whole group, and of a second one that is run with the same workspace.
#[test]
fn jobs_of_64_spectra_are_the_references() {
    let case = strided((32, 27), Case { at_once: 1, taps: 4, ..Case::new(256, 67) });
    floats::check(&case, &run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn oversampled_spectra_of_wide_samples_are_the_references() {
    for number in [Number::Int16, Number::BigEndian16] {
        let case = strided((32, 27), Case { taps: 4, of_job: 7, ..Case::of(256, 10, number) });
        floats::check(&case, &run!(strided case, strided_integers_r8, rows_256_f32, [f32; 2]));
    }
    let case = strided((4, 3), Case { taps: 4, of_job: 7, ..Case::of(256, 10, Number::Float16) });
    floats::check(&case, &run!(strided case, strided_f16_r8, rows_256_f32, [f32; 2]));
    let case = strided((4, 3), Case { taps: 4, of_job: 7, ..Case::of(256, 10, Number::Float32(1e25)) });
    floats::check(&case, &run!(strided case, strided_floats_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn oversampled_spectra_of_complex_samples_are_the_references() {
    for oversampling in [(32, 27), (4, 3)] {
        let case = strided(oversampling, Case { taps: 4, of_job: 5, ..Case::complex(256, 9, Number::Int8) });
        floats::check(&case, &run!(strided case, strided_b12_r8, complex_256_f32, [f32; 2]));
        let case = strided(oversampling, Case { taps: 4, ..Case::complex(256, 3, Number::Float32(2.0)) });
        floats::check(&case, &run!(strided case, strided_floats_r8, complex_256_f32, [f32; 2]));
    }
}

#[test]
fn oversampled_spectra_of_first_transforms_of_16_points_are_the_references() {
    let case = strided((32, 27), Case { taps: 4, ..Case::new(8192, 2) });
    floats::check(&case, &run!(strided case, strided_b12_r16, rows_8192_f32, [f32; 2]));
    let case = strided((4, 3), Case { taps: 2, ..Case::of(8192, 2, Number::Int16) });
    floats::check(&case, &run!(strided case, strided_integers_r16, rows_8192_f32, [f32; 2]));
    let case = strided((32, 27), Case { taps: 2, inputs: PAIR[1..].to_vec(), ..Case::of(8192, 1, Number::Float16) });
    floats::check(&case, &run!(strided case, strided_f16_r16, rows_8192_f32, [f32; 2]));
    let case = strided((1, 1), Case { taps: 3, inputs: PAIR[1..].to_vec(), ..Case::of(8192, 1, Number::Float32(1.0)) });
    floats::check(&case, &run!(strided case, strided_floats_r16, rows_8192_f32, [f32; 2]));
}

#[test]
fn long_filters_and_other_widths_are_the_references() {
    for bits in [2, 3, 7, 11] {
        let case = strided((1, 1), Case { bits, taps: 4, of_job: 5, ..Case::new(256, 9) });
        floats::check(&case, &run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]));
    }
    for bits in [13, 15] {
        let case = strided((1, 1), Case { bits, taps: 4, of_job: 5, ..Case::new(256, 9) });
        floats::check(&case, &run!(strided case, strided_integers_r8, rows_256_f32, [f32; 2]));
    }
    let case = strided((1, 1), Case { taps: 64, ..Case::new(256, 9) });
    floats::check(&case, &run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]));
    let case = strided((32, 27), Case { taps: 33, ..Case::new(256, 2) });
    floats::check(&case, &run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]));
}

#[test]
fn bytes_are_those_of_the_reference_away_from_ties() {
    let case = strided((32, 27), Case { seed: Some(77), gain: 0.25, of_job: 7, ..Case::new(256, 12) });
    integers::check(&case, &run!(strided case, strided_b12_r8, rows_256_i8, u16), 127.0, integers::bytes);
}

#[test]
fn spectra_have_the_same_bits_in_whatever_job_they_are() {
    // Phases that stay, so that nothing else depends on where jobs begin.
    let inputs = PAIR.map(|input| Input { turns: (input.turns.0, 0.0), slope: (input.slope.0, 0.0), ..input });
    let bits = |of_job| -> Vec<_> {
        let case = strided((32, 27), Case { inputs: inputs.to_vec(), of_job, taps: 4, ..Case::new(256, 21) });
        let out: Outcome<[f32; 2]> = run!(strided case, strided_b12_r8, rows_256_f32, [f32; 2]);
        out.values.into_iter().map(|value| value.map(|value| value.map(f32::to_bits))).collect()
    };
    let expected = bits(64);
    for of_job in [1, 13] {
        assert!(bits(of_job) == expected, "jobs of {of_job}");
    }
}
