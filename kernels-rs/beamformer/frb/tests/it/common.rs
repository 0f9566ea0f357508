//! A kernel in the emulator with tables and launch as the host makes them, and what it should give.

use std::f64::consts::TAU;

use fringes_beamformer::internals::{
    Parts, VOLTAGE_BOX, Weights, beam_places, channel_phase_power, channel_phases, channelised_weights, in_fours,
    matrix_powers, result_order, time_matrices, time_phases, time_powers, voltage_dimensions,
};
use fringes_device::{Global, GlobalMut};
use fringes_emulator::{GlobalMemory, Launch, TensorLayout};
use fringes_fft::internals::{phase_power, split_phase_table};
use fringes_fft::{Sign, Size};
use fringes_kernel_abi::frb::{WARPS, row_words};
use fringes_kernels_beamformer_channels::{
    ChannelisedGiven, ChannelisedSizes, SHARED_BYTES as CHANNEL_BYTES, WARPS as CHANNEL_WARPS,
    channelised_256_512_128_i4 as channelised,
};
use fringes_kernels_beamformer_frb::form::Given;
use fringes_kernels_beamformer_frb::{FrbKernel, KERNELS, OFFSET, SIGNED, Sizes};
use ndarray::{Array2, Array5};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) type C64 = Complex<f64>;

/// What a kernel is given.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) kernel: &'static FrbKernel,
    pub(crate) results: usize,
    pub(crate) blocks: usize,
    pub(crate) group_bits: u32,
    pub(crate) centre: bool,
    /// Whether polarisations are summed.
    pub(crate) summed: bool,
    pub(crate) signs: u32,
    /// `[frequency][beam]`.
    pub(crate) map: Array2<u32>,
    /// `[frequency][result x block]`.
    pub(crate) good: Option<Array2<bool>>,
    /// `[time][frequency][pol][line][feed]`.
    pub(crate) voltages: Array5<Complex<i8>>,
    /// `[frequency][pol][out][line][feed]`.
    pub(crate) weights: Array5<Complex<f32>>,
    /// Most bytes of shared memory.
    pub(crate) shared: u32,
    /// Bytes between lines that nobody reads.
    pub(crate) gap: usize,
    pub(crate) grid: u32,
}

pub(crate) const TIMES: usize = 128;

pub(crate) fn kernel(name: &str) -> &'static FrbKernel {
    KERNELS.iter().find(|kernel| kernel.name() == name).unwrap()
}

impl Case {
    /// Noise of the whole range of a format.
    pub(crate) fn noise(
        name: &str,
        [frequencies, pols, outs, lines, feeds, beams]: [usize; 6],
        [results, blocks]: [usize; 2],
        seed: u64,
    ) -> Self {
        let kernel = kernel(name);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let limit = if kernel.part(4) == "i4" { 7 } else { 127 };
        let voltages =
            Array5::from_shape_simple_fn((results * blocks * TIMES, frequencies, pols, lines, feeds), || {
                Complex::new(random.random_range(-limit..=limit), random.random_range(-limit..=limit))
            });
        let weights = Array5::from_shape_fn((frequencies, pols, outs, lines, feeds), |(frequency, ..)| {
            let size = random.random_range(0.5..2.0f32) * 3f32.powi(frequency as i32 - 1);
            Complex::from_polar(size, random.random_range(0.0..std::f32::consts::TAU))
        });
        let padded: u32 = kernel.part(2).parse().unwrap();
        let map = Array2::from_shape_fn((frequencies, beams), |(frequency, beam)| {
            (beam as u32 * (17 + 6 * frequency as u32) / 10 + 400) % padded
        });
        Self {
            kernel,
            results,
            blocks,
            group_bits: 3,
            centre: false,
            summed: true,
            signs: OFFSET,
            map,
            good: None,
            voltages,
            weights,
            shared: 227 << 10,
            gap: 0,
            grid: 2,
        }
    }

