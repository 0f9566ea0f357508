//! The whole X-engine from pinned host memory (the paper's Algorithm 1), by the public stream: rows in pinned memory
//! are pushed to an [`Integrator`], whose dumps of 32 bits stay on the device and are copied to pinned memory while the
//! next integration begins.
//!
//! ```text
//! copies in    rows 0 | rows 1 | rows 2 | ...
//! kernels             | rows 0 | rows 1 | ... | clamp |
//! copies out                                          | visibilities |
//! ```
//!
//! Nothing waits on the host until the last copy. The kernel, the copies in and the copies out are timed alone as well.

use std::time::Instant;

use fringes::backend::{Backend, PinnedArray};
use fringes::correlator::internals::Shape;
use fringes::correlator::kernels::{CorrelatorKernels, Work};
use fringes::correlator::{DeviceDump32, DumpSchedule, Integrator, MissingData};
use fringes::types::Rows;
use fringes::{Complex, Inputs, SpectrumClock};
use fringes_gpu::{Buffer, Device, PinnedBuffer, Stream};

use crate::end::End;
use crate::xengine::engine::{Failure, legal_bytes};
use crate::xengine::record::Size;

/// Chunks of rows of an integration: 65536 times where a chunk has 1024, as telescopes integrate tens of thousands of
/// spectra at least.
pub(crate) const CHUNKS: usize = 64;

/// Integrations that follow each other in a run.
const INTEGRATIONS: usize = 4;

/// Bytes of voltages on the host, which are read over and over: more than the caches of a host hold.
const HOST_BYTES: usize = 512 << 20;

type Sample = Complex<i8>;

/// A chunk in pinned memory.
type Chunk = Rows<Sample, PinnedArray<Sample>>;

/// Times, a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Its copy to the device alone, one after the other.
    pub(crate) copy_ms: f64,
    /// Its correlation alone.
    pub(crate) kernel_ms: f64,
    /// Its share of an integration's way out: the copy of visibilities to the host, alone.
    pub(crate) out_ms: f64,
    /// All of it, with copies, correlation, clamping and the way out at once.
    pub(crate) all_ms: f64,
}

/// The X-engine for 8-bit rows.
pub(crate) struct Integrated {
    device: Device,
    /// Voltages, for chunks of any number of stations.
    voltages: Vec<u8>,
}

/// Visibilities on their way out.
struct Out {
    stream: Stream,
    host: PinnedBuffer<Complex<i32>>,
}

impl Out {
    /// Queues the copy of a dump, whose memory is used again when it is done.
    fn send(&mut self, dump: &DeviceDump32) -> Result<(), Failure> {
        let array = dump.array();
        array.read_on(&self.stream)?.copy_to_pinned(&self.stream, &mut self.host, ..)?;
        Ok(array.reads_queued(&self.stream)?)
    }
}

impl Integrated {
    /// Makes the voltages.
    pub(crate) fn new(device: &Device) -> Result<Self, End> {
        let mut voltages = vec![0; HOST_BYTES];
        legal_bytes(&mut voltages);
        Ok(Self { device: device.clone(), voltages })
    }

    /// Bytes of a chunk's rows.
    pub(crate) fn chunk_bytes(size: Size) -> usize {
        size.channels * size.times.div_ceil(64) * size.inputs() * 128
    }

    /// Bytes of an integration's visibilities, as they go to the host.
    pub(crate) fn dump_bytes(size: Size) -> usize {
        8 * size.channels * size.baselines()
    }

    /// Whether there are voltages and memory enough.
    pub(crate) fn fits(&self, size: Size) -> Result<bool, End> {
        let chunk = Self::chunk_bytes(size);
        // Sums, in parts where channels are few, and three dumps.
        let needed = 2 * chunk + (4 * 16 + 3 * 8) * size.channels * size.baselines();
        Ok(2 * chunk <= HOST_BYTES && needed as f64 <= 0.8 * self.device.memory()?.free_bytes as f64)
    }

    /// Measures a size: medians of a few runs, of which one visibility of the last is compared with its sum on the
    /// host.
    pub(crate) fn measure(&self, size: Size, runs: usize) -> Result<Times, End> {
        let shape = Shape::new(size.channels, size.times, size.inputs());
        let shape = shape.ok_or_else(|| End::failed(format!("no launch has this size: {size:?}")))?;
        let mut chunks = self.chunks(size).map_err(End::failed)?;
        let (copy_ms, kernel_ms) = self.alone(size, &chunks).map_err(End::failed)?;
        let mut out =
            Out { stream: self.device.new_stream()?, host: PinnedBuffer::zeroed(&self.device, shape.visibilities())? };
        let there = Buffer::<Complex<i32>>::zeroed(&out.stream, shape.visibilities())?;
        let out_ms = fringes_gpu::time(&out.stream.clone(), 1, 4, |_| {
            there.view().copy_to_pinned(&out.stream, &mut out.host, ..)
        })?;
        drop(there);
        let mut all_ms = Vec::new();
        for run in 0..=runs {
            let time = self.run(size, &mut chunks, &mut out).map_err(End::failed)?;
            if run > 0 {
                all_ms.push(time / (INTEGRATIONS * CHUNKS) as f64);
            }
            check(&out, shape, &chunks)?;
        }
        let all = fringes_gpu::Timing::new(all_ms)?;
        Ok(Times { copy_ms, kernel_ms, out_ms: out_ms.median_ms / CHUNKS as f64, all_ms: all.median_ms })
    }

