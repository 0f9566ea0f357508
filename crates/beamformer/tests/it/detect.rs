//! Detection by its public interface: against the reference, as a stream, in bytes, with bad arguments.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_beamformer::{BeamformerError, ByteScale, DetectStream, detect, quantise_beams, to_u8};
use fringes_reference::detection::{self as reference, Products};
use fringes_types::{
    Beams, Complex, DetectedBeams, DetectedProducts, Detection, Dimension, Frequencies, SpectrumClock, TypesError,
    VoltageSample, f16,
};
use ndarray::{Array3, Array4, Axis, concatenate, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;
const U: f64 = 1.0 / (1 << 24) as f64;

const PRODUCTS: [(DetectedProducts, Products); 4] = [
    (DetectedProducts::Power, Products::Power),
    (DetectedProducts::StokesI, Products::StokesI),
    (DetectedProducts::Stokes, Products::Stokes),
    (DetectedProducts::Coherency, Products::Coherency),
];
const CLOCK: SpectrumClock = SpectrumClock { first_sample: 900, samples_between_spectra: 16, sample_rate_hz: 1e6 };
const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 31_250.0 };

fn noise(shape: (usize, usize, usize), seed: u64) -> Array3<C32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || Complex::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
}

fn beams<V: VoltageSample>(data: Array3<V>) -> Beams<V> {
    Beams::new(data, FREQUENCIES, CLOCK).unwrap()
}

