//! Detection of beams `[channel][time][beam]`: sums of products, as `fringes_reference::detection`, in f32.

use fringes_types::{DetectedProducts, Detection, VoltageSample};
use ndarray::{ArrayView2, ArrayView3, s};
use num_complex::Complex;
use rayon::prelude::*;

/// Spectra that are summed by themselves before they are added to a longer sum, counted from the start of that.
pub const BLOCK_SPECTRA: usize = 64;

/// Products that one task computes at least.
const TASK_PRODUCTS: usize = 1 << 16;

/// The sums of one channel under way, `[plane][beam]`. Planes are the product, or both powers and the real and the
/// imaginary part of `x y*`.
#[derive(Debug, Clone)]
pub struct ChannelSums {
    products: DetectedProducts,
    beams: usize,
    /// Of the blocks that are complete.
    blocks: Vec<f32>,
    /// Of the block under way.
    block: Vec<f32>,
    spectra: usize,
}

impl ChannelSums {
    /// Sums of nothing, of `beams` detected beams.
    pub fn new(products: DetectedProducts, beams: usize) -> Self {
        let length = beams * products.count();
        Self { products, beams, blocks: vec![0.0; length], block: vec![0.0; length], spectra: 0 }
    }

    /// Spectra that have been summed.
    pub fn spectra(&self) -> usize {
        self.spectra
    }

    /// Adds spectra `[time][beam]`.
    pub fn add<V: VoltageSample>(&mut self, spectra: ArrayView2<'_, V>) {
        for spectrum in spectra.rows() {
            match spectrum.as_slice() {
                Some(spectrum) => self.add_spectrum(spectrum),
                None => self.add_spectrum(&spectrum.to_vec()),
            }
        }
    }

    fn add_spectrum<V: VoltageSample>(&mut self, spectrum: &[V]) {
        match self.products {
            DetectedProducts::Power => {
                for (sum, y) in self.block.iter_mut().zip(spectrum) {
                    *sum += y.to_c32().norm_sqr();
                }
            }
            DetectedProducts::StokesI => {
                for (sum, pair) in self.block.iter_mut().zip(spectrum.chunks_exact(2)) {
                    *sum += pair[0].to_c32().norm_sqr() + pair[1].to_c32().norm_sqr();
                }
            }
            DetectedProducts::Stokes | DetectedProducts::Coherency => {
                let (powers, cross) = self.block.split_at_mut(2 * self.beams);
                let ((xx, yy), (re, im)) = (powers.split_at_mut(self.beams), cross.split_at_mut(self.beams));
                let sums = xx.iter_mut().zip(yy).zip(re.iter_mut().zip(im));
                for (((xx, yy), (re, im)), pair) in sums.zip(spectrum.chunks_exact(2)) {
                    let (x, y) = (pair[0].to_c32(), pair[1].to_c32());
                    let xy: Complex<f32> = x * y.conj();
                    *xx += x.norm_sqr();
                    *yy += y.norm_sqr();
                    *re += xy.re;
                    *im += xy.im;
                }
            }
        }
        self.spectra += 1;
        if self.spectra.is_multiple_of(BLOCK_SPECTRA) {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        for (sum, block) in self.blocks.iter_mut().zip(&mut self.block) {
            *sum += std::mem::take(block);
        }
    }

    /// Adds the sums to those of other channels, `[plane][beam]`, and begins anew.
    pub fn finish_into(&mut self, total: &mut [f32]) {
        self.end_block();
        for (total, sum) in total.iter_mut().zip(&mut self.blocks) {
            *total += std::mem::take(sum);
        }
        self.spectra = 0;
    }
}

/// Writes sums `[plane][beam]` as products `[beam][product]`.
pub fn products_into(products: DetectedProducts, total: &[f32], out: &mut [f32]) {
    let beams = total.len() / products.count();
    match products {
        DetectedProducts::Power | DetectedProducts::StokesI => out.copy_from_slice(total),
        DetectedProducts::Stokes | DetectedProducts::Coherency => {
            for (beam, out) in out.chunks_exact_mut(4).enumerate() {
                let [xx, yy, re, im] = [0, 1, 2, 3].map(|plane| total[plane * beams + beam]);
                let of = if products == DetectedProducts::Stokes {
                    [xx + yy, xx - yy, 2.0 * re, -2.0 * im]
                } else {
                    [xx, yy, re, im]
                };
                out.copy_from_slice(&of);
            }
        }
    }
}

/// Writes detected beams `[channel][time][beam][product]` to `out`, of beams `[channel][time][beam]`: whole sums.
///
/// # Precision
/// With `u = 2^-24`, `n` spectra and `m` channels of a sum, a product is within `(min(n, 64) + ceil(n / 64) + m + 3) u
/// sum (abs(x)^2 + abs(y)^2)` of the reference: spectra are added in blocks of 64, in their order, those blocks in
/// theirs, and then channels. The result does not depend on the number of threads.
///
/// # Panics
/// If the shapes do not fit.
pub fn detect_into<V: VoltageSample>(beams: ArrayView3<'_, V>, detection: &Detection, out: &mut [f32]) {
    let (products, n, m) = (detection.products(), detection.times(), detection.channels());
    let (channels, times, voltage_beams) = beams.dim();
    let (groups, sums, count) = (channels / m, times / n, voltage_beams / products.pols());
    let row = count * products.count();
    assert_eq!((groups * m, sums * n, count * products.pols()), (channels, times, voltage_beams), "whole sums");
    assert_eq!(out.len(), groups * sums * row, "a value for each channel, time, beam and product");
    if out.is_empty() {
        return;
    }
    let scratch = || (ChannelSums::new(products, count), vec![0.0; row]);
    let at_least = TASK_PRODUCTS.div_ceil(n * m * row);
    out.par_chunks_mut(row).enumerate().with_min_len(at_least).for_each_init(
        scratch,
        |(sums_of_one, total), (at, out)| {
            let (group, sum) = (at / sums, at % sums);
            total.fill(0.0);
            for channel in group * m..(group + 1) * m {
                sums_of_one.add(beams.slice(s![channel, sum * n..(sum + 1) * n, ..]));
                sums_of_one.finish_into(total);
            }
            products_into(products, total, out);
        },
    );
}
