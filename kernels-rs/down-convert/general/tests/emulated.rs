//! The kernels in the emulator against the reference, at the bound of the documentation.

use std::f64::consts::TAU;

use fringes_device::{Global, GlobalMut, Kernel, Value};
use fringes_emulator::{Element, GlobalMemory, Launch, Report};
use fringes_kernel_abi::down_convert::general::BLOCK_OUTPUTS;
use fringes_kernels_down_convert_general as kernels;
use fringes_reference::ddc;
use half::f16;
use num_complex::{Complex, Complex64};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug)]
struct Case {
    bits: u32,
    parts: u32,
    floats: bool,
    little_endian: bool,
    taps: usize,
    decimation: usize,
    inputs: usize,
    outputs: usize,
    first_bit: u64,
    gap: u64,
}

type KernelTo<V> = fn(
    Global<u32>,
    Global<[f32; 2]>,
    GlobalMut<V>,
    Global<u8>,
    GlobalMut<u64>,
    u64,
    u64,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u64,
    u64,
    u64,
    u64,
    f32,
);

struct Data {
    case: Case,
    filter: Vec<f64>,
    /// In 2^-64 turns, as is the phase: multiples of 2^-53 turns, which f64 has exactly.
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
        let samples = (case.outputs - 1) * case.decimation + case.taps;
        let row_bits = samples as u64 * u64::from(case.bits * case.parts) + case.gap;
        let words = (case.first_bit + row_bits * case.inputs as u64 - case.gap).div_ceil(32);
        let mut float = || random.random_range(-100.0..100.0f32);
        let words = (0..words)
            .map(|_| match (case.floats, case.bits) {
                (true, 32) => float().to_bits(),
                (true, _) => {
                    let mut half = || u32::from(f16::from_f32(float()).to_bits());
                    half() | half() << 16
                }
                _ => float().to_bits().wrapping_mul(0x9e37_79b9),
            })
            .collect();
        let filter = (0..case.taps).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut phase = || random.random::<u64>() >> 11 << 11;
        Self { case, filter, frequency: phase(), phase: phase(), words, row_bits }
    }

    fn number(&self, bit: u64) -> f64 {
        let Case { bits, floats, little_endian, .. } = self.case;
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        if floats || little_endian {
            let at = (bit / 8) as usize;
            let half = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
            return match (floats, bits) {
                (false, _) => f64::from(half as i16),
                (true, 16) => f16::from_bits(half).to_f64(),
                _ => f64::from(f32::from_bits(self.words[at / 4])),
            };
        }
        let value = (bit..bit + u64::from(bits))
            .fold(0u32, |value, bit| value << 1 | u32::from(bytes[(bit / 8) as usize] >> (7 - bit % 8) & 1));
        f64::from(((value << (32 - bits)) as i32) >> (32 - bits))
    }

    /// The reference's outputs of an input, each with the sum of magnitudes that its bound is relative to.
    fn exact(&self, input: usize) -> Vec<(Complex64, f64)> {
        let Case { bits, parts, taps, decimation, outputs, first_bit, .. } = self.case;
        let samples: Vec<Complex64> = (0..((outputs - 1) * decimation + taps) as u64)
            .map(|sample| {
                let bit = first_bit + input as u64 * self.row_bits + sample * u64::from(bits * parts);
                let im = if parts == 2 { self.number(bit + u64::from(bits)) } else { 0.0 };
                Complex64::new(self.number(bit), im)
            })
            .collect();
        let (frequency, phase) = (turns(self.frequency), turns(self.phase));
        let expected = ddc::down_convert(&samples, &self.filter, decimation, frequency, phase, 0);
        let magnitudes = |window: &[Complex64]| window.iter().zip(&self.filter).map(|(x, h)| x.norm() * h.abs()).sum();
        let windows = (0..outputs).map(|j| magnitudes(&samples[j * decimation..][..taps]));
        expected.into_iter().zip(windows).collect()
    }

    /// Runs outputs `from ..`, `[input][output]`, into rows one longer.
    fn run(&self, from: usize, weights: usize) -> (Vec<Complex<f32>>, Report) {
        let integers =
            (kernels::down_convert_integers_f32 as KernelTo<[f32; 2]>, kernels::down_convert_floats_f32 as _);
        let (values, _, report) = self.run_to(from, weights, integers, [f32::NAN; 2], 1.0, &[]);
        (values.into_iter().map(|[re, im]| Complex::new(re, im)).collect(), report)
    }

    /// The same to a format, of which `before` is what is there before, with a gain, and counts of outputs that
    /// saturate, but for those with a flag of 0.
    fn run_to<V: Value + Element + std::fmt::Debug>(
        &self,
        from: usize,
        weights: usize,
        (integers, floats): (KernelTo<V>, KernelTo<V>),
        before: V,
        gain: f32,
        present: &[u8],
    ) -> (Vec<V>, Vec<u64>, Report) {
        let Case { bits, parts, little_endian, taps, decimation, inputs, outputs, first_bit, .. } = self.case;
        let outputs = outputs - from;
        let table: Vec<[f32; 2]> = (0..weights)
            .map(|k| {
                let weight =
                    Complex64::cis(TAU * turns(self.frequency.wrapping_mul(k as u64))) * self.filter[k.min(taps - 1)];
                [weight.re as f32, weight.im as f32]
            })
            .collect();
        let mut memory = GlobalMemory::new();
        let (samples, table) = (memory.upload(&self.words), memory.upload(&table));
        let row = outputs + 1;
        let out = memory.upload(&vec![before; row * inputs]);
        let (flags, counts) = (memory.upload(present), memory.upload(&vec![0u64; inputs]));
        let turn = self.frequency.wrapping_mul(decimation as u64);
        let bit = first_bit + (from * decimation) as u64 * u64::from(bits * parts);
        let kernel = if self.case.floats { floats } else { integers };
        let declaration = <kernels::down_convert_integers_f32 as Kernel>::DECLARATION;
        // A block too many does nothing.
        let blocks = inputs as u32 * (outputs as u32).div_ceil(BLOCK_OUTPUTS) + 1;
        let report = Launch::new(declaration, [blocks, 1, 1], [256, 1, 1]).seed(from as u64).run(&mut memory, || {
            kernel(
                samples.into(),
                table.into(),
                out.into(),
                flags.into(),
                counts.into(),
                bit,
                self.row_bits,
                bits,
                parts,
                little_endian.into(),
                taps as u32,
                decimation as u32,
                inputs as u32,
                outputs as u32,
                row as u64,
                outputs as u64,
                turn,
                self.phase.wrapping_add(turn.wrapping_mul(from as u64)),
                gain,
            );
        });
        let values: Vec<V> = memory.values(out);
        let of_input = |values: &[V]| {
            let same = format!("{:?}", values[outputs]) == format!("{before:?}");
            assert!(same, "what is behind a row is as before");
            values[..outputs].to_vec()
        };
        (values.chunks(row).flat_map(of_input).collect(), memory.values(counts), report)
    }
}

