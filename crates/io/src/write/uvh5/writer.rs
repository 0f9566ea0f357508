//! The file as it grows: integrations are appended, and made a part of it by a flush.

use std::path::Path;

use fringes_delay_model::{Geometry, Pointing};
use fringes_types::{Accumulator, Visibilities};
use num_complex::Complex;
use sofars::consts::DAYSEC;

use super::fields::{Column, description};
use super::hdf5::GrowingFile;
use super::sky::{Sky, check_phase_centre, pointing};
use crate::IoError;
use crate::write::visibilities::{
    PairProduct, TimedIntegration, Weights, finite_or_flagged, pair_count, pair_products, pairs, transpose,
};
use crate::write::{VisibilityCube, VisibilityHeader, VisibilityIntegration};

/// Visibilities are written once so many bytes of them are together.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Writes a UVH5 file, one integration at a time; see the [module](super) for what it looks like.
///
/// [`append_dump`](Self::append_dump) and its like write an integration, [`flush`](Self::flush) makes it a part of the
/// file. A process that dies in between, even by `kill -9`, leaves a whole file of all that was flushed.
///
/// One integration is held in memory, however long the file is.
///
/// # Precision
/// Visibilities and weights are stored exactly, all else as f64. A Julian date in f64 is a multiple of 2^-31 days (40
/// microseconds).
#[derive(Debug)]
pub struct Uvh5Writer {
    file: GrowingFile,
    header: VisibilityHeader,
    /// The header's phase centre, from the reference day's midnight on.
    pointing: Pointing,
    /// Julian date of the last integration.
    last: Option<f64>,
    /// Whether an integration was begun and not ended.
    broken: bool,
    /// One integration, `[baseline][channel]`.
    transposed: Vec<Complex<f32>>,
    piece: Piece,
}

/// Rows of the three large datasets.
#[derive(Debug, Default)]
struct Piece {
    /// Rows of the integration before these.
    before: u64,
    rows: u64,
    visibilities: Vec<u8>,
    flags: Vec<u8>,
    samples: Vec<u8>,
}

impl Uvh5Writer {
    /// Starts a file where there is none. Nothing is created if the header is wrong. (A process that is killed within
    /// this call may leave a file that nothing reads, and [`Uvh5Writer::resume`] refuses.)
    ///
    /// # Errors
    /// [`IoError::Types`] if the number of antennas in the table differs from the inputs', there are no channels, the
    /// channel width is 0, a number is not finite or a row has 4 GiB; [`IoError::FitsText`] for a name that UVFITS
    /// could not hold either, [`IoError::FitsDate`] and [`IoError::Delay`] for a day or a place that cannot be used;
    /// [`IoError::File`] if the file exists or cannot be written.
    pub fn create(path: &Path, header: &VisibilityHeader) -> Result<Self, IoError> {
        let (description, pointing) = (description(header)?, pointing(header)?);
        let file = GrowingFile::create(path, &description)?;
        Ok(Self::new(file, header, pointing, None))
    }

    /// Opens a file of this writer to append to it, at its last flush.
    ///
    /// The header must be that of the file; its reference day and UT1 - UTC may be others, as after a night. What was
    /// appended and never flushed is cut off. [`Uvh5Writer::last_mid_seconds`] tells where the file ends.
    ///
    /// # Errors
    /// As [`Uvh5Writer::create`] for the header; [`IoError::File`] if the file cannot be opened for writing,
    /// [`IoError::NotUvh5`] for a file of another program or version, [`IoError::Field`] if the header differs from the
    /// file's, [`IoError::Truncated`] for a file that was cut.
    pub fn resume(path: &Path, header: &VisibilityHeader) -> Result<Self, IoError> {
        let (description, pointing) = (description(header)?, pointing(header)?);
        let mut file = GrowingFile::resume(path, &description)?;
        whole_integrations(&file, header)?;
        let last = file.last_row(Column::Time as usize)?;
        let last = last.and_then(|bytes| bytes.try_into().ok()).map(f64::from_le_bytes);
        Ok(Self::new(file, header, pointing, last))
    }

    fn new(file: GrowingFile, header: &VisibilityHeader, pointing: Pointing, last: Option<f64>) -> Self {
        let (header, transposed, piece) = (header.clone(), Vec::new(), Piece::default());
        Self { file, header, pointing, last, broken: false, transposed, piece }
    }

    /// Number of integrations, flushed or not.
    pub fn integrations(&self) -> u64 {
        self.file.rows() / pair_count(self.header.inputs)
    }

    /// Middle of the last integration in seconds after midnight of [`VisibilityHeader::reference_mjd_day`], as the file
    /// has it: good to 20 microseconds. `None` if there is none.
    pub fn last_mid_seconds(&self) -> Option<f64> {
        self.last.map(|julian_date| (julian_date - self.header.reference_julian_date()) * DAYSEC)
    }

