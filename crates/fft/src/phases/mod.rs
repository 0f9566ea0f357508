//! The phases of a transform's stages, as the kernels keep them in registers.
//!
//! A kernel reads a table `[register][lane]` of 32-bit words, each of two f16 numbers: the element with `b = 0` in the
//! low half, that with `b = 1` in the high half. The stages of the chain follow each other. What an element is, is said
//! by the bits of its place in the stage's layout:
//!
//! | bits | meaning |
//! |---|---|
//! | `q3`, `n5` .. | bits of `q` and `n`: the phase is `exp(sign 2 pi i q n / outputs)`, with zero for bits that are not there |
//! | `ReIm` | which part of the phase: a product element by element |
//! | `ReIm_in`, `ReIm_out` | column and row of `[[re, -im], [im, re]]`: a matrix |
//! | `x_in`, `x_out` | a bit `x` that is carried through a matrix, which is zero unless they are equal |
//! | `pad0` .. | the matrix is zero where one is set |

mod gain;

use fringes_layout_core::{Layout, Name};
use fringes_types::f16;

use crate::{Sign, Size, generated};

pub use gain::phase_power;

/// Lanes of a warp.
const LANES: u64 = 32;

/// One stage: a matrix, or phases element by element.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Where each phase is, places `b`, `t0` .. `t4`, `r0` ..
    pub(crate) layout: Layout,
}

/// The stages of a transform, first to last.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) inputs: u32,
    pub(crate) outputs: u32,
    /// Where the inputs are: `n` and the real-or-imaginary bit.
    pub(crate) input: Layout,
    /// Where the outputs are: `q` and the real-or-imaginary bit.
    pub(crate) output: Layout,
    pub(crate) stages: &'static [Stage],
}

/// The stages of a size, if there is a kernel of it.
pub(crate) fn chain(size: Size) -> Option<&'static Chain> {
    let is = |chain: &&Chain| chain.inputs as usize == size.inputs() && chain.outputs as usize == size.outputs();
    generated::CHAINS.iter().find(is)
}

/// The table of phases `[register][lane]` of a size, times `2^scale_exponent` in the first stage; empty if there is no
/// kernel of the size.
///
/// # Precision
/// Each number is the f16 nearest to the exact one.
#[doc(hidden)]
pub fn phase_table(size: Size, sign: Sign, scale_exponent: i32) -> Vec<u32> {
    let stages = chain(size).map_or(&[][..], |chain| chain.stages);
    let mut table = Vec::new();
    for (at, stage) in stages.iter().enumerate() {
        let scale = if at == 0 { 2f64.powi(scale_exponent) } else { 1.0 };
        table.extend(stage_table(&stage.layout, size.outputs() as u64, sign, scale));
    }
    table
}

/// As [`phase_table`], for kernels that hold the register bit of the first contraction's sum inside of registers and
/// the real-or-imaginary bit among them: in each fragment of the first matrix the bits of its columns that these
/// take are exchanged.
#[doc(hidden)]
pub fn split_phase_table(size: Size, sign: Sign, scale_exponent: i32) -> Vec<u32> {
    let mut table = phase_table(size, sign, scale_exponent);
    let first = chain(size).and_then(|chain| chain.stages.first());
    let registers = first.map_or(0, |stage| 1usize << stage.layout.physical().bits_of_stem("r").len());
    let lanes = LANES as usize;
    for fragment in table[..registers * lanes].chunks_exact_mut(4 * lanes) {
        for at in 0..2 * lanes {
            let (low, high) = (fragment[at], fragment[at + 2 * lanes]);
            fragment[at] = low & 0xffff | high << 16;
            fragment[at + 2 * lanes] = low >> 16 | high & 0xffff_0000;
        }
    }
    table
}

/// `n` of each register and lane of a transform's input, `[register][lane]`; empty if there is no kernel of the size.
#[doc(hidden)]
pub fn input_places(size: Size) -> Vec<u32> {
    chain(size).map_or(Vec::new(), |chain| places(&chain.input, "n"))
}

