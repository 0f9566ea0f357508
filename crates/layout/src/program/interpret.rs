//! Execution of programs on the host, lane by lane, with checks of shared memory.

use super::{Instruction, LaneMap, Program, ProgramError, Selector};

/// What the 32 lanes of a warp hold in one register.
pub type Lanes = [u32; 32];

impl Program {
    /// Executes the program: what every lane holds afterwards, from what it held before.
    ///
    /// `before` has one entry a register of the array, the result one an output.
    ///
    /// # Errors
    /// [`ProgramError`]: what [`validate`](Self::validate) finds, another number of registers than
    /// [`inputs`](Self::inputs), loads of shared
    /// memory that nothing has stored, and races: accesses of two lanes to one word, one of them a store, with no
    /// barrier between.
    pub fn run(&self, before: &[Lanes]) -> Result<Vec<Lanes>, ProgramError> {
        self.validate()?;
        if before.len() != self.inputs {
            return Err(ProgramError::Inputs { expected: self.inputs, actual: before.len() });
        }
        let mut registers = before.to_vec();
        registers.resize(self.registers(), [0; 32]);
        let mut shared = SharedMemory::new(self.shared_bytes);
        for (index, instruction) in self.instructions.iter().enumerate() {
            execute(index, instruction, &mut registers, &mut shared)?;
        }
        Ok(self.outputs.iter().map(|&register| registers[register as usize]).collect())
    }
}

/// One instruction of a valid program.
fn execute(
    index: usize,
    instruction: &Instruction,
    registers: &mut [Lanes],
    shared: &mut SharedMemory,
) -> Result<(), ProgramError> {
    let of = |registers: &[Lanes], register: u32| registers[register as usize];
    let each = |value: &dyn Fn(usize) -> u32| std::array::from_fn::<u32, 32, _>(value);
    match instruction {
        Instruction::Select { d, flag, zero, one } => {
            let (zero, one) = (of(registers, *zero), of(registers, *one));
            registers[*d as usize] = each(&|lane| if flag.at(lane as u32) { one[lane] } else { zero[lane] });
        }
        Instruction::Permute { d, a, b, selector } => {
            let (a, b) = (of(registers, *a), of(registers, *b));
            registers[*d as usize] = each(&|lane| permute(a[lane], b[lane], selector_at(selector, lane as u32)));
        }
        Instruction::ShuffleXor { d, a, mask } => {
            let a = of(registers, *a);
            registers[*d as usize] = each(&|lane| a[lane ^ usize::from(*mask)]);
        }
        Instruction::ShuffleIndex { d, a, source } => {
            let a = of(registers, *a);
            registers[*d as usize] = each(&|lane| a[source.at(lane as u32) as usize]);
        }
        Instruction::MoveMatrix { d, a } => registers[*d as usize] = transpose(&of(registers, *a)),
        Instruction::StoreShared { address, values } => {
            for lane in 0..32 {
                for (word, &value) in (0..).zip(values) {
                    let value = of(registers, value)[lane as usize];
                    shared.store(index, lane, address.at(lane) + 4 * word, value)?;
                }
            }
        }
        Instruction::LoadShared { d, address } => {
            for lane in 0..32 {
                for (word, &d) in (0..).zip(d) {
                    registers[d as usize][lane as usize] = shared.load(index, lane, address.at(lane) + 4 * word)?;
                }
            }
        }
        Instruction::StoreMatrix { row, values, transposed } => {
            for (matrix, &value) in (0..).zip(values) {
                let value = of(registers, value);
                let value = if *transposed { transpose(&value) } else { value };
                for lane in 0..32 {
                    shared.store(index, lane, in_row(row, matrix, lane), value[lane as usize])?;
                }
            }
        }
        Instruction::LoadMatrix { d, row, transposed } => {
            for (matrix, &d) in (0..).zip(d) {
                let mut value = [0; 32];
                for lane in 0..32 {
                    value[lane as usize] = shared.load(index, lane, in_row(row, matrix, lane))?;
                }
                registers[d as usize] = if *transposed { transpose(&value) } else { value };
            }
        }
        Instruction::WarpBarrier => shared.order(),
    }
    Ok(())
}

fn selector_at(selector: &Selector, lane: u32) -> u16 {
    match selector {
        Selector::Constant(bytes) => *bytes,
        Selector::ByLane { flag, zero, one } => {
            if flag.at(lane) {
                *one
            } else {
                *zero
            }
        }
    }
}

/// `prmt.b32`.
fn permute(a: u32, b: u32, selector: u16) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| (bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) as u32;
    (0..4).fold(0, |d, i| d | byte(i) << (8 * i))
}

/// Rows and columns of an 8 x 8 matrix of 16-bit elements exchanged: lane `l` holds row `l / 4`, columns `2 (l % 4)`
/// and the next.
fn transpose(a: &Lanes) -> Lanes {
    let element = |row: usize, column: usize| a[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

/// Where the part of a matrix that a lane holds lies: lane `8 matrix + i` gives the address of row `i`.
fn in_row(row: &LaneMap, matrix: u32, lane: u32) -> u32 {
    row.at(8 * matrix + lane / 4) + 4 * (lane % 4)
}

/// A word of shared memory, and who used it since the last barrier.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    value: Option<u32>,
    stored_by: Option<u32>,
    /// Mask of lanes.
    loaded_by: u32,
}

/// The warp's shared memory.
struct SharedMemory {
    words: Vec<Word>,
}

impl SharedMemory {
    fn new(bytes: u32) -> Self {
        Self { words: vec![Word::default(); bytes.div_ceil(4) as usize] }
    }

    fn load(&mut self, instruction: usize, lane: u32, address: u32) -> Result<u32, ProgramError> {
        let word = &mut self.words[address as usize / 4];
        let Some(value) = word.value else { return Err(ProgramError::Uninitialised { instruction, lane, address }) };
        if let Some(other) = word.stored_by.filter(|&other| other != lane) {
            return Err(ProgramError::Race { instruction, lane, other, address });
        }
        word.loaded_by |= 1 << lane;
        Ok(value)
    }

    fn store(&mut self, instruction: usize, lane: u32, address: u32, value: u32) -> Result<(), ProgramError> {
        let word = &mut self.words[address as usize / 4];
        let loaded = word.loaded_by & !(1 << lane);
        let loaded_by = (loaded != 0).then(|| loaded.trailing_zeros());
        if let Some(other) = word.stored_by.filter(|&other| other != lane).or(loaded_by) {
            return Err(ProgramError::Race { instruction, lane, other, address });
        }
        *word = Word { value: Some(value), stored_by: Some(lane), ..*word };
        Ok(())
    }

    /// A barrier: what came before is ordered.
    fn order(&mut self) {
        for word in &mut self.words {
            (word.stored_by, word.loaded_by) = (None, 0);
        }
    }
}
