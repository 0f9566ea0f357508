//! A strip of columns of a section of spectra.
//!
//! # Sums
//! Row `r` of samples belongs to tap `t` of spectrum `r - t`, whose sum is number `(r - t) % T`. Four taps:
//!
//! ```text
//!          sum 0        1        2        3
//! row 3    s 0, t 3*    s 1, t 2 s 2, t 1 s 3, t 0       * complete: stored
//! row 4    s 4, t 0     s 1, t 3* s 2, t 2 s 3, t 1
//! row 5    s 4, t 1     s 5, t 0 s 2, t 3* s 3, t 2
//! ```
//!
//! A pass of the loop takes [`rows`] rows, a multiple of `T`, so that numbers of sums are constants.
//!
//! # Samples
//! Rows are whole pieces of 16 bytes, so a thread's two samples are at the same bit of the same two words in every row,
//! and a [`Decoder`] that is made once takes them: `x 2^-B` and `x 2^-2B`, exactly. The weights of even columns are
//! `2^B` times larger, those of odd ones `2^2B`, exactly too.
//!
//! # Precision
//! Samples are exact, weights rounded to f32. With `u = 2^-24`, `|dz| <= u (T + 1) sum_t |w[t][p] x[t][p]|` to first
//! order in `u`: a rounding of the weight and, with fused multiply-adds, at most `T` of the sum.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::copy_async::{cp_async_cg_shared_global_16_src_size, cp_async_commit_group, cp_async_wait_group};
use fringes_device::fused::fma;
use fringes_device::index::{ctaid_x, tid_x};
use fringes_device::{Global, GlobalMut, Shared, opaque, unroll};
use fringes_kernels_common::decode::two::Decoder;

pub use fringes_kernel_abi::f_engine::filter::{self as abi, PITCH, SLOTS};
pub use fringes_kernel_abi::f_engine::filter::{LEAST_BITS, MOST_BITS, MOST_COLUMNS, PIECE, STRIP, THREADS, blocks};

/// Rows of samples that a pass of the loop takes.
///
/// A function of this crate, as the one below: with those of the other crate in their place the machine code differs.
pub const fn rows(taps: usize) -> u32 {
    abi::rows(taps)
}

/// Bytes of shared memory of a block.
pub const fn shared_bytes(taps: usize) -> u32 {
    abi::shared_bytes(taps)
}

/// Rows of a pass that are copied together, one a warp.
const WARPS: u32 = THREADS / 32;

/// Everything that the kernels get.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Packed samples.
    pub samples: Global<[u32; 4]>,
    /// Weights `[tap][column]`, scaled, of as many taps as the kernel has; pairs of columns.
    pub weights: Global<[f32; 2]>,
    /// First bit of each input.
    pub starts: Global<u64>,
    /// Filtered samples `[input][spectrum][column]`, pairs of columns.
    pub out: GlobalMut<[f32; 2]>,
    /// Bits of a sample.
    pub bits: u32,
    /// Samples of a step.
    pub columns: u32,
    /// Taps whose samples are there; weights of others are 0.
    pub taps: u32,
    /// Spectra of an input.
    pub spectra: u32,
    /// Spectra of a block.
    pub section: u32,
    /// Inputs.
    pub inputs: u32,
}

impl Arguments {
    /// Whether the sizes are those that the kernel of `most` taps takes, and the views hold them.
    #[inline(always)]
    fn fit(&self, most: usize) -> bool {
        let Self { samples, weights, starts, out, bits, columns, taps, spectra, section, inputs } = *self;
        (LEAST_BITS..=MOST_BITS).contains(&bits)
            && columns > 0
            && columns <= MOST_COLUMNS
            && columns.is_multiple_of(PIECE)
            && taps > 0
            && taps as usize <= most
            && section > 0
            && weights.len() as u64 >= most as u64 * (columns / 2) as u64
            && starts.len() as u64 >= inputs as u64
            && out.len() as u64 >= (spectra as u64 * inputs as u64).saturating_mul((columns / 2) as u64)
            && samples.len() as u64 <= u64::MAX / PIECE as u64
    }

