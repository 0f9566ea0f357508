//! An HDF5 file with datasets that grow together, of which every commit is one write of one page.
//!
//! ```text
//! 0       root page: superblock (where the file ends), per growing dataset its index's header and its object header
//!         (how many rows there are), scalars that count rows
//! 4096    what stays: datasets with their values, groups
//! then    chunks of rows, blocks of the chunks' indices, as they come
//! ```
//!
//! Rows and blocks of indices go to new places only ([`index`]). A file says that they are there when the root page is
//! written: one write of 4096 bytes at the beginning of the file, which a process that is killed has made or has not.
//! So the file is whole at every instant, and has what was there at the last commit.
//!
//! The structures are encoded by the crate `rust-hdf5`. Source: HDF5 file format specification, version 3.0: superblock
//! version 3, object headers version 2, data layout version 4 with an extensible array; HDF5 1.10 and later read it.

mod column;
mod disk;
mod fixed;
mod index;
mod objects;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::path::Path;

use rust_hdf5::format::messages::data_layout::DataLayoutMessage;
use rust_hdf5::format::superblock::{SUPERBLOCK_V3, SuperblockV2V3};
use rust_hdf5::format::{FormatError, UNDEF_ADDR};

use column::Column;
pub(super) use column::ColumnKind;
use disk::Disk;
pub(super) use fixed::Field;
use fixed::Image;
use index::HEADER_BYTES;
pub(super) use objects::Kind;
use objects::dataset;

use crate::IoError;

/// Bytes of the root page, which the system writes as a whole.
const ROOT_PAGE: usize = 4096;

/// A scalar that counts rows, so many of which make one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub(super) name: (&'static str, &'static str),
    pub(super) rows: u64,
}

/// Everything that is in a file, but rows.
#[derive(Debug, Clone)]
pub(super) struct Description {
    pub(super) fields: Vec<Field>,
    pub(super) columns: Vec<ColumnKind>,
    /// The first has one row for each.
    pub(super) counts: Vec<Count>,
}

/// A file that grows.
#[derive(Debug)]
pub(super) struct GrowingFile {
    disk: Disk,
    columns: Vec<Column>,
    places: Places,
    counts: Vec<Count>,
    /// Where the root group is.
    root: u64,
    /// Rows that all columns have.
    rows: u64,
}

/// Where things are in the root page.
#[derive(Debug)]
struct Places {
    /// Of each column: the header of its index, and its object header.
    columns: Vec<(u64, u64)>,
    /// Of each count, its object header.
    counts: Vec<u64>,
}

