//! The builder of programs: hands out registers and drops what is superfluous.

use std::collections::HashMap;

use super::{Instruction, LaneFlag, LaneMap, Program, Register, Selector};

/// Makes a [`Program`] instruction by instruction.
///
/// Each method gives the register that holds its result. That is not always a new one: an instruction that was given
/// before is not repeated, moves that change nothing are left out, and chains of permutes, of shuffles, of selects by
/// one flag, and pairs of `movmatrix` become one instruction where one does. [`finish`](Self::finish) drops what no
/// output needs. A program never gets longer by any of this.
///
/// Operands must be registers that this builder gave; [`Program::validate`] tells if they are not.
#[derive(Debug, Clone)]
pub struct Builder {
    inputs: usize,
    instructions: Vec<Instruction>,
    /// The instruction that writes each register beyond the inputs.
    writers: Vec<usize>,
    /// Registers of pure instructions, by the instruction with result 0.
    known: HashMap<Instruction, Register>,
    shared_bytes: u32,
}

impl Builder {
    /// A program whose first `inputs` registers hold the array before.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, instructions: Vec::new(), writers: Vec::new(), known: HashMap::new(), shared_bytes: 0 }
    }

    /// The registers that hold the array before.
    pub fn inputs(&self) -> Vec<Register> {
        (0..self.inputs as Register).collect()
    }

    /// `flag ? one : zero`.
    pub fn select(&mut self, flag: LaneFlag, zero: Register, one: Register) -> Register {
        // Where an operand is itself chosen by the flag, only one of its two sources can come through.
        let side = |builder: &Self, register, set: bool| match builder.writer(register) {
            Some(&Instruction::Select { flag: inner, zero, one, .. }) if inner == flag => {
                if set {
                    one
                } else {
                    zero
                }
            }
            _ => register,
        };
        let (zero, one) = (side(self, zero, false), side(self, one, true));
        if zero == one || flag.mask == 0 {
            return zero;
        }
        self.pure(Instruction::Select { d: 0, flag, zero, one })
    }

    /// Bytes of `a` and `b`.
    pub fn permute(&mut self, a: Register, b: Register, selector: Selector) -> Register {
        let (flag, zero, one) = match selector {
            Selector::Constant(bytes) => (None, bytes, bytes),
            Selector::ByLane { flag, zero, one } if flag.mask != 0 && zero != one => (Some(flag), zero, one),
            Selector::ByLane { zero, .. } => (None, zero, zero),
        };
        let direct = |bytes: u16| {
            std::array::from_fn(|i| {
                let byte = bytes >> (4 * i) & 0xf;
                (if byte & 4 == 0 { a } else { b }, byte & !4)
            })
        };
        let through = |bytes: [(Register, u16); 4]| bytes.map(|(register, byte)| self.origin(register, byte));
        let (zero, one): ([_; 4], [_; 4]) = (direct(zero), direct(one));
        let resolved = (through(zero), through(one));
        let (zero, one) = if operands(&resolved.0, &resolved.1).is_some() { resolved } else { (zero, one) };
        let (a, b) = operands(&zero, &one).unwrap_or((a, b));
        let pack = |bytes: &[(Register, u16); 4]| {
            bytes
                .iter()
                .rev()
                .fold(0, |packed, &(register, byte)| packed << 4 | byte | if register == a { 0 } else { 4 })
        };
        let (zero, one) = (pack(&zero), pack(&one));
        let selector = match flag {
            Some(flag) if zero != one => Selector::ByLane { flag, zero, one },
            _ if zero == 0x3210 => return a,
            _ => Selector::Constant(zero),
        };
        self.pure(Instruction::Permute { d: 0, a, b, selector })
    }

    /// `a` of lane `lane ^ mask`.
    pub fn shuffle_xor(&mut self, a: Register, mask: u8) -> Register {
        self.shuffle_index(a, LaneMap { columns: [1, 2, 4, 8, 16], offset: mask.into() })
    }

    /// `a` of lane `source(lane)`.
    pub fn shuffle_index(&mut self, a: Register, source: LaneMap) -> Register {
        let (a, source) = match self.writer(a) {
            Some(&Instruction::ShuffleXor { a, mask, .. }) => {
                (a, LaneMap { offset: source.offset ^ u32::from(mask), ..source })
            }
            Some(&Instruction::ShuffleIndex { a, source: inner, .. }) => (a, inner.after(&source)),
            _ => (a, source),
        };
        if !source.is_exchange() {
            return self.pure(Instruction::ShuffleIndex { d: 0, a, source });
        }
        match source.offset {
            0 => a,
            mask => self.pure(Instruction::ShuffleXor { d: 0, a, mask: mask as u8 }),
        }
    }

    /// The 8 x 8 matrix of 16-bit elements that `a` holds, transposed.
    pub fn move_matrix(&mut self, a: Register) -> Register {
        match self.writer(a) {
            Some(&Instruction::MoveMatrix { a, .. }) => a,
            _ => self.pure(Instruction::MoveMatrix { d: 0, a }),
        }
    }

    /// Stores 1, 2 or 4 registers at consecutive words of shared memory.
    pub fn store(&mut self, address: LaneMap, values: &[Register]) {
        self.reserve(&address, 32, 4 * values.len() as u32);
        self.instructions.push(Instruction::StoreShared { address, values: values.to_vec() });
    }

    /// Loads 1, 2 or 4 registers from consecutive words of shared memory.
    pub fn load(&mut self, address: LaneMap, words: usize) -> Vec<Register> {
        self.reserve(&address, 32, 4 * words as u32);
        let d = self.fresh(words);
        self.instructions.push(Instruction::LoadShared { d: d.clone(), address });
        d
    }

    /// Stores 1, 2 or 4 matrices.
    pub fn store_matrix(&mut self, row: LaneMap, values: &[Register], transposed: bool) {
        self.reserve(&row, 8 * values.len() as u32, 16);
        self.instructions.push(Instruction::StoreMatrix { row, values: values.to_vec(), transposed });
    }

    /// Loads 1, 2 or 4 matrices.
    pub fn load_matrix(&mut self, row: LaneMap, matrices: usize, transposed: bool) -> Vec<Register> {
        self.reserve(&row, 8 * matrices as u32, 16);
        let d = self.fresh(matrices);
        self.instructions.push(Instruction::LoadMatrix { d: d.clone(), row, transposed });
        d
    }

    /// Orders the stores and loads of shared memory before it and behind it.
    pub fn barrier(&mut self) {
        let last = self.instructions.iter().rev().find(|each| each.memory() || **each == Instruction::WarpBarrier);
        if last.is_some_and(Instruction::memory) {
            self.instructions.push(Instruction::WarpBarrier);
        }
    }

    /// The program with these registers as its result, without the instructions that nothing needs.
    pub fn finish(self, outputs: &[Register]) -> Program {
        let mut live = vec![false; self.inputs + self.writers.len()];
        let mark = |live: &mut Vec<bool>, register: Register| {
            if let Some(live) = live.get_mut(register as usize) {
                *live = true;
            }
        };
        outputs.iter().for_each(|&register| mark(&mut live, register));
        // Backwards: stores and barriers are needed by the loads behind them.
        let (mut kept, mut loads) = (Vec::new(), false);
        for instruction in self.instructions.into_iter().rev() {
            let results = instruction.results();
            let needed = match &instruction {
                Instruction::StoreShared { .. } | Instruction::StoreMatrix { .. } | Instruction::WarpBarrier => loads,
                _ => results.iter().any(|&register| live.get(register as usize) == Some(&true)),
            };
            if needed {
                loads |= instruction.memory() && !results.is_empty();
                instruction.operands().into_iter().for_each(|register| mark(&mut live, register));
                kept.push(instruction);
            }
        }
        kept.reverse();
        // Nothing can have been stored before the first memory instruction.
        if let Some(first) = kept.iter().position(Instruction::memory) {
            let mut at = 0;
            kept.retain(|each| {
                at += 1;
                at > first || *each != Instruction::WarpBarrier
            });
        }
        let mut program = Program {
            inputs: self.inputs,
            shared_bytes: if loads { self.shared_bytes } else { 0 },
            instructions: kept,
            outputs: outputs.to_vec(),
        };
        program.renumber();
        program
    }

    /// The instruction that writes a register.
    fn writer(&self, register: Register) -> Option<&Instruction> {
        let index = (register as usize).checked_sub(self.inputs)?;
        self.instructions.get(*self.writers.get(index)?)
    }

    /// Where a byte of a register comes from, through constant permutes.
    fn origin(&self, register: Register, byte: u16) -> (Register, u16) {
        let (mut register, mut byte) = (register, byte);
        while let Some(&Instruction::Permute { a, b, selector: Selector::Constant(bytes), .. }) = self.writer(register)
        {
            if byte > 3 {
                break;
            }
            let source = bytes >> (4 * byte) & 0xf;
            (register, byte) = (if source & 4 == 0 { a } else { b }, source & !4);
        }
        (register, byte)
    }

    /// Registers for the results of the next instruction.
    fn fresh(&mut self, count: usize) -> Vec<Register> {
        let first = (self.inputs + self.writers.len()) as Register;
        self.writers.resize(self.writers.len() + count, self.instructions.len());
        (first..first + count as Register).collect()
    }

    /// The register of an instruction without side effect, its result 0 so far.
    fn pure(&mut self, mut instruction: Instruction) -> Register {
        if let Some(&register) = self.known.get(&instruction) {
            return register;
        }
        let register = self.fresh(1)[0];
        self.known.insert(instruction.clone(), register);
        instruction.rename(|operand| operand, |_| register);
        self.instructions.push(instruction);
        register
    }

    fn reserve(&mut self, address: &LaneMap, lanes: u32, bytes: u32) {
        let end = (0..lanes.min(32)).map(|lane| address.at(lane).saturating_add(bytes)).max();
        self.shared_bytes = self.shared_bytes.max(end.unwrap_or(0));
    }
}

/// The one or two registers that bytes come from, the first byte's first; none if there are more.
fn operands(zero: &[(Register, u16); 4], one: &[(Register, u16); 4]) -> Option<(Register, Register)> {
    let a = zero[0].0;
    let mut others = zero.iter().chain(one).map(|byte| byte.0).filter(|&register| register != a);
    let Some(b) = others.next() else { return Some((a, a)) };
    others.all(|register| register == b).then_some((a, b))
}
