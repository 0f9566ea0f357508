//! Sums that live on a device, fed from host arrays.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Zeroable;
use fringes_backend::{DeviceError, MemoryNeed};
use fringes_gpu::{Buffer, BufferViewMut, Device, Stream};
use fringes_types::{Accumulator, BaselineOrder, Complex, Inputs, SampleFormat, VoltageSample};
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayView5, Axis, s};

use super::engine::{Engine, Work, row_times};
use super::{Clamp, PackKernels, ReduceKernels, Reduction};
use crate::layout::{HeapShape, VoltageShape, row_bytes};
use crate::{CorrelatorError, MissingData};

/// Device memory for voltages, rows and flags of one step where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

/// Most times of a step, a whole number of rows: those that 32-bit sums of every integer format allow, and fewer of floats, whose sums in
/// a launch are f32.
const fn step_times(format: SampleFormat) -> usize {
    match format {
        SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16 => 65536,
        SampleFormat::Float16 | SampleFormat::Float32 => 8192,
    }
}

/// Times that a step should have if memory allows it: channels are divided first.
const GOOD_TIMES: usize = 4096;

/// Most bytes of a sum, complex i64 or f64.
const SUM_BYTES: usize = 16;

/// Whether there is a GPU kernel for a format.
pub(crate) fn has_kernel(format: SampleFormat) -> bool {
    !matches!(format, SampleFormat::Int16)
}

/// Whether sums of a format are integers.
pub(crate) fn is_integer(format: SampleFormat) -> bool {
    matches!(format, SampleFormat::Int4 | SampleFormat::Int8 | SampleFormat::Int16)
}

/// Device memory that correlating voltages of a shape takes. The workspace is what the default step of at most 1 GiB needs; a limit
/// ([`Backend::with_memory_limit`](fringes_backend::Backend::with_memory_limit)) makes steps smaller. Sums that are divided in time, where
/// channels alone would not fill the device, and dumps in another form than the sums' come on top.
pub fn memory<V: VoltageSample>(inputs: Inputs, channels: usize, times: usize) -> MemoryNeed {
    let product = |numbers: &[usize]| numbers.iter().fold(1u64, |product, &n| product.saturating_mul(n as u64));
    let steps = Steps::new::<V>(inputs.len(), channels, None);
    let full = Step { channels: steps.channels, times: steps.times.min(times.next_multiple_of(row_times(V::FORMAT))) };
    MemoryNeed {
        input_bytes: product(&[channels, times, inputs.len(), size_of::<V>()]),
        output_bytes: product(&[channels, inputs.triangle_len(), SUM_BYTES]),
        workspace_bytes: full.bytes::<V>(inputs.len()),
        smallest_step_bytes: Step { channels: 1, times: row_times(V::FORMAT) }.bytes::<V>(inputs.len()),
    }
}

/// How much is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    channels: usize,
    times: usize,
}

impl Step {
    /// Device memory of voltages, rows and flags.
    fn bytes<V>(&self, inputs: usize) -> u64 {
        let samples = (self.channels as u64).saturating_mul(self.times as u64).saturating_mul(inputs as u64);
        let flags = (self.times as u64).saturating_mul(inputs as u64);
        samples.saturating_mul(2 * size_of::<V>() as u64).saturating_add(flags)
    }
}

/// The largest steps within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Steps {
    /// Channels whose sums lie together: those of every step.
    channels: usize,
    /// Most times of a step, a whole number of rows.
    times: usize,
}

impl Steps {
    /// All channels, or as many as leave room for [`GOOD_TIMES`]; then as many times as fit.
    fn new<V: VoltageSample>(inputs: usize, channels: usize, limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(WORKSPACE_BYTES);
        let row = row_times(V::FORMAT);
        let fitting = |step: Step| usize::try_from(limit / step.bytes::<V>(inputs).max(1)).unwrap_or(usize::MAX);
        let channels = fitting(Step { channels: 1, times: GOOD_TIMES }).clamp(1, channels.max(1));
        let times = fitting(Step { channels, times: row }).clamp(1, step_times(V::FORMAT) / row) * row;
        Self { channels, times }
    }
}

