//! Gain and quantisation of voltages `[channel][time][input]`, as `fringes_reference::quantiser`.
//!
//! The product of gain and voltage is taken in f64 by the reference's formula, so the integers and the counts of
//! saturated values equal the reference's on every input, without a margin at rounding ties.

use bytemuck::Zeroable;
use fringes_types::Complex4;
use ndarray::{Array1, Array3, ArrayView1, ArrayView2, ArrayView3, Axis, s};
use num_complex::Complex;
use rayon::prelude::*;

use crate::blocks::time_blocks;
use crate::memory::zeroed_vec;

/// An integer complex value that the quantiser writes.
pub trait QuantisedValue: Zeroable + Copy + Send + Sync {
    /// Largest magnitude of a part.
    const LIMIT: f64;
    /// The value of two parts within the limit.
    fn from_parts(re: i8, im: i8) -> Self;
}

impl QuantisedValue for Complex<i8> {
    const LIMIT: f64 = 127.0;
    #[inline(always)]
    fn from_parts(re: i8, im: i8) -> Self {
        Complex::new(re, im)
    }
}

impl QuantisedValue for Complex4 {
    const LIMIT: f64 = 7.0;
    #[inline(always)]
    fn from_parts(re: i8, im: i8) -> Self {
        Complex4(((re as u8) << 4) | (im as u8 & 0x0f))
    }
}

/// Clamps and rounds half to even, NaN to 0; also whether the value is beyond the limit or NaN.
#[inline(always)]
pub(crate) fn part<Q: QuantisedValue>(value: f64) -> (i8, bool) {
    // Adding 3 * 2^51 leaves no fraction bits, so the addition itself rounds, half to even; the integer is then in the
    // low bits. Values are within the limit by then.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let legal = value.abs() <= Q::LIMIT;
    let clamped = if value.is_nan() { 0.0 } else { value.clamp(-Q::LIMIT, Q::LIMIT) };
    ((clamped + ROUND).to_bits() as i8, !legal)
}

/// One value: the quantised product of gain and voltage, and whether it saturates.
#[inline(always)]
fn value<Q: QuantisedValue>(x: Complex<f32>, g: Complex<f32>) -> (Q, bool) {
    let (xr, xi) = (f64::from(x.re), f64::from(x.im));
    let (gr, gi) = (f64::from(g.re), f64::from(g.im));
    let (re, re_beyond) = part::<Q>(gr * xr - gi * xi);
    let (im, im_beyond) = part::<Q>(gr * xi + gi * xr);
    (Q::from_parts(re, im), re_beyond | im_beyond)
}

/// One spectrum: `out[i]` from `gains[i] * voltages[i]`, adding to the counts of saturated values.
fn spectrum<Q: QuantisedValue>(
    voltages: ArrayView1<'_, Complex<f32>>,
    gains: ArrayView1<'_, Complex<f32>>,
    out: &mut [Q],
    counts: &mut [u64],
) {
    let put = |out: &mut Q, x: &Complex<f32>, g: &Complex<f32>, count: &mut u64| {
        let (quantised, saturated) = value(*x, *g);
        *out = quantised;
        *count += u64::from(saturated);
    };
    let values = out.iter_mut().zip(counts);
    // The same loop over slices where there are some: the compiler vectorises it.
    if let (Some(voltages), Some(gains)) = (voltages.as_slice(), gains.as_slice()) {
        values.zip(voltages.iter().zip(gains)).for_each(|((out, count), (x, g))| put(out, x, g, count));
    } else {
        values.zip(voltages.iter().zip(gains)).for_each(|((out, count), (x, g))| put(out, x, g, count));
    }
}

/// As [`spectrum`] where voltages are missing: they stay 0 and do not count.
fn partial_spectrum<Q: QuantisedValue>(
    voltages: ArrayView1<'_, Complex<f32>>,
    gains: ArrayView1<'_, Complex<f32>>,
    present: ArrayView1<'_, bool>,
    out: &mut [Q],
    counts: &mut [u64],
) {
    for (input, (out, count)) in out.iter_mut().zip(counts).enumerate() {
        if present[input] {
            let (quantised, saturated) = value(voltages[input], gains[input]);
            *out = quantised;
            *count += u64::from(saturated);
        }
    }
}

/// Times that one unit of work covers.
const BLOCK_TIMES: usize = 64;

/// Applies gains `[channel][input]` to voltages `[channel][time][input]` and quantises; also counts the saturated
/// complex values of each input. `presence` is `[time][input]`; missing voltages give 0 and do not count.
///
/// # Precision
/// Exact: equal to the reference on every input.
///
/// # Panics
/// If the gains' shape differs.
pub fn quantise<Q: QuantisedValue>(
    voltages: ArrayView3<'_, Complex<f32>>,
    gains: ArrayView2<'_, Complex<f32>>,
    presence: Option<ArrayView2<'_, bool>>,
) -> (Array3<Q>, Array1<u64>) {
    let (channels, _, inputs) = voltages.dim();
    assert_eq!(gains.dim(), (channels, inputs), "gains are [channel][input]");
    let mut quantised = zeroed_vec::<Q>(voltages.len());
    let blocks = time_blocks(&mut quantised, voltages.dim().1, inputs, BLOCK_TIMES);
    let saturated = blocks
        .into_par_iter()
        .fold(
            || vec![0u64; inputs],
            |mut counts, block| {
                let gains = gains.row(block.channel);
                let voltages = voltages.slice(s![block.channel, block.first_time.., ..]);
                for (number, (out, voltages)) in block.out.chunks_mut(inputs).zip(voltages.rows()).enumerate() {
                    match presence.map(|presence| presence.index_axis_move(Axis(0), block.first_time + number)) {
                        Some(present) if present.iter().any(|&present| !present) => {
                            partial_spectrum(voltages, gains, present, out, &mut counts);
                        }
                        _ => spectrum(voltages, gains, out, &mut counts),
                    }
                }
                counts
            },
        )
        .reduce(
            || vec![0u64; inputs],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        );
    let quantised = Array3::from_shape_vec(voltages.dim(), quantised);
    (quantised.expect("one value for each voltage"), Array1::from_vec(saturated))
}
