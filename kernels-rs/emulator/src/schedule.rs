//! Runs the threads of a block, or of all blocks of a cluster, as coroutines, and the blocks or clusters one after
//! another.

use std::panic::{AssertUnwindSafe, catch_unwind};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

use crate::FaultKind;
use crate::asynchronous::Copies;
use crate::block::Barrier;
use crate::bulk::Stores;
use crate::cluster::{AtCluster, ClusterBarrier};
use crate::engine::ProxyFences;
use crate::launch::Shape;
use crate::machine::{Machine, State, Thread, Warp, with};
use crate::memory::Space;
use crate::registers::Registers;
use crate::warpgroup::Products;

/// Rounds in which only polling threads run and nothing changes, after which the block counts as stuck.
const POLLING_ROUNDS: u32 = 2_000;

type Routine = Coroutine<(), (), ()>;

/// What comes next in a block.
enum Next {
    /// This thread runs.
    Run(usize),
    /// The block has ended, or can't go on.
    End,
}

/// Runs every block of the grid.
pub(crate) fn run(shape: &Shape, kernel: &impl Fn()) {
    let threads = (shape.block.iter().product::<u32>() * shape.cluster.iter().product::<u32>()) as usize;
    let mut stacks: Vec<DefaultStack> = Vec::new();
    let mut random = shape.seed.map(Random);
    let [x, y, z] = std::array::from_fn(|axis| u64::from(shape.grid[axis] / shape.cluster[axis]));
    let mut blocks = Order::new(x * y * z, &mut random);
    let mut order: Vec<u32> = (0..threads as u32).collect();
    while let Some(block) = blocks.next() {
        let cluster = [block % x, block / x % y, block / (x * y)].map(|i| i as u32);
        let block = std::array::from_fn(|axis| cluster[axis] * shape.cluster[axis]);
        if let Some(random) = &mut random {
            random.shuffle(&mut order);
        }
        with(|m| m.begin_block(block, threads, &order));
        run_block(shape, threads, kernel, &mut stacks, &mut random);
        if with(|m| m.end_block()) {
            break;
        }
    }
}

/// Runs one block; on return none of its coroutines exists any more.
fn run_block(
    shape: &Shape,
    threads: usize,
    kernel: &impl Fn(),
    stacks: &mut Vec<DefaultStack>,
    random: &mut Option<Random>,
) {
    let mut routines: Vec<Option<Routine>> = (0..threads).map(|_| None).collect();
    let mut polling = Polling::default();
    while let Next::Run(thread) = with(|m| m.next(&mut polling, random)) {
        let routine = match &mut routines[thread] {
            Some(routine) => routine,
            empty => {
                let stack = stacks.pop().map_or_else(|| DefaultStack::new(shape.stack_bytes), Ok);
                let stack = stack.unwrap_or_else(|error| panic!("no memory for the stack of a thread: {error}"));
                // SAFETY: the closure borrows the kernel, which outlives this function, and the coroutine is dropped
                // within it.
                empty.insert(unsafe { Coroutine::with_stack_unchecked(stack, body(thread, kernel)) })
            }
        };
        if let CoroutineResult::Return(()) = routine.resume(()) {
            stacks.extend(routines[thread].take().map(Coroutine::into_stack));
            with(|m| m.leave(thread));
        }
    }
    with(|m| m.unwinding = true);
    // What is left waits for something that cannot come: its stacks are unwound.
    for mut routine in routines.into_iter().flatten() {
        routine.force_unwind();
        stacks.push(routine.into_stack());
    }
    with(|m| m.unwinding = false);
}

/// The code of a thread's coroutine.
fn body(thread: usize, kernel: &impl Fn()) -> impl FnOnce(&corosensei::Yielder<(), ()>, ()) {
    move |yielder, ()| {
        with(|m| m.threads[thread].yielder = yielder);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(kernel)) {
            with(|m| m.caught(thread, payload.as_ref()));
        }
    }
}

/// How long nothing but polling happened.
#[derive(Default)]
struct Polling {
    progress: u64,
    rounds: u32,
}

impl Machine {
    fn begin_block(&mut self, block: [u32; 3], threads: usize, order: &[u32]) {
        let [x, y, _] = self.shape.block;
        let (size, blocks) = (self.block_size() as u32, self.cluster_blocks() as usize);
        self.block = block;
        self.threads.clear();
        let at = self.shape.at;
        self.threads.extend((0..threads as u32).map(|i| Thread {
            index: [i % size % x, i % size / x % y, i % size / (x * y)],
            yielder: std::ptr::null(),
            state: State::Ready,
            at,
            name: "",
            meeting: None,
            trues: 0,
            copies: Copies::default(),
            stores: Stores::default(),
            proxy_fences: ProxyFences::default(),
            products: Products::default(),
            registers: Registers::default(),
            at_cluster: AtCluster::default(),
            instruction: None,
            last_load: (0, at),
            polled: 0,
        }));
        self.warps.clear();
        let lanes = (0..threads).step_by(32).map(|start| u32::MAX >> (32 - (threads - start).min(32)));
        self.warps.extend(lanes.map(|running| Warp { running, waiting: 0 }));
        self.running = threads;
        self.running_of = vec![size as usize; blocks];
        self.counts = vec![Vec::new(); threads];
        self.ready.clear();
        self.ready.extend(order);
        self.spinning.clear();
        self.shared.forget();
        self.shared.shadow.reset(self.shared.bytes.len());
        self.clocks.begin(threads);
        self.engines.clear();
        self.trace.begin(threads);
        self.block_begins.push((self.clocks.base(), block));
        self.passed.retain(|(space, _), _| *space == Space::Global);
        self.sources.clear();
        self.barriers = std::iter::repeat_with(Barrier::default).take(16 * blocks).collect();
        self.cluster_barrier = ClusterBarrier::default();
        self.mbarriers.clear();
        self.warpgroups.clear();
        self.free_registers.clear();
        self.attached.clear();
    }

