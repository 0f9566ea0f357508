//! Chunks that a program has, or makes, as a source.

use super::{Received, Source, SourceInfo};
use crate::BoxError;

/// The chunks of an iterator.
///
/// ```
/// use fringes_stream::source::{Blocks, Received, Source, SourceInfo};
/// use fringes_types::{Inputs, Samples};
/// use ndarray::Array2;
///
/// let inputs = Inputs::single_pol(2)?;
/// let info = SourceInfo {
///     label: "zeros".into(), inputs, sample_rate_hz: 1e6, sample_zero: None, end_sample: Some(300),
/// };
/// let chunks = (0..3u64).map(move |chunk| {
///     let samples = Samples::new(Array2::<i8>::zeros((2, 100)), inputs)?.with_first_sample(100 * chunk);
///     Ok(Received::Samples(samples.with_sample_rate(1e6)?.into()))
/// });
/// let mut source = Blocks::new(info, chunks);
/// assert!(matches!(source.next()?, Some(Received::Samples(block)) if block.first_sample() == 0));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Blocks<I> {
    info: SourceInfo,
    chunks: I,
}

impl<I> std::fmt::Debug for Blocks<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks").field("info", &self.info).finish_non_exhaustive()
    }
}

impl<I: Iterator<Item = Result<Received, BoxError>> + Send> Blocks<I> {
    /// A source of these chunks.
    pub fn new(info: SourceInfo, chunks: I) -> Self {
        Self { info, chunks }
    }
}

impl<I: Iterator<Item = Result<Received, BoxError>> + Send> Source for Blocks<I> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        self.chunks.next().transpose()
    }
}
