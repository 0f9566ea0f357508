//! Programs: the instructions of a conversion, on virtual registers of 32 bits, the same for every lane of a warp.
//!
//! A [`Builder`] makes a program, the functions of [`moves`] lower whole moves into one. [`Program::counts`] and
//! [`Program::setup`] say what it costs, [`Program::run`] executes it, [`Program::check`] compares it with the
//! definition of the conversion, and [`Program::emit`] writes it as Rust.
//!
//! The note's last conversion, a local transpose (two permutes for each of eight pairs of registers):
//!
//! ```
//! use fringes_layout::layout;
//! use fringes_layout::program::{Builder, Emission, moves};
//!
//! let from = layout!("b<->q3  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 ReIm");
//! let to = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q4 q5 q6 q7 q8  r<->q0 q1 q2 q3");
//! let mut builder = Builder::new(16);
//! let mut registers = builder.inputs();
//! let half = moves::byte_bit(1, 0).ok_or("the half is byte bit 1")?;
//! moves::local_transpose(&mut builder, &mut registers, half, 3);
//! let program = builder.finish(&registers);
//!
//! program.check(&from, &to)?;
//! assert_eq!(program.counts().to_string(), "16 permutes");
//! let wrong = layout!("b<->ReIm  t0 t1 t2 t3 t4<->q5 q4 q6 q7 q8  r<->q0 q1 q2 q3");
//! let fault = program.check(&from, &wrong).unwrap_err();
//! assert_eq!(fault.to_string(), "lane 1, register 0, part 0: expected element 4 (q5), found 2 (q4)");
//!
//! let rust = program.emit(&Emission { name: "y_primed_to_y", from: &from, to: &to, bound: None })?;
//! assert!(rust.contains("pub fn y_primed_to_y(x: [u32; 16]) -> [u32; 16] {"));
//! assert!(rust.contains("let v16 = prmt_b32(x[0], x[8], 0x5410);"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod check;
mod counts;
mod emit;
mod error;
mod instruction;
mod interpret;
mod listing;
pub mod moves;
mod places;
mod validate;

pub use builder::Builder;
pub use check::Mismatch;
pub use counts::Setup;
pub use emit::Emission;
pub use error::ProgramError;
pub use interpret::Lanes;
pub use places::Places;

/// A virtual register; written once.
pub type Register = u32;

/// What decides a select: the parity of some bits of the lane index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneFlag {
    /// Bits of the lane index whose parity is taken.
    pub mask: u8,
}

/// Bytes that a permute takes: nibble `i` is the source of byte `i`, 0 to 3 in the first operand, 4 to 7 in the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Selector {
    /// The same in every lane.
    Constant(u16),
    /// Two selectors, chosen by a flag of the lane; each lane holds its own in a register, computed once.
    ByLane {
        /// The flag.
        flag: LaneFlag,
        /// Where it is 0.
        zero: u16,
        /// Where it is 1.
        one: u16,
    },
}

/// A linear (affine) map of the five bits of the lane index: `offset ^ XOR of columns[i] over the bits i that are set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneMap {
    /// What flipping lane bit `i` flips.
    pub columns: [u32; 5],
    /// The value of lane 0.
    pub offset: u32,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Instruction {
    /// `d = flag ? one : zero`.
    Select {
        /// Result.
        d: Register,
        /// The flag.
        flag: LaneFlag,
        /// Where it is 0.
        zero: Register,
        /// Where it is 1.
        one: Register,
    },
    /// `prmt.b32 d, a, b, selector`.
    Permute {
        /// Result.
        d: Register,
        /// First operand.
        a: Register,
        /// Second operand.
        b: Register,
        /// Which bytes.
        selector: Selector,
    },
    /// `shfl.sync.bfly`: `d = a of lane ^ mask`.
    ShuffleXor {
        /// Result.
        d: Register,
        /// Operand.
        a: Register,
        /// Mask.
        mask: u8,
    },
    /// `shfl.sync.idx`: `d = a of lane source(lane)`.
    ShuffleIndex {
        /// Result.
        d: Register,
        /// Operand.
        a: Register,
        /// Source lane.
        source: LaneMap,
    },
    /// `movmatrix.trans`: the 8 x 8 matrix of 16-bit elements transposed.
    MoveMatrix {
        /// Result.
        d: Register,
        /// Operand.
        a: Register,
    },
    /// `st.shared` of 1, 2 or 4 registers (`.b32`, `.v2.b32`, `.v4.b32`) at a byte address.
    StoreShared {
        /// Byte address from the start of the program's shared memory.
        address: LaneMap,
        /// What is stored.
        values: Vec<Register>,
    },
    /// `ld.shared` of 1, 2 or 4 registers.
    LoadShared {
        /// Results.
        d: Vec<Register>,
        /// Byte address.
        address: LaneMap,
    },
    /// `stmatrix` of 1, 2 or 4 matrices: the lanes' row addresses as the instruction wants them.
    StoreMatrix {
        /// Row address that each lane gives.
        row: LaneMap,
        /// What is stored.
        values: Vec<Register>,
        /// `.trans`.
        transposed: bool,
    },
    /// `ldmatrix` of 1, 2 or 4 matrices.
    LoadMatrix {
        /// Results.
        d: Vec<Register>,
        /// Row address that each lane gives.
        row: LaneMap,
        /// `.trans`.
        transposed: bool,
    },
    /// Order between stores and loads of the warp's lanes: `bar.warp.sync`.
    WarpBarrier,
}

/// A program of one warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Registers 0 to `inputs - 1` hold the array before.
    pub inputs: usize,
    /// Instructions in order.
    pub instructions: Vec<Instruction>,
    /// The registers that hold the array afterwards, in order of the destination's register index.
    pub outputs: Vec<Register>,
    /// Bytes of shared memory that a warp needs.
    pub shared_bytes: u32,
}

/// Instructions of a program (or of a bound on programs), by kind, a warp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Selects.
    pub select: u32,
    /// Permutes.
    pub permute: u32,
    /// Shuffles.
    pub shuffle: u32,
    /// `movmatrix`.
    pub move_matrix: u32,
    /// 32-bit words of a lane stored by `st.shared`, in any width.
    pub store_words: u32,
    /// `st.shared` instructions.
    pub store: u32,
    /// 32-bit words of a lane loaded by `ld.shared`.
    pub load_words: u32,
    /// `ld.shared` instructions.
    pub load: u32,
    /// Matrices stored by `stmatrix`.
    pub store_matrix: u32,
    /// Matrices loaded by `ldmatrix`.
    pub load_matrix: u32,
    /// XORs that compute shared addresses which no immediate offset reaches.
    pub address: u32,
    /// Barriers.
    pub barrier: u32,
}
