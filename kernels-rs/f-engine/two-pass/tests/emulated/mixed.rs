//! Numbers of channels that are no powers of two.

use fringes_kernels_f_engine_two_pass::complex_filter::columns_tf32_m2_r8;
use fringes_kernels_f_engine_two_pass::complex_mixed_32::{complex_mixed_32_f32, complex_mixed_32_i8};
use fringes_kernels_f_engine_two_pass::complex_mixed_64::complex_mixed_64_f32;
use fringes_kernels_f_engine_two_pass::complex_mixed_512::complex_mixed_512_f32;
use fringes_kernels_f_engine_two_pass::complex_mixed_1024::complex_mixed_1024_f32;
use fringes_kernels_f_engine_two_pass::filter::columns_b10_m4_r8;
use fringes_kernels_f_engine_two_pass::mixed_32::{rows_mixed_32_f32, rows_mixed_32_i4, rows_mixed_32_i8};
use fringes_kernels_f_engine_two_pass::mixed_64::rows_mixed_64_f32;
use fringes_kernels_f_engine_two_pass::mixed_128::rows_mixed_128_f32;
use fringes_kernels_f_engine_two_pass::mixed_256::rows_mixed_256_f32;
use fringes_kernels_f_engine_two_pass::mixed_512::rows_mixed_512_f32;
use fringes_kernels_f_engine_two_pass::mixed_1024::rows_mixed_1024_f32;
use fringes_kernels_f_engine_two_pass::strided_filter::{
    strided_b12_r6, strided_b12_r8, strided_b12_r10, strided_b12_r12, strided_f16_r6, strided_f16_r10, strided_f16_r12,
    strided_floats_r6, strided_floats_r10, strided_floats_r12, strided_integers_r6, strided_integers_r10,
    strided_integers_r12,
};

use crate::case::{Case, Number, PAIR, run};
use crate::{floats, integers};

/// Spectra of a plan.
fn plan(oversampling: (usize, usize), case: Case) -> Case {
    Case { strided: Some(oversampling), ..case }
}

#[test]
fn factors_of_three_and_five_are_the_references() {
    for oversampling in [(1, 1), (4, 3)] {
        let case = plan(oversampling, Case { taps: 5, of_job: 7, ..Case::new(192, 20) });
        floats::check(&case, &run!(mixed case, strided_b12_r6, rows_mixed_32_f32, [f32; 2]));
        let case = plan(oversampling, Case { taps: 4, of_job: 7, ..Case::of(320, 12, Number::Int16) });
        floats::check(&case, &run!(mixed case, strided_integers_r10, rows_mixed_32_f32, [f32; 2]));
        let case = plan(oversampling, Case { taps: 4, ..Case::of(384, 9, Number::Float16) });
        floats::check(&case, &run!(mixed case, strided_f16_r6, rows_mixed_64_f32, [f32; 2]));
        let case = plan(oversampling, Case { taps: 4, ..Case::of(320, 9, Number::Float16) });
        floats::check(&case, &run!(mixed case, strided_f16_r10, rows_mixed_32_f32, [f32; 2]));
        let case = plan(oversampling, Case { taps: 4, ..Case::of(384, 9, Number::Float32(2.0)) });
        floats::check(&case, &run!(mixed case, strided_floats_r6, rows_mixed_64_f32, [f32; 2]));
    }
    let case = plan((32, 27), Case { taps: 16, of_job: 64, ..Case::new(768, 66) });
    floats::check(&case, &run!(mixed case, strided_b12_r6, rows_mixed_128_f32, [f32; 2]));
    let case = plan((1, 1), Case { taps: 16, ..Case::new(1280, 9) });
    floats::check(&case, &run!(mixed case, strided_b12_r10, rows_mixed_128_f32, [f32; 2]));
}

/// One input alone.
fn one(case: Case) -> Case {
    Case { inputs: PAIR[1..].to_vec(), ..case }
}

