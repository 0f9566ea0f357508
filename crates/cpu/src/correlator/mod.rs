//! Correlation, fast: `V[a][b] = sum_t x_a(t) conj(x_b(t))` for `a >= b`, added to what the sums hold.
//!
//! | array | dimensions |
//! |---|---|
//! | voltages | `[channel][time][input]`, any strides |
//! | heaps | `[batch][antenna][channel][spectrum][pol]`, any strides |
//! | presence flags | `[time][input]`, true where present |
//! | sums | `[channel][baseline]`, packed lower triangle, `V[a][b]` at `a (a + 1) / 2 + b` |
//!
//! # Layout
//! Work is split into jobs of one channel and one *segment* of 8192 spectra. A job goes through its segment in
//! blocks of some hundred spectra: it packs a block so that what one step of the inner loop reads lies together
//! (`pack`), and multiplies 6 inputs `b` with 8 inputs `a` at a time (a *tile*), keeping the 96 sums in registers:
//!
//! ```text
//! wide   [panel of 8 inputs a][step][re, im variant][8 inputs]     one vector register per variant
//! narrow [group of 6 inputs b][step][6 inputs]                     each broadcast to a register
//! tiles  [panel][group][6 inputs b][re, im][8 inputs a]            only groups that reach the lower triangle
//! ```
//!
//! The wide side holds each input twice, as `(re, im)` for the real part and as `(im, -re)` for the imaginary part of
//! the product, so that both are plain dot products of pairs with `(re_b, im_b)`. Integer tiles are i32 for one
//! segment, which provably cannot overflow, then i64; float tiles are f32 for 64 spectra, then f64.
//!
//! # Precision
//! Integers: exact, every value of the format included, and equal on every instruction set.
//!
//! Floats: with `u = 2^-24` and `S` segments, each part of `V[a][b]` is within
//! `(129 u / (1 - 129 u) + (128 + S) 2^-53) sum_t |x_a(t)| |x_b(t)|` of the exact sum, which for any call of below 10^7
//! spectra is `7.7e-6 sqrt(V_aa V_bb)` or less. Derivation: a part of 64 spectra is a sum of 128 products in one f32,
//! no product passes through more than 129 roundings, and `|re_a re_b| + |im_a im_b| <= |x_a| |x_b|`; the f64 sums pass
//! through 128 + S additions. That is the worst case: for independent noise roundings average, and the RMS error is at
//! most `128 u sqrt(T / 128)` standard deviations of one product. Both hold while no product or sum of a run leaves the
//! normal range of f32 (parts of 0 or of magnitude `2^-60` to `2^60`).
//!
//! Results do not depend on the number of threads or on the memory limit; those of floats do on the instruction set
//! (with FMA or without) and on where calls are cut.

mod engine;
mod float;
mod heaps;
mod int;
mod plan;
mod selection;
mod simd;

use fringes_types::{SampleFormat, VoltageSample};
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayViewMut2, Axis};
use num_complex::Complex;
use rayon::prelude::*;

pub use heaps::{accumulate_heaps, accumulate_heaps_selected, count_valid_heaps, heaps_workspace};
pub use plan::{Workspace, workspace};
pub use selection::{BlockMask, Selection};
pub use simd::InstructionSet;

/// Adds `sum_t x_a(t) conj(x_b(t))` to `sums`, with the best instruction set of this machine.
///
/// Shapes: `voltages [channel][time][input]`, `presence [time][input]`, `sums [channel][baseline]`. Inputs that are
/// absent at a time count as zero there, whatever the voltages hold. With `memory_limit_bytes`, temporary memory stays
/// below it (or at the smallest that is possible, see [`workspace`]); the result is the same.
///
/// # Precision
/// See the [module](self).
///
/// # Panics
/// If a shape does not agree with the voltages', or the sums are not in standard layout.
pub fn accumulate<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    accumulate_with(InstructionSet::best(), voltages, presence, sums, memory_limit_bytes);
}