/// Real packed samples.
fn packed(bits: u32, taps: usize, decimation: usize, outputs: usize) -> Case {
    Case {
        bits,
        parts: 1,
        floats: false,
        little_endian: false,
        taps,
        decimation,
        inputs: 1,
        outputs,
        first_bit: 0,
        gap: 0,
    }
}

/// Holds all outputs to the bound of the documentation.
fn hold(case: Case, seed: u64) {
    let data = Data::new(case, seed);
    let (found, report) = data.run(0, case.taps);
    report.assert_clean();
    let roundings = if case.parts == 1 {
        (4 * case.taps.div_ceil(128) + 13) as f64
    } else {
        std::f64::consts::SQRT_2 * (4 * case.taps.div_ceil(64)) as f64 + 15.0
    };
    for (input, found) in found.chunks(case.outputs).enumerate() {
        let exact = data.exact(input);
        assert_eq!(exact.len(), found.len());
        for (output, (found, (expected, magnitudes))) in found.iter().zip(exact).enumerate() {
            let error = (Complex64::new(found.re.into(), found.im.into()) - expected).norm();
            let bound = roundings * 2f64.powi(-24) * magnitudes;
            assert!(error <= bound, "{case:?}, {input} {output}: {found}, expected {expected}, bound {bound}");
        }
    }
}

