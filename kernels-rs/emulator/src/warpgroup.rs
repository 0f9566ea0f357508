//! Products of matrices by a warpgroup (`wgmma`). For the twins of intrinsics.
//!
//! A product is done when the last of the 128 threads issues it: its factors are read from shared memory then, by an
//! engine (module `engine`). Its sums stay here. In the registers of `D` each thread finds *marks* instead, one for
//! each register, until it has waited for the product and calls [`hold`]. So a kernel that reads too early computes
//! with marks; and marks are recognised where they come up again: at the next product with the same `D`, at [`hold`],
//! and in what is stored to memory.

use std::collections::{HashMap, VecDeque};
use std::panic::Location;

use fringes_layout_core::atoms::descriptor::Descriptor;

use crate::FaultKind;
use crate::engine::{Stretch, Work};
pub use crate::factors::Elements;
use crate::factors::{self, ROW};
use crate::machine::{Machine, State, suspend, with};
use crate::memory::Space;
use crate::order::Past;

pub use crate::registers::set_registers;

/// Threads of a warpgroup.
const THREADS: usize = 128;
/// Most groups that a wait can leave pending.
const MOST_PENDING: u32 = 7;

/// Marks in registers of integers: plain numbers, of which a few can be added without overflow; and of floating point:
/// quiet NaNs.
const MARKS: [u32; 2] = [0x1ad0_0000, 0x7fd0_0000];
/// Bits of a mark that tell the register, and above them the accumulator.
const REGISTER_BITS: u32 = 7;
const MARK_BITS: u32 = 20;

/// Accumulators that are kept after every thread has the sums (an array may have been copied), and those kept at all.
const KEPT: u32 = 4;
const MOST_KEPT: u32 = 64;

/// The factor `A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// In shared memory.
    Shared(Descriptor),
    /// In registers.
    Registers([u32; 4]),
}

/// What a product multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Type of the elements.
    pub elements: Elements,
    /// The factor `A`: 64 rows.
    pub a: Left,
    /// The factor `B`: as many columns as `D` has.
    pub b: Descriptor,
    /// Whether `A` is contiguous along its columns, `B` along its rows.
    pub transposed: [bool; 2],
    /// Whether what is in `D` is added.
    pub accumulate: bool,
}

/// A product of a warpgroup.
struct Operation {
    product: Product,
    accumulator: u32,
    /// Groups that had been committed before.
    groups: u64,
    at: &'static Location<'static>,
    /// Threads that have issued it; once all have, the clock of the engine.
    issued: usize,
    clock: Option<u32>,
    /// `A` in registers, by thread.
    registers: Vec<[u32; 4]>,
}

/// Sums of a warpgroup.
struct Sums {
    elements: Elements,
    columns: usize,
    /// By rows.
    values: Vec<u32>,
    /// By thread: one more than the number of the last product, and whether the thread has the values.
    last: Vec<u64>,
    held: Vec<bool>,
    at: &'static Location<'static>,
}

/// A warpgroup of the running block.
#[derive(Default)]
pub(crate) struct Warpgroup {
    operations: Vec<Operation>,
    sums: HashMap<u32, Sums>,
    /// By warp and group: what its lanes did before they committed it, and how many have.
    commits: [Vec<(Past, usize)>; 4],
}

/// What a thread knows of its products.
#[derive(Debug, Default)]
pub(crate) struct Products {
    /// Products issued, committed, waited for.
    issued: u64,
    waited: u64,
    /// Groups committed; of those that have not been waited for, the ends.
    committed: u64,
    groups: VecDeque<u64>,
    /// Accumulators begun, and those whose registers hold marks.
    accumulators: u32,
    pub(crate) marked: u32,
    /// Whether a fence came after the registers were written.
    fenced: bool,
}

/// Issues `D = A B + D`, or `D = A B`. `D` is this thread's registers of it, half as many as it has columns.
#[track_caller]
pub fn multiply(product: Product, d: &mut [u32]) {
    let at = Location::caller();
    with(|m| m.multiply(product, d, at));
}

/// `wgmma.fence`.
#[track_caller]
pub fn fence() {
    with(|m| m.thread().products.fenced = true);
}