    /// The thread that runs next.
    fn next(&mut self, polling: &mut Polling, random: &mut Option<Random>) -> Next {
        if self.stop {
            return Next::End;
        }
        if self.ready.is_empty() && !self.spinning.is_empty() {
            if polling.progress != self.progress {
                *polling = Polling { progress: self.progress, rounds: 0 };
            }
            polling.rounds += 1;
            if polling.rounds < POLLING_ROUNDS {
                for thread in std::mem::take(&mut self.spinning) {
                    self.wake(thread as usize);
                }
            }
        }
        let next = match random {
            Some(random) if self.ready.len() > 1 => {
                let last = self.ready.len() - 1;
                self.ready.swap(random.below(last as u64 + 1) as usize, last);
                self.ready.pop_back()
            }
            _ => self.ready.pop_front(),
        };
        match next {
            Some(thread) => {
                self.current = thread as usize;
                if self.running_of.len() > 1 {
                    self.shared_base = self.rank_of(self.current) as usize * self.shared_part();
                }
                Next::Run(self.current)
            }
            None => {
                if self.threads.iter().any(|thread| thread.state != State::Done) {
                    self.fault_stuck();
                    self.stop = true;
                } else {
                    self.end_copies();
                    self.end_mbarriers();
                    self.end_products();
                    self.end_registers();
                }
                Next::End
            }
        }
    }

    /// Reports why the block cannot go on.
    fn fault_stuck(&mut self) {
        self.fault_stuck_collectives();
        self.fault_stuck_barriers();
        self.fault_stuck_cluster();
        self.fault_stuck_mbarriers();
        self.end_products();
        if let Some(&thread) = self.spinning.first() {
            let (thread, count) = (thread as usize, self.spinning.len());
            let (at, name) = (self.threads[thread].at, self.threads[thread].name);
            let message = format!(
                "{count} threads poll for ever, the first in {name}: in {POLLING_ROUNDS} rounds no thread did anything else (blocks run one after \
                 another: a block cannot wait for one that comes later)"
            );
            self.fault_of(thread, FaultKind::Barrier, at, message);
        }
    }

    /// A thread has returned.
    fn leave(&mut self, thread: usize) {
        self.threads[thread].state = State::Done;
        self.warps[thread / 32].running &= !(1 << (thread % 32));
        self.running -= 1;
        let rank = self.rank_of(thread) as usize;
        self.running_of[rank] -= 1;
        self.progress += 1;
        if !self.stop {
            self.leave_copies(thread);
            self.leave_stores(thread);
            self.leave_products(thread);
            self.leave_collectives(thread);
            self.leave_barriers(rank);
            self.complete_cluster();
        }
    }

    /// A thread has panicked.
    fn caught(&mut self, thread: usize, payload: &(dyn std::any::Any + Send)) {
        if self.unwinding {
            return;
        }
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        let at = self.threads[thread].at;
        self.fault_of(thread, FaultKind::Panic, at, format!("the kernel panicked after the instruction here: {text}"));
        self.stop = true;
    }

    /// Collects the block's counts; whether the launch ends here.
    fn end_block(&mut self) -> bool {
        self.trace.end();
        for (number, &name) in self.names.names.iter().enumerate() {
            if self.counts.iter().all(|counts| counts.get(number).is_none_or(|&count| count == 0)) {
                continue;
            }
            let count = self.report.instructions.entry(name).or_default();
            for warp in self.counts.chunks(32) {
                let of = |counts: &Vec<u32>| u64::from(counts.get(number).copied().unwrap_or_default());
                count.threads += warp.iter().map(of).sum::<u64>();
                count.warps += warp.iter().map(of).max().unwrap_or_default();
            }
        }
        self.stop
    }

    /// The report of the launch.
    pub(crate) fn finish(mut self) -> crate::Report {
        for (&name, &collectives) in
            self.names.names.iter().zip(&self.collectives).filter(|(_, collectives)| **collectives > 0)
        {
            self.report.instructions.entry(name).or_default().warps = collectives;
        }
        self.report_requests();
        self.report
    }
}

/// A small random number generator (SplitMix64), so that an order can be had again from its seed.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`; the slight bias of the remainder does not matter here.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn shuffle(&mut self, values: &mut [u32]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Numbers from zero to an end, each once: upwards, or, with a generator, from a random start in random steps.
struct Order {
    end: u64,
    done: u64,
    at: u64,
    step: u64,
}

impl Order {
    fn new(end: u64, random: &mut Option<Random>) -> Self {
        let Some(random) = random else { return Self { end, done: 0, at: 0, step: 1 } };
        let mut step = 1 + random.below(end);
        while gcd(step, end) != 1 {
            step = 1 + random.below(end);
        }
        Self { end, done: 0, at: random.below(end), step }
    }

    fn next(&mut self) -> Option<u64> {
        if self.done == self.end {
            return None;
        }
        let at = self.at;
        self.done += 1;
        self.at = ((u128::from(self.at) + u128::from(self.step)) % u128::from(self.end)) as u64;
        Some(at)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
