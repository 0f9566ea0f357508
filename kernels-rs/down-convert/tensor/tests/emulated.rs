//! The kernels in the emulator against the reference.

use std::f64::consts::TAU;

use fringes_channelizer::internals::{Segments, TensorShape};
use fringes_device::Kernel;
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_down_convert_tensor as kernels;
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

    /// Runs the kernel for outputs `from ..` of the case; gives them `[input][outputs]`.
    fn run(&self, from: usize, seed: u64, segments: Option<Segments>) -> (Vec<Complex<f32>>, Report) {
        let Case { taps, decimation, bits, inputs, first_bit, first_output, outputs, beyond, .. } = self.case;
        let outputs = outputs - from;
        let shape = TensorShape::new(taps, decimation, bits).unwrap();
        let at = |n: u64| Complex64::cis(TAU * turns(self.frequency.wrapping_mul(n)));
        let weights: Vec<Complex64> = self.filter.iter().enumerate().map(|(k, h)| at(k as u64) * h).collect();
        let (table, scale) = shape.table(&weights, |output| at(u64::from(output) * decimation as u64));
        // Blocks begin at multiples of their outputs, counted from the run's first one.
        let (first, per_block) = (first_output + from as u64, u64::from(shape.outputs));
        let skip = first % per_block;
        let ahead = from as u64 * decimation as u64 * u64::from(bits);
        let block_bit = (first_bit + ahead).wrapping_sub(skip * decimation as u64 * u64::from(bits));
        let block = (first - skip).wrapping_mul(decimation as u64);
        let turn = self.frequency.wrapping_mul(per_block * decimation as u64);
        let phase = self.phase.wrapping_add(self.frequency.wrapping_mul(block));
        let blocks = (outputs as u64 + skip).div_ceil(per_block);
        let segments = segments.unwrap_or_else(|| shape.segments(blocks, inputs, 1));

        let mut memory = GlobalMemory::new();
        let samples = memory.upload(&self.words);
        let table = memory.upload(&table);
        let row = outputs + beyond;
        let out = memory.upload(&vec![[f32::NAN; 2]; row * inputs]);
        let all = (segments.tiles as usize * inputs).div_ceil(3) as u32;
        let kernel = match shape.kernel().as_str() {
            "down_convert_8_8_2" => kernels::down_convert_8_8_2,
            "down_convert_8_8_3" => kernels::down_convert_8_8_3,
            "down_convert_8_4_5" => kernels::down_convert_8_4_5,
            "down_convert_8_12_4" => kernels::down_convert_8_12_4,
            "down_convert_10_8_2" => kernels::down_convert_10_8_2,
            "down_convert_10_8_3" => kernels::down_convert_10_8_3,
            "down_convert_10_4_5" => kernels::down_convert_10_4_5,
            _ => kernels::down_convert_10_12_4,
        };
        // Those of kernels with as many threads are alike; blocks beyond the tiles do nothing.
        let declaration = match shape.outputs {
            12 => <kernels::down_convert_10_12_4 as Kernel>::DECLARATION,
            _ => <kernels::down_convert_10_8_3 as Kernel>::DECLARATION,
        };
        let launch = Launch::new(declaration, [all.div_ceil(2) + 1, 1, 1], [shape.threads(), 1, 1])
            .shared_bytes(shape.shared_bytes());
        let report = launch.seed(seed).run(&mut memory, || {
            kernel(
                samples.into(),
                table.into(),
                out.into(),
                block_bit,
                self.row_bits,
                row as u64,
                turn,
                phase,
                outputs as u32,
                skip as u32,
                inputs as u32,
                segments.tiles,
                segments.blocks,
                shape.groups,
                shape.block_bits(),
                scale,
            );
        });
        let values: Vec<[f32; 2]> = memory.values(out);
        let of_input = |row: &[[f32; 2]]| {
            assert!(row[outputs..].iter().all(|value| value[0].is_nan()), "columns beyond the outputs are as before");
            row[..outputs].iter().map(|&[re, im]| Complex::new(re, im)).collect::<Vec<_>>()
        };
        (values.chunks(row).flat_map(of_input).collect(), report)
    }
}

/// The whole length of outputs of a case.
fn case(taps: usize, decimation: usize, bits: u32, outputs: usize) -> Case {
    let samples = (outputs - 1) * decimation + taps;
    Case { taps, decimation, bits, inputs: 1, samples, first_bit: 0, gap: 0, first_output: 0, outputs, beyond: 0 }
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
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        let data = Data::new(case, seed as u64);
        let (found, report) = data.run(0, seed as u64, None);
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

#[test]
fn outputs_have_the_same_bits_however_a_stream_is_cut() {
    let data = Data::new(Case { first_bit: 18, first_output: 1234, ..case(128, 8, 10, 600) }, 7);
    let (whole, report) = data.run(0, 1, None);
    report.assert_clean();
    for from in [1, 6, 14, 333] {
        let (part, _) = data.run(from, from as u64, None);
        assert!(
            whole[from..]
                .iter()
                .zip(&part)
                .all(|(a, b)| a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()),
            "{from}"
        );
    }
    let (other, _) = data.run(0, 2, Some(Segments { blocks: 64, tiles: 1 }));
    assert!(whole == other, "segments of another length");
}

#[test]
fn sizes_that_the_views_do_not_hold_trap() {
    let data = Data::new(case(128, 8, 10, 100), 3);
    for segments in [Segments { blocks: 15, tiles: 1 }, Segments { blocks: 0, tiles: 1 }] {
        let (_, report) = data.run(0, 0, Some(segments));
        assert!(!report.faults.is_empty(), "{segments:?}");
    }
}
