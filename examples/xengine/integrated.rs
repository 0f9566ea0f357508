//! The whole X-engine from pinned host memory (the paper's Algorithm 1): voltages go to the device while those before them are correlated, and visibilities
//! go back while the next integration begins.
//!
//! ```text
//! copies in    rows 0 | rows 1 | rows 2 | ...
//! kernels             | rows 0 | rows 1 | ... | clamp |
//! copies out                                          | visibilities |
//! ```
//!
//! Rows have two buffers on the device, sums of 64 bits and visibilities of 32 one each. Each step waits on the device, by events, for what it
//! needs; the host waits at the end alone.

use fringes::correlator::internals::Shape;
use fringes::correlator::kernels::{Clamp, CorrelatorKernels, ReduceKernels, Reduction, Work};
use fringes::{BaselineOrder, Complex, Inputs};
use fringes_gpu::{Buffer, Device, Event, GpuError, PinnedBuffer, Stream};

use crate::engine::{Failure, legal_bytes};
use crate::gpu_report::End;
use crate::record::Size;

/// Chunks of rows of an integration: 65536 times where a chunk has 1024, as telescopes integrate tens of thousands of spectra at least.
pub(crate) const CHUNKS: usize = 64;

/// Integrations that follow each other in a run.
const INTEGRATIONS: usize = 4;

/// Bytes of voltages on the host, which are read over and over: more than the caches of a host hold.
const HOST_BYTES: usize = 512 << 20;

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
    reduce: ReduceKernels,
    /// Voltages, for sizes of any number of stations.
    host: PinnedBuffer<u8>,
}

/// Buffers of a size.
struct Buffers {
    kernels: CorrelatorKernels<Complex<i8>>,
    work: Work,
    rows: [Buffer<u8>; 2],
    sums: Buffer<Complex<i64>>,
    out: Buffer<Complex<i32>>,
    saturated: Buffer<u64>,
    host_out: PinnedBuffer<Complex<i32>>,
}

impl Buffers {
    /// Adds the products of a chunk's rows to the sums.
    fn accumulate(&mut self, stream: &Stream, buffer: usize) -> Result<(), fringes::CorrelatorError> {
        let rows = self.rows[buffer].view().cast()?;
        self.kernels.accumulate(stream, &self.work, rows, &mut self.sums.view_mut(), 1)
    }
}

/// The three queues, and what they tell each other.
struct Queues {
    copies_in: Stream,
    kernels: Stream,
    copies_out: Stream,
    /// Rows of each buffer have arrived.
    loaded: [Event; 2],
    /// Rows of each buffer are used up.
    used: [Event; 2],
    /// Visibilities are there.
    clamped: Event,
    /// Visibilities are on the host.
    gone: Event,
}

impl Queues {
    fn new(device: &Device) -> Result<Self, GpuError> {
        Ok(Self {
            copies_in: device.new_stream()?,
            kernels: device.new_stream()?,
            copies_out: device.new_stream()?,
            loaded: [device.new_event()?, device.new_event()?],
            used: [device.new_event()?, device.new_event()?],
            clamped: device.new_event()?,
            gone: device.new_event()?,
        })
    }
}

impl Integrated {
    /// Loads the kernels and makes the voltages.
    pub(crate) fn new(device: &Device) -> Result<Self, End> {
        let mut host = PinnedBuffer::zeroed(device, HOST_BYTES)?;
        legal_bytes(host.as_mut_slice()?);
        Ok(Self { device: device.clone(), reduce: ReduceKernels::load(device).map_err(End::failed)?, host })
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
        let needed = 2 * chunk + 24 * size.channels * size.baselines();
        Ok(2 * chunk <= HOST_BYTES && needed as f64 <= 0.8 * self.device.memory()?.free_bytes as f64)
    }

