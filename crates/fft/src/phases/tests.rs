//! Tables against exponentials computed one by one, and whole chains of tables against the transform's definition.

use std::collections::HashMap;
use std::f64::consts::{SQRT_2, TAU};

use fringes_layout_core::{Layout, layout};
use fringes_reference::dft::dft;
use fringes_types::f16;
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Chain, phase_table, root_of_unity, stage_table};
use crate::{SCALE_EXPONENTS, Sign, Size, generated::CHAINS};

const SIGNS: [Sign; 2] = [Sign::Positive, Sign::Negative];

/// Both numbers of a word.
fn numbers(word: u32) -> [f64; 2] {
    [word as u16, (word >> 16) as u16].map(|bits| f16::from_bits(bits).to_f64())
}

/// The number of a table at a place.
fn at(table: &[u32], register: usize, lane: usize, b: usize) -> f64 {
    numbers(table[32 * register + lane])[b]
}

fn size(chain: &Chain) -> Size {
    Size::new(chain.inputs as usize, chain.outputs as usize).unwrap()
}

/// Half a unit of the last place of f16 numbers up to 1, at which sines and cosines are rounded.
const ROUNDING: f64 = 1.0 / 4096.0;

fn assert_rounded(actual: f64, exact: f64) {
    assert!((actual - exact).abs() <= ROUNDING, "{actual} for {exact}");
}

#[test]
fn roots_of_unity_are_exponentials_with_exact_zeros_and_symmetries() {
    for n in [8, 64, 512, 1024] {
        for k in 0..n {
            let (re, im) = root_of_unity(k, n);
            let exact = C64::cis(TAU * k as f64 / n as f64);
            // The argument of the exponential is rounded at up to 2 pi, and so is its result.
            assert!((re - exact.re).abs() < 1e-15 && (im - exact.im).abs() < 1e-15, "{k} of {n}");
            assert_eq!(re == 0.0, k % (n / 2) == n / 4, "{k} of {n}");
            assert_eq!(im == 0.0, k % (n / 2) == 0, "{k} of {n}");
            let (re_after, im_after) = root_of_unity((k + n / 4) % n, n);
            assert_eq!((re_after, im_after), (-im, re), "a quarter turn after {k} of {n}");
        }
    }
}

#[test]
fn numbers_are_the_nearest_f16_ones() {
    for k in 0..1024 {
        for exact in [root_of_unity(k, 1024).0, root_of_unity(k, 1024).1] {
            let nearest = f16::from_f64(exact);
            let distance = |bits: u16| (f16::from_bits(bits).to_f64() - exact).abs();
            let bits = nearest.to_bits();
            if exact != 0.0 {
                assert!(distance(bits) <= distance(bits + 1) && distance(bits) <= distance(bits - 1), "{exact}");
            }
        }
    }
}

#[test]
fn a_matrix_has_cosines_and_sines_where_its_layout_says() {
    const MATRIX: Layout = layout!("b<->ReIm_in  t0 t1 t2 t3 t4<->n5 n6 q0 q1 q2  r<->q3 n7 ReIm_out n4");
    let table = stage_table(&MATRIX, 512, Sign::Positive, 1.0);
    assert_eq!(table.len(), 16 * 32);
    let turns = |q: u32, n: u32| TAU * f64::from(q * n) / 512.0;
    // Lane 0b00101: n5 and q0. Register 0b0000: real row; b = 0 is the real column.
    assert_rounded(at(&table, 0b0000, 0b00101, 0), turns(1, 32).cos());
    assert_rounded(at(&table, 0b0000, 0b00101, 1), -turns(1, 32).sin());
    // Register 0b0100: ReIm_out, the imaginary row.
    assert_rounded(at(&table, 0b0100, 0b00101, 0), turns(1, 32).sin());
    assert_rounded(at(&table, 0b0100, 0b00101, 1), turns(1, 32).cos());
    // Lane 0b11010: n6, q1, q2. Register 0b1011: q3, n7, n4. q = 2 + 4 + 8, n = 64 + 128 + 16.
    assert_rounded(at(&table, 0b1011, 0b11010, 0), turns(14, 208).cos());
    assert_rounded(at(&table, 0b1011, 0b11010, 1), -turns(14, 208).sin());
    // exp(2 pi i 8 32 / 512) = -1 exactly: register 1 is q3, lane 1 is n5.
    assert_eq!(table[33], 0x0000_bc00);
    // Everything else too, each phase as a product over pairs of bits.
    let lanes = [("n", 5), ("n", 6), ("q", 0), ("q", 1), ("q", 2)];
    let registers = [("q", 3), ("n", 7), ("ReIm_out", 0), ("n", 4)];
    for place in 0..1024usize {
        let (b, lane, register) = (place & 1, place >> 1 & 31, place >> 6);
        let set: Vec<(&str, u32)> = (0..5)
            .filter(|bit| lane >> bit & 1 == 1)
            .map(|bit| lanes[bit])
            .chain((0..4).filter(|bit| register >> bit & 1 == 1).map(|bit| registers[bit]))
            .collect();
        let of = |stem: &'static str| set.iter().filter(move |(name, _)| *name == stem);
        let phase: C64 =
            of("q").flat_map(|q| of("n").map(move |n| C64::cis(TAU * f64::from(1 << (q.1 + n.1)) / 512.0))).product();
        let row = usize::from(of("ReIm_out").count() == 1);
        let expected = [[phase.re, -phase.im], [phase.im, phase.re]][row][b];
        assert!((at(&table, register, lane, b) - expected).abs() <= ROUNDING + 1e-12, "{place}");
    }
}

