//! Shared and global memory. For the twins of intrinsics.
//!
//! Shared addresses are byte offsets from the start of the block's dynamic shared memory. Global addresses are those of the
//! buffers of a [`GlobalMemory`](crate::GlobalMemory).

use std::panic::Location;

use crate::FaultKind;
use crate::buffer::locate;
use crate::machine::{Machine, spin, with};
use crate::region::Region;

pub use crate::asynchronous::{copy_async, copy_async_arrive, copy_async_commit, copy_async_wait, copy_async_wait_all};

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Memory of the device.
    Global,
}

/// Loads `bytes.len()` bytes (1, 2, 4, 8 or 16) from `address`, which must be a multiple of that length. On a fault zeros come.
#[track_caller]
pub fn load(space: Space, address: u64, bytes: &mut [u8]) {
    let at = Location::caller();
    with(|m| m.load(space, address, bytes, at));
}
/// Stores, as [`load`]. On a fault nothing is stored.
#[track_caller]
pub fn store(space: Space, address: u64, bytes: &[u8]) {
    let at = Location::caller();
    with(|m| m.store(space, address, bytes, at));
}
/// An atomic read-modify-write of a word of 2, 4 or 8 bytes: stores `update(old)` and returns `old`.
#[track_caller]
pub fn atomic(space: Space, address: u64, bytes: usize, update: impl FnOnce(u64) -> u64) -> u64 {
    let at = Location::caller();
    let mut old = [0; 8];
    with(|m| m.load(space, address, &mut old[..bytes], at));
    let old = u64::from_le_bytes(old);
    let new = update(old);
    if new != old {
        with(|m| m.store(space, address, &new.to_le_bytes()[..bytes], at));
    }
    if new == old {
        // The thread may be polling: others run before it looks again.
        spin("an atomic operation", at);
    }
    old
}
/// `fence.acq_rel` / `membar`: orders this thread's accesses (with atomics, other threads may synchronise through them).
#[track_caller]
pub fn fence() {}

impl Machine {
    /// Checks bounds and alignment; the offset from the start of the region.
    #[inline]
    pub(crate) fn place(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<(usize, usize)> {
        let (index, offset) = match space {
            Space::Shared => (usize::MAX, address as usize),
            Space::Global => locate(address),
        };
        let length = match space {
            Space::Shared => self.shared.bytes.len(),
            Space::Global => self.memory.buffers.get(index).map_or(0, |region| region.bytes.len()),
        };
        if offset.saturating_add(bytes) <= length && offset % bytes == 0 {
            return Some((index, offset));
        }
        self.fault_place(space, address, bytes, what, at);
        None
    }

    #[cold]
    fn fault_place(&mut self, space: Space, address: u64, bytes: usize, what: &str, at: &'static Location<'static>) {
        if address % bytes as u64 != 0 {
            let message =
                format!("{what} of {bytes} bytes at {space:?} address {address:#x}, which is no multiple of {bytes}");
            return self.fault(FaultKind::Misaligned, at, message);
        }
        let message = match space {
            Space::Shared => {
                let length = self.shared.bytes.len();
                format!("{what} of {bytes} bytes at shared address {address}; the block has {length} bytes")
            }
            Space::Global => {
                let (index, offset) = locate(address);
                match self.memory.buffers.get(index) {
                    Some(region) => format!(
                        "{what} of {bytes} bytes at global address {address:#x}, byte {offset} of a buffer of {}",
                        region.bytes.len()
                    ),
                    None => format!("{what} of {bytes} bytes at global address {address:#x}, where there is no buffer"),
                }
            }
        };
        self.fault(FaultKind::OutOfBounds, at, message);
    }

    /// The region of this index, `usize::MAX` for shared memory.
    #[inline]
    pub(crate) fn region(&mut self, index: usize) -> &mut Region {
        if index == usize::MAX { &mut self.shared } else { &mut self.memory.buffers[index] }
    }

    pub(crate) fn load(&mut self, space: Space, address: u64, bytes: &mut [u8], at: &'static Location<'static>) {
        self.clock += 1;
        bytes.fill(0);
        let Some((index, offset)) = self.place(space, address, bytes.len(), "load", at) else { return };
        let region = self.region(index);
        bytes.copy_from_slice(&region.bytes[offset..offset + bytes.len()]);
        if !region.is_written(offset, bytes.len()) {
            let first = address + (region.first_unwritten(offset, bytes.len()) - offset) as u64;
            let message = format!(
                "load of {} bytes at {space:?} address {address:#x}: the byte at {first:#x} was never written",
                bytes.len()
            );
            self.fault(FaultKind::Uninitialised, at, message);
        }
        self.check_in_flight(space, address, bytes.len(), "load", at);
    }

    pub(crate) fn store(&mut self, space: Space, address: u64, bytes: &[u8], at: &'static Location<'static>) {
        self.clock += 1;
        self.progress += 1;
        let Some((index, offset)) = self.place(space, address, bytes.len(), "store", at) else { return };
        self.check_in_flight(space, address, bytes.len(), "store", at);
        self.check_sources(space, address, bytes.len(), at);
        self.region(index).store(offset, bytes);
    }
}
