//! Numpy's `.npy` files: one array of one type.
//!
//! ```text
//! \x93NUMPY  version  header length  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  padding \n  data
//! ```
//!
//! The header is checked against the length of the file before anything of the data's size is allocated, so a header
//! that promises more than the file holds costs an error and no memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use ndarray::{Array, ArrayBase, Data, Dimension};
use ndarray_npy::{ReadNpyError, ReadNpyExt, ReadableElement, WritableElement, WriteNpyError, WriteNpyExt};

use crate::IoError;

/// Longest header that is read, in bytes: numpy's own limit.
const LONGEST_HEADER: u64 = 10_000;

/// Opening brackets in the header of an array of one plain element type: the dictionary's and the shape's.
const HEADER_BRACKETS: usize = 2;

/// An element that numpy can store: the integers, floats and complex floats (`num_complex::Complex`) of this machine.
pub trait NpyElement: ReadableElement + WritableElement + Clone {}

impl<T: ReadableElement + WritableElement + Clone> NpyElement for T {}

/// What a file's header says of its array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpyInfo {
    /// Numpy's name of the element type, e.g. `<f4`.
    pub dtype: String,
    /// Length of each dimension.
    pub shape: Vec<usize>,
    /// Whether the first dimension is the fastest in the file.
    pub fortran_order: bool,
}

/// Reads the header of a file, to learn the element type and shape before the data.
///
/// # Errors
/// [`IoError::File`] if the file cannot be read, [`IoError::NpyHeader`] if it is not an npy file.
pub fn npy_info(path: &Path) -> Result<NpyInfo, IoError> {
    let mut file = open(path)?;
    Ok(read_header(path, &mut file)?.0)
}

/// Reads an array of `T` with the rank of `D`, in standard (row-major) layout whatever the order in the file.
///
/// Either byte order is taken; the element type must be exactly `T`.
///
/// ```
/// use fringes_io::write::npy::{read_npy, write_npy};
/// use ndarray::{Array2, array};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// write_npy(&path, &array![[1i16, 2, 3], [4, 5, 6]])?;
/// let x: Array2<i16> = read_npy(&path)?;
/// assert_eq!(x[(1, 0)], 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`IoError::File`] if the file cannot be read, [`IoError::NpyHeader`] if it is not an npy file, [`IoError::NpyType`]
/// for another element type, [`IoError::NpyRank`] for another number of dimensions, [`IoError::NpyLength`] if the file
/// is shorter or longer than its header says.
pub fn read_npy<T: NpyElement, D: Dimension>(path: &Path) -> Result<Array<T, D>, IoError> {
    let mut file = open(path)?;
    let (info, data_start) = read_header(path, &mut file)?;
    let expected_type = descriptor::<T>();
    if without_byte_order(&info.dtype) != without_byte_order(&expected_type) {
        return Err(IoError::NpyType { path: path.into(), expected: expected_type, actual: info.dtype });
    }
    if let Some(expected) = D::NDIM.filter(|&expected| expected != info.shape.len()) {
        return Err(IoError::NpyRank { path: path.into(), expected, actual: info.shape });
    }
    // Lengths of 0 apart, as an array does not allow the others to overflow beside one.
    let mut others = info.shape.iter().filter(|&&length| length > 0);
    let elements = others.try_fold(1u64, |product, &length| product.checked_mul(length as u64));
    let bytes = elements.and_then(|elements| elements.checked_mul(size_of::<T>() as u64));
    let expected = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
    let expected = expected.map(|bytes| if info.shape.contains(&0) { 0 } else { bytes });
    let length = file.get_ref().metadata().map_err(|source| IoError::File { path: path.into(), source })?.len();
    let actual = length.saturating_sub(data_start);
    if expected != Some(actual) {
        let expected = expected.map_or_else(|| "more than 2^63".into(), |bytes| bytes.to_string());
        return Err(IoError::NpyLength { path: path.into(), shape: info.shape, expected, actual });
    }
    let rewound = file.seek(SeekFrom::Start(0));
    rewound.map_err(|source| IoError::File { path: path.into(), source })?;
    let array = Array::<T, D>::read_npy(file).map_err(|error| read_error(path, error))?;
    Ok(if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() })
}

