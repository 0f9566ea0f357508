//! Beamforming by its public interface: against the reference, with missing data, limits and bad arguments.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use fringes_backend::{Backend, DeviceError};
use fringes_beamformer::{BeamSet, BeamformerError, BeamformerStream, FftBeams, IncoherentBeams, beamform};
use fringes_reference::beamformer as reference;
use fringes_types::{
    BeamWeights, Complex, Complex4, Dimension, Frequencies, Heaps, Inputs, SampleFormat, SpectrumClock, TypesError,
    VoltageSample, Voltages, f16,
};
use ndarray::{Array2, Array3, Array5};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;
const U: f64 = 1.0 / (1 << 24) as f64;

fn wide(value: C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}

fn noise(shape: (usize, usize, usize), seed: u64) -> Array3<C32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    Array3::from_shape_simple_fn(shape, || Complex::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
}

fn to_i8(x: C32) -> Complex<i8> {
    Complex::new((x.re * 127.0) as i8, (x.im * 127.0) as i8)
}

/// Voltages as the reference takes them: f64, zero where they are missing.
fn reference_voltages<V: VoltageSample>(voltages: &Voltages<V>) -> Array3<C64> {
    let mut result = voltages.data().mapv(|x| wide(x.to_c32()));
    if let Some(presence) = voltages.presence() {
        for ((_, time, input), value) in result.indexed_iter_mut() {
            *value *= f64::from(u8::from(presence[(time, input)]));
        }
    }
    result
}

