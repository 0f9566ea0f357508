//! Rows of bits one behind the other: of what is held and of what comes behind it from the chunk, the bits of a byte
//! from the highest on.
//!
//! ```text
//! held   |...held held he|                      held_bit anywhere
//! chunk      |chunk chunk chunk|                chunk_bit anywhere
//! to     |held held he:ch|unk chu|nk ....|      to_bit of a word; bits of the last word behind the end become anything
//! ```
//!
//! A thread writes words of 32 bits, each of two words of a source, or of two sources; pieces of 16 bytes where a
//! source and its target begin with one. Samples of whole bytes keep their bytes' order, since only whole bytes move.
//! The target is the held rows themselves, behind what is held, or those of the next chunk: one launch does all that a
//! chunk asks for.

use fringes_device::arithmetic::shf_l_wrap_b32;
use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::index::{ctaid_x, ntid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, unroll};
use fringes_kernels_common::decode::{BIG_ENDIAN, in_order};

use crate::THREADS;

pub use fringes_kernel_abi::f_engine::samples::{APPEND_WORDS as WORDS, SPAN, SPAN_PIECES};

/// Rows to be put somewhere.
#[derive(Clone, Copy)]
pub struct Append {
    /// The chunk.
    pub chunk: Global<u32>,
    /// What is held.
    pub held: GlobalMut<u32>,
    /// What the next chunk finds held.
    pub next: GlobalMut<u32>,
    /// Begins with those of the rows, `[row][SPAN]` numbers of 64 bits.
    pub spans: Global<[u32; 4]>,
    /// Rows.
    pub rows: u32,
    /// Blocks of a row, which take its tiles in turn.
    pub tiles: u32,
}

/// A word with its bytes in the other order: its bits in that of the stream.
#[inline(always)]
fn turned(word: u32) -> u32 {
    in_order(word, BIG_ENDIAN)
}

/// Bits `bit` to `bit + count` of the stream, from the highest on; what is below them is anything.
///
/// # Safety
/// - They are in the view; `count` is 1 to 32.
#[inline(always)]
unsafe fn bits(view: Global<u32>, bit: u64, count: u32) -> u32 {
    let (word, shift) = ((bit / 32) as usize, bit as u32 % 32);
    let high = turned(view.load(word));
    // No word is looked at of which nothing is needed: others may be writing it.
    let low = if shift + count > 32 { turned(view.load(word + 1)) } else { 0 };
    shf_l_wrap_b32(low, high, shift)
}

