//! Moves between arrangements as instructions.

use crate::program::{Builder, LaneFlag, LaneMap, Register, Selector, moves};

use super::arrangement::{Arrangement, Bit, LANE_BITS, Shape};
use super::moves::{Move, entering, permutes_lanes};
use super::pair::{Group, Operation, Pair, Source};

/// The registers of an array during a program, by the values of the register bits of its arrangement (ascending).
pub(super) struct Lowering {
    pub builder: Builder,
    pub registers: Vec<Register>,
    pub shape: Shape,
}

/// The number that some bits of an index form, the first the lowest.
fn number(bits: &[Bit], index: usize) -> usize {
    bits.iter().enumerate().fold(0, |number, (at, &bit)| number | (index >> bit & 1) << at)
}

/// The index in which some bits have the values of a number's.
fn spread(bits: &[Bit], number: usize) -> usize {
    bits.iter().enumerate().fold(0, |index, (at, &bit)| index | (number >> at & 1) << bit)
}

impl Lowering {
    /// Emits a move; false for one that is not between arrangements or not possible.
    pub(super) fn emit(&mut self, step: &Move) -> bool {
        match *step {
            Move::Local { from, to } => self.local(from, to),
            Move::Exchange { from, to, whole } if self.shape.registers > 0 => self.exchange(from, to, whole),
            Move::Exchange { from, to, .. } => self.exchange_single(from, to),
            Move::Together { from, to } => self.together(from, to),
            Move::Lanes { from, to } => {
                let map = lane_map(from, to, self.shape, &[]);
                moves::lane_map(&mut self.builder, &mut self.registers, map);
                true
            }
            Move::MoveMatrix { .. } => {
                moves::movmatrix(&mut self.builder, &mut self.registers);
                true
            }
            Move::Offset { lanes, parts } => {
                self.offset(lanes, parts);
                true
            }
            _ => false,
        }
    }

    fn offset(&mut self, lanes: u8, parts: u8) {
        let bytes = 4 >> self.shape.parts;
        let mask = u16::from(parts) * bytes;
        let selector = (0..4).fold(0, |packed, byte: u16| packed | (byte ^ mask) << (4 * byte));
        for register in &mut self.registers {
            let shuffled = self.builder.shuffle_xor(*register, lanes);
            *register = self.builder.permute(shuffled, shuffled, Selector::Constant(selector));
        }
    }

    fn local(&mut self, from: Arrangement, to: Arrangement) -> bool {
        let shape = self.shape;
        let (parts, new_parts) = (from.parts(shape), to.parts(shape));
        let (bits, new_bits) = (from.registers(shape), to.registers(shape));
        let bytes = 4 >> shape.parts;
        let before = self.registers.clone();
        for (new, register) in self.registers.iter_mut().enumerate() {
            let places: Vec<(usize, usize)> = (0..1 << shape.parts)
                .map(|part| {
                    let index = spread(&new_parts, part) | spread(&new_bits, new);
                    (number(&bits, index), number(&parts, index))
                })
                .collect();
            let first = places[0].0;
            let other = places.iter().map(|place| place.0).find(|&place| place != first).unwrap_or(first);
            let selector = places.iter().enumerate().fold(0u16, |packed, (part, place)| {
                let base = if place.0 == first { 0 } else { 4 };
                (0..bytes).fold(packed, |packed, byte| {
                    packed | ((base + place.1 * bytes + byte) as u16) << (4 * (part * bytes + byte))
                })
            });
            *register = self.builder.permute(before[first], before[other], Selector::Constant(selector));
        }
        true
    }

