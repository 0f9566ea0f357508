//! From the bits of a frame to numbers.
//!
//! A frame's payload is little-endian 32-bit words, filled from the lowest bit; values do not cross words. Values
//! follow each other as `[time][channel][part]`, where a complex sample has two parts, real first.
//!
//! | bits | values |
//! |---|---|
//! | 1 | -1, +1 |
//! | 2 | -3.3359, -1, +1, +3.3359 |
//! | 4, 8 | offset binary, `v - 2^(bits-1)`; the most negative is clamped |
//! | 3, 5..7, 9..16 | offset binary, `v - 2^(bits-1)` |
//!
//! Mark 5B data: one bit is the sign (1 is negative), of two bits the lower one is the sign (1 is positive) and the
//! upper one the magnitude where both agree.

use fringes_types::Complex;

use super::header::Layout;

/// The high level of two-bit samples whose low level is 1.
pub(crate) const HIGH: f32 = 3.3359;

/// The number that each value of `bits` bits stands for.
pub(crate) fn levels(bits: u32, mark5b: bool) -> Vec<f32> {
    match (bits, mark5b) {
        (1, false) => vec![-1.0, 1.0],
        (1, true) => vec![1.0, -1.0],
        (2, false) => vec![-HIGH, -1.0, 1.0, HIGH],
        (2, true) => vec![-HIGH, 1.0, -1.0, HIGH],
        (bits, _) => {
            let half = 1i32 << (bits - 1);
            let lowest = if clamps(bits) { 1 - half } else { -half };
            (0..2 * half).map(|value| (value - half).max(lowest) as f32).collect()
        }
    }
}

/// Whether the most negative value is clamped.
pub(crate) fn clamps(bits: u32) -> bool {
    matches!(bits, 4 | 8)
}

/// The values of a payload, one after the other.
struct Values<'a> {
    words: std::slice::ChunksExact<'a, u8>,
    word: u32,
    left: usize,
    per_word: usize,
    bits: u32,
    mask: u32,
}

impl<'a> Values<'a> {
    /// The values from number `from` on.
    fn new(payload: &'a [u8], layout: &Layout, from: usize) -> Self {
        let (per_word, bits) = (layout.values_per_word, layout.bits);
        let (word, within) = (from / per_word, from % per_word);
        let words = payload.get(4 * word..).unwrap_or_default().chunks_exact(4);
        let mut values = Self { words, word: 0, left: 0, per_word, bits, mask: (1 << bits) - 1 };
        for _ in 0..within {
            values.next();
        }
        values
    }

    #[inline]
    fn next(&mut self) -> usize {
        if self.left == 0 {
            self.word = match self.words.next() {
                Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
                _ => 0,
            };
            self.left = self.per_word;
        }
        let value = self.word & self.mask;
        self.word >>= self.bits;
        self.left -= 1;
        value as usize
    }
}

/// Unpacks the `count` samples from number `from` on into `out`, in which channel `c` begins at `starts[c]`. Returns
/// how many samples were clamped.
pub(crate) fn unpack_real(
    payload: &[u8],
    layout: &Layout,
    levels: &[f32],
    (from, count): (usize, usize),
    starts: &[Option<usize>],
    out: &mut [f32],
) -> u64 {
    let mut values = Values::new(payload, layout, from * layout.channels);
    let clamps = clamps(layout.bits);
    let mut clamped = 0;
    if let &[Some(start)] = starts {
        for sample in &mut out[start..start + count] {
            let value = values.next();
            *sample = levels[value];
            clamped += u64::from(clamps && value == 0);
        }
        return clamped;
    }
    for time in 0..count {
        for start in starts {
            let value = values.next();
            if let Some(start) = start {
                out[start + time] = levels[value];
                clamped += u64::from(clamps && value == 0);
            }
        }
    }
    clamped
}

/// As [`unpack_real`], for complex samples.
pub(crate) fn unpack_complex(
    payload: &[u8],
    layout: &Layout,
    levels: &[f32],
    (from, count): (usize, usize),
    starts: &[Option<usize>],
    out: &mut [Complex<f32>],
) -> u64 {
    let mut values = Values::new(payload, layout, 2 * from * layout.channels);
    let clamps = clamps(layout.bits);
    let mut clamped = 0;
    for time in 0..count {
        for start in starts {
            let (re, im) = (values.next(), values.next());
            if let Some(start) = start {
                out[start + time] = Complex::new(levels[re], levels[im]);
                clamped += u64::from(clamps && (re == 0 || im == 0));
            }
        }
    }
    clamped
}
