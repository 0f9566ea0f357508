//! The solver on the transforms of the FRB note and others.

use fringes_layout::plan::Costs;
use fringes_layout::solve::{Allowed, Boundary, Fft, Problem, evaluate, solve};
use fringes_layout::{Layout, layout};

const X: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->n7 n6 n5 n4 n3  r<->n2 n1 n0");
const Z1: Layout = layout!("b<->n5  t0 t1 t2 t3 t4<->n4 n3 q0 q1 q2  r<->n2 n1 n0 ReIm");
const Z3_PRIMED: Layout = layout!("b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm");
const Z3: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm");
const Y_PRIMED: Layout = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
const Y: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");

/// The assignment (13) to (18) of the note.
const NOTE: [(&str, Layout); 8] =
    [("X", X), ("Z1", Z1), ("Z2", Z1), ("Z3'", Z3_PRIMED), ("Z3", Z3), ("Z4", Z3), ("Y'", Y_PRIMED), ("Y", Y)];

fn note() -> Fft {
    Fft::new(8, 9).in_matrix(0, &[0, 1])
}

#[test]
fn the_notes_chain_gets_an_assignment_no_dearer_than_the_notes() {
    for costs in [Costs::NOTE, Costs::H200] {
        let fft = note();
        let mut problem = Problem::new(fft.chain().unwrap(), costs);
        problem.input = Boundary::Fixed(X);
        problem.output = Boundary::Fixed(Y);
        problem.allowed = Allowed::NOTE;
        let of_note = evaluate(&problem, &NOTE).unwrap();
        of_note.check(&problem.chain).unwrap();
        problem.allowed = Allowed::ALL;
        let best = solve(&problem).unwrap();
        best.check(&problem.chain).unwrap();
        assert!(best.cost() <= of_note.cost() && best.bound <= best.cost(), "{best}\n{of_note}");
    }
}