/// `q` of each register and lane of a transform's output, `[register][lane]`; empty if there is no kernel of the size.
#[doc(hidden)]
pub fn output_places(size: Size) -> Vec<u32> {
    chain(size).map_or(Vec::new(), |chain| places(&chain.output, "q"))
}

/// The number that each register and lane of a layout holds.
fn places(layout: &Layout, stem: &str) -> Vec<u32> {
    let registers = 1u64 << layout.physical().bits_of_stem("r").len();
    let number = |register, lane| {
        let place = layout.physical().index(&[("r", register), ("t", lane)]);
        layout.logical().number(stem, layout.apply(place)) as u32
    };
    (0..registers).flat_map(|register| (0..LANES).map(move |lane| number(register, lane))).collect()
}

/// The table of one stage.
fn stage_table(layout: &Layout, outputs: u64, sign: Sign, scale: f64) -> Vec<u32> {
    let registers = 1u64 << layout.physical().bits_of_stem("r").len();
    let half = |register, lane, b| {
        let place = layout.physical().index(&[("r", register), ("t", lane), ("b", b)]);
        let value = scale * element(layout, layout.apply(place), outputs, sign);
        u32::from(f16::from_f64(value + 0.0).to_bits()) // -0 + 0 = 0
    };
    let word = |register, lane| half(register, lane, 0) | half(register, lane, 1) << 16;
    (0..registers).flat_map(|register| (0..LANES).map(move |lane| (register, lane))).map(|(r, t)| word(r, t)).collect()
}

/// The element of a stage with this logical index.
fn element(layout: &Layout, index: u64, outputs: u64, sign: Sign) -> f64 {
    let bits = layout.logical();
    let is_set = |name: &Name| bits.position(name).is_some_and(|at| index >> at & 1 == 1);
    let (mut re_im, mut row, mut column) = (None, None, None);
    for name in bits.iter() {
        match name.stem() {
            "ReIm" => re_im = Some(is_set(&name)),
            "ReIm_out" => row = Some(is_set(&name)),
            "ReIm_in" => column = Some(is_set(&name)),
            "pad" if is_set(&name) => return 0.0,
            stem => {
                let carried_to = stem.strip_suffix("_in").and_then(|stem| carried(stem, name.number()));
                if carried_to.is_some_and(|to| is_set(&to) != is_set(&name)) {
                    return 0.0;
                }
            }
        }
    }
    let product = bits.number("q", index).wrapping_mul(bits.number("n", index));
    let (re, im) = root_of_unity(product % outputs, outputs);
    let im = sign.value() * im;
    match (re_im, row, column) {
        (Some(imaginary), ..) => {
            if imaginary {
                im
            } else {
                re
            }
        }
        (None, Some(true), Some(false)) => im,
        (None, Some(false), Some(true)) => -im,
        _ => re,
    }
}

/// `x_out` of a carried bit `x`, with its number if it has one.
fn carried(stem: &str, number: Option<usize>) -> Option<Name> {
    let stem = format!("{stem}_out");
    match number {
        Some(number) => Name::numbered(&stem, number).ok(),
        None => Name::new(&stem).ok(),
    }
}

/// `exp(2 pi i k / n)`, `k < n`, `n` a multiple of 8. All of it comes from the first eighth of a turn, so that what is
/// equal in magnitude is equal to the bit, and what is zero is zero.
fn root_of_unity(k: u64, n: u64) -> (f64, f64) {
    let (quadrant, rest) = (k / (n / 4), k % (n / 4));
    let angle = |k: u64| std::f64::consts::TAU * k as f64 / n as f64;
    let (re, im) = if rest <= n / 8 {
        (angle(rest).cos(), angle(rest).sin())
    } else {
        (angle(n / 4 - rest).sin(), angle(n / 4 - rest).cos())
    };
    match quadrant {
        0 => (re, im),
        1 => (-im, re),
        2 => (-re, -im),
        _ => (im, -re),
    }
}

#[cfg(test)]
mod tests;
