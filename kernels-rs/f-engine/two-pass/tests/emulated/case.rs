//! What tests run, and what comes out of it.

use std::f64::consts::TAU;
use std::ops::Range;

use fringes_channelizer::Channelizer;
use fringes_channelizer::internals::fast_samples::FastSamples;
use fringes_channelizer::internals::first::First;
use fringes_channelizer::internals::format::Numbers;
use fringes_channelizer::internals::shape::{JOBS, Shape};
use fringes_channelizer::internals::strided::Strided;
use fringes_channelizer::internals::tables;
use fringes_channelizer::internals::{HELD, Job, NEXT};
use fringes_device::Kernel;
use fringes_emulator::{Buffer, Element, GlobalMemory, Launch};
use fringes_kernel_abi::f_engine::PADDING_WORDS;
use fringes_kernels_f_engine_two_pass::digits_between::{between_r8, between_r16};
use fringes_reference::dft::{dft, root_of_unity};
use fringes_reference::dither::dither;
use fringes_reference::pfb::{pfb_fir, spectrum_complex, spectrum_real};
use fringes_reference::window::{Window, pfb_weights};
use fringes_types::pack_samples;
use half::f16;
use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of the first spectrum: counter of the dither.
const FIRST_SPECTRUM: u64 = (1 << 32) - 8;

/// 2^64 as turns.
fn fixed(turns: f64) -> u64 {
    (turns.rem_euclid(1.0) * 2f64.powi(64)) as u64
}

/// `sum_n x[n] exp(-2 pi i k n / N)`, by halves as long as there are any.
fn transform(x: &[Complex64]) -> Vec<Complex64> {
    let points = x.len();
    if points % 2 == 1 {
        return dft(x, -1.0);
    }
    let half = |first: usize| transform(&x.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned = |k: usize| odd[k % odd.len()] * root_of_unity(k as u64, points as u64).conj();
    (0..points).map(|k| even[k % even.len()] + turned(k)).collect()
}

#[test]
fn a_transform_by_halves_is_the_references() {
    for points in [512, 480] {
        let x: Vec<_> = (0..points).map(|n| root_of_unity(n * n * n, 509)).collect();
        let worst = transform(&x).iter().zip(dft(&x, -1.0)).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        // Sums of 512 products of magnitude 1 in f64.
        assert!(worst < 512.0 * 2f64.powi(-48), "{worst}");
    }
}

#[test]
fn expected_spectra_are_the_references() {
    let still = Input { start: 5, turns: (0.0, 0.0), slope: (0.0, 0.0) };
    for complex in [false, true] {
        let number = complex.then_some(Number::Int16);
        let case = Case { complex, number, inputs: vec![still], taps: 3, ..Case::new(256, 2) };
        let (made, gain) = (case.make(), |(k, x): (usize, Complex64)| x * case.gain(0, k));
        let start = 5 + case.step();
        let exact = if complex {
            spectrum_complex(&made.samples[0], &made.weights, 256, start, 0)
        } else {
            let real: Vec<f64> = made.samples[0].iter().map(|x| x.re).collect();
            spectrum_real(&real, &made.weights, 256, start, 0)
        };
        let exact = exact.into_iter().enumerate().map(gain);
        let worst = case.expected(&made, 0)[1].iter().zip(exact).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        // Sums of 512 products in f64.
        assert!(worst < 512.0 * 2f64.powi(-48) * case.full_scale(), "{complex}: {worst}");
    }
}

/// An input: its first sample, and its phases in turns with what they grow by from spectrum to spectrum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    pub(crate) start: usize,
    pub(crate) turns: (f64, f64),
    /// From channel to channel.
    pub(crate) slope: (f64, f64),
}

/// Two inputs of different delays, which begin with different bits of a word.
pub(crate) const PAIR: [Input; 2] = [
    Input { start: 37, turns: (0.3, 0.01), slope: (-0.0013, 1e-5) },
    Input { start: 2, turns: (-0.45, -0.2), slope: (0.0009, -2e-5) },
];

