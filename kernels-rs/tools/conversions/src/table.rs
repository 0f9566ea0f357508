//! What a row of the table of conversions says.

use fringes_device::{Global, GlobalMut};

/// A conversion as tests and programs of the host see it.
#[derive(Debug, Clone, Copy)]
pub struct Conversion {
    /// Name of the function; the kernel's is `convert_` and this.
    pub name: &'static str,
    /// The layout before, as text.
    pub from: &'static str,
    /// The layout afterwards, as text.
    pub to: &'static str,
    /// Registers of a lane before.
    pub inputs: usize,
    /// Registers of a lane afterwards.
    pub outputs: usize,
    /// What it costs.
    pub counts: Counts,
    /// Selects that compute selectors, once.
    pub selectors: u64,
    /// Source lanes of `shfl.sync.idx`, computed once.
    pub sources: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Shared memory of a warp in bytes.
    pub shared_bytes: u32,
    /// Whether it is in the PTX for sm_90a only.
    pub needs_sm_90: bool,
    /// The kernel's declaration.
    pub declaration: &'static str,
    /// The kernel.
    pub kernel: fn(Global<u32>, GlobalMut<u32>),
}

/// Instructions of a conversion, a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Selects.
    pub select: u64,
    /// `prmt`.
    pub permute: u64,
    /// `shfl`.
    pub shuffle: u64,
    /// `movmatrix`.
    pub move_matrix: u64,
    /// `st.shared`.
    pub store: u64,
    /// `ld.shared`.
    pub load: u64,
    /// Matrices stored by `stmatrix`.
    pub store_matrix: u64,
    /// Matrices loaded by `ldmatrix`.
    pub load_matrix: u64,
    /// XORs of addresses.
    pub address: u64,
    /// `bar.warp.sync`.
    pub barrier: u64,
}

impl Counts {
    /// No instruction.
    pub const NONE: Self = Self {
        select: 0,
        permute: 0,
        shuffle: 0,
        move_matrix: 0,
        store: 0,
        load: 0,
        store_matrix: 0,
        load_matrix: 0,
        address: 0,
        barrier: 0,
    };
}
