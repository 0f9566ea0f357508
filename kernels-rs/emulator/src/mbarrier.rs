//! Mbarriers: barriers whose state is an object of 8 bytes in shared memory.
//!
//! The state is kept beside the memory, not in its bytes: plain accesses to a live object are faults, as their result
//! is not defined.
//!
//! A phase completes when all arrivals have come and the bytes that copies bring are those that it expects. Bytes
//! arrive as late as they may: when somebody tests a phase that lacks nothing else.

use std::panic::Location;

use crate::FaultKind;
use crate::asynchronous::Attached;
use crate::engine::Work;
use crate::machine::{Machine, spin, with};
use crate::memory::Space;
use crate::order::Past;
use crate::shadow::Use;

/// Most arrivals that an mbarrier can expect.
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

/// Most bytes that a phase can expect.
const MOST_BYTES: u64 = (1 << 20) - 1;

/// A live mbarrier.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    /// Phases completed so far.
    phase: u64,
    /// Arrivals that a phase expects.
    expected: u32,
    /// Arrivals that the current phase still lacks.
    pending: u32,
    /// What those who arrived in the current phase did before.
    arrived: Past,
    /// As `arrived`, of the phase completed last.
    completed: Past,
    /// Bytes that the current phase expects, and where it was last told so.
    bytes: u64,
    told: &'static Location<'static>,
    /// Bytes that copies under way bring, and where the last of them was issued.
    coming: u64,
    issued: &'static Location<'static>,
    /// The engine that those copies are done by, and its clock at the last one.
    engine: Option<(usize, u32)>,
    /// The thread that initialised it, and where.
    by: usize,
    at: &'static Location<'static>,
    /// Whether that thread has executed a fence since that lets copies arrive.
    shown: bool,
}

/// `mbarrier.init` of the 8-byte object at shared address `address` with `count` expected arrivals.
///
/// Other threads may use the object after something that orders them (a barrier). Initialising a live object is a
/// fault.
#[track_caller]
pub fn mbarrier_init(address: u32, count: u32) {
    let at = Location::caller();
    with(|m| m.mbarrier_init(address, count, at));
}

/// `mbarrier.inval`: the object's memory can be used otherwise.
#[track_caller]
pub fn mbarrier_inval(address: u32) {
    let at = Location::caller();
    with(|m| {
        if let Some((place, _)) = m.mbarrier(address.into(), "mbarrier.inval", at) {
            m.end_mbarrier(place);
            m.mbarriers.remove(&place);
            m.shared.shadow.mark_mbarrier(place, false);
            m.shared.forget_part(place, 8);
            m.check_order(Space::Shared, usize::MAX, address.into(), place, 8, Use::Store, "mbarrier.inval", at);
        }
    });
}

/// `mbarrier.arrive`: `count` arrivals; returns the phase's token. With `drop`, as `mbarrier.arrive_drop`.
///
/// What the thread did before happened before what a thread does that has seen the phase complete.
#[track_caller]
pub fn mbarrier_arrive(address: u32, count: u32, drop: bool) -> u64 {
    let at = Location::caller();
    with(|m| m.mbarrier_arrive(address.into(), count, drop, at))
}

/// `mbarrier.arrive` by a cluster address: one arrival on an mbarrier of a block of the cluster.
#[track_caller]
pub fn mbarrier_arrive_remote(address: u32) {
    let at = Location::caller();
    with(|m| {
        let address = m.cluster_address(address);
        m.mbarrier_arrive(address, 1, false, at);
    });
}

/// `mbarrier.expect_tx`: the current phase expects `bytes` more bytes of copies.
#[track_caller]
pub fn mbarrier_expect_bytes(address: u32, bytes: u32) {
    let at = Location::caller();
    with(|m| m.mbarrier_expect(address.into(), bytes, at));
}

