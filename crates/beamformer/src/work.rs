//! One set of beams of one chunk: on the CPU, on a GPU in steps, or where the chunk lies.

use std::borrow::Cow;
use std::ops::Range;

use fringes_backend::{
    Backend, DeviceArray, DeviceBeams, DeviceError, DeviceHeaps, DeviceRows, DeviceVoltages, Staging,
};
use fringes_cpu::blocks::parallel_units;
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::{Buffer, BufferPool, BufferView, BufferViewMut, Device, GpuError, Stream};
use fringes_interference::internals::{MaskQueue, PartMasks, PlacedMask};
use fringes_types::{Beams, Frequencies, InputCounts, Inputs, SpectrumClock, TypesError, VoltageSample};
use ndarray::{Array3, ArrayView2, Axis, concatenate, s};

use crate::chunk::HostVoltages;
use crate::counts::Members;
use crate::packing::{row_count, row_elements};
use crate::set::{BeamKernels, KernelPart, first_spectrum};
use crate::steps::{Part, Sizes, Step};
use crate::{BeamSet, BeamformerError};

/// What is done with a chunk: by which backend, with which kernels if there are some.
#[derive(Debug)]
pub struct Work<'a, V: VoltageSample, B: BeamSet> {
    pub(crate) backend: &'a Backend,
    pub(crate) set: &'a B,
    /// Where the work is queued; a stream of its own if `None`.
    pub(crate) stream: Option<&'a Stream>,
    /// What was loaded before, or is now.
    pub(crate) loaded: &'a mut Option<Loaded<V, B>>,
    /// Values of each beam that saturated on the CPU, or nothing; added to.
    pub(crate) saturated: &'a mut Vec<u64>,
    /// Inputs of beams, once they were asked for.
    pub(crate) members: &'a mut Option<Members>,
    /// Sets that take over within the chunk, and from which time on.
    pub(crate) later: &'a [(usize, B)],
    /// What is masked of the chunk; `None` if nothing is.
    pub(crate) mask: Option<PlacedMask<'a>>,
}

/// Kernels of a set of beams on a device, and what their work takes.
pub(crate) struct Loaded<V: VoltageSample, B: BeamSet> {
    kernels: B::Kernels<V>,
    channels: usize,
    inputs: Inputs,
    stream: Stream,
    pool: BufferPool,
    staging: Staging,
    masks: PartMasks<V>,
    room: Room<V, B>,
}

/// Device memory of a step of host voltages.
struct Room<V: VoltageSample, B: BeamSet> {
    voltages: Option<Buffer<V>>,
    flags: Option<Buffer<u8>>,
    beams: Option<Buffer<B::Output>>,
}

impl<V: VoltageSample, B: BeamSet> std::fmt::Debug for Loaded<V, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { channels, inputs, stream, .. } = self;
        f.debug_struct("Loaded").field("channels", channels).field("inputs", inputs).field("stream", stream).finish()
    }
}

