//! A rotation in the emulator, and what the reference says of it.
#![allow(unreachable_pub)] // A module of a test program.

use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_delay as kernels;
use fringes_reference::delay::rotate_voltages;
use fringes_reference::dither::dither;
use fringes_reference::quantiser::{quantise_value, saturates};
use half::f16;
use ndarray::{Array2, Array3};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Rounding of f32.
const U: f64 = 1.0 / 16_777_216.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    Int4,
    Int8,
    Float16,
    Float32,
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Int4, Self::Int8, Self::Float16, Self::Float32];

    /// Bytes of a sample.
    pub fn bytes(self) -> usize {
        [1, 2, 4, 8][self as usize]
    }

    /// Largest magnitude of an integer's part.
    pub fn limit(self) -> Option<f64> {
        [Some(7.0), Some(127.0), None, None][self as usize]
    }

    /// Inputs of a run of voltages.
    pub fn voltage_run(self) -> usize {
        [4, 4, 4, 2][self as usize]
    }

    /// Samples of a run of heaps.
    pub fn run(self) -> usize {
        [8, 8, 4, 2][self as usize]
    }

    /// Channels that a thread follows.
    pub fn channels(self) -> u64 {
        [32, 32, 16, 16][self as usize]
    }

    /// A random sample of this format.
    fn random(self, random: &mut Xoshiro256PlusPlus) -> C64 {
        let mut part = || match self.limit() {
            Some(limit) => f64::from(random.random_range(-limit as i32..=limit as i32)),
            None if self == Self::Float16 => f16::from_f64(random.random_range(-4.0..4.0)).to_f64(),
            None => f64::from(random.random_range(-1.0f32..1.0)),
        };
        C64::new(part(), part())
    }

    fn encoded(self, value: C64) -> Vec<u8> {
        let C64 { re, im } = value;
        match self {
            Self::Int4 => vec![((re as i8) << 4) as u8 | (im as i8 & 15) as u8],
            Self::Int8 => vec![re as i8 as u8, im as i8 as u8],
            Self::Float16 => [re, im].into_iter().flat_map(|part| f16::from_f64(part).to_le_bytes()).collect(),
            Self::Float32 => [re, im].into_iter().flat_map(|part| (part as f32).to_le_bytes()).collect(),
        }
    }

    fn decoded(self, bytes: &[u8]) -> C64 {
        match self {
            Self::Int4 => C64::new(f64::from(bytes[0] as i8 >> 4), f64::from((bytes[0] << 4) as i8 >> 4)),
            Self::Int8 => C64::new(f64::from(bytes[0] as i8), f64::from(bytes[1] as i8)),
            Self::Float16 => {
                let part = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
                C64::new(part(0), part(2))
            }
            Self::Float32 => {
                let part = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
                C64::new(part(0), part(4))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Voltages,
    Heaps,
    Rows,
}

/// A layout, and which of the kernels for it.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub order: Order,
    pub any: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub format: Format,
    pub layout: Layout,
    /// Channels, batches, spectra, antennas, polarisations.
    pub size: [usize; 5],
    pub seed: u64,
    /// Whether there are gains, and their largest magnitude.
    pub gains: bool,
    pub gain: f32,
    pub in_place: bool,
    pub first_channel: usize,
    pub dither: Option<u64>,
    pub counted: bool,
}

/// What must come out.
pub struct Expected {
    /// `[channel][time][input]` before clamp and rounding.
    pub values: Array3<C64>,
    /// How far the kernel may be off.
    pub bounds: Array3<f64>,
    /// Values beyond the limit, of each input.
    pub saturated: Vec<u64>,
    /// Of those that are within the bound of the limit, which may count or not.
    pub doubtful: Vec<u64>,
}

struct Inputs {
    voltages: Array3<C64>,
    phases: Array2<[u64; 2]>,
    gains: Array2<[f32; 2]>,
}

/// Number of the spectrum at time 0, beyond 32 bits.
const FIRST_SPECTRUM: u64 = (1 << 33) + 5;

impl Case {
    pub fn new(format: Format) -> Self {
        let layout = Layout { order: Order::Voltages, any: true };
        let size = [1; 5];
        Self {
            format,
            layout,
            size,
            seed: 1,
            gains: true,
            gain: 0.7,
            in_place: false,
            first_channel: 0,
            dither: None,
            counted: true,
        }
    }

    fn dimensions(&self) -> (usize, usize, usize) {
        let [channels, batches, spectra, antennas, pols] = self.size;
        (channels, batches * spectra, antennas * pols)
    }

    fn inputs(&self) -> Inputs {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let (channels, times, inputs) = self.dimensions();
        let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || self.format.random(&mut random));
        let phases = Array2::from_shape_simple_fn((times, inputs), || {
            // Slopes of up to 1/32 turn a channel, few of any size.
            let slope: i64 = random.random();
            [random.random(), (if random.random_bool(0.05) { slope } else { slope >> 4 }) as u64]
        });
        let gain = self.gain;
        let gains = Array2::from_shape_simple_fn((channels, inputs), || {
            let (size, angle) =
                (random.random_range(0.3 * gain..gain), random.random_range(0.0..std::f32::consts::TAU));
            [size * angle.cos(), size * angle.sin()]
        });
        Inputs { voltages, phases, gains }
    }

    pub fn expected(&self) -> Expected {
        let Inputs { voltages, phases, gains } = self.inputs();
        let turns = |word: u64| word as i64 as f64 / 18_446_744_073_709_551_616.0;
        let (base, slope) = (phases.mapv(|[base, _]| turns(base)), phases.mapv(|[_, slope]| turns(slope)));
        let gains = gains.mapv(|[re, im]| if self.gains { C64::new(re.into(), im.into()) } else { C64::new(1.0, 0.0) });
        let mut values = rotate_voltages(voltages.view(), base.view(), slope.view(), gains.view(), self.first_channel);
        // A rotation followed through the channels of a thread, and two products.
        let steps = self.format.channels() as f64 - 1.0;
        let bounds = Array3::from_shape_fn(voltages.dim(), |(channel, time, input)| {
            let d = 2.0 * (std::f64::consts::PI * slope[(time, input)]).sin().abs();
            let size = gains[(channel, input)].norm() * voltages[(channel, time, input)].norm();
            // Phases as the oracle sums them up are off by 2^-53 turns a channel.
            let oracle = 6.3 * (self.first_channel + channel) as f64 * f64::EPSILON;
            size * ((3.0 + steps * (3.5 + 7.0 * d) + 6.0) * U + oracle)
        });
        let inputs = self.dimensions().2;
        let (mut saturated, mut doubtful) = (vec![0; inputs], vec![0; inputs]);
        for ((channel, time, input), value) in values.indexed_iter_mut() {
            if let Some(seed) = self.dither {
                let spectrum = FIRST_SPECTRUM + time as u64;
                *value += dither(seed, spectrum, input as u32, (self.first_channel + channel) as u32);
            }
            if let Some(limit) = self.format.limit() {
                let bound = bounds[(channel, time, input)];
                saturated[input] += u64::from(saturates(*value, limit + bound));
                doubtful[input] += u64::from(saturates(*value, limit - bound) && !saturates(*value, limit + bound));
            }
        }
        Expected { values, bounds, saturated, doubtful }
    }

    /// Index of a sample in the layout; rows have `R` times.
    fn place(&self, channel: usize, time: usize, input: usize) -> usize {
        let [channels, _, spectra, antennas, pols] = self.size;
        let (_, times, inputs) = self.dimensions();
        match self.layout.order {
            Order::Voltages => (channel * times + time) * inputs + input,
            Order::Heaps => {
                let heap = (time / spectra * antennas + input / pols) * channels + channel;
                (heap * spectra + time % spectra) * pols + input % pols
            }
            Order::Rows => {
                let row = 128 / self.format.bytes();
                ((channel * times.div_ceil(row) + time / row) * inputs + input) * row + time % row
            }
        }
    }

    /// Samples of the whole array.
    fn samples(&self) -> usize {
        let (channels, times, inputs) = self.dimensions();
        match self.layout.order {
            Order::Rows => {
                let row = 128 / self.format.bytes();
                channels * times.div_ceil(row) * inputs * row
            }
            _ => channels * times * inputs,
        }
    }
}

