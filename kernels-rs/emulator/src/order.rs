//! What happened before what: vector clocks.
//!
//! Each thread has a clock, which grows when the thread tells others of its past: when it arrives at a barrier or
//! executes a fence. A memory access carries the thread and its clock. An access `(clock, thread)` happened before what
//! another thread does now if that thread has learned of `thread`'s past up to `clock` or later.
//!
//! Clocks never repeat within a launch: a block's begin above all of the blocks that ran before it (`base`), so the
//! clock alone tells the block. Barriers that all threads of a block take part in are most of the order there is, and
//! need one number: everything up to clock `floor` happened before what any thread of the block does now. Finer order
//! (barriers of some threads, warps, mbarriers, atomics) takes a vector of clocks by thread, shared between the threads
//! that learned the same; what a block learns of other blocks is a map by their `base`.
//!
//! What is done asynchronously (bulk copies, products of warpgroups) is done by *engines*: participants like threads,
//! with numbers above theirs. An engine's access is recorded with the engine's clock; a thread that waits for it learns
//! of the engine's past. So whatever uses memory of an operation that it has not waited for is unordered with the
//! engine's access.

use std::collections::BTreeMap;
use std::rc::Rc;

/// By thread: the newest clock that is known of it.
type Vector = Rc<[u32]>;

/// What is known of another block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Foreign {
    floor: u32,
    vector: Option<Vector>,
}

/// What is known of other blocks, by the clocks that they began with.
type Foreigners = Rc<BTreeMap<u32, Foreign>>;

/// Part of the past: of the own block beyond its `floor`, and of other blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    vector: Option<Vector>,
    foreigners: Option<Foreigners>,
}

/// A thread's clock and what it knows.
#[derive(Debug, Clone)]
struct ThreadClock {
    now: u32,
    past: Past,
    /// What it tells through its atomics: its past at its last fence.
    told: Option<Foreigners>,
    /// What it has read through its atomics: becomes its past at its next fence.
    heard: Option<Foreigners>,
}

/// The clocks of the running block.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    base: u32,
    floor: u32,
    /// Those of threads, then those of engines.
    threads: Vec<ThreadClock>,
    /// Number of threads.
    count: usize,
    /// By engine.
    engines: Vec<Engine>,
}

/// How far an engine has come.
#[derive(Debug, Default)]
struct Engine {
    /// Clock of its newest access.
    used: u32,
    /// The newest clock that some thread has waited for.
    waited: u32,
}

/// Whether `a` has all that `b` has.
fn covers(a: &[u32], b: &[u32]) -> bool {
    a.len() >= b.len() && a.iter().zip(b).all(|(a, b)| a >= b)
}

fn merge_vectors(to: &mut Option<Vector>, from: Option<&Vector>) {
    match (&*to, from) {
        (_, None) => {}
        (None, Some(from)) => *to = Some(from.clone()),
        // Most often one knows all that the other does, and vectors that are the same are soon found to be.
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) || covers(a, b) => {}
        (Some(a), Some(b)) if covers(b, a) => *to = Some(b.clone()),
        (Some(a), Some(b)) => {
            // Engines come as they are needed, so that one may be longer.
            let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
            let rest = std::iter::repeat(&0);
            *to = Some(long.iter().zip(short.iter().chain(rest)).map(|(a, b)| *a.max(b)).collect());
        }
    }
}

fn merge_foreigners(to: &mut Option<Foreigners>, from: Option<&Foreigners>) {
    match (&*to, from) {
        (_, None) => {}
        (None, Some(from)) => *to = Some(from.clone()),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => {}
        (Some(a), Some(b)) => {
            let mut all = (**a).clone();
            for (base, block) in b.iter() {
                all.entry(*base)
                    .and_modify(|known| {
                        known.floor = known.floor.max(block.floor);
                        merge_vectors(&mut known.vector, block.vector.as_ref());
                    })
                    .or_insert_with(|| block.clone());
            }
            *to = Some(Rc::new(all));
        }
    }
}

impl Past {
    fn merge(&mut self, other: &Self) {
        merge_vectors(&mut self.vector, other.vector.as_ref());
        merge_foreigners(&mut self.foreigners, other.foreigners.as_ref());
    }

