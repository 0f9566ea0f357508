//! The shadow of memory: who last wrote each word, and who has read it since.
//!
//! One cell a word of 4 bytes. A word that is accessed in parts splits into a cell a byte, so overlap is exact to the byte. A write
//! replaces what the cell knew (anything that races with an earlier access and not with the write, races with the write as well, or has
//! been reported); reads and atomics collect until then. Reads by one warp at one place in the source share a record, so a word that all
//! threads read stays cheap.

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
    cells: Vec<Cell>,
    lists: Vec<Vec<Record>>,
    lists_used: usize,
    splits: Vec<[Cell; 4]>,
}

/// `count` cells of zeros, which the operating system gives page by page when they are touched.
fn zeroed(count: usize) -> Vec<Cell> {
    if count == 0 {
        return Vec::new();
    }
    let Ok(layout) = std::alloc::Layout::array::<Cell>(count) else { return vec![Cell::default(); count] };
    // SAFETY: the layout is that of `count` cells and not of size zero; all zero is a valid cell, as every field is a number.
    unsafe {
        let cells = std::alloc::alloc_zeroed(layout).cast::<Cell>();
        if cells.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Vec::from_raw_parts(cells, count, count)
    }
}

impl Shadow {
    /// Forgets everything, and covers `bytes` bytes from now on.
    pub(crate) fn reset(&mut self, bytes: usize) {
        let count = bytes.div_ceil(4);
        if self.cells.len() == count && count < 1 << 16 {
            self.cells.fill(Cell::default());
        } else {
            self.cells = zeroed(count);
        }
        self.lists_used = 0;
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
        let mut conflict = None;
        if bytes < 4 {
            return self.access_bytes(at, bytes, how, stamp, clocks);
        }
        for word in at / 4..(at + bytes) / 4 {
            let cell = &mut self.cells[word];
            let simple = cell.flags == 0 && cell.read.thread != MANY && how != Use::Atomic;
            if !simple || !access_simply(cell, how, stamp, clocks) {
                conflict = conflict.or(self.access_word(word, how, stamp, clocks));
            }
        }
        conflict
    }

    /// As [`Shadow::access`] for a whole word of any state.
    fn access_word(&mut self, word: usize, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let cell = self.cells[word];
        if let Some(conflict) = special(&cell) {
            return Some(conflict);
        }
        if cell.flags & SPLIT == 0 {
            return access_cell(&mut self.cells[word], &mut self.lists, &mut self.lists_used, how, stamp, clocks);
        }
        let split = &mut self.splits[cell.list as usize - 1];
        let mut conflict = None;
        for byte in split.iter_mut() {
            let found = access_cell(byte, &mut self.lists, &mut self.lists_used, how, stamp, clocks);
            conflict = conflict.or(found);
        }
        conflict
    }

    /// As [`Shadow::access`] for part of a word.
    fn access_bytes(&mut self, at: usize, bytes: usize, how: Use, stamp: Stamp, clocks: &Clocks) -> Option<Conflict> {
        let cell = &mut self.cells[at / 4];
        if let Some(conflict) = special(cell) {
            return Some(conflict);
        }
        if cell.flags & SPLIT == 0 {
            let mut parts = [*cell; 4];
            if cell.list != 0 {
                // Each byte gets a list of its own.
                let records = self.lists[cell.list as usize - 1].clone();
                for part in &mut parts[1..] {
                    part.list = 0;
                    *new_list(part, &mut self.lists, &mut self.lists_used) = records.clone();
                }
            }
            self.splits.push(parts);
            cell.flags |= SPLIT;
            cell.list = self.splits.len() as u32;
        }
        let split = &mut self.splits[cell.list as usize - 1];
        let mut conflict = None;
        for byte in &mut split[at % 4..at % 4 + bytes] {
            let found = access_cell(byte, &mut self.lists, &mut self.lists_used, how, stamp, clocks);
            conflict = conflict.or(found);
        }
        conflict
    }

    /// Marks words as the destination of a thread's asynchronous copy.
    pub(crate) fn fly(&mut self, at: usize, bytes: usize, thread: usize) {
        for cell in &mut self.cells[at / 4..(at + bytes) / 4] {
            cell.flags = cell.flags & ((1 << IN_FLIGHT) - 1) | (thread as u32 + 1) << IN_FLIGHT;
        }
    }

