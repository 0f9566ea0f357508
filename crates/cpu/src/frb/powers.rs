//! The chain to its end: finer channels and sums of powers.

use fringes_types::VoltageSample;
use ndarray::{ArrayView2, ArrayView5};
use num_complex::Complex;
use rustfft::Fft;

use super::FrbChain;
use crate::blocks::do_units;

type C32 = Complex<f32>;

/// A unit of work: the rows `[beam][product]` of each fine channel, of one frequency and time.
struct Unit<'a> {
    frequency: usize,
    time: usize,
    good: &'a mut u32,
    rows: Vec<&'a mut [f32]>,
}

/// What a worker keeps.
struct Scratch {
    /// A block of one `out`: `[q][time]`.
    block: Vec<C32>,
    line: Vec<C32>,
    times: Vec<C32>,
    beside: Vec<C32>,
}

/// Writes sums of powers `[frequency][fine][time][beam][product]` to `out` and the number of good blocks of each,
/// `[frequency][time]`, to `good`, of voltages `[time][frequency][pol][line][feed]`. `mask` is true for good blocks,
/// `[frequency][block]`; without it all are good.
///
/// At most `parallel` units of work are in progress at a time. The result does not depend on it.
///
/// # Precision
/// Of a frequency and output time, with `u = 2^-24`, factors of 1, all blocks good, `a[n] = sum_line abs(w x)` for each
/// polarisation, out and time, `m` the number of times that the map names an output at most, and
/// `n = group + pols blocks + 3`:
///
/// ```text
/// sum over fine, beam, product of |P - P_reference|
///     <= (2.1 (lines + 5 + 7 log2(padded length)) + n) u m padded length sum over pol, out, time, n of a^2
/// ```
///
/// A product of weight and voltage with the weight's own rounding is off by at most `5 u` of itself, the sum over
/// lines by `lines u` of `a`, each of the transforms by `7 u` a stage of its norm (Higham, Accuracy and Stability of
/// Numerical Algorithms, section 24.1), so `Y` by `d = (lines + 5 + 7 log2(padded length)) u sqrt(m padded length)` of
/// the norm of `a`, and `Y` itself is at most `sqrt(m padded length)` of it; powers by `2 abs(Y) d + d^2`, and their
/// sum of `n` roundings.
///
/// # Panics
/// If shapes do not fit.
pub fn frb_powers_into<V: VoltageSample>(
    chain: &FrbChain<'_>,
    voltages: ArrayView5<'_, V>,
    mask: Option<ArrayView2<'_, bool>>,
    parallel: usize,
    out: &mut [f32],
    good: &mut [u32],
) {
    let (frequencies, groups, row) = (chain.frequencies(), chain.groups(), chain.beams() * chain.products());
    let times = voltages.dim().0 / chain.sum_times();
    assert_eq!(voltages.dim().0, times * chain.sum_times(), "a whole number of sums");
    assert_eq!(out.len(), frequencies * groups * times * row, "[frequency][fine][time][beam][product]");
    assert_eq!(good.len(), frequencies * times, "[frequency][time]");
    assert!(mask.is_none_or(|mask| mask.dim() == (frequencies, times * chain.blocks)), "[frequency][block]");
    if out.is_empty() {
        return;
    }
    let (line_fft, time_fft) = (chain.line_fft(), chain.time_fft());
    let beside = line_fft.get_inplace_scratch_len().max(time_fft.get_inplace_scratch_len());
    let zeros = |length| vec![C32::default(); length];
    let new = || Scratch {
        block: zeros(chain.padded * chain.length),
        line: zeros(chain.padded),
        times: zeros(chain.length),
        beside: zeros(beside),
    };
    do_units(units(out, good, [frequencies, groups, times, row]), parallel, new, |scratch, unit| {
        let Unit { frequency, time, good, mut rows } = unit;
        rows.iter_mut().for_each(|row| row.fill(0.0));
        *good = 0;
        for block in time * chain.blocks..(time + 1) * chain.blocks {
            if mask.is_none_or(|mask| mask[(frequency, block)]) {
                *good += 1;
                add_block(chain, &voltages, [frequency, block], [&*line_fft, &*time_fft], scratch, &mut rows);
            }
        }
        let scale = if *good == 0 { 0.0 } else { chain.blocks as f32 / *good as f32 };
        for (row, factor) in rows.iter_mut().zip(chain.factors) {
            row.iter_mut().for_each(|power| *power *= factor * scale);
        }
    });
}

/// Cuts the output into units: rows `[frequency][fine][time]` of a frequency and time lie apart.
fn units<'a>(out: &'a mut [f32], good: &'a mut [u32], [frequencies, groups, times, row]: [usize; 4]) -> Vec<Unit<'a>> {
    let mut units: Vec<_> = good
        .iter_mut()
        .enumerate()
        .map(|(index, good)| Unit {
            frequency: index / times,
            time: index % times,
            good,
            rows: Vec::with_capacity(groups),
        })
        .collect();
    debug_assert_eq!(units.len(), frequencies * times);
    for (index, row) in out.chunks_mut(row).enumerate() {
        let (frequency, time) = (index / times / groups, index % times);
        units[frequency * times + time].rows.push(row);
    }
    units
}

/// Adds the powers of one block.
fn add_block<V: VoltageSample>(
    chain: &FrbChain<'_>,
    voltages: &ArrayView5<'_, V>,
    [frequency, block]: [usize; 2],
    [line_fft, time_fft]: [&dyn Fft<f32>; 2],
    scratch: &mut Scratch,
    rows: &mut [&mut [f32]],
) {
    let (length, northern, products) = (chain.length, chain.map.ncols(), chain.products());
    let line_beside = line_fft.get_inplace_scratch_len();
    let time_beside = time_fft.get_inplace_scratch_len();
    let middle = if chain.centre { chain.groups() / 2 } else { 0 };
    for pol in 0..chain.pols() {
        let product = if chain.per_pol { pol } else { 0 };
        for out in 0..chain.outs() {
            for t in 0..length {
                let place = [block * length + t, frequency, pol, out];
                let beside = &mut scratch.beside[..line_beside];
                chain.line_beams(voltages, place, line_fft, &mut scratch.line, beside);
                for (q, value) in scratch.line.iter().enumerate() {
                    scratch.block[q * length + t] = *value;
                }
            }
            for (b, &q) in chain.map.row(frequency).iter().enumerate() {
                let q = q as usize;
                scratch.times.copy_from_slice(&scratch.block[q * length..(q + 1) * length]);
                time_fft.process_with_scratch(&mut scratch.times, &mut scratch.beside[..time_beside]);
                let index = (out * northern + b) * products + product;
                for (group, values) in scratch.times.chunks_exact(chain.group).enumerate() {
                    rows[group ^ middle][index] += values.iter().map(|y| y.norm_sqr()).sum::<f32>();
                }
            }
        }
    }
}
