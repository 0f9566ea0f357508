//! Conversions that mix the parts, one lane bit and one register bit in any linear way and leave the other bits alone.

use crate::program::{Builder, LaneFlag, Register};

use super::arrangement::LANE_BITS;
use super::costs::Costs;
use super::model::Model;
use super::moves::Move;
use super::pair::{Pair, Source};
use super::planner::Candidate;

/// The cheapest program of pairs, if the conversion is of this kind.
pub(super) fn grouped(model: &Model, costs: &Costs) -> Option<Candidate> {
    if !model.bijective || model.offset != 0 {
        return None;
    }
    let shape = model.before;
    let mut best: Option<Candidate> = None;
    for lane in 0..LANE_BITS {
        for before in 0..shape.registers {
            for after in 0..shape.registers {
                for whole in [false, true] {
                    let found = emit(model, lane, before, after, whole, costs);
                    if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.cost < best.cost)) {
                        best = Some(found);
                    }
                }
            }
        }
    }
    best
}

/// The program of pairs for a lane bit and a register bit (its number before and afterwards).
fn emit(model: &Model, lane: usize, before: usize, after: usize, whole: bool, costs: &Costs) -> Option<Candidate> {
    let shape = model.before;
    let (lane_bit, first) = (shape.parts + lane, shape.first_register());
    let inside = ((1u32 << shape.parts) - 1) | (1 << lane_bit) | (1 << (first + before));
    for (bit, &column) in model.columns.iter().enumerate() {
        let fits = if bit < shape.parts || bit == lane_bit || bit == first + after {
            column & !inside == 0
        } else if bit < first {
            column == 1 << bit
        } else {
            column & inside == 0 && column >> first << first == column
        };
        if !fits {
            return None;
        }
    }
    let source = |flag: usize, register: usize, part: usize| {
        let place = model.source(part | flag << lane_bit | register << (first + after));
        (place >> lane_bit & 1, (place >> (first + before) & 1, place & ((1 << shape.parts) - 1)))
    };
    let pair = Pair::from_sources(source, shape.parts, false, whole)?;
    let flag = LaneFlag { mask: 1 << lane };
    let mut builder = Builder::new(shape.register_count());
    let inputs = builder.inputs();
    let mut outputs: Vec<Register> = vec![0; inputs.len()];
    for index in (0..inputs.len()).filter(|index| index >> after & 1 == 0) {
        let base = model.source(index << first) >> first;
        let input = [0, 1].map(|value| inputs[base & !(1 << before) | value << before]);
        let operand = |source| match source {
            Source::Input(which) => input[which],
            _ => input[0],
        };
        let received = match &pair.send {
            Some(send) => {
                let sent = send.emit(&mut builder, flag, operand);
                [builder.shuffle_xor(sent, flag.mask); 2]
            }
            None => input.map(|register| builder.shuffle_xor(register, flag.mask)),
        };
        let kept = pair.kept.as_ref().map_or(input[0], |kept| kept.emit(&mut builder, flag, operand));
        let operand = |source| match source {
            Source::Input(which) => input[which],
            Source::Kept => kept,
            Source::Received(which) => received[which],
        };
        for (value, out) in pair.out.iter().enumerate() {
            outputs[index | value << after] = out.emit(&mut builder, flag, operand);
        }
    }
    Some(Candidate::new(vec![Move::Pairs { lane, before, after }], builder.finish(&outputs), costs))
}
