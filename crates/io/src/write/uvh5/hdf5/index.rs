//! Where the chunks of a growing dataset are: an extensible array, of which nothing that counts is ever written again.
//!
//! ```text
//! header --> index block --+--> chunks 0 to 15
//!   (in the root page)     +--> data block of 8, data block of 16 chunks
//!                          '--> super blocks --> data blocks of 16, or of pages of 16 chunks
//! ```
//!
//! A data block without pages and a page are written once, before any of their chunks is in use: their chunks follow
//! each other in the file, so that their addresses are known at once. The index block and super blocks are written anew
//! where they have changed, at another place, and the header (which is in the root page) names the new index block. So
//! whatever the header of the last commit leads to stays as it was.

use rust_hdf5::format::UNDEF_ADDR;
use rust_hdf5::format::checksum::checksum_metadata;
use rust_hdf5::format::chunk_index::extensible_array::{
    EaChunkLoc, EaDblkPath, EaGeometry, EaLoc, ExtensibleArrayDataBlock, ExtensibleArrayHeader,
    ExtensibleArrayIndexBlock, ExtensibleArraySuperBlock,
};
use rust_hdf5::format::messages::data_layout::EarrayParams;

use super::disk::Disk;
use super::objects::CONTEXT;
use crate::IoError;

/// The shape of every index. 2^32 chunks; 16 of them in the index block and in a page.
///
/// The HDF5 library asks that a page has room for what the index block and each data block that this names hold.
const SHAPE: EarrayParams = EarrayParams {
    max_nelmts_bits: 32,
    idx_blk_elmts: 16,
    sup_blk_min_data_ptrs: 2,
    data_blk_min_elmts: 8,
    max_dblk_page_nelmts_bits: 4,
};

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 72;

/// Where the chunks of one dataset are.
#[derive(Debug)]
pub(super) struct ChunkIndex {
    geometry: EaGeometry,
    /// Where the header is.
    address: u64,
    header: ExtensibleArrayHeader,
    block: ExtensibleArrayIndexBlock,
    /// The super block of the last data block, and its place in the index block.
    super_block: Option<(usize, ExtensibleArraySuperBlock)>,
    /// Where the last data block is.
    data_block: u64,
    changed: bool,
    super_changed: bool,
}

impl ChunkIndex {
    /// The parameters that a dataset's layout names.
    pub(super) fn parameters() -> EarrayParams {
        SHAPE
    }

    /// An index without chunks, whose header is at `address`.
    pub(super) fn new(address: u64) -> Result<Self, IoError> {
        let geometry = EaGeometry::new(
            SHAPE.idx_blk_elmts,
            SHAPE.data_blk_min_elmts,
            SHAPE.sup_blk_min_data_ptrs,
            SHAPE.max_nelmts_bits,
            SHAPE.max_dblk_page_nelmts_bits,
        )?;
        let header = ExtensibleArrayHeader {
            idx_blk_elmts: SHAPE.idx_blk_elmts,
            data_blk_min_elmts: SHAPE.data_blk_min_elmts,
            sup_blk_min_data_ptrs: SHAPE.sup_blk_min_data_ptrs,
            max_nelmts_bits: SHAPE.max_nelmts_bits,
            max_dblk_page_nelmts_bits: SHAPE.max_dblk_page_nelmts_bits,
            ..ExtensibleArrayHeader::new_for_chunks(&CONTEXT)
        };
        let (data_blocks, super_blocks) = (geometry.ndblk_addrs, geometry.nsblk_addrs);
        let block = ExtensibleArrayIndexBlock::new(address, SHAPE.idx_blk_elmts, data_blocks, super_blocks);
        Ok(Self {
            geometry,
            address,
            header,
            block,
            super_block: None,
            data_block: UNDEF_ADDR,
            changed: false,
            super_changed: false,
        })
    }

    /// How many chunks follow each other in the file from `first` on, the first of which there is no place yet.
    pub(super) fn run(&self, first: u64) -> Result<u64, IoError> {
        Ok(match self.geometry.locate(first)? {
            EaLoc::Index { .. } => 1,
            EaLoc::Dblk(place) => place.dblk_nelmts.min(self.geometry.dblk_page_nelmts),
        })
    }