    /// Measures a size: medians of a few runs, of which one visibility of the last is compared with its sum on the host.
    pub(crate) fn measure(&self, size: Size, runs: usize) -> Result<Times, End> {
        let shape = Shape::new(size.channels, size.times, size.inputs());
        let shape = shape.ok_or_else(|| End::failed(format!("no launch has this size: {size:?}")))?;
        let queues = Queues::new(&self.device)?;
        let inputs = Inputs::new(size.stations, 2).map_err(End::failed)?;
        let mut buffers = Buffers {
            kernels: CorrelatorKernels::load(&self.device, inputs).map_err(End::failed)?,
            work: Work::rows(size.channels, size.times),
            rows: [Buffer::alloc(&self.device, shape.row_bytes())?, Buffer::alloc(&self.device, shape.row_bytes())?],
            sums: Buffer::zeroed(&queues.kernels, shape.visibilities())?,
            out: Buffer::alloc(&self.device, shape.visibilities())?,
            saturated: Buffer::zeroed(&queues.kernels, 1)?,
            host_out: PinnedBuffer::zeroed(&self.device, shape.visibilities())?,
        };
        let number = self.host.len() / shape.row_bytes();
        let chunk = |index: usize| {
            let start = index % number * shape.row_bytes();
            start..start + shape.row_bytes()
        };
        let copy = fringes_gpu::time(&queues.copies_in, 1, 2 * number, |index| {
            buffers.rows[index % 2].view_mut().copy_from_pinned(&queues.copies_in, &self.host, chunk(index))
        })?;
        let kernel = fringes_gpu::time(&queues.kernels, 2, CHUNKS, |index| {
            Ok::<_, Failure>(buffers.accumulate(&queues.kernels, index % 2)?)
        });
        let kernel = kernel.map_err(End::failed)?;
        let out = fringes_gpu::time(&queues.copies_out, 1, 4, |_| {
            buffers.out.view().copy_to_pinned(&queues.copies_out, &mut buffers.host_out, ..)
        })?;
        buffers.sums.view_mut().zero(&queues.kernels)?;
        let mut all_ms = Vec::new();
        for run in 0..=runs {
            let time = self.run(&queues, &mut buffers, size, chunk).map_err(End::failed)?;
            if run > 0 {
                all_ms.push(time / (INTEGRATIONS * CHUNKS) as f64);
            }
            self.check(&buffers, shape, chunk)?;
        }
        let all = fringes_gpu::Timing::new(all_ms)?;
        let out_ms = out.median_ms / CHUNKS as f64;
        Ok(Times { copy_ms: copy.median_ms, kernel_ms: kernel.median_ms, out_ms, all_ms: all.median_ms })
    }

    /// Queues some integrations and waits for them; milliseconds from the first copy in to the last one out.
    fn run(
        &self,
        queues: &Queues,
        buffers: &mut Buffers,
        size: Size,
        chunk: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<f64, Failure> {
        let Queues { copies_in, kernels, copies_out, loaded, used, clamped, gone } = queues;
        let inputs = Inputs::new(size.stations, 2).map_err(fringes::CorrelatorError::from)?;
        let reduction = Reduction { channels: size.channels, inputs, parts: 1, order: BaselineOrder::Triangle };
        let (start, end) = (self.device.new_event()?, self.device.new_event()?);
        start.record(copies_in)?;
        for index in 0..INTEGRATIONS * CHUNKS {
            let buffer = index % 2;
            if index >= 2 {
                copies_in.wait(&used[buffer])?;
            }
            buffers.rows[buffer].view_mut().copy_from_pinned(copies_in, &self.host, chunk(index))?;
            loaded[buffer].record(copies_in)?;
            kernels.wait(&loaded[buffer])?;
            buffers.accumulate(kernels, buffer)?;
            used[buffer].record(kernels)?;
            if index % CHUNKS == CHUNKS - 1 {
                if index >= CHUNKS {
                    kernels.wait(gone)?;
                }
                let clamp = Clamp { missing: None, saturated: buffers.saturated.view_mut() };
                self.reduce.clamp(kernels, reduction, buffers.sums.view(), &mut buffers.out.view_mut(), clamp)?;
                buffers.sums.view_mut().zero(kernels)?;
                clamped.record(kernels)?;
                copies_out.wait(clamped)?;
                buffers.out.view().copy_to_pinned(copies_out, &mut buffers.host_out, ..)?;
                gone.record(copies_out)?;
            }
        }
        copies_in.wait_for(kernels)?;
        copies_in.wait_for(copies_out)?;
        end.record(copies_in)?;
        end.synchronize()?;
        Ok(end.elapsed_ms(&start)?)
    }

    /// Compares the first input's autocorrelation of the last integration and channel with its sum on the host.
    fn check(
        &self,
        buffers: &Buffers,
        shape: Shape,
        chunk: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<(), End> {
        let voltages = self.host.as_slice()?;
        let mut expected = 0i64;
        for index in (INTEGRATIONS - 1) * CHUNKS..INTEGRATIONS * CHUNKS {
            let rows = &voltages[chunk(index)];
            for block in 0..shape.blocks() {
                let row = ((shape.channels() - 1) * shape.blocks() + block) * shape.inputs() * 128;
                let times = shape.times().saturating_sub(64 * block).min(64);
                expected += rows[row..row + 2 * times].iter().map(|&byte| i64::from(byte as i8).pow(2)).sum::<i64>();
            }
        }
        let place = (shape.channels() - 1) * shape.baselines();
        let actual = buffers.host_out.as_slice()?[place];
        if i64::from(actual.re) == expected.min(i32::MAX.into()) && actual.im == 0 {
            Ok(())
        } else {
            Err(End::failed(format!("an autocorrelation of the last channel: expected {expected}, got {actual:?}")))
        }
    }
}
