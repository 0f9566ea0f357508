//! The kernels in the emulator against the reference.

use std::f64::consts::TAU;
use std::ops::Range;

use fringes_channelizer::internals::{Segments, TensorShape};
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_down_convert_tensor as kernels;
use fringes_kernels_down_convert_tensor::tensor;
use num_complex::{Complex, Complex64};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What is asked of all plans, of full scale.
const MOST: f64 = 2e-5;
const RMS: f64 = 2e-6;

#[derive(Clone, Copy, Debug)]
struct Case {
    taps: usize,
    decimation: usize,
    bits: u32,
    inputs: usize,
    /// Samples of each input.
    samples: usize,
    /// Bit of the buffer at which input 0 begins, and bits between rows.
    first_bit: u64,
    gap: u64,
    /// Absolute number of the first output, and of how many there are.
    first_output: u64,
    outputs: usize,
    /// Columns of an input's row of outputs beyond its own.
    beyond: usize,
    /// Whether weights are one f16.
    half: bool,
}

impl Case {
    fn shape(&self) -> TensorShape {
        let of = if self.half { TensorShape::half } else { TensorShape::new };
        of(self.taps, self.decimation, self.bits).unwrap()
    }
}

/// What a case is made of.
struct Data {
    case: Case,
    filter: Vec<f64>,
    /// `f` in 2^-64 turns a sample, and the phase.
    frequency: u64,
    phase: u64,
    words: Vec<u32>,
    row_bits: u64,
}

fn turns(x: u64) -> f64 {
    x as f64 / 2f64.powi(64)
}

impl Data {
    fn new(case: Case, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let filter = (0..case.taps).map(|_| random.random_range(-1.0..1.0)).collect();
        let row_bits = case.samples as u64 * u64::from(case.bits) + case.gap;
        let bits = case.first_bit + row_bits * case.inputs as u64;
        // Whole 16 bytes, and no more.
        let words = (0..bits.div_ceil(128) * 4).map(|_| random.random()).collect();
        Self { case, filter, frequency: random.random(), phase: random.random(), words, row_bits }
    }

    fn sample(&self, input: usize, index: usize) -> f64 {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let first = self.case.first_bit + self.row_bits * input as u64 + index as u64 * u64::from(self.case.bits);
        let value = (first..first + u64::from(self.case.bits))
            .fold(0u32, |value, bit| value << 1 | u32::from(bytes[(bit / 8) as usize] >> (7 - bit % 8) & 1));
        f64::from(((value << (32 - self.case.bits)) as i32) >> (32 - self.case.bits))
    }

    /// Output `j` of an input from the first one on, whose window begins with its sample `j S`.
    fn exact(&self, input: usize, j: usize) -> Complex64 {
        let start = j * self.case.decimation;
        let sum: Complex64 = (0..self.case.taps)
            .map(|k| {
                let mixer = Complex64::cis(TAU * turns(self.frequency.wrapping_mul(k as u64)));
                mixer * self.sample(input, start + k) * self.filter[k]
            })
            .sum();
        let sample = (self.case.first_output + j as u64).wrapping_mul(self.case.decimation as u64);
        sum * Complex64::cis(TAU * turns(self.phase.wrapping_add(self.frequency.wrapping_mul(sample))))
    }

    fn full_scale(&self) -> f64 {
        2f64.powi(self.case.bits as i32 - 1) * self.filter.iter().map(|tap| tap.abs()).sum::<f64>()
    }

    /// A row's bits from sample `first` on, as the words of a buffer that it begins with.
    fn row(&self, input: usize, samples: Range<usize>) -> Vec<u32> {
        let (bytes, bits): (&[u8], u64) = (bytemuck::cast_slice(&self.words), self.case.bits.into());
        let first = self.case.first_bit + self.row_bits * input as u64 + samples.start as u64 * bits;
        let mut row = vec![0u8; (samples.len() as u64 * bits).div_ceil(8) as usize];
        for place in 0..samples.len() as u64 * bits {
            let bit = bytes[((first + place) / 8) as usize] >> (7 - (first + place) % 8) & 1;
            row[(place / 8) as usize] |= bit << (7 - place % 8);
        }
        row.chunks(4).map(|bytes| u32::from_le_bytes(std::array::from_fn(|i| *bytes.get(i).unwrap_or(&0)))).collect()
    }

