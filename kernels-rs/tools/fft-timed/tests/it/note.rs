//! The FFT note's transform in the emulator: against its definition in f64, and what it executes against the note's
//! counts.

use fringes_device::layout::Layout;
use fringes_emulator::memory::Space;
use fringes_emulator::{AccessKind, GlobalMemory, Launch, Report};
use fringes_kernels_fft_microkernel::note::places::{INPUT, OUTPUT};
use fringes_kernels_tools_fft_timed::{NOTE, NoteVariant};
use fringes_reference::dft::dft;
use half::f16;
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Half the distance from 1 to the next f16.
const U: f64 = 1.0 / 2048.0;

/// Largest error of an output relative to the sum of the inputs' magnitudes, to first order: each of the three
/// contractions has phases and a result that are rounded (2 U), each of the two products with phases has phases, a
/// product and a sum that are (3 U); and a hundredth for the second order.
const BOUND: f64 = 12.0 * U * 1.01;

/// The variant that the others are compared with, word for word.
fn first() -> &'static NoteVariant {
    NOTE.iter().find(|variant| variant.name == "note_by_transposes_packed").expect("the note's way")
}

/// Places of the elements of a layout, `numbers` of `stem` and both parts: word of `[lane][register]`, and which half.
fn places(layout: &Layout, stem: &str, numbers: usize) -> Vec<[usize; 2]> {
    let registers = 1 << layout.physical().bits_of_stem("r").len();
    let mut places = vec![[usize::MAX; 2]; numbers];
    for place in 0..layout.physical().size() {
        let at = |stem| layout.physical().number(stem, place) as usize;
        let of = |stem| layout.logical().number(stem, layout.apply(place)) as usize;
        places[of(stem)][of("ReIm")] = 2 * (registers * at("t") + at("r")) + at("b");
    }
    places
}

/// Numbers of all transforms as the kernels' buffers have them.
fn words(arrays: &[Vec<C64>]) -> Vec<u32> {
    let places = places(&INPUT, "n", 256);
    let words = arrays.iter().flat_map(|array| {
        let mut halves = [0u32; 512];
        for (place, value) in places.iter().zip(array) {
            halves[place[0]] = f16::from_f64(value.re).to_bits().into();
            halves[place[1]] = f16::from_f64(value.im).to_bits().into();
        }
        (0..256).map(move |word| halves[2 * word] | halves[2 * word + 1] << 16)
    });
    words.collect()
}

/// The transforms that a kernel's buffer holds.
fn transforms(words: &[u32]) -> Vec<Vec<C64>> {
    let places = places(&OUTPUT, "q", 512);
    let value = |words: &[u32], at: usize| f64::from(f16::from_bits((words[at / 2] >> (16 * (at % 2))) as u16));
    let of = |words: &[u32]| places.iter().map(|&[re, im]| C64::new(value(words, re), value(words, im))).collect();
    words.chunks(512).map(of).collect()
}

/// Runs a variant on arrays of 256 numbers, whose parts are f16, in an order of lanes: words of the result, and the
/// report.
fn run(variant: &NoteVariant, arrays: &[Vec<C64>], seed: Option<u64>) -> (Vec<u32>, Report) {
    let mut memory = GlobalMemory::new();
    let table = variant.phases.note(1.0).expect("a table of the note's");
    let (x, phases) = (memory.upload(&words(arrays)), memory.upload(&table));
    let y = memory.allocate::<u32>(512 * arrays.len());
    let launch = Launch::new(variant.declaration, [arrays.len() as u32, 1, 1], [32, 1, 1]);
    let launch = launch.shared_bytes(variant.shared_bytes);
    let launch = if let Some(seed) = seed { launch.seed(seed) } else { launch };
    let report = launch.run(&mut memory, || (variant.kernel)(x.into(), phases.into(), y.into()));
    report.assert_clean();
    (memory.values(y), report)
}

/// `Y[q] = sum over n of exp(2 pi i q n / 512) X[n]`, (1): the transform of 512 points of the input and as many zeros.
fn definition(x: &[C64]) -> Vec<C64> {
    let padded: Vec<C64> = x.iter().copied().chain([C64::default(); 256]).collect();
    dft(&padded, 1.0)
}

