//! The state of a running launch, and how the functions of this crate reach it.
//!
//! One launch at a time runs on an operating system's thread; a thread-local pointer leads from the kernel's code to
//! its machine.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::panic::Location;
use std::ptr::null_mut;

use corosensei::Yielder;

use crate::asynchronous::{Attached, Copies};
use crate::block::Barrier;
use crate::bulk::Stores;
use crate::cluster::{AtCluster, ClusterBarrier};
use crate::engine::{ProxyFences, Work};
use crate::launch::Shape;
use crate::mbarrier::Mbarrier;
use crate::memory::Space;
use crate::order::{Clocks, Passed};
use crate::region::Region;
use crate::registers::Registers;
use crate::site::{Names, Sites};
use crate::trace::Trace;
use crate::warp::Meeting;
use crate::warpgroup::{Products, Warpgroup};
use crate::{Fault, FaultKind, GlobalMemory, Report};

thread_local!(static CURRENT: Cell<*mut Machine> = const { Cell::new(null_mut()) });

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// In the queue, or running.
    Ready,
    /// Polls something: runs again when nothing else can.
    Spinning,
    /// Waits for the other lanes of a collective instruction.
    Collective,
    /// Waits at this barrier: 16 times the rank of the block, and the barrier's number.
    Barrier(usize),
    /// Waits for products of its warpgroup.
    Products,
    /// Waits at the barrier of its cluster.
    Cluster,
    /// Returned from the kernel.
    Done,
}

/// One CUDA thread of the running block.
pub(crate) struct Thread {
    /// `%tid`.
    pub(crate) index: [u32; 3],
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) state: State,
    /// Where it called this crate last: where it waits, if it does.
    pub(crate) at: &'static Location<'static>,
    /// Name of the instruction that it waits in.
    pub(crate) name: &'static str,
    /// The collective that it takes part in.
    pub(crate) meeting: Option<Meeting>,
    /// Result of the last barrier.
    pub(crate) trues: u32,
    pub(crate) copies: Copies,
    /// Its bulk stores.
    pub(crate) stores: Stores,
    pub(crate) proxy_fences: ProxyFences,
    pub(crate) products: Products,
    pub(crate) registers: Registers,
    pub(crate) at_cluster: AtCluster,
    /// Instruction counted last, until a collective has been counted for it.
    pub(crate) instruction: Option<u16>,
    /// Address and place of its last load, and how often it has come again since.
    pub(crate) last_load: (u64, *const Location<'static>),
    pub(crate) polled: u32,
}

/// The state of a running launch.
pub(crate) struct Machine {
    pub(crate) shape: Shape,
    pub(crate) memory: GlobalMemory,
    pub(crate) report: Report,
    pub(crate) sites: Sites,
    pub(crate) names: Names,
    /// Faults reported so far, by kind, file and line.
    known_faults: HashMap<(FaultKind, &'static str, u32), ()>,
    /// `%ctaid` of the running block, the first of its cluster.
    pub(crate) block: [u32; 3],
    /// Index of the running thread.
    pub(crate) current: usize,
    /// Threads of the running block, or of all blocks of the cluster.
    pub(crate) threads: Vec<Thread>,
    /// Their warps.
    pub(crate) warps: Vec<Warp>,
    /// How many have not returned from the kernel; the same by block.
    pub(crate) running: usize,
    pub(crate) running_of: Vec<usize>,
    pub(crate) ready: VecDeque<u32>,
    /// Threads that poll.
    pub(crate) spinning: Vec<u32>,
    pub(crate) shared: Region,
    /// Start of the running thread's block in it.
    pub(crate) shared_base: usize,
    pub(crate) clocks: Clocks,
    /// Numbers of the running block's engines.
    pub(crate) engines: HashMap<Work, usize>,
    /// The clock that each block so far began with, and the block.
    pub(crate) block_begins: Vec<(u32, [u32; 3])>,
    /// What atomics pass on, by word.
    pub(crate) passed: HashMap<(Space, u64), Passed>,
    /// Global words that asynchronous copies under way read.
    pub(crate) sources: HashMap<u64, u32>,
    /// 16 for each block.
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) cluster_barrier: ClusterBarrier,
    /// Live mbarriers by place in shared memory.
    pub(crate) mbarriers: HashMap<usize, Mbarrier>,
    /// Warpgroups of the running block that multiply.
    pub(crate) warpgroups: Vec<Warpgroup>,
    /// Registers that threads of the running block have given back, by block of the cluster.
    pub(crate) free_registers: Vec<i64>,
    /// Arrivals to come of threads whose copies are under way.
    pub(crate) attached: Vec<Attached>,
    /// Executions by thread and instruction, `names.len()` rounded up each.
    pub(crate) counts: Vec<Vec<u32>>,
    pub(crate) trace: Trace,
    /// Collectives by instruction.
    pub(crate) collectives: Vec<u64>,
    pub(crate) clock: u64,
    /// Grows when something happens that a polling thread could wait for.
    pub(crate) progress: u64,
    /// The launch cannot go on.
    pub(crate) stop: bool,
    /// The stacks of threads that cannot go on are being unwound.
    pub(crate) unwinding: bool,
}

/// Lanes of a warp, as masks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Warp {
    /// Those that have not returned from the kernel.
    pub(crate) running: u32,
    /// Those that wait in a collective, and maybe others.
    pub(crate) waiting: u32,
}