type Views = (Global<u8>, GlobalMut<u8>, Global<[u64; 2]>, Global<[f32; 2]>, GlobalMut<u64>);
type Short =
    fn(Global<u8>, GlobalMut<u8>, Global<[u64; 2]>, Global<[f32; 2]>, GlobalMut<u64>, u32, u32, u32, u32, u64, u64);
#[rustfmt::skip]
type Long = fn(Global<u8>, GlobalMut<u8>, Global<[u64; 2]>, Global<[f32; 2]>, GlobalMut<u64>, u32, u32, u32, u32, u32, u32, u64, u64);

/// The kernels of a format: voltages, heaps, rows, any.
type Kernels = ([(Short, &'static str); 2], [(Long, &'static str); 2]);

macro_rules! kernels {
    ($voltages:ident, $heaps:ident, $rows:ident, $any:ident) => {
        (
            [
                (kernels::$voltages as Short, <kernels::$voltages as Kernel>::DECLARATION),
                (kernels::$rows as Short, <kernels::$rows as Kernel>::DECLARATION),
            ],
            [
                (kernels::$heaps as Long, <kernels::$heaps as Kernel>::DECLARATION),
                (kernels::$any as Long, <kernels::$any as Kernel>::DECLARATION),
            ],
        )
    };
}

