//! The race detector against a plain one, on random programs.
//!
//! A program is a few threads of a warp that take steps together: each step is a few random accesses to some bytes of
//! shared memory, of all widths, and then nothing, a barrier of some lanes, or one of all. The plain detector keeps
//! every access and a whole vector clock for each, and compares all pairs.

use fringes_emulator::block::{Arrival, barrier};
use fringes_emulator::memory::{Space, atomic, load, store};
use fringes_emulator::thread::linear_index;
use fringes_emulator::warp::sync;
use fringes_emulator::{FaultKind, GlobalMemory, Launch};

const THREADS: usize = 4;
const PROGRAMS: u64 = 8000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Load,
    Store,
    Atomic,
}

#[derive(Debug, Clone, Copy)]
struct Access {
    kind: Kind,
    address: u64,
    bytes: u64,
}

#[derive(Debug, Clone)]
enum Meeting {
    Nothing,
    Lanes(u32),
    All,
}

#[derive(Debug)]
struct Step {
    accesses: [Vec<Access>; THREADS],
    meeting: Meeting,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }

    fn access(&mut self, base: u64, span: u64) -> Access {
        let kind = [Kind::Load, Kind::Load, Kind::Load, Kind::Store, Kind::Atomic][self.below(5) as usize];
        let widths: &[u64] = if kind == Kind::Atomic { &[2, 4, 8] } else { &[1, 2, 4, 8, 16, 16] };
        let bytes = widths[self.below(widths.len() as u64) as usize].min(span);
        Access { kind, address: base + self.below(span / bytes) * bytes, bytes }
    }

    /// Threads mostly stay with their own 8 or 16 bytes, so that many programs have no race.
    fn program(&mut self) -> Vec<Step> {
        let steps = 1 + self.below(10);
        let own = [8, 16][self.below(2) as usize];
        let wild = self.below(10);
        (0..steps)
            .map(|_| Step {
                accesses: std::array::from_fn(|thread| {
                    let count = self.below(3);
                    let any = |random: &mut Self| random.below(16) < wild / 3;
                    (0..count)
                        .map(
                            |_| if any(self) { self.access(0, own * 4) } else { self.access(thread as u64 * own, own) },
                        )
                        .collect()
                }),
                meeting: match self.below(4) {
                    0 => Meeting::Nothing,
                    1 => Meeting::All,
                    _ => Meeting::Lanes(self.below(15) as u32 + 1),
                },
            })
            .collect()
    }
}

/// Whether two accesses that nothing orders overlap, not both loads or both atomics.
fn has_race(program: &[Step]) -> bool {
    let mut clocks = [[0_u32; THREADS]; THREADS];
    let mut log: Vec<(usize, [u32; THREADS], Access)> = Vec::new();
    for (thread, clock) in clocks.iter_mut().enumerate() {
        clock[thread] = 1;
    }
    for step in program {
        for (thread, accesses) in step.accesses.iter().enumerate() {
            log.extend(accesses.iter().map(|access| (thread, clocks[thread], *access)));
        }
        let mask = match step.meeting {
            Meeting::Nothing => 0,
            Meeting::Lanes(mask) => mask,
            Meeting::All => u32::MAX,
        };
        let members = || (0..THREADS).filter(|thread| mask >> thread & 1 == 1);
        let joined: [u32; THREADS] =
            std::array::from_fn(|i| members().map(|thread| clocks[thread][i]).max().unwrap_or(0));
        for thread in members() {
            clocks[thread] = joined;
            clocks[thread][thread] += 1;
        }
    }
    log.iter().enumerate().any(|(i, (a, a_clock, first))| {
        log[..i].iter().any(|(b, b_clock, second)| {
            let overlap = first.address < second.address + second.bytes && second.address < first.address + first.bytes;
            let ordered = a_clock[*b] >= b_clock[*b] || b_clock[*a] >= a_clock[*a];
            let harmless = first.kind == second.kind && first.kind != Kind::Store;
            a != b && overlap && !ordered && !harmless
        })
    })
}

fn execute(program: &[Step]) {
    for step in program {
        for &Access { kind, address, bytes } in &step.accesses[linear_index() as usize] {
            match kind {
                Kind::Load => load(Space::Shared, address, &mut [0; 16][..bytes as usize]),
                Kind::Store => store(Space::Shared, address, &[1; 16][..bytes as usize]),
                Kind::Atomic => _ = atomic(Space::Shared, address, bytes as usize, |old| old.wrapping_add(1)),
            }
        }
        match step.meeting {
            Meeting::Lanes(mask) if mask >> linear_index() & 1 == 1 => sync("bar_warp_sync", mask),
            Meeting::All => _ = barrier("bar_sync", 0, None, Arrival::Sync),
            _ => {}
        }
    }
}

#[test]
fn races_are_found_exactly_where_there_are_any() {
    let mut random = Random(1);
    let mut racy = 0;
    for seed in 0..PROGRAMS {
        let program = random.program();
        let launch = Launch::new("k()", [1, 1, 1], [THREADS as u32, 1, 1]).shared_bytes(64).stack_bytes(1 << 16);
        let launch = if seed % 2 == 0 { launch.seed(seed) } else { launch };
        let report = launch.run(&mut GlobalMemory::new(), || execute(&program));
        let others =
            report.faults.iter().find(|fault| ![FaultKind::Race, FaultKind::Uninitialised].contains(&fault.kind));
        assert!(others.is_none(), "{report}\n{program:#?}");
        assert_eq!(report.found(FaultKind::Race), has_race(&program), "program {seed}: {report}\n{program:#?}");
        racy += u64::from(has_race(&program));
    }
    assert!((PROGRAMS / 10..PROGRAMS * 9 / 10).contains(&racy), "{racy} of {PROGRAMS} programs have a race");
}
