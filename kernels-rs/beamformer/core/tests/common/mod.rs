//! What the tests of both generations of kernels share: data of a case, a run in the emulator with all of its
//! detectors, and the comparison with sums in f64.

use fringes_device::tensor_core::{Accumulator, error_bound};
use fringes_emulator::{FaultKind, GlobalMemory, Launch, Report, TensorLayout};
use fringes_kernels_beamformer_core::incoherent::PADDED;
use fringes_kernels_beamformer_core::tied_array::{CHUNK_BYTES, DITHER, Output, Weights, byte_f16, column, place, run};
use fringes_reference::beamformer::{incoherent, tied_array};
use fringes_reference::dither::dither;
use half::f16;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C64 = Complex<f64>;

/// Samples and weights of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    I4,
    I8,
    I8ByF16,
    F16,
}

/// A kernel.
pub(crate) struct Entry {
    pub(crate) format: Format,
    pub(crate) columns: u32,
    pub(crate) output: Output,
    pub(crate) declaration: &'static str,
    pub(crate) call: fn(&Arguments),
}

/// Arguments of a launch.
pub(crate) struct Arguments {
    #[allow(dead_code, reason = "for one generation of kernels")]
    pub(crate) map: fringes_emulator::TensorMap,
    #[allow(dead_code, reason = "for the other one")]
    pub(crate) rows: fringes_emulator::Buffer<[u32; 4]>,
    pub(crate) table: fringes_emulator::Buffer<[u32; 4]>,
    pub(crate) scales: fringes_emulator::Buffer<f32>,
    pub(crate) beams: fringes_emulator::Buffer<u16>,
    pub(crate) saturated: fringes_emulator::Buffer<u64>,
    #[allow(dead_code, reason = "for one generation of kernels")]
    pub(crate) gains: fringes_emulator::Buffer<[f32; 2]>,
    #[allow(dead_code, reason = "for one generation of kernels")]
    pub(crate) incoherent: fringes_emulator::Buffer<f32>,
    pub(crate) case: Case,
    pub(crate) digits: u32,
}

/// What is formed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) channels: usize,
    pub(crate) inputs: usize,
    pub(crate) beams: usize,
    pub(crate) times: usize,
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) fold: usize,
    pub(crate) dither: bool,
    pub(crate) int16: bool,
    pub(crate) grid: u32,
    /// Tiles of a strip.
    #[allow(dead_code, reason = "for one generation of kernels")]
    pub(crate) strip: u32,
    /// Whether there is an incoherent beam.
    pub(crate) incoherent: bool,
}

pub(crate) const SEED: u64 = 0x1234_5678_9abc_def0;
pub(crate) const SPECTRUM: u64 = (1 << 33) + 77;
pub(crate) const CHANNEL: u32 = 5;

impl Format {
    pub(crate) fn weights(self, int16: bool) -> Weights {
        match self {
            Self::I4 | Self::I8 if int16 => Weights::Int16,
            Self::I4 | Self::I8 => Weights::Int8,
            _ => Weights::Float16,
        }
    }

    /// Bytes of a sample.
    fn bytes(self) -> usize {
        match self {
            Self::I4 => 1,
            Self::I8 | Self::I8ByF16 => 2,
            Self::F16 => 4,
        }
    }

    /// What sums are multiples of.
    fn unit(self) -> f64 {
        if self == Self::I4 { 16.0 } else { 1.0 }
    }
}

/// Samples `[channel][time][input]`, weights `[beam][channel][input]` as whole numbers or f16, and scales.
struct Data {
    samples: Array3<C64>,
    weights: Array3<C64>,
    pub(crate) scales: Vec<f32>,
    /// Of the incoherent beam `[1][input]`, if there is one.
    gains: Array2<f32>,
}

