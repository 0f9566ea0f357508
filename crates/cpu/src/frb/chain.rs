//! What the chain is of, and its first steps: sums over lines, and padded transforms of what is left.

use std::sync::Arc;

use fringes_types::VoltageSample;
use ndarray::{ArrayView2, ArrayView5, s};
use num_complex::Complex;
use rustfft::{Fft, FftPlanner};

type C32 = Complex<f32>;

/// The chain's arrays and numbers. Shapes are trusted.
#[derive(Debug, Clone, Copy)]
pub struct FrbChain<'a> {
    /// `[frequency][pol][out][line][feed]`, standard layout.
    pub weights: ArrayView5<'a, C32>,
    /// Outputs of the padded transform that become beams, `[frequency][b]`, each below `padded`.
    pub map: ArrayView2<'a, u32>,
    /// Length that a line is zero-padded to.
    pub padded: usize,
    /// Whether voltages are conjugated first.
    pub conjugate: bool,
    /// Whether the exponent of the transform of a line is positive.
    pub line_positive: bool,
    /// Whether the exponent of the transform over times is positive.
    pub time_positive: bool,
    /// Times of a block, which become as many finer channels.
    pub length: usize,
    /// Finer channels that are summed.
    pub group: usize,
    /// Blocks that are summed.
    pub blocks: usize,
    /// Whether polarisations have sums of their own.
    pub per_pol: bool,
    /// Whether 0 Hz is in the middle: index `u` holds group `u ^ (groups / 2)`.
    pub centre: bool,
    /// What each index `u` is multiplied by, `length / group` numbers.
    pub factors: &'a [f32],
}

impl FrbChain<'_> {
    /// Number of frequencies.
    pub fn frequencies(&self) -> usize {
        self.weights.dim().0
    }

    /// Number of polarisations.
    pub fn pols(&self) -> usize {
        self.weights.dim().1
    }

    /// Number of sums over lines.
    pub fn outs(&self) -> usize {
        self.weights.dim().2
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.outs() * self.map.ncols()
    }

    /// Number of sums of a polarisation or of all.
    pub fn products(&self) -> usize {
        if self.per_pol { self.pols() } else { 1 }
    }

    /// Number of groups of finer channels.
    pub fn groups(&self) -> usize {
        self.length / self.group
    }

    /// Times of an output.
    pub fn sum_times(&self) -> usize {
        self.length * self.blocks
    }

    /// The transform of a line.
    pub(super) fn line_fft(&self) -> Arc<dyn Fft<f32>> {
        plan(self.padded, self.line_positive)
    }

    /// The transform over times.
    pub(super) fn time_fft(&self) -> Arc<dyn Fft<f32>> {
        plan(self.length, self.time_positive)
    }

    /// Writes `J[out]`, `padded` values, of voltages `[time][frequency][pol][line][feed]` at one place; `values` is of
    /// that length.
    pub(super) fn line_beams<V: VoltageSample>(
        &self,
        voltages: &ArrayView5<'_, V>,
        [time, frequency, pol, out]: [usize; 4],
        fft: &dyn Fft<f32>,
        values: &mut [C32],
        scratch: &mut [C32],
    ) {
        values.fill(C32::default());
        let weights = self.weights.slice(s![frequency, pol, out, .., ..]);
        let voltages = voltages.slice(s![time, frequency, pol, .., ..]);
        for (weights, voltages) in weights.rows().into_iter().zip(voltages.rows()) {
            for ((value, weight), x) in values.iter_mut().zip(&weights).zip(&voltages) {
                let x = x.to_c32();
                *value += weight * if self.conjugate { x.conj() } else { x };
            }
        }
        fft.process_with_scratch(values, scratch);
    }
}

fn plan(length: usize, positive: bool) -> Arc<dyn Fft<f32>> {
    let mut planner = FftPlanner::new();
    if positive { planner.plan_fft_inverse(length) } else { planner.plan_fft_forward(length) }
}

/// Bytes of scratch of one unit of work: a block of transforms of lines, one of each transform, and what they take
/// beside it.
pub fn scratch_bytes(padded: usize, length: usize) -> u64 {
    let beside = |length| plan(length, true).get_inplace_scratch_len() as u64;
    let (padded_u64, length_u64) = (padded as u64, length as u64);
    let values = padded_u64 * length_u64 + padded_u64 + length_u64 + beside(padded).max(beside(length));
    values * size_of::<C32>() as u64
}
