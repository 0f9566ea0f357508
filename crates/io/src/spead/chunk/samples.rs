//! ADC samples: one input a heap.

use fringes_types::{
    ChunkFormat, HostArray, HostRows, Inputs, PackedSamples, SampleFormat, SamplePresence, SampleRows, Samples,
};
use ndarray::Array2;

use super::Outgoing;
use super::format::{Grid, HeapFormat, Place, Send, chunk_bytes, elements, sealed, timestamp_descriptor};
use crate::spead::error::{same, setting};
use crate::spead::{Descriptor, Elements, HeapView, SpeadError, id};

/// What packed and 8-bit samples share: inputs, and heaps of some samples.
#[derive(Debug, Clone, PartialEq)]
struct AdcHeaps {
    inputs: Inputs,
    bits: u32,
    samples_per_heap: usize,
    heaps_per_chunk: usize,
    digitisers: Vec<u64>,
    sample_rate_hz: Option<f64>,
    centre_hz: Option<f64>,
}

impl AdcHeaps {
    fn new(inputs: Inputs, bits: u32, samples_per_heap: usize, heaps_per_chunk: usize) -> Result<Self, SpeadError> {
        if !(2..=16).contains(&bits) {
            return Err(setting("bits of a sample", "2 to 16", bits));
        }
        let whole = samples_per_heap.checked_mul(bits as usize).is_some_and(|bits| bits > 0 && bits % 8 == 0);
        if !whole {
            return Err(setting("samples of a heap", format!("whole bytes of {bits}-bit samples"), samples_per_heap));
        }
        if heaps_per_chunk == 0 {
            return Err(setting("heaps of a chunk", "at least 1", heaps_per_chunk));
        }
        let digitisers = (0..inputs.len() as u64).collect();
        let (sample_rate_hz, centre_hz) = (None, None);
        let heaps = Self { inputs, bits, samples_per_heap, heaps_per_chunk, digitisers, sample_rate_hz, centre_hz };
        match chunk_bytes(&heaps.grid()) {
            Some(_) => Ok(heaps),
            None => Err(setting("bytes of a chunk", "at most 2^63 - 1", format!("{:?}", heaps.grid()))),
        }
    }

    fn grid(&self) -> Grid {
        Grid {
            heap_bytes: self.samples_per_heap / 8 * self.bits as usize
                + self.samples_per_heap % 8 * self.bits as usize / 8,
            slots: self.inputs.len(),
            step: self.samples_per_heap as u64,
            batches: self.heaps_per_chunk,
        }
    }

    fn with_digitisers(mut self, digitisers: &[u64]) -> Result<Self, SpeadError> {
        let mut sorted = digitisers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if digitisers.len() != self.inputs.len() || sorted.len() != digitisers.len() {
            let expected = format!("{} different ones, one an input", self.inputs.len());
            return Err(setting("identifiers of digitisers", expected, format!("{digitisers:?}")));
        }
        self.digitisers = digitisers.to_vec();
        Ok(self)
    }

    fn with_sample_rate(mut self, sample_rate_hz: f64) -> Result<Self, SpeadError> {
        if !(sample_rate_hz.is_finite() && sample_rate_hz > 0.0) {
            return Err(setting("sample rate in Hz", "a positive number", sample_rate_hz));
        }
        self.sample_rate_hz = Some(sample_rate_hz);
        Ok(self)
    }

    fn with_centre_frequency(mut self, centre_hz: f64) -> Result<Self, SpeadError> {
        if !centre_hz.is_finite() {
            return Err(setting("centre frequency in Hz", "a finite number", centre_hz));
        }
        self.centre_hz = Some(centre_hz);
        Ok(self)
    }

    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>> {
        let digitiser = heap.immediate(id::DIGITISER_ID)?;
        let slot = self.digitisers.iter().position(|&known| known == digitiser)?;
        let data = heap.bytes(id::ADC_SAMPLES).filter(|data| data.len() == self.grid().heap_bytes)?;
        Some(Place { timestamp: heap.immediate(id::TIMESTAMP)?, slot, data })
    }

    /// `[input][heap]` for flags `[heap][input]`.
    fn presence(&self, presence: &[bool]) -> Result<SamplePresence, SpeadError> {
        let inputs = self.inputs.len();
        let shape = (inputs, self.heaps_per_chunk);
        let flags = Array2::from_shape_fn(shape, |(input, heap)| presence[heap * inputs + input]);
        Ok(SamplePresence::new(self.samples_per_heap, flags)?)
    }

    fn times(&self) -> usize {
        self.samples_per_heap * self.heaps_per_chunk
    }

    /// The chunk of an array of rows, one behind the other.
    fn rows<A: HostArray<u32>>(
        &self,
        format: ChunkFormat,
        array: A,
        presence: &[bool],
        first_timestamp: u64,
    ) -> Result<HostRows<A>, SpeadError> {
        let row_bytes = self.grid().heap_bytes * self.heaps_per_chunk;
        let mut rows = SampleRows::new(array, row_bytes, format, self.times(), self.inputs)?
            .with_presence(self.presence(presence)?)?
            .with_first_sample(first_timestamp);
        if let Some(rate) = self.sample_rate_hz {
            rows = rows.with_sample_rate(rate)?;
        }
        if let Some(centre_hz) = self.centre_hz {
            rows = rows.with_centre_frequency(centre_hz)?;
        }
        Ok(HostRows::new(rows)?)
    }