#[test]
fn packed_integers_of_all_shapes_are_within_the_bound() {
    for bits in [2, 4, 8, 10, 12, 16] {
        for (i, decimation) in [1, 5, 8, 17, 64].into_iter().enumerate() {
            for (j, taps) in [1, 7, 128, 160, 300].into_iter().enumerate() {
                // A whole block and part of a second one; rows that begin at other bits of a word.
                let seed = 25 * u64::from(bits) + (5 * i + j) as u64;
                let case = packed(bits, taps, decimation, 37);
                hold(Case { inputs: 1 + (i + j) % 2, first_bit: 7 * seed % 67, gap: seed % 13, ..case }, seed);
            }
        }
    }
}

#[test]
fn other_formats_are_within_the_bound() {
    let floats = |bits, taps, decimation, outputs| Case { floats: true, ..packed(bits, taps, decimation, outputs) };
    let cases = [
        packed(10, 128, 8, 70),
        Case { inputs: 3, first_bit: 7, gap: 3, ..packed(3, 160, 5, 33) },
        packed(5, 1, 1, 40),
        packed(10, 4096, 3, 6),
        packed(8, 20, 1 << 16, 3),
        Case { inputs: 2, little_endian: true, gap: 16, ..packed(16, 100, 3, 20) },
        Case { parts: 2, first_bit: 48, little_endian: true, ..packed(16, 129, 5, 34) },
        Case { parts: 2, ..packed(8, 64, 4, 35) },
        Case { parts: 2, inputs: 2, first_bit: 26, gap: 5, ..packed(13, 65, 6, 10) },
        Case { parts: 2, ..packed(8, 1, 1, 5) },
        Case { inputs: 2, gap: 16, first_bit: 16, ..floats(16, 90, 7, 20) },
        Case { parts: 2, ..floats(16, 33, 2, 30) },
        floats(32, 256, 16, 6),
        Case { first_bit: 96, ..floats(32, 131, 1, 33) },
        Case { parts: 2, inputs: 2, gap: 32, ..floats(32, 70, 9, 10) },
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        hold(case, seed as u64);
    }
}

#[test]
fn what_is_behind_the_taps_may_be_no_number() {
    for parts in [1, 2] {
        let case = Case { floats: true, parts, ..packed(32, 6, 1, 1) };
        let mut data = Data::new(case, 4);
        let (expected, _) = data.run(0, 6);
        data.words.extend([f32::NAN, f32::INFINITY].map(f32::to_bits).repeat(100));
        let (found, report) = data.run(0, 6);
        report.assert_clean();
        assert!(found == expected, "{parts} parts");
    }
}

#[test]
fn outputs_have_the_same_bits_however_a_stream_is_cut() {
    let integers = Case { first_bit: 6, inputs: 2, gap: 9, ..packed(10, 160, 5, 50) };
    for case in [integers, Case { floats: true, parts: 2, ..packed(16, 70, 3, 50) }] {
        let data = Data::new(case, 9);
        let (whole, report) = data.run(0, case.taps);
        report.assert_clean();
        for from in [1, 3, 32, 49] {
            let (part, report) = data.run(from, case.taps);
            report.assert_clean();
            for (whole, part) in whole.chunks(50).zip(part.chunks(50 - from)) {
                assert!(whole[from..] == *part, "{from}");
            }
        }
    }
}

/// Whether a launch trapped, with no other fault and nothing written.
fn traps(data: &Data, weights: usize) -> bool {
    let (found, report) = data.run(0, weights);
    let trapped = report.faults.iter().all(|fault| fault.message == "the kernel trapped");
    trapped && !report.faults.is_empty() && found.iter().all(|value| value.re.is_nan())
}

