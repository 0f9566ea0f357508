//! Real samples of 12 bits and of whole bytes, in both precisions.

use fringes_kernels_f_engine_two_pass::channels_256::{rows_256_f32, rows_256_i8};
use fringes_kernels_f_engine_two_pass::channels_8192::rows_8192_f32;
use fringes_kernels_f_engine_two_pass::more_filter::{
    columns_b12_m1_r8, columns_b12_m1_r16, columns_b12_m2_r8, columns_b12_m2_r16, columns_real_f16_m1_r8,
    columns_real_f16_m1_r16, columns_real_f16_m2_r8, columns_real_f16_m2_r16, columns_real_tf32_m1_r8,
    columns_real_tf32_m1_r16, columns_real_tf32_m2_r8, columns_real_tf32_m2_r16,
};
use fringes_kernels_f_engine_two_pass::tensor::between::tensor_middle_r8_32_half;
use fringes_kernels_f_engine_two_pass::tensor::more_filter::{
    tensor_b12_m1_r8_half, tensor_b12_m1_r16_half, tensor_b12_m2_r8_half, tensor_real_m1_r8_half,
    tensor_real_m1_r16_half, tensor_real_m2_r8_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_512::{tensor_512_f32_half, tensor_512_i8_half};
use fringes_kernels_f_engine_two_pass::tensor::tensor_4096::tensor_4096_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_65536::tensor_65536_f32_half;

use crate::case::{Case, Input, Number, Outcome, PAIR, run};
use crate::tensor::{THREE, TWO, check, error, floats as values};
use crate::{floats, integers, tensor};

/// Inputs that begin with each bit of a byte that 12-bit samples can begin with, and each place of a word.
const MANY: [Input; 4] = [
    PAIR[0],
    PAIR[1],
    Input { start: 11, turns: (0.1, 0.25), slope: (0.0, 1e-5) },
    Input { start: 64, turns: (0.0, 0.5), slope: (0.25, 0.0) },
];

fn packed(channels: usize, spectra: usize) -> Case {
    Case { bits: 12, ..Case::new(channels, spectra) }
}

#[test]
fn samples_of_twelve_bits_are_the_references() {
    let case = Case { inputs: MANY.to_vec(), of_job: 5, ..packed(256, 9) };
    floats::check(&case, &run!(case, columns_b12_m1_r8, rows_256_f32, [f32; 2]));
    let case = Case { taps: 32, ..packed(256, 20) };
    floats::check(&case, &run!(case, columns_b12_m2_r8, rows_256_f32, [f32; 2]));
    let case = Case { inputs: PAIR[..1].to_vec(), ..packed(8192, 1) };
    floats::check(&case, &run!(case, columns_b12_m1_r16, rows_8192_f32, [f32; 2]));
    let case = Case { taps: 17, inputs: PAIR[1..].to_vec(), ..packed(8192, 1) };
    floats::check(&case, &run!(case, columns_b12_m2_r16, rows_8192_f32, [f32; 2]));
}

/// Every spectrum of a whole group, and of a second one that is run with the same workspace.
#[test]
fn jobs_of_64_spectra_are_the_references() {
    let case = Case { at_once: 1, ..packed(256, 67) };
    floats::check(&case, &run!(case, columns_b12_m1_r8, rows_256_f32, [f32; 2]));
    let case = Case { at_once: 1, ..Case::of(256, 67, Number::Float16) };
    floats::check(&case, &run!(case, columns_real_f16_m1_r8, rows_256_f32, [f32; 2]));
    let case = Case { at_once: 1, ..Case::of(256, 67, Number::Int16) };
    floats::check(&case, &run!(case, columns_real_tf32_m1_r8, rows_256_f32, [f32; 2], 16));
}

#[test]
fn samples_of_f16_are_the_references() {
    let of = |channels, spectra| Case::of(channels, spectra, Number::Float16);
    let case = Case { inputs: MANY.to_vec(), of_job: 5, ..of(256, 9) };
    floats::check(&case, &run!(case, columns_real_f16_m1_r8, rows_256_f32, [f32; 2]));
    let case = Case { taps: 17, ..of(256, 20) };
    floats::check(&case, &run!(case, columns_real_f16_m2_r8, rows_256_f32, [f32; 2]));
    let case = Case { inputs: PAIR[..1].to_vec(), ..of(8192, 1) };
    floats::check(&case, &run!(case, columns_real_f16_m1_r16, rows_8192_f32, [f32; 2]));
    let case = Case { taps: 32, inputs: PAIR[1..].to_vec(), ..of(8192, 1) };
    floats::check(&case, &run!(case, columns_real_f16_m2_r16, rows_8192_f32, [f32; 2]));
}

#[test]
fn samples_of_f32_and_16_bits_are_the_references() {
    for number in [Number::Float32(3.7), Number::Float32(1e25), Number::Int16, Number::BigEndian16] {
        let told = number.told();
        let case = Case { inputs: MANY.to_vec(), of_job: 5, ..Case::of(256, 9, number) };
        floats::check(&case, &run!(case, columns_real_tf32_m1_r8, rows_256_f32, [f32; 2], told));
        let case = Case { taps: 20, ..Case::of(256, 18, number) };
        floats::check(&case, &run!(case, columns_real_tf32_m2_r8, rows_256_f32, [f32; 2], told));
    }
    for number in [Number::Float32(1.0), Number::BigEndian16] {
        let told = number.told();
        let case = Case { inputs: PAIR[..1].to_vec(), ..Case::of(8192, 1, number) };
        floats::check(&case, &run!(case, columns_real_tf32_m1_r16, rows_8192_f32, [f32; 2], told));
        let case = Case { taps: 32, inputs: PAIR[1..].to_vec(), ..Case::of(8192, 1, number) };
        floats::check(&case, &run!(case, columns_real_tf32_m2_r16, rows_8192_f32, [f32; 2], told));
    }
}

#[test]
fn spectra_have_the_same_bits_in_whatever_job_they_are() {
    // Phases that stay, so that nothing else depends on where jobs begin.
    let inputs = PAIR.map(|input| Input { turns: (input.turns.0, 0.0), slope: (input.slope.0, 0.0), ..input });
    let bits = |out: Outcome<[f32; 2]>| -> Vec<_> {
        out.values.into_iter().map(|value| value.map(|value| value.map(f32::to_bits))).collect()
    };
    let twelve = |of_job| Case { inputs: inputs.to_vec(), of_job, ..packed(256, 21) };
    let short = |of_job| Case { inputs: inputs.to_vec(), of_job, ..Case::of(256, 21, Number::Int16) };
    let expected = [
        bits(run!(twelve(64), columns_b12_m1_r8, rows_256_f32, [f32; 2])),
        bits(run!(short(64), columns_real_tf32_m1_r8, rows_256_f32, [f32; 2], 16)),
    ];
    for of_job in [1, 13] {
        let found = [
            bits(run!(twelve(of_job), columns_b12_m1_r8, rows_256_f32, [f32; 2])),
            bits(run!(short(of_job), columns_real_tf32_m1_r8, rows_256_f32, [f32; 2], 16)),
        ];
        assert!(found == expected, "jobs of {of_job}");
    }
}

#[test]
fn bytes_are_those_of_the_reference_away_from_ties() {
    // Parts of values of about 60.
    let scaled = |case: Case| Case { gain: 60.0 / (0.577 * case.full_scale()), seed: Some(5), of_job: 7, ..case };
    let case = scaled(packed(256, 12));
    integers::check(&case, &run!(case, columns_b12_m1_r8, rows_256_i8, u16), 127.0, integers::bytes);
    let case = scaled(Case::of(256, 12, Number::BigEndian16));
    let out = run!(case, columns_real_tf32_m1_r8, rows_256_i8, u16, 256 + 16);
    integers::check(&case, &out, 127.0, integers::bytes);
}

#[test]
fn half_precision_takes_them_all() {
    let case = Case { inputs: MANY.to_vec(), of_job: 7, ..packed(512, 9) };
    check(&case, &tensor::run!(case, 1, tensor_b12_m1_r8_half, tensor_512_f32_half, [f32; 2]), error(TWO), values);
    let case = Case { taps: 17, ..packed(512, 18) };
    check(&case, &tensor::run!(case, 1, tensor_b12_m2_r8_half, tensor_512_f32_half, [f32; 2]), error(TWO), values);
    let case = Case { tiles: 1, inputs: PAIR[..1].to_vec(), ..packed(65536, 1) };
    let out = tensor::run!(
        case, 1, tensor_b12_m1_r8_half, (between tensor_middle_r8_32_half), tensor_65536_f32_half, [f32; 2]
    );
    check(&case, &out, error(THREE), values);
    let case = Case { tiles: 1, inputs: PAIR[..1].to_vec(), ..packed(4096, 1) };
    let out = tensor::run!(case, 1, tensor_b12_m1_r16_half, tensor_4096_f32_half, [f32; 2]);
    check(&case, &out, error(TWO), values);
    // Integers of 16 bits are rounded once more.
    for (number, roundings) in [(Number::Float16, TWO), (Number::Int16, TWO + 1.0), (Number::BigEndian16, TWO + 1.0)] {
        let told = number.told();
        let case = Case { inputs: MANY.to_vec(), of_job: 7, ..Case::of(512, 9, number) };
        let out = tensor::run!(complex told, false; case, tensor_real_m1_r8_half, tensor_512_f32_half, [f32; 2]);
        check(&case, &out, error(roundings), values);
        let case = Case { taps: 32, ..Case::of(512, 18, number) };
        let out = tensor::run!(complex told, false; case, tensor_real_m2_r8_half, tensor_512_f32_half, [f32; 2]);
        check(&case, &out, error(roundings), values);
    }
    let case = Case { tiles: 1, inputs: PAIR[1..].to_vec(), ..Case::of(4096, 1, Number::Int16) };
    let out = tensor::run!(complex 16, false; case, tensor_real_m1_r16_half, tensor_4096_f32_half, [f32; 2]);
    check(&case, &out, error(TWO + 1.0), values);
    let case = Case { tiles: 1, inputs: PAIR[1..].to_vec(), ..Case::of(65536, 1, Number::Int16) };
    let out = tensor::run!(
        complex 16, false; case, tensor_real_m1_r8_half, (between tensor_middle_r8_32_half), tensor_65536_f32_half,
        [f32; 2]
    );
    check(&case, &out, error(THREE + 1.0), values);
}

#[test]
fn bytes_in_half_precision_are_within_it() {
    let case = packed(512, 16);
    let case = Case { gain: 60.0 / (0.577 * case.full_scale()), seed: Some(8), ..case };
    let out = tensor::run!(case, 1, tensor_b12_m1_r8_half, tensor_512_i8_half, u16);
    integers::check_within(&case, &out, (127.0, tensor::tie(&case)), integers::bytes);
}