impl Append {
    /// Writes a block's tiles.
    ///
    /// # Safety
    /// All threads of the block call it. What spans write does not overlap, and none writes a word that another one
    /// reads.
    #[inline(always)]
    pub unsafe fn run(self) {
        let (row, tile) = (ctaid_x() / self.tiles.max(1), ctaid_x() % self.tiles.max(1));
        if row >= self.rows {
            return;
        }
        if ntid_x() != THREADS || self.spans.len() as u64 / (SPAN_PIECES as u64) < self.rows as u64 {
            return trap();
        }
        // Over the link, by one thread each.
        let span = Shared::<[u32; 4]>::dynamic();
        if span.len() < SPAN_PIECES {
            return trap();
        }
        if (tid_x() as usize) < SPAN_PIECES {
            span.store(tid_x() as usize, self.spans.load(row as usize * SPAN_PIECES + tid_x() as usize));
        }
        bar_sync_0();
        let pair = |i: usize| {
            let [a, b, c, d] = span.load(i);
            (a as u64 | (b as u64) << 32, c as u64 | (d as u64) << 32)
        };
        let ((held_bit, held_bits), (chunk_bit, chunk_bits), (to_bit, to_next)) = (pair(0), pair(1), pair(2));
        let to = if to_next == 0 { self.held } else { self.next };
        let held: Global<u32> = Global::from_raw_parts(self.held.address(0), self.held.len());
        let end = held_bits.saturating_add(chunk_bits);
        // At most 2^58 words of 32 bits.
        let holds = |first: u64, bits: u64, words: usize| bits == 0 || first.saturating_add(bits) <= words as u64 * 32;
        if !holds(held_bit, held_bits, held.len())
            || !holds(chunk_bit, chunk_bits, self.chunk.len())
            || !holds(to_bit, end, to.len())
            || to_bit % 32 != 0
        {
            return trap();
        }
        let first = (to_bit / 32) as usize;
        let mut ahead = tile as u64 * EACH;
        while 32 * ahead < end {
            let (at, behind) = (32 * ahead, 32 * (ahead + EACH));
            // Nearly all that a block writes at a time is of one source, a word behind its last one included.
            if behind < held_bits {
                whole(held, held_bit + at, to, first + ahead as usize);
            } else if at >= held_bits && behind < end {
                whole(self.chunk, chunk_bit + (at - held_bits), to, first + ahead as usize);
            } else {
                let mut word = ahead + tid_x() as u64;
                while word < ahead + EACH && 32 * word < end {
                    let at = 32 * word;
                    let left = end - at;
                    let wanted = if left < 32 { left as u32 } else { 32 };
                    // Bits of the word that are held.
                    let kept = held_bits.saturating_sub(at);
                    let kept = if kept < wanted as u64 { kept as u32 } else { wanted };
                    let mut value = if kept > 0 { bits(held, held_bit + at, kept) } else { 0 };
                    if kept < wanted {
                        let from = chunk_bit + (at + kept as u64 - held_bits);
                        let new = bits(self.chunk, from, wanted - kept);
                        value = if kept > 0 {
                            let low = u32::MAX >> kept;
                            (value & !low) | new >> kept
                        } else {
                            new
                        };
                    }
                    to.store(first + word as usize, turned(value));
                    word += THREADS as u64;
                }
            }
            ahead += self.tiles as u64 * EACH;
        }
    }
}

/// Tiles that a block writes at a time: so many pieces of 16 bytes of a thread are on their way.
const TILES: usize = 4;

/// Words of them.
const EACH: u64 = TILES as u64 * (WORDS * THREADS) as u64;

/// Writes [`EACH`] words from word `word` of the target on, of the bits of a source from `bit` on.
///
/// # Safety
/// - All threads of the block call it.
/// - The target has the words, the source their bits and one word more; nothing writes what it reads.
#[inline(always)]
unsafe fn whole(from: Global<u32>, bit: u64, to: GlobalMut<u32>, word: usize) {
    let source = (bit / 32) as usize;
    let pieces = bit.is_multiple_of(32) && (from.address(source) | to.address(word)).is_multiple_of(16);
    if pieces {
        let from = from.part(source, EACH as usize).cast::<[u32; 4]>();
        let to = to.part(word, EACH as usize).cast::<[u32; 4]>();
        let mut values = [[0; 4]; TILES];
        unroll!(i in 0 1 2 3 {
            values[i] = from.load(i * THREADS as usize + tid_x() as usize);
        });
        unroll!(i in 0 1 2 3 {
            to.store(i * THREADS as usize + tid_x() as usize, values[i]);
        });
        return;
    }
    let mut tile = 0;
    while tile < EACH {
        whole_tile(from, bit + 32 * tile, to, word + tile as usize);
        tile += (WORDS * THREADS) as u64;
    }
}

/// Writes a tile's words from word `word` of the target on, of the bits of a source from `bit` on.
///
/// # Safety
/// - All threads of the block call it.
/// - The target has the tile's words, the source their bits and one more; nothing writes what it reads.
#[inline(always)]
unsafe fn whole_tile(from: Global<u32>, bit: u64, to: GlobalMut<u32>, word: usize) {
    let (source, shift) = ((bit / 32) as usize + tid_x() as usize, bit as u32 % 32);
    let place = word + tid_x() as usize;
    let (from, to) = (from.part(source, from.len() - source), to.part(place, to.len() - place));
    let mut values = [0; WORDS as usize];
    unroll!(i in 0 1 2 3 {
        let high = turned(from.load(i * THREADS as usize));
        let low = turned(from.load(i * THREADS as usize + 1));
        values[i] = turned(shf_l_wrap_b32(low, high, shift));
    });
    unroll!(i in 0 1 2 3 {
        to.store(i * THREADS as usize, values[i]);
    });
}
