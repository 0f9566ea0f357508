//! Four spectra of two jobs of one channel to words of the output.

use fringes_device::arithmetic::prmt_b32;
use fringes_device::convert::cvt_rn_f16x2_f32;
use fringes_device::half2::{max_f16x2, min_f16x2};
use fringes_device::unroll;
use fringes_kernels_common::complex::Complex;
use fringes_kernels_common::format::{F16, F32, I4, I8};
use fringes_kernels_common::quantise::Output;

/// Values `[spectrum][job]`.
pub(super) type Values = [[Complex; 2]; 4];

/// 1.5 2^10: a number of magnitude below 2^9 that is added to it is rounded to a whole one by the conversion to f16,
/// half to even, and the low byte is the integer. Larger ones stay large.
const ROUND: f32 = 1536.0;

/// An output of eight values at a time.
pub trait Eight: Output {
    /// Words of eight values: of each spectrum the first job's and the second one's.
    const WORDS: usize;
    /// What values are more by than they mean.
    const BASE: f32;

    /// The words, and which values saturated: bit `2 spectrum + job`.
    ///
    /// # Precision
    /// Integers are those of values within `2^-13`, as sums with [`BASE`](Self::BASE) are rounded.
    fn words(values: Values) -> ([u32; 16], u32);

    /// The words of the first job's values, and behind them those of the second one's.
    fn by_job(words: [u32; 16]) -> [u32; 16];

    /// Value `2 spectrum + job` of the words.
    fn value(words: [u32; 16], index: usize) -> Self::Stored;
}

/// Both parts of values as f16, rounded and clamped to `+-limit` about [`ROUND`], and which of the values were beyond
/// that before they were rounded.
///
/// What is nearer than the limit, nearly all, takes two comparisons for both parts of a value; only where some are not,
/// they are looked at one by one.
#[inline(always)]
fn clamped(values: Values, limit: u32) -> ([[u32; 2]; 4], u32) {
    // Neighbours of f16 between 1024 and 2048 are 1 apart.
    let both = |bits: u32| bits << 16 | bits;
    let within = |word: u32, limit: u32| max_f16x2(min_f16x2(word, both(0x6600 + limit)), both(0x6600 - limit));
    let mut kept = [[0; 2]; 4];
    let mut changed = 0;
    unroll!(s in 0 1 2 3 {
        unroll!(job in 0 1 {
            let [re, im] = values[s][job];
            let word = cvt_rn_f16x2_f32(im, re);
            kept[s][job] = within(word, limit - 1);
            changed |= word ^ kept[s][job];
        });
    });
    let mut which = 0;
    if changed != 0 {
        unroll!(s in 0 1 2 3 {
            unroll!(job in 0 1 {
                let [re, im] = values[s][job];
                kept[s][job] = within(cvt_rn_f16x2_f32(im, re), limit);
                let legal = (re - ROUND).abs().max((im - ROUND).abs()) <= limit as f32;
                which |= (!legal as u32) << (2 * s + job);
            });
        });
    }
    (kept, which)
}

impl Eight for I8 {
    const WORDS: usize = 4;
    const BASE: f32 = ROUND;

    #[inline(always)]
    fn words(values: Values) -> ([u32; 16], u32) {
        let (kept, which) = clamped(values, 127);
        let mut words = [0; 16];
        unroll!(s in 0 1 2 3 {
            words[s] = prmt_b32(kept[s][0], kept[s][1], 0x6420);
        });
        (words, which)
    }

    #[inline(always)]
    fn by_job(words: [u32; 16]) -> [u32; 16] {
        let mut sorted = [0; 16];
        unroll!(pair in 0 1 {
            sorted[pair] = prmt_b32(words[2 * pair], words[2 * pair + 1], 0x5410);
            sorted[2 + pair] = prmt_b32(words[2 * pair], words[2 * pair + 1], 0x7632);
        });
        sorted
    }

    #[inline(always)]
    fn value(words: [u32; 16], index: usize) -> u16 {
        (words[index / 2] >> (index % 2 * 16)) as u16
    }
}

impl Eight for I4 {
    const WORDS: usize = 2;
    const BASE: f32 = ROUND;

    #[inline(always)]
    fn words(values: Values) -> ([u32; 16], u32) {
        let (kept, which) = clamped(values, 7);
        let mut words = [0; 16];
        unroll!(pair in 0 1 {
            let bytes = |s: usize| {
                // Bytes of real parts are the high nibbles.
                let word = prmt_b32(kept[s][0], kept[s][1], 0x6420);
                (word << 4 & 0x00f0_00f0) | (word >> 8 & 0x000f_000f)
            };
            words[pair] = prmt_b32(bytes(2 * pair), bytes(2 * pair + 1), 0x6420);
        });
        (words, which)
    }

    #[inline(always)]
    fn by_job(words: [u32; 16]) -> [u32; 16] {
        let mut sorted = [0; 16];
        sorted[0] = prmt_b32(words[0], words[1], 0x6420);
        sorted[1] = prmt_b32(words[0], words[1], 0x7531);
        sorted
    }

    #[inline(always)]
    fn value(words: [u32; 16], index: usize) -> u8 {
        (words[index / 4] >> (index % 4 * 8)) as u8
    }
}

impl Eight for F16 {
    const WORDS: usize = 8;
    const BASE: f32 = 0.0;

    #[inline(always)]
    fn words(values: Values) -> ([u32; 16], u32) {
        let mut words = [0; 16];
        unroll!(i in 0 1 2 3 4 5 6 7 {
            let [re, im] = values[i / 2][i % 2];
            words[i] = cvt_rn_f16x2_f32(im, re);
        });
        (words, 0)
    }

    #[inline(always)]
    fn by_job(words: [u32; 16]) -> [u32; 16] {
        let mut sorted = [0; 16];
        unroll!(i in 0 1 2 3 4 5 6 7 {
            sorted[i % 2 * 4 + i / 2] = words[i];
        });
        sorted
    }

    #[inline(always)]
    fn value(words: [u32; 16], index: usize) -> u32 {
        words[index]
    }
}

impl Eight for F32 {
    const WORDS: usize = 16;
    const BASE: f32 = 0.0;

    #[inline(always)]
    fn words(values: Values) -> ([u32; 16], u32) {
        let mut words = [0; 16];
        unroll!(i in 0 1 2 3 4 5 6 7 {
            let [re, im] = values[i / 2][i % 2];
            (words[2 * i], words[2 * i + 1]) = (re.to_bits(), im.to_bits());
        });
        (words, 0)
    }

    #[inline(always)]
    fn by_job(words: [u32; 16]) -> [u32; 16] {
        let mut sorted = [0; 16];
        unroll!(i in 0 1 2 3 4 5 6 7 {
            let to = i % 2 * 8 + i / 2 * 2;
            (sorted[to], sorted[to + 1]) = (words[2 * i], words[2 * i + 1]);
        });
        sorted
    }

    #[inline(always)]
    fn value(words: [u32; 16], index: usize) -> [f32; 2] {
        [f32::from_bits(words[2 * index]), f32::from_bits(words[2 * index + 1])]
    }
}