/// Numbers of whole bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int8,
    Int16,
    /// As packed samples have it.
    BigEndian16,
    Float16,
    /// With magnitudes up to this.
    Float32(f64),
}

impl Number {
    /// The filter that takes samples of them.
    fn filter(self, complex: bool) -> FastSamples {
        match self {
            Self::Int8 => FastSamples::Half { complex, integers: true },
            Self::Float16 => FastSamples::Half { complex, integers: false },
            Self::Int16 => FastSamples::Wide { complex, integers: true, big_endian: false },
            Self::BigEndian16 => FastSamples::Wide { complex, integers: true, big_endian: true },
            Self::Float32(_) => FastSamples::Wide { complex, integers: false, big_endian: false },
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Int8 => 1,
            Self::Int16 | Self::BigEndian16 | Self::Float16 => 2,
            Self::Float32(_) => 4,
        }
    }

    /// What kernels are told of them.
    pub(crate) fn told(self) -> u32 {
        match self {
            Self::Int8 => 8,
            Self::Int16 => 16,
            Self::BigEndian16 => 256 + 16,
            Self::Float16 | Self::Float32(_) => 0,
        }
    }

    /// Largest magnitude.
    pub(crate) fn largest(self) -> f64 {
        match self {
            Self::Int8 => 128.0,
            Self::Int16 | Self::BigEndian16 => 32768.0,
            Self::Float16 => 60000.0,
            Self::Float32(largest) => largest,
        }
    }

    /// A number in memory, and its value, of one between -1 and 1. Floats have all their digits, and some are smaller
    /// than most.
    fn make(self, random: f64) -> (Vec<u8>, f64) {
        let exact = random * self.largest();
        let small = exact * 2f64.powi(-((random.to_bits() >> 3) as i32 & 7));
        match self {
            Self::Int8 => (vec![exact as i8 as u8], f64::from(exact as i8)),
            Self::Int16 => ((exact as i16).to_le_bytes().to_vec(), f64::from(exact as i16)),
            Self::BigEndian16 => ((exact as i16).to_be_bytes().to_vec(), f64::from(exact as i16)),
            Self::Float16 => (f16::from_f64(small).to_le_bytes().to_vec(), f16::from_f64(small).to_f64()),
            Self::Float32(_) => ((small as f32).to_le_bytes().to_vec(), f64::from(small as f32)),
        }
    }
}

/// What a test runs.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) channels: usize,
    pub(crate) complex: bool,
    /// Bits of packed real samples.
    pub(crate) bits: u32,
    /// Else of whole bytes.
    pub(crate) number: Option<Number>,
    pub(crate) taps: usize,
    pub(crate) inputs: Vec<Input>,
    pub(crate) spectra: usize,
    /// Most spectra of a job.
    pub(crate) of_job: usize,
    /// Channels that are put out.
    pub(crate) range: Range<usize>,
    /// Spectra of a frame.
    pub(crate) period: usize,
    /// Magnitude of the gains.
    pub(crate) gain: f64,
    /// Seed of the dither, if it is on.
    pub(crate) seed: Option<u64>,
    /// Groups of a pair of launches.
    pub(crate) at_once: usize,
    /// Tiles of slots of the second kernel at most: those that have no spectra take as long as others.
    pub(crate) tiles: u32,
    /// Shares of the channels: the logarithm of their number of channels, and how far they lie apart.
    pub(crate) shares: (u32, u64),
    /// Whether the first kernel is that of spectra any number of points apart, and their oversampling.
    pub(crate) strided: Option<(usize, usize)>,
    /// Whether the first digit is of 8 points behind which there is another one.
    pub(crate) long: bool,
}

impl Case {
    /// All channels of spectra of two inputs, 10 bits and 16 taps, in one frame and without dither.
    pub(crate) fn new(channels: usize, spectra: usize) -> Self {
        Self {
            channels,
            complex: false,
            bits: 10,
            number: None,
            taps: 16,
            inputs: PAIR.to_vec(),
            spectra,
            of_job: 64,
            range: 0..channels,
            period: spectra,
            gain: 1.0,
            seed: None,
            at_once: usize::MAX,
            tiles: u32::MAX,
            shares: (31, 0),
            strided: None,
            long: false,
        }
    }

