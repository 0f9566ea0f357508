//! Copies of many bytes by one thread (`cp.async.bulk`), of plain bytes and of boxes of tensors.
//!
//! Loads arrive on an mbarrier; stores and reductions are waited for by groups of the thread that issues them.

use std::collections::VecDeque;
use std::panic::Location;

use crate::FaultKind;
use crate::buffer::locate;
use crate::engine::{Stretch, Work};
use crate::machine::{Machine, with};
use crate::memory::Space;
use crate::shadow::Use;
use crate::tensor::{self, Piece};

/// Stores of a group.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Engine and clock of the newest read, and of the newest write.
    read: (usize, u32),
    written: (usize, u32),
    /// Number of stores.
    count: usize,
    at: &'static Location<'static>,
}

/// Bytes of a value, and what becomes of one in global memory and one in shared memory.
type Reduction = (usize, fn(u64, u64) -> u64);

/// A thread's bulk stores.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// Issued, not committed.
    open: Option<Group>,
    /// Committed and not waited for, the oldest first; of so many of them the sources have been waited for.
    groups: VecDeque<Option<Group>>,
    read: usize,
}

/// `cp.async.bulk` from global to shared memory: `bytes` bytes that arrive on the mbarrier; to the same place in each
/// block of the cluster whose bit in `ranks` is set, if given.
#[track_caller]
pub fn bulk_load(shared: u32, global: u64, bytes: u32, mbarrier: u32, ranks: Option<u16>) {
    let at = Location::caller();
    with(|m| {
        let what = "cp.async.bulk";
        let Some(from) = m.stretch(Space::Global, global, bytes as usize, what, at) else { return };
        let data = m.bytes_of(from);
        for (shared, mbarrier) in m.receivers(shared, mbarrier, ranks, what, at) {
            let Some(to) = m.stretch(Space::Shared, shared, bytes as usize, what, at) else { return };
            let Some(engine) = m.copy_arrives(mbarrier, bytes as usize, what, at) else { return };
            let issuer = [m.current];
            m.engine_reads(engine, &issuer, from, what, at);
            m.engine_writes(engine, &issuer, to, &data, Use::Store, what, at);
        }
    });
}

/// `cp.async.bulk` from the block's shared memory to that of a block of the cluster, by cluster addresses of the same
/// block.
#[track_caller]
pub fn bulk_to_cluster(to: u32, from: u32, bytes: u32, mbarrier: u32) {
    let at = Location::caller();
    with(|m| {
        let what = "cp.async.bulk";
        let (to, mbarrier) = (m.cluster_address(to), m.cluster_address(mbarrier));
        if to >> 24 != mbarrier >> 24 {
            let message = format!("{what} to {to:#x} arrives on an mbarrier of another block, {mbarrier:#x}");
            return m.fault(FaultKind::Operand, at, message);
        }
        let Some(from) = m.stretch(Space::Shared, from.into(), bytes as usize, what, at) else { return };
        let Some(to) = m.stretch(Space::Shared, to, bytes as usize, what, at) else { return };
        let Some(engine) = m.copy_arrives(mbarrier, bytes as usize, what, at) else { return };
        let (issuer, data) = ([m.current], m.bytes_of(from));
        m.engine_reads(engine, &issuer, from, what, at);
        m.engine_writes(engine, &issuer, to, &data, Use::Store, what, at);
    });
}

/// `cp.async.bulk` from shared to global memory, as part of the thread's current group.
#[track_caller]
pub fn bulk_store(global: u64, shared: u32, bytes: u32) {
    let at = Location::caller();
    with(|m| m.bulk_store("cp.async.bulk", global, shared, bytes, None, at));
}

/// `cp.reduce.async.bulk`: replaces each value of `size` bytes (4 or 8) in global memory by
/// `operation(it, the value in shared memory)`.
#[track_caller]
pub fn bulk_reduce(global: u64, shared: u32, bytes: u32, size: usize, operation: fn(u64, u64) -> u64) {
    let at = Location::caller();
    with(|m| m.bulk_store("cp.reduce.async.bulk", global, shared, bytes, Some((size, operation)), at));
}

/// `cp.async.bulk.prefetch`: checks the address and does nothing.
#[track_caller]
pub fn bulk_prefetch(global: u64, bytes: u32) {
    let at = Location::caller();
    with(|m| _ = m.stretch(Space::Global, global, bytes as usize, "cp.async.bulk.prefetch", at));
}

/// `cp.async.bulk.commit_group`.
#[track_caller]
pub fn bulk_commit() {
    with(|m| {
        let stores = &mut m.thread().stores;
        let group = stores.open.take();
        stores.groups.push_back(group);
    });
}

