//! The programs of layers, on the lanes and parts of a warp that stand for those of a machine.

use crate::program::{Builder, LaneFlag, LaneMap, Register, Selector};

use super::machine::{BITS, Bytes, Layer, Machine, Matrix, Operand, Step, apply, operation, product};

/// Where the bits of a machine are in a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Which bit of a byte's index in a register is the part.
    pub(super) byte: usize,
    /// The lane bits, in order.
    pub(super) lanes: [usize; BITS],
}

impl Frame {
    /// Between two `movmatrix`, where the half and the lane bits have changed places; none if a part remains a part.
    pub(super) fn between(&self, machine: Machine) -> Option<Self> {
        let mut lanes = [0; BITS];
        let before = [0].into_iter().take(machine.parts).chain(self.lanes[..machine.lanes].iter().map(|lane| lane + 1));
        for (to, slot) in lanes.iter_mut().zip(before) {
            *to = ((slot + 3) % 6usize).checked_sub(1)?;
        }
        Some(Self { byte: self.byte, lanes })
    }

    /// A vector of the machine's lanes as one of the warp's.
    fn spread(&self, machine: &Machine, lanes: u8) -> u8 {
        let set = self.lanes[..machine.lanes].iter().enumerate().filter(|(bit, _)| lanes >> bit & 1 == 1);
        set.fold(0, |sum, (_, lane)| sum | 1 << lane)
    }
}

impl Machine {
    /// The registers of a map after the steps of a way to it.
    pub(super) fn emit(
        &self,
        builder: &mut Builder,
        inputs: &[Register],
        way: &[(Matrix, Option<Step>)],
        map: &Matrix,
        frame: Frame,
    ) -> Option<Vec<Register>> {
        let start = self.renamed(super::machine::IDENTITY);
        let mut registers = self.in_order(inputs, &super::machine::IDENTITY, &start)?;
        let mut between = false;
        for (before, step) in way {
            let Some(step) = step else {
                registers = registers.iter().map(|&register| builder.move_matrix(register)).collect();
                between = !between;
                continue;
            };
            let (machine, frame) = if between { (self.between(), frame.between(*self)?) } else { (*self, frame) };
            let [pack, shuffle, put] = &step.stages;
            let layer = machine.layer([pack, shuffle, put], step.shuffled);
            let outputs = machine.emit_layer(builder, &registers, &layer, shuffle, frame)?;
            let held = product(before, &step.map);
            registers = self.in_order(&outputs, &held, &self.renamed(held))?;
        }
        self.in_order(&registers, &self.renamed(*map), map)
    }

    fn emit_layer(
        &self,
        builder: &mut Builder,
        inputs: &[Register],
        layer: &Layer,
        shuffle: &Matrix,
        frame: Frame,
    ) -> Option<Vec<Register>> {
        let lanes = |register: u8, offset: Option<u8>| {
            let mut columns = [1, 2, 4, 8, 16];
            for bit in 0..self.lanes {
                columns[frame.lanes[bit]] = frame.spread(self, self.place(shuffle[self.parts + bit]).1).into();
            }
            let offset = offset.unwrap_or_else(|| self.source(shuffle, (0, 0, register)).1);
            LaneMap { columns, offset: frame.spread(self, offset).into() }
        };
        let input = |_: &mut Builder, operand| match operand {
            Operand::Input(at) => Some(inputs[at as usize]),
            // Packed registers are of inputs.
            _ => None,
        };
        let packed = |builder: &mut Builder, at: u8| self.put(builder, &layer.packed[at as usize], frame, &input);
        let operand = |builder: &mut Builder, operand| match operand {
            Operand::Input(at) => Some(inputs[at as usize]),
            Operand::Packed(at) => packed(builder, at),
            Operand::Shuffled(at) => {
                let packed = packed(builder, at)?;
                Some(builder.shuffle_index(packed, lanes(at, None)))
            }
            Operand::ShuffledInput(at, offset) => {
                Some(builder.shuffle_index(inputs[at as usize], lanes(0, Some(offset))))
            }
        };
        layer.outputs.iter().map(|bytes| self.put(builder, bytes, frame, &operand)).collect()
    }

    /// One select or permute that makes a register of these bytes, or a copy.
    fn put(
        &self,
        builder: &mut Builder,
        bytes: &Bytes,
        frame: Frame,
        of: &dyn Fn(&mut Builder, Operand) -> Option<Register>,
    ) -> Option<Register> {
        let (operands, flag) = operation(bytes)?;
        let registers = operands.iter().map(|&operand| of(builder, operand)).collect::<Option<Vec<Register>>>()?;
        let (&a, &b) = (registers.first()?, registers.last()?);
        let one = (0..bytes.len()).find(|&lane| (lane as u8 & flag).count_ones() & 1 == 1).unwrap_or(0);
        let selectors = [0, one].map(|lane| {
            (0..4usize).fold(0u16, |packed, byte| {
                // Without parts, and for the other bit of the byte's index, bytes stay where they are.
                let (at, mask) = if self.parts == 1 { (byte >> frame.byte & 1, 1 << frame.byte) } else { (0, 0) };
                let (operand, part) = bytes[lane][at];
                let base = if operand == operands[0] { 0 } else { 4 };
                packed | ((base + (byte & !mask | (usize::from(part) << frame.byte & mask))) as u16) << (4 * byte)
            })
        });
        let flag = LaneFlag { mask: frame.spread(self, flag) };
        Some(match selectors {
            [0x3210, 0x3210] => a,
            [0x3210, 0x7654] => builder.select(flag, a, b),
            [0x7654, 0x3210] => builder.select(flag, b, a),
            [zero, one] => builder.permute(a, b, Selector::ByLane { flag, zero, one }),
        })
    }

    /// The registers of one map in the order of another that differs in the names of registers only.
    fn in_order(&self, registers: &[Register], held: &Matrix, wanted: &Matrix) -> Option<Vec<Register>> {
        let vector = |map: &Matrix, register: u8| apply(map, self.index((0, 0, register)));
        (0..self.register_count())
            .map(|to| {
                let from = (0..self.register_count()).find(|&from| vector(held, from) == vector(wanted, to))?;
                registers.get(from as usize).copied()
            })
            .collect()
    }
}