fn data(entry: &Entry, case: &Case) -> Data {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(case.times as u64 * 31 + case.inputs as u64);
    let most = if entry.format == Format::I4 { 7 } else { 127 };
    let mut whole = |most: i32| f64::from(random.random_range(-most..=most));
    let f = entry.format == Format::F16;
    let samples = Array3::from_shape_simple_fn((case.channels, case.times, case.inputs), || {
        let mut part = || if f { f64::from(f16::from_f64(whole(1000) / 256.0)) } else { whole(most) };
        Complex::new(part(), part())
    });
    let weights = Array3::from_shape_simple_fn((case.beams, case.channels, case.inputs), || {
        let mut part = || match entry.format.weights(case.int16) {
            Weights::Int8 => whole(127),
            Weights::Int16 => whole(32639),
            Weights::Float16 => f64::from(f16::from_f64(whole(16000) / 7.0)),
        };
        Complex::new(part(), part())
    });
    // Of integers about a third of the beams saturate.
    let rms = 0.5 * (case.inputs as f64).sqrt() * 2f64.sqrt();
    let of_weights = match entry.format.weights(case.int16) {
        Weights::Int8 => 127.0,
        Weights::Int16 => 32639.0,
        Weights::Float16 => 16000.0 / 7.0,
    };
    let of_samples = if f { 4.0 } else { f64::from(most) };
    let scales = (0..case.channels * case.beams)
        .map(|index| (120.0 / (rms * of_weights * of_samples) * (1.0 + index as f64 / 50.0)) as f32)
        .collect();
    let beams = usize::from(case.incoherent);
    let gains = Array2::from_shape_fn((beams, case.inputs), |(_, input)| (input * 11 % 29) as f32 / 8.0 - 1.0);
    Data { samples, weights, scales, gains }
}

impl Data {
    fn rows(&self, entry: &Entry, case: &Case) -> Vec<u8> {
        let (bytes, row) = (entry.format.bytes(), 128 / entry.format.bytes());
        let blocks = case.times.div_ceil(row);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        // Rows past the last time hold anything.
        let mut buffer: Vec<u8> = (0..case.channels * blocks * case.inputs * 128).map(|_| random.random()).collect();
        for ((channel, time, input), sample) in self.samples.indexed_iter() {
            let at = (((channel * blocks + time / row) * case.inputs + input) * row + time % row) * bytes;
            let (re, im) = (sample.re, sample.im);
            match entry.format {
                Format::I4 => buffer[at] = ((re as i8) << 4 | (im as i8 & 15)) as u8,
                Format::I8 | Format::I8ByF16 => buffer[at..at + 2].copy_from_slice(&[re as i8 as u8, im as i8 as u8]),
                Format::F16 => {
                    let parts = [re, im].map(|part| f16::from_f64(part).to_le_bytes());
                    buffer[at..at + 4].copy_from_slice(parts.as_flattened());
                }
            }
        }
        buffer
    }

    /// Weights as the kernel reads them, and scales.
    fn table(&self, entry: &Entry, case: &Case) -> (Vec<u8>, Vec<f32>) {
        let weights = entry.format.weights(case.int16);
        let (digits, inputs, columns) = (weights.digits(), weights.chunk_inputs(), entry.columns);
        let beams = columns / digits;
        let tiles = (case.beams as u32).div_ceil(beams);
        let chunks = (case.inputs as u32).div_ceil(inputs);
        let run = run(entry.output.most_run(), columns, digits);
        let chunk_bytes = (columns * CHUNK_BYTES) as usize;
        let mut table = vec![0u8; case.channels * (tiles * chunks) as usize * chunk_bytes];
        let mut scales = vec![0.0; case.channels * (tiles * beams) as usize];
        for ((beam, channel, input), weight) in self.weights.indexed_iter() {
            let (tile, within) = (beam as u32 / beams, beam as u32 % beams);
            let (chunk, input) = (input as u32 / inputs, input as u32 % inputs);
            let start = ((channel as u32 * tiles + tile) * chunks + chunk) as usize * chunk_bytes;
            scales[(channel as u32 * tiles * beams) as usize + beam] = self.scales[channel * case.beams + beam];
            for digit in 0..digits {
                let column = column(within, digit, digits, run);
                for (part, value) in [weight.re, -weight.im].into_iter().enumerate() {
                    if weights == Weights::Float16 {
                        let at = start + place(column, byte_f16(input) + 2 * part as u32) as usize;
                        table[at..at + 2].copy_from_slice(&f16::from_f64(value).to_le_bytes());
                    } else {
                        let high = if digits == 2 { ((value + 128.0) / 256.0).floor() } else { value };
                        let value = if digit == 0 { high } else { value - 256.0 * high };
                        table[start + place(column, 2 * input + part as u32) as usize] = value as i8 as u8;
                    }
                }
            }
        }
        (table, scales)
    }