/// `cp.async.bulk.wait_group`: until at most `pending` of this thread's newest groups are pending; with `read`, until
/// their sources have been read.
#[track_caller]
pub fn bulk_wait(pending: u32, read: bool) {
    with(|m| {
        let current = m.current;
        let count = m.thread().stores.groups.len();
        for i in 0..count.saturating_sub(pending as usize) {
            let stores = &mut m.thread().stores;
            stores.read = stores.read.max(i + 1);
            let Some(Group { read: (reader, reads), written: (writer, writes), .. }) = stores.groups[i] else {
                continue;
            };
            m.clocks.wait(current, reader, reads);
            if !read {
                m.clocks.wait(current, writer, writes);
            }
        }
        if !read {
            let stores = &mut m.thread().stores;
            let gone = count.saturating_sub(pending as usize);
            stores.groups.drain(..gone);
            stores.read -= gone;
        }
    });
}

/// `cp.async.bulk.tensor` from global to shared memory: the box of the tensor map at these coordinates, which count
/// elements, the fastest dimension first. What lies outside of the tensor becomes zeros, and counts among the bytes
/// that arrive.
#[track_caller]
pub fn tensor_load(shared: u32, map: u64, coordinates: &[i32], mbarrier: u32, ranks: Option<u16>) {
    let at = Location::caller();
    with(|m| {
        let what = "cp.async.bulk.tensor";
        let Some((layout, pieces)) = m.tensor_box(map, coordinates, what, at) else { return };
        let bytes = layout.block_bytes() as usize;
        for (shared, mbarrier) in m.receivers(shared, mbarrier, ranks, what, at) {
            let Some(to) = m.tensor_place(shared, &layout, what, at) else { return };
            let Some(engine) = m.copy_arrives(mbarrier, bytes, what, at) else { return };
            let issuer = [m.current];
            let mut data = vec![0; bytes];
            for &Piece { global, start, bytes, .. } in &pieces {
                let Some(from) = m.tensor_piece(global, bytes, what, at) else { return };
                data[start..start + bytes].copy_from_slice(&m.bytes_of(from));
                m.engine_reads(engine, &issuer, from, what, at);
            }
            let data = layout.swizzled(to.offset, &data);
            m.engine_writes(engine, &issuer, to, &data, Use::Store, what, at);
        }
    });
}

/// `cp.async.bulk.tensor` from shared to global memory, as part of the thread's current group. What lies outside of the
/// tensor is left out.
#[track_caller]
pub fn tensor_store(map: u64, coordinates: &[i32], shared: u32) {
    let at = Location::caller();
    with(|m| {
        let what = "cp.async.bulk.tensor";
        if coordinates.iter().any(|&at| at < 0) {
            let message = format!("{what} to coordinates {coordinates:?}; a store's may not be negative");
            return m.fault(FaultKind::Operand, at, message);
        }
        let Some((layout, pieces)) = m.tensor_box(map, coordinates, what, at) else { return };
        let Some(from) = m.tensor_place(shared.into(), &layout, what, at) else { return };
        let (reader, writer) = m.store_begins(at);
        let issuer = [m.current];
        m.engine_reads(reader, &issuer, from, what, at);
        let data = layout.swizzled(from.offset, &m.bytes_of(from));
        for &Piece { global, start, bytes, .. } in &pieces {
            let Some(to) = m.tensor_piece(global, bytes, what, at) else { return };
            m.engine_writes(writer, &issuer, to, &data[start..start + bytes], Use::Store, what, at);
        }
    });
}

/// `cp.async.bulk.prefetch.tensor`: checks the operands and does nothing.
#[track_caller]
pub fn tensor_prefetch(map: u64, coordinates: &[i32]) {
    let at = Location::caller();
    with(|m| _ = m.tensor_box(map, coordinates, "cp.async.bulk.prefetch.tensor", at));
}

/// `prefetch.tensormap`: checks that there is one.
#[track_caller]
pub fn tensor_map_prefetch(map: u64) {
    let at = Location::caller();
    with(|m| _ = m.tensor_map(map, "prefetch.tensormap", at));
}

impl Machine {
    fn bytes_of(&mut self, Stretch { index, offset, bytes, .. }: Stretch) -> Vec<u8> {
        self.region(index).bytes[offset..offset + bytes].to_vec()
    }

    /// Engines and clocks of a store: of its reads, and of its writes.
    fn store_begins(&mut self, at: &'static Location<'static>) -> ((usize, u32), (usize, u32)) {
        let current = self.current;
        let (reader, writer) = (self.engine(Work::Reading(current)), self.engine(Work::Writing(current)));
        let read = (reader, self.clocks.start(reader, &[current]));
        let written = (writer, self.clocks.start(writer, &[current]));
        let open = &mut self.thread().stores.open;
        let count = open.map_or(0, |group| group.count) + 1;
        *open = Some(Group { read, written, count, at });
        (read, written)
    }

