//! Power sums of chunks that lie on a device: heaps, rows or voltages there become sums `[2][channel][block][input]`
//! there, of powers and of their squares, which come to the host as two arrays.

use fringes_backend::{Backend, DeviceArray, DeviceError, DeviceHeaps, DeviceRows, DeviceVoltages, Workspace};
use fringes_cpu::power::{Blocks, Lanes, Power};
use fringes_gpu::{Buffer, BufferView, BufferViewMut, Stream};
use fringes_types::row_times;
use ndarray::{Array3, ArrayView2};

use crate::InterferenceError;
use crate::kernels::{HeapBlocks, PowerKernels, RowBlocks, VoltageBlocks};

/// Name of the operation.
pub(crate) const OPERATION: &str = "sums of powers";

/// Sums of powers, and of their squares.
type Sums<'a, V> = [&'a mut Array3<<V as Lanes>::Sum>; 2];

/// Sums powers of heaps.
pub(crate) fn sum_heaps<V: Power>(
    backend: &Backend,
    heaps: &DeviceHeaps<'_, V>,
    blocks: Blocks,
    sums: Sums<'_, V>,
) -> Result<(), InterferenceError> {
    let shape = HeapBlocks {
        batches: heaps.batches(),
        inputs: heaps.inputs(),
        channels: heaps.channels(),
        spectra: heaps.spectra_per_heap(),
        spectra_per_block: blocks.spectra,
        lead: blocks.lead,
    };
    sum(backend, heaps.array(), heaps.presence(), sums, |kernels, stream, heaps, present, sums| {
        kernels.sum(stream, shape, heaps, present, sums)
    })
}

/// Sums powers of rows.
pub(crate) fn sum_rows<V: Power>(
    backend: &Backend,
    rows: &DeviceRows<'_, V>,
    blocks: Blocks,
    sums: Sums<'_, V>,
) -> Result<(), InterferenceError> {
    let shape = RowBlocks {
        channels: rows.channels(),
        rows: rows.times().div_ceil(row_times(V::FORMAT)),
        inputs: rows.inputs().len(),
        spectra_per_block: blocks.spectra,
        lead: blocks.lead,
    };
    // Times past the last one, and what is absent, are zero.
    let number = blocks.count(rows.times());
    sum(backend, rows.array(), None, sums, |kernels, stream, rows, _, sums| {
        kernels.sum_rows(stream, shape, number, rows, sums)
    })
}

/// Sums powers of voltages.
pub(crate) fn sum_voltages<V: Power>(
    backend: &Backend,
    voltages: &DeviceVoltages<'_, V>,
    blocks: Blocks,
    sums: Sums<'_, V>,
) -> Result<(), InterferenceError> {
    let shape = VoltageBlocks {
        channels: voltages.channels(),
        times: voltages.times(),
        inputs: voltages.inputs().len(),
        spectra_per_block: blocks.spectra,
        lead: blocks.lead,
    };
    sum(backend, voltages.array(), voltages.presence(), sums, |kernels, stream, voltages, present, sums| {
        kernels.sum_voltages(stream, shape, voltages, present, sums)
    })
}

/// Sums powers on a stream of its own, and waits for the sums alone: the stream that wrote the chunk may have been
/// given more since.
fn sum<V: Power>(
    backend: &Backend,
    array: &DeviceArray<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    [first, second]: Sums<'_, V>,
    queue: impl FnOnce(
        &PowerKernels<V>,
        &Stream,
        BufferView<'_, V>,
        Option<BufferView<'_, u8>>,
        BufferViewMut<'_, <V as Lanes>::Sum>,
    ) -> Result<(), DeviceError>,
) -> Result<(), InterferenceError> {
    let device = backend.gpu_with(array.device())?;
    let flag_bytes = presence.map_or(0, |flags| flags.len());
    backend.check_memory(OPERATION, 16 * first.len() as u64 + flag_bytes as u64)?;
    let (pool, mut workspace) = (Workspace::pool(device), Workspace::of(device)?);
    let stream = workspace.reads.clone();
    let kernels = PowerKernels::<V>::load(device)?;
    let present = workspace.staging.send_flags(&stream, &pool, presence)?;
    let mut sums = pool.take::<<V as Lanes>::Sum>(&stream, 2 * first.len())?;
    let view = array.read_on(&stream)?;
    let queued = queue(&kernels, &stream, view, present.as_ref().map(Buffer::view), sums.view_mut());
    // Part of the work may be queued even if it failed.
    array.reads_queued(&stream)?;
    queued?;
    let cells = first.len();
    for (number, to) in [first, second].into_iter().enumerate() {
        // In standard layout, as they were made here.
        let (Some(to), part) = (to.as_slice_mut(), number * cells..(number + 1) * cells) else { continue };
        let part = sums.slice(part)?;
        workspace.staging.read(&stream, part, to)?;
    }
    Ok(())
}