    /// Beams `[channel][time][beam]`.
    fn beams(&self, case: &Case) -> Array3<C64> {
        let beams = tied_array(self.samples.view(), self.weights.view());
        Array3::from_shape_fn(beams.dim(), |(channel, time, beam)| {
            beams[(channel, time, beam)] * f64::from(self.scales[channel * case.beams + beam])
        })
    }

    /// The largest errors of beams `[channel][time][beam]` that the documentation allows, but for the roundings of the
    /// scales, which are given: those of sums and of their products with scales, and of f16 what tensor cores cut off.
    fn bounds(&self, entry: &Entry, case: &Case) -> Array3<f64> {
        let norms = |data: &Array3<C64>| data.mapv(|value| C64::new(value.norm(), 0.0));
        let sizes = tied_array(norms(&self.samples).view(), norms(&self.weights).view());
        let floats = entry.format.weights(case.int16) == Weights::Float16;
        let products = 2 * case.inputs.next_multiple_of(8);
        Array3::from_shape_fn(sizes.dim(), |(channel, time, beam)| {
            let size = sizes[(channel, time, beam)].re * f64::from(self.scales[channel * case.beams + beam]);
            if floats {
                error_bound(Accumulator::F32, products, size) + size * 2f64.powi(-24)
            } else {
                3.0 * size * 2f64.powi(-24)
            }
        })
    }
}

fn element(bytes: &[u8], at: usize, output: Output) -> f64 {
    match output {
        Output::Int8 => f64::from(bytes[at] as i8),
        Output::Float16 => f64::from(f16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]])),
        _ => f64::from(f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap())),
    }
}

/// Pieces of 16 bytes.
fn pieces(bytes: &[u8]) -> Vec<[u32; 4]> {
    let word = |piece: &[u8], i: usize| u32::from_le_bytes(piece[4 * i..4 * i + 4].try_into().unwrap());
    bytes.chunks_exact(16).map(|piece| std::array::from_fn(|i| word(piece, i))).collect()
}

/// What a launch left.
struct Launched {
    report: Report,
    /// Beams; those that were not written have [`UNTOUCHED`].
    bytes: Vec<u8>,
    saturated: Vec<u64>,
    /// The incoherent beam.
    incoherent: Vec<f32>,
}

/// What beams are before a launch.
const UNTOUCHED: u16 = 0x5a5a;

