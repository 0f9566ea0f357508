//! Chunks on the CPU.

use std::ops::Range;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_cpu::correlator as cpu;
use fringes_types::{Inputs, VoltageSample, row_times};
use ndarray::{Array2, Array3, ArrayView4, s};

use crate::chunk::{Description, HostView, Layout};

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
    times: usize,
) -> Result<(), DeviceError> {
    let inputs = about.inputs.len();
    match about.layout {
        Layout::Voltages => Ok(()),
        Layout::Heaps { spectra } => {
            let workspace = cpu::heaps_workspace::<V>(about.channels, times / spectra, spectra, inputs);
            backend.check_memory("correlation of heaps", workspace.smallest_bytes)
        }
        Layout::Rows => backend.check_memory("correlation of rows", rows_memory::<V>(inputs, times, 1)),
    }
}

/// Memory of one thread's work on so many channels of rows, with the voltages that they are made.
fn rows_memory<V: VoltageSample>(inputs: usize, times: usize, channels: usize) -> u64 {
    let times = times.min(SEGMENT);
    let voltages = channels as u64 * times as u64 * (inputs * size_of::<V>()) as u64;
    voltages.saturating_add(cpu::workspace(V::FORMAT, 1, times, inputs).smallest_bytes)
}

/// Adds the products of the spectra `times` of a chunk.
pub(crate) fn accumulate<V: VoltageSample>(
    view: &HostView<'_, V>,
    about: &Description<'_>,
    times: Range<usize>,
    sums: &mut Array2<V::Accumulator>,
    limit: Option<u64>,
) {
    match (view, about.layout) {
        (HostView::Heaps(heaps), Layout::Heaps { spectra }) => {
            let batches = times.start / spectra..times.end / spectra;
            let presence = about.presence.as_ref().map(|flags| flags.slice(s![batches.clone(), ..]));
            cpu::accumulate_heaps(heaps.slice(s![batches, .., .., .., ..]), presence, sums.view_mut(), limit);
        }
        (HostView::Rows(rows), _) => accumulate_rows(rows.view(), times, sums, limit),
        (HostView::Voltages(voltages), _) => {
            let presence = about.presence.as_ref().map(|flags| flags.slice(s![times.clone(), ..]));
            cpu::accumulate(voltages.slice(s![.., times, ..]), presence, sums.view_mut(), limit);
        }
        (HostView::Heaps(_), _) => {} // Heaps are of the layout of heaps.
    }
}

/// Adds the products of rows, made voltages piece by piece. What is absent in them is zero.
fn accumulate_rows<V: VoltageSample>(
    rows: ArrayView4<'_, V>,
    times: Range<usize>,
    sums: &mut Array2<V::Accumulator>,
    limit: Option<u64>,
) {
    let (channels, _, inputs, _) = rows.dim();
    let row = row_times(V::FORMAT);
    let one = rows_memory::<V>(inputs, times.len(), 1);
    let voltages = rows_memory::<V>(inputs, times.len(), 2) - one;
    let share = limit.map_or(PIECE_BYTES, |limit| PIECE_BYTES.min(limit / 2).min(limit - (one - voltages).min(limit)));
    let step = usize::try_from(share / voltages.max(1)).unwrap_or(usize::MAX).clamp(1, channels);
    let rest = limit.map(|limit| limit.saturating_sub(voltages * step as u64));
    for first in times.clone().step_by(SEGMENT) {
        let piece = first..times.end.min(first + SEGMENT);
        for channel in (0..channels).step_by(step) {
            let range = channel..channels.min(channel + step);
            let part = rows.slice(s![range.clone(), .., .., ..]);
            let voltages = Array3::from_shape_fn((range.len(), piece.len(), inputs), |(channel, time, input)| {
                let time = piece.start + time;
                part[(channel, time / row, input, time % row)]
            });
            cpu::accumulate(voltages.view(), None, sums.slice_mut(s![range, ..]), rest);
        }
    }
}
