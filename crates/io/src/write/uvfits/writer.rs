//! The file itself: header, groups as they come, antenna table, and the header again once their number is known.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fringes_delay_model::{Geometry, SampleClock};
use fringes_types::{Accumulator, Dimension, Frequencies, Inputs, TypesError, Visibilities};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use num_complex::Complex;
use sofars::consts::{CMPS, DAYSEC};

use super::cards::check_finite;
use super::groups::{Group, GroupLayout, transpose};
use super::header::UvfitsHeader;
use crate::IoError;
use crate::write::VisibilityCube;
use crate::write::cube::{channel_weights, check_integration, triangle_of};

/// Size of a FITS block in bytes.
const BLOCK: u64 = 2880;

/// One integration of all baselines.
#[derive(Debug, Clone, Copy)]
pub struct UvfitsIntegration<'a> {
    /// Middle of the integration in seconds (UTC) after midnight of [`UvfitsHeader::reference_mjd_day`]; it may exceed
    /// a day.
    pub mid_seconds: f64,
    /// Length of the integration in seconds.
    pub integration_seconds: f64,
    /// Visibilities `[channel][baseline]`, packed lower triangle of inputs, stopped on the phase centre.
    pub visibilities: ArrayView2<'a, Complex<f32>>,
    /// Weights `[baseline]`, e.g. numbers of valid samples; 0 or less means flagged.
    pub weights: ArrayView1<'a, f32>,
    /// Position of each antenna in metres, `[antenna][3]`: u east, v north, w towards the phase centre.
    pub uvw_m: ArrayView2<'a, f64>,
}

/// Weights of an integration.
#[derive(Clone, Copy)]
struct Weights<'a> {
    /// `[baseline]`, of all channels.
    alike: ArrayView1<'a, f32>,
    /// `[channel][baseline]`, where channels differ.
    of_channels: Option<ArrayView2<'a, f32>>,
}

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
    header: UvfitsHeader,
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
    pub fn create(path: &Path, header: &UvfitsHeader) -> Result<Self, IoError> {
        let layout = header.check()?;
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
    pub fn write_integration(&mut self, integration: &UvfitsIntegration<'_>) -> Result<(), IoError> {
        self.write_weighted(integration, None)
    }

    /// Appends an integration; weights of channels, `[channel][baseline]`, are in place of the integration's.
    fn write_weighted(
        &mut self,
        integration: &UvfitsIntegration<'_>,
        of_channels: Option<ArrayView2<'_, f32>>,
    ) -> Result<(), IoError> {
        let UvfitsIntegration { mid_seconds, integration_seconds, visibilities, weights, uvw_m } = *integration;
        check_integration(self.header.inputs, self.header.channels, visibilities, weights)?;
        for (dimension, expected, actual) in
            [(Dimension::Antenna, self.header.inputs.antennas(), uvw_m.nrows()), (Dimension::Time, 3, uvw_m.ncols())]
        {
            if expected != actual {
                return Err(TypesError::Dimension { array: "uvw", dimension, expected, actual }.into());
            }
        }
        check_finite("middle of the integration in seconds", mid_seconds, &[])?;
        check_finite("length of the integration in seconds", integration_seconds, &[])?;
        for (baseline, &weight) in weights.iter().enumerate() {
            check_finite("weight", f64::from(weight), &[baseline])?;
        }
        for ((antenna, axis), &metres) in uvw_m.indexed_iter() {
            check_finite("uvw in metres", metres, &[antenna, axis])?;
        }
        let alike = weights.insert_axis(Axis(0));
        let of_channels = of_channels.or_else(|| alike.broadcast(visibilities.dim()));
        let Some(weights) = of_channels.filter(|weights| weights.dim() == visibilities.dim()) else {
            let (expected, actual) = (visibilities.nrows(), of_channels.map_or(0, |weights| weights.nrows()));
            let (array, dimension) = ("weights of channels", Dimension::Channel);
            return Err(TypesError::Dimension { array, dimension, expected, actual }.into());
        };
        transpose(visibilities, &mut self.transposed);
        for (ant1, ant2) in self.layout.pairs() {
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
        self.groups += self.layout.groups();
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
        let clock = dump.clock();
        if !clock.has_sample_rate() {
            return Err(IoError::UnsetSampleRate);
        }
        self.check_axes(dump.inputs(), dump.frequencies())?;
        let integration_seconds = dump.times() as f64 * clock.spectrum_seconds();
        let start = SampleClock { epoch_sample, sample_rate_hz: clock.sample_rate_hz }.seconds(clock.first_sample);
        let (visibilities, weights) = triangle_of(dump)?;
        let of_channels = channel_weights(dump)?;
        let weights = Weights {
            alike: ArrayView1::from(&weights),
            of_channels: of_channels.as_ref().map(|weights| weights.view()),
        };
        let middle = start + integration_seconds / 2.0;
        self.write_at(middle, integration_seconds, visibilities.view(), weights, geometry)
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
        self.check_axes(cube.inputs(), cube.frequencies())?;
        let (data, of_channels) = (cube.data(), cube.channel_weight());
        for (number, ((visibilities, alike), &middle)) in
            data.axis_iter(Axis(0)).zip(cube.weight().axis_iter(Axis(0))).zip(cube.time_s()).enumerate()
        {
            let of_channels = of_channels.as_ref().map(|weights| weights.index_axis(Axis(0), number));
            let weights = Weights { alike, of_channels };
            self.write_at(middle, integration_seconds, visibilities, weights, geometry)?;
        }
        Ok(())
    }

    /// Appends an integration whose middle is so many seconds after the geometry's epoch.
    fn write_at(
        &mut self,
        seconds: f64,
        integration_seconds: f64,
        visibilities: ArrayView2<'_, Complex<f32>>,
        weights: Weights<'_>,
        geometry: &Geometry,
    ) -> Result<(), IoError> {
        let epoch = geometry.pointing().epoch();
        let days = epoch.mjd_day.saturating_sub(self.header.reference_mjd_day) as f64;
        let uvw = geometry.uvw(seconds)?;
        let uvw_m = Array2::from_shape_fn((uvw.len(), 3), |(antenna, axis)| uvw[antenna][axis]);
        let integration = UvfitsIntegration {
            mid_seconds: days * DAYSEC + epoch.seconds + seconds,
            integration_seconds,
            visibilities,
            weights: weights.alike,
            uvw_m: uvw_m.view(),
        };
        self.write_weighted(&integration, weights.of_channels)
    }

    /// `Ok` if visibilities with these axes belong into the file.
    fn check_axes(&self, inputs: Inputs, frequencies: Frequencies) -> Result<(), IoError> {
        let differs = |quantity, expected: String, actual: String| IoError::Axis { quantity, expected, actual };
        if inputs != self.header.inputs {
            return Err(differs("inputs", format!("{:?}", self.header.inputs), format!("{inputs:?}")));
        }
        if frequencies != self.header.frequencies {
            let expected = format!("{:?}", self.header.frequencies);
            return Err(differs("frequencies", expected, format!("{frequencies:?}")));
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