fn all_sets_are_within_their_bounds<V: VoltageSample>(voltages: &Voltages<V>, seed: u64) -> Result<(), TestCaseError> {
    let (channels, times, count) = voltages.data().dim();
    let x = reference_voltages(voltages);
    let sizes = x.mapv(|x| C64::from(x.norm()));
    let backend = Backend::cpu();

    let weights = noise((5, channels, count), seed);
    let beams = beamform(&backend, voltages, &BeamWeights::new(weights.clone()).unwrap()).unwrap();
    let expected = reference::tied_array(x.view(), weights.mapv(wide).view());
    let size = reference::tied_array(sizes.view(), weights.mapv(|w| C64::from(wide(w).norm())).view());
    prop_assert_eq!(beams.data().dim(), (channels, times, 5));
    for ((beam, expected), size) in beams.data().iter().zip(&expected).zip(&size) {
        prop_assert!((wide(*beam) - expected).norm() <= 1.5 * (2.0 * count as f64 + 2.0) * U * size.re);
    }

    let gains = Array2::from_shape_fn((3, count), |(beam, input)| 0.5 + beam as f32 - 0.1 * input as f32);
    let beams = beamform(&backend, voltages, &IncoherentBeams::new(gains.clone()).unwrap()).unwrap();
    let expected = reference::incoherent(x.view(), gains.mapv(f64::from).view());
    let size = reference::incoherent(x.view(), gains.mapv(|g| f64::from(g.abs())).view());
    prop_assert_eq!(beams.data().dim(), (channels, times, 3));
    for ((&beam, expected), size) in beams.data().iter().zip(&expected).zip(&size) {
        prop_assert!((f64::from(beam) - expected).abs() <= (count as f64 + 3.0) * U * size);
    }

    let inputs = voltages.inputs();
    let (lines, pols) = (if inputs.antennas().is_multiple_of(2) { 2 } else { 1 }, inputs.pols());
    let (feeds, padded) = (inputs.antennas() / lines, inputs.antennas() / lines + 7);
    let gains = noise((1, channels, count), seed ^ 1).remove_axis(ndarray::Axis(0));
    let set = FftBeams::new(lines, feeds, padded).unwrap().with_gains(gains.clone()).unwrap();
    let beams = beamform(&backend, voltages, &set).unwrap();
    let layout = reference::FeedLines { lines, feeds, pols, padded };
    let expected = reference::fft_beams(x.view(), gains.mapv(wide).view(), layout);
    prop_assert_eq!(beams.data().dim(), (channels, times, set.beams(inputs)));
    // Summed over lines and polarisations, the squares of the bounds add.
    let squared = |values: &mut dyn Iterator<Item = C64>| values.map(|value| value.norm_sqr()).sum::<f64>();
    let error = squared(&mut beams.data().iter().zip(&expected).map(|(beam, expected)| wide(*beam) - expected));
    let input = squared(&mut x.indexed_iter().map(|((c, _, i), x)| wide(gains[(c, i)]) * x));
    let factor = 21.0 * ((padded as f64).log2() + 3.0) + 4.0;
    prop_assert!(error.sqrt() <= factor * U * (padded as f64 * input).sqrt());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_format_and_set_is_within_its_bound(
        channels in 1usize..4, times in 0usize..150, antennas in 1usize..12, pols in 1usize..3, missing: bool, seed: u64,
    ) {
        let inputs = Inputs::new(antennas, pols).unwrap();
        let x = noise((channels, times, inputs.len()), seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let flags = Array2::from_shape_simple_fn((times, inputs.len()), || rng.random_range(0..10) != 0);
        fn check<V: VoltageSample>(x: Array3<V>, inputs: Inputs, flags: Option<&Array2<bool>>, seed: u64) -> Result<(), TestCaseError> {
            let mut voltages = Voltages::new(x, inputs).unwrap();
            if let Some(flags) = flags {
                voltages = voltages.with_presence(flags.clone()).unwrap();
            }
            all_sets_are_within_their_bounds(&voltages, seed)
        }
        let flags = missing.then_some(&flags);
        check(x.clone(), inputs, flags, seed)?;
        check(x.mapv(to_i8), inputs, flags, seed)?;
        check(x.mapv(|x| Complex4::new((x.re * 7.9) as i8, (x.im * 7.9) as i8).unwrap()), inputs, flags, seed)?;
        check(x.mapv(|x| Complex::new(f16::from_f32(x.re), f16::from_f32(x.im))), inputs, flags, seed)?;
    }
}

#[test]
fn fft_beams_equal_tied_array_beams_with_steering_weights() {
    let inputs = Inputs::new(12, 2).unwrap();
    let voltages = Voltages::new(noise((2, 4, 24), 3), inputs).unwrap();
    let fan = FftBeams::new(3, 4, 8).unwrap();
    let mut weights = Array3::zeros((3 * 2 * 8, 2, 24));
    for (line, pol, q, n) in (0..3 * 2 * 8 * 4).map(|i| (i / 64, i / 32 % 2, i / 4 % 8, i % 4)) {
        let phase = Complex::cis(std::f64::consts::TAU * (q * n % 8) as f64 / 8.0);
        for channel in 0..2 {
            let beam = fan.beam(inputs, line, pol, q).unwrap();
            weights[(beam, channel, inputs.input(line * 4 + n, pol).unwrap())] =
                Complex::new(phase.re as f32, phase.im as f32);
        }
    }
    let expected = beamform(&Backend::cpu(), &voltages, &BeamWeights::new(weights).unwrap()).unwrap();
    let beams = beamform(&Backend::cpu(), &voltages, &fan).unwrap();
    // Four voltages of up to sqrt 2 each: the bounds of both, and the rounding of the weights.
    let bound = U * 2f64.sqrt() * (1.5 * (2.0 * 24.0 + 2.0) * 4.0 + 4.0 + (21.0 * 6.0 + 4.0) * (8.0f64 * 4.0).sqrt());
    for (a, b) in beams.data().iter().zip(expected.data()) {
        assert!((wide(*a) - wide(*b)).norm() <= bound, "{a} {b}");
    }
    assert_eq!(fan.beam(inputs, 3, 0, 0), None);
    assert_eq!(fan.beam(inputs, 0, 2, 0), None);
    assert_eq!(fan.beam(inputs, 0, 0, 8), None);
}

#[test]
fn the_axes_of_the_voltages_become_those_of_the_beams() {
    let clock = SpectrumClock { first_sample: 77, samples_between_spectra: 16, sample_rate_hz: 1e6 };
    let frequencies = Frequencies { first_hz: 1e9, step_hz: 1e3 };
    let inputs = Inputs::new(2, 2).unwrap();
    let voltages = Voltages::new(noise((2, 3, 4), 1), inputs).unwrap().with_frequencies(frequencies).unwrap();
    let voltages = voltages.with_clock(clock).unwrap();
    let beams = beamform(&Backend::cpu(), &voltages, &IncoherentBeams::sum(inputs)).unwrap();
    assert_eq!((beams.clock(), beams.frequencies()), (clock, frequencies));
}

#[test]
fn a_limit_on_memory_changes_no_bit_until_one_unit_does_not_fit() {
    fn check<B: BeamSet>(voltages: &Voltages<Complex<i8>>, set: &B)
    where
        B::Output: PartialEq,
    {
        let expected = beamform(&Backend::cpu(), voltages, set).unwrap();
        let (channels, times, _) = voltages.data().dim();
        let need = set.memory::<Complex<i8>>(&Backend::cpu(), channels, times, voltages.inputs()).unwrap();
        assert_eq!(need.input_bytes, (voltages.data().len() * 2) as u64);
        assert_eq!(need.output_bytes, (expected.data().len() * size_of::<B::Output>()) as u64);
        for limit in [need.smallest_step_bytes, need.workspace_bytes] {
            let limited = beamform(&Backend::cpu().with_memory_limit(limit), voltages, set).unwrap();
            assert!(limited == expected);
        }
        if need.smallest_step_bytes > 0 {
            let limit = need.smallest_step_bytes - 1;
            let error = beamform(&Backend::cpu().with_memory_limit(limit), voltages, set).unwrap_err();
            let needed = need.smallest_step_bytes;
            let expected = DeviceError::MemoryLimit { operation: "beamform", needed, limit };
            assert_eq!(error, BeamformerError::Device(expected));
        }
    }
    let inputs = Inputs::new(6, 1).unwrap();
    let voltages = Voltages::new(noise((3, 500, 6), 4).mapv(to_i8), inputs).unwrap();
    check(&voltages, &BeamWeights::new(noise((4, 3, 6), 5)).unwrap());
    check(&voltages, &IncoherentBeams::sum(inputs));
    check(&voltages, &FftBeams::new(2, 3, 5).unwrap());
}

#[test]
fn sets_that_do_not_fit_the_voltages_are_typed_errors() {
    let inputs = Inputs::new(6, 2).unwrap();
    let voltages = Voltages::new(noise((3, 5, 12), 4), inputs).unwrap();
    let dimension = |array, dimension, expected, actual| {
        BeamformerError::Types(TypesError::Dimension { array, dimension, expected, actual })
    };
    let tied = |channels, count| {
        beamform(&Backend::cpu(), &voltages, &BeamWeights::new(noise((2, channels, count), 1)).unwrap()).unwrap_err()
    };
    assert_eq!(tied(4, 12), dimension("beam weights", Dimension::Channel, 3, 4));
    assert_eq!(tied(3, 6), dimension("beam weights", Dimension::Input, 12, 6));
    let gains = IncoherentBeams::new(Array2::ones((1, 6))).unwrap();
    let error = beamform(&Backend::cpu(), &voltages, &gains).unwrap_err();
    assert_eq!(error, dimension("incoherent gains", Dimension::Input, 12, 6));
    let error = beamform(&Backend::cpu(), &voltages, &FftBeams::new(2, 6, 8).unwrap()).unwrap_err();
    assert_eq!(error, BeamformerError::Feeds { lines: 2, feeds: 6, actual: 6 });
    assert_eq!(error.to_string(), "2 lines of 6 feeds are 12 antennas, found 6");
    let fft = |channels, count| {
        let gains = Array2::from_elem((channels, count), Complex::new(1.0, 0.0));
        let set = FftBeams::new(2, 3, 8).unwrap().with_gains(gains).unwrap();
        beamform(&Backend::cpu(), &voltages, &set).unwrap_err()
    };
    assert_eq!(fft(1, 12), dimension("feed gains", Dimension::Channel, 3, 1));
    assert_eq!(fft(3, 6), dimension("feed gains", Dimension::Input, 12, 6));
}

#[test]
fn bad_sets_are_typed_errors() {
    assert_eq!(FftBeams::new(0, 3, 8).unwrap_err(), BeamformerError::Zero { quantity: "number of lines" });
    assert_eq!(FftBeams::new(1, 0, 8).unwrap_err(), BeamformerError::Zero { quantity: "feeds of a line" });
    for padded in [7, (1 << 24) + 1, usize::MAX] {
        let expected = BeamformerError::Padding { feeds: 8, padded, limit: 1 << 24 };
        assert_eq!(FftBeams::new(1, 8, padded).unwrap_err(), expected);
    }
    assert!(matches!(FftBeams::new(usize::MAX / 4, 1, 8), Err(BeamformerError::Types(TypesError::TooLarge { .. }))));
    let nan = Array2::from_elem((1, 2), Complex::new(f32::NAN, 0.0));
    let error = FftBeams::new(1, 2, 2).unwrap().with_gains(nan).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::NotFinite { quantity: "feed gain", .. })));
    let error = IncoherentBeams::new(Array2::from_elem((1, 2), f32::INFINITY)).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::NotFinite { quantity: "incoherent gain", .. })));
    for shape in [(0, 2), (2, 0)] {
        let error = IncoherentBeams::new(Array2::ones(shape)).unwrap_err();
        assert!(matches!(error, BeamformerError::Types(TypesError::Empty { .. })));
    }
}

