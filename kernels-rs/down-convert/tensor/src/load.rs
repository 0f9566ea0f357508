//! A warp's samples on their way to shared memory: 16 segments, a group of 64 samples of each at a time.

use fringes_device::copy_async::{cp_async_cg_shared_global_l2_256b_16, cp_async_commit_group};
use fringes_device::{Global, Shared, unroll};

use crate::multiply::{Arguments, Source, steps};
use crate::tensor::{GROUP, aligned_pieces, pieces, pitch};

/// Pieces of 16 bytes that a lane copies at most: 16 rows of 9.
const MOST_COPIES: usize = 5;

/// Segments of a warp.
const ROWS: u32 = 16;

/// Groups of samples ahead of those that are used.
pub(crate) struct Loader<const BITS: u32, const ALIGNED: bool> {
    /// The group that is copied next: tile, block of it, group of that.
    tile: u32,
    step: u32,
    group: u32,
    /// Steps of the tile.
    steps: u32,
    /// Tiles to the next one of the same group of warps, and sets of weights.
    stride: u32,
    sets: u32,
    /// Its samples, and the first bit of the warp's first row of them.
    samples: Global<u32>,
    bit: u64,
    /// Whether all that the tile copies is there.
    whole: bool,
    /// Pieces from that of the first row to those that the lane copies.
    ahead: [u32; MOST_COPIES],
    /// Bytes from the beginning of a slot to where they go.
    to: [u32; MOST_COPIES],
    lane: u32,
    warp: u32,
}

impl<const BITS: u32, const ALIGNED: bool> Loader<BITS, ALIGNED> {
    /// Pieces of a group of a row.
    const PIECES: u32 = if ALIGNED { aligned_pieces(BITS) } else { pieces(BITS) };
    /// Those of all rows.
    const COUNT: u32 = ROWS * Self::PIECES;

    /// Whether a lane has a copy `i`.
    #[inline(always)]
    fn has(lane: u32, i: usize) -> bool {
        (i as u32 + 1) * 32 <= Self::COUNT || lane + 32 * (i as u32) < Self::COUNT
    }

    /// Before a warp's first group, with the places of copies.
    #[inline(always)]
    pub(crate) fn new(arguments: &Arguments, tile: u32, warp: u32, lane: u32, [stride, sets]: [u32; 2]) -> Self {
        let mut to = [0; MOST_COPIES];
        unroll!(i in 0 1 2 3 4 {
            let (row, piece) = ((lane + 32 * i as u32) / Self::PIECES, (lane + 32 * i as u32) % Self::PIECES);
            to[i] = 16 * (row * pitch(BITS) + piece);
        });
        let mut loader = Self {
            tile,
            step: 0,
            group: 0,
            steps: 0,
            stride,
            sets,
            samples: arguments.samples,
            bit: 0,
            whole: false,
            ahead: [0; MOST_COPIES],
            to,
            lane,
            warp,
        };
        loader.begin(arguments);
        loader
    }

    /// Turns to the tile, if there is one.
    #[inline(always)]
    fn begin(&mut self, arguments: &Arguments) {
        if self.tile >= arguments.all_tiles() {
            return;
        }
        let Source { samples, bit, segment_pieces, blocks } = arguments.source(self.tile, self.warp);
        self.steps = steps(blocks, self.sets);
        (self.samples, self.bit) = (samples, bit);
        unroll!(i in 0 1 2 3 4 {
            let (row, piece) =
                ((self.lane + 32 * i as u32) / Self::PIECES, (self.lane + 32 * i as u32) % Self::PIECES);
            self.ahead[i] = row.wrapping_mul(segment_pieces).wrapping_add(piece);
        });
        // A negative number is beyond any view.
        let rows = (ROWS - 1) as u64 * segment_pieces as u64 + Self::PIECES as u64;
        let read = self.steps as u64 * arguments.block_bits as u64 + (GROUP * BITS) as u64;
        let last = (bit >> 7).wrapping_add(rows).wrapping_add(read / 128 + 1);
        self.whole = bit as i64 >= 0 && last.wrapping_mul(4) <= samples.len() as u64;
    }

    /// Begins to copy the next group to the slot of an address, zeros for what is not there, and closes a group of
    /// copies.
    ///
    /// # Safety
    /// The slot is read by no lane any more, and slots are shared memory of the warp.
    #[inline(always)]
    pub(crate) unsafe fn issue(&mut self, arguments: &Arguments, slot: u32) {
        if self.tile < arguments.all_tiles() {
            let base = (self.bit as i64 >> 7) as u64;
            let to = |i: usize| slot + self.to[i];
            if self.whole {
                let base = self.samples.address(4 * base as usize);
                unroll!(i in 0 1 2 3 4 {
                    if Self::has(self.lane, i) {
                        let from = base + 16 * self.ahead[i] as u64;
                        cp_async_cg_shared_global_l2_256b_16(to(i), from);
                    }
                });
            } else {
                let words = self.samples.len() as u64;
                unroll!(i in 0 1 2 3 4 {
                    if Self::has(self.lane, i) {
                        // Before the first sample this is a large number.
                        let word = base.wrapping_add(self.ahead[i] as u64).wrapping_mul(4);
                        let to = to(i);
                        if word < words && words - word >= 4 {
                            cp_async_cg_shared_global_l2_256b_16(to, self.samples.address(word as usize));
                        } else {
                            edge(self.samples, word, to);
                        }
                    }
                });
            }
            self.bit = self.bit.wrapping_add((GROUP * BITS) as u64);
            self.group += 1;
            if self.group == arguments.groups {
                self.group = 0;
                self.step += 1;
                let back = arguments.groups.wrapping_mul(GROUP * BITS).wrapping_sub(arguments.block_bits);
                self.bit = self.bit.wrapping_sub(back as u64);
                if self.step == self.steps {
                    self.step = 0;
                    self.tile += self.stride;
                    self.begin(arguments);
                }
            }
        }
        cp_async_commit_group();
    }
}

/// Puts a piece in its place of which not all words are there; the others are zeros. (Copies of fewer bytes than 16
/// are read whole in the eyes of compute-sanitizer.)
///
/// # Safety
/// `to` is the address of 16 bytes of the warp's shared memory that no lane uses.
#[inline(always)]
unsafe fn edge(samples: Global<u32>, word: u64, to: u32) {
    let mut piece = [0; 4];
    unroll!(i in 0 1 2 3 {
        let word = word.wrapping_add(i as u64);
        if word < samples.len() as u64 {
            piece[i] = samples.load(word as usize);
        }
    });
    Shared::<[u32; 4]>::from_raw_parts(to, 1).store(0, piece);
}

/// A warp's slot of samples.
///
/// # Safety
/// The slots are shared memory of the warp.
#[inline(always)]
pub(crate) unsafe fn slot<const BITS: u32>(slots: u32, slot: u32) -> Shared<u32> {
    Shared::from_raw_parts(slots + slot * slot_bytes(BITS), slot_bytes(BITS) as usize / 4)
}

/// Bytes of a slot.
#[inline(always)]
pub(crate) const fn slot_bytes(bits: u32) -> u32 {
    16 * ROWS * pitch(bits)
}