/// 64-bit sums on a device, and the workspace to add to them.
///
/// # Layout
/// `[block of channels][part][channel of the block][baseline]`: channels in blocks of those of a step, times in parts where channels and
/// tiles alone would not fill the device.
#[derive(Debug)]
pub(crate) struct DeviceSums {
    engine: Engine,
    pack: PackKernels,
    reduce: ReduceKernels,
    stream: Stream,
    inputs: Inputs,
    channels: usize,
    steps: Steps,
    parts: usize,
    limit: u64,
    sums: Buffer<u8>,
    /// Whether anything was added since the sums were zero.
    is_zero: bool,
    /// As large as the largest so far.
    workspace: Workspace,
}

/// Buffers of a step.
#[derive(Debug, Default)]
struct Workspace {
    samples: Option<Buffer<u8>>,
    flags: Option<Buffer<u8>>,
    rows: Option<Buffer<u8>>,
    /// What a dump is made in.
    out: Option<Buffer<u8>>,
}

/// A dump in 32 bits: visibilities, and how many did not fit.
pub(crate) type Clamped = (Array2<Complex<i32>>, u64);

impl DeviceSums {
    /// Zero sums.
    pub(crate) fn new<V: VoltageSample>(
        device: &Device,
        inputs: Inputs,
        channels: usize,
        limit: Option<u64>,
    ) -> Result<Self, CorrelatorError> {
        let too_large = CorrelatorError::DeviceShape { channels, times: 1, inputs: inputs.len() };
        if !(1..=1 << 24).contains(&channels) || inputs.len() > 1 << 15 {
            return Err(too_large);
        }
        let stream = device.new_stream()?;
        let engine = Engine::load(device, V::FORMAT, inputs)?;
        let steps = Steps::new::<V>(inputs.len(), channels, limit);
        let parts = engine.most_parts(steps.channels);
        let bytes = [channels, parts, inputs.triangle_len()].iter().try_fold(SUM_BYTES, |all, &n| all.checked_mul(n));
        Ok(Self {
            engine,
            pack: PackKernels::load(device)?,
            reduce: ReduceKernels::load(device)?,
            sums: Buffer::zeroed(&stream, bytes.ok_or(too_large)?)?,
            stream,
            inputs,
            channels,
            steps,
            parts,
            limit: limit.unwrap_or(WORKSPACE_BYTES),
            is_zero: true,
            workspace: Workspace::default(),
        })
    }

