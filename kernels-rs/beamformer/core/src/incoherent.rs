//! An incoherent beam beside powers of tied-array beams: of the operands that a warp multiplies anyway, so that rows
//! are read once.
//!
//! # Precision
//! Powers of integers are exact, those of f16 have one rounding. Four lanes share the inputs of a time. With `n` inputs
//! and `f` times of a sum, sums are within `(n / 4 + 5 + log2 f) 2^-24` of the sum of magnitudes, `n` rounded up to
//! whole chunks.

use fringes_device::fused::fma;
use fringes_device::{Global, GlobalMut, opaque, unroll};

use crate::output::{Lane, folded, stored, with};
use crate::source::Source;
use crate::work::Work;

/// Inputs that gains are padded to a multiple of.
pub const PADDED: u32 = 64;

/// The incoherent beam of a launch, if there is one.
#[derive(Clone, Copy)]
pub struct Incoherent {
    /// Gains of pairs of inputs, of inputs that are padded with zeros to a multiple of [`PADDED`]; empty if there is no
    /// beam.
    pub gains: Global<[f32; 2]>,
    /// Sums `[channel][time / fold]`.
    pub out: GlobalMut<f32>,
}

impl Incoherent {
    /// Whether there is a beam.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        !self.gains.is_empty()
    }

    /// Whether all is there that the beam takes, of work that fits.
    #[inline(always)]
    pub fn fits(&self, work: &Work) -> bool {
        let pairs = u64::from(work.inputs.div_ceil(PADDED)) * u64::from(PADDED / 2);
        let sums = u64::from(work.channels) * u64::from(work.folded_times());
        !self.is_there() || (pairs <= self.gains.len() as u64 && sums <= self.out.len() as u64)
    }
}

/// A lane's sums over inputs, at its two times.
#[derive(Clone, Copy)]
pub struct Powers {
    sums: [f32; 2],
}

impl Powers {
    /// No sums.
    #[inline(always)]
    pub fn new() -> Self {
        Self { sums: [0.0; 2] }
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
        operands: [[u32; 4]; 2],
        [chunk, half, quarter]: [u32; 3],
    ) {
        // Computed anew each time: addresses that are kept for all chunks take registers that there are not.
        let first = opaque((S::INPUTS / 2 * chunk + S::INPUTS / 4 * half + quarter) as i32) as u32;
        unroll!(k in 0 1 {
            let powers = S::operand_powers(operands[k]);
            unroll!(p in 0 1 {
                if p < S::PAIRS {
                    let pair = first + S::INPUTS / 8 * k as u32 + 4 * p as u32;
                    let [first, second] = of.gains.load(pair as usize);
                    unroll!(h in 0 1 {
                        let sum = fma(powers[h][2 * p], first, self.sums[h]);
                        self.sums[h] = fma(powers[h][2 * p + 1], second, sum);
                    });
                }
            });
        });
    }

    /// Stores the sums over a warp's times.
    ///
    /// # Safety
    /// All lanes of the warp call it, `lane` being theirs, with the same beam, of work that it fits.
    #[inline(always)]
    pub unsafe fn put<S: Source>(&self, of: &Incoherent, work: &Work, lane: &Lane) {
        let (stores, times) = stored::<S>(work, lane);
        let mut sums = [0.0; 2];
        unroll!(h in 0 1 {
            // All inputs of a time are those of four lanes.
            let sum = with(with(self.sums[h], 1), 2);
            sums[h] = if lane.formed[h] { sum * (1.0 / S::POWER_UNIT) } else { 0.0 };
        });
        let sums = folded::<S>(sums, work.fold);
        unroll!(h in 0 1 {
            if stores[h] && lane.quarter == 0 {
                let row = u64::from(lane.channel) * u64::from(work.folded_times()) + u64::from(times[h]);
                of.out.store(row as usize, sums[h]);
            }
        });
    }
}

impl Default for Powers {
    fn default() -> Self {
        Self::new()
    }
}
