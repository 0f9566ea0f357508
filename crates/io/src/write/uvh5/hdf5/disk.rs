//! Bytes at places of a file, and space at its end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::IoError;

/// Blocks of at least this many bytes begin at a multiple of it, where a page of the system's cache does.
const PAGE: u64 = 4096;

/// A file whose space is handed out from its end, and never again.
#[derive(Debug)]
pub(in crate::write::uvh5) struct Disk {
    path: PathBuf,
    file: File,
    /// The end of what has been handed out.
    end: u64,
    /// Everything that was done to the file.
    #[cfg(test)]
    pub(super) journal: Vec<Step>,
}

/// What was done to a file.
#[cfg(test)]
#[derive(Debug, Clone)]
pub(super) enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Disk {
    /// A file of which bytes up to `end` are in use.
    pub(in crate::write::uvh5) fn new(path: &Path, file: File, end: u64) -> Self {
        Self {
            path: path.into(),
            file,
            end,
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    /// The end of what has been handed out.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Counts bytes up to `end` as handed out.
    pub(super) fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Space of so many bytes; what is there is not known.
    pub(super) fn allocate(&mut self, bytes: u64) -> u64 {
        let start = self.end.next_multiple_of(if bytes >= PAGE { PAGE } else { 8 });
        self.end = start + bytes;
        start
    }

    /// Writes bytes at a place.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        #[cfg(test)]
        self.journal.push(Step::Write(offset, bytes.to_vec()));
        let mut write = || {
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.write_all(bytes)
        };
        write().map_err(|source| self.error(source))
    }

    /// Reads so many bytes at a place.
    pub(super) fn read(&mut self, offset: u64, bytes: usize) -> Result<Vec<u8>, IoError> {
        let mut buffer = vec![0; bytes];
        self.read_into(offset, &mut buffer)?;
        Ok(buffer)
    }

    /// Fills a buffer with the bytes at a place.
    pub(super) fn read_into(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let mut read = || {
            self.file.seek(SeekFrom::Start(offset))?;
            self.file.read_exact(buffer)
        };
        read().map_err(|source| self.error(source))
    }

    /// Makes the file reach to the end of what has been handed out. What is new and not written is a hole of zeros.
    pub(super) fn reach_end(&mut self) -> Result<(), IoError> {
        let length = self.file.metadata().map_err(|source| self.error(source))?.len();
        if length < self.end { self.cut(self.end) } else { Ok(()) }
    }

    /// Makes the file end where what is in use ends: what lies behind is of rows that were never committed.
    pub(super) fn cut(&mut self, end: u64) -> Result<(), IoError> {
        #[cfg(test)]
        self.journal.push(Step::Length(end));
        self.end = end;
        self.file.set_len(end).map_err(|source| self.error(source))
    }

    /// Waits until the drive has what was written.
    pub(super) fn sync(&mut self) -> Result<(), IoError> {
        self.file.sync_data().map_err(|source| self.error(source))
    }

    /// Path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, source: std::io::Error) -> IoError {
        IoError::File { path: self.path.clone(), source }
    }
}