/// `wgmma.commit_group`.
#[track_caller]
pub fn commit() {
    let at = Location::caller();
    with(|m| m.commit_products(at));
}

/// `wgmma.wait_group`: until at most `pending` of the newest groups are pending.
///
/// Orders, as hardware does and kernels rely on (a lane that says for its warp that memory is free again), what the
/// lanes of the warp did before they committed a group before what each of them does after the wait.
#[track_caller]
pub fn wait(pending: u32) {
    let at = Location::caller();
    if pending > MOST_PENDING {
        let message = format!("wgmma.wait_group {pending}; at most {MOST_PENDING}");
        return with(|m| m.fault(FaultKind::Operand, at, message));
    }
    while !with(|m| m.wait_for_products(pending, at)) {
        suspend();
    }
}

/// The registers of `D` are used from here on: what has been waited for arrives in them. If they hold marks of products
/// that have not, it is a fault and the marks stay.
#[track_caller]
pub fn hold(d: &mut [u32]) {
    let at = Location::caller();
    with(|m| m.hold(d, at));
}

/// The mark of a register of an accumulator.
fn mark(elements: Elements, accumulator: u32, register: usize) -> u32 {
    let base = MARKS[usize::from(elements != Elements::S8)];
    base | (accumulator << REGISTER_BITS) & ((1 << MARK_BITS) - 1) | register as u32
}

/// Accumulator and register that a word is the mark of.
#[inline]
fn marked(word: u32) -> Option<(u32, usize)> {
    let low = word & ((1 << MARK_BITS) - 1);
    MARKS.contains(&(word ^ low)).then_some((low >> REGISTER_BITS, (low & ((1 << REGISTER_BITS) - 1)) as usize))
}

impl Machine {
    /// Number of the running thread's warpgroup, and of the thread in it.
    fn warpgroup(&self) -> (usize, usize) {
        (self.current / THREADS, self.current % THREADS)
    }

    fn multiply(&mut self, product: Product, d: &mut [u32], at: &'static Location<'static>) {
        self.clock += 1;
        let (group, thread) = self.warpgroup();
        let threads = self.block_size();
        if (group + 1) * THREADS > self.threads.len() || self.cluster_blocks() > 1 && !threads.is_multiple_of(THREADS) {
            let message = format!("wgmma in a block of {threads} threads: four whole warps execute it together");
            return self.fault(FaultKind::Divergence, at, message);
        }
        if self.warpgroups.len() <= group {
            self.warpgroups.resize_with(group + 1, Warpgroup::default);
        }
        let Some(accumulator) = self.accumulator(product, d, at) else { return };
        let products = &mut self.threads[self.current].products;
        let (number, groups) = (products.issued, products.committed);
        products.issued += 1;
        let Warpgroup { operations, sums, .. } = &mut self.warpgroups[group];
        if let Some(sums) = sums.get_mut(&accumulator) {
            sums.last[thread] = number + 1;
        }
        if operations.len() as u64 == number {
            operations.push(Operation {
                product,
                accumulator,
                groups,
                at,
                issued: 0,
                clock: None,
                registers: if let Left::Registers(_) = product.a { vec![[0; 4]; THREADS] } else { Vec::new() },
            });
        }
        let operation = &mut operations[number as usize];
        operation.issued += 1;
        let mut same = operation.product;
        if let (Left::Registers(registers), Left::Registers(_)) = (product.a, same.a) {
            operation.registers[thread] = registers;
            same.a = product.a;
        }
        let issued = operation.issued;
        let (other, agree) =
            (operation.at, (same, operation.accumulator, operation.groups) == (product, accumulator, groups));
        let place = |at: &Location<'_>| (at.file().to_owned(), at.line());
        if !agree || place(other) != place(at) {
            let message = format!(
                "product {number} of the warpgroup is another in the thread that came first, at {other}: in operands, accumulator or group"
            );
            self.fault(FaultKind::Divergence, at, message);
        }
        if issued == THREADS {
            self.execute(group, number as usize);
            self.wake_warpgroup(group);
        }
        self.progress += 1;
    }

