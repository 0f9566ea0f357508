//! A warp's samples on their way to shared memory: 16 segments, a group of 64 samples of each at a time.

use fringes_device::copy_async::{cp_async_cg_shared_global_l2_256b_16, cp_async_commit_group};
use fringes_device::{Global, Shared, unroll};

use crate::multiply::{Arguments, Position};
use crate::tensor::{GROUP, pieces, pitch};

/// Pieces of 16 bytes that a lane copies at most: 16 rows of 6.
const MOST_COPIES: usize = 3;

/// Segments of a warp.
const ROWS: u32 = 16;

/// Groups of samples ahead of those that are used.
pub(crate) struct Loader<const BITS: u32, const STAGES: u32> {
    /// The group that is copied next.
    next: Position,
    /// First bit of the warp's first row of it.
    bit: u64,
    slot: u32,
    /// Pieces from that of the first row to those that the lane copies.
    ahead: [u32; MOST_COPIES],
    /// Addresses in a slot that they go to.
    to: [u32; MOST_COPIES],
    lane: u32,
    warp: u32,
}

impl<const BITS: u32, const STAGES: u32> Loader<BITS, STAGES> {
    /// Pieces of a group of all rows.
    const COUNT: u32 = ROWS * pieces(BITS);

    /// Before a warp's first group, with the places of copies; `slots` is the address of the first one.
    #[inline(always)]
    pub(crate) fn new(arguments: &Arguments, first: Position, slots: u32, warp: u32, lane: u32) -> Self {
        let (mut ahead, mut to) = ([0; MOST_COPIES], [0; MOST_COPIES]);
        unroll!(i in 0 1 2 {
            let (row, piece) = ((lane + 32 * i as u32) / pieces(BITS), (lane + 32 * i as u32) % pieces(BITS));
            ahead[i] = row.wrapping_mul(arguments.segment_pieces()).wrapping_add(piece);
            to[i] = slots + 16 * (row * pitch(BITS) + piece);
        });
        let bit = first.bit(arguments, warp);
        Self { next: first, bit, slot: 0, ahead, to, lane, warp }
    }

    /// Begins to copy the next group, zeros for what is not there, and closes a group of copies.
    ///
    /// # Safety
    /// The slot after that of the last call is read by no lane any more, and slots are shared memory of the warp.
    #[inline(always)]
    pub(crate) unsafe fn issue(&mut self, arguments: &Arguments) {
        if self.next.tile < arguments.all_tiles() {
            let base = (self.bit as i64 >> 7) as u64;
            let words = arguments.samples.len() as u64;
            unroll!(i in 0 1 2 {
                if (i as u32 + 1) * 32 <= Self::COUNT || self.lane + 32 * (i as u32) < Self::COUNT {
                    // Before the first sample this is a large number.
                    let word = base.wrapping_add(self.ahead[i] as u64).wrapping_mul(4);
                    let to = self.to[i] + self.slot * slot_bytes(BITS);
                    if word < words && words - word >= 4 {
                        cp_async_cg_shared_global_l2_256b_16(to, arguments.samples.address(word as usize));
                    } else {
                        edge(arguments.samples, word, to);
                    }
                }
            });
            self.bit = self.bit.wrapping_add((GROUP * BITS) as u64);
            self.next.group += 1;
            if self.next.group == arguments.groups {
                self.next.group = 0;
                self.next.step += 1;
                let back = arguments.groups.wrapping_mul(GROUP * BITS).wrapping_sub(arguments.block_bits);
                self.bit = self.bit.wrapping_sub(back as u64);
                if self.next.step == self.next.steps {
                    self.next.step = 0;
                    self.next.tile += self.next.stride;
                    self.bit = self.next.bit(arguments, self.warp);
                }
            }
        }
        cp_async_commit_group();
        self.slot = if self.slot == STAGES - 1 { 0 } else { self.slot + 1 };
    }
}

/// Puts a piece in its place of which not all words are there; the others are zeros.
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
