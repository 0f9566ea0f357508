//! Shared and global memory. For the twins of intrinsics.
//!
//! Shared addresses are byte offsets from the start of the block's dynamic shared memory. Global addresses are those of
//! the buffers of a [`GlobalMemory`](crate::GlobalMemory).

use std::panic::Location;

use crate::buffer::{buffer_address, locate};
use crate::machine::{Machine, spin, with};
use crate::region::Region;
use crate::shadow::{Conflict, Stamp, Use};
use crate::trace::Access;
use crate::{AccessKind, FaultKind};

pub use crate::asynchronous::{copy_async, copy_async_arrive, copy_async_commit, copy_async_wait, copy_async_wait_all};
pub use crate::bulk::{
    bulk_commit, bulk_load, bulk_prefetch, bulk_reduce, bulk_store, bulk_to_cluster, bulk_wait, tensor_load,
    tensor_map_prefetch, tensor_prefetch, tensor_store,
};
pub use crate::engine::{fence_mbarrier_init, fence_proxy_async};

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Memory of the device.
    Global,
}

/// How often a thread loads from one address by one instruction, and does nothing else with memory, until it counts as
/// polling.
const POLLING_LOADS: u32 = 100_000;

/// Loads `bytes.len()` bytes (1, 2, 4, 8 or 16) from `address`, which must be a multiple of that length. On a fault
/// zeros come.
#[track_caller]
pub fn load(space: Space, address: u64, bytes: &mut [u8]) {
    let at = Location::caller();
    if with(|m| {
        m.load(space, address, bytes, at);
        m.is_polling(address, at)
    }) {
        spin("a load", at);
    }
}
/// Stores, as [`load`]. On a fault nothing is stored.
#[track_caller]
pub fn store(space: Space, address: u64, bytes: &[u8]) {
    let at = Location::caller();
    with(|m| m.store(space, address, bytes, at));
}
/// An atomic read-modify-write of a word of 2, 4 or 8 bytes: stores `update(old)` and returns `old`. An update to the
/// same value counts as a load, and lets other threads run first: it may be a look at what the thread waits for.
///
/// Atomics race with other accesses that nothing orders, not with each other. They order other accesses through
/// [`fence`]s only: what a thread did before a fence, after which its atomic wrote the word, happened before what
/// another thread does after a fence that follows its own atomic on that word.
#[track_caller]
pub fn atomic(space: Space, address: u64, bytes: usize, update: impl FnOnce(u64) -> u64) -> u64 {
    let at = Location::caller();
    let Some(old) = with(|m| m.atomic_load(space, address, bytes, at)) else { return 0 };
    let new = update(old);
    let mask = u64::MAX >> (64 - 8 * bytes);
    let writes = (new ^ old) & mask != 0;
    with(|m| m.atomic_store(space, address, bytes, writes.then_some(new), at));
    if !writes {
        spin("an atomic operation", at);
    }
    old
}

/// `fence.acq_rel` / `membar`: orders this thread's accesses (with atomics, other threads may synchronise through
/// them).
#[track_caller]
pub fn fence() {
    let at = Location::caller();
    with(|m| {
        m.thread().at = at;
        m.clocks.fence(m.current);
    });
}

