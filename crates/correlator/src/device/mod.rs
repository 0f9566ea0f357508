//! Sums that live on a device, fed from chunks on the host, in pinned memory and on that device.
//!
//! ```text
//! host memory     copies by all threads      | piece 1 | piece 2 | ...
//! link            copies to the device       |         | piece 1 | piece 2 | ...
//! device          pack, products             |                   | piece 1 | ...
//! ```
//!
//! Copies to the device are queued on several streams in turn, so that the link does not wait between two of them.
//!
//! Chunks on the device are read where they lie, in the order of the stream; of masked heaps a copy is made there.

mod added;
mod arriving;
mod device_chunks;
mod host_chunks;
mod masked_chunks;
mod pieces;
mod runs;
mod sums;

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use fringes_backend::{DeviceArray, DeviceError, MemoryNeed, Staging, Workspace};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Stream};
use fringes_interference::internals::PartMasks;
use fringes_types::{BaselineOrder, Complex, Inputs, TypesError, VoltageSample, row_times};
use ndarray::{Array2, ArrayView2};

use crate::kernels::{Clamp, CorrelatorKernels, PackKernels, ReduceKernels, Reduction, Work};
use crate::{CorrelatorError, MissingData};

pub(crate) use self::pieces::parts_from_host;
pub use self::pieces::{Cutting, Granule, cut};

/// Bytes of a dump that are made at once on their way to the host.
const DUMP_BYTES: usize = 64 << 20;

/// Chunks whose flags may be on their way to the device.
const FLAG_PIECES: usize = 8;

/// Memory, pinned and of the device, that correlating voltages of a shape takes beside the sums.
pub(crate) fn memory<V: VoltageSample>(inputs: Inputs, channels: usize, times: usize) -> MemoryNeed {
    let product = |numbers: &[usize]| numbers.iter().fold(1u64, |product, &n| product.saturating_mul(n as u64));
    let row = row_times(V::FORMAT);
    let granule = Granule::new::<V>(row, inputs.len());
    let cutting = cut(granule, channels, times.div_ceil(row), false, None);
    MemoryNeed {
        input_bytes: product(&[channels, times, inputs.len(), size_of::<V>()]),
        output_bytes: product(&[channels, inputs.triangle_len(), size_of::<V::Accumulator>()]),
        workspace_bytes: cutting.map_or(0, |cut| granule.memory(cut.channels, cut.granules, cut.slots as u64)),
        smallest_step_bytes: granule.smallest_memory(),
    }
}

/// Sums on a device.
///
/// # Layout
/// `[part][channel][baseline]`: times in parts where channels and tiles alone would not fill the device. What is not of
/// all channels is added to the first part.
#[derive(Debug)]
pub(crate) struct DeviceSums<V: VoltageSample> {
    kernels: CorrelatorKernels<V>,
    pack: Arc<PackKernels>,
    reduce: Arc<ReduceKernels>,
    stream: Stream,
    pool: BufferPool,
    inputs: Inputs,
    channels: usize,
    limit: Option<u64>,
    sums: sums::Sums<V>,
    flags: Staging,
    /// Lists of batches, as flags.
    lists: Staging,
    /// Bytes of heaps of short runs that may wait for others, where they do.
    holds: Option<u64>,
    held: Option<runs::Held<V>>,
    masks: PartMasks<V>,
    /// Memory of pieces from the host, the one that was used longest ago first.
    slots: Vec<host_chunks::Slot<V>>,
}

/// A dump in 32 bits: visibilities, and how many did not fit.
pub(crate) type Clamped = (Array2<Complex<i32>>, u64);

/// The same on the device.
pub(crate) type DeviceClamped = (DeviceArray<'static, Complex<i32>>, DeviceArray<'static, u64>);

impl<V: VoltageSample> DeviceSums<V> {
    /// Zero sums, in `most_parts` parts at most.
    pub(crate) fn new(
        device: &Device,
        inputs: Inputs,
        channels: usize,
        most_parts: usize,
        limit: Option<u64>,
    ) -> Result<Self, CorrelatorError> {
        let too_large = CorrelatorError::DeviceShape { channels, times: 1, inputs: inputs.len() };
        if !(1..=1 << 24).contains(&channels) || inputs.len() > 1 << 15 {
            return Err(too_large);
        }
        let stream = device.new_stream()?;
        let kernels = CorrelatorKernels::<V>::load(device, inputs)?;
        let parts = kernels.most_parts(channels).min(most_parts.max(1));
        let (pool, reduce) = (Workspace::pool(device), ReduceKernels::kept(device)?);
        Ok(Self {
            kernels,
            pack: PackKernels::kept(device)?,
            sums: sums::Sums::new((reduce.clone(), pool.clone()), &stream, inputs, channels, parts)?,
            reduce,
            stream,
            pool,
            inputs,
            channels,
            limit,
            flags: Staging::new(FLAG_PIECES),
            lists: Staging::new(FLAG_PIECES),
            holds: None,
            held: None,
            masks: PartMasks::new(inputs),
            slots: Vec::new(),
        })
    }