    /// Adds that a thread's past up to `clock` is known.
    fn learn(&mut self, thread: usize, clock: u32, threads: usize) {
        let vector = self.vector.get_or_insert_with(|| vec![0; threads].into());
        if vector.len() <= thread {
            *vector = vector.iter().copied().chain(std::iter::repeat(0)).take(threads).collect();
        } else if Rc::get_mut(vector).is_none() {
            *vector = vector.iter().copied().collect();
        }
        if let Some(vector) = Rc::get_mut(vector) {
            vector[thread] = vector[thread].max(clock);
        }
    }
}

/// What atomics on one word pass on.
#[derive(Debug, Default)]
pub(crate) struct Passed(Option<Foreigners>);

impl Clocks {
    /// Starts a block of `threads` threads.
    pub(crate) fn begin(&mut self, threads: usize) {
        let newest = self.threads.iter().map(|thread| thread.now).max().unwrap_or(self.floor);
        self.floor = newest;
        self.base = newest + 1;
        self.threads.clear();
        let clock = ThreadClock { now: self.base, past: Past::default(), told: None, heard: None };
        self.threads.resize(threads, clock);
        self.count = threads;
        self.engines.clear();
    }

    /// A new engine.
    pub(crate) fn engine(&mut self) -> usize {
        let now = self.base.max(self.floor + 1);
        self.threads.push(ThreadClock { now, past: Past::default(), told: None, heard: None });
        self.engines.push(Engine::default());
        self.threads.len() - 1
    }

    /// Whether this is the number of an engine.
    #[inline]
    pub(crate) fn is_engine(&self, thread: usize) -> bool {
        thread >= self.count
    }

    /// An engine starts an operation for `issuers`: before it happened what all of them know. Returns the operation's
    /// clock.
    pub(crate) fn start(&mut self, engine: usize, issuers: &[usize]) -> u32 {
        let threads = self.threads.len();
        let mut past = Past::default();
        if let &[issuer] = issuers {
            past.clone_from(&self.threads[issuer].past);
            past.learn(issuer, self.threads[issuer].now, threads);
        } else if let Some(&first) = issuers.first() {
            past.clone_from(&self.threads[first].past);
            let vector = |thread: &usize| self.threads[*thread].past.vector.as_ref();
            let same = |thread: &usize| match (vector(&first), vector(thread)) {
                (Some(a), Some(b)) => Rc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            };
            if !issuers.iter().all(same) {
                past.vector = self.known_to_all(issuers);
            }
        }
        self.engines[engine - self.count].used = self.threads[engine].now + 1;
        let clock = &mut self.threads[engine];
        clock.now += 1;
        clock.past = past;
        clock.now
    }

    /// By thread: the newest clock that each of `issuers` knows of it.
    fn known_to_all(&self, issuers: &[usize]) -> Option<Vector> {
        let mut least: Option<Vec<u32>> = None;
        for &issuer in issuers {
            let mut vector = vec![0; self.threads.len()];
            if let Some(known) = &self.threads[issuer].past.vector {
                vector[..known.len()].copy_from_slice(known);
            }
            vector[issuer] = self.threads[issuer].now;
            match &mut least {
                None => least = Some(vector),
                Some(least) => least.iter_mut().zip(&vector).for_each(|(least, known)| *least = (*least).min(*known)),
            }
        }
        least.map(Into::into)
    }

    /// Adds that an engine's operations up to `clock` are complete.
    pub(crate) fn finish(&mut self, engine: usize, clock: u32, to: &mut Past) {
        let waited = &mut self.engines[engine - self.count].waited;
        *waited = clock.max(*waited);
        to.learn(engine, clock, self.threads.len());
    }

    /// A thread has waited for an engine's operations up to `clock`.
    pub(crate) fn wait(&mut self, thread: usize, engine: usize, clock: u32) {
        let mut past = std::mem::take(&mut self.threads[thread].past);
        self.finish(engine, clock, &mut past);
        self.threads[thread].past = past;
    }

