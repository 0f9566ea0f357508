//! Packed real samples to columns of f16 in shared memory: as [`packed`](crate::packed) does it, but two items of a
//! warp are under way together before it decodes. (Copies past the registers, by `cp.async`, write 16 bytes of one lane
//! at a time to shared memory: eight times the wavefronts.)
//!
//! Half of the warps have the first job, half of them the second one. At a time a warp has eight rows of 32 times eight
//! columns, an *item*: all columns of eight `n1`, a *part*.

use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, Shared, unroll};

use super::columns::Samples;
use super::decode::Packed;
use crate::butterfly::Radix;
use crate::columns::{GROUP, STRIP, THREADS, group_pieces, job_pieces, pieces};
use crate::sources::Entry;

/// Warps of a job.
const WARPS: u32 = THREADS / 32 / 2;

/// Packed real samples of so many bits, 8, 10 or 12.
#[derive(Clone, Copy)]
pub(super) struct Real<const BITS: u32> {
    /// Blocks from one to that whose samples it asks for; 0 for none.
    pub(super) ahead: u32,
}

impl<const BITS: u32> Samples for Real<BITS> {
    const COLUMNS: usize = 2;
    const EACH: bool = true;

    #[inline(always)]
    fn bits(self) -> u32 {
        BITS
    }

    #[inline(always)]
    fn multiple(self) -> u32 {
        match BITS {
            8 => 8,
            12 => 4,
            _ => 2,
        }
    }

    #[inline(always)]
    fn ahead(self) -> u32 {
        self.ahead
    }

    #[inline(always)]
    unsafe fn bring<const M: usize, R: Radix>(
        self,
        thread: u32,
        (rows, row_bytes): (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    ) {
        let (warp, lane) = (thread / 32, thread % 32);
        let which = warp / WARPS;
        // Warps of both jobs that share a scheduler begin with different items: some have one more than others.
        let share = Share { which, lane, first: (warp % WARPS) ^ (which * (WARPS - 1)) };
        let entry = Entry::load(shared, Entry::piece(M as u32, R::POINTS as u32, which, warp));
        if entry.rows == 0 {
            share.clear::<M, R>(shared);
            return;
        }
        let bit = entry.bit + 2 * (rows * (lane / 4) + strip * STRIP) * BITS;
        share.copy::<BITS, M, R>(entry, bit, (rows, row_bytes), shared);
        bar_warp_sync(u32::MAX);
        let shift = bit % 8;
        // From the first of the four chunks on.
        let bit = bit % 128 + lane % 4 * GROUP as u32 * BITS;
        // The same for all lanes.
        if BITS == 8 || BITS == 12 && shift == 0 {
            share.decode::<BITS, 0, M, R>(bit, shared);
        } else if BITS == 12 {
            share.decode::<BITS, 4, M, R>(bit, shared);
        } else {
            match shift {
                0 => share.decode::<BITS, 0, M, R>(bit, shared),
                2 => share.decode::<BITS, 2, M, R>(bit, shared),
                4 => share.decode::<BITS, 4, M, R>(bit, shared),
                _ => share.decode::<BITS, 6, M, R>(bit, shared),
            }
        }
    }
}

/// What a warp brings.
#[derive(Clone, Copy)]
struct Share {
    /// The job.
    which: u32,
    lane: u32,
    /// The first item.
    first: u32,
}

/// An item.
#[derive(Clone, Copy)]
struct Item {
    octet: u32,
    part: u32,
}

impl Item {
    /// Groups of eight columns, 32 for each warp; four are neighbours.
    const fn parts(radix: u32) -> u32 {
        2 * STRIP * radix / (32 * GROUP as u32)
    }

    /// Items of a job.
    const fn count(m: u32, radix: u32) -> u32 {
        pieces(m) * Self::parts(radix)
    }

    #[inline(always)]
    fn of<R: Radix>(index: u32) -> Self {
        let parts = Self::parts(R::POINTS as u32);
        Self { octet: index / parts, part: index % parts }
    }

    /// Pieces from those of the first item on.
    #[inline(always)]
    fn far(self, m: u32) -> u32 {
        self.part * 32 * group_pieces(m) + self.octet
    }
}

impl Share {
    /// Piece of the first octet of the first of the eight columns of a group, one of the lane's four.
    #[inline(always)]
    fn piece<const M: usize, R: Radix>(self, group: u32) -> u32 {
        let m = M as u32;
        self.which * job_pieces(m, R::POINTS as u32) + (self.lane / 4 * 4 + group) * group_pieces(m)
    }

    /// Makes all columns zeros.
    ///
    /// # Safety
    /// Nothing else uses the columns.
    #[inline(always)]
    unsafe fn clear<const M: usize, R: Radix>(self, shared: Shared<[u32; 4]>) {
        let to = self.piece::<M, R>(self.lane % 4);
        let mut index = self.first;
        while index < Item::count(M as u32, R::POINTS as u32) {
            let to = to + Item::of::<R>(index).far(M as u32);
            unroll!(c in 0 1 2 3 4 5 6 7 {
                shared.store((to + c as u32 * pieces(M as u32)) as usize, [0; 4]);
            });
            index += WARPS;
        }
    }

