//! The shadow of memory: who last wrote each word, and who has read it since.
//!
//! One cell a word of 4 bytes. A word that is accessed in parts splits into a cell a byte, so overlap is exact to the
//! byte; and as long as the four words of 16 bytes are accessed together, one cell stands for them. A write replaces
//! what the cell knew (anything that races with an earlier access and not with the write, races with the write as well,
//! or has been reported); reads and atomics collect until then. Reads by one warp at one place in the source share a
//! record, so a word that all threads read stays cheap.

use std::ops::Range;

use crate::order::Clocks;

/// A thread, the time of its access, and the place in the source. Clock 0: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    pub(crate) clock: u32,
    pub(crate) thread: u16,
    pub(crate) site: u16,
}

/// Accesses by lanes of one warp at one time and place.
#[derive(Debug, Clone, Copy)]
struct Record {
    clock: u32,
    lanes: u32,
    warp: u16,
    site: u16,
    atomic: bool,
}

/// In [`Cell::read`], instead of a thread: the readers are in a list.
const MANY: u16 = u16::MAX;
/// Records of other blocks that a list keeps: the oldest and the newest.
const FOREIGN_RECORDS: usize = 2;

const SPLIT: u32 = 1;
const ATOMIC: u32 = 2;
const MBARRIER: u32 = 4;
/// Of a cell for 16 bytes: its words have cells of their own.
const APART: u32 = 8;
const IN_FLIGHT: u32 = 16;

/// What is known of a word, or of a byte of a split word. All zero: nothing.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Cell {
    write: Stamp,
    /// The reader, or the newest clock of several ([`MANY`]).
    read: Stamp,
    /// One more than the index of the cell's list, or of its bytes' cells if it is split.
    list: u32,
    /// Flags; from bit [`IN_FLIGHT`] on one more than the thread whose asynchronous copy is under way.
    flags: u32,
}

/// How an access uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Load,
    Store,
    Atomic,
}

/// Why an access is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Nothing orders it with an earlier access.
    Race(Stamp, Use),
    /// A thread's asynchronous copy to there is under way.
    InFlight(usize),
    /// A live mbarrier is there.
    Mbarrier,
}

/// The shadow of a stretch of memory.
#[derive(Debug, Default, Clone)]
pub(crate) struct Shadow {
    /// By 16 bytes: what is known of all of them, or [`APART`].
    wide: Vec<Cell>,
    /// By word; of use where the wide cell is [`APART`].
    words: Vec<Cell>,
    lists: Lists,
    /// The cells of the bytes of split words.
    splits: Vec<[Cell; 4]>,
}

/// Lists of readers, reused after each reset.
#[derive(Debug, Default, Clone)]
struct Lists {
    lists: Vec<Vec<Record>>,
    used: usize,
}

/// `count` cells of zeros, which the operating system gives page by page when they are touched.
fn zeroed(count: usize) -> Vec<Cell> {
    if count == 0 {
        return Vec::new();
    }
    let Ok(layout) = std::alloc::Layout::array::<Cell>(count) else { return vec![Cell::default(); count] };
    // SAFETY: the layout is that of `count` cells and not of size zero; all zero is a valid cell, as every field is a
    // number.
    unsafe {
        let cells = std::alloc::alloc_zeroed(layout).cast::<Cell>();
        if cells.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Vec::from_raw_parts(cells, count, count)
    }
}

impl Lists {
    /// The list of a cell, which gets one if it has none.
    fn of(&mut self, cell: &mut Cell) -> &mut Vec<Record> {
        if cell.list == 0 {
            if self.used == self.lists.len() {
                self.lists.push(Vec::new());
            }
            self.used += 1;
            cell.list = self.used as u32;
            self.lists[self.used - 1].clear();
        }
        &mut self.lists[cell.list as usize - 1]
    }

    /// Makes `to`, which keeps its own list, know what `from` knows.
    fn copy(&mut self, from: &Cell, to: &mut Cell) {
        (to.write, to.read, to.flags) = (from.write, from.read, from.flags & !APART);
        if from.read.thread == MANY {
            let records = self.lists[from.list as usize - 1].clone();
            self.of(to).clone_from(&records);
        }
    }
}

impl Shadow {
    /// Forgets everything, and covers `bytes` bytes from now on.
    pub(crate) fn reset(&mut self, bytes: usize) {
        for (cells, count) in [(&mut self.wide, bytes.div_ceil(16)), (&mut self.words, bytes.div_ceil(16) * 4)] {
            if cells.len() == count && count < 1 << 16 {
                cells.fill(Cell::default());
            } else {
                *cells = zeroed(count);
            }
        }
        self.lists.used = 0;
        self.splits.clear();
    }

    /// Records an access by `stamp.thread`, the running thread; the first conflict with what is known.
    #[inline]
    pub(crate) fn access(
        &mut self,
        at: usize,
        bytes: usize,
        how: Use,
        stamp: Stamp,
        clocks: &Clocks,
    ) -> Option<Conflict> {
        if bytes == 16 {
            let cell = &mut self.wide[at / 16];
            if is_simple(cell, how) && access_simply(cell, how, stamp, clocks) {
                return None;
            }
            return self.access_wide(at / 16, how, stamp, clocks);
        }
        if self.wide[at / 16].flags & APART == 0 {
            self.part(at / 16);
        }
        if bytes < 4 {
            return self.access_bytes(at, bytes, how, stamp, clocks);
        }
        self.access_words(at / 4..(at + bytes) / 4, how, stamp, clocks)
    }