    /// Whether engines have done what no thread has waited for yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.engines.iter().any(|engine| engine.used > engine.waited)
    }

    /// A thread's clock, which goes on.
    pub(crate) fn tick(&mut self, thread: usize) -> u32 {
        let clock = &mut self.threads[thread].now;
        *clock += 1;
        *clock - 1
    }

    /// The clock that the running block began with.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// A thread's clock.
    #[inline]
    pub(crate) fn now(&self, thread: usize) -> u32 {
        self.threads[thread].now
    }

    /// Whether the access of `thread` at `clock` happened before what `me` does now. Clock 0 is no access.
    #[inline]
    pub(crate) fn is_before(&self, me: usize, clock: u32, thread: usize) -> bool {
        if clock >= self.base {
            clock <= self.floor || thread == me || self.is_known(me, clock, thread)
        } else {
            clock == 0 || self.is_known_foreign(me, clock, thread)
        }
    }

    /// Whether an access of any thread of the running block at `clock` happened before what any of them does now.
    #[inline]
    pub(crate) fn is_before_all(&self, clock: u32) -> bool {
        clock >= self.base && clock <= self.floor
    }

    fn is_known(&self, me: usize, clock: u32, thread: usize) -> bool {
        self.threads[me]
            .past
            .vector
            .as_ref()
            .is_some_and(|vector| vector.get(thread).is_some_and(|&known| known >= clock))
    }

    #[cold]
    fn is_known_foreign(&self, me: usize, clock: u32, thread: usize) -> bool {
        let Some(foreigners) = &self.threads[me].past.foreigners else { return false };
        // An entry of an earlier block than the access's knows of smaller clocks only.
        foreigners.range(..=clock).next_back().is_some_and(|(_, block)| {
            clock <= block.floor
                || block.vector.as_ref().is_some_and(|vector| vector.get(thread).is_some_and(|&known| known >= clock))
        })
    }

    /// Adds a thread's past to `to`; what the thread does from now on is not part of it.
    pub(crate) fn release(&mut self, thread: usize, to: &mut Past) {
        let threads = self.threads.len();
        let clock = &mut self.threads[thread];
        to.merge(&clock.past);
        to.learn(thread, clock.now, threads);
        clock.now += 1;
    }

    /// A thread learns a past.
    pub(crate) fn acquire(&mut self, thread: usize, past: &Past) {
        self.threads[thread].past.merge(past);
    }

    /// Some threads of the block meet: what each of `all` did before happened before what each of `waiting`, who are
    /// among them, does from now on.
    pub(crate) fn meet(&mut self, all: impl Iterator<Item = usize> + Clone, waiting: impl Iterator<Item = usize>) {
        let (mut past, threads, mut newest) = (Past::default(), self.threads.len(), 0);
        for thread in all.clone() {
            past.merge(&self.threads[thread].past);
        }
        for thread in all.clone() {
            let now = self.threads[thread].now;
            past.learn(thread, now, threads);
            newest = newest.max(now);
        }
        for thread in all {
            self.threads[thread].now = newest + 1;
        }
        for thread in waiting {
            self.threads[thread].past = past.clone();
        }
    }

    /// All threads of the block meet, when nothing [is pending](Self::is_pending).
    pub(crate) fn meet_all(&mut self) {
        let (mut foreigners, mut newest) = (None, 0);
        for thread in &self.threads {
            merge_foreigners(&mut foreigners, thread.past.foreigners.as_ref());
            newest = newest.max(thread.now);
        }
        self.floor = newest;
        for thread in &mut self.threads {
            thread.now = newest + 1;
            thread.past = Past { vector: None, foreigners: foreigners.clone() };
        }
    }

    /// A thread executes a fence: what it has read through atomics becomes its past, and its past what it tells through
    /// atomics.
    pub(crate) fn fence(&mut self, thread: usize) {
        let (threads, base, floor) = (self.threads.len(), self.base, self.floor);
        let clock = &mut self.threads[thread];
        if let Some(heard) = clock.heard.take() {
            let vector = heard.get(&base).and_then(|block| block.vector.as_ref());
            merge_vectors(&mut clock.past.vector, vector);
            merge_foreigners(&mut clock.past.foreigners, Some(&heard));
        }
        let mut past = clock.past.clone();
        past.learn(thread, clock.now, threads);
        let own = BTreeMap::from([(base, Foreign { floor, vector: past.vector })]);
        let mut told = past.foreigners;
        merge_foreigners(&mut told, Some(&Rc::new(own)));
        clock.told = told;
        clock.now += 1;
    }

    /// A thread's atomic on a word hears what those before it passed on, and, if it writes, passes on what the thread
    /// tells.
    pub(crate) fn pass(&mut self, thread: usize, word: &mut Passed, writes: bool) {
        let clock = &mut self.threads[thread];
        merge_foreigners(&mut clock.heard, word.0.as_ref());
        if writes {
            merge_foreigners(&mut word.0, clock.told.as_ref());
        }
    }
}
