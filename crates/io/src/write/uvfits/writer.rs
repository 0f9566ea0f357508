//! The file itself: header, groups as they come, antenna table, and the header again once their number is known.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fringes_delay_model::Geometry;
use fringes_types::{Accumulator, Visibilities};
use num_complex::Complex;
use sofars::consts::{CMPS, DAYSEC};

use super::groups::{Group, GroupLayout};
use crate::IoError;
use crate::write::visibilities::{TimedIntegration, Weights, pair_count, pairs, transpose};
use crate::write::{VisibilityCube, VisibilityHeader, VisibilityIntegration};

/// Size of a FITS block in bytes.
const BLOCK: u64 = 2880;

/// Writes a UVFITS file, one integration at a time; see the [module](super) for what it looks like.
///
/// One integration is held in memory. Without [`UvfitsWriter::finish`] the file claims no groups and has no antenna
/// table.
///
/// # Precision
/// Visibilities and weights are stored exactly. Times and baseline coordinates are the sum of two f32: relative error
/// at most 2^-48, that is below 1 ns in a day and 0.1 micrometre in 10000 km.
#[derive(Debug)]
pub struct UvfitsWriter {
    path: PathBuf,
    header: VisibilityHeader,
    layout: GroupLayout,
    file: BufWriter<File>,
    /// Bytes written since the start of the file.
    position: u64,
    groups: u64,
    /// One group.
    bytes: Vec<u8>,
    /// One integration, `[baseline][channel]`.
    transposed: Vec<Complex<f32>>,
}

impl UvfitsWriter {
    /// Starts a file, replacing one that exists. Nothing is created if the header is wrong.
    ///
    /// # Errors
    /// [`IoError::Types`] if the number of antennas in the table differs from the inputs', there are no channels, the
    /// channel width is 0 or a number is not finite; [`IoError::FitsText`] for a name that FITS cannot hold,
    /// [`IoError::FitsDate`] for a day outside the years 1960 to 9999, [`IoError::File`] if the file cannot be written.
    pub fn create(path: &Path, header: &VisibilityHeader) -> Result<Self, IoError> {
        let layout = header.group_layout()?;
        let blocks = header.cards(&layout, 0)?.to_blocks()?;
        header.antenna_table()?;
        let file = File::create(path).map_err(|source| IoError::File { path: path.into(), source })?;
        let mut writer = Self {
            path: path.into(),
            header: header.clone(),
            layout,
            file: BufWriter::with_capacity(1 << 18, file),
            position: 0,
            groups: 0,
            bytes: Vec::new(),
            transposed: Vec::new(),
        };
        writer.put(&blocks)?;
        Ok(writer)
    }

    /// Appends an integration: one group each of `m (m + 1) / 2` pairs of antennas.
    ///
    /// # Errors
    /// [`IoError::Types`] if a shape differs from the header's or a time, weight or coordinate is not finite;
    /// [`IoError::File`] if the file cannot be written.
    pub fn write_integration(&mut self, integration: &VisibilityIntegration<'_>) -> Result<(), IoError> {
        self.write_weighted(integration, Weights::alike(integration.weights))
    }

    /// Appends an integration with these weights in place of its own.
    fn write_weighted(&mut self, integration: &VisibilityIntegration<'_>, weights: Weights<'_>) -> Result<(), IoError> {
        integration.check(&self.header)?;
        let VisibilityIntegration { mid_seconds, integration_seconds, visibilities, uvw_m, .. } = *integration;
        transpose(visibilities, &mut self.transposed);
        for (ant1, ant2) in pairs(self.header.inputs) {
            let group = Group {
                ant1,
                ant2,
                day: mid_seconds / DAYSEC,
                seconds: integration_seconds as f32,
                uvw_s: [0, 1, 2].map(|axis| (uvw_m[(ant1, axis)] - uvw_m[(ant2, axis)]) / CMPS),
                visibilities: &self.transposed,
                weights,
            };
            self.layout.write(&group, &mut self.bytes);
            self.file.write_all(&self.bytes).map_err(|source| IoError::File { path: self.path.clone(), source })?;
            self.position += self.bytes.len() as u64;
        }
        self.groups += pair_count(self.header.inputs);
        Ok(())
    }

    /// Appends a correlator's dump in any baseline order, weighted by its numbers of valid samples, those of each
    /// channel where channels were masked: what was masked all the time has weight 0, which is flagged. `epoch_sample`
    /// is the sample that was taken at the geometry's epoch. The visibilities must be stopped on the geometry's phase
    /// centre.
    ///
    /// Every spectrum counts as the samples from its stamp to the next one's: for windows of several taps, the middle
    /// of the integration is really half of the other taps later.
    ///
    /// # Precision
    /// That of [`VisibilityCube::push_dump`].
    ///
    /// # Errors
    /// [`IoError::UnsetSampleRate`] if the dump's clock has none, [`IoError::Axis`] if its inputs or frequencies differ
    /// from the header's, [`IoError::Delay`] for a time at which the phase centre's direction is not known; as
    /// [`UvfitsWriter::write_integration`].
    pub fn write_dump<A: Accumulator>(
        &mut self,
        dump: &Visibilities<A>,
        geometry: &Geometry,
        epoch_sample: u64,
    ) -> Result<(), IoError> {
        let timed = TimedIntegration::of_dump(&self.header, dump, epoch_sample)?;
        timed.with_geometry(self.header.reference_mjd_day, geometry, |integration, weights| {
            self.write_weighted(integration, weights)
        })
    }

    /// Appends all integrations of a cube, each of `integration_seconds`, whose times count from the geometry's epoch.
    /// The visibilities must be stopped on the geometry's phase centre.
    ///
    /// # Errors
    /// [`IoError::Axis`] if the cube's inputs or frequencies differ from the header's, [`IoError::Delay`] for a time at
    /// which the phase centre's direction is not known; as [`UvfitsWriter::write_integration`].
    pub fn write_cube(
        &mut self,
        cube: &VisibilityCube,
        geometry: &Geometry,
        integration_seconds: f64,
    ) -> Result<(), IoError> {
        for timed in TimedIntegration::of_cube(&self.header, cube, integration_seconds)? {
            timed.with_geometry(self.header.reference_mjd_day, geometry, |integration, weights| {
                self.write_weighted(integration, weights)
            })?;
        }
        Ok(())
    }

    /// Ends the file: padding, antenna table, and the number of groups in the header. Returns that number.
    ///
    /// A file without integrations is valid FITS with no groups; most readers of UVFITS refuse it.
    ///
    /// # Errors
    /// [`IoError::File`] if the file cannot be written.
    pub fn finish(mut self) -> Result<u64, IoError> {
        let padding = (BLOCK - self.position % BLOCK) % BLOCK;
        self.put(&vec![0; padding as usize])?;
        let table = self.header.antenna_table()?;
        self.put(&table)?;
        // The same cards with another number, so the same blocks.
        let blocks = self.header.cards(&self.layout, self.groups)?.to_blocks()?;
        let Self { path, mut file, groups, .. } = self;
        let mut end = || {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&blocks)?;
            file.flush()
        };
        end().map_err(|source| IoError::File { path, source })?;
        Ok(groups)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.file.write_all(bytes).map_err(|source| IoError::File { path: self.path.clone(), source })?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
