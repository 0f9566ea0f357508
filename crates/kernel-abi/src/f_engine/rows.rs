//! The second pass: the transform over the rest of the points, gain, phase, quantisation, output.
//!
//! A block has two rows of `rows` points of some slots of a group. (The correlator's rows are [`crate::rows`].)

/// Points of the digits before the last one.
pub const DIGIT: u32 = 16;

/// Pieces of 16 bytes of a slot's entry.
pub const ENTRY: u32 = 3;

/// Slots of a block.
#[inline(always)]
pub const fn slots(rows: u32) -> u32 {
    match rows {
        0..=128 => 32,
        129..=256 => 16,
        257..=1024 => 8,
        1025..=2048 => 4,
        _ => 1,
    }
}

/// Threads of a block.
#[inline(always)]
pub const fn threads(rows: u32) -> u32 {
    rows / DIGIT * slots(rows)
}

/// Points of the last digit.
#[inline(always)]
pub const fn last(rows: u32) -> u32 {
    if rows > 256 { rows / 256 } else { rows / DIGIT }
}

/// Points of a row from one value of the first digit to the next in shared memory: one more than there are where lanes
/// of a half warp would meet the same banks.
#[inline(always)]
pub const fn pitch(rows: u32) -> u32 {
    rows / DIGIT + if slots(rows) < 16 { 1 } else { 0 }
}

/// Bytes of shared memory of a block: points of two rows, powers of a factor, an entry, of each slot.
#[inline(always)]
pub const fn shared_bytes(rows: u32) -> u32 {
    slots(rows) * (2 * DIGIT * pitch(rows) * 8 + last(rows) * 8 + ENTRY * 16)
}
