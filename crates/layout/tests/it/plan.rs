//! The conversion planner on the FRB note's transposes, and where cost tables and options decide.

#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use std::time::{Duration, Instant};

use fringes_layout::plan::{Costs, Move, Optimality, Options, Plan, plan};
use fringes_layout::program::Counts;
use fringes_layout::{Layout, layout};

const Z3_PRIMED: Layout = layout!("b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm");
const Z3: Layout = layout!("b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm");
const Y_PRIMED: Layout = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
const Y: Layout = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");
const REGISTERS: Options = Options { shared: false, matrix: true, exhaustive: false };

fn planned(from: &Layout, to: &Layout, costs: &Costs, options: &Options) -> Plan {
    let plan = plan(from, to, costs, options).unwrap();
    plan.program.check(from, to).unwrap();
    plan
}

#[test]
fn in_registers_the_notes_transposes_cost_what_the_note_says() {
    for costs in [Costs::NOTE, Costs::H200] {
        let z3 = planned(&Z3_PRIMED, &Z3, &costs, &REGISTERS);
        assert_eq!(z3.counts, Counts { permute: 16, shuffle: 16, select: 48, ..Counts::default() });
        assert_eq!(z3.optimal, Optimality::InMoveSet);
        assert_eq!((z3.bound.shuffles, z3.bound.operations), (12, 48));
        let y = planned(&Y_PRIMED, &Y, &costs, &Options::default());
        assert_eq!(y.counts, Counts { permute: 16, ..Counts::default() });
        assert_eq!(y.optimal, Optimality::Proven);
    }
}

#[test]
fn through_shared_memory_the_notes_transpose_is_cheaper_than_in_registers() {
    for costs in [Costs::NOTE, Costs::H200] {
        let registers = planned(&Z3_PRIMED, &Z3, &costs, &REGISTERS);
        let words = planned(&Z3_PRIMED, &Z3, &costs, &Options { shared: true, matrix: false, exhaustive: false });
        assert!(words.cost < registers.cost);
        let any = planned(&Z3_PRIMED, &Z3, &costs, &Options::default());
        assert!(any.cost <= words.cost);
        // Every register once there and once back.
        assert_eq!(any.counts.store_matrix + any.counts.store_words, 16);
        assert_eq!(any.counts.load_matrix + any.counts.load_words, 16);
        assert!(any.bound.any <= any.cost);
    }
}

#[test]
fn the_cost_table_decides_between_shuffles_and_selects() {
    // Three lane bits for three register bits: three warp transposes have 12 shuffles and 36 selects, one shuffle of
    // what moves has 7 and
    // 48. Where a shuffle costs four selects the second is cheaper, where it costs two the first.
    let from = layout!("t0 t1 t2 t3 t4<->a b c d e  r<->x y z");
    let to = layout!("t0 t1 t2 t3 t4<->x y z d e  r<->a b c");
    let note = planned(&from, &to, &Costs::NOTE, &REGISTERS);
    assert_eq!(note.counts, Counts { shuffle: 7, select: 48, ..Counts::default() });
    assert!(matches!(note.moves[..], [Move::Together { .. }]), "{note}");
    let h200 = planned(&from, &to, &Costs::H200, &REGISTERS);
    assert_eq!(h200.counts, Counts { shuffle: 12, select: 36, ..Counts::default() });
    assert_eq!(h200.moves.len(), 3, "{h200}");
    // With shuffles for next to nothing, whole registers go and nothing is packed.
    let mut free = Costs::NOTE;
    free.rates.shuffle = 0.01;
    let whole = planned(&from, &to, &free, &REGISTERS);
    assert_eq!(whole.counts, Counts { shuffle: 24, select: 24, ..Counts::default() });
    assert_eq!(whole.bound.operations, 24);
}

#[test]
fn a_cycle_through_two_lane_bits_permutes_the_lanes_in_the_same_shuffles() {
    let from = layout!("t0 t1 t2 t3 t4<->a b c d e  r<->x y");
    let to = layout!("t0 t1 t2 t3 t4<->x a c d e  r<->b y");
    for costs in [Costs::NOTE, Costs::H200] {
        let plan = planned(&from, &to, &costs, &REGISTERS);
        assert_eq!(plan.counts, Counts { shuffle: 4, select: 8, ..Counts::default() }, "{plan}");
        assert_eq!(plan.bound.shuffles, 4);
    }
}

#[test]
fn what_only_renames_registers_costs_nothing() {
    let from = layout!("b<->a  t0 t1 t2 t3 t4<->c d e f g  r<->x y z");
    let to = layout!("b<->a  t0 t1 t2 t3 t4<->c d e f g  r<->z^y x y 0 + y");
    let plan = planned(&from, &to, &Costs::H200, &Options::default());
    assert_eq!((plan.counts, plan.cost, plan.optimal), (Counts::default(), 0.0, Optimality::Proven));
    assert!(plan.to_string().contains(" 0.00 SM-cycles"), "{plan}");
    assert_eq!(plan.to_string().lines().filter(|line| line.contains("no instructions")).count(), 1, "{plan}");
}

#[test]
fn a_lane_broadcast_is_one_shuffle_a_register() {
    let from = layout!("t0 t1 t2 t3 t4<->a b c d e  r<->x");
    let to = layout!("t0 t1 t2 t3 t4<->0 b c d e  r<->x + a");
    let plan = planned(&from, &to, &Costs::H200, &Options::default());
    assert_eq!(plan.counts, Counts { shuffle: 2, ..Counts::default() });
}

#[test]
fn a_plan_says_its_steps_counts_cost_and_bound() {
    let text = planned(&Z3_PRIMED, &Z3, &Costs::NOTE, &REGISTERS).to_string();
    for part in [
        "local transpose b <-> r (q0, n2)",
        "warp transpose t0 <-> r (q1, n1)",
        "16 permutes, 16 shuffles, 48 selects; 64.00 SM-cycles",
        "without shared memory 48.00 (12 shuffles, 48 selects or permutes)",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_permutation_of_ten_bits_is_planned_in_less_than_a_second() {
    // No bit stays, in registers only: the longest search.
    let from = layout!("b<->a  t0 t1 t2 t3 t4<->c d e f g  r<->w x y z");
    let to = layout!("b<->g  t0 t1 t2 t3 t4<->w e x c y  r<->a d f z");
    for costs in [Costs::NOTE, Costs::H200] {
        let start = Instant::now();
        planned(&from, &to, &costs, &REGISTERS);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
}