#[test]
fn sizes_that_the_views_do_not_hold_trap() {
    let case = Case { inputs: 2, gap: 3, ..packed(10, 16, 4, 8) };
    assert!(traps(&Data::new(case, 1), 15), "too few weights");
    // 31 bits of the last word are not the last sample's.
    let case = Case { first_bit: 1, ..packed(16, 16, 4, 9) };
    let mut data = Data::new(case, 1);
    data.run(0, 16).1.assert_clean();
    data.words.pop();
    assert!(traps(&data, 16), "too few samples");
    for changed in [
        Case { inputs: 2, ..case },
        Case { first_bit: 33, ..case },
        Case { decimation: 6, ..case },
        Case { parts: 2, ..case },
        Case { outputs: 11, ..case },
    ] {
        assert!(traps(&Data { case: changed, ..Data::new(case, 1) }, 16), "{changed:?}");
    }
    let data = Data { row_bits: u64::MAX, ..Data::new(Case { inputs: 3, ..case }, 1) };
    assert!(traps(&data, 16), "rows that nothing counts");
}

#[test]
fn formats_that_there_are_none_of_trap() {
    let case = packed(8, 16, 4, 8);
    for changed in [
        Case { bits: 1, ..case },
        Case { bits: 17, ..case },
        Case { bits: 0, ..case },
        Case { bits: u32::MAX, parts: 1, ..case },
        Case { parts: 0, ..case },
        Case { parts: 3, ..case },
        Case { floats: true, bits: 8, ..case },
        Case { floats: true, bits: 16, first_bit: 8, ..case },
        Case { floats: true, bits: 32, first_bit: 16, ..case },
        Case { little_endian: true, ..case },
        Case { little_endian: true, bits: 16, first_bit: 8, ..case },
    ] {
        let data = Data { case: changed, words: vec![0; 1000], ..Data::new(case, 1) };
        assert!(traps(&data, 16), "{changed:?}");
    }
}

#[test]
fn rows_of_outputs_that_are_too_short_trap() {
    let data = Data::new(Case { inputs: 2, ..packed(8, 16, 4, 8) }, 1);
    let mut memory = GlobalMemory::new();
    let (samples, weights) = (memory.upload(&data.words), memory.upload(&[[1.0f32, 0.0]; 16]));
    let out = memory.allocate::<[f32; 2]>(17);
    let (flags, counts) = (memory.upload(&[0u8; 0]), memory.upload(&[0u64; 0]));
    let declaration = <kernels::down_convert_integers_f32 as Kernel>::DECLARATION;
    for (row, fits) in [(9, true), (10, false), (u64::MAX, false)] {
        let report = Launch::new(declaration, [2, 1, 1], [256, 1, 1]).run(&mut memory, || {
            let views = (samples.into(), weights.into(), out.into());
            kernels::down_convert_integers_f32(
                views.0,
                views.1,
                views.2,
                flags.into(),
                counts.into(),
                0,
                data.row_bits,
                8,
                1,
                0,
                16,
                4,
                2,
                8,
                row,
                0,
                0,
                0,
                1.0,
            );
        });
        assert_eq!(report.faults.is_empty(), fits, "{row}");
    }
}

/// Parts of values as f64, saturated inputs, and what of both is expected of f32 outputs.
fn hold_to<V: Value + Element + Default + std::fmt::Debug>(
    case: Case,
    kernels: (KernelTo<V>, KernelTo<V>),
    gain: f32,
    part: impl Fn(V) -> [f64; 2],
    expected: impl Fn(f32) -> f64,
    limit: f32,
) {
    let mut data = Data::new(case, 77);
    if case.floats {
        // Numbers that are none, and those that are too large.
        for word in data.words.iter_mut().step_by(29) {
            *word = f32::NAN.to_bits();
        }
        for word in data.words.iter_mut().skip(7).step_by(31) {
            *word = f32::INFINITY.to_bits();
        }
    }
    let flags: Vec<u8> = (0..case.inputs * case.outputs).map(|i| u8::from(i % 5 != 0)).collect();
    let floats = (kernels::down_convert_integers_f32 as KernelTo<[f32; 2]>, kernels::down_convert_floats_f32 as _);
    let (exact, none, _) = data.run_to(0, case.taps, floats, [f32::NAN; 2], gain, &[]);
    assert!(none.iter().all(|&count| count == 0), "f32 saturates nowhere");
    for present in [&[][..], &flags] {
        let (found, counts, report) = data.run_to(0, case.taps, kernels, V::default(), gain, present);
        report.assert_clean();
        let mut saturated = vec![0; case.inputs];
        for (place, (found, exact)) in found.iter().zip(&exact).enumerate() {
            let parts = part(*found);
            for (found, exact) in parts.iter().zip(exact) {
                assert!(found.to_bits() == expected(*exact).to_bits() || *found == expected(*exact), "{found} {exact}");
            }
            let counts = present.is_empty() || present[place] != 0;
            let beyond = exact.iter().any(|part| part.is_nan() || part.abs() > limit);
            saturated[place / case.outputs] += u64::from(counts && beyond);
        }
        assert_eq!(counts, saturated);
        assert!(saturated.iter().all(|&count| count > 0 && count < case.outputs as u64), "{saturated:?}");
    }
}

