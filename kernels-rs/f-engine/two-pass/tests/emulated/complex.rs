//! Complex samples of every format and size.

use fringes_kernels_f_engine_two_pass::complex_256::{
    complex_256_f16, complex_256_f32, complex_256_i4, complex_256_i8,
};
use fringes_kernels_f_engine_two_pass::complex_512::{complex_512_f32, complex_512_i8};
use fringes_kernels_f_engine_two_pass::complex_1024::{complex_1024_f32, complex_1024_i8};
use fringes_kernels_f_engine_two_pass::complex_2048::{complex_2048_f32, complex_2048_i8};
use fringes_kernels_f_engine_two_pass::complex_4096::{complex_4096_f32, complex_4096_i8};
use fringes_kernels_f_engine_two_pass::complex_8192::{complex_8192_f32, complex_8192_i8};
use fringes_kernels_f_engine_two_pass::complex_16384::complex_16384_f32;
use fringes_kernels_f_engine_two_pass::complex_32768::{complex_32768_f32, complex_32768_i8};
use fringes_kernels_f_engine_two_pass::complex_65536::complex_65536_f32;
use fringes_kernels_f_engine_two_pass::complex_filter::{
    columns_f16_m1_r8, columns_f16_m1_r16, columns_f16_m2_r8, columns_f16_m2_r16, columns_tf32_m1_r8,
    columns_tf32_m1_r16, columns_tf32_m2_r8, columns_tf32_m2_r16,
};
use half::f16;

use crate::case::{Case, Input, Number, Outcome, PAIR, run};
use crate::{floats, integers};

/// Not the largest f32: sums of many samples and squares of theirs are to have room.
const LARGE: Number = Number::Float32(1e25);
const SMALL: Number = Number::Float32(1e-22);

macro_rules! sizes {
    ($($test:ident $channels:literal $spectra:literal $half:ident $wide:ident $rows:ident;)*) => { $(
        #[test]
        fn $test() {
            let tiles = if $channels > 8192 { 1 } else { u32::MAX };
            let of = |complex| Case { tiles, ..Case::complex($channels, $spectra, complex) };
            let case = of(Number::Float16);
            floats::check(&case, &run!(case, $half, $rows, [f32; 2], 0));
            let case = of(Number::Float32(3.7));
            floats::check(&case, &run!(case, $wide, $rows, [f32; 2], 0));
        }
    )* };
}

sizes! {
    two_hundred_fifty_six_channels_are_the_references 256 9 columns_f16_m1_r8 columns_tf32_m1_r8 complex_256_f32;
    five_hundred_twelve_channels_are_the_references 512 5 columns_f16_m1_r8 columns_tf32_m1_r8 complex_512_f32;
    one_thousand_twenty_four_channels_are_the_references 1024 3 columns_f16_m1_r8 columns_tf32_m1_r8 complex_1024_f32;
    two_thousand_forty_eight_channels_are_the_references 2048 2 columns_f16_m1_r8 columns_tf32_m1_r8 complex_2048_f32;
    four_thousand_ninety_six_channels_are_the_references 4096 2 columns_f16_m1_r8 columns_tf32_m1_r8 complex_4096_f32;
    eight_thousand_one_hundred_ninety_two_channels_are_the_references
        8192 1 columns_f16_m1_r16 columns_tf32_m1_r16 complex_8192_f32;
    sixteen_thousand_three_hundred_eighty_four_channels_are_the_references
        16384 1 columns_f16_m1_r16 columns_tf32_m1_r16 complex_16384_f32;
    thirty_two_thousand_seven_hundred_sixty_eight_channels_are_the_references
        32768 1 columns_f16_m1_r16 columns_tf32_m1_r16 complex_32768_f32;
    sixty_five_thousand_five_hundred_thirty_six_channels_are_the_references
        65536 1 columns_f16_m1_r16 columns_tf32_m1_r16 complex_65536_f32;
}

#[test]
fn integers_of_8_and_16_bits_are_the_references() {
    let case = Case::complex(256, 11, Number::Int8);
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_256_f32, [f32; 2], 8));
    let case = Case::complex(256, 11, Number::Int16);
    floats::check(&case, &run!(case, columns_tf32_m1_r8, complex_256_f32, [f32; 2], 16));
    let case = Case { inputs: PAIR[1..].to_vec(), ..Case::complex(8192, 1, Number::Int8) };
    floats::check(&case, &run!(case, columns_f16_m1_r16, complex_8192_f32, [f32; 2], 8));
    let case = Case { inputs: PAIR[1..].to_vec(), ..Case::complex(8192, 1, Number::Int16) };
    floats::check(&case, &run!(case, columns_tf32_m1_r16, complex_8192_f32, [f32; 2], 16));
}

