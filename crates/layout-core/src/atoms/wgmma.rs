//! Fragments of `wgmma.mma_async`: `D = A B + D` with `A` of 64 x K, `B` of K x N, `D` of 64 x N, over the four warps
//! of a warpgroup.
//!
//! `B`, and `A` unless it is in registers, lie in shared memory as [`descriptor`](super::descriptor) says. Bits are
//! named as in [`mma`](super::mma): rows `i`, the sum `j`, columns `k`; `w` is the warp of the warpgroup.
//!
//! # Layout
//! Each warp has 16 rows, and in them the layout of `mma.sync`. `D` is tiles of 8 columns, one after another in the
//! registers; N, a multiple of 8 up to 256, need not be a power of two, so that only the tile is a layout and
//! [`Accumulator`] counts tiles:
//!
//! | | bits |
//! |---|---|
//! | `D`, 32 bits, 8 columns | `r<->k0 i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5` |
//! | `D`, 16 bits, 8 columns | `b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5` |
//! | `A`, 16 bits, K = 16 | `b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  w<->i4 i5` |
//! | `A`, 8 bits, K = 32 | `b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2  w<->i4 i5` |
//! | `A`, tf32, K = 8 | `r<->i3 j2  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2  w<->i4 i5` |
//!
//! ```text
//! D, 32 bits:     columns     0-7                        8-15
//! rows  0- 7   warp 0         registers 0, 1 of a lane   4, 5      lane l: row l / 4, columns 2 (l % 4) and one more
//! rows  8-15   warp 0         2, 3                       6, 7
//! rows 16-23   warp 1         0, 1                       4, 5
//! ...
//! rows 56-63   warp 3         2, 3                       6, 7
//! ```
//!
//! Source: PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk16", "... m64nNk32", "... m64nNk8".

use super::{Element, bits, fragment};
use crate::error::ok;
use crate::{Layout, LayoutError, Name, Space};

/// Eight columns of `D` with elements of 32 bits.
pub const TILE_32BIT: Layout =
    fragment!("i0 i1 i2 i3 i4 i5 k0 k1 k2", "r<->k0 i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5");

/// Eight columns of `D` with elements of 16 bits.
pub const TILE_16BIT: Layout =
    fragment!("i0 i1 i2 i3 i4 i5 k0 k1 k2", "b<->k0  r<->i3  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  w<->i4 i5");

const A_16BIT: Layout =
    fragment!("i0 i1 i2 i3 i4 i5 j0 j1 j2 j3", "b<->j0  r<->i3 j3  t0 t1 t2 t3 t4<->j1 j2 i0 i1 i2  w<->i4 i5");
const A_8BIT: Layout =
    fragment!("i0 i1 i2 i3 i4 i5 j0 j1 j2 j3 j4", "b<->j0 j1  r<->i3 j4  t0 t1 t2 t3 t4<->j2 j3 i0 i1 i2  w<->i4 i5");
const A_TF32: Layout = fragment!("i0 i1 i2 i3 i4 i5 j0 j1 j2", "r<->i3 j2  t0 t1 t2 t3 t4<->j0 j1 i0 i1 i2  w<->i4 i5");

/// The types of a product of a warpgroup; N is any multiple of 8 up to 256.
#[derive(Debug, Clone, Copy)]
pub struct Wgmma {
    /// Types in PTX, what follows the shape: `f32.f16.f16`.
    pub types: &'static str,
    /// Columns of `A` and rows of `B`.
    pub k: usize,
    /// Type of `A` and `B`.
    pub element: Element,
    /// Type of `D`.
    pub accumulator: Element,
    /// `A` in registers: places to bits `i` of the row and `j` of the column.
    pub a: Layout,
    /// Eight columns of `D`: places to bits `i` of the row and `k` of the column.
    pub tile: Layout,
}

macro_rules! products {
    ($($constant:ident, $types:literal, $k:literal, $element:ident $accumulator:ident, $a:ident $tile:ident;)*) => {
        $(
            #[doc = concat!("`m64nNk", $k, ".", $types, "`.")]
            pub const $constant: Wgmma = Wgmma {
                types: $types,
                k: $k,
                element: Element::$element,
                accumulator: Element::$accumulator,
                a: $a,
                tile: $tile,
            };
        )*

        /// Every type of product that there are device functions of.
        pub static WGMMAS: [Wgmma; 4] = [$($constant),*];
    };
}

products! {
    M64K32_S32_S8, "s32.s8.s8", 32, S8 S32, A_8BIT TILE_32BIT;
    M64K16_F32_F16, "f32.f16.f16", 16, F16 F32, A_16BIT TILE_32BIT;
    M64K16_F32_BF16, "f32.bf16.bf16", 16, BF16 F32, A_16BIT TILE_32BIT;
    M64K8_F32_TF32, "f32.tf32.tf32", 8, TF32 F32, A_TF32 TILE_32BIT;
}

/// `D` of 64 x N: tiles of 64 x 8, one after another in the registers.
#[derive(Debug, Clone, Copy)]
pub struct Accumulator {
    tile: Layout,
    tiles: usize,
    /// Bits `b` and `r` of the tile.
    bits: [usize; 2],
}

impl Accumulator {
    /// `D` with `n` columns: none unless `n` is a multiple of 8 from 8 to 256.
    pub const fn new(tile: Layout, n: usize) -> Option<Self> {
        if n == 0 || n > 256 || !n.is_multiple_of(8) {
            return None;
        }
        let bits = [bits(&tile, "b"), bits(&tile, "r")];
        Some(Self { tile, tiles: n / 8, bits })
    }

    /// Eight columns.
    pub const fn tile(&self) -> &Layout {
        &self.tile
    }

    /// Tiles of eight columns.
    pub const fn tiles(&self) -> usize {
        self.tiles
    }

    /// Registers of each lane.
    pub const fn registers(&self) -> usize {
        self.tiles << self.bits[1]
    }

    /// Row and column of element `element` of register `register` of thread `thread` (0 to 127) of the warpgroup.
    pub const fn position(&self, element: usize, register: usize, thread: usize) -> (usize, usize) {
        let [elements, registers] = self.bits;
        let (tile, register) = (register >> registers, register & ((1 << registers) - 1));
        let place = element | register << elements | thread << (elements + registers);
        let index = self.tile.apply(place as u64) as usize;
        (index % 64, index / 64 + 8 * tile)
    }

    /// The whole as one layout: bits `r2` and up (`r1` and up with 16-bit elements) are `k3` and up.
    ///
    /// # Errors
    /// [`LayoutError::TooMany`] if the number of tiles is no power of two: tiles, and the power of two below.
    pub const fn layout(&self) -> Result<Layout, LayoutError> {
        let outer = self.tiles.ilog2() as usize;
        if !self.tiles.is_power_of_two() {
            return Err(LayoutError::TooMany { actual: self.tiles, limit: 1 << outer });
        }
        let physical = self.tile.physical();
        let (mut registers, mut columns) = (Space::new(), Space::new());
        let mut bit = 0;
        while bit < outer {
            registers = ok!(registers.with(ok!(Name::numbered("r", self.bits[1] + bit))));
            columns = ok!(columns.with(ok!(Name::numbered("k", 3 + bit))));
            bit += 1;
        }
        let inner = ok!(physical.bits_of_stem("b").concat(&physical.bits_of_stem("r")));
        let lanes = ok!(physical.bits_of_stem("t").concat(&physical.bits_of_stem("w")));
        let order = ok!(ok!(inner.concat(&registers)).concat(&lanes));
        ok!(self.tile.product(&ok!(Layout::in_order(registers, columns)))).with_physical_order(&order)
    }
}
