//! Dumps as UVH5, appended one by one.

use std::path::Path;

use fringes_delay_model::Geometry;
use fringes_io::IoError;
use fringes_io::write::{Uvh5Writer, VisibilityHeader};

use super::{Product, Sink, Takes, sums};
use crate::BoxError;

/// Appends the dumps of one cadence to a UVH5 file, and flushes each: a process that is killed leaves a file with all
/// dumps that were written.
#[derive(Debug)]
pub struct Uvh5Sink {
    /// `None` once it is finished.
    writer: Option<Uvh5Writer>,
    geometry: Geometry,
    epoch_sample: u64,
    cadence: usize,
    /// The last dump of an earlier run: other sinks, or other ranks, may go on behind an earlier one.
    last: Option<u64>,
}

impl Uvh5Sink {
    /// Starts a file where there is none. Sample `epoch_sample` was taken at the geometry's epoch.
    ///
    /// # Errors
    /// As [`Uvh5Writer::create`].
    pub fn create(
        path: &Path,
        header: &VisibilityHeader,
        geometry: Geometry,
        epoch_sample: u64,
        cadence: usize,
    ) -> Result<Self, IoError> {
        Ok(Self { writer: Some(Uvh5Writer::create(path, header)?), geometry, epoch_sample, cadence, last: None })
    }

    /// Goes on with a file, behind its last dump (earlier ones that come again are left out); gives that dump's first
    /// sample, for [`Fx::resume_after`](crate::Fx::resume_after), `None` of a file without dumps. `dump_samples` is the
    /// samples of a dump, whose first samples are multiples of it.
    ///
    /// # Errors
    /// As [`Uvh5Writer::resume`].
    pub fn resume(
        path: &Path,
        header: &VisibilityHeader,
        geometry: Geometry,
        [epoch_sample, dump_samples]: [u64; 2],
        sample_rate_hz: f64,
        cadence: usize,
    ) -> Result<(Self, Option<u64>), IoError> {
        let writer = Uvh5Writer::resume(path, header)?;
        let epoch = geometry.pointing().epoch();
        let days = epoch.mjd_day.saturating_sub(header.reference_mjd_day) as f64;
        let last = writer.last_mid_seconds().map(|middle| {
            let seconds = middle - days * 86_400.0 - epoch.seconds;
            // Times in the file are good to 20 microseconds, which is less than half a dump.
            let middle = seconds * sample_rate_hz + epoch_sample as f64;
            ((middle / dump_samples as f64).floor().max(0.0) as u64).saturating_mul(dump_samples)
        });
        Ok((Self { writer: Some(writer), geometry, epoch_sample, cadence, last }, last))
    }
}

impl Sink for Uvh5Sink {
    fn name(&self) -> &str {
        "uvh5"
    }

    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: self.cadence }
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        if let (Product::Dump(dump), Some(writer)) = (product, &mut self.writer)
            && self.last.is_none_or(|last| dump.sums.first_sample() > last)
        {
            sums!(&dump.sums, sums => writer.append_dump(sums, &self.geometry, self.epoch_sample)?);
            writer.flush()?;
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
