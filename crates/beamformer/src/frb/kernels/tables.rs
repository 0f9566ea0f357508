//! Tables of weights and phases, `[register][lane]` words of two f16 as the kernels have them in registers.

use std::f64::consts::TAU;

use fringes_fft::internals::input_places;
use fringes_fft::{Sign, Size};
use half::f16;
use ndarray::ArrayView5;
use num_complex::Complex;

use super::choice::Family;
use crate::FrbBeams;

/// Largest finite f16, what the first contraction of a transform over time may add to, and the largest power of two
/// that weights are scaled to.
pub(super) const GREATEST: f64 = 65504.0;
const SUMMED_TIMES: f64 = 16.0;
const CEILING: i32 = -2;
/// Weights are never scaled below this power of two, or f16 would lose their bits.
const FLOOR: i32 = -8;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A word of two f16.
pub(super) fn word(low: f64, high: f64) -> u32 {
    let bits = |value: f64| u32::from(f16::from_f64(value + 0.0).to_bits()); // -0 + 0 = 0
    bits(low) | bits(high) << 16
}

/// Weights as the kernels take them.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Words `[frequency][pol][out][line][pair][re, im][lane]`, divided by `2^exponent` of the frequency.
    pub words: Vec<u32>,
    /// Exponents of the frequencies.
    pub exponents: Vec<i32>,
}

/// A sign as the kernels have it: voltages are never conjugated, but everything else where they should be.
pub(super) fn turned(sign: Sign, conjugate: bool) -> Sign {
    if (sign == Sign::Positive) == conjugate { Sign::Negative } else { Sign::Positive }
}

impl Weights {
    /// Weights of beams as the kernels take them, conjugated where voltages should be; as [`new`](Self::new).
    pub(super) fn of(beams: &FrbBeams, family: &Family) -> Option<Self> {
        match beams.conjugate() {
            true => Self::new(beams.weights().mapv(|weight| weight.conj()).view(), family.size, family.most),
            false => Self::new(beams.weights(), family.size, family.most),
        }
    }

    /// Weights `[frequency][pol][out][line][feed]` of lines that a transform of `size` takes, for voltages of absolute
    /// value `most` or less; `None` if there is no kernel of the size or a frequency's largest weight is not 0 or from
    /// 2^-60 to below 2^60.
    ///
    /// # Precision
    /// Each part is off by `2^-11` of itself, or `2^-16` of the frequency's largest weight if that is more.
    pub fn new(weights: ArrayView5<'_, Complex<f32>>, size: Size, most: f64) -> Option<Self> {
        let (_, _, _, lines, feeds) = weights.dim();
        let places = input_places(size);
        if places.is_empty() {
            return None;
        }
        let pairs = places.len() / LANES / 2;
        let distance = pair_distance(size);
        let sums = lines as f64 * feeds as f64 * most * SUMMED_TIMES;
        let ceiling = ((GREATEST / sums).log2().floor() as i32).clamp(FLOOR, CEILING);
        let mut exponents = Vec::new();
        let mut words = Vec::with_capacity(weights.len() / feeds.max(1) * places.len());
        for frequency in weights.outer_iter() {
            let exponent = exponent(frequency.iter().map(|w| f64::from(w.re).hypot(w.im.into())))? - ceiling;
            let scale = 2f64.powi(-exponent);
            for line in frequency.rows() {
                let weight = |place: usize| {
                    let weight = line.get(places[place] as usize).copied().unwrap_or_default();
                    [weight.re, weight.im].map(|part| f64::from(part) * scale)
                };
                for pair in 0..pairs {
                    // Registers without the bit of the distance, in their order.
                    let low = (pair / distance) * 2 * distance + pair % distance;
                    for part in 0..2 {
                        let half = |register: usize, lane: usize| weight(register * LANES + lane)[part];
                        words.extend((0..LANES).map(|lane| word(half(low, lane), half(low + distance, lane))));
                    }
                }
            }
            exponents.push(exponent);
        }
        Some(Self { words, exponents })
    }
}

/// How far apart the numbers of the registers are whose parts lie in one.
fn pair_distance(size: Size) -> usize {
    (size.inputs() / 64).clamp(1, 8)
}

