//! Measuring candidates.

use crate::{GpuError, Stream, time};

use super::Choice;

/// A choice with work to measure it by.
pub struct Candidate<'a, E> {
    /// What it is.
    pub choice: Choice,
    /// Queues the work once. It does not wait for the device.
    pub work: Box<dyn FnMut() -> Result<(), E> + 'a>,
}

impl<'a, E> Candidate<'a, E> {
    /// A choice with its work.
    pub fn new(choice: Choice, work: impl FnMut() -> Result<(), E> + 'a) -> Self {
        Self { choice, work: Box::new(work) }
    }
}

impl<E> std::fmt::Debug for Candidate<'_, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Candidate").field("choice", &self.choice).finish_non_exhaustive()
    }
}

/// What measures work: [`EventTimer`], or something else in a test.
pub trait Measure {
    /// Median time of the work in milliseconds.
    ///
    /// # Errors
    /// What the work returns, or what goes wrong while it runs.
    fn median_ms<E: From<GpuError>>(&mut self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<f64, E>;
}

/// Measures work on a stream by events, some runs after a first one that does not count. It waits for the stream.
#[derive(Debug, Clone)]
pub struct EventTimer<'a> {
    stream: &'a Stream,
    runs: usize,
}

impl<'a> EventTimer<'a> {
    /// Medians of 5 runs.
    #[must_use]
    pub fn new(stream: &'a Stream) -> Self {
        Self { stream, runs: 5 }
    }

    /// Medians of so many runs, at least 1.
    #[must_use]
    pub fn with_runs(self, runs: usize) -> Self {
        Self { runs: runs.max(1), ..self }
    }
}

impl Measure for EventTimer<'_> {
    fn median_ms<E: From<GpuError>>(&mut self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<f64, E> {
        Ok(time(self.stream, 1, self.runs, |_| work())?.median_ms)
    }
}