/// `mbarrier.test_wait`: has the phase of `token` completed? Acquires if so. Lets other threads run.
///
/// Only the current phase and the one before it can be asked for; the token is what [`mbarrier_arrive`] returned.
#[track_caller]
pub fn mbarrier_test_wait(address: u32, token: u64) -> bool {
    let at = Location::caller();
    test(address, at, |phase| match phase.checked_sub(token) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(format!(
            "mbarrier.test_wait for the token of phase {token} of the mbarrier at {address}, which is in phase {phase}"
        )),
    })
}

/// `mbarrier.test_wait.parity`: has the phase of this parity (0 or 1) completed? Acquires if so. Lets other threads
/// run.
#[track_caller]
pub fn mbarrier_test_wait_parity(address: u32, parity: u32) -> bool {
    let at = Location::caller();
    test(address, at, |phase| match parity {
        0 | 1 => Ok(phase & 1 != u64::from(parity)),
        _ => Err(format!("mbarrier.test_wait.parity with parity {parity}; expected 0 or 1")),
    })
}

/// Number of arrivals that the current phase still lacks (`mbarrier.pending_count` of the token that an arrival would
/// return).
#[track_caller]
pub fn mbarrier_pending_count(address: u32) -> u32 {
    let at = Location::caller();
    with(|m| m.mbarrier(address.into(), "mbarrier.pending_count", at).map_or(0, |(_, mbarrier)| mbarrier.pending))
}

/// Tests a phase; lets others run if it has not completed.
fn test(address: u32, at: &'static Location<'static>, is_complete: impl Fn(u64) -> Result<bool, String>) -> bool {
    let complete = with(|m| {
        let (place, _) = m.mbarrier(address.into(), "mbarrier.test_wait", at)?;
        m.complete_copies(place);
        let mut complete = is_complete(m.mbarriers.get(&place)?.phase);
        if complete == Ok(false) {
            m.complete_bytes(place);
            complete = is_complete(m.mbarriers.get(&place)?.phase);
        }
        match complete {
            Ok(true) => {
                if let Some(mbarrier) = m.mbarriers.get(&place) {
                    m.clocks.acquire(m.current, &mbarrier.completed);
                }
                Some(true)
            }
            Ok(false) => Some(false),
            Err(message) => {
                m.fault(FaultKind::Operand, at, message);
                None
            }
        }
    });
    if complete == Some(false) {
        spin("mbarrier.test_wait", at);
    }
    // A wait that is itself a fault comes to an end.
    complete.unwrap_or(true)
}

impl Machine {
    fn mbarrier_place(&mut self, address: u64, what: &str, at: &'static Location<'static>) -> Option<usize> {
        self.clock += 1;
        self.place(Space::Shared, address, 8, what, at).map(|(_, place)| place)
    }

    fn mbarrier_init(&mut self, address: u32, count: u32, at: &'static Location<'static>) {
        let Some(place) = self.mbarrier_place(address.into(), "mbarrier.init", at) else { return };
        if !(1..=MOST_ARRIVALS).contains(&count) {
            let message = format!("mbarrier.init with {count} arrivals; expected 1 to {MOST_ARRIVALS}");
            return self.fault(FaultKind::Operand, at, message);
        }
        if let Some(live) = self.mbarriers.get(&place) {
            let message =
                format!("mbarrier.init at shared address {address}, where there is one initialised at {}", live.at);
            return self.fault(FaultKind::Operand, at, message);
        }
        self.check_order(Space::Shared, usize::MAX, address.into(), place, 8, Use::Store, "mbarrier.init", at);
        self.shared.shadow.mark_mbarrier(place, true);
        let mbarrier = Mbarrier {
            phase: 0,
            expected: count,
            pending: count,
            arrived: Past::default(),
            completed: Past::default(),
            bytes: 0,
            told: at,
            coming: 0,
            issued: at,
            engine: None,
            by: self.current,
            at,
            shown: false,
        };
        self.mbarriers.insert(place, mbarrier);
        self.progress += 1;
    }