    /// Whether the samples of an input that begins with bit `start` are there.
    #[inline(always)]
    fn holds(&self, start: u64) -> bool {
        // At most (2^32 + 31) 2^20 11 bits.
        let bits = (self.spectra as u64 + self.taps as u64 - 1) * (self.columns * self.bits) as u64;
        match start.checked_add(bits) {
            Some(end) => end <= self.samples.len() as u64 * PIECE as u64,
            None => false,
        }
    }
}

/// Rows of samples in device memory that a block takes.
#[derive(Clone, Copy)]
struct Source {
    samples: Global<[u32; 4]>,
    /// Piece of the first row that this thread copies.
    first: u64,
    /// Pieces from row to row.
    row: u32,
    /// Rows.
    count: u32,
    /// Whether the thread copies any.
    copies: bool,
}

impl Source {
    /// Begins to copy the rows of a pass to a slot, zeros for those that are not there.
    ///
    /// # Safety
    /// - `slot` has the rows of a pass, of [`PITCH`] pieces each, and no thread reads it before a wait for the copies
    ///   and a barrier.
    /// - Rows below `count` are in `samples`, from piece `first` of this thread on. All threads of the block call it.
    #[inline(always)]
    unsafe fn copy<const T: usize>(&self, pass: u32, slot: Shared<[u32; 4]>) {
        let warp = tid_x() / 32;
        if self.copies {
            unroll!(i in 0 1 2 3 4 5 6 7 {
                let i = i as u32 * WARPS;
                if i < rows(T) {
                    let row = pass * rows(T) + warp + i;
                    let here = row < self.count;
                    let piece = if here { self.first + row as u64 * self.row as u64 } else { 0 };
                    let to = slot.address(((warp + i) * PITCH + tid_x() % 32) as usize);
                    cp_async_cg_shared_global_16_src_size(to, self.samples.address(piece as usize), if here { 16 } else { 0 });
                }
            });
        }
        cp_async_commit_group();
    }
}

/// Filters a block's strip of its section.
///
/// Traps if the views do not hold what the sizes say.
///
/// # Safety
/// A block of [`THREADS`] threads, all of which call it.
#[inline(always)]
pub unsafe fn run<const T: usize>(arguments: Arguments) {
    let Arguments { samples, weights, starts, out, bits, columns, taps, spectra, section, inputs } = arguments;
    let shared = Shared::<[u32; 4]>::dynamic();
    if !arguments.fit(T) || (shared.len() as u32) < shared_bytes(T) / 16 {
        trap();
        return;
    }
    let (strips, sections) = (columns.div_ceil(STRIP), spectra.div_ceil(section.max(1)));
    let strip = ctaid_x() % strips.max(1);
    let part = ctaid_x() / strips.max(1) % sections.max(1);
    let input = ctaid_x() / strips.max(1) / sections.max(1);
    if input >= inputs || spectra == 0 {
        return;
    }
    let start = starts.load(input as usize);
    if !arguments.holds(start) {
        trap();
        return;
    }
    let first = part * section;
    let count = section.min(spectra - first);
    let strip_columns = STRIP.min(columns - strip * STRIP);
    let bit = start as u32 % PIECE;
    let pieces = strip_columns * bits / PIECE + if bit > 0 { 1 } else { 0 };
    let row = columns / PIECE * bits;
    let piece = start / PIECE as u64 + first as u64 * row as u64 + (strip * (STRIP / PIECE) * bits) as u64;
    let source = Source {
        samples,
        first: piece + (tid_x() % 32) as u64,
        row,
        count: count + taps - 1,
        copies: tid_x() % 32 < pieces,
    };
    let slot_pieces = rows(T) * PITCH;
    source.copy::<T>(0, shared);
    source.copy::<T>(1, shared.part(slot_pieces as usize, slot_pieces as usize));

    // Threads past the last column do what the last one does, and store nothing.
    let column = (2 * tid_x()).min(strip_columns - 2);
    let limit = if 2 * tid_x() < strip_columns { count } else { 0 };
    let bit = bit + column * bits;
    // The second word, if none follows, is the one before.
    let last = bit / 32 + 1 == 4 * pieces;
    let word = if last { bit / 32 - 1 } else { bit / 32 };
    let decoder = Decoder::new(bits, bit - 32 * word);
    let column = strip * STRIP + column;
    let mut w = [[0.0f32; 2]; T];
    unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 {
        if t < T {
            w[t] = weights.load(((t as u32 * columns + column) / 2) as usize);
        }
    });
    let half = (columns / 2) as usize;
    let place = (input as usize * spectra as usize + first as usize) * half + column as usize / 2;
    let mut columns = Columns::<T> {
        decoder,
        weights: w,
        sums: [[0.0; 2]; T],
        word,
        spectrum: 0u32.wrapping_sub(T as u32 - 1),
        limit,
        to: out.address(place).wrapping_sub(((T - 1) * half * 8) as u64),
        step: half as u64 * 8,
    };
    let passes = (count + T as u32 - 1).div_ceil(rows(T));
    // Passes from the second one on that complete spectra of this block in all rows, for all threads.
    let whole = if strip_columns == STRIP { (count + T as u32 - 1) / rows(T) } else { 0 };
    let (mut pass, mut slot) = (0, 0);
    while pass < passes {
        cp_async_wait_group::<1>();
        bar_sync_0();
        // The slot of the pass before this one.
        let free = if slot == 0 { SLOTS - 1 } else { slot - 1 };
        source.copy::<T>(pass + 2, shared.part((free * slot_pieces) as usize, slot_pieces as usize));
        let words = shared.part((slot * slot_pieces) as usize, slot_pieces as usize).cast::<u32>();
        if pass > 0 && pass < whole {
            columns.pass::<false>(words);
        } else {
            columns.pass::<true>(words);
        }
        pass += 1;
        slot = if slot == SLOTS - 1 { 0 } else { slot + 1 };
    }
    cp_async_wait_group::<0>();
}

