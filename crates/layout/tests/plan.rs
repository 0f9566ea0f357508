//! The conversion planner's plans against the layouts' own definition.

use fringes_layout::plan::{Costs, Options, plan};
use fringes_layout::{Layout, layout};

const Z3_PRIMED: Layout = layout!("b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm");
const Z3: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm");
const Y_PRIMED: Layout = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
const Y: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");

#[test]
fn the_notes_transposes_cost_no_more_than_the_note_says() {
    for costs in [Costs::NOTE, Costs::H200] {
        for (shared, matrix) in [(false, false), (false, true), (true, false), (true, true)] {
            let options = Options { shared, matrix };
            let z3 = plan(&Z3_PRIMED, &Z3, &costs, &options).unwrap();
            println!("{z3}");
            let y = plan(&Y_PRIMED, &Y, &costs, &options).unwrap();
            println!("{y}");
        }
    }
}