    /// The live mbarrier at an address, and its place; that there is none, or that its initialisation is not ordered
    /// before, is reported.
    fn mbarrier(&mut self, address: u64, what: &str, at: &'static Location<'static>) -> Option<(usize, &mut Mbarrier)> {
        let place = self.mbarrier_place(address, what, at)?;
        if !self.mbarriers.contains_key(&place) {
            let message = format!("{what} at shared address {address:#x}, where there is no initialised mbarrier");
            self.fault(FaultKind::Operand, at, message);
            return None;
        }
        let thread = self.thread();
        (thread.at, thread.name) = (at, "an mbarrier operation");
        self.shared.shadow.mark_mbarrier(place, false);
        self.check_order(Space::Shared, usize::MAX, address, place, 8, Use::Atomic, what, at);
        self.shared.shadow.mark_mbarrier(place, true);
        self.mbarriers.get_mut(&place).map(|mbarrier| (place, mbarrier))
    }

    pub(crate) fn mbarrier_arrive(
        &mut self,
        address: u64,
        count: u32,
        drop: bool,
        at: &'static Location<'static>,
    ) -> u64 {
        let Some((place, mbarrier)) = self.mbarrier(address, "mbarrier.arrive", at) else { return 0 };
        let (phase, pending) = (mbarrier.phase, mbarrier.pending);
        if count == 0 || count > pending {
            let message = format!(
                "mbarrier.arrive with {count} arrivals at shared address {address:#x}: phase {phase} still expects {pending}"
            );
            self.fault(FaultKind::Operand, at, message);
            return phase;
        }
        self.arrive_on(place, self.current, count, drop);
        phase
    }

    /// `count` arrivals of a thread on a live mbarrier.
    fn arrive_on(&mut self, place: usize, thread: usize, count: u32, drop: bool) {
        let Some(mbarrier) = self.mbarriers.get_mut(&place) else { return };
        self.clocks.release(thread, &mut mbarrier.arrived);
        mbarrier.pending -= count;
        if drop {
            mbarrier.expected -= count;
        }
        if (mbarrier.pending, mbarrier.bytes, mbarrier.coming) == (0, 0, 0) {
            mbarrier.end_phase();
        }
        self.progress += 1;
    }

    /// `cp.async.mbarrier.arrive` of the running thread.
    pub(crate) fn mbarrier_arrive_after_copies(&mut self, address: u32, noinc: bool, at: &'static Location<'static>) {
        let Some((place, mbarrier)) = self.mbarrier(address.into(), "cp.async.mbarrier.arrive", at) else { return };
        let (phase, pending) = (mbarrier.phase, mbarrier.pending);
        if !noinc {
            // The arrival to come is one more than the phase expects.
            mbarrier.pending += 1;
        } else if pending == 0 {
            let message =
                format!("cp.async.mbarrier.arrive.noinc at shared address {address}: phase {phase} expects no arrival");
            return self.fault(FaultKind::Operand, at, message);
        }
        self.attach(place, at);
    }

    /// Completes the copies that arrive on this mbarrier.
    fn complete_copies(&mut self, place: usize) {
        for Attached { thread, at, .. } in self.land_attached(place) {
            if self.mbarriers.get(&place).is_some_and(|mbarrier| mbarrier.pending == 0) {
                let message = format!(
                    "cp.async.mbarrier.arrive at shared address {place}: one arrival more than the phase expects"
                );
                self.fault_of(thread, FaultKind::Operand, at, message);
            } else {
                self.arrive_on(place, thread, 1, false);
            }
        }
    }

    fn mbarrier_expect(&mut self, address: u64, bytes: u32, at: &'static Location<'static>) {
        let Some((_, mbarrier)) = self.mbarrier(address, "mbarrier.expect_tx", at) else { return };
        mbarrier.bytes += u64::from(bytes);
        mbarrier.told = at;
        let (phase, all) = (mbarrier.phase, mbarrier.bytes);
        self.progress += 1;
        if all > MOST_BYTES {
            let message = format!(
                "mbarrier.expect_tx of {bytes} bytes at shared address {address:#x}: phase {phase} then expects {all}; at most {MOST_BYTES}"
            );
            self.fault(FaultKind::Operand, at, message);
        }
    }

