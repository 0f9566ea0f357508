//! Layouts of voltages into rows and back, in parallel over channels and blocks of time.
//!
//! | function | from | to |
//! |---|---|---|
//! | [`pack`] | `[channel][time][input]`, or any strides of channel and time | rows |
//! | [`pack_heaps`] | `[batch][antenna][channel][spectrum][pol]` | rows |
//! | [`pack_runs`] | `[channel][time / k][input][k]` | rows |
//! | [`unpack`] | rows | `[channel][time][input]` |
//!
//! Rows are `[channel][time / R][input][R]`, `R = 128 / size_of::<V>()`; times past the end and absent samples are
//! zero. What a row holds is the reference's `pack::rows`, bit for bit.
//!
//! # Layout
//! The transposes go through a block of time by as many inputs as fill a cache line, so that every line that is read is
//! used whole while it is in the first cache.

use std::ops::Range;

use bytemuck::Pod;
use fringes_kernel_abi::rows;
use rayon::prelude::*;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Samples of a row.
pub const fn row_times<V>() -> usize {
    rows::times(size_of::<V>())
}

/// Voltages whose inputs lie side by side.
#[derive(Debug, Clone, Copy)]
pub struct Strided<'a, V> {
    /// The samples.
    pub samples: &'a [V],
    /// Channels.
    pub channels: usize,
    /// Inputs.
    pub inputs: usize,
    /// Samples from a channel to the next.
    pub channel_stride: usize,
    /// Samples from a time to the next.
    pub time_stride: usize,
}

/// Heaps `[batch][antenna][channel][spectrum][pol]`.
#[derive(Debug, Clone, Copy)]
pub struct Heaps<'a, V> {
    /// The samples.
    pub samples: &'a [V],
    /// Flags `[batch][antenna]`, true where the heap is present; all are if there are none.
    pub present: Option<&'a [bool]>,
    /// Antennas.
    pub antennas: usize,
    /// Channels.
    pub channels: usize,
    /// Spectra of a heap.
    pub spectra: usize,
    /// Polarisations.
    pub pols: usize,
}

/// Runs `[channel][run][input][k]`.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a, V> {
    /// The samples.
    pub samples: &'a [V],
    /// Channels.
    pub channels: usize,
    /// Runs of an input.
    pub runs: usize,
    /// Inputs.
    pub inputs: usize,
    /// Samples of a run.
    pub run_times: usize,
}

/// One channel's block of time in the rows: `rows` is its `[input][R]`, all zero.
struct Block<'a, V> {
    channel: usize,
    /// Times of the source, not more than a row has.
    times: Range<usize>,
    rows: &'a mut [V],
}