    /// Ends [`Shadow::fly`]: the words have been written now.
    pub(crate) fn land(&mut self, at: usize, bytes: usize, stamp: Stamp) {
        for cell in &mut self.cells[at / 4..(at + bytes) / 4] {
            let parts = if cell.flags & SPLIT == 0 { &mut [][..] } else { &mut self.splits[cell.list as usize - 1] };
            cell.flags &= SPLIT;
            for cell in parts.iter_mut().chain([cell]) {
                (cell.write, cell.read) = (stamp, Stamp::default());
            }
        }
    }

    /// Marks or unmarks an mbarrier.
    pub(crate) fn mark_mbarrier(&mut self, at: usize, live: bool) {
        for cell in &mut self.cells[at / 4..at / 4 + 2] {
            cell.flags = if live { cell.flags | MBARRIER } else { cell.flags & !MBARRIER };
        }
    }
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
fn access_cell(
    cell: &mut Cell,
    lists: &mut Vec<Vec<Record>>,
    used: &mut usize,
    how: Use,
    stamp: Stamp,
    clocks: &Clocks,
) -> Option<Conflict> {
    let me = usize::from(stamp.thread);
    let is_before = |other: Stamp| clocks.is_before(me, other.clock, other.thread.into());
    let mut conflict = (!is_before(cell.write)).then_some(Conflict::Race(cell.write, Use::Store));
    let many = cell.read.thread == MANY;
    if many {
        let records = &lists[cell.list as usize - 1];
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
        let records = if cell.list == 0 { new_list(cell, lists, used) } else { &mut lists[cell.list as usize - 1] };
        records.clear();
        if before.clock != 0 {
            records.push(record(before, false));
        }
    }
    if atomic {
        cell.flags |= ATOMIC;
    }
    cell.read = Stamp { thread: MANY, ..stamp };
    add(&mut lists[cell.list as usize - 1], record(stamp, atomic), me, clocks);
    conflict
}

/// Gives a cell an empty list.
fn new_list<'a>(cell: &mut Cell, lists: &'a mut Vec<Vec<Record>>, used: &mut usize) -> &'a mut Vec<Record> {
    if *used == lists.len() {
        lists.push(Vec::new());
    }
    *used += 1;
    cell.list = *used as u32;
    let list = &mut lists[*used - 1];
    list.clear();
    list
}

fn record(stamp: Stamp, atomic: bool) -> Record {
    let Stamp { clock, thread, site } = stamp;
    Record { clock, lanes: 1 << (thread % 32), warp: thread / 32, site, atomic }
}

/// Adds a record; those of its kind that happened before it need no longer be kept.
#[inline]
fn add(records: &mut Vec<Record>, new: Record, me: usize, clocks: &Clocks) {
    let key = |record: &Record| (record.clock, record.warp, record.site, record.atomic);
    if let Some(last) = records.last_mut() {
        if key(last) == key(&new) {
            last.lanes |= new.lanes;
            return;
        }
    }
    if let Some(same) = records.iter_mut().find(|record| key(record) == key(&new)) {
        same.lanes |= new.lanes;
        return;
    }
    let is_foreign = |record: &Record| record.clock < clocks.base();
    records.retain(|record| record.atomic != new.atomic || unordered(record, me, clocks).is_some());
    while records.iter().filter(|record| is_foreign(record)).count() > FOREIGN_RECORDS {
        let second = records.iter().enumerate().filter(|(_, record)| is_foreign(record)).nth(1);
        let Some((second, _)) = second else { break };
        records.remove(second);
    }
    records.push(new);
}

/// A thread of the record whose access did not happen before what `me` does now.
fn unordered(record: &Record, me: usize, clocks: &Clocks) -> Option<Stamp> {
    let Record { clock, lanes, warp, site, .. } = *record;
    let threads = (0..32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| warp * 32 + lane);
    let mut threads = threads.filter(|&thread| !clocks.is_before(me, clock, thread.into()));
    threads.next().map(|thread| Stamp { clock, thread, site })
}