/// Writes an array, replacing the file; numpy's `load` reads it.
///
/// # Layout
/// Standard and Fortran layouts are stored as they are, any other in standard layout.
///
/// # Errors
/// [`IoError::File`] if the file cannot be written.
pub fn write_npy<T, S, D>(path: &Path, array: &ArrayBase<S, D>) -> Result<(), IoError>
where
    T: NpyElement,
    S: Data<Elem = T>,
    D: Dimension,
{
    let file = |source| IoError::File { path: path.into(), source };
    let mut writer = BufWriter::new(File::create(path).map_err(file)?);
    array.write_npy(&mut writer).map_err(|error| file(write_error(error)))?;
    writer.flush().map_err(file)
}

/// Numpy's name of `T`.
fn descriptor<T: NpyElement>() -> String {
    let descriptor = T::type_descriptor();
    descriptor.as_string().cloned().unwrap_or_else(|| descriptor.to_string())
}

/// A numpy type name without its first character if that says the byte order.
fn without_byte_order(name: &str) -> &str {
    name.strip_prefix(['<', '>', '|', '=']).unwrap_or(name)
}

/// The operating system's reason inside a failed write.
pub(super) fn write_error(error: WriteNpyError) -> std::io::Error {
    match error {
        WriteNpyError::Io(source) => source,
        other => std::io::Error::other(other),
    }
}

fn open(path: &Path) -> Result<BufReader<File>, IoError> {
    let file = File::open(path).map_err(|source| IoError::File { path: path.into(), source })?;
    Ok(BufReader::new(file))
}

/// The header, and the position of the first byte of data.
fn read_header(path: &Path, file: &mut BufReader<File>) -> Result<(NpyInfo, u64), IoError> {
    let wrong = |reason: String| IoError::NpyHeader { path: path.into(), reason };
    let mut start = Vec::new();
    let read = file.take(LONGEST_HEADER).read_to_end(&mut start);
    read.map_err(|source| IoError::File { path: path.into(), source })?;
    let header_bytes = header_length(&start).map_err(wrong)?;
    let bytes = start.get(..header_bytes).ok_or_else(|| {
        wrong(format!("it ends inside its header: {header_bytes} bytes expected, {} found", start.len()))
    })?;
    // The parser's time grows by a factor of three with each bracket, and then its stack ends.
    let brackets = bytes.iter().filter(|byte| b"([{".contains(byte)).count();
    if brackets > HEADER_BRACKETS {
        return Err(wrong(format!(
            "its header has {brackets} opening brackets, where that of an array of a plain type has {HEADER_BRACKETS}"
        )));
    }
    let mut reader = bytes;
    let header =
        ndarray_npy::npy::header::Header::from_reader(&mut reader).map_err(|error| wrong(error.to_string()))?;
    let dtype = header.type_descriptor.as_string().cloned();
    let dtype = dtype.ok_or_else(|| wrong(format!("structured element type {}", header.type_descriptor)))?;
    let info = NpyInfo { dtype, fortran_order: header.layout.is_fortran(), shape: header.shape };
    Ok((info, header_bytes as u64))
}

/// Length of the header in bytes, from the magic string to the first byte of data, or what is wrong with it.
fn header_length(start: &[u8]) -> Result<usize, String> {
    if !start.starts_with(b"\x93NUMPY") {
        return Err("it does not start with \\x93NUMPY".into());
    }
    let (prefix, length) = match (start.get(6), start.get(8..10), start.get(8..12)) {
        (Some(1), Some(&[a, b]), _) => (10, u64::from(u16::from_le_bytes([a, b]))),
        (Some(2 | 3), _, Some(&[a, b, c, d])) => (12, u64::from(u32::from_le_bytes([a, b, c, d]))),
        (Some(1..=3) | None, ..) => return Err(format!("it ends inside its header, after {} bytes", start.len())),
        (Some(version), ..) => return Err(format!("format version {version}; 1 to 3 are known")),
    };
    match usize::try_from(prefix + length) {
        Ok(total) if prefix + length <= LONGEST_HEADER => Ok(total),
        _ => Err(format!("its header of {length} bytes is longer than the {LONGEST_HEADER} that are read")),
    }
}

/// What reading the data can still find after the header and the length were right.
fn read_error(path: &Path, error: ReadNpyError) -> IoError {
    match error {
        ReadNpyError::Io(source) => IoError::File { path: path.into(), source },
        // The file changed between the checks and the reading.
        other => IoError::NpyHeader { path: path.into(), reason: other.to_string() },
    }
}
