//! What can be wrong with a file or a stream.

use std::path::PathBuf;

/// A file or a stream that cannot be read or written, with where and what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Data that does not fit its declared shape or format.
    #[error(transparent)]
    Types(#[from] fringes_types::TypesError),
    /// A position, a direction or an instant that cannot be used.
    #[error(transparent)]
    Delay(#[from] fringes_delay_model::DelayModelError),
    /// Real samples where channels are asked for.
    #[error("voltages are complex channels, and the recording holds real samples: channelise them first")]
    RealVoltages,
    /// No file was given.
    #[error("no file was given: at least one is needed")]
    NoFiles,
    /// The file is none of the recordings that can be read.
    #[error("{}: not a recording that can be read: {reason}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What was looked for and what is there.
        reason: String,
    },
    /// A header field that is missing or cannot be right.
    #[error("{}: byte {offset}: {field}: expected {expected}, found {actual}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Where the header that holds the field begins, in bytes from the start of the file.
        offset: u64,
        /// Name of the field.
        field: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// The file ends inside a header, a frame, a block or a sample. What lies before it has been delivered.
    #[error("{}: byte {offset}: the file ends inside a {what}: expected {expected} bytes, found {actual}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where the incomplete piece begins, in bytes from the start of the file.
        offset: u64,
        /// What is incomplete.
        what: &'static str,
        /// Bytes that it needs (the least number where that is not known).
        expected: u64,
        /// Bytes that are there.
        actual: u64,
    },
    /// The recording jumps in time by more than a reader fills with zeros.
    #[error(
        "{}: byte {offset}: the recording goes on {actual} samples after what came before; a gap of at most {expected} is filled with zeros (split the recording, or allow a longer gap)",
        path.display()
    )]
    Gap {
        /// The file.
        path: PathBuf,
        /// Where the first data behind the gap begins, in bytes from the start of the file.
        offset: u64,
        /// The longest gap that is filled, in samples.
        expected: u64,
        /// The gap in samples.
        actual: u64,
    },
    /// The files of a recording are not in the order of time.
    #[error("{}: byte {offset}: the data is older than that of the file before it: give the files in the order of time", path.display())]
    FileOrder {
        /// The file that comes too late in the list.
        path: PathBuf,
        /// Where its first data begins, in bytes from the start of the file.
        offset: u64,
    },
    /// The sample rate is needed and neither the file nor the caller gives it.
    #[error("{}: byte {offset}: the recording does not say its sample rate, which is needed {reason}", path.display())]
    SampleRateUnknown {
        /// The file.
        path: PathBuf,
        /// Where the header is, in bytes from the start of the file.
        offset: u64,
        /// What it is needed for.
        reason: &'static str,
    },
    /// An input map that cannot be read or does not fit the recording.
    #[error("input map `{map}`: {reason}")]
    InputMap {
        /// The map as text.
        map: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that is not an npy file, or whose header cannot be read.
    #[error("{}: not an npy file that can be read: {reason}", path.display())]
    NpyHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An npy file of another element type.
    #[error("{}: expected elements of type {expected}, found {actual}", path.display())]
    NpyType {
        /// The file.
        path: PathBuf,
        /// Numpy's name of the type asked for.
        expected: String,
        /// Numpy's name of the type in the file.
        actual: String,
    },
    /// An npy file with another number of dimensions.
    #[error("{}: expected {expected} dimensions, found {} (shape {actual:?})", path.display(), actual.len())]
    NpyRank {
        /// The file.
        path: PathBuf,
        /// The number of dimensions asked for.
        expected: usize,
        /// The shape in the file.
        actual: Vec<usize>,
    },
    /// An npy file that is shorter or longer than its header says.
    #[error("{}: shape {shape:?} needs {expected} bytes of data, found {actual}", path.display())]
    NpyLength {
        /// The file.
        path: PathBuf,
        /// The shape in its header.
        shape: Vec<usize>,
        /// Bytes that the shape needs, as text because they may not fit an integer.
        expected: String,
        /// Bytes of data in the file.
        actual: u64,
    },
    /// A text that FITS cannot hold.
    #[error("{field}: expected at most {limit} printable ASCII characters (a quote counts twice), found {actual:?}")]
    FitsText {
        /// What the text names.
        field: &'static str,
        /// Most characters.
        limit: usize,
        /// The text.
        actual: String,
    },
    /// A text that the header of a file cannot hold.
    #[error("{field}: expected 1 to {limit} printable ASCII characters without quotes, found {actual:?}")]
    HeaderText {
        /// What the text names.
        field: &'static str,
        /// Most characters.
        limit: usize,
        /// The text.
        actual: String,
    },
    /// Voltages that VDIF cannot hold.
    #[error("VDIF: {quantity}: expected {expected}, found {actual}")]
    Vdif {
        /// What does not fit.
        quantity: &'static str,
        /// What the format can hold.
        expected: String,
        /// What was to be written.
        actual: String,
    },
    /// Visibilities or beams whose axes differ from those of the file that is written, or that do not go on where it
    /// ends.
    #[error("{quantity}: expected {expected}, as in the file that is written, found {actual}")]
    Axis {
        /// What differs.
        quantity: &'static str,
        /// What follows from the file.
        expected: String,
        /// What the data says.
        actual: String,
    },
    /// A file of some channels whose header does not belong to that of all channels.
    #[error("{}: {quantity}: expected {expected}, as in the whole, found {actual}", path.display())]
    PartHeader {
        /// The file.
        path: PathBuf,
        /// What differs.
        quantity: &'static str,
        /// What follows from the header of the whole.
        expected: String,
        /// What the header of the file says.
        actual: String,
    },
    /// A file of some channels, a row of which is of another time or baseline than in the first such file.
    #[error("{}: row {row}: {column}: expected {expected}, as in the first part, found {actual}", path.display())]
    PartRow {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: u64,
        /// The dataset that differs.
        column: &'static str,
        /// Its value in the first file.
        expected: String,
        /// Its value in this file.
        actual: String,
    },
    /// Data of samples whose rate was never set, so that its times are not known.
    #[error("the sample rate was never set: set it where samples are made (with_sample_rate)")]
    UnsetSampleRate,
    /// A phase centre that moves over the sky, where a file gives its right ascension and declination.
    #[error("the phase centre {source_text} moves over the sky: Geometry::on_the_sky gives it a place there")]
    MovingPhaseCentre {
        /// The phase centre.
        source_text: String,
    },
    /// A day that has no UTC date, or none of four digits.
    #[error("modified Julian day {mjd_day}: expected a day of the years 1960 to 9999 (36934 to 2973483)")]
    FitsDate {
        /// The day.
        mjd_day: i64,
    },
    /// A file that cannot be continued or joined, because this version of the UVH5 writer did not write it.
    #[error("{}: not a UVH5 file that can be continued or joined: {reason}", path.display())]
    NotUvh5 {
        /// The file.
        path: PathBuf,
        /// What was looked for and what is there.
        reason: String,
    },
    /// An integration that is not later than the one before it.
    #[error("the integration at Julian date {actual} is not later than the one before it, at {previous}")]
    TimeOrder {
        /// Julian date of the middle of the last integration in the file.
        previous: f64,
        /// Julian date of the middle of the integration.
        actual: f64,
    },
    /// A file to which an integration could be written only in part, so that no more can be appended.
    #[error(
        "{}: an integration could not be written whole: flush what was appended before it, and resume the file",
        path.display()
    )]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// A structure of an HDF5 file that cannot be laid out or read.
    #[error("HDF5: {0}")]
    Hdf5(#[from] rust_hdf5::format::FormatError),
    /// Heaps that cannot be sent or received.
    #[error(transparent)]
    Spead(#[from] crate::spead::SpeadError),
    /// A FITS header or table that cannot be laid out.
    #[error("FITS: {0}")]
    Fits(#[from] fitsio_pure::Error),
}

impl IoError {
    /// Whether this says that a recording was cut short, so that what has been read before it is good.
    pub fn is_truncation(&self) -> bool {
        matches!(self, IoError::Truncated { .. })
    }
}