    /// Blocks of channels.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (step, channels) = (self.steps.channels, self.channels);
        (0..channels).step_by(step).map(move |first| first..channels.min(first + step))
    }

    /// Bytes of the sums of a block of channels.
    fn sums_of(&self, channels: &Range<usize>) -> Range<usize> {
        let channel = self.parts * self.inputs.triangle_len() * SUM_BYTES;
        channels.start * channel..channels.end * channel
    }

    /// Adds the products of voltages `[channel][time][input]`.
    pub(crate) fn accumulate<V: VoltageSample>(
        &mut self,
        voltages: ArrayView3<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let times = voltages.len_of(Axis(1));
        for time in (0..times).step_by(self.steps.times) {
            let end = times.min(time + self.steps.times);
            if let Some(presence) = &presence {
                let flags: Vec<u8> = presence.slice(s![time..end, ..]).iter().map(|&flag| u8::from(flag)).collect();
                upload(&mut self.workspace.flags, &self.stream, &flags)?;
            }
            for channels in self.blocks() {
                let part = voltages.slice(s![channels.clone(), time..end, ..]);
                let part = part.as_slice().map_or_else(|| Cow::Owned(part.iter().copied().collect()), Cow::Borrowed);
                upload(&mut self.workspace.samples, &self.stream, bytemuck::cast_slice::<V, u8>(&part))?;
                self.add_voltages::<V>(channels, end - time, presence.is_some())?;
            }
        }
        // The host may reuse its array, and errors belong to this call.
        self.stream.synchronize()?;
        Ok(())
    }

    /// Packs and correlates the voltages that have been uploaded.
    fn add_voltages<V: VoltageSample>(
        &mut self,
        channels: Range<usize>,
        times: usize,
        flagged: bool,
    ) -> Result<(), CorrelatorError> {
        let shape = VoltageShape { channels: channels.len(), times, inputs: self.inputs.len() };
        let bytes = row_bytes::<V>(shape.channels, times, shape.inputs)?;
        let Workspace { samples, flags, rows, .. } = &mut self.workspace;
        let rows = grown(rows, &self.stream, bytes)?;
        let voltages = held(samples, "voltages")?.slice(..shape.samples()? * size_of::<V>())?.cast::<V>()?;
        let flags = flags.as_ref().filter(|_| flagged).map(Buffer::view);
        self.pack.pack(&self.stream, shape, 0..times, voltages, flags, &mut rows.view_mut())?;
        self.add::<V>(channels.clone(), Work::Rows { channels: channels.len(), times }, true)
    }

    /// Adds the products of heaps `[batch][antenna][channel][spectrum][pol]`, as many batches at a time as fit.
    pub(crate) fn accumulate_heaps<V: VoltageSample>(
        &mut self,
        heaps: ArrayView5<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let (batches, antennas, _, spectra, pols) = heaps.dim();
        let one = Step { channels: self.steps.channels, times: spectra }.bytes::<V>(self.inputs.len());
        if spectra > step_times(V::FORMAT) || one > self.limit {
            // Heaps too long for one launch or for the memory: in the order of time, which can be cut anywhere.
            return self.accumulate_long_heaps(heaps, presence);
        }
        let fitting = usize::try_from(self.limit / one.max(1)).unwrap_or(usize::MAX);
        let together = fitting.min(step_times(V::FORMAT) / spectra).clamp(1, batches.max(1));
        for first in (0..batches).step_by(together) {
            let end = batches.min(first + together);
            let flags = presence.map(|flags| flags.slice_move(s![first..end, ..]));
            for channels in self.blocks() {
                let part = heaps.slice(s![first..end, .., channels.clone(), .., ..]);
                let part = part.as_slice().map_or_else(|| Cow::Owned(part.iter().copied().collect()), Cow::Borrowed);
                upload(&mut self.workspace.samples, &self.stream, bytemuck::cast_slice::<V, u8>(&part))?;
                let shape = HeapShape { batches: end - first, antennas, channels: channels.len(), spectra, pols };
                self.add_heaps::<V>(channels, shape, flags)?;
            }
        }
        self.stream.synchronize()?;
        Ok(())
    }

    /// Correlates the heaps that have been uploaded, as they are if there are kernels for that.
    fn add_heaps<V: VoltageSample>(
        &mut self,
        channels: Range<usize>,
        shape: HeapShape,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let HeapShape { batches, spectra, .. } = shape;
        if self.engine.takes_heaps() {
            if let Some(flags) = presence {
                let heap = shape.samples()? / (batches * shape.antennas) * size_of::<V>();
                let samples = self.workspace.samples.as_mut().ok_or_else(|| missing("heaps"))?;
                for absent in runs(flags.iter().map(|&present| !present)) {
                    samples.slice_mut(absent.start * heap..absent.end * heap)?.zero(&self.stream)?;
                }
            }
            let work = Work::Heaps { channels: channels.len(), batches, spectra };
            return self.add::<V>(channels, work, false);
        }
        if let Some(flags) = presence {
            let flags: Vec<u8> = flags.iter().map(|&flag| u8::from(flag)).collect();
            upload(&mut self.workspace.flags, &self.stream, &flags)?;
        }
        let bytes = row_bytes::<V>(shape.channels, shape.times(), shape.inputs())?;
        let Workspace { samples, flags, rows, .. } = &mut self.workspace;
        let rows = grown(rows, &self.stream, bytes)?;
        let heaps = held(samples, "heaps")?.slice(..shape.samples()? * size_of::<V>())?.cast::<V>()?;
        let flags = flags.as_ref().filter(|_| presence.is_some()).map(Buffer::view);
        self.pack.pack_heaps(&self.stream, shape, 0..shape.times(), heaps, flags, &mut rows.view_mut())?;
        self.add::<V>(channels.clone(), Work::Rows { channels: channels.len(), times: shape.times() }, true)
    }

    /// Heaps that are longer than a step: batch by batch, as voltages.
    fn accumulate_long_heaps<V: VoltageSample>(
        &mut self,
        heaps: ArrayView5<'_, V>,
        presence: Option<ArrayView2<'_, bool>>,
    ) -> Result<(), CorrelatorError> {
        let (batches, antennas, channels, spectra, pols) = heaps.dim();
        for batch in 0..batches {
            for time in (0..spectra).step_by(self.steps.times) {
                let end = spectra.min(time + self.steps.times);
                let mut voltages = ndarray::Array3::from_elem((channels, end - time, antennas * pols), V::zeroed());
                for antenna in (0..antennas).filter(|&antenna| presence.is_none_or(|flags| flags[(batch, antenna)])) {
                    let inputs = antenna * pols..(antenna + 1) * pols;
                    voltages.slice_mut(s![.., .., inputs]).assign(&heaps.slice(s![batch, antenna, .., time..end, ..]));
                }
                self.accumulate(voltages.view(), None)?;
            }
        }
        Ok(())
    }

    /// Adds the products of rows, or of heaps.
    fn add<V: VoltageSample>(&mut self, channels: Range<usize>, work: Work, rows: bool) -> Result<(), CorrelatorError> {
        let range = self.sums_of(&channels);
        let Workspace { samples, rows: packed, .. } = &self.workspace;
        let samples = if rows { held(packed, "rows")? } else { held(samples, "heaps")? }.view();
        let sums = self.sums.slice_mut(range)?.cast::<V::Accumulator>()?;
        self.is_zero = false;
        self.engine.accumulate::<V>(&self.stream, work, samples, sums, self.parts)
    }

    fn reduction(&self, channels: &Range<usize>, order: BaselineOrder) -> Reduction {
        Reduction { channels: channels.len(), inputs: self.inputs, parts: self.parts, order }
    }

    /// Takes the sums in an order, and starts again from zero.
    pub(crate) fn take<A: Accumulator>(
        &mut self,
        order: BaselineOrder,
        integers: bool,
    ) -> Result<Array2<A>, CorrelatorError> {
        let baselines = order.len(self.inputs);
        let mut all = Array2::from_elem((self.channels, baselines), A::default());
        if self.is_zero {
            return Ok(all);
        }
        for channels in self.blocks() {
            let reduction = self.reduction(&channels, order);
            let range = self.sums_of(&channels);
            let host = rows_of(&mut all, &channels)?;
            if self.parts == 1 && order == BaselineOrder::Triangle {
                self.sums.slice(range)?.cast::<A>()?.copy_to_slice(&self.stream, host)?;
                continue;
            }
            let sums = self.sums.slice(range)?;
            let out = grown(&mut self.workspace.out, &self.stream, host.len() * SUM_BYTES)?;
            let mut out = out.slice_mut(..host.len() * SUM_BYTES)?;
            if integers {
                let (sums, out) = (sums.cast::<Complex<i64>>()?, out.reborrow().cast::<Complex<i64>>()?);
                self.reduce.reduce::<i64>(&self.stream, reduction, sums, &mut { out })?;
            } else {
                let (sums, out) = (sums.cast::<Complex<f64>>()?, out.reborrow().cast::<Complex<f64>>()?);
                self.reduce.reduce::<f64>(&self.stream, reduction, sums, &mut { out })?;
            }
            out.as_view().cast::<A>()?.copy_to_slice(&self.stream, host)?;
        }
        self.zero()?;
        Ok(all)
    }

    /// Takes the sums in 32 bits and an order, and starts again from zero. `missing` says which baselines of the triangle to mark.
    pub(crate) fn take32(
        &mut self,
        order: BaselineOrder,
        missing: MissingData,
        affected: &[bool],
    ) -> Result<Clamped, CorrelatorError> {
        let mut all = Array2::from_elem((self.channels, order.len(self.inputs)), Complex::<i32>::zeroed());
        let mark = missing == MissingData::Mark && affected.contains(&true);
        let flags: Vec<u8> = affected.iter().map(|&affected| u8::from(affected)).collect();
        let flags = if mark { Some(Buffer::from_slice(&self.stream, &flags)?) } else { None };
        let mut saturated = Buffer::<u64>::zeroed(&self.stream, 1)?;
        for channels in self.blocks() {
            let reduction = self.reduction(&channels, order);
            let host = rows_of(&mut all, &channels)?;
            let sums = self.sums.slice(self.sums_of(&channels))?.cast::<Complex<i64>>()?;
            let out = grown(&mut self.workspace.out, &self.stream, size_of_val(host))?;
            let mut out = out.slice_mut(..size_of_val(host))?.cast::<Complex<i32>>()?;
            let clamp = Clamp { missing: flags.as_ref().map(Buffer::view), saturated: saturated.view_mut() };
            self.reduce.clamp(&self.stream, reduction, sums, &mut out, clamp)?;
            out.as_view().copy_to_slice(&self.stream, host)?;
        }
        let saturated = saturated.to_vec(&self.stream)?;
        self.zero()?;
        Ok((all, saturated.first().copied().unwrap_or(0)))
    }

    fn zero(&mut self) -> Result<(), CorrelatorError> {
        if !self.is_zero {
            self.sums.view_mut().zero(&self.stream)?;
            self.is_zero = true;
        }
        Ok(())
    }
}