    fn size(&self) -> Size {
        Size::new(self.kernel.part(1).parse().unwrap(), self.kernel.part(2).parse().unwrap()).unwrap()
    }

    fn fine(&self) -> usize {
        TIMES >> self.group_bits
    }

    /// Factors `[frequency][fine]`.
    fn factors(&self) -> Vec<f64> {
        let frequencies = self.map.dim().0;
        (0..frequencies * self.fine()).map(|at| 1.0 + at as f64 / 100.0).collect()
    }

    /// The chain by its definition, `[frequency][fine][time][beam][product]` with `beam = out x beams + b`.
    pub(crate) fn expected(&self) -> Array5<f64> {
        let (_, frequencies, pols, lines, feeds) = self.voltages.dim();
        let (outs, beams, padded) = (self.weights.dim().2, self.map.dim().1, self.size().outputs());
        let (fine, products) = (self.fine(), if self.summed { 1 } else { pols });
        let mut powers = Array5::zeros((frequencies, fine, self.results, outs * beams, products));
        let factors = self.factors();
        let root = |numerator: usize, denominator: usize| {
            C64::cis(TAU * (numerator % denominator) as f64 / denominator as f64)
        };
        let roots: Vec<C64> = (0..padded).map(|n| root(n, padded)).collect();
        for frequency in 0..frequencies {
            for result in 0..self.results {
                let good = |block: usize| {
                    self.good.as_ref().is_none_or(|good| good[(frequency, result * self.blocks + block)])
                };
                let count = (0..self.blocks).filter(|&block| good(block)).count();
                for out in 0..outs {
                    for pol in 0..pols {
                        for block in (0..self.blocks).filter(|&block| good(block)) {
                            let mut chosen = vec![vec![C64::default(); TIMES]; beams];
                            for time in 0..TIMES {
                                let at = (result * self.blocks + block) * TIMES + time;
                                let sums: Vec<C64> = (0..feeds)
                                    .map(|n| {
                                        let of = |line: usize| {
                                            let x = self.voltages[(at, frequency, pol, line, n)];
                                            let w = self.weights[(frequency, pol, out, line, n)];
                                            C64::new(w.re.into(), w.im.into()) * C64::new(x.re.into(), x.im.into())
                                        };
                                        (0..lines).map(of).sum()
                                    })
                                    .collect();
                                for (beam, chosen) in chosen.iter_mut().enumerate() {
                                    let q = self.map[(frequency, beam)] as usize;
                                    chosen[time] =
                                        sums.iter().enumerate().map(|(n, h)| h * roots[q * n % padded]).sum();
                                }
                            }
                            for (beam, chosen) in chosen.iter().enumerate() {
                                for f in 0..TIMES {
                                    let y: C64 = chosen.iter().enumerate().map(|(t, k)| k * root(f * t, TIMES)).sum();
                                    let u = (f >> self.group_bits) ^ if self.centre { fine / 2 } else { 0 };
                                    let product = if self.summed { 0 } else { pol };
                                    let factor = factors[frequency * fine + u] * self.blocks as f64 / count as f64;
                                    powers[(frequency, u, result, out * beams + beam, product)] +=
                                        y.norm_sqr() * factor;
                                }
                            }
                        }
                    }
                }
            }
        }
        powers
    }

    /// The voltages in memory, and bytes from a line to the next.
    fn bytes(&self) -> (Vec<u8>, usize) {
        let feeds = self.voltages.dim().4;
        let narrow = self.kernel.part(4) == "i4";
        let bytes = if narrow { 1 } else { 2 };
        let row = feeds * bytes + self.gap;
        let mut data = vec![0x5a; self.voltages.len() / feeds * row - self.gap];
        for (line, voltages) in self.voltages.rows().into_iter().enumerate() {
            for (feed, x) in voltages.iter().enumerate() {
                let at = line * row + feed * bytes;
                if narrow {
                    let byte = (x.re as u8) << 4 | (x.im as u8 & 15);
                    data[at] = if self.signs == OFFSET { byte ^ 0x88 } else { byte };
                } else {
                    data[at..at + 2].copy_from_slice(&[x.re as u8, x.im as u8]);
                }
            }
        }
        (data, row)
    }

