//! Visibilities: some channels a heap, as X-engines send them.

use fringes_types::{BaselineOrder, Frequencies, Inputs, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};
use num_complex::Complex;

use super::Outgoing;
use super::format::{Grid, HeapFormat, Place, Send, chunk_bytes, frequency_descriptor, sealed, timestamp_descriptor};
use crate::spead::error::{same, setting};
use crate::spead::{Descriptor, HeapView, SpeadError, id};

/// What MeerKAT's X-engines send for a baseline that is affected by missing data.
///
/// Source: the katgpucbf manual, "Missing Data Handling".
pub const MISSING_MARK: Complex<i32> = Complex::new(i32::MIN, 1);

/// Bytes of a visibility: two 32-bit integers.
const VISIBILITY_BYTES: usize = 8;

/// Which byte of an integer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteOrder {
    /// The lowest: numpy's `<i4`, which katgpucbf sends.
    #[default]
    Little,
    /// The highest: numpy's `>i4`.
    Big,
}

/// An integration, and which of its heaps came.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibilityChunk {
    /// The sums. A baseline's `valid_samples` are all spectra; none if one of its channels that came has
    /// [`MISSING_MARK`], where the sum is then 0.
    pub visibilities: Visibilities<Complex<i64>>,
    /// Which parts of the channels came, in ascending order: `channels / present.len()` channels each. Others are 0.
    pub present: Vec<bool>,
}

impl VisibilityChunk {
    /// An integration of which every channel is there.
    pub fn whole(visibilities: Visibilities<Complex<i64>>) -> Self {
        Self { visibilities, present: vec![true] }
    }
}

/// Heaps of visibilities: timestamp, first channel (`frequency`), and `xeng_raw`, 32-bit integers
/// `[channel][baseline][re, im]`.
///
/// A chunk is one integration. What is sent is clamped to `+-(2^31 - 1)`; with [`VisibilityHeaps::with_marks`],
/// baselines with fewer valid samples than spectra are sent as [`MISSING_MARK`].
#[derive(Debug, Clone, PartialEq)]
pub struct VisibilityHeaps {
    inputs: Inputs,
    order: BaselineOrder,
    channels: usize,
    channels_per_heap: usize,
    first_channel: u64,
    spectra: u64,
    samples_between_spectra: u64,
    byte_order: ByteOrder,
    marks: bool,
    sample_rate_hz: Option<f64>,
    frequencies: Frequencies,
}

impl VisibilityHeaps {
    /// Integrations of `spectra` spectra, `samples_between_spectra` ADC samples apart, of `channels` channels from
    /// channel 0 on, all in one heap.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for a number that is 0 or integrations larger than memory can be, [`SpeadError::Types`]
    /// for an order that cannot hold the inputs.
    pub fn new(
        inputs: Inputs,
        order: BaselineOrder,
        channels: usize,
        spectra: u64,
        samples_between_spectra: u64,
    ) -> Result<Self, SpeadError> {
        order.check(inputs)?;
        let format = Self {
            inputs,
            order,
            channels,
            channels_per_heap: channels,
            first_channel: 0,
            spectra,
            samples_between_spectra,
            byte_order: ByteOrder::default(),
            marks: false,
            sample_rate_hz: None,
            frequencies: Frequencies::default(),
        };
        format.checked()
    }

    fn checked(self) -> Result<Self, SpeadError> {
        for (quantity, value) in [
            ("channels", self.channels as u64),
            ("channels of a heap", self.channels_per_heap as u64),
            ("spectra of an integration", self.spectra),
            ("samples between spectra", self.samples_between_spectra),
        ] {
            if value == 0 {
                return Err(setting(quantity, "at least 1", value));
            }
        }
        if self.channels % self.channels_per_heap != 0 {
            let expected = format!("a divisor of {}", self.channels);
            return Err(setting("channels of a heap", expected, self.channels_per_heap));
        }
        let bytes = self.channels.checked_mul(VISIBILITY_BYTES);
        let bytes = bytes.and_then(|bytes| bytes.checked_mul(self.order.len(self.inputs)));
        let step = self.samples_between_spectra.checked_mul(self.spectra);
        if bytes.is_none() || step.is_none() || chunk_bytes(&self.grid()).is_none() {
            return Err(setting("bytes of an integration", "at most 2^63 - 1", format!("{} channels", self.channels)));
        }
        Ok(self)
    }

    /// Sets how many channels a heap has.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] unless it divides the number of channels.
    pub fn with_channels_per_heap(self, channels_per_heap: usize) -> Result<Self, SpeadError> {
        Self { channels_per_heap, ..self }.checked()
    }

    /// Sets the number of the first channel: what `frequency` is counted from.
    pub fn with_first_channel(self, first_channel: u64) -> Self {
        Self { first_channel, ..self }
    }

    /// Sets the order of the bytes of an integer, which senders tell in their descriptors.
    pub fn with_byte_order(self, byte_order: ByteOrder) -> Self {
        Self { byte_order, ..self }
    }