fn kernels(format: Format, dithered: bool) -> Kernels {
    match (format, dithered) {
        (Format::Int4, false) => kernels!(rotate_i4, rotate_heaps_i4, rotate_rows_i4, rotate_any_i4),
        (Format::Int8, false) => kernels!(rotate_i8, rotate_heaps_i8, rotate_rows_i8, rotate_any_i8),
        (Format::Float16, _) => kernels!(rotate_f16, rotate_heaps_f16, rotate_rows_f16, rotate_any_f16),
        (Format::Float32, _) => kernels!(rotate_f32, rotate_heaps_f32, rotate_rows_f32, rotate_any_f32),
        (Format::Int4, true) => {
            kernels!(rotate_i4_dithered, rotate_heaps_i4_dithered, rotate_rows_i4_dithered, rotate_any_i4_dithered)
        }
        (Format::Int8, true) => {
            kernels!(rotate_i8_dithered, rotate_heaps_i8_dithered, rotate_rows_i8_dithered, rotate_any_i8_dithered)
        }
    }
}

/// The kernel of a case and its declaration, with the sizes filled in.
fn kernel(case: Case) -> (Box<dyn Fn(Views)>, &'static str) {
    let ([voltages, rows], [heaps, any]) = kernels(case.format, case.dither.is_some());
    let (_, times, inputs) = case.dimensions();
    let [times, inputs] = [times as u32, inputs as u32];
    let [channels, batches, spectra, antennas, pols] = case.size.map(|n| n as u32);
    let (first, seed) = (case.first_channel as u32, case.dither.unwrap_or(0));
    let short = |(kernel, declaration): (Short, &'static str)| {
        let run = move |(from, to, phases, gains, saturated): Views| {
            kernel(from, to, phases, gains, saturated, channels, times, inputs, first, seed, FIRST_SPECTRUM);
        };
        (Box::new(run) as Box<dyn Fn(Views)>, declaration)
    };
    let long = |(kernel, declaration): (Long, &'static str), [antennas, pols, batches, spectra]: [u32; 4]| {
        let run = move |(from, to, phases, gains, saturated): Views| {
            kernel(
                from,
                to,
                phases,
                gains,
                saturated,
                channels,
                antennas,
                pols,
                batches,
                spectra,
                first,
                seed,
                FIRST_SPECTRUM,
            );
        };
        (Box::new(run) as Box<dyn Fn(Views)>, declaration)
    };
    match (case.layout.order, case.layout.any) {
        (Order::Voltages, false) => short(voltages),
        (Order::Rows, _) => short(rows),
        (Order::Heaps, false) => long(heaps, [antennas, pols, batches, spectra]),
        (Order::Heaps, true) => long(any, [antennas, pols, batches, spectra]),
        (Order::Voltages, true) => long(any, [1, inputs, 1, times]),
    }
}

