//! Fragments of `mma.sync`: `D = A B + C` with `A` of 16 x K, `B` of K x 8, `C` and `D` of 16 x 8.
//!
//! Rows of `A` and of `C` are `i`, columns of `A` and rows of `B` are `j`, columns of `B` and of `C` are `k`: the
//! product sums over `j`. (PTX calls the three extents M, K and N.)
//!
//! # Layout
//! In all shapes a group of four lanes, `t2 t3 t4`, has a row of `A` and `C` or a column of `B`, and `t0 t1` go along
//! the other side:
//!
//! | factors | K | `A`, 16 x K | `B`, K x 8 |
//! |---|---|---|---|
//! | 16 bits | 8 | `b<->j0  r<->i3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2` | `b<->j0  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2` |
//! | 16 bits | 16 | `b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2` | `b<->j0  r<->j3  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2` |
//! | 8 bits | 16 | `b<->j0 j1  r<->i3  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2` | `b<->j0 j1  t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2` |
//! | 8 bits | 32 | `b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2` | `b<->j0 j1  r<->j4  t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2` |
//! | 4 bits | 32 | `b<->j0 j1 j2  r<->i3  t0 t1 t2 t3 t4<->j3 j4 i0 i1 i2` | `b<->j0 j1 j2  t0 t1 t2 t3 t4<->j3 j4 k0 k1 k2` |
//! | 4 bits | 64 | `b<->j0 j1 j2  r<->i3 j5  t0 t1 t2 t3 t4<->j3 j4 i0 i1 i2` | `b<->j0 j1 j2  r<->j5  t0 t1 t2 t3 t4<->j3 j4 k0 k1 k2` |
//! | tf32 | 4 | `r<->i3  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2` | `t0 t1 t2 t3 t4<->j0 j1 k0 k1 k2` |
//! | tf32 | 8 | `r<->i3 j2  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2` | `r<->j2  t0 t1 t2 t3 t4<->j0 j1 k0 k1 k2` |
//!
//! | sums | `C` and `D`, 16 x 8 |
//! |---|---|
//! | 32 bits | `r<->k0 i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2` |
//! | 16 bits | `b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2` |
//!
//! As rows and columns, of `C` with 32-bit elements:
//!
//! ```text
//!            column    0     1     2     3     4     5     6     7
//! row 0   lane:register 0:0   0:1   1:0   1:1   2:0   2:1   3:0   3:1
//! row 1                 4:0   4:1   5:0   5:1   6:0   6:1   7:0   7:1
//! ...
//! row 8                 0:2   0:3   1:2   1:3   2:2   2:3   3:2   3:3
//! ```
//!
//! Source: PTX ISA, "Matrix Fragments for mma.m16n8k4", "... k8", "... k16 with floating point type", "... k16 with
//! integer type", "... k32", "... k64"; equations (39) to (44) of the note on CHIME's FRB beamforming are the 16-bit
//! ones with 16-bit sums.

use super::{Element, fragment, registers};
use crate::Layout;
use crate::space::same_text;

/// One shape and type of `mma.sync.aligned`, with `A` by rows and `B` by columns.
#[derive(Debug, Clone, Copy)]
pub struct Mma {
    /// Name of the device function, `mma_m16n8k16_f32_f16`.
    pub name: &'static str,
    /// What follows `mma.sync.aligned.`, `m16n8k16.row.col.f32.f16.f16.f32`.
    pub ptx: &'static str,
    /// Rows of `A` and `C`.
    pub m: usize,
    /// Columns of `B` and `C`.
    pub n: usize,
    /// Columns of `A` and rows of `B`: the sum's terms.
    pub k: usize,
    /// Type of `A` and `B`.
    pub element: Element,
    /// Type of `C` and `D`.
    pub accumulator: Element,
    /// `A`: places to bits `i` of the row and `j` of the column.
    pub a: Layout,
    /// `B`: places to bits `j` of the row and `k` of the column.
    pub b: Layout,
    /// `C` and `D`: places to bits `i` of the row and `k` of the column.
    pub c: Layout,
}

impl Mma {
    /// Registers a lane of `A`, `B` and `C`.
    pub const fn registers(&self) -> [usize; 3] {
        [registers(&self.a), registers(&self.b), registers(&self.c)]
    }

    /// The instruction whose device function has this name.
    pub const fn find(name: &str) -> Option<&'static Self> {
        let mut at = 0;
        while at < MMAS.len() {
            if same_text(MMAS[at].name, name) {
                return Some(&MMAS[at]);
            }
            at += 1;
        }
        None
    }
}

/// `A` and `B` of one element width and K.
struct Factors {
    bits: usize,
    k: usize,
    a: Layout,
    b: Layout,
}

/// `C` and `D` of one element width.
struct Sums {
    bits: usize,
    c: Layout,
}