    /// Runs the kernel; gives the words of outputs `[input][output]`, the counts and the report.
    fn run_as(&self, run: Run) -> (Vec<Vec<u16>>, Vec<u64>, Report) {
        let Case { taps, decimation, bits, inputs, first_bit, first_output, outputs, beyond, .. } = self.case;
        let Run { from, joined, seed, segments, format, scale: factor, absent, any } = run;
        let outputs = outputs - from;
        let shape = self.case.shape();
        let at = |n: u64| Complex64::cis(TAU * turns(self.frequency.wrapping_mul(n)));
        let weights: Vec<Complex64> = self.filter.iter().enumerate().map(|(k, h)| at(k as u64) * h).collect();
        let (table, scale) = shape.table(&weights, |output| at(u64::from(output) * decimation as u64));
        let first = first_output + from as u64;
        let (range, middle) = (first..first + outputs as u64, first + joined as u64);
        let output_bits = decimation as u64 * u64::from(bits);
        // Held rows of whole 16 bytes begin with the first window: its block with a piece if it can be, else bit 96.
        let before = first % u64::from(shape.outputs) * output_bits % 128;
        let held_bit = if before.is_multiple_of(32) { before } else { 96 };
        let held_samples = if joined > 0 { (joined - 1) * decimation + taps } else { 0 };
        let held_row = (128 + held_samples as u64 * u64::from(bits)).next_multiple_of(128);
        let mut held = vec![0x5555_5555u32; (held_row / 32) as usize * inputs * usize::from(joined > 0)];
        for input in 0..if joined > 0 { inputs } else { 0 } {
            let row = self.row(input, from * decimation..from * decimation + held_samples);
            held[(input as u64 * held_row + held_bit) as usize / 32..][..row.len()].copy_from_slice(&row);
        }
        let blocks = shape.blocks(&range, middle, held_bit, first_bit + (from + joined) as u64 * output_bits);
        let per_block = u64::from(shape.outputs);
        let turn = self.frequency.wrapping_mul(per_block * decimation as u64);
        let phase = self.phase.wrapping_add(self.frequency.wrapping_mul(blocks.output.wrapping_mul(decimation as u64)));
        let segments = segments.unwrap_or_else(|| shape.segments(blocks.chunk, inputs, inputs.div_ceil(64), 1));

        let mut memory = GlobalMemory::new();
        let (samples, held) = (memory.upload(&self.words), memory.upload(&held));
        let table = memory.upload(&table);
        let (row, units) = (outputs + beyond, tensor::output_bytes(format) as usize / 2);
        let out = memory.upload(&vec![POISON; row * inputs * units]);
        let saturated = memory.upload(&vec![0u64; if format == tensor::F32 { 0 } else { inputs }]);
        let flags: Vec<u8> = (0..inputs * (outputs + 2)).map(|place| u8::from(!place.is_multiple_of(3))).collect();
        let present = memory.upload(if absent { &flags[..] } else { &[] });
        let all = (segments.tiles as usize * inputs + inputs.div_ceil(64)).div_ceil(3) as u32;
        let row_bits = if inputs > 1 { self.row_bits } else { 0 };
        let aligned = shape.has_aligned() && shape.is_aligned(&blocks, row_bits) && !any;
        let kernel = kernel(&format!("{}{}", shape.kernel(), if aligned { "_aligned" } else { "" }));
        // Those of kernels with as many threads are alike; blocks beyond the tiles do nothing.
        let declaration = match shape.threads() {
            256 if shape.terms == 1 => <kernels::half::down_convert_10_8_3_half as Kernel>::DECLARATION,
            256 => <kernels::single::down_convert_10_12_4 as Kernel>::DECLARATION,
            384 => <kernels::single::down_convert_16_8_3 as Kernel>::DECLARATION,
            _ => <kernels::single::down_convert_10_8_3 as Kernel>::DECLARATION,
        };
        let launch = Launch::new(declaration, [all.div_ceil(2) + 1, 1, 1], [shape.threads(), 1, 1])
            .shared_bytes(shape.shared_bytes());
        let report = launch.seed(seed).run(&mut memory, || {
            kernel(
                samples.into(),
                held.into(),
                table.into(),
                out.into(),
                saturated.into(),
                present.into(),
                blocks.chunk_bit,
                self.row_bits,
                blocks.held_bit,
                held_row,
                row as u64,
                outputs as u64 + 2,
                turn,
                phase,
                outputs as u32,
                blocks.skip as u32,
                inputs as u32,
                blocks.held as u32,
                segments.tiles,
                segments.blocks,
                shape.groups,
                shape.block_bits(),
                0,
                format,
                scale * shape.sample_scale() * factor,
                tensor::output_limit(format),
            );
        });
        let of_input = |row: &[u16]| {
            let (own, beyond) = row.split_at(outputs * units);
            assert!(beyond.iter().all(|&unit| unit == POISON), "columns beyond the outputs are as before");
            own.to_vec()
        };
        let values: Vec<u16> = memory.values(out);
        (values.chunks(row * units).map(of_input).collect(), memory.values(saturated), report)
    }

