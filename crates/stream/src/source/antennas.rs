//! Some antennas of a source that has more.

use std::ops::Range;

use fringes_types::Inputs;

use super::{Received, Source, SourceCounts, SourceInfo};
use crate::{BoxError, SampleBlock, StreamError};

/// Gives the samples of some of a source's antennas; the others are read and dropped.
#[derive(Debug)]
pub struct Antennas<S> {
    source: S,
    info: SourceInfo,
    antennas: Range<usize>,
}

impl<S: Source> Antennas<S> {
    /// Antennas of a source.
    ///
    /// # Errors
    /// [`StreamError::Input`] for antennas that the source has not; [`StreamError::Types`] for none.
    pub fn new(source: S, antennas: Range<usize>) -> Result<Self, StreamError> {
        let all = source.info().inputs;
        if antennas.end > all.antennas() {
            let (expected, actual) = (format!("{} antennas", antennas.end), format!("{}", all.antennas()));
            return Err(StreamError::Input { expected, actual });
        }
        let info = SourceInfo { inputs: Inputs::new(antennas.len(), all.pols())?, ..source.info().clone() };
        Ok(Self { source, info, antennas })
    }
}

impl<S: Source> Source for Antennas<S> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn next(&mut self) -> Result<Option<Received>, BoxError> {
        Ok(match self.source.next()? {
            Some(Received::Samples(block)) => {
                let part = block.of_antennas(self.antennas.clone())?;
                self.source.recycle(block);
                Some(Received::Samples(part))
            }
            Some(Received::Heaps(heaps)) => {
                let (expected, actual) = ("samples".into(), heaps.format().into());
                return Err(StreamError::Input { expected, actual }.into());
            }
            other => other,
        })
    }

    fn counts(&self) -> SourceCounts {
        self.source.counts()
    }

    fn seek(&mut self, sample: u64) -> Result<bool, BoxError> {
        self.source.seek(sample)
    }

    fn recycle(&mut self, block: SampleBlock) {
        drop(block);
    }
}
