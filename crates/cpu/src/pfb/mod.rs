//! Polyphase filter bank: FIR, DFT, rotation and transposition, block by block.
//!
//! Spectrum `t` of an input is
//! `X[k] = r_k exp(-2 pi i b_k a / step) sum_p exp(-2 pi i b_k p / step) sum_j w[j step + p] x[start + j step + p]`,
//! with `b_k` the DFT bin of channel `k`, `a` the spectrum's *shift* (its output sample counter modulo `step`, which
//! refers its phase to absolute time) and `r_k` its [`Rotation`]. [`SpectrumInput`] holds start, shift and rotation of
//! one spectrum.
//!
//! Work is cut into blocks of some spectra of some inputs. A block is filtered, transformed row by row and
//! transposed into the output while it is still in the L2 cache:
//!
//! ```text
//! rows of a block                         output [channel][time][input]
//! time 0 input 0:  channel 0 1 2 ...      channel 0: (t0 i0) (t0 i1) (t1 i0) (t1 i1) ...
//! time 0 input 1:  channel 0 1 2 ...      channel 1: ...
//! time 1 input 0:  ...                    one run of consecutive addresses a channel where a block has all inputs
//! ```
//!
//! The shift costs a rotation of the filtered samples instead of a multiplication, and is exact.

mod blocks;
mod fir;
mod packed;
mod rotate;
mod simd;
mod source;
mod split;
mod transform;
pub mod window;

#[cfg(test)]
mod tests;

use fringes_types::Sample;
use ndarray::{Array3, ArrayViewMut3};
use num_complex::Complex;

pub use blocks::{Block, Rows};
use fir::{Run, TileRow, TiledWeights};
pub use packed::PackedSource;
pub use rotate::Rotation;
pub(crate) use simd::has_avx2_fma;
pub use source::{ArraySource, ChunkSource, SampleSource};
pub use split::Split;
use transform::Transform;
pub use window::{Window, fill_pfb_weights, pfb_weights};

/// A planned filter bank: weights arranged for the FIR kernel, and the transform.
///
/// # Precision
/// With `u = 2^-24`, `M = step`, and `a[p] = sum_j |w[j M + p] x[start + j M + p]|`, a spectrum differs from the f64
/// reference by at most
///
/// `|| X - X_ref || <= u ((taps + 1) + 7 P log2(M)) sqrt(M) || a ||`
///
/// in the 2-norm over its channels, with an additional `(2 + 2 sqrt 5) u || X_ref ||` if it is rotated. The terms: each
/// weight is rounded once and each of `taps` additions rounds once (fused or not: `taps + 1` in total to first order);
/// each of `log2 M` radix-2 stages of an FFT with twiddles rounded to f32 adds `u + 4 sqrt 2 u < 7 u` (Higham, Accuracy
/// and Stability of Numerical Algorithms, 24.1). `P = 1` for `M` without prime factors above 31. Otherwise the
/// transform is a convolution by three transforms of up to `4 M`, whose intermediate values have up to 2.4 times the
/// norm of the result: `P = 10 > 3 x 2.4 (log2(M) + 2) / log2(M)` for `M >= 37`.
///
/// That is the worst case. Roundings that are independent, each of variance `u^2 / 3`, add up to an rms error of at
/// most `u sqrt((taps + 1) / 3 + log2(M)) sqrt(M) || a ||` over many spectra (a radix-2 stage: half of the values
/// multiplied, `2/3 + 1/3` for the product and its twiddle, all of them added, `1/3`; 5/6 in all, less for higher
/// radices).
#[derive(Debug, Clone)]
pub struct Pfb {
    channels: usize,
    complex: bool,
    step: usize,
    taps: usize,
    weights: TiledWeights,
    transform: Transform,
}

/// Which samples a spectrum is made of, and its phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpectrumInput {
    /// Position of the first sample of the window in the source.
    pub start: i64,
    /// Output sample counter modulo `step`.
    pub shift: usize,
    /// Phase applied to the channels.
    pub rotation: Rotation,
}

/// Buffers of one worker.
struct Scratch {
    tile: Vec<TileRow>,
    /// Spectra, filtered and then transformed in place: `[time][input]` rows of `row_stride` values.
    rows: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
    order: Vec<(i64, i64, usize)>,
    run: Run,
}

impl Pfb {
    /// Plans a bank of `channels` channels with `taps * step` weights, where `step` is `channels` for complex input and
    /// twice that for real input.
    ///
    /// # Panics
    /// If a size is 0 or the number of weights is not a multiple of `step`, or if there is no memory.
    pub fn new(channels: usize, complex: bool, weights: &[f64]) -> Self {
        Self::try_new(channels, complex, weights).expect("memory for the tables of a filter bank")
    }

    /// Bytes of the tables of a bank of `taps` taps, from above: arranged weights and the transform's.
    pub fn table_bytes(channels: usize, complex: bool, taps: usize) -> u64 {
        let (step, floats) = if complex { (channels, 2) } else { (channels.saturating_mul(2), 1) };
        TiledWeights::bytes(step, taps, floats).saturating_add(Transform::bytes(channels, complex))
    }