    /// The same of samples of whole bytes.
    pub(crate) fn of(channels: usize, spectra: usize, number: Number) -> Self {
        Self { number: Some(number), ..Self::new(channels, spectra) }
    }

    /// The same of complex samples.
    pub(crate) fn complex(channels: usize, spectra: usize, number: Number) -> Self {
        Self { complex: true, ..Self::of(channels, spectra, number) }
    }

    /// The kind of samples that products take.
    pub(crate) fn filter(&self) -> FastSamples {
        self.number.map_or(FastSamples::Real { bits: self.bits }, |number| number.filter(self.complex))
    }

    /// The first kernel.
    pub(crate) fn first(&self) -> First {
        let Some((over, under)) = self.strided else { return First::Products(self.filter()) };
        let builder = if self.complex { Channelizer::complex(self.channels) } else { Channelizer::real(self.channels) };
        let plan = builder.taps(self.taps).oversampling(over, under).build().unwrap();
        let floats = matches!(self.number, Some(Number::Float16 | Number::Float32(_)));
        let numbers = Numbers {
            bits: (self.sample_bits() / self.parts()) as u32,
            parts: self.parts() as u32,
            floats,
            little_endian: self.number == Some(Number::Int16),
        };
        First::Strided(Strided::new(&plan, &self.shape(), numbers).unwrap())
    }

    /// Samples from spectrum to spectrum.
    pub(crate) fn stride(&self) -> usize {
        let (over, under) = self.strided.unwrap_or((1, 1));
        self.step() * under / over
    }

    /// Samples of an input, from its first one on.
    fn window(&self) -> usize {
        self.taps * self.step() + (self.spectra - 1) * self.stride()
    }

    /// Largest magnitude of a sample, or of its parts.
    pub(crate) fn full_scale(&self) -> f64 {
        self.number.map_or(2f64.powi(self.bits as i32 - 1), Number::largest)
    }

    fn sample_bits(&self) -> usize {
        self.parts() * self.number.map_or(self.bits as usize, |number| 8 * number.bytes())
    }

