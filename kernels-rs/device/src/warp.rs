//! Instructions that lanes of a warp execute together: shuffles, votes, matches, reductions, barriers.
//!
//! Each has a mask of the lanes that take part; every lane of the mask executes the instruction with the same mask.
//! Operands are in the order of the PTX instruction.

#[cfg(not(target_arch = "nvptx64"))]
use fringes_emulator::{FaultKind, thread, warp};

/// How a shuffle finds its source lane.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Shuffle {
    /// Source lane of `lane`, and whether it lies in range; out of range the source is the lane itself.
    fn source(self, lane: u32, b: u32, c: u32) -> (u32, bool) {
        let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
        let low = lane & segment;
        let limit = low | clamp & !segment;
        let (source, valid) = match self {
            Self::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= limit as i32),
            Self::Down => (lane + b, lane + b <= limit),
            Self::Bfly => (lane ^ b, lane ^ b <= limit),
            Self::Idx => (low | b & !segment, low | b & !segment <= limit),
        };
        if valid { (source, true) } else { (lane, false) }
    }

    #[track_caller]
    fn run(self, name: &'static str, a: u32, b: u32, c: u32, mask: u32) -> (u32, bool) {
        let values = warp::collective(name, mask, a, |_, values| [*values; 32]);
        let (source, valid) = self.source(thread::lane(), b, c);
        if mask >> source & 1 == 0 {
            thread::fault(
                FaultKind::Operand,
                format!("{name} reads lane {source}, which is not in the mask {mask:#010x}"),
            );
        }
        (values[source as usize], valid)
    }
}

macro_rules! shuffles {
    ($($name:ident, $with:ident, $mode:literal, $shuffle:ident, $source:literal;)*) => { intrinsic! { $(
        #[doc = concat!("`a` of lane ", $source, ", or this lane's own where that lane is out of range.")]
        ///
        /// `c` holds the limit in bits 0 to 4 and the mask of segments in bits 8 to 12. With `s` the mask, a lane's
        /// segment is the lanes that agree with it in the bits of `s`; sources range over the segment up to (for `up`:
        /// from) `lane & s | limit & !s`. A warp in segments of `w` lanes: `(32 - w) << 8 | 31` (for `up`:
        /// `(32 - w) << 8`).
        ///
        /// # PTX
        #[doc = concat!("`shfl.sync.", $mode, ".b32 d, a, b, c, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask, this lane and the source lane are among them.
        pub unsafe fn $name(a: u32, b: u32, c: u32, mask: u32) -> u32 {
            device => {
                crate::intrinsic::convergent();
                let d: u32;
                core::arch::asm!(concat!("shfl.sync.", $mode, ".b32 {0}, {1}, {2}, {3}, {4};"), out(reg32) d, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) mask, options(nomem, nostack));
                d
            }
            emulator => { Shuffle::$shuffle.run(stringify!($name), a, b, c, mask).0 }
        }

        #[doc = concat!("As [`", stringify!($name), "`], and whether the source lane is in range.")]
        ///
        /// # PTX
        #[doc = concat!("`shfl.sync.", $mode, ".b32 d|p, a, b, c, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask, this lane and the source lane are among them.
        pub unsafe fn $with(a: u32, b: u32, c: u32, mask: u32) -> (u32, bool) {
            device => {
                crate::intrinsic::convergent();
                let (d, p): (u32, u32);
                core::arch::asm!(concat!("{{ .reg .pred p; shfl.sync.", $mode, ".b32 {0}|p, {2}, {3}, {4}, {5}; selp.u32 {1}, 1, 0, p; }}"), out(reg32) d, out(reg32) p, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) mask, options(nomem, nostack));
                (d, p != 0)
            }
            emulator => { Shuffle::$shuffle.run(stringify!($with), a, b, c, mask) }
        }
    )* } };
}

shuffles! {
    shfl_sync_up_b32, shfl_sync_up_b32_pred, "up", Up, "`lane - b`";
    shfl_sync_down_b32, shfl_sync_down_b32_pred, "down", Down, "`lane + b`";
    shfl_sync_bfly_b32, shfl_sync_bfly_b32_pred, "bfly", Bfly, "`lane ^ b`";
    shfl_sync_idx_b32, shfl_sync_idx_b32_pred, "idx", Idx, "`b` of the segment";
}

