//! Datasets that stay as they are, and the groups of the file.

use std::ops::Range;
use std::path::Path;

use rust_hdf5::format::messages::data_layout::DataLayoutMessage;

use super::objects::{Kind, dataset, group};
use crate::IoError;

/// A value of at most so many bytes is a part of its object header.
const COMPACT: usize = 256;

/// A dataset with its value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::write::uvh5) struct Field {
    /// The group that it is in.
    pub(in crate::write::uvh5) group: &'static str,
    /// Its name there.
    pub(in crate::write::uvh5) name: &'static str,
    /// Its elements.
    pub(in crate::write::uvh5) kind: Kind,
    /// Its dimensions, none for one value.
    pub(in crate::write::uvh5) shape: Vec<u64>,
    /// The elements' bytes.
    pub(in crate::write::uvh5) bytes: Vec<u8>,
    /// Whether a file that is continued must have the same value.
    pub(in crate::write::uvh5) must_agree: bool,
}

/// Fields and groups as bytes of the file.
#[derive(Debug)]
pub(super) struct Image {
    /// Where it begins in the file.
    pub(super) start: u64,
    pub(super) bytes: Vec<u8>,
    /// Where the root group is in the file.
    pub(super) root: u64,
    /// Of each field: all of it, and its value.
    fields: Vec<(Range<usize>, Range<usize>)>,
}

impl Image {
    /// Lays out fields and groups from `start` on; `others` are objects elsewhere: group, name and address.
    pub(super) fn new(
        start: u64,
        fields: &[Field],
        others: &[(&'static str, &'static str, u64)],
    ) -> Result<Self, IoError> {
        let mut image = Self { start, bytes: Vec::new(), root: 0, fields: Vec::new() };
        let mut objects = others.to_vec();
        for field in fields {
            image.align();
            let first = image.bytes.len();
            let (address, value) = image.push_field(field)?;
            image.fields.push((first..image.bytes.len(), value));
            objects.push((field.group, field.name, address));
        }
        // From the innermost to the outermost: a group names what is in it.
        let mut groups: Vec<&'static str> = Vec::new();
        for &(path, ..) in &objects {
            let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
            groups.extend(parents.chain([path, ""]));
        }
        groups.sort_unstable_by_key(|path| (std::cmp::Reverse((path.matches('/').count(), !path.is_empty())), *path));
        groups.dedup();
        for path in groups {
            let links =
                objects.iter().filter(|(parent, ..)| *parent == path).map(|&(_, name, address)| (name, address));
            let header = group(links)?;
            image.align();
            image.root = image.end();
            image.bytes.extend(header);
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            objects.push((parent, name, image.root));
        }
        Ok(image)
    }

    /// The end in the file.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// `Ok` if bytes of a file have the same fields with the same values, where they must agree.
    pub(super) fn check(&self, path: &Path, fields: &[Field], actual: &[u8]) -> Result<(), IoError> {
        for (field, (all, value)) in fields.iter().zip(&self.fields).filter(|(field, _)| field.must_agree) {
            let (Some(found), Some(found_value)) = (actual.get(all.clone()), actual.get(value.clone())) else {
                return Err(other_layout(path, field));
            };
            if found == &self.bytes[all.clone()] {
                continue;
            }
            // Before the value, and behind it unless that is the checksum of all, nothing depends on the value.
            let before = all.start..value.start;
            let behind = if value.end + 4 < all.end { value.end..all.end } else { value.end..value.end };
            let differs = |range: Range<usize>| actual.get(range.clone()) != self.bytes.get(range);
            if found_value == field.bytes || differs(before) || differs(behind) {
                return Err(other_layout(path, field));
            }
            let (expected, actual) = field.difference(found_value);
            let offset = self.start + all.start as u64;
            return Err(IoError::Field { path: path.into(), offset, field: field.name, expected, actual });
        }
        Ok(())
    }

    /// Appends a field; gives the address of its object header and where its value is.
    fn push_field(&mut self, field: &Field) -> Result<(u64, Range<usize>), IoError> {
        if field.bytes.len() <= COMPACT {
            let layout = DataLayoutMessage::compact(field.bytes.clone());
            let header = dataset(field.kind, &field.shape, false, &layout)?;
            let address = self.end();
            self.bytes.extend(header);
            // The value ends the last message, and a checksum of 4 bytes ends the header.
            let end = self.bytes.len() - 4;
            return Ok((address, end - field.bytes.len()..end));
        }
        let layout = DataLayoutMessage::contiguous(self.end(), field.bytes.len() as u64);
        let value = self.bytes.len()..self.bytes.len() + field.bytes.len();
        self.bytes.extend(&field.bytes);
        self.align();
        let address = self.end();
        self.bytes.extend(dataset(field.kind, &field.shape, false, &layout)?);
        Ok((address, value))
    }

    /// Goes on at a multiple of 8.
    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}

impl Field {
    /// The first elements that differ, as text: this field's, and that of other bytes.
    fn difference(&self, other: &[u8]) -> (String, String) {
        let size = self.kind.bytes() as usize;
        let elements = self.bytes.chunks(size).zip(other.chunks(size));
        let differing = elements.enumerate().find(|(_, (own, other))| own != other);
        let Some((place, (own, other))) = differing else {
            return ("nothing".into(), "nothing".into());
        };
        let at = if self.shape.is_empty() { String::new() } else { format!(" (element {place})") };
        (self.kind.text(own) + &at, self.kind.text(other) + &at)
    }
}

/// The error for a file whose field is laid out in another way.
fn other_layout(path: &Path, field: &Field) -> IoError {
    let reason = format!("{}/{} is not laid out as this version of this writer does", field.group, field.name);
    IoError::NotUvh5 { path: path.into(), reason }
}