impl GrowingFile {
    /// Makes a file without rows, where there is none.
    pub(super) fn create(path: &Path, description: &Description) -> Result<Self, IoError> {
        let places = Places::new(description)?;
        let image = description.image(&places)?;
        let columns = description.columns.iter().cloned().zip(&places.columns);
        let columns = columns.map(|(kind, &(index, _))| Column::new(kind, index)).collect::<Result<_, _>>()?;
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|source| IoError::File { path: path.into(), source })?;
        let mut disk = Disk::new(path, file, image.end());
        disk.write(image.start, &image.bytes)?;
        let counts = description.counts.clone();
        let mut growing = Self { disk, columns, places, counts, root: image.root, rows: 0 };
        growing.commit()?;
        Ok(growing)
    }

    /// Opens a file that was made with the same description, at its last commit.
    pub(super) fn resume(path: &Path, description: &Description) -> Result<Self, IoError> {
        let mut growing = Self::restore(path, description, File::options().read(true).write(true))?;
        growing.disk.cut(growing.disk.end())?;
        Ok(growing)
    }

    /// As [`GrowingFile::resume`], but for reading alone: the file stays as it is.
    pub(super) fn open(path: &Path, description: &Description) -> Result<Self, IoError> {
        Self::restore(path, description, File::options().read(true))
    }

    fn restore(path: &Path, description: &Description, options: &OpenOptions) -> Result<Self, IoError> {
        let file_error = |source| IoError::File { path: path.into(), source };
        let not_ours = |reason: String| IoError::NotUvh5 { path: path.into(), reason };
        let file = options.open(path).map_err(file_error)?;
        let length = file.metadata().map_err(file_error)?.len();
        let mut disk = Disk::new(path, file, 0);
        if length < ROOT_PAGE as u64 {
            return Err(not_ours(format!("it has {length} bytes, and the root page alone has {ROOT_PAGE}")));
        }
        let page = disk.read(0, ROOT_PAGE)?;
        let superblock = SuperblockV2V3::decode(&page).map_err(|error| {
            not_ours(format!("its superblock is not of version 3, or of another kind of file ({error})"))
        })?;
        let places = Places::new(description)?;
        let image = description.image(&places)?;
        let there = (length - image.start.min(length)).min(image.bytes.len() as u64);
        let actual = disk.read(image.start, there as usize)?;
        image.check(path, &description.fields, &actual)?;
        let expected = superblock.end_of_file_address;
        if length < expected {
            return Err(IoError::Truncated {
                path: path.into(),
                offset: 0,
                what: "UVH5 file",
                expected,
                actual: length,
            });
        }
        let rows = places.first_count(&page).ok_or_else(|| not_ours("it does not count rows".into()))?;
        let mut columns = Vec::new();
        for (kind, &(index, _)) in description.columns.iter().zip(&places.columns) {
            let header = &page[index as usize..][..HEADER_BYTES];
            let column = Column::restore(kind.clone(), &mut disk, rows, expected, (index, header))?;
            columns
                .push(column.ok_or_else(|| not_ours(format!("{} has other chunks than its rows need", kind.name.1)))?);
        }
        let counts = description.counts.clone();
        let mut growing =
            Self { disk, columns, places, counts, root: superblock.root_group_object_header_address, rows };
        if growing.page(expected)? != page {
            return Err(not_ours("its root page is not one that this version of this writer writes".into()));
        }
        growing.disk.set_end(expected);
        Ok(growing)
    }

    /// Rows that all columns have.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Path of the file.
    pub(super) fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Writes rows of a column, `after` so many behind those that all columns have.
    pub(super) fn write(&mut self, column: usize, after: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.columns[column].write(&mut self.disk, self.rows + after, bytes)
    }

    /// Counts rows that have been written to all columns.
    pub(super) fn advance(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// The bytes of the last row of a column.
    pub(super) fn last_row(&mut self, column: usize) -> Result<Option<Vec<u8>>, IoError> {
        let Some(row) = self.rows.checked_sub(1) else { return Ok(None) };
        self.columns[column].read_row(&mut self.disk, row).map(Some)
    }

    /// Reads whole rows of a column from `row` on, all of the last commit.
    pub(super) fn read(&mut self, column: usize, row: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.columns[column].read(&mut self.disk, row, buffer)
    }

    /// What a column is.
    pub(super) fn kind(&self, column: usize) -> &ColumnKind {
        &self.columns[column].kind
    }

    /// Makes all rows a part of the file, by one write.
    pub(super) fn commit(&mut self) -> Result<(), IoError> {
        let page = self.prepare()?;
        self.disk.write(0, &page)
    }

    /// As [`GrowingFile::commit`], and waits for the drive before and after that write.
    pub(super) fn commit_and_sync(&mut self) -> Result<(), IoError> {
        let page = self.prepare()?;
        self.disk.sync()?;
        self.disk.write(0, &page)?;
        self.disk.sync()
    }

    /// Writes everything but the root page, and gives that.
    fn prepare(&mut self) -> Result<Vec<u8>, IoError> {
        for column in &mut self.columns {
            column.commit(&mut self.disk, self.rows)?;
        }
        self.disk.reach_end()?;
        self.page(self.disk.end())
    }

    /// The root page of a file that ends at `end`.
    fn page(&self, end: u64) -> Result<Vec<u8>, IoError> {
        let mut page = vec![0; ROOT_PAGE];
        let mut put = |address: u64, bytes: &[u8]| page[address as usize..][..bytes.len()].copy_from_slice(bytes);
        let superblock = SuperblockV2V3 {
            version: SUPERBLOCK_V3,
            sizeof_offsets: 8,
            sizeof_lengths: 8,
            file_consistency_flags: 0,
            base_address: 0,
            superblock_extension_address: UNDEF_ADDR,
            end_of_file_address: end,
            root_group_object_header_address: self.root,
        };
        put(0, &superblock.encode());
        for (column, &(index, object)) in self.columns.iter().zip(&self.places.columns) {
            put(index, &column.index_header());
            put(object, &column.kind.object(self.rows, index)?);
        }
        for (count, &place) in self.counts.iter().zip(&self.places.counts) {
            put(place, &count.object(self.rows)?);
        }
        Ok(page)
    }
}

impl Description {
    /// What stays, behind the root page.
    fn image(&self, places: &Places) -> Result<Image, IoError> {
        let columns = self.columns.iter().zip(&places.columns).map(|(column, &(_, object))| (column.name, object));
        let counts = self.counts.iter().zip(&places.counts).map(|(count, &object)| (count.name, object));
        let others: Vec<_> = columns.chain(counts).map(|((group, name), object)| (group, name, object)).collect();
        Image::new(ROOT_PAGE as u64, &self.fields, &others)
    }
}

impl Count {
    fn object(&self, rows: u64) -> Result<Vec<u8>, IoError> {
        let value = (rows / self.rows).to_le_bytes().to_vec();
        dataset(Kind::I64, &[], false, &DataLayoutMessage::compact(value))
    }
}

impl Places {
    fn new(description: &Description) -> Result<Self, IoError> {
        let mut end = 48u64;
        let mut take = |bytes: usize| {
            let start = end.next_multiple_of(8);
            end = start + bytes as u64;
            start
        };
        let mut columns = Vec::new();
        for column in &description.columns {
            let index = take(HEADER_BYTES);
            columns.push((index, take(column.object(0, index)?.len())));
        }
        let mut counts = Vec::new();
        for count in &description.counts {
            counts.push(take(count.object(0)?.len()));
        }
        if end > ROOT_PAGE as u64 {
            return Err(FormatError::InvalidData(format!("the root page needs {end} bytes")).into());
        }
        Ok(Self { columns, counts })
    }

    /// The first count of a root page: its value ends before the checksum that ends its object header.
    fn first_count(&self, page: &[u8]) -> Option<u64> {
        let count = Count { name: ("", ""), rows: 1 };
        let end = *self.counts.first()? as usize + count.object(0).ok()?.len() - 4;
        Some(u64::from_le_bytes(page.get(end - 8..end)?.try_into().ok()?))
    }
}
