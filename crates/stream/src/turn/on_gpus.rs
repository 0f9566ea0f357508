//! Blocks that go from GPU to GPU without the host: packed for each rank, and placed as they come.
//!
//! What one rank has for another lies as `[kept frame][antenna][channel of that rank][spectrum][pol]`, and is placed
//! among all antennas. Flags go by the ranks that carry what is short.

use std::sync::Arc;

use fringes_backend::{DeviceArray, DeviceHeaps, Uploader, Workspace};
use fringes_gpu::{BlockPitch, Blocks, Buffer, BufferView, BufferViewMut, Stream};
use fringes_types::VoltageSample;
use ndarray::s;

use super::TurnPlan;
use super::block::Block;
use super::shared::{Antennas, copy_piece};
use super::wanted::Wanted;
use crate::BoxError;
use crate::exchange::ExchangeError;
use crate::fx::FrameData;

/// Heaps of a piece of frames on the GPU of a stream, where the F-engine has left them.
fn heaps<V: VoltageSample>(frames: &FrameData<V>, stream: &Stream) -> Result<Arc<DeviceHeaps<'static, V>>, BoxError> {
    Ok(match frames {
        FrameData::Device(heaps) => heaps.clone(),
        other => Arc::new(Uploader::new(stream).heaps(&*other.on_host()?)?),
    })
}

/// Memory of a GPU for kept frames of a rank's antennas and another's channels; none if there is nothing.
fn room<V: VoltageSample>(
    plan: &TurnPlan,
    (from, to): (usize, usize),
    wanted: &Wanted,
    zeroed: bool,
    stream: &Stream,
) -> Result<Option<Buffer<V>>, BoxError> {
    let heaps = wanted.kept.len() * plan.antennas_of(from).len();
    let length = heaps * plan.channels_of(to).len() * plan.frame_values();
    let pool = Workspace::pool(stream.device());
    Ok(match length {
        0 => None,
        length if zeroed => Some(pool.take_zeroed::<V>(stream, length)?),
        length => Some(pool.take::<V>(stream, length)?),
    })
}

/// What a rank's block has for each of the others: `[kept frame][antenna][channel of that rank][spectrum][pol]`. What
/// did not come is zeros.
pub(super) fn pack<V: VoltageSample>(
    block: &Block<V>,
    plan: &TurnPlan,
    rank: usize,
    wanted: &Wanted,
    stream: &Stream,
) -> Result<Vec<Option<Buffer<V>>>, BoxError> {
    let antennas = plan.antennas_of(rank);
    let whole = wanted.presence.slice(s![.., antennas.clone()]).iter().all(|&present| present);
    let mut packed = Vec::with_capacity(plan.ranks());
    for to in 0..plan.ranks() {
        let mut buffer = if to == rank { None } else { room(plan, (rank, to), wanted, !whole, stream)? };
        if let Some(buffer) = &mut buffer {
            let among = Antennas { all: antennas.len(), first: 0 };
            copy(block, plan, (rank, to), wanted, (&mut *buffer, among), stream)?;
        }
        packed.push(buffer);
    }
    Ok(packed)
}

/// Copies all pieces of a rank's block, channels of another.
fn copy<V: VoltageSample>(
    block: &Block<V>,
    plan: &TurnPlan,
    (rank, to): (usize, usize),
    wanted: &Wanted,
    (out, among): (&mut Buffer<V>, Antennas),
    stream: &Stream,
) -> Result<(), BoxError> {
    for (_, part) in block.parts(rank) {
        let heaps = heaps(&part.frames, stream)?;
        copy_piece((part, &heaps), plan, &plan.channels_of(to), &wanted.kept, (&mut *out, among), stream)?;
    }
    Ok(())
}

/// Where what the others send is received: those that have something of the block.
pub(super) fn arriving<V: VoltageSample>(
    plan: &TurnPlan,
    rank: usize,
    members: &[bool],
    wanted: &Wanted,
    stream: &Stream,
) -> Result<Vec<Option<Buffer<V>>>, BoxError> {
    let of = |(from, &member): (usize, &bool)| {
        if member && from != rank { room(plan, (from, rank), wanted, false, stream) } else { Ok(None) }
    };
    members.iter().enumerate().map(of).collect()
}

/// Buffers by rank as bytes that are sent.
pub(super) fn sent<V: VoltageSample>(
    buffers: &[Option<Buffer<V>>],
) -> Result<Vec<Option<BufferView<'_, u8>>>, ExchangeError> {
    buffers.iter().map(|of| of.as_ref().map(|of| Ok(of.view().cast()?)).transpose()).collect()
}

/// Buffers by rank as bytes that are received.
pub(super) fn received<V: VoltageSample>(
    buffers: &mut [Option<Buffer<V>>],
) -> Result<Vec<Option<BufferViewMut<'_, u8>>>, ExchangeError> {
    buffers.iter_mut().map(|of| of.as_mut().map(|of| Ok(of.view_mut().cast()?)).transpose()).collect()
}

/// Bytes of buffers by rank.
pub(super) fn sizes<V: VoltageSample>(buffers: &[Option<Buffer<V>>]) -> Vec<usize> {
    buffers.iter().map(|of| of.as_ref().map_or(0, |of| of.len() * size_of::<V>())).collect()
}

/// All antennas of a rank's channels: its own frames, and what came from the others.
pub(super) fn place<V: VoltageSample>(
    mine: Option<&Block<V>>,
    arrived: &[Option<Buffer<V>>],
    plan: &TurnPlan,
    rank: usize,
    wanted: &Wanted,
    stream: &Stream,
) -> Result<DeviceArray<'static, V>, BoxError> {
    let (all, frames) = (plan.inputs.antennas(), wanted.kept.len());
    let heap = plan.channels_of(rank).len() * plan.frame_values();
    let pool = Workspace::pool(stream.device());
    // What did not come must be no illegal value.
    let whole = wanted.presence.iter().all(|&present| present);
    let length = frames * all * heap;
    let mut out = if whole { pool.take::<V>(stream, length)? } else { pool.take_zeroed::<V>(stream, length)? };
    if let Some(block) = mine {
        let among = Antennas { all, first: plan.antennas_of(rank).start };
        copy(block, plan, (rank, rank), wanted, (&mut out, among), stream)?;
    }
    for (from, buffer) in arrived.iter().enumerate() {
        let Some(buffer) = buffer else { continue };
        let antennas = plan.antennas_of(from);
        let mut target = out.slice_mut(antennas.start * heap..)?;
        target.copy_blocks_from(
            stream,
            BlockPitch { row: heap, slice_rows: all },
            buffer.view(),
            BlockPitch { row: heap, slice_rows: antennas.len() },
            Blocks { width: heap, rows: antennas.len(), slices: frames },
        )?;
    }
    Ok(DeviceArray::from(out).written_now(stream)?)
}
