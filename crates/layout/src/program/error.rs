//! What can be wrong with a program.

use thiserror::Error;

use super::Register;

/// Why a program is refused, or cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A register is read before it is written.
    #[error("instruction {instruction}: register v{register} is read before it is written")]
    Undefined {
        /// Index of the instruction; the number of instructions for an output.
        instruction: usize,
        /// The register.
        register: Register,
    },
    /// A register is written twice.
    #[error("instruction {instruction}: register v{register} is written twice")]
    Twice {
        /// Index of the instruction.
        instruction: usize,
        /// The register.
        register: Register,
    },
    /// A flag of lane bits that do not exist.
    #[error("instruction {instruction}: flag of lane bits {mask:#x}; a lane index has 5 bits")]
    Flag {
        /// Index of the instruction.
        instruction: usize,
        /// The mask.
        mask: u8,
    },
    /// A selector that names another byte than 0 to 7.
    #[error("instruction {instruction}: selector {selector:#06x} names a byte that is not 0 to 7")]
    Selector {
        /// Index of the instruction.
        instruction: usize,
        /// The selector.
        selector: u16,
    },
    /// A shuffle from a lane that does not exist.
    #[error("instruction {instruction}: lane {lane} shuffles from lane {source_lane}; there are 32")]
    Lane {
        /// Index of the instruction.
        instruction: usize,
        /// The lane.
        lane: u32,
        /// Where it would read.
        source_lane: u32,
    },
    /// An access of another width than 1, 2 or 4.
    #[error("instruction {instruction}: {actual} registers at once, expected 1, 2 or 4")]
    Width {
        /// Index of the instruction.
        instruction: usize,
        /// Registers.
        actual: usize,
    },
    /// An access beyond the program's shared memory.
    #[error(
        "instruction {instruction}: lane {lane} accesses {bytes} bytes at shared address {address}; there are {shared_bytes}"
    )]
    OutOfBounds {
        /// Index of the instruction.
        instruction: usize,
        /// The lane.
        lane: u32,
        /// The address.
        address: u32,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes that there are.
        shared_bytes: u32,
    },
    /// An access at an address that is no multiple of its size.
    #[error(
        "instruction {instruction}: lane {lane} accesses {bytes} bytes at shared address {address}, no multiple of {bytes}"
    )]
    Misaligned {
        /// Index of the instruction.
        instruction: usize,
        /// The lane.
        lane: u32,
        /// The address.
        address: u32,
        /// Bytes of the access.
        bytes: u32,
    },
    /// A load of memory that nothing has stored.
    #[error("instruction {instruction}: lane {lane} loads shared address {address}, which nothing has stored")]
    Uninitialised {
        /// Index of the instruction.
        instruction: usize,
        /// The lane.
        lane: u32,
        /// Address of the word.
        address: u32,
    },
    /// Accesses by two lanes, one of them a store, with no barrier between.
    #[error(
        "instruction {instruction}: lanes {lane} and {other} access shared address {address}, one stores, with no barrier between"
    )]
    Race {
        /// Index of the later instruction.
        instruction: usize,
        /// Its lane.
        lane: u32,
        /// The lane of the earlier access.
        other: u32,
        /// Address of the word.
        address: u32,
    },
    /// Arrays of another size than the program takes.
    #[error("{actual} registers before, the program takes {expected}")]
    Inputs {
        /// What the program takes.
        expected: usize,
        /// What it was given.
        actual: usize,
    },
}