#[test]
fn integers_and_halves_are_the_floats_rounded_and_clamped() {
    let integers = Case { inputs: 2, first_bit: 3, gap: 7, ..packed(10, 40, 3, 70) };
    let floats = Case { inputs: 2, floats: true, ..packed(32, 3, 5, 70) };
    let whole = |limit: f32| {
        move |part: f32| {
            let clamped = if part.is_nan() { 0.0 } else { part.clamp(-limit, limit) };
            f64::from(clamped.round_ties_even())
        }
    };
    let half = |part: f32| f16::from_f32(part.clamp(-65504.0, 65504.0)).to_f64();
    for (case, scale) in [(integers, 1.0), (floats, 20.0)] {
        let bytes = |value: u16| [value as i8, (value >> 8) as i8].map(f64::from);
        let to = (kernels::down_convert_integers_i8 as KernelTo<u16>, kernels::down_convert_floats_i8 as _);
        hold_to(case, to, 0.07 * scale, bytes, whole(127.0), 127.0);
        let shorts = |value: u32| [value as i16, (value >> 16) as i16].map(f64::from);
        let to = (kernels::down_convert_integers_i16 as KernelTo<u32>, kernels::down_convert_floats_i16 as _);
        hold_to(case, to, -18.0 * scale, shorts, whole(32767.0), 32767.0);
        let halves = |value: u32| [value as u16, (value >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64());
        let to = (kernels::down_convert_integers_f16 as KernelTo<u32>, kernels::down_convert_floats_f16 as _);
        // (Of NaN the bits of its fraction are of no meaning.)
        let halves = |value: u32| halves(value).map(|part| if part.is_nan() { f64::NAN } else { part });
        hold_to(case, to, 36.0 * scale, halves, |part| if part.is_nan() { f64::NAN } else { half(part) }, 65504.0);
    }
}

#[test]
fn a_gain_is_a_factor_of_the_bound_and_ties_go_to_even() {
    // One tap of 1: outputs are samples times the gain.
    let mut data = Data::new(packed(16, 1, 1, 600), 3);
    (data.frequency, data.phase, data.filter) = (0, 0, vec![1.0]);
    let values: Vec<i16> = (-300..300).collect();
    data.words = values
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[a, b]| {
            let [a, b] = [a.to_be_bytes(), b.to_be_bytes()];
            u32::from_le_bytes([a[0], a[1], b[0], b[1]])
        })
        .collect();
    let to = (kernels::down_convert_integers_i8 as KernelTo<u16>, kernels::down_convert_floats_i8 as KernelTo<u16>);
    let (found, counts, report) = data.run_to(0, 1, to, 0, 0.5, &[]);
    report.assert_clean();
    for (value, found) in values.iter().zip(found) {
        let exact = (f64::from(*value) / 2.0).clamp(-127.0, 127.0);
        assert_eq!(f64::from(found as i8), exact.round_ties_even(), "{value}");
    }
    // Beyond 254 either way: 46 below and 45 above.
    assert_eq!(counts, [46 + 45]);
}
