//! Runs GPU kernels on the CPU, thread by thread, and finds their faults.
//!
//! A kernel written against `fringes-device` compiles for the host as well; there each of its intrinsics calls into this
//! crate. [`Launch`] runs the kernel with one stackful coroutine per CUDA thread, block after block, and returns a [`Report`] of faults
//! and counts.
//!
//! Two sides use this crate: tests, through [`Launch`], [`GlobalMemory`] and [`Report`]; and the host twins of the intrinsics,
//! through [`thread`], [`warp`], [`block`] and [`memory`].
//!
//! # A kernel with a fault
//! Each thread leaves its number in shared memory and reads its neighbour's. Between the two there must be a barrier:
//!
//! ```
//! use fringes_emulator::block::{Arrival, barrier};
//! use fringes_emulator::memory::{Space, load, store};
//! use fringes_emulator::thread::linear_index;
//! use fringes_emulator::{FaultKind, GlobalMemory, Launch};
//!
//! let mut memory = GlobalMemory::new();
//! let out = memory.allocate::<u32>(64);
//! let kernel = |with_barrier: bool| {
//!     let t = linear_index();
//!     store(Space::Shared, u64::from(t) * 4, &t.to_le_bytes());
//!     if with_barrier {
//!         barrier("bar_sync", 0, None, Arrival::Sync);
//!     }
//!     let mut word = [0; 4];
//!     load(Space::Shared, u64::from(t ^ 1) * 4, &mut word);
//!     store(Space::Global, out.address + u64::from(t) * 4, &word);
//! };
//! let launch = Launch::new("neighbours() threads=64", [1, 1, 1], [64, 1, 1]).shared_bytes(256);
//!
//! let report = launch.run(&mut memory, || kernel(true));
//! report.assert_clean();
//! assert_eq!(memory.values(out)[..4], [1, 0, 3, 2]);
//! assert_eq!((report.shared_requests, report.shared_wavefronts), (4, 4)); // two warps, a store and a load each
//!
//! let report = launch.run(&mut memory, || kernel(false));
//! assert!(report.found(FaultKind::Race));
//! println!("{report}"); // "Race in neighbours, block [0, 0, 0], thread [1, 0, 0], at src/lib.rs:25: load of 4 bytes at shared ..."
//! ```
//!
//! A kernel of `fringes-device` is launched in the same way, its views made from the buffers:
//! `launch.run(&mut memory, || unsafe { saxpy(2.0, x.into(), y.into()) })`.
//!
//! # What it finds
//! See [`FaultKind`]. Addresses are checked to the byte, and so are reads of memory that nothing has written. Races are found from the order
//! that barriers, mbarriers, fences and atomics make (vector clocks), not from how this run happened to go: two accesses that nothing
//! orders are a race even if they came one long after the other. Shuffles, votes and matrix products order nothing.
//!
//! # What it counts
//! Executions of each instruction by threads and by warps, and what memory accesses cost, by source line: wavefronts of shared memory
//! and sectors of global memory, beside the least that the same bytes need. Accesses of the lanes of a warp by the same instruction
//! are one request; which execution of a loop's instruction belongs together is counted from where the lanes last met. Caches are not
//! modelled.
//!
//! # What it does not model
//! - Time: how warps take turns, latencies, and how many blocks an SM holds. A thread runs until it waits; [`Launch::seed`] varies the order.
//! - Blocks at the same time: one runs after the other, so a block that waits for a later one polls for ever, which is a fault.
//! - Weak memory: a load gives the newest value. What the memory model leaves open is open only between accesses that nothing
//!   orders, and those are reported. All fences count as of device scope.
//! - Lock step: lanes of a warp run apart from each other and meet at collective instructions only, as the model of independent thread
//!   scheduling has it.
//! - Readers of other blocks: of the threads of finished blocks that read a word, two are remembered at most until it is written, so
//!   a race between blocks in which a later store is unordered with none but the others is missed.
//! - A loop that calls nothing of this crate and never ends, does not end here either.

mod asynchronous;
pub mod block;
mod buffer;
mod fault;
mod launch;
mod machine;
mod mbarrier;
pub mod memory;
mod order;
mod region;
mod report;
mod schedule;
mod shadow;
mod site;
pub mod thread;
mod trace;
pub mod warp;

pub use buffer::{Buffer, Element, GlobalMemory};
pub use fault::{Fault, FaultKind};
pub use launch::Launch;
pub use report::{AccessKind, Count, LineAccesses, Report};