    /// Flags, as bytes.
    fn flags(&self) -> Vec<u8> {
        self.good.iter().flatten().map(|&good| u8::from(good) * 0x20).collect()
    }

    /// Factors of the kernel, of `[frequency][fine]`: with what weights were divided by, over mean powers.
    fn kernel_factors(&self, exponents: &[i32], powers: &[f64], all: f64) -> Vec<f32> {
        let fine = self.fine();
        (self.factors().iter().enumerate())
            .map(|(at, factor)| {
                let group = ((at % fine) ^ if self.centre { fine / 2 } else { 0 }) << self.group_bits;
                let mean = powers[group..group + (1 << self.group_bits)].iter().sum::<f64>();
                let power = all * mean / f64::from(1 << self.group_bits);
                (factor / power * 4f64.powi(exponents[at / fine])) as f32
            })
            .collect()
    }

    /// Runs the kernel.
    pub(crate) fn run(&self) -> Array5<f32> {
        let (_, frequencies, pols, lines, feeds) = self.voltages.dim();
        let (outs, beams, fine) = (self.weights.dim().2, self.map.dim().1, self.fine());
        let products = if self.summed { 1 } else { pols };
        let (data, row) = self.bytes();
        let narrow = self.kernel.part(4) == "i4";
        let most = if narrow { 8.0 } else { 128.0 } * 2f64.sqrt();
        let weights = Weights::new(self.weights.view(), self.size(), most).unwrap();
        let parts = Parts::new(self.map.view(), self.size(), row_words(TIMES as u32, 1), fine, self.shared).unwrap();
        let factors = self.kernel_factors(&weights.exponents, &time_powers(), phase_power(self.size()));
        let good = self.flags();
        let words = frequencies * fine * self.results * outs * beams * products;

        let mut memory = GlobalMemory::new();
        let given = Given {
            voltages: Global::from(memory.upload(&data)),
            good: Global::from(memory.upload(&good)),
            weights: Global::from(memory.upload(&weights.words)),
            phases: Global::from(memory.upload(&split_phase_table(self.size(), Sign::Positive, 0))),
            slots: Global::from(memory.upload(&parts.slot_table)),
            rows: Global::from(memory.upload(&parts.row_table)),
            time_phases: Global::from(memory.upload(&time_phases(1.0))),
            factors: Global::from(memory.upload(&factors)),
        };
        let powers = memory.allocate::<f32>(words);
        let [line, pol, frequency] = [row, row * lines, row * lines * pols].map(|bytes| bytes as u64);
        let u32s = |count: usize| u32::try_from(count).unwrap();
        let sizes = Sizes {
            frequencies: u32s(frequencies),
            times: u32s(self.results),
            outs: u32s(outs),
            parts: u32s(parts.parts),
            beams: u32s(beams),
            part_beams: u32s(parts.part_beams),
            slots: u32s(parts.slots),
            lines: u32s(lines),
            feeds: u32s(feeds),
            pols: u32s(pols),
            summed: if self.summed { u32s(pols) } else { 1 },
            blocks: u32s(self.blocks),
            group_bits: self.group_bits,
            centre: if self.centre { u32s(fine / 2) } else { 0 },
            signs: if narrow { self.signs } else { SIGNED },
            strides: [frequency * frequencies as u64, frequency, pol, line],
        };
        let launch = Launch::new(self.kernel.declaration, [self.grid, 1, 1], [32 * WARPS, 1, 1]);
        let report = launch
            .shared_bytes(parts.shared_bytes)
            .run(&mut memory, || (self.kernel.run)(given, GlobalMut::from(powers), sizes));
        report.assert_clean();
        Array5::from_shape_vec((frequencies, fine, self.results, outs * beams, products), memory.values(powers))
            .unwrap()
    }

