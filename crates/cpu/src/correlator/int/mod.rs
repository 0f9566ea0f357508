//! Integer inner loops: exact f32 in plain Rust, 16-bit pairs with AVX2 and AVX-512, 8-bit quadruples with AVX-512
//! VNNI.
//!
//! | kernel | step | wide, first variant | wide, second variant | narrow |
//! |---|---|---|---|---|
//! | plain | 1 spectrum | `re_a` in f32 | `im_a` in f32 | `re_b, im_b` in f32 |
//! | 16-bit | 1 spectrum | `re_a, im_a` | `im_a, -re_a` | `re_b, im_b` |
//! | 8-bit | 2 spectra | `re_a + 128, im_a + 128` unsigned, twice | `im_a + 128, 127 - re_a`, twice | `re_b, im_b` signed, twice |
//!
//! The 8-bit sums are too large by `128 (sum re_b + sum im_b)` and `128 sum re_b + 127 sum im_b`, which the packing
//! counts and the end of a segment takes off. No value of 8 bits overflows anywhere, -128 included.

use fringes_types::{Complex4, SampleFormat, VoltageSample};
use ndarray::ArrayView1;
use num_complex::Complex;

use super::engine::{self, Kernel, Narrow, Position, Rows, Task, Tile, Wide, at_step};
use super::float::multiply;
use super::plan::{FLOAT_RUN, GROUP, LANES};
use super::simd::InstructionSet;

type C8 = Complex<i8>;

/// Adds the products of an integer task to `totals [channel][baseline]`.
pub(super) fn run<V: VoltageSample>(instructions: InstructionSet, task: &Task<'_, V>, totals: &mut [Complex<i64>]) {
    match instructions {
        InstructionSet::Portable => engine::run(Portable, task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => engine::run(Pairs::<false>::checked(), task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => engine::run(Pairs::<true>::checked(), task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Vnni => engine::run(Vnni::checked(), task, totals),
        #[cfg(not(target_arch = "x86_64"))]
        _ => engine::run(Portable, task, totals),
    }
}

/// Unpacks 4-bit or 8-bit voltages.
fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C8]) {
    match (V::FORMAT, from.as_slice()) {
        (SampleFormat::Int4, _) => {
            for (to, from) in to.iter_mut().zip(from) {
                let packed: Complex4 = bytemuck::cast(*from);
                *to = C8::new(packed.re(), packed.im());
            }
        }
        (_, Some(from)) => to.copy_from_slice(bytemuck::cast_slice(from)),
        (_, None) => to.iter_mut().zip(from).for_each(|(to, from)| *to = bytemuck::cast(*from)),
    }
}

/// Takes the bias off a sum and adds it to the total.
fn add(total: &mut Complex<i64>, re: i32, im: i32, bias: [i32; 2]) {
    total.re += i64::from(re) - i64::from(bias[0]);
    total.im += i64::from(im) - i64::from(bias[1]);
}

// Sums of a run of products are whole numbers below 2^24, which f32 holds exactly.
const _: () = assert!(FLOAT_RUN * 2 * 128 * 128 <= 1 << 24);

/// The float inner loop on integers: exact, and the only one that compilers vectorise well on every machine.
#[derive(Clone, Copy)]
struct Portable;

impl Kernel for Portable {
    type Voltage = C8;
    type Lane = f32;
    type Narrow = [f32; 2];
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
        wide: &mut [Wide<f32>],
        narrow: &mut [Narrow<[f32; 2]>],
        _bias: &mut [[i32; 2]],
    ) {
        for (panel, row) in at_step(wide, position).zip(rows[0].as_chunks::<LANES>().0) {
            *panel = Wide([row.map(|x| f32::from(x.re)), row.map(|x| f32::from(x.im))]);
        }
        for (group, row) in at_step(narrow, position).zip(rows[0].as_chunks::<GROUP>().0) {
            *group = row.map(|x| [f32::from(x.re), f32::from(x.im)]);
        }
    }

    fn multiply<const N: usize>(
        self,
        wide: &[Wide<f32>],
        narrow: [&[Narrow<[f32; 2]>]; N],
        tiles: &mut [Tile<i32>; N],
    ) {
        for (tile, narrow) in tiles.iter_mut().zip(narrow) {
            multiply::<false, i32>(wide, narrow, tile, |total, sum| total + sum as i32);
        }
    }

    fn add(total: &mut Complex<i64>, re: i32, im: i32, bias: [i32; 2]) {
        add(total, re, im, bias);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
use x86::{Pairs, Vnni};
