//! Channelised voltages: one antenna a heap, as F-engines send them.

use std::borrow::Cow;
use std::marker::PhantomData;

use fringes_types::{Complex4, Frequencies, Heaps, Inputs, LinearArray, SpectrumClock, VoltageSample};
use ndarray::{Array2, Array5};
use num_complex::Complex;

use super::Outgoing;
use super::format::{
    Grid, HeapFormat, Place, Send, chunk_bytes, elements, frequency_descriptor, sealed, timestamp_descriptor,
};
use crate::spead::error::{same, setting};
use crate::spead::{Descriptor, Elements, HeapView, SpeadError, id};

/// A voltage that F-engines send: `Complex<i8>`, or [`Complex4`] with the real part in the high nibble.
pub trait HeapVoltage: VoltageSample + sealed::Sealed + 'static {
    /// Makes -128 (-8) into -127 (-7); how many parts.
    #[doc(hidden)]
    fn clamp(data: &mut [Self]) -> u64;
    /// What an item of voltages of a shape `[channel][spectrum][pol]` is.
    #[doc(hidden)]
    fn describe(shape: [usize; 3]) -> Descriptor;
}

const NAME: &str = "feng_raw";
const DESCRIPTION: &str = "channelised voltages of one antenna, [channel][spectrum][pol], complex";

impl sealed::Sealed for Complex<i8> {}

impl HeapVoltage for Complex<i8> {
    fn clamp(data: &mut [Self]) -> u64 {
        let bytes: &mut [i8] = bytemuck::cast_slice_mut(data);
        // Rare: one look at all of them first, without branches.
        if bytes.iter().fold(0, |any, &value| any | u8::from(value == i8::MIN)) == 0 {
            return 0;
        }
        let illegal = bytes.iter_mut().filter(|value| **value == i8::MIN);
        illegal.map(|value| *value = -i8::MAX).count() as u64
    }

    fn describe([channels, spectra, pols]: [usize; 3]) -> Descriptor {
        Descriptor::numpy(id::FENG_RAW, NAME, DESCRIPTION, "|i1", &[channels, spectra, pols, 2])
    }
}

impl sealed::Sealed for Complex4 {}

impl HeapVoltage for Complex4 {
    fn clamp(data: &mut [Self]) -> u64 {
        let illegal = |byte: u8| u8::from(byte & 0xf0 == 0x80) | u8::from(byte & 0x0f == 0x08);
        if data.iter().fold(0, |any, value| any | illegal(value.0)) == 0 {
            return 0;
        }
        let mut clamped = 0;
        for value in data.iter_mut().filter(|value| !value.is_sample()) {
            let (re, im) = (value.re().max(-7), value.im().max(-7));
            clamped += u64::from(re != value.re()) + u64::from(im != value.im());
            *value = Complex4::new(re, im).unwrap_or_default();
        }
        clamped
    }

    fn describe(shape: [usize; 3]) -> Descriptor {
        Descriptor {
            shape: shape.into_iter().chain([2]).map(|length| Some(length as u64)).collect(),
            elements: Elements::Fields(vec![('i', 4)]),
            ..Descriptor::immediate(id::FENG_RAW, NAME, DESCRIPTION)
        }
    }
}

/// Heaps of voltages: timestamp, antenna (`feng_id`), first channel (`frequency`), and `feng_raw`, voltages
/// `[channel][spectrum][pol]`.
///
/// A heap has all channels of the stream or, with [`VoltageHeaps::with_channels_per_heap`], a part of them; an antenna
/// is present in a batch if all parts came.
#[derive(Debug, Clone, PartialEq)]
pub struct VoltageHeaps<V: HeapVoltage = Complex<i8>> {
    inputs: Inputs,
    channels: usize,
    channels_per_heap: usize,
    first_channel: u64,
    spectra_per_heap: usize,
    batches: usize,
    samples_between_spectra: u64,
    sample_rate_hz: Option<f64>,
    frequencies: Frequencies,
    sample: PhantomData<fn() -> V>,
}

impl<V: HeapVoltage> VoltageHeaps<V> {
    /// Heaps of `channels` channels, from channel 0 on, and `spectra_per_heap` spectra, `samples_between_spectra` ADC
    /// samples apart; chunks of `batches` batches.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for a number that is 0, or chunks larger than memory can be.
    pub fn new(
        inputs: Inputs,
        channels: usize,
        spectra_per_heap: usize,
        samples_between_spectra: u64,
        batches: usize,
    ) -> Result<Self, SpeadError> {
        let frequencies = Frequencies::default();
        let (channels_per_heap, first_channel, sample_rate_hz, sample) = (channels, 0, None, PhantomData);
        let format = Self {
            inputs,
            channels,
            channels_per_heap,
            first_channel,
            spectra_per_heap,
            batches,
            samples_between_spectra,
            sample_rate_hz,
            frequencies,
            sample,
        };
        format.checked()
    }