    #[inline]
    fn access_words(&mut self, words: Range<usize>, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let mut conflict = None;
        for word in words {
            let cell = &mut self.words[word];
            if !is_simple(cell, how) || !access_simply(cell, how, stamp, clocks) {
                conflict = conflict.or(self.access_word(word, how, stamp, clocks));
            }
        }
        conflict
    }

    /// As [`Shadow::access`] for 16 bytes of any state.
    fn access_wide(&mut self, index: usize, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let cell = &mut self.wide[index];
        if cell.flags & APART == 0 {
            return special(cell).or_else(|| access_cell(cell, &mut self.lists, how, stamp, clocks));
        }
        let conflict = self.access_words(index * 4..index * 4 + 4, how, stamp, clocks);
        let marked = self.words[index * 4..index * 4 + 4].iter().any(|word| special(word).is_some());
        if how == Use::Store && !marked {
            let cell = &mut self.wide[index];
            (cell.write, cell.read, cell.flags) = (stamp, Stamp::default(), 0);
        }
        conflict
    }

    /// Gives the words of 16 bytes cells of their own.
    #[cold]
    fn part(&mut self, index: usize) {
        let wide = self.wide[index];
        self.wide[index].flags = APART;
        for word in &mut self.words[index * 4..index * 4 + 4] {
            if word.flags & SPLIT == 0 {
                self.lists.copy(&wide, word);
                continue;
            }
            for byte in &mut self.splits[word.list as usize - 1] {
                self.lists.copy(&wide, byte);
            }
            word.flags = SPLIT | wide.flags & !(APART | ATOMIC);
        }
    }

    /// As [`Shadow::access`] for a whole word of any state.
    fn access_word(&mut self, word: usize, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let cell = &mut self.words[word];
        if let Some(conflict) = special(cell) {
            return Some(conflict);
        }
        if cell.flags & SPLIT == 0 {
            return access_cell(cell, &mut self.lists, how, stamp, clocks);
        }
        let split = &mut self.splits[cell.list as usize - 1];
        split
            .iter_mut()
            .fold(None, |conflict, byte| conflict.or(access_cell(byte, &mut self.lists, how, stamp, clocks)))
    }

    /// As [`Shadow::access`] for part of a word.
    fn access_bytes(&mut self, at: usize, bytes: usize, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let cell = &mut self.words[at / 4];
        if let Some(conflict) = special(cell) {
            return Some(conflict);
        }
        if cell.flags & SPLIT == 0 {
            let mut parts = [Cell::default(); 4];
            parts.iter_mut().for_each(|part| self.lists.copy(cell, part));
            self.splits.push(parts);
            cell.flags = SPLIT;
            cell.list = self.splits.len() as u32;
        }
        let split = &mut self.splits[cell.list as usize - 1];
        let bytes = &mut split[at % 4..at % 4 + bytes];
        bytes
            .iter_mut()
            .fold(None, |conflict, byte| conflict.or(access_cell(byte, &mut self.lists, how, stamp, clocks)))
    }

    /// The cells for these bytes: one wide one, or those of their words.
    fn cells(&mut self, at: usize, bytes: usize) -> &mut [Cell] {
        if bytes == 16 && self.wide[at / 16].flags & APART == 0 {
            return &mut self.wide[at / 16..=at / 16];
        }
        if self.wide[at / 16].flags & APART == 0 {
            self.part(at / 16);
        }
        &mut self.words[at / 4..(at + bytes) / 4]
    }

    /// The newest writes to the 16 bytes at `at`, one or more times each.
    pub(crate) fn writes(&self, at: usize, mut each: impl FnMut(Stamp)) {
        let wide = &self.wide[at / 16];
        if wide.flags & APART == 0 {
            return each(wide.write);
        }
        for word in &self.words[at / 16 * 4..at / 16 * 4 + 4] {
            if word.flags & SPLIT == 0 {
                each(word.write);
            } else {
                self.splits[word.list as usize - 1].iter().for_each(|byte| each(byte.write));
            }
        }
    }

    /// Marks bytes as the destination of a thread's asynchronous copy.
    pub(crate) fn fly(&mut self, at: usize, bytes: usize, thread: usize) {
        for cell in self.cells(at, bytes) {
            cell.flags = cell.flags & ((1 << IN_FLIGHT) - 1) | (thread as u32 + 1) << IN_FLIGHT;
        }
    }

    /// Ends [`Shadow::fly`]: the bytes have been written now.
    pub(crate) fn land(&mut self, at: usize, bytes: usize, stamp: Stamp) {
        let mut splits = Vec::new();
        for cell in self.cells(at, bytes) {
            cell.flags &= SPLIT;
            (cell.write, cell.read) = (stamp, Stamp::default());
            if cell.flags & SPLIT != 0 {
                splits.push(cell.list as usize - 1);
            }
        }
        for split in splits {
            for byte in &mut self.splits[split] {
                (byte.write, byte.read, byte.flags) = (stamp, Stamp::default(), 0);
            }
        }
    }