/// [`accumulate`] of a selection: some times, and no masked channels. What is not selected is not read.
///
/// # Precision
/// As [`accumulate`] of an array of the selected times alone, in their order, with zeros where it is masked.
///
/// # Panics
/// As [`accumulate`], and if the selection is of times or channels that the voltages do not have.
pub fn accumulate_selected<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    selection: Selection<'_>,
    sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    accumulate_with(InstructionSet::best(), voltages, selection, sums, memory_limit_bytes);
}

/// [`accumulate_selected`] with a given instruction set.
///
/// # Panics
/// As there, and if this machine does not have the instruction set.
pub fn accumulate_with<'a, V: VoltageSample>(
    instructions: InstructionSet,
    voltages: ArrayView3<'_, V>,
    selection: impl Into<Selection<'a>>,
    mut sums: ArrayViewMut2<'_, V::Accumulator>,
    memory_limit_bytes: Option<u64>,
) {
    let (channels, times, inputs) = voltages.dim();
    assert!(instructions.is_available(), "this machine does not have {instructions:?}");
    assert_eq!(sums.dim(), (channels, inputs * (inputs + 1) / 2), "shape of the sums");
    let selection = selection.into();
    selection.check(channels, times, (times, inputs));
    if channels == 0 || times == 0 || inputs == 0 {
        return;
    }
    let sums = sums.as_slice_mut().expect("sums in standard layout");
    let (voltages, selection) = (voltages.view(), selection.reborrow());
    let task = engine::Task { voltages, selection, memory_limit_bytes };
    match V::FORMAT {
        SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => {
            int::run(instructions, &task, bytemuck::cast_slice_mut::<V::Accumulator, Complex<i64>>(sums));
        }
        SampleFormat::Float16 | SampleFormat::Float32 => {
            float::run(instructions, &task, bytemuck::cast_slice_mut::<V::Accumulator, Complex<f64>>(sums));
        }
    }
}

/// `V[a][b] = sum_t x_a(t) conj(x_b(t))`, all present: [`accumulate`] from zero.
///
/// # Panics
/// As [`accumulate`].
pub fn correlate<V: VoltageSample>(voltages: ArrayView3<'_, V>) -> Array2<V::Accumulator> {
    let (channels, _, inputs) = voltages.dim();
    let mut sums = Array2::from_elem((channels, inputs * (inputs + 1) / 2), V::Accumulator::default());
    accumulate(voltages, None, sums.view_mut(), None);
    sums
}

/// Adds to `counts [baseline]` (packed lower triangle) the number of times at which both inputs are present.
///
/// # Panics
/// If `counts` does not have one element for every pair of inputs of `presence [time][input]`.
pub fn count_valid(presence: ArrayView2<'_, bool>, counts: &mut [u64]) {
    // Times that are turned into bits together.
    const CHUNK: usize = 4096;
    let inputs = presence.ncols();
    assert_eq!(counts.len(), inputs * (inputs + 1) / 2, "length of the counts");
    let mut rest = counts;
    let mut rows = Vec::with_capacity(inputs);
    for a in 0..inputs {
        let (row, tail) = rest.split_at_mut(a + 1);
        rows.push(row);
        rest = tail;
    }
    // One bit a time: [input][word].
    let words = CHUNK.min(presence.nrows()).div_ceil(64);
    let mut bits = vec![0u64; inputs * words];
    for chunk in presence.axis_chunks_iter(Axis(0), CHUNK) {
        bits.fill(0);
        for (time, row) in chunk.outer_iter().enumerate() {
            for (input, &present) in row.iter().enumerate() {
                bits[input * words + time / 64] |= u64::from(present) << (time % 64);
            }
        }
        let row_of = |input: usize| &bits[input * words..(input + 1) * words];
        rows.par_iter_mut().enumerate().with_min_len(16).for_each(|(a, row)| {
            for (b, count) in row.iter_mut().enumerate() {
                let both = row_of(a).iter().zip(row_of(b)).map(|(x, y)| u64::from((x & y).count_ones()));
                *count += both.sum::<u64>();
            }
        });
    }
}

#[cfg(test)]
mod tests;
