//! Cases: two inputs of noise, what the kernels get, and what they should make of it by the reference.

use std::f64::consts::TAU;

use fringes_channelizer::internals::Job;
use fringes_channelizer::internals::one_pass_plan::Passes;
use fringes_kernels_f_engine_two_pass::numbers::PADDING;
use fringes_reference::dither::dither;
use fringes_reference::pfb::{spectrum_complex, spectrum_real};
use fringes_reference::window::{Window, pfb_weights};
use fringes_types::pack_samples;
use half::f16;
use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Unit of rounding.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Seed of the dither.
pub(crate) const SEED: u64 = 0x0123_4567_89ab_cdef;

/// Number of the first spectrum.
pub(crate) const FIRST_SPECTRUM: u64 = 0x1_0000_0003;

/// Inputs, all of which read the same samples from different ones on.
pub(crate) const INPUTS: usize = 2;

/// Format of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Format {
    /// Packed, of 2 to 16 bits; 8 are i8.
    Packed(u32),
    I16,
    F16,
    F32,
}

/// Order of the output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// `[frame][channel][spectrum][input]` of so many spectra a frame.
    Frames(usize),
    /// `[channel][row][input][spectrum]` of so many spectra a row.
    Rows(usize),
}

/// A plan and some spectra of it.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) channels: usize,
    pub(crate) complex: bool,
    pub(crate) format: Format,
    pub(crate) taps: usize,
    /// Samples from spectrum to spectrum.
    pub(crate) stride: usize,
    /// First sample of the first spectrum of input 0; input 1 begins 5 samples later.
    pub(crate) start: usize,
    pub(crate) spectra: usize,
    pub(crate) slots: usize,
    /// First channel and number of channels that are put out.
    pub(crate) range: (usize, usize),
    pub(crate) order: Order,
    pub(crate) dither: bool,
    /// Root mean square of the values that are aimed at, by the gains.
    pub(crate) rms: f64,
}

impl Case {
    /// Samples of a spectrum's step.
    pub(crate) fn step(&self) -> usize {
        if self.complex { self.channels } else { 2 * self.channels }
    }

    /// A case of all channels, critically sampled, in frames of 4 spectra, undithered.
    pub(crate) fn new(
        channels: usize,
        complex: bool,
        format: Format,
        taps: usize,
        spectra: usize,
        slots: usize,
    ) -> Self {
        let mut case = Self {
            channels,
            complex,
            format,
            taps,
            stride: 0,
            start: 3,
            spectra,
            slots,
            range: (0, channels),
            order: Order::Frames(4),
            dither: false,
            rms: 1.0,
        };
        case.stride = case.step();
        case
    }

    pub(crate) fn bits(&self) -> u32 {
        match self.format {
            Format::Packed(bits) => bits,
            Format::I16 | Format::F16 => 16,
            Format::F32 => 32,
        }
    }