#[test]
fn long_rows_of_mixed_numbers_are_the_references() {
    let case = plan((1, 1), Case { taps: 4, ..Case::new(1536, 3) });
    floats::check(&case, &run!(mixed case, strided_b12_r12, rows_mixed_128_f32, [f32; 2]));
    let case = plan((1, 1), Case { taps: 4, ..Case::new(2560, 2) });
    floats::check(&case, &run!(mixed case, strided_b12_r10, rows_mixed_256_f32, [f32; 2]));
    let case = plan((1, 1), Case { taps: 4, ..Case::of(3072, 2, Number::Int16) });
    floats::check(&case, &run!(mixed case, strided_integers_r6, rows_mixed_512_f32, [f32; 2]));
    let case = plan((1, 1), one(Case { taps: 3, ..Case::new(12_288, 1) }));
    floats::check(&case, &run!(mixed case, strided_b12_r12, rows_mixed_1024_f32, [f32; 2]));
}

#[test]
fn mixed_numbers_of_complex_samples_are_the_references() {
    for oversampling in [(1, 1), (4, 3)] {
        let case = plan(oversampling, Case { taps: 4, of_job: 5, ..Case::complex(192, 9, Number::Int8) });
        floats::check(&case, &run!(mixed case, strided_b12_r6, complex_mixed_32_f32, [f32; 2]));
        let case = plan(oversampling, Case { taps: 4, range: 160..480, ..Case::complex(640, 9, Number::Int16) });
        floats::check(&case, &run!(mixed case, strided_integers_r10, complex_mixed_64_f32, [f32; 2]));
    }
    let case = plan((1, 1), Case { taps: 2, ..Case::complex(5120, 2, Number::Float32(1e10)) });
    floats::check(&case, &run!(mixed case, strided_floats_r10, complex_mixed_512_f32, [f32; 2]));
    let case = plan((1, 1), one(Case { taps: 2, ..Case::complex(12_288, 1, Number::Float16) }));
    floats::check(&case, &run!(mixed case, strided_f16_r12, complex_mixed_1024_f32, [f32; 2]));
    let case = plan((1, 1), one(Case { taps: 2, ..Case::complex(12_288, 1, Number::Float32(1.0)) }));
    floats::check(&case, &run!(mixed case, strided_floats_r12, complex_mixed_1024_f32, [f32; 2]));
    let case = plan((1, 1), one(Case { taps: 2, ..Case::complex(12_288, 1, Number::Int16) }));
    floats::check(&case, &run!(mixed case, strided_integers_r12, complex_mixed_1024_f32, [f32; 2]));
}

#[test]
fn integers_of_mixed_numbers_are_those_of_the_reference_away_from_ties() {
    let case = plan((1, 1), Case { seed: Some(77), gain: 0.25, of_job: 7, ..Case::new(192, 12) });
    integers::check(&case, &run!(mixed case, strided_b12_r6, rows_mixed_32_i8, u16), 127.0, integers::bytes);
    let case = plan((1, 1), Case { seed: Some(78), gain: 0.02, ..Case::new(320, 9) });
    integers::check(&case, &run!(mixed case, strided_b12_r10, rows_mixed_32_i4, u8), 7.0, |value| {
        [value as i8 >> 4, (value << 4) as i8 >> 4]
    });
    let case = plan((4, 3), Case { seed: Some(79), gain: 0.45, range: 48..144, ..Case::complex(192, 9, Number::Int8) });
    integers::check(&case, &run!(mixed case, strided_b12_r6, complex_mixed_32_i8, u16), 127.0, integers::bytes);
}

#[test]
fn kernels_that_are_told_are_those_of_a_constant() {
    let case = plan((1, 1), Case { taps: 5, of_job: 7, ..Case::new(256, 9) });
    floats::check(&case, &run!(mixed case, strided_b12_r8, rows_mixed_32_f32, [f32; 2]));
    let case = plan((1, 1), Case { taps: 4, ..Case::complex(256, 9, Number::Int8) });
    floats::check(&case, &run!(mixed case, strided_b12_r8, complex_mixed_32_f32, [f32; 2]));
}

#[test]
fn long_filters_have_a_digit_of_eight_points_and_one_between_the_passes() {
    let long = |case| one(Case { long: true, ..case });
    let case = long(Case { taps: 50, ..Case::new(4096, 9) });
    floats::check(&case, &run!(long case, columns_b10_m4_r8, rows_mixed_32_f32, [f32; 2]));
    let case = long(Case { taps: 20, range: 1024..3000, ..Case::complex(8192, 2, Number::Int16) });
    floats::check(&case, &run!(long case, columns_tf32_m2_r8, complex_mixed_64_f32, [f32; 2], 16));
}
