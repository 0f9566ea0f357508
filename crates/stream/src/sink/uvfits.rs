//! Dumps as UVFITS.

use std::path::Path;

use fringes_delay_model::Geometry;
use fringes_io::write::{UvfitsHeader, UvfitsWriter};

use super::{Product, Sink, Takes, sums};
use crate::BoxError;

/// Writes the dumps of one cadence to a UVFITS file.
///
/// The header says how many integrations there are, so a file is readable once the sink has finished.
#[derive(Debug)]
pub struct UvfitsSink {
    /// `None` once it is finished.
    writer: Option<UvfitsWriter>,
    geometry: Geometry,
    epoch_sample: u64,
    cadence: usize,
}

impl UvfitsSink {
    /// Starts a file, replacing one that exists. Sample `epoch_sample` was taken at the geometry's epoch.
    ///
    /// # Errors
    /// As [`UvfitsWriter::create`].
    pub fn create(
        path: &Path,
        header: &UvfitsHeader,
        geometry: Geometry,
        epoch_sample: u64,
        cadence: usize,
    ) -> Result<Self, fringes_io::IoError> {
        Ok(Self { writer: Some(UvfitsWriter::create(path, header)?), geometry, epoch_sample, cadence })
    }
}

impl Sink for UvfitsSink {
    fn name(&self) -> &str {
        "uvfits"
    }

    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: self.cadence }
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        if let (Product::Dump(dump), Some(writer)) = (product, &mut self.writer) {
            sums!(&dump.sums, sums => writer.write_dump(sums, &self.geometry, self.epoch_sample)?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        Ok(())
    }
}
