//! Fragments of matrices in the registers of a warp, and matrices in shared memory, as layouts.
//!
//! A tensor-core instruction spreads a small matrix, a *fragment*, over the registers of a warp. The PTX ISA gives for
//! each fragment a picture and formulas for row and column; in bits each of them is one line. The first operand of
//! `mma.m16n8k16` with 16-bit elements has 16 rows `i = i3 i2 i1 i0` and 16 columns `j = j3 j2 j1 j0`. A lane holds
//! four registers of two elements, and
//!
//! ```text
//! b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2
//!
//! register r0 = 0, r1 = 0:                        the four registers of a lane:
//!            column  0 1   2 3   4 5   6 7                   columns 0-7   columns 8-15
//! row 0      lane     0     1     2     3          rows 0-7       0             2
//! row 1               4     5     6     7          rows 8-15      1             3
//! ...
//! row 7              28    29    30    31
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mma`] | operands and result of `mma.sync` |
//! | [`matrix`] | what `ldmatrix`, `stmatrix` and `movmatrix` move |
//! | [`wgmma`] | operands and result of `wgmma` in registers |
//! | [`descriptor`] | operands of `wgmma` in shared memory, swizzles, descriptors |
//!
//! # Layout
//! Physical bits come in the order `b` (place inside a 32-bit register, `b0` lowest), `r` (register), `t` (lane), `w`
//! (warp of a warpgroup), so that [`place`] gives the place of any element. Logical bits are those of the rows, lowest
//! first, then those of the columns: an element's index is `row + rows * column`.
//!
//! ```
//! use fringes_layout_core::atoms::{mma::M16N8K16_F32_F16 as MMA, place};
//!
//! // The high half of register 3 of lane 9 is row 2 + 8, column 2 + 1 + 8 of `A`; a kernel that relies on it says so.
//! const ELEMENT: u64 = MMA.a.apply(place(&MMA.a, 1, 3, 9));
//! const _: () = assert!(ELEMENT == 10 + 16 * 11);
//! ```

pub mod descriptor;
pub mod matrix;
pub mod mma;
pub mod wgmma;

use crate::Layout;

/// A constant layout of this logical space and this text.
macro_rules! fragment {
    ($logical:literal, $text:literal) => {
        $crate::layout!(concat!("0<->", $logical, "  ", $text))
    };
}
pub(crate) use fragment;

/// Type of a matrix's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Signed 4-bit integer.
    S4,
    /// Signed 8-bit integer.
    S8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    S32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// The high 19 bits of a binary32.
    TF32,
    /// IEEE binary32.
    F32,
}

impl Element {
    /// Bits that an element takes in a register; 32 for tf32.
    pub const fn bits(self) -> usize {
        match self {
            Self::S4 => 4,
            Self::S8 | Self::U8 => 8,
            Self::F16 | Self::BF16 => 16,
            Self::S32 | Self::TF32 | Self::F32 => 32,
        }
    }

    /// The type's name in PTX.
    pub const fn ptx(self) -> &'static str {
        match self {
            Self::S4 => "s4",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S32 => "s32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::TF32 => "tf32",
            Self::F32 => "f32",
        }
    }
}

/// Number of physical bits of this stem: `bits(&a, "r")` is 2 for a fragment of 4 registers.
pub const fn bits(layout: &Layout, stem: &str) -> usize {
    layout.physical().stem_mask(stem).count_ones() as usize
}

/// Registers of each lane that a fragment takes.
pub const fn registers(fragment: &Layout) -> usize {
    1 << bits(fragment, "r")
}

/// The place of element `element` (0 in the lowest bits) of register `register` of lane `lane` in a fragment of this
/// module; lanes 32 to 127 are those of the other warps of a warpgroup.
pub const fn place(fragment: &Layout, element: usize, register: usize, lane: usize) -> u64 {
    let elements = bits(fragment, "b");
    (element | register << elements | lane << (elements + bits(fragment, "r"))) as u64
}
