//! Detected beams as SIGPROC filterbanks.

use std::path::{Path, PathBuf};

use fringes_io::write::{BeamObservation, FilterbankWriter};

use super::{Product, Sink, Takes};
use crate::BoxError;

/// Writes detected beams, a file a beam: `beam-<number>.fil`. Where sums are missing a new file begins,
/// `beam-<number>-<first sample>.fil`: the format has no gaps.
#[derive(Debug)]
pub struct FilterbankSink {
    folder: PathBuf,
    observation: BeamObservation,
    writers: Vec<FilterbankWriter<f32>>,
    /// Stamp that the next sums must have.
    next: Option<u64>,
}

impl FilterbankSink {
    /// A sink that writes into a folder, which it makes if there is none.
    ///
    /// # Errors
    /// Of the file system.
    pub fn new(folder: &Path, observation: BeamObservation) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.into(), observation, writers: Vec::new(), next: None })
    }

    fn close(&mut self) -> Result<(), BoxError> {
        for writer in self.writers.drain(..) {
            writer.finish()?;
        }
        Ok(())
    }
}

impl Sink for FilterbankSink {
    fn name(&self) -> &str {
        "filterbank"
    }

    fn takes(&self) -> Takes {
        Takes::Beams
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        let Product::Beams(beams) = product else { return Ok(()) };
        if beams.times() == 0 {
            return Ok(());
        }
        let stamp = beams.clock().first_sample;
        if self.writers.is_empty() || self.next != Some(stamp) {
            let again = self.next.is_some();
            self.close()?;
            for beam in 0..beams.beams() {
                let name = if again { format!("beam-{beam}-{stamp:020}.fil") } else { format!("beam-{beam}.fil") };
                self.writers.push(FilterbankWriter::create(&self.folder.join(name), &self.observation, beam)?);
            }
        }
        for writer in &mut self.writers {
            writer.write(beams)?;
        }
        self.next = Some(beams.clock().sample_of(beams.times()));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        self.close()
    }
}
