//! Runs GPU kernels on the CPU, thread by thread, and finds their faults.
//!
//! A kernel written against `fringes-device` compiles for the host as well; there each of its intrinsics calls into
//! this crate. [`Launch`] runs the kernel with one stackful coroutine per CUDA thread, block after block or cluster
//! after cluster, and returns a [`Report`] of faults and counts.
//!
//! Two sides use this crate: tests, through [`Launch`], [`GlobalMemory`] and [`Report`]; and the host twins of the
//! intrinsics, through [`thread`], [`warp`], [`warpgroup`], [`block`], [`cluster`] and [`memory`].
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
//! println!("{report}"); // "Race in neighbours, block [0, 0, 0], thread [1, 0, 0], at src/lib.rs:25: load of 4 ..."
//! ```
//!
//! A kernel of `fringes-device` is launched in the same way, its views made from the buffers:
//! `launch.run(&mut memory, || unsafe { saxpy(2.0, x.into(), y.into()) })`. A tensor map is made by
//! [`GlobalMemory::map_tensor`] and passed in the same way.
//!
//! # What it finds
//! See [`FaultKind`]. Addresses are checked to the byte, and so are reads of memory that nothing has written. Races are
//! found from the order that barriers, mbarriers, fences and atomics make (vector clocks), not from how this run
//! happened to go: two accesses that nothing orders are a race even if they came one long after the other. Shuffles,
//! votes and matrix products order nothing.
//!
//! Of what is done asynchronously, bulk and tensor copies and products of warpgroups (`wgmma`):
//!
//! - Use before the wait: memory that a copy writes, read or written; memory that a copy or a product reads, written,
//!   by threads or by other copies; registers of a product's sums, stored, written, or used by a product of another
//!   shape. Each thread needs a wait of its own, or an order with a thread that has waited.
//! - What is never waited for, and what a group's wait leaves pending.
//! - A fence that is missing: between threads' writes and the asynchronous read or write of the same memory
//!   (`fence.proxy.async` in the thread that wrote, then a barrier), between `mbarrier.init` and copies that arrive,
//!   between registers and the first product that uses them (`wgmma.fence`).
//! - A phase of an mbarrier that expects other bytes than copies bring. Bytes arrive as late as they may: when a thread
//!   waits for a phase that lacks nothing else.
//! - Products that not all four warps issue, or not with the same operands; `setmaxnreg` likewise, and registers that
//!   the block has not.
//! - Shared memory of a block of the cluster before it is known to have started, or after it has ended.
//!
//! # What it counts
//! Executions of each instruction by threads and by warps, and what memory accesses cost, by source line: wavefronts of
//! shared memory and sectors of global memory, beside the least that the same bytes need. Accesses of the lanes of a
//! warp by the same instruction are one request; which execution of a loop's instruction belongs together is counted
//! from where the lanes last met. Caches are not modelled.
//!
//! # What it does not model
//! - Time: how warps take turns, latencies, and occupancy. A thread runs until it waits;
//!   [`Launch::seed`] varies the order.
//! - Blocks at the same time, but for those of one cluster: one runs after the other, so a block that waits for a later
//!   one polls for ever, which is a fault. Clusters of several blocks have whole warps only.
//! - Weak memory: a load gives the newest value. What the memory model leaves open is open only between accesses that
//!   nothing orders, and those are reported. All fences count as of device scope.
//! - Lock step: lanes of a warp run apart from each other and meet at collective instructions only, as the model of
//!   independent thread scheduling has it.
//! - Readers of other blocks: of the threads of finished blocks that read a word, two are remembered at most until it
//!   is written, so a race between blocks in which a later store is unordered with none but the others is missed.
//! - Bytes of an operation that is done asynchronously do not come late: it reads and writes when it is issued (a
//!   product when the last thread issues it). What could tell the difference is a fault.
//! - Registers: those of a product's sums hold marks until they are there; `A` in registers is taken when the product
//!   is issued, so that changing it too early is not seen, nor a `wgmma.fence` that is missing after all but the first
//!   change of it.
//! - Sums of floating-point products as the hardware makes them: exact products are summed in f64 in the order of K,
//!   the accumulator is added last, and the result is rounded once to f32.
//! - Of the proxies: a `fence.proxy.async` in the thread that reads, which the memory model allows in place of one in
//!   the thread that wrote; and whether global memory that an earlier block wrote was fenced.
//! - Of tensor maps: im2col, interleaving, traversal strides, NaN for what lies outside, rounding to tf32, boxes whose
//!   rows do not fill the span of their permutation; of descriptors the base offset. They are refused.
//! - What bulk copies and products cost: they are counted as instructions, not as requests to memory.
//! - A wait for products orders what the lanes of the warp did before they committed them, though the PTX ISA does not
//!   say so: kernels have one lane say for its warp that memory is free.
//! - A loop that calls nothing of this crate and never ends, does not end here either.

mod asynchronous;
pub mod block;
mod buffer;
mod bulk;
pub mod cluster;
mod engine;
mod factors;
mod fault;
mod launch;
mod machine;
mod mbarrier;
pub mod memory;
mod order;
mod region;
mod registers;
mod report;
mod schedule;
mod shadow;
mod site;
mod tensor;
pub mod thread;
mod trace;
pub mod warp;
pub mod warpgroup;

pub use buffer::{Buffer, Element, GlobalMemory};
pub use fault::{Fault, FaultKind};
pub use launch::Launch;
pub use report::{AccessKind, Count, LineAccesses, Report};
pub use tensor::{TensorLayout, TensorMap};
