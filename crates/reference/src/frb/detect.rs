//! Finer channels of beams, and sums of their powers.

use ndarray::{Array2, Array5, ArrayView2, ArrayView4, ArrayView5};
use num_complex::Complex64 as C64;

use crate::dft::dft;

/// Finer channels `[frequency][block][f][pol][beam]` of beams `[frequency][time][pol][beam]`:
/// `Y[f] = sum_t K[block * length + t] exp(sign 2 pi i f t / length)`.
///
/// # Panics
/// If the times are no whole number of blocks, or `sign` is neither 1 nor -1.
pub fn upchannelise(beams: ArrayView4<'_, C64>, length: usize, sign: f64) -> Array5<C64> {
    let (frequencies, times, pols, count) = beams.dim();
    assert!(length > 0 && times % length == 0, "{times} times in blocks of {length}");
    let mut fine = Array5::zeros((frequencies, times / length, length, pols, count));
    for frequency in 0..frequencies {
        for block in 0..times / length {
            for pol in 0..pols {
                for beam in 0..count {
                    let values: Vec<C64> =
                        (0..length).map(|t| beams[(frequency, block * length + t, pol, beam)]).collect();
                    for (f, value) in dft(&values, sign).into_iter().enumerate() {
                        fine[(frequency, block, f, pol, beam)] = value;
                    }
                }
            }
        }
    }
    fine
}

/// What is summed of finer channels, for [`detect`].
#[derive(Debug, Clone, PartialEq)]
pub struct FineDetection {
    /// Neighbouring finer channels that are summed: a power of two.
    pub group: usize,
    /// Blocks that are summed.
    pub blocks: usize,
    /// Whether polarisations have sums of their own; else one sum is of all.
    pub per_pol: bool,
    /// Whether 0 Hz is in the middle: index `u` holds group `u ^ (groups / 2)`.
    pub centre: bool,
    /// What each index `u` is multiplied by.
    pub factors: Vec<f64>,
}

