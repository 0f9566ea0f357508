//! Float inner loops: products summed in f32 for a run of 64 spectra, then in f64.
//!
//! The wide side holds the real and the imaginary part of eight inputs `a` in a register each; the sums are
//! `re += re_a re_b + im_a im_b` and `im += im_a re_b - re_a im_b`.

#[cfg(target_arch = "x86_64")]
mod x86;

use fringes_types::{SampleFormat, VoltageSample};
use half::f16;
use ndarray::ArrayView1;
use num_complex::Complex;

use super::engine::{self, Kernel, Narrow, Position, Rows, Task, Tile, Wide, at_step};
use super::plan::{FLOAT_RUN, GROUP, LANES};
use super::simd::InstructionSet;

type C32 = Complex<f32>;

/// Adds the products of a float task to `totals [channel][baseline]`.
pub(super) fn run<V: VoltageSample>(instructions: InstructionSet, task: &Task<'_, V>, totals: &mut [Complex<f64>]) {
    match instructions {
        InstructionSet::Portable => engine::run(Portable, task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => engine::run(x86::Fused::<false>::checked(), task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 | InstructionSet::Avx512Vnni => engine::run(x86::Fused::<true>::checked(), task, totals),
        #[cfg(not(target_arch = "x86_64"))]
        _ => engine::run(Portable, task, totals),
    }
}

/// Unpacks half or single precision; exact.
fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C32]) {
    match (V::FORMAT, from.as_slice()) {
        (SampleFormat::Float16, Some(from)) => {
            use half::slice::HalfFloatSliceExt;
            let from: &[f16] = bytemuck::cast_slice(from);
            from.convert_to_f32_slice(bytemuck::cast_slice_mut(to));
        }
        (SampleFormat::Float32, Some(from)) => to.copy_from_slice(bytemuck::cast_slice(from)),
        _ => to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_c32()),
    }
}

#[inline(always)]
fn pack(rows: &Rows<C32>, position: Position, wide: &mut [Wide<f32>], narrow: &mut [Narrow<[f32; 2]>]) {
    for (panel, row) in at_step(wide, position).zip(rows[0].as_chunks::<LANES>().0) {
        *panel = Wide([row.map(|x| x.re), row.map(|x| x.im)]);
    }
    for (group, row) in at_step(narrow, position).zip(rows[0].as_chunks::<GROUP>().0) {
        *group = row.map(|x| [x.re, x.im]);
    }
}

/// `x y + sum`, in one rounding or two.
#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, y: f32, sum: f32) -> f32 {
    if FUSED { x.mul_add(y, sum) } else { x * y + sum }
}

/// Adds the products of all steps to a tile, a run of 64 steps at a time in f32.
#[inline(always)]
pub(super) fn multiply<const FUSED: bool, S: Copy>(
    wide: &[Wide<f32>],
    narrow: &[Narrow<[f32; 2]>],
    tile: &mut Tile<S>,
    add: impl Fn(S, f32) -> S,
) {
    for (wide, narrow) in wide.chunks(FLOAT_RUN).zip(narrow.chunks(FLOAT_RUN)) {
        let mut sums = [[[0f32; LANES]; 2]; GROUP];
        for (Wide([re_a, im_a]), narrow) in wide.iter().zip(narrow) {
            for ([re, im], &[re_b, im_b]) in sums.iter_mut().zip(narrow) {
                for lane in 0..LANES {
                    re[lane] = multiply_add::<FUSED>(re_a[lane], re_b, re[lane]);
                    im[lane] = multiply_add::<FUSED>(im_a[lane], re_b, im[lane]);
                }
                for lane in 0..LANES {
                    re[lane] = multiply_add::<FUSED>(im_a[lane], im_b, re[lane]);
                    im[lane] = multiply_add::<FUSED>(-re_a[lane], im_b, im[lane]);
                }
            }
        }
        for (totals, sums) in tile.0.iter_mut().zip(&sums) {
            for (totals, sums) in totals.iter_mut().zip(sums) {
                for lane in 0..LANES {
                    totals[lane] = add(totals[lane], sums[lane]);
                }
            }
        }
    }
}

/// Plain Rust, a product and a sum each rounded.
#[derive(Clone, Copy)]
struct Portable;

impl Kernel for Portable {
    type Voltage = C32;
    type Lane = f32;
    type Narrow = [f32; 2];
    type Sum = f64;
    type Total = f64;
    const TIMES: usize = 1;

    fn load<V: VoltageSample>(from: ArrayView1<'_, V>, to: &mut [C32]) {
        load(from, to);
    }

    fn pack(
        self,
        rows: &Rows<C32>,
        position: Position,
        wide: &mut [Wide<f32>],
        narrow: &mut [Narrow<[f32; 2]>],
        _bias: &mut [[i32; 2]],
    ) {
        pack(rows, position, wide, narrow);
    }

    fn multiply<const N: usize>(
        self,
        wide: &[Wide<f32>],
        narrow: [&[Narrow<[f32; 2]>]; N],
        tiles: &mut [Tile<f64>; N],
    ) {
        for (tile, narrow) in tiles.iter_mut().zip(narrow) {
            multiply::<false, f64>(wide, narrow, tile, |total, sum| total + f64::from(sum));
        }
    }

    fn add(total: &mut Complex<f64>, re: f64, im: f64, _bias: [i32; 2]) {
        *total += Complex::new(re, im);
    }
}
