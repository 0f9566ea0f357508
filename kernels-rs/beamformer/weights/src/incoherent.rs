//! Incoherent beams: weighted sums of powers of inputs, of rows.
//!
//! A block makes all beams of a block of times of a channel, [`BEAMS`] at a time. A lane has 16 bytes of each of its
//! inputs' rows, so a warp reads four rows at once and eight warps the rows of 32 inputs; lanes and warps add up what
//! they have in a fixed order at the end. So results have the same bits on any grid.
//!
//! # Floor
//! Bytes: the rows once for every [`BEAMS`] beams, and 4 bytes a sum.
//!
//! # Precision
//! Powers of integers are exact, those of f16 have one rounding. With `n` inputs and `f` times of a sum, sums are
//! within `(n / 32 + 2 + 8 + log2 f + 3) 2^-24` of the sum of magnitudes, `n / 32` rounded up.

use fringes_device::barrier::bar_sync_0;
use fringes_device::control::trap;
use fringes_device::fused::fma;
use fringes_device::index::{ctaid_x, nctaid_x, tid_x};
use fringes_device::warp::shfl_sync_bfly_b32;
use fringes_device::{Global, GlobalMut, Shared, unroll};
use fringes_kernels_beamformer_core::powers::Powers;
use fringes_kernels_beamformer_core::source::Source;

/// Beams that are made at once.
pub(crate) const BEAMS: u32 = 4;

/// Warps of a block.
const WARPS: u32 = 8;

/// Times of 16 bytes at most.
const MOST_TIMES: usize = 16;

/// What is summed.
pub(crate) struct Incoherent {
    /// `[channel][block of times][input][16 bytes of 8]`.
    pub(crate) rows: Global<[u32; 4]>,
    /// Gains `[beams / 4, rounded up][input][4]`.
    pub(crate) gains: Global<[f32; 4]>,
    /// `[channel][time / fold, rounded up][beam]`.
    pub(crate) out: GlobalMut<f32>,
    pub(crate) channels: u32,
    pub(crate) inputs: u32,
    /// Beams.
    pub(crate) count: u32,
    /// Times of a channel.
    pub(crate) times: u32,
    /// Times that are summed: 1, 2, 4, 8 or 16.
    pub(crate) fold: u32,
}

/// Sums of a lane: times and beams.
type Sums = [[f32; BEAMS as usize]; MOST_TIMES];

impl Incoherent {
    /// Sums of a channel.
    #[inline(always)]
    fn folded_times(&self) -> u32 {
        let shift = self.fold.trailing_zeros() & 31;
        (self.times >> shift) + u32::from(self.times & self.fold.wrapping_sub(1) != 0)
    }

    /// Blocks of times of a channel.
    #[inline(always)]
    fn blocks<S: Source>(&self) -> u32 {
        self.times.div_ceil(S::ROW_TIMES)
    }

    /// Groups of beams.
    #[inline(always)]
    fn groups(&self) -> u32 {
        self.count.div_ceil(BEAMS)
    }

    #[inline(always)]
    #[allow(clippy::manual_saturating_arithmetic, reason = "the launch checks of all kernels are written so")]
    fn fits<S: Source>(&self) -> bool {
        let folds = self.fold >= 1 && self.fold <= 16 && self.fold & (self.fold - 1) == 0;
        let sizes = self.channels >= 1
            && self.inputs >= 1
            && self.inputs <= 1 << 24
            && self.count >= 1
            && self.count <= 1 << 24
            && self.times >= 1
            && self.times <= 1 << 31;
        if !(folds && sizes) {
            return false;
        }
        let blocks = u64::from(self.channels) * u64::from(self.blocks::<S>());
        let rows = blocks.checked_mul(u64::from(self.inputs)).unwrap_or(u64::MAX);
        let sums = u64::from(self.channels) * u64::from(self.folded_times());
        blocks < 1 << 31
            && rows <= self.rows.len() as u64 / 8
            && u64::from(self.groups()) * u64::from(self.inputs) <= self.gains.len() as u64
            && sums.checked_mul(u64::from(self.count)).unwrap_or(u64::MAX) <= self.out.len() as u64
    }

