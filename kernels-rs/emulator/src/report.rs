//! What a run of a kernel tells.

use std::collections::BTreeMap;

use crate::memory::Space;
use crate::{Fault, FaultKind};

/// How often an instruction was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// By threads.
    pub threads: u64,
    /// By warps: lanes that execute it together count once. Exact for collective instructions; for others, which lanes
    /// execute apart from each other here, the most executions of any lane of each warp.
    pub warps: u64,
}

/// How an instruction uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic operation.
    Atomic,
    /// An asynchronous copy.
    Copy,
}

/// Requests of warps to memory by the instructions of one kind in one source line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAccesses {
    /// Source file.
    pub file: &'static str,
    /// Line.
    pub line: u32,
    /// Memory accessed.
    pub space: Space,
    /// How.
    pub kind: AccessKind,
    /// Requests of warps.
    pub requests: u64,
    /// What they cost: wavefronts of shared memory, or sectors of global memory.
    pub transactions: u64,
    /// The least that the same bytes need.
    pub ideal: u64,
}

/// Faults and counts of one launch.
///
/// Displays as its faults, the counts of instructions, and a table of memory accesses by line.
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
    /// The requests by source line, in the order of the source.
    pub accesses: Vec<LineAccesses>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} faults", self.fault_total)?;
        for fault in &self.faults {
            writeln!(f, "  {fault}")?;
        }
        if !self.instructions.is_empty() {
            writeln!(f, "{:>14} {:>12}  instruction", "threads", "warps")?;
            for (name, Count { threads, warps }) in &self.instructions {
                writeln!(f, "{threads:>14} {warps:>12}  {name}")?;
            }
        }
        if !self.accesses.is_empty() {
            writeln!(f, "{:>14} {:>12} {:>12}  memory access", "requests", "cost", "ideal")?;
            for LineAccesses { file, line, space, kind, requests, transactions, ideal } in &self.accesses {
                let unit = if *space == Space::Shared { "wavefronts" } else { "sectors" };
                writeln!(
                    f,
                    "{requests:>14} {transactions:>12} {ideal:>12}  {space:?} {kind:?} ({unit}) at {file}:{line}"
                )?;
            }
        }
        Ok(())
    }
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