impl Machine {
    /// Checks bounds and alignment; the index of the region, `usize::MAX` for shared memory, and the offset from its
    /// start.
    #[inline]
    pub(crate) fn place(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<(usize, usize)> {
        let (index, base, offset, length) = match space {
            Space::Shared => {
                let (base, offset) = self.shared_place(address, at);
                (usize::MAX, base, offset, self.shape.shared_bytes as usize)
            }
            Space::Global => {
                let (index, offset) = locate(address);
                (index, 0, offset, self.memory.buffers.get(index).map_or(0, |region| region.bytes.len()))
            }
        };
        if offset.saturating_add(bytes) <= length && bytes.is_power_of_two() && bytes <= 16 && offset & (bytes - 1) == 0
        {
            return Some((index, base + offset));
        }
        self.fault_place(space, address, bytes, what, at);
        None
    }

    #[cold]
    fn fault_place(&mut self, space: Space, address: u64, bytes: usize, what: &str, at: &'static Location<'static>) {
        if !bytes.is_power_of_two() || bytes > 16 {
            return self.fault(FaultKind::Operand, at, format!("{what} of {bytes} bytes; expected 1, 2, 4, 8 or 16"));
        }
        if !address.is_multiple_of(bytes as u64) {
            let message =
                format!("{what} of {bytes} bytes at {space:?} address {address:#x}, which is no multiple of {bytes}");
            return self.fault(FaultKind::Misaligned, at, message);
        }
        let place = match space {
            Space::Shared => format!("shared address {address}; the block has {} bytes", self.shape.shared_bytes),
            Space::Global => {
                let (index, offset) = locate(address);
                match self.memory.buffers.get(index) {
                    Some(region) => format!("byte {offset} of a global buffer of {} bytes", region.bytes.len()),
                    None => format!("global address {address:#x}, where there is no buffer"),
                }
            }
        };
        self.fault(FaultKind::OutOfBounds, at, format!("{what} of {bytes} bytes at {place}"));
    }

    /// The region of this index, `usize::MAX` for shared memory.
    #[inline]
    pub(crate) fn region(&mut self, index: usize) -> &mut Region {
        if index == usize::MAX { &mut self.shared } else { &mut self.memory.buffers[index] }
    }

    /// The running thread's access at this place in the source, now.
    #[inline]
    pub(crate) fn stamp(&mut self, at: &'static Location<'static>) -> Stamp {
        Stamp { clock: self.clocks.now(self.current), thread: self.current as u16, site: self.sites.number(at) }
    }

    /// Records an access in the shadow, and reports what it races with. Whether an asynchronous copy to there is under
    /// way.
    #[inline]
    #[allow(clippy::too_many_arguments)] // An access has that many properties.
    pub(crate) fn check_order(
        &mut self,
        space: Space,
        index: usize,
        address: u64,
        offset: usize,
        bytes: usize,
        how: Use,
        what: &str,
        at: &'static Location<'static>,
    ) -> bool {
        let stamp = self.stamp(at);
        let region = if index == usize::MAX { &mut self.shared } else { &mut self.memory.buffers[index] };
        let Some(conflict) = region.shadow.access(offset, bytes, how, stamp, &self.clocks) else { return false };
        self.fault_conflict(conflict, space, address, bytes, what, at);
        self.is_under_way(conflict)
    }

    /// As [`check_order`](Self::check_order) of whoever `stamp` says; whether there is a conflict.
    #[allow(clippy::too_many_arguments)] // An access has that many properties.
    pub(crate) fn check_order_of(
        &mut self,
        stamp: Stamp,
        space: Space,
        index: usize,
        address: u64,
        offset: usize,
        bytes: usize,
        how: Use,
        what: &str,
        at: &'static Location<'static>,
    ) -> bool {
        let region = if index == usize::MAX { &mut self.shared } else { &mut self.memory.buffers[index] };
        let Some(conflict) = region.shadow.access(offset, bytes, how, stamp, &self.clocks) else { return false };
        self.fault_conflict(conflict, space, address, bytes, what, at);
        true
    }

    /// Whether the conflict is with an asynchronous copy that has not been waited for.
    fn is_under_way(&self, conflict: Conflict) -> bool {
        match conflict {
            Conflict::InFlight(_) => true,
            Conflict::Race(stamp, _) => self.clocks.is_engine(stamp.thread.into()),
            Conflict::Mbarrier => false,
        }
    }

    #[cold]
    fn fault_conflict(
        &mut self,
        conflict: Conflict,
        space: Space,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) {
        let place = match space {
            Space::Shared => format!("shared address {address}"),
            Space::Global => {
                format!("byte {} of the global buffer at {:#x}", locate(address).1, address - locate(address).1 as u64)
            }
        };
        match conflict {
            Conflict::InFlight(thread) => self.fault_in_flight(thread, address, bytes, what, at),
            Conflict::Mbarrier => {
                let message = format!("{what} of {bytes} bytes at {place}, where there is a live mbarrier");
                self.fault(FaultKind::Operand, at, message);
            }
            Conflict::Race(stamp, how)
                if stamp.clock >= self.clocks.base() && self.clocks.is_engine(stamp.thread.into()) =>
            {
                self.fault_engine(stamp, how, space, address, &format!("{what} of {bytes} bytes"), at);
            }
            Conflict::Race(Stamp { clock, thread, site }, how) => {
                let did = match how {
                    Use::Load => "loads from",
                    Use::Store => "stores to",
                    Use::Atomic => "updates atomically",
                };
                // A copy engine of another block has no index.
                let thread = self.threads.get(usize::from(thread)).map_or([0; 3], |thread| thread.index);
                let began = self.block_begins.partition_point(|(base, _)| *base <= clock);
                let block = match self.block_begins.get(began.wrapping_sub(1)) {
                    Some((base, block)) if *base < self.clocks.base() => format!(" of block {block:?}"),
                    _ => String::new(),
                };
                let other = self.sites.place(site);
                let message = format!(
                    "{what} of {bytes} bytes at {place}, which thread {thread:?}{block} {did} at {other}; nothing orders the two"
                );
                self.fault(FaultKind::Race, at, message);
            }
        }
    }

    #[cold]
    pub(crate) fn fault_unwritten(
        &mut self,
        space: Space,
        index: usize,
        offset: usize,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) {
        let first = self.region(index).first_unwritten(offset, bytes);
        let place = match space {
            Space::Shared => "of shared memory".to_owned(),
            Space::Global => format!("of the global buffer at {:#x}", buffer_address(index)),
        };
        let message = format!("{what} of {bytes} bytes at byte {offset} {place}: byte {first} was never written");
        self.fault(FaultKind::Uninitialised, at, message);
    }

    /// Lists an access for the counts.
    #[inline]
    pub(crate) fn trace(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        kind: AccessKind,
        at: &'static Location<'static>,
    ) {
        let site = self.sites.number(at);
        self.thread().at = at;
        self.trace.add(self.current, Access { address, site, bytes: bytes as u8, space, kind });
    }

    /// Whether the running thread loads the same again and again.
    #[inline]
    fn is_polling(&mut self, address: u64, at: &'static Location<'static>) -> bool {
        let thread = &mut self.threads[self.current];
        let load = (address, std::ptr::from_ref(at));
        thread.polled = if thread.last_load == load { thread.polled.saturating_add(1) } else { 0 };
        thread.last_load = load;
        thread.polled > POLLING_LOADS
    }

    pub(crate) fn load(&mut self, space: Space, address: u64, bytes: &mut [u8], at: &'static Location<'static>) {
        self.clock += 1;
        let size = bytes.len();
        let Some((index, offset)) = self.place(space, address, size, "load", at) else { return bytes.fill(0) };
        let region = self.region(index);
        bytes.copy_from_slice(&region.bytes[offset..offset + size]);
        let written = region.is_written(offset, size);
        self.trace(space, address, size, AccessKind::Load, at);
        if !self.check_order(space, index, address, offset, size, Use::Load, "load", at) && !written {
            self.fault_unwritten(space, index, offset, size, "load", at);
        }
    }

    pub(crate) fn store(&mut self, space: Space, address: u64, bytes: &[u8], at: &'static Location<'static>) {
        self.clock += 1;
        self.progress += 1;
        let thread = self.thread();
        thread.polled = 0;
        if thread.products.marked > 0 {
            self.check_marks(bytes, at);
        }
        let Some((index, offset)) = self.place(space, address, bytes.len(), "store", at) else { return };
        self.trace(space, address, bytes.len(), AccessKind::Store, at);
        self.check_sources(space, address, bytes.len(), at);
        self.check_order(space, index, address, offset, bytes.len(), Use::Store, "store", at);
        self.region(index).store(offset, bytes);
    }

    fn atomic_load(&mut self, space: Space, address: u64, bytes: usize, at: &'static Location<'static>) -> Option<u64> {
        self.clock += 1;
        if ![2, 4, 8].contains(&bytes) {
            self.fault(FaultKind::Operand, at, format!("atomic operation on {bytes} bytes; expected 2, 4 or 8"));
            return None;
        }
        let (index, offset) = self.place(space, address, bytes, "atomic operation", at)?;
        let region = self.region(index);
        let mut old = [0; 8];
        old[..bytes].copy_from_slice(&region.bytes[offset..offset + bytes]);
        if !region.is_written(offset, bytes) {
            self.fault_unwritten(space, index, offset, bytes, "atomic operation", at);
        }
        self.trace(space, address, bytes, AccessKind::Atomic, at);
        self.check_order(space, index, address, offset, bytes, Use::Atomic, "atomic operation", at);
        Some(u64::from_le_bytes(old))
    }

    fn atomic_store(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        new: Option<u64>,
        at: &'static Location<'static>,
    ) {
        let base = if space == Space::Shared { self.shared_base as u64 } else { 0 };
        let word = self.passed.entry((space, base + address)).or_default();
        self.clocks.pass(self.current, word, new.is_some());
        if let (Some(new), Some((index, offset))) = (new, self.place(space, address, bytes, "atomic operation", at)) {
            self.progress += 1;
            self.check_sources(space, address, bytes, at);
            self.region(index).store(offset, &new.to_le_bytes()[..bytes]);
        }
    }
}