    /// As [`Pfb::new`]; `None` if there is no memory.
    ///
    /// # Panics
    /// If a size is 0 or the number of weights is not a multiple of `step`.
    pub fn try_new(channels: usize, complex: bool, weights: &[f64]) -> Option<Self> {
        let step = if complex { channels } else { 2 * channels };
        let taps = weights.len() / step;
        assert!(taps > 0 && taps * step == weights.len(), "{} weights for a step of {step}", weights.len());
        let weights = TiledWeights::new(weights, taps, 1 + usize::from(complex))?;
        Some(Self { channels, complex, step, taps, weights, transform: Transform::new(channels, complex)? })
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Samples of a tap.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Number of taps.
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// Whether input samples are complex.
    pub fn is_complex(&self) -> bool {
        self.complex
    }

    /// Complex values from one row of a block to the next: whole lanes of the FIR kernel, and never a power of two, so
    /// that the rows of a block do not fall on the same cache sets.
    fn row_stride(&self) -> usize {
        self.channels.next_multiple_of(8) + 8
    }

    fn scratch(&self, split: &Split) -> Scratch {
        let rows = split.times * split.inputs;
        Scratch {
            tile: vec![fir::ZERO_ROW; split.times + self.taps],
            rows: vec![Complex::default(); rows * self.row_stride()],
            fft: vec![Complex::default(); self.transform.scratch_len()],
            order: Vec::with_capacity(split.times),
            run: Run::default(),
        }
    }

    /// Bytes of a worker's buffers for blocks of `times` spectra of `inputs` inputs.
    fn scratch_bytes(&self, times: usize, inputs: usize) -> u64 {
        let rows = (times as u64).saturating_mul(inputs as u64).saturating_mul(self.row_stride() as u64 * 8);
        let tile = (2 * times + 2 * self.taps) as u64 * size_of::<TileRow>() as u64;
        let order = times as u64 * 48;
        rows.saturating_add(tile + order + self.transform.scratch_len() as u64 * 8)
    }

    /// Filters `times` spectra of one input, runs of spectra that lie whole rows apart together.
    fn filter<P: SampleSource + ?Sized>(
        &self,
        source: &P,
        input: usize,
        (place, places): (usize, usize),
        times: usize,
        describe: &dyn Fn(usize) -> SpectrumInput,
        scratch: &mut Scratch,
    ) {
        let Scratch { tile, rows, order, run, .. } = scratch;
        // Row `time * places + place` of the block, in f32.
        let row = self.row_stride() * 2;
        let out: &mut [f32] = bytemuck::cast_slice_mut(&mut rows[place * self.row_stride()..]);
        let step = self.step as i64;
        order.clear();
        order.extend((0..times).map(|time| {
            let start = describe(time).start;
            (start.rem_euclid(step), start, time)
        }));
        order.sort_unstable();
        let mut rest = order.as_slice();
        while let Some(&(remainder, base, _)) = rest.first() {
            // Spectra join the run while their rows overlap, so that a tile has at most times * taps useful rows and
            // usually times + taps; its length is capped to what the scratch was sized for.
            let cap = (2 * times + self.taps) as i64;
            let fits =
                |&(r, start, _): &(i64, i64, usize)| r == remainder && (start - base) / step < cap - self.taps as i64;
            let count = rest.iter().take_while(|spectrum| fits(spectrum)).count().max(1);
            let (now, later) = rest.split_at(count);
            run.base = base;
            run.spectra.clear();
            run.spectra.extend(now.iter().map(|&(_, start, time)| (((start - base) / step) as usize, time)));
            self.weights.filter(source, input, run, tile, out, places * row);
            rest = later;
        }
    }

    /// Transforms and rotates one filtered spectrum.
    fn transform_row(&self, spectrum: SpectrumInput, row: usize, scratch: &mut Scratch) {
        let row = &mut scratch.rows[row * self.row_stride()..][..self.channels];
        if spectrum.shift > 0 {
            let samples: &mut [f32] = bytemuck::cast_slice_mut(row);
            samples.rotate_right(spectrum.shift * if self.complex { 2 } else { 1 });
        }
        self.transform.run(row, &mut scratch.fft);
        if !spectrum.rotation.is_identity() {
            for (channel, bin, count) in self.segments() {
                rotate::rotate(&mut row[bin..bin + count], channel, spectrum.rotation);
            }
        }
    }

    /// Which bins the channels are: `(first channel, first bin, count)`, channels ascending.
    fn segments(&self) -> [(usize, usize, usize); 2] {
        if self.complex {
            let negative = self.channels / 2;
            let positive = self.channels - negative;
            [(0, positive, negative), (negative, 0, positive)]
        } else {
            [(0, 0, self.channels), (self.channels, self.channels, 0)]
        }
    }
}

/// An array `[channel][time][input]` of zeros whose pages are not touched yet, or `None` if there is not that much
/// address space or memory.
pub fn zeroed_output(channels: usize, times: usize, inputs: usize) -> Option<Array3<Complex<f32>>> {
    let length = channels.checked_mul(times)?.checked_mul(inputs)?;
    length.checked_mul(size_of::<Complex<f32>>()).filter(|&bytes| isize::try_from(bytes).is_ok())?;
    let values = crate::memory::try_zeroed_vec(length)?;
    Array3::from_shape_vec((channels, times, inputs), values).ok()
}

/// Channelizes an array: spectrum `t` starts at sample `t * stride`, with shift `(first_sample + t * stride) mod step`.
///
/// # Panics
/// If `out` does not fit the plan.
pub fn channelize_array<S: Sample>(
    pfb: &Pfb,
    samples: ndarray::ArrayView2<'_, S>,
    stride: usize,
    first_sample: u64,
    out: ArrayViewMut3<'_, Complex<f32>>,
    split: &Split,
) {
    let step = pfb.step() as u64;
    let (origin, advance) = (first_sample % step, stride as u64 % step);
    let spectrum = |time: usize, _input: usize| SpectrumInput {
        start: (time * stride) as i64,
        shift: ((u128::from(origin) + u128::from(advance) * time as u128) % u128::from(step)) as usize,
        rotation: Rotation::default(),
    };
    pfb.channelize(&ArraySource::new(samples), &spectrum, out, split);
}
