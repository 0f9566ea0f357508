//! Integer inner loops for x86-64. The values of the token types prove that the machine has the instructions.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_set1_epi32, _mm512_add_epi32, _mm512_load_si512,
    _mm512_madd_epi16, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_store_si512,
};

use fringes_types::VoltageSample;
use ndarray::ArrayView1;
use num_complex::Complex;

use super::{C8, add, load};
use crate::correlator::engine::{Kernel, Narrow, Position, Rows, Tile, Wide, at_step};
use crate::correlator::plan::{GROUP, LANES};
use crate::correlator::simd::InstructionSet;
use crate::vnni::dot_bytes;

/// 16-bit pairs with `vpmaddwd`, in registers of 256 bits or, if they are `WIDE`, of 512. A value exists only where
/// AVX2 does, and of wide ones AVX-512 F and BW.
#[derive(Clone, Copy)]
pub(super) struct Pairs<const WIDE: bool>(());

/// 8-bit quadruples with `vpdpbusd`. A value exists only where AVX2 and AVX-512 VNNI with 256-bit registers do.
#[derive(Clone, Copy)]
pub(super) struct Vnni(());

impl<const WIDE: bool> Pairs<WIDE> {
    pub(super) fn checked() -> Self {
        let set = if WIDE { InstructionSet::Avx512 } else { InstructionSet::Avx2 };
        assert!(set.is_available());
        Self(())
    }
}

impl Vnni {
    pub(super) fn checked() -> Self {
        assert!(InstructionSet::Avx512Vnni.is_available());
        Self(())
    }
}

/// The tile loop: `$dot` adds the products of two registers to a register of sums.
macro_rules! tile_loop {
    ($wide:ident, $narrow:ident, $tile:ident, $dot:expr) => {{
        let mut sums: [[__m256i; 2]; GROUP] = bytemuck::cast($tile.0);
        for (wide, narrow) in $wide.iter().zip($narrow) {
            let wide: [__m256i; 2] = bytemuck::cast(wide.0);
            for (sums, narrow) in sums.iter_mut().zip(narrow) {
                let narrow = _mm256_set1_epi32(bytemuck::cast(*narrow));
                sums[0] = $dot(sums[0], wide[0], narrow);
                sums[1] = $dot(sums[1], wide[1], narrow);
            }
        }
        $tile.0 = bytemuck::cast(sums);
    }};
}

/// Adds the products of a step to a tile.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
fn multiply_avx2(wide: &[Wide<u32>], narrow: &[Narrow<u32>], tile: &mut Tile<i32>) {
    tile_loop!(wide, narrow, tile, |sums, x, y| _mm256_add_epi32(sums, _mm256_madd_epi16(x, y)));
}

/// Adds the products of all steps to the tiles of `N` groups.
///
/// # Safety
/// The machine must have AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
fn multiply_avx512<const N: usize>(wide: &[Wide<u32>], narrow: [&[Narrow<u32>]; N], tiles: &mut [Tile<i32>; N]) {
    const { assert!(N == 1 || N == 2) }
    let mut sums = [[_mm512_setzero_si512(); GROUP]; N];
    for (sums, tile) in sums.iter_mut().zip(&*tiles) {
        for (sums, from) in sums.iter_mut().zip(&tile.0) {
            // SAFETY: the sums of an input `b` are 16 numbers, and aligned as a tile is.
            #[allow(unsafe_code)]
            unsafe {
                *sums = _mm512_load_si512(from.as_ptr().cast());
            }
        }
    }
    // Of one group, the first is the last. Iterators in step with each other need no checks of bounds.
    for ((wide, first), last) in wide.iter().zip(narrow[0]).zip(narrow[N - 1]) {
        // SAFETY: a step of a panel is 16 words, and aligned.
        #[allow(unsafe_code)]
        let wide = unsafe { _mm512_load_si512(wide.0.as_ptr().cast()) };
        for (sums, narrow) in sums.iter_mut().zip([first, last]) {
            for (sums, &narrow) in sums.iter_mut().zip(narrow) {
                let narrow = _mm512_set1_epi32(narrow as i32);
                *sums = _mm512_add_epi32(*sums, _mm512_madd_epi16(wide, narrow));
            }
        }
    }
    for (sums, tile) in sums.iter().zip(tiles) {
        for (&sums, to) in sums.iter().zip(&mut tile.0) {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_store_si512(to.as_mut_ptr().cast(), sums);
            }
        }
    }
}

/// Packs a step of rows as pairs of 16 bits.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
fn pack_avx2(rows: &Rows<C8>, position: Position, wide: &mut [Wide<u32>], narrow: &mut [Narrow<u32>]) {
    for (panel, row) in at_step(wide, position).zip(rows[0].as_chunks::<LANES>().0) {
        let bytes: [i8; 2 * LANES] = bytemuck::cast(*row);
        let pairs: [u32; LANES] = bytemuck::cast(bytes.map(i16::from));
        // Little-endian: re is the low half of a pair. The second variant has im there and -re in the high half.
        let turned = pairs.map(|pair| (pair.rotate_left(16) ^ 0xffff_0000).wrapping_add(0x0001_0000));
        *panel = Wide([pairs, turned]);
    }
    for (group, row) in at_step(narrow, position).zip(rows[0].as_chunks::<GROUP>().0) {
        let bytes: [i8; 2 * GROUP] = bytemuck::cast(*row);
        *group = bytemuck::cast(bytes.map(i16::from));
    }
}

