//! A kernel in the emulator with tables and launch as the host makes them, and what it should give.

use std::f64::consts::TAU;

use fringes_beamformer::internals::{GridKind, GridParts, GridShape, GridTables, VOLTAGES};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::{GlobalMemory, Launch};
use fringes_fft::Sign;
use fringes_kernels_beamformer_frb::{OFFSET, SIGNED};
use fringes_kernels_beamformer_grid::{CONJUGATED, EIGHT, FOUR, Given, KERNELS, NARROW, NOWHERE, Run, Sizes};
use half::f16;
use ndarray::{Array2, Array3, Array4, Array5, Array6, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type C64 = Complex<f64>;

/// Number of f16 among formats.
pub(crate) const HALF: u32 = 2;

/// What a kernel is given.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) any: bool,
    pub(crate) results: usize,
    pub(crate) blocks: usize,
    pub(crate) group: usize,
    pub(crate) centre: bool,
    /// Whether polarisations are summed.
    pub(crate) summed: bool,
    pub(crate) conjugate: bool,
    pub(crate) format: u32,
    pub(crate) signs: u32,
    pub(crate) padded: usize,
    /// `[frequency][beam]`.
    pub(crate) map: Array2<u32>,
    /// `[frequency][result x block]`.
    pub(crate) good: Option<Array2<bool>>,
    /// `[block][frequency][channel][pol][line][feed]`.
    pub(crate) voltages: Array6<C64>,
    /// `[frequency][pol][line][feed]`.
    pub(crate) gains: Array4<Complex<f32>>,
    /// `[frequency][out][line]`.
    pub(crate) matrix: Array3<Complex<f32>>,
    /// Most bytes of shared memory.
    pub(crate) shared: usize,
    /// Bytes between lines that nobody reads.
    pub(crate) gap: usize,
    pub(crate) splits: usize,
    pub(crate) grid: u32,
}