#[test]
fn no_times_give_no_beams() {
    let inputs = Inputs::new(4, 1).unwrap();
    let voltages = Voltages::new(Array3::<Complex<i8>>::default((2, 0, 4)), inputs).unwrap();
    let beams = beamform(&Backend::cpu(), &voltages, &FftBeams::new(1, 4, 4).unwrap()).unwrap();
    assert_eq!(beams.data().dim(), (2, 0, 4));
    let beams = beamform(&Backend::cpu(), &voltages, &IncoherentBeams::sum(inputs)).unwrap();
    assert_eq!(beams.data().dim(), (2, 0, 1));
}

#[test]
fn formats_without_kernels_say_so() {
    let inputs = Inputs::new(4, 2).unwrap();
    let weights = BeamWeights::new(noise((2, 3, 8), 1)).unwrap();
    let sum = IncoherentBeams::sum(inputs);
    let error = sum.check_kernel(SampleFormat::Float32, inputs);
    assert!(matches!(error, Err(DeviceError::NoKernel { .. })), "{error:?}");
    let need = |backend: &Backend| sum.memory::<Complex<f32>>(backend, 3, 10, inputs);
    assert_eq!(need(&Backend::auto()), need(&Backend::cpu()));
    assert!(need(&Backend::cpu()).is_ok());
    // Tied-array beams have kernels but for f32 and for more inputs than sums of 32 bits hold.
    for format in [SampleFormat::Int4, SampleFormat::Int8, SampleFormat::Float16] {
        assert_eq!((weights.check_kernel(format, inputs), sum.check_kernel(format, inputs)), (Ok(()), Ok(())));
    }
    let error = weights.check_kernel(SampleFormat::Float32, inputs);
    assert!(matches!(error, Err(DeviceError::NoKernel { .. })), "{error:?}");
    let error = weights.check_kernel(SampleFormat::Int8, Inputs::new(16_385, 1).unwrap());
    assert!(matches!(error, Err(DeviceError::TooLarge { actual: 16_385, .. })), "{error:?}");
}