    fn checked(self) -> Result<Self, SpeadError> {
        for (quantity, value) in [
            ("channels", self.channels),
            ("spectra of a heap", self.spectra_per_heap),
            ("batches of a chunk", self.batches),
            ("samples between spectra", usize::try_from(self.samples_between_spectra).unwrap_or(usize::MAX)),
            ("channels of a heap", self.channels_per_heap),
        ] {
            if value == 0 {
                return Err(setting(quantity, "at least 1", value));
            }
        }
        if self.channels % self.channels_per_heap != 0 {
            let expected = format!("a divisor of {}", self.channels);
            return Err(setting("channels of a heap", expected, self.channels_per_heap));
        }
        let values = [self.spectra_per_heap, self.inputs.pols(), size_of::<V>(), self.inputs.antennas(), self.batches];
        let bytes = values.iter().try_fold(self.channels, |bytes, &value| bytes.checked_mul(value));
        let step = self.samples_between_spectra.checked_mul(self.spectra_per_heap as u64);
        if bytes.is_none() || step.is_none() || chunk_bytes(&self.grid()).is_none() {
            return Err(setting("bytes of a chunk", "at most 2^63 - 1", format!("{} channels", self.channels)));
        }
        Ok(self)
    }

    /// Sets how many channels a heap has, where an antenna's channels come in several heaps.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] unless it divides the number of channels.
    pub fn with_channels_per_heap(self, channels_per_heap: usize) -> Result<Self, SpeadError> {
        Self { channels_per_heap, ..self }.checked()
    }

    /// Sets the number of the first channel: what `frequency` is counted from. Heaps of other channels are of another
    /// stream.
    pub fn with_first_channel(self, first_channel: u64) -> Self {
        Self { first_channel, ..self }
    }

    /// Sets the rate of ADC samples in Hz, which chunks carry.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] unless it is finite and above 0.
    pub fn with_sample_rate(self, sample_rate_hz: f64) -> Result<Self, SpeadError> {
        if !(sample_rate_hz.is_finite() && sample_rate_hz > 0.0) {
            return Err(setting("sample rate in Hz", "a positive number", sample_rate_hz));
        }
        Ok(Self { sample_rate_hz: Some(sample_rate_hz), ..self })
    }

    /// Sets the frequencies of the channels, which chunks carry.
    ///
    /// # Errors
    /// [`SpeadError::Types`] unless they are finite.
    pub fn with_frequencies(self, frequencies: Frequencies) -> Result<Self, SpeadError> {
        frequencies.check()?;
        Ok(Self { frequencies, ..self })
    }

    /// Heaps that an antenna's channels come in.
    fn parts(&self) -> usize {
        self.channels / self.channels_per_heap
    }

    /// Makes zeros of antennas of which not all channels came; which came, `[batch][antenna]`.
    pub(super) fn settle(&self, data: &mut [V], presence: &[bool]) -> Vec<bool> {
        let parts = self.parts();
        let flags: Vec<bool> = presence.chunks(parts).map(|parts| parts.iter().all(|&present| present)).collect();
        let antenna_values = self.channels * self.spectra_per_heap * self.inputs.pols();
        for ((values, present), parts) in data.chunks_mut(antenna_values).zip(&flags).zip(presence.chunks(parts)) {
            if !present && parts.iter().any(|&came| came) {
                values.fill(bytemuck::Zeroable::zeroed());
            }
        }
        flags
    }

    /// The chunk of an array, whose values are none that are not legal.
    pub(super) fn heaps<A: LinearArray<V>>(
        &self,
        array: A,
        flags: Vec<bool>,
        first_timestamp: u64,
    ) -> Result<Heaps<V, A>, SpeadError> {
        let heaps = Heaps::from_array(array, self.batches, self.inputs, self.channels, self.spectra_per_heap)?;
        self.with_header(heaps, flags, first_timestamp)
    }

    fn with_header<A>(
        &self,
        heaps: Heaps<V, A>,
        flags: Vec<bool>,
        first_timestamp: u64,
    ) -> Result<Heaps<V, A>, SpeadError> {
        let flags = Array2::from_shape_vec((self.batches, self.inputs.antennas()), flags);
        let flags = flags.map_err(|error| setting("chunk", "heaps", error))?;
        let heaps = heaps.with_presence(flags)?.with_frequencies(self.frequencies)?;
        Ok(heaps.with_clock(self.clock(first_timestamp))?)
    }

