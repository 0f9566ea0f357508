//! Asynchronous copies from global to shared memory (`cp.async`).
//!
//! A copy takes its source's bytes when it is issued, but they arrive as late as they may: when the thread waits for
//! its group. Until then any access to the destination is a fault, and so is a store to the source.

use std::collections::VecDeque;
use std::panic::Location;

use crate::buffer::locate;
use crate::machine::{Machine, with};
use crate::memory::Space;
use crate::shadow::Use;
use crate::{AccessKind, FaultKind};

/// One copy under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    /// Place in shared memory.
    shared: usize,
    global: u64,
    bytes: u32,
    data: [u8; 16],
    at: &'static Location<'static>,
    /// How many copies the thread had issued before.
    number: u64,
}

/// A thread's copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Issued, not committed.
    open: Vec<Transfer>,
    /// Committed, the oldest first.
    groups: VecDeque<Vec<Transfer>>,
    /// Copies issued so far.
    issued: u64,
}

/// The arrival on an mbarrier of a thread whose copies so far are complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attached {
    /// Its place in shared memory.
    mbarrier: usize,
    pub(crate) thread: usize,
    /// Copies that the thread had issued.
    issued: u64,
    pub(crate) at: &'static Location<'static>,
}

impl Copies {
    /// Takes the copies whose number is below `end`.
    fn take_below(&mut self, end: u64) -> Vec<Transfer> {
        let mut taken = Vec::new();
        for copies in self.groups.iter_mut().chain([&mut self.open]) {
            taken.extend(copies.iter().filter(|transfer| transfer.number < end));
            copies.retain(|transfer| transfer.number >= end);
        }
        taken
    }
}

/// `cp.async`: copies `source_bytes` of the `bytes` (4, 8, 16) from global to shared memory, zeros for the rest, not
/// before the copy is committed and waited for is the result there to be read.
#[track_caller]
pub fn copy_async(shared: u32, global: u64, bytes: u32, source_bytes: u32) {
    let at = Location::caller();
    with(|m| m.copy_async(shared, global, bytes, source_bytes, at));
}
/// `cp.async.commit_group`.
#[track_caller]
pub fn copy_async_commit() {
    with(|m| {
        let copies = &mut m.thread().copies;
        let group = std::mem::take(&mut copies.open);
        copies.groups.push_back(group);
    });
}
/// `cp.async.wait_group`: until at most `pending` of this thread's newest groups are pending.
#[track_caller]
pub fn copy_async_wait(pending: u32) {
    with(|m| {
        while m.thread().copies.groups.len() > pending as usize {
            let group = m.thread().copies.groups.pop_front().unwrap_or_default();
            group.into_iter().for_each(|transfer| m.land(transfer));
        }
    });
}
/// `cp.async.wait_all`: commits what is open, and waits for all groups.
#[track_caller]
pub fn copy_async_wait_all() {
    copy_async_commit();
    copy_async_wait(0);
}
/// `cp.async.mbarrier.arrive`: arrives on the mbarrier when this thread's earlier copies are complete. `noinc`: as the
/// PTX suffix.
///
/// The copies complete, and the arrival comes, when some thread tests the mbarrier, or the thread itself waits for the
/// copies.
#[track_caller]
pub fn copy_async_arrive(mbarrier: u32, noinc: bool) {
    let at = Location::caller();
    with(|m| m.mbarrier_arrive_after_copies(mbarrier, noinc, at));
}

impl Machine {
    fn copy_async(&mut self, shared: u32, global: u64, bytes: u32, source_bytes: u32, at: &'static Location<'static>) {
        self.clock += 1;
        if ![4, 8, 16].contains(&bytes) || source_bytes > bytes {
            let message =
                format!("cp.async of {source_bytes} of {bytes} bytes; expected 4, 8 or 16 and no more of them");
            return self.fault(FaultKind::Operand, at, message);
        }
        let size = bytes as usize;
        let Some((_, to)) = self.place(Space::Shared, shared.into(), size, "cp.async to shared memory", at) else {
            return;
        };
        let mut data = [0; 16];
        if source_bytes > 0 {
            if !global.is_multiple_of(u64::from(bytes)) {
                let message = format!(
                    "cp.async of {bytes} bytes from global address {global:#x}, which is no multiple of {bytes}"
                );
                return self.fault(FaultKind::Misaligned, at, message);
            }
            for i in 0..u64::from(source_bytes) {
                let Some((index, from)) = self.place(Space::Global, global + i, 1, "cp.async", at) else { return };
                let region = self.region(index);
                data[i as usize] = region.bytes[from];
                if !region.is_written(from, 1) {
                    let message = format!("cp.async from global address {global:#x}: its byte {i} was never written");
                    self.fault(FaultKind::Uninitialised, at, message);
                    break;
                }
            }
            let (index, from) = locate(global);
            self.trace(Space::Global, global, source_bytes as usize, AccessKind::Copy, at);
            let whole = source_bytes as usize / 4 * 4;
            self.check_order(Space::Global, index, global, from, whole, Use::Load, "cp.async", at);
            for i in whole..source_bytes as usize {
                self.check_order(Space::Global, index, global + i as u64, from + i, 1, Use::Load, "cp.async", at);
            }
        }
        self.trace(Space::Shared, shared.into(), size, AccessKind::Copy, at);
        self.check_order(Space::Shared, usize::MAX, shared.into(), to, size, Use::Store, "cp.async", at);
        self.shared.shadow.fly(to, size, self.current);
        if source_bytes > 0 {
            for word in global / 4..(global + u64::from(bytes)) / 4 {
                *self.sources.entry(word).or_default() += 1;
            }
        }
        let global = if source_bytes > 0 { global } else { 0 };
        let copies = &mut self.thread().copies;
        copies.open.push(Transfer { shared: to, global, bytes, data, at, number: copies.issued });
        copies.issued += 1;
    }

