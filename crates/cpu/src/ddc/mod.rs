//! Narrowband down-conversion, as `fringes_reference::ddc`, in f32.
//!
//! Samples are `[input][time]`, outputs `[input][output]`. The mixer is folded into the filter: with complex taps
//! `c_k = h_k e^(2 pi i f k)`, an output is a dot product of samples and taps, turned by the phase of its first sample,
//! `y_j = e^(2 pi i (f S j + b)) sum_k x[S j + k] c_k`.
//!
//! Real or complex, an output is two real dot products over `f32` values in the order in which they lie in memory:
//!
//! | samples | values | taps of the real part | taps of the imaginary part |
//! |---|---|---|---|
//! | real | `x0 x1 x2 ..` | `re c0, re c1, ..` | `im c0, im c1, ..` |
//! | complex | `re x0, im x0, re x1, im x1, ..` | `re c0, -im c0, re c1, -im c1, ..` | `im c0, re c0, im c1, re c1, ..` |
//!
//! Each dot product is [`LANES`] partial sums, one for each position modulo [`LANES`], added in a fixed tree. The
//! phases come from a 128-bit fixed-point product, so no age of the run loses any of them.

mod kernel;
mod output;

use std::f64::consts::TAU;
use std::ops::Range;

use fringes_types::{Sample, SampleFormat};
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};
use num_complex::Complex;
use rayon::prelude::*;

use self::kernel::dot_pairs;
use crate::blocks::share;
use crate::memory::zeroed_vec;

pub use self::kernel::LANES;
pub use self::output::OutputValue;

/// Outputs whose phases share one evaluation of sine and cosine.
const ROTATORS: usize = 256;

/// Most outputs of one unit of work.
const BLOCK_OUTPUTS: usize = 1024;

/// Samples that one unit of work aims to hold at most.
const BLOCK_SAMPLES: usize = 1 << 16;

/// A prepared down-conversion; see the [module](self).
#[derive(Debug, Clone)]
pub struct DownConversion {
    taps: usize,
    decimation: usize,
    /// `f` and `f S` as 128-bit fractions of a turn.
    turn: u128,
    /// Phase of sample 0 in fixed point, which retunes change, and that of the plan, which is added in f64.
    first: u128,
    phase_turns: f64,
    /// What outputs are multiplied by.
    gain: f64,
    /// Taps of the real and imaginary part for real samples, `taps` values each.
    real: [Vec<f32>; 2],
    /// The same for complex samples, `2 taps` values each.
    complex: [Vec<f32>; 2],
    /// `e^(2 pi i f S r)` for `r < ROTATORS`.
    rotators: Vec<Complex<f64>>,
}

/// `value mod 1` as a 128-bit fraction, exact for magnitudes of at least `2^-75`; 0 for values that are not finite.
fn turn_fraction(value: f64) -> u128 {
    let magnitude = (value.abs().fract() * 2f64.powi(128)) as u128;
    if value < 0.0 { magnitude.wrapping_neg() } else { magnitude }
}

/// `e^(2 pi i t)` of a 128-bit fraction `t` of a turn.
fn cis_turns(turns: u128, offset_turns: f64) -> Complex<f64> {
    Complex::cis(TAU * ((turns >> 75) as f64 * 2f64.powi(-53) + offset_turns))
}

impl DownConversion {
    /// Folds a mixer of `frequency` cycles per sample and `phase_turns` turns into a filter.
    ///
    /// # Panics
    /// If the filter is empty or `decimation` is 0.
    pub fn new(filter: &[f64], decimation: usize, frequency: f64, phase_turns: f64) -> Self {
        assert!(!filter.is_empty() && decimation > 0, "an empty filter or a decimation of 0");
        Self::mixed(filter, decimation, turn_fraction(frequency), 0, phase_turns)
    }

    /// The same filter with a mixer of `turn` a sample and the phase `first` of sample 0, as fractions of a turn.
    fn mixed(filter: &[f64], decimation: usize, turn: u128, first: u128, phase_turns: f64) -> Self {
        let mixed: Vec<Complex<f64>> =
            filter.iter().enumerate().map(|(k, &h)| h * cis_turns(turn.wrapping_mul(k as u128), 0.0)).collect();
        let of = |part: fn(&Complex<f64>) -> f64| mixed.iter().map(|c| part(c) as f32).collect::<Vec<_>>();
        let pairs = |part: fn(&Complex<f64>) -> [f64; 2]| {
            mixed.iter().flat_map(|c| part(c).map(|value| value as f32)).collect::<Vec<_>>()
        };
        let step = turn.wrapping_mul(decimation as u128);
        Self {
            taps: filter.len(),
            decimation,
            turn,
            first,
            phase_turns: phase_turns.fract(),
            gain: 1.0,
            real: [of(|c| c.re), of(|c| c.im)],
            complex: [pairs(|c| [c.re, -c.im]), pairs(|c| [c.im, c.re])],
            rotators: (0..ROTATORS as u128).map(|r| cis_turns(step.wrapping_mul(r), 0.0)).collect(),
        }
    }