impl<'a, V: VoltageSample, B: BeamSet> Work<'a, V, B> {
    /// Checks that voltages fit the set.
    pub(crate) fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        self.set.check(channels, inputs)
    }

    /// The times of a chunk, cut where sets change, and the set that takes over at the start of each part, if one does.
    fn parts(&self, times: usize) -> Vec<(Range<usize>, Option<&'a B>)> {
        let starts = std::iter::once((0, None)).chain(self.later.iter().map(|(time, set)| (*time, Some(set))));
        let ends = self.later.iter().map(|&(time, _)| time).chain(std::iter::once(times));
        starts.zip(ends).map(|((start, set), end)| (start..end, set)).collect()
    }

    /// Turns to another set.
    fn turn_to(&mut self, set: &'a B) -> Result<(), BeamformerError> {
        self.set = set;
        if let Some(mut loaded) = self.loaded.take() {
            if loaded.update(set)? {
                *self.loaded = Some(loaded);
            } else {
                add(self.saturated, &loaded.take_saturated()?);
            }
        }
        Ok(())
    }

    /// Which inputs the beams sum: of several sets those of the first one.
    fn members(&mut self, channels: usize, inputs: Inputs) -> Result<&Members, BeamformerError> {
        self.check(channels, inputs)?;
        Ok(self.members.get_or_insert_with(|| Members::of(self.set, inputs)))
    }

    /// Beams of voltages in host memory, where the backend says.
    pub(crate) fn on_host(mut self, voltages: HostVoltages<'_, V>) -> Result<Beams<B::Output>, BeamformerError> {
        let (channels, times, _) = voltages.data().dim();
        let _span = tracing::debug_span!("beamform", channels, times, inputs = voltages.inputs.len()).entered();
        self.check(channels, voltages.inputs)?;
        let voltages = match self.mask {
            Some(mask) => voltages.masked(mask)?,
            None => voltages,
        };
        let presence = voltages.presence();
        let counts = match presence {
            Some(flags) => Some(self.members(channels, voltages.inputs)?.count(flags, 1)?),
            None => None,
        };
        let mut formed = Vec::new();
        for (part, set) in self.parts(times) {
            if let Some(set) = set {
                self.turn_to(set)?;
            }
            formed.push(self.formed_on_host(&voltages.part(part))?);
        }
        let out = match formed.len() {
            1 => formed.swap_remove(0),
            _ => {
                let views: Vec<_> = formed.iter().map(|part| part.view()).collect();
                let shape = [channels, times, self.set.beams(voltages.inputs)];
                concatenate(Axis(1), &views).map_err(|_| too_large(shape))?
            }
        };
        said(Beams::new(out, voltages.frequencies, voltages.clock)?, counts, self.mask)
    }

    /// Beams of voltages in host memory by the set of now.
    fn formed_on_host(&mut self, voltages: &HostVoltages<'_, V>) -> Result<Array3<B::Output>, BeamformerError> {
        let (channels, times, _) = voltages.data().dim();
        let shape = (channels, times, self.set.beams(voltages.inputs));
        let backend = self.backend;
        let limit = backend.memory_limit();
        let sizes = Sizes::of::<V, B>(self.set, voltages.inputs);
        let gpu = self.set.gpu::<V>(backend, voltages.inputs)?;
        let unit = self.set.unit_bytes(voltages.inputs);
        let smallest = if gpu.is_some() { sizes.gpu_memory(channels, times).smallest_step_bytes } else { unit };
        backend.check_memory(crate::OPERATION, smallest)?;
        let too_large = || too_large([shape.0, shape.1, shape.2]);
        let mut out = count([shape.0, shape.1, shape.2]).and_then(try_zeroed_vec).ok_or_else(too_large)?;
        match gpu {
            _ if out.is_empty() => {}
            Some(device) => {
                let step = Step::new(&sizes, channels, times, limit);
                self.loaded(device, channels, voltages.inputs)?.beamform(&sizes, step, voltages, &mut out)?;
            }
            None => {
                let lost = self.set.beamform_on_cpu(voltages, parallel_units(limit, unit), &mut out)?;
                add(self.saturated, &lost);
            }
        }
        Ok(Array3::from_shape_vec(shape, out).map_err(|_| too_large())?)
    }

    /// Beams of voltages on a device, there, in the order of the stream.
    pub(crate) fn on_device(
        mut self,
        voltages: &DeviceVoltages<'_, V>,
    ) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        let inputs = voltages.inputs();
        let counts = match voltages.presence() {
            Some(flags) => Some(self.members(voltages.channels(), inputs)?.count(flags, 1)?),
            None => None,
        };
        let shape = [voltages.channels(), voltages.times(), inputs.len()];
        let (axes, mask) = ((inputs, voltages.frequencies(), voltages.clock()), self.mask);
        self.queued(voltages.array(), shape, axes, counts, |loaded, sizes, view, part, beams| {
            loaded.queue(sizes, part, view, (voltages.presence(), mask), beams)
        })
    }

    /// Beams of rows on a device, there, in the order of the stream.
    pub(crate) fn of_rows(
        mut self,
        rows: &DeviceRows<'_, V>,
    ) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        let counts = match rows.presence() {
            Some(flags) => Some(self.members(rows.channels(), rows.inputs())?.count(flags, 1)?),
            None => None,
        };
        let shape = [rows.channels(), rows.times(), rows.inputs().len()];
        let axes = (rows.inputs(), rows.frequencies(), rows.clock());
        // A copy where something is masked, of which all parts are formed.
        let (mask, mut copy) = (self.mask, None);
        self.queued(rows.array(), shape, axes, counts, |loaded, _, view, part, beams| {
            if copy.is_none() {
                copy = loaded.masked_rows(&part, mask, view)?;
            }
            let rows = copy.as_ref().map_or(view, Buffer::view);
            loaded.kernels.beamform_rows(&loaded.stream, part, rows, &mut beams.view_mut())
        })
    }

    /// Beams of heaps on a device, there, in the order of the stream.
    pub(crate) fn of_heaps(
        mut self,
        heaps: &DeviceHeaps<'_, V>,
    ) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        let (inputs, spectra) = (heaps.inputs(), heaps.spectra_per_heap());
        let counts = match heaps.presence() {
            Some(flags) => Some(self.members(heaps.channels(), inputs)?.count_heaps(flags, inputs, spectra)?),
            None => None,
        };
        let shape = [heaps.channels(), heaps.times(), inputs.len()];
        let (axes, mask) = ((inputs, heaps.frequencies(), heaps.clock()), self.mask);
        let sizes_of = [heaps.batches(), spectra];
        self.queued(heaps.array(), shape, axes, counts, |loaded, _, view, part, beams| {
            let Loaded { kernels, stream, pool, staging, masks, .. } = loaded;
            let flags = sent_flags(staging, stream, pool, heaps.presence())?;
            let present = flags.as_ref().map(|flags| flags.view());
            let masked =
                mask.and_then(|mask| mask.part_of_rows::<V>(part.channels.clone(), 0, row_count::<V>(part.times)));
            let (Some(masked), Some(packing)) = (masked, kernels.packing()) else {
                return kernels.beamform_heaps(stream, part, sizes_of, view, present, &mut beams.view_mut());
            };
            let mut rows = packing.heaps(stream, part.channels.len(), sizes_of, view, present)?;
            let queue = MaskQueue { stream, pool, staging };
            masks.mask_rows(queue, &masked, row_count::<V>(part.times), rows.view_mut().cast()?)?;
            kernels.beamform_rows(stream, part, rows.view().cast()?, &mut beams.view_mut())
        })
    }

    /// Takes memory for the beams of what lies on a device, and queues them.
    fn queued(
        mut self,
        array: &DeviceArray<'_, V>,
        [channels, times, inputs_len]: [usize; 3],
        (inputs, frequencies, clock): (Inputs, Frequencies, SpectrumClock),
        counts: Option<InputCounts>,
        mut queue: impl FnMut(
            &mut Loaded<V, B>,
            &Sizes,
            BufferView<'_, V>,
            KernelPart,
            &mut Buffer<B::Output>,
        ) -> Result<(), BeamformerError>,
    ) -> Result<DeviceBeams<'static, B::Output>, BeamformerError> {
        let _span = tracing::debug_span!("beamform", channels, times, inputs = inputs_len).entered();
        self.check(channels, inputs)?;
        let shape = [channels, times, self.set.beams(inputs)];
        let length = count(shape).ok_or_else(|| too_large(shape))?;
        let loaded = self.loaded(array.device(), channels, inputs)?;
        let stream = loaded.stream.clone();
        let view = array.read_on(&stream)?;
        let mut beams = loaded.pool.take::<B::Output>(&stream, length)?;
        let spectrum = first_spectrum(clock);
        let queued = self.parts(times).into_iter().try_for_each(|(formed, set)| {
            if let Some(set) = set {
                self.turn_to(set)?;
            }
            let sizes = Sizes::of::<V, B>(self.set, inputs);
            let part = KernelPart { channels: 0..channels, times, formed, spectrum };
            let loaded = self.loaded_on(&stream, channels, inputs)?;
            queue(loaded, &sizes, view, part, &mut beams)
        });
        // Part of the work may be queued even if it failed.
        array.reads_queued(&stream)?;
        queued?;
        let array = DeviceArray::from(beams).written_on(&stream);
        said(Beams::from_array(array, shape, frequencies, clock)?, counts, self.mask)
    }

    /// The kernels, loaded on a stream unless they are.
    fn loaded_on(
        &mut self,
        stream: &Stream,
        channels: usize,
        inputs: Inputs,
    ) -> Result<&mut Loaded<V, B>, BeamformerError> {
        let held = match self.loaded.take() {
            Some(held) => held,
            None => Loaded::new(self.set, Some(stream), stream.device(), channels, inputs)?,
        };
        Ok(self.loaded.insert(held))
    }

    /// The kernels on a device, loaded unless they are.
    fn loaded(
        &mut self,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<&mut Loaded<V, B>, BeamformerError> {
        let fits = |loaded: &Loaded<V, B>| {
            let same_stream = self.stream.is_none_or(|stream| loaded.stream.is_same(stream));
            let same_shape = loaded.channels == channels && loaded.inputs == inputs;
            same_stream && same_shape && loaded.stream.device().is_same(device)
        };
        let held = match self.loaded.take().filter(fits) {
            Some(held) => held,
            None => Loaded::new(self.set, self.stream, device, channels, inputs)?,
        };
        Ok(self.loaded.insert(held))
    }
}

