//! Engines: what copies in bulk and multiplies matrices beside the threads.
//!
//! An operation of an engine is done when it is issued, but recorded as the engine's ([`order`](crate::order)): until a
//! thread waits for it, that thread's accesses to what the operation writes, and its writes to what the operation
//! reads, are unordered with it.
//!
//! Engines access memory by another proxy than the threads. What a thread wrote is theirs to use after a
//! `fence.proxy.async` of that thread, which must come before the issue of the operation by the order of barriers.

use std::panic::Location;

use crate::FaultKind;
use crate::machine::{Machine, with};
use crate::memory::Space;
use crate::shadow::{Stamp, Use};

/// What an engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Copies that arrive on the mbarrier at this place of shared memory.
    Arriving(usize),
    /// Reads of the stores of a thread.
    Reading(usize),
    /// Writes of the stores of a thread.
    Writing(usize),
    /// Products of the warpgroup of this number.
    Products(usize),
}

/// Fences of a thread between the proxies, by space: its clock at each.
#[derive(Debug, Default)]
pub(crate) struct ProxyFences {
    shared: Vec<u32>,
    global: Vec<u32>,
}

impl ProxyFences {
    fn of(&self, space: Space) -> &Vec<u32> {
        match space {
            Space::Shared => &self.shared,
            Space::Global => &self.global,
        }
    }
}

/// A stretch of memory, checked: region, place in it, and the address that the program knows it by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) space: Space,
    pub(crate) index: usize,
    pub(crate) offset: usize,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}

/// `fence.proxy.async` for one space, or for both.
#[track_caller]
pub fn fence_proxy_async(space: Option<Space>) {
    let at = Location::caller();
    with(|m| {
        m.thread().at = at;
        let clock = m.clocks.tick(m.current);
        let fences = &mut m.thread().proxy_fences;
        if space != Some(Space::Global) {
            fences.shared.push(clock);
        }
        if space != Some(Space::Shared) {
            fences.global.push(clock);
        }
        if space != Some(Space::Global) {
            m.show_mbarriers();
        }
    });
}

/// `fence.mbarrier_init`: asynchronous copies may arrive on the mbarriers that the thread has initialised.
#[track_caller]
pub fn fence_mbarrier_init() {
    let at = Location::caller();
    with(|m| {
        m.thread().at = at;
        m.show_mbarriers();
    });
}

impl Machine {
    /// The number of the engine for this work.
    pub(crate) fn engine(&mut self, work: Work) -> usize {
        if let Some(&engine) = self.engines.get(&work) {
            return engine;
        }
        let engine = self.clocks.engine();
        self.engines.insert(work, engine);
        engine
    }

