//! Faults that the emulator finds.

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside a buffer, outside the block's shared memory, or beyond a view's length.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A read of shared or global memory that nothing has written.
    Uninitialised,
    /// Two accesses of different threads, at least one a write, that nothing orders.
    Race,
    /// Lanes of one warp do not execute the collective instruction together.
    Divergence,
    /// A barrier that some thread never reaches, or that the block cannot leave.
    Barrier,
    /// Memory of an asynchronous copy used while the copy is under way, or a copy that is never waited for.
    AsynchronousCopy,
    /// Registers or memory of a product of a warpgroup used before it is waited for, registers that no fence orders
    /// before it, or a product that is never waited for.
    AsynchronousProduct,
    /// Memory that threads wrote, used by a bulk or tensor copy or by a product of a warpgroup without a fence between
    /// the two proxies.
    Proxy,
    /// A phase of an mbarrier that expects other bytes than copies bring.
    ByteCount,
    /// An operand that the instruction does not allow.
    Operand,
    /// A launch that breaks the kernel's declaration.
    Launch,
    /// The kernel panicked.
    Panic,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Kind.
    pub kind: FaultKind,
    /// Name of the kernel.
    pub kernel: String,
    /// `%ctaid` of the block.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
    /// Source file of the instruction.
    pub file: &'static str,
    /// Line of the instruction.
    pub line: u32,
    /// What happened, with the values.
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, kernel, block, thread, file, line, message } = self;
        write!(f, "{kind:?} in {kernel}, block {block:?}, thread {thread:?}, at {file}:{line}: {message}")
    }
}