    /// Numbers of a sample.
    fn parts(&self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    pub(crate) fn shape(&self) -> Shape {
        let shape = if self.long { Shape::long(self.channels) } else { Shape::new(self.channels) };
        shape.unwrap()
    }

    /// Sixteens of taps.
    pub(crate) fn m(&self) -> usize {
        self.taps.div_ceil(16)
    }

    pub(crate) fn step(&self) -> usize {
        if self.complex { self.channels } else { 2 * self.channels }
    }

    pub(crate) fn gain(&self, input: usize, channel: usize) -> Complex64 {
        let angle = (channel * (input + 1)) as f64;
        Complex64::from_polar(self.gain * (1.0 + 0.25 * (angle * 0.37).sin()), angle * 0.11)
    }

    /// From channel to channel and from frame to frame.
    pub(crate) fn strides(&self) -> (u64, u64) {
        let channel = self.period * self.inputs.len();
        (channel as u64, (self.range.len() * channel) as u64)
    }

    /// Elements of the output.
    pub(crate) fn elements(&self) -> usize {
        self.spectra.div_ceil(self.period) * self.strides().1 as usize + self.apart()
    }

    /// Elements between shares.
    pub(crate) fn apart(&self) -> usize {
        ((self.range.len() - 1) >> self.shares.0) * self.shares.1 as usize
    }

    /// Element of a channel of the range.
    pub(crate) fn place(&self, input: usize, spectrum: usize, channel: usize) -> usize {
        let (frame, time) = (spectrum / self.period, spectrum % self.period);
        let ahead = channel - self.range.start;
        let apart = (ahead >> self.shares.0) * self.shares.1 as usize;
        ((frame * self.range.len() + ahead) * self.period + time) * self.inputs.len() + input + apart
    }

    pub(crate) fn make(&self) -> Made {
        let step = self.step();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.channels as u64 + self.taps as u64);
        let limit = 1i16 << (self.bits - 1);
        let length = self.inputs.iter().map(|input| input.start).max().unwrap() + self.window();
        let (mut samples, mut rows) = (Vec::new(), Vec::new());
        for _ in &self.inputs {
            if let Some(number) = self.number {
                let count = self.parts() * length;
                let numbers: Vec<_> = (0..count).map(|_| number.make(random.random_range(-1.0..1.0))).collect();
                let sample = |parts: &[(Vec<u8>, f64)]| Complex64::new(parts[0].1, parts.get(1).map_or(0.0, |im| im.1));
                samples.push(numbers.chunks_exact(self.parts()).map(sample).collect());
                // Rows begin with any number, and packed ones with any byte.
                let end = vec![0; if number == Number::BigEndian16 { 1 } else { number.bytes() }];
                rows.push(numbers.into_iter().flat_map(|(bytes, _)| bytes).chain(end).collect::<Vec<_>>());
            } else {
                let row: Vec<i16> = (0..length).map(|_| random.random_range(-limit..limit)).collect();
                rows.push(pack_samples(&row, self.bits).unwrap());
                samples.push(row.into_iter().map(|x| Complex64::from(f64::from(x))).collect());
            }
        }
        let bits = self.sample_bits();
        let row_bits = 8 * rows[0].len() as u64;
        // Of the last input, nothing but what its spectra need.
        let last = self.inputs[self.inputs.len() - 1].start + self.window();
        let end = self.inputs.len() - 1;
        rows[end].truncate((last * bits).div_ceil(8));
        let mut jobs = Vec::new();
        for first in (0..self.spectra).step_by(self.of_job) {
            for (index, input) in self.inputs.iter().enumerate() {
                let start = (input.start + first * self.stride()) as u64;
                let mut job = Job {
                    first_bit: index as u64 * row_bits + start * bits as u64,
                    place: (first / self.period) as u64 * self.strides().1 + index as u64,
                    phase: fixed(input.turns.0 + input.turns.1 * first as f64),
                    phase_rate: fixed(input.turns.1),
                    slope: fixed(input.slope.0 + input.slope.1 * first as f64),
                    slope_rate: fixed(input.slope.1),
                    spectrum: FIRST_SPECTRUM + first as u64,
                    spectra: self.of_job.min(self.spectra - first) as u32,
                    time: (first % self.period) as u32,
                    input: index as u32,
                    count: (self.inputs.len() - 1 - index) as u32,
                    flags: 0,
                };
                self.first().refer(&mut job);
                jobs.push(job);
            }
        }
        Made { weights: pfb_weights(Window::Hann, self.taps, step, 1.0), samples, packed: rows.concat(), jobs }
    }

    /// Values of an input's spectra in all channels before clamp and rounding, `[spectrum][channel]`.
    pub(crate) fn expected(&self, made: &Made, index: usize) -> Vec<Vec<Complex64>> {
        let samples = &made.samples[index];
        let input = &self.inputs[index];
        let of_spectrum = |s: usize| {
            let start = input.start + s * self.stride();
            let filtered = pfb_fir(samples, &made.weights, self.step(), start, 1);
            let mut points = filtered.iter().copied().collect::<Vec<_>>();
            // Phases are those of absolute time: a sample's place is its number.
            let stamp = (FIRST_SPECTRUM + s as u64) as usize * self.stride();
            points.rotate_right(stamp % self.step());
            let mut spectrum = transform(&points);
            if self.complex {
                // Channels ascend, with that of frequency 0 in the middle.
                spectrum.rotate_right(self.channels / 2);
            }
            let turns = input.turns.0 + input.turns.1 * s as f64;
            let slope = input.slope.0 + input.slope.1 * s as f64;
            let value = |(k, x): (usize, Complex64)| {
                let turned = x * self.gain(index, k) * Complex64::from_polar(1.0, TAU * (turns + slope * k as f64));
                let dither = self.seed.map(|seed| dither(seed, FIRST_SPECTRUM + s as u64, index as u32, k as u32));
                turned + dither.unwrap_or_default()
            };
            spectrum.into_iter().take(self.channels).enumerate().map(value).collect()
        };
        (0..self.spectra).map(of_spectrum).collect()
    }

