//! Statistics of a chunk's samples: how many, their power, and how many are at the ends of the digitiser's range.

use std::ops::Range;

use fringes_types::{ChunkFormat, SampleChunk, SamplePresence};
use rayon::prelude::*;

use crate::pfb::{ChunkSource, SampleSource};

/// What is known of the samples of one input in one chunk. Samples that are marked missing do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InputStatistics {
    /// Number of samples.
    pub samples: u64,
    /// Sum of their squares, of magnitudes for complex ones.
    pub sum_of_squares: f64,
    /// Samples of integer formats of which a part has the lowest or the highest value there is; 0 for floats.
    pub clipped: u64,
}

impl InputStatistics {
    /// Mean square of the samples, 0 if there are none.
    pub fn power(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum_of_squares / self.samples as f64 }
    }

    fn add(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            sum_of_squares: self.sum_of_squares + other.sum_of_squares,
            clipped: self.clipped + other.clipped,
        }
    }
}

/// Statistics that are summed up over a run: sums of integers' squares are exact, however many there are.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampleSums {
    /// Number of samples.
    pub samples: u64,
    /// Sum of the squares of integers.
    pub whole_squares: u128,
    /// Sum of the squares of floats.
    pub float_squares: f64,
    /// Samples of integer formats of which a part has the lowest or the highest value there is.
    pub clipped: u64,
}

impl SampleSums {
    /// With other samples.
    pub fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.whole_squares += other.whole_squares;
        self.float_squares += other.float_squares;
        self.clipped += other.clipped;
    }

    /// The sums as statistics, the sum of squares rounded once if it is of integers.
    pub fn statistics(self) -> InputStatistics {
        let sum_of_squares = self.whole_squares as f64 + self.float_squares;
        InputStatistics { samples: self.samples, sum_of_squares, clipped: self.clipped }
    }
}

/// Sums over stretches of an input's samples, of a format, at positions of a source.
///
/// # Precision
/// Exact for integers; for floats as [`statistics`]. They do not depend on the number of threads.
pub fn sums(source: &impl SampleSource, format: ChunkFormat, input: usize, stretches: &[Range<i64>]) -> SampleSums {
    let width = 1 + usize::from(format.is_complex());
    let cut = |stretch: &Range<i64>| {
        let end = stretch.end;
        stretch.clone().step_by(BLOCK).map(move |first| (first, (end - first).min(BLOCK as i64) as usize))
    };
    let blocks: Vec<_> = stretches.iter().flat_map(cut).collect();
    let parts: Vec<_> = blocks
        .par_iter()
        .map_init(
            || vec![0f32; BLOCK * width],
            |values, &(first, count)| {
                let values = &mut values[..count * width];
                source.fill(input, first, values);
                of_values(values, format, count)
            },
        )
        .collect();
    let mut sums = SampleSums::default();
    for InputStatistics { samples, sum_of_squares, clipped } in parts {
        // Those of a block of integers are below 2^53.
        let whole = format.codes().is_some();
        let (whole_squares, float_squares) = if whole { (sum_of_squares as u128, 0.0) } else { (0, sum_of_squares) };
        sums.add(SampleSums { samples, whole_squares, float_squares, clipped });
    }
    sums
}

/// Samples that are looked at together.
const BLOCK: usize = 4096;

/// Statistics of each input.
///
/// # Precision
/// Counts are exact. Sums of squares are in f64: exact for integer samples as long as they are below 2^53, and
/// otherwise within `(samples + 1) 2^-53` of the sum. They do not depend on the number of threads.
pub fn statistics(chunk: &dyn SampleChunk) -> Vec<InputStatistics> {
    let (source, format) = (ChunkSource::new(chunk.view()), chunk.format());
    let width = 1 + usize::from(format.is_complex());
    let of_input = |input: usize| {
        let blocks = present_blocks(chunk.presence(), input, chunk.times());
        let parts: Vec<_> = blocks
            .par_iter()
            .map_init(
                || vec![0f32; BLOCK * width],
                |values, &(first, count)| {
                    let values = &mut values[..count * width];
                    source.fill(input, first as i64, values);
                    of_values(values, format, count)
                },
            )
            .collect();
        parts.into_iter().fold(InputStatistics::default(), InputStatistics::add)
    };
    (0..chunk.inputs().len()).map(of_input).collect()
}

/// Stretches of present samples, first sample and number, none longer than a block.
fn present_blocks(presence: Option<&SamplePresence>, input: usize, times: usize) -> Vec<(usize, usize)> {
    let mut blocks = Vec::new();
    let mut cut = |from: usize, to: usize| {
        blocks.extend((from..to).step_by(BLOCK).map(|first| (first, BLOCK.min(to - first))));
    };
    let Some(presence) = presence else {
        cut(0, times);
        return blocks;
    };
    let mut from = 0;
    for (index, &present) in presence.flags().row(input).iter().enumerate() {
        let start = index.saturating_mul(presence.samples_per_block()).min(times);
        if !present {
            cut(from, start);
            from = start.saturating_add(presence.samples_per_block()).min(times);
        }
    }
    cut(from, times);
    blocks
}

/// Statistics of `count` samples as f32, two values a complex one.
fn of_values(values: &[f32], format: ChunkFormat, count: usize) -> InputStatistics {
    let mut sums = [0f64; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, &value)| *sum += f64::from(value) * f64::from(value));
    }
    let rest: f64 = rest.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    let at_end = |low: f32, high: f32| move |value: f32| (value == low) | (value == high);
    let clipped = match format.codes() {
        None => 0,
        Some((low, high)) if format.is_complex() => {
            let at_end = at_end(low, high);
            values.as_chunks::<2>().0.iter().filter(|[re, im]| at_end(*re) | at_end(*im)).count()
        }
        Some((low, high)) => {
            let at_end = at_end(low, high);
            values.iter().map(|&value| usize::from(at_end(value))).sum()
        }
    };
    InputStatistics { samples: count as u64, sum_of_squares: sums.iter().sum::<f64>() + rest, clipped: clipped as u64 }
}
