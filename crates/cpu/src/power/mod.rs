//! Sums of powers and of their squares over blocks of spectra, `S1 = sum |x|^2` and `S2 = sum |x|^4`, for each channel,
//! block and input: what interference is found by.
//!
//! | array | dimensions |
//! |---|---|
//! | voltages | `[channel][time][input]`, any strides |
//! | heaps | `[batch][antenna][channel][spectrum][pol]`, any strides |
//! | rows | `[channel][time / R][input][R]`, any strides |
//! | presence flags | `[time][input]`, of heaps `[batch][antenna]`, true where present |
//! | sums | `[channel][block][input]` |
//!
//! # Layout
//! A unit of work is one channel and one block. What lies together in memory is a stretch `[time][x]`; the inner loop
//! takes four times of 16 neighbours `x` at once, and where there are fewer, times of the stretch side by side.
//! Lanes are summed in narrow integers for up to 2^16 rows.
//!
//! # Precision
//! Integers: exact. Floats: powers and sums in f64, a relative error below `(n + 4) 2^-53` of sums of `n` spectra, the
//! same bits whatever the number of threads.

mod float;
mod int;
mod stretch;

use std::ops::Range;

use bytemuck::Pod;
use fringes_types::VoltageSample;
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayView4, ArrayView5, ArrayViewMut3, Axis, s};
use rayon::prelude::*;

pub use self::stretch::Lanes;
use self::stretch::Stretches;

/// A sum of powers: `u64` of integer voltages, `f64` of floats.
pub trait PowerSum: Pod + Default + Send + Sync + PartialEq + std::fmt::Debug {
    /// The sum in f64, rounded above 2^53.
    fn to_f64(self) -> f64;
    /// The sum of two.
    fn plus(self, other: Self) -> Self;
    /// `count * second - first^2`, exact up to one rounding for integers.
    fn spread(count: u64, first: Self, second: Self) -> f64;
}

impl PowerSum for u64 {
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn spread(count: u64, first: Self, second: Self) -> f64 {
        let (all, square) = (u128::from(count) * u128::from(second), u128::from(first) * u128::from(first));
        if all >= square { (all - square) as f64 } else { -((square - all) as f64) }
    }
}

impl PowerSum for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn spread(count: u64, first: Self, second: Self) -> f64 {
        count as f64 * second - first * first
    }
}

/// Voltages whose powers can be summed: all formats of [`VoltageSample`].
pub trait Power: VoltageSample + Lanes {}

impl<V: VoltageSample + Lanes> Power for V {}

/// How the times of a chunk make blocks: the first one has lost `lead` of its `spectra`, as they came before the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Spectra of a whole block, at least 1.
    pub spectra: usize,
    /// Spectra of the first block that lie before the chunk, below `spectra`.
    pub lead: usize,
}

impl Blocks {
    /// Number of blocks that so many times lie in.
    pub fn count(self, times: usize) -> usize {
        if times == 0 { 0 } else { (times - 1).saturating_add(self.lead) / self.spectra + 1 }
    }

    /// Times of a block, of a chunk of so many.
    pub fn range(self, block: usize, times: usize) -> Range<usize> {
        let start = (block * self.spectra).saturating_sub(self.lead);
        start.min(times)..((block + 1) * self.spectra - self.lead).min(times)
    }
}

/// Units below so many bytes of voltages are done several at a time.
const UNIT_BYTES: usize = 1 << 18;