/// Lanes of `mask` whose predicate is true.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn ballot(name: &'static str, predicate: bool, mask: u32) -> u32 {
    warp::collective(name, mask, predicate, |mask, lanes| {
        [(0..32).filter(|&lane| lanes[lane]).fold(0, |ballot, lane| ballot | 1 << lane) & mask; 32]
    })
}

macro_rules! votes {
    ($($name:ident, $mode:literal, |$ballot:ident, $mask:ident| $result:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = $what]
        ///
        /// # PTX
        #[doc = concat!("`vote.sync.", $mode, ".pred d, predicate, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask; this lane is among them.
        pub unsafe fn $name(predicate: bool, mask: u32) -> bool {
            device => {
                crate::intrinsic::convergent();
                let d: u32;
                core::arch::asm!(concat!("{{ .reg .pred p, q; setp.ne.u32 p, {1}, 0; vote.sync.", $mode, ".pred q, p, {2}; selp.u32 {0}, 1, 0, q; }}"), out(reg32) d, in(reg32) predicate as u32, in(reg32) mask, options(nomem, nostack));
                d != 0
            }
            emulator => {
                let ($ballot, $mask) = (ballot(stringify!($name), predicate, mask), mask);
                $result
            }
        }
    )* } };
}

votes! {
    vote_sync_all_pred, "all", |ballot, mask| ballot == mask, "Whether the predicate is true in every lane of `mask`.";
    vote_sync_any_pred, "any", |ballot, _mask| ballot != 0, "Whether the predicate is true in some lane of `mask`.";
    vote_sync_uni_pred, "uni", |ballot, mask| ballot == mask || ballot == 0, "Whether the predicate is the same in all lanes of `mask`.";
}

intrinsic! {
    /// The lanes of `mask` whose predicate is true.
    ///
    /// # PTX
    /// `vote.sync.ballot.b32 d, predicate, mask;`
    ///
    /// # Safety
    /// The lanes of `mask` execute it together with the same mask; this lane is among them.
    pub unsafe fn vote_sync_ballot_b32(predicate: bool, mask: u32) -> u32 {
        device => {
            crate::intrinsic::convergent();
            let d: u32;
            core::arch::asm!("{{ .reg .pred p; setp.ne.u32 p, {1}, 0; vote.sync.ballot.b32 {0}, p, {2}; }}", out(reg32) d, in(reg32) predicate as u32, in(reg32) mask, options(nomem, nostack));
            d
        }
        emulator => { ballot("vote_sync_ballot_b32", predicate, mask) }
    }

    /// The lanes that are active at this moment. Which lanes run together is the hardware's choice: results must not
    /// depend on it.
    ///
    /// # PTX
    /// `activemask.b32 d;`
    ///
    /// # Safety
    /// Safe: reads which lanes are active.
    pub fn activemask_b32() -> u32 {
        device => {
            crate::intrinsic::convergent();
            let d: u32;
            core::arch::asm!("activemask.b32 {0};", out(reg32) d, options(nomem, nostack));
            d
        }
        emulator => { thread::lanes_running() }
    }

    /// Waits until all lanes of `mask` arrive; orders their memory accesses.
    ///
    /// # PTX
    /// `bar.warp.sync mask;`
    ///
    /// # Safety
    /// The lanes of `mask` execute it together with the same mask; this lane is among them.
    pub unsafe fn bar_warp_sync(mask: u32) {
        device => {
            crate::intrinsic::convergent();
            core::arch::asm!("bar.warp.sync {0};", in(reg32) mask, options(nostack));
        }
        emulator => { warp::sync("bar_warp_sync", mask) }
    }

    /// Elects one lane of `mask`: its number, and whether it is this lane. Which one is the hardware's choice (the
    /// emulator's: the lowest).
    ///
    /// # PTX
    /// `elect.sync d|p, mask;` (sm_90)
    ///
    /// # Safety
    /// The lanes of `mask` execute it together with the same mask; this lane is among them.
    pub unsafe fn elect_sync(mask: u32) -> (u32, bool) {
        device => {
            crate::intrinsic::convergent();
            let (d, p): (u32, u32);
            core::arch::asm!("{{ .reg .pred p; elect.sync {0}|p, {2}; selp.u32 {1}, 1, 0, p; }}", out(reg32) d, out(reg32) p, in(reg32) mask, options(nomem, nostack));
            (d, p != 0)
        }
        emulator => {
            let leader = warp::collective("elect_sync", mask, (), |mask, _| [mask.trailing_zeros(); 32]);
            (leader, leader == thread::lane())
        }
    }
}

