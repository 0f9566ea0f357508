//! Programs: every move against the same move of a layout's columns, what they cost, and what their checks find.
#![allow(clippy::unwrap_used, clippy::panic)] // a failed unwrap is a failed test

mod simplified;
mod support;

use fringes_layout::Layout;
use fringes_layout::program::{
    Builder, Counts, Instruction, LaneFlag, LaneMap, Mismatch, Program, ProgramError, Selector, moves,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use support::{Move, arbitrary_case, lower, moved};

const Z3_PRIMED: &str = "b<->q0  t0 t1 t2 t3 t4<->q1 q2 q3 q4 q5  r<->n2 n1 n0 ReIm";
const Z3: &str = "b<->n2  t0 t1 t2 t3 t4<->n1 n0 q3 q4 q5  r<->q0 q1 q2 ReIm";
const Y_PRIMED: &str = "b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm";
const Y: &str = "b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3";

fn parse(text: &str) -> Layout {
    Layout::parse(text).unwrap()
}

/// The note's conversion of Z3, by its local and warp transposes.
fn z3() -> Program {
    let mut builder = Builder::new(16);
    let mut registers = builder.inputs();
    moves::local_transpose(&mut builder, &mut registers, 1, 0);
    moves::warp_transpose(&mut builder, &mut registers, 0, 1);
    moves::warp_transpose(&mut builder, &mut registers, 1, 2);
    builder.finish(&registers)
}

#[test]
fn the_notes_conversions_are_its_local_and_warp_transposes() {
    z3().check(&parse(Z3_PRIMED), &parse(Z3)).unwrap();
    let mut builder = Builder::new(16);
    let mut registers = builder.inputs();
    moves::local_transpose(&mut builder, &mut registers, 1, 3);
    let y = builder.finish(&registers);
    y.check(&parse(Y_PRIMED), &parse(Y)).unwrap();
    // Section 1.3: 16 shuffles and 32 permutes in the whole; the selects are three a shuffle.
    let (z3, y) = (z3().counts(), y.counts());
    assert_eq!((z3.shuffle + y.shuffle, z3.permute + y.permute, z3.select + y.select), (16, 32, 48));
    assert_eq!(z3, Counts { permute: 16, shuffle: 16, select: 48, ..Counts::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn programs_of_moves_convert_to_the_layout_with_its_columns_moved((from, moves) in arbitrary_case()) {
        let to = moved(&from, &moves);
        let program = lower(&from, &moves);
        prop_assert_eq!(program.validate(), Ok(()));
        prop_assert_eq!(program.check(&from, &to), Ok(()), "{}\n{}\n{:?}\n{}", from, to, moves, program);
    }

    #[test]
    fn a_program_with_one_field_changed_fails_its_check(which in 0usize..1000) {
        let mut program = z3();
        let index = which % program.instructions.len();
        match &mut program.instructions[index] {
            Instruction::Select { zero, one, .. } => std::mem::swap(zero, one),
            Instruction::Permute { selector: Selector::Constant(bytes), .. } => *bytes ^= 1 << (which % 4 * 4),
            Instruction::ShuffleXor { mask, .. } => *mask ^= 4,
            other => prop_assert!(false, "{}", other),
        }
        let found = program.check(&parse(Z3_PRIMED), &parse(Z3));
        prop_assert!(matches!(found, Err(Mismatch::Element { .. })), "{:?}", found);
    }
}

#[test]
fn what_changes_nothing_costs_nothing() {
    let mut builder = Builder::new(4);
    let before = builder.inputs();
    let mut registers = before.clone();
    for _ in 0..2 {
        moves::local_transpose(&mut builder, &mut registers, 0, 1);
    }
    moves::movmatrix(&mut builder, &mut registers);
    moves::movmatrix(&mut builder, &mut registers);
    let there = LaneMap { columns: [2, 4, 8, 16, 1], offset: 5 };
    let back = LaneMap { columns: [16, 1, 2, 4, 8], offset: 0b10010 };
    moves::lane_map(&mut builder, &mut registers, there);
    moves::lane_map(&mut builder, &mut registers, back);
    moves::select_xor(&mut builder, &mut registers, LaneFlag { mask: 0 }, 3);
    assert_eq!(registers, before);
    let program = builder.finish(&registers);
    assert_eq!((program.counts(), program.instructions.len()), (Counts::default(), 0));
}

#[test]
fn the_same_instruction_is_not_repeated_and_unused_ones_go() {
    let mut builder = Builder::new(2);
    let one = builder.select(LaneFlag { mask: 3 }, 0, 1);
    assert_eq!(builder.select(LaneFlag { mask: 3 }, 0, 1), one);
    // Bytes of `b` alone are those of `a` alone of the other order.
    let high = builder.permute(0, one, Selector::Constant(0x7654));
    assert_eq!(high, one);
    let unused = builder.shuffle_xor(one, 3);
    let moved = builder.shuffle_xor(unused, 4);
    let program = builder.finish(&[moved]);
    assert_eq!(program.counts(), Counts { select: 1, shuffle: 1, ..Counts::default() });
    assert_eq!(program.instructions[1], Instruction::ShuffleXor { d: 3, a: 2, mask: 7 });
    assert_eq!(program.to_string(), "in  v0 v1\n    v2 = t0^t1 ? v1 : v0\n    v3 = shfl.bfly v2 0x7\nout v3\n");
}

/// Registers through shared memory: lane l's four registers are stored as they are and loaded by a permuted lane.
fn round_trip(barrier: bool, offset: u32) -> Program {
    let mut builder = Builder::new(4);
    let map = |columns: [u32; 5], offset| LaneMap { columns: columns.map(|column| 16 * column), offset };
    builder.store(map([1, 2, 4, 8, 16], offset), &[0, 1, 2, 3]);
    if barrier {
        builder.barrier();
    }
    let loaded = builder.load(map([16, 8, 4, 2, 1], offset), 4);
    builder.finish(&loaded)
}

#[test]
fn a_round_trip_through_shared_memory_reverses_the_lane_bits() {
    let (from, to) = ("r<->a b  t0 t1 t2 t3 t4<->c d e f g", "r<->a b  t0 t1 t2 t3 t4<->g f e d c");
    let program = round_trip(true, 0);
    program.check(&parse(from), &parse(to)).unwrap();
    let counts = Counts { store: 1, store_words: 4, load: 1, load_words: 4, barrier: 1, ..Counts::default() };
    assert_eq!((program.counts(), program.shared_bytes, program.alignment()), (counts, 512, 16));
}

#[test]
fn bank_conflicts_are_counted() {
    // 16 bytes a lane in order: 4 wavefronts. With the bits of the lane reversed, the 8 lanes of a quarter are 64 bytes
    // apart: 4 of them want each of the banks that they use.
    let cost = round_trip(true, 0).shared_cost();
    assert_eq!((cost.wavefronts, cost.ideal, cost.degree), (4 + 16, 8, 4));
}

#[test]
fn a_missing_barrier_is_a_race_and_a_hole_is_found() {
    let (from, to) = (parse("r<->a b  t0 t1 t2 t3 t4<->c d e f g"), parse("r<->a b  t0 t1 t2 t3 t4<->g f e d c"));
    let Err(Mismatch::Program(error)) = round_trip(false, 0).check(&from, &to) else { panic!("no race") };
    // Lane 1 loads what lane 16 stored.
    assert_eq!(error, ProgramError::Race { instruction: 1, lane: 1, other: 16, address: 256 });
    let mut hole = round_trip(true, 0);
    hole.shared_bytes = 1024;
    if let Some(Instruction::LoadShared { address, .. }) = hole.instructions.last_mut() {
        address.offset = 512;
    }
    let uninitialised = ProgramError::Uninitialised { instruction: 2, lane: 0, address: 512 };
    assert_eq!(hole.check(&from, &to), Err(Mismatch::Program(uninitialised)));
    hole.shared_bytes = 512;
    assert!(matches!(hole.validate(), Err(ProgramError::OutOfBounds { instruction: 2, lane: 0, address: 512, .. })));
    assert!(matches!(round_trip(true, 4).validate(), Err(ProgramError::Misaligned { instruction: 0, lane: 0, .. })));
}

#[test]
fn a_store_after_loads_of_other_lanes_needs_a_barrier() {
    let mut builder = Builder::new(1);
    let own = LaneMap { columns: [4, 8, 16, 32, 64], offset: 0 };
    let reversed = LaneMap { columns: [64, 32, 16, 8, 4], offset: 0 };
    builder.store(own, &[0]);
    builder.barrier();
    let first = builder.load(reversed, 1);
    builder.store(own, &first);
    builder.barrier();
    let second = builder.load(reversed, 1);
    let program = builder.finish(&second);
    // The first lane whose own word another lane has loaded is lane 1, whose word lane 16 has loaded.
    let race = ProgramError::Race { instruction: 3, lane: 1, other: 16, address: 4 };
    assert_eq!(program.run(&[[0; 32]]), Err(race));
}

#[test]
fn addresses_cost_where_a_constant_is_xored_with_bits_of_the_lane() {
    // Lanes differ in bits 2 to 6. 128 and 256 are immediate offsets; 132 and 260 share one XOR by 4; 8 is another.
    let lanes = [4, 8, 16, 32, 64];
    let mut builder = Builder::new(1);
    for offset in [0, 128, 256, 132, 260, 8] {
        builder.store(LaneMap { columns: lanes, offset }, &[0]);
    }
    builder.barrier();
    // The same constant with another linear part is another address.
    let loaded = builder.load(LaneMap { columns: [64, 32, 16, 8, 4], offset: 4 }, 1);
    let program = builder.finish(&loaded);
    assert_eq!(program.counts().address, 3);
    assert_eq!((program.setup().bases, program.alignment()), (2, 16));
    // Bit 9 is XORed: the start must not have it.
    let mut builder = Builder::new(1);
    builder.store(LaneMap { columns: [4, 8, 16, 32, 512], offset: 512 }, &[0]);
    let loaded = builder.load(LaneMap { columns: [4, 8, 16, 32, 512], offset: 0 }, 1);
    assert_eq!(builder.finish(&loaded).alignment(), 1024);
}

#[test]
fn matrices_go_through_shared_memory_transposed_as_movmatrix_does() {
    // Each lane of 8 gives the address of one row of 16 bytes.
    let rows = LaneMap { columns: [16, 32, 64, 0, 0], offset: 0 };
    let (from, to) = ("b<->a  t0 t1 t2 t3 t4<->b c d e f", "b<->d  t0 t1 t2 t3 t4<->e f a b c");
    let mut direct = Builder::new(1);
    let moved = direct.move_matrix(0);
    direct.finish(&[moved]).check(&parse(from), &parse(to)).unwrap();
    for (stored, loaded) in [(false, true), (true, false)] {
        let mut builder = Builder::new(1);
        builder.store_matrix(rows, &[0], stored);
        builder.barrier();
        let result = builder.load_matrix(rows, 1, loaded);
        let program = builder.finish(&result);
        program.check(&parse(from), &parse(to)).unwrap();
        let counts = Counts { store_matrix: 1, load_matrix: 1, barrier: 1, ..Counts::default() };
        assert_eq!((program.counts(), program.shared_bytes), (counts, 128));
    }
}

#[test]
fn layouts_that_a_program_cannot_fit_are_refused_by_name() {
    let nothing = |registers: usize| Builder::new(registers).finish(&(0..registers as u32).collect::<Vec<_>>());
    let check = |program: Program, from: &str, to: &str| program.check(&parse(from), &parse(to)).unwrap_err();
    let (a, b) = ("r<->n0  t0<->n1", "r<->n0  t0<->n1 + n0");
    assert!(matches!(check(nothing(2), a, b), Mismatch::Element { lane: 0, register: 0, expected: 1, actual: 0, .. }));
    assert_eq!(check(nothing(4), a, a), Mismatch::Inputs { expected: 2, actual: 4 });
    assert_eq!(check(nothing(2), a, "r<->n0 n1"), Mismatch::Outputs { expected: 4, actual: 2 });
    assert_eq!(check(nothing(2), a, "b<->n0  r<->n1"), Mismatch::Width { before: 32, after: 16 });
    let name = |text: &str| fringes_layout::Name::new(text).unwrap();
    assert_eq!(check(nothing(2), a, "r<->n0  t0<->m"), Mismatch::Logical { bit: name("m") });
    assert_eq!(check(nothing(2), a, "r<->n0  w0<->n1"), Mismatch::Physical { bit: name("w0") });
    assert_eq!(check(nothing(2), a, "r<->n0  t5<->n1"), Mismatch::Physical { bit: name("t5") });
    // n1 is not there before.
    let unreached = check(nothing(2), "r<->n0  0<->n1", "r<->n0 + n1");
    assert!(matches!(unreached, Mismatch::Unreached { element: 2, .. }), "{unreached}");
}

#[test]
fn arrays_of_more_elements_than_an_element_has_values_are_told_apart() {
    // 2048 elements of 8 bits: a program that leaves out the move of a high bit is found.
    let from = "b<->n0 n1  r<->n2 n3 n4 n5  t0 t1 t2 t3 t4<->n6 n7 n8 n9 n10";
    let to = "b<->n0 n1  r<->n2 n3 n4 n5  t0 t1 t2 t3 t4<->n6 n7 n8 n10 n9";
    let nothing = Builder::new(16);
    let registers = nothing.inputs();
    let found = nothing.finish(&registers).check(&parse(from), &parse(to));
    let Err(Mismatch::Element { lane: 8, register: 0, part: 0, expected, actual, .. }) = &found else {
        panic!("{found:?}")
    };
    assert_eq!((*expected, *actual), (1 << 10, 1 << 9));
    let message = found.unwrap_err().to_string();
    assert_eq!(message, "lane 8, register 0, part 0: expected element 1024 (n10), found 512 (n9)");
    let mut builder = Builder::new(16);
    let mut registers = builder.inputs();
    moves::lane_map(&mut builder, &mut registers, LaneMap { columns: [1, 2, 4, 16, 8], offset: 0 });
    builder.finish(&registers).check(&parse(from), &parse(to)).unwrap();
}

#[test]
fn the_property_test_draws_every_kind_of_move() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = [false; 6];
    for _ in 0..64 {
        let (_, moves) = arbitrary_case().new_tree(&mut runner).unwrap().current();
        for each in moves {
            let kind = match each {
                Move::Local { .. } => 0,
                Move::Warp { .. } => 1,
                Move::SelectXor { .. } => 2,
                Move::ByteXor { .. } => 3,
                Move::Lanes(_) => 4,
                Move::Matrix => 5,
            };
            seen[kind] = true;
        }
    }
    assert_eq!(seen, [true; 6]);
}