/// Does each `[input]` of the sums, `[channel][block][input]`, several of them in parallel.
fn for_each_unit<S: PowerSum>(
    sums: [ArrayViewMut3<'_, S>; 2],
    unit_bytes: usize,
    unit: impl Fn(usize, usize, [&mut [S]; 2]) + Sync,
) {
    let (_, blocks, inputs) = sums[0].dim();
    assert_eq!(sums[0].dim(), sums[1].dim(), "shape of the sums");
    if blocks == 0 || inputs == 0 {
        return;
    }
    let [mut first, mut second] = sums;
    let first = first.as_slice_mut().expect("sums in standard layout");
    let second = second.as_slice_mut().expect("sums in standard layout");
    first
        .par_chunks_exact_mut(inputs)
        .zip(second.par_chunks_exact_mut(inputs))
        .enumerate()
        .with_min_len((UNIT_BYTES / unit_bytes.max(1)).max(1))
        .for_each(|(index, (first, second))| {
            first.fill(S::default());
            second.fill(S::default());
            unit(index / blocks, index % blocks, [first, second]);
        });
}

/// Sums of voltages `[channel][time][input]`. What is absent counts as zero, whatever the array holds.
///
/// # Panics
/// If a shape does not agree with the voltages', or the sums are not in standard layout.
pub fn power_sums<V: Power>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    blocks: Blocks,
    sums: [ArrayViewMut3<'_, V::Sum>; 2],
) {
    let (channels, times, inputs) = voltages.dim();
    assert_eq!(sums[0].dim(), (channels, blocks.count(times), inputs), "shape of the sums");
    if let Some(presence) = presence {
        assert_eq!(presence.dim(), (times, inputs), "shape of the presence flags");
    }
    // The whole of a time there is the rule: such times are summed together.
    let whole: Option<Vec<bool>> =
        presence.map(|flags| flags.outer_iter().map(|flags| flags.iter().all(|&present| present)).collect());
    let unit_bytes = blocks.spectra.min(times).saturating_mul(inputs * size_of::<V>());
    for_each_unit(sums, unit_bytes, |channel, block, [first, second]| {
        let range = blocks.range(block, times);
        let voltages = voltages.index_axis(Axis(0), channel);
        let (mut copy, mut sums) = (Vec::new(), Stretches::<V>::new(inputs));
        for times in runs(range, whole.as_deref()) {
            let part = voltages.slice(s![times.clone(), ..]);
            let absent = presence.filter(|_| whole.as_ref().is_some_and(|whole| !whole[times.start]));
            match (part.to_slice(), absent) {
                (Some(stretch), None) => sums.add(stretch, first, second),
                (_, absent) => {
                    for start in (0..times.len()).step_by(COPIED_TIMES) {
                        let here = start..times.len().min(start + COPIED_TIMES);
                        copy.clear();
                        copy.extend(part.slice(s![here.clone(), ..]).iter().copied());
                        if let Some(flags) = absent {
                            let flags = flags.slice_move(s![times.start + here.start..times.start + here.end, ..]);
                            for (value, &present) in copy.iter_mut().zip(flags.iter()) {
                                *value = if present { *value } else { V::zeroed() };
                            }
                        }
                        sums.add(&copy, first, second);
                    }
                }
            }
        }
        sums.finish(first, second);
    });
}

/// Times that are copied together where they cannot be read as they lie.
const COPIED_TIMES: usize = 64;

/// A range of times in runs of one flag.
fn runs(range: Range<usize>, flags: Option<&[bool]>) -> impl Iterator<Item = Range<usize>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        if start >= range.end {
            return None;
        }
        let first = start;
        start = match flags {
            None => range.end,
            Some(flags) => {
                let run = flags[first..range.end].iter().position(|&flag| flag != flags[first]);
                run.map_or(range.end, |run| first + run)
            }
        };
        Some(first..start)
    })
}