    /// The accumulator whose marks are in `d`; a new one, if there are none.
    fn accumulator(&mut self, product: Product, d: &mut [u32], at: &'static Location<'static>) -> Option<u32> {
        let (group, thread) = self.warpgroup();
        let live = |word: u32| {
            marked(word).filter(|(id, _)| self.warpgroups[group].sums.get(id).is_some_and(|sums| !sums.held[thread]))
        };
        let found = d.iter().find_map(|&word| live(word));
        if let Some((id, _)) = found {
            let sums = &self.warpgroups[group].sums[&id];
            let whole = d.iter().enumerate().all(|(register, &word)| word == mark(sums.elements, id, register));
            if !whole || sums.columns != 2 * d.len() || sums.elements != product.elements {
                let message = format!(
                    "wgmma on registers of which some were written, or of another shape or type, since the product at {} that has them",
                    sums.at
                );
                self.fault(FaultKind::AsynchronousProduct, at, message);
                return None;
            }
            self.check_registers(product, false, at);
            return Some(id);
        }
        self.check_registers(product, true, at);
        let products = &mut self.threads[self.current].products;
        let id = products.accumulators % (1 << (MARK_BITS - REGISTER_BITS));
        products.accumulators += 1;
        products.marked += 1;
        let columns = 2 * d.len();
        let sums = &mut self.warpgroups[group].sums;
        if !sums.contains_key(&id) {
            let old = |age: u32| id.wrapping_sub(age) % (1 << (MARK_BITS - REGISTER_BITS));
            // What every thread has; and what some threads do not ask for any more.
            if sums.get(&old(KEPT)).is_some_and(|sums| sums.held.iter().all(|&held| held)) {
                sums.remove(&old(KEPT));
            }
            sums.remove(&old(MOST_KEPT));
        }
        let sums = sums.entry(id).or_insert_with(|| Sums {
            elements: product.elements,
            columns,
            values: vec![0; 64 * columns],
            last: vec![0; THREADS],
            held: vec![false; THREADS],
            at,
        });
        if (sums.elements, sums.columns) != (product.elements, columns) {
            let message =
                format!("{columns} columns of {:?}; the thread that came first has another shape", product.elements);
            self.fault(FaultKind::Divergence, at, message);
            return None;
        }
        for (register, word) in d.iter_mut().enumerate() {
            if product.accumulate {
                let (row, column) = factors::place_of_d(register, thread);
                sums.values[row * columns + column] = *word;
            }
            *word = mark(product.elements, id, register);
        }
        Some(id)
    }

    /// Registers that a product uses were written before a fence.
    fn check_registers(&mut self, product: Product, fresh: bool, at: &'static Location<'static>) {
        let uses = fresh || matches!(product.a, Left::Registers(_));
        if uses && !self.thread().products.fenced {
            let message = "wgmma on registers that no wgmma.fence orders before it".into();
            self.fault(FaultKind::AsynchronousProduct, at, message);
        }
    }