#[test]
fn phases_are_real_and_imaginary_parts_and_the_sign_conjugates_them() {
    const PHASES: Layout = layout!("b<->n0  t0 t1 t2 t3 t4<->n1 n2 q0 q1 q2  r<->q3 q4 n3 ReIm");
    let [positive, negative] = SIGNS.map(|sign| stage_table(&PHASES, 512, sign, 1.0));
    // Lane 0b10010: n2, q2; registers 0b0110 and 0b1110: q4, n3, then ReIm; b = 1: n0. q = 4 + 16, n = 4 + 8 + 1.
    let turns = TAU * f64::from(20 * 13) / 512.0;
    assert_rounded(at(&positive, 0b0110, 0b10010, 1), turns.cos());
    assert_rounded(at(&positive, 0b1110, 0b10010, 1), turns.sin());
    assert_rounded(at(&negative, 0b1110, 0b10010, 1), -turns.sin());
    assert_rounded(at(&positive, 0b1110, 0b10010, 0), (TAU * f64::from(20 * 12) / 512.0).sin());
    for register in 0..16 {
        for (lane, b) in (0..64).map(|place| (place >> 1, place & 1)) {
            let conjugated = if register & 0b1000 == 0 { 1.0 } else { -1.0 };
            assert_eq!(at(&negative, register, lane, b), conjugated * at(&positive, register, lane, b));
        }
    }
}

#[test]
fn padding_and_unequal_carried_bits_are_zero() {
    const CARRIED: Layout = layout!("b<->ReIm_in  t0 t1 t2 t3 t4<->n2 n_in0 n_out0 q5 pad2  r<->ReIm_out");
    let table = stage_table(&CARRIED, 64, Sign::Positive, 1.0);
    for place in 0..128 {
        let (b, lane, register) = (place & 1, place >> 1 & 31, place >> 6);
        let [n2, entering, leaving, q5, pad] = [0, 1, 2, 3, 4].map(|bit| lane >> bit & 1);
        let is_zero = pad == 1 || entering != leaving;
        let turns = TAU * f64::from(32 * q5 as u32 * 4 * n2 as u32) / 64.0; // a carried bit is no part of the phase
        let expected = [[turns.cos(), -turns.sin()], [turns.sin(), turns.cos()]][register][b];
        let expected = if is_zero { 0.0 } else { expected };
        assert!((at(&table, register, lane, b) - expected).abs() < 1e-12, "{place}");
    }
    assert_eq!(table.iter().filter(|&&word| word == 0).count(), 2 * (32 - 8));
}

#[test]
fn matrices_are_unitary_up_to_their_size() {
    // Sixteen outputs of eight inputs: columns are orthogonal, and have norm 16.
    const MATRIX: Layout = layout!("b<->ReIm_in  t0 t1 t2 t3 t4<->n5 n6 q0 q1 q2  r<->q3 n7 ReIm_out");
    for sign in SIGNS {
        let table = stage_table(&MATRIX, 256, sign, 1.0);
        let entry = |row: usize, column: usize| {
            // column: ReIm_in n5 n6 n7; row: ReIm_out q0 q1 q2 q3.
            let lane = (column >> 1 & 0b11) | (row >> 1 & 0b111) << 2;
            let register = (row >> 4 & 1) | (column >> 3 & 1) << 1 | (row & 1) << 2;
            at(&table, register, lane, column & 1)
        };
        for (one, other) in (0..256).map(|pair| (pair >> 4, pair & 15)) {
            let product: f64 = (0..32).map(|row| entry(row, one) * entry(row, other)).sum();
            let expected = if one == other { 16.0 } else { 0.0 };
            // 32 products of numbers up to 1, each off by ROUNDING.
            assert!((product - expected).abs() <= 32.0 * 2.0 * ROUNDING * 1.001, "{one} {other}: {product}");
        }
    }
}