    /// A copy of the running thread, to bring `bytes` bytes, is to arrive on the mbarrier at an address: the engine and
    /// clock that it is done by.
    pub(crate) fn copy_arrives(
        &mut self,
        address: u64,
        bytes: usize,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<(usize, u32)> {
        let (place, mbarrier) = self.mbarrier(address, what, at)?;
        (mbarrier.coming, mbarrier.issued) = (mbarrier.coming + bytes as u64, at);
        if !mbarrier.shown {
            let (thread, init) = (mbarrier.by, mbarrier.at);
            let message = format!(
                "{what} arrives on the mbarrier at shared address {address:#x}, which thread {:?} initialised at {init} without a                  fence.mbarrier_init or fence.proxy.async since",
                self.threads[thread].index
            );
            self.fault(FaultKind::Proxy, at, message);
        }
        let engine = self.engine(Work::Arriving(place));
        let clock = self.clocks.start(engine, &[self.current]);
        if let Some(mbarrier) = self.mbarriers.get_mut(&place) {
            mbarrier.engine = Some((engine, clock));
        }
        Some((engine, clock))
    }

    /// If the current phase lacks nothing but bytes: those under way arrive, and the phase completes if they are all.
    fn complete_bytes(&mut self, place: usize) {
        let Some(mbarrier) = self.mbarriers.get_mut(&place) else { return };
        let Mbarrier { phase, pending, bytes, coming, issued, told, by, .. } = *mbarrier;
        if pending > 0 || coming < bytes || coming == 0 {
            return;
        }
        if let Some((engine, clock)) = mbarrier.engine {
            self.clocks.finish(engine, clock, &mut mbarrier.arrived);
        }
        mbarrier.end_phase();
        self.progress += 1;
        if coming > bytes {
            let message = format!(
                "copies bring {coming} bytes to phase {phase} of the mbarrier at shared address {place}, which expects {bytes} (told at {told})"
            );
            self.fault_of(by, FaultKind::ByteCount, issued, message);
        }
    }

    /// Copies may arrive on the mbarriers that the running thread has initialised.
    pub(crate) fn show_mbarriers(&mut self) {
        let current = self.current;
        self.mbarriers
            .values_mut()
            .filter(|mbarrier| mbarrier.by == current)
            .for_each(|mbarrier| mbarrier.shown = true);
    }

    /// Reports phases that wait for bytes that do not come when nothing more can run.
    pub(crate) fn fault_stuck_mbarriers(&mut self) {
        let mut places: Vec<_> = self.mbarriers.keys().copied().collect();
        places.sort_unstable();
        for place in places {
            if self.mbarriers[&place].bytes > self.mbarriers[&place].coming {
                self.fault_bytes(place);
            }
        }
    }

    fn fault_bytes(&mut self, place: usize) {
        let Mbarrier { phase, bytes, coming, told, by, .. } = self.mbarriers[&place];
        let message = format!(
            "phase {phase} of the mbarrier at shared address {place} expects {bytes} bytes; copies bring {coming}"
        );
        self.fault_of(by, FaultKind::ByteCount, told, message);
    }

    /// An mbarrier's use ends: bytes that no one waited for, or that did not come.
    fn end_mbarrier(&mut self, place: usize) {
        let Mbarrier { phase, bytes, coming, issued, by, .. } = self.mbarriers[&place];
        if coming > 0 {
            let message = format!(
                "asynchronous copies of {coming} bytes never waited for, on phase {phase} of the mbarrier at shared address {place}"
            );
            self.fault_of(by, FaultKind::AsynchronousCopy, issued, message);
        } else if bytes > 0 {
            self.fault_bytes(place);
        }
    }

    /// After all threads have returned: ends the mbarriers.
    pub(crate) fn end_mbarriers(&mut self) {
        let mut places: Vec<_> = self.mbarriers.keys().copied().collect();
        places.sort_unstable();
        places.into_iter().for_each(|place| self.end_mbarrier(place));
    }
}

impl Mbarrier {
    /// The next phase begins.
    fn end_phase(&mut self) {
        self.phase += 1;
        self.pending = self.expected;
        (self.bytes, self.coming) = (0, 0);
        self.completed = std::mem::take(&mut self.arrived);
    }
}
