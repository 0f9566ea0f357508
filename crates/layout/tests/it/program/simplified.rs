//! What the builder makes of instructions against the same instructions one by one.

use fringes_layout::program::{Builder, Instruction, LaneFlag, LaneMap, Program, Register, Selector};
use proptest::prelude::*;

/// An instruction whose operands are chosen among the registers that there are.
#[derive(Debug, Clone)]
enum Step {
    Select(LaneFlag, usize, usize),
    Permute(usize, usize, Selector),
    ShuffleXor(usize, u8),
    ShuffleIndex(usize, LaneMap),
    MoveMatrix(usize),
}

/// Selectors of few kinds, so that chains of them meet: whole registers, halves, any bytes.
fn bytes() -> impl Strategy<Value = u16> {
    prop_oneof![
        Just(0x3210),
        Just(0x7654),
        Just(0x5410),
        Just(0x7632),
        Just(0x1032),
        prop::array::uniform4(0u16..8).prop_map(|bytes| bytes.iter().fold(0, |packed, byte| packed << 4 | byte)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let flag = (0u8..4).prop_map(|mask| LaneFlag { mask });
    let selector = prop_oneof![
        3 => bytes().prop_map(Selector::Constant),
        1 => (0u8..4, bytes(), bytes())
            .prop_map(|(mask, zero, one)| Selector::ByLane { flag: LaneFlag { mask }, zero, one }),
    ];
    let columns = prop_oneof![Just([1, 2, 4, 8, 16]), Just([2, 1, 4, 8, 16]), prop::array::uniform5(0u32..32)];
    let map = (columns, 0u32..4).prop_map(|(columns, offset)| LaneMap { columns, offset });
    let any = || 0usize..1000;
    prop_oneof![
        (flag, any(), any()).prop_map(|(flag, zero, one)| Step::Select(flag, zero, one)),
        (any(), any(), selector).prop_map(|(a, b, selector)| Step::Permute(a, b, selector)),
        (any(), 0u8..4).prop_map(|(a, mask)| Step::ShuffleXor(a, mask)),
        (any(), map).prop_map(|(a, map)| Step::ShuffleIndex(a, map)),
        any().prop_map(Step::MoveMatrix),
    ]
}

/// Few registers before, so that operands meet again.
const INPUTS: usize = 3;

/// The steps one by one, and what the builder makes of them; the last three registers are the result.
fn both(steps: &[Step]) -> (Program, Program) {
    let (mut builder, mut instructions) = (Builder::new(INPUTS), Vec::new());
    // Registers of the one and of the other program, by step.
    let mut plain: Vec<Register> = (0..INPUTS as Register).collect();
    let mut made = builder.inputs();
    for step in steps {
        // Late registers are chosen more often: chains grow long.
        let at = |choice: usize| plain.len() - 1 - choice % plain.len().min(4);
        let d = plain.len() as Register;
        let (instruction, register) = match *step {
            Step::Select(flag, zero, one) => {
                let [zero, one] = [at(zero), at(one)];
                let register = builder.select(flag, made[zero], made[one]);
                (Instruction::Select { d, flag, zero: plain[zero], one: plain[one] }, register)
            }
            Step::Permute(a, b, selector) => {
                let [a, b] = [at(a), at(b)];
                let register = builder.permute(made[a], made[b], selector);
                (Instruction::Permute { d, a: plain[a], b: plain[b], selector }, register)
            }
            Step::ShuffleXor(a, mask) => {
                let a = at(a);
                (Instruction::ShuffleXor { d, a: plain[a], mask }, builder.shuffle_xor(made[a], mask))
            }
            Step::ShuffleIndex(a, source) => {
                let a = at(a);
                (Instruction::ShuffleIndex { d, a: plain[a], source }, builder.shuffle_index(made[a], source))
            }
            Step::MoveMatrix(a) => {
                let a = at(a);
                (Instruction::MoveMatrix { d, a: plain[a] }, builder.move_matrix(made[a]))
            }
        };
        instructions.push(instruction);
        plain.push(d);
        made.push(register);
    }
    let outputs = plain[plain.len() - 3..].to_vec();
    let result = builder.finish(&made[made.len() - 3..]);
    (Program { inputs: INPUTS, instructions, outputs, shared_bytes: 0 }, result)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_builder_changes_no_result_and_adds_no_instruction_of_any_kind(
        steps in prop::collection::vec(step(), 1..16),
        values in prop::array::uniform3(prop::array::uniform32(any::<u32>())),
    ) {
        let (plain, made) = both(&steps);
        prop_assert_eq!(plain.validate(), Ok(()));
        prop_assert_eq!(made.run(&values), plain.run(&values), "\n{}\n{}", plain, made);
        let (before, after) = (plain.counts(), made.counts());
        for (before, after) in [
            (before.select, after.select),
            (before.permute, after.permute),
            (before.shuffle, after.shuffle),
            (before.move_matrix, after.move_matrix),
        ] {
            prop_assert!(after <= before, "\n{}\n{}", plain, made);
        }
    }
}

#[test]
fn chains_of_permutes_of_shuffles_and_of_selects_become_one_instruction() {
    let mut builder = Builder::new(2);
    // Halves exchanged between two registers, and back: the low register again.
    let low = builder.permute(0, 1, Selector::Constant(0x5410));
    let high = builder.permute(0, 1, Selector::Constant(0x7632));
    assert_eq!(builder.permute(low, high, Selector::Constant(0x5410)), 0);
    // The high halves: of v1 below, of v0 above.
    let swapped = builder.permute(high, low, Selector::Constant(0x1032));
    let there = builder.shuffle_index(swapped, LaneMap { columns: [2, 1, 4, 8, 16], offset: 0 });
    let back = builder.shuffle_index(there, LaneMap { columns: [2, 1, 4, 8, 16], offset: 3 });
    let flag = LaneFlag { mask: 1 };
    let one = builder.select(flag, back, 0);
    let two = builder.select(flag, one, 1);
    let program = builder.finish(&[two]);
    let lines = "in  v0 v1\n    v2 = prmt v1 v0 0x7632\n    v3 = shfl.bfly v2 0x3\n    v4 = t0 ? v1 : v3\nout v4\n";
    assert_eq!(program.to_string(), lines);
}
