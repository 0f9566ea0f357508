//! Packed real samples as the first pass takes them: integers of 8, 10 or 12 bits, two to a point, exact in f16.
//!
//! Both columns of a point have weights of their own. Samples are loaded 16 bytes a lane and exchanged in the shared
//! memory in which they are then decoded.

use fringes_device::warp::bar_warp_sync;
use fringes_device::{Global, Shared, unroll};
use fringes_kernels_common::decode::eight::{Constants, GROUP, Packed};

use crate::butterfly::Radix;
use crate::columns::{Filter, STRIP, THREADS, group_pieces, job_pieces, pieces};
use crate::half::products;
use crate::sources::Entry;
use crate::twelve;

/// Real samples of `BITS` bits.
#[derive(Clone, Copy)]
pub struct Real<const BITS: u32>;

impl<const BITS: u32> Filter for Real<BITS> {
    const STRIP: u32 = STRIP;
    const PLACES: u32 = 2;
    const COLUMNS: u32 = 2;
    const ENTRIES: usize = 16;
    const MORE: usize = 0;
    const TAILS: usize = 16;
    const EACH: bool = true;

    #[inline(always)]
    fn bits(self) -> u32 {
        BITS
    }

    #[inline(always)]
    fn lane<const M: usize, R: Radix>(lane: u32) -> ((u32, u32), u32) {
        half_lane(M as u32, R::POINTS as u32, lane)
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
        let constants = Packed::<BITS>::constants();
        let mut item = warp;
        while item < Item::count(M as u32, R::POINTS as u32) {
            let here = Item::of::<M, R>(item);
            let chunks = here.load::<BITS, M, R>(lane, (rows, row_bytes), strip, shared);
            here.decode::<BITS, M, R>(chunks, lane, (rows, strip), constants, shared);
            item += THREADS / 32;
        }
    }

    #[inline(always)]
    unsafe fn products<const M: usize>(
        tables: (Global<[u32; 4]>, Global<[u32; 2]>),
        column: u32,
        entry: u32,
        shared: Shared<[u32; 4]>,
        piece: (u32, u32),
    ) -> [[f32; 4]; 2] {
        products::<M, 2>(tables, column, entry, shared, piece)
    }
}

/// [`Filter::lane`] of columns of f16.
#[inline(always)]
pub(crate) fn half_lane(m: u32, radix: u32, lane: u32) -> ((u32, u32), u32) {
    let (g, t) = (lane / 4, lane % 4);
    // Entry of the tables: 2 t - s(g) + 7, even ones before odd ones.
    let entry = 2 * t + 7 - (g / 2 + 4 * (g % 2));
    (half_rows(m, radix, lane), entry / 2 + entry % 2 * 8)
}

/// Pieces that a lane loads of the first column of a place, and of its last rows, of columns of f16.
#[inline(always)]
pub(crate) fn half_rows(m: u32, radix: u32, lane: u32) -> (u32, u32) {
    // Row `lane % 8` of matrix `lane / 8`: samples of eight spectra; of both jobs, and eight rows further on.
    let row = lane / 8 % 2 * job_pieces(m, radix) + lane / 16 + lane % 8;
    // The last eight rows, of both jobs of a column, and of the next one.
    let end = lane / 8 % 2 * job_pieces(m, radix) + lane / 16 * pieces(m) + lane % 8 + 2 * m;
    (row, end)
}

/// Eight rows of 32 times eight columns of a job: what a warp loads and decodes at once.
#[derive(Clone, Copy)]
struct Item {
    octet: u32,
    part: u32,
    which: u32,
    /// The warp that has it.
    warp: u32,
}

impl Item {
    /// Groups of eight columns, 32 for each warp; four are neighbours.
    const fn parts(radix: u32) -> u32 {
        2 * STRIP * radix / (32 * GROUP as u32)
    }

    const fn count(m: u32, radix: u32) -> u32 {
        2 * pieces(m) * Self::parts(radix)
    }

    #[inline(always)]
    fn of<const M: usize, R: Radix>(item: u32) -> Self {
        let (parts, octets) = (Self::parts(R::POINTS as u32), pieces(M as u32));
        let (part, rest) = (item % parts, item / parts);
        Self { octet: rest % octets, part, which: rest / octets, warp: item % (THREADS / 32) }
    }

    /// Bit of the first column of a lane's four neighbouring groups of columns, from that of the row's first column.
    #[inline(always)]
    fn bit<const BITS: u32>(self, (rows, strip): (u32, u32), lane: u32) -> u32 {
        2 * (rows * (self.part * 8 + lane / 4) + strip * STRIP) * BITS
    }