    /// Records that the run of chunks from `first` on begins at `address`. After an error the index is as before.
    pub(super) fn add_run(
        &mut self,
        disk: &mut Disk,
        first: u64,
        address: u64,
        chunk_bytes: u64,
    ) -> Result<(), IoError> {
        let place = match self.geometry.locate(first)? {
            EaLoc::Index { elem } => {
                self.block.elements[elem] = address;
                self.changed = true;
                return Ok(());
            }
            EaLoc::Dblk(place) => place,
        };
        let addresses: Vec<u64> = (0..self.run(first)?).map(|chunk| address + chunk * chunk_bytes).collect();
        let data_block =
            if place.offset_in_dblk == 0 { disk.allocate(self.data_block_bytes(&place)) } else { self.data_block };
        if place.paged {
            if place.offset_in_dblk == 0 {
                disk.write(data_block, &self.prefix(&place))?;
            }
            disk.write(data_block + self.page_offset(&place), &page(&addresses))?;
        } else {
            let elements = addresses;
            let block = ExtensibleArrayDataBlock {
                elements,
                ..ExtensibleArrayDataBlock::new(self.address, place.dblk_block_offset, 0)
            };
            disk.write(data_block, &block.encode(&CONTEXT, SHAPE.max_nelmts_bits))?;
        }
        if place.offset_in_dblk == 0 {
            if matches!(place.path, EaDblkPath::ViaSblk { local_dblk: 0, .. }) {
                self.write_super_block(disk)?; // that of the data blocks before
            }
            self.name_data_block(&place, data_block);
        }
        Ok(())
    }

    /// Writes the super block to a new place if it has changed.
    fn write_super_block(&mut self, disk: &mut Disk) -> Result<(), IoError> {
        if let (true, Some((slot, super_block))) = (self.super_changed, &self.super_block) {
            let bytes = super_block.encode(&CONTEXT, SHAPE.max_nelmts_bits);
            let address = disk.allocate(bytes.len() as u64);
            disk.write(address, &bytes)?;
            self.block.sblk_addrs[*slot] = address;
            (self.changed, self.super_changed) = (true, false);
        }
        Ok(())
    }

    /// Writes what has changed to new places, and gives the header's bytes for so many chunks in use.
    pub(super) fn commit(&mut self, disk: &mut Disk, chunks: u64) -> Result<Vec<u8>, IoError> {
        self.write_super_block(disk)?;
        if self.changed {
            let bytes = self.block.encode(&CONTEXT);
            let address = disk.allocate(bytes.len() as u64);
            disk.write(address, &bytes)?;
            self.header.idx_blk_addr = address;
            self.changed = false;
        }
        self.header.max_idx_set = chunks;
        Ok(self.header())
    }

    /// The header's bytes as of the last commit.
    pub(super) fn header(&self) -> Vec<u8> {
        self.header.encode(&CONTEXT)
    }

    /// Chunks in use as of the last commit.
    pub(super) fn chunks(&self) -> u64 {
        self.header.max_idx_set
    }

    /// The index that a header of this file leads to. Gives also the first chunk of the last run and its address, if
    /// there are chunks.
    pub(super) fn restore(disk: &mut Disk, address: u64, header: &[u8]) -> Result<(Self, Option<(u64, u64)>), IoError> {
        let mut index = Self::new(address)?;
        index.header = ExtensibleArrayHeader::decode(header, &CONTEXT)?;
        let Some(last) = index.header.max_idx_set.checked_sub(1) else {
            return Ok((index, None));
        };
        let geometry = &index.geometry;
        let bytes = disk.read(index.header.idx_blk_addr, index.block.encoded_size(&CONTEXT))?;
        let elements = usize::from(SHAPE.idx_blk_elmts);
        let (data_blocks, super_blocks) = (geometry.ndblk_addrs, geometry.nsblk_addrs);
        index.block = ExtensibleArrayIndexBlock::decode(&bytes, &CONTEXT, elements, data_blocks, super_blocks)?;
        let place = match index.geometry.locate(last)? {
            EaLoc::Index { elem } => {
                let address = index.block.elements[elem];
                return Ok((index, Some((last, address))));
            }
            EaLoc::Dblk(place) => place,
        };
        (index.data_block, index.super_block) = index.find_data_block(disk, &place)?;
        let last = index.run_in(disk, last, &place, index.data_block)?;
        Ok((index, Some(last)))
    }

    /// The run that a chunk of the last commit is in: its first chunk, and the address of that.
    pub(super) fn find(&self, disk: &mut Disk, chunk: u64) -> Result<(u64, u64), IoError> {
        match self.geometry.locate(chunk)? {
            EaLoc::Index { elem } => Ok((chunk, self.block.elements[elem])),
            EaLoc::Dblk(place) => {
                let (data_block, _) = self.find_data_block(disk, &place)?;
                self.run_in(disk, chunk, &place, data_block)
            }
        }
    }