    /// Sends [`MISSING_MARK`] where a baseline has fewer valid samples than spectra.
    pub fn with_marks(self) -> Self {
        Self { marks: true, ..self }
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

    fn decode(&self, bytes: &[u8; VISIBILITY_BYTES]) -> Complex<i32> {
        let [a, b, c, d, e, f, g, h] = *bytes;
        match self.byte_order {
            ByteOrder::Little => Complex::new(i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h])),
            ByteOrder::Big => Complex::new(i32::from_be_bytes([a, b, c, d]), i32::from_be_bytes([e, f, g, h])),
        }
    }

    fn encode(&self, value: Complex<i32>) -> [u8; VISIBILITY_BYTES] {
        let part = |part: i32| match self.byte_order {
            ByteOrder::Little => part.to_le_bytes(),
            ByteOrder::Big => part.to_be_bytes(),
        };
        let ([a, b, c, d], [e, f, g, h]) = (part(value.re), part(value.im));
        [a, b, c, d, e, f, g, h]
    }
}

impl sealed::Sealed for VisibilityHeaps {}

impl HeapFormat for VisibilityHeaps {
    type Chunk = VisibilityChunk;
    type Element = u8;

    fn grid(&self) -> Grid {
        Grid {
            heap_bytes: self.channels_per_heap * self.order.len(self.inputs) * VISIBILITY_BYTES,
            slots: self.channels / self.channels_per_heap,
            step: self.samples_between_spectra.saturating_mul(self.spectra),
            batches: 1,
        }
    }

    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>> {
        let channel = usize::try_from(heap.immediate(id::FREQUENCY)?.checked_sub(self.first_channel)?).ok()?;
        let slot = channel / self.channels_per_heap;
        if channel >= self.channels || slot * self.channels_per_heap != channel {
            return None;
        }
        let data = heap.bytes(id::XENG_RAW).filter(|data| data.len() == self.grid().heap_bytes)?;
        Some(Place { timestamp: heap.immediate(id::TIMESTAMP)?, slot, data })
    }

    fn finish(&self, data: Vec<u8>, present: Vec<bool>, first_timestamp: u64) -> Result<VisibilityChunk, SpeadError> {
        let baselines = self.order.len(self.inputs);
        let mut valid_samples = Array1::from_elem(baselines, self.spectra);
        let (values, _) = data.as_chunks::<VISIBILITY_BYTES>();
        let values: Vec<Complex<i64>> = values
            .iter()
            .enumerate()
            .map(|(index, bytes)| {
                let value = self.decode(bytes);
                if value == MISSING_MARK {
                    valid_samples[index % baselines] = 0;
                    return Complex::new(0, 0);
                }
                Complex::new(value.re.into(), value.im.into())
            })
            .collect();
        let data = Array2::from_shape_vec((self.channels, baselines), values);
        let data = data.map_err(|error| setting("chunk", "visibilities", error))?;
        let clock = SpectrumClock {
            first_sample: first_timestamp,
            samples_between_spectra: self.samples_between_spectra,
            sample_rate_hz: self.sample_rate_hz.unwrap_or(SpectrumClock::UNSET_SAMPLE_RATE_HZ),
        };
        let (inputs, order, frequencies) = (self.inputs, self.order, self.frequencies);
        let visibilities = Visibilities::new(data, inputs, order, valid_samples, self.spectra, frequencies, clock)?;
        Ok(VisibilityChunk { visibilities, present })
    }

    fn each_heap(&self, chunk: &VisibilityChunk, send: &mut Send<'_>) -> Result<(), SpeadError> {
        let VisibilityChunk { visibilities, present } = chunk;
        same("inputs", self.inputs, visibilities.inputs())?;
        same("baseline order", self.order, visibilities.order())?;
        same("channels", self.channels, visibilities.channels())?;
        same("spectra of an integration", self.spectra, visibilities.times())?;
        same("samples between spectra", self.samples_between_spectra, visibilities.clock().samples_between_spectra)?;
        let heaps = self.grid().slots;
        if present.len() != 1 && present.len() != heaps {
            return Err(same("parts of channels", heaps, present.len()).err().unwrap_or(SpeadError::ThreadEnded));
        }
        let clamp = |part: i64| part.clamp(-i64::from(i32::MAX), i64::from(i32::MAX)) as i32;
        let valid = visibilities.valid_samples();
        let mut bytes = Vec::with_capacity(self.grid().heap_bytes);
        for heap in 0..heaps {
            if !present.get(heap).or(present.first()).copied().unwrap_or(false) {
                continue;
            }
            bytes.clear();
            let first = heap * self.channels_per_heap;
            for row in visibilities.data().slice(ndarray::s![first..first + self.channels_per_heap, ..]).rows() {
                for (value, &valid) in row.iter().zip(valid) {
                    let marked = self.marks && valid < self.spectra;
                    let value = if marked { MISSING_MARK } else { Complex::new(clamp(value.re), clamp(value.im)) };
                    bytes.extend(self.encode(value));
                }
            }
            let channel = self.first_channel + first as u64;
            let immediates = [(id::FREQUENCY, channel), (id::TIMESTAMP, visibilities.clock().first_sample)];
            send(&Outgoing { substream: heap, immediates: &immediates, id: id::XENG_RAW, data: &bytes })?;
        }
        Ok(())
    }

    fn substreams(&self) -> usize {
        self.grid().slots
    }

    fn descriptors(&self) -> Vec<Descriptor> {
        let descr = match self.byte_order {
            ByteOrder::Little => "<i4",
            ByteOrder::Big => ">i4",
        };
        let shape = [self.channels_per_heap, self.order.len(self.inputs), 2];
        let text = "sums of voltage products, [channel][baseline][re, im]";
        vec![
            frequency_descriptor(),
            timestamp_descriptor(),
            Descriptor::numpy(id::XENG_RAW, "xeng_raw", text, descr, &shape),
        ]
    }
}
