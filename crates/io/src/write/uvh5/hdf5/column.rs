//! A dataset that grows along its first dimension.

use rust_hdf5::format::messages::data_layout::DataLayoutMessage;

use super::disk::Disk;
use super::index::ChunkIndex;
use super::objects::{Kind, dataset};
use crate::IoError;

/// What a growing dataset is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::write::uvh5) struct ColumnKind {
    /// The group that it is in, and its name.
    pub(in crate::write::uvh5) name: (&'static str, &'static str),
    /// Its elements.
    pub(in crate::write::uvh5) kind: Kind,
    /// Its dimensions but the first.
    pub(in crate::write::uvh5) row_shape: Vec<u64>,
    /// Rows of a chunk.
    pub(in crate::write::uvh5) chunk_rows: u64,
}

impl ColumnKind {
    /// Bytes of a row.
    pub(in crate::write::uvh5) fn row_bytes(&self) -> u64 {
        self.row_shape.iter().product::<u64>() * self.kind.bytes()
    }

    fn chunk_bytes(&self) -> u64 {
        self.chunk_rows * self.row_bytes()
    }

    fn chunks(&self, rows: u64) -> u64 {
        rows.div_ceil(self.chunk_rows)
    }

    /// The object header at so many rows, with the index's header at `index`.
    pub(super) fn object(&self, rows: u64, index: u64) -> Result<Vec<u8>, IoError> {
        let with_first = |first| std::iter::once(first).chain(self.row_shape.iter().copied());
        let chunk = with_first(self.chunk_rows).chain([self.kind.bytes()]).collect();
        let layout = DataLayoutMessage::chunked_v4_earray(4, chunk, ChunkIndex::parameters(), index);
        dataset(self.kind, &with_first(rows).collect::<Vec<_>>(), true, &layout)
    }
}

/// Rows that follow each other in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Extent {
    first: u64,
    rows: u64,
    address: u64,
}

/// A growing dataset of a file.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) kind: ColumnKind,
    index: ChunkIndex,
    /// Chunks that have a place.
    chunks: u64,
    /// The last of them.
    extent: Extent,
    /// Those that were read last.
    seen: Extent,
}

impl Column {
    /// A dataset without rows, whose index has its header at `index`.
    pub(super) fn new(kind: ColumnKind, index: u64) -> Result<Self, IoError> {
        let index = ChunkIndex::new(index)?;
        Ok(Self { kind, index, chunks: 0, extent: Extent::default(), seen: Extent::default() })
    }

    /// The dataset of so many rows that the header of an index leads to; `None` if that has another number of chunks,
    /// or some beyond the end of the file.
    pub(super) fn restore(
        kind: ColumnKind,
        disk: &mut Disk,
        rows: u64,
        file_end: u64,
        (address, header): (u64, &[u8]),
    ) -> Result<Option<Self>, IoError> {
        let (index, last) = ChunkIndex::restore(disk, address, header)?;
        if index.chunks() != kind.chunks(rows) {
            return Ok(None);
        }
        let mut column = Self { kind, index, chunks: 0, extent: Extent::default(), seen: Extent::default() };
        if let Some((first, address)) = last {
            let run = column.index.run(first)?;
            let Some(extent) = column.extent_at(first, address, file_end)? else { return Ok(None) };
            (column.chunks, column.extent) = (first + run, extent);
        }
        Ok(Some(column))
    }

    /// The run of chunks from `first` on, at `address`; `None` if it goes beyond the end of the file.
    fn extent_at(&self, first: u64, address: u64, file_end: u64) -> Result<Option<Extent>, IoError> {
        let (run, chunk_rows) = (self.index.run(first)?, self.kind.chunk_rows);
        let end = address.checked_add(run * self.kind.chunk_bytes());
        let extent = Extent { first: first * chunk_rows, rows: run * chunk_rows, address };
        Ok(end.is_some_and(|end| end <= file_end).then_some(extent))
    }

    /// Writes rows from `row` on, which must lie in the last extent or follow it.
    pub(super) fn write(&mut self, disk: &mut Disk, mut row: u64, mut bytes: &[u8]) -> Result<(), IoError> {
        let row_bytes = self.kind.row_bytes();
        while !bytes.is_empty() {
            let end = self.extent.first + self.extent.rows;
            if row >= end {
                self.extend(disk)?;
                continue;
            }
            let rows = (end - row).min(bytes.len() as u64 / row_bytes);
            let (now, later) = bytes.split_at((rows * row_bytes) as usize);
            disk.write(self.extent.address + (row - self.extent.first) * row_bytes, now)?;
            (row, bytes) = (row + rows, later);
        }
        Ok(())
    }

    /// Reads one row of the last extent.
    pub(super) fn read_row(&self, disk: &mut Disk, row: u64) -> Result<Vec<u8>, IoError> {
        let row_bytes = self.kind.row_bytes();
        let within = row.saturating_sub(self.extent.first);
        disk.read(self.extent.address + within * row_bytes, row_bytes as usize)
    }

    /// Reads whole rows from `row` on, all of the last commit.
    pub(super) fn read(&mut self, disk: &mut Disk, mut row: u64, mut buffer: &mut [u8]) -> Result<(), IoError> {
        let row_bytes = self.kind.row_bytes();
        while !buffer.is_empty() {
            if !(self.seen.first..self.seen.first + self.seen.rows).contains(&row) {
                let (first, address) = self.index.find(disk, row / self.kind.chunk_rows)?;
                let file_end = disk.end();
                self.seen = self.extent_at(first, address, file_end)?.ok_or_else(|| {
                    let reason = format!("row {row} of {} lies beyond the end of the file", self.kind.name.1);
                    IoError::NotUvh5 { path: disk.path().into(), reason }
                })?;
            }
            let rows = (self.seen.first + self.seen.rows - row).min(buffer.len() as u64 / row_bytes);
            let (now, later) = buffer.split_at_mut((rows * row_bytes) as usize);
            disk.read_into(self.seen.address + (row - self.seen.first) * row_bytes, now)?;
            (row, buffer) = (row + rows, later);
        }
        Ok(())
    }

    /// Writes what of the index has changed, and gives the bytes of its header for so many rows.
    pub(super) fn commit(&mut self, disk: &mut Disk, rows: u64) -> Result<Vec<u8>, IoError> {
        self.index.commit(disk, self.kind.chunks(rows))
    }

    /// The bytes of the index's header as of the last commit.
    pub(super) fn index_header(&self) -> Vec<u8> {
        self.index.header()
    }

    fn extend(&mut self, disk: &mut Disk) -> Result<(), IoError> {
        let run = self.index.run(self.chunks)?;
        let address = disk.allocate(run * self.kind.chunk_bytes());
        self.index.add_run(disk, self.chunks, address, self.kind.chunk_bytes())?;
        let chunk_rows = self.kind.chunk_rows;
        self.extent = Extent { first: self.chunks * chunk_rows, rows: run * chunk_rows, address };
        self.chunks += run;
        Ok(())
    }
}
