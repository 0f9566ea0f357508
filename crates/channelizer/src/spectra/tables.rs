//! What a chunk's launches read beside samples: jobs and spans, on their way to the device.
//!
//! ```text
//! pinned memory    | span | span | ... | job | job | ...      48 bytes a span, 80 a job; read by the launch
//!                                                             that begins a chunk
//! device memory    | span | span | ... | job | job | ...      written by it, read by the launch that moves rows and
//!                                                             by the spectra's
//! ```

use std::ops::Range;

use fringes_backend::{DeviceError, Staging};
use fringes_gpu::{Buffer, BufferPool, Device, PinnedBuffer, Stream};

use crate::ChannelizerError;
use crate::internals::samples::{SPAN, SPAN_PIECES, Span};
use crate::internals::{JOB_PIECES, JOB_WORDS, Job, JobTable};

/// Jobs in device memory, and spans before them.
#[derive(Debug)]
pub(super) struct SentJobs {
    pub(super) pieces: Buffer<[u32; 4]>,
    /// Pieces of spans.
    before: usize,
}

impl SentJobs {
    /// Room for so many spans and jobs.
    pub(super) fn take(
        stream: &Stream,
        pool: &BufferPool,
        (spans, jobs): (usize, usize),
    ) -> Result<Self, ChannelizerError> {
        let before = spans.saturating_mul(SPAN_PIECES);
        Ok(Self { pieces: pool.take(stream, before.saturating_add(jobs.saturating_mul(JOB_PIECES)))?, before })
    }

    /// Copies jobs there.
    pub(super) fn send(
        stream: &Stream,
        pool: &BufferPool,
        staging: &mut Staging,
        jobs: &[Job],
    ) -> Result<Self, ChannelizerError> {
        let words: Vec<u32> = jobs.iter().flat_map(Job::words).collect();
        Ok(Self { pieces: staging.send(stream, pool, bytemuck::cast_slice(&words))?, before: 0 })
    }

    /// Some of them, for a launch.
    pub(super) fn part(&self, part: &Range<usize>) -> Result<JobTable<'_>, ChannelizerError> {
        let place = |job: usize| self.before + job * JOB_PIECES;
        let words = self.pieces.slice(place(part.start)..place(part.end))?;
        Ok(JobTable { count: part.len(), words })
    }
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
