//! Files of some channels each, as the ranks of an instrument write them, to one file of all channels.

use std::path::Path;

use super::fields::{Column, description};
use super::hdf5::GrowingFile;
use super::writer::{PIECE_BYTES, whole_integrations};
use crate::IoError;
use crate::write::VisibilityHeader;
use crate::write::visibilities::pair_count;

/// About so many bytes of a column are read at once, at least a row. There are 13 columns.
const WINDOW_BYTES: u64 = 1 << 22;

/// What a row has but channels, in the order in which the writer writes it.
const HEADER_COLUMNS: [Column; 10] = [
    Column::Time,
    Column::Sidereal,
    Column::Length,
    Column::ApparentRa,
    Column::ApparentDec,
    Column::PositionAngle,
    Column::Antenna1,
    Column::Antenna2,
    Column::Uvw,
    Column::PhaseCentre,
];

/// What a row has of each channel, in the order in which the writer writes it.
const DATA_COLUMNS: [Column; 3] = [Column::Visibilities, Column::Flags, Column::Samples];

/// Joins files of [`Uvh5Writer`](super::Uvh5Writer) that hold the same times and baselines, and some of the channels
/// each, into a new file of all channels. Returns its number of integrations.
///
/// `parts` are in the order of channels, each with the header that it was written with; `header` is that of the whole.
/// It has the channels of all parts together, from the first one's channel 0 on, and the parts' inputs, antennas,
/// place, phase centre and names. Frequencies may differ by rounding. The reference day and UT1 - UTC of the whole are
/// taken from `header`, whatever those of the parts are.
///
/// The file is byte for byte what one writer of all channels makes that is flushed at its end alone. Where parts have
/// different numbers of integrations, as after a kill, it has those that all have. Parts are read as of their last
/// flush, and stay as they are; all of them are open at once. About 60 MB are held in memory, or a few rows where a row
/// has more than 4 MB.
///
/// A join that fails as it copies removes its file. (A process that is killed then leaves one without integrations.)
///
/// # Errors
/// [`IoError::NoFiles`] without parts. [`IoError::PartHeader`] if a part's header does not belong to the whole,
/// [`IoError::Axis`] if the parts' channels are not as many as the whole's, and as
/// [`Uvh5Writer::create`](super::Uvh5Writer::create) for headers that no file can have. For a part that is not a file
/// of its header, as [`Uvh5Writer::resume`](super::Uvh5Writer::resume). [`IoError::PartRow`] for a row whose time,
/// baseline, coordinates or any other value but those of channels are not, bit for bit, those of the first part.
/// [`IoError::File`] if the file exists or cannot be written. Of these, only what is wrong with the new file's disk, or
/// with what a part's chunks say of their places, is found after the new file was created.
///
/// ```
/// use std::path::PathBuf;
///
/// use fringes_delay_model::{AntennaArray, Geometry};
/// use fringes_io::write::{Uvh5Writer, VisibilityHeader, join_uvh5_channels};
/// use fringes_types::{Frequencies, Inputs};
///
/// let array: AntennaArray = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 100 20 0".parse()?;
/// let geometry = Geometry::new(&array, "05:34:31.95,+22:00:52.2".parse()?, "2026-03-20T16:30:00".parse()?)?;
/// let whole = Frequencies { first_hz: 1.4e9, step_hz: 15_625.0 };
/// let header = VisibilityHeader::new(&array, &geometry, Inputs::new(2, 2)?, 8, whole)?;
///
/// // Two ranks have 5 and 3 of the 8 channels.
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name);
/// let mut parts: Vec<(PathBuf, VisibilityHeader)> = Vec::new();
/// for (name, first, channels) in [("rank0.uvh5", 0, 5), ("rank1.uvh5", 5, 3)] {
///     let frequencies = Frequencies { first_hz: whole.channel_hz(first), ..whole };
///     let part = VisibilityHeader { channels, frequencies, ..header.clone() };
///     Uvh5Writer::create(&path(name), &part)?.finish()?; // after its dumps
///     parts.push((path(name), part));
/// }
/// assert_eq!(join_uvh5_channels(&parts, &path("all.uvh5"), &header)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join_uvh5_channels<P: AsRef<Path>>(
    parts: &[(P, VisibilityHeader)],
    path: &Path,
    header: &VisibilityHeader,
) -> Result<u64, IoError> {
    if parts.is_empty() {
        return Err(IoError::NoFiles);
    }
    let whole = description(header)?;
    check_headers(parts, header)?;
    let mut files = Vec::new();
    let mut integrations = u64::MAX;
    for (path, header) in parts {
        let file = GrowingFile::open(path.as_ref(), &description(header)?)?;
        integrations = integrations.min(whole_integrations(&file, header)?);
        files.push(file);
    }
    check_rows(&mut files, integrations * pair_count(header.inputs))?;
    let mut out = GrowingFile::create(path, &whole)?;
    let copied = copy(&mut files, integrations, pair_count(header.inputs), &mut out);
    if let Err(error) = copied.and_then(|()| out.commit_and_sync()) {
        drop(out);
        // A file that looks whole and has nothing in it is worse than none; the first error is what is told.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok(integrations)
}

/// `Ok` if the headers of parts make up that of the whole.
fn check_headers<P: AsRef<Path>>(parts: &[(P, VisibilityHeader)], header: &VisibilityHeader) -> Result<(), IoError> {
    let mut channels = 0usize;
    for (path, part) in parts {
        let differs = |quantity, expected, actual| {
            Err(IoError::PartHeader { path: path.as_ref().into(), quantity, expected, actual })
        };
        for ((quantity, expected), (_, actual)) in same_for_all(header).into_iter().zip(same_for_all(part)) {
            if expected != actual {
                return differs(quantity, expected, actual);
            }
        }
        let last = part.channels.saturating_sub(1);
        let (whole, own) = (header.frequencies, part.frequencies);
        let expected_last = whole.channel_hz(channels.saturating_add(last));
        for (quantity, expected, actual) in [
            ("channel width in Hz", whole.step_hz, own.step_hz),
            ("frequency of the first channel in Hz", whole.channel_hz(channels), own.first_hz),
            ("frequency of the last channel in Hz", expected_last, own.channel_hz(last)),
        ] {
            // A part's frequencies are sums of a few numbers no larger than these.
            let rounding = 8.0 * f64::EPSILON * whole.first_hz.abs().max(expected_last.abs());
            let difference = (expected - actual).abs();
            if difference > rounding || difference.is_nan() {
                return differs(quantity, expected.to_string(), actual.to_string());
            }
        }
        channels = channels.saturating_add(part.channels);
    }
    if channels != header.channels {
        let (expected, actual) = (header.channels.to_string(), channels.to_string());
        return Err(IoError::Axis { quantity: "channels of all parts", expected, actual });
    }
    Ok(())
}

/// What the headers of all parts have in common, as text. Numbers have all the digits that tell them apart.
fn same_for_all(header: &VisibilityHeader) -> [(&'static str, String); 7] {
    [
        ("inputs", format!("{:?}", header.inputs)),
        ("antennas", format!("{:?}", header.antennas)),
        ("position of the array", format!("{:?}", header.array_position_m)),
        ("telescope name", format!("{:?}", header.telescope)),
        ("source name", format!("{:?}", header.source)),
        ("right ascension of the phase centre", header.phase_centre_ra_rad.to_string()),
        ("declination of the phase centre", header.phase_centre_dec_rad.to_string()),
    ]
}

/// `Ok` if the first rows of all parts are of the same times and baselines.
fn check_rows(parts: &mut [GrowingFile], rows: u64) -> Result<(), IoError> {
    let Some((first, others)) = parts.split_first_mut() else { return Ok(()) };
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for column in HEADER_COLUMNS {
        let kind = first.kind(column as usize).clone();
        let row_bytes = kind.row_bytes();
        for row in (0..rows).step_by((WINDOW_BYTES / row_bytes) as usize) {
            let bytes = (WINDOW_BYTES / row_bytes).min(rows - row) * row_bytes;
            expected.resize(bytes as usize, 0);
            actual.resize(bytes as usize, 0);
            first.read(column as usize, row, &mut expected)?;
            for other in &mut *others {
                other.read(column as usize, row, &mut actual)?;
                if expected == actual {
                    continue;
                }
                let size = kind.kind.bytes() as usize;
                let elements = expected.chunks(size).zip(actual.chunks(size));
                let differing = elements.enumerate().find(|(_, (one, other))| one != other);
                if let Some((place, (one, other_one))) = differing {
                    return Err(IoError::PartRow {
                        path: other.path().into(),
                        row: row + (place * size) as u64 / row_bytes,
                        column: kind.name.1,
                        expected: kind.kind.text(one),
                        actual: kind.kind.text(other_one),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Copies integrations of so many rows, in the writer's order, so that everything comes to the same places.
fn copy(parts: &mut [GrowingFile], integrations: u64, pairs: u64, out: &mut GrowingFile) -> Result<(), IoError> {
    let rows = integrations * pairs;
    // What has no channels is the first part's.
    let mut header = HEADER_COLUMNS.map(|column| Window::new(column, &parts[..1], rows));
    let mut data = DATA_COLUMNS.map(|column| Window::new(column, parts, rows));
    let piece = (PIECE_BYTES as u64).div_ceil(data[0].row_bytes());
    let mut scratch = Vec::new();
    for first in (0..integrations).map(|integration| integration * pairs) {
        for window in &mut header {
            window.copy(parts, first, pairs, out, &mut scratch)?;
        }
        for row in (first..first + pairs).step_by(piece as usize) {
            for window in &mut data {
                window.copy(parts, row, piece.min(first + pairs - row), out, &mut scratch)?;
            }
        }
        out.advance(pairs);
    }
    Ok(())
}

/// A column of the whole, of which some rows are held that the parts have been asked for at once.
struct Window {
    column: usize,
    /// Bytes of a row in each part.
    widths: Vec<usize>,
    /// Rows that all parts have.
    end: u64,
    /// The rows that are held.
    first: u64,
    rows: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn new(column: Column, parts: &[GrowingFile], end: u64) -> Self {
        let column = column as usize;
        let widths = parts.iter().map(|part| part.kind(column).row_bytes() as usize).collect();
        Self { column, widths, end, first: 0, rows: 0, bytes: Vec::new() }
    }

    fn row_bytes(&self) -> u64 {
        self.widths.iter().sum::<usize>() as u64
    }

    /// Copies rows from `row` on.
    fn copy(
        &mut self,
        parts: &mut [GrowingFile],
        mut row: u64,
        mut rows: u64,
        out: &mut GrowingFile,
        scratch: &mut Vec<u8>,
    ) -> Result<(), IoError> {
        let row_bytes = self.row_bytes();
        while rows > 0 {
            if !(self.first..self.first + self.rows).contains(&row) {
                self.fill(parts, row, scratch)?;
            }
            let now = rows.min(self.first + self.rows - row);
            let start = ((row - self.first) * row_bytes) as usize;
            out.write(self.column, row - out.rows(), &self.bytes[start..][..(now * row_bytes) as usize])?;
            (row, rows) = (row + now, rows - now);
        }
        Ok(())
    }

    /// Reads as many rows from `row` on as fit.
    fn fill(&mut self, parts: &mut [GrowingFile], row: u64, scratch: &mut Vec<u8>) -> Result<(), IoError> {
        let row_bytes = self.row_bytes();
        (self.first, self.rows) = (row, (WINDOW_BYTES / row_bytes).max(1).min(self.end - row));
        self.bytes.resize((self.rows * row_bytes) as usize, 0);
        if let [_] = self.widths[..] {
            return parts[0].read(self.column, row, &mut self.bytes);
        }
        let mut at = 0;
        for (part, &width) in parts.iter_mut().zip(&self.widths) {
            scratch.resize(self.rows as usize * width, 0);
            part.read(self.column, row, scratch)?;
            for (whole, own) in self.bytes.chunks_exact_mut(row_bytes as usize).zip(scratch.chunks_exact(width)) {
                whole[at..at + width].copy_from_slice(own);
            }
            at += width;
        }
        Ok(())
    }
}