/// `k` with the largest of these in `[2^(k-1), 2^k)`; 0 of nothing but zeros.
pub(super) fn exponent(sizes: impl Iterator<Item = f64>) -> Option<i32> {
    let largest = sizes.fold(0.0, f64::max);
    match largest == 0.0 {
        true => Some(0),
        false => Some(above(largest)).filter(|exponent| (-59..=60).contains(exponent)),
    }
}

/// `k` with a positive number in `[2^(k-1), 2^k)`; 0 of 0.
pub(super) fn above(number: f64) -> i32 {
    if number == 0.0 { 0 } else { (number.to_bits() >> 52) as i32 - 1022 }
}

/// The phases of the kernels' transform over 128 times, sixteen registers, with this sign.
pub fn time_phases(sign: f64) -> Vec<u32> {
    let turn = |numerator: usize, denominator: usize| {
        let angle = TAU * ((numerator % denominator) as f64) / denominator as f64;
        [exact(angle.cos()), exact(sign * angle.sin())]
    };
    // Row (real or imaginary) and column of a complex number as a matrix.
    let entry = |[re, im]: [f64; 2], row: usize, column: usize| match (row, column) {
        (0, 1) => -im,
        (1, 0) => im,
        _ => re,
    };
    let mut table = Vec::new();
    for c0 in 0..2 {
        for (upper, row) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            table.extend((0..LANES).map(|lane| {
                let (l, c) = (lane >> 2, c0 + 2 * (lane & 3) + 8 * upper);
                let phase = turn(l * c, 16);
                word(entry(phase, row, 0), entry(phase, row, 1))
            }));
        }
    }
    for l3 in 0..2 {
        for part in 0..2 {
            let phase = |lane: usize, a0: usize| turn(((lane >> 2) + 8 * l3) * (a0 + 2 * (lane & 3)), 128)[part];
            table.extend((0..LANES).map(|lane| word(phase(lane, 0), phase(lane, 1))));
        }
    }
    for (column, row) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let phase = |lane: usize, a0: usize| entry(turn((lane >> 2) * (a0 + 2 * (lane & 3)), 8), row, column);
        table.extend((0..LANES).map(|lane| word(phase(lane, 0), phase(lane, 1))));
    }
    table
}

/// The mean power of each of 128 fine channels by [`time_phases`], relative to exact phases: the mean over times of
/// the squares of the rounded phases that they are multiplied by.
pub fn time_powers() -> Vec<f64> {
    let table = time_phases(1.0);
    let square = |register: usize, lane: usize, b: usize| {
        let bits = (table[register * LANES + lane] >> (16 * b)) as u16;
        f16::from_bits(bits).to_f64().powi(2)
    };
    let power = |f: usize| {
        let (l, h) = (f % 16, f / 16);
        let (row, l3) = (4 * (l % 8), l / 8);
        // Of the first matrix the sign of l3 makes no difference; real and imaginary parts are entries of a column.
        let first = |c: usize| {
            let (c0, upper, lane) = (c & 1, c >> 3, row + (c >> 1 & 3));
            let register = 4 * c0 + 2 * upper;
            square(register, lane, 0) + square(register + 1, lane, 0)
        };
        let phase = |a: usize| {
            let (lane, b) = (row + (a >> 1), a & 1);
            square(8 + 2 * l3, lane, b) + square(9 + 2 * l3, lane, b)
        };
        let second = |a: usize| {
            let (lane, b) = (4 * h + (a >> 1), a & 1);
            square(12, lane, b) + square(13, lane, b)
        };
        let sum: f64 = (0..16).map(first).sum();
        sum * (0..8).map(|a| phase(a) * second(a)).sum::<f64>() / 128.0
    };
    (0..128).map(power).collect()
}

/// A sine or cosine whose exact value is 0 as 0.
pub(super) fn exact(value: f64) -> f64 {
    if value.abs() < 1e-12 { 0.0 } else { value }
}

/// Times of the kernels' transforms over time.
pub fn time_transform(times: usize) -> bool {
    times == 128
}
