//! What a chunk's launches read beside samples: jobs and spans, on their way to the device.
//!
//! ```text
//! pinned memory    | span | span | ... | run | run | ...            48 bytes a span, 96 a run; read by a launch on a
//!                                                                   stream of its own, beside the spectra of the chunk
//!                                                                   before
//! device memory    | span | span | ... | job | job | job | ...      written by it, 80 bytes a job; read by the launch
//!                                                                   that moves rows and by the spectra's
//! ```

use std::ops::Range;

use fringes_backend::{DeviceError, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Event, PinnedBuffer, Stream};

use super::runs::LaunchJobs;
use crate::ChannelizerError;
use crate::internals::samples::{RunPieces, RunTable, SPAN, SPAN_PIECES, SampleKernels, Span};
use crate::internals::{After, JOB_PIECES, JobTable, RUN_WORDS, Run, RunSizes};

/// Tables that may be on their way: so many chunks may be queued before the host waits for one to begin.
pub(super) const TABLES: usize = 4;

/// Spans and jobs of the last chunks, in memory that is used in turn.
#[derive(Debug)]
pub(super) struct Tables {
    pinned: Staging,
    sent: Vec<Sent>,
    turn: usize,
    /// Where they come to the device, though others' blocks fill it.
    stream: Stream,
}

/// A chunk's, on the device.
#[derive(Debug)]
struct Sent {
    pieces: Buffer<[u32; 4]>,
    /// When they have come.
    come: Event,
    /// When all that reads them is done.
    read: Event,
    /// Whether that is to be recorded.
    open: bool,
}

/// What a chunk is to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    spans: usize,
    runs: usize,
    /// Jobs of all runs, and of the longest.
    jobs: usize,
    most_jobs: usize,
    sizes: RunSizes,
    /// Bits of the longest span.
    most_bits: u64,
    /// Of pinned memory.
    bytes: usize,
}

impl Written {
    /// Spans, and the bits of the longest.
    pub(super) fn rows(&self) -> (usize, u64) {
        (self.spans, self.most_bits)
    }

    /// Pieces of 16 bytes on the device.
    fn pieces(&self) -> usize {
        self.spans * SPAN_PIECES + self.jobs * JOB_PIECES
    }
}

impl Tables {
    pub(super) fn new(device: &Device) -> Result<Self, ChannelizerError> {
        let sent = || -> Result<Sent, ChannelizerError> {
            let [come, read] = [device.new_untimed_event()?, device.new_untimed_event()?];
            Ok(Sent { pieces: Buffer::alloc(device, 0)?, come, read, open: false })
        };
        let sent = (0..TABLES).map(|_| sent()).collect::<Result<_, _>>()?;
        Ok(Self { pinned: Staging::new(TABLES), sent, turn: 0, stream: device.new_urgent_stream()? })
    }

    /// Writes a chunk's to pinned memory, and makes room on the device for its spans and the `jobs` jobs of its runs.
    pub(super) fn write(
        &mut self,
        spans: &[Span],
        (runs, jobs, sizes): (&[Run], usize, RunSizes),
    ) -> Result<Written, ChannelizerError> {
        let device = self.stream.device();
        let bytes = write(&mut self.pinned, device, spans, runs)?;
        let (most_bits, most_jobs) = (most_bits(spans), most_jobs(runs, &sizes));
        let written = Written { spans: spans.len(), runs: runs.len(), jobs, most_jobs, sizes, most_bits, bytes };
        let to = &mut self.sent[self.turn].pieces;
        if to.len() < written.pieces() {
            // A quarter more, so that chunks of nearly the same length share it.
            let pieces = written.pieces().saturating_add(written.pieces() / 4);
            *to = Buffer::alloc(device, pieces)?;
        }
        Ok(written)
    }

    /// Writes spans alone to pinned memory; their bytes, and how many they are, with the bits of the longest.
    pub(super) fn write_spans(&mut self, spans: &[Span]) -> Result<(usize, (usize, u64)), ChannelizerError> {
        let bytes = write(&mut self.pinned, self.stream.device(), spans, &[])?;
        Ok((bytes, (spans.len(), most_bits(spans))))
    }

    /// What was written last, in pinned memory.
    pub(super) fn written(&self, bytes: usize) -> Result<(&PinnedBuffer<u8>, Range<usize>), ChannelizerError> {
        self::written(&self.pinned, bytes)
    }