    fn parts(&self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    fn start(&self, input: usize) -> usize {
        self.start + 5 * input
    }

    fn turns(&self, input: usize, s: usize) -> (f64, f64) {
        let (i, s) = (input as f64, s as f64);
        (0.3 - 0.4 * i + 0.011 * s, -0.0013 + 0.002 * i + 1e-5 * s)
    }

    /// Number of a spectrum within its period.
    fn time(&self, s: usize) -> usize {
        s
    }

    /// Elements of the output.
    pub(crate) fn elements(&self) -> usize {
        let (Order::Frames(period) | Order::Rows(period)) = self.order;
        self.spectra.div_ceil(period) * period * self.range.1 * INPUTS
    }

    /// Elements from channel to channel, spectra of a period, elements from period to period and from spectrum to
    /// spectrum.
    pub(crate) fn strides(&self) -> (u64, u32, u64, u32) {
        let inputs = INPUTS as u64;
        match self.order {
            Order::Frames(n) => (n as u64 * inputs, n as u32, (n * self.range.1) as u64 * inputs, INPUTS as u32),
            Order::Rows(n) => ((self.spectra.div_ceil(n) * n) as u64 * inputs, n as u32, n as u64 * inputs, 1),
        }
    }

    /// Where a value should be.
    pub(crate) fn place(&self, input: usize, s: usize, channel: usize) -> usize {
        let t = self.time(s);
        match self.order {
            Order::Frames(n) => ((t / n * self.range.1 + channel) * n + t % n) * INPUTS + input,
            Order::Rows(n) => ((channel * self.spectra.div_ceil(n) + t / n) * INPUTS + input) * n + t % n,
        }
    }

    pub(crate) fn make(&self) -> Made {
        let passes = Passes::new(self.channels, self.complex).unwrap();
        let weights = pfb_weights(Window::Hann, self.taps, self.step(), 1.0);
        let length = self.start(INPUTS - 1) + (self.spectra - 1) * self.stride + self.taps * self.step();
        let mut random = Xoshiro256PlusPlus::seed_from_u64((self.channels * self.taps + self.stride) as u64);
        let bits = self.bits();
        let mut numbers = Vec::new();
        let words = match self.format {
            Format::Packed(_) | Format::I16 => {
                let limit = 1i32 << (bits - 1);
                let codes: Vec<i16> =
                    (0..length * self.parts()).map(|_| random.random_range(-limit..limit) as i16).collect();
                numbers.extend(codes.iter().map(|&code| f64::from(code)));
                let mut bytes = if self.format == Format::I16 {
                    codes.iter().flat_map(|code| code.to_le_bytes()).collect()
                } else {
                    pack_samples(&codes, bits).unwrap()
                };
                // Not a byte more than the words that hold them, before the padding.
                bytes.resize(bytes.len().next_multiple_of(4), 0xa5);
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
            }
            Format::F16 => {
                let halves: Vec<f16> =
                    (0..length * self.parts()).map(|_| f16::from_f64(random.random_range(-1.0..1.0))).collect();
                numbers.extend(halves.iter().map(|half| half.to_f64()));
                let high = |pair: &[f16]| pair.get(1).map_or(0x7e00, |half| half.to_bits());
                halves.chunks(2).map(|pair| u32::from(pair[0].to_bits()) | u32::from(high(pair)) << 16).collect()
            }
            Format::F32 => {
                let floats: Vec<f32> = (0..length * self.parts()).map(|_| random.random_range(-1.0f32..1.0)).collect();
                numbers.extend(floats.iter().map(|&float| f64::from(float)));
                floats.iter().map(|float| float.to_bits()).collect::<Vec<u32>>()
            }
        };
        // Sum of squares of the weights of a spectrum times the power of the numbers.
        let power = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64 * self.parts() as f64;
        let scale = self.rms / (power * weights.iter().map(|w| w * w).sum::<f64>()).sqrt();
        let gains = (0..INPUTS)
            .map(|input| {
                let angle = |channel: usize| channel as f64 * (0.37 + input as f64);
                let gain = |channel| Complex64::from_polar(scale * (1.0 + 0.25 * angle(channel).sin()), angle(channel));
                (0..self.channels).map(gain).collect()
            })
            .collect();
        let fixed = |turns: f64| (turns.rem_euclid(1.0) * 2f64.powi(64)) as u64;
        let (_, period, period_stride, time_stride) = self.strides();
        let mut jobs = Vec::new();
        for input in 0..INPUTS {
            for first in (0..self.spectra).step_by(self.slots) {
                let ((phase, slope), (next_phase, next_slope)) = (self.turns(input, 0), self.turns(input, 1));
                let (phase_rate, slope_rate) = (fixed(next_phase - phase), fixed(next_slope - slope));
                let time = self.time(first);
                let periods = time as u64 / u64::from(period);
                let part = match self.order {
                    Order::Frames(_) => input as u64,
                    Order::Rows(n) => (input * n) as u64,
                };
                assert!(time_stride > 0);
                jobs.push(Job {
                    first_bit: ((self.start(input) + first * self.stride) * self.parts()) as u64 * u64::from(bits),
                    place: part + periods * period_stride,
                    phase: fixed(phase).wrapping_add(phase_rate.wrapping_mul(first as u64)),
                    phase_rate,
                    slope: fixed(slope).wrapping_add(slope_rate.wrapping_mul(first as u64)),
                    slope_rate,
                    spectrum: FIRST_SPECTRUM + first as u64,
                    spectra: self.slots.min(self.spectra - first) as u32,
                    time: (time as u64 % u64::from(period)) as u32,
                    input: input as u32,
                    count: input as u32,
                    flags: 0,
                });
            }
        }
        let mut words: Vec<u32> = words;
        words.resize(words.len() + PADDING as usize, 0x7fff_ffff);
        Made { case: self.clone(), passes, weights, numbers, words, gains, jobs }
    }
}

/// A case and its data.
pub(crate) struct Made {
    pub(crate) case: Case,
    pub(crate) passes: Passes,
    pub(crate) weights: Vec<f64>,
    /// Samples, real and imaginary parts by turns if they are complex.
    pub(crate) numbers: Vec<f64>,
    pub(crate) words: Vec<u32>,
    /// `[input][channel]`.
    pub(crate) gains: Vec<Vec<Complex64>>,
    pub(crate) jobs: Vec<Job>,
}

impl Made {
    /// Weights as the kernels take them.
    pub(crate) fn table_of_weights(&self) -> Vec<[f32; 4]> {
        let bits = if matches!(self.case.format, Format::Packed(_) | Format::I16) { self.case.bits() } else { 0 };
        self.passes.weights(&self.weights, bits)
    }