    /// Multiplies every output by `gain`, in f64.
    #[must_use]
    pub fn with_gain(mut self, gain: f64) -> Self {
        self.gain = gain;
        self
    }

    /// The down-conversion by the same filter with another mixer frequency, whose phase is that of this one at absolute
    /// sample `at_sample`: exactly, in 2^-128 turns.
    ///
    /// # Panics
    /// If the filter has not as many taps.
    #[must_use]
    pub fn retuned(&self, filter: &[f64], at_sample: u64, frequency: f64) -> Self {
        assert_eq!(filter.len(), self.taps, "the same filter");
        let turn = turn_fraction(frequency);
        let change = self.turn.wrapping_sub(turn).wrapping_mul(u128::from(at_sample));
        let first = self.first.wrapping_add(change);
        Self::mixed(filter, self.decimation, turn, first, self.phase_turns).with_gain(self.gain)
    }

    /// Number of outputs of `samples` samples: `(samples - taps) / decimation + 1`, or 0 if there are fewer than taps.
    pub fn outputs(&self, samples: usize) -> usize {
        samples.checked_sub(self.taps).map_or(0, |rest| rest / self.decimation + 1)
    }

    /// Filter taps.
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// Bytes of scratch of one unit of work of `outputs` outputs, where samples must be copied to contiguous `f32`
    /// values.
    pub fn scratch_bytes(&self, complex: bool, outputs: usize) -> u64 {
        let steps = (outputs as u64).saturating_sub(1).saturating_mul(self.decimation as u64);
        steps.saturating_add(self.taps as u64).saturating_mul(if complex { 8 } else { 4 })
    }

    /// How to split the work so that scratch stays within `limit` bytes; `None` if not even one output at a time fits.
    pub fn split(&self, complex: bool, limit: Option<u64>) -> Option<Split> {
        let threads = rayon::current_num_threads();
        let block = (BLOCK_SAMPLES / self.decimation).clamp(1, BLOCK_OUTPUTS);
        let Some(limit) = limit else { return Some(Split { outputs: block, parallel: threads }) };
        // Halving finds a block that fits every thread's share; after that, fewer threads.
        let share = limit / threads as u64;
        let fits = |outputs: &usize| self.scratch_bytes(complex, *outputs) <= share;
        let outputs = std::iter::successors(Some(block), |&n| (n > 1).then_some(n / 2)).find(fits).unwrap_or(1);
        let parallel = limit.checked_div(self.scratch_bytes(complex, outputs)).map_or(threads, |n| n as usize);
        (parallel > 0).then_some(Split { outputs, parallel: parallel.min(threads) })
    }

    /// Multiplies outputs `first ..` by their phases and the gain; `sums[m]` is output `first + m` before that. Gives
    /// each value to `put` with its place.
    #[inline(always)]
    fn rotate(&self, first: u64, sums: &[Complex<f32>], mut put: impl FnMut(usize, Complex<f64>)) {
        let mut sums = sums.iter().enumerate();
        let mut output = first;
        while sums.len() > 0 {
            let within = (output % ROTATORS as u64) as usize;
            let sample = u128::from(output - within as u64).wrapping_mul(self.decimation as u128);
            let turns = self.first.wrapping_add(self.turn.wrapping_mul(sample));
            let base = cis_turns(turns, self.phase_turns) * self.gain;
            let rotators = &self.rotators[within..];
            output = output.wrapping_add(rotators.len() as u64);
            for (rotator, (place, sum)) in rotators.iter().zip(&mut sums) {
                put(place, Complex::new(f64::from(sum.re), f64::from(sum.im)) * (base * rotator));
            }
        }
    }
}

/// Copies samples to contiguous `f32` values, complex ones as pairs.
fn to_values<S: Sample>(samples: ArrayView1<'_, S>, values: &mut Vec<f32>) {
    fn fill<'a, T: Copy + Into<f32> + 'a>(parts: impl ExactSizeIterator<Item = &'a T>, values: &mut Vec<f32>) {
        values.resize(parts.len(), 0.0);
        values.iter_mut().zip(parts).for_each(|(value, &part)| *value = part.into());
    }
    // Integers, real or complex, are a slice of integers where they are contiguous.
    if let Some(samples) = samples.as_slice() {
        match S::FORMAT {
            SampleFormat::Int8 => return fill(bytemuck::cast_slice::<S, i8>(samples).iter(), values),
            SampleFormat::Int16 => return fill(bytemuck::cast_slice::<S, i16>(samples).iter(), values),
            _ => {}
        }
    }
    values.clear();
    if S::COMPLEX {
        let parts = samples.iter().map(|sample| sample.to_c32());
        values.extend(parts.flat_map(|sample| [sample.re, sample.im]));
    } else {
        values.extend(samples.iter().map(|sample| sample.re_f32()));
    }
}

/// The samples as `f32` values without a copy, if they are that already.
fn as_values<'a, S: Sample>(samples: &ArrayView1<'a, S>) -> Option<&'a [f32]> {
    if S::FORMAT != SampleFormat::Float32 {
        return None;
    }
    bytemuck::try_cast_slice(samples.to_slice()?).ok()
}

