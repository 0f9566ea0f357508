//! Mbarriers: barriers whose state is an object of 8 bytes in shared memory.
//!
//! The state is kept beside the memory, not in its bytes: plain accesses to a live object are faults, as their result is not defined.

use std::panic::Location;

use crate::FaultKind;
use crate::asynchronous::Attached;
use crate::machine::{Machine, spin, with};
use crate::memory::Space;
use crate::order::Past;
use crate::shadow::Use;

/// Most arrivals that an mbarrier can expect.
const MOST_ARRIVALS: u32 = (1 << 20) - 1;

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
    /// Where it was initialised.
    at: &'static Location<'static>,
}

/// `mbarrier.init` of the 8-byte object at shared address `address` with `count` expected arrivals.
///
/// Other threads may use the object after something that orders them (a barrier). Initialising a live object is a fault.
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
        if m.mbarrier(address, "mbarrier.inval", at).is_some() {
            m.mbarriers.remove(&address);
            m.shared.shadow.mark_mbarrier(address as usize, false);
            m.shared.forget_part(address as usize, 8);
            m.check_order(
                Space::Shared,
                usize::MAX,
                address.into(),
                address as usize,
                8,
                Use::Store,
                "mbarrier.inval",
                at,
            );
        }
    });
}

/// `mbarrier.arrive`: `count` arrivals; returns the phase's token. With `drop`, as `mbarrier.arrive_drop`.
///
/// What the thread did before happened before what a thread does that has seen the phase complete.
#[track_caller]
pub fn mbarrier_arrive(address: u32, count: u32, drop: bool) -> u64 {
    let at = Location::caller();
    with(|m| m.mbarrier_arrive(address, count, drop, at))
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

/// `mbarrier.test_wait.parity`: has the phase of this parity (0 or 1) completed? Acquires if so. Lets other threads run.
#[track_caller]
pub fn mbarrier_test_wait_parity(address: u32, parity: u32) -> bool {
    let at = Location::caller();
    test(address, at, |phase| match parity {
        0 | 1 => Ok(phase & 1 != u64::from(parity)),
        _ => Err(format!("mbarrier.test_wait.parity with parity {parity}; expected 0 or 1")),
    })
}

/// Number of arrivals that the current phase still lacks (`mbarrier.pending_count` of the token that an arrival would return).
#[track_caller]
pub fn mbarrier_pending_count(address: u32) -> u32 {
    let at = Location::caller();
    with(|m| m.mbarrier(address, "mbarrier.pending_count", at).map_or(0, |mbarrier| mbarrier.pending))
}

/// Tests a phase; lets others run if it has not completed.
fn test(address: u32, at: &'static Location<'static>, is_complete: impl FnOnce(u64) -> Result<bool, String>) -> bool {
    let complete = with(|m| {
        m.complete_copies(address);
        let phase = m.mbarrier(address, "mbarrier.test_wait", at)?.phase;
        match is_complete(phase) {
            Ok(true) => {
                if let Some(mbarrier) = m.mbarriers.get(&address) {
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
    fn mbarrier_place(&mut self, address: u32, what: &str, at: &'static Location<'static>) -> bool {
        self.clock += 1;
        self.place(Space::Shared, address.into(), 8, what, at).is_some()
    }

    fn mbarrier_init(&mut self, address: u32, count: u32, at: &'static Location<'static>) {
        if !self.mbarrier_place(address, "mbarrier.init", at) {
            return;
        }
        if !(1..=MOST_ARRIVALS).contains(&count) {
            let message = format!("mbarrier.init with {count} arrivals; expected 1 to {MOST_ARRIVALS}");
            return self.fault(FaultKind::Operand, at, message);
        }
        if let Some(live) = self.mbarriers.get(&address) {
            let message =
                format!("mbarrier.init at shared address {address}, where there is one initialised at {}", live.at);
            return self.fault(FaultKind::Operand, at, message);
        }
        self.check_order(
            Space::Shared,
            usize::MAX,
            address.into(),
            address as usize,
            8,
            Use::Store,
            "mbarrier.init",
            at,
        );
        self.shared.shadow.mark_mbarrier(address as usize, true);
        let (arrived, completed) = (Past::default(), Past::default());
        self.mbarriers.insert(address, Mbarrier { phase: 0, expected: count, pending: count, arrived, completed, at });
        self.progress += 1;
    }

    /// The live mbarrier at an address; that there is none, or that its initialisation is not ordered before, is reported.
    fn mbarrier(&mut self, address: u32, what: &str, at: &'static Location<'static>) -> Option<&mut Mbarrier> {
        if !self.mbarrier_place(address, what, at) {
            return None;
        }
        if !self.mbarriers.contains_key(&address) {
            let message = format!("{what} at shared address {address}, where there is no initialised mbarrier");
            self.fault(FaultKind::Operand, at, message);
            return None;
        }
        let thread = self.thread();
        (thread.at, thread.name) = (at, "an mbarrier operation");
        self.check_mbarrier_order(address, what, at);
        self.mbarriers.get_mut(&address)
    }

    fn check_mbarrier_order(&mut self, address: u32, what: &str, at: &'static Location<'static>) {
        self.shared.shadow.mark_mbarrier(address as usize, false);
        self.check_order(Space::Shared, usize::MAX, address.into(), address as usize, 8, Use::Atomic, what, at);
        self.shared.shadow.mark_mbarrier(address as usize, true);
    }

    fn mbarrier_arrive(&mut self, address: u32, count: u32, drop: bool, at: &'static Location<'static>) -> u64 {
        let Some(mbarrier) = self.mbarrier(address, "mbarrier.arrive", at) else { return 0 };
        let (phase, pending) = (mbarrier.phase, mbarrier.pending);
        if count == 0 || count > pending {
            let message = format!(
                "mbarrier.arrive with {count} arrivals at shared address {address}: phase {phase} still expects {pending}"
            );
            self.fault(FaultKind::Operand, at, message);
            return phase;
        }
        self.arrive_on(address, self.current, count, drop);
        phase
    }

    /// `count` arrivals of a thread on a live mbarrier.
    fn arrive_on(&mut self, address: u32, thread: usize, count: u32, drop: bool) {
        let Some(mbarrier) = self.mbarriers.get_mut(&address) else { return };
        self.clocks.release(thread, &mut mbarrier.arrived);
        mbarrier.pending -= count;
        if drop {
            mbarrier.expected -= count;
        }
        if mbarrier.pending == 0 {
            mbarrier.phase += 1;
            mbarrier.pending = mbarrier.expected;
            mbarrier.completed = std::mem::take(&mut mbarrier.arrived);
        }
        self.progress += 1;
    }

    /// `cp.async.mbarrier.arrive` of the running thread.
    pub(crate) fn mbarrier_arrive_after_copies(&mut self, address: u32, noinc: bool, at: &'static Location<'static>) {
        let Some(mbarrier) = self.mbarrier(address, "cp.async.mbarrier.arrive", at) else { return };
        let (phase, pending) = (mbarrier.phase, mbarrier.pending);
        if !noinc {
            // The arrival to come is one more than the phase expects.
            mbarrier.pending += 1;
        } else if pending == 0 {
            let message =
                format!("cp.async.mbarrier.arrive.noinc at shared address {address}: phase {phase} expects no arrival");
            return self.fault(FaultKind::Operand, at, message);
        }
        self.attach(address, at);
    }

    /// Completes the copies that arrive on this mbarrier.
    fn complete_copies(&mut self, address: u32) {
        for Attached { thread, at, .. } in self.land_attached(address) {
            if self.mbarriers.get(&address).is_some_and(|mbarrier| mbarrier.pending == 0) {
                let message = format!(
                    "cp.async.mbarrier.arrive at shared address {address}: one arrival more than the phase expects"
                );
                self.fault_of(thread, FaultKind::Operand, at, message);
            } else {
                self.arrive_on(address, thread, 1, false);
            }
        }
    }
}