/// Sums are within the stated bound of the reference's.
fn within<V: VoltageSample>(data: Array3<V>, times: usize, channels: usize) -> Result<(), TestCaseError> {
    let exact = data.mapv(|y| {
        let y = y.to_c32();
        C64::new(y.re.into(), y.im.into())
    });
    for (products, of) in PRODUCTS {
        let detection = Detection::new(products, times, channels).unwrap();
        let found = detect(&beams(data.clone()), &detection).unwrap();
        let expected = reference::detect(exact.view(), of, times, channels);
        let total = if products == DetectedProducts::Power { Products::Power } else { Products::StokesI };
        let size = reference::detect(exact.view(), total, times, channels);
        prop_assert_eq!(found.data().dim(), expected.dim());
        let rounded = (times.min(64) + times.div_ceil(64) + channels + 3) as f64 * U;
        for ((at, &found), expected) in found.data().indexed_iter().zip(&expected) {
            let bound = rounded * size[(at.0, at.1, at.2, 0)];
            prop_assert!((f64::from(found) - expected).abs() <= bound, "{:?} {:?}", products, at);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sums_of_every_format_are_within_their_bound(
        times in 1usize..200, sums in 0usize..3, channels in 1usize..4, groups in 1usize..3, pairs in 1usize..9, seed: u64,
    ) {
        let data = noise((channels * groups, times * sums, 2 * pairs), seed);
        within(data.clone(), times, channels)?;
        within(data.mapv(|y| Complex::new(f16::from_f32(y.re), f16::from_f32(y.im))), times, channels)?;
        within(data.mapv(|y| Complex::new((y.re * 127.0) as i8, (y.im * 127.0) as i8)), times, channels)?;
        // Another layout than the standard one.
        within(data.reversed_axes().as_standard_layout().into_owned().reversed_axes(), times, channels)?;
    }

    #[test]
    fn a_stream_gives_the_same_bits_however_it_is_cut(
        cuts in prop::collection::vec(0usize..250, 0..6), times in 1usize..150, product in 0usize..4, seed: u64,
    ) {
        let detection = Detection::new(PRODUCTS[product].0, times, 2).unwrap();
        let all = cuts.iter().sum::<usize>();
        let data = noise((4, all, 6), seed);
        let whole = all / times * times;
        let expected = detect(&beams(data.slice(s![.., ..whole, ..]).to_owned()), &detection).unwrap();
        let mut stream = DetectStream::new(detection);
        let (mut at, mut pieces) = (0, vec![Array4::zeros((2, 0, expected.beams(), expected.products().count()))]);
        for cut in cuts {
            let clock = SpectrumClock { first_sample: CLOCK.sample_of(at), ..CLOCK };
            let chunk = Beams::new(data.slice(s![.., at..at + cut, ..]).to_owned(), FREQUENCIES, clock).unwrap();
            let sums = stream.push(&chunk).unwrap();
            let before = pieces.iter().map(|piece| piece.len_of(Axis(1))).sum::<usize>();
            prop_assert_eq!(sums.clock().first_sample, expected.clock().sample_of(before));
            prop_assert_eq!(sums.frequencies(), expected.frequencies());
            pieces.push(sums.into_data());
            at += cut;
        }
        prop_assert_eq!(stream.pending(), all - whole);
        let pieces: Vec<_> = pieces.iter().map(|piece| piece.view()).collect();
        prop_assert_eq!(concatenate(Axis(1), &pieces).unwrap(), expected.data());
    }
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let data = beams(noise((8, 300, 10), 3));
    let detection = Detection::new(DetectedProducts::Stokes, 3, 2).unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| detect(&data, &detection)).unwrap()
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn parts_of_sums_are_refused_in_one_call() {
    let refused = |shape, products, times, channels| {
        detect(&beams(noise(shape, 1)), &Detection::new(products, times, channels).unwrap()).unwrap_err()
    };
    for (error, dimension, expected, actual) in [
        (refused((2, 11, 2), DetectedProducts::Power, 5, 2), Dimension::Time, 5, 11),
        (refused((3, 10, 2), DetectedProducts::Power, 5, 2), Dimension::Channel, 2, 3),
        (refused((2, 10, 3), DetectedProducts::Stokes, 5, 2), Dimension::Beam, 2, 3),
    ] {
        let array = "beams";
        assert_eq!(error, TypesError::Multiple { array, dimension, expected, actual }.into());
    }
}

#[test]
fn a_stream_refuses_what_does_not_go_on_and_stays_as_it_was() {
    let mut stream = DetectStream::new(Detection::new(DetectedProducts::Power, 8, 1).unwrap());
    stream.push(&beams(noise((2, 5, 3), 1))).unwrap();
    let before = stream.clone();
    let other = |data, frequencies, clock| Beams::new(data, frequencies, clock).unwrap();
    let next = SpectrumClock { first_sample: CLOCK.sample_of(5), ..CLOCK };
    let chunk = || noise((2, 5, 3), 2);
    let higher = Frequencies { first_hz: 1.5e9, ..FREQUENCIES };
    for (quantity, chunk) in [
        ("first sample", other(chunk(), FREQUENCIES, CLOCK)),
        ("first sample", other(chunk(), FREQUENCIES, SpectrumClock { first_sample: next.sample_of(1), ..next })),
        ("samples between spectra", other(chunk(), FREQUENCIES, SpectrumClock { samples_between_spectra: 8, ..next })),
        ("sample rate in Hz", other(chunk(), FREQUENCIES, SpectrumClock { sample_rate_hz: 2e6, ..next })),
        ("frequencies", other(chunk(), higher, next)),
        ("channels", other(noise((3, 5, 3), 2), FREQUENCIES, next)),
        ("beams", other(noise((2, 5, 4), 2), FREQUENCIES, next)),
    ] {
        let error = stream.push(&chunk).unwrap_err();
        assert!(matches!(error, BeamformerError::Continuation { quantity: q, .. } if q == quantity), "{error}");
        assert_eq!(stream.pending(), before.pending());
    }
    assert_eq!(stream.push(&other(chunk(), FREQUENCIES, next)).unwrap().times(), 1);
    stream.reset();
    assert_eq!((stream.pending(), stream.push(&beams(noise((3, 8, 4), 2))).unwrap().times()), (0, 1));
}

fn sums(values: &[f32]) -> DetectedBeams<f32> {
    let data = Array4::from_shape_vec((1, values.len(), 1, 1), values.to_vec()).unwrap();
    DetectedBeams::new(data, DetectedProducts::Power, FREQUENCIES, CLOCK).unwrap()
}

#[test]
fn bytes_are_rounded_half_to_even_and_clamped_and_counted() {
    let one = |value| Array3::from_elem((1, 1, 1), value);
    let scale = ByteScale::new(one(0.5), one(10.0)).unwrap();
    // 10 + x / 2: ties at odd x.
    let values = [0.0, 1.0, 3.0, 5.0, -20.0, -21.0, -22.0, 490.0, 491.0, 492.0, f32::NAN, f32::INFINITY];
    let bytes = to_u8(&sums(&values), &scale).unwrap();
    let found: Vec<u8> = bytes.beams.data().iter().copied().collect();
    assert_eq!(found, [10, 10, 12, 12, 0, 0, 0, 255, 255, 255, 0, 255]);
    // -22 is -1, 491 is 255.5 which is 256, 492 is 256; -21 is -0.5, which is 0.
    assert_eq!(bytes.saturated.to_vec(), [5]);
    assert_eq!((bytes.beams.clock(), bytes.beams.frequencies()), (CLOCK, FREQUENCIES));
}

#[test]
fn a_scale_of_data_gives_its_mean_and_deviation() {
    let data = beams(noise((3, 4000, 4), 8));
    let detected = detect(&data, &Detection::new(DetectedProducts::Stokes, 4, 1).unwrap()).unwrap();
    let bytes = to_u8(&detected, &ByteScale::of(&detected, 96.0, 20.0).unwrap()).unwrap();
    for channel in 0..3 {
        for (beam, product) in [(0, 0), (1, 0), (0, 1), (1, 2), (1, 3)] {
            let series: Vec<f64> =
                bytes.beams.data().slice(s![channel, .., beam, product]).iter().map(|&byte| f64::from(byte)).collect();
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            let variance = series.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / series.len() as f64;
            // Rounding: 0.29 for each of 1000, and a twelfth in the variance.
            assert!((mean - 96.0).abs() < 0.05 && (variance - 400.0).abs() < 4.0, "{mean} {variance}");
        }
    }
    assert_eq!(bytes.saturated.sum(), 0);
    let constant = ByteScale::of(&sums(&[7.0; 9]), 64.0, 20.0).unwrap();
    assert!(to_u8(&sums(&[7.0; 9]), &constant).unwrap().beams.data().iter().all(|&byte| byte == 64));
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    let ones = |shape| Array3::<f32>::ones(shape);
    let error = to_u8(&sums(&[1.0]), &ByteScale::new(ones((1, 2, 1)), ones((1, 2, 1))).unwrap()).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Dimension { dimension: Dimension::Beam, .. })));
    let error = ByteScale::new(ones((1, 2, 1)), ones((1, 2, 4))).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Dimension { dimension: Dimension::Product, .. })));
    let error = ByteScale::new(ones((1, 1, 1)) * f32::NAN, ones((1, 1, 1))).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::NotFinite { .. })));
    let error = ByteScale::of(&sums(&[]), 64.0, 20.0).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Empty { dimension: Dimension::Time, .. })));
}

#[test]
fn quantised_beams_are_rounded_clamped_and_counted() {
    let data = Array3::from_shape_vec(
        (1, 2, 2),
        vec![Complex::new(1.25f32, -1.75), Complex::new(100.0, 0.0), Complex::new(-63.5, 63.5), Complex::new(0.5, 1.5)],
    );
    let quantised = quantise_beams(&beams(data.unwrap()), &[2.0, 1.5]).unwrap();
    let found: Vec<_> = quantised.beams.data().iter().copied().collect();
    let expected = [Complex::new(2, -4), Complex::new(127, 0), Complex::new(-127, 127), Complex::new(1, 2)];
    assert_eq!((found, quantised.saturated.to_vec()), (expected.to_vec(), vec![0, 1]));
    let error = quantise_beams(&beams(noise((1, 2, 2), 1)), &[1.0]).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::Dimension { dimension: Dimension::Beam, .. })));
    let error = quantise_beams(&beams(noise((1, 2, 2), 1)), &[1.0, f32::INFINITY]).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::NotFinite { .. })));
}