    /// Checks bounds, and that address and length are multiples of 16.
    pub(crate) fn stretch(
        &mut self,
        space: Space,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<Stretch> {
        if !address.is_multiple_of(16) || !bytes.is_multiple_of(16) || bytes == 0 {
            let message = format!(
                "{what} of {bytes} bytes at {space:?} address {address:#x}; expected multiples of 16, not zero"
            );
            self.fault(FaultKind::Misaligned, at, message);
            return None;
        }
        let (index, offset) = self.place(space, address, 16, what, at)?;
        self.place(space, address + bytes as u64 - 16, 16, what, at)?;
        Some(Stretch { space, index, offset, address, bytes })
    }

    /// An engine reads: checks order, proxy, and that the bytes are initialised; whether all was well. `issuers` are
    /// the threads for which it does so.
    pub(crate) fn engine_reads(
        &mut self,
        (engine, clock): (usize, u32),
        issuers: &[usize],
        stretch: Stretch,
        what: &str,
        at: &'static Location<'static>,
    ) -> bool {
        let Stretch { space, index, offset, address, bytes } = stretch;
        let stamp = Stamp { clock, thread: engine as u16, site: self.sites.number(at) };
        for step in pieces(offset, bytes) {
            let (piece, size) = (offset + step.0, step.1);
            let address = address + step.0 as u64;
            if !self.check_proxy(engine, issuers, stretch, piece, address, what, at) {
                return false;
            }
            let region = self.region(index);
            let written = region.is_written(piece, size);
            if self.check_order_of(stamp, space, index, address, piece, size, Use::Load, what, at) {
                return false;
            }
            if !written {
                self.fault_unwritten(space, index, piece, size, what, at);
                return false;
            }
        }
        true
    }

    /// An engine writes `data`, or updates atomically: checks order and proxy.
    pub(crate) fn engine_writes(
        &mut self,
        (engine, clock): (usize, u32),
        issuers: &[usize],
        stretch: Stretch,
        data: &[u8],
        how: Use,
        what: &str,
        at: &'static Location<'static>,
    ) {
        let Stretch { space, index, offset, address, bytes } = stretch;
        let stamp = Stamp { clock, thread: engine as u16, site: self.sites.number(at) };
        let mut sound = true;
        for (step, size) in pieces(offset, bytes) {
            let (piece, address) = (offset + step, address + step as u64);
            if sound {
                sound = self.check_proxy(engine, issuers, stretch, piece, address, what, at)
                    && !self.check_order_of(stamp, space, index, address, piece, size, how, what, at);
            }
            self.region(index).store(piece, &data[step..step + size]);
        }
        self.progress += 1;
    }

    /// Checks that what threads wrote to 16 bytes has been fenced for the engines, and that the engine's own earlier
    /// writes have been waited for; whether both are so.
    #[allow(clippy::too_many_arguments)] // An access has that many properties.
    fn check_proxy(
        &mut self,
        engine: usize,
        issuers: &[usize],
        stretch: Stretch,
        offset: usize,
        address: u64,
        what: &str,
        at: &'static Location<'static>,
    ) -> bool {
        let (base, Stretch { space, index, .. }) = (self.clocks.base(), stretch);
        let (clocks, threads) = (&self.clocks, &self.threads);
        let shadow = if index == usize::MAX { &self.shared.shadow } else { &self.memory.buffers[index].shadow };
        let (mut unfenced, mut own) = (None, None);
        shadow.writes(offset, |write| {
            let thread = usize::from(write.thread);
            if write.clock < base {
                return;
            }
            if thread == engine {
                own = own.or((!issuers.iter().all(|&me| clocks.is_before(me, write.clock, thread))).then_some(write));
            } else if !clocks.is_engine(thread) {
                let fences = threads[thread].proxy_fences.of(space);
                let fence = fences.get(fences.partition_point(|&fence| fence < write.clock));
                if !fence.is_some_and(|&fence| issuers.iter().all(|&me| clocks.is_before(me, fence, thread))) {
                    unfenced = unfenced.or(Some(write));
                }
            }
        });
        if let Some(write) = own {
            self.fault_engine(write, Use::Store, space, address, what, at);
        }
        if let Some(Stamp { thread, site, .. }) = unfenced {
            let (thread, place) = (self.threads[usize::from(thread)].index, self.sites.place(site));
            let message = format!(
                "{what} at {space:?} address {address:#x}, which thread {thread:?} wrote at {place}: between the two there is no \
                 fence.proxy.async of that thread followed by a barrier"
            );
            self.fault(FaultKind::Proxy, at, message);
        }
        own.is_none() && unfenced.is_none()
    }

    /// Reports an access that nothing orders with an engine's.
    #[cold]
    pub(crate) fn fault_engine(
        &mut self,
        Stamp { thread, site, .. }: Stamp,
        how: Use,
        space: Space,
        address: u64,
        what: &str,
        at: &'static Location<'static>,
    ) {
        let work = self.engines.iter().find(|(_, engine)| **engine == usize::from(thread)).map(|(work, _)| *work);
        let (kind, operation) = match work {
            Some(Work::Products(_)) => (FaultKind::AsynchronousProduct, "product"),
            _ => (FaultKind::AsynchronousCopy, "asynchronous copy"),
        };
        let does = if how == Use::Load { "reads" } else { "writes" };
        let place = self.sites.place(site);
        let message = format!(
            "{what} at {space:?} address {address:#x}, which the {operation} at {place} {does}: nothing waits for it before"
        );
        self.fault(kind, at, message);
    }
}

/// Divides `bytes` bytes from a place on into pieces that lie within 16 bytes and are powers of two: distances from the
/// place, and sizes.
fn pieces(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == bytes {
            return None;
        }
        let (at, left) = (offset + done, bytes - done);
        let aligned = if at == 0 { 16 } else { 1 << at.trailing_zeros().min(4) };
        let size = aligned.min(1 << left.ilog2().min(4));
        done += size;
        Some((done - size, size))
    })
}