    /// Calls `check` with input, spectrum, channel, expected and actual value; every place of the output that is not
    /// among them must be as it was.
    pub(crate) fn compare<T: Copy>(&self, out: &Outcome<T>, mut check: impl FnMut([usize; 3], Complex64, T)) {
        let mut places = 0;
        for input in 0..self.inputs.len() {
            for (spectrum, values) in self.expected(&out.made, input).iter().enumerate() {
                for channel in self.range.clone() {
                    let at = [input, spectrum, channel];
                    let actual = out.values[self.place(input, spectrum, channel)];
                    check(at, values[channel], actual.unwrap_or_else(|| panic!("{at:?} was not written")));
                    places += 1;
                }
            }
        }
        assert_eq!(out.values.iter().filter(|value| value.is_some()).count(), places);
    }
}

/// Data of a case.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) weights: Vec<f64>,
    samples: Vec<Vec<Complex64>>,
    /// The rows of all inputs.
    packed: Vec<u8>,
    pub(crate) jobs: Vec<Job>,
}

/// What came out.
pub(crate) struct Outcome<T> {
    pub(crate) made: Made,
    /// Values, where there are any.
    pub(crate) values: Vec<Option<T>>,
    /// Counts of the inputs, last one first.
    pub(crate) saturated: Vec<u32>,
}

/// Buffers of a case.
pub(crate) struct Device<T> {
    pub(crate) memory: GlobalMemory,
    pub(crate) samples: Buffer<u32>,
    pub(crate) weights: Buffer<[u32; 4]>,
    pub(crate) tails: Buffer<[u32; 2]>,
    pub(crate) middle: Buffer<[f32; 4]>,
    pub(crate) first: Buffer<[f32; 4]>,
    pub(crate) second: Buffer<[f32; 4]>,
    pub(crate) last: Buffer<[f32; 2]>,
    pub(crate) roots: Buffer<[f32; 2]>,
    pub(crate) gains: Buffer<[f32; 2]>,
    pub(crate) jobs: Buffer<[u32; 4]>,
    pub(crate) workspace: Buffer<[f32; 4]>,
    pub(crate) out: Buffer<T>,
    pub(crate) saturated: Buffer<u32>,
    /// Samples that are held, and where frames that come next go: of every third job, in turns.
    pub(crate) held: Buffer<u32>,
    pub(crate) next: Buffer<T>,
    pub(crate) next_saturated: Buffer<u32>,
}

/// Bits before what is held.
const HELD_AHEAD: usize = 160;

impl<T: Element> Device<T> {
    /// Values, wherever they went, and counts of saturated ones.
    pub(crate) fn outcome(&self) -> (Vec<Option<T>>, Vec<u32>) {
        let (out, next) = (self.memory.download(self.out), self.memory.download(self.next));
        let one = |(a, b): (Option<T>, Option<T>)| {
            assert!(a.is_none() || b.is_none(), "a value went to both");
            a.or(b)
        };
        let counts = [self.saturated, self.next_saturated].map(|counts| self.memory.values::<u32>(counts));
        (out.into_iter().zip(next).map(one).collect(), counts[0].iter().zip(&counts[1]).map(|(a, b)| a + b).collect())
    }

