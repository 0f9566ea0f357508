//! Tied-array and incoherent beams: products of a block `[time][input]` with a matrix `[input][beam]`.

use fringes_types::{SampleFormat, VoltageSample};
use ndarray::{Array3, ArrayView2, ArrayView3, ArrayViewMut2, Axis, s};
use num_complex::Complex;
use rayon::prelude::*;

use super::BLOCK_TIMES;
use crate::blocks::{TimeBlock, share, time_blocks};
use crate::memory::zeroed_vec;

type C32 = Complex<f32>;

/// Values that `gemm` multiplies.
trait Product: Copy + Send + Sync + 'static {
    const ZERO: Self;
    const ONE: Self;
}

impl Product for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

impl Product for C32 {
    const ZERO: Self = C32::new(0.0, 0.0);
    const ONE: Self = C32::new(1.0, 0.0);
}

/// `out = left right`, with `left` of `[time][input]`, `right` of `[input][beam]` and `out` of `[time][beam]`.
fn multiply<T: Product>(left: ArrayView2<'_, T>, right: ArrayView2<'_, T>, mut out: ArrayViewMut2<'_, T>) {
    let ((times, inputs), (right_inputs, beams)) = (left.dim(), right.dim());
    assert_eq!((right_inputs, out.dim()), (inputs, (times, beams)), "shapes of a matrix product");
    let (out_strides, left_strides, right_strides) =
        ([out.strides()[0], out.strides()[1]], left.strides(), right.strides());
    // SAFETY: each pointer and its strides are those of a view of the dimensions given, as asserted above; `out` is
    // borrowed mutably, so it overlaps neither factor; it is written only (`read_dst` is false), and holds initialised
    // plain values.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            times,
            beams,
            inputs,
            out.as_mut_ptr(),
            out_strides[1],
            out_strides[0],
            false,
            left.as_ptr(),
            left_strides[1],
            left_strides[0],
            right.as_ptr(),
            right_strides[1],
            right_strides[0],
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Fills `values`, `[time][input]`, with `value(voltage)` of a block of voltages, zero where a voltage is missing.
fn convert<V: VoltageSample, T: Product>(
    voltages: ArrayView2<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    values: &mut Vec<T>,
    value: impl Fn(C32) -> T,
) {
    values.clear();
    for (time, row) in voltages.rows().into_iter().enumerate() {
        let start = values.len();
        match row.as_slice() {
            Some(row) => values.extend(row.iter().map(|voltage| value(voltage.to_c32()))),
            None => values.extend(row.iter().map(|voltage| value(voltage.to_c32()))),
        }
        if let Some(presence) = presence {
            for (value, &present) in values[start..].iter_mut().zip(presence.row(time)) {
                if !present {
                    *value = T::ZERO;
                }
            }
        }
    }
}

/// The part of `presence`, `[time][input]`, that a block covers; `None` if all of it is present.
fn presence_of<'a, T>(
    presence: Option<ArrayView2<'a, bool>>,
    block: &TimeBlock<'_, T>,
    times: usize,
) -> Option<ArrayView2<'a, bool>> {
    let flags = presence?.slice_move(s![block.first_time..block.first_time + times, ..]);
    flags.iter().any(|&present| !present).then_some(flags)
}

/// Bytes of scratch of one unit of work of [`tied_array`]: a converted block, and the matrix product's own copies of
/// its factors.
pub fn tied_array_scratch_bytes(inputs: usize, beams: usize) -> u64 {
    product_scratch_bytes::<C32>(inputs, beams)
}

/// Bytes of scratch of one unit of work of [`incoherent`].
pub fn incoherent_scratch_bytes(inputs: usize, beams: usize) -> u64 {
    product_scratch_bytes::<f32>(inputs, beams)
}

fn product_scratch_bytes<T>(inputs: usize, beams: usize) -> u64 {
    // The product packs both factors in panels of up to 64 rows or columns.
    let panels = |length: usize| (length as u64).div_ceil(64) * 64;
    let rows = 2 * panels(BLOCK_TIMES) + panels(beams);
    rows.saturating_mul(inputs as u64).saturating_mul(size_of::<T>() as u64)
}