macro_rules! matches {
    ($($any:ident, $all:ident, $type:ty, $class:ident, $bits:literal;)*) => { intrinsic! { $(
        /// The lanes of `mask` whose `a` equals this lane's.
        ///
        /// # PTX
        #[doc = concat!("`match.any.sync.", $bits, " d, a, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask; this lane is among them.
        pub unsafe fn $any(a: $type, mask: u32) -> u32 {
            device => {
                crate::intrinsic::convergent();
                let d: u32;
                core::arch::asm!(concat!("match.any.sync.", $bits, " {0}, {1}, {2};"), out(reg32) d, in($class) a, in(reg32) mask, options(nomem, nostack));
                d
            }
            emulator => {
                warp::collective(stringify!($any), mask, a, |mask, a| {
                    core::array::from_fn(|lane| (0..32).filter(|&other| a[other] == a[lane]).fold(0, |d, other| d | 1 << other) & mask)
                })
            }
        }

        /// `mask` and true if `a` is the same in all its lanes, else 0 and false.
        ///
        /// # PTX
        #[doc = concat!("`match.all.sync.", $bits, " d|p, a, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask; this lane is among them.
        pub unsafe fn $all(a: $type, mask: u32) -> (u32, bool) {
            device => {
                crate::intrinsic::convergent();
                let (d, p): (u32, u32);
                core::arch::asm!(concat!("{{ .reg .pred p; match.all.sync.", $bits, " {0}|p, {2}, {3}; selp.u32 {1}, 1, 0, p; }}"), out(reg32) d, out(reg32) p, in($class) a, in(reg32) mask, options(nomem, nostack));
                (d, p != 0)
            }
            emulator => {
                warp::collective(stringify!($all), mask, a, |mask, a| {
                    let first = a[mask.trailing_zeros() as usize % 32];
                    let same = (0..32).all(|lane| mask >> lane & 1 == 0 || a[lane] == first);
                    [if same { (mask, true) } else { (0, false) }; 32]
                })
            }
        }
    )* } };
}

matches! {
    match_any_sync_b32, match_all_sync_b32, u32, reg32, "b32";
    match_any_sync_b64, match_all_sync_b64, u64, reg64, "b64";
}

macro_rules! reductions {
    ($($name:ident, $type:ty, $operation:literal, |$x:ident, $y:ident| $combine:expr, $what:literal;)*) => { intrinsic! { $(
        #[doc = concat!($what, " of `a` over the lanes of `mask`.")]
        ///
        /// # PTX
        #[doc = concat!("`redux.sync.", $operation, " d, a, mask;`")]
        ///
        /// # Safety
        /// The lanes of `mask` execute it together with the same mask; this lane is among them.
        pub unsafe fn $name(a: $type, mask: u32) -> $type {
            device => {
                crate::intrinsic::convergent();
                let d: $type;
                core::arch::asm!(concat!("redux.sync.", $operation, " {0}, {1}, {2};"), out(reg32) d, in(reg32) a, in(reg32) mask, options(nomem, nostack));
                d
            }
            emulator => {
                warp::collective(stringify!($name), mask, a, |mask, a| {
                    let lanes = (0..32).filter(|&lane| mask >> lane & 1 == 1).map(|lane: usize| a[lane]);
                    [lanes.reduce(|$x, $y| $combine).unwrap_or_default(); 32]
                })
            }
        }
    )* } };
}

reductions! {
    redux_sync_add_s32, i32, "add.s32", |x, y| x.wrapping_add(y), "Sum modulo 2^32";
    redux_sync_add_u32, u32, "add.u32", |x, y| x.wrapping_add(y), "Sum modulo 2^32";
    redux_sync_min_s32, i32, "min.s32", |x, y| x.min(y), "Least value";
    redux_sync_min_u32, u32, "min.u32", |x, y| x.min(y), "Least value";
    redux_sync_max_s32, i32, "max.s32", |x, y| x.max(y), "Greatest value";
    redux_sync_max_u32, u32, "max.u32", |x, y| x.max(y), "Greatest value";
    redux_sync_and_b32, u32, "and.b32", |x, y| x & y, "Bitwise and";
    redux_sync_or_b32, u32, "or.b32", |x, y| x | y, "Bitwise or";
    redux_sync_xor_b32, u32, "xor.b32", |x, y| x ^ y, "Bitwise exclusive or";
}