/// Largest error of an output relative to the sum of the magnitudes of its inputs, and rms of all errors relative to
/// that of all outputs.
fn errors(arrays: &[Vec<C64>], found: &[Vec<C64>]) -> (f64, f64) {
    assert_eq!(arrays.len(), found.len());
    let (mut worst, mut squares, mut power) = (0.0f64, 0.0, 0.0);
    for (x, y) in arrays.iter().zip(found) {
        let sum: f64 = x.iter().map(|value| value.norm()).sum();
        for (found, expected) in y.iter().zip(definition(x)) {
            let error = (found - expected).norm();
            assert!(error.is_finite());
            worst = worst.max(error / sum);
            (squares, power) = (squares + error * error, power + expected.norm_sqr());
        }
    }
    (worst, (squares / power).sqrt())
}

/// Numbers of 4 + 4 bits, -7 to 7.
fn random(arrays: usize, seed: u64) -> Vec<Vec<C64>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut part = || f64::from(random.random_range(-7i8..=7));
    (0..arrays).map(|_| (0..256).map(|_| C64::new(part(), part())).collect()).collect()
}

#[test]
fn every_impulse_gives_its_row_of_phases() {
    // Real ones, imaginary ones, and both.
    for (re, im) in [(1.0, 0.0), (0.0, 1.0), (-3.0, 5.0)] {
        let impulse = |n| (0..256).map(|at| if at == n { C64::new(re, im) } else { C64::default() }).collect();
        let arrays: Vec<Vec<C64>> = (0..256).map(impulse).collect();
        let (y, _) = run(first(), &arrays, None);
        let (worst, _) = errors(&arrays, &transforms(&y));
        assert!(worst <= BOUND, "{re} + {im} i: {worst:.2e}, bound {BOUND:.2e}");
    }
}

#[test]
fn a_tone_is_in_its_output_alone() {
    for tone in [0usize, 1, 2, 77, 255, 256, 510] {
        // f16 parts, as the kernel gets them.
        let part = |x: f64| f64::from(f16::from_f64(x));
        let value = |n: usize| C64::from_polar(1.0, -std::f64::consts::TAU * (tone * n % 512) as f64 / 512.0);
        let x: Vec<C64> = (0..256).map(value).map(|value| C64::new(part(value.re), part(value.im))).collect();
        let (y, _) = run(first(), std::slice::from_ref(&x), None);
        let y = transforms(&y);
        let (worst, rms) = errors(&[x], &y);
        assert!(worst <= BOUND && rms <= 7e-4, "{tone}: {worst:.2e}, rms {rms:.2e}");
        // 256 there, and nothing at other even distances but rounding: of the input U, of the transform BOUND.
        for (q, value) in y[0].iter().enumerate().filter(|(q, _)| q.abs_diff(tone) % 2 == 0) {
            let expected = if q == tone { 256.0 } else { 0.0 };
            assert!((value - expected).norm() <= 256.0 * (BOUND + U), "{tone}: output {q} is {value}");
        }
    }
}

#[test]
fn samples_of_4_bits_have_an_rms_error_below_7e_4() {
    let arrays = random(64, 1);
    let (y, _) = run(first(), &arrays, None);
    let (worst, rms) = errors(&arrays, &transforms(&y));
    println!("rms error {rms:.2e} of the result's rms; largest {worst:.2e} of the sum of magnitudes");
    assert!(rms <= 7e-4 && worst <= BOUND, "rms {rms:.2e}, largest {worst:.2e}");
    // Three contractions and two products round to 11 bits: with less error something is not the transform in f16.
    assert!(rms >= U / 4.0, "rms {rms:.2e}");
}

#[test]
fn the_transform_is_linear_in_the_scale_of_the_phases() {
    let (variant, arrays) = (first(), random(2, 3));
    let scaled = |scale: f64| {
        let mut memory = GlobalMemory::new();
        let (x, phases) = (memory.upload(&words(&arrays)), memory.upload(&variant.phases.note(scale).unwrap()));
        let y = memory.allocate::<u32>(512 * arrays.len());
        let launch = Launch::new(variant.declaration, [2, 1, 1], [32, 1, 1]);
        launch.run(&mut memory, || (variant.kernel)(x.into(), phases.into(), y.into())).assert_clean();
        transforms(&memory.values(y))
    };
    // A power of two: no number becomes subnormal, so only exponents differ.
    for (one, quarter) in scaled(1.0).concat().iter().zip(scaled(0.25).concat()) {
        assert_eq!(one * 0.25, quarter);
    }
}

