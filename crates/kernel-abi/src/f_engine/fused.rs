//! Both passes in one launch: blocks take tickets for a strip of the first pass or tiles of the second.

use super::{columns, rows};

/// Threads of a block.
pub const THREADS: u32 = columns::THREADS;

/// Most groups that the workspace has places for.
pub const MOST_PLACES: u32 = 128;

/// Most groups of a launch, so that numbers of tickets do not overflow.
pub const MOST_GROUPS: u32 = 1 << 20;

/// Counters: the next ticket, strips filled and tiles read of every place. They begin as zeros.
pub const COUNTERS: u32 = 1 + 2 * MOST_PLACES;

/// Tiles of the second pass that a block takes together.
#[inline(always)]
pub const fn parts(rows: u32) -> u32 {
    THREADS / rows::threads(rows)
}

/// Bytes of shared memory of a block: those of either pass, and 16 for the ticket.
#[inline(always)]
pub const fn shared_bytes(rows: u32, radix: u32) -> u32 {
    let first = columns::shared_bytes(1, radix);
    let second = parts(rows) * rows::shared_bytes(rows);
    if first > second { first + 16 } else { second + 16 }
}

/// Tickets of a launch of `groups` groups, of which the second pass is `lag` groups behind; of three, one is of the
/// first pass.
#[inline(always)]
pub const fn tickets(rows: u32, groups: u64, lag: u64) -> u64 {
    (3 * columns::strips(rows) as u64).saturating_mul(groups.saturating_add(lag))
}