/// The rows of a standard array that channels have.
fn rows_of<'a, T>(all: &'a mut Array2<T>, channels: &Range<usize>) -> Result<&'a mut [T], CorrelatorError> {
    let baselines = all.ncols();
    let rows = all.as_slice_mut().and_then(|all| all.get_mut(channels.start * baselines..channels.end * baselines));
    rows.ok_or_else(|| missing("visibilities"))
}

/// Ranges of what is true, as long as they can be.
fn runs(flags: impl Iterator<Item = bool>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in flags.enumerate().filter(|(_, flag)| *flag) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end = index + 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs
}

fn missing(buffer: &'static str) -> CorrelatorError {
    CorrelatorError::Device(DeviceError::Length { buffer, expected: 1, actual: 0 })
}

fn held<'a>(buffer: &'a Option<Buffer<u8>>, name: &'static str) -> Result<&'a Buffer<u8>, CorrelatorError> {
    buffer.as_ref().ok_or_else(|| missing(name))
}

/// Copies bytes to a buffer.
fn upload(buffer: &mut Option<Buffer<u8>>, stream: &Stream, bytes: &[u8]) -> Result<(), CorrelatorError> {
    let buffer = grown(buffer, stream, bytes.len())?;
    let mut view: BufferViewMut<'_, u8> = buffer.slice_mut(..bytes.len())?;
    Ok(view.copy_from_slice(stream, bytes)?)
}

