//! Tables of the kernels of a grid: gains, and both matrices as fragments.

use std::f64::consts::TAU;

use fringes_fft::Sign;
use half::f16;
use ndarray::{ArrayView2, ArrayView3, ArrayView4};
use num_complex::Complex;

use super::super::tables::{GREATEST, LANES, exact, exponent, word};

/// Rows or columns of a fragment.
const SIDE: usize = 8;
/// Largest power of two that gains are scaled to.
const CEILING: i32 = 0;
/// Gains are never scaled below this power of two, or f16 would lose their bits.
const FLOOR: i32 = -8;

/// Gains, matrices and what powers are to be divided by.
#[derive(Debug, Clone, PartialEq)]
pub struct GridTables {
    /// Words of f16 `[frequency][pol][line][quad][feed of the quad][(re, re), (-im, im)]`.
    pub gains: Vec<u32>,
    /// Fragments of the matrix along a line, `[frequency][8 beams][8 feeds][lane][register]`.
    pub phases: Vec<u32>,
    /// Fragments of the matrix of lines, `[frequency][time of a tile][8 outs][8 lines][lane][register]`.
    pub matrix: Vec<u32>,
    /// Of each frequency: what voltages were divided by is `2^exponent`.
    pub exponents: Vec<i32>,
    /// Of each frequency: the mean power of noise with rounded numbers, over that with exact ones.
    pub powers: Vec<f64>,
}

/// What the tables are made of.
#[derive(Debug, Clone, Copy)]
pub struct GridParts<'a> {
    /// `[frequency][pol][line][feed]`
    pub gains: ArrayView4<'a, Complex<f32>>,
    /// `[frequency][out][line]`
    pub matrix: ArrayView3<'a, Complex<f32>>,
    /// `[frequency][beam]`
    pub map: ArrayView2<'a, u32>,
    /// Length that a line is padded to.
    pub padded: usize,
    /// Sign of the exponent along a line.
    pub sign: Sign,
    /// Whether gains and the matrix are conjugated.
    pub conjugate: bool,
    /// Largest absolute value of a voltage.
    pub most: f64,
    /// Lines of a tile: 8, 4, 2 or 1.
    pub columns: usize,
}

