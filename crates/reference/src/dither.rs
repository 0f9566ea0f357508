//! Dither of the quantiser: numbers of (-1/2, 1/2) that depend on seed, spectrum, input and channel alone.
//!
//! [`philox`] is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
//! Its key is the seed, its counter `(spectrum low, spectrum high, input, 0)`; the first two words `a`, `b` of its
//! output make the numbers of all channels of the spectrum: [`hash`] mixes them with the channel's number, the low half
//! of the result is the real part's and the high half the imaginary part's. An integer `n` of 16 bits stands for `(n +
//! 1/2) / 65536 - 1/2`: 65536 values, symmetric about 0.

use num_complex::Complex64 as C64;

/// Ten rounds of Philox4x32 on a counter and a key.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let wide = |a: u32, b: u32| u64::from(a) * u64::from(b);
    let ([mut c0, mut c1, mut c2, mut c3], [mut k0, mut k1]) = (counter, key);
    for _ in 0..10 {
        let (p0, p1) = (wide(0xD251_1F53, c0), wide(0xCD9E_8D57, c2));
        let (high0, low0, high1, low1) = ((p0 >> 32) as u32, p0 as u32, (p1 >> 32) as u32, p1 as u32);
        (c0, c1, c2, c3) = (high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0);
        (k0, k1) = (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85));
    }
    [c0, c1, c2, c3]
}

/// 32 bits for a channel of a spectrum with the words `a` and `b`: of products of 64 bits, both halves, all other
/// arithmetic modulo 2^32.
pub fn hash(a: u32, b: u32, channel: u32) -> u32 {
    let folded = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        product as u32 ^ (product >> 32) as u32
    };
    folded(folded(channel.wrapping_mul(0x9E37_79B9).wrapping_add(a), 0x21F0_AAAD) ^ b, 0xD35A_2D97)
}

/// The dither of a channel: `spectrum` is the spectrum's stamp over the stride, `channel` its number within the plan.
pub fn dither(seed: u64, spectrum: u64, input: u32, channel: u32) -> C64 {
    let counter = [spectrum as u32, (spectrum >> 32) as u32, input, 0];
    let [a, b, _, _] = philox(counter, [seed as u32, (seed >> 32) as u32]);
    let h = hash(a, b, channel);
    let part = |n: u32| (f64::from(n) + 0.5) / 65536.0 - 0.5;
    C64::new(part(h & 0xffff), part(h >> 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_answers() {
        // The known-answer vectors that its authors publish with their library.
        for (counter, key, expected) in [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), expected);
        }
    }

    /// The dithers of `spectra` spectra of 64 channels.
    fn many(seed: u64, input: u32, spectra: u64) -> Vec<C64> {
        (0..spectra).flat_map(|spectrum| (0..64).map(move |channel| dither(seed, spectrum, input, channel))).collect()
    }

    /// Mean of the products of two sequences.
    fn product(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len().min(b.len()) as f64
    }

    #[test]
    fn parts_are_uniform_between_minus_and_plus_a_half() {
        let values = many(5, 1, 4096);
        let n = values.len() as f64;
        for part in [|value: &C64| value.re, |value: &C64| value.im] {
            let parts: Vec<f64> = values.iter().map(part).collect();
            assert!(parts.iter().all(|part| part.abs() < 0.5));
            // Five standard deviations of the mean (1 / sqrt 12n), of the variance (1/12, of it 1 / sqrt 180n) and of
            // the fourth moment (1/80, of it 1 / sqrt 3600n), and of the counts of 64 bins.
            let mean = parts.iter().sum::<f64>() / n;
            assert!(mean.abs() < 5.0 / (12.0 * n).sqrt(), "{mean}");
            let variance = parts.iter().map(|x| x * x).sum::<f64>() / n;
            assert!((variance - 1.0 / 12.0).abs() < 5.0 / (180.0 * n).sqrt(), "{variance}");
            let fourth = parts.iter().map(|x| x.powi(4)).sum::<f64>() / n;
            assert!((fourth - 1.0 / 80.0).abs() < 5.0 / (3600.0 * n).sqrt(), "{fourth}");
            let mut bins = [0.0; 64];
            parts.iter().for_each(|part| bins[((part + 0.5) * 64.0) as usize] += 1.0);
            assert!(bins.iter().all(|count| (count - n / 64.0).abs() < 5.0 * (n / 64.0).sqrt()), "{bins:?}");
        }
    }

    #[test]
    fn parts_channels_spectra_inputs_and_seeds_do_not_correlate() {
        let values = many(5, 1, 4096);
        let parts =
            |values: &[C64]| -> (Vec<f64>, Vec<f64>) { values.iter().map(|value| (value.re, value.im)).unzip() };
        let (re, im) = parts(&values);
        // The product of two independent ones has variance 1/144.
        let bound = 5.0 / (144.0 * (re.len() - 4096) as f64).sqrt();
        assert!(product(&re, &im).abs() < bound);
        for distance in [1, 2, 3, 32, 63, 64, 65, 128, 4096] {
            for (a, b) in [(&re, &re), (&im, &im), (&re, &im), (&im, &re)] {
                assert!(product(a, &b[distance..]).abs() < bound, "{distance}");
            }
        }
        for other in [many(5, 0, 4096), many(5, 2, 4096), many(6, 1, 4096), many(5 + (1 << 32), 1, 4096)] {
            let (other_re, other_im) = parts(&other);
            assert!(product(&re, &other_re).abs() < bound && product(&im, &other_im).abs() < bound);
        }
    }

    #[test]
    fn spectra_beyond_2_to_the_32_have_dithers_of_their_own() {
        assert_ne!(dither(5, 7, 0, 3), dither(5, 7 + (1 << 32), 0, 3));
    }
}
