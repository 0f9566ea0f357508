//! The solver on the transform of the FRB note: at least as cheap as the note's assignment, consistent, and computing
//! the transform.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves

use crate::transform;

use fringes_layout::plan::{Costs, Options};
use fringes_layout::solve::{Allowed, Boundary, Fft, Operation, Problem, evaluate, solve};
use fringes_layout::{Layout, Name, layout};
use transform::error;

const X: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0");
const Z1: Layout = layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 n1 n0 ReIm");
const Z3_PRIMED: Layout = layout!("b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm");
const Z3: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm");
const Y_PRIMED: Layout = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
const Y: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");

/// The assignment (13) to (18) of the note.
const NOTE: [(&str, Layout); 8] =
    [("X", X), ("Z1", Z1), ("Z2", Z1), ("Z3'", Z3_PRIMED), ("Z3", Z3), ("Z4", Z3), ("Y'", Y_PRIMED), ("Y", Y)];

/// The note's factors (7).
fn note() -> Fft {
    Fft::new(8, 9).in_matrix(0, &[0, 1])
}

fn problem(fft: &Fft, costs: Costs) -> Problem {
    let mut problem = Problem::new(fft.chain().unwrap(), costs);
    (problem.input, problem.output) = (Boundary::Fixed(X), Boundary::Fixed(Y));
    problem
}

#[test]
fn the_notes_assignment_is_consistent_and_has_the_notes_counts() {
    let fft = note();
    let mut problem = problem(&fft, Costs::NOTE);
    problem.allowed = Allowed::NOTE;
    let of_note = evaluate(&problem, &NOTE).unwrap();
    of_note.check(&problem.chain).unwrap();
    let totals = of_note.totals;
    assert_eq!((totals.half2, totals.counts.shuffle, totals.counts.permute, totals.counts.select), (64, 16, 32, 48));
    // (30) without its selects: 160; the matrices and phases of (24) to (28) without sharing: 8, 4, 4, 2, 4 registers.
    assert_eq!(of_note.cost() - 48.0 * problem.costs.rates.select, 160.0);
    assert_eq!(of_note.registers.1, 22);
    assert!(error(&fft, &of_note) < 1e-12);
}

#[test]
fn packed_matrices_take_the_notes_registers() {
    let mut problem = problem(&note(), Costs::NOTE);
    problem.allowed = Allowed { packed: true, ..Allowed::NOTE };
    let packed = evaluate(&problem, &NOTE).unwrap();
    // (29): 4 instead of 8; (26) and (28): 2 each, where the fragment has 4; with the phases' 4 and 2.
    assert_eq!(packed.registers.1, 4 + 4 + 2 + 2 + 2);
}

#[test]
fn an_assignment_cheaper_than_the_notes_is_found_and_computes_the_transform() {
    for costs in [Costs::NOTE, Costs::H200] {
        let fft = note();
        let mut problem = problem(&fft, costs);
        problem.allowed = Allowed::NOTE;
        let of_note = evaluate(&problem, &NOTE).unwrap();
        let plain = solve(&problem).unwrap();
        assert!(plain.cost() <= of_note.cost(), "{plain}\n{of_note}");
        problem.allowed = Allowed::ALL;
        let best = solve(&problem).unwrap();
        assert!(best.cost() < plain.cost() && best.bound <= best.cost(), "{best}");
        assert_eq!((best.arrays[0].layout, best.arrays.last().unwrap().layout), (X, Y));
        for solution in [&plain, &best] {
            solution.check(&problem.chain).unwrap();
            assert!(error(&fft, solution) < 1e-12, "{solution}");
        }
    }
}

#[test]
fn the_planner_has_a_program_no_dearer_for_each_conversion() {
    let mut problem = problem(&note(), Costs::H200);
    problem.allowed = Allowed::NOTE;
    let solution = solve(&problem).unwrap();
    let plans = solution.plans(&Options { shared: false, matrix: true, exhaustive: false }).unwrap();
    let counted = solution.operations.iter().enumerate().filter_map(|(at, operation)| match operation {
        Operation::Convert(counts) => Some((at, problem.costs.cost(counts))),
        _ => None,
    });
    let counted: Vec<(usize, f64)> = counted.collect();
    assert!(!counted.is_empty() && plans.len() == counted.len());
    for ((at, plan), (of, cost)) in plans.iter().zip(counted) {
        assert_eq!(*at, of);
        assert!(plan.cost <= cost + 1e-9, "{plan}");
    }
}

#[test]
fn with_free_ends_two_factors_of_four_bits_are_cheaper_than_the_notes_three() {
    for costs in [Costs::NOTE, Costs::H200] {
        let fft = Fft::with_sizes(8, 9, &[4, 4]);
        let two = solve(&Problem::new(fft.chain().unwrap(), costs)).unwrap();
        two.check(&fft.chain().unwrap()).unwrap();
        assert!(error(&fft, &two) < 1e-12, "{two}");
        let three = solve(&Problem::new(note().chain().unwrap(), costs)).unwrap();
        assert!(two.cost() < three.cost(), "{two}\n{three}");
    }
}

#[test]
fn with_a_free_result_nothing_is_spent_on_the_real_and_imaginary_parts() {
    let fft = note();
    let mut problem = problem(&fft, Costs::H200);
    let fixed = solve(&problem).unwrap();
    problem.output = Boundary::Free;
    let free = solve(&problem).unwrap();
    assert!(free.cost() < fixed.cost());
    // A layout that says only where the real and the imaginary part are costs no more than one that says everything.
    problem.output = Boundary::Partial(layout!("b<->ReIm"));
    let partial = solve(&problem).unwrap();
    assert!(free.cost() <= partial.cost() && partial.cost() <= fixed.cost());
    assert_eq!(partial.arrays.last().unwrap().layout.column_of(&Name::new("b0").unwrap()), Some(1));
}

#[test]
fn other_sizes_and_factors_are_solved_and_compute_their_transforms() {
    let cases = [
        Fft::new(6, 7),
        Fft::with_sizes(6, 7, &[2, 2, 2]),
        Fft::new(7, 8),
        Fft::with_sizes(7, 8, &[3, 4]).in_matrix(0, &[0]),
        Fft::new(8, 8),
        Fft::with_sizes(8, 8, &[4, 4]),
        Fft::new(9, 9),
        Fft::new(9, 10),
    ];
    for fft in cases {
        let problem = Problem::new(fft.chain().unwrap(), Costs::H200);
        let best = solve(&problem).unwrap();
        best.check(&problem.chain).unwrap();
        assert!(best.bound <= best.cost());
        assert!(error(&fft, &best) < 1e-12, "{best}");
    }
}