    /// The voltages as chunks of a size in pinned memory.
    fn chunks(&self, size: Size) -> Result<Vec<Option<Chunk>>, Failure> {
        let inputs = Inputs::new(size.stations, 2).map_err(Failure::of)?;
        let chunks = self.voltages.chunks_exact(Self::chunk_bytes(size)).map(|bytes| {
            let array = PinnedArray::from_slice(&self.device, bytemuck::cast_slice(bytes)).map_err(Failure::of)?;
            Rows::from_array(array, size.channels, size.times, inputs).map(Some).map_err(Failure::of)
        });
        chunks.collect()
    }

    /// Copies of chunks alone, and the kernel alone.
    fn alone(&self, size: Size, chunks: &[Option<Chunk>]) -> Result<(f64, f64), Failure> {
        let (stream, inputs) = (self.device.new_stream()?, Inputs::new(size.stations, 2).map_err(Failure::of)?);
        let (work, length) = (Work::rows(size.channels, size.times), Self::chunk_bytes(size) / size_of::<Sample>());
        let mut rows = [Buffer::<Sample>::alloc(&self.device, length)?, Buffer::<Sample>::alloc(&self.device, length)?];
        let copy = fringes_gpu::time(&stream, 1, 2 * chunks.len(), |index| match &chunks[index % chunks.len()] {
            Some(chunk) => rows[index % 2].view_mut().copy_from_pinned(&stream, chunk.array().buffer(), ..),
            None => Ok(()),
        })?;
        let kernels = CorrelatorKernels::<Sample>::load(&self.device, inputs)?;
        let parts = kernels.most_parts(size.channels);
        let mut sums = Buffer::<Complex<i32>>::zeroed(&stream, parts * size.channels * size.baselines())?;
        let kernel = fringes_gpu::time(&stream, 2, CHUNKS, |index| {
            kernels.accumulate(&stream, &work, rows[index % 2].view(), &mut sums.view_mut(), parts)
        })?;
        Ok((copy.median_ms, kernel.median_ms))
    }

    /// Pushes some integrations and waits for them; milliseconds from the first push to the last visibility on the
    /// host.
    fn run(&self, size: Size, chunks: &mut [Option<Chunk>], out: &mut Out) -> Result<f64, Failure> {
        let inputs = Inputs::new(size.stations, 2).map_err(Failure::of)?;
        let schedule = DumpSchedule::new(1, size.times as u64, CHUNKS as u64)?;
        let backend = Backend::on(self.device.clone());
        let integrator = Integrator::<Sample>::new(&backend, schedule, inputs, size.channels)?;
        let mut integrator = integrator.in_32_bits(MissingData::Sum).dumps_on_device()?;
        // A dump that goes while it is copied would let the next products wait for that.
        let (number, mut dumps, mut held) = (chunks.len(), 0, None);
        let start = Instant::now();
        for index in 0..INTEGRATIONS * CHUNKS {
            let place = &mut chunks[index % number];
            let Some(chunk) = place.take() else { return Err(Failure::of("a chunk is not there")) };
            let first_sample = (index * size.times) as u64;
            let clock = SpectrumClock { first_sample, samples_between_spectra: 1, sample_rate_hz: 1.0 };
            let chunk = place.insert(chunk.with_clock(clock).map_err(Failure::of)?);
            for dump in integrator.push(chunk)? {
                out.send(&dump)?;
                dumps += 1;
                drop(held.replace(dump));
            }
        }
        out.stream.synchronize()?;
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        if dumps == INTEGRATIONS { Ok(time_ms) } else { Err(Failure::of(format!("{dumps} dumps"))) }
    }
}

/// Compares the first input's autocorrelation of the last integration and channel with its sum on the host.
fn check(out: &Out, shape: Shape, chunks: &[Option<Chunk>]) -> Result<(), End> {
    let mut expected = 0i64;
    for index in (INTEGRATIONS - 1) * CHUNKS..INTEGRATIONS * CHUNKS {
        let Some(chunk) = &chunks[index % chunks.len()] else { continue };
        let rows: &[u8] = bytemuck::cast_slice(chunk.array().as_slice().map_err(End::failed)?);
        for block in 0..shape.blocks() {
            let row = ((shape.channels() - 1) * shape.blocks() + block) * shape.inputs() * 128;
            let times = shape.times().saturating_sub(64 * block).min(64);
            expected += rows[row..row + 2 * times].iter().map(|&byte| i64::from(byte as i8).pow(2)).sum::<i64>();
        }
    }
    let place = (shape.channels() - 1) * shape.baselines();
    let actual = out.host.as_slice()?[place];
    if i64::from(actual.re) == expected.min(i32::MAX.into()) && actual.im == 0 {
        Ok(())
    } else {
        Err(End::failed(format!("an autocorrelation of the last channel: expected {expected}, got {actual:?}")))
    }
}