#[test]
fn a_scale_multiplies_the_first_stage_and_keeps_it_normal() {
    for chain in CHAINS {
        let size = size(chain);
        let plain = phase_table(size, Sign::Positive, 0);
        let first = 32usize << chain.stages[0].layout.physical().bits_of_stem("r").len();
        for exponent in SCALE_EXPONENTS {
            let scaled = phase_table(size, Sign::Positive, exponent);
            assert_eq!(scaled[first..], plain[first..]);
            for (scaled, plain) in scaled[..first].iter().zip(&plain).flat_map(|(s, p)| {
                let (scaled, plain) = (numbers(*s), numbers(*p));
                [(scaled[0], plain[0]), (scaled[1], plain[1])]
            }) {
                assert_eq!(scaled, plain * 2f64.powi(exponent), "{size}, 2^{exponent}");
                assert!(scaled == 0.0 || f16::from_f64(scaled).is_normal(), "{size}, 2^{exponent}: {scaled}");
            }
        }
    }
}

#[test]
fn no_zero_has_a_sign() {
    for chain in CHAINS {
        for word in SIGNS.into_iter().flat_map(|sign| phase_table(size(chain), sign, 0)) {
            assert!(word as u16 != 0x8000 && word >> 16 != 0x8000);
        }
    }
}

#[test]
fn layouts_name_only_bits_that_have_a_meaning() {
    for chain in CHAINS {
        for stage in chain.stages {
            assert_eq!(stage.layout.bits_of_stem("t").len(), 5);
            assert_eq!(stage.layout.bits_of_stem("b").len(), 1);
            for name in stage.layout.logical().iter() {
                let stem = name.stem();
                let known = ["q", "n", "ReIm", "ReIm_in", "ReIm_out", "pad"].contains(&stem);
                assert!(known || stem.ends_with("_in") || stem.ends_with("_out"), "{name} of {}", stage.layout);
            }
        }
    }
}

/// An array by the names of its index bits, lowest first.
struct Array {
    bits: Vec<String>,
    values: Vec<C64>,
}

/// A stage's elements by logical index, as the table has them.
struct Elements<'a> {
    layout: &'a Layout,
    by_index: HashMap<u64, f64>,
}

impl Elements<'_> {
    fn has(&self, name: &str) -> bool {
        self.layout.logical().iter().any(|bit| bit.as_str() == name)
    }

    fn get(&self, value: impl Fn(&str) -> bool) -> f64 {
        let logical = self.layout.logical();
        let index = (0..logical.len()).map(|bit| u64::from(value(logical.get(bit).as_str())) << bit).sum::<u64>();
        self.by_index[&index]
    }
}

/// What the tables of a chain make of `x`, in f64.
///
/// A matrix sums those of its bits `n` that no later stage has. Where the highest bit that it should create, `q_j` with
/// `j + k = outputs' bits - 1` and `k` the lowest summed one, is not in its layout, that bit's phase `(-1)^(q_j n_k)`
/// is what the kernels do by additions.
fn simulate(chain: &Chain, sign: Sign, x: &[C64]) -> Vec<C64> {
    let table = phase_table(size(chain), sign, 0);
    let mut table = table.as_slice();
    let input_bits = x.len().ilog2();
    let output_bits = chain.outputs.ilog2();
    let mut array = Array { bits: (0..input_bits).map(|k| format!("n{k}")).collect(), values: x.to_vec() };
    for (number, stage) in chain.stages.iter().enumerate() {
        let layout = &stage.layout;
        let (words, rest) = table.split_at(32 << layout.bits_of_stem("r").len());
        table = rest;
        let by_index = (0..2 * words.len())
            .map(|place| {
                let (b, lane, register) = (place & 1, place >> 1 & 31, place >> 6);
                let numbers = [("b", b as u64), ("t", lane as u64), ("r", register as u64)];
                (layout.apply(layout.physical().index(&numbers)), at(words, register, lane, b))
            })
            .collect();
        let elements = Elements { layout, by_index };
        let later = |bit: &str| {
            chain.stages[number + 1..]
                .iter()
                .any(|later| later.layout.logical().iter().any(|name| name.as_str() == bit))
        };
        array = if elements.has("ReIm_out") {
            let summed: Vec<String> = (0..input_bits)
                .map(|k| format!("n{k}"))
                .filter(|bit| array.bits.contains(bit) && elements.has(bit) && !later(bit))
                .collect();
            contract(&elements, &array, &summed, output_bits)
        } else {
            let values = (0..array.values.len()).map(|index| {
                let part = |imaginary: bool| {
                    elements.get(|bit| if bit == "ReIm" { imaginary } else { set(&array.bits, index, bit) })
                };
                array.values[index] * C64::new(part(false), part(true))
            });
            Array { values: values.collect(), bits: array.bits }
        };
    }
    assert!(table.is_empty());
    let mut y = vec![C64::default(); chain.outputs as usize];
    for (index, value) in array.values.iter().enumerate() {
        let q = (0..output_bits)
            .filter(|bit| set(&array.bits, index, &format!("q{bit}")))
            .map(|bit| 1usize << bit)
            .sum::<usize>();
        y[q] = *value;
    }
    y
}

