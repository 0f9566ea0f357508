//! Statistics of a stream: of the samples that it was given, and of its outputs.

use std::ops::Range;

use fringes_cpu::f_engine::{InputStatistics, SampleSums, sums};
use fringes_cpu::pfb::{ChunkSource, SampleSource};
use fringes_types::{ChunkFormat, SampleChunk};
use ndarray::ArrayView2;

use super::DownConverter;
use super::progress::Step;

/// Statistics of an input of a [`DownConverterStream`](crate::DownConverterStream), or of a band of a
/// [`DownConverterBank`](crate::DownConverterBank).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DownConverterStatistics {
    /// Samples that came, but for missing ones.
    pub samples: InputStatistics,
    /// Outputs that were made, but for absent ones.
    pub outputs: OutputStatistics,
}

/// Statistics of the outputs of an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OutputStatistics {
    /// Number of outputs.
    pub outputs: u64,
    /// Sum of their squared magnitudes, as they came out: behind gain, rounding and clamping.
    pub sum_of_squares: f64,
    /// Outputs that [saturated](crate::DownConvertedSample).
    pub saturated: u64,
}

impl OutputStatistics {
    /// Mean squared magnitude, 0 if there are none.
    pub fn power(&self) -> f64 {
        if self.outputs == 0 { 0.0 } else { self.sum_of_squares / self.outputs as f64 }
    }
}

/// Sums of a bank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    /// Of the samples of each input, which all bands are made of.
    pub(super) samples: Vec<SampleSums>,
    /// Of outputs, `[band][input]`; `clipped` is the number of those that saturated.
    pub(super) outputs: Vec<Vec<SampleSums>>,
}

impl Sums {
    /// Of nothing.
    pub(super) fn new(bands: usize, inputs: usize) -> Self {
        let none = vec![SampleSums::default(); inputs];
        Self { outputs: vec![none.clone(); bands], samples: none }
    }

    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.samples, &other.samples);
        self.outputs.iter_mut().zip(&other.outputs).for_each(|(sums, more)| add(sums, more));
    }

    /// Statistics `[band][input]`.
    pub(super) fn statistics(&self) -> Vec<Vec<DownConverterStatistics>> {
        let of_input = |(samples, outputs): (&SampleSums, &SampleSums)| {
            let InputStatistics { samples: number, sum_of_squares, clipped: saturated } = outputs.statistics();
            let outputs = OutputStatistics { outputs: number, sum_of_squares, saturated };
            DownConverterStatistics { samples: samples.statistics(), outputs }
        };
        self.outputs.iter().map(|outputs| self.samples.iter().zip(outputs).map(of_input).collect()).collect()
    }
}

/// Adds the sums of each input.
pub(super) fn add(sums: &mut [SampleSums], more: &[SampleSums]) {
    sums.iter_mut().zip(more).for_each(|(sums, more)| sums.add(*more));
}

/// What is held, as f32, and behind it a chunk, whose first sample has position 0.
struct HeldThenChunk<'a> {
    held: ArrayView2<'a, f32>,
    chunk: ChunkSource<'a>,
    width: usize,
}

impl SampleSource for HeldThenChunk<'_> {
    fn fill(&self, input: usize, start: i64, out: &mut [f32]) {
        let before = (start.min(0).unsigned_abs() as usize).saturating_mul(self.width).min(out.len());
        let (old, new) = out.split_at_mut(before);
        let row = self.held.row(input);
        let skip = (row.len() as i64 + start.min(0) * self.width as i64).max(0) as usize;
        old.iter_mut().zip(row.iter().skip(skip)).for_each(|(to, from)| *to = *from);
        self.chunk.fill(input, start.max(0), new);
    }
}

/// Sums of the samples of each input that are counted with a chunk.
pub(super) fn of_samples(step: &Step, held: ArrayView2<'_, f32>, chunk: &dyn SampleChunk) -> Vec<SampleSums> {
    let format = chunk.format();
    let source =
        HeldThenChunk { held, chunk: ChunkSource::new(chunk.view()), width: 1 + usize::from(format.is_complex()) };
    let first = step.first_sample as i64;
    let relative = |stretch: Range<i64>| stretch.start - first..stretch.end - first;
    let of = |input: usize| {
        let stretches: Vec<_> = step.counted(input).into_iter().map(relative).collect();
        sums(&source, format, input, &stretches)
    };
    (0..chunk.inputs().len()).map(of).collect()
}

/// Sums of outputs of each input, in which absent ones are 0. `saturated` are the numbers of those that did.
pub(super) fn of_outputs(
    step: &Step,
    plan: &DownConverter,
    outputs: &dyn SampleChunk,
    saturated: &[u64],
) -> Vec<SampleSums> {
    let format: ChunkFormat = outputs.format();
    let source = ChunkSource::new(outputs.view());
    let of = |(input, &saturated): (usize, &u64)| {
        let all = sums(&source, format, input, std::slice::from_ref(&(0..outputs.times() as i64)));
        SampleSums { samples: step.present_outputs(plan, input), clipped: saturated, ..all }
    };
    saturated.iter().enumerate().map(of).collect()
}