    /// Where the data block of a place is, and the super block that names it, if one does.
    fn find_data_block(
        &self,
        disk: &mut Disk,
        place: &EaChunkLoc,
    ) -> Result<(u64, Option<(usize, ExtensibleArraySuperBlock)>), IoError> {
        match place.path {
            EaDblkPath::Direct { idx } => Ok((self.block.dblk_addrs[idx], None)),
            EaDblkPath::ViaSblk { sblk_off, local_dblk, ndblks_in_sblk, .. } => {
                let pages = ndblks_in_sblk * self.geometry.dblk_page_init_size(place.sblk_idx);
                let bytes = 22 + pages + 8 * ndblks_in_sblk;
                let bytes = disk.read(self.block.sblk_addrs[sblk_off], bytes)?;
                let block =
                    ExtensibleArraySuperBlock::decode(&bytes, &CONTEXT, SHAPE.max_nelmts_bits, ndblks_in_sblk, pages)?;
                Ok((block.dblk_addrs[local_dblk], Some((sblk_off, block))))
            }
        }
    }

    /// The run of a chunk whose place is in this data block: its first chunk, and the address of that.
    fn run_in(&self, disk: &mut Disk, chunk: u64, place: &EaChunkLoc, data_block: u64) -> Result<(u64, u64), IoError> {
        let within = place.offset_in_dblk % self.run(chunk)?;
        let offset = if place.paged { self.page_offset(place) } else { self.prefix_bytes() - 4 };
        let first = disk.read(data_block.saturating_add(offset), 8)?;
        let first = first.try_into().map_or(UNDEF_ADDR, u64::from_le_bytes);
        Ok((chunk - within, first))
    }

    /// Notes a new data block, and perhaps a new super block that names it.
    fn name_data_block(&mut self, place: &EaChunkLoc, address: u64) {
        self.data_block = address;
        self.header.num_dblks_created += 1;
        self.header.size_dblks_created += self.data_block_bytes(place);
        self.header.num_elmts_realized += place.dblk_nelmts;
        match place.path {
            EaDblkPath::Direct { idx } => {
                self.block.dblk_addrs[idx] = address;
                self.changed = true;
            }
            EaDblkPath::ViaSblk { sblk_off, local_dblk, ndblks_in_sblk, sblk_block_offset } => {
                if local_dblk == 0 {
                    let class = self.block.class_id;
                    let mut block =
                        ExtensibleArraySuperBlock::new(class, self.address, sblk_block_offset, ndblks_in_sblk);
                    // All pages count as there: a reader looks no further than the chunks in use, and their pages are.
                    let pages = ndblks_in_sblk * self.geometry.dblk_page_init_size(place.sblk_idx);
                    block.page_init = vec![0xff; pages];
                    self.header.num_sblks_created += 1;
                    self.header.size_sblks_created += (22 + pages + 8 * ndblks_in_sblk) as u64;
                    self.super_block = Some((sblk_off, block));
                }
                if let Some((_, block)) = &mut self.super_block {
                    block.dblk_addrs[local_dblk] = address;
                    self.super_changed = true;
                }
            }
        }
    }

    /// Bytes of a data block's beginning, checksum included.
    fn prefix_bytes(&self) -> u64 {
        self.geometry.dblk_prefix_size(CONTEXT.sizeof_addr, SHAPE.max_nelmts_bits) as u64
    }

    /// The beginning of a data block with pages.
    fn prefix(&self, place: &EaChunkLoc) -> Vec<u8> {
        ExtensibleArrayDataBlock::new(self.address, place.dblk_block_offset, 0).encode(&CONTEXT, SHAPE.max_nelmts_bits)
    }

    /// Bytes of a data block.
    fn data_block_bytes(&self, place: &EaChunkLoc) -> u64 {
        if place.paged {
            self.prefix_bytes() + self.geometry.npages(place.sblk_idx) * self.page_bytes()
        } else {
            self.prefix_bytes() + 8 * place.dblk_nelmts
        }
    }

    fn page_bytes(&self) -> u64 {
        self.geometry.dblk_page_size(8) as u64
    }

    /// Where in its data block the page of a chunk begins.
    fn page_offset(&self, place: &EaChunkLoc) -> u64 {
        self.prefix_bytes() + place.offset_in_dblk / self.geometry.dblk_page_nelmts * self.page_bytes()
    }
}

/// A page of addresses with its checksum.
fn page(addresses: &[u64]) -> Vec<u8> {
    let mut bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    bytes.extend(checksum_metadata(&bytes).to_le_bytes());
    bytes
}