#[test]
fn memory_of_a_set_that_does_not_fit_is_an_error() {
    let inputs = Inputs::new(6, 2).unwrap();
    let error = FftBeams::new(2, 6, 8).unwrap().memory::<Complex<i8>>(&Backend::cpu(), 3, 5, inputs).unwrap_err();
    assert_eq!(error, BeamformerError::Feeds { lines: 2, feeds: 6, actual: 6 });
}

/// Heaps of three batches of four antennas, with flags and axes.
fn heaps() -> Heaps<Complex<i8>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let data = Array5::from_shape_simple_fn((3, 4, 2, 5, 2), || {
        Complex::new(rng.random_range(-127..=127), rng.random_range(-127..=127))
    });
    let flags = Array2::from_shape_fn((3, 4), |(batch, antenna)| (batch + antenna) % 3 != 0);
    let clock = SpectrumClock { first_sample: 640, samples_between_spectra: 16, sample_rate_hz: 1e9 };
    Heaps::new(data).unwrap().with_presence(flags).unwrap().with_clock(clock).unwrap()
}

#[test]
fn beams_of_heaps_are_those_of_their_voltages() {
    fn check<B: BeamSet>(set: &B) {
        let heaps = heaps();
        let expected = beamform(&Backend::cpu(), &heaps.to_voltages(), set).unwrap();
        assert_eq!(expected.data().dim(), (2, 15, set.beams(heaps.inputs())));
        assert_eq!(beamform(&Backend::cpu(), &heaps, set).unwrap(), expected);
        assert_eq!(expected.clock(), heaps.clock());
    }
    check(&BeamWeights::new(noise((3, 2, 8), 5)).unwrap());
    check(&IncoherentBeams::sum(heaps().inputs()));
    check(&FftBeams::new(2, 2, 5).unwrap());
    check(&FftBeams::new(2, 2, 5).unwrap().with_output::<f32>());
}

