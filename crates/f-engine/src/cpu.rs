//! The F-engine's spectra on the CPU.

use std::sync::atomic::AtomicU64;

use fringes_backend::{Backend, MemoryNeed};
use fringes_cpu::f_engine::{FramePart, Post, f_engine, row_bytes};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_cpu::pfb::Split;
use fringes_types::{Inputs, SampleChunk, TypesError};
use ndarray::{Array2, Array4, Array5, Axis, s};

use super::{FrameSample, Settings, Work};
use fringes_channelizer::ChannelizerError;
use fringes_channelizer::internals::Part;
use fringes_channelizer::internals::Timeline;
use fringes_channelizer::internals::{Held, HeldAndChunk, Room, history_bytes};

/// Frames `[frame][antenna][channel][spectrum][pol]` and their saturated values `[frame][input]`.
pub(super) type Given<Q> = (Array5<Q>, Array2<u64>);

/// What is kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct CpuEngine<Q: FrameSample> {
    held: Vec<Held>,
    /// The frame that is not complete, `[antenna][channel][spectrum][pol]`, and the saturated values of its inputs.
    open: Array4<Q>,
    saturated: Vec<u64>,
    /// Memory of frames that were given back.
    spare: Vec<Vec<Q>>,
}

/// Most memories of frames that are kept.
const SPARE: usize = 2;

/// All that a chunk needs and that may fail to be had.
#[derive(Debug)]
pub(super) struct Prepared<Q: FrameSample> {
    /// The frames that are given away: zeros where nothing will be written.
    frames: Array5<Q>,
    split: Split,
}

/// The shape of a frame.
fn frame_shape(settings: &Settings, inputs: Inputs) -> (usize, usize, usize, usize) {
    (inputs.antennas(), settings.channels.len(), settings.spectra_per_frame, inputs.pols())
}

/// Bytes of a frame, saturating.
fn frame_bytes<Q>(settings: &Settings, inputs: Inputs) -> u64 {
    let values = [inputs.len(), settings.channels.len(), settings.spectra_per_frame, size_of::<Q>()];
    values.into_iter().fold(1, |all, one| all.saturating_mul(one as u64))
}

/// `count` frames of zeros.
fn zeroed_frames<Q: FrameSample>(
    count: usize,
    settings: &Settings,
    inputs: Inputs,
) -> Result<Array5<Q>, ChannelizerError> {
    frames_in(try_zeroed_vec, count, settings, inputs)
}

/// `count` frames in memory of a length, which is asked for.
fn frames_in<Q: FrameSample>(
    memory: impl FnOnce(usize) -> Option<Vec<Q>>,
    count: usize,
    settings: &Settings,
    inputs: Inputs,
) -> Result<Array5<Q>, ChannelizerError> {
    let (antennas, channels, spectra, pols) = frame_shape(settings, inputs);
    let shape = (count, antennas, channels, spectra, pols);
    let length = [antennas, channels, spectra, pols].into_iter().try_fold(count, usize::checked_mul);
    let too_large = || TypesError::TooLarge { array: "frames", elements: format!("{shape:?}") };
    let values = length.and_then(memory).ok_or_else(too_large)?;
    Ok(Array5::from_shape_vec(shape, values).map_err(|_| too_large())?)
}

/// One frame of zeros.
fn zeroed_frame<Q: FrameSample>(settings: &Settings, inputs: Inputs) -> Result<Array4<Q>, ChannelizerError> {
    Ok(zeroed_frames(1, settings, inputs)?.index_axis_move(Axis(0), 0))
}

impl<Q: FrameSample> CpuEngine<Q> {
    pub(super) fn new(backend: &Backend, timeline: &Timeline, settings: &Settings) -> Result<Self, ChannelizerError> {
        let inputs = timeline.inputs;
        let needed = Self::memory(timeline, settings, 0, 0).smallest_step_bytes;
        backend.check_memory("f_engine", needed)?;
        let open = zeroed_frame(settings, inputs)?;
        let (held, saturated) = (vec![Held::default(); inputs.len()], vec![0; inputs.len()]);
        Ok(Self { held, open, saturated, spare: Vec::new() })
    }

    /// What a stream of chunks of `times` samples of `sample_bits` bits needs.
    pub(super) fn memory(timeline: &Timeline, settings: &Settings, times: usize, sample_bits: u32) -> MemoryNeed {
        let (plan, inputs) = (&timeline.plan, timeline.inputs);
        let spectra = times.div_ceil(plan.stride());
        let frames = ((spectra / settings.spectra_per_frame) as u64).saturating_add(1);
        let row_bytes = row_bytes::<Q>(settings.channels.len());
        let (history, moving) = history_bytes(timeline);
        let fixed = frame_bytes::<Q>(settings, inputs).saturating_add(history);
        let with = |workspace: u64| fixed.saturating_add(workspace.max(moving));
        let split = Split::choose_with(plan.pfb(), spectra.max(1), inputs.len(), None, row_bytes);
        let row = (times as u64).saturating_mul(sample_bits.into()).div_ceil(8);
        MemoryNeed {
            input_bytes: row.saturating_mul(inputs.len() as u64),
            output_bytes: frame_bytes::<Q>(settings, inputs).saturating_mul(frames),
            workspace_bytes: with(split.bytes_with(plan.pfb(), row_bytes)),
            smallest_step_bytes: with(Split::smallest_bytes(plan.pfb()).saturating_add(row_bytes)),
        }
    }