impl<V: VoltageSample, B: BeamSet> Loaded<V, B> {
    fn new(
        set: &B,
        stream: Option<&Stream>,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<Self, BeamformerError> {
        set.check_kernel(V::FORMAT, inputs)?;
        let stream = match stream {
            Some(stream) if stream.device().is_same(device) => stream.clone(),
            Some(stream) => return Err(DeviceError::wrong_device(stream.device(), device).into()),
            None => device.new_stream()?,
        };
        let kernels = set.load(device, channels, inputs)?;
        let room = Room { voltages: None, flags: None, beams: None };
        let (pool, staging, masks) = (BufferPool::new(device), Staging::default(), PartMasks::new(inputs));
        Ok(Self { kernels, channels, inputs, stream, pool, staging, masks, room })
    }

    /// Beams of host voltages, in steps.
    fn beamform(
        &mut self,
        sizes: &Sizes,
        step: Step,
        voltages: &HostVoltages<'_, V>,
        out: &mut [B::Output],
    ) -> Result<(), BeamformerError> {
        let Self { kernels, stream, room, .. } = self;
        let device = stream.device();
        let (data, presence) = (voltages.data(), voltages.presence());
        let (channels, times, _) = data.dim();
        let spectra = step.channels * step.times;
        let device_voltages = room_for(&mut room.voltages, device, spectra * sizes.inputs)?;
        let flags = if presence.is_some() { step.times * sizes.inputs } else { 0 };
        let device_flags = room_for(&mut room.flags, device, flags)?;
        let device_beams = room_for(&mut room.beams, device, spectra * sizes.beams)?;
        let (mut flags_of, spectrum) = (None, first_spectrum(voltages.clock));
        for part in step.parts(channels, times) {
            let Part { channels: [first, last], times: [from, to] } = part;
            if let Some(presence) = presence.filter(|_| flags_of != Some(from)) {
                let flags: Vec<u8> = presence.slice(s![from..to, ..]).iter().map(|&flag| u8::from(flag)).collect();
                device_flags.slice_mut(..flags.len())?.copy_from_slice(stream, &flags)?;
                flags_of = Some(from);
            }
            let sent = data.slice(s![first..last, from..to, ..]);
            let sent = sent.as_slice().map_or_else(|| Cow::Owned(sent.iter().copied().collect()), Cow::Borrowed);
            device_voltages.slice_mut(..sent.len())?.copy_from_slice(stream, &sent)?;
            let present = presence.is_some().then(|| device_flags.view());
            let (input, output) = (device_voltages.view(), &mut device_beams.view_mut());
            let spectrum = spectrum.wrapping_add(from as u64);
            let kernel_part = KernelPart { channels: first..last, times: to - from, formed: 0..to - from, spectrum };
            kernels.beamform_part(stream, kernel_part, input, present, output)?;
            let formed = device_beams.slice(..part.spectra() * sizes.beams)?;
            formed.copy_to_slice(stream, &mut out[part.range(times, sizes.beams)])?;
        }
        Ok(())
    }

    /// Queues beams of voltages on the device, of which some may be absent or masked.
    fn queue(
        &mut self,
        sizes: &Sizes,
        KernelPart { times, formed, spectrum, .. }: KernelPart,
        voltages: BufferView<'_, V>,
        (presence, mask): (Option<ArrayView2<'_, bool>>, Option<PlacedMask<'_>>),
        beams: &mut Buffer<B::Output>,
    ) -> Result<(), BeamformerError> {
        let (channels, flags) = (self.channels, sent_flags(&mut self.staging, &self.stream, &self.pool, presence)?);
        // Where nothing is allocated, only what a launch can count limits a step.
        let limit = if sizes.packs() || mask.is_some() { None } else { Some(u64::MAX) };
        for part in Step::new(sizes, channels, times, limit).parts(channels, times) {
            let Part { channels: [first, last], times: [from, to] } = part;
            let formed = formed.start.max(from)..formed.end.min(to);
            if formed.is_empty() {
                continue;
            }
            let input = voltages.slice(part.range(times, sizes.inputs))?;
            let present = match &flags {
                Some(flags) => Some(flags.slice(from * sizes.inputs..to * sizes.inputs)?),
                None => None,
            };
            let mut output = beams.slice_mut(part.range(times, sizes.beams))?;
            let (formed, spectrum) = (formed.start - from..formed.end - from, spectrum.wrapping_add(from as u64));
            let part = KernelPart { channels: first..last, times: to - from, formed, spectrum };
            match mask {
                None => self.kernels.beamform_part(&self.stream, part, input, present, &mut output)?,
                Some(mask) => self.queue_masked(part, (mask, from), input, present, &mut output)?,
            }
        }
        Ok(())
    }

    /// Queues beams of voltages `[channel][time][input]` that begin with a time of a masked chunk.
    fn queue_masked(
        &mut self,
        part: KernelPart,
        (mask, from): (PlacedMask<'_>, usize),
        voltages: BufferView<'_, V>,
        present: Option<BufferView<'_, u8>>,
        beams: &mut BufferViewMut<'_, B::Output>,
    ) -> Result<(), BeamformerError> {
        let Self { kernels, stream, pool, staging, masks, .. } = self;
        let (channels, queue) = (part.channels.clone(), MaskQueue { stream, pool, staging });
        if let Some(packing) = kernels.packing() {
            let number = row_count::<V>(part.times);
            if let Some(masked) = mask.part_of_rows::<V>(channels, from, number) {
                let mut rows = packing.voltages(stream, [part.channels.len(), part.times], voltages, present)?;
                masks.mask_rows(queue, &masked, number, rows.view_mut().cast()?)?;
                return kernels.beamform_rows(stream, part, rows.view().cast()?, beams);
            }
        } else if let Some(masked) = mask.part(channels, from..from + part.times) {
            let copy = masks.masked_voltages(queue, &masked, part.times, voltages)?;
            return kernels.beamform_part(stream, part, copy.view(), present, beams);
        }
        kernels.beamform_part(stream, part, voltages, present, beams)
    }

    /// A masked copy of all rows, if anything of them is masked and kernels read rows.
    fn masked_rows(
        &mut self,
        part: &KernelPart,
        mask: Option<PlacedMask<'_>>,
        rows: BufferView<'_, V>,
    ) -> Result<Option<Buffer<V>>, BeamformerError> {
        let Self { kernels, stream, pool, staging, masks, inputs, .. } = self;
        let number = row_count::<V>(part.times);
        let masked = mask.filter(|_| kernels.packing().is_some());
        let Some(masked) = masked.and_then(|mask| mask.part_of_rows::<V>(part.channels.clone(), 0, number)) else {
            return Ok(None);
        };
        let pitch = row_elements::<V>(1, part.times, inputs.len())?;
        Ok(Some(masks.masked_rows(MaskQueue { stream, pool, staging }, &masked, number, rows, pitch)?))
    }

    /// Turns to another set, in the order of the stream, if the kernels can.
    pub(crate) fn update(&mut self, set: &B) -> Result<bool, BeamformerError> {
        set.update::<V>(&mut self.kernels, &self.stream)
    }

    /// Values of each beam that saturated since the last call, waiting for the stream.
    pub(crate) fn take_saturated(&mut self) -> Result<Vec<u64>, BeamformerError> {
        self.kernels.take_saturated(&self.stream)
    }
}

/// Beams with what is known of their voltages: how many inputs came, and what was masked.
fn said<T, A>(
    mut beams: Beams<T, A>,
    counts: Option<InputCounts>,
    mask: Option<PlacedMask<'_>>,
) -> Result<Beams<T, A>, BeamformerError> {
    if let Some(counts) = counts {
        beams = beams.with_input_counts(counts)?;
    }
    if let Some(mask) = mask {
        let of_chunk = mask.mask().of_chunk(beams.clock(), beams.times())?;
        beams = beams.with_mask(of_chunk)?;
    }
    Ok(beams)
}

/// Sends flags to the device.
pub(crate) fn sent_flags(
    staging: &mut Staging,
    stream: &Stream,
    pool: &BufferPool,
    presence: Option<ArrayView2<'_, bool>>,
) -> Result<Option<Buffer<u8>>, BeamformerError> {
    let Some(presence) = presence else { return Ok(None) };
    Ok(Some(staging.send_with::<u8>(stream, pool, presence.len(), |to| {
        presence.iter().zip(to).for_each(|(&flag, to)| *to = u8::from(flag));
    })?))
}

/// Adds counts to others, which may have none yet.
pub(crate) fn add(all: &mut Vec<u64>, counts: &[u64]) {
    if all.len() < counts.len() {
        all.resize(counts.len(), 0);
    }
    all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
}

/// Memory of at least this length: what is held if it is enough.
fn room_for<'a, T: bytemuck::Pod>(
    held: &'a mut Option<Buffer<T>>,
    device: &Device,
    length: usize,
) -> Result<&'a mut Buffer<T>, GpuError> {
    // The old memory goes before the new one comes, unless it does.
    match held.take().filter(|buffer| buffer.len() >= length) {
        Some(buffer) => Ok(held.insert(buffer)),
        None => Ok(held.insert(Buffer::alloc(device, length)?)),
    }
}

/// Elements of a shape.
fn count(shape: [usize; 3]) -> Option<usize> {
    shape.into_iter().try_fold(1usize, |product, length| product.checked_mul(length))
}

fn too_large([channels, times, beams]: [usize; 3]) -> TypesError {
    TypesError::TooLarge { array: "beams", elements: format!("{channels} x {times} x {beams}") }
}