#[test]
fn heaps_that_do_not_fit_are_typed_errors() {
    let error = beamform(&Backend::cpu(), &heaps(), &FftBeams::new(3, 2, 8).unwrap()).unwrap_err();
    assert_eq!(error, BeamformerError::Feeds { lines: 3, feeds: 2, actual: 4 });
}

#[test]
fn a_stream_of_chunks_of_any_kind_and_length_gives_the_beams_of_one_call() {
    let heaps = heaps();
    let whole = heaps.to_voltages();
    let set = FftBeams::new(2, 2, 8).unwrap();
    let expected = beamform(&Backend::cpu(), &whole, &set).unwrap();
    let mut stream = BeamformerStream::new(&Backend::cpu(), set.clone(), heaps.inputs()).unwrap();
    assert_eq!(stream.push(&heaps).unwrap(), expected);
    for times in [0..4, 4..4, 4..15] {
        let part = whole.data().slice(ndarray::s![.., times.clone(), ..]).to_owned();
        let flags = whole.presence().unwrap().slice(ndarray::s![times.clone(), ..]).to_owned();
        let part = Voltages::new(part, heaps.inputs()).unwrap().with_presence(flags).unwrap();
        let beams = stream.push(&part).unwrap();
        assert_eq!(beams.data(), expected.data().slice(ndarray::s![.., times, ..]));
    }
    // Other gains from the next chunk on: a power of two, so exactly.
    let gains = Array2::from_elem((2, 8), Complex::new(2.0, 0.0));
    stream.replace(set.with_gains(gains).unwrap()).unwrap();
    assert_eq!(stream.push(&heaps).unwrap().data(), expected.data().mapv(|beam| beam * 2.0));
}

#[test]
fn a_stream_refuses_sets_and_chunks_of_other_inputs_and_stays_as_it_was() {
    let (inputs, backend) = (Inputs::new(4, 2).unwrap(), Backend::cpu());
    let fan = |lines| FftBeams::new(lines, 2, 8).unwrap();
    let feeds = |lines| BeamformerError::Feeds { lines, feeds: 2, actual: 4 };
    let refused = BeamformerStream::<Complex<i8>, _>::new(&backend, fan(3), inputs).unwrap_err();
    assert_eq!(refused, feeds(3));
    let mut stream = BeamformerStream::<Complex<i8>, _>::new(&backend, fan(2), inputs).unwrap();
    assert_eq!(stream.replace(fan(1)), Err(feeds(1)));
    assert_eq!(stream.set(), &fan(2));
    let chunk = |antennas, pols| {
        let inputs = Inputs::new(antennas, pols).unwrap();
        Voltages::new(Array3::from_elem((1, 1, inputs.len()), Complex::new(1i8, 1)), inputs).unwrap()
    };
    let dimension = |dimension, expected, actual| {
        Err(BeamformerError::Types(TypesError::Dimension { array: "voltages", dimension, expected, actual }))
    };
    assert_eq!(stream.push(&chunk(8, 2)).map(|_| ()), dimension(Dimension::Antenna, 4, 8));
    assert_eq!(stream.push(&chunk(4, 1)).map(|_| ()), dimension(Dimension::Pol, 2, 1));
    assert!(stream.push(&chunk(4, 2)).is_ok());
}
