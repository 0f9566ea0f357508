//! What a chunk is on a GPU: copies, launches of all bands in their order, and sums.

use std::ops::Range;

use fringes_backend::DeviceSamples;
use fringes_gpu::{Buffer, BufferView};
use fringes_types::{ChunkFormat, Inputs};

use super::{GpuStream, MOST_DECIMATION, TOGETHER};
use crate::ChannelizerError;
use crate::down_convert::band::{Band, Piece};
use crate::down_convert::device_sums::Of;
use crate::down_convert::held_rows::Move;
use crate::down_convert::kernels::{Saturated, WindowRows};
use crate::down_convert::order::Launch;
use crate::down_convert::output::DeviceRows;
use crate::down_convert::progress::Step;
use crate::down_convert::{DownConvertedSample, DownConverter};
use crate::internals::format::Numbers;
use crate::spectra::seam::ChunkRows;

/// What launches of a chunk read and count.
struct Sources<'a> {
    samples: &'a DeviceSamples<'a>,
    view: BufferView<'a, u32>,
    moved: &'a Move,
    /// Outputs before it read the held rows, up to sample `read`.
    middle: u64,
    read: u64,
    /// Flags of the step's outputs, 0 of absent ones, if some are and outputs that saturate are counted.
    flags: Option<Buffer<u8>>,
}

/// Outputs that are made of the held rows, those that begin before the chunk among them, and the sample that the rows
/// are read to.
fn from_held(step: &Step, plan: &DownConverter) -> (u64, u64) {
    let joined = step.joined(plan.decimation) as u64;
    if joined == 0 {
        return (0, step.first_sample);
    }
    let end = step.first_output + joined;
    let rounded = if plan.decimation <= MOST_DECIMATION { end.next_multiple_of(TOGETHER) } else { end };
    let end = rounded.min(step.end_output());
    (end - step.first_output, (end - 1) * plan.decimation as u64 + plan.filter.len() as u64)
}

impl<T: DownConvertedSample> GpuStream<T> {
    /// Queues the outputs of each band that a chunk completes, of which absent ones are 0, and holds what coming ones
    /// need. `pieces` are those of the bands, whose windows `plan` has.
    pub(in crate::down_convert) fn run(
        &mut self,
        (bands, plan): (&[Band], &DownConverter),
        step: &Step,
        pieces: &[Vec<Piece<'_>>],
        samples: &DeviceSamples<'_>,
    ) -> Result<Vec<Vec<DeviceRows<T>>>, ChannelizerError> {
        self.renew_sums()?;
        self.renew_kernels(bands)?;
        let stream = &self.stream.clone();
        let numbers = Numbers::of(samples.format())?;
        let chunk = ChunkRows {
            first: step.first_sample as i64,
            times: step.times,
            sample_bits: numbers.sample_bits(),
            row_bits: 8 * samples.row_bytes() as u64,
        };
        let (joined, read) = from_held(step, plan);
        let keep = step.end() - step.keep as u64;
        let moved = self.held.prepare(stream, chunk, step.anew, keep as i64, read as i64)?;
        let take = |Piece { step, .. }: &Piece<'_>| {
            DeviceRows::take(&self.pool, stream, samples.inputs(), step.first_output, step.outputs)
        };
        let mut out = pieces
            .iter()
            .map(|pieces| pieces.iter().map(take).collect::<Result<Vec<_>, _>>())
            .collect::<Result<Vec<_>, _>>()?;
        let flags = self.send_flags(step, plan, samples.inputs())?;
        let view = samples.array().read_on(stream)?;
        let sources = Sources { samples, view, moved: &moved, middle: step.first_output + joined, read, flags };
        let queued = self.queue(step, pieces, &sources, &mut out);
        // Part of the work may be queued even if it failed.
        samples.array().reads_queued(stream)?;
        queued?;
        drop(sources);
        self.held.commit(moved);
        Ok(out)
    }

    /// Queues flags of a step's outputs to the device, if some are absent and must not count as saturated.
    fn send_flags(
        &mut self,
        step: &Step,
        plan: &DownConverter,
        inputs: Inputs,
    ) -> Result<Option<Buffer<u8>>, ChannelizerError> {
        let Self { stream, pool, sums, .. } = self;
        let Some(sums) = sums.as_mut().filter(|_| T::LIMIT.is_finite()) else { return Ok(None) };
        let flags = absent_flags(step, plan, inputs.len());
        if flags.is_empty() { Ok(None) } else { sums.send_flags(stream, pool, &flags).map(Some) }
    }