    /// Appends an integration: a row each of `m (m + 1) / 2` pairs of antennas.
    ///
    /// # Errors
    /// [`IoError::Types`] if a shape differs from the header's or a time, weight or coordinate is not finite;
    /// [`IoError::TimeOrder`] if the integration is not later than the one before it by what a Julian date can tell;
    /// [`IoError::Delay`] for a time at which the phase centre's direction is not known; [`IoError::File`] if the file
    /// cannot be written. After that, [`IoError::Unfinished`]: what was appended before can still be flushed, and
    /// [`Uvh5Writer::resume`] goes on behind it.
    pub fn append_integration(&mut self, integration: &VisibilityIntegration<'_>) -> Result<(), IoError> {
        let sky = Sky::of(&self.pointing, integration.mid_seconds);
        // What is wrong with the time itself is told first.
        integration.check(&self.header)?;
        self.append(integration, Weights::alike(integration.weights), &sky?)
    }

    /// Appends a correlator's dump in any baseline order, weighted by its numbers of valid samples, those of each
    /// channel where channels were masked; `epoch_sample` is the sample that was taken at the geometry's epoch. The
    /// visibilities must be stopped on the geometry's phase centre, which is the header's.
    ///
    /// Every spectrum counts as the samples from its stamp to the next one's: for windows of several taps, the middle
    /// of the integration is really half of the other taps later.
    ///
    /// # Precision
    /// That of [`VisibilityCube::push_dump`].
    ///
    /// # Errors
    /// [`IoError::UnsetSampleRate`] if the dump's clock has none, [`IoError::Axis`] if its inputs or frequencies or the
    /// phase centre differ from the header's; as [`Uvh5Writer::append_integration`].
    pub fn append_dump<A: Accumulator>(
        &mut self,
        dump: &Visibilities<A>,
        geometry: &Geometry,
        epoch_sample: u64,
    ) -> Result<(), IoError> {
        let timed = TimedIntegration::of_dump(&self.header, dump, epoch_sample)?;
        self.append_timed(&timed, geometry)
    }

    /// Appends all integrations of a cube, each of `integration_seconds`, whose times count from the geometry's epoch.
    /// The visibilities must be stopped on the geometry's phase centre, which is the header's.
    ///
    /// # Errors
    /// [`IoError::Axis`] if the cube's inputs or frequencies or the phase centre differ from the header's; as
    /// [`Uvh5Writer::append_integration`].
    pub fn append_cube(
        &mut self,
        cube: &VisibilityCube,
        geometry: &Geometry,
        integration_seconds: f64,
    ) -> Result<(), IoError> {
        let integrations = TimedIntegration::of_cube(&self.header, cube, integration_seconds)?;
        integrations.iter().try_for_each(|timed| self.append_timed(timed, geometry))
    }

    /// Makes everything that was appended a part of the file, by one write: a process that is killed afterwards leaves
    /// it whole. Does not wait for the drive; [`Uvh5Writer::sync`] does.
    ///
    /// # Errors
    /// [`IoError::File`] if the file cannot be written: it is then what it was at the flush before.
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.file.commit()
    }

    /// As [`Uvh5Writer::flush`], and waits until the drive has it, so that it outlives a loss of power.
    ///
    /// # Errors
    /// As [`Uvh5Writer::flush`].
    pub fn sync(&mut self) -> Result<(), IoError> {
        self.file.commit_and_sync()
    }

    /// Ends the file, as [`Uvh5Writer::sync`] does. Returns the number of integrations.
    ///
    /// A file without integrations is valid HDF5 with empty arrays; pyuvdata refuses it.
    ///
    /// # Errors
    /// As [`Uvh5Writer::flush`].
    pub fn finish(mut self) -> Result<u64, IoError> {
        self.sync()?;
        Ok(self.integrations())
    }

    fn append_timed(&mut self, timed: &TimedIntegration<'_>, geometry: &Geometry) -> Result<(), IoError> {
        let pointing = geometry.pointing();
        check_phase_centre(&self.header, pointing)?;
        let sky = Sky::of(pointing, timed.seconds)?;
        timed.with_geometry(self.header.reference_mjd_day, geometry, |integration, weights| {
            integration.check(&self.header)?;
            self.append(integration, weights, &sky)
        })
    }

    /// Appends an integration that has been checked, with these weights in place of its own.
    fn append(
        &mut self,
        integration: &VisibilityIntegration<'_>,
        weights: Weights<'_>,
        sky: &Sky,
    ) -> Result<(), IoError> {
        if self.broken {
            return Err(IoError::Unfinished { path: self.file.path().into() });
        }
        let julian_date = self.header.reference_julian_date() + integration.mid_seconds / DAYSEC;
        if let Some(previous) = self.last.filter(|&last| julian_date <= last) {
            return Err(IoError::TimeOrder { previous, actual: julian_date });
        }
        self.broken = true;
        self.append_header(integration, julian_date, sky)?;
        self.append_data(integration, weights)?;
        self.broken = false;
        self.file.advance(pair_count(self.header.inputs));
        self.last = Some(julian_date);
        Ok(())
    }

    /// What the header has of each row.
    fn append_header(
        &mut self,
        integration: &VisibilityIntegration<'_>,
        julian_date: f64,
        sky: &Sky,
    ) -> Result<(), IoError> {
        let inputs = self.header.inputs;
        let rows = pair_count(inputs) as usize;
        for (column, value) in [
            (Column::Time, julian_date),
            (Column::Sidereal, sky.sidereal_rad),
            (Column::Length, integration.integration_seconds),
            (Column::ApparentRa, sky.ra_rad),
            (Column::ApparentDec, sky.dec_rad),
            (Column::PositionAngle, sky.position_angle_rad),
        ] {
            self.file.write(column as usize, 0, &value.to_le_bytes().repeat(rows))?;
        }
        let number = |antenna: usize| (antenna as i64 + 1).to_le_bytes();
        let first: Vec<u8> = pairs(inputs).flat_map(|(ant1, _)| number(ant1)).collect();
        let second: Vec<u8> = pairs(inputs).flat_map(|(_, ant2)| number(ant2)).collect();
        let uvw = integration.uvw_m;
        let along = |ant1, ant2, axis| uvw[(ant2, axis)] - uvw[(ant1, axis)];
        let baselines = pairs(inputs).flat_map(|(ant1, ant2)| [0, 1, 2].map(|axis| along(ant1, ant2, axis)));
        let baselines: Vec<u8> = baselines.flat_map(f64::to_le_bytes).collect();
        self.file.write(Column::Antenna1 as usize, 0, &first)?;
        self.file.write(Column::Antenna2 as usize, 0, &second)?;
        self.file.write(Column::Uvw as usize, 0, &baselines)?;
        self.file.write(Column::PhaseCentre as usize, 0, &vec![0; 8 * rows])
    }

    /// Visibilities, flags and numbers of samples, a piece at a time.
    fn append_data(&mut self, integration: &VisibilityIntegration<'_>, weights: Weights<'_>) -> Result<(), IoError> {
        let (inputs, channels) = (self.header.inputs, self.header.channels);
        transpose(integration.visibilities, &mut self.transposed);
        self.piece.clear(0);
        for (ant1, ant2) in pairs(inputs) {
            let products = pair_products(inputs, ant1, ant2).map(|PairProduct { baseline, conjugate }| {
                // The file's are conj(x_ant1) x_ant2.
                let sign = if conjugate { 1.0 } else { -1.0 };
                (&self.transposed[baseline * channels..][..channels], baseline, sign)
            });
            self.piece.push(channels, products, weights);
            if self.piece.visibilities.len() >= PIECE_BYTES {
                self.piece.write(&mut self.file)?;
            }
        }
        self.piece.write(&mut self.file)
    }
}