    /// Runs the kernel that takes feeds in finer channels instead.
    pub(crate) fn run_channelised(&self, sign: f64) -> Array5<f32> {
        let (_, frequencies, pols, lines, _) = self.voltages.dim();
        let (outs, beams, fine) = (self.weights.dim().2, self.map.dim().1, self.fine());
        assert_eq!((lines, outs, self.group_bits), (4, 4, 3));
        let products = if self.summed { 1 } else { pols };
        let (data, row) = self.bytes();
        let weights = channelised_weights(self.weights.view()).unwrap();
        let factors = self.kernel_factors(&weights.exponents, &matrix_powers(), channel_phase_power());
        let words = frequencies * fine * self.results * outs * beams * products;

        let [line, pol, frequency] = [row, row * lines, row * lines * pols].map(|bytes| bytes as u64);
        let strides = [frequency * frequencies as u64, frequency, pol, line];
        let times = self.voltages.dim().0;
        let (dimensions, distances) = voltage_dimensions([frequencies, pols, times], strides).unwrap();
        let layout = TensorLayout {
            element_bytes: 1,
            dimensions: dimensions.to_vec(),
            strides_bytes: distances.to_vec(),
            block: VOLTAGE_BOX.to_vec(),
            swizzle: 64,
        };
        let mut memory = GlobalMemory::new();
        let data = memory.upload(&data);
        let given = ChannelisedGiven {
            voltages: memory.map_tensor(data, &layout).into(),
            good: Global::from(memory.upload(&self.flags())),
            weights: Global::from(memory.upload(&weights.words)),
            phases: Global::from(memory.upload(&in_fours(&channel_phases(Sign::Positive)))),
            matrices: Global::from(memory.upload(&time_matrices(sign))),
            places: Global::from(memory.upload(&beam_places(self.map.view(), self.size()).unwrap())),
            factors: Global::from(memory.upload(&factors)),
        };
        let powers = memory.allocate::<f32>(words);
        let u32s = |count: usize| u32::try_from(count).unwrap();
        let sizes = ChannelisedSizes {
            frequencies: u32s(frequencies),
            times: u32s(self.results),
            beams: u32s(beams),
            pols: u32s(pols),
            summed: if self.summed { u32s(pols) } else { 1 },
            blocks: u32s(self.blocks),
            order: result_order(sign, self.centre),
            signs: if self.signs == OFFSET { 0 } else { 0x8888_8888 },
            strides: [frequency, pol].map(|stride| stride as u32),
        };
        let ChannelisedGiven { voltages, good, weights, phases, matrices, places, factors } = given;
        let ChannelisedSizes { frequencies: n, times, beams: b, pols: p, summed, blocks, order, signs, strides } =
            sizes;
        let [frequency, pol] = strides;
        let declaration = <channelised as fringes_device::Kernel>::DECLARATION;
        Launch::new(declaration, [self.grid, 1, 1], [32 * CHANNEL_WARPS, 1, 1])
            .shared_bytes(CHANNEL_BYTES)
            .run(&mut memory, || {
                let to = GlobalMut::from(powers);
                channelised(
                    voltages, good, weights, phases, matrices, places, factors, to, n, times, b, p, summed, blocks,
                    order, signs, frequency, pol,
                );
            })
            .assert_clean();
        Array5::from_shape_vec((frequencies, fine, self.results, outs * beams, products), memory.values(powers))
            .unwrap()
    }

    /// The rms of the relative errors of all powers, and their mean relative error.
    pub(crate) fn errors(&self) -> [f64; 2] {
        self.errors_of(&self.run())
    }

    /// The same of these powers.
    pub(crate) fn errors_of(&self, actual: &Array5<f32>) -> [f64; 2] {
        let expected = self.expected();
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
}