    /// Piece of the octet of the first of the eight columns of a group, one of the lane's four.
    #[inline(always)]
    fn piece<const M: usize, R: Radix>(self, lane: u32, group: u32) -> u32 {
        let m = M as u32;
        self.which * job_pieces(m, R::POINTS as u32)
            + (self.part * 32 + lane / 4 * 4 + group) * group_pieces(m)
            + self.octet
    }

    /// Loads the samples, of every row one of the four chunks of 16 bytes that have those of the lane's groups.
    ///
    /// # Safety
    /// The entries of the jobs are in shared memory, and their samples are there.
    #[inline(always)]
    unsafe fn load<const BITS: u32, const M: usize, R: Radix>(
        self,
        lane: u32,
        (rows, row_bytes): (u32, u32),
        strip: u32,
        shared: Shared<[u32; 4]>,
    ) -> [[u32; 4]; 8] {
        let Entry { address, bit, lead, rows: needed } =
            Entry::load(shared, Entry::piece(M as u32, R::POINTS as u32, self.which, self.warp));
        let bit = bit + self.bit::<BITS>((rows, strip), lane);
        let chunk = lane % 4;
        let address = address.wrapping_add(((bit / 128 + chunk) * 16) as u64);
        let mut chunks = [[0; 4]; 8];
        let last = needed.wrapping_sub(1);
        // Else the chunk has no sample of the strip.
        if needed > 0 && bit % 128 + 2 * STRIP * BITS > 128 * chunk {
            unroll!(r in 0 1 2 3 4 5 6 7 {
                // Rows that no spectrum of the job needs are others, which are multiplied by zeros.
                let row = (self.octet * 8 + r as u32).saturating_sub(lead);
                let row = if row < last { row } else { last };
                let here = address.wrapping_add(row as u64 * row_bytes as u64);
                chunks[r] = Global::<[u32; 4]>::from_raw_parts(here, 1).load(0);
            });
        }
        chunks
    }

    /// Decodes the samples in shared memory.
    ///
    /// Chunk `c` of row `r` first lies where column `r` of group `c` is to be; the numbers of groups are turned so that
    /// words that lanes load at once are in different banks.
    ///
    /// # Safety
    /// All lanes of the warp call it for the same item.
    #[inline(always)]
    unsafe fn decode<const BITS: u32, const M: usize, R: Radix>(
        self,
        chunks: [[u32; 4]; 8],
        lane: u32,
        (rows, strip): (u32, u32),
        constants: Constants,
        shared: Shared<[u32; 4]>,
    ) {
        let turn = lane / 8;
        let to = self.piece::<M, R>(lane, (lane % 4) ^ turn);
        unroll!(r in 0 1 2 3 4 5 6 7 {
            shared.store((to + r as u32 * pieces(M as u32)) as usize, chunks[r]);
        });
        bar_warp_sync(u32::MAX);
        let entry = Entry::load(shared, Entry::piece(M as u32, R::POINTS as u32, self.which, self.warp));
        let bit = (entry.bit + self.bit::<BITS>((rows, strip), lane)) % 128 + lane % 4 * GROUP as u32 * BITS;
        let words = shared.cast::<u32>();
        let at = |word: u32| self.piece::<M, R>(lane, (word / 4 % 4) ^ turn) * 4 + word % 4;
        let first = bit / 32;
        let at = [at(first), at(first + 1), at(first + 2), at(first + 3)];
        let mut columns = [[0u32; 4]; GROUP];
        unroll!(pair in 0 1 2 3 {
            let offset = |i: u32| (2 * pair as u32 + i) * 4 * pieces(M as u32);
            let pairs = if BITS == 12 {
                twelve::pairs(words, at, [offset(0), offset(1)], bit % 32)
            } else {
                let row = |i: u32| Packed::<BITS>::load(words, at, offset(i));
                Packed::<BITS>::pairs(row(0), row(1), bit % 32, constants)
            };
            unroll!(c in 0 1 2 3 4 5 6 7 {
                columns[c][pair] = pairs[c];
            });
        });
        bar_warp_sync(u32::MAX);
        let to = self.piece::<M, R>(lane, lane % 4);
        unroll!(c in 0 1 2 3 4 5 6 7 {
            shared.store((to + c as u32 * pieces(M as u32)) as usize, columns[c]);
        });
    }
}