impl<const WIDE: bool> Kernel for Pairs<WIDE> {
    type Voltage = C8;
    type Lane = u32;
    type Narrow = u32;
    type Sum = i32;
    type Total = i64;
    const TIMES: usize = 1;

    fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C8]) {
        load(from, to);
    }

    fn pack(
        self,
        rows: &Rows<C8>,
        position: Position,
        wide: &mut [Wide<u32>],
        narrow: &mut [Narrow<u32>],
        _bias: &mut [[i32; 2]],
    ) {
        // SAFETY: a value of this type exists only where AVX2 does.
        #[allow(unsafe_code)]
        unsafe {
            pack_avx2(rows, position, wide, narrow);
        }
    }

    fn multiply<const N: usize>(self, wide: &[Wide<u32>], narrow: [&[Narrow<u32>]; N], tiles: &mut [Tile<i32>; N]) {
        // SAFETY: a value of this type exists only where AVX2 does, and if it is wide AVX-512 F and BW.
        #[allow(unsafe_code)]
        unsafe {
            if WIDE {
                multiply_avx512(wide, narrow, tiles);
            } else {
                tiles.iter_mut().zip(narrow).for_each(|(tile, narrow)| multiply_avx2(wide, narrow, tile));
            }
        }
    }

    fn add(total: &mut Complex<i64>, re: i32, im: i32, bias: [i32; 2]) {
        add(total, re, im, bias);
    }
}

/// # Safety
/// The machine must have AVX2 and AVX-512 VNNI and VL.
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
unsafe fn multiply_vnni(wide: &[Wide<u32>], narrow: &[Narrow<u32>], tile: &mut Tile<i32>) {
    tile_loop!(wide, narrow, tile, |sums, x, y| {
        // SAFETY: the caller vouches for the instruction.
        unsafe { dot_bytes(sums, x, y) }
    });
}

/// Packs a step of rows as bytes, and sums what their bias adds.
///
/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
fn pack_vnni(
    rows: &Rows<C8>,
    position: Position,
    wide: &mut [Wide<u32>],
    narrow: &mut [Narrow<u32>],
    bias: &mut [[i32; 2]],
) {
    let words = |row: &[C8; LANES]| -> [u16; LANES] { bytemuck::cast(*row) };
    let rows_of_lanes = rows[0].as_chunks::<LANES>().0.iter().zip(rows[1].as_chunks::<LANES>().0);
    for (panel, (row0, row1)) in at_step(wide, position).zip(rows_of_lanes) {
        let Wide([re, im]) = panel;
        let (row0, row1) = (words(row0), words(row1));
        for lane in 0..LANES {
            // Bytes re, im, re, im of two spectra, little-endian. Flipping the top bit of x gives x + 128 as an
            // unsigned byte; flipping all others gives 127 - x.
            let bytes = u32::from(row0[lane]) | (u32::from(row1[lane]) << 16);
            let swapped = ((bytes & 0x00ff_00ff) << 8) | ((bytes >> 8) & 0x00ff_00ff);
            re[lane] = bytes ^ 0x8080_8080;
            im[lane] = swapped ^ 0x7f80_7f80;
        }
    }
    let rows_of_groups = rows[0].as_chunks::<GROUP>().0.iter().zip(rows[1].as_chunks::<GROUP>().0);
    for (group, (row0, row1)) in at_step(narrow, position).zip(rows_of_groups) {
        for ((to, x), y) in group.iter_mut().zip(row0).zip(row1) {
            *to = bytemuck::cast([x.re, x.im, y.re, y.im]);
        }
    }
    for ((bias, x), y) in bias.iter_mut().zip(&rows[0]).zip(&rows[1]) {
        let (re, im) = (i32::from(x.re) + i32::from(y.re), i32::from(x.im) + i32::from(y.im));
        bias[0] += 128 * (re + im);
        bias[1] += 128 * re + 127 * im;
    }
}

impl Kernel for Vnni {
    type Voltage = C8;
    type Lane = u32;
    type Narrow = u32;
    type Sum = i32;
    type Total = i64;
    const TIMES: usize = 2;

    fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C8]) {
        load(from, to);
    }

    fn pack(
        self,
        rows: &Rows<C8>,
        position: Position,
        wide: &mut [Wide<u32>],
        narrow: &mut [Narrow<u32>],
        bias: &mut [[i32; 2]],
    ) {
        // SAFETY: a value of this type exists only where AVX2 does.
        #[allow(unsafe_code)]
        unsafe {
            pack_vnni(rows, position, wide, narrow, bias);
        }
    }

    fn multiply<const N: usize>(self, wide: &[Wide<u32>], narrow: [&[Narrow<u32>]; N], tiles: &mut [Tile<i32>; N]) {
        for (tile, narrow) in tiles.iter_mut().zip(narrow) {
            // SAFETY: a value of this type exists only where AVX2 and AVX-512 VNNI with VL do.
            #[allow(unsafe_code)]
            unsafe {
                multiply_vnni(wide, narrow, tile);
            }
        }
    }

    fn add(total: &mut Complex<i64>, re: i32, im: i32, bias: [i32; 2]) {
        add(total, re, im, bias);
    }
}
