//! What a chunk's launches read beside samples: jobs and spans, on their way to the device.
//!
//! ```text
//! pinned memory    | span | span | ... | job | job | ...      48 bytes a span, 80 a job; read by a launch on a stream
//!                                                             of its own, beside the spectra of the chunk before
//! device memory    | span | span | ... | job | job | ...      written by it, read by the launch that moves rows and
//!                                                             by the spectra's
//! ```

use std::ops::Range;

use fringes_backend::{DeviceError, Staging};
use fringes_gpu::{Buffer, BufferPool, BufferView, Device, Event, PinnedBuffer, Stream};

use crate::ChannelizerError;
use crate::internals::samples::{SPAN, SPAN_PIECES, SampleKernels, Span};
use crate::internals::{JOB_PIECES, JOB_WORDS, Job, JobTable};

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
    jobs: usize,
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

    /// Pieces of 16 bytes.
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

    /// Writes a chunk's to pinned memory, and makes room for them on the device.
    pub(super) fn write(&mut self, spans: &[Span], jobs: &[Job]) -> Result<Written, ChannelizerError> {
        let device = self.stream.device();
        let bytes = write(&mut self.pinned, device, spans, jobs)?;
        let most_bits = spans.iter().map(|span| span.bits()).max().unwrap_or(0);
        let written = Written { spans: spans.len(), jobs: jobs.len(), most_bits, bytes };
        let to = &mut self.sent[self.turn].pieces;
        if to.len() < written.pieces() {
            // A quarter more, so that chunks of nearly the same length share it.
            let pieces = written.pieces().saturating_add(written.pieces() / 4);
            *to = Buffer::alloc(device, pieces)?;
        }
        Ok(written)
    }

    /// What was written last, in pinned memory.
    pub(super) fn written(&self, written: &Written) -> Result<(&PinnedBuffer<u8>, Range<usize>), ChannelizerError> {
        self::written(&self.pinned, written.bytes)
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
        let (from, to) = (self::written(&self.pinned, written.bytes)?, pieces.slice_mut(..written.pieces())?);
        kernels.bring(&self.stream, from, to)?;
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
    /// Jobs alone.
    pub(super) fn of(pieces: BufferView<'a, [u32; 4]>) -> Self {
        Self { pieces, before: 0 }
    }

    /// Some of them, for a launch.
    pub(super) fn part(&self, part: &Range<usize>) -> Result<JobTable<'a>, ChannelizerError> {
        let place = |job: usize| self.before + job * JOB_PIECES;
        let words = self.pieces.slice(place(part.start)..place(part.end))?;
        Ok(JobTable { count: part.len(), words })
    }
}

/// Copies jobs to memory of a pool, in the order of a stream.
pub(super) fn send(
    stream: &Stream,
    pool: &BufferPool,
    staging: &mut Staging,
    jobs: &[Job],
) -> Result<Buffer<[u32; 4]>, ChannelizerError> {
    let words: Vec<u32> = jobs.iter().flat_map(Job::words).collect();
    Ok(staging.send(stream, pool, bytemuck::cast_slice(&words))?)
}

/// Writes spans and jobs to the next piece of pinned memory; says how many bytes they are.
pub(crate) fn write(
    staging: &mut Staging,
    device: &Device,
    spans: &[Span],
    jobs: &[Job],
) -> Result<usize, ChannelizerError> {
    let mut words: Vec<u32> = Vec::with_capacity(2 * SPAN * spans.len() + JOB_WORDS * jobs.len());
    for span in spans {
        words.extend(span.words().into_iter().flat_map(|long| [long as u32, (long >> 32) as u32]));
    }
    for job in jobs {
        words.extend_from_slice(&job.words());
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
