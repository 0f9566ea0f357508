//! Chunks on the CPU.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_cpu::correlator as cpu;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_interference::internals::PlacedMask;
use fringes_types::{Inputs, TypesError, VoltageSample, row_times};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, Array3, ArrayView4, Axis, s};

use crate::CorrelatorError;
use crate::chunk::{Description, HostView, Layout};
use crate::selection::Times;

/// Most times of rows that are made voltages at once: a segment of the sums.
const SEGMENT: usize = 8192;

/// Bytes of voltages that are made of rows at once, where there is no limit.
const PIECE_BYTES: u64 = 64 << 20;

/// Memory that correlating voltages of a shape takes.
pub(crate) fn memory<V: VoltageSample>(inputs: Inputs, channels: usize, times: usize) -> MemoryNeed {
    let workspace = cpu::workspace(V::FORMAT, channels, times, inputs.len());
    let bytes = |count: usize, elements: usize, size: usize| {
        (count as u64).saturating_mul(elements as u64).saturating_mul(size as u64)
    };
    MemoryNeed {
        input_bytes: bytes(channels, times, size_of::<V>()).saturating_mul(inputs.len() as u64),
        output_bytes: bytes(channels, inputs.triangle_len(), size_of::<V::Accumulator>()),
        workspace_bytes: workspace.full_bytes,
        smallest_step_bytes: workspace.smallest_bytes,
    }
}

/// Whether so many times of a chunk can be added within the backend's limit.
pub(crate) fn check_memory<V: VoltageSample>(
    backend: &Backend,
    about: &Description<'_>,
    times: &Times<'_>,
) -> Result<(), DeviceError> {
    let inputs = about.inputs.len();
    match about.layout {
        Layout::Voltages => Ok(()),
        Layout::Heaps { spectra } => {
            let batches = times.len().div_ceil(spectra);
            let workspace = cpu::heaps_workspace::<V>(about.channels, batches, spectra, inputs);
            backend.check_memory("correlation of heaps", workspace.smallest_bytes)
        }
        Layout::Rows => backend.check_memory("correlation of rows", rows_memory::<V>(inputs, times.len(), 1)),
    }
}

/// Memory of one thread's work on so many channels of rows, with the voltages that they are made.
fn rows_memory<V: VoltageSample>(inputs: usize, times: usize, channels: usize) -> u64 {
    let times = times.min(SEGMENT);
    let voltages = channels as u64 * times as u64 * (inputs * size_of::<V>()) as u64;
    voltages.saturating_add(cpu::workspace(V::FORMAT, 1, times, inputs).smallest_bytes)
}

