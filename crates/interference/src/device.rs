//! Power sums of heaps that lie on a device, with the sums on the host.

use fringes_backend::{Backend, DeviceHeaps, Workspace};
use fringes_cpu::power::{Blocks, Lanes, Power};
use fringes_gpu::Buffer;
use ndarray::Array3;

use crate::InterferenceError;
use crate::kernels::{HeapBlocks, PowerKernels};

/// Name of the operation.
pub(crate) const OPERATION: &str = "sums of powers";

/// Sums powers of heaps on a stream of its own, and waits for the sums alone: the stream that wrote the heaps may have
/// been given more since.
pub(crate) fn sum<V: Power>(
    backend: &Backend,
    heaps: &DeviceHeaps<'_, V>,
    blocks: Blocks,
    [first, second]: [&mut Array3<<V as Lanes>::Sum>; 2],
) -> Result<(), InterferenceError> {
    let device = backend.gpu_with(heaps.array().device())?;
    let (spectra, inputs) = (heaps.spectra_per_heap(), heaps.inputs());
    let flag_bytes = heaps.batches() * inputs.antennas();
    backend.check_memory(OPERATION, 16 * first.len() as u64 + flag_bytes as u64)?;
    let (pool, mut workspace) = (Workspace::pool(device), Workspace::of(device)?);
    let stream = workspace.reads.clone();
    let kernels = PowerKernels::<V>::load(device)?;
    let present = workspace.staging.send_flags(&stream, &pool, heaps.presence())?;
    let mut sums = pool.take::<<V as Lanes>::Sum>(&stream, 2 * first.len())?;
    let shape = HeapBlocks {
        batches: heaps.batches(),
        inputs,
        channels: heaps.channels(),
        spectra,
        spectra_per_block: blocks.spectra,
        lead: blocks.lead,
    };
    let view = heaps.array().read_on(&stream)?;
    let queued = kernels.sum(&stream, shape, view, present.as_ref().map(Buffer::view), sums.view_mut());
    // Part of the work may be queued even if it failed.
    heaps.array().reads_queued(&stream)?;
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
