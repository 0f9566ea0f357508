//! The bytes of a recording: files, or anything that can be read and sought.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::IoError;

/// What a [`Source`] can be made of.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// One file of a recording.
pub struct Source {
    name: PathBuf,
    stream: Option<Box<dyn ReadSeek>>,
}

impl Source {
    /// A file, opened when it is needed.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), stream: None }
    }

    /// Bytes in memory, a device, or anything else; `name` is what errors call it.
    pub fn stream(name: impl Into<PathBuf>, stream: impl ReadSeek + 'static) -> Self {
        Self { name: name.into(), stream: Some(Box::new(stream)) }
    }

    /// Its length in bytes.
    pub(crate) fn length(&mut self) -> Result<u64, IoError> {
        match &mut self.stream {
            Some(stream) => stream.seek(SeekFrom::End(0)),
            None => std::fs::metadata(&self.name).map(|metadata| metadata.len()),
        }
        .map_err(|source| IoError::File { path: self.name.clone(), source })
    }

    /// Opens it at its first byte.
    pub(crate) fn open(self) -> Result<OpenSource, IoError> {
        let Source { name, stream } = self;
        let failed = |source| IoError::File { path: name.clone(), source };
        let (mut stream, reopen): (Box<dyn ReadSeek>, bool) = match stream {
            Some(stream) => (stream, false),
            None => {
                let file = File::open(&name).map_err(failed)?;
                if file.metadata().map_err(failed)?.is_dir() {
                    return Err(failed(std::io::Error::new(ErrorKind::IsADirectory, "is a directory")));
                }
                (Box::new(file), true)
            }
        };
        let length = stream.seek(SeekFrom::End(0)).map_err(failed)?;
        stream.seek(SeekFrom::Start(0)).map_err(failed)?;
        let reader = BufReader::with_capacity(1 << 16, stream);
        Ok(OpenSource { name, reader, position: 0, length, reopen })
    }
}

/// A source that is open, and where it is.
pub(crate) struct OpenSource {
    name: PathBuf,
    reader: BufReader<Box<dyn ReadSeek>>,
    position: u64,
    length: u64,
    /// Whether the name alone opens it again.
    reopen: bool,
}

impl OpenSource {
    /// Gives it back, closed if it is a file.
    pub(crate) fn close(self) -> Source {
        let stream = if self.reopen { None } else { Some(self.reader.into_inner()) };
        Source { name: self.name, stream }
    }

    /// Its name, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.name
    }

    /// Bytes from its start.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Its length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that are left.
    pub(crate) fn remaining(&self) -> u64 {
        self.length.saturating_sub(self.position)
    }

    /// Goes to a byte.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), IoError> {
        let near = i64::try_from(position).ok().zip(i64::try_from(self.position).ok()).map(|(to, from)| to - from);
        match near {
            // Stays in the buffer where it can.
            Some(step) => self.reader.seek_relative(step),
            None => self.reader.seek(SeekFrom::Start(position)).map(|_| ()),
        }
        .map_err(|source| self.failed(source))?;
        self.position = position;
        Ok(())
    }

    /// Fills a buffer.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<(), IoError> {
        self.reader.read_exact(buffer).map_err(|source| IoError::File { path: self.name.clone(), source })?;
        self.position += buffer.len() as u64;
        Ok(())
    }

    /// Fills a vector with `length` bytes. They must have been seen to be there: the length is allocated.
    pub(crate) fn read_into(&mut self, buffer: &mut Vec<u8>, length: usize) -> Result<(), IoError> {
        buffer.resize(length, 0);
        self.read(buffer)
    }

    /// Fills as much of a buffer as there is, and says how much.
    pub(crate) fn read_up_to(&mut self, buffer: &mut [u8]) -> Result<usize, IoError> {
        let length = usize::try_from(self.remaining()).unwrap_or(usize::MAX).min(buffer.len());
        self.read(&mut buffer[..length])?;
        Ok(length)
    }

    /// `Ok` if `expected` more bytes are there.
    ///
    /// # Errors
    /// [`IoError::Truncated`] if not; `what` says what they are.
    pub(crate) fn require(&self, what: &'static str, expected: u64) -> Result<(), IoError> {
        let actual = self.remaining();
        if actual >= expected { Ok(()) } else { Err(self.truncated(what, self.position, expected, actual)) }
    }

    /// The error of a file that ends too early.
    pub(crate) fn truncated(&self, what: &'static str, offset: u64, expected: u64, actual: u64) -> IoError {
        IoError::Truncated { path: self.name.clone(), offset, what, expected, actual }
    }

    /// The error of a header field, of a header at `offset`.
    pub(crate) fn field(
        &self,
        offset: u64,
        field: &'static str,
        expected: impl Into<String>,
        actual: impl ToString,
    ) -> IoError {
        let (expected, actual) = (expected.into(), actual.to_string());
        IoError::Field { path: self.name.clone(), offset, field, expected, actual }
    }

    fn failed(&self, source: std::io::Error) -> IoError {
        IoError::File { path: self.name.clone(), source }
    }
}
