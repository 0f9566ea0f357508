//! Incoherent beams beside powers of tied-array beams: of the operands that a warp multiplies anyway, so that rows are
//! read once.
//!
//! # Precision
//! Powers of integers are exact, those of f16 have one rounding. A lane adds up 16 products of a chunk, or 8 of f16
//! weights, then chunks; four lanes have the inputs of a time. With `c` chunks and `f` times of a sum, sums are within
//! `(c + 16 + 2 + log2 f + 2) 2^-24` of the sum of magnitudes.

use fringes_device::fused::fma;
use fringes_device::{Global, GlobalMut, unroll};

use crate::output::{Lane, folded, stored, with};
use crate::source::Source;
use crate::work::Work;

/// Most incoherent beams.
pub const MOST: u32 = 2;

/// Inputs that gains are padded to a multiple of.
pub const PADDED: u32 = 64;

/// Incoherent beams of a launch.
#[derive(Clone, Copy)]
pub struct Incoherent {
    /// Gains `[beam][pair of inputs]`, of inputs that are padded with zeros to a multiple of [`PADDED`].
    pub gains: Global<[f32; 2]>,
    /// Sums `[channel][time / fold][beam]`.
    pub out: GlobalMut<f32>,
    /// How many, at most [`MOST`].
    pub count: u32,
}

impl Incoherent {
    /// Pairs of inputs of a beam's gains.
    #[inline(always)]
    fn pairs(&self, work: &Work) -> u32 {
        work.inputs.div_ceil(PADDED) * (PADDED / 2)
    }

    /// Whether the numbers make sense, and all is there that they say, of work that fits.
    #[inline(always)]
    pub fn fits(&self, work: &Work) -> bool {
        let sums = u64::from(work.channels) * u64::from(work.folded_times());
        self.count <= MOST
            && u64::from(self.count) * u64::from(self.pairs(work)) <= self.gains.len() as u64
            && u64::from(self.count) * sums <= self.out.len() as u64
    }
}

/// A lane's sums over inputs: of each beam at its two times.
#[derive(Clone, Copy)]
pub struct Powers {
    /// Of the chunks before.
    all: [[f32; 2]; MOST as usize],
    /// Of this chunk.
    chunk: [[f32; 2]; MOST as usize],
}

impl Powers {
    /// No sums.
    #[inline(always)]
    pub fn new() -> Self {
        Self { all: [[0.0; 2]; MOST as usize], chunk: [[0.0; 2]; MOST as usize] }
    }

    /// Adds the operands of half `half` of a chunk.
    ///
    /// # Safety
    /// - `of` fits ([`Incoherent::fits`]), and there is the chunk.
    /// - The operands are the lane's ([`Source::operands`]), `quarter` its number modulo 4.
    #[inline(always)]
    pub unsafe fn add<S: Source>(
        &mut self,
        of: &Incoherent,
        work: &Work,
        operands: [[u32; 4]; 2],
        [chunk, half, quarter]: [u32; 3],
    ) {
        let pairs = of.pairs(work);
        unroll!(k in 0 1 {
            let powers = S::operand_powers(operands[k]);
            let input = S::INPUTS * chunk + S::INPUTS / 2 * half + S::INPUTS / 4 * k as u32;
            let pair = input / 2 + quarter;
            unroll!(b in 0 1 {
                if (b as u32) < of.count {
                    unroll!(p in 0 1 {
                        if p < S::PAIRS {
                            let [first, second] = of.gains.load((pairs * b as u32 + pair + 4 * p as u32) as usize);
                            unroll!(h in 0 1 {
                                let sum = fma(powers[h][2 * p], first, self.chunk[b][h]);
                                self.chunk[b][h] = fma(powers[h][2 * p + 1], second, sum);
                            });
                        }
                    });
                }
            });
        });
        if half == 1 {
            unroll!(b in 0 1 {
                unroll!(h in 0 1 {
                    self.all[b][h] += self.chunk[b][h];
                    self.chunk[b][h] = 0.0;
                });
            });
        }
    }

    /// Stores the sums over a warp's times, `unit` times too large.
    ///
    /// # Safety
    /// - All lanes of the warp call it, `lane` being theirs, with the same beams, of work that they fit.
    #[inline(always)]
    pub unsafe fn put<S: Source>(&self, of: &Incoherent, work: &Work, lane: &Lane) {
        let (stores, times) = stored::<S>(work, lane);
        let all = u64::from(work.folded_times());
        unroll!(b in 0 1 {
            if (b as u32) < of.count {
                let mut sums = [0.0; 2];
                unroll!(h in 0 1 {
                    // All inputs of a time are those of four lanes.
                    let sum = with(with(self.all[b][h], 1), 2);
                    sums[h] = if lane.formed[h] { sum * (1.0 / S::POWER_UNIT) } else { 0.0 };
                });
                let sums = folded::<S>(sums, work.fold);
                unroll!(h in 0 1 {
                    if stores[h] && lane.quarter == 0 {
                        let row = u64::from(lane.channel) * all + u64::from(times[h]);
                        of.out.store((row * u64::from(of.count)) as usize + b, sums[h]);
                    }
                });
            }
        });
    }
}

impl Default for Powers {
    fn default() -> Self {
        Self::new()
    }
}
