//! Fine rotation of voltages in device memory.

use fringes_backend::{Backend, DeviceArray, Workspace};
use fringes_delay_model::ChannelPhase;
use fringes_gpu::{Buffer, BufferPool, Stream};
use fringes_types::{Complex, SpectrumClock};
use ndarray::ArrayView2;

use super::layout::RotationLayout;
use super::rotate::{FineRotation, OPERATION};
use super::rotate_kernels::{Factors, RotateKernels};
use crate::{DelayError, FrameSample};

/// Most voltages of a piece that are cleared together, of each channel.
const PIECE: usize = 1 << 12;

/// Voltages in device memory.
pub(super) struct Chunk<'a, V: FrameSample> {
    pub(super) layout: RotationLayout,
    pub(super) clock: SpectrumClock,
    /// `[batch][antenna]` of heaps, else `[time][input]`.
    pub(super) presence: Option<ArrayView2<'a, bool>>,
    pub(super) array: &'a DeviceArray<'a, V>,
}

/// Missing voltages that follow each other in memory, of each of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// Of the first row.
    start: usize,
    width: usize,
}

/// Queues the rotation of voltages. Gives them and the counts.
pub(super) fn rotate<V: FrameSample>(
    backend: &Backend,
    chunk: &Chunk<'_, V>,
    rotation: &FineRotation,
) -> Result<(DeviceArray<'static, V>, DeviceArray<'static, u64>), DelayError> {
    let layout = chunk.layout;
    let (channels, times, inputs) = (layout.channels(), layout.times(), layout.inputs());
    let _span = tracing::debug_span!("rotate", channels, times, inputs).entered();
    let device = backend.gpu_with(chunk.array.device())?;
    let gains = rotation.expand([channels, times, inputs])?;
    let missing = chunk.presence.map(|flags| missing::<V>(layout, flags)).unwrap_or_default();
    let (rows, pitch) = rows::<V>(layout)?;
    let zeros = missing.iter().map(|piece| piece.width).max().unwrap_or(0).saturating_mul(rows);
    // Input and output are the caller's.
    let bytes = |length: usize, size: usize| length.saturating_mul(size) as u64;
    let phases = bytes(rotation.phases.len(), size_of::<ChannelPhase>());
    let of_gains = bytes(gains.as_ref().map_or(0, |gains| gains.len()), size_of::<Complex<f32>>());
    let others = bytes(inputs, size_of::<u64>()).saturating_add(bytes(zeros, size_of::<V>()));
    backend.check_memory(OPERATION, phases.saturating_add(of_gains).saturating_add(others))?;

    let stream = &chunk.array.writer().cloned().unwrap_or_else(|| device.default_stream());
    let (pool, mut workspace) = (Workspace::pool(device), Workspace::of(device)?);
    let staging = &mut workspace.staging;
    let kernels = RotateKernels::<V>::load(device)?;
    let phases = rotation.phases.as_standard_layout();
    let phases = staging.send(stream, &pool, phases.as_slice().unwrap_or_default())?;
    let gains = gains.map(|gains| staging.send(stream, &pool, gains.as_slice().unwrap_or_default())).transpose()?;
    let mut saturated = pool.take_zeroed::<u64>(stream, inputs)?;
    let clock = chunk.clock;
    let first_spectrum = clock.first_sample.checked_div(clock.samples_between_spectra).unwrap_or(0);
    let factors = Factors {
        phases: phases.view(),
        gains: gains.as_ref().map(Buffer::view),
        first_channel: rotation.first_channel,
        dither: rotation.seed.map(|seed| (seed, first_spectrum)),
        saturated: saturated.view_mut(),
    };
    let from = chunk.array.read_on(stream)?;
    let mut to = pool.take::<V>(stream, from.len())?;
    let queued = if missing.is_empty() {
        kernels.rotate(stream, layout, factors, from, &mut to.view_mut())
    } else {
        to.view_mut()
            .copy_from(stream, from)
            .map_err(DelayError::from)
            .and_then(|()| clear(stream, &pool, &missing, (rows, pitch), &mut to))
            .and_then(|()| kernels.rotate_in_place(stream, layout, factors, &mut to.view_mut()))
    };
    // Part of the work may be queued even if it failed.
    chunk.array.reads_queued(stream)?;
    queued?;
    Ok((DeviceArray::from(to).written_on(stream), DeviceArray::from(saturated).written_on(stream)))
}

/// How many rows each piece has, and from row to row: channels, but for heaps, which have their channels in one piece.
fn rows<V: FrameSample>(layout: RotationLayout) -> Result<(usize, usize), DelayError> {
    Ok(match layout {
        RotationLayout::Heaps { .. } => (1, layout.samples::<V>()?),
        _ => (layout.channels(), layout.samples::<V>()?.checked_div(layout.channels()).unwrap_or(0)),
    })
}

