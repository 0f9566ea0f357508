//! Complex samples by both passes with the transform on tensor cores: all channels, and those of the inner half.

use fringes_kernels_f_engine_two_pass::tensor::between::{
    tensor_middle_r8_8_half, tensor_middle_r8_16_half, tensor_middle_r8_32_half,
};
use fringes_kernels_f_engine_two_pass::tensor::filter::{
    tensor_complex_m1_r4_half, tensor_complex_m1_r8_half, tensor_complex_m1_r16_half, tensor_complex_m2_r4_half,
    tensor_complex_m2_r8_half, tensor_complex_m2_r16_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_256::tensor_256_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_512::{tensor_512_f32_half, tensor_512_i8_half};
use fringes_kernels_f_engine_two_pass::tensor::tensor_1024::tensor_1024_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_2048::tensor_2048_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_4096::tensor_4096_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_65536::tensor_65536_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_256::tensor_inner_256_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_512::{
    tensor_inner_512_f16_half, tensor_inner_512_f32_half, tensor_inner_512_i4_half, tensor_inner_512_i8_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_1024::{
    tensor_inner_1024_f32_half, tensor_inner_1024_i8_half,
};
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_2048::tensor_inner_2048_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_4096::tensor_inner_4096_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_8192::tensor_inner_8192_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_16384::tensor_inner_16384_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_32768::tensor_inner_32768_f32_half;
use fringes_kernels_f_engine_two_pass::tensor::tensor_inner_65536::tensor_inner_65536_f32_half;
use half::f16;

use crate::case::{Case, Input, Number, PAIR};
use crate::integers::{bytes, check_within};
use crate::tensor::{THREE, TWO, check, error, floats, run};

/// A case of f16 samples.
fn case(channels: usize, spectra: usize) -> Case {
    Case { tiles: if channels > 512 { 1 } else { u32::MAX }, ..Case::complex(channels, spectra, Number::Float16) }
}

/// The same with channels of the inner half alone.
fn inner(case: Case) -> Case {
    Case { range: case.channels / 4..3 * case.channels / 4, ..case }
}

#[test]
fn all_channels_of_two_passes_are_within_half_precision() {
    let of_256 = Case { of_job: 7, taps: 18, ..case(256, 9) };
    check(
        &of_256,
        &run!(complex 0, false; of_256, tensor_complex_m2_r4_half, tensor_256_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_512 = Case { of_job: 7, ..case(512, 9) };
    check(
        &of_512,
        &run!(complex 0, false; of_512, tensor_complex_m1_r8_half, tensor_512_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_1024 = case(1024, 3);
    check(
        &of_1024,
        &run!(complex 0, false; of_1024, tensor_complex_m1_r8_half, tensor_1024_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_2048 = case(2048, 2);
    check(
        &of_2048,
        &run!(complex 0, false; of_2048, tensor_complex_m1_r8_half, tensor_2048_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_4096 = case(4096, 2);
    check(
        &of_4096,
        &run!(complex 0, false; of_4096, tensor_complex_m1_r16_half, tensor_4096_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
}

#[test]
fn the_inner_half_of_two_passes_is_within_half_precision() {
    let of_256 = inner(Case { of_job: 7, ..case(256, 9) });
    check(
        &of_256,
        &run!(complex 0, true; of_256, tensor_complex_m1_r4_half, tensor_inner_256_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_512 = inner(Case { of_job: 7, ..case(512, 9) });
    check(
        &of_512,
        &run!(complex 0, true; of_512, tensor_complex_m1_r8_half, tensor_inner_512_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_1024 = inner(case(1024, 3));
    check(
        &of_1024,
        &run!(complex 0, true; of_1024, tensor_complex_m1_r8_half, tensor_inner_1024_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
    let of_2048 = inner(case(2048, 2));
    check(
        &of_2048,
        &run!(complex 0, true; of_2048, tensor_complex_m1_r8_half, tensor_inner_2048_f32_half, [f32; 2]),
        error(TWO),
        floats,
    );
}

macro_rules! long {
    ($($test:ident $channels:literal $inner:literal $columns:ident $middle:ident $rows:ident;)*) => { $(
        #[test]
        fn $test() {
            let case = case($channels, if $channels == 4096 { 2 } else { 1 });
            let case = if $inner { inner(case) } else { case };
            let out = run!(complex 0, $inner; case, $columns, (between $middle), $rows, [f32; 2]);
            check(&case, &out, error(THREE), floats);
        }
    )* };
}

long! {
    sixty_five_thousand_channels_are_within_half_precision
        65536 false tensor_complex_m1_r8_half tensor_middle_r8_32_half tensor_65536_f32_half;
    the_inner_half_of_four_thousand_channels_is_within_half_precision
        4096 true tensor_complex_m1_r8_half tensor_middle_r8_8_half tensor_inner_4096_f32_half;
    the_inner_half_of_eight_thousand_channels_is_within_half_precision
        8192 true tensor_complex_m1_r8_half tensor_middle_r8_16_half tensor_inner_8192_f32_half;
    the_inner_half_of_sixteen_thousand_channels_is_within_half_precision
        16384 true tensor_complex_m1_r8_half tensor_middle_r8_16_half tensor_inner_16384_f32_half;
    the_inner_half_of_thirty_two_thousand_channels_is_within_half_precision
        32768 true tensor_complex_m1_r8_half tensor_middle_r8_16_half tensor_inner_32768_f32_half;
    the_inner_half_of_sixty_five_thousand_channels_is_within_half_precision
        65536 true tensor_complex_m1_r8_half tensor_middle_r8_32_half tensor_inner_65536_f32_half;
}

/// Samples begin with any number; 16-bit integers are rounded to 11 bits.
#[test]
fn integers_of_8_and_16_bits_are_within_half_precision() {
    let input = |start: usize| Input { start, turns: (0.1, 0.0), slope: (0.01, 0.0) };
    let inputs = [0, 1, 2, 3].map(input).to_vec();
    for (complex, bits, more) in [(Number::Int8, 8, 0.0), (Number::Int16, 16, 1.0)] {
        let case = Case { inputs: inputs.clone(), of_job: 11, ..Case::complex(512, 13, complex) };
        let out = run!(complex bits, false; case, tensor_complex_m1_r8_half, tensor_512_f32_half, [f32; 2]);
        check(&case, &out, error(TWO + more), floats);
        let case = Case { range: 131..380, ..case };
        let out = run!(complex bits, true; case, tensor_complex_m1_r8_half, tensor_inner_512_f32_half, [f32; 2]);
        check(&case, &out, error(TWO + more), floats);
    }
}

#[test]
fn jobs_of_64_spectra_and_other_taps_are_within_half_precision() {
    let value = |word: u32| [word, word >> 16].map(|part| f16::from_bits(part as u16).to_f64());
    let case = inner(Case { at_once: 1, taps: 32, gain: 0.001, ..case(512, 67) });
    let out = run!(complex 0, true; case, tensor_complex_m2_r8_half, tensor_inner_512_f16_half, u32);
    // And a sixth rounding, of the output.
    check(&case, &out, error(TWO + 1.0), value);
    let case = Case { taps: 5, inputs: vec![PAIR[1]], of_job: 3, ..Case::complex(512, 10, Number::Int8) };
    let out = run!(complex 8, false; case, tensor_complex_m1_r8_half, tensor_512_f32_half, [f32; 2]);
    check(&case, &out, error(TWO), floats);
    let case = Case { taps: 17, tiles: 1, inputs: PAIR[1..].to_vec(), ..Case::complex(4096, 1, Number::Int16) };
    let out = run!(complex 16, false; case, tensor_complex_m2_r16_half, tensor_4096_f32_half, [f32; 2]);
    check(&case, &out, error(TWO + 1.0), floats);
    let case = Case { taps: 17, tiles: 1, inputs: PAIR[1..].to_vec(), ..Case::complex(65536, 1, Number::Int16) };
    let out = run!(
        complex 16, false; case, tensor_complex_m2_r8_half, (between tensor_middle_r8_32_half),
        tensor_65536_f32_half, [f32; 2]
    );
    check(&case, &out, error(THREE + 1.0), floats);
}

/// The gain that brings parts of values to about `sigma`, and how near to a tie errors may turn integers.
fn scaled(case: Case, sigma: f64) -> (Case, f64) {
    let of_part = if case.number == Some(Number::Float16) { 0.25 } else { 0.577 };
    let gain = sigma / (of_part * case.full_scale());
    (Case { gain, ..case }, 5e-3 + 5.0 * error(TWO) * sigma * 2f64.sqrt() * 1.25)
}

#[test]
fn bytes_and_nibbles_are_those_of_the_reference_away_from_ties() {
    for (seed, period, of_job) in [(Some(77), 24, 64), (None, 5, 7), (Some(1), 8, 16)] {
        let (case, tie) = scaled(Case { seed, period, of_job, ..case(512, 24) }, 50.0);
        let out = run!(complex 0, false; case, tensor_complex_m1_r8_half, tensor_512_i8_half, u16);
        check_within(&case, &out, (127.0, tie), bytes);
        let case = inner(case);
        let out = run!(complex 0, true; case, tensor_complex_m1_r8_half, tensor_inner_512_i8_half, u16);
        check_within(&case, &out, (127.0, tie), bytes);
    }
    let (case, tie) = scaled(inner(Case { seed: Some(3), ..case(1024, 4) }), 50.0);
    let out = run!(complex 0, true; case, tensor_complex_m1_r8_half, tensor_inner_1024_i8_half, u16);
    check_within(&case, &out, (127.0, tie), bytes);
    let (case, tie) = scaled(inner(Case { seed: Some(4), ..Case::complex(512, 16, Number::Int8) }), 3.0);
    let out = run!(complex 8, true; case, tensor_complex_m1_r8_half, tensor_inner_512_i4_half, u8);
    check_within(&case, &out, (7.0, tie), |value| [value as i8 >> 4, (value << 4) as i8 >> 4]);
}
