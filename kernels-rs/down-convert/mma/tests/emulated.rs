//! The kernels in the emulator against the reference.

use std::f64::consts::TAU;

use fringes_channelizer::internals::{MmaShape, Segments};
use fringes_device::tensor_core::TWIN;
use fringes_device::{Global, GlobalMut, Kernel};
use fringes_emulator::{GlobalMemory, Launch, Report};
use fringes_kernels_down_convert_mma::{self as kernels, mma};
use num_complex::{Complex, Complex64};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What is asked of all plans, of full scale; at most 2e-5 is asked, which [`MmaShape::bound`] is below.
const RMS: f64 = 2e-6;

/// Bytes of shared memory of a block: compute capability 8.0, and 8.6 and its like.
const LARGE: u32 = 163 << 10;
const SMALL: u32 = 99 << 10;

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
    /// Bytes of shared memory that a block may have.
    shared: u32,
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

/// A kernel, as all are.
type Run = fn(
    Global<u32>,
    Global<[u32; 4]>,
    GlobalMut<[f32; 2]>,
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
    f32,
);

/// The kernel of a shape, and its declaration.
fn kernel(shape: &MmaShape) -> (&'static str, Run) {
    macro_rules! find {
        ($($name:ident)*) => {
            match shape.kernel().as_str() {
                $( stringify!($name) => (<kernels::$name as Kernel>::DECLARATION, kernels::$name as Run), )*
                name => panic!("no kernel is called {name}"),
            }
        };
    }
    find! {
        down_convert_mma_4_8_2 down_convert_mma_4_8_3 down_convert_mma_4_4_5 down_convert_mma_4_12_4
        down_convert_mma_8_8_2 down_convert_mma_8_8_3 down_convert_mma_8_4_5 down_convert_mma_8_12_4
        down_convert_mma_10_8_2 down_convert_mma_10_8_3 down_convert_mma_10_4_5 down_convert_mma_10_12_4
        down_convert_mma_12_8_2 down_convert_mma_12_8_3 down_convert_mma_12_4_5 down_convert_mma_12_12_4
        down_convert_mma_16_8_2 down_convert_mma_16_8_3 down_convert_mma_16_4_5
    }
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

    /// Full-scale samples whose products with the taps and the mixer all have the sign that makes the real part of
    /// output 0 largest: sums grow all the way, and so does what is cut off them.
    fn coherent(mut self) -> Self {
        let Case { bits, taps, .. } = self.case;
        self.filter = (0..taps).map(|k| 1.0 - 0.5 * (k as f64 / taps as f64)).collect();
        let mut bytes = vec![0u8; 4 * self.words.len()];
        for index in 0..self.case.samples {
            let mixer = (TAU * turns(self.frequency.wrapping_mul(index as u64))).cos();
            let value = if mixer < 0.0 { 1u32 << (bits - 1) } else { (1 << (bits - 1)) - 1 };
            for bit in 0..bits {
                let at = self.case.first_bit + index as u64 * u64::from(bits) + u64::from(bit);
                bytes[at as usize / 8] |= ((value >> (bits - 1 - bit) & 1) as u8) << (7 - at % 8);
            }
        }
        self.words = bytemuck::pod_collect_to_vec(&bytes);
        self
    }

    fn shape(&self) -> MmaShape {
        MmaShape::new(self.case.taps, self.case.decimation, self.case.bits, self.case.shared).unwrap()
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
        let Case { decimation, bits, inputs, first_bit, first_output, outputs, beyond, .. } = self.case;
        let outputs = outputs - from;
        let shape = self.shape();
        let at = |n: u64| Complex64::cis(TAU * turns(self.frequency.wrapping_mul(n)));
        let weights: Vec<Complex64> = self.filter.iter().enumerate().map(|(k, h)| at(k as u64) * h).collect();
        let step = |output| at(u64::from(output) * decimation as u64);
        let (table, scale) = shape.table(&weights, step).unwrap();
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
        let all = segments.tiles as usize * inputs;
        let (declaration, kernel) = kernel(&shape);
        // Two blocks more than warps have tiles for, if warps have two each.
        let grid = [all.div_ceil(16) as u32 + 2, 1, 1];
        let launch = Launch::new(declaration, grid, [mma::THREADS, 1, 1]).shared_bytes(shape.shared_bytes());
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
    let (first_bit, gap, first_output, beyond, shared) = (0, 0, 0, 0, LARGE);
    Case { taps, decimation, bits, inputs: 1, samples, first_bit, gap, first_output, outputs, beyond, shared }
}

/// Outputs of a case within the bound of its shape, and their error of full scale at most and rms.
fn check(data: &Data, seed: u64) -> (f64, f64) {
    let case = &data.case;
    let (found, report) = data.run(0, seed, None);
    report.assert_clean();
    // The emulator's tensor cores add 16 products and the sum at once, with so many more bits.
    let loss = 17.0 * 2f64.powi(-(TWIN.extra_bits as i32)) + 1.0;
    assert_eq!(TWIN.half_terms, 16);
    let (full, bound) = (data.full_scale(), data.shape().bound_with(loss));
    let (mut most, mut squares) = (0.0f64, 0.0);
    for (place, found) in found.iter().enumerate() {
        let expected = data.exact(place / case.outputs, place % case.outputs);
        let error = (Complex64::new(found.re.into(), found.im.into()) - expected).norm() / full;
        assert!(error <= bound, "{case:?}: output {place} is {found}, expected {expected}");
        most = most.max(error);
        squares += error * error;
    }
    let rms = (squares / found.len() as f64).sqrt();
    println!("{} of {case:?}: most {most:.1e}, allowed {bound:.1e}, rms {rms:.1e}", data.shape().kernel());
    (most, rms)
}

#[test]
fn outputs_of_all_bits_and_decimations_are_within_the_bound_of_the_reference() {
    // Taps of every shape: 8 outputs of 2 sets, of 3 sets, 4 outputs of 5 sets and 12 of 4.
    let plans = [(30, 4), (160, 5), (128, 8), (256, 16), (96, 17), (512, 32), (300, 64)];
    let mut seed = 0;
    for bits in mma::BITS {
        for (taps, decimation) in plans {
            if bits == 16 && decimation == 5 {
                continue;
            }
            // Of all residues: bits, outputs of a block, ends of rows and of the buffer.
            let random = seed * 0x9e37_79b9;
            let case = Case {
                inputs: 1 + seed as usize % 3,
                first_bit: random % 128,
                gap: random / 128 % 50,
                first_output: random % 1_000_000_007 * 1_000_003,
                beyond: seed as usize % 4,
                shared: if seed % 2 == 0 || decimation == 64 { LARGE } else { SMALL },
                ..case(taps, decimation, bits, 150 + random as usize % 100)
            };
            let (_, rms) = check(&Data::new(case, seed), seed);
            assert!(rms <= RMS, "{case:?}: {rms}");
            seed += 1;
        }
    }
}

#[test]
fn outputs_of_many_tiles_and_of_one_tap_are_within_the_bound() {
    let many = Case { first_bit: 6, first_output: 1_000_003, ..case(128, 8, 10, 9000) };
    for case in [many, case(1, 1, 8, 50), case(1, 100, 10, 30), case(1024, 64, 12, 70), case(2000, 125, 10, 40)] {
        let (_, rms) = check(&Data::new(case, 5), 5);
        assert!(rms <= RMS, "{case:?}: {rms}");
    }
}

#[test]
fn sums_that_grow_all_the_way_are_within_the_bound() {
    for (taps, decimation, bits) in [(128, 8, 10), (2048, 128, 10), (160, 5, 12), (1024, 64, 16), (512, 32, 8)] {
        for frequency in [0, 0x0123_4567_89ab_cdef] {
            let mut data = Data::new(case(taps, decimation, bits, 40), 11);
            data.frequency = frequency;
            data.phase = 0;
            check(&data.coherent(), 11);
        }
    }
}

#[test]
fn outputs_have_the_same_bits_however_a_stream_is_cut() {
    for (bits, taps, decimation) in [(10, 128, 8), (16, 256, 16)] {
        let data = Data::new(Case { first_bit: 18, first_output: 1234, ..case(taps, decimation, bits, 600) }, 7);
        let (whole, report) = data.run(0, 1, None);
        report.assert_clean();
        for from in [1, 6, 14, 333] {
            let (part, _) = data.run(from, from as u64, None);
            let same = |(a, b): (&Complex<f32>, &Complex<f32>)| {
                a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()
            };
            assert!(whole[from..].iter().zip(&part).all(same), "{bits} {from}");
        }
        let (other, _) = data.run(0, 2, Some(Segments { blocks: 64, tiles: 1 }));
        assert!(whole == other, "segments of another length");
        let small = Data { case: Case { shared: SMALL, ..data.case }, ..data };
        assert!(whole == small.run(0, 3, None).0, "fewer places for samples");
    }
}

#[test]
fn threads_in_any_order_give_the_same_bits_without_a_race() {
    let data = Data::new(Case { inputs: 2, first_bit: 50, ..case(160, 5, 12, 400) }, 9);
    let (expected, report) = data.run(0, 0, None);
    report.assert_clean();
    for seed in 1..5 {
        let (found, report) = data.run(0, seed, None);
        report.assert_clean();
        assert!(found == expected, "{seed}");
    }
}

#[test]
fn sizes_that_the_views_do_not_hold_trap() {
    let data = Data::new(case(128, 8, 10, 100), 3);
    for segments in [Segments { blocks: 15, tiles: 1 }, Segments { blocks: 0, tiles: 1 }] {
        let (_, report) = data.run(0, 0, Some(segments));
        assert!(!report.faults.is_empty(), "{segments:?}");
        assert!(report.faults.iter().all(|fault| fault.message.contains("trap")), "{:?}", report.faults);
    }
}

#[test]
fn shared_memory_is_used_as_the_crate_says() {
    // Of 1024 samples, in steps in which a block brings 1024 samples of 16 segments: 128 taps, a decimation of 8.
    let mut found = Vec::new();
    for bits in mma::BITS {
        let wavefronts = |blocks: u32| {
            let data = Data::new(case(128, 8, bits, 32 * 8 * blocks as usize), 1);
            let (_, report) = data.run(0, 0, Some(Segments { blocks, tiles: 1 }));
            report.assert_clean();
            report.shared_wavefronts as f64
        };
        // 16 blocks more of 32 segments: 32 times 1024 samples.
        found.push((wavefronts(32) - wavefronts(16)) / 32.0);
    }
    assert_eq!(found, [66.0, 98.0, 84.0, 90.0, 162.0], "of {:?} bits", mma::BITS);
}
