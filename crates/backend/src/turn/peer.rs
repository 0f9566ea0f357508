//! The corner turn by copies from the GPUs of the F-engines.

use std::ops::Range;

use fringes_gpu::Stream;
use fringes_types::VoltageSample;

use crate::turn::TurnError;
use crate::turn::header::Header;
use crate::{DeviceArray, DeviceHeaps, Workspace};

/// Some channels of all antennas on the GPU of `stream`, copied from where the antennas' frames lie: one copy with
/// strides from each GPU, this one among them, without packing.
///
/// Frames `[batch][antenna][channel][spectrum][pol]` have some antennas each, in order, and the same batches, channels,
/// spectra and polarisations. Channel `k` of what comes out is channel `channels.start + k` of the frames. The clock is
/// theirs; a heap is present unless its frames flag it absent. Values are not touched.
///
/// GPUs that reach one another's memory ([`Device::can_access_peer`](fringes_gpu::Device::can_access_peer)) copy over
/// their link, others through the host.
///
/// # Order
/// The copies are queued on `stream`, which waits (on the device) for what writes the frames, on other GPUs too, and
/// nothing waits on the host. Frames may be dropped at once: the stream that wrote them then waits for the copies, at
/// that place, before its memory is used again. Kept until that stream was given its next work, they do not hold this
/// up. What comes out says that `stream` wrote it ([`DeviceArray::written_now`]); its memory is of the device's pool.
///
/// # Errors
/// Before anything is queued: [`TurnError::NoFrames`], [`TurnError::Shape`] and [`TurnError::Axis`] for frames that do
/// not fit the first ones, [`TurnError::Channels`]; [`TurnError::Types`] and [`TurnError::Device`] where there is no
/// memory. [`TurnError::Device`] with what the driver says.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fringes_backend::{Uploader, turn_channels};
/// use fringes_gpu::Device;
/// use fringes_types::{Complex, Heaps};
/// use ndarray::Array5;
///
/// // Three antennas on GPU 0, two on GPU 1; the upper three of eight channels on GPU 1.
/// let streams = [Device::open(0)?.new_stream()?, Device::open(1)?.new_stream()?];
/// let host = |antennas| Heaps::new(Array5::from_elem((2, antennas, 8, 16, 1), Complex::new(1i8, 2)));
/// let frames = [Uploader::new(&streams[0]).heaps(&host(3)?)?, Uploader::new(&streams[1]).heaps(&host(2)?)?];
/// let turned = turn_channels(&[&frames[0], &frames[1]], 5..8, &streams[1])?;
/// assert_eq!((turned.inputs().antennas(), turned.channels()), (5, 3));
/// # Ok(())
/// # }
/// ```
pub fn turn_channels<V: VoltageSample>(
    frames: &[&DeviceHeaps<'_, V>],
    channels: Range<usize>,
    stream: &Stream,
) -> Result<DeviceHeaps<'static, V>, TurnError> {
    let header = Header::of(frames, channels)?;
    let pool = Workspace::pool(stream.device());
    let mut out = pool.take::<V>(stream, header.elements()?)?;
    for (part, heaps) in frames.iter().enumerate() {
        copy_part(&header, part, heaps, &mut out.view_mut(), stream)?;
    }
    header.heaps(DeviceArray::from(out).written_now(stream)?)
}

/// Copies what some frames have to its place.
pub(super) fn copy_part<V: VoltageSample>(
    header: &Header,
    part: usize,
    heaps: &DeviceHeaps<'_, V>,
    out: &mut fringes_gpu::BufferViewMut<'_, V>,
    stream: &Stream,
) -> Result<(), TurnError> {
    let blocks = header.blocks(part);
    if blocks.elements() == 0 {
        return Ok(());
    }
    let from = heaps.array().read_from(stream)?.slice(header.ahead()..)?;
    let mut to = out.reborrow().slice(header.first(part)..)?;
    to.copy_blocks_from(stream, header.result_pitch(), from, header.source_pitch(part), blocks)?;
    Ok(heaps.array().reads_queued(stream)?)
}
