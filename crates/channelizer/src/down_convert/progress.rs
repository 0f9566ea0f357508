//! Where a stream of chunks is, and what a chunk completes: the one place that knows of the grid of outputs, of gaps,
//! of the order of chunks and of missing samples. Shared by all backends; what is computed and held is theirs.

use std::ops::Range;

use fringes_types::Inputs;
use ndarray::{Array2, s};

use super::DownConverter;
use crate::ChannelizerError;
use crate::channelizer::check_counter;
use crate::presence::MissingSamples;
use crate::timeline::{Axes, ChunkAxes};

/// Outputs whose samples are counted together: those of a block, which begins with a multiple of so many outputs, with
/// the first of them.
const BLOCK: u64 = 16;

/// Position of a stream, and what must not change from chunk to chunk.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    inputs: Inputs,
    state: Option<State>,
}

/// Where the stream is.
#[derive(Debug, Clone)]
struct State {
    axes: Axes,
    /// The sample after the last one taken.
    received: u64,
    /// Number of the next output.
    next_output: u64,
    /// Number of the last output that was made, before a gap maybe.
    last_output: Option<u64>,
    /// The sample after the last one that is counted, or the first one that may be.
    counted: u64,
    /// Missing samples of each input.
    missing: Vec<MissingSamples>,
    /// Whether a chunk had presence flags.
    flagged: bool,
}

/// What a chunk completes.
#[derive(Debug, Clone)]
pub(super) struct Step {
    axes: Axes,
    /// First sample of the chunk, and its samples of each input.
    pub(super) first_sample: u64,
    pub(super) times: usize,
    /// Whether what was held before is of no use.
    pub(super) anew: bool,
    /// Samples of each input from before the chunk that outputs are made of.
    pub(super) held: usize,
    /// Number of the first output, and how many there are.
    pub(super) first_output: u64,
    pub(super) outputs: usize,
    /// Samples of each input that coming outputs need, the last ones.
    pub(super) keep: usize,
    /// Samples that are counted with this chunk; some of them may be held from before. None of them if it is not
    /// ascending.
    counted: Range<u64>,
    missing: Vec<MissingSamples>,
    flagged: bool,
}

impl Progress {
    /// Before the first chunk.
    pub(super) fn new(inputs: Inputs) -> Self {
        Self { inputs, state: None }
    }

    /// Inputs of the stream.
    pub(super) fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Whether nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.state.is_none()
    }

    /// The sample after the last one taken.
    pub(super) fn expected_sample(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.received)
    }

    /// Number of the next output.
    pub(super) fn next_output(&self) -> Option<u64> {
        self.state.as_ref().map(|state| state.next_output)
    }

    /// Number of the last output that was made.
    pub(super) fn last_output(&self) -> Option<u64> {
        self.state.as_ref().and_then(|state| state.last_output)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        self.state = None;
    }

    /// `Ok` if the chunk can follow those before it.
    pub(super) fn check(&self, chunk: &ChunkAxes<'_>) -> Result<Axes, ChannelizerError> {
        if chunk.inputs != self.inputs {
            return Err(ChannelizerError::Inputs { expected: self.inputs, actual: chunk.inputs });
        }
        check_counter(chunk.first_sample, chunk.times)?;
        let ChunkAxes { format, sample_rate_hz, centre_hz, .. } = *chunk;
        let axes = Axes { format, sample_rate_hz, centre_hz };
        let Some(State { axes: before, received, .. }) = &self.state else { return Ok(axes) };
        if axes.format.is_complex() != before.format.is_complex() {
            return Err(ChannelizerError::SampleKind { expected_complex: before.format.is_complex() });
        }
        axes.follow(before)?;
        if chunk.first_sample < *received && chunk.times > 0 {
            return Err(ChannelizerError::OutOfOrder { expected: *received, actual: chunk.first_sample });
        }
        Ok(axes)
    }

    /// What a chunk completes, `None` of a chunk without samples. Changes nothing.
    pub(super) fn step(&self, plan: &DownConverter, chunk: &ChunkAxes<'_>) -> Result<Option<Step>, ChannelizerError> {
        let axes = self.check(chunk)?;
        if chunk.times == 0 {
            return Ok(None);
        }
        let ChunkAxes { first_sample, times, .. } = *chunk;
        let (decimation, taps) = (plan.decimation as u64, plan.filter.len() as u64);
        let state = self.state.as_ref().filter(|state| state.received == first_sample);
        let first_output = state.map_or(first_sample.div_ceil(decimation), |state| state.next_output);
        let held = state.map_or(0, |state| state.held(decimation));
        // All of these are below the limit on counters plus one decimation, which check_counter leaves room for.
        let end = first_sample + times as u64;
        let outputs = match end.checked_sub(taps) {
            Some(last_start) if last_start / decimation >= first_output => {
                (last_start / decimation - first_output + 1) as usize
            }
            _ => 0,
        };
        // The next output may start after the end, if the decimation is larger than the filter.
        let next = (first_output + outputs as u64).saturating_mul(decimation);
        let mut missing =
            state.map_or_else(|| vec![MissingSamples::default(); self.inputs.len()], |state| state.missing.clone());
        for (input, missing) in missing.iter_mut().enumerate() {
            missing.append(chunk.presence, input, first_sample as i64, times);
        }
        let flagged = state.is_some_and(|state| state.flagged) || chunk.presence.is_some();
        let (anew, keep) = (state.is_none(), end.saturating_sub(next) as usize);
        // Of each block whose first output was made, the samples that have come.
        let block = |output: u64| output.div_ceil(BLOCK).saturating_mul(BLOCK).saturating_mul(decimation);
        let counted = state.map_or_else(|| block(first_output), |state| state.counted);
        let counted = counted..block(first_output + outputs as u64).min(end);
        Ok(Some(Step { axes, first_sample, times, anew, held, first_output, outputs, keep, counted, missing, flagged }))
    }

    /// Takes what was computed, and held.
    pub(super) fn commit(&mut self, step: Step) {
        let received = step.end();
        let Step { axes, first_output, outputs, keep, counted, mut missing, flagged, .. } = step;
        let counted = counted.end.max(counted.start);
        missing.iter_mut().for_each(|missing| missing.discard_before(received.saturating_sub(keep as u64) as i64));
        let next_output = first_output + outputs as u64;
        let last_output = if outputs > 0 { Some(next_output - 1) } else { self.last_output() };
        self.state = Some(State { axes, received, next_output, last_output, counted, missing, flagged });
    }
}