    /// Does all later work on another stream of the same device, after what was queued so far.
    pub(crate) fn set_stream(&mut self, stream: &Stream) -> Result<(), CorrelatorError> {
        if !self.device().is_same(stream.device()) {
            return Err(DeviceError::wrong_device(self.device(), stream.device()).into());
        }
        self.add_held()?;
        self.held = None;
        stream.wait_for(&self.stream)?;
        self.sums.move_to(&self.stream, stream)?;
        self.stream = stream.clone();
        Ok(())
    }

    pub(crate) fn device(&self) -> &Device {
        self.kernels.device()
    }

    /// Adds the products of samples `work` of some channels.
    fn add(&mut self, channels: &Range<usize>, work: &Work, samples: BufferView<'_, V>) -> Result<(), CorrelatorError> {
        let (mut sums, parts) = self.sums.room_for(&self.stream, channels, work.times())?;
        self.kernels.accumulate(&self.stream, work, samples, &mut sums, parts)
    }

    /// Copies flags to the device in the order of the stream. The host waits if more than [`FLAG_PIECES`] chunks' are
    /// on their way.
    fn send_flags(&mut self, flags: ArrayView2<'_, bool>) -> Result<Buffer<u8>, CorrelatorError> {
        let fill = |to: &mut [u8]| flags.iter().zip(to).for_each(|(&flag, to)| *to = u8::from(flag));
        Ok(self.flags.send_with(&self.stream, &self.pool, flags.len(), fill)?)
    }

    /// Takes the sums in an order to the host, and starts again from zero.
    pub(crate) fn take(&mut self, order: BaselineOrder) -> Result<Array2<V::Accumulator>, CorrelatorError> {
        let all = zeroed(self.channels, order.len(self.inputs))?;
        self.take_into(order, all)
    }

    /// As [`DeviceSums::take`], into an array of zeros.
    fn take_into(
        &mut self,
        order: BaselineOrder,
        mut all: Array2<V::Accumulator>,
    ) -> Result<Array2<V::Accumulator>, CorrelatorError> {
        self.add_held()?;
        if self.sums.is_zero() {
            return Ok(all);
        }
        self.sums.settle(&self.stream)?;
        let baselines = all.ncols();
        let mut workspace = Workspace::of(self.device())?;
        let step = self.dump_channels(baselines * size_of::<V::Accumulator>());
        for channels in pieces::spans(0..self.channels, step) {
            let host = rows_of(&mut all, &channels)?;
            if self.sums.are_dump(order) {
                workspace.staging.read(&self.stream, self.sums.as_dump(&channels)?, host)?;
                continue;
            }
            let mut out = self.pool.take(&self.stream, host.len())?;
            self.sums.reduce(&self.stream, &channels, order, &mut out)?;
            workspace.staging.read(&self.stream, out.view(), host)?;
        }
        self.zero()?;
        Ok(all)
    }

    /// Channels whose dumps are made together on their way to the host.
    fn dump_channels(&self, channel_bytes: usize) -> usize {
        self.sums.dump_channels(DUMP_BYTES / channel_bytes.max(1))
    }