    fn exchange(&mut self, from: Arrangement, to: Arrangement, whole: bool) -> bool {
        let shape = self.shape;
        let Some(group) = Group::new(from, to, shape) else { return false };
        let in_place = group.in_place(shape);
        let Some(pair) = Pair::new(&group, shape, !in_place, whole) else { return false };
        let slot = |of: Arrangement, bit: Bit| of.slot(bit, shape).map(|slot| slot - shape.parts);
        let (Some(before), Some(after)) = (slot(from, group.lanes[0]), slot(to, group.lanes[1])) else { return false };
        let (flag, new_flag) = (LaneFlag { mask: 1 << before }, LaneFlag { mask: 1 << after });
        let stay = lane_map(from, to, shape, &[(group.lanes[0], group.lanes[1])]);
        let go = LaneMap { offset: stay.offset ^ 1 << before, ..stay };
        let (bits, new_bits) = (from.registers(shape), to.registers(shape));
        let others: Vec<Bit> = bits.iter().copied().filter(|&bit| bit != group.registers[0]).collect();
        let old = self.registers.clone();
        let builder = &mut self.builder;
        for rest in 0..1 << others.len() {
            let rest = spread(&others, rest);
            let input = [0, 1].map(|value| old[number(&bits, rest | value << group.registers[0])]);
            let inputs = |source| match source {
                Source::Input(which) => input[which],
                _ => input[0],
            };
            let received = match &pair.send {
                Some(send) => {
                    let sent = send.emit(builder, flag, inputs);
                    [builder.shuffle_index(sent, go); 2]
                }
                None => input.map(|register| builder.shuffle_index(register, go)),
            };
            let kept = pair.kept.as_ref().map(|kept| kept.emit(builder, flag, inputs));
            let kept = match kept {
                Some(kept) => builder.shuffle_index(kept, stay),
                None => input[0],
            };
            let registers = |source| match source {
                Source::Input(which) => input[which],
                Source::Kept => kept,
                Source::Received(which) => received[which],
            };
            for (value, out) in pair.out.iter().enumerate() {
                let place = number(&new_bits, rest | value << group.registers[1]);
                self.registers[place] = out.emit(builder, new_flag, registers);
            }
        }
        true
    }

    /// An exchange between the parts of a single register and a lane bit.
    fn exchange_single(&mut self, from: Arrangement, to: Arrangement) -> bool {
        let shape = self.shape;
        let (lanes, new_lanes) = (from.lanes(shape), to.lanes(shape));
        let Some(lane) = (0..LANE_BITS).find(|&lane| lanes[lane] != new_lanes[lane]) else { return false };
        let (parts, new_parts) = (from.parts(shape), to.parts(shape));
        let places = [0, 1].map(|flag: usize| {
            (0..1 << shape.parts)
                .map(|part| {
                    let index = spread(&new_parts, part) | flag << new_lanes[lane];
                    let stays = index >> lanes[lane] & 1 == flag;
                    let source = if stays { Source::Input(0) } else { Source::Received(0) };
                    Some((source, number(&parts, index)))
                })
                .collect::<Vec<_>>()
        });
        let Some(operation) = Operation::new(&places) else { return false };
        let own = self.registers[0];
        let received = self.builder.shuffle_xor(own, 1 << lane);
        let register = |source| if source == Source::Input(0) { own } else { received };
        self.registers[0] = operation.emit(&mut self.builder, LaneFlag { mask: 1 << lane }, register);
        true
    }

    fn together(&mut self, from: Arrangement, to: Arrangement) -> bool {
        let shape = self.shape;
        let (bits, new_bits) = (from.registers(shape), to.registers(shape));
        let pairs: Vec<(Bit, Bit)> = if permutes_lanes(from, to, shape) {
            entering(to, from, shape).into_iter().zip(entering(from, to, shape)).collect()
        } else {
            let slots = from.lanes(shape).into_iter().zip(to.lanes(shape));
            slots.filter(|(before, after)| before != after).collect()
        };
        let position = |bit: Bit| bits.iter().position(|&each| each == bit);
        let slot = |of: Arrangement, bit: Bit| of.slot(bit, shape).map(|slot| slot - shape.parts);
        let mut places = Vec::new();
        for &(leaves, enters) in &pairs {
            match (slot(from, leaves), slot(to, enters), position(enters)) {
                (Some(before), Some(after), Some(at)) => places.push((before, after, at)),
                _ => return false,
            }
        }
        for &(before, _, at) in &places {
            moves::select_xor(&mut self.builder, &mut self.registers, LaneFlag { mask: 1 << before }, 1 << at);
        }
        let map = lane_map(from, to, shape, &pairs);
        for (index, register) in self.registers.iter_mut().enumerate() {
            let offset = places.iter().fold(0, |offset, &(before, _, at)| offset | (index as u32 >> at & 1) << before);
            *register = self.builder.shuffle_index(*register, LaneMap { offset, ..map });
        }
        for &(_, after, at) in &places {
            moves::select_xor(&mut self.builder, &mut self.registers, LaneFlag { mask: 1 << after }, 1 << at);
        }
        // Register bits that held what entered hold now what left.
        let held: Vec<Bit> =
            bits.iter().map(|&bit| pairs.iter().find(|pair| pair.1 == bit).map_or(bit, |pair| pair.0)).collect();
        let before = self.registers.clone();
        for (index, register) in self.registers.iter_mut().enumerate() {
            *register = before[number(&held, spread(&new_bits, index))];
        }
        true
    }
}