/// The pieces of a layout that are missing by its flags, ascending within each row of the correlator, heap or channel.
fn missing<V: FrameSample>(layout: RotationLayout, flags: ArrayView2<'_, bool>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |start: usize, width: usize| match pieces.last_mut() {
        Some(last) if last.start + last.width == start && last.width + width <= PIECE => last.width += width,
        _ => pieces.push(Piece { start, width }),
    };
    let absent = |(place, present): ((usize, usize), &bool)| (!present).then_some(place);
    match layout {
        RotationLayout::Voltages { inputs, .. } => {
            flags.indexed_iter().filter_map(absent).for_each(|(time, input)| add(time * inputs + input, 1));
        }
        RotationLayout::Heaps { antennas, channels, spectra, pols, .. } => {
            // Rows of heaps are never strided: heaps are as long as they are.
            let heap = channels * spectra * pols;
            flags
                .indexed_iter()
                .filter_map(absent)
                .for_each(|(batch, antenna)| add((batch * antennas + antenna) * heap, heap));
        }
        RotationLayout::Rows { inputs, .. } => {
            let row = fringes_kernel_abi::rows::BYTES / size_of::<V>();
            // An input's times follow each other in a row.
            flags.t().indexed_iter().filter_map(absent).for_each(|(input, time)| {
                add((time / row * inputs + input) * row + time % row, 1);
            });
        }
    }
    pieces
}

/// Queues zeros for pieces, of each row.
fn clear<V: FrameSample>(
    stream: &Stream,
    pool: &BufferPool,
    pieces: &[Piece],
    (rows, pitch): (usize, usize),
    to: &mut Buffer<V>,
) -> Result<(), DelayError> {
    if rows == 1 {
        for piece in pieces {
            to.slice_mut(piece.start..piece.start + piece.width)?.zero(stream)?;
        }
        return Ok(());
    }
    let widest = pieces.iter().map(|piece| piece.width).max().unwrap_or(0);
    let zeros = pool.take_zeroed::<V>(stream, widest.saturating_mul(rows))?;
    for &Piece { start, width } in pieces {
        to.slice_mut(start..)?.copy_rows_from(stream, pitch, zeros.view(), width, width, rows)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fringes_types::f16;
    use ndarray::Array2;

    use super::*;

    /// Which elements of a layout the pieces cover.
    fn covered<V: FrameSample>(layout: RotationLayout, flags: &Array2<bool>) -> Vec<bool> {
        let mut covered = vec![false; layout.samples::<V>().unwrap()];
        let (rows, pitch) = rows::<V>(layout).unwrap();
        for Piece { start, width } in missing::<V>(layout, flags.view()) {
            assert!(rows == 1 || width <= PIECE);
            for row in 0..rows {
                for place in start..start + width {
                    assert!(!std::mem::replace(&mut covered[row * pitch + place], true), "twice");
                }
            }
        }
        covered
    }

    /// Flags of about a third, and of none, and of all.
    fn flags(rows: usize, columns: usize) -> [Array2<bool>; 3] {
        let third = Array2::from_shape_fn((rows, columns), |(row, column)| !(row * 7 + column * 3).is_multiple_of(5));
        [third, Array2::from_elem((rows, columns), true), Array2::from_elem((rows, columns), false)]
    }

    #[test]
    fn pieces_are_what_is_missing_in_every_layout() {
        let (channels, times, inputs) = (3, 77, 6);
        for flags in flags(times, inputs) {
            let layout = RotationLayout::Voltages { channels, times, inputs };
            let found = covered::<Complex<f32>>(layout, &flags);
            for (place, found) in found.into_iter().enumerate() {
                assert_eq!(found, !flags[(place / inputs % times, place % inputs)], "{place}");
            }
            let layout = RotationLayout::Rows { channels, times, inputs };
            let found = covered::<Complex<f16>>(layout, &flags);
            for (place, found) in found.into_iter().enumerate() {
                let (time, input) = (place / 32 / inputs % times.div_ceil(32) * 32 + place % 32, place / 32 % inputs);
                assert_eq!(found, time < times && !flags[(time, input)], "{place}");
            }
        }
        for flags in flags(4, 3) {
            let layout = RotationLayout::Heaps { batches: 4, antennas: 3, channels, spectra: 5, pols: 2 };
            for (place, found) in covered::<Complex<i8>>(layout, &flags).into_iter().enumerate() {
                assert_eq!(found, !flags[(place / 90, place / 30 % 3)], "{place}");
            }
        }
    }

    #[test]
    fn neighbours_are_cleared_together_up_to_a_piece() {
        let layout = RotationLayout::Voltages { channels: 2, times: 1000, inputs: 10 };
        let pieces = missing::<Complex<f32>>(layout, Array2::from_elem((1000, 10), false).view());
        assert_eq!(pieces.iter().map(|piece| piece.width).collect::<Vec<_>>(), [4096, 4096, 10_000 - 8192]);
    }
}