    /// Sends rows of bytes `[input][byte]`, but for heaps that are not wholly present.
    fn send_rows<'a>(
        &self,
        rows: impl Fn(usize) -> std::borrow::Cow<'a, [u8]>,
        presence: Option<&SamplePresence>,
        (first_sample, times): (u64, usize),
        send: &mut Send<'_>,
    ) -> Result<(), SpeadError> {
        let heap_bytes = self.grid().heap_bytes;
        same("samples in whole heaps", times / self.samples_per_heap * self.samples_per_heap, times)?;
        let rows: Vec<_> = (0..self.inputs.len()).map(rows).collect();
        for heap in 0..times / self.samples_per_heap {
            let start = heap * self.samples_per_heap;
            for (input, row) in rows.iter().enumerate() {
                let present = presence.is_none_or(|presence| {
                    let blocks = start / presence.samples_per_block()
                        ..(start + self.samples_per_heap).div_ceil(presence.samples_per_block());
                    blocks.into_iter().all(|block| presence.flags().get((input, block)).copied().unwrap_or(false))
                });
                if present {
                    send(&Outgoing {
                        substream: input,
                        immediates: &[
                            (id::TIMESTAMP, first_sample.wrapping_add(start as u64)),
                            (id::DIGITISER_ID, self.digitisers[input]),
                            (id::DIGITISER_STATUS, 0),
                        ],
                        id: id::ADC_SAMPLES,
                        data: &row[heap * heap_bytes..(heap + 1) * heap_bytes],
                    })?;
                }
            }
        }
        Ok(())
    }

    fn descriptors(&self) -> Vec<Descriptor> {
        let samples = Descriptor {
            id: id::ADC_SAMPLES,
            name: "adc_samples".into(),
            description: "ADC samples of one input".into(),
            shape: vec![Some(self.samples_per_heap as u64)],
            elements: Elements::Fields(vec![('i', self.bits as u16)]),
        };
        vec![
            timestamp_descriptor(),
            Descriptor::immediate(
                id::DIGITISER_ID,
                "digitiser_id",
                "serial number; its lowest bit is the polarisation",
            ),
            Descriptor::immediate(id::DIGITISER_STATUS, "digitiser_status", "status of the digitiser"),
            samples,
        ]
    }
}

macro_rules! adc_settings {
    ($samples:expr) => {
        /// The chunk of an array.
        pub(super) fn rows<A: HostArray<u32>>(
            &self,
            array: A,
            presence: &[bool],
            first: u64,
        ) -> Result<HostRows<A>, SpeadError> {
            let samples: fn(u32) -> ChunkFormat = $samples;
            self.adc.rows(samples(self.adc.bits), array, presence, first)
        }

        /// Sets the identifiers of digitisers, one an input; `0, 1, ..` without it. MeerKAT's are serial numbers whose
        /// lowest bit is the polarisation.
        ///
        /// # Errors
        /// [`SpeadError::Setting`] unless there is one for each input, all different.
        pub fn with_digitisers(self, digitisers: &[u64]) -> Result<Self, SpeadError> {
            Ok(Self { adc: self.adc.with_digitisers(digitisers)? })
        }

        /// Sets the sample rate in Hz, which chunks carry.
        ///
        /// # Errors
        /// [`SpeadError::Setting`] unless it is finite and above 0.
        pub fn with_sample_rate(self, sample_rate_hz: f64) -> Result<Self, SpeadError> {
            Ok(Self { adc: self.adc.with_sample_rate(sample_rate_hz)? })
        }

        /// Sets the sky frequency in Hz of the middle of the band, which chunks carry.
        ///
        /// # Errors
        /// [`SpeadError::Setting`] if it is not finite.
        pub fn with_centre_frequency(self, centre_hz: f64) -> Result<Self, SpeadError> {
            Ok(Self { adc: self.adc.with_centre_frequency(centre_hz)? })
        }
    };
}

/// Heaps of packed samples: timestamp, digitiser, status, and `adc_samples`, the samples of one input, two's
/// complement, big-endian, without padding. MeerKAT's have 4096 samples of 10 bits.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedSampleHeaps {
    adc: AdcHeaps,
}

impl PackedSampleHeaps {
    /// Heaps of `samples_per_heap` samples of `bits` bits, chunks of `heaps_per_chunk` heaps of each input.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] unless `bits` is 2 to 16, heaps are whole bytes and not empty, and chunks have heaps.
    pub fn new(inputs: Inputs, bits: u32, samples_per_heap: usize, heaps_per_chunk: usize) -> Result<Self, SpeadError> {
        Ok(Self { adc: AdcHeaps::new(inputs, bits, samples_per_heap, heaps_per_chunk)? })
    }

    adc_settings!(|bits| ChunkFormat::Packed { bits });
}

impl sealed::Sealed for PackedSampleHeaps {}

