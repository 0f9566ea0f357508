//! The chain of a search for fast radio bursts against the reference, within the bounds that its documentation derives.

use fringes_cpu::frb::{FrbChain, frb_powers_into, frb_voltages_into};
use fringes_reference::frb::{FineDetection, choose, detect, line_beams, line_weights, upchannelise};
use fringes_types::{Complex4, VoltageSample};
use ndarray::{Array2, Array3, Array4, Array5, ArrayView2, ArrayView5};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

const U: f64 = 0.5 * f32::EPSILON as f64;

#[derive(Debug, Clone, Copy)]
struct Case {
    frequencies: usize,
    pols: usize,
    lines: usize,
    feeds: usize,
    outs: usize,
    northern: usize,
    padded: usize,
    length: usize,
    group: usize,
    blocks: usize,
    per_pol: bool,
    centre: bool,
    conjugate: bool,
    line_positive: bool,
    time_positive: bool,
}

const SMALL: Case = Case {
    frequencies: 2,
    pols: 2,
    lines: 3,
    feeds: 10,
    outs: 2,
    northern: 9,
    padded: 64,
    length: 16,
    group: 4,
    blocks: 3,
    per_pol: false,
    centre: true,
    conjugate: true,
    line_positive: true,
    time_positive: true,
};

const CASES: [Case; 5] = [
    SMALL,
    Case { pols: 1, per_pol: true, conjugate: false, line_positive: false, centre: false, ..SMALL },
    Case { per_pol: true, time_positive: false, group: 1, blocks: 1, length: 32, ..SMALL },
    Case { length: 1, group: 1, blocks: 32, northern: 64, outs: 24, lines: 6, feeds: 43, frequencies: 1, ..SMALL },
    Case { lines: 4, feeds: 64, outs: 4, padded: 128, group: 64, length: 64, blocks: 2, frequencies: 1, ..SMALL },
];

struct Data {
    matrix: Array3<C32>,
    gains: Array4<C32>,
    weights: Array5<C32>,
    map: Array2<u32>,
    factors: Vec<f32>,
}

impl Data {
    fn new(case: &Case, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut value = || C32::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let matrix = Array3::from_shape_simple_fn((case.frequencies, case.outs, case.lines), &mut value);
        let gains = Array4::from_shape_simple_fn((case.frequencies, case.pols, case.lines, case.feeds), &mut value);
        let shape = (case.frequencies, case.pols, case.outs, case.lines, case.feeds);
        let weights =
            Array5::from_shape_fn(shape, |(f, pol, out, line, n)| matrix[(f, out, line)] * gains[(f, pol, line, n)]);
        let map =
            Array2::from_shape_simple_fn((case.frequencies, case.northern), || rng.random_range(0..case.padded as u32));
        // Powers of two round nothing.
        let factors = (0..case.length / case.group).map(|u| 2f32.powi(-(u as i32 % 3))).collect();
        Self { matrix, gains, weights, map, factors }
    }

    fn chain(&self, case: &Case) -> FrbChain<'_> {
        FrbChain {
            weights: self.weights.view(),
            map: self.map.view(),
            padded: case.padded,
            conjugate: case.conjugate,
            line_positive: case.line_positive,
            time_positive: case.time_positive,
            length: case.length,
            group: case.group,
            blocks: case.blocks,
            per_pol: case.per_pol,
            centre: case.centre,
            factors: &self.factors,
        }
    }
}

fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

fn to_c64(value: &C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

/// Beams `[frequency][time][pol][beam]` in f64.
fn reference_beams<V: VoltageSample>(case: &Case, data: &Data, voltages: ArrayView5<'_, V>) -> Array4<C64> {
    let x = voltages.map(|x| to_c64(&x.to_c32()));
    let weights = line_weights(data.matrix.map(to_c64).view(), data.gains.map(to_c64).view());
    let beams = line_beams(x.view(), weights.view(), case.conjugate, case.padded, sign(case.line_positive));
    choose(beams.view(), data.map.map(|&q| q as usize).view())
}

fn powers<V: VoltageSample>(
    case: &Case,
    data: &Data,
    voltages: ArrayView5<'_, V>,
    mask: Option<ArrayView2<'_, bool>>,
    parallel: usize,
) -> (Array5<f32>, Array2<u32>) {
    let chain = data.chain(case);
    let times = voltages.dim().0 / chain.sum_times();
    let shape = (case.frequencies, chain.groups(), times, chain.beams(), chain.products());
    let mut out = Array5::from_elem(shape, f32::NAN);
    let mut good = Array2::from_elem((case.frequencies, times), 77);
    let (values, counts) = (out.as_slice_mut().expect("it fits"), good.as_slice_mut().expect("it fits"));
    frb_powers_into(&chain, voltages, mask, parallel, values, counts);
    (out, good)
}

fn bytes(case: &Case, times: usize, seed: u64) -> Array5<Complex<i8>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let shape = (times, case.frequencies, case.pols, case.lines, case.feeds);
    Array5::from_shape_simple_fn(shape, || Complex::new(rng.random_range(-127..=127), rng.random_range(-127..=127)))
}

fn nibbles(case: &Case, times: usize, seed: u64) -> Array5<Complex4> {
    bytes(case, times, seed).mapv(|x| Complex4::new(x.re % 8, x.im % 8).expect("it fits"))
}

/// The sum over feeds, polarisations, outs and the times of an output of `a^2`.
fn absolute<V: VoltageSample>(data: &Data, voltages: ArrayView5<'_, V>, frequency: usize, times: [usize; 2]) -> f64 {
    let (_, _, pols, lines, feeds) = voltages.dim();
    let mut sum = 0.0;
    for time in times[0]..times[1] {
        for pol in 0..pols {
            for out in 0..data.matrix.dim().1 {
                for n in 0..feeds {
                    let a: f64 = (0..lines)
                        .map(|line| {
                            let x = to_c64(&voltages[(time, frequency, pol, line, n)].to_c32());
                            to_c64(&data.weights[(frequency, pol, out, line, n)]).norm() * x.norm()
                        })
                        .sum();
                    sum += a * a;
                }
            }
        }
    }
    sum
}