/// The mask of the times from one on.
fn block_mask(mask: Option<PlacedMask<'_>>, from: usize) -> Option<cpu::BlockMask<'_>> {
    let mask = mask?;
    let (lead, mask) = (mask.lead() + from as isize, mask.mask());
    Some(cpu::BlockMask { masked: mask.masked(), spectra: mask.spectra_per_block(), lead })
}

/// Adds the products of times of a chunk.
pub(crate) fn accumulate<V: VoltageSample>(
    view: &HostView<'_, V>,
    about: &Description<'_>,
    times: &Times<'_>,
    mask: Option<PlacedMask<'_>>,
    sums: &mut Array2<V::Accumulator>,
    limit: Option<u64>,
) {
    // A range is cut out; listed times are picked.
    let span = match times {
        Times::Range(range) => range.clone(),
        Times::List(_) => 0..about.times,
    };
    let (times, mask) = (times.list(), block_mask(mask, span.start));
    match (view, about.layout) {
        (HostView::Heaps(heaps), Layout::Heaps { spectra }) => {
            let batches = span.start / spectra..span.end / spectra;
            let presence = about.presence.as_ref().map(|flags| flags.slice(s![batches.clone(), ..]));
            let heaps = heaps.slice(s![batches, .., .., .., ..]);
            cpu::accumulate_heaps_selected(heaps, cpu::Selection { presence, times, mask }, sums.view_mut(), limit);
        }
        (HostView::Rows(rows), _) => {
            // What is absent in them is zero.
            let selection = cpu::Selection { presence: None, times, mask };
            accumulate_rows(rows.view(), span, &selection, sums, limit);
        }
        (HostView::Voltages(voltages), _) => {
            let presence = about.presence.as_ref().map(|flags| flags.slice(s![span.clone(), ..]));
            let selection = cpu::Selection { presence, times, mask };
            cpu::accumulate_selected(voltages.slice(s![.., span, ..]), selection, sums.view_mut(), limit);
        }
        (HostView::Heaps(_), _) => {} // Heaps are of the layout of heaps.
    }
}

/// Adds the products of rows, made voltages piece by piece: of a span of times, or of those that a selection lists.
fn accumulate_rows<V: VoltageSample>(
    rows: ArrayView4<'_, V>,
    span: Range<usize>,
    selection: &cpu::Selection<'_>,
    sums: &mut Array2<V::Accumulator>,
    limit: Option<u64>,
) {
    let (channels, _, inputs, _) = rows.dim();
    let row = row_times(V::FORMAT);
    let times = selection.times.map_or(span.len(), <[usize]>::len);
    let one = rows_memory::<V>(inputs, times, 1);
    let voltages = rows_memory::<V>(inputs, times, 2) - one;
    let share = limit.map_or(PIECE_BYTES, |limit| PIECE_BYTES.min(limit / 2).min(limit - (one - voltages).min(limit)));
    let step = usize::try_from(share / voltages.max(1)).unwrap_or(usize::MAX).clamp(1, channels);
    let rest = limit.map(|limit| limit.saturating_sub(voltages * step as u64));
    for first in (0..times).step_by(SEGMENT) {
        let piece = first..times.min(first + SEGMENT);
        for channel in (0..channels).step_by(step) {
            let range = channel..channels.min(channel + step);
            let part = rows.slice(s![range.clone(), .., .., ..]);
            let voltages = Array3::from_shape_fn((range.len(), piece.len(), inputs), |(channel, time, input)| {
                // Counted from the span's start.
                let time = selection.times.map_or(piece.start + time, |times| times[piece.start + time]);
                if selection.mask.as_ref().is_some_and(|mask| mask.is_masked(range.start + channel, time)) {
                    return V::zeroed();
                }
                let time = span.start + time;
                part[(channel, time / row, input, time % row)]
            });
            cpu::accumulate(voltages.view(), None, sums.slice_mut(s![range, ..]), rest);
        }
    }
}

/// Times in pieces whose copies take no more than there is memory for.
pub(crate) fn pieces<'a, V: VoltageSample>(
    about: &Description<'_>,
    times: &Times<'a>,
    limit: Option<u64>,
) -> Vec<Times<'a>> {
    let one = (about.channels as u64).saturating_mul((about.inputs.len() * size_of::<V>()) as u64);
    let share = limit.map_or(PIECE_BYTES, |limit| PIECE_BYTES.min(limit / 2));
    let step = usize::try_from(share / one.max(1)).unwrap_or(usize::MAX).max(1);
    match times {
        Times::Range(range) => {
            let piece = |start: usize| Times::Range(start..range.end.min(start.saturating_add(step)));
            range.clone().step_by(step).map(piece).collect()
        }
        Times::List(list) => list.chunks(step).map(Times::List).collect(),
    }
}

/// A copy `[channel][time][input]` of times of a chunk, zero where absent or masked.
pub(crate) fn selected<V: VoltageSample>(
    view: &HostView<'_, V>,
    about: &Description<'_>,
    times: &Times<'_>,
    mask: Option<PlacedMask<'_>>,
) -> Result<Array3<V>, CorrelatorError> {
    let (inputs, pols, row) = (about.inputs.len(), about.inputs.pols(), row_times(V::FORMAT));
    let shape = (about.channels, times.len(), inputs);
    let too_large = || TypesError::TooLarge { array: "selected voltages", elements: format!("{shape:?}") };
    let elements = shape.0.checked_mul(shape.1).and_then(|product| product.checked_mul(inputs));
    let zeros = try_zeroed_vec::<V>(elements.ok_or_else(too_large)?).ok_or_else(too_large)?;
    let mut copy = Array3::from_shape_vec(shape, zeros).map_err(|_| too_large())?;
    let first = times.span().start;
    let time_of = |position: usize| times.list().map_or(first + position, |list| list[position]);
    let mask = block_mask(mask, 0);
    let is_masked = |channel, time| mask.as_ref().is_some_and(|mask| mask.is_masked(channel, time));
    copy.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(channel, mut copy)| {
        for (position, mut copy) in copy.outer_iter_mut().enumerate() {
            let time = time_of(position);
            if is_masked(channel, time) {
                continue;
            }
            for (input, copy) in copy.iter_mut().enumerate() {
                let (flag, value) = match (view, about.layout) {
                    (HostView::Heaps(heaps), Layout::Heaps { spectra }) => {
                        let (batch, antenna) = (time / spectra, input / pols);
                        ((batch, antenna), heaps[(batch, antenna, channel, time % spectra, input % pols)])
                    }
                    (HostView::Rows(rows), _) => ((time, input), rows[(channel, time / row, input, time % row)]),
                    (HostView::Voltages(voltages), _) => ((time, input), voltages[(channel, time, input)]),
                    (HostView::Heaps(_), _) => return, // Heaps are of the layout of heaps.
                };
                if about.presence.is_none_or(|flags| flags[flag]) {
                    *copy = value;
                }
            }
        }
    });
    Ok(copy)
}