/// How work is split: outputs of one unit of work, and units in progress at a time at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Outputs of a unit of work.
    pub outputs: usize,
    /// Units in progress at a time.
    pub parallel: usize,
}

/// Outputs of a unit of work that are computed before they are written.
const TOGETHER: usize = 256;

/// A unit of work: outputs of an input.
struct Unit<'a, T> {
    input: usize,
    /// Column of the first one.
    first: usize,
    out: &'a mut [T],
}

/// Down-converts samples `[input][time]` whose first column is absolute sample `first_output * decimation`, and writes
/// outputs `first_output ..` to `out`, `[input][output]`, as many as its columns.
///
/// Gives the number of outputs of each input that were [saturated](OutputValue). Those of the columns `absent` (of each
/// input, ascending, and none that touch; or no ranges at all) do not count.
///
/// The result depends neither on `split` nor on how a recording is cut into calls.
///
/// # Precision
/// With `n = ceil(taps / 8)` for real and `ceil(taps / 4)` for complex samples, `u = 2^-24` and gain `g`,
/// `|y - y_reference| <= (1.5 n + 8) u |g| sum_k |x_k| |h_k|`: `n + 4` roundings on the way through a partial sum and
/// the tree (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1), in each of two parts, and one of the
/// result. Phases and the gain are f64, relative error below `2^-50`. Integers are the nearest ones of values within
/// this bound: each part within `0.5` and the bound of the reference's value, clamped. f16 is within half of its step
/// and the bound.
///
/// # Panics
/// If the shapes do not fit, there are too few samples, or the rows of `out` are not contiguous.
pub fn down_convert_into<S: Sample, T: OutputValue>(
    plan: &DownConversion,
    samples: ArrayView2<'_, S>,
    first_output: u64,
    split: Split,
    absent: &[Vec<Range<usize>>],
    mut out: ArrayViewMut2<'_, T>,
) -> Vec<u64> {
    assert_eq!(out.nrows(), samples.nrows(), "inputs of samples and outputs");
    assert!(out.ncols() <= plan.outputs(samples.ncols()), "too few samples");
    let (inputs, block) = (out.nrows(), split.outputs.max(1));
    let [taps_re, taps_im] = if S::COMPLEX { &plan.complex } else { &plan.real };
    let step = plan.decimation.saturating_mul(if S::COMPLEX { 2 } else { 1 });
    let mut work = Vec::new();
    for (input, row) in out.axis_iter_mut(Axis(0)).enumerate() {
        let row = row.into_slice().expect("contiguous rows of outputs");
        let units = row.chunks_mut(block).enumerate();
        work.extend(units.map(|(number, out)| Unit { input, first: number * block, out }));
    }
    let share = share(work.len(), split.parallel);
    let counts = work.into_par_iter().with_min_len(share).map_init(Vec::new, |scratch, unit| {
        let Unit { input, first, out } = unit;
        let start = first * plan.decimation;
        let end = start + (out.len() - 1) * plan.decimation + plan.taps;
        let samples = samples.slice_move(s![input, start..end]);
        let values = match as_values(&samples) {
            Some(values) => values,
            None => {
                to_values(samples, scratch);
                scratch
            }
        };
        let absent = absent.get(input).map_or(&[][..], Vec::as_slice);
        let (mut sums, mut saturated) = ([Complex::new(0.0, 0.0); TOGETHER], 0);
        for (number, out) in out.chunks_mut(TOGETHER).enumerate() {
            let (sums, ahead) = (&mut sums[..out.len()], number * TOGETHER);
            dot_pairs(&values[ahead * step..], taps_re, taps_im, step, sums);
            plan.rotate(first_output.wrapping_add((first + ahead) as u64), sums, |place, value| {
                let beyond;
                (out[place], beyond) = T::of(value);
                if beyond && !is_in(absent, first + ahead + place) {
                    saturated += 1;
                }
            });
        }
        (input, saturated)
    });
    let none = || vec![0u64; inputs];
    let add = |mut counts: Vec<u64>, (input, saturated): (usize, u64)| {
        counts[input] += saturated;
        counts
    };
    counts.fold(none, add).reduce(none, |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
}

/// Whether a column is in one of the ranges, which are ascending.
fn is_in(ranges: &[Range<usize>], column: usize) -> bool {
    ranges.get(ranges.partition_point(|range| range.end <= column)).is_some_and(|range| range.start <= column)
}

/// As [`down_convert_into`] for every output that the samples give, in f32, with all threads.
pub fn down_convert<S: Sample>(
    plan: &DownConversion,
    samples: ArrayView2<'_, S>,
    first_output: u64,
) -> Array2<Complex<f32>> {
    let shape = (samples.nrows(), plan.outputs(samples.ncols()));
    let mut out = Array2::from_shape_vec(shape, zeroed_vec(shape.0 * shape.1)).expect("a value for each output");
    if let Some(split) = plan.split(S::COMPLEX, None) {
        down_convert_into(plan, samples, first_output, split, &[], out.view_mut());
    }
    out
}