    fn clock(&self, first_sample: u64) -> SpectrumClock {
        let sample_rate_hz = self.sample_rate_hz.unwrap_or(SpectrumClock::UNSET_SAMPLE_RATE_HZ);
        SpectrumClock { first_sample, samples_between_spectra: self.samples_between_spectra, sample_rate_hz }
    }
}

impl<V: HeapVoltage> sealed::Sealed for VoltageHeaps<V> {}

impl<V: HeapVoltage> HeapFormat for VoltageHeaps<V> {
    type Chunk = Heaps<V>;
    type Element = V;

    fn grid(&self) -> Grid {
        Grid {
            heap_bytes: self.channels_per_heap * self.spectra_per_heap * self.inputs.pols() * size_of::<V>(),
            slots: self.inputs.antennas() * self.parts(),
            step: self.samples_between_spectra.saturating_mul(self.spectra_per_heap as u64),
            batches: self.batches,
        }
    }

    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>> {
        let antenna = usize::try_from(heap.immediate(id::FENG_ID)?).ok()?;
        let channel = usize::try_from(heap.immediate(id::FREQUENCY)?.checked_sub(self.first_channel)?).ok()?;
        let part = channel / self.channels_per_heap;
        let there = antenna < self.inputs.antennas() && channel < self.channels;
        if !there || part * self.channels_per_heap != channel {
            return None;
        }
        let data = heap.bytes(id::FENG_RAW).filter(|data| data.len() == self.grid().heap_bytes)?;
        Some(Place { timestamp: heap.immediate(id::TIMESTAMP)?, slot: antenna * self.parts() + part, data })
    }

    fn clamp(&self, data: &mut [V]) -> u64 {
        V::clamp(data)
    }

    fn finish(&self, mut data: Vec<V>, presence: Vec<bool>, first_timestamp: u64) -> Result<Heaps<V>, SpeadError> {
        let flags = self.settle(&mut data, &presence);
        let shape = (self.batches, self.inputs.antennas(), self.channels, self.spectra_per_heap, self.inputs.pols());
        let data = Array5::from_shape_vec(shape, data).map_err(|error| setting("chunk", "heaps", error))?;
        self.with_header(Heaps::from_checked(data)?, flags, first_timestamp)
    }

    fn reuse(chunk: Heaps<V>) -> Option<Vec<V>> {
        elements(chunk.into_data())
    }

    fn each_heap(&self, chunk: &Heaps<V>, send: &mut Send<'_>) -> Result<(), SpeadError> {
        same("inputs", self.inputs, chunk.inputs())?;
        same("channels", self.channels, chunk.channels())?;
        same("spectra of a heap", self.spectra_per_heap, chunk.spectra_per_heap())?;
        same("samples between spectra", self.samples_between_spectra, chunk.clock().samples_between_spectra)?;
        let data = chunk.data();
        let values: Cow<'_, [V]> = match data.to_slice() {
            Some(values) => values.into(),
            None => data.iter().copied().collect::<Vec<V>>().into(),
        };
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let heaps = bytes.chunks_exact(self.grid().heap_bytes);
        let slots = self.grid().slots;
        for (number, data) in heaps.enumerate() {
            let (batch, slot) = (number / slots, number % slots);
            let (antenna, part) = (slot / self.parts(), slot % self.parts());
            if chunk.presence().is_some_and(|flags| !flags[(batch, antenna)]) {
                continue;
            }
            let channel = self.first_channel + (part * self.channels_per_heap) as u64;
            let timestamp = chunk.clock().sample_of(batch * self.spectra_per_heap);
            let immediates = [(id::TIMESTAMP, timestamp), (id::FENG_ID, antenna as u64), (id::FREQUENCY, channel)];
            send(&Outgoing { substream: part, immediates: &immediates, id: id::FENG_RAW, data })?;
        }
        Ok(())
    }

    fn substreams(&self) -> usize {
        self.parts()
    }

    fn descriptors(&self) -> Vec<Descriptor> {
        vec![
            timestamp_descriptor(),
            Descriptor::immediate(id::FENG_ID, "feng_id", "number of the antenna"),
            frequency_descriptor(),
            V::describe([self.channels_per_heap, self.spectra_per_heap, self.inputs.pols()]),
        ]
    }
}