impl GridTables {
    /// The tables; `None` if the largest gain of a frequency, or the largest number of its matrix, is not 0 or from
    /// 2^-60 to below 2^60.
    ///
    /// # Precision
    /// Each number is rounded to f16 after a division by a power of two, which leaves the largest of a frequency from
    /// 1/2 to 1, or less where sums of so many voltages would not fit.
    pub fn new(parts: &GridParts<'_>) -> Option<Self> {
        let (frequencies, pols, lines, feeds) = parts.gains.dim();
        let (outs, beams) = (parts.matrix.dim().1, parts.map.ncols());
        let ceiling = ((GREATEST / (feeds as f64 * parts.most)).log2().floor() as i32).clamp(FLOOR, CEILING);
        let conj = if parts.conjugate { -1.0 } else { 1.0 };
        let sign = parts.sign.value();
        let mut tables = Self { gains: vec![], phases: vec![], matrix: vec![], exponents: vec![], powers: vec![] };
        tables.gains.reserve(frequencies * pols * lines * feeds.next_multiple_of(4) * 2);
        let roots: Vec<[f64; 2]> = (0..parts.padded)
            .map(|n| {
                let angle = TAU * n as f64 / parts.padded as f64;
                [exact(angle.cos()), exact(sign * angle.sin())]
            })
            .collect();
        let size = |value: &Complex<f32>| f64::from(value.re).hypot(value.im.into());
        for frequency in 0..frequencies {
            let gains = parts.gains.index_axis(ndarray::Axis(0), frequency);
            let matrix = parts.matrix.index_axis(ndarray::Axis(0), frequency);
            let gain_exponent = exponent(gains.iter().map(size))? - ceiling;
            let matrix_exponent = exponent(matrix.iter().map(size))?;
            let scaled = |value: Complex<f32>, exponent: i32| {
                let scale = 2f64.powi(-exponent);
                [f64::from(value.re) * scale, conj * f64::from(value.im) * scale]
            };
            let mut power = Power::default();
            for line in gains.rows() {
                for feed in 0..feeds.next_multiple_of(4) {
                    let [re, im] = line.get(feed).map_or([0.0; 2], |&gain| scaled(gain, gain_exponent));
                    power.add([re, im]);
                    tables.gains.extend([word(re, re), word(-im, im)]);
                }
            }
            let gain_power = power.ratio();

            let mut power = Power::default();
            for tile in 0..beams.div_ceil(SIDE) {
                for feed_tile in 0..feeds.div_ceil(SIDE) {
                    fragment(&mut tables.phases, |row, [n0, t]| {
                        let (beam, feed) = (SIDE * tile + row, SIDE * feed_tile + 2 * t + n0);
                        match parts.map.get((frequency, beam)) {
                            Some(&q) if feed < feeds => {
                                let root = roots[q as usize * feed % parts.padded];
                                power.add(root);
                                root
                            }
                            _ => [0.0; 2],
                        }
                    });
                }
            }
            let phase_power = power.ratio();

            let mut power = Power::default();
            for time in 0..SIDE / parts.columns {
                for out_tile in 0..outs.div_ceil(SIDE) {
                    for line_tile in 0..lines.div_ceil(SIDE) {
                        of_lines(&mut tables.matrix, |row, column| {
                            let (out, line) = (SIDE * out_tile + row, SIDE * line_tile + column);
                            let line = line.checked_sub(parts.columns * time);
                            match line.and_then(|line| matrix.get((out, line))) {
                                Some(&value) => {
                                    let value = scaled(value, matrix_exponent);
                                    power.add(value);
                                    value
                                }
                                None => [0.0; 2],
                            }
                        });
                    }
                }
            }
            tables.powers.push(gain_power * phase_power * power.ratio());
            tables.exponents.push(gain_exponent + matrix_exponent);
        }
        Some(tables)
    }
}

/// Sums of squares of numbers, exact and rounded.
#[derive(Debug, Default)]
struct Power {
    exact: f64,
    rounded: f64,
}

impl Power {
    fn add(&mut self, parts: [f64; 2]) {
        for part in parts {
            self.exact += part * part;
            self.rounded += f16::from_f64(part).to_f64().powi(2);
        }
    }

    fn ratio(&self) -> f64 {
        if self.rounded > 0.0 { self.rounded / self.exact } else { 1.0 }
    }
}

/// Row (real or imaginary) and column of a complex number as a matrix.
fn entry([re, im]: [f64; 2], row: usize, column: usize) -> f64 {
    match (row, column) {
        (0, 1) => -im,
        (1, 0) => im,
        _ => re,
    }
}

/// A fragment of the matrix along a line: of beam `row` and feed `2 t + n0`, `of(row, [n0, t])`.
fn fragment(words: &mut Vec<u32>, mut of: impl FnMut(usize, [usize; 2]) -> [f64; 2]) {
    for lane in 0..LANES {
        let (row, t) = (lane >> 2, lane & 3);
        let values = [0, 1].map(|n0| of(row, [n0, t]));
        for (n0, re_im) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            words.push(word(entry(values[n0], re_im, 0), entry(values[n0], re_im, 1)));
        }
    }
}

/// A fragment of the matrix of lines: of out `row` and line `column`, `of(row, column)`.
fn of_lines(words: &mut Vec<u32>, mut of: impl FnMut(usize, usize) -> [f64; 2]) {
    for lane in 0..LANES {
        let (row, t) = (lane >> 2, lane & 3);
        let values = [0, 1].map(|l0| of(row, 2 * t + l0));
        for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            words.push(word(entry(values[0], to, from), entry(values[1], to, from)));
        }
    }
}
