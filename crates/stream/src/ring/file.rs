//! A file of one antenna's voltages, of any format.

use std::path::Path;

use fringes_io::write::{BeamObservation, GuppiWriter, VdifOptions, VdifWriter};
use fringes_types::{Beams, Complex, Inputs, SampleFormat};

use crate::StreamError;

/// What the voltages of a ring are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RingFormat {
    /// GUPPI raw ([`fringes_io::write::guppi`]), 8 bits, in blocks of a frame of the F-engine.
    #[default]
    GuppiRaw,
    /// VDIF ([`fringes_io::write::vdif`]), 8 bits, or 4 of voltages that have 4. Frames that never came are flagged
    /// invalid.
    Vdif {
        /// The station of all files ([`VdifOptions::station`]); `None`: the number of the antenna.
        station: Option<u16>,
        /// As [`VdifOptions::spectra_per_frame`].
        spectra_per_frame: Option<usize>,
    },
}

/// Stations are two letters from this number on.
const NUMBERS: usize = 0x3000;

/// A file that is written.
pub(super) enum RingFile {
    Guppi(GuppiWriter),
    Vdif(VdifWriter),
}

impl RingFormat {
    /// The end of a file's name.
    fn extension(self) -> &'static str {
        match self {
            Self::GuppiRaw => "raw",
            Self::Vdif { .. } => "vdif",
        }
    }
}

impl RingFile {
    /// Starts the file of an antenna, `antenna-<number>-<first sample>` in a folder.
    pub(super) fn create(
        (format, voltages): (RingFormat, SampleFormat),
        (folder, first_sample): (&Path, u64),
        observation: &BeamObservation,
        (antenna, inputs): (usize, Inputs),
        spectra_per_frame: usize,
    ) -> Result<Self, StreamError> {
        let path = folder.join(format!("antenna-{antenna}-{first_sample:020}.{}", format.extension()));
        Ok(match format {
            RingFormat::GuppiRaw => {
                Self::Guppi(GuppiWriter::create(&path, observation, antenna, inputs.pols(), spectra_per_frame)?)
            }
            RingFormat::Vdif { station, spectra_per_frame } => {
                let number = || u16::try_from(antenna).ok().filter(|_| antenna < NUMBERS);
                let too_many = || StreamError::Plan {
                    what: "antennas as stations of VDIF",
                    expected: format!("numbers below {NUMBERS}, or a station for all"),
                    actual: antenna.to_string(),
                };
                let station = station.or_else(number).ok_or_else(too_many)?;
                let bits = if voltages == SampleFormat::Int4 { 4 } else { 8 };
                let options = VdifOptions { station, bits, spectra_per_frame };
                Self::Vdif(VdifWriter::create(&path, observation.sample_zero, options, antenna, inputs.pols())?)
            }
        })
    }

    /// Appends voltages, with a flag for each spectrum whether it came.
    pub(super) fn write(&mut self, voltages: &Beams<Complex<i8>>, present: &[bool]) -> Result<(), StreamError> {
        match self {
            Self::Guppi(writer) => writer.write(voltages)?,
            Self::Vdif(writer) => writer.write_present(voltages, present)?,
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), StreamError> {
        match self {
            Self::Guppi(writer) => drop(writer.finish()?),
            Self::Vdif(writer) => drop(writer.finish()?),
        }
        Ok(())
    }
}