#[test]
fn floats_of_any_magnitude_are_the_references() {
    for complex in [LARGE, SMALL] {
        let case = Case::complex(256, 4, complex);
        floats::check(&case, &run!(case, columns_tf32_m1_r8, complex_256_f32, [f32; 2], 0));
    }
}

#[test]
fn any_number_of_taps_is_the_references() {
    for taps in [1, 4, 15, 17, 32] {
        for (complex, whole) in [(Number::Float16, 0), (Number::Int8, 8)] {
            let case = Case { taps, ..Case::complex(256, 18, complex) };
            floats::check(
                &case,
                &if taps > 16 {
                    run!(case, columns_f16_m2_r8, complex_256_f32, [f32; 2], whole)
                } else {
                    run!(case, columns_f16_m1_r8, complex_256_f32, [f32; 2], whole)
                },
            );
        }
        for (complex, whole) in [(Number::Float32(1.0), 0), (Number::Int16, 16)] {
            let case = Case { taps, ..Case::complex(256, 18, complex) };
            floats::check(
                &case,
                &if taps > 16 {
                    run!(case, columns_tf32_m2_r8, complex_256_f32, [f32; 2], whole)
                } else {
                    run!(case, columns_tf32_m1_r8, complex_256_f32, [f32; 2], whole)
                },
            );
        }
    }
    let case = Case { taps: 32, inputs: PAIR[1..].to_vec(), ..Case::complex(8192, 1, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m2_r16, complex_8192_f32, [f32; 2], 0));
    let case = Case { taps: 20, inputs: PAIR[1..].to_vec(), ..Case::complex(8192, 1, Number::Float32(9.0)) };
    floats::check(&case, &run!(case, columns_tf32_m2_r16, complex_8192_f32, [f32; 2], 0));
}

/// Every spectrum of a whole group, and of a second one that is run with the same workspace.
#[test]
fn jobs_of_64_spectra_are_the_references() {
    let case = Case { at_once: 1, ..Case::complex(256, 67, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_256_f32, [f32; 2], 0));
    let case = Case { at_once: 1, ..Case::complex(256, 67, Number::Float32(200.0)) };
    floats::check(&case, &run!(case, columns_tf32_m1_r8, complex_256_f32, [f32; 2], 0));
}

#[test]
fn jobs_may_be_alone_and_of_other_spectra_and_inputs() {
    let case = Case { inputs: PAIR[..1].to_vec(), of_job: 3, ..Case::complex(256, 7, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_256_f32, [f32; 2], 0));
    let third = Input { start: 63, turns: (0.0, 0.5), slope: (0.25, 0.0) };
    let inputs = vec![PAIR[1], third, PAIR[0]];
    let case = Case { inputs, of_job: 4, ..Case::complex(256, 6, Number::Int16) };
    floats::check(&case, &run!(case, columns_tf32_m1_r8, complex_256_f32, [f32; 2], 16));
}

#[test]
fn spectra_have_the_same_bits_in_whatever_job_they_are() {
    // Phases that stay, so that nothing else depends on where jobs begin.
    let inputs = PAIR.map(|input| Input { turns: (input.turns.0, 0.0), slope: (input.slope.0, 0.0), ..input });
    let bits = |out: Outcome<[f32; 2]>| -> Vec<_> {
        out.values.into_iter().map(|value| value.map(|value| value.map(f32::to_bits))).collect()
    };
    for complex in [Number::Float16, Number::Float32(77.0)] {
        let case = |of_job: usize| Case { inputs: inputs.to_vec(), of_job, ..Case::complex(256, 21, complex) };
        let run = |of_job: usize| match complex {
            Number::Float16 => bits(run!(case(of_job), columns_f16_m1_r8, complex_256_f32, [f32; 2], 0)),
            _ => bits(run!(case(of_job), columns_tf32_m1_r8, complex_256_f32, [f32; 2], 0)),
        };
        let expected = run(64);
        for of_job in [1, 5, 13] {
            assert!(run(of_job) == expected, "{complex:?}, jobs of {of_job}");
        }
    }
}