    /// Runs the kernel for outputs `from ..` of the case, of which `joined` are made of held samples.
    fn run(&self, from: usize, joined: usize, seed: u64, segments: Option<Segments>) -> (Vec<Complex<f32>>, Report) {
        let (units, _, report) = self.run_as(Run { from, joined, seed, segments, ..Run::default() });
        let values = |units: &Vec<u16>| {
            let parts: Vec<f32> =
                units.chunks(2).map(|u| f32::from_bits(u32::from(u[0]) | u32::from(u[1]) << 16)).collect();
            parts.chunks(2).map(|parts| Complex::new(parts[0], parts[1])).collect::<Vec<_>>()
        };
        (units.iter().flat_map(values).collect(), report)
    }
}

/// How a case is run.
struct Run {
    from: usize,
    joined: usize,
    seed: u64,
    segments: Option<Segments>,
    format: u32,
    /// Gain.
    scale: f32,
    /// Whether every third output is said to be absent.
    absent: bool,
    /// Whether the kernel is that for groups that begin anywhere, even where they begin with pieces.
    any: bool,
}

impl Default for Run {
    fn default() -> Self {
        let (from, joined, seed, segments) = (0, 0, 0, None);
        Self { from, joined, seed, segments, format: tensor::F32, scale: 1.0, absent: false, any: false }
    }
}

/// What the output has before.
const POISON: u16 = 0x7fc1;

macro_rules! kernels {
    ($($module:ident: $($name:ident)*;)*) => {
        /// A kernel by its name.
        fn kernel(name: &str) -> KernelFunction {
            match name {
                $($(stringify!($name) => kernels::$module::$name,)*)*
                _ => panic!("no kernel is called {name}"),
            }
        }
    };
}

kernels! {
    single:
    down_convert_4_8_2 down_convert_4_8_3 down_convert_4_4_5 down_convert_4_12_4
    down_convert_8_8_2 down_convert_8_8_3 down_convert_8_4_5 down_convert_8_12_4
    down_convert_10_8_2 down_convert_10_8_3 down_convert_10_4_5 down_convert_10_12_4
    down_convert_12_8_2 down_convert_12_8_3 down_convert_12_4_5 down_convert_12_12_4
    down_convert_16_8_2 down_convert_16_8_3 down_convert_16_4_5 down_convert_16_12_4
    down_convert_4_8_2_aligned down_convert_4_8_3_aligned down_convert_8_8_2_aligned down_convert_8_8_3_aligned
    down_convert_10_8_2_aligned down_convert_10_8_3_aligned down_convert_12_8_2_aligned down_convert_12_8_3_aligned;
    half:
    down_convert_8_8_2_half down_convert_8_8_3_half down_convert_8_4_5_half
    down_convert_10_8_2_half down_convert_10_8_3_half down_convert_10_4_5_half
    down_convert_12_8_2_half down_convert_12_8_3_half down_convert_12_4_5_half
    down_convert_8_8_2_half_aligned down_convert_8_8_3_half_aligned
    down_convert_10_8_2_half_aligned down_convert_10_8_3_half_aligned
    down_convert_12_8_2_half_aligned down_convert_12_8_3_half_aligned;
}

