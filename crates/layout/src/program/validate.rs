//! The rules that a program must keep whatever it computes.

use super::{Instruction, LaneFlag, Program, ProgramError, Selector};

impl Program {
    /// Checks that every register is written once and before it is read, that flags, selectors and source lanes exist,
    /// and that accesses to shared memory are aligned and inside it. What depends on the order of accesses, the run
    /// checks.
    ///
    /// # Errors
    /// [`ProgramError`], naming the instruction.
    pub fn validate(&self) -> Result<(), ProgramError> {
        let mut written = vec![false; self.registers()];
        written.iter_mut().take(self.inputs).for_each(|written| *written = true);
        for (index, instruction) in self.instructions.iter().enumerate() {
            for register in instruction.operands() {
                if written.get(register as usize) != Some(&true) {
                    return Err(ProgramError::Undefined { instruction: index, register });
                }
            }
            check(index, instruction, self.shared_bytes)?;
            for register in instruction.results() {
                if std::mem::replace(&mut written[register as usize], true) {
                    return Err(ProgramError::Twice { instruction: index, register });
                }
            }
        }
        match self.outputs.iter().find(|&&register| written.get(register as usize) != Some(&true)) {
            Some(&register) => Err(ProgramError::Undefined { instruction: self.instructions.len(), register }),
            None => Ok(()),
        }
    }
}

fn check(index: usize, instruction: &Instruction, shared_bytes: u32) -> Result<(), ProgramError> {
    let flagged = |flag: &LaneFlag| {
        let mask = flag.mask;
        if mask < 32 { Ok(()) } else { Err(ProgramError::Flag { instruction: index, mask }) }
    };
    let bytes = |selector: u16| {
        if selector & 0x8888 == 0 { Ok(()) } else { Err(ProgramError::Selector { instruction: index, selector }) }
    };
    match instruction {
        Instruction::Select { flag, .. } => flagged(flag),
        Instruction::Permute { selector: Selector::Constant(selector), .. } => bytes(*selector),
        Instruction::Permute { selector: Selector::ByLane { flag, zero, one }, .. } => {
            flagged(flag).and(bytes(*zero)).and(bytes(*one))
        }
        Instruction::ShuffleXor { mask, .. } if *mask >= 32 => {
            Err(ProgramError::Lane { instruction: index, lane: 0, source_lane: u32::from(*mask) })
        }
        Instruction::ShuffleIndex { source, .. } => match (0..32).find(|&lane| source.at(lane) >= 32) {
            Some(lane) => Err(ProgramError::Lane { instruction: index, lane, source_lane: source.at(lane) }),
            None => Ok(()),
        },
        Instruction::StoreShared { address, values } => {
            access(index, address, values.len(), 4 * values.len() as u32, 32, shared_bytes)
        }
        Instruction::LoadShared { d, address } => access(index, address, d.len(), 4 * d.len() as u32, 32, shared_bytes),
        Instruction::StoreMatrix { row, values, .. } => {
            access(index, row, values.len(), 16, 8 * values.len() as u32, shared_bytes)
        }
        Instruction::LoadMatrix { row, d, .. } => access(index, row, d.len(), 16, 8 * d.len() as u32, shared_bytes),
        Instruction::ShuffleXor { .. } | Instruction::MoveMatrix { .. } | Instruction::WarpBarrier => Ok(()),
    }
}

/// Width, alignment and bounds of an access by the first `lanes` lanes.
fn access(
    instruction: usize,
    map: &super::LaneMap,
    width: usize,
    bytes: u32,
    lanes: u32,
    shared_bytes: u32,
) -> Result<(), ProgramError> {
    if ![1, 2, 4].contains(&width) {
        return Err(ProgramError::Width { instruction, actual: width });
    }
    for lane in 0..lanes {
        let address = map.at(lane);
        if !address.is_multiple_of(bytes) {
            return Err(ProgramError::Misaligned { instruction, lane, address, bytes });
        }
        if address.checked_add(bytes).is_none_or(|end| end > shared_bytes) {
            return Err(ProgramError::OutOfBounds { instruction, lane, address, bytes, shared_bytes });
        }
    }
    Ok(())
}