/// Whether a bit of an index is set; false for a bit that is not there.
fn set(bits: &[String], index: usize, bit: &str) -> bool {
    bits.iter().position(|name| name == bit).is_some_and(|at| index >> at & 1 == 1)
}

/// `x` of `x_in` and `x_out`, `n2` of `n_in2`.
fn unmarked(bit: &str) -> String {
    bit.replace("_in", "").replace("_out", "")
}

fn contract(elements: &Elements<'_>, array: &Array, summed: &[String], output_bits: u32) -> Array {
    let is_new = |bit: &String| elements.has(bit) && !array.bits.contains(bit);
    let mut bits: Vec<String> = array.bits.iter().filter(|bit| !summed.contains(bit)).cloned().collect();
    bits.extend((0..output_bits).map(|bit| format!("q{bit}")).filter(is_new));
    // Nothing is summed where a matrix only moves bits.
    let lowest = summed.iter().map(|bit| bit[1..].parse::<u32>().unwrap()).min();
    let split =
        lowest.map(|k| (format!("n{k}"), format!("q{}", output_bits - 1 - k))).filter(|(_, q)| !elements.has(q));
    if let Some((_, created)) = &split {
        assert!(!array.bits.contains(created));
        bits.push(created.clone());
    }
    let mut values = vec![C64::default(); 1 << bits.len()];
    for (result, value) in values.iter_mut().enumerate() {
        for (source, operand) in array.values.iter().enumerate() {
            let kept = array.bits.iter().filter(|bit| !summed.contains(bit));
            if kept.clone().any(|bit| set(&array.bits, source, bit) != set(&bits, result, bit)) {
                continue;
            }
            let entry = |row: bool, column: bool| {
                elements.get(|bit| match bit {
                    "ReIm_out" => row,
                    "ReIm_in" => column,
                    bit => {
                        let bit = &unmarked(bit);
                        if summed.contains(bit) { set(&array.bits, source, bit) } else { set(&bits, result, bit) }
                    }
                })
            };
            let phase = C64::new(entry(false, false), entry(true, false));
            assert_eq!((entry(false, true), entry(true, true)), (-phase.im, phase.re));
            let odd = split.as_ref().is_some_and(|(n, q)| set(&bits, result, q) && set(&array.bits, source, n));
            *value += if odd { -phase * operand } else { phase * operand };
        }
    }
    Array { bits, values }
}

#[test]
fn the_stages_of_every_size_are_the_transform() {
    for chain in CHAINS {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(chain.outputs));
        let mut part = || rng.random_range(-1.0..1.0);
        let x: Vec<C64> = (0..chain.inputs).map(|_| C64::new(part(), part())).collect();
        let mut padded = x.clone();
        padded.resize(chain.outputs as usize, C64::default());
        for sign in SIGNS {
            let expected = dft(&padded, sign.value());
            let actual = simulate(chain, sign, &x);
            // A phase is off by at most sqrt(2) ROUNDING, and each term has one of each stage: an output is off by at
            // most that times the sum of |x|, and for noise the rms of all by that times their rms, with 10 % for
            // higher orders and for this noise not being exactly white.
            let bound = 1.1 * chain.stages.len() as f64 * SQRT_2 * ROUNDING;
            let worst = bound * x.iter().map(|x| x.norm()).sum::<f64>();
            let (mut errors, mut powers) = (0.0, 0.0);
            for (actual, expected) in actual.iter().zip(&expected) {
                assert!((actual - expected).norm() <= worst, "{}: {actual} for {expected}", size(chain));
                errors += (actual - expected).norm_sqr();
                powers += expected.norm_sqr();
            }
            assert!((errors / powers).sqrt() <= bound, "{}: {}", size(chain), (errors / powers).sqrt());
        }
    }
}
