//! What a chunk's launches read beside samples: jobs and spans, sent in one copy through pinned memory.

use std::ops::Range;

use fringes_backend::Staging;
use fringes_gpu::{Buffer, BufferPool, BufferView, Stream};

use crate::ChannelizerError;
use crate::gpu::samples::Span;
use crate::gpu::{Job, JobTable};

/// Words of 16 bytes at which pieces begin.
const ALIGNMENT: usize = 4;

/// Pieces of a table that is being made.
#[derive(Debug, Default)]
pub(super) struct Tables {
    words: Vec<u32>,
}

/// Where a piece lies, in words.
#[derive(Debug, Clone)]
pub(super) struct Piece(Range<usize>);

impl Tables {
    /// Adds a job's words.
    pub(super) fn jobs(&mut self, jobs: &[Job]) -> Piece {
        self.piece(jobs.iter().flat_map(Job::words))
    }

    /// Adds spans.
    pub(super) fn spans(&mut self, spans: &[Span]) -> Piece {
        self.piece(spans.iter().flat_map(|span| span.words()).flat_map(|long| [long as u32, (long >> 32) as u32]))
    }

    fn piece(&mut self, words: impl Iterator<Item = u32>) -> Piece {
        self.words.resize(self.words.len().next_multiple_of(ALIGNMENT), 0);
        let start = self.words.len();
        self.words.extend(words);
        Piece(start..self.words.len())
    }

    /// Sends everything.
    pub(super) fn send(
        &self,
        stream: &Stream,
        pool: &BufferPool,
        staging: &mut Staging,
    ) -> Result<Sent, ChannelizerError> {
        Ok(Sent { words: staging.send(stream, pool, &self.words)? })
    }
}

/// A table on a device.
#[derive(Debug)]
pub(super) struct Sent {
    words: Buffer<u32>,
}

impl Sent {
    pub(super) fn jobs(&self, piece: &Piece) -> Result<JobTable<'_>, ChannelizerError> {
        let words: BufferView<'_, [u32; 4]> = self.words.slice(piece.0.clone())?.cast()?;
        Ok(JobTable { count: words.len() / crate::gpu::JOB_PIECES, words })
    }

    pub(super) fn spans(&self, piece: &Piece) -> Result<BufferView<'_, u64>, ChannelizerError> {
        Ok(self.words.slice(piece.0.clone())?.cast()?)
    }
}
