//! Integer inner loops: 16-bit pairs everywhere, 8-bit quadruples with AVX-512 VNNI.
//!
//! | kernel | step | wide lane (real part) | wide lane (imaginary part) | narrow |
//! |---|---|---|---|---|
//! | 16-bit | 1 spectrum | `re_a, im_a` | `im_a, -re_a` | `re_b, im_b` |
//! | 8-bit | 2 spectra | `re_a + 128, im_a + 128` unsigned, twice | `im_a + 128, 127 - re_a`, twice | `re_b, im_b` signed, twice |
//!
//! The 8-bit sums are too large by `128 (sum re_b + sum im_b)` and `128 sum re_b + 127 sum im_b`, which the packing counts
//! and the end of a segment takes off. No value of 8 bits overflows anywhere, -128 included.

use fringes_types::{Complex4, SampleFormat, VoltageSample};
use ndarray::ArrayView1;
use num_complex::Complex;

use super::engine::{self, Kernel, Narrow, Position, Rows, Task, Tile, Wide};
use super::plan::{GROUP, LANES};
use super::simd::InstructionSet;

type C8 = Complex<i8>;

/// Adds the products of an integer task to `totals [channel][baseline]`.
pub(super) fn run<V: VoltageSample>(instructions: InstructionSet, task: &Task<'_, V>, totals: &mut [Complex<i64>]) {
    match instructions {
        InstructionSet::Portable => engine::run(Portable, task, totals),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => engine::run(Avx2::checked(), task, totals),
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

/// Packs 16-bit pairs.
#[inline(always)]
fn pack_pairs(
    rows: &Rows<C8>,
    Position { step, steps }: Position,
    wide: &mut [Wide<[i16; 2]>],
    narrow: &mut [Narrow<[i16; 2]>],
) {
    for (panel, row) in wide.chunks_exact_mut(steps).zip(rows[0].as_chunks::<LANES>().0) {
        let Wide([re, im]) = &mut panel[step];
        for lane in 0..LANES {
            let (x, y) = (i16::from(row[lane].re), i16::from(row[lane].im));
            re[lane] = [x, y];
            im[lane] = [y, -x];
        }
    }
    for (group, row) in narrow.chunks_exact_mut(steps).zip(rows[0].as_chunks::<GROUP>().0) {
        for (to, from) in group[step].iter_mut().zip(row) {
            *to = [i16::from(from.re), i16::from(from.im)];
        }
    }
}

/// 16-bit pairs in plain Rust.
#[derive(Clone, Copy)]
struct Portable;

impl Kernel for Portable {
    type Voltage = C8;
    type Lane = [i16; 2];
    type Narrow = [i16; 2];
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
        wide: &mut [Wide<[i16; 2]>],
        narrow: &mut [Narrow<[i16; 2]>],
        _bias: &mut [[i32; 2]],
    ) {
        pack_pairs(rows, position, wide, narrow);
    }

    fn multiply(self, wide: &[Wide<[i16; 2]>], narrow: &[Narrow<[i16; 2]>], tile: &mut Tile<i32>) {
        let dot = |x: [i16; 2], y: [i16; 2]| i32::from(x[0]) * i32::from(y[0]) + i32::from(x[1]) * i32::from(y[1]);
        for (b, sums) in tile.0.iter_mut().enumerate() {
            for (part, sums) in sums.iter_mut().enumerate() {
                let mut local = *sums;
                for (wide, narrow) in wide.iter().zip(narrow) {
                    for (sum, x) in local.iter_mut().zip(wide.0[part]) {
                        *sum += dot(x, narrow[b]);
                    }
                }
                *sums = local;
            }
        }
    }

    fn add(total: &mut Complex<i64>, re: i32, im: i32, bias: [i32; 2]) {
        add(total, re, im, bias);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
use x86::{Avx2, Vnni};
