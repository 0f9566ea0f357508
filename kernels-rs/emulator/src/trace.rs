//! Requests of warps to memory: which lanes access what together, and what that costs.
//!
//! The emulator runs lanes apart from each other, a warp executes a load or store once for all of its lanes. So each
//! thread lists its accesses, and when the lanes of a warp meet (a collective or a barrier of all of them, or the end)
//! the lists are put side by side: the n-th access of each lane at one place in the source since they met last is one
//! request.

use std::collections::HashMap;

use crate::machine::Machine;
use crate::memory::Space;
use crate::report::{AccessKind, LineAccesses};

/// Accesses listed at most before they are counted without waiting for lanes to meet.
const MOST_LISTED: usize = 1 << 24;

/// One access of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) address: u64,
    pub(crate) site: u16,
    pub(crate) bytes: u8,
    pub(crate) space: Space,
    pub(crate) kind: AccessKind,
}

impl Access {
    /// What the accesses of one request have in common.
    #[inline]
    fn request(&self) -> (u16, usize) {
        (self.site, self.class())
    }

    /// Number for space and kind, `KINDS.len() * space + kind`.
    #[inline]
    fn class(&self) -> usize {
        self.space as usize * KINDS.len() + self.kind as usize
    }
}

/// Requests at one place.
#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    requests: u64,
    transactions: u64,
    ideal: u64,
}

/// Accesses that are not counted yet, and the requests counted so far.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// By thread.
    lists: Vec<Vec<Access>>,
    listed: usize,
    requests: Counted,
}

/// Requests counted, by site and then by [`Access::class`].
type Counted = Vec<[Requests; 8]>;

const SPACES: [Space; 2] = [Space::Shared, Space::Global];
const KINDS: [AccessKind; 4] = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic, AccessKind::Copy];

impl Trace {
    pub(crate) fn begin(&mut self, threads: usize) {
        self.lists.resize(threads, Vec::new());
    }

    /// Lists an access of a thread.
    #[inline]
    pub(crate) fn add(&mut self, thread: usize, access: Access) {
        self.lists[thread].push(access);
        self.listed += 1;
        if self.listed > MOST_LISTED {
            self.end();
        }
    }

    /// Counts everything listed.
    pub(crate) fn end(&mut self) {
        for start in (0..self.lists.len()).step_by(32) {
            self.meet(start);
        }
    }

    /// The lanes of the warp whose first thread is `start` have met: counts their requests.
    pub(crate) fn meet(&mut self, start: usize) {
        let end = self.lists.len().min(start + 32);
        let lists = &mut self.lists[start..end];
        let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
        if longest == 0 {
            return;
        }
        self.listed -= lists.iter().map(Vec::len).sum::<usize>();
        if alike(lists) {
            let Some(&some) = lists.iter().find_map(|list| list.first()) else { return };
            let mut lanes = [(0, some); 32];
            for i in 0..longest {
                let mut listing = 0;
                for (lane, list) in (0_u8..).zip(&*lists) {
                    if let Some(access) = list.get(i) {
                        lanes[listing] = (lane, *access);
                        listing += 1;
                    }
                }
                count(&mut self.requests, &lanes[..listing]);
            }
        } else {
            for request in grouped(lists) {
                count(&mut self.requests, &request);
            }
        }
        lists.iter_mut().for_each(Vec::clear);
    }

    /// The requests counted, by site, space and kind.
    fn finish(self) -> impl Iterator<Item = (u16, Space, AccessKind, Requests)> {
        let classes = SPACES.into_iter().flat_map(|space| KINDS.into_iter().map(move |kind| (space, kind)));
        let by_site = (0_u16..).zip(self.requests);
        by_site.flat_map(move |(site, counted)| {
            let all = classes.clone().zip(counted).map(move |((space, kind), requests)| (site, space, kind, requests));
            all.filter(|(.., requests)| requests.requests > 0)
        })
    }
}

/// Whether all lanes that list anything list the same requests.
fn alike(lists: &[Vec<Access>]) -> bool {
    let mut lists = lists.iter().filter(|list| !list.is_empty());
    let Some(first) = lists.next() else { return true };
    lists.all(|list| list.len() == first.len() && list.iter().zip(first).all(|(a, b)| a.request() == b.request()))
}

/// The accesses of lanes that went different ways, by request: those at one place with the same number of others there
/// before.
fn grouped(lists: &[Vec<Access>]) -> Vec<Vec<(u8, Access)>> {
    let mut indices = HashMap::new();
    let mut groups: Vec<Vec<(u8, Access)>> = Vec::new();
    for (lane, list) in (0_u8..).zip(lists) {
        let mut before = HashMap::<_, u32>::new();
        for access in list {
            let occurrence = before.entry(access.request()).or_default();
            let index = *indices.entry((access.request(), *occurrence)).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            *occurrence += 1;
            groups[index].push((lane, *access));
        }
    }
    groups
}