impl State {
    /// Samples of each input that are held.
    fn held(&self, decimation: u64) -> usize {
        self.received.saturating_sub(self.next_output.saturating_mul(decimation)) as usize
    }
}

impl Step {
    /// The sample after the chunk's last one.
    pub(super) fn end(&self) -> u64 {
        self.first_sample + self.times as u64
    }

    /// Number of the output after the last one.
    pub(super) fn end_output(&self) -> u64 {
        self.first_output + self.outputs as u64
    }

    /// Outputs that begin before the chunk.
    pub(super) fn joined(&self, decimation: usize) -> usize {
        self.held.div_ceil(decimation).min(self.outputs)
    }

    /// Runs of outputs of an input that are made of missing samples, counted from the step's first one.
    pub(super) fn absent(&self, plan: &DownConverter, input: usize) -> Vec<Range<usize>> {
        if self.outputs == 0 {
            return Vec::new();
        }
        // A larger decimation gives one output, that of sample 0.
        let decimation = i64::try_from(plan.decimation).unwrap_or(i64::MAX);
        let taps = plan.filter.len() as i64;
        let (first, last) = (self.first_output as i64, self.end_output() as i64 - 1);
        let mut runs: Vec<Range<usize>> = Vec::new();
        for missing in self.missing[input].between(first * decimation, last * decimation + taps) {
            // Windows S j .. S j + K that begin before its end and end after its start.
            let from = ((missing.start - taps).div_euclid(decimation) + 1).max(first);
            let last = (missing.end - 1).div_euclid(decimation).min(last);
            if from > last {
                continue;
            }
            let (from, to) = ((from - first) as usize, (last + 1 - first) as usize);
            match runs.last_mut() {
                Some(run) if from <= run.end => run.end = to,
                _ => runs.push(from..to),
            }
        }
        runs
    }

    /// Flags of the outputs; `None` if no chunk had any.
    pub(super) fn flags(&self, plan: &DownConverter, inputs: usize) -> Option<Array2<bool>> {
        self.flagged.then(|| {
            let mut flags = Array2::from_elem((inputs, self.outputs), true);
            for (input, mut flags) in flags.rows_mut().into_iter().enumerate() {
                for run in self.absent(plan, input) {
                    flags.slice_mut(s![run]).fill(false);
                }
            }
            flags
        })
    }

    /// Some of its outputs, as a step of their own.
    pub(super) fn part(&self, outputs: &Range<u64>) -> Self {
        Self { first_output: outputs.start, outputs: (outputs.end - outputs.start) as usize, ..self.clone() }
    }