impl HeapFormat for PackedSampleHeaps {
    type Chunk = PackedSamples;
    type Element = u8;

    fn grid(&self) -> Grid {
        self.adc.grid()
    }

    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>> {
        self.adc.place(heap)
    }

    fn position(&self, batch: usize, slot: usize) -> usize {
        slot * self.adc.heaps_per_chunk + batch
    }

    fn finish(&self, data: Vec<u8>, presence: Vec<bool>, first_timestamp: u64) -> Result<PackedSamples, SpeadError> {
        let (adc, inputs) = (&self.adc, self.adc.inputs);
        let row = adc.grid().heap_bytes * adc.heaps_per_chunk;
        let data = Array2::from_shape_vec((inputs.len(), row), data);
        let data = data.map_err(|error| setting("chunk", "rows of samples", error))?;
        let mut samples = PackedSamples::new(data, adc.bits, adc.times(), inputs)?
            .with_presence(adc.presence(&presence)?)?
            .with_first_sample(first_timestamp);
        if let Some(rate) = adc.sample_rate_hz {
            samples = samples.with_sample_rate(rate)?;
        }
        Ok(match adc.centre_hz {
            Some(centre_hz) => samples.with_centre_frequency(centre_hz)?,
            None => samples,
        })
    }

    fn reuse(chunk: PackedSamples) -> Option<Vec<u8>> {
        elements(chunk.into_data())
    }

    fn each_heap(&self, chunk: &PackedSamples, send: &mut Send<'_>) -> Result<(), SpeadError> {
        same("inputs", self.adc.inputs, chunk.inputs())?;
        same("bits of a sample", self.adc.bits, chunk.bits())?;
        let data = chunk.data();
        let rows = |input: usize| match data.row(input).to_slice() {
            Some(row) => row.into(),
            None => data.row(input).to_vec().into(),
        };
        self.adc.send_rows(rows, chunk.presence(), (chunk.first_sample(), chunk.times()), send)
    }

    fn substreams(&self) -> usize {
        self.adc.inputs.len()
    }

    fn descriptors(&self) -> Vec<Descriptor> {
        self.adc.descriptors()
    }
}

/// Heaps of 8-bit samples: as [`PackedSampleHeaps`], with a byte a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleHeaps {
    adc: AdcHeaps,
}

impl SampleHeaps {
    /// Heaps of `samples_per_heap` samples, chunks of `heaps_per_chunk` heaps of each input.
    ///
    /// # Errors
    /// [`SpeadError::Setting`] for heaps without samples or chunks without heaps.
    pub fn new(inputs: Inputs, samples_per_heap: usize, heaps_per_chunk: usize) -> Result<Self, SpeadError> {
        Ok(Self { adc: AdcHeaps::new(inputs, 8, samples_per_heap, heaps_per_chunk)? })
    }

    adc_settings!(|_| ChunkFormat::Typed { format: SampleFormat::Int8, complex: false });
}

impl sealed::Sealed for SampleHeaps {}

impl HeapFormat for SampleHeaps {
    type Chunk = Samples<i8>;
    type Element = i8;

    fn grid(&self) -> Grid {
        self.adc.grid()
    }

    fn place<'a>(&self, heap: &HeapView<'a>) -> Option<Place<'a>> {
        self.adc.place(heap)
    }

    fn position(&self, batch: usize, slot: usize) -> usize {
        slot * self.adc.heaps_per_chunk + batch
    }

    fn finish(&self, data: Vec<i8>, presence: Vec<bool>, first_timestamp: u64) -> Result<Samples<i8>, SpeadError> {
        let (adc, inputs) = (&self.adc, self.adc.inputs);
        let data = Array2::from_shape_vec((inputs.len(), adc.times()), data);
        let data = data.map_err(|error| setting("chunk", "rows of samples", error))?;
        let mut samples =
            Samples::new(data, inputs)?.with_presence(adc.presence(&presence)?)?.with_first_sample(first_timestamp);
        if let Some(rate) = adc.sample_rate_hz {
            samples = samples.with_sample_rate(rate)?;
        }
        Ok(match adc.centre_hz {
            Some(centre_hz) => samples.with_centre_frequency(centre_hz)?,
            None => samples,
        })
    }

    fn reuse(chunk: Samples<i8>) -> Option<Vec<i8>> {
        elements(chunk.into_data())
    }

    fn each_heap(&self, chunk: &Samples<i8>, send: &mut Send<'_>) -> Result<(), SpeadError> {
        same("inputs", self.adc.inputs, chunk.inputs())?;
        let data = chunk.data();
        let rows = |input: usize| match data.row(input).to_slice() {
            Some(row) => bytemuck::cast_slice::<i8, u8>(row).into(),
            None => data.row(input).iter().map(|&sample| sample as u8).collect::<Vec<u8>>().into(),
        };
        self.adc.send_rows(rows, chunk.presence(), (chunk.first_sample(), chunk.times()), send)
    }

    fn substreams(&self) -> usize {
        self.adc.inputs.len()
    }

    fn descriptors(&self) -> Vec<Descriptor> {
        self.adc.descriptors()
    }
}