    #[inline(always)]
    pub(crate) fn run<S: Source + Powers>(&self) {
        if !self.fits::<S>() {
            trap();
            return;
        }
        let (blocks, groups) = (self.blocks::<S>(), self.groups());
        let mut block = ctaid_x();
        while block < blocks * self.channels {
            let channel = block.checked_div(blocks).unwrap_or_default();
            let mut group = 0;
            while group < groups {
                // SAFETY: the numbers fit, and all threads of the block are here.
                unsafe {
                    self.add_up::<S>(block, group);
                    bar_sync_0();
                    self.store::<S>(channel, block - channel * blocks, group);
                    bar_sync_0();
                }
                group += 1;
            }
            block += nctaid_x();
        }
    }

    /// Sums of a warp's inputs `[warp][time][4]` in shared memory.
    ///
    /// # Safety
    /// All threads of the block call it; the numbers fit, block of times and group of beams exist.
    #[inline(always)]
    unsafe fn add_up<S: Source + Powers>(&self, block: u32, group: u32) {
        let (warp, lane) = (tid_x() / 32, tid_x() % 32);
        let (piece, first) = (lane % 8, 4 * warp + lane / 8);
        let mut sums: Sums = [[0.0; BEAMS as usize]; MOST_TIMES];
        let rows = u64::from(block) * u64::from(self.inputs);
        let gains = u64::from(group) * u64::from(self.inputs);
        let mut input = first;
        while input < self.inputs {
            let words = self.rows.load((8 * (rows + u64::from(input)) + u64::from(piece)) as usize);
            let gains = self.gains.load((gains + u64::from(input)) as usize);
            unroll!(w in 0 1 2 3 {
                let powers = S::powers(words[w]);
                unroll!(i in 0 1 2 3 {
                    if i < S::WORD_TIMES {
                        let time = w * S::WORD_TIMES + i;
                        unroll!(b in 0 1 2 3 { sums[time][b] = fma(powers[i], gains[b], sums[time][b]); });
                    }
                });
            });
            input += 4 * WARPS;
        }
        let to = Shared::<[f32; 4]>::dynamic();
        unroll!(t in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 {
            if t < 4 * S::WORD_TIMES {
                unroll!(b in 0 1 2 3 {
                    unroll!(bit in 3 4 {
                        let other = shfl_sync_bfly_b32(sums[t][b].to_bits(), 1 << bit, 31, u32::MAX);
                        sums[t][b] += f32::from_bits(other);
                    });
                });
                if lane < 8 {
                    let time = 4 * S::WORD_TIMES * piece as usize + t;
                    to.store(warp as usize * S::ROW_TIMES as usize + time, sums[t]);
                }
            }
        });
    }

    /// Adds up what the warps have, `fold` times, and stores it.
    ///
    /// # Safety
    /// All threads of the block call it; the sums are in shared memory; channel, block and group exist.
    #[inline(always)]
    unsafe fn store<S: Source + Powers>(&self, channel: u32, block: u32, group: u32) {
        let from = Shared::<f32>::dynamic();
        let shift = self.fold.trailing_zeros() & 31;
        let all = (S::ROW_TIMES >> shift) * BEAMS;
        let mut at = tid_x();
        while at < all {
            let (sum, beam) = (at / BEAMS, at % BEAMS);
            let first = block * S::ROW_TIMES + (sum << shift);
            if first < self.times && BEAMS * group + beam < self.count {
                let mut total = 0.0;
                let mut t = 0;
                // Times past the last one are anything.
                while t < self.fold && first + t < self.times {
                    let mut of_time = 0.0;
                    unroll!(warp in 0 1 2 3 4 5 6 7 {
                        let row = warp as u32 * S::ROW_TIMES + (sum << shift) + t;
                        of_time += from.load((BEAMS * row + beam) as usize);
                    });
                    total += of_time;
                    t += 1;
                }
                let row = u64::from(channel) * u64::from(self.folded_times()) + u64::from(first >> shift);
                let index = row * u64::from(self.count) + u64::from(BEAMS * group + beam);
                self.out.store(index as usize, total * (1.0 / S::UNIT));
            }
            at += 256;
        }
    }
}