/// Sums of powers `[frequency][u][time][beam][product]` of finer channels `[frequency][block][f][pol][beam]`, and the
/// number of good blocks of each sum, `[frequency][time]`.
///
/// `P[u] = factors[u] (blocks / good) sum abs(Y[f])^2` over the good blocks of `blocks` that follow each other, over
/// `f` of the group that `u` holds, and over polarisations or not. `mask` is true for good blocks,
/// `[frequency][block]`; without it all are good. Where none is good the sum is 0.
///
/// # Panics
/// If channels are no whole number of groups, blocks no whole number of sums, or factors or mask do not fit.
pub fn detect(
    fine: ArrayView5<'_, C64>,
    detection: &FineDetection,
    mask: Option<ArrayView2<'_, bool>>,
) -> (Array5<f64>, Array2<u32>) {
    let &FineDetection { group, blocks, per_pol, centre, ref factors } = detection;
    let (frequencies, all_blocks, length, pols, beams) = fine.dim();
    assert!(length % group == 0 && all_blocks % blocks == 0, "{length} channels, {all_blocks} blocks");
    let (groups, times) = (length / group, all_blocks / blocks);
    assert_eq!(factors.len(), groups, "a factor for each group");
    let is_good = |frequency, block| mask.is_none_or(|mask| mask[(frequency, block)]);
    let good = Array2::from_shape_fn((frequencies, times), |(frequency, time)| {
        (time * blocks..(time + 1) * blocks).filter(|&block| is_good(frequency, block)).count() as u32
    });
    let shape = (frequencies, groups, times, beams, if per_pol { pols } else { 1 });
    let powers = Array5::from_shape_fn(shape, |(frequency, u, time, beam, product)| {
        if good[(frequency, time)] == 0 {
            return 0.0;
        }
        let held = if centre { u ^ (groups / 2) } else { u };
        let mut sum = 0.0;
        for block in (time * blocks..(time + 1) * blocks).filter(|&block| is_good(frequency, block)) {
            for pol in (0..pols).filter(|&pol| !per_pol || pol == product) {
                for f in held * group..(held + 1) * group {
                    sum += fine[(frequency, block, f, pol, beam)].norm_sqr();
                }
            }
        }
        factors[u] * sum * blocks as f64 / f64::from(good[(frequency, time)])
    });
    (powers, good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array4;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::f64::consts::TAU;

    fn noise(dim: (usize, usize, usize, usize), seed: u64) -> Array4<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Mean power 1.
        let half = 0.5f64.sqrt();
        Array4::from_shape_simple_fn(dim, || {
            C64::new(half * rng.sample::<f64, _>(StandardNormal), half * rng.sample::<f64, _>(StandardNormal))
        })
    }

    fn plain(groups: usize) -> FineDetection {
        FineDetection { group: 1, blocks: 1, per_pol: false, centre: false, factors: vec![1.0; groups] }
    }

    #[test]
    fn a_tone_lands_in_its_channel_with_its_power() {
        let length = 16;
        for (sign, tone) in [(1.0, 5usize), (1.0, 0), (1.0, 15), (-1.0, 5), (-1.0, 9)] {
            // exp(-sign 2 pi i tone t / length): what the transform takes back.
            let wave = Array4::from_shape_fn((1, 32, 1, 1), |(_, t, _, _)| {
                3.0 * C64::cis(-sign * TAU * ((tone * t) % length) as f64 / length as f64)
            });
            let fine = upchannelise(wave.view(), length, sign);
            let (powers, _) = detect(fine.view(), &plain(length), None);
            let expected = 9.0 * (length * length) as f64;
            for ((_, u, _, _, _), &power) in powers.indexed_iter() {
                let expected = if u == tone { expected } else { 0.0 };
                // 16 terms of size 3 with errors of a few roundings each, squared.
                let bound = 2.0 * 48.0 * 48.0 * 32.0 * f64::EPSILON;
                assert!((power - expected).abs() < bound, "{sign} {tone} {u}: {power}");
            }
            // In groups of 4 with 0 Hz in the middle, times factors.
            let factors = vec![1.0, 2.0, 4.0, 8.0];
            let detection = FineDetection { group: 4, blocks: 2, per_pol: false, centre: true, factors };
            let (powers, good) = detect(fine.view(), &detection, None);
            assert_eq!((powers.dim(), good[(0, 0)]), ((1, 4, 1, 1, 1), 2));
            let u = (tone / 4 + 2) % 4;
            let sum = 2.0 * expected * f64::from(1u32 << u);
            assert!((powers[(0, u, 0, 0, 0)] - sum).abs() < sum * 128.0 * f64::EPSILON);
        }
    }

    #[test]
    fn white_noise_has_the_mean_of_its_terms() {
        // Power 1 a time, polarisation and beam: |Y|^2 is length on average, exponentially distributed.
        let (length, group, blocks, pols) = (16, 4, 3, 2);
        let beams = noise((1, length * blocks * 40, pols, 10), 1);
        let fine = upchannelise(beams.view(), length, 1.0);
        let terms = (group * blocks * pols) as f64;
        let factors = vec![1.0 / terms; 4];
        let detection = FineDetection { group, blocks, per_pol: false, centre: true, factors };
        let (powers, _) = detect(fine.view(), &detection, None);
        for u in 0..4 {
            let of_group = powers.index_axis(ndarray::Axis(1), u);
            let (count, mean) = (of_group.len() as f64, of_group.mean().unwrap());
            let deviation = length as f64 / (terms * count).sqrt();
            assert!((mean - length as f64).abs() < 4.0 * deviation, "{u}: {mean} +- {deviation}");
            let variance = of_group.iter().map(|power| (power - mean).powi(2)).sum::<f64>() / count;
            let expected = (length * length) as f64 / terms;
            // The variance of a sum of `terms` exponentials: relative scatter sqrt((2 + 6 / terms) / count).
            assert!((variance / expected - 1.0).abs() < 4.0 * ((2.0 + 6.0 / terms) / count).sqrt(), "{variance}");
        }
    }

    #[test]
    fn polarisations_can_have_their_own_sums() {
        let fine = upchannelise(noise((2, 16, 2, 3), 2).view(), 8, 1.0);
        let together = detect(fine.view(), &FineDetection { blocks: 2, ..plain(8) }, None).0;
        let apart = detect(fine.view(), &FineDetection { blocks: 2, per_pol: true, ..plain(8) }, None).0;
        assert_eq!(apart.dim(), (2, 8, 1, 3, 2));
        for (index, &sum) in together.indexed_iter() {
            let parts = apart[(index.0, index.1, index.2, index.3, 0)] + apart[(index.0, index.1, index.2, index.3, 1)];
            assert!((sum - parts).abs() < 8.0 * f64::EPSILON * sum);
        }
    }

    #[test]
    fn one_time_a_block_is_no_transform() {
        let beams = noise((1, 6, 1, 2), 3);
        let fine = upchannelise(beams.view(), 1, 1.0);
        let detection = FineDetection { blocks: 3, factors: vec![0.5], ..plain(1) };
        let (powers, _) = detect(fine.view(), &detection, None);
        let expected: f64 = (3..6).map(|t| beams[(0, t, 0, 1)].norm_sqr()).sum();
        assert!((powers[(0, 0, 1, 1, 0)] - 0.5 * expected).abs() < 8.0 * f64::EPSILON * expected);
    }

    #[test]
    fn masked_blocks_do_not_count_and_the_sum_is_scaled() {
        let fine = upchannelise(noise((2, 4 * 6, 2, 2), 4).view(), 4, 1.0);
        let detection = FineDetection { blocks: 3, ..plain(4) };
        let all = detect(fine.view(), &detection, None);
        assert_eq!(detect(fine.view(), &detection, Some(Array2::from_elem((2, 6), true).view())), all);
        let mask = Array2::from_shape_fn((2, 6), |(frequency, block)| frequency == 1 && block != 1 && block < 3);
        let (powers, good) = detect(fine.view(), &detection, Some(mask.view()));
        assert_eq!(good, Array2::from_shape_vec((2, 2), vec![0, 0, 2, 0]).unwrap());
        for ((frequency, u, time, beam, _), &power) in powers.indexed_iter() {
            let block = |block: usize| -> f64 { (0..2).map(|pol| fine[(1, block, u, pol, beam)].norm_sqr()).sum() };
            let expected = if (frequency, time) == (1, 0) { 1.5 * (block(0) + block(2)) } else { 0.0 };
            assert!((power - expected).abs() <= 8.0 * f64::EPSILON * expected);
        }
    }
}