/// The lane from which each lane gets a register: bits that stay in the lanes are followed to their slots, and in the
/// slot of a bit that leaves stands the one that enters with it.
fn lane_map(from: Arrangement, to: Arrangement, shape: Shape, pairs: &[(Bit, Bit)]) -> LaneMap {
    let (before, after) = (from.lanes(shape), to.lanes(shape));
    let mut map = LaneMap { columns: [0; LANE_BITS], offset: 0 };
    for (slot, &bit) in before.iter().enumerate() {
        let bit = pairs.iter().find(|pair| pair.0 == bit).map_or(bit, |pair| pair.1);
        if let Some(to) = after.iter().position(|&each| each == bit) {
            map.columns[to] |= 1 << slot;
        }
    }
    map
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)] // helpers of tests, outside the test functions themselves
mod tests {
    use super::Lowering;
    use crate::plan::{Arrangement, Bit, Costs, LANE_BITS, Move, Shape, neighbours, permuting};
    use crate::program::Builder;
    use crate::{Layout, Name, Space};

    fn layout(of: Arrangement, shape: Shape) -> Layout {
        let stems = [("b", shape.parts), ("t", LANE_BITS), ("r", shape.registers)];
        let names = stems.into_iter().flat_map(|(stem, count)| (0..count).map(move |at| (stem, at)));
        let physical =
            names.fold(Space::new(), |space, (stem, at)| space.with(Name::numbered(stem, at).unwrap()).unwrap());
        let logical =
            (0..shape.bits()).fold(Space::new(), |space, at| space.with(Name::numbered("n", at).unwrap()).unwrap());
        let columns: Vec<u64> = (0..shape.bits()).map(|slot| 1 << of.get(slot)).collect();
        Layout::from_columns(physical, logical, &columns).unwrap()
    }

    fn emitted(step: &Move, shape: Shape) {
        let (from, to) = step.arrangements().unwrap();
        let builder = Builder::new(shape.register_count());
        let registers = builder.inputs();
        let mut lowering = Lowering { builder, registers, shape };
        assert!(lowering.emit(step), "{step:?}");
        let program = lowering.builder.finish(&lowering.registers);
        program.check(&layout(from, shape), &layout(to, shape)).unwrap_or_else(|error| panic!("{step:?}: {error}"));
        assert_eq!(Some(program.counts()), step.counts(shape), "{step:?}");
    }

    #[test]
    fn every_move_converts_and_has_the_instructions_that_it_says() {
        // Rates that make each kind of move the cheapest of its arrangement somewhere.
        let mut dear = Costs::NOTE;
        dear.rates.shuffle = 100.0;
        let mut cheap = Costs::NOTE;
        cheap.rates.shuffle = 0.01;
        for (parts, registers) in [(0, 0), (0, 3), (1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (2, 2)] {
            let shape = Shape { parts, registers };
            // Bits in no order, so that the renaming of registers shows.
            let bits: Vec<Bit> = (0..shape.bits()).map(|at| (at * 7 % shape.bits()) as Bit).collect();
            let bits = if shape.bits() == 7 { vec![3, 0, 6, 2, 5, 1, 4] } else { bits };
            let lanes = std::array::from_fn(|lane| bits[parts + lane]);
            let from = Arrangement::new(&bits[..parts], lanes, &bits[shape.first_register()..]);
            let mut found = Vec::new();
            for costs in [Costs::NOTE, dear, cheap] {
                neighbours(from, shape, &costs, &mut found);
                for (to, step, _) in &found {
                    emitted(step, shape);
                    // The same with the lanes permuted.
                    let mut turned = to.lanes(shape);
                    turned.rotate_left(2);
                    let to = Arrangement::new(&to.parts(shape), turned, &to.registers(shape));
                    if let Some((step, _)) = permuting(from, to, shape, &costs) {
                        emitted(&step, shape);
                    }
                }
            }
        }
    }
}
