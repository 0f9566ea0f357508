//! Tied-array and incoherent beams: products of a block `[time][input]` with a matrix `[input][beam]`.

use std::ops::Range;

use fringes_types::VoltageSample;
use ndarray::{Array3, ArrayView2, ArrayView3, Axis, s};
use num_complex::Complex;

use super::BLOCK_TIMES;
use super::float::Panels;
use super::unpack::numbers;
use crate::blocks::{do_units, time_blocks};
use crate::memory::zeroed_vec;

type C32 = Complex<f32>;

/// Units of work that there are for each worker at least, if there is so much work.
const UNITS_OF_WORKER: usize = 8;

/// Blocks of a unit of work at most: enough that packing weights for them is little.
const MOST_BLOCKS: usize = 16;

/// Makes zeros of what is missing.
fn clear_missing<T>(values: &mut [T], presence: Option<ArrayView2<'_, bool>>, zero: T)
where
    T: Copy,
{
    if let Some(presence) = presence {
        values.iter_mut().zip(presence).filter(|(_, present)| !**present).for_each(|(value, _)| *value = zero);
    }
}

/// The flags `[time][input]` of some times; `None` if all of them are set.
pub(super) fn presence_of(presence: Option<ArrayView2<'_, bool>>, times: Range<usize>) -> Option<ArrayView2<'_, bool>> {
    let flags = presence?.slice_move(s![times, ..]);
    flags.iter().any(|&present| !present).then_some(flags)
}

/// Times of a unit of work: whole blocks, as many as leave several units to each worker.
pub(super) fn unit_times(channels: usize, times: usize, parallel: usize) -> usize {
    let blocks = channels.saturating_mul(times.div_ceil(BLOCK_TIMES));
    (blocks / (UNITS_OF_WORKER * parallel.max(1))).clamp(1, MOST_BLOCKS) * BLOCK_TIMES
}

/// Bytes of scratch of one unit of work of [`tied_array`]: a converted block, and the matrix product's own copies of
/// its factors.
pub fn tied_array_scratch_bytes(inputs: usize, beams: usize) -> u64 {
    product_scratch_bytes::<2>(inputs, beams)
}

/// Bytes of scratch of one unit of work of [`incoherent`].
pub fn incoherent_scratch_bytes(inputs: usize, beams: usize) -> u64 {
    product_scratch_bytes::<1>(inputs, beams)
}

fn product_scratch_bytes<const P: usize>(inputs: usize, beams: usize) -> u64 {
    // Numbers, and their powers.
    let block = (BLOCK_TIMES * size_of::<[f32; 3]>()) as u64;
    block.saturating_mul(inputs as u64).saturating_add(Panels::<P>::bytes(inputs, beams))
}

/// Weights of a channel in panels, and a block of voltages: a worker's scratch.
#[derive(Debug, Default)]
pub(super) struct Floats {
    panels: Panels<2>,
    voltages: Vec<C32>,
}

impl Floats {
    /// Packs the weights `[beam][input]` of a channel in place of those of another.
    pub(super) fn pack(&mut self, weights: ArrayView2<'_, C32>) {
        self.panels.pack(weights);
    }

    /// Writes the beams `[time][beam]` of a block of voltages `[time][input]`, those zero whose flag is not set.
    pub(super) fn multiply<V: VoltageSample>(
        &mut self,
        voltages: ArrayView2<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
        out: &mut [C32],
    ) {
        // Those that are f32 already are copied too: in order, as a processor fetches ahead.
        self.voltages.resize(voltages.len(), C32::ZERO);
        numbers(voltages, &mut self.voltages);
        clear_missing(&mut self.voltages, presence, C32::ZERO);
        self.panels.multiply(&self.voltages, out);
    }
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
    let units = time_blocks(out, times, beams, unit_times(channels, times, parallel));
    do_units(units, parallel, <(Floats, Option<usize>)>::default, |(floats, packed), unit| {
        if *packed != Some(unit.channel) {
            floats.pack(weights.slice(s![.., unit.channel, ..]));
            *packed = Some(unit.channel);
        }
        for (number, out) in unit.out.chunks_mut(BLOCK_TIMES * beams).enumerate() {
            let first = unit.first_time + number * BLOCK_TIMES;
            let span = first..first + out.len() / beams;
            let voltages = voltages.slice(s![unit.channel, span.clone(), ..]);
            floats.multiply(voltages, presence_of(presence, span), out);
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
    let mut panels = Panels::<1>::default();
    panels.pack(gains);
    let units = time_blocks(out, times, beams, BLOCK_TIMES);
    do_units(units, parallel, <(Vec<C32>, Vec<f32>)>::default, |(numbers_of, powers), unit| {
        let span = unit.first_time..unit.first_time + unit.out.len() / beams;
        let voltages = voltages.slice(s![unit.channel, span.clone(), ..]);
        numbers_of.resize(voltages.len(), C32::ZERO);
        numbers(voltages, numbers_of);
        powers.clear();
        powers.extend(numbers_of.iter().map(|voltage| voltage.norm_sqr()));
        clear_missing(powers, presence_of(presence, span), 0.0);
        panels.multiply(powers, unit.out);
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
