//! FRB beams: the shape of a block, and where it keeps what in shared memory.
//!
//! | shared memory, in words | what |
//! |---|---|
//! | `slots` rows of [`row_words`] | voltages of a chosen output of the transform at all times of a block, complex f16 |
//! | `beams` rows of [`sum_row_words`] | sums of powers of a beam, f32 |

/// Warps of a block.
pub const WARPS: u32 = 12;

/// Beams that a warp transforms over time together.
pub const BEAMS: u32 = 2;

/// Mark of an output of the transform that no beam takes.
pub const UNUSED: u32 = 0xffff;

/// Words of the voltages of an output of the transform at `times` times, of which `at_once` are stored at once: so many
/// more that neighbouring outputs lie in other banks.
#[inline(always)]
pub const fn row_words(times: u32, at_once: u32) -> u32 {
    times + at_once
}

/// Words of the sums of a beam of so many fine channels: odd, so that neighbouring beams lie in other banks.
#[inline(always)]
pub const fn sum_row_words(fine: u32) -> u32 {
    fine | 1
}

/// Bytes of rows and sums, rounded up to a multiple of 128: `slots` rows of `row` words, and beams of so many fine
/// channels.
#[inline(always)]
pub const fn row_bytes(slots: u32, row: u32, beams: u32, fine: u32) -> u32 {
    (4 * (slots * row + beams * sum_row_words(fine)) + 127) & !127
}

/// The kernel of voltages of all beams of four full lines (`formed_256_512_i4`).
pub mod formed {
    /// Feeds of a line.
    pub const FEEDS: u32 = 256;
    /// Those that a warp has of it.
    pub const WARP_FEEDS: u32 = 32;
    /// Words of all outputs of a transform.
    pub const PLANE_WORDS: u32 = 512;
    /// Sums over lines that a block makes.
    pub const OUTS: u32 = 4;
    /// Times of a half of a chunk: of a polarisation, of which a group takes two, or one twice.
    pub const TIMES: u32 = 8;
    /// Warps of a group.
    pub const WARPS: u32 = FEEDS / WARP_FEEDS;
    /// Groups of a block: where shared memory is less, the second one is idle.
    pub const GROUPS: u32 = 2;
    /// Threads of a block.
    pub const THREADS: u32 = 32 * WARPS * GROUPS;
    /// Words of shared memory of a frequency: the scale, nothing, and where the frequency's output begins.
    pub const FREQUENCY_WORDS: u32 = 4;
    /// Words of the factors of a polarisation, `[warp][n1 n2 n3][lane][n0 n4]`.
    pub const FACTOR_WORDS: u32 = 32 * FEEDS;
    /// Words of the sums of a chunk.
    pub const SUM_WORDS: u32 = 2 * TIMES * OUTS * FEEDS;
    /// Words of a group: sums, and a plane of each warp.
    pub const GROUP_WORDS: u32 = SUM_WORDS + WARPS * PLANE_WORDS;

    /// Words before the factors: those of the frequency, and of each beam its place in a plane.
    #[inline(always)]
    pub const fn words_before(beams: u32) -> u32 {
        FREQUENCY_WORDS + beams.next_multiple_of(4)
    }

    /// Bytes of shared memory of so many beams along a line, polarisations, and groups that are not idle.
    #[inline(always)]
    pub const fn shared_bytes(beams: u32, pols: u32, groups: u32) -> u64 {
        4 * (words_before(beams) as u64 + (pols * FACTOR_WORDS + groups * GROUP_WORDS) as u64)
    }
}
