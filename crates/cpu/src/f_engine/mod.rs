//! The F-engine: spectra of the filter bank, multiplied by gains, dithered, quantised and written to frames
//! `[frame][antenna][channel][spectrum][pol]`, block by block while they are in the cache; as
//! `fringes_reference::f_engine`.
//!
//! ```text
//! rows of a block (pfb)                 quantised rows                     frame, antenna 0
//! time 0 input 0:  channel 0 1 2 ...    time 0 input 0:  channel 0 1 ..    channel 0: (t0 p0) (t0 p1) (t1 p0) ...
//! time 0 input 1:  channel 0 1 2 ...    time 0 input 1:  channel 0 1 ..    channel 1: ...
//! time 1 input 0:  ...                  ...                                one run of consecutive addresses a channel
//! ```
//!
//! # Precision
//! The product of gain and voltage, and the sum with the dither, are taken in f64 by the reference's formula: of the
//! same f32 voltages, integers and counts of saturated values equal the reference's without a margin at rounding ties.

pub(crate) mod dither;
mod statistics;
mod value;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{ArrayView2, ArrayViewMut4, Axis};
use num_complex::Complex;

use crate::pfb::{Block, Pfb, Rows, SampleSource, SpectrumInput, Split};
use dither::SpectrumDither;
pub use statistics::{InputStatistics, SampleSums, statistics, sums};
pub use value::{FrameSample, FrameValue};

/// What happens to spectra behind the filter bank.
#[derive(Debug, Clone)]
pub struct Post<'a> {
    /// Channels that come out.
    pub channels: Range<usize>,
    /// Gains `[input][channel that comes out]`, rows contiguous.
    pub gains: ArrayView2<'a, Complex<f32>>,
    /// Seed of the dither of integer formats, if it is on.
    pub dither: Option<u64>,
    /// The number that the dither gives the first input.
    pub first_input: u32,
    /// Number of the first spectrum of the call: its stamp over the stride.
    pub first_spectrum: u64,
    /// Flags `[time][input]` of the call's spectra: absent ones become 0.
    pub present: ArrayView2<'a, bool>,
}

/// Consecutive spectra of one frame, and where they go.
#[derive(Debug)]
pub struct FramePart<'a, Q> {
    /// First spectrum of the call.
    pub first_time: usize,
    /// Their places `[antenna][channel][spectrum][pol]`.
    pub out: ArrayViewMut4<'a, Q>,
    /// Counts of saturated values of the frame's inputs, to which this adds.
    pub saturated: &'a [AtomicU64],
}

/// Where a block goes: `[antenna][channel][spectrum][pol]`, and the counts of its inputs.
type Place<'a, Q> = (ArrayViewMut4<'a, Q>, &'a [AtomicU64]);

/// Bytes that a worker needs beside the filter bank's for each spectrum of an input: its quantised row of `channels`
/// channels.
pub fn row_bytes<Q>(channels: usize) -> u64 {
    (row_stride::<Q>(channels) as u64).saturating_mul(size_of::<Q>() as u64)
}

/// Values from one quantised row to the next: half a cache line more than a multiple of one, so that the rows of a
/// channel do not fall on the same cache sets.
fn row_stride<Q>(channels: usize) -> usize {
    let line = 64 / size_of::<Q>().max(1);
    channels.div_ceil(line).saturating_mul(line).saturating_add(line / 2)
}

/// Computes the spectra that `parts` are made of: `spectrum(time, input)` says which samples of `source` each takes.
///
/// # Panics
/// If the shapes of parts, gains and flags do not fit.
pub fn f_engine<P: SampleSource + ?Sized, Q: FrameValue>(
    pfb: &Pfb,
    source: &P,
    spectrum: &(dyn Fn(usize, usize) -> SpectrumInput + Sync),
    post: &Post<'_>,
    parts: Vec<FramePart<'_, Q>>,
    split: &Split,
) {
    let channels = post.channels.len();
    assert_eq!(post.gains.ncols(), channels, "gains are [input][channel]");
    let blocks = parts.into_iter().flat_map(|part| blocks_of(part, split)).collect();
    let stride = row_stride::<Q>(channels);
    let scratch = || vec![Q::zeroed(); split.times * split.inputs * stride];
    pfb.run(source, spectrum, blocks, split, scratch, |rows, block: Block<Place<'_, Q>>, quantised| {
        for row in 0..block.times * block.inputs {
            let (time, place) = (block.first_time + row / block.inputs, row % block.inputs);
            let input = block.first_input + place;
            let out = &mut quantised[row * stride..][..channels];
            if post.present[(time, input)] {
                let saturated = quantise_row(rows, row, (time, input), post, out);
                block.out.1[place].fetch_add(saturated, Ordering::Relaxed);
            } else {
                out.fill(Q::zeroed());
            }
        }
        transpose(quantised, stride, block.out.0);
    });
}