type KernelFunction = fn(
    Global<u32>,
    Global<u32>,
    Global<[u32; 4]>,
    GlobalMut<u16>,
    GlobalMut<u64>,
    Global<u8>,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    f32,
    f32,
);

/// The whole length of outputs of a case.
fn case(taps: usize, decimation: usize, bits: u32, outputs: usize) -> Case {
    let samples = (outputs - 1) * decimation + taps;
    Case {
        taps,
        decimation,
        bits,
        inputs: 1,
        samples,
        first_bit: 0,
        gap: 0,
        first_output: 0,
        outputs,
        beyond: 0,
        half: false,
    }
}

#[test]
fn outputs_are_within_the_bound_of_the_reference() {
    let awkward = |case: Case, first_bit, gap, first_output| Case { first_bit, gap, first_output, ..case };
    let cases = [
        case(128, 8, 10, 9000),
        awkward(case(128, 8, 10, 1000), 6, 38, 1_000_003),
        Case { inputs: 3, beyond: 5, ..awkward(case(120, 8, 8, 700), 24, 8, 77) },
        awkward(case(96, 17, 10, 500), 2, 2, (1 << 40) + 5),
        Case { inputs: 2, beyond: 1, ..awkward(case(160, 5, 10, 999), 126, 0, 1_000_000_000_000_000) },
        awkward(case(256, 16, 10, 400), 0, 0, 1),
        awkward(case(100, 7, 8, 321), 8, 16, 3),
        Case { inputs: 2, ..awkward(case(512, 32, 10, 100), 4, 6, 2) },
        case(1, 1, 8, 50),
        awkward(case(128, 8, 4, 500), 2, 6, 9),
        Case { inputs: 2, beyond: 3, ..awkward(case(256, 16, 12, 300), 6, 4, 1_000_003) },
        awkward(case(160, 5, 12, 300), 3, 0, 5),
        Case { inputs: 2, ..awkward(case(128, 8, 16, 600), 5, 11, 1_000_003) },
        awkward(case(512, 32, 16, 80), 16, 0, 1 << 44),
        awkward(case(96, 17, 16, 200), 1, 0, 7),
        awkward(case(80, 5, 16, 200), 0, 0, 0),
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        let data = Data::new(case, seed as u64);
        let joined = if seed % 3 == 1 { 48 - (case.first_output % 48) as usize } else { 0 };
        let (found, report) = data.run(0, joined, seed as u64, None);
        report.assert_clean();
        let full = data.full_scale();
        let (mut most, mut squares) = (0.0f64, 0.0);
        for (place, found) in found.iter().enumerate() {
            let expected = data.exact(place / case.outputs, place % case.outputs);
            let error = (Complex64::new(found.re.into(), found.im.into()) - expected).norm() / full;
            assert!(error <= MOST, "{case:?}: output {place} is {found}, expected {expected}");
            most = most.max(error);
            squares += error * error;
        }
        let rms = (squares / found.len() as f64).sqrt();
        println!("{case:?}: most {most:.1e} rms {rms:.1e}");
        assert!(rms <= RMS, "{case:?}: {rms}");
    }
}

