//! Inner loops for x86-64. The values of the token types prove that the machine has the instructions.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_madd_epi16, _mm256_set1_epi32, _mm512_add_epi32, _mm512_load_si512,
    _mm512_madd_epi16, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_store_si512,
};

use super::{GROUP, Integers, Kernel, PANELS, Tile, WeightBits, Words};
use crate::correlator::InstructionSet;
use crate::vnni::dot_bytes;

/// 16-bit pairs with `vpmaddwd`, in registers of 256 bits or, if they are `WIDE`, of 512. A value exists only where
/// AVX2 does, and of wide ones AVX-512 F and BW.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pairs<const WIDE: bool>(());

/// 8-bit quadruples with `vpdpbusd`. A value exists only where AVX2 and AVX-512 VNNI with 256-bit registers do.
#[derive(Debug, Clone, Copy)]
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

/// The loop over the steps: `$dot` adds the products of weights and voltages to a register of sums.
macro_rules! tile_loop {
    ($panel:ident, $rows:ident, $tile:ident, $dot:expr) => {{
        let mut sums: [[__m256i; 2]; GROUP] = bytemuck::cast($tile.0);
        let [a, b, c, d, e, f] = $rows;
        for ((((((weights, a), b), c), d), e), f) in $panel.iter().zip(a).zip(b).zip(c).zip(d).zip(e).zip(f) {
            let weights: [__m256i; 2] = bytemuck::cast(weights.0);
            for (sums, &voltages) in sums.iter_mut().zip([a, b, c, d, e, f]) {
                let voltages = _mm256_set1_epi32(voltages as i32);
                sums[0] = $dot(sums[0], weights[0], voltages);
                sums[1] = $dot(sums[1], weights[1], voltages);
            }
        }
        $tile.0 = bytemuck::cast(sums);
    }};
}

/// # Safety
/// The machine must have AVX2.
#[target_feature(enable = "avx2")]
fn multiply_avx2(panel: &[Words], rows: [&[u32]; GROUP], tile: &mut Tile) {
    tile_loop!(panel, rows, tile, |sums, x, y| _mm256_add_epi32(sums, _mm256_madd_epi16(x, y)));
}

/// Adds the products of `N` panels and of the words of six times.
///
/// # Safety
/// The machine must have AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
fn multiply_avx512<const N: usize>(panels: [&[Words]; N], rows: [&[u32]; GROUP], tile: &mut [Tile; PANELS]) {
    let mut sums = [[_mm512_setzero_si512(); GROUP]; N];
    for (sums, tile) in sums.iter_mut().zip(&*tile) {
        for (sums, from) in sums.iter_mut().zip(&tile.0) {
            // SAFETY: a time's sums are 16 numbers, and aligned as a tile is.
            #[allow(unsafe_code)]
            unsafe {
                *sums = _mm512_load_si512(from.as_ptr().cast());
            }
        }
    }
    let [a, b, c, d, e, f] = rows;
    // Of one panel, the first is the last. Iterators in step with each other need no checks of bounds.
    let panels = panels[0].iter().zip(panels[N - 1]);
    for (((((((first, last), a), b), c), d), e), f) in panels.zip(a).zip(b).zip(c).zip(d).zip(e).zip(f) {
        // SAFETY: a row of a panel is 16 words, and aligned.
        #[allow(unsafe_code)]
        let weights =
            unsafe { [_mm512_load_si512(first.0.as_ptr().cast()), _mm512_load_si512(last.0.as_ptr().cast())] };
        for (row, &words) in [a, b, c, d, e, f].into_iter().enumerate() {
            let voltages = _mm512_set1_epi32(words as i32);
            for (sums, weights) in sums.iter_mut().zip(weights) {
                sums[row] = _mm512_add_epi32(sums[row], _mm512_madd_epi16(weights, voltages));
            }
        }
    }
    for (sums, tile) in sums.iter().zip(tile) {
        for (&sums, to) in sums.iter().zip(&mut tile.0) {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                _mm512_store_si512(to.as_mut_ptr().cast(), sums);
            }
        }
    }
}

/// # Safety
/// The machine must have AVX2 and AVX-512 VNNI and VL.
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
unsafe fn multiply_vnni(panel: &[Words], rows: [&[u32]; GROUP], tile: &mut Tile) {
    tile_loop!(panel, rows, tile, |sums, x, y| {
        // SAFETY: the caller vouches for the instruction.
        unsafe { dot_bytes(sums, x, y) }
    });
}

impl<const WIDE: bool> Kernel for Pairs<WIDE> {
    type Part = i16;
    const WHOLE: bool = true;
    const PANELS: usize = if WIDE { PANELS } else { 1 };

    fn part(_bits: WeightBits, integer: i32, _digit: usize) -> i16 {
        integer as i16
    }

    #[inline(always)]
    fn multiply(self, panels: &[&[Words]], rows: [&[u32]; GROUP], tile: &mut [Tile; PANELS]) {
        // SAFETY: a value of this type exists only where AVX2 does, and if it is wide AVX-512 F and BW.
        #[allow(unsafe_code)]
        unsafe {
            match *panels {
                [first] if WIDE => multiply_avx512([first], rows, tile),
                [first, second] if WIDE => multiply_avx512([first, second], rows, tile),
                [panel, ..] => multiply_avx2(panel, rows, &mut tile[0]),
                [] => {}
            }
        }
    }

    fn products(self, integers: &mut Integers, steps: usize) {
        if WIDE {
            // SAFETY: a value of this type that is wide exists only where AVX-512 F and BW do.
            #[allow(unsafe_code)]
            unsafe {
                products_avx512(self, integers, steps);
            }
        } else {
            integers.products(self, steps);
        }
    }
}

/// [`Integers::products`] compiled for AVX-512: it moves rows of tiles in one register.
///
/// # Safety
/// The machine must have AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
fn products_avx512<const WIDE: bool>(kernel: Pairs<WIDE>, integers: &mut Integers, steps: usize) {
    integers.products(kernel, steps);
}

impl Kernel for Vnni {
    type Part = i8;
    const OFFSET: u8 = 128;

    fn multiply(self, panels: &[&[Words]], rows: [&[u32]; GROUP], [tile, ..]: &mut [Tile; PANELS]) {
        let Some(panel) = panels.first() else { return };
        // SAFETY: a value of this type exists only where AVX2 and AVX-512 VNNI with VL do.
        #[allow(unsafe_code)]
        unsafe {
            multiply_vnni(panel, rows, tile);
        }
    }
}