    /// Stretches of an input's samples that are counted with this chunk, without missing ones.
    pub(super) fn counted(&self, input: usize) -> Vec<Range<i64>> {
        let mut stretches = Vec::new();
        if self.counted.is_empty() {
            return stretches;
        }
        let (mut from, end) = (self.counted.start as i64, self.counted.end as i64);
        for missing in self.missing[input].between(from, end) {
            if from < missing.start {
                stretches.push(from..missing.start);
            }
            from = missing.end;
        }
        if from < end {
            stretches.push(from..end);
        }
        stretches
    }

    /// Number of the outputs of an input that are there.
    pub(super) fn present_outputs(&self, plan: &DownConverter, input: usize) -> u64 {
        let absent: usize = self.absent(plan, input).iter().map(ExactSizeIterator::len).sum();
        (self.outputs - absent) as u64
    }

    /// Format, rate and centre of the chunk.
    pub(super) fn axes(&self) -> &Axes {
        &self.axes
    }
}

#[cfg(test)]
mod tests {
    use fringes_types::{ChunkFormat, SamplePresence};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn chunk(first_sample: u64, times: usize, presence: Option<&SamplePresence>) -> ChunkAxes<'_> {
        let (format, inputs) = (ChunkFormat::Packed { bits: 10 }, Inputs::single_pol(1).unwrap());
        ChunkAxes { format, inputs, times, first_sample, sample_rate_hz: 1.0, centre_hz: None, presence }
    }

    #[test]
    fn steps_follow_each_other_on_the_grid_and_hold_what_the_next_one_needs() {
        for (taps, decimation) in [(1, 1), (20, 7), (7, 20), (64, 1), (5, 5)] {
            let plan = DownConverter::new(0.1, decimation, vec![1.0; taps]).unwrap();
            let mut progress = Progress::new(Inputs::single_pol(1).unwrap());
            let (mut first, mut next) = (1_000_000_000_000_003u64, None);
            for times in [1, 0, 3, 100, 2, 64, 63, 1, 1, 500] {
                let Some(step) = progress.step(&plan, &chunk(first, times, None)).unwrap() else {
                    assert_eq!(times, 0);
                    continue;
                };
                let expected = next.unwrap_or(first.div_ceil(decimation as u64));
                assert_eq!(step.first_output, expected);
                let window = |output: u64| output * decimation as u64..output * decimation as u64 + taps as u64;
                let all = (expected..).take_while(|&output| window(output).end <= first + times as u64).count();
                assert_eq!(step.outputs, all, "{taps} {decimation} {times}");
                let joined = (expected..expected + all as u64).filter(|&output| window(output).start < first).count();
                assert_eq!(step.joined(decimation), joined);
                assert!(joined == 0 || window(expected).start >= first - step.held as u64);
                let needed = step.end().saturating_sub(window(step.end_output()).start);
                assert_eq!(step.keep as u64, needed);
                (first, next) = (step.end(), Some(step.end_output()));
                progress.commit(step);
                assert_eq!((progress.expected_sample(), progress.next_output()), (Some(first), next));
            }
        }
    }

    #[test]
    fn runs_of_absent_outputs_are_those_with_a_missing_sample() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for (taps, decimation) in [(1, 1), (20, 7), (7, 20), (64, 1), (5, 5), (1, 9)] {
            let plan = DownConverter::new(0.1, decimation, vec![1.0; taps]).unwrap();
            for block in [1, 3, 17, 40] {
                let flags = Array2::from_shape_simple_fn((1, 400usize.div_ceil(block)), || random.random_bool(0.8));
                let presence = SamplePresence::new(block, flags).unwrap();
                let first = random.random_range(0..50u64);
                let progress = Progress::new(Inputs::single_pol(1).unwrap());
                let step = progress.step(&plan, &chunk(first, 400, Some(&presence))).unwrap().unwrap();
                let mut covered = vec![false; step.outputs];
                for run in step.absent(&plan, 0) {
                    run.for_each(|output| covered[output] = true);
                }
                for (output, &absent) in covered.iter().enumerate() {
                    let start = ((step.first_output + output as u64) * decimation as u64 - first) as usize;
                    let expected = (start..start + taps).any(|sample| !presence.is_present(0, sample));
                    assert_eq!(absent, expected, "{taps} {decimation} {block} {output}");
                }
                let flags = step.flags(&plan, 1).unwrap();
                assert!(flags.iter().zip(&covered).all(|(present, absent)| present != absent));
            }
        }
    }
}