/// A thread's columns.
struct Columns<const T: usize> {
    decoder: Decoder,
    weights: [[f32; 2]; T],
    sums: [[f32; 2]; T],
    /// Word of a row in which the first sample begins.
    word: u32,
    /// Spectrum that the next row completes, from the first of the block on.
    spectrum: u32,
    /// Spectra that are stored.
    limit: u32,
    /// Address of that spectrum's values, which is none before the first and after the last one.
    to: u64,
    /// Bytes from spectrum to spectrum.
    step: u64,
}

impl<const T: usize> Columns<T> {
    /// Takes the rows of a pass. `EDGE`: not all complete a spectrum that is stored.
    ///
    /// # Safety
    /// The rows are in the slot. Without `EDGE`, all spectra that the rows complete are below the limit.
    #[inline(always)]
    unsafe fn pass<const EDGE: bool>(&mut self, words: Shared<u32>) {
        unroll!(r in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 {
            if (r as u32) < rows(T) {
                let at = (r as u32 * PITCH * 4 + self.word) as usize;
                let x = self.decoder.decode(words.load(at), words.load(at + 1));
                unroll!(c in 0 1 {
                    self.sums[r % T][c] = self.weights[0][c] * x[c];
                    unroll!(t in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 {
                        if t < T {
                            let sum = &mut self.sums[(r + T - t) % T][c];
                            *sum = fma(self.weights[t][c], x[c], *sum);
                        }
                    });
                });
                let complete = self.sums[(r + 1) % T];
                if EDGE {
                    // So that the sums are not left to be computed where they are stored.
                    let complete = complete.map(|sum| f32::from_bits(opaque(sum.to_bits() as i32) as u32));
                    if self.spectrum.wrapping_add(r as u32) < self.limit {
                        GlobalMut::from_raw_parts(self.to, 1).store(0, complete);
                    }
                } else {
                    GlobalMut::from_raw_parts(self.to, 1).store(0, complete);
                }
                self.to = self.to.wrapping_add(self.step);
            }
        });
        self.spectrum = self.spectrum.wrapping_add(rows(T));
    }
}