#[test]
fn all_variants_give_the_same_words_in_any_order_of_lanes() {
    assert_eq!(NOTE.len(), 12);
    let arrays = random(3, 2);
    let (expected, _) = run(first(), &arrays, None);
    for variant in NOTE {
        for seed in [None, Some(1), Some(2)] {
            assert_eq!(run(variant, &arrays, seed).0, expected, "{}, {seed:?}", variant.name);
        }
    }
}

#[test]
fn arrays_that_the_views_do_not_hold_are_left_alone() {
    for variant in NOTE {
        let mut memory = GlobalMemory::new();
        let arrays = random(3, 4);
        let mut x = words(&arrays);
        x.pop();
        let (x, phases) = (memory.upload(&x), memory.upload(&variant.phases.note(1.0).unwrap()));
        let y = memory.upload(&vec![7u32; 2 * 512 - 1]);
        let launch = Launch::new(variant.declaration, [4, 1, 1], [32, 1, 1]).shared_bytes(variant.shared_bytes);
        launch.run(&mut memory, || (variant.kernel)(x.into(), phases.into(), y.into())).assert_clean();
        let y = memory.values(y);
        assert!(y[..512].iter().any(|&word| word != 7), "{}", variant.name);
        assert!(y[512..].iter().all(|&word| word == 7), "{}", variant.name);
    }
}

/// What a transform executes, a warp.
#[derive(Debug, PartialEq, Eq, Default)]
struct Counts {
    k8: u64,
    k16: u64,
    half2: u64,
    negations: u64,
    shuffles: u64,
    permutes: u64,
    stored_words: u64,
    loaded_words: u64,
    barriers: u64,
}

fn counts(report: &Report) -> Counts {
    let count = |name: &str| report.count(name).warps;
    let words = |kind| {
        let shared = report.accesses.iter().filter(|each| each.space == Space::Shared && each.kind == kind);
        shared.map(|each| each.transactions).sum()
    };
    assert_eq!(report.shared_wavefronts, report.shared_wavefronts_ideal, "bank conflicts");
    Counts {
        k8: count("mma_m16n8k8_f16_f16"),
        k16: count("mma_m16n8k16_f16_f16"),
        half2: count("fma_rn_f16x2") + count("mul_rn_f16x2"),
        negations: count("neg_f16x2"),
        shuffles: count("shfl_sync_bfly_b32"),
        permutes: count("prmt_b32"),
        stored_words: words(AccessKind::Store),
        loaded_words: words(AccessKind::Load),
        barriers: count("bar_warp_sync"),
    }
}

#[test]
fn counts_are_those_of_the_note_and_what_it_leaves_out() {
    for variant in NOTE {
        let (_, report) = run(variant, &random(1, 5), None);
        let (way, packed) = match variant.name.strip_prefix("note_by_").and_then(|name| name.rsplit_once('_')) {
            Some((way, phases)) => (way, u64::from(phases == "packed")),
            None => panic!("{}", variant.name),
        };
        // Phases that are stored packed take 4 permutes, 4 XORs, the negative imaginary part and a copy of the real
        // one. Of the phases of a product negatives are operands: one instruction of PTX each, none of machine code.
        let same = Counts { k8: 8, k16: 16, half2: 64 + packed, negations: 4 + 2 + packed, ..Counts::default() };
        let expected = match way {
            // The note: 16 shuffles, 32 permutes.
            "transposes" | "shuffles" => Counts { shuffles: 16, permutes: 32 + 4 * packed, ..same },
            "words" | "matrix_loads" => {
                Counts { permutes: 32 + 4 * packed, stored_words: 16, loaded_words: 16, barriers: 2, ..same }
            }
            "matrices" => Counts { permutes: 16 + 4 * packed, stored_words: 16, loaded_words: 16, barriers: 2, ..same },
            "halves" => {
                Counts { shuffles: 8, permutes: 24 + 4 * packed, stored_words: 8, loaded_words: 8, barriers: 2, ..same }
            }
            other => panic!("no counts of {other}"),
        };
        assert_eq!(counts(&report), expected, "{}\n{report}", variant.name);
    }
}
