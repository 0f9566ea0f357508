//! What an access of a warp to memory costs: vector width, shared-memory wavefronts, sectors of global memory.
//!
//! A warp's load or store is one [`Request`]: each lane gives a byte address and takes [`Width`] bytes there. When the
//! addresses come from layouts they are a linear map of the lane's bits, and so the costs follow from ranks of a small
//! matrix, in `const`:
//!
//! ```
//! use fringes_layout_core::access::{Transfer, Width};
//! use fringes_layout_core::layout;
//!
//! // A 32 x 32 matrix of words: a lane holds a row in 32 registers, shared memory holds it row by row.
//! let registers = layout!("r<->x0 x1 x2 x3 x4  t0 t1 t2 t3 t4<->y0 y1 y2 y3 y4");
//! let memory = layout!("s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4  s7 s8 s9 s10 s11<->y0 y1 y2 y3 y4");
//! let rows = Transfer::new(&registers, &memory, "s")?;
//! assert_eq!(rows.widest(), Width::B16);
//! assert_eq!(rows.instructions(Width::B16), 8);
//! // All lanes of a phase hit the same banks: eight wavefronts in each of the four quarter-warps, where one would do.
//! let shared = rows.request(Width::B16)?.shared();
//! assert_eq!((shared.wavefronts, shared.ideal, shared.degree), (32, 4, 8));
//! # Ok::<(), fringes_layout_core::access::AccessError>(())
//! ```
//!
//! Rules of shared memory: 32 banks of 4 bytes, each of which gives one word a wavefront to all lanes that want it.
//! Accesses of up to 4 bytes are served for a whole warp, those of 8 bytes by half-warps and those of 16 bytes by
//! quarter-warps; `ldmatrix` and `stmatrix` take one matrix (8 rows of 16 bytes) at a time. Global memory is moved in
//! sectors of 32 bytes.
//!
//! Addresses that no linear map gives (padded rows, `n` that is no power of two) are [`LaneAddresses`], counted lane by
//! lane.

mod error;
mod lanes;
mod request;
mod transfer;

pub use error::AccessError;
pub use lanes::LaneAddresses;
pub use request::Request;
pub use transfer::Transfer;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Bytes that one lane accesses with one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 1 byte.
    B1,
    /// 2 bytes.
    B2,
    /// A register.
    B4,
    /// Two registers, `.v2.b32`.
    B8,
    /// Four registers, `.v4.b32`.
    B16,
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Self; 5] = [Self::B1, Self::B2, Self::B4, Self::B8, Self::B16];

    /// Address bits inside an access: 0 to 4.
    pub const fn bits(self) -> usize {
        self as usize
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.bits()
    }

    /// Registers that one lane's access fills, 1 for those narrower than a register.
    pub const fn registers(self) -> usize {
        if self.bits() > 2 { 1 << (self.bits() - 2) } else { 1 }
    }

    /// Bits of the lane index that are served together: 5, 4 for 8 bytes, 3 for 16 bytes.
    pub const fn phase_bits(self) -> usize {
        if self.bits() > 2 { 7 - self.bits() } else { 5 }
    }
}

/// What one request costs in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedCost {
    /// Cycles: the words of the bank that has most, summed over the phases.
    pub wavefronts: u32,
    /// The least that as many distinct words need.
    pub ideal: u32,
    /// Most distinct words of one bank in one phase: 1 is free of conflicts.
    pub degree: u32,
}

/// What one request costs in global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalCost {
    /// Sectors of 32 bytes touched.
    pub sectors: u32,
    /// The sectors that as many distinct bytes fill.
    pub ideal: u32,
}