    /// Buffers with what a case was made to; of the samples, `missing` words at the end are not there.
    pub(crate) fn new(case: &Case, made: &Made, missing: usize) -> Self {
        let shape = case.shape();
        let mut memory = GlobalMemory::new();
        let mut bytes = made.packed.clone();
        bytes.resize(bytes.len().next_multiple_of(4) + 4 * PADDING_WORDS, 0);
        bytes.truncate(bytes.len() - 4 * missing);
        let words: Vec<u32> = bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let filter = case.first();
        let weights = filter.weights(&made.weights, case.step());
        let scale = filter.gain_scale(weights.exponent);
        let gains: Vec<_> = (0..case.inputs.len())
            .flat_map(|input| tables::gains(&shape, scale, |channel| case.gain(input, channel)))
            .collect();
        // What is held lies elsewhere in its buffer.
        let held = [&[0x5a5a_5a5a; HELD_AHEAD / 32][..], &words].concat();
        let job = |(index, job): (usize, &Job)| {
            let (is_held, is_next) = (index % 3 == 1, index % 4 >= 2);
            let ahead = if is_held { HELD_AHEAD as u64 } else { 0 };
            let flags = if is_held { HELD } else { 0 } | if is_next { NEXT } else { 0 };
            Job { first_bit: job.first_bit.saturating_add(ahead), flags, ..*job }.words()
        };
        let words_of_jobs: Vec<u32> = made.jobs.iter().enumerate().flat_map(job).collect();
        let jobs: Vec<_> = words_of_jobs.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]).collect();
        let at_once = made.jobs.len().div_ceil(JOBS).min(case.at_once);
        Self {
            samples: memory.upload(&words),
            weights: memory.upload(&weights.pairs),
            tails: memory.upload(&weights.tails),
            middle: memory.upload(&tables::middle(&shape)),
            first: memory.upload(&tables::first(&shape)),
            second: memory.upload(&tables::second(&shape)),
            last: memory.upload(&tables::last(&shape)),
            roots: memory.upload(&filter.roots(&shape)),
            gains: memory.upload(&gains),
            jobs: memory.upload(&jobs),
            workspace: memory.allocate(at_once * shape.workspace_of_group()),
            out: memory.allocate(case.elements()),
            saturated: memory.upload(&vec![0; case.inputs.len()]),
            held: memory.upload(&held),
            next: memory.allocate(case.elements()),
            next_saturated: memory.upload(&vec![0; case.inputs.len()]),
            memory,
        }
    }
}

/// Launches the first kernel for some groups.
macro_rules! columns {
    ($case:expr, $made:expr, $device:expr, ($first:expr, $groups:expr), $kernel:path $(, $told:expr)*) => {{
        let (case, device) = (&$case, &mut $device);
        let config = case.first().columns(&case.shape(), $groups, case.taps);
        let launch =
            fringes_emulator::Launch::new(<$kernel as fringes_device::Kernel>::DECLARATION, config.grid, config.block);
        let (channel_stride, period_stride) = case.strides();
        let (count, first) = ($made.jobs.len() as u32, $first as u32);
        let (samples, weights, tails, jobs) = (device.samples, device.weights, device.tails, device.jobs);
        let (workspace, out, saturated) = (device.workspace, device.out, device.saturated);
        let (held, next, next_saturated) = (device.held, device.next, device.next_saturated);
        launch.shared_bytes(config.shared_bytes).run(&mut device.memory, || {
            $kernel(
                samples.into(),
                held.into(),
                weights.into(),
                tails.into(),
                jobs.into(),
                workspace.into(),
                out.len as u64,
                saturated.len as u32,
                next.len as u64,
                next_saturated.len as u32,
                case.inputs.len() as u32,
                case.taps as u32,
                count,
                first,
                case.shape().first_rows() as u32,
                case.range.start as u32,
                case.range.len() as u32,
                channel_stride,
                case.period as u32,
                period_stride,
                case.inputs.len() as u32,
                $($told),*
            )
        })
    }};
}

