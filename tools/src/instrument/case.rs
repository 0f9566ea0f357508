//! Instruments, and sources that give them chunks again and again.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use fringes::correlator::DumpSchedule;
use fringes::stream::source::{Received, Source, SourceInfo};
use fringes::stream::{BoxError, Fx, HeapBlock, SampleBlock, StreamSample};
use fringes::{
    Backend, Channelizer, ChunkFormat, Complex, DeviceSamples, FEngine, FEngineBuilder, Gains, Heaps, Inputs,
    PackedSamples, PinnedArray, PinnedHeaps, PinnedSamples, Precision, SpectrumClock,
};
use fringes_gpu::{Device, PinnedBuffer, PinnedPool};
use ndarray::{Array5, ArrayView2, s};

use crate::bench::random;
use crate::end::End;

/// Samples a second of an input.
pub(crate) const RATE_HZ: f64 = 1712e6;
/// Bits of a sample.
pub(crate) const BITS: u32 = 10;
const TAPS: usize = 16;
/// Chunks in host memory: more than queues and stages hold at once.
pub(crate) const CHUNKS: usize = 16;

/// Where chunks lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    Pinned,
    Pageable,
}

impl Memory {
    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Pageable => "pageable",
        }
    }
}

/// Sizes of an instrument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) antennas: usize,
    pub(crate) channels: usize,
    /// Spectra of a chunk.
    pub(crate) spectra: usize,
    /// Spectra of a frame.
    pub(crate) frame: usize,
    /// Chunks of a dump.
    pub(crate) dump: usize,
}

impl Case {
    pub(crate) fn inputs(&self) -> Result<Inputs, End> {
        Inputs::new(self.antennas, 2).map_err(End::failed)
    }

    /// Samples of an input in a chunk.
    pub(crate) fn times(&self) -> usize {
        2 * self.channels * self.spectra
    }

    /// Samples from spectrum to spectrum.
    fn stride(&self) -> u64 {
        2 * self.channels as u64
    }

    pub(crate) fn row_bytes(&self) -> usize {
        (self.times() * BITS as usize).div_ceil(8).next_multiple_of(16)
    }

    /// Words of a chunk of samples.
    pub(crate) fn words(&self) -> usize {
        self.row_bytes() * 2 * self.antennas / 4 + DeviceSamples::PADDING_WORDS
    }

    /// Voltages of a chunk.
    pub(crate) fn values(&self) -> usize {
        2 * self.antennas * self.channels * self.spectra
    }

    pub(crate) fn schedule(&self) -> Result<DumpSchedule, End> {
        let heaps = (self.dump * self.spectra / self.frame) as u64;
        DumpSchedule::new(self.stride(), self.frame as u64, heaps).map_err(End::failed)
    }

    fn info(&self, label: &str, rate: f64) -> Result<SourceInfo, End> {
        Ok(SourceInfo {
            label: label.into(),
            inputs: self.inputs()?,
            sample_rate_hz: rate,
            sample_zero: None,
            end_sample: None,
        })
    }

    /// The F-engine.
    pub(crate) fn engine(&self, precision: Precision) -> Result<FEngineBuilder, End> {
        let plan = Channelizer::real(self.channels).taps(TAPS).build().map_err(End::failed)?;
        let builder = FEngine::builder(plan, self.inputs()?).spectra_per_frame(self.frame).precision(precision);
        Ok(builder.gains(Gains::uniform(0.1).map_err(End::failed)?))
    }

    /// F- and X-engine.
    pub(crate) fn fx(&self, backend: &Backend, precision: Precision) -> Result<Fx<Complex<i8>>, End> {
        Ok(Fx::new(backend, self.engine(precision)?).cadence(self.schedule()?))
    }

    /// The X-engine alone.
    pub(crate) fn x<V: StreamSample>(&self, backend: &Backend) -> Result<Fx<V>, End> {
        Ok(Fx::of_heaps(backend, self.inputs()?, self.channels).cadence(self.schedule()?))
    }