/// Number of integrations of a file; an error unless its rows are whole ones.
pub(super) fn whole_integrations(file: &GrowingFile, header: &VisibilityHeader) -> Result<u64, IoError> {
    let (rows, pairs) = (file.rows(), pair_count(header.inputs));
    if rows.is_multiple_of(pairs) {
        return Ok(rows / pairs);
    }
    let reason = format!("{rows} rows are not whole integrations");
    Err(IoError::NotUvh5 { path: file.path().into(), reason })
}

impl Piece {
    fn clear(&mut self, before: u64) {
        (self.before, self.rows) = (before, 0);
        self.visibilities.clear();
        self.flags.clear();
        self.samples.clear();
    }

    /// Appends a row `[channel][product]` of spectra with their baselines and the signs of their imaginary parts.
    fn push<'a>(
        &mut self,
        channels: usize,
        products: impl Iterator<Item = (&'a [Complex<f32>], usize, f32)>,
        weights: Weights<'_>,
    ) {
        let (visibilities, flags, samples) = (self.visibilities.len(), self.flags.len(), self.samples.len());
        let products: Vec<_> = products.collect();
        let values = channels * products.len();
        self.visibilities.resize(visibilities + 8 * values, 0);
        self.flags.resize(flags + values, 0);
        self.samples.resize(samples + 4 * values, 0);
        let step = products.len();
        let visibilities = self.visibilities[visibilities..].chunks_exact_mut(8 * step);
        let flags = self.flags[flags..].chunks_exact_mut(step);
        let samples = self.samples[samples..].chunks_exact_mut(4 * step);
        for (channel, ((cells, flags), samples)) in visibilities.zip(flags).zip(samples).enumerate() {
            let cells = cells.chunks_exact_mut(8).zip(flags).zip(samples.chunks_exact_mut(4));
            for (((cell, flag), sample), &(spectrum, baseline, sign)) in cells.zip(&products) {
                let (value, weight) = finite_or_flagged(spectrum[channel], weights.of(channel, baseline));
                cell[..4].copy_from_slice(&value.re.to_le_bytes());
                cell[4..].copy_from_slice(&(sign * value.im).to_le_bytes());
                *flag = u8::from(weight <= 0.0);
                sample.copy_from_slice(&weight.abs().to_le_bytes());
            }
        }
        self.rows += 1;
    }

    fn write(&mut self, file: &mut GrowingFile) -> Result<(), IoError> {
        file.write(Column::Visibilities as usize, self.before, &self.visibilities)?;
        file.write(Column::Flags as usize, self.before, &self.flags)?;
        file.write(Column::Samples as usize, self.before, &self.samples)?;
        self.clear(self.before + self.rows);
        Ok(())
    }
}
