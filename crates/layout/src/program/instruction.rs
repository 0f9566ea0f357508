//! What every instruction reads and writes, and maps of the lane index.

use super::{Instruction, LaneFlag, LaneMap, Program, Register};

impl LaneFlag {
    /// Whether the flag is set in a lane.
    pub const fn at(&self, lane: u32) -> bool {
        (lane & self.mask as u32).count_ones() % 2 == 1
    }
}

impl LaneMap {
    /// Every lane to itself.
    pub const IDENTITY: Self = Self { columns: [1, 2, 4, 8, 16], offset: 0 };

    /// The value of a lane.
    pub const fn at(&self, lane: u32) -> u32 {
        let (mut value, mut bit) = (self.offset, 0);
        while bit < 5 {
            value ^= self.columns[bit] & (lane >> bit & 1).wrapping_neg();
            bit += 1;
        }
        value
    }

    /// This map of what `inner` gives: `lane` to `self.at(inner.at(lane))`.
    pub const fn after(&self, inner: &Self) -> Self {
        let (mut columns, mut bit) = ([0; 5], 0);
        while bit < 5 {
            columns[bit] = self.at(inner.columns[bit]) ^ self.offset;
            bit += 1;
        }
        Self { columns, offset: self.at(inner.offset) }
    }

    /// Whether every lane goes to `lane ^ offset`.
    pub(crate) fn is_exchange(&self) -> bool {
        self.columns == Self::IDENTITY.columns
    }

    /// The bits in which lanes differ.
    pub(crate) fn varying(&self) -> u32 {
        self.columns.iter().fold(0, |bits, column| bits | column)
    }

    /// The part of the offset that is XORed with bits in which lanes differ: what no immediate offset can add.
    pub(crate) fn exchanged(&self) -> u32 {
        self.offset & self.varying()
    }
}

impl Instruction {
    /// The registers that it writes.
    pub fn results(&self) -> Vec<Register> {
        match self {
            Self::Select { d, .. }
            | Self::Permute { d, .. }
            | Self::ShuffleXor { d, .. }
            | Self::ShuffleIndex { d, .. }
            | Self::MoveMatrix { d, .. } => vec![*d],
            Self::LoadShared { d, .. } | Self::LoadMatrix { d, .. } => d.clone(),
            Self::StoreShared { .. } | Self::StoreMatrix { .. } | Self::WarpBarrier => Vec::new(),
        }
    }

    /// The registers that it reads.
    pub fn operands(&self) -> Vec<Register> {
        match self {
            Self::Select { zero, one, .. } => vec![*zero, *one],
            Self::Permute { a, b, .. } => vec![*a, *b],
            Self::ShuffleXor { a, .. } | Self::ShuffleIndex { a, .. } | Self::MoveMatrix { a, .. } => vec![*a],
            Self::StoreShared { values, .. } | Self::StoreMatrix { values, .. } => values.clone(),
            Self::LoadShared { .. } | Self::LoadMatrix { .. } | Self::WarpBarrier => Vec::new(),
        }
    }

    /// Whether it accesses shared memory.
    pub fn memory(&self) -> bool {
        self.address().is_some()
    }

    /// The addresses that it gives to shared memory.
    pub fn address(&self) -> Option<&LaneMap> {
        match self {
            Self::StoreShared { address, .. } | Self::LoadShared { address, .. } => Some(address),
            Self::StoreMatrix { row, .. } | Self::LoadMatrix { row, .. } => Some(row),
            _ => None,
        }
    }

    /// Changes every register to what `to` gives for it.
    pub(crate) fn rename(&mut self, to: impl Fn(Register) -> Register, result: impl Fn(Register) -> Register) {
        match self {
            Self::Select { d, zero, one, .. } => (*d, *zero, *one) = (result(*d), to(*zero), to(*one)),
            Self::Permute { d, a, b, .. } => (*d, *a, *b) = (result(*d), to(*a), to(*b)),
            Self::ShuffleXor { d, a, .. } | Self::ShuffleIndex { d, a, .. } | Self::MoveMatrix { d, a } => {
                (*d, *a) = (result(*d), to(*a));
            }
            Self::StoreShared { values, .. } | Self::StoreMatrix { values, .. } => {
                values.iter_mut().for_each(|value| *value = to(*value));
            }
            Self::LoadShared { d, .. } | Self::LoadMatrix { d, .. } => d.iter_mut().for_each(|d| *d = result(*d)),
            Self::WarpBarrier => {}
        }
    }
}

impl Program {
    /// One more than the highest register.
    pub fn registers(&self) -> usize {
        let written = self.instructions.iter().flat_map(Instruction::results).max();
        written.map_or(self.inputs, |last| self.inputs.max(last as usize + 1))
    }

    /// Numbers the registers in the order in which they are written.
    pub(crate) fn renumber(&mut self) {
        let mut numbers: Vec<Register> = (0..self.registers() as Register).collect();
        let results = self.instructions.iter().flat_map(Instruction::results);
        for (next, result) in (self.inputs as Register..).zip(results) {
            numbers[result as usize] = next;
        }
        let number = |register: Register| numbers.get(register as usize).copied().unwrap_or(register);
        self.instructions.iter_mut().for_each(|instruction| instruction.rename(number, number));
        self.outputs.iter_mut().for_each(|register| *register = number(*register));
    }
}