/// A weight of one f16 is off by 2^-11 of itself at most, and by 2.1e-4 rms: so noise is of noise.
#[test]
fn weights_of_one_f16_are_within_half_precision() {
    let cases = [
        case(128, 8, 10, 3000),
        Case { first_bit: 6, gap: 38, first_output: 1_000_003, ..case(128, 8, 10, 1000) },
        Case { inputs: 2, beyond: 3, ..case(96, 17, 8, 400) },
        Case { first_bit: 6, gap: 4, ..case(256, 16, 12, 300) },
        Case { inputs: 2, first_output: 5, ..case(512, 32, 10, 100) },
        case(128, 8, 12, 500),
        Case { first_output: 1 << 44, ..case(96, 17, 10, 300) },
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        let case = Case { half: true, ..case };
        let data = Data::new(case, seed as u64);
        let joined = if seed % 3 == 1 { 48 - (case.first_output % 48) as usize } else { 0 };
        let (found, report) = data.run(0, joined, seed as u64, None);
        report.assert_clean();
        let (mut errors, mut values) = (0.0, 0.0);
        for (place, found) in found.iter().enumerate() {
            let expected = data.exact(place / case.outputs, place % case.outputs);
            let error = (Complex64::new(found.re.into(), found.im.into()) - expected).norm();
            assert!(
                error <= (MOST + 2f64.powi(-11)) * data.full_scale(),
                "{case:?}: {place} is {found}, not {expected}"
            );
            errors += error * error;
            values += expected.norm_sqr();
        }
        let rms = (errors / values).sqrt();
        println!("{case:?}: {rms:.2e}");
        assert!(rms <= 2.1e-4, "{case:?}: {rms}");
        // Not those of two.
        assert!(rms > 1e-4, "{case:?}: {rms}");
    }
}

#[test]
fn outputs_have_the_same_bits_however_a_stream_is_cut() {
    for half in [false, true] {
        same_bits_however_a_stream_is_cut(half);
    }
}

fn same_bits_however_a_stream_is_cut(half: bool) {
    let data = Data::new(Case { first_bit: 18, first_output: 1234, half, ..case(128, 8, 10, 600) }, 7);
    let (whole, report) = data.run(0, 0, 1, None);
    report.assert_clean();
    for from in [1, 6, 14, 333] {
        let (part, _) = data.run(from, 0, from as u64, None);
        assert!(
            whole[from..]
                .iter()
                .zip(&part)
                .all(|(a, b)| a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()),
            "{from}"
        );
    }
    let (other, _) = data.run(0, 0, 2, Some(Segments { blocks: 64, tiles: 1 }));
    assert!(whole == other, "segments of another length");
}

#[test]
fn outputs_of_held_samples_have_the_bits_of_others() {
    for (taps, decimation, bits, inputs) in [(128, 8, 10, 1), (96, 17, 8, 70), (160, 5, 16, 3), (256, 16, 12, 2)] {
        let case = Case { first_bit: 40, inputs, first_output: 1205, ..case(taps, decimation, bits, 90) };
        let data = Data::new(case, u64::from(bits));
        let (whole, _) = data.run(0, 0, 1, None);
        // Whole blocks of 4, 8 and 12 outputs end with output 1224; the last launch has no others.
        for joined in [19, 43, 90] {
            let (found, report) = data.run(0, joined, 2, None);
            report.assert_clean();
            let differ: Vec<usize> = (0..whole.len()).filter(|&place| whole[place] != found[place]).collect();
            assert!(differ.is_empty(), "{taps} {decimation} {bits}, {joined} of held samples: {differ:?}");
        }
    }
}