    /// Samples, of which the chunks lie in a pool's memory, or are copied from there.
    pub(crate) fn samples(&self, pool: &PinnedPool, memory: Memory, chunks: u64) -> Result<Replay<SampleBlock>, End> {
        let (case, inputs, pool) = (*self, self.inputs()?, pool.clone());
        let make: Make<SampleBlock> = match memory {
            Memory::Pinned => Box::new(move |chunk, _| {
                let words = PinnedArray::from(pool.take::<u32>(case.words())?);
                let format = ChunkFormat::Packed { bits: BITS };
                let rows = fringes::types::SampleRows::new(words, case.row_bytes(), format, case.times(), inputs)?;
                let rows = rows.with_first_sample(chunk * case.times() as u64).with_sample_rate(RATE_HZ)?;
                Ok(PinnedSamples::new(rows)?.into())
            }),
            Memory::Pageable => {
                let row = (self.times() * BITS as usize).div_ceil(8);
                Box::new(move |chunk, old| {
                    let data = match old {
                        // (A change of gains cuts chunks.)
                        Some(SampleBlock::Packed(samples)) if samples.times() == case.times() => samples.into_data(),
                        _ => {
                            let bytes = pool.take::<u8>(4 * case.words())?;
                            let bytes = bytes.as_slice()?.get(..case.row_bytes() * inputs.len()).unwrap_or_default();
                            let all = ArrayView2::from_shape((inputs.len(), case.row_bytes()), bytes)?;
                            all.slice(s![.., ..row]).to_owned()
                        }
                    };
                    let samples = PackedSamples::new(data, BITS, case.times(), inputs)?;
                    let samples = samples.with_first_sample(chunk * case.times() as u64).with_sample_rate(RATE_HZ)?;
                    Ok(samples.into())
                })
            }
        };
        let mut replay =
            Replay { info: self.info("samples", RATE_HZ)?, make, chunks, next: 0, returned: Vec::new(), start: None };
        if memory == Memory::Pageable {
            // As many as queues and stages hold at once.
            for _ in 0..CHUNKS / 2 {
                let new = (replay.make)(0, None).map_err(End::failed)?;
                replay.returned.push(new);
            }
        }
        Ok(replay)
    }

    /// The clock of a chunk of heaps.
    fn clock(&self, chunk: u64) -> SpectrumClock {
        SpectrumClock {
            first_sample: chunk * self.times() as u64,
            samples_between_spectra: self.stride(),
            sample_rate_hz: RATE_HZ,
        }
    }

    /// Heaps, likewise.
    pub(crate) fn heaps<V: Replayed>(
        &self,
        pool: &PinnedPool,
        memory: Memory,
        chunks: u64,
    ) -> Result<Replay<HeapBlock>, End> {
        let (case, inputs, pool) = (*self, self.inputs()?, pool.clone());
        let make: Make<HeapBlock> = match memory {
            Memory::Pinned => Box::new(move |chunk, _| {
                let array = PinnedArray::from(pool.take::<V>(case.values())?);
                let batches = case.spectra / case.frame;
                let heaps = PinnedHeaps::<V>::from_array(array, batches, inputs, case.channels, case.frame)?;
                Ok(V::pinned(heaps.with_clock(case.clock(chunk))?))
            }),
            Memory::Pageable => {
                let values = pool.take::<V>(self.values())?.as_slice()?.to_vec();
                let shape = (case.spectra / case.frame, inputs.antennas(), case.channels, case.frame, inputs.pols());
                let data = Array5::from_shape_vec(shape, values).map_err(End::failed)?;
                Box::new(move |chunk, _| Ok(V::pageable(Heaps::new(data.clone())?.with_clock(case.clock(chunk))?)))
            }
        };
        Ok(Replay { info: self.info("heaps", RATE_HZ)?, make, chunks, next: 0, returned: Vec::new(), start: None })
    }
}