/// Launches the second kernel for some groups.
macro_rules! rows {
    ($case:expr, $made:expr, $device:expr, ($first:expr, $groups:expr), $kernel:path $(, $told:expr)*) => {{
        let (case, device) = (&$case, &mut $device);
        let mut config = case.shape().rows_of_slots($groups);
        config.grid[0] = config.grid[0].min(case.tiles);
        let launch =
            fringes_emulator::Launch::new(<$kernel as fringes_device::Kernel>::DECLARATION, config.grid, config.block);
        let (channel_stride, period_stride) = case.strides();
        let (count, first_group) = ($made.jobs.len() as u32, $first as u32);
        let workspace = device.workspace;
        let (first, second, last, roots, gains) =
            (device.first, device.second, device.last, device.roots, device.gains);
        let (jobs, out, saturated) = (device.jobs, device.out, device.saturated);
        let (next, next_saturated) = (device.next, device.next_saturated);
        launch.shared_bytes(config.shared_bytes).run(&mut device.memory, || {
            // SAFETY: pairs of complex numbers are two complex numbers.
            let workspace = unsafe { fringes_device::Global::from_raw_parts(workspace.address, 2 * workspace.len) };
            $kernel(
                workspace,
                first.into(),
                second.into(),
                last.into(),
                roots.into(),
                gains.into(),
                jobs.into(),
                out.into(),
                saturated.into(),
                next.into(),
                next_saturated.into(),
                count,
                first_group,
                case.range.start as u32,
                case.range.len() as u32,
                channel_stride,
                case.period as u32,
                period_stride,
                case.inputs.len() as u32,
                case.seed.unwrap_or(0),
                u32::from(case.seed.is_some()),
                $($told),*
            )
        })
    }};
}

/// Launches the kernel between the two for some groups, if there is one.
pub(crate) fn between<T: Element>(case: &Case, device: &mut Device<T>, groups: usize) {
    let Some(config) = case.shape().between(groups) else { return };
    let eight = case.shape().radix() == 8;
    let declaration = if eight { <between_r8 as Kernel>::DECLARATION } else { <between_r16 as Kernel>::DECLARATION };
    let (rows, workspace, factors) = (case.shape().rows() as u32, device.workspace, device.middle);
    let kernel = || {
        let (workspace, factors) = (workspace.into(), factors.into());
        if eight { between_r8(workspace, factors, rows) } else { between_r16(workspace, factors, rows) }
    };
    Launch::new(declaration, config.grid, config.block).run(&mut device.memory, kernel).assert_clean();
}

/// Runs a case; no kernel may have a fault.
macro_rules! run {
    (strided $case:expr, $columns:path, $rows:path, $element:ty) => {{
        let ([bits, little_endian, stride, unit, width], _) = $case.first().told();
        $crate::case::run!($case, $columns, $rows, $element, bits, little_endian, stride, unit, width)
    }};
    (mixed $case:expr, $columns:path, $rows:path, $element:ty) => {{
        let ([bits, little_endian, stride, unit, width], _) = $case.first().told();
        let radix = $case.shape().all_rows() as u32;
        $crate::case::run!(@ $case, $columns [bits, little_endian, stride, unit, width], $rows [radix], $element)
    }};
    (long $case:expr, $columns:path, $rows:path, $element:ty $(, $told:expr)*) => {{
        let rows = $case.shape().all_rows() as u32;
        $crate::case::run!(@ $case, $columns [$($told),*], $rows [rows], $element)
    }};
    ($case:expr, $columns:path, $rows:path, $element:ty $(, $told:expr)*) => {
        $crate::case::run!(@ $case, $columns [$($told),*], $rows [], $element)
    };
    (@ $case:expr, $columns:path [$($told:expr),*], $rows:path [$($of_rows:expr),*], $element:ty) => {{
        let case = &$case;
        let made = case.make();
        let mut device = $crate::case::Device::<$element>::new(case, &made, 0);
        let groups = made.jobs.len().div_ceil(fringes_channelizer::internals::shape::JOBS);
        let each = groups.min(case.at_once);
        for first in (0..groups).step_by(each) {
            let groups = each.min(groups - first);
            $crate::case::columns!(case, made, device, (first, groups), $columns $(, $told)*).assert_clean();
            $crate::case::between(case, &mut device, groups);
            $crate::case::rows!(case, made, device, (first, groups), $rows $(, $of_rows)*).assert_clean();
        }
        let (values, saturated) = device.outcome();
        $crate::case::Outcome { made, values, saturated }
    }};
}

pub(crate) use {columns, rows, run};