#[test]
fn groups_that_begin_with_pieces_have_the_bits_of_others() {
    for (bits, half) in [(4, false), (8, false), (10, false), (12, false), (8, true), (10, true), (12, true)] {
        for (taps, decimation, inputs, outputs) in [(128, 8, 3, 300), (60, 8, 1, 700)] {
            let case = Case { half, ..case(taps, decimation, bits, outputs) };
            // Rows of whole pieces, with samples behind the last window.
            let gap =
                (case.samples as u64 * u64::from(bits)).next_multiple_of(128) - case.samples as u64 * u64::from(bits);
            let data = Data::new(Case { inputs, gap, first_bit: 256, first_output: 16, ..case }, u64::from(bits));
            let shape = case.shape();
            let output_bits = u64::from(shape.decimation * bits);
            for joined in [0, 24] {
                // As `run_as` has them: those that begin with a piece are what the kernels are for, others are not.
                let range = 16..16 + outputs as u64;
                let blocks = |bit: u64| shape.blocks(&range, 16 + joined as u64, 0, bit + joined as u64 * output_bits);
                let row_bits = if inputs > 1 { data.row_bits } else { 0 };
                assert!(shape.has_aligned() && shape.is_aligned(&blocks(256), row_bits), "{shape:?}");
                assert!(!shape.is_aligned(&blocks(256 + 32), row_bits), "{shape:?}");
                let of = |any| data.run_as(Run { joined, any, ..Run::default() });
                let ((aligned, _, report), (others, _, _)) = (of(false), of(true));
                report.assert_clean();
                assert!(aligned == others, "{bits} {taps} {decimation} {joined}");
            }
        }
    }
}

/// A value's parts in units of a format.
fn parts(units: &[u16], format: u32) -> Vec<f64> {
    let half = |unit: &u16| half::f16::from_bits(*unit).to_f64();
    match format {
        tensor::F16 => units.iter().map(half).collect(),
        tensor::I16 => units.iter().map(|&unit| f64::from(unit as i16)).collect(),
        _ => units.iter().flat_map(|unit| unit.to_le_bytes()).map(|byte| f64::from(byte as i8)).collect(),
    }
}

#[test]
fn narrow_outputs_are_the_rounded_and_clamped_ones_and_are_counted() {
    for (seed, (format, limit, gain)) in
        [(tensor::F16, 65504.0, 60.0), (tensor::I16, 32767.0, 30.0), (tensor::I8, 127.0, 0.05)].into_iter().enumerate()
    {
        for (taps, decimation, first_output, beyond) in
            [(128, 8, 0, 0), (120, 8, 3, 1), (160, 5, 0, 0), (160, 5, 3, 1), (256, 16, 5, 2), (1000, 100, 1, 1)]
        {
            let case = Case { inputs: 2, first_output, beyond, ..case(taps, decimation, 10, 200) };
            let data = Data::new(case, seed as u64);
            let (exact, _) = data.run(0, 0, 1, None);
            let absent = seed == 1;
            let run = Run { seed: 2, format, scale: gain, absent, ..Run::default() };
            let (units, counts, report) = data.run_as(run);
            report.assert_clean();
            for (input, units) in units.iter().enumerate() {
                let (mut saturated, mut others) = (0, 0);
                for (place, found) in parts(units, format).chunks(2).enumerate() {
                    let value = exact[input * case.outputs + place];
                    let wanted = [value.re, value.im].map(|part| f64::from(part * gain));
                    if wanted.iter().any(|part| part.abs() > limit) {
                        let counts = !absent || !(input * (case.outputs + 2) + place).is_multiple_of(3);
                        if counts { saturated += 1 } else { others += 1 }
                    }
                    for (&found, wanted) in found.iter().zip(wanted) {
                        let wanted = wanted.clamp(-limit, limit);
                        let step = if format == tensor::F16 { wanted.abs() * 2f64.powi(-11) + 1e-7 } else { 0.5 };
                        assert!((found - wanted).abs() <= step + wanted.abs() * 1e-6, "{found} {wanted} {format}");
                    }
                }
                assert!(saturated > 0 && (saturated as usize) < case.outputs && (others > 0) == absent, "{saturated}");
                assert_eq!(counts[input], saturated);
            }
        }
    }
}

#[test]
fn sizes_that_the_views_do_not_hold_trap() {
    let data = Data::new(case(128, 8, 10, 100), 3);
    let (_, report) = data.run(0, 0, 0, Some(Segments { blocks: 0, tiles: 1 }));
    assert!(!report.faults.is_empty());
    // Of an odd number of bits, so that fifteen blocks are no whole 16 bytes.
    let data = Data::new(case(96, 17, 10, 100), 3);
    let (_, report) = data.run(0, 0, 0, Some(Segments { blocks: 15, tiles: 1 }));
    assert!(!report.faults.is_empty());
}