    /// Marks or unmarks an mbarrier.
    pub(crate) fn mark_mbarrier(&mut self, at: usize, live: bool) {
        for cell in self.cells(at, 8) {
            cell.flags = if live { cell.flags | MBARRIER } else { cell.flags & !MBARRIER };
        }
    }
}

/// Whether [`access_simply`] may be tried.
#[inline]
fn is_simple(cell: &Cell, how: Use) -> bool {
    cell.flags == 0 && cell.read.thread != MANY && how != Use::Atomic
}

/// What makes any access to a cell a fault.
#[inline]
fn special(cell: &Cell) -> Option<Conflict> {
    if cell.flags >> IN_FLIGHT != 0 {
        Some(Conflict::InFlight((cell.flags >> IN_FLIGHT) as usize - 1))
    } else if cell.flags & MBARRIER != 0 {
        Some(Conflict::Mbarrier)
    } else {
        None
    }
}

/// A load or store on a cell without flags and with at most one reader, if all before is ordered; whether that is so.
#[inline]
fn access_simply(cell: &mut Cell, how: Use, stamp: Stamp, clocks: &Clocks) -> bool {
    let is_before = |other: Stamp| clocks.is_before(stamp.thread.into(), other.clock, other.thread.into());
    let ordered = is_before(cell.write) && is_before(cell.read);
    if ordered && how == Use::Load {
        cell.read = stamp;
    } else if ordered {
        (cell.write, cell.read) = (stamp, Stamp::default());
    }
    ordered
}

/// Any access on a cell that is not split.
fn access_cell(cell: &mut Cell, lists: &mut Lists, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
    let me = usize::from(stamp.thread);
    let is_before = |other: Stamp| clocks.is_before(me, other.clock, other.thread.into());
    let mut conflict = (!is_before(cell.write)).then_some(Conflict::Race(cell.write, Use::Store));
    let many = cell.read.thread == MANY;
    if many {
        let records = &lists.lists[cell.list as usize - 1];
        if how != Use::Load || cell.flags & ATOMIC != 0 {
            let first = records.iter().find_map(|record| {
                let matters = match how {
                    Use::Load => record.atomic,
                    Use::Store => true,
                    Use::Atomic => !record.atomic,
                };
                let other = matters.then(|| unordered(record, me, clocks))??;
                Some(Conflict::Race(other, if record.atomic { Use::Atomic } else { Use::Load }))
            });
            conflict = conflict.or(first);
        }
    } else if how != Use::Load && !is_before(cell.read) {
        conflict = conflict.or(Some(Conflict::Race(cell.read, Use::Load)));
    }
    if how == Use::Store {
        (cell.write, cell.read) = (stamp, Stamp::default());
        cell.flags &= !ATOMIC;
        return conflict;
    }
    let atomic = how == Use::Atomic;
    if !atomic && !many && is_before(cell.read) {
        cell.read = stamp;
        return conflict;
    }
    if !many {
        let before = cell.read;
        let records = lists.of(cell);
        records.clear();
        if before.clock != 0 {
            records.push(record(before, false));
        }
    }
    if atomic {
        cell.flags |= ATOMIC;
    }
    cell.read = Stamp { thread: MANY, ..stamp };
    add(lists.of(cell), record(stamp, atomic), me, clocks);
    conflict
}

fn record(stamp: Stamp, atomic: bool) -> Record {
    let Stamp { clock, thread, site } = stamp;
    Record { clock, lanes: 1 << (thread % 32), warp: thread / 32, site, atomic }
}

/// Adds a record; those of its kind that happened before it need no longer be kept.
#[inline]
fn add(records: &mut Vec<Record>, new: Record, me: usize, clocks: &Clocks) {
    let key = |record: &Record| (record.clock, record.warp, record.site, record.atomic);
    if let Some(last) = records.last_mut()
        && key(last) == key(&new)
    {
        last.lanes |= new.lanes;
        return;
    }
    if let Some(same) = records.iter_mut().find(|record| key(record) == key(&new)) {
        same.lanes |= new.lanes;
        return;
    }
    records.retain(|record| record.atomic != new.atomic || unordered(record, me, clocks).is_some());
    // Records are in the order of time, so those of other blocks come first.
    while records.get(FOREIGN_RECORDS).is_some_and(|record| record.clock < clocks.base()) {
        records.remove(1);
    }
    records.push(new);
}

/// A thread of the record whose access did not happen before what `me` does now.
#[inline]
fn unordered(record: &Record, me: usize, clocks: &Clocks) -> Option<Stamp> {
    let Record { clock, lanes, warp, site, .. } = *record;
    if clocks.is_before_all(clock) {
        return None;
    }
    let threads = (0..32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| warp * 32 + lane);
    let mut threads = threads.filter(|&thread| !clocks.is_before(me, clock, thread.into()));
    threads.next().map(|thread| Stamp { clock, thread, site })
}