/// Sums of heaps `[batch][antenna][channel][spectrum][pol]`, for inputs `antenna * pols + pol`. What is absent counts
/// as zero, whatever the array holds.
///
/// # Panics
/// If a shape does not agree with the heaps', or the sums are not in standard layout.
pub fn power_sums_of_heaps<V: Power>(
    heaps: ArrayView5<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    blocks: Blocks,
    sums: [ArrayViewMut3<'_, V::Sum>; 2],
) {
    let (batches, antennas, channels, spectra, pols) = heaps.dim();
    let times = batches * spectra;
    assert_eq!(sums[0].dim(), (channels, blocks.count(times), antennas * pols), "shape of the sums");
    if let Some(presence) = presence {
        assert_eq!(presence.dim(), (batches, antennas), "shape of the presence flags");
    }
    let unit_bytes = blocks.spectra.min(times).saturating_mul(antennas * pols * size_of::<V>());
    // Views of short stretches would take as long as the sums.
    let all = heaps.to_slice();
    for_each_unit(sums, unit_bytes, |channel, block, [first, second]| {
        let range = blocks.range(block, times);
        if range.is_empty() {
            return;
        }
        let mut sums = Stretches::<V>::new(pols);
        for antenna in 0..antennas {
            let of_antenna = antenna * pols..(antenna + 1) * pols;
            let (first, second) = (&mut first[of_antenna.clone()], &mut second[of_antenna]);
            let batches = range.start / spectra..range.end.div_ceil(spectra);
            for batch in batches.filter(|&batch| presence.is_none_or(|flags| flags[(batch, antenna)])) {
                let start = range.start.saturating_sub(batch * spectra);
                let part = start..(range.end - batch * spectra).min(spectra);
                if let Some(all) = all {
                    let at = (((batch * antennas + antenna) * channels + channel) * spectra + part.start) * pols;
                    sums.add(&all[at..at + part.len() * pols], first, second);
                } else {
                    add_view(&mut sums, heaps.slice(s![batch, antenna, channel, part, ..]), first, second);
                }
            }
            sums.finish(first, second);
        }
    });
}

/// Sums of rows `[channel][time / R][input][R]` of so many times. What is absent is zero in the array.
///
/// # Panics
/// If a shape does not agree with the rows', or the sums are not in standard layout.
pub fn power_sums_of_rows<V: Power>(
    rows: ArrayView4<'_, V>,
    times: usize,
    blocks: Blocks,
    sums: [ArrayViewMut3<'_, V::Sum>; 2],
) {
    let (channels, count, inputs, row) = rows.dim();
    assert_eq!(count, times.div_ceil(row), "number of rows");
    assert_eq!(sums[0].dim(), (channels, blocks.count(times), inputs), "shape of the sums");
    let unit_bytes = blocks.spectra.min(times).saturating_mul(inputs * size_of::<V>());
    let all = rows.to_slice();
    for_each_unit(sums, unit_bytes, |channel, block, [first, second]| {
        let range = blocks.range(block, times);
        if range.is_empty() {
            return;
        }
        let mut sums = Stretches::<V>::new(1);
        for input in 0..inputs {
            let (first, second) = (&mut first[input..=input], &mut second[input..=input]);
            for number in range.start / row..range.end.div_ceil(row) {
                let start = range.start.saturating_sub(number * row);
                let part = start..(range.end - number * row).min(row);
                if let Some(all) = all {
                    let at = ((channel * count + number) * inputs + input) * row;
                    sums.add(&all[at + part.start..at + part.end], first, second);
                } else {
                    let stretch = rows.slice(s![channel, number, input, part]).insert_axis(Axis(1));
                    add_view(&mut sums, stretch, first, second);
                }
            }
            sums.finish(first, second);
        }
    });
}

/// Adds `[time][x]` of any strides.
fn add_view<V: Power>(sums: &mut Stretches<V>, view: ArrayView2<'_, V>, first: &mut [V::Sum], second: &mut [V::Sum]) {
    match view.to_slice() {
        Some(stretch) => sums.add(stretch, first, second),
        None => sums.add(&view.iter().copied().collect::<Vec<_>>(), first, second),
    }
}

/// Present spectra of each block and input, `[block][input]`; flags are `[time][input]`.
pub fn present_spectra(flags: ArrayView2<'_, bool>, blocks: Blocks) -> Array2<u64> {
    let (times, inputs) = flags.dim();
    let mut counts = Array2::zeros((blocks.count(times), inputs));
    for (block, mut counts) in counts.outer_iter_mut().enumerate() {
        for flags in flags.slice(s![blocks.range(block, times), ..]).outer_iter() {
            counts.iter_mut().zip(flags).for_each(|(count, &present)| *count += u64::from(present));
        }
    }
    counts
}

#[cfg(test)]
mod tests;
