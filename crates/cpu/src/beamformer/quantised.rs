//! Tied-array beams in other formats than f32: scaled, dithered, rounded, clamped and counted.

use fringes_types::VoltageSample;
use ndarray::{ArrayView2, ArrayView3, s};
use num_complex::Complex;
use rayon::prelude::*;

use super::{BLOCK_TIMES, tied_array_into};
use crate::blocks::{share, time_blocks};
use crate::f_engine::FrameValue;
use crate::f_engine::dither::SpectrumDither;

type C32 = Complex<f32>;

/// What becomes of beams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamFinish {
    /// What they are multiplied by.
    pub scale: f32,
    /// Seed of the dither of integers, if there is any.
    pub seed: Option<u64>,
    /// Number of the first time, for the dither.
    pub spectrum: u64,
}

/// Writes tied-array beams `[channel][time][beam]` to `out`, of voltages `[channel][time][input]` with weights
/// `[beam][channel][input]`, and gives the number of values that saturate of each beam; `presence` is `[time][input]`.
///
/// The dither is that of spectrum `spectrum + time` of input `channel`, for a channel `beam`
/// ([`fringes_kernel_abi::dither`]).
///
/// At most `parallel` units of work are in progress at a time.
///
/// # Precision
/// As [`tied_array_into`] before the scale, which is taken in f64, then the format's own rounding.
///
/// # Panics
/// If the shapes do not fit.
pub fn tied_array_quantised_into<V: VoltageSample, Q: FrameValue>(
    voltages: ArrayView3<'_, V>,
    presence: Option<ArrayView2<'_, bool>>,
    weights: ArrayView3<'_, C32>,
    finish: BeamFinish,
    parallel: usize,
    out: &mut [Q],
) -> Vec<u64> {
    let (channels, times, _) = voltages.dim();
    let beams = weights.dim().0;
    assert_eq!(out.len(), channels * times * beams, "a value for each channel, time and beam");
    let blocks = time_blocks(out, times, beams, BLOCK_TIMES);
    let share = share(blocks.len(), parallel);
    let scale = f64::from(finish.scale);
    let seed = finish.seed.filter(|_| Q::INTEGER);
    blocks
        .into_par_iter()
        .with_min_len(share)
        .fold(
            || (Vec::new(), vec![0u64; beams]),
            |(mut scratch, mut lost), block| {
                scratch.resize(block.out.len(), C32::default());
                let (channel, first) = (block.channel, block.first_time);
                let end = first + block.out.len() / beams;
                let voltages = voltages.slice(s![channel..channel + 1, first..end, ..]);
                let presence = presence.map(|flags| flags.slice_move(s![first..end, ..]));
                tied_array_into(voltages, presence, weights.slice(s![.., channel..channel + 1, ..]), 1, &mut scratch);
                for (time, (out, sums)) in block.out.chunks_mut(beams).zip(scratch.chunks(beams)).enumerate() {
                    let spectrum = finish.spectrum.wrapping_add((first + time) as u64);
                    let dither = seed.map(|seed| SpectrumDither::new(seed, spectrum, channel as u32));
                    for (beam, ((out, sum), lost)) in out.iter_mut().zip(sums).zip(&mut lost).enumerate() {
                        let (re, im) = dither.map_or((0.0, 0.0), |dither| dither.of(beam as u32));
                        let (value, saturated) =
                            Q::from_product(f64::from(sum.re) * scale + re, f64::from(sum.im) * scale + im);
                        *out = value;
                        *lost += u64::from(saturated);
                    }
                }
                (scratch, lost)
            },
        )
        .map(|(_, lost)| lost)
        .reduce(
            || vec![0u64; beams],
            |mut all, part| {
                all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
                all
            },
        )
}