/// Fills rows block by block.
fn fill<V: Pod + Send + Sync>(rows: &mut [V], inputs: usize, range: &Range<usize>, work: impl Fn(Block<'_, V>) + Sync) {
    let (row, blocks) = (row_times::<V>(), range.len().div_ceil(row_times::<V>()));
    if inputs == 0 || blocks == 0 {
        return;
    }
    rows.par_chunks_mut(inputs * row).enumerate().for_each(|(index, rows)| {
        let (channel, start) = (index / blocks, range.start + index % blocks * row);
        rows.fill(V::zeroed());
        work(Block { channel, times: start..range.end.min(start + row), rows });
    });
}

fn assert_rows<V>(rows: &[V], channels: usize, times: usize, inputs: usize) {
    let row = row_times::<V>();
    assert_eq!(rows.len(), channels * times.div_ceil(row) * inputs * row, "samples of the rows");
}

/// Times `range` of voltages into rows. `present [time][input]`, of all times of the voltages, is true where a sample
/// is present.
///
/// # Panics
/// If the samples, the flags or the rows are not as many as the sizes say.
pub fn pack<V: Pod + Send + Sync>(
    voltages: &Strided<'_, V>,
    range: Range<usize>,
    present: Option<&[bool]>,
    rows: &mut [V],
) {
    let Strided { samples, channels, inputs, channel_stride, time_stride } = *voltages;
    assert_rows(rows, channels, range.len(), inputs);
    let line = (LINE_BYTES / size_of::<V>()).max(1);
    let row = row_times::<V>();
    fill(rows, inputs, &range, |Block { channel, times, rows }| {
        for (group, rows) in rows.chunks_mut(line * row).enumerate() {
            let first = group * line;
            for (time, place) in times.clone().zip(0..) {
                let start = channel * channel_stride + time * time_stride + first;
                let source = &samples[start..start + rows.len() / row];
                match present {
                    None => source.iter().enumerate().for_each(|(input, &value)| rows[input * row + place] = value),
                    Some(present) => {
                        let flags = &present[time * inputs + first..];
                        for (input, (&value, &flag)) in source.iter().zip(flags).enumerate() {
                            rows[input * row + place] = if flag { value } else { V::zeroed() };
                        }
                    }
                }
            }
        }
    });
}

/// Times `range` of heaps into rows, `time = batch * spectra + spectrum`.
///
/// # Panics
/// If the samples, the flags or the rows are not as many as the sizes say.
pub fn pack_heaps<V: Pod + Send + Sync>(heaps: &Heaps<'_, V>, range: Range<usize>, rows: &mut [V]) {
    let Heaps { samples, present, antennas, channels, spectra, pols } = *heaps;
    let inputs = antennas * pols;
    assert_rows(rows, channels, range.len(), inputs);
    let row = row_times::<V>();
    fill(rows, inputs, &range, |Block { channel, times, rows }| {
        for (antenna, rows) in rows.chunks_mut(pols * row).enumerate() {
            // One heap after another.
            let mut time = times.start;
            while time < times.end {
                let (batch, spectrum) = (time / spectra, time % spectra);
                let count = (spectra - spectrum).min(times.end - time);
                let heap = batch * antennas + antenna;
                if present.is_none_or(|present| present[heap]) {
                    let start = ((heap * channels + channel) * spectra + spectrum) * pols;
                    let source = samples[start..start + count * pols].chunks_exact(pols);
                    for (place, both) in (time - times.start..).zip(source) {
                        for (pol, &value) in both.iter().enumerate() {
                            rows[pol * row + place] = value;
                        }
                    }
                }
                time += count;
            }
        }
    });
}

/// Times `range` of runs into rows. `present [time][input]`, of all times up to the end of the range, is true where a
/// sample is present.
///
/// # Panics
/// If the samples, the flags or the rows are not as many as the sizes say.
pub fn pack_runs<V: Pod + Send + Sync>(
    runs: &Runs<'_, V>,
    range: Range<usize>,
    present: Option<&[bool]>,
    rows: &mut [V],
) {
    let Runs { samples, channels, runs, inputs, run_times } = *runs;
    assert_rows(rows, channels, range.len(), inputs);
    let row = row_times::<V>();
    fill(rows, inputs, &range, |Block { channel, times, rows }| {
        for (input, rows) in rows.chunks_mut(row).enumerate() {
            let mut time = times.start;
            while time < times.end {
                let (run, place) = (time / run_times, time % run_times);
                let count = (run_times - place).min(times.end - time);
                let start = ((channel * runs + run) * inputs + input) * run_times + place;
                let to = time - times.start;
                rows[to..to + count].copy_from_slice(&samples[start..start + count]);
                time += count;
            }
            if let Some(present) = present {
                for (value, time) in rows.iter_mut().zip(times.clone()) {
                    if !present[time * inputs + input] {
                        *value = V::zeroed();
                    }
                }
            }
        }
    });
}

/// The first `times` times of rows, as voltages `[channel][time][input]`.
///
/// # Panics
/// If the rows or the voltages are not as many as the sizes say.
pub fn unpack<V: Pod + Send + Sync>(rows: &[V], channels: usize, times: usize, inputs: usize, voltages: &mut [V]) {
    assert_rows(rows, channels, times, inputs);
    assert_eq!(voltages.len(), channels * times * inputs, "voltages");
    if voltages.is_empty() {
        return;
    }
    let (row, line) = (row_times::<V>(), (LINE_BYTES / size_of::<V>()).max(1));
    let blocks = times.div_ceil(row);
    voltages.par_chunks_mut(times * inputs).zip(rows.par_chunks(blocks * inputs * row)).for_each(|(voltages, rows)| {
        for (voltages, rows) in voltages.chunks_mut(row * inputs).zip(rows.chunks(inputs * row)) {
            for (group, rows) in rows.chunks(line * row).enumerate() {
                for (place, voltages) in voltages.chunks_mut(inputs).enumerate() {
                    let to = &mut voltages[group * line..][..rows.len() / row];
                    to.iter_mut().enumerate().for_each(|(input, value)| *value = rows[input * row + place]);
                }
            }
        }
    });
}