impl Case {
    /// Noise of the whole range of a format, of `fine` channels of `group` each.
    pub(crate) fn noise(
        format: u32,
        [frequencies, pols, outs, lines, feeds, beams]: [usize; 6],
        [results, blocks, fine, group]: [usize; 4],
        padded: usize,
    ) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64((lines * feeds + blocks) as u64);
        let limit = if format == FOUR { 7 } else { 127 };
        let dim = (results * blocks, frequencies, fine * group, pols, lines, feeds);
        let voltages = Array6::from_shape_simple_fn(dim, || {
            let mut part = || f64::from(random.random_range(-limit..=limit)) / if format == HALF { 4.0 } else { 1.0 };
            C64::new(part(), part())
        });
        let mut number = |frequency: usize| {
            let size = random.random_range(0.5..2.0f32) * 3f32.powi(frequency as i32 - 1);
            Complex::from_polar(size, random.random_range(0.0..std::f32::consts::TAU))
        };
        let gains = Array4::from_shape_fn((frequencies, pols, lines, feeds), |(frequency, ..)| number(frequency));
        let matrix = Array3::from_shape_fn((frequencies, outs, lines), |(frequency, ..)| number(frequency));
        let map = Array2::from_shape_fn((frequencies, beams), |(frequency, beam)| {
            ((beam * (17 + 6 * frequency) / 10 + 400) % padded) as u32
        });
        Self {
            any: false,
            results,
            blocks,
            group,
            centre: false,
            summed: true,
            conjugate: false,
            format,
            signs: OFFSET,
            padded,
            map,
            good: None,
            voltages,
            gains,
            matrix,
            shared: 227 << 10,
            gap: 0,
            splits: 1,
            grid: 2,
        }
    }

    fn fine(&self) -> usize {
        self.voltages.dim().2 / self.group
    }

    /// Factors `[frequency][fine]`.
    fn factors(&self) -> Vec<f64> {
        (0..self.map.nrows() * self.fine()).map(|at| 1.0 + at as f64 / 100.0).collect()
    }

    /// Voltages of all beams, `[block][frequency][channel][pol][beam]` with `beam = out x beams + b`.
    fn beams(&self) -> Array5<C64> {
        let (blocks, frequencies, channels, pols, lines, feeds) = self.voltages.dim();
        let (outs, beams) = (self.matrix.dim().1, self.map.ncols());
        let conj = |value: Complex<f32>| {
            C64::new(value.re.into(), f64::from(value.im) * if self.conjugate { -1.0 } else { 1.0 })
        };
        let roots: Vec<C64> = (0..self.padded).map(|k| C64::cis(TAU * k as f64 / self.padded as f64)).collect();
        let root = |q: usize, n: usize| roots[q * n % self.padded];
        let mut all = Array5::zeros((blocks, frequencies, channels, pols, outs * beams));
        for ((block, frequency, channel, pol, beam), k) in all.indexed_iter_mut() {
            let (out, b) = (beam / beams, beam % beams);
            let q = self.map[(frequency, b)] as usize;
            for line in 0..lines {
                let m = conj(self.matrix[(frequency, out, line)]);
                let x = self.voltages.slice(s![block, frequency, channel, pol, line, ..]);
                let j: C64 = (0..feeds).map(|n| conj(self.gains[(frequency, pol, line, n)]) * x[n] * root(q, n)).sum();
                *k += m * j;
            }
        }
        all
    }

    /// Powers by their definition, `[frequency][fine][time][beam][product]`.
    pub(crate) fn powers(&self) -> Array5<f64> {
        let all = self.beams();
        let (_, frequencies, channels, pols, beams) = all.dim();
        let (fine, products) = (self.fine(), if self.summed { 1 } else { pols });
        let mut powers = Array5::zeros((frequencies, fine, self.results, beams, products));
        for ((block, frequency, channel, pol, beam), k) in all.indexed_iter() {
            let result = block / self.blocks;
            let good = |block: usize| self.good.as_ref().is_none_or(|good| good[(frequency, block)]);
            if !good(block) {
                continue;
            }
            let count = (result * self.blocks..(result + 1) * self.blocks).filter(|&block| good(block)).count();
            let u = (channel / self.group) ^ if self.centre { fine / 2 } else { 0 };
            let factor = self.factors()[frequency * fine + u] * self.blocks as f64 / count as f64;
            powers[(frequency, u, result, beam, if self.summed { 0 } else { pol })] += k.norm_sqr() * factor;
        }
        assert_eq!(channels, fine * self.group);
        powers
    }

    /// Runs the kernel: its words, of powers, or of voltages `[frequency][time][pol][place]` of beams that have one.
    fn run(&self, kind: GridKind, places: Option<&[u32]>, narrow: bool) -> Vec<u32> {
        let (blocks, frequencies, channels, pols, lines, feeds) = self.voltages.dim();
        let (outs, beams) = (self.matrix.dim().1, self.map.ncols());
        let bytes = [1, 2, 4][self.format as usize];
        let row = feeds * bytes + self.gap;
        let mut data = vec![0x5a; self.voltages.len() / feeds * row - self.gap];
        for (line, voltages) in self.voltages.rows().into_iter().enumerate() {
            for (feed, x) in voltages.iter().enumerate() {
                let at = line * row + feed * bytes;
                let (re, im) = (x.re as i32, x.im as i32);
                match self.format {
                    FOUR => {
                        let byte = (re as u8) << 4 | (im as u8 & 15);
                        data[at] = if self.signs == OFFSET { byte ^ 0x88 } else { byte };
                    }
                    EIGHT => data[at..at + 2].copy_from_slice(&[re as u8, im as u8]),
                    _ => {
                        data[at..at + 2].copy_from_slice(&f16::from_f64(x.re).to_le_bytes());
                        data[at + 2..at + 4].copy_from_slice(&f16::from_f64(x.im).to_le_bytes());
                    }
                }
            }
        }
        let shape = kind.shape([lines, feeds, outs, beams], bytes, self.shared).unwrap();
        let tables = self.tables(&shape);
        let factors: Vec<f32> = (self.factors().iter().enumerate())
            .map(|(at, factor)| {
                let frequency = at / self.fine();
                let scale = 2f64.powi(tables.exponents[frequency]);
                let of_powers = factor / tables.powers[frequency] * scale * scale;
                (if places.is_some() { scale } else { of_powers }) as f32
            })
            .collect();
        let good: Vec<u8> = self.good.iter().flatten().map(|&good| u8::from(good) * 0x20).collect();
        let products = if self.summed { 1 } else { pols };
        let count = places.map_or(0, |places| 1 + *places.iter().filter(|&&place| place != NOWHERE).max().unwrap());
        let words = match places {
            None => frequencies * self.fine() * self.results * outs * beams * products,
            Some(_) => frequencies * self.results * pols * count as usize * if narrow { 1 } else { 2 },
        };

        let mut memory = GlobalMemory::new();
        let quads =
            |words: &[u32]| -> Vec<[u32; 4]> { words.chunks(4).map(|words| words.try_into().unwrap()).collect() };
        let given = Given {
            voltages: Global::from(memory.upload(&data)),
            good: Global::from(memory.upload(&good)),
            gains: Global::from(memory.upload(&quads(&tables.gains))),
            phases: Global::from(memory.upload(&quads(&tables.phases))),
            matrix: Global::from(memory.upload(&quads(&tables.matrix))),
            factors: Global::from(memory.upload(&factors)),
            places: Global::from(memory.upload(places.unwrap_or_default())),
        };
        let u32s = |count: usize| u32::try_from(count).unwrap();
        let [line, pol, channel, frequency] =
            [row, row * lines, row * lines * pols, row * lines * pols * channels].map(|bytes| bytes as u64);
        let beam = 1u64;
        let out_pol = u64::from(count) * beam;
        let out_time = out_pol * pols as u64;
        let sizes = Sizes {
            frequencies: u32s(frequencies),
            fine: u32s(self.fine()),
            times: u32s(self.results),
            first: 0,
            results: u32s(self.results),
            outs: u32s(outs),
            beams: u32s(beams),
            lines: u32s(lines),
            feeds: u32s(feeds),
            pols: u32s(pols),
            summed: if self.summed { u32s(pols) } else { 1 },
            blocks: u32s(self.blocks),
            group: u32s(self.group),
            centre: if self.centre { u32s(self.fine() / 2) } else { 0 },
            signs: if self.format == FOUR { self.signs } else { SIGNED },
            columns: u32s(shape.columns),
            groups: u32s(shape.groups),
            buffers: u32s(shape.buffers),
            out_parts: u32s(shape.out_parts),
            beam_parts: u32s(shape.beam_parts),
            splits: u32s(self.splits),
            strides: [frequency * frequencies as u64, frequency, channel, pol, line],
            out_strides: [out_time * self.results as u64, out_time, out_pol, beam],
            places_out: count,
            kind: if narrow { NARROW } else { 0 } | if self.conjugate { CONJUGATED } else { 0 },
        };
        assert_eq!(blocks, self.results * self.blocks);
        let kernel = KERNELS
            .iter()
            .find(|kernel| {
                kernel.name() == format!("{}_{}", shape.kind.name, ["i4", "i8", "f16"][self.format as usize])
            })
            .unwrap();
        let launch = Launch::new(kernel.declaration, [self.grid, 1, 1], [32 * u32s(shape.warps), 1, 1])
            .shared_bytes(u32s(shape.shared_bytes));
        match kernel.run {
            Run::Powers(run) => {
                let out = memory.allocate::<f32>(words);
                launch.run(&mut memory, || run(given, GlobalMut::from(out), sizes)).assert_clean();
                memory.values(out).iter().map(|power: &f32| power.to_bits()).collect()
            }
            Run::Voltages(run) => {
                let out = memory.allocate::<u32>(words);
                launch.run(&mut memory, || run(given, GlobalMut::from(out), sizes)).assert_clean();
                memory.values(out)
            }
        }
    }

    fn tables(&self, shape: &GridShape) -> GridTables {
        GridTables::new(&GridParts {
            gains: self.gains.view(),
            matrix: self.matrix.view(),
            map: self.map.view(),
            padded: self.padded,
            sign: Sign::Positive,
            conjugate: self.conjugate,
            most: [8.0, 128.0, 32.0][self.format as usize] * 2f64.sqrt(),
            columns: shape.columns,
        })
        .unwrap()
    }

    /// Powers by the kernel.
    pub(crate) fn run_powers(&self) -> Array5<f32> {
        let (_, frequencies, _, pols, lines, feeds) = self.voltages.dim();
        let kind = GridKind::powers(lines, feeds, self.any);
        let beams = self.matrix.dim().1 * self.map.ncols();
        let shape = (frequencies, self.fine(), self.results, beams, if self.summed { 1 } else { pols });
        let words = self.run(kind, None, false);
        Array5::from_shape_vec(shape, words.into_iter().map(f32::from_bits).collect()).unwrap()
    }

    /// The name of the kernel of powers.
    pub(crate) fn name(&self) -> &'static str {
        let (_, _, _, _, lines, feeds) = self.voltages.dim();
        GridKind::powers(lines, feeds, self.any).name
    }

    /// The rms of the relative errors of all powers, and their mean relative error.
    pub(crate) fn errors(&self) -> [f64; 2] {
        let (actual, expected) = (self.run_powers(), self.powers());
        let (mut squares, mut sum) = (0.0, 0.0);
        // Relative to the mean over beams: a power of few terms may be small.
        for (actual, expected) in actual.lanes(ndarray::Axis(3)).into_iter().zip(expected.lanes(ndarray::Axis(3))) {
            let mean = expected.mean().unwrap();
            for (actual, expected) in actual.iter().zip(expected) {
                let error = (f64::from(*actual) - expected) / mean;
                assert!(error.is_finite(), "{actual} for {expected}");
                squares += error * error;
                sum += error;
            }
        }
        let count = actual.len() as f64;
        [(squares / count).sqrt(), sum / count]
    }

    /// The rms of errors of voltages of some beams, over the rms of voltages: `chosen` are beams `out x beams + b`.
    pub(crate) fn voltage_error(&self, chosen: &[usize], narrow: bool) -> f64 {
        let (_, frequencies, _, pols, _, _) = self.voltages.dim();
        let beams = self.matrix.dim().1 * self.map.ncols();
        let mut places = vec![NOWHERE; beams];
        for (place, &beam) in chosen.iter().enumerate() {
            places[beam] = place as u32;
        }
        let words = self.run(VOLTAGES, Some(&places), narrow);
        let expected = self.beams();
        let (mut errors, mut squares) = (0.0, 0.0);
        let mut words = words.chunks(if narrow { 1 } else { 2 });
        for frequency in 0..frequencies {
            for time in 0..self.results {
                for pol in 0..pols {
                    for &beam in chosen {
                        let found = match words.next().unwrap() {
                            [word] => {
                                let part = |bits: u32| f16::from_bits(bits as u16).to_f64();
                                C64::new(part(*word), part(*word >> 16))
                            }
                            words => C64::new(f32::from_bits(words[0]).into(), f32::from_bits(words[1]).into()),
                        };
                        let expected = expected[(time, frequency, 0, pol, beam)];
                        errors += (found - expected).norm_sqr();
                        squares += expected.norm_sqr();
                    }
                }
            }
        }
        (errors / squares).sqrt()
    }
}
