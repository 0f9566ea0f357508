//! Changes of a thread's number of registers (`setmaxnreg`).

use std::panic::Location;

use crate::FaultKind;
use crate::machine::{Machine, spin, with};

/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;

/// A thread's changes.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    /// Number of registers, if known.
    now: Option<u32>,
    /// Numbers that it has set, each with its place.
    set: Vec<(u32, &'static Location<'static>)>,
}

/// `setmaxnreg.inc` and `setmaxnreg.dec`: `count` registers for each thread of the warp. An increase waits until the
/// block has as many free, if the kernel declares how many it starts with (`max_registers`, or `min_blocks`).
#[track_caller]
pub fn set_registers(count: u32, increases: bool) {
    let at = Location::caller();
    while !with(|m| m.set_registers(count, increases, at)) {
        spin("setmaxnreg.inc", at);
    }
}

impl Machine {
    /// Registers that the kernel's bounds give each thread.
    fn declared_registers(&self) -> Option<u32> {
        let bounds = self.shape.bounds;
        let threads = self.block_size().next_multiple_of(32) as u32;
        let by_blocks = |blocks: u32| (REGISTERS / (threads * blocks) / 8 * 8).min(248);
        bounds.max_registers.or(bounds.min_blocks.map(by_blocks))
    }

    /// Whether the change is done; else there are no registers for it yet.
    fn set_registers(&mut self, count: u32, increases: bool, at: &'static Location<'static>) -> bool {
        self.clock += 1;
        let declared = self.declared_registers();
        let rank = self.rank_of(self.current) as usize;
        let registers = &mut self.threads[self.current].registers;
        let now = registers.now.or(declared);
        let wrong = now.filter(|&now| if increases { count < now } else { count > now });
        if !count.is_multiple_of(8) || !(24..=256).contains(&count) || wrong.is_some() {
            let from = now.map_or("not declared".into(), |now| now.to_string());
            let what = if increases { "inc" } else { "dec" };
            let message = format!(
                "setmaxnreg.{what} to {count} registers (from {from}); expected a multiple of 8 from 24 to 256, and no change the other way"
            );
            self.fault(FaultKind::Operand, at, message);
            return true;
        }
        if let Some(now) = now {
            if self.free_registers.len() <= rank {
                self.free_registers.resize(rank + 1, 0);
            }
            let free = &mut self.free_registers[rank];
            let change = i64::from(count) - i64::from(now);
            if change > *free {
                return false;
            }
            *free -= change;
        }
        registers.now = Some(count);
        registers.set.push((count, at));
        self.progress += 1;
        true
    }

    /// After all threads have returned: changes that not all threads of a warpgroup made.
    pub(crate) fn end_registers(&mut self) {
        if self.cluster_blocks() > 1 && !self.block_size().is_multiple_of(128) {
            return; // warpgroups are not counted from a block's start then
        }
        for start in (0..self.threads.len()).step_by(128) {
            let end = self.threads.len().min(start + 128);
            let set = |thread: usize| &self.threads[thread].registers.set;
            let counts = |thread: usize| set(thread).iter().map(|(count, _)| *count);
            let Some(other) = (start..end).find(|&thread| !counts(thread).eq(counts(start))) else { continue };
            let (more, less) = if set(start).len() >= set(other).len() { (start, other) } else { (other, start) };
            let differs = counts(more).zip(counts(less)).take_while(|(a, b)| a == b).count();
            let at = set(more)[differs.min(set(more).len() - 1)].1;
            let index = self.threads[less].index;
            let message = format!(
                "setmaxnreg: thread {index:?} of the same warpgroup does not execute it, or with another number"
            );
            self.fault_of(more, FaultKind::Divergence, at, message);
        }
    }
}