/// Counts one request.
fn count(counted: &mut Counted, lanes: &[(u8, Access)]) {
    let Some((_, first)) = lanes.first() else { return };
    let (site, class) = (usize::from(first.site), first.class());
    if counted.len() <= site {
        counted.resize(site + 1, Default::default());
    }
    let counted = &mut counted[site][class];
    let (transactions, ideal) = match first.space {
        Space::Shared => wavefronts(lanes, first.kind == AccessKind::Atomic),
        Space::Global => sectors(lanes),
    };
    counted.requests += 1;
    counted.transactions += transactions;
    counted.ideal += ideal;
}

/// Cycles that shared memory takes: 32 banks of 4 bytes, each of which gives one word a cycle to all lanes that want
/// it. 8-byte accesses go by half-warps and 16-byte ones by quarter-warps. Atomics do not share a word.
fn wavefronts(lanes: &[(u8, Access)], atomic: bool) -> (u64, u64) {
    let widest = lanes.iter().map(|(_, access)| access.bytes).max().unwrap_or_default();
    let lanes_a_phase = (128 / widest.max(4)).min(32);
    let (mut total, mut words) = (0, 0);
    for phase in 0..32 / lanes_a_phase {
        // Most words of any bank; the first word of each bank, and all others.
        let mut depth = [0_u8; 32];
        let mut first = [0_u64; 32];
        let mut others: Vec<u64> = Vec::new();
        for (_, access) in lanes.iter().filter(|(lane, _)| lane / lanes_a_phase == phase) {
            for word in access.address / 4..(access.address + u64::from(access.bytes)).div_ceil(4) {
                let bank = (word % 32) as usize;
                let known = depth[bank] > 0 && (first[bank] == word || others.contains(&word));
                if !known && depth[bank] > 0 {
                    others.push(word);
                } else if !known {
                    first[bank] = word;
                }
                words += u64::from(!known);
                depth[bank] += u8::from(!known || atomic);
            }
        }
        total += u64::from(depth.iter().copied().max().unwrap_or_default());
    }
    (total, words.div_ceil(32))
}

/// Sectors of 32 bytes that a request touches, and how many as many bytes would fill.
fn sectors(lanes: &[(u8, Access)]) -> (u64, u64) {
    let mut places = [(0_u64, 0_u8); 32];
    let places = &mut places[..lanes.len()];
    for (place, (_, access)) in places.iter_mut().zip(lanes) {
        *place = (access.address, access.bytes);
    }
    if !places.is_sorted() {
        places.sort_unstable();
    }
    let (mut sectors, mut bytes, mut last_sector, mut end) = (0, 0, u64::MAX, 0);
    for &(address, length) in &*places {
        let stop = address + u64::from(length);
        bytes += stop.saturating_sub(end.max(address));
        end = end.max(stop);
        sectors += u64::from(address / 32 != last_sector);
        last_sector = address / 32;
    }
    (sectors, bytes.div_ceil(32))
}

impl Machine {
    /// These threads have met: counts the requests of each warp all of whose running lanes are among them.
    pub(crate) fn trace_meeting(&mut self, threads: impl Iterator<Item = usize> + Clone) {
        for start in (0..self.threads.len()).step_by(32) {
            let running = self.running_lanes(start);
            let met = threads
                .clone()
                .filter(|thread| thread / 32 == start / 32)
                .fold(0_u32, |mask, thread| mask | 1 << (thread % 32));
            if running & !met == 0 {
                self.trace.meet(start);
            }
        }
    }

    /// Puts the requests of the launch into its report.
    pub(crate) fn report_requests(&mut self) {
        let mut lines = HashMap::<_, LineAccesses>::new();
        for (site, space, kind, Requests { requests, transactions, ideal }) in std::mem::take(&mut self.trace).finish()
        {
            let place = self.sites.place(site);
            let (file, line) = (place.file(), place.line());
            let none = LineAccesses { file, line, space, kind, requests: 0, transactions: 0, ideal: 0 };
            let counts = lines.entry((file, line, space, kind)).or_insert(none);
            counts.requests += requests;
            counts.transactions += transactions;
            counts.ideal += ideal;
            let report = &mut self.report;
            let totals = match space {
                Space::Shared => {
                    [&mut report.shared_requests, &mut report.shared_wavefronts, &mut report.shared_wavefronts_ideal]
                }
                Space::Global => {
                    [&mut report.global_requests, &mut report.global_sectors, &mut report.global_sectors_ideal]
                }
            };
            for (total, more) in totals.into_iter().zip([requests, transactions, ideal]) {
                *total += more;
            }
        }
        self.report.accesses = lines.into_values().collect();
        self.report.accesses.sort_unstable_by_key(|line| (line.file, line.line, line.space, line.kind));
    }
}
