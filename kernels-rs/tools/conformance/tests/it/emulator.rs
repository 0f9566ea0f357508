//! Every case in the emulator, with all its detectors.

use fringes_kernels_tools_conformance::{cases, compare, emulate, expected};

/// Rounds of inputs for each case: few, since the GPU runs many and both make the same inputs.
const ROUNDS: u64 = 3;

#[test]
fn cases_run_without_faults_and_write_every_word() {
    for case in cases() {
        for round in 0..ROUNDS {
            if let Err(reason) = expected(&case, &case.input_of(round)) {
                panic!("case {}, round {round}: {reason}", case.name);
            }
        }
    }
}

#[test]
fn cases_execute_the_intrinsics_that_they_name() {
    for case in cases() {
        let (_, report) = emulate(&case, &case.input_of(0));
        for intrinsic in case.intrinsics {
            assert!(report.count(intrinsic).threads > 0, "case {} does not execute {intrinsic}", case.name);
        }
    }
}

#[test]
fn twins_give_what_the_oracles_of_their_cases_give() {
    for case in cases() {
        let Some(oracle) = case.oracle else { continue };
        for round in 0..ROUNDS {
            let input = case.input_of(round);
            let got = expected(&case, &input).unwrap_or_else(|reason| panic!("case {}: {reason}", case.name));
            let wrong = compare(&case, &input, &oracle(&input), &got);
            assert!(wrong.is_empty(), "case {}, round {round}: {} words, {:?}", case.name, wrong.len(), wrong[0].word);
        }
    }
}

#[test]
fn inputs_are_the_same_for_the_same_round_and_differ_between_rounds() {
    for case in cases() {
        assert_eq!(case.input_of(1), case.input_of(1), "case {}", case.name);
        let input = case.input_of(1);
        assert!(input.is_empty() || input != case.input_of(2), "case {}", case.name);
    }
}

#[test]
fn names_of_cases_are_unique() {
    let mut names: Vec<_> = cases().iter().map(|case| case.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
