//! Blocks that go from GPU to GPU without the host: packed, placed, and the flags that tell what is in them.

use std::sync::Arc;

use fringes_backend::{DeviceArray, DeviceHeaps, Uploader, Workspace};
use fringes_gpu::{BlockPitch, Blocks, Buffer, BufferView, BufferViewMut, GpuError, Stream};
use fringes_types::VoltageSample;
use ndarray::{Array2, s};

use super::TurnPlan;
use super::block::{ABSENT, Block, PRESENT, check, kept};
use super::shared::{Antennas, Wanted, copy_piece, is_present};
use crate::exchange::ExchangeError;
use crate::fx::FrameData;
use crate::{BoxError, StreamError};

/// Flags that every rank gives for a block: as many as the rank with most antennas has.
fn most_flags(plan: &TurnPlan) -> usize {
    let most = (0..plan.ranks()).map(|rank| plan.antennas_of(rank).len()).max().unwrap_or(0);
    plan.frames_per_block * most
}

/// The flags of a rank's block, `[frame][antenna]`, and zeros behind them; all zeros if it has none.
pub(super) fn flags<V: VoltageSample>(
    block: Option<&Block<V>>,
    plan: &TurnPlan,
    rank: usize,
) -> Result<Vec<u8>, StreamError> {
    let (mut flags, antennas) = (vec![0; most_flags(plan)], plan.antennas_of(rank).len());
    for (_, part) in block.iter().flat_map(|block| block.parts(rank)) {
        match &*part.frames {
            FrameData::Host(heaps) => check(heaps, plan, antennas)?,
            FrameData::Pinned(heaps) => check(heaps, plan, antennas)?,
            FrameData::Device(heaps) => check(heaps, plan, antennas)?,
        }
        for (frame, antenna) in (0..part.count).flat_map(|frame| (0..antennas).map(move |antenna| (frame, antenna))) {
            let is_present = is_present(&part.frames, part.from + frame, antenna);
            flags[(part.at + frame) * antennas + antenna] = if is_present { PRESENT } else { ABSENT };
        }
    }
    Ok(flags)
}

/// What the flags of all ranks say of a block: the same on all of them. `None` if nothing is wanted.
pub(super) fn wanted(flags: &[u8], plan: &TurnPlan, block: (u64, u64)) -> Option<Wanted> {
    let frames = plan.frames_per_block;
    let (mut given, mut presence) = (vec![false; frames], Array2::from_elem((frames, plan.inputs.antennas()), false));
    for (rank, flags) in flags.chunks_exact(most_flags(plan).max(1)).enumerate() {
        let antennas = plan.antennas_of(rank);
        let flags = flags.iter().take(frames * antennas.len());
        for (place, &flag) in flags.enumerate().filter(|(_, flag)| **flag != 0) {
            let (frame, antenna) = (place / antennas.len(), antennas.start + place % antennas.len());
            given[frame] = true;
            presence[(frame, antenna)] = flag == PRESENT;
        }
    }
    let kept = kept(&given, block, plan)?;
    let presence = presence.slice(s![kept.clone(), ..]).to_owned();
    Some(Wanted { kept, presence })
}

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
    buffers.iter().map(|of| of.as_ref().map(|of| of.view().cast().map_err(engine)).transpose()).collect()
}

/// Buffers by rank as bytes that are received.
pub(super) fn received<V: VoltageSample>(
    buffers: &mut [Option<Buffer<V>>],
) -> Result<Vec<Option<BufferViewMut<'_, u8>>>, ExchangeError> {
    buffers.iter_mut().map(|of| of.as_mut().map(|of| of.view_mut().cast().map_err(engine)).transpose()).collect()
}

/// Bytes of buffers by rank.
pub(super) fn sizes<V: VoltageSample>(buffers: &[Option<Buffer<V>>]) -> Vec<usize> {
    buffers.iter().map(|of| of.as_ref().map_or(0, |of| of.len() * size_of::<V>())).collect()
}

fn engine(error: GpuError) -> ExchangeError {
    ExchangeError::Engine(error.to_string())
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

#[cfg(test)]
mod tests {
    use fringes_types::Inputs;

    use super::*;

    #[test]
    fn flags_of_uneven_ranks_come_to_their_antennas() {
        let plan = TurnPlan::new(3, Inputs::new(4, 2).unwrap(), 8, 16, 4).unwrap().with_frames_per_block(3).unwrap();
        let plan = plan.with_antenna_shares(vec![0..1, 1..4, 4..4]).unwrap();
        let most = most_flags(&plan);
        assert_eq!(most, 9);
        let mut all = vec![0; 3 * most];
        // Antenna 0 of frame 1; antennas 1 to 3 of frames 1 and 2, one of them given and absent.
        all[1] = PRESENT;
        all[most + 3..most + 9].copy_from_slice(&[PRESENT, ABSENT, PRESENT, PRESENT, PRESENT, PRESENT]);
        let wanted = wanted(&all, &plan, (5, u64::MAX)).unwrap();
        assert_eq!(wanted.kept, 1..3);
        let expected = ndarray::array![[true, true, false, true], [false, true, true, true]];
        assert_eq!(wanted.presence, expected);
        // Frame 2 of block 5 is the 17th, of 64 samples each; nothing of a block that nobody has.
        let until = super::wanted(&all, &plan, (5, 17 * 64)).unwrap();
        assert_eq!((until.kept, until.presence), (1..2, expected.slice(s![..1, ..]).to_owned()));
        assert!(super::wanted(&vec![0; 3 * most], &plan, (5, u64::MAX)).is_none());
        assert!(super::wanted(&all, &plan, (5, 16 * 64)).is_none());
    }
}
