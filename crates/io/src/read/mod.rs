//! Streaming readers of recordings: VDIF, GUPPI raw and PSRDADA.
//!
//! [`open`] gives a [`VoltageReader`]; its [`StreamInfo`] says what the recording is, and [`VoltageReader::read`] gives
//! [`Block`]s `[channel][input][time]` until the recording ends. No reader holds more than a few frames of a file.
//!
//! ```no_run
//! use fringes_io::read::{OpenOptions, open};
//!
//! let mut reader = open(&["recording.vdif".into()], &OpenOptions::default())?;
//! println!("{} inputs, {} bits", reader.info().inputs.len(), reader.info().bits);
//! while let Some(block) = reader.read(65536)? {
//!     println!("{} samples from {}", block.times(), block.first_sample);
//! }
//! # Ok::<(), fringes_io::IoError>(())
//! ```

//! # Inputs
//!
//! What a format numbers apart is a *stream*: a thread of VDIF, a polarisation of an antenna in GUPPI raw, a
//! polarisation in PSRDADA. Without a map:
//!
//! | format | stream number | antenna | polarisation | channels |
//! |---|---|---|---|---|
//! | VDIF | thread | rank of (station, thread), ascending | 0 | those inside a frame |
//! | GUPPI raw | `antenna * pols + pol` | antenna of NANTS | pol | OBSNCHAN / NANTS |
//! | PSRDADA | pol | 0 | pol | NCHAN |
//!
//! Within one time, PSRDADA files hold `[pol][channel]`, or `[channel][pol]` if their header has `ORDER TFP`. A file in
//! that order whose header does not say so would come out with channels and polarisations exchanged:
//! [`OpenOptions::dada_order`] says it for the file. Other keywords of PSRDADA:
//!
//! | keyword | taken as |
//! |---|---|
//! | NBIT, NDIM, NPOL, NCHAN | required: 8 or 16 bits, two's complement, 1 (real) or 2 (complex) parts |
//! | ORDER | TPF, also if it is missing: `[time][pol][channel]`; TFP: `[time][channel][pol]` |
//! | HDR_SIZE | bytes of the header, 4096 if it is missing |
//! | FILE_SIZE | most bytes behind the header; a file may have fewer |
//! | OBS_OFFSET | bytes since the start of the observation: says what is missing or doubled between files |
//! | UTC_START, MJD_START | when OBS_OFFSET was 0; the first that can be read |
//! | FREQ, BW | centre and width of the band in MHz; a negative width runs downward in frequency |
//! | TSAMP | sample time in microseconds; from BW if it is missing |
//!
//! Of the threads and stations of VDIF, those of a few frames among the first 4096 are left out as flipped bits of
//! damaged headers: streams with at most an eighth of the frames of the commonest stream, and stations with at most an
//! eighth of the frames of the commonest station and half of those of the commonest stream. A map that names one has it
//! regardless.
//!
//! An [`InputMap`], read from text such as `0:0x,1:0y,2:1x,3:1y`, says otherwise: threads as polarisations, recorded
//! channels as antennas, streams to leave out.
//!
//! # Values
//!
//! | recorded | given |
//! |---|---|
//! | 1 bit | -1, +1 |
//! | 2 bits | -3.3359, -1, +1, +3.3359: the levels that lose least of Gaussian noise |
//! | wider VDIF, offset binary | `v - 2^(bits-1)` |
//! | GUPPI raw, PSRDADA, two's complement | `v` |
//!
//! The most negative value of 4 and 8 bits is no sample in Fringes: it is given as -7 or -127 and counted in
//! [`Block::clamped`]. Other widths keep theirs, as no integer format of Fringes has them.
//!
//! Channels ascend in sky frequency. Where a recording's band runs downward (GUPPI raw with negative OBSBW, PSRDADA
//! with negative BW), the channels are reversed, complex samples conjugated and real samples negated at odd sample
//! numbers, so that phases and fine channels have the sign that an upper sideband has; [`StreamInfo::inverted`] says
//! so. VDIF does not say which sideband it is.
//!
//! # Missing and damaged data
//!
//! Lost frames and frames flagged invalid are zeros that [`Block::presence`] flags: an input is present where all its
//! streams are. A hole of more than [`OpenOptions::longest_gap_seconds`] is an error.
//!
//! With [`OpenOptions::resynchronise`], a VDIF recording is read on behind damage: where no good header stands, the
//! next one is looked for byte by byte, by all that headers have in common. A frame with a damaged header is absent, as
//! is one that lost some of its bytes (and the one before it, where the loss begins with its header); a file may begin
//! inside a frame (the first whole one must be in its first 4 MiB) and end inside one. A frame that is far ahead of
//! those before it is taken for one with a damaged time, unless the next one is as far ahead.
//! [`FrameCounts::resynchronised`] and [`FrameCounts::skipped_bytes`] say how often and how much. Bytes that are lost
//! in whole frames' lengths cannot be seen, nor damaged samples.
//!
//! Otherwise, a recording that is cut short gives everything before the cut, then [`IoError::Truncated`] once, then the
//! end: who wants the data regardless asks [`IoError::is_truncation`]. PSRDADA files may be shorter than FILE_SIZE
//! says, as the last one of a recording is. Header fields are checked against each other and the size of the file
//! before anything is allocated by them.

