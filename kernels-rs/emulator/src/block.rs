//! Barriers of a block. For the twins of intrinsics.

use std::panic::Location;

use crate::FaultKind;
use crate::machine::{Machine, State, suspend, with};
use crate::warp::shorten;

pub use crate::mbarrier::{
    mbarrier_arrive, mbarrier_arrive_remote, mbarrier_expect_bytes, mbarrier_init, mbarrier_inval,
    mbarrier_pending_count, mbarrier_test_wait, mbarrier_test_wait_parity,
};

/// What a thread does at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// `bar.sync`: arrives and waits.
    Sync,
    /// `bar.arrive`: arrives and goes on.
    Arrive,
    /// `bar.red`: arrives, waits, and learns how many arriving threads had a true predicate.
    Reduce {
        /// This thread's predicate.
        predicate: bool,
    },
}

/// One of the block's hardware barriers.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    /// What the threads that have arrived give as the number of participants.
    expected: Option<u32>,
    /// Threads that have arrived, each with its place.
    arrived: Vec<(usize, &'static Location<'static>)>,
    /// The instruction is an aligned one: all running lanes of a warp execute it together.
    aligned: bool,
    /// Lanes that a partial warp lacks and that count as arrived.
    padding: u32,
    /// True predicates so far.
    trues: u32,
}

/// Hardware barrier `id` (0..16) with `threads` participants (`None`: all threads of the block). Returns the number of
/// true predicates for [`Arrival::Reduce`], else 0. Orders the memory accesses of the participants.
///
/// Without a count the barrier waits for all threads of the block that have not returned from the kernel, as current
/// hardware does; but PTX counts all threads of the block, so threads that returned before are a fault. If `name`
/// begins with `bar_` or ends with `aligned`, the lanes of a warp have to come together, by the same source line. A
/// count is a multiple of 32: PTX counts whole warps, and a partial last warp of the block counts as 32.
/// [`Arrival::Arrive`] needs a count.
#[track_caller]
pub fn barrier(name: &'static str, id: u32, threads: Option<u32>, arrival: Arrival) -> u32 {
    let at = Location::caller();
    if with(|m| m.arrive(name, at, id, threads, arrival)) {
        suspend();
    }
    if let Arrival::Reduce { .. } = arrival { with(|m| m.thread().trues) } else { 0 }
}

impl Machine {
    /// The running thread arrives at a barrier; whether it has to wait.
    fn arrive(
        &mut self,
        name: &'static str,
        at: &'static Location<'static>,
        id: u32,
        threads: Option<u32>,
        arrival: Arrival,
    ) -> bool {
        self.clock += 1;
        let size = self.block_size();
        let most = size.next_multiple_of(32) as u32;
        let refused = if id >= 16 {
            Some(format!("{name}: barrier {id}; there are 16"))
        } else if threads.is_some_and(|threads| threads == 0 || threads % 32 != 0 || threads > most) {
            Some(format!("{name}: {threads:?} threads; expected a multiple of 32 up to {most}"))
        } else if arrival == Arrival::Arrive && threads.is_none() {
            Some(format!("{name}: to arrive without waiting needs a number of threads"))
        } else {
            None
        };
        if let Some(message) = refused {
            self.fault(FaultKind::Operand, at, message);
            return false;
        }
        let current = self.current;
        let key = 16 * self.rank_of(current) as usize + id as usize;
        let barrier = &mut self.barriers[key];
        if let Some(&(other, place)) = barrier.arrived.first()
            && barrier.expected != threads
        {
            let expected = barrier.expected;
            let other = self.threads[other].index;
            let message =
                format!("{name}: barrier {id} with {threads:?} threads; thread {other:?} gave {expected:?} at {place}");
            self.fault(FaultKind::Barrier, at, message);
        }
        let barrier = &mut self.barriers[key];
        if barrier.arrived.is_empty() {
            barrier.expected = threads;
        }
        barrier.arrived.push((current, at));
        barrier.aligned |= name.starts_with("bar_") || name.ends_with("aligned");
        if current % size + 1 == size {
            barrier.padding = most - size as u32;
        }
        barrier.trues += u32::from(arrival == Arrival::Reduce { predicate: true });
        let thread = self.thread();
        (thread.at, thread.name) = (at, name);
        if arrival != Arrival::Arrive {
            thread.state = State::Barrier(key);
        }
        if self.is_complete(key) {
            self.complete(key);
        }
        arrival != Arrival::Arrive
    }

