//! A warp's samples on their way to shared memory: 32 segments, a group of 64 samples of each at a time.

use fringes_device::copy_async::{cp_async_cg_shared_global_l2_256b_16, cp_async_commit_group};
use fringes_device::{Global, Shared, opaque, unroll};

use crate::arguments::{Arguments, Position};
use crate::epilogue::Output;
use crate::mma::{GROUP, ROWS, pieces, pitch};

/// Pieces of 16 bytes of a row, at most, and as many copies of each lane.
const MOST_COPIES: usize = 9;

/// Groups of samples ahead of those that are used.
pub(crate) struct Loader<const BITS: u32> {
    /// The group that is copied next.
    next: Position,
    /// First bit of the tile's first row of it.
    bit: u64,
    slot: u32,
    slots: u32,
    stages: u32,
    places: Places,
    lane: u32,
}

/// Where the copies of a lane are from and to.
#[derive(Clone, Copy)]
struct Places {
    /// Pieces from that of the first row.
    ahead: [u32; MOST_COPIES],
    /// Bytes from the beginning of a slot.
    to: [u32; MOST_COPIES],
}

impl Places {
    #[inline(always)]
    fn new<const BITS: u32>(segment_pieces: u32, lane: u32) -> Self {
        const { assert!(ROWS == 32 && pieces(BITS) as usize <= MOST_COPIES) };
        let (mut ahead, mut to) = ([0; MOST_COPIES], [0; MOST_COPIES]);
        unroll!(i in 0 1 2 3 4 5 6 7 8 {
            let number = lane + 32 * i as u32;
            let (row, piece) = (number / pieces(BITS), number % pieces(BITS));
            ahead[i] = row.wrapping_mul(segment_pieces).wrapping_add(piece);
            // Of most bits rows follow each other without a gap.
            to[i] = 16 * (number + row * (pitch(BITS) - pieces(BITS)));
        });
        Self { ahead, to }
    }
}

impl<const BITS: u32> Loader<BITS> {
    /// Before a warp's first group, with the places of copies; `slots` is the address of the first one.
    #[inline(always)]
    pub(crate) fn new<T: Output>(
        arguments: &Arguments<T>,
        first: Position,
        slots: u32,
        stages: u32,
        lane: u32,
    ) -> Self {
        let bit = first.bit(arguments);
        let places = Places::new::<BITS>(arguments.segment_pieces(), lane);
        Self { next: first, bit, slot: 0, slots, stages, places, lane }
    }

    /// Begins to copy the next group, zeros for what is not there, and closes a group of copies.
    ///
    /// # Safety
    /// The slot after that of the last call is read by no lane any more, and slots are shared memory of the warp.
    #[inline(always)]
    pub(crate) unsafe fn issue<T: Output>(&mut self, arguments: &Arguments<T>) {
        if self.next.tile < arguments.all_tiles() {
            // Before the first sample this is a large number.
            let first = (self.bit as i64 >> 7) as u64;
            let words = arguments.samples.len() as u64;
            let last = first.wrapping_add((ROWS as u64 - 1) * arguments.segment_pieces() as u64 + pieces(BITS) as u64);
            let slot = self.slots + self.slot * slot_bytes(BITS);
            // Where samples take the registers, places are computed anew.
            let Places { ahead, to } = if BITS > 12 {
                Places::new::<BITS>(arguments.segment_pieces(), opaque(self.lane as i32) as u32)
            } else {
                self.places
            };
            if first < words / 4 && last <= words / 4 {
                let from = arguments.samples.address(4 * first as usize);
                unroll!(i in 0 1 2 3 4 5 6 7 8 {
                    if i < pieces(BITS) as usize {
                        let from = from.wrapping_add(16 * ahead[i] as u64);
                        cp_async_cg_shared_global_l2_256b_16(to[i] + slot, from);
                    }
                });
            } else {
                unroll!(i in 0 1 2 3 4 5 6 7 8 {
                    if i < pieces(BITS) as usize {
                        let word = first.wrapping_add(ahead[i] as u64).wrapping_mul(4);
                        if word < words && words - word >= 4 {
                            let from = arguments.samples.address(word as usize);
                            cp_async_cg_shared_global_l2_256b_16(to[i] + slot, from);
                        } else {
                            edge(arguments.samples, word, to[i] + slot);
                        }
                    }
                });
            }
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
                    self.bit = self.next.bit(arguments);
                }
            }
        }
        cp_async_commit_group();
        self.slot = if self.slot == self.stages - 1 { 0 } else { self.slot + 1 };
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