    /// Queues what was written last on its way to the device; what `stream` is given next waits for it.
    pub(super) fn send(
        &mut self,
        kernels: &SampleKernels,
        stream: &Stream,
        written: &Written,
    ) -> Result<(), ChannelizerError> {
        let Sent { pieces, come, read, open } = &mut self.sent[self.turn];
        if std::mem::replace(open, true) {
            // Of a chunk that failed, part of the work may be queued.
            read.record(stream)?;
        }
        self.stream.wait(read)?;
        let (pinned, bytes) = self::written(&self.pinned, written.bytes)?;
        let (copied, runs, most_jobs) = (written.spans * SPAN_PIECES, written.runs, written.most_jobs);
        let table = RunTable { pieces: RunPieces::Pinned(pinned, bytes), copied, runs, most_jobs };
        kernels.make_jobs(&self.stream, table, &written.sizes, pieces.slice_mut(..written.pieces())?)?;
        come.record(&self.stream)?;
        Ok(stream.wait(come)?)
    }

    /// Spans and jobs that were sent last, and jobs behind them of which parts are taken.
    pub(super) fn sent(&self, written: &Written) -> Result<SentJobs<'_>, ChannelizerError> {
        let pieces = self.sent[self.turn].pieces.slice(..written.pieces())?;
        Ok(SentJobs { pieces, before: written.spans * SPAN_PIECES })
    }

    /// Says that all that reads what was sent last is queued, and goes on to the next.
    pub(super) fn read_queued(&mut self, stream: &Stream) -> Result<(), ChannelizerError> {
        let sent = &mut self.sent[self.turn];
        sent.read.record(stream)?;
        sent.open = false;
        self.turn = (self.turn + 1) % self.sent.len();
        Ok(())
    }
}

/// Jobs in device memory, and spans before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentJobs<'a> {
    pub(super) pieces: BufferView<'a, [u32; 4]>,
    /// Pieces of spans.
    before: usize,
}

impl<'a> SentJobs<'a> {
    /// Some of them, for a launch, of which those that are not ready wait for what is moved.
    pub(super) fn part(&self, part: &LaunchJobs, moved: &'a Event) -> Result<JobTable<'a>, ChannelizerError> {
        let LaunchJobs { jobs, ready } = part;
        let place = |job: usize| self.before + job * JOB_PIECES;
        let words = self.pieces.slice(place(jobs.start)..place(jobs.end))?;
        Ok(JobTable { words, count: jobs.len(), after: Some(After { ready: *ready, moved }) })
    }
}

/// Bits of the longest span.
fn most_bits(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.bits()).max().unwrap_or(0)
}

/// Jobs of the longest run.
fn most_jobs(runs: &[Run], sizes: &RunSizes) -> usize {
    runs.iter().map(|run| run.jobs(sizes.length)).max().unwrap_or(0)
}

/// Makes the jobs of runs in memory of a pool, in the order of a stream.
pub(super) fn make_jobs(
    kernels: &SampleKernels,
    (stream, pool): (&Stream, &BufferPool),
    staging: &mut Staging,
    (runs, jobs, sizes): (&[Run], usize, &RunSizes),
) -> Result<Buffer<[u32; 4]>, ChannelizerError> {
    let words: Vec<u32> = runs.iter().flat_map(Run::words).collect();
    let sent: Buffer<[u32; 4]> = staging.send(stream, pool, bytemuck::cast_slice(&words))?;
    let mut made = pool.take(stream, jobs.saturating_mul(JOB_PIECES))?;
    let (pieces, most_jobs) = (RunPieces::Device(sent.view()), most_jobs(runs, sizes));
    let table = RunTable { pieces, copied: 0, runs: runs.len(), most_jobs };
    kernels.make_jobs(stream, table, sizes, made.view_mut())?;
    Ok(made)
}

/// Writes spans and runs to the next piece of pinned memory; says how many bytes they are.
pub(crate) fn write(
    staging: &mut Staging,
    device: &Device,
    spans: &[Span],
    runs: &[Run],
) -> Result<usize, ChannelizerError> {
    let mut words: Vec<u32> = Vec::with_capacity(2 * SPAN * spans.len() + RUN_WORDS * runs.len());
    for span in spans {
        words.extend(span.words().into_iter().flat_map(|long| [long as u32, (long >> 32) as u32]));
    }
    for run in runs {
        words.extend_from_slice(&run.words());
    }
    // Devices are little-endian, as the hosts that have them.
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let piece = staging.next(device, bytes.len())?.as_mut_slice().map_err(DeviceError::from)?;
    piece[..bytes.len()].copy_from_slice(bytes);
    Ok(bytes.len())
}

/// What [`write`] wrote last.
pub(crate) fn written(staging: &Staging, bytes: usize) -> Result<(&PinnedBuffer<u8>, Range<usize>), ChannelizerError> {
    match staging.last() {
        Some(piece) => Ok((piece, 0..bytes)),
        None => Err(DeviceError::Length { buffer: "tables of a chunk", expected: bytes, actual: 0 }.into()),
    }
}