    fn is_complete(&self, key: usize) -> bool {
        let Barrier { expected, arrived, padding, .. } = &self.barriers[key];
        let running = self.running_of[key / 16];
        !arrived.is_empty() && arrived.len() as u32 + padding >= expected.unwrap_or(running as u32 + padding)
    }

    /// Lets the participants go on.
    fn complete(&mut self, key: usize) {
        self.progress += 1;
        let Barrier { expected, arrived, trues, aligned, .. } = std::mem::take(&mut self.barriers[key]);
        let (id, size) = (key % 16, self.block_size());
        let block = key / 16 * size..(key / 16 + 1) * size;
        let (first, at) = arrived[0];
        if aligned {
            self.check_aligned(id, &arrived);
        }
        if expected.is_none() && arrived.len() < size {
            let returned: Vec<_> = block
                .filter(|&t| self.threads[t].state == State::Done)
                .map(|t| format!("thread {:?}", self.threads[t].index))
                .collect();
            let message = format!(
                "barrier {id} of all threads: {} threads returned before it: {}",
                returned.len(),
                shorten(&returned)
            );
            self.fault_of(first, FaultKind::Barrier, at, message);
        }
        let running = self.running;
        let waits = |thread: &usize| self.threads[*thread].state == State::Barrier(key);
        let all = arrived.iter().map(|(thread, _)| *thread);
        if arrived.len() == running
            && all.clone().all(|thread| waits(&thread))
            && (expected.is_none() || running == self.threads.len())
            && self.running_of.len() == 1
            && !self.clocks.is_pending()
        {
            self.clocks.meet_all();
            self.trace.end();
        } else {
            self.clocks.meet(all.clone(), all.clone().filter(waits));
            self.trace_meeting(all);
        }
        for &(thread, _) in &arrived {
            if self.threads[thread].state == State::Barrier(key) {
                self.threads[thread].trues = trues;
                self.wake(thread);
            }
        }
    }

    /// Reports warps whose lanes came to an aligned barrier by different ways.
    fn check_aligned(&mut self, id: usize, arrived: &[(usize, &'static Location<'static>)]) {
        let mut places = vec![None; self.threads.len()];
        for &(thread, at) in arrived {
            places[thread] = Some(at);
        }
        for (warp, places) in places.chunks(32).enumerate() {
            let Some((lane, at)) = places.iter().enumerate().find_map(|(lane, at)| Some((lane, (*at)?))) else {
                continue;
            };
            let is_elsewhere = |(lane, other): &(usize, &Option<&'static Location<'static>>)| match other {
                Some(other) => (other.file(), other.line()) != (at.file(), at.line()),
                None => self.threads[warp * 32 + lane].state != State::Done,
            };
            if let Some((other, _)) = places.iter().enumerate().find(is_elsewhere) {
                let index = self.threads[warp * 32 + other].index;
                let message = match places[other] {
                    Some(other) => format!("barrier {id}: thread {index:?} of the same warp came by {other}"),
                    None => format!(
                        "barrier {id}: thread {index:?} of the same warp did not come, it {}",
                        self.activity(warp * 32 + other)
                    ),
                };
                self.fault_of(
                    warp * 32 + lane,
                    FaultKind::Divergence,
                    at,
                    format!("{message}; the lanes of a warp come together"),
                );
            }
        }
    }

    /// After a thread has returned: barriers of all threads wait for one less.
    pub(crate) fn leave_barriers(&mut self, rank: usize) {
        for key in 16 * rank..16 * (rank + 1) {
            if self.barriers[key].expected.is_none() && self.is_complete(key) {
                self.complete(key);
            }
        }
    }

    /// Reports the barriers that threads wait at when nothing more can run.
    pub(crate) fn fault_stuck_barriers(&mut self) {
        let size = self.block_size();
        for key in 0..self.barriers.len() {
            let Barrier { expected, arrived, padding, .. } = &self.barriers[key];
            let Some(&(first, at)) = arrived.first() else { continue };
            let (id, block) = (key % 16, key / 16 * size..(key / 16 + 1) * size);
            let others: Vec<_> = block
                .filter(|t| arrived.iter().all(|(thread, _)| thread != t))
                .map(|t| format!("thread {:?} {}", self.threads[t].index, self.activity(t)))
                .collect();
            let came = arrived.len() as u32 + padding;
            let message = match expected {
                None => format!("barrier {id} of all threads: {came} came; {}", shorten(&others)),
                Some(expected) => format!("barrier {id} of {expected} threads: {came} came; {}", shorten(&others)),
            };
            self.fault_of(first, FaultKind::Barrier, at, message);
        }
    }
}