/// Runs a case with every detector on and compares all that it writes.
pub fn run(case: Case) -> Report {
    let Inputs { voltages, phases, gains } = case.inputs();
    let bytes = case.format.bytes();
    let mut samples = vec![0u8; case.samples() * bytes];
    for ((channel, time, input), &value) in voltages.indexed_iter() {
        samples[case.place(channel, time, input) * bytes..][..bytes].copy_from_slice(&case.format.encoded(value));
    }
    let mut memory = GlobalMemory::new();
    let nothing: [u8; 0] = [];
    let from = memory.upload(if case.in_place { &nothing } else { &samples[..] });
    let to = if case.in_place { memory.upload(&samples) } else { memory.allocate::<u8>(samples.len()) };
    let phases = memory.upload(&phases.into_iter().collect::<Vec<_>>());
    let gains = memory.upload(&if case.gains { gains.into_iter().collect::<Vec<_>>() } else { Vec::new() });
    let inputs = case.dimensions().2;
    let saturated = memory.upload(&vec![5u64; if case.counted { inputs } else { 0 }]);
    let (kernel, declaration) = kernel(case);
    let blocks = 1 + case.seed as u32 % 3;
    let report = Launch::new(declaration, [blocks, 1, 1], [256, 1, 1]).seed(case.seed).run(&mut memory, || {
        kernel((from.into(), to.into(), phases.into(), gains.into(), saturated.into()));
    });
    report.assert_clean();
    compare(case, &memory.values(to), &memory.values(saturated));
    report
}

fn compare(case: Case, written: &[u8], counts: &[u64]) {
    let Expected { values, bounds, saturated, doubtful } = case.expected();
    let bytes = case.format.bytes();
    let mut rest = written.to_vec();
    for (index, &value) in values.indexed_iter() {
        let (channel, time, input) = index;
        let place = case.place(channel, time, input) * bytes;
        let actual = case.format.decoded(&written[place..place + bytes]);
        rest[place..place + bytes].fill(0);
        let bound = bounds[index];
        for (actual, value) in [(actual.re, value.re), (actual.im, value.im)] {
            let right = match case.format.limit() {
                // Exact unless a tie is within the bound.
                Some(limit) => {
                    [value - bound, value, value + bound].iter().any(|&v| quantise_value(v, limit) == actual)
                }
                // An f16 is rounded once more: 2^-11 of its size, 2^-25 of the least ones.
                None if case.format == Format::Float16 => (actual - value).abs() <= bound + value.abs() / 2048.0 + 3e-8,
                None => (actual - value).abs() <= bound,
            };
            assert!(right, "{case:?} at {index:?}: {actual} for {value}, bound {bound:e}");
        }
    }
    let zero = |sample: &[u8]| case.format.decoded(sample) == C64::new(0.0, 0.0);
    assert!(rest.chunks(bytes).all(zero), "times past the end are not zero: {case:?}");
    for (input, &count) in counts.iter().enumerate() {
        let least = saturated[input];
        assert!(
            (least..=least + doubtful[input]).contains(&(count - 5)),
            "{case:?}: input {input}, {count} of {least}"
        );
    }
}
