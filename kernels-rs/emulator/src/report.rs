//! What a run of a kernel tells.

use std::collections::BTreeMap;

use crate::{Fault, FaultKind};

/// How often an instruction was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// By threads.
    pub threads: u64,
    /// By warps: lanes that execute it together count once. Exact for collective instructions; for others, which lanes execute apart
    /// from each other here, the most executions of any lane of each warp.
    pub warps: u64,
}

/// Faults and counts of one launch.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Faults, in the order found; at most one of a kind per source line (see [`Report::fault_total`]).
    pub faults: Vec<Fault>,
    /// All faults, also those that repeat one of `faults`.
    pub fault_total: u64,
    /// Executed instructions by name.
    pub instructions: BTreeMap<&'static str, Count>,
    /// Requests of warps to shared memory.
    pub shared_requests: u64,
    /// Cycles that those requests take: 1 each if free of bank conflicts.
    pub shared_wavefronts: u64,
    /// Least number of wavefronts that the same bytes need.
    pub shared_wavefronts_ideal: u64,
    /// Requests of warps to global memory.
    pub global_requests: u64,
    /// Sectors of 32 bytes that those requests touch.
    pub global_sectors: u64,
    /// Least number of sectors that the same bytes need.
    pub global_sectors_ideal: u64,
}

impl Report {
    /// Panics with every fault listed, if there is one. For tests.
    #[track_caller]
    pub fn assert_clean(&self) {
        let faults: Vec<_> = self.faults.iter().map(Fault::to_string).collect();
        assert!(faults.is_empty(), "{} faults\n{}", self.fault_total, faults.join("\n"));
    }

    /// Whether a fault of this kind was found.
    pub fn found(&self, kind: FaultKind) -> bool {
        self.faults.iter().any(|fault| fault.kind == kind)
    }

    /// Executions of an instruction, zero if it was never executed.
    pub fn count(&self, instruction: &str) -> Count {
        self.instructions.get(instruction).copied().unwrap_or_default()
    }
}