    /// Takes what a chunk needs. Changes nothing but the room for what is held.
    pub(super) fn prepare(&mut self, backend: &Backend, work: &Work<'_>) -> Result<Prepared<Q>, ChannelizerError> {
        let (plan, inputs) = (&work.timeline.plan, work.timeline.inputs);
        let row_bytes = row_bytes::<Q>(work.settings.channels.len());
        let room = Room::new(&self.held, work.timeline, work.advance);
        let smallest = Split::smallest_bytes(plan.pfb()).saturating_add(row_bytes);
        let limit = room.check(backend, "f_engine", frame_bytes::<Q>(work.settings, inputs), smallest)?;
        room.take(&mut self.held)?;
        let split = Split::choose_with(plan.pfb(), work.batch.spectra.max(1), inputs.len(), limit, row_bytes);
        // Where all samples are present, every value is written.
        let memory = |length: usize| self.memory_of(length, work.advance.is_complete());
        let frames = frames_in(memory, work.batch.frames, work.settings, inputs)?;
        Ok(Prepared { frames, split })
    }

    /// Memory for so many values, zeros unless they are all written: that of frames that were given back, if it is
    /// large enough.
    fn memory_of(&mut self, length: usize, all_written: bool) -> Option<Vec<Q>> {
        let Some(place) = self.spare.iter().position(|spare| spare.capacity() >= length) else {
            return try_zeroed_vec(length);
        };
        let mut values = self.spare.swap_remove(place);
        values.truncate(length);
        if !all_written {
            values.fill(Q::zeroed());
        }
        values.resize(length, Q::zeroed());
        Some(values)
    }

    /// Takes back the memory of frames.
    pub(super) fn recycle(&mut self, values: Vec<Q>) {
        if self.spare.len() == SPARE {
            self.spare.remove(0);
        }
        self.spare.push(values);
    }

    /// Computes a chunk's spectra and takes the chunk in. Gives the frames that are complete.
    pub(super) fn run(&mut self, prepared: Prepared<Q>, work: &Work<'_>, chunk: &dyn SampleChunk) -> Given<Q> {
        let Prepared { mut frames, split } = prepared;
        let (batch, inputs) = (&work.batch, self.saturated.len());
        let open_counts = std::mem::replace(&mut self.saturated, vec![0; inputs]);
        let counts: Vec<AtomicU64> = (0..(batch.frames + 1) * inputs).map(|_| AtomicU64::new(0)).collect();
        counts
            .iter()
            .zip(open_counts)
            .for_each(|(count, open)| count.store(open, std::sync::atomic::Ordering::Relaxed));
        if batch.frames > 0 && batch.filled > 0 {
            let filled = s![.., .., ..batch.filled, ..];
            frames.index_axis_mut(Axis(0), 0).slice_mut(filled).assign(&self.open.slice(filled));
        }

        let mut parts = Vec::new();
        for (frame, out) in frames.outer_iter_mut().chain([self.open.view_mut()]).enumerate() {
            let Part { first_time, places } = batch.part(frame);
            let out = out.slice_move(s![.., .., places, ..]);
            parts.push(FramePart { first_time, out, saturated: &counts[frame * inputs..][..inputs] });
        }
        let (timeline, advance) = (work.timeline, work.advance);
        let present = advance.flags();
        let post = Post {
            channels: work.settings.channels.clone(),
            gains: work.settings.gains.view(),
            dither: work.settings.dither,
            first_input: work.settings.first_input as u32,
            first_spectrum: advance.first_stamp / timeline.plan.stride() as u64,
            present: present.view(),
        };
        let source = HeldAndChunk::new(&self.held, chunk, advance.anew);
        let describe = |time: usize, input: usize| timeline.spectrum(advance, time, input);
        f_engine(timeline.plan.pfb(), &source, &describe, &post, parts, &split);

        for (input, held) in self.held.iter_mut().enumerate() {
            if advance.anew {
                held.clear();
            }
            held.take(chunk, input, advance.keep[input]);
        }
        let mut counts: Vec<u64> = counts.into_iter().map(AtomicU64::into_inner).collect();
        self.saturated = counts.split_off(batch.frames * inputs);
        let counts = Array2::from_shape_fn((batch.frames, inputs), |(frame, input)| counts[frame * inputs + input]);
        (frames, counts)
    }

    /// The open frame, of which `filled` spectra are filled, and a new one in its place.
    pub(super) fn close(
        &mut self,
        filled: usize,
        settings: &Settings,
        inputs: Inputs,
    ) -> Result<Given<Q>, ChannelizerError> {
        let replacement = zeroed_frame(settings, inputs)?;
        Ok(self.give_open(filled, replacement))
    }

    fn give_open(&mut self, filled: usize, replacement: Array4<Q>) -> Given<Q> {
        let inputs = self.saturated.len();
        let mut frame = std::mem::replace(&mut self.open, replacement);
        frame.slice_mut(s![.., .., filled.., ..]).fill(Q::zeroed());
        let saturated = std::mem::replace(&mut self.saturated, vec![0; inputs]);
        let saturated = Array2::from_shape_fn((1, inputs), |(_, input)| saturated[input]);
        (frame.insert_axis(Axis(0)), saturated)
    }

    pub(super) fn reset(&mut self) {
        self.held.fill(Held::default());
        self.saturated.fill(0);
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.held.iter().map(Held::bytes).sum()
    }
}