    /// Computes a product that all threads have issued.
    fn execute(&mut self, group: usize, number: usize) {
        let Operation { product, accumulator, at, ref mut registers, .. } = self.warpgroups[group].operations[number];
        let registers = std::mem::take(registers);
        let Some(mut sums) = self.warpgroups[group].sums.remove(&accumulator) else { return };
        let engine = self.engine(Work::Products(group));
        let first = group * THREADS;
        let issuers = [first, first + 32, first + 64, first + 96];
        let clock = self.clocks.start(engine, &issuers);
        self.warpgroups[group].operations[number].clock = Some(clock);
        let mut sides = [vec![[0; ROW]; 64], vec![[0; ROW]; sums.columns]];
        let [a, b] = &mut sides;
        let mut sound = true;
        match product.a {
            Left::Shared(descriptor) => {
                sound = self.read_factor(
                    (engine, clock),
                    &issuers,
                    descriptor,
                    product.transposed[0],
                    a,
                    "the factor A",
                    at,
                );
            }
            Left::Registers(_) => {
                for (thread, registers) in registers.iter().enumerate() {
                    for (register, word) in registers.iter().enumerate() {
                        let (row, byte) = factors::place_of_a(register, thread);
                        a[row][byte..byte + 4].copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
        }
        if sound {
            self.read_factor((engine, clock), &issuers, product.b, product.transposed[1], b, "the factor B", at);
        }
        if !product.accumulate {
            sums.values.fill(0);
        }
        factors::multiply(product.elements, a, b, &mut sums.values);
        self.warpgroups[group].sums.insert(accumulator, sums);
    }

    /// Reads a factor from shared memory; whether nothing was wrong with it.
    #[allow(clippy::too_many_arguments)] // It has that many properties.
    fn read_factor(
        &mut self,
        engine: (usize, u32),
        issuers: &[usize],
        descriptor: Descriptor,
        transposed: bool,
        factor: &mut [[u8; ROW]],
        what: &str,
        at: &'static Location<'static>,
    ) -> bool {
        if descriptor.fields().base != 0 {
            let message = format!("{what}: a descriptor with a base offset, which is not modelled");
            self.fault(FaultKind::Operand, at, message);
            return false;
        }
        let mut sound = true;
        for chunk in factors::chunks(descriptor, factor.len(), transposed) {
            let address = u64::from(chunk.address);
            let Some((index, offset)) = self.place(Space::Shared, address, 16, what, at) else { return false };
            if sound {
                let stretch = Stretch { space: Space::Shared, index, offset, address, bytes: 16 };
                sound = self.engine_reads(engine, issuers, stretch, what, at);
            }
            factors::put(factor, &chunk, transposed, &self.shared.bytes[offset..offset + 16]);
        }
        sound
    }

    fn commit_products(&mut self, at: &'static Location<'static>) {
        let (group, thread) = self.warpgroup();
        let current = self.current;
        let products = &mut self.thread().products;
        let (number, issued) = (products.committed as usize, products.issued);
        products.groups.push_back(issued);
        products.committed += 1;
        self.thread().at = at;
        if self.warpgroups.len() <= group {
            self.warpgroups.resize_with(group + 1, Warpgroup::default);
        }
        let commits = &mut self.warpgroups[group].commits[thread / 32];
        if commits.len() == number {
            commits.push((Past::default(), 0));
            // Nobody waits for one so old.
            if let Some((past, _)) = number.checked_sub(MOST_KEPT as usize).and_then(|old| commits.get_mut(old)) {
                *past = Past::default();
            }
        }
        let (past, lanes) = &mut commits[number];
        self.clocks.release(current, past);
        *lanes += 1;
        if *lanes == 32 {
            self.wake_warpgroup(group);
        }
        self.progress += 1;
    }

    /// Whether the running thread has waited for its groups but the newest `pending`; else it is set to wait for the
    /// others of its warpgroup.
    fn wait_for_products(&mut self, pending: u32, at: &'static Location<'static>) -> bool {
        let (group, thread) = self.warpgroup();
        let current = self.current;
        let products = &mut self.thread().products;
        let gone = products.groups.len().saturating_sub(pending as usize);
        let Some(end) = gone.checked_sub(1).map(|last| products.groups[last]) else { return true };
        let committed = products.committed as usize - products.groups.len() + gone;
        let begun = (products.waited.min(end)) as usize..end as usize;
        let Warpgroup { operations, commits, .. } = &self.warpgroups[group];
        let ready = operations[begun].iter().all(|operation| operation.clock.is_some());
        let (past, lanes) = &commits[thread / 32][committed - 1];
        if !ready || *lanes < 32 {
            let thread = self.thread();
            (thread.state, thread.at, thread.name) = (State::Products, at, "wgmma.wait_group");
            return false;
        }
        let past = past.clone();
        self.clocks.acquire(current, &past);
        let clock = (end as usize).checked_sub(1).and_then(|last| self.warpgroups[group].operations[last].clock);
        if let Some(clock) = clock {
            let engine = self.engine(Work::Products(group));
            self.clocks.wait(current, engine, clock);
        }
        let products = &mut self.thread().products;
        products.waited = products.waited.max(end);
        products.groups.drain(..gone);
        true
    }

    fn wake_warpgroup(&mut self, group: usize) {
        for thread in group * THREADS..(group + 1) * THREADS {
            if self.threads[thread].state == State::Products {
                self.wake(thread);
            }
        }
    }

    fn hold(&mut self, d: &mut [u32], at: &'static Location<'static>) {
        let (group, thread) = self.warpgroup();
        let current = self.current;
        let Some(Warpgroup { sums, .. }) = self.warpgroups.get_mut(group) else { return };
        let Some((id, _)) = d.first().and_then(|&word| marked(word)) else { return };
        let Some(sums) = sums.get_mut(&id) else { return };
        if d.iter().enumerate().any(|(register, &word)| word != mark(sums.elements, id, register)) {
            return;
        }
        let products = &mut self.threads[current].products;
        if sums.last[thread] > products.waited {
            let message = format!("registers of the product at {} are used before it has been waited for", sums.at);
            return self.fault(FaultKind::AsynchronousProduct, at, message);
        }
        for (register, word) in d.iter_mut().enumerate() {
            let (row, column) = factors::place_of_d(register, thread);
            *word = sums.values[row * sums.columns + column];
        }
        if !std::mem::replace(&mut sums.held[thread], true) {
            products.marked -= 1;
        }
        products.fenced = false;
    }

    /// Reports a store of a register that holds a mark.
    pub(crate) fn check_marks(&mut self, bytes: &[u8], at: &'static Location<'static>) {
        let (group, thread) = self.warpgroup();
        let Some(Warpgroup { sums, .. }) = self.warpgroups.get(group) else { return };
        for word in bytes.chunks_exact(4) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            let Some((id, register)) = marked(word) else { continue };
            let Some(sums) = sums.get(&id).filter(|sums| !sums.held[thread] && register < sums.columns / 2) else {
                continue;
            };
            let waited = sums.last[thread] <= self.threads[self.current].products.waited;
            let what = if waited {
                "was not held (`Accumulator::hold`) after the wait for it"
            } else {
                "has not been waited for"
            };
            let message = format!("store of register {register} of the product at {}, which {what}", sums.at);
            return self.fault(FaultKind::AsynchronousProduct, at, message);
        }
    }

    /// After a thread has returned: products that it never waited for.
    pub(crate) fn leave_products(&mut self, thread: usize) {
        let Products { issued, waited, .. } = self.threads[thread].products;
        if issued > waited {
            let operation = &self.warpgroups[thread / THREADS].operations[waited as usize];
            let message = format!("{} products never waited for, the first of them here", issued - waited);
            self.fault_of(thread, FaultKind::AsynchronousProduct, operation.at, message);
        }
    }

    /// Reports products that not all threads of their warpgroup issue: when nothing more can run, and at the end.
    pub(crate) fn end_products(&mut self) {
        for group in 0..self.warpgroups.len() {
            let all = group * THREADS..(group + 1) * THREADS;
            let late =
                self.warpgroups[group].operations.iter().enumerate().find(|(_, operation)| operation.clock.is_none());
            if let Some((number, &Operation { issued, at, .. })) = late {
                let missing = all.clone().find(|&thread| self.threads[thread].products.issued <= number as u64);
                let Some(missing) = missing else { continue };
                let came = all.clone().find(|&thread| self.threads[thread].products.issued > number as u64);
                let (index, activity) = (self.threads[missing].index, self.activity(missing));
                let message = format!(
                    "{issued} threads of the warpgroup issue the product; not so thread {index:?}, which {activity}"
                );
                self.fault_of(came.unwrap_or(missing), FaultKind::Divergence, at, message);
            } else if let Some(waiting) = all.clone().find(|&thread| self.threads[thread].state == State::Products) {
                let (at, missing) =
                    (self.threads[waiting].at, all.clone().find(|&t| self.threads[t].products.groups.is_empty()));
                let missing = missing.unwrap_or(waiting);
                let (index, activity) = (self.threads[missing].index, self.activity(missing));
                let message = format!(
                    "wgmma.wait_group waits for a group that not all lanes commit: thread {index:?} {activity}"
                );
                self.fault_of(waiting, FaultKind::Divergence, at, message);
            }
        }
    }
}
