//! Integers, dither and saturation.

use fringes_kernels_f_engine_two_pass::channels_256::{rows_256_i4, rows_256_i8};
use fringes_kernels_f_engine_two_pass::channels_512::rows_512_i8;
use fringes_kernels_f_engine_two_pass::channels_1024::rows_1024_i8;
use fringes_kernels_f_engine_two_pass::channels_4096::rows_4096_i8;
use fringes_kernels_f_engine_two_pass::filter::{columns_b8_m1_r8, columns_b10_m1_r8};

use crate::case::{Case, Outcome, run};

/// Values nearer to a tie, or to the limit, are not compared.
const TIE: f64 = 5e-3;

/// Compares integers within `+-limit` and the counts of those beyond it; `parts` are the parts of a value.
pub(crate) fn check<T: Copy>(case: &Case, out: &Outcome<T>, limit: f64, parts: impl Fn(T) -> [i8; 2]) {
    check_within(case, out, (limit, TIE), parts);
}

/// [`check`] with another distance `tie`.
pub(crate) fn check_within<T: Copy>(
    case: &Case,
    out: &Outcome<T>,
    (limit, tie): (f64, f64),
    parts: impl Fn(T) -> [i8; 2],
) {
    let inputs = case.inputs.len();
    let (mut values, mut ties) = (0, 0);
    // Values that are beyond the limit for certain, and those that may be.
    let mut beyond = vec![(0, 0); inputs];
    case.compare(out, |at, v, value| {
        let most = v.re.abs().max(v.im.abs());
        beyond[at[0]].0 += u32::from(most > limit + tie);
        beyond[at[0]].1 += u32::from(most > limit - tie);
        for (part, actual) in [v.re, v.im].into_iter().zip(parts(value)) {
            let clamped = part.clamp(-limit, limit);
            values += 1;
            if ((clamped - clamped.floor()) - 0.5).abs() < tie {
                ties += 1;
            } else {
                assert_eq!(f64::from(actual), clamped.round(), "{at:?} {v}");
            }
        }
    });
    println!("{values} values, {ties} near ties, {beyond:?} beyond, {:?} counted", out.saturated);
    assert!(ties as f64 <= 4.0 * tie * values as f64 + 20.0);
    for (input, (certain, possible)) in beyond.into_iter().enumerate() {
        let counted = out.saturated[inputs - 1 - input];
        assert!(
            (certain..=possible).contains(&counted) && certain > 0,
            "{input}: {counted} of {certain} to {possible}"
        );
        assert!(f64::from(possible - certain) <= 1.0 + 10.0 * tie * f64::from(certain));
    }
}

pub(crate) fn bytes(value: u16) -> [i8; 2] {
    [value as i8, (value >> 8) as i8]
}

#[test]
fn bytes_are_those_of_the_reference_away_from_ties() {
    for (seed, gain) in [(Some(77), 0.25), (None, 0.3)] {
        let case = Case { seed, gain, of_job: 7, ..Case::new(256, 12) };
        check(&case, &run!(case, columns_b10_m1_r8, rows_256_i8, u16), 127.0, bytes);
    }
}

#[test]
fn bytes_of_rows_of_three_transforms_are_those_of_the_reference() {
    let case = Case { seed: Some(u64::MAX - 5), gain: 0.25, range: 100..1900, ..Case::new(4096, 1) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_4096_i8, u16), 127.0, bytes);
}

#[test]
fn nibbles_are_those_of_the_reference_away_from_ties() {
    for seed in [Some(1 << 40), None] {
        let case = Case { seed, gain: 0.06, bits: 8, ..Case::new(256, 9) };
        let out = run!(case, columns_b8_m1_r8, rows_256_i4, u8);
        check(&case, &out, 7.0, |value| [value as i8 >> 4, (value << 4) as i8 >> 4]);
    }
}

#[test]
fn bytes_of_rows_of_two_transforms_are_those_of_the_reference() {
    // Jobs that end within a block of the filter, and a last one alone.
    let case = Case { gain: 0.3, of_job: 2, range: 3..300, ..Case::new(512, 3) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_512_i8, u16), 127.0, bytes);
    let case = Case { seed: Some(3), gain: 0.25, ..Case::new(1024, 2) };
    check(&case, &run!(case, columns_b10_m1_r8, rows_1024_i8, u16), 127.0, bytes);
}