    /// Takes the sums in an order where they are, in the order of the stream, and starts again from zero.
    pub(crate) fn take_on_device(
        &mut self,
        order: BaselineOrder,
    ) -> Result<DeviceArray<'static, V::Accumulator>, CorrelatorError> {
        self.add_held()?;
        if let Some(sums) = self.sums.take_dump(&self.stream, order)? {
            return Ok(DeviceArray::from(sums).written_now(&self.stream)?);
        }
        let mut out = self.pool.take(&self.stream, self.visibilities(order)?)?;
        self.sums.reduce(&self.stream, &(0..self.channels), order, &mut out)?;
        let out = DeviceArray::from(out).written_now(&self.stream)?;
        self.zero()?;
        Ok(out)
    }

    /// Which baselines are marked, as flags on the device.
    fn marks(&mut self, missing: MissingData, affected: &[bool]) -> Result<Option<Buffer<u8>>, CorrelatorError> {
        if missing != MissingData::Mark || !affected.contains(&true) {
            return Ok(None);
        }
        let flags = ArrayView2::from_shape((1, affected.len()), affected);
        let flags = flags.map_err(|_| TypesError::TooLarge { array: "flags", elements: affected.len().to_string() })?;
        Ok(Some(self.send_flags(flags)?))
    }

    fn clamp(
        &mut self,
        channels: &Range<usize>,
        order: BaselineOrder,
        marks: Option<&Buffer<u8>>,
        saturated: &mut Buffer<u64>,
        out: &mut Buffer<Complex<i32>>,
    ) -> Result<(), CorrelatorError> {
        let clamp = Clamp { missing: marks.map(Buffer::view), saturated: saturated.view_mut() };
        self.sums.clamp(&self.stream, channels, order, clamp, out)
    }

    /// Visibilities of all channels in an order.
    fn visibilities(&self, order: BaselineOrder) -> Result<usize, CorrelatorError> {
        Reduction { channels: self.channels, inputs: self.inputs, parts: 1, order }.visibilities()
    }

    /// Takes the sums in 32 bits and an order, and starts again from zero. `affected` says which baselines of the
    /// triangle miss data.
    pub(crate) fn take32(
        &mut self,
        order: BaselineOrder,
        missing: MissingData,
        affected: &[bool],
    ) -> Result<Clamped, CorrelatorError> {
        self.add_held()?;
        let baselines = order.len(self.inputs);
        let mut all = zeroed(self.channels, baselines)?;
        let marks = self.marks(missing, affected)?;
        let mut saturated = self.pool.take_zeroed(&self.stream, 1)?;
        let mut workspace = Workspace::of(self.device())?;
        for channels in pieces::spans(0..self.channels, self.dump_channels(baselines * size_of::<Complex<i32>>())) {
            let host = rows_of(&mut all, &channels)?;
            let mut out = self.pool.take(&self.stream, host.len())?;
            self.clamp(&channels, order, marks.as_ref(), &mut saturated, &mut out)?;
            workspace.staging.read(&self.stream, out.view(), host)?;
        }
        let mut count = [0];
        workspace.staging.read(&self.stream, saturated.view(), &mut count)?;
        self.zero()?;
        Ok((all, count[0]))
    }

    /// Takes the sums in 32 bits where they are, in the order of the stream, and starts again from zero.
    pub(crate) fn take32_on_device(
        &mut self,
        order: BaselineOrder,
        missing: MissingData,
        affected: &[bool],
    ) -> Result<DeviceClamped, CorrelatorError> {
        self.add_held()?;
        let marks = self.marks(missing, affected)?;
        let mut saturated = self.pool.take_zeroed(&self.stream, 1)?;
        let mut out = self.pool.take(&self.stream, self.visibilities(order)?)?;
        self.clamp(&(0..self.channels), order, marks.as_ref(), &mut saturated, &mut out)?;
        let out = DeviceArray::from(out).written_now(&self.stream)?;
        let saturated = DeviceArray::from(saturated).written_now(&self.stream)?;
        self.zero()?;
        Ok((out, saturated))
    }

    fn zero(&mut self) -> Result<(), CorrelatorError> {
        self.sums.zero(&self.stream)
    }
}

impl<V: VoltageSample> Drop for DeviceSums<V> {
    fn drop(&mut self) {
        self.slots.clear();
        Workspace::trim(self.device());
    }
}

/// Zeros `[channel][baseline]`, whose memory is touched by those who write it.
fn zeroed<T: Zeroable>(channels: usize, baselines: usize) -> Result<Array2<T>, CorrelatorError> {
    let elements = channels.checked_mul(baselines).ok_or_else(|| no_memory(channels, baselines))?;
    let data = try_zeroed_vec(elements).ok_or_else(|| no_memory(channels, baselines))?;
    Array2::from_shape_vec((channels, baselines), data).map_err(|_| no_memory(channels, baselines))
}

/// The same with every page of it there: faults of fresh memory are taken by some threads at once.
fn touched<T: Pod>(channels: usize, baselines: usize) -> Result<Array2<T>, CorrelatorError> {
    /// No page is smaller.
    const PAGE: usize = 4096;
    const THREADS: usize = 4;
    let mut all = zeroed::<T>(channels, baselines)?;
    let bytes: &mut [u8] = all.as_slice_mut().map_or(&mut [], bytemuck::cast_slice_mut);
    let part = bytes.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        for part in bytes.chunks_mut(part) {
            let touch = || {
                let pages = part.chunks_mut(PAGE).filter_map(<[u8]>::first_mut);
                pages.for_each(|byte| *std::hint::black_box(byte) = 0);
            };
            // Without a thread, pages are touched by those who write them.
            let _ = std::thread::Builder::new().spawn_scoped(scope, touch);
        }
    });
    Ok(all)
}

fn no_memory(channels: usize, baselines: usize) -> CorrelatorError {
    TypesError::TooLarge { array: "visibilities", elements: format!("{channels} x {baselines}") }.into()
}

/// The rows of a standard array that channels have.
fn rows_of<'a, T>(all: &'a mut Array2<T>, channels: &Range<usize>) -> Result<&'a mut [T], CorrelatorError> {
    let (baselines, actual) = (all.ncols(), all.len());
    let rows = all.as_slice_mut().and_then(|all| all.get_mut(channels.start * baselines..channels.end * baselines));
    let expected = channels.end * baselines;
    Ok(rows.ok_or(DeviceError::Length { buffer: "visibilities", expected, actual })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_is_zero() {
        for (channels, baselines) in [(0, 3), (1, 1), (3, 1000), (7, 40_001)] {
            let all = touched::<Complex<i64>>(channels, baselines).unwrap();
            assert_eq!(all.dim(), (channels, baselines));
            assert!(all.iter().all(|&value| value == Complex::new(0, 0)));
        }
        assert!(touched::<Complex<i64>>(usize::MAX, 2).is_err());
    }
}