/// Writes tied-array beams `[channel][time][beam]` to `out`, of voltages `[channel][time][input]` with weights
/// `[beam][channel][input]`; `presence` is `[time][input]`.
///
/// At most `parallel` units of work are in progress at a time.
///
/// # Precision
/// With `u = 2^-24`, `|y - y_reference| <= 1.5 (2 inputs + 2) u sum_input |w| |x|`: each part is a sum of `2 inputs`
/// products in an order that the machine decides (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1),
/// and there are two parts.
///
/// # Panics
/// If the shapes do not fit.
pub fn tied_array_into<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: ArrayView3<'_, C32>,
    parallel: usize,
    out: &mut [C32],
) {
    let (channels, times, inputs) = voltages.dim();
    let beams = weights.dim().0;
    assert_eq!(weights.dim(), (beams, channels, inputs), "weights are [beam][channel][input]");
    assert_eq!(out.len(), channels * times * beams, "a value for each channel, time and beam");
    let blocks = time_blocks(out, times, beams, BLOCK_TIMES);
    let share = share(blocks.len(), parallel);
    blocks.into_par_iter().with_min_len(share).for_each_init(Vec::new, |scratch, block| {
        let times = block.out.len() / beams;
        let voltages = voltages.slice(s![block.channel, block.first_time..block.first_time + times, ..]);
        let presence = presence_of(presence, &block, times);
        let weights = weights.slice(s![.., block.channel, ..]).reversed_axes();
        let out = matrix_mut(block.out, times, beams);
        match as_c32(&voltages) {
            Some(voltages) if presence.is_none() => multiply(voltages, weights, out),
            _ => {
                convert(voltages, presence, scratch, |voltage| voltage);
                multiply(matrix(scratch, times, inputs), weights, out);
            }
        }
    });
}

/// As [`tied_array_into`], with a new output.
///
/// # Panics
/// If the shapes do not fit.
pub fn tied_array<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: ArrayView3<'_, C32>,
    parallel: usize,
) -> Array3<C32> {
    let (channels, times, _) = voltages.dim();
    let shape = (channels, times, weights.len_of(Axis(0)));
    let mut out = zeroed_vec(shape.0 * shape.1 * shape.2);
    tied_array_into(voltages, presence, weights, parallel, &mut out);
    Array3::from_shape_vec(shape, out).expect("a value for each channel, time and beam")
}

/// Writes incoherent beams `[channel][time][beam]` to `out`, of voltages `[channel][time][input]` with gains
/// `[beam][input]`; `presence` is `[time][input]`.
///
/// At most `parallel` units of work are in progress at a time.
///
/// # Precision
/// `|y - y_reference| <= (inputs + 3) u sum_input |g| |x|^2`, `u = 2^-24`: a sum of `inputs` products in any order, of
/// powers with two roundings each.
///
/// # Panics
/// If the shapes do not fit.
pub fn incoherent_into<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: ArrayView2<'_, f32>,
    parallel: usize,
    out: &mut [f32],
) {
    let (channels, times, inputs) = voltages.dim();
    let beams = gains.nrows();
    assert_eq!(gains.ncols(), inputs, "gains are [beam][input]");
    assert_eq!(out.len(), channels * times * beams, "a value for each channel, time and beam");
    let blocks = time_blocks(out, times, beams, BLOCK_TIMES);
    let share = share(blocks.len(), parallel);
    blocks.into_par_iter().with_min_len(share).for_each_init(Vec::new, |scratch, block| {
        let times = block.out.len() / beams;
        let voltages = voltages.slice(s![block.channel, block.first_time..block.first_time + times, ..]);
        convert(voltages, presence_of(presence, &block, times), scratch, |voltage| voltage.norm_sqr());
        multiply(matrix(scratch, times, inputs), gains.reversed_axes(), matrix_mut(block.out, times, beams));
    });
}

/// As [`incoherent_into`], with a new output.
///
/// # Panics
/// If the shapes do not fit.
pub fn incoherent<V: VoltageSample>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    gains: ArrayView2<'_, f32>,
    parallel: usize,
) -> Array3<f32> {
    let (channels, times, _) = voltages.dim();
    let shape = (channels, times, gains.len_of(Axis(0)));
    let mut out = zeroed_vec(shape.0 * shape.1 * shape.2);
    incoherent_into(voltages, presence, gains, parallel, &mut out);
    Array3::from_shape_vec(shape, out).expect("a value for each channel, time and beam")
}

fn matrix<T>(values: &[T], rows: usize, columns: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((rows, columns), values).expect("rows x columns values")
}

fn matrix_mut<T>(values: &mut [T], rows: usize, columns: usize) -> ArrayViewMut2<'_, T> {
    ArrayViewMut2::from_shape((rows, columns), values).expect("rows x columns values")
}

/// The voltages themselves, if they are `Complex<f32>` with contiguous inputs and times.
fn as_c32<'a, V: VoltageSample>(voltages: &ArrayView2<'a, V>) -> Option<ArrayView2<'a, C32>> {
    if V::FORMAT != SampleFormat::Float32 {
        return None;
    }
    let values: &[C32] = bytemuck::try_cast_slice(voltages.to_slice()?).ok()?;
    ArrayView2::from_shape(voltages.dim(), values).ok()
}