    /// Copies the samples, of every row one of the four chunks of 16 bytes that have those of the lane's groups, the
    /// first of which begins with bit `bit` from the entry's address on.
    ///
    /// Chunk `c` of row `r` lies where column `r` of group `c` is to be; the numbers of groups are turned so that
    /// words that lanes load at once are in different banks.
    ///
    /// # Safety
    /// The samples of the entry's job are there.
    #[inline(always)]
    unsafe fn copy<const BITS: u32, const M: usize, R: Radix>(
        self,
        entry: Entry,
        bit: u32,
        (rows, row_bytes): (u32, u32),
        shared: Shared<[u32; 4]>,
    ) {
        let to = self.piece::<M, R>((self.lane % 4) ^ (self.lane / 8));
        // The last chunk that has a sample of the strip, if this one has none.
        let (chunk, end) = (self.lane % 4, (bit % 128 + 2 * STRIP * BITS - 1) / 128);
        let chunk = if chunk < end { chunk } else { end };
        let address = entry.address.wrapping_add(((bit / 128 + chunk) * 16) as u64);
        let last = entry.rows - 1;
        let count = Item::count(M as u32, R::POINTS as u32);
        let load = |index: u32| {
            let item = Item::of::<R>(index);
            let address = address.wrapping_add((item.part * 2 * BITS * rows) as u64);
            let first = item.octet * 8;
            let whole = first >= entry.lead && first - entry.lead + 7 <= last;
            let begin = if whole { first - entry.lead } else { 0 };
            let address = address.wrapping_add(begin as u64 * row_bytes as u64);
            let mut chunks = [[0u32; 4]; 8];
            unroll!(r in 0 1 2 3 4 5 6 7 {
                // Rows that no spectrum of the job needs are others, which are multiplied by zeros.
                let row = if whole { r as u32 } else { (first + r as u32).saturating_sub(entry.lead).min(last) };
                chunks[r] = Global::<[u32; 4]>::from_raw_parts(
                    address.wrapping_add(row as u64 * row_bytes as u64), 1).load(0);
            });
            chunks
        };
        let store = |index: u32, chunks: [[u32; 4]; 8]| {
            let to = (to + Item::of::<R>(index).far(M as u32)) as usize;
            unroll!(r in 0 1 2 3 4 5 6 7 {
                shared.store(to + r * pieces(M as u32) as usize, chunks[r]);
            });
        };
        let mut index = self.first;
        while index < count {
            let second = index + WARPS;
            let chunks = load(index);
            // The same again where there is no second one.
            let others = load(if second < count { second } else { index });
            store(index, chunks);
            if second < count {
                store(second, others);
            }
            index = second + WARPS;
        }
    }

    /// Decodes the samples in shared memory, of which the lane's first one begins with bit `bit` of the four chunks,
    /// bit `SHIFT` of a byte.
    ///
    /// # Safety
    /// All lanes of the warp call it together, and see what they have copied.
    #[inline(always)]
    unsafe fn decode<const BITS: u32, const SHIFT: u32, const M: usize, R: Radix>(
        self,
        bit: u32,
        shared: Shared<[u32; 4]>,
    ) {
        let words = shared.cast::<u32>();
        let at = |word: u32| self.piece::<M, R>((word / 4 % 4) ^ (self.lane / 8)) * 4 + word % 4;
        let first = bit / 32;
        let at = [at(first), at(first + 1), at(first + 2), at(first + 3)];
        let to = self.piece::<M, R>(self.lane % 4);
        let mut index = self.first;
        while index < Item::count(M as u32, R::POINTS as u32) {
            let far = Item::of::<R>(index).far(M as u32);
            let step = pieces(M as u32) as usize;
            let rows = |at: u32| words.part((at + 4 * far) as usize, 7 * 4 * step + 1);
            let rows = [rows(at[0]), rows(at[1]), rows(at[2]), rows(at[3])];
            let mut columns = [[0u32; 4]; GROUP];
            unroll!(pair in 0 1 2 3 {
                let row = 2 * pair * 4 * step;
                let pairs = Packed::<BITS, SHIFT>::pairs(rows, [row, row + 4 * step], bit / 8 * 8);
                unroll!(c in 0 1 2 3 4 5 6 7 {
                    columns[c][pair] = pairs[c];
                });
            });
            bar_warp_sync(u32::MAX);
            let to = shared.part((to + far) as usize, 7 * step + 1);
            unroll!(c in 0 1 2 3 4 5 6 7 {
                to.store(c * step, columns[c]);
            });
            index += WARPS;
        }
    }
}