/// Runs a kernel on a case, with the numbers of `told`.
fn launch(entry: &Entry, data: &Data, case: &Case, told: Case) -> Launched {
    let (table, mut scales) = data.table(entry, case);
    scales.iter_mut().for_each(|scale| *scale /= entry.format.unit() as f32);
    let row = 128 / entry.format.bytes();
    let blocks = case.times.div_ceil(row);
    let weights = entry.format.weights(case.int16);
    let layout = TensorLayout {
        element_bytes: 1,
        dimensions: [128, case.inputs, blocks, case.channels].map(|size| size as u64).to_vec(),
        strides_bytes: [128, 128 * case.inputs, 128 * case.inputs * blocks].map(|stride| stride as u64).to_vec(),
        block: vec![128, weights.chunk_inputs(), 128 / row as u32, 1],
        swizzle: 128,
    };
    let sums = case.times.div_ceil(case.fold);
    let length = case.channels * sums * case.beams * entry.output.bytes() as usize / 2;
    let mut memory = GlobalMemory::new();
    let rows = memory.upload(&pieces(&data.rows(entry, case)));
    let map = memory.map_tensor(rows, &layout);
    let beams = memory.upload(&vec![UNTOUCHED; length]);
    let (table, scales) = (memory.upload(&pieces(&table)), memory.upload(&scales));
    let saturated = memory.upload(&vec![0u64; case.beams]);
    let gain = |input: usize| data.gains.get((0, input)).copied().unwrap_or_default();
    let pairs = if case.incoherent { case.inputs.next_multiple_of(PADDED as usize) / 2 } else { 0 };
    let gains: Vec<[f32; 2]> = (0..pairs).map(|pair| [gain(2 * pair), gain(2 * pair + 1)]).collect();
    let gains = memory.upload(&gains);
    let incoherent = memory.upload(&vec![f32::NAN; if case.incoherent { case.channels * sums } else { 0 }]);
    let digits = weights.digits();
    let arguments = Arguments { map, rows, table, scales, beams, saturated, gains, incoherent, case: told, digits };
    let number = |key: &str| {
        let value = entry.declaration.split_once(key).unwrap().1;
        value.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let report = Launch::new(entry.declaration, [case.grid, 1, 1], [number("threads="), 1, 1])
        .shared_bytes(number("shared_bytes="))
        // Kernels without optimisation have frames of more than a megabyte.
        .stack_bytes(1 << 22)
        .run(&mut memory, || (entry.call)(&arguments));
    let bytes = memory.values(beams).into_iter().flat_map(u16::to_le_bytes).collect();
    Launched { report, bytes, saturated: memory.values(saturated), incoherent: memory.values(incoherent) }
}

/// Runs a case with numbers for which something is too short: nothing is written.
pub(crate) fn check_traps(entry: &Entry, case: Case, told: Case) {
    let launched = launch(entry, &data(entry, &case), &case, told);
    let faults = &launched.report.faults;
    assert!(launched.report.found(FaultKind::Operand) && faults.len() == 1, "{told:?}: {faults:?}");
    assert!(launched.bytes.chunks(2).all(|pair| pair == UNTOUCHED.to_le_bytes()), "{told:?}");
}

/// Runs a case and compares it.
#[allow(clippy::needless_range_loop, reason = "indices are those of several arrays")]
pub(crate) fn check(entry: &Entry, case: Case) {
    let name = entry.declaration.split('(').next().unwrap();
    let data = data(entry, &case);
    let Launched { report, bytes, saturated: lost, incoherent } = launch(entry, &data, &case, case);
    report.assert_clean();
    let sums = case.times.div_ceil(case.fold);
    let expected = data.beams(&case);
    let bounds = data.bounds(entry, &case);
    let mut counts = vec![0u64; case.beams];
    let powers = matches!(entry.output, Output::Power | Output::Coherency);
    for channel in 0..case.channels {
        for time in 0..sums {
            for beam in 0..case.beams {
                let at = (channel * sums + time) * case.beams + beam;
                let formed = |time: usize| (case.first..case.end).contains(&time);
                let times = time * case.fold..((time + 1) * case.fold).min(case.times);
                if !times.clone().any(formed) {
                    let size = entry.output.bytes() as usize;
                    let old = UNTOUCHED.to_le_bytes();
                    assert!((0..size).all(|i| bytes[at * size + i] == old[i % 2]), "{name} {case:?} wrote time {time}");
                    continue;
                }
                let what = || format!("{name} {case:?}: channel {channel}, time {time}, beam {beam}");
                let of = |(time, beam): (usize, usize)| expected[(channel, time, beam)];
                if powers {
                    let products = |time: usize| {
                        let x = of((time, beam & !usize::from(entry.output == Output::Coherency)));
                        if entry.output == Output::Power {
                            return [x.norm_sqr(), 0.0];
                        }
                        let y = of((time, beam | 1));
                        let cross = x * y.conj();
                        if beam % 2 == 0 { [x.norm_sqr(), y.norm_sqr()] } else { [cross.re, cross.im] }
                    };
                    // Of voltages that are off in both parts, and four roundings and those of four additions of powers.
                    let (mut sum, mut bound) = ([0.0; 2], 0.0);
                    let pair = if entry.output == Output::Power { [beam; 2] } else { [beam & !1, beam | 1] };
                    for time in times.filter(|&time| formed(time)) {
                        let product = products(time);
                        (sum[0], sum[1]) = (sum[0] + product[0], sum[1] + product[1]);
                        let largest = pair.map(|beam| of((time, beam)).norm()).into_iter().fold(0.0, f64::max);
                        let off = pair.map(|beam| bounds[(channel, time, beam)]).into_iter().fold(0.0, f64::max);
                        let powers: f64 = pair.iter().map(|&beam| of((time, beam)).norm_sqr()).sum();
                        bound += 8f64.sqrt() * largest * off + 2.0 * off * off + 8.0 * powers * 2f64.powi(-24);
                    }
                    let parts = if entry.output == Output::Power { 1 } else { 2 };
                    for part in 0..parts {
                        let actual = element(&bytes, at * parts + part, entry.output);
                        assert!(
                            (actual - sum[part]).abs() <= bound,
                            "{}: {actual}, not {}: {bound}",
                            what(),
                            sum[part]
                        );
                    }
                    continue;
                }
                let (value, bound) = (of((time, beam)), bounds[(channel, time, beam)]);
                let moved = if case.dither {
                    let C64 { re, im } =
                        dither(SEED ^ DITHER, SPECTRUM + time as u64, CHANNEL + channel as u32, beam as u32);
                    [re, im]
                } else {
                    [0.0; 2]
                };
                let mut any = false;
                for (part, (value, moved)) in [value.re, value.im].into_iter().zip(moved).enumerate() {
                    let actual = element(&bytes, 2 * at + part, entry.output);
                    match entry.output {
                        Output::Int8 => {
                            let value = value + moved;
                            let bound = if case.dither { bound + 1.25 * 2f64.powi(-16) } else { bound };
                            // Exact but at ties.
                            let near = ((value - value.floor()) - 0.5).abs() < bound;
                            let limited = value.round_ties_even().clamp(-127.0, 127.0);
                            assert!(
                                actual == limited || (near && (actual - value).abs() < 0.5 + 2.0 * bound),
                                "{}: {actual}, not {value}",
                                what()
                            );
                            any |= value.abs() > 127.0;
                        }
                        Output::Float16 => {
                            let bound = bound + value.abs() * 2f64.powi(-11) + 2f64.powi(-25);
                            assert!((actual - value).abs() <= bound, "{}: {actual}, not {value}", what());
                        }
                        _ => {
                            assert!((actual - value).abs() <= bound, "{}: {actual}, not {value}, bound {bound}", what())
                        }
                    }
                }
                counts[beam] += u64::from(any);
            }
        }
    }
    if entry.output == Output::Int8 {
        assert_eq!(lost, counts, "{name} {case:?}");
    }
    check_incoherent(entry, &data, &case, &incoherent);
}

/// Compares the incoherent beam `[channel][time / fold]`, if there is one.
fn check_incoherent(entry: &Entry, data: &Data, case: &Case, actual: &[f32]) {
    let sums = case.times.div_ceil(case.fold);
    let inputs = case.inputs.next_multiple_of(entry.format.weights(case.int16).chunk_inputs() as usize);
    let [powers, sizes] = [data.gains.mapv(f64::from), data.gains.mapv(|gain| f64::from(gain.abs()))]
        .map(|gains| incoherent(data.samples.view(), gains.view()));
    let terms = inputs as f64 / 4.0 + 5.0 + (case.fold as f64).log2();
    for (at, &actual) in actual.iter().enumerate() {
        let (channel, time, actual) = (at / sums, at % sums, f64::from(actual));
        let formed = |time: &usize| (case.first..case.end).contains(time);
        let times: Vec<_> = (time * case.fold..((time + 1) * case.fold).min(case.times)).filter(formed).collect();
        if times.is_empty() {
            assert!(actual.is_nan(), "{case:?}: wrote channel {channel}, time {time}");
            continue;
        }
        let of_times = |powers: &Array3<f64>| times.iter().map(|&time| powers[(channel, time, 0)]).sum::<f64>();
        let (sum, size) = (of_times(&powers), of_times(&sizes));
        let bound = terms * 2f64.powi(-24) * size;
        assert!((actual - sum).abs() <= bound, "{case:?}: channel {channel}, time {time}: {actual}, not {sum}");
    }
}

/// Whose seed is XORed.
pub(crate) const OF_BEAMS: u64 = DITHER;

pub(crate) const CASE: Case = Case {
    channels: 2,
    inputs: 70,
    beams: 18,
    times: 150,
    first: 0,
    end: 150,
    fold: 1,
    dither: false,
    int16: false,
    grid: 3,
    strip: 2,
    incoherent: false,
};

/// The tests of a generation of kernels, whose crate has the function `entries`.
macro_rules! tests {
    () => {
        fn of(output: &[Output]) -> impl Iterator<Item = Entry> {
            entries().into_iter().filter(move |entry| output.contains(&entry.output))
        }

        #[test]
        fn voltages_of_every_kernel_are_those_of_the_reference() {
            for entry in of(&[Output::Float32, Output::Float16, Output::Int8]) {
                check(&entry, CASE);
            }
        }

        #[test]
        fn sixteen_bits_are_two_digits() {
            for entry in of(&[Output::Float32, Output::Int8]).filter(|e| matches!(e.format, Format::I4 | Format::I8)) {
                check(&entry, Case { int16: true, beams: 24, dither: true, ..CASE });
            }
        }

        #[test]
        fn whole_tiles_are_those_of_the_reference() {
            for entry in of(&[Output::Float16, Output::Int8, Output::Power, Output::Coherency]) {
                let powers = matches!(entry.output, Output::Power | Output::Coherency);
                // Tiles whose times or beams end within them follow.
                let case = Case { inputs: 20, times: 136, end: 136, fold: if powers { 16 } else { 1 }, ..CASE };
                let beams = entry.columns as usize + 8;
                check(&entry, Case { beams, ..case });
                check(&entry, Case { beams, dither: true, channels: 1, ..case });
                if entry.columns == 128 && matches!(entry.format, Format::I4 | Format::I8) {
                    check(&entry, Case { beams: 72, int16: true, dither: true, channels: 1, ..case });
                }
            }
        }

        #[test]
        fn any_numbers_of_inputs_beams_and_times_may_come() {
            for entry in of(&[Output::Int8]).filter(|entry| entry.columns == 16) {
                for (inputs, beams, times) in [(1, 1, 1), (129, 7, 65), (64, 33, 128), (3, 2, 257)] {
                    check(&entry, Case { inputs, beams, times, end: times, dither: true, ..CASE });
                }
            }
        }

        #[test]
        fn several_chunks_of_inputs_are_added_up() {
            for entry in of(&[Output::Int8]).filter(|entry| entry.columns == 64) {
                // As many as a ring of stages has, and more, over several tiles of a block.
                for inputs in [200, 500] {
                    let beams = 2 * entry.columns as usize + 8;
                    check(&entry, Case { inputs, beams, times: 140, end: 140, channels: 1, grid: 1, ..CASE });
                }
            }
        }

        #[test]
        fn times_outside_the_range_are_not_touched() {
            for entry in entries().into_iter().filter(|entry| entry.columns == 64) {
                let powers = matches!(entry.output, Output::Power | Output::Coherency);
                check(&entry, Case { first: 130, end: 140, fold: if powers { 2 } else { 1 }, ..CASE });
            }
        }

        #[test]
        fn powers_are_summed_over_up_to_sixteen_times() {
            for entry in of(&[Output::Power, Output::Coherency]) {
                for fold in [1, 2, 4, 8, 16] {
                    if fold == 4 || entry.columns == 64 {
                        check(&entry, Case { fold, ..CASE });
                    }
                }
            }
        }

        #[test]
        fn numbers_that_do_not_fit_trap_before_anything_is_touched() {
            let case = Case { grid: 1, times: 65, end: 65, inputs: 5, ..CASE };
            for entry in of(&[Output::Float32]).filter(|entry| entry.columns == 16) {
                for told in [
                    Case { channels: case.channels + 1, ..case },
                    Case { inputs: 16_385, ..case },
                    Case { beams: 0, ..case },
                    Case { beams: 200, ..case },
                    Case { times: 1000, ..case },
                    Case { end: 66, ..case },
                    Case { first: 65, ..case },
                    Case { fold: 2, ..case },
                ] {
                    check_traps(&entry, case, told);
                }
            }
        }
    };
}