    /// The running thread's copies so far will arrive on an mbarrier.
    pub(crate) fn attach(&mut self, mbarrier: usize, at: &'static Location<'static>) {
        let (thread, issued) = (self.current, self.thread().copies.issued);
        self.attached.push(Attached { mbarrier, thread, issued, at });
    }

    /// The copies that arrive on this mbarrier complete: what is to arrive now.
    pub(crate) fn land_attached(&mut self, mbarrier: usize) -> Vec<Attached> {
        if self.attached.is_empty() {
            return Vec::new();
        }
        let current = self.current;
        let (ready, rest) = self.attached.iter().partition(|attached| attached.mbarrier == mbarrier);
        self.attached = rest;
        let ready: Vec<Attached> = ready;
        for &Attached { thread, issued, .. } in &ready {
            self.current = thread;
            self.thread().copies.take_below(issued).into_iter().for_each(|transfer| self.land(transfer));
        }
        self.current = current;
        ready
    }

    /// A copy's bytes arrive.
    fn land(&mut self, transfer: Transfer) {
        let Transfer { shared, global, bytes, data, at, .. } = transfer;
        let (to, size) = (shared, bytes as usize);
        let stamp = self.stamp(at);
        self.shared.shadow.land(to, size, stamp);
        if global != 0 {
            for word in global / 4..(global + u64::from(bytes)) / 4 {
                if let Some(copies) = self.sources.get_mut(&word) {
                    *copies -= 1;
                    if *copies == 0 {
                        self.sources.remove(&word);
                    }
                }
            }
        }
        self.shared.store(to, &data[..size]);
    }

    /// Reports an access to shared bytes that a copy is under way to.
    #[cold]
    pub(crate) fn fault_in_flight(
        &mut self,
        thread: usize,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) {
        let copies = &self.threads[thread].copies;
        let start = self.shared_base + address as usize;
        let end = start + bytes;
        let mut all = copies.groups.iter().flatten().chain(&copies.open);
        let copy = all.find(|copy| copy.shared < end && start < copy.shared + copy.bytes as usize);
        let place = copy.map_or_else(String::new, |copy| format!(" at {}", copy.at));
        let index = self.threads[thread].index;
        let message = format!(
            "{what} of {bytes} bytes at shared address {address}: thread {index:?} copies there asynchronously{place} and has not waited for it"
        );
        self.fault(FaultKind::AsynchronousCopy, at, message);
    }

    /// Reports a store to global bytes that a copy under way reads.
    #[inline]
    pub(crate) fn check_sources(&mut self, space: Space, address: u64, bytes: usize, at: &'static Location<'static>) {
        if space == Space::Global && !self.sources.is_empty() {
            let mut words = address / 4..(address + bytes as u64).div_ceil(4);
            if words.any(|word| self.sources.contains_key(&word)) {
                let message = format!(
                    "store of {bytes} bytes at global address {address:#x}, which an asynchronous copy under way reads"
                );
                self.fault(FaultKind::AsynchronousCopy, at, message);
            }
        }
    }

    /// After a thread has returned: copies that it never waited for, and that arrive on no mbarrier.
    pub(crate) fn leave_copies(&mut self, thread: usize) {
        let attached =
            self.attached.iter().filter(|attached| attached.thread == thread).map(|attached| attached.issued).max();
        let waited = self.threads[thread].copies.take_below(attached.unwrap_or_default());
        let left = self.threads[thread].copies.take_below(u64::MAX);
        self.fault_left(thread, &left);
        self.threads[thread].copies.open = waited;
    }

    /// After all threads have returned: copies that were to arrive on an mbarrier that no one waited for.
    pub(crate) fn end_copies(&mut self) {
        for thread in 0..self.threads.len() {
            let left = self.threads[thread].copies.take_below(u64::MAX);
            self.fault_left(thread, &left);
        }
    }

    fn fault_left(&mut self, thread: usize, left: &[Transfer]) {
        if let Some(Transfer { shared, bytes, at, .. }) = left.first() {
            let count = left.len();
            let message = format!(
                "{count} asynchronous copies never waited for, the first of {bytes} bytes to shared address {shared}"
            );
            self.fault_of(thread, FaultKind::AsynchronousCopy, at, message);
        }
        for transfer in left {
            self.land(*transfer);
        }
    }
}