mod block;
mod dada;
mod guppi;
mod info;
mod integers;
mod map;
mod options;
mod source;
mod text;
mod vdif;

use std::collections::VecDeque;
use std::path::PathBuf;

pub use block::{Block, BlockData, ChannelSamples, FrameCounts};
pub use info::{FileFormat, SourceInfo, StreamInfo};
pub use map::InputMap;
pub use options::{DadaOrder, OpenOptions};
pub use source::{ReadSeek, Source};

use crate::IoError;

/// A recording that is read piece by piece.
pub trait VoltageReader: Send {
    /// What the recording is.
    fn info(&self) -> &StreamInfo;

    /// What has been met so far: frames read, invalid, left out.
    fn counts(&self) -> FrameCounts;

    /// The next samples, at most `max_times` of each input and channel (at least one), or `None` at the end.
    ///
    /// Fewer samples come at the end, at borders of files and blocks, and where
    /// [`OpenOptions::block_bytes`] limits the block. Blocks follow each other without a hole.
    ///
    /// # Errors
    /// [`IoError`] for a file that cannot be read or is damaged. What lies before the damage is delivered first, the
    /// error comes once, and `None` after it. A file that is cut short ends with [`IoError::Truncated`].
    fn read(&mut self, max_times: usize) -> Result<Option<Block>, IoError>;
}

/// Opens a recording of one or several files, in the order of time.
///
/// # Errors
/// [`IoError`] for files that cannot be opened, are of no known format, or have a damaged first header; for an input
/// map that does not fit.
pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Box<dyn VoltageReader>, IoError> {
    open_sources(paths.iter().map(Source::file).collect(), options)
}

/// As [`open`], for bytes from anywhere.
///
/// # Errors
/// As [`open`].
pub fn open_sources(sources: Vec<Source>, options: &OpenOptions) -> Result<Box<dyn VoltageReader>, IoError> {
    let mut sources = VecDeque::from(sources);
    let first = sources.pop_front().ok_or(IoError::NoFiles)?;
    let (first, format) = match options.format {
        Some(format) => (first, format),
        None => recognise(first, options.resynchronise)?,
    };
    sources.push_front(first);
    Ok(match format {
        FileFormat::Vdif => Box::new(vdif::VdifReader::new(sources, options)?),
        FileFormat::GuppiRaw => Box::new(guppi::GuppiReader::new(sources, options)?),
        FileFormat::Dada => Box::new(dada::DadaReader::new(sources, options)?),
    })
}

/// The word that every frame of a Mark 5B recording begins with, `0xABADDEED` with the lowest byte first. No
/// VDIF frame does: it would be of a second 23 years into a half year.
const MARK5B_SYNC: [u8; 4] = [0xED, 0xDE, 0xAD, 0xAB];

/// Tells the format from the first bytes, or from the first frame of a recording that may begin inside one.
fn recognise(source: Source, resynchronise: bool) -> Result<(Source, FileFormat), IoError> {
    let mut source = source.open()?;
    let mut bytes = [0; 4096];
    let length = source.read_up_to(&mut bytes)?;
    let bytes = &bytes[..length];
    let format = if guppi::looks_like_cards(bytes) {
        FileFormat::GuppiRaw
    } else if dada::looks_like_dada(bytes) {
        FileFormat::Dada
    } else if bytes.starts_with(&MARK5B_SYNC) {
        let reason = "a Mark 5B recording, by its sync word: convert it to VDIF".into();
        return Err(IoError::UnknownFormat { path: source.path().to_owned(), reason });
    } else {
        source.seek(0)?;
        let as_vdif = match vdif::Header::read(&mut source) {
            Ok(Some(header)) => vdif::Layout::new(&header, &source, 0).map(|_| ()),
            Ok(None) => Err(source.truncated("frame header", 0, 32, 0)),
            Err(error) => Err(error),
        };
        if let Err(error) = as_vdif
            && !(resynchronise && vdif::find_first_frame(&mut source)?.is_some())
        {
            return Err(IoError::UnknownFormat {
                path: source.path().to_owned(),
                reason: format!("no GUPPI raw cards, no PSRDADA header, and no VDIF ({})", without_place(&error)),
            });
        }
        FileFormat::Vdif
    };
    Ok((source.close(), format))
}

/// An error without the name of the file, for a message that has it.
fn without_place(error: &IoError) -> String {
    match error {
        IoError::Field { field, expected, actual, .. } => format!("{field}: expected {expected}, found {actual}"),
        IoError::Truncated { what, .. } => format!("the file ends inside a {what}"),
        other => other.to_string(),
    }
}