const HALF_K8: Factors = Factors {
    bits: 16,
    k: 8,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2", "b<->j0  r<->i3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2"),
    b: fragment!("j0 j1 j2 k0 k1 k2", "b<->j0  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2"),
};
const HALF_K16: Factors = Factors {
    bits: 16,
    k: 16,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2 j3", "b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2"),
    b: fragment!("j0 j1 j2 j3 k0 k1 k2", "b<->j0  r<->j3  t0 t1 t2 t3 t4<->j1 j2 k0 k1 k2"),
};
const BYTE_K16: Factors = Factors {
    bits: 8,
    k: 16,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2 j3", "b<->j0 j1  r<->i3  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2"),
    b: fragment!("j0 j1 j2 j3 k0 k1 k2", "b<->j0 j1  t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2"),
};
const BYTE_K32: Factors = Factors {
    bits: 8,
    k: 32,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2 j3 j4", "b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2"),
    b: fragment!("j0 j1 j2 j3 j4 k0 k1 k2", "b<->j0 j1  r<->j4  t0 t1 t2 t3 t4<->j2 j3 k0 k1 k2"),
};
const NIBBLE_K32: Factors = Factors {
    bits: 4,
    k: 32,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2 j3 j4", "b<->j0 j1 j2  r<->i3  t0 t1 t2 t3 t4<->j3 j4 i0 i1 i2"),
    b: fragment!("j0 j1 j2 j3 j4 k0 k1 k2", "b<->j0 j1 j2  t0 t1 t2 t3 t4<->j3 j4 k0 k1 k2"),
};
const NIBBLE_K64: Factors = Factors {
    bits: 4,
    k: 64,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2 j3 j4 j5", "b<->j0 j1 j2  r<->i3 j5  t0 t1 t2 t3 t4<->j3 j4 i0 i1 i2"),
    b: fragment!("j0 j1 j2 j3 j4 j5 k0 k1 k2", "b<->j0 j1 j2  r<->j5  t0 t1 t2 t3 t4<->j3 j4 k0 k1 k2"),
};
const WORD_K4: Factors = Factors {
    bits: 32,
    k: 4,
    a: fragment!("i0 i1 i2 i3 j0 j1", "r<->i3  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2"),
    b: fragment!("j0 j1 k0 k1 k2", "t0 t1 t2 t3 t4<->j0 j1 k0 k1 k2"),
};
const WORD_K8: Factors = Factors {
    bits: 32,
    k: 8,
    a: fragment!("i0 i1 i2 i3 j0 j1 j2", "r<->i3 j2  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2"),
    b: fragment!("j0 j1 j2 k0 k1 k2", "r<->j2  t0 t1 t2 t3 t4<->j0 j1 k0 k1 k2"),
};
const SUMS_32: Sums =
    Sums { bits: 32, c: fragment!("i0 i1 i2 i3 k0 k1 k2", "r<->k0 i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2") };
const SUMS_16: Sums =
    Sums { bits: 16, c: fragment!("i0 i1 i2 i3 k0 k1 k2", "b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2") };

macro_rules! mmas {
    ($count:literal; $($constant:ident, $name:literal, $ptx:literal, $element:ident $accumulator:ident, $factors:ident $sums:ident;)*) => {
        $(
            #[doc = concat!("`", $ptx, "`.")]
            pub const $constant: Mma = {
                assert!(Element::$element.bits() == $factors.bits && Element::$accumulator.bits() == $sums.bits, "fragments of another width");
                Mma {
                    name: $name,
                    ptx: $ptx,
                    m: 16,
                    n: 8,
                    k: $factors.k,
                    element: Element::$element,
                    accumulator: Element::$accumulator,
                    a: $factors.a,
                    b: $factors.b,
                    c: $sums.c,
                }
            };
        )*

        /// Every shape and type of `mma.sync` that there is a device function of.
        pub static MMAS: [Mma; $count] = [$($constant),*];
    };
}

mmas! { 14;
    M16N8K16_S32_S8, "mma_m16n8k16_s32_s8", "m16n8k16.row.col.s32.s8.s8.s32", S8 S32, BYTE_K16 SUMS_32;
    M16N8K32_S32_S8, "mma_m16n8k32_s32_s8", "m16n8k32.row.col.s32.s8.s8.s32", S8 S32, BYTE_K32 SUMS_32;
    M16N8K16_S32_U8, "mma_m16n8k16_s32_u8", "m16n8k16.row.col.s32.u8.u8.s32", U8 S32, BYTE_K16 SUMS_32;
    M16N8K32_S32_U8, "mma_m16n8k32_s32_u8", "m16n8k32.row.col.s32.u8.u8.s32", U8 S32, BYTE_K32 SUMS_32;
    M16N8K32_S32_S4, "mma_m16n8k32_s32_s4", "m16n8k32.row.col.s32.s4.s4.s32", S4 S32, NIBBLE_K32 SUMS_32;
    M16N8K64_S32_S4, "mma_m16n8k64_s32_s4", "m16n8k64.row.col.s32.s4.s4.s32", S4 S32, NIBBLE_K64 SUMS_32;
    M16N8K8_F32_F16, "mma_m16n8k8_f32_f16", "m16n8k8.row.col.f32.f16.f16.f32", F16 F32, HALF_K8 SUMS_32;
    M16N8K16_F32_F16, "mma_m16n8k16_f32_f16", "m16n8k16.row.col.f32.f16.f16.f32", F16 F32, HALF_K16 SUMS_32;
    M16N8K8_F32_BF16, "mma_m16n8k8_f32_bf16", "m16n8k8.row.col.f32.bf16.bf16.f32", BF16 F32, HALF_K8 SUMS_32;
    M16N8K16_F32_BF16, "mma_m16n8k16_f32_bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", BF16 F32, HALF_K16 SUMS_32;
    M16N8K4_F32_TF32, "mma_m16n8k4_f32_tf32", "m16n8k4.row.col.f32.tf32.tf32.f32", TF32 F32, WORD_K4 SUMS_32;
    M16N8K8_F32_TF32, "mma_m16n8k8_f32_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", TF32 F32, WORD_K8 SUMS_32;
    M16N8K8_F16_F16, "mma_m16n8k8_f16_f16", "m16n8k8.row.col.f16.f16.f16.f16", F16 F16, HALF_K8 SUMS_16;
    M16N8K16_F16_F16, "mma_m16n8k16_f16_f16", "m16n8k16.row.col.f16.f16.f16.f16", F16 F16, HALF_K16 SUMS_16;
}