/// Cuts a part of a frame into blocks of whole antennas, or of single polarisations if the split's blocks hold no more.
fn blocks_of<'a, Q>(part: FramePart<'a, Q>, split: &Split) -> Vec<Block<Place<'a, Q>>> {
    let pols = part.out.len_of(Axis(3));
    assert!(pols == 1 || pols == 2, "{pols} polarisations");
    let (antennas, pols_together) = if split.inputs >= pols { (split.inputs / pols, pols) } else { (1, 1) };
    let mut blocks = Vec::new();
    let (mut later, mut first_time) = (part.out, part.first_time);
    while later.len_of(Axis(2)) > 0 {
        let times = split.times.min(later.len_of(Axis(2)));
        let (now, after) = later.split_at(Axis(2), times);
        let (mut rest, mut first_antenna) = (now, 0);
        while rest.len_of(Axis(0)) > 0 {
            let count = antennas.min(rest.len_of(Axis(0)));
            let (mut both, after) = rest.split_at(Axis(0), count);
            let mut first_input = first_antenna * pols;
            while both.len_of(Axis(3)) > 0 {
                let (out, after) = both.split_at(Axis(3), pols_together);
                let inputs = count * pols_together;
                let counts = &part.saturated[first_input..first_input + inputs];
                blocks.push(Block { first_time, times, first_input, inputs, out: (out, counts) });
                first_input += pols_together;
                both = after;
            }
            first_antenna += count;
            rest = after;
        }
        first_time += times;
        later = after;
    }
    blocks
}

/// Quantises the channels of one spectrum, and counts those that saturate.
fn quantise_row<Q: FrameValue>(
    rows: &Rows<'_>,
    row: usize,
    (time, input): (usize, usize),
    post: &Post<'_>,
    out: &mut [Q],
) -> u64 {
    let gains = post.gains.row(input);
    let Some(gains) = gains.as_slice() else { unreachable!("rows of gains are contiguous") };
    let dither = post.dither.filter(|_| Q::INTEGER);
    let dither = dither.map(|seed| {
        SpectrumDither::new(seed, post.first_spectrum + time as u64, post.first_input.wrapping_add(input as u32))
    });
    let (mut done, mut saturated) = (0, 0);
    for voltages in rows.channels(row, &post.channels) {
        let part = done..done + voltages.len();
        let first = (post.channels.start + done) as u32;
        saturated += value::quantise(voltages, &gains[part.clone()], dither, first, &mut out[part.clone()]);
        done = part.end;
    }
    saturated
}

/// Writes quantised rows to their places.
fn transpose<Q: Copy>(quantised: &[Q], stride: usize, mut out: ArrayViewMut4<'_, Q>) {
    let (antennas, _, _, pols) = out.dim();
    let inputs = antennas * pols;
    for (antenna, mut out) in out.outer_iter_mut().enumerate() {
        let row = |time: usize| (time * inputs + antenna * pols) * stride;
        for (channel, mut out) in out.outer_iter_mut().enumerate() {
            // The same loops over slices where there are some, which are all but those of single polarisations of two.
            let Some(values) = out.as_slice_mut() else {
                for ((time, pol), value) in out.indexed_iter_mut() {
                    *value = quantised[row(time) + pol * stride + channel];
                }
                continue;
            };
            if pols == 2 {
                for (time, values) in values.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                    let first = row(time) + channel;
                    *values = [quantised[first], quantised[first + stride]];
                }
            } else {
                values.iter_mut().enumerate().for_each(|(time, value)| *value = quantised[row(time) + channel]);
            }
        }
    }
}