/// A buffer of at least `bytes` bytes.
fn grown<'a>(
    buffer: &'a mut Option<Buffer<u8>>,
    stream: &Stream,
    bytes: usize,
) -> Result<&'a mut Buffer<u8>, CorrelatorError> {
    let small = buffer.as_ref().is_none_or(|buffer| buffer.len() < bytes);
    if small {
        *buffer = None; // frees the old one first
    }
    match buffer {
        Some(buffer) => Ok(buffer),
        none => Ok(none.insert(Buffer::alloc(stream.device(), bytes)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_within_the_limit_and_cover_whole_rows() {
        fn check<V: VoltageSample>() {
            let row = row_times(V::FORMAT);
            let bytes = |channels, times| Step { channels, times }.bytes::<V>(128);
            for limit in [1, bytes(1, row), 3 * bytes(1, row), 1 << 20, 1 << 23, 1 << 28, u64::MAX] {
                let Steps { channels, times } = Steps::new::<V>(128, 100, Some(limit));
                let smallest = (channels, times) == (1, row);
                assert!(smallest || bytes(channels, times) <= limit, "{channels} x {times} at {limit}");
                assert!(times.is_multiple_of(row) && (row..=step_times(V::FORMAT)).contains(&times));
                assert!((1..=100).contains(&channels));
            }
            assert_eq!(Steps::new::<V>(1, 1, None), Steps { channels: 1, times: step_times(V::FORMAT) });
        }
        check::<fringes_types::Complex4>();
        check::<Complex<i8>>();
        check::<Complex<fringes_types::f16>>();
        check::<Complex<f32>>();
        const { assert!(step_times(SampleFormat::Int8) <= crate::gpu::MAX_LAUNCH_TIMES) };
    }

    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let of = |flags: &[u8]| runs(flags.iter().map(|&flag| flag == 1));
        assert_eq!(of(&[0, 1, 1, 0, 1]), [1..3, 4..5]);
        assert_eq!(of(&[1, 1, 0, 1]), [0..2, 3..4]);
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[0, 0]), []);
    }
}
