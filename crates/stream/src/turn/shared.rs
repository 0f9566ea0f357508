//! Blocks of ranks of one process, gathered from the frames themselves: one copy in memory of the host, one copy with
//! strides a piece of frames between GPUs.

use std::ops::Range;
use std::sync::Arc;

use fringes_backend::{DeviceArray, DeviceHeaps, Workspace};
use fringes_gpu::{BlockPitch, Blocks, Buffer, Stream};
use fringes_types::{Heaps, VoltageSample};
use ndarray::{Array5, s};

use super::TurnPlan;
use super::block::{Axes, Block, Part, with_axes};
use super::wanted::{Wanted, flags, wanted};
use crate::fx::FrameData;
use crate::{Stage, StreamError};

/// The blocks of all ranks, by rank.
pub(super) type AllBlocks<'a, V> = [Option<&'a Block<V>>];

/// Calls a function for the pieces of frames in a block, with the rank.
fn pieces<'a, V: VoltageSample>(blocks: &'a AllBlocks<'a, V>) -> impl Iterator<Item = (usize, &'a Part<V>)> {
    blocks.iter().enumerate().flat_map(|(rank, block)| block.iter().flat_map(move |block| block.parts(rank)))
}

/// The frames of a piece that are kept: the first of its own, their number, and the place of that among what is kept.
fn overlap<V: VoltageSample>(part: &Part<V>, kept: &Range<usize>) -> Option<(usize, usize, usize)> {
    let (begin, end) = (part.at.max(kept.start), (part.at + part.count).min(kept.end));
    (begin < end).then(|| (part.from + begin - part.at, end - begin, begin - kept.start))
}

/// Gathers the channels of a rank: on its device if it has one and the frames of all ranks lie on devices, else on the
/// host. `None` if nothing is wanted.
pub(super) fn gather<V: VoltageSample>(
    blocks: &AllBlocks<'_, V>,
    (number, until): (u64, u64),
    plan: &TurnPlan,
    rank: usize,
    axes: Axes,
    stream: Option<&Stream>,
) -> Result<Option<FrameData<V>>, StreamError> {
    let flags = blocks.iter().enumerate().map(|(rank, block)| flags(*block, plan, rank));
    let flags = flags.collect::<Result<Vec<_>, _>>()?.concat();
    let Some(wanted) = wanted(&flags, plan, (number, until)) else { return Ok(None) };
    let on_devices = pieces(blocks).all(|(_, part)| matches!(&*part.frames, FrameData::Device(_)));
    Ok(Some(match stream.filter(|_| on_devices) {
        Some(stream) => {
            let data = on_device(blocks, plan, rank, &wanted, stream)
                .map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
            on_gpu(data, plan, rank, (number, axes), wanted)?
        }
        None => {
            let data = on_host(blocks, plan, rank, &wanted)?;
            let first = plan.first_frame(number, wanted.kept.start);
            FrameData::Host(with_axes(Heaps::from_checked(data)?, plan, rank, axes, first, wanted.presence)?)
        }
    }))
}

/// What a rank correlates of a block, with its axes.
pub(super) fn on_gpu<V: VoltageSample>(
    data: DeviceArray<'static, V>,
    plan: &TurnPlan,
    rank: usize,
    (number, axes): (u64, Axes),
    Wanted { kept, presence }: Wanted,
) -> Result<FrameData<V>, StreamError> {
    let (channels, spectra) = (plan.channels_of(rank).len(), plan.spectra_per_frame);
    let heaps: DeviceHeaps<'static, V> = Heaps::from_array(data, kept.len(), plan.inputs, channels, spectra)?;
    let first = plan.first_frame(number, kept.start);
    Ok(FrameData::Device(Arc::new(with_axes(heaps, plan, rank, axes, first, presence)?)))
}

fn on_host<V: VoltageSample>(
    blocks: &AllBlocks<'_, V>,
    plan: &TurnPlan,
    rank: usize,
    wanted: &Wanted,
) -> Result<Array5<V>, StreamError> {
    let channels = plan.channels_of(rank);
    let (frames, antennas) = (wanted.kept.len(), plan.inputs.antennas());
    let shape = (frames, antennas, channels.len(), plan.spectra_per_frame, plan.inputs.pols());
    let mut data = Array5::from_elem(shape, V::zeroed());
    for (rank, part) in pieces(blocks) {
        let Some((from, count, at)) = overlap(part, &wanted.kept) else { continue };
        let own = plan.antennas_of(rank);
        let heaps = part.frames.on_host().map_err(|error| StreamError::at(Stage::CornerTurn, error))?;
        for frame in 0..count {
            for (place, antenna) in own.clone().enumerate() {
                if wanted.presence[(at + frame, antenna)] {
                    let all = heaps.data();
                    let from = all.slice(s![from + frame, place, channels.start..channels.end, .., ..]);
                    data.slice_mut(s![at + frame, antenna, .., .., ..]).assign(&from);
                }
            }
        }
    }
    Ok(data)
}

fn on_device<V: VoltageSample>(
    blocks: &AllBlocks<'_, V>,
    plan: &TurnPlan,
    rank: usize,
    wanted: &Wanted,
    stream: &Stream,
) -> Result<DeviceArray<'static, V>, crate::BoxError> {
    let channels = plan.channels_of(rank);
    let all = plan.inputs.antennas();
    let pool = Workspace::pool(stream.device());
    let length = wanted.kept.len() * all * channels.len() * plan.frame_values();
    // What did not come must be no illegal value.
    let whole = wanted.presence.iter().all(|&present| present);
    let mut out = if whole { pool.take::<V>(stream, length)? } else { pool.take_zeroed::<V>(stream, length)? };
    for (rank, part) in pieces(blocks) {
        let FrameData::Device(heaps) = &*part.frames else { continue };
        let antennas = Antennas { all, first: plan.antennas_of(rank).start };
        copy_piece((part, heaps), plan, &channels, &wanted.kept, (&mut out, antennas), stream)?;
    }
    Ok(DeviceArray::from(out).written_now(stream)?)
}

/// The antennas among which those of a rank are.
#[derive(Clone, Copy)]
pub(super) struct Antennas {
    pub(super) all: usize,
    /// The first of the rank's.
    pub(super) first: usize,
}

/// Copies some channels of a rank's frames to their place among those of some antennas, `[kept frame][antenna]`, on the
/// GPU of a stream.
pub(super) fn copy_piece<V: VoltageSample>(
    (part, heaps): (&Part<V>, &DeviceHeaps<'_, V>),
    plan: &TurnPlan,
    channels: &Range<usize>,
    kept: &Range<usize>,
    (out, antennas): (&mut Buffer<V>, Antennas),
    stream: &Stream,
) -> Result<(), crate::BoxError> {
    let Some((from, count, at)) = overlap(part, kept) else { return Ok(()) };
    let (own, values) = (heaps.inputs().antennas(), plan.frame_values());
    let heap = channels.len() * values;
    let ahead = (from * own * plan.channels + channels.start) * values;
    let source = heaps.array().read_from(stream)?.slice(ahead..)?;
    let mut target = out.slice_mut((at * antennas.all + antennas.first) * heap..)?;
    target.copy_blocks_from(
        stream,
        BlockPitch { row: heap, slice_rows: antennas.all },
        source,
        BlockPitch { row: plan.channels * values, slice_rows: own },
        Blocks { width: heap, rows: own, slices: count },
    )?;
    Ok(heaps.array().reads_queued(stream)?)
}