    fn bulk_store(
        &mut self,
        what: &str,
        global: u64,
        shared: u32,
        bytes: u32,
        reduction: Option<Reduction>,
        at: &'static Location<'static>,
    ) {
        let Some(from) = self.stretch(Space::Shared, shared.into(), bytes as usize, what, at) else { return };
        let Some(to) = self.stretch(Space::Global, global, bytes as usize, what, at) else { return };
        let (reader, writer) = self.store_begins(at);
        let (issuer, mut data) = ([self.current], self.bytes_of(from));
        self.engine_reads(reader, &issuer, from, what, at);
        let mut how = Use::Store;
        if let Some((size, operation)) = reduction {
            how = Use::Atomic;
            let old = self.bytes_of(to);
            if !self.region(to.index).all_written(to.offset, to.bytes) {
                let message =
                    format!("{what} of {bytes} bytes at global address {global:#x}, of which some were never written");
                self.fault(FaultKind::Uninitialised, at, message);
            }
            for (new, old) in data.chunks_mut(size).zip(old.chunks(size)) {
                let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                let result = operation(value(old), value(new));
                new.copy_from_slice(&result.to_le_bytes()[..size]);
            }
        }
        self.engine_writes(writer, &issuer, to, &data, how, what, at);
    }

    /// A tensor map's box at coordinates: the map, and the rows of it that lie inside the tensor.
    fn tensor_box(
        &mut self,
        map: u64,
        coordinates: &[i32],
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<(tensor::TensorLayout, Vec<Piece>)> {
        let (address, layout) = self.tensor_map(map, what, at)?;
        match layout.pieces(address, coordinates) {
            Ok(pieces) => Some((layout, pieces)),
            Err(message) => {
                self.fault(FaultKind::Operand, at, format!("{what}: {message}"));
                None
            }
        }
    }

    fn tensor_map(
        &mut self,
        map: u64,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<(u64, tensor::TensorLayout)> {
        let known = self.memory.tensor_map(map).cloned();
        if known.is_none() {
            self.fault(FaultKind::Operand, at, format!("{what}: no tensor map at address {map:#x}"));
        }
        known
    }

    /// The place of a box in shared memory.
    fn tensor_place(
        &mut self,
        shared: u64,
        layout: &tensor::TensorLayout,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<Stretch> {
        let alignment = layout.alignment();
        if !shared.is_multiple_of(alignment) {
            let message = format!(
                "{what}: a box at shared address {shared:#x}; with its permutation it begins at a multiple of {alignment}"
            );
            self.fault(FaultKind::Misaligned, at, message);
            return None;
        }
        self.stretch(Space::Shared, shared, layout.block_bytes() as usize, what, at)
    }

    /// Part of a row of a tensor.
    fn tensor_piece(
        &mut self,
        global: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<Stretch> {
        let (index, offset) = locate(global);
        if self.memory.buffers.get(index).is_none_or(|region| offset + bytes > region.bytes.len()) {
            let message = format!("{what} of {bytes} bytes at global address {global:#x}, beyond the buffer");
            self.fault(FaultKind::OutOfBounds, at, message);
            return None;
        }
        Some(Stretch { space: Space::Global, index, offset, address: global, bytes })
    }

    /// Where copies of a load go: addresses of the destination and of the mbarrier, by block.
    fn receivers(
        &mut self,
        shared: u32,
        mbarrier: u32,
        ranks: Option<u16>,
        what: &str,
        at: &'static Location<'static>,
    ) -> Vec<(u64, u64)> {
        let Some(ranks) = ranks else { return vec![(shared.into(), mbarrier.into())] };
        let blocks = self.cluster_blocks();
        if ranks == 0 || u32::from(ranks) >> blocks != 0 {
            let message = format!("{what} to the ranks {ranks:#b} of a cluster of {blocks} blocks");
            self.fault(FaultKind::Operand, at, message);
        }
        let ranks = (0..blocks).filter(|rank| ranks >> rank & 1 == 1);
        ranks.map(|rank| (self.address_in(rank, shared), self.address_in(rank, mbarrier))).collect()
    }

    /// After a thread has returned: bulk stores whose sources it never waited for.
    pub(crate) fn leave_stores(&mut self, thread: usize) {
        let Stores { open, groups, read } = &self.threads[thread].stores;
        let left = groups.iter().skip(*read).flatten().chain(open);
        let (first, count) =
            left.fold((None, 0), |(first, count), group| (first.or(Some(group.at)), count + group.count));
        if let Some(at) = first {
            let message = format!("{count} bulk stores whose sources were never waited for");
            self.fault_of(thread, FaultKind::AsynchronousCopy, at, message);
        }
    }
}
