//! Dumps as npz, a file each.

use std::path::{Path, PathBuf};

use fringes_io::write::{VisibilityCube, write_visibilities_npz};

use super::{Product, Sink, Takes, sums};
use crate::BoxError;

/// Writes each dump of one cadence to a file of its own in a folder: `dump-<first sample>.npz`, 20 digits, so that the
/// order of names is that of time. A file appears under its name when it is complete.
#[derive(Debug)]
pub struct NpzSink {
    folder: PathBuf,
    cadence: usize,
}

impl NpzSink {
    /// A sink that writes into a folder, which it makes if there is none.
    ///
    /// # Errors
    /// Of the file system.
    pub fn new(folder: &Path, cadence: usize) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.into(), cadence })
    }

    /// First sample of the last dump in a folder; `None` if there is none.
    ///
    /// # Errors
    /// Of the file system.
    pub fn last_dump(folder: &Path) -> std::io::Result<Option<u64>> {
        let mut last = None;
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            let stamp = name.to_str().and_then(|name| name.strip_prefix("dump-")?.strip_suffix(".npz")?.parse().ok());
            last = last.max(stamp);
        }
        Ok(last)
    }
}

impl Sink for NpzSink {
    fn name(&self) -> &str {
        "npz"
    }

    fn takes(&self) -> Takes {
        Takes::Dumps { cadence: self.cadence }
    }

    fn write(&mut self, product: &Product) -> Result<(), BoxError> {
        let Product::Dump(dump) = product else { return Ok(()) };
        sums!(&dump.sums, sums => {
            let mut cube = VisibilityCube::new(sums.inputs(), sums.channels(), sums.frequencies())?;
            let clock = sums.clock();
            let middle = clock.first_sample as f64
                + 0.5 * sums.times() as f64 * clock.samples_between_spectra as f64;
            cube.push_dump(middle / clock.sample_rate_hz, sums)?;
            let name = format!("dump-{:020}.npz", clock.first_sample);
            let (part, path) = (self.folder.join(format!(".{name}.part")), self.folder.join(name));
            write_visibilities_npz(&part, &cube)?;
            std::fs::rename(part, path)?;
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