/// Voltages that sources here give.
pub(crate) trait Replayed: StreamSample {
    /// A pool whose memory holds random values.
    fn filled(device: &Device, values: usize) -> Result<PinnedPool, End>;
    fn pinned(heaps: PinnedHeaps<Self>) -> HeapBlock;
    fn pageable(heaps: Heaps<Self>) -> HeapBlock;
}

impl Replayed for Complex<i8> {
    fn filled(device: &Device, values: usize) -> Result<PinnedPool, End> {
        filled(device, 2 * values)
    }

    fn pinned(heaps: PinnedHeaps<Self>) -> HeapBlock {
        HeapBlock::PinnedInt8(Arc::new(heaps))
    }

    fn pageable(heaps: Heaps<Self>) -> HeapBlock {
        HeapBlock::Int8(heaps)
    }
}

impl Replayed for Complex<f32> {
    fn filled(device: &Device, values: usize) -> Result<PinnedPool, End> {
        let stream = device.new_stream()?;
        let source = random::Source::floats(&stream)?;
        fill(device, 2 * values, |buffer: &mut PinnedBuffer<f32>| {
            let random = source.buffer(device, &stream, buffer.len())?;
            random.view().copy_to_pinned(&stream, buffer, ..)?;
            Ok(stream.synchronize()?)
        })
    }

    fn pinned(heaps: PinnedHeaps<Self>) -> HeapBlock {
        HeapBlock::PinnedFloat32(Arc::new(heaps))
    }

    fn pageable(heaps: Heaps<Self>) -> HeapBlock {
        HeapBlock::Float32(heaps)
    }
}

/// A pool of pinned memory for chunks of so many bytes, all random and none of them -128.
pub(crate) fn filled(device: &Device, bytes: usize) -> Result<PinnedPool, End> {
    let stream = device.new_stream()?;
    let source = random::Source::bytes(&stream)?;
    fill(device, bytes, |buffer: &mut PinnedBuffer<u8>| {
        let random = source.buffer(device, &stream, buffer.len())?;
        random.view().copy_to_pinned(&stream, buffer, ..)?;
        Ok(stream.synchronize()?)
    })
}

fn fill<T: bytemuck::Pod>(
    device: &Device,
    length: usize,
    write: impl Fn(&mut PinnedBuffer<T>) -> Result<(), End>,
) -> Result<PinnedPool, End> {
    let pool = PinnedPool::new(device);
    let mut all = (0..CHUNKS).map(|_| pool.take::<T>(length)).collect::<Result<Vec<_>, _>>()?;
    all.iter_mut().try_for_each(write)?;
    drop(all);
    Ok(pool)
}

/// Makes a chunk, of one that came back where there is one.
type Make<B> = Box<dyn FnMut(u64, Option<B>) -> Result<B, BoxError> + Send>;

/// Gives a few chunks again and again, as later ones.
pub(crate) struct Replay<B> {
    info: SourceInfo,
    make: Make<B>,
    chunks: u64,
    next: u64,
    returned: Vec<B>,
    /// What the first chunk waits for.
    start: Option<Receiver<()>>,
}

impl<B> Replay<B> {
    /// Gives the first chunk when the other end is gone.
    pub(crate) fn waits_for(mut self, start: Receiver<()>) -> Self {
        self.start = Some(start);
        self
    }

    fn chunk(&mut self) -> Result<Option<B>, BoxError> {
        if let Some(start) = self.start.take() {
            let _ = start.recv();
        }
        if self.next == self.chunks {
            return Ok(None);
        }
        self.next += 1;
        (self.make)(self.next - 1, self.returned.pop()).map(Some)
    }
}

impl Source for Replay<SampleBlock> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        Ok(self.chunk()?.map(Received::Samples))
    }

    fn recycle(&mut self, block: SampleBlock) {
        if let SampleBlock::Packed(_) = block {
            self.returned.push(block);
        }
    }
}

impl Source for Replay<HeapBlock> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        Ok(self.chunk()?.map(Received::Heaps))
    }
}