/// All of the inner half, some of it, and more than it: last digits of 2, 4, 8 and 16 points.
#[test]
fn some_channels_and_frames_are_written_and_nothing_else() {
    for range in [64..192, 70..131, 31..130, 100..250, 0..1, 255..256, 64..193, 63..192] {
        let case = Case { range, period: 4, ..Case::complex(256, 6, Number::Float16) };
        floats::check(&case, &run!(case, columns_f16_m1_r8, complex_256_f32, [f32; 2], 0));
    }
    let case = Case { range: 128..384, ..Case::complex(512, 2, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_512_f32, [f32; 2], 0));
    let case = Case { range: 256..767, ..Case::complex(1024, 2, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_1024_f32, [f32; 2], 0));
    let case = Case { range: 512..1536, ..Case::complex(2048, 1, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r8, complex_2048_f32, [f32; 2], 0));
    let case = Case { range: 2048..6144, period: 3, of_job: 1, ..Case::complex(8192, 2, Number::Float16) };
    floats::check(&case, &run!(case, columns_f16_m1_r16, complex_8192_f32, [f32; 2], 0));
}

#[test]
fn half_floats_are_rounded_once() {
    let case = Case { gain: 0.01, ..Case::complex(256, 4, Number::Float16) };
    let out = run!(case, columns_f16_m1_r8, complex_256_f16, u32, 0);
    let bound = floats::bound(&case) * 0.0125;
    case.compare(&out, |at, expected, value| {
        for (part, bits) in [(expected.re, value as u16), (expected.im, (value >> 16) as u16)] {
            let error = (f16::from_bits(bits).to_f64() - part).abs();
            assert!(error <= bound + 2f64.powi(-11) * (part.abs() + bound), "{at:?}: {error} of {part}");
        }
    });
}

/// The gain that brings parts of values to about `sigma`.
fn gain(case: &Case, sigma: f64) -> f64 {
    let of_part = if let Some(Number::Float16 | Number::Float32(_)) = case.number { 0.25 } else { 0.577 };
    sigma / (of_part * case.full_scale())
}

#[test]
fn bytes_are_those_of_the_reference_away_from_ties() {
    for (seed, complex) in [(Some(77), Number::Float16), (None, Number::Int8)] {
        let case = Case { seed, of_job: 7, ..Case::complex(256, 12, complex) };
        let case = Case { gain: gain(&case, 60.0), ..case };
        let whole = complex.told();
        integers::check(&case, &run!(case, columns_f16_m1_r8, complex_256_i8, u16, whole), 127.0, integers::bytes);
    }
    for (seed, complex) in [(None, Number::Float32(1e6)), (Some(3), Number::Int16)] {
        let case = Case { seed, of_job: 7, range: 64..192, ..Case::complex(256, 12, complex) };
        let case = Case { gain: gain(&case, 60.0), ..case };
        let whole = complex.told();
        integers::check(&case, &run!(case, columns_tf32_m1_r8, complex_256_i8, u16, whole), 127.0, integers::bytes);
    }
}

macro_rules! bytes {
    ($($channels:literal $spectra:literal $columns:ident $rows:ident;)*) => { $( {
        for range in [0..$channels, $channels / 4..3 * $channels / 4] {
            let tiles = if $channels > 8192 { 1 } else { u32::MAX };
            let case = Case { seed: Some(9), range, tiles, ..Case::complex($channels, $spectra, Number::Float16) };
            let case = Case { gain: gain(&case, 60.0), ..case };
            integers::check(&case, &run!(case, $columns, $rows, u16, 0), 127.0, integers::bytes);
        }
    } )* };
}

#[test]
fn bytes_of_all_last_digits_are_those_of_the_reference() {
    bytes! {
        512 3 columns_f16_m1_r8 complex_512_i8;
        1024 2 columns_f16_m1_r8 complex_1024_i8;
        2048 1 columns_f16_m1_r8 complex_2048_i8;
        4096 1 columns_f16_m1_r8 complex_4096_i8;
        8192 1 columns_f16_m1_r16 complex_8192_i8;
        32768 1 columns_f16_m1_r16 complex_32768_i8;
    }
}

#[test]
fn nibbles_are_those_of_the_reference_away_from_ties() {
    for seed in [Some(1 << 40), None] {
        let case = Case { seed, ..Case::complex(256, 9, Number::Int8) };
        let case = Case { gain: gain(&case, 3.5), ..case };
        let out = run!(case, columns_f16_m1_r8, complex_256_i4, u8, 8);
        integers::check(&case, &out, 7.0, |value| [value as i8 >> 4, (value << 4) as i8 >> 4]);
    }
}