    /// The channels of the range of a spectrum before quantisation, by the reference.
    pub(crate) fn expected(&self, input: usize, s: usize) -> Vec<Complex64> {
        let case = &self.case;
        let spectrum = FIRST_SPECTRUM + s as u64;
        let (start, stamp) = (case.start(input) + s * case.stride, spectrum * case.stride as u64);
        // The reference takes the window alone, and counts phases from it.
        let window = self.weights.len();
        let values = if case.complex {
            let x = &self.numbers[2 * start..2 * (start + window)];
            let x: Vec<Complex64> = x.chunks_exact(2).map(|pair| Complex64::new(pair[0], pair[1])).collect();
            spectrum_complex(&x, &self.weights, case.channels, 0, stamp)
        } else {
            spectrum_real(&self.numbers[start..start + window], &self.weights, case.channels, 0, stamp)
        };
        let (turns, slope) = case.turns(input, s);
        let channels = case.range.0..case.range.0 + case.range.1;
        let value = |k: usize| {
            let x = values[k] * self.gains[input][k] * Complex64::from_polar(1.0, TAU * (turns + slope * k as f64));
            if case.dither { x + dither(SEED, spectrum, input as u32, k as u32) } else { x }
        };
        channels.map(value).collect()
    }

    /// Bound of the error of the values of a spectrum: with `A = sum |w x|` of the spectrum's window and `u = 2^-24`,
    ///
    /// - the filter rounds weights, products and sums, `(taps + 1) u A`;
    /// - a pass of radix `r` with its twiddles, `(3 + 3 log2 r) u A`: every result is made of sums of disjoint points;
    /// - the step to a real transform, its root included, `6 u A`;
    /// - the factor has an error of `2^-19.8`, products with it add `5 u`;
    /// - dither rounds at 2^8 and leaves out half a step of 2^-16.
    pub(crate) fn bound(&self, input: usize, s: usize) -> f64 {
        let case = &self.case;
        let start = (case.start(input) + s * case.stride) * case.parts();
        let weight = |i: usize| self.weights[i / case.parts()].abs();
        let parts = self.weights.len() * case.parts();
        let a: f64 = (0..parts).map(|i| weight(i) * self.numbers[start + i].abs()).sum();
        let passes: f64 = self.passes.radices().iter().map(|&radix| 3.0 + 3.0 * (radix as f64).log2()).sum();
        let gain = self.gains[input].iter().map(|gain| gain.norm()).fold(0.0, f64::max);
        let units = case.taps as f64 + 1.0 + passes + 6.0 + 5.0 + 2f64.powf(4.2);
        units * U * a * gain + if case.dither { 2f64.powi(-16) + 2f64.powi(-16) } else { 0.0 }
    }
}

/// The parts of a value of i8.
pub(crate) fn parts_i8(value: u16) -> [f64; 2] {
    [f64::from(value as i8), f64::from((value >> 8) as i8)]
}

/// The parts of a value of 4 bits.
pub(crate) fn parts_i4(value: u8) -> [f64; 2] {
    [f64::from(value as i8 >> 4), f64::from((value << 4) as i8 >> 4)]
}

/// Compares floats with the reference; returns the largest error over its bound.
pub(crate) fn check_floats(made: &Made, value: impl Fn(usize) -> [f64; 2], rounding: f64) -> f64 {
    let case = &made.case;
    let mut worst: f64 = 0.0;
    for input in 0..INPUTS {
        for s in 0..case.spectra {
            let bound = made.bound(input, s);
            for (channel, x) in made.expected(input, s).into_iter().enumerate() {
                let [re, im] = value(case.place(input, s, channel));
                let ratio = (Complex64::new(re, im) - x).norm() / (bound + rounding * x.norm());
                assert!(ratio <= 1.0, "{case:?} input {input} spectrum {s} channel {channel}: {re} {im}, not {x}");
                worst = worst.max(ratio);
            }
        }
    }
    worst
}

/// Compares integers and counts of saturated values with the reference: equal wherever the reference is not
/// within the bound, at most 5e-3, of a tie or of the limit.
pub(crate) fn check_integers(made: &Made, limit: f64, value: impl Fn(usize) -> [f64; 2], counts: &[u32]) {
    let case = &made.case;
    let (mut ties, mut all) = (0, 0);
    for (input, &counted) in counts.iter().enumerate() {
        let (mut certain, mut possible) = (0, 0);
        for s in 0..case.spectra {
            let bound = made.bound(input, s).min(5e-3);
            for (channel, x) in made.expected(input, s).into_iter().enumerate() {
                let actual = value(case.place(input, s, channel));
                for (part, actual) in [x.re, x.im].into_iter().zip(actual) {
                    let clamped = part.clamp(-limit, limit);
                    all += 1;
                    if (clamped - clamped.floor() - 0.5).abs() <= bound {
                        ties += 1;
                        assert!((actual - clamped).abs() <= 0.5 + bound);
                    } else {
                        assert_eq!(
                            actual,
                            clamped.round(),
                            "{case:?} input {input} spectrum {s} channel {channel} {x}"
                        );
                    }
                }
                let most = x.re.abs().max(x.im.abs());
                certain += u32::from(most > limit + bound);
                possible += u32::from(most > limit - bound);
            }
        }
        assert!(certain <= counted && counted <= possible, "{counted} of {certain} to {possible}");
        assert!(certain > 0, "nothing saturates");
    }
    assert!(ties * 50 < all);
}