/// Runs `f` on the machine of the calling thread. `f` must not call code that is not this crate's.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = CURRENT.get();
    assert!(!machine.is_null(), "an instruction of a kernel was called outside of fringes_emulator::Launch::run");
    // SAFETY: `Current` keeps the pointer valid while it is set. No other reference exists: the machine belongs to this
    // thread, every access to it is inside this function, and `f` neither suspends nor calls back.
    f(unsafe { &mut *machine })
}

/// Lets other threads run until the scheduler comes back to this one.
pub(crate) fn suspend() {
    let yielder = with(|m| m.threads[m.current].yielder);
    // SAFETY: the yielder lives on the stack of the running coroutine, below this frame.
    unsafe { (*yielder).suspend(()) }
}

/// Lets every thread run that can before the caller looks again at what it polls.
pub(crate) fn spin(name: &'static str, at: &'static Location<'static>) {
    with(|m| {
        let current = m.current;
        let thread = m.thread();
        (thread.state, thread.at, thread.name) = (State::Spinning, at, name);
        m.spinning.push(current as u32);
    });
    suspend();
}

/// Owns a machine, which is the calling thread's as long as this lives.
pub(crate) struct Current(*mut Machine);

impl Current {
    /// Makes `machine` the calling thread's.
    ///
    /// # Panics
    /// If a launch runs already: a kernel cannot launch another.
    pub(crate) fn new(machine: Machine) -> Self {
        assert!(CURRENT.get().is_null(), "a kernel cannot launch another");
        let machine = Box::into_raw(Box::new(machine));
        CURRENT.set(machine);
        Self(machine)
    }

    /// Gives the machine back.
    pub(crate) fn finish(self) -> Machine {
        CURRENT.set(null_mut());
        let machine = self.0;
        std::mem::forget(self);
        // SAFETY: made by `Box::into_raw` in `new`, and freed nowhere else since `self` is forgotten.
        *unsafe { Box::from_raw(machine) }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(null_mut());
        // SAFETY: made by `Box::into_raw` in `new`; `finish` forgets `self`.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Machine {
    pub(crate) fn new(shape: Shape, mut memory: GlobalMemory) -> Self {
        for region in &mut memory.buffers {
            region.shadow.reset(region.bytes.len());
        }
        let blocks = shape.cluster.iter().product::<u32>() as usize;
        let shared = Region::new(blocks * (shape.shared_bytes as usize).next_multiple_of(1024));
        Self {
            clocks: Clocks::default(),
            engines: HashMap::new(),
            block_begins: Vec::new(),
            passed: HashMap::new(),
            shape,
            memory,
            report: Report::default(),
            sites: Sites::new(),
            names: Names::new(),
            known_faults: HashMap::new(),
            block: [0; 3],
            current: 0,
            threads: Vec::new(),
            warps: Vec::new(),
            running: 0,
            running_of: Vec::new(),
            ready: VecDeque::new(),
            spinning: Vec::new(),
            shared,
            shared_base: 0,
            sources: HashMap::new(),
            mbarriers: HashMap::new(),
            warpgroups: Vec::new(),
            free_registers: Vec::new(),
            attached: Vec::new(),
            barriers: Vec::new(),
            cluster_barrier: ClusterBarrier::default(),
            counts: Vec::new(),
            trace: Trace::default(),
            collectives: Vec::new(),
            clock: 0,
            progress: 0,
            stop: false,
            unwinding: false,
        }
    }

    /// The running thread.
    pub(crate) fn thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// Reports a fault of the running thread.
    #[cold]
    pub(crate) fn fault(&mut self, kind: FaultKind, at: &'static Location<'static>, message: String) {
        self.fault_of(self.current, kind, at, message);
    }

    /// Reports a fault of a thread.
    #[cold]
    pub(crate) fn fault_of(&mut self, thread: usize, kind: FaultKind, at: &'static Location<'static>, message: String) {
        self.report.fault_total += 1;
        if self.known_faults.insert((kind, at.file(), at.line()), ()).is_none() {
            self.report.faults.push(Fault {
                kind,
                kernel: self.shape.kernel.clone(),
                block: self.block_of(thread),
                thread: self.threads.get(thread).map_or([0; 3], |thread| thread.index),
                file: at.file(),
                line: at.line(),
                message,
            });
        }
    }

    /// Index of the first thread of the running thread's warp.
    pub(crate) fn warp_start(&self) -> usize {
        self.current / 32 * 32
    }

    /// Lanes of the warp whose first thread is `start` that have not returned from the kernel, as a mask.
    pub(crate) fn running_lanes(&self, start: usize) -> u32 {
        self.warps[start / 32].running
    }

    /// Lanes of the warp whose first thread is `start` that exist and fulfil a condition, as a mask.
    pub(crate) fn lanes(&self, start: usize, condition: impl Fn(&Thread) -> bool) -> u32 {
        let end = self.threads.len().min(start + 32);
        (start..end).filter(|&t| condition(&self.threads[t])).fold(0, |mask, t| mask | 1 << (t - start))
    }

    /// Puts a waiting thread into the queue.
    pub(crate) fn wake(&mut self, thread: usize) {
        self.threads[thread].state = State::Ready;
        self.ready.push_back(thread as u32);
    }

    /// What a thread is doing, in words.
    pub(crate) fn activity(&self, thread: usize) -> String {
        let Thread { state, at, name, .. } = &self.threads[thread];
        match state {
            State::Done => "returned from the kernel".into(),
            State::Ready => format!("is running, last at {at}"),
            State::Spinning => format!("polls in {name} at {at}"),
            State::Collective | State::Barrier(_) | State::Products | State::Cluster => {
                format!("waits in {name} at {at}")
            }
        }
    }
}