/// The most that the map names an output.
fn multiplicity(data: &Data, frequency: usize) -> f64 {
    let row = data.map.row(frequency);
    row.iter().map(|q| row.iter().filter(|other| *other == q).count()).max().unwrap_or(0) as f64
}

fn check<V: VoltageSample>(case: &Case, data: &Data, voltages: ArrayView5<'_, V>, mask: Option<ArrayView2<'_, bool>>) {
    let fine = upchannelise(reference_beams(case, data, voltages).view(), case.length, sign(case.time_positive));
    let detection = FineDetection {
        group: case.group,
        blocks: case.blocks,
        per_pol: case.per_pol,
        centre: case.centre,
        factors: data.factors.iter().map(|&factor| factor.into()).collect(),
    };
    let (expected, expected_good) = detect(fine.view(), &detection, mask);
    let (found, good) = powers(case, data, voltages, mask, 2);
    assert_eq!(good, expected_good);
    assert_eq!(found.dim(), expected.dim());
    let sum_times = case.length * case.blocks;
    for ((frequency, time), &good) in good.indexed_iter() {
        let part = ndarray::s![frequency, .., time, .., ..];
        let error: f64 =
            found.slice(part).iter().zip(expected.slice(part)).map(|(a, b)| (f64::from(*a) - b).abs()).sum();
        if good == 0 {
            assert_eq!(error, 0.0);
            continue;
        }
        let size = (case.padded * case.length) as f64;
        let roundings = (case.group + case.pols * case.blocks + 3) as f64;
        let steps = 2.1 * (case.lines as f64 + 5.0 + 7.0 * size.log2()) + roundings;
        let all = absolute(data, voltages, frequency, [time * sum_times, (time + 1) * sum_times]);
        // Without a mask the scale is 1; with it the sums are scaled by as much, and rounded once more.
        let scale = case.blocks as f64 / f64::from(good);
        let bound = scale * (steps + 2.0) * U * multiplicity(data, frequency) * size * all;
        let total: f64 = expected.slice(part).iter().sum();
        assert!(error <= bound, "{case:?}: {error:e} of {total:e}, bound {bound:e}");
        // Roundings of noise are independent: their squares add, where the bound has them all of one sign.
        let independent = 2.0 * (case.lines as f64 * steps).sqrt() * U * total;
        assert!(error <= independent, "{case:?}: {error:e} of {total:e}, expected about {independent:e}");
        // The bound is small enough to tell: a wrong sign or beam is off by about the total.
        assert!(bound < 0.02 * total, "{case:?}: bound {bound:e} of {total:e}");
    }
}

#[test]
fn frb_powers_are_within_their_bound_of_the_reference() {
    for (number, case) in CASES.iter().enumerate() {
        let data = Data::new(case, number as u64);
        let times = 2 * case.length * case.blocks;
        check(case, &data, bytes(case, times, 10).view(), None);
        check(case, &data, nibbles(case, times, 11).view(), None);
    }
}

#[test]
fn frb_masks_leave_blocks_out() {
    let data = Data::new(&SMALL, 3);
    let voltages = bytes(&SMALL, 3 * 48, 4);
    let all = Array2::from_elem((2, 9), true);
    assert_eq!(
        powers(&SMALL, &data, voltages.view(), Some(all.view()), 2),
        powers(&SMALL, &data, voltages.view(), None, 2)
    );
    let mask = Array2::from_shape_fn((2, 9), |(frequency, block)| block >= 3 && (block + frequency) % 3 != 1);
    check(&SMALL, &data, voltages.view(), Some(mask.view()));
}

#[test]
fn frb_powers_are_the_same_bits_for_any_number_of_workers_and_cut() {
    let data = Data::new(&SMALL, 5);
    let voltages = bytes(&SMALL, 4 * 48, 6);
    let (one, good) = powers(&SMALL, &data, voltages.view(), None, 1);
    for parallel in [2, 3, 100] {
        assert_eq!(powers(&SMALL, &data, voltages.view(), None, parallel), (one.clone(), good.clone()));
    }
    let later = voltages.slice(ndarray::s![2 * 48.., .., .., .., ..]);
    assert_eq!(powers(&SMALL, &data, later, None, 2).0, one.slice(ndarray::s![.., .., 2.., .., ..]));
}

#[test]
fn frb_voltages_are_within_their_bound_of_the_reference() {
    for case in [SMALL, CASES[1]] {
        let (data, times) = (Data::new(&case, 7), 70);
        let voltages = bytes(&case, times, 8);
        let chosen = [17, 0, 4, 4, 9];
        let mut found = Array4::<C32>::zeros((case.frequencies, times, chosen.len(), case.pols));
        frb_voltages_into(&data.chain(&case), voltages.view(), &chosen, 2, found.as_slice_mut().expect("it fits"));
        let expected = reference_beams(&case, &data, voltages.view());
        for ((frequency, time, number, pol), value) in found.indexed_iter() {
            let all = absolute(&data, voltages.view(), frequency, [time, time + 1]);
            let padded = case.padded as f64;
            let bound = (case.lines as f64 + 5.0 + 7.0 * padded.log2()) * U * (padded * all).sqrt();
            let expected = expected[(frequency, time, pol, chosen[number])];
            assert!((to_c64(value) - expected).norm() <= bound, "{value} {expected} {bound}");
        }
    }
}