    /// Queues everything.
    fn queue(
        &mut self,
        step: &Step,
        pieces: &[Vec<Piece<'_>>],
        sources: &Sources<'_>,
        out: &mut [Vec<DeviceRows<T>>],
    ) -> Result<(), ChannelizerError> {
        self.held.run(&self.stream, sources.view, sources.moved)?;
        self.fork()?;
        let launched = self.launch_all(step, pieces, sources, out);
        // What was queued beside ends before what comes, even if not all of it was.
        self.join()?;
        launched?;
        for (band, (pieces, out)) in pieces.iter().zip(out).enumerate() {
            for (piece, out) in pieces.iter().zip(out) {
                out.zero_absent(&piece.step, piece.plan, &self.stream)?;
                self.queue_sums_of_outputs(band, &piece.step, out, sources.samples.inputs())?;
            }
        }
        self.queue_sums_of_samples(step, sources)
    }

    /// Makes the streams beside wait for what the stream was given.
    fn fork(&self) -> Result<(), ChannelizerError> {
        if self.beside.is_empty() {
            return Ok(());
        }
        let event = self.stream.device().new_untimed_event()?;
        event.record(&self.stream)?;
        for beside in &self.beside {
            beside.wait(&event)?;
        }
        Ok(())
    }

    /// Makes the stream wait for those beside.
    fn join(&self) -> Result<(), ChannelizerError> {
        // All of them, whatever the driver says of one.
        let joined: Vec<_> = self.beside.iter().map(|beside| self.stream.wait_for(beside)).collect();
        Ok(joined.into_iter().collect::<Result<(), _>>()?)
    }

    /// Queues the launches of all bands.
    fn launch_all(
        &mut self,
        step: &Step,
        pieces: &[Vec<Piece<'_>>],
        sources: &Sources<'_>,
        out: &mut [Vec<DeviceRows<T>>],
    ) -> Result<(), ChannelizerError> {
        let Some(piece) = pieces.iter().flatten().next() else { return Ok(()) };
        let sample_bits = Numbers::of(sources.samples.format())?.sample_bits();
        let samples = piece.plan.decimation.saturating_mul(sources.samples.inputs().len()) as u64;
        let output_bits = samples.saturating_mul(sample_bits);
        for launch in self.order.launches(step, pieces, output_bits) {
            let (piece, out) = (&pieces[launch.band][launch.piece], &mut out[launch.band][launch.piece]);
            self.launch(step, piece, sources, &launch, out)?;
        }
        Ok(())
    }

    /// Queues a launch of a band.
    fn launch(
        &mut self,
        step: &Step,
        piece: &Piece<'_>,
        sources: &Sources<'_>,
        launch: &Launch,
        out: &mut DeviceRows<T>,
    ) -> Result<(), ChannelizerError> {
        let Self { stream, beside, kernels, held, sums, .. } = self;
        let Sources { samples, view, moved, middle, read, flags } = sources;
        let Range { start: first, end } = launch.outputs;
        let streams = beside.len() + 1;
        let stream = (launch.band % streams).checked_sub(1).map_or(&*stream, |number| &beside[number]);
        let (none, mut no_counts) = (Buffer::alloc(stream.device(), 0)?, Buffer::alloc(stream.device(), 0)?);
        let present = match flags {
            Some(flags) => flags.slice((first - step.first_output) as usize..)?,
            None => none.view(),
        };
        let counts = match sums {
            Some(sums) if T::LIMIT.is_finite() => sums.saturated(launch.band),
            _ => no_counts.view_mut(),
        };
        let saturated = Saturated { counts, present, present_row: step.outputs };
        let middle = (*middle).clamp(first, end);
        let mut parts = [None, None];
        if first < middle {
            let sample = first * piece.plan.decimation as u64;
            let rows = held.windows(moved, Numbers::of(samples.format())?, sample, (read - sample) as usize);
            parts[0] = Some((rows, first..middle));
        }
        if middle < end {
            parts[1] = Some((WindowRows::of_chunk(samples, *view)?, middle..end));
        }
        let row = out.row();
        let to = out.values()?.slice((first - piece.step.first_output) as usize..)?;
        kernels[launch.band].of(first).launch_counted(stream, parts, (to, row), saturated, streams)
    }

    /// Queues the sums of a band's outputs.
    fn queue_sums_of_outputs(
        &mut self,
        band: usize,
        step: &Step,
        out: &DeviceRows<T>,
        inputs: Inputs,
    ) -> Result<(), ChannelizerError> {
        let Self { stream, pool, sums: Some(sums), .. } = self else { return Ok(()) };
        let row_bits = 8 * (out.row() * size_of::<T>()) as u64;
        let inputs = 0..inputs.len() as u64;
        let stretches: Vec<_> = inputs.map(|input| vec![[input * row_bits, step.outputs as u64]]).collect();
        let numbers = Numbers::of(ChunkFormat::Typed { format: T::FORMAT, complex: T::COMPLEX })?;
        sums.add((stream, pool), Of::Outputs(band), out.words()?, numbers, &stretches)
    }

    /// Queues the sums of the samples that are counted with a chunk: those before it lie in the held rows.
    fn queue_sums_of_samples(&mut self, step: &Step, sources: &Sources<'_>) -> Result<(), ChannelizerError> {
        let Self { stream, pool, held, sums: Some(sums), .. } = self else { return Ok(()) };
        let &Sources { samples, view, moved, .. } = sources;
        let numbers = Numbers::of(samples.format())?;
        let (bits, row_bits) = (numbers.sample_bits(), 8 * samples.row_bytes() as u64);
        let first = step.first_sample as i64;
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for input in 0..samples.inputs().len() {
            let stretches = step.counted(input);
            let part = |stretch: &Range<i64>, bit: u64| [bit, (stretch.end - stretch.start) as u64];
            let of_held = stretches.iter().map(|stretch| stretch.start..stretch.end.min(first));
            let of_held = of_held.filter(|stretch| !stretch.is_empty());
            before.push(of_held.map(|stretch| part(&stretch, held.bit(moved, input, stretch.start, bits))).collect());
            let of_chunk = stretches.iter().map(|stretch| stretch.start.max(first)..stretch.end);
            let of_chunk = of_chunk.filter(|stretch| !stretch.is_empty());
            let bit = |sample: i64| input as u64 * row_bits + (sample - first) as u64 * bits;
            behind.push(of_chunk.map(|stretch| part(&stretch, bit(stretch.start))).collect());
        }
        sums.add((stream, pool), Of::Samples, held.words(), numbers, &before)?;
        sums.add((stream, pool), Of::Samples, view, numbers, &behind)
    }
}

/// Flags `[input][output]` of the outputs of a step, 0 of absent ones; none if all are there.
pub(in crate::down_convert) fn absent_flags(step: &Step, plan: &DownConverter, inputs: usize) -> Vec<u8> {
    let absent: Vec<_> = (0..inputs).map(|input| step.absent(plan, input)).collect();
    if absent.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let mut flags = vec![1; inputs * step.outputs];
    for (flags, runs) in flags.chunks_mut(step.outputs).zip(absent) {
        for run in runs {
            flags[run].fill(0);
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::down_convert::progress::Progress;
    use crate::timeline::ChunkAxes;

    #[test]
    fn launches_are_divided_at_multiples_of_16_outputs() {
        for (taps, decimation) in [(20, 7), (64, 1), (5, 5), (128, 8), (9, 5000), (20_000, 5000)] {
            let plan = DownConverter::new(0.1, decimation, vec![1.0; taps]).unwrap();
            let inputs = Inputs::single_pol(1).unwrap();
            let mut progress = Progress::new(inputs);
            let mut first_sample = 1003;
            for times in [taps, 1, 3 * taps, 40 * decimation, 7, 100 * decimation] {
                let format = ChunkFormat::Packed { bits: 10 };
                let (sample_rate_hz, centre_hz, presence) = (1.0, None, None);
                let axes = ChunkAxes { format, inputs, times, first_sample, sample_rate_hz, centre_hz, presence };
                let step = progress.step(&plan, &axes).unwrap().unwrap();
                let (joined, read) = from_held(&step, &plan);
                let least = step.joined(decimation) as u64;
                assert!((least..least + 16).contains(&joined));
                assert_eq!(joined == 0, least == 0);
                let middle = step.first_output + joined;
                assert!(middle == step.end_output() || joined == 0 || decimation > 4096 || middle.is_multiple_of(16));
                assert!(read <= step.end());
                // The stated memory has room for the chunk's part of the rows.
                let head = read.saturating_sub(first_sample);
                let rounded = if decimation > 4096 { 0 } else { 16 * decimation };
                assert!(head as usize <= times.min(taps + rounded), "{taps} {decimation} {times} {head}");
                assert!(step.keep < taps);
                first_sample = step.end();
                progress.commit(step);
            }
        }
    }
}
