//! Tied-array beams in every format on the CPU, against the reference; and detected ones.

#![allow(clippy::unwrap_used)] // helpers of tests

use fringes_backend::Backend;
use fringes_beamformer::{
    BeamSet, BeamSteering, BeamformerError, BeamformerStream, IncoherentBeams, SteeredBand, TiedArrayBeams,
    TiedArrayDetector, WeightPrecision, beamform, detect,
};
use fringes_delay_model::{DelayModel, DelaySegment};
use fringes_reference::beamformer::tied_array;
use fringes_reference::dither::dither;
use fringes_types::{
    BeamWeights, Complex, DetectedProducts, Detection, Frequencies, Inputs, Rows, SpectrumClock, TypesError, Voltages,
    f16,
};
use ndarray::{Array2, Array3, s};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What seeds of the beams' dither are XORed with: the documentation's number.
const OF_BEAMS: u64 = 0x6265_616d_7300_0000;

fn data(shape: [usize; 3], beams: usize, seed: u64) -> (Voltages<Complex<i8>>, BeamWeights) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let [channels, times, inputs] = shape;
    let voltages = Array3::from_shape_simple_fn((channels, times, inputs), || {
        Complex::new(random.random_range(-127i8..=127), random.random_range(-127..=127))
    });
    let weights = Array3::from_shape_simple_fn((beams, channels, inputs), || {
        Complex::new(random.random_range(-1f32..1.0), random.random_range(-1f32..1.0))
    });
    let clock = SpectrumClock { first_sample: 700, samples_between_spectra: 7, ..SpectrumClock::default() };
    let voltages = Voltages::new(voltages, Inputs::single_pol(inputs).unwrap()).unwrap().with_clock(clock).unwrap();
    (voltages, BeamWeights::new(weights).unwrap())
}

/// Beams in f64 of voltages that are there.
fn exact(voltages: &Voltages<Complex<i8>>, weights: &BeamWeights) -> Array3<C64> {
    let of = |(channel, time, input): (usize, usize, usize)| {
        let value = voltages.data()[(channel, time, input)];
        let here = voltages.presence().is_none_or(|flags| flags[(time, input)]);
        if here { C64::new(value.re.into(), value.im.into()) } else { C64::default() }
    };
    let voltages = Array3::from_shape_fn(voltages.data().dim(), of);
    tied_array(voltages.view(), weights.data().mapv(|w| C64::new(w.re.into(), w.im.into())).view())
}

#[test]
fn integers_are_rounded_dithered_clamped_and_counted() {
    let (voltages, weights) = data([3, 150, 20], 5, 1);
    let flags = Array2::from_shape_fn((150, 20), |(time, input)| (time + input) % 7 != 0);
    let voltages = voltages.with_presence(flags).unwrap();
    let (scale, seed) = (0.16f32, 99);
    let set = TiedArrayBeams::new(weights.clone()).with_output::<Complex<i8>>();
    let set = set.with_scale(scale).unwrap().with_dither(seed);
    let mut stream = BeamformerStream::new(&Backend::cpu(), set, voltages.inputs()).unwrap();
    let beams = stream.push(&voltages).unwrap();
    let (mut counts, mut undecided) = (vec![0u64; 5], 0);
    for ((channel, time, beam), value) in exact(&voltages, &weights).indexed_iter() {
        let moved = dither(seed ^ OF_BEAMS, 100 + time as u64, channel as u32, beam as u32);
        let value = value * f64::from(scale) + moved;
        let actual = beams.data()[(channel, time, beam)];
        for (actual, value) in [(actual.re, value.re), (actual.im, value.im)] {
            let near = (value - value.floor() - 0.5).abs() < 1e-4;
            undecided += u32::from(near);
            let whole = value.round_ties_even().clamp(-127.0, 127.0);
            assert!(
                f64::from(actual) == whole || near,
                "channel {channel}, time {time}, beam {beam}: {actual}, {value}"
            );
        }
        counts[beam] += u64::from(value.re.abs() > 127.0 || value.im.abs() > 127.0);
    }
    assert!(undecided < 10 && counts.iter().all(|&count| count > 0), "{undecided} near ties, {counts:?} saturated");
    assert_eq!(stream.take_saturated().unwrap(), counts);
    assert_eq!(stream.take_saturated().unwrap(), [0; 5]);
}

#[test]
fn a_stream_may_be_cut_anywhere() {
    let (voltages, weights) = data([2, 300, 16], 4, 2);
    let set = TiedArrayBeams::new(weights).with_output::<Complex<i8>>().with_scale(0.05).unwrap().with_dither(3);
    let whole = beamform(&Backend::cpu(), &voltages, &set).unwrap();
    let mut stream = BeamformerStream::new(&Backend::cpu(), set, voltages.inputs()).unwrap();
    for (from, to) in [(0, 1), (1, 130), (130, 300)] {
        let part = voltages.data().slice(ndarray::s![.., from..to, ..]).to_owned();
        let clock = SpectrumClock { first_sample: 700 + 7 * from as u64, ..voltages.clock() };
        let part = Voltages::new(part, voltages.inputs()).unwrap().with_clock(clock).unwrap();
        let beams = stream.push(&part).unwrap();
        assert_eq!(beams.data(), whole.data().slice(ndarray::s![.., from..to, ..]));
    }
}

#[test]
fn floats_are_the_scaled_sums() {
    let (voltages, weights) = data([2, 140, 33], 3, 4);
    let set = TiedArrayBeams::new(weights.clone()).with_scale(0.5).unwrap().with_dither(1);
    let wide = beamform(&Backend::cpu(), &voltages, &set).unwrap();
    let half = beamform(&Backend::cpu(), &voltages, &set.clone().with_output::<Complex<f16>>()).unwrap();
    let rows = beamform(&Backend::cpu(), &Rows::from_voltages(&voltages), &set).unwrap();
    assert_eq!(rows.data(), wide.data());
    for (index, value) in exact(&voltages, &weights).indexed_iter() {
        let (value, wide, half) = (value * 0.5, wide.data()[index], half.data()[index]);
        let off = (C64::new(wide.re.into(), wide.im.into()) - value).norm();
        assert!(off < 1e-3, "{index:?}: {wide}, not {value}");
        let off = (C64::new(half.re.into(), half.im.into()) - value).norm();
        assert!(off < 1e-3 + value.norm() * 2f64.powi(-11), "{index:?}: {half}, not {value}");
    }
}

#[test]
fn a_precision_that_is_asked_for_holds_on_the_cpu() {
    let (voltages, _) = data([3, 130, 21], 1, 9);
    let flags = Array2::from_shape_fn((130, 21), |(time, input)| (time + input) % 5 != 0);
    let voltages = voltages.with_presence(flags).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    for (precision, most) in [(WeightPrecision::Int8, 127), (WeightPrecision::Int16, 32_639)] {
        // Whole numbers with the largest among them are held as they are.
        let weights = Array3::from_shape_fn((7, 3, 21), |(beam, _, input)| {
            let mut part = || random.random_range(-most..=most) as f32;
            let (re, im) = (part(), part());
            Complex::new(if input == beam { -most as f32 } else { re }, im)
        });
        let set = TiedArrayBeams::new(BeamWeights::new(weights).unwrap()).with_precision(precision);
        assert_eq!(set.precision(), precision);
        let beams = beamform(&Backend::cpu(), &voltages, &set).unwrap();
        for (index, value) in exact(&voltages, set.weights().unwrap()).indexed_iter() {
            let beam = beams.data()[index];
            assert_eq!(beam, Complex::new(value.re as f32, value.im as f32), "{precision}, {index:?}");
        }
        let whole = set.clone().with_output::<Complex<i8>>().with_scale(0.25 / most as f32).unwrap();
        let mut stream = BeamformerStream::new(&Backend::cpu(), whole.clone(), voltages.inputs()).unwrap();
        let (beams, scale) = (stream.push(&voltages).unwrap(), f64::from(whole.scale()));
        for (index, value) in exact(&voltages, set.weights().unwrap()).indexed_iter() {
            let part = |sum: f64| (sum * scale).round_ties_even().clamp(-127.0, 127.0) as i8;
            assert_eq!(beams.data()[index], Complex::new(part(value.re), part(value.im)), "{precision}, {index:?}");
        }
        let rows = beamform(&Backend::cpu(), &Rows::from_voltages(&voltages), &whole).unwrap();
        assert_eq!(rows.data(), beams.data());
    }
}

#[test]
fn the_error_of_integer_weights_is_that_which_is_stated() {
    let (voltages, _) = data([2, 300, 64], 1, 11);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
    let mut phase = || random.random_range(0.0..std::f32::consts::TAU);
    let weights = Array3::from_shape_simple_fn((20, 2, 64), || Complex::from_polar(1.0, phase()));
    let set = TiedArrayBeams::new(BeamWeights::new(weights).unwrap());
    let exact = exact(&voltages, set.weights().unwrap());
    let power = exact.iter().map(|value| value.norm_sqr()).sum::<f64>();
    let error = |set: &TiedArrayBeams| {
        let beams = beamform(&Backend::cpu(), &voltages, set).unwrap();
        let off = |(beam, value): (&Complex<f32>, &C64)| (C64::new(beam.re.into(), beam.im.into()) - value).norm_sqr();
        (beams.data().iter().zip(&exact).map(off).sum::<f64>() / power).sqrt()
    };
    for (precision, limit) in [(WeightPrecision::Int8, 3.5e-3), (WeightPrecision::Int16, 1.4e-5)] {
        let error = error(&set.clone().with_precision(precision));
        assert!(error <= limit && error > limit / 10.0, "{precision}: {error}");
    }
    // In f32 unless integers are asked for.
    assert!(error(&set) < 1e-6 && error(&set.clone().with_precision(WeightPrecision::Float16)) < 1e-6);
}

#[test]
fn steered_beams_are_those_of_their_weights() {
    let inputs = Inputs::new(4, 2).unwrap();
    let band = SteeredBand {
        frequencies: Frequencies { first_hz: 1e9, step_hz: 1e6 },
        channels: 3,
        sample_rate_hz: 1e8,
        reference_hz: 1e9,
    };
    let model = |antenna: usize| DelayModel::from_segment(DelaySegment::new(0, vec![0.3 * antenna as f64, 1e-9]));
    let models = vec![(0..4).map(|antenna| model(antenna).unwrap()).collect()];
    let steering = BeamSteering::new(inputs, band, models).unwrap().with_polarisations();
    let (voltages, _) = data([3, 20, 8], 1, 5);
    let voltages = Voltages::new(voltages.data().to_owned(), inputs).unwrap();
    let set = TiedArrayBeams::steered(&steering, 5000).unwrap();
    assert_eq!(set.weights().unwrap(), &steering.weights_at(5000).unwrap());
    assert_eq!(set, TiedArrayBeams::steered(&steering, 5000).unwrap());
    assert_ne!(set, TiedArrayBeams::steered(&steering, 5001).unwrap());
    let beams = beamform(&Backend::cpu(), &voltages, &set).unwrap();
    let given = beamform(&Backend::cpu(), &voltages, &steering.weights_at(5000).unwrap()).unwrap();
    for (a, b) in beams.data().iter().zip(given.data()) {
        assert!((a - b).norm() <= 1e-6 * (1.0 + b.norm()));
    }
    // Weights of 16 bits are within half a step, the largest gain over 32639, of what they are.
    let rounded = beamform(&Backend::cpu(), &voltages, &set.with_precision(WeightPrecision::Int16)).unwrap();
    for (a, b) in rounded.data().iter().zip(given.data()) {
        assert!((a - b).norm() <= 8.0 * 127.0 * 2.0 * 0.51 / 32_639.0);
    }
    let large = steering.with_gains(Array2::from_elem((2, 8), Complex::new(f32::MAX, f32::MAX))).unwrap();
    let refused = TiedArrayBeams::steered(&large, 0);
    assert!(matches!(refused, Err(BeamformerError::Types(TypesError::NotFinite { .. }))));
}

#[test]
fn detected_beams_are_detected_beams() {
    let (voltages, weights) = data([4, 200, 12], 6, 6);
    let detection = Detection::new(DetectedProducts::Stokes, 20, 2).unwrap();
    let set = TiedArrayBeams::new(weights.clone());
    let expected = detect(&beamform(&Backend::cpu(), &voltages, &set).unwrap(), &detection).unwrap();
    let mut stream = TiedArrayDetector::new(&Backend::cpu(), set, voltages.inputs(), detection).unwrap();
    assert_eq!(stream.push(&voltages).unwrap(), expected);
    // Five channels, or beams without a partner, are no whole sums.
    let (_, odd) = data([5, 1, 12], 6, 7);
    let refused =
        TiedArrayDetector::<Complex<i8>>::new(&Backend::cpu(), TiedArrayBeams::new(odd), voltages.inputs(), detection);
    assert!(matches!(refused, Err(BeamformerError::Types(TypesError::Multiple { actual: 5, .. }))));
}

#[test]
fn sets_that_do_not_fit_are_refused() {
    let (voltages, weights) = data([2, 10, 12], 3, 8);
    let set = TiedArrayBeams::new(weights);
    assert!(matches!(set.clone().with_scale(f32::NAN), Err(BeamformerError::Types(TypesError::NotFinite { .. }))));
    assert!(matches!(set.check(3, voltages.inputs()), Err(BeamformerError::Types(TypesError::Dimension { .. }))));
    let other = Inputs::single_pol(13).unwrap();
    assert!(matches!(set.check(2, other), Err(BeamformerError::Types(TypesError::Dimension { .. }))));
    assert_eq!((set.precision(), set.scale()), (WeightPrecision::Int16, 1.0));
}

/// Spectra `times` of voltages, with their stamps and flags.
fn part(voltages: &Voltages<Complex<i8>>, times: std::ops::Range<usize>) -> Voltages<Complex<i8>> {
    let clock = voltages.clock();
    let clock = SpectrumClock { first_sample: clock.sample_of(times.start), ..clock };
    let data = voltages.data().slice(s![.., times.clone(), ..]).to_owned();
    let part = Voltages::new(data, voltages.inputs()).unwrap().with_clock(clock).unwrap();
    match voltages.presence() {
        Some(flags) => part.with_presence(flags.slice(s![times, ..]).to_owned()).unwrap(),
        None => part,
    }
}

#[test]
fn weights_change_at_a_stated_sample_wherever_chunks_end() {
    let (voltages, weights) = data([3, 60, 20], 5, 7);
    let (_, others) = data([3, 1, 20], 5, 8);
    let sets = [&weights, &others].map(|weights| TiedArrayBeams::new(weights.clone()).with_dither(3));
    let sets = sets.map(|set| set.with_output::<Complex<i8>>().with_scale(0.1).unwrap());
    let of = |set| beamform(&Backend::cpu(), &voltages, set).unwrap().into_data();
    let expected = [of(&sets[0]), of(&sets[1])];
    // Spectra are 7 samples apart from sample 700 on: the first at or after 910 is number 30, after 911 number 31.
    for (sample, first) in [(910, 30), (911, 31), (0, 0), (700, 0), (1120, 60)] {
        for cuts in [vec![60], vec![30, 30], vec![7, 31, 22], vec![31, 29]] {
            let mut stream = BeamformerStream::new(&Backend::cpu(), sets[0].clone(), voltages.inputs()).unwrap();
            stream.replace_at(sets[1].clone(), sample).unwrap();
            let mut done = 0;
            for cut in cuts {
                let beams = stream.push(&part(&voltages, done..done + cut)).unwrap();
                for time in 0..cut {
                    let expected = &expected[usize::from(done + time >= first)];
                    let expected = expected.slice(s![.., done + time, ..]);
                    assert_eq!(beams.data().slice(s![.., time, ..]), expected, "{sample} {done} {time}");
                }
                done += cut;
            }
            assert_eq!(stream.set() == &sets[1], first < 60);
        }
    }
    // Several within one chunk, given in any order; the later one of the same sample counts.
    let mut stream = BeamformerStream::new(&Backend::cpu(), sets[0].clone(), voltages.inputs()).unwrap();
    for (set, sample) in [(0, 700 + 7 * 40), (0, 700 + 7 * 10), (1, 700 + 7 * 10), (1, 2000)] {
        stream.replace_at(sets[set].clone(), sample).unwrap();
    }
    let beams = stream.push(&voltages).unwrap();
    for (time, of) in [(9, 0), (10, 1), (39, 1), (40, 0), (59, 0)] {
        assert_eq!(beams.data().slice(s![.., time, ..]), expected[of].slice(s![.., time, ..]), "{time}");
    }
    let fewer = TiedArrayBeams::new(data([3, 1, 20], 4, 8).1).with_output::<Complex<i8>>();
    let error = stream.replace_at(fewer, 5000);
    assert!(matches!(error, Err(BeamformerError::Types(TypesError::Dimension { expected: 5, actual: 4, .. }))));
}

#[test]
fn inputs_that_did_not_come_are_counted() {
    let (voltages, weights) = data([2, 30, 20], 4, 9);
    // Beam 1 has no weight for input 3, beam 2 only in channel 1.
    let mut weights = weights.data().to_owned();
    weights.slice_mut(s![1, .., 3]).fill(Complex::default());
    weights.slice_mut(s![2, 0, 3]).fill(Complex::default());
    let set = BeamWeights::new(weights).unwrap();
    assert_eq!(beamform(&Backend::cpu(), &voltages, &set).unwrap().input_counts(), None);
    let flags = Array2::from_shape_fn((30, 20), |(time, input)| input != 3 || time < 12);
    let voltages = voltages.with_presence(flags).unwrap();
    let beams = beamform(&Backend::cpu(), &voltages, &set).unwrap();
    let counts = beams.input_counts().unwrap();
    assert_eq!(counts.expected(), [20, 19, 20, 20]);
    assert_eq!([11, 12].map(|time| counts.present(time, 0)), [Some(20), Some(19)]);
    assert_eq!([11, 12].map(|time| counts.present(time, 1)), [Some(19); 2]);
    assert_eq!(counts.present(29, 2), Some(19));

    // Of detected beams over 10 spectra, of both polarisations, however the stream is cut; and of an incoherent one.
    let detection = Detection::new(DetectedProducts::StokesI, 10, 2).unwrap();
    for cuts in [vec![30], vec![3, 20, 7], vec![12, 18]] {
        let set = TiedArrayBeams::new(set.clone());
        let detector = TiedArrayDetector::new(&Backend::cpu(), set, voltages.inputs(), detection).unwrap();
        let mut detector = detector.with_incoherent(IncoherentBeams::sum(voltages.inputs())).unwrap();
        let (mut done, mut found) = (0, Vec::new());
        for cut in cuts {
            let sums = detector.push(&part(&voltages, done..done + cut)).unwrap();
            let counts = sums.input_counts();
            for time in 0..sums.times() {
                found.push([0, 1, 2].map(|beam| counts.unwrap().present(time, beam).unwrap()));
            }
            done += cut;
        }
        assert_eq!(found, [[390, 400, 200], [382, 384, 192], [380, 380, 190]]);
    }
}

#[test]
fn incoherent_beams_follow_detected_ones() {
    let (voltages, weights) = data([4, 50, 20], 3, 10);
    let gains = Array2::from_shape_fn((2, 20), |(beam, input)| if beam == 0 { 1.0 } else { input as f32 / 8.0 - 1.0 });
    let incoherent = IncoherentBeams::new(gains.clone()).unwrap();
    let detector = |products| {
        let (set, detection) = (TiedArrayBeams::new(weights.clone()), Detection::new(products, 8, 2).unwrap());
        TiedArrayDetector::new(&Backend::cpu(), set, voltages.inputs(), detection)
    };
    let exact = voltages.data().mapv(|v| C64::new(v.re.into(), v.im.into()));
    let powers = fringes_reference::beamformer::incoherent(exact.view(), gains.mapv(f64::from).view());
    for cuts in [vec![50], vec![3, 20, 27], vec![8, 1, 41]] {
        let mut with = detector(DetectedProducts::Power).unwrap().with_incoherent(incoherent.clone()).unwrap();
        let mut without = detector(DetectedProducts::Power).unwrap();
        let mut done = 0;
        for cut in cuts {
            let chunk = part(&voltages, done..done + cut);
            let first = (done - with.pending()) / 8;
            let (all, tied) = (with.push(&chunk).unwrap(), without.push(&chunk).unwrap());
            assert_eq!(all.data().dim(), (2, tied.times(), 5, 1));
            assert_eq!(all.data().slice(s![.., .., ..3, ..]), tied.data());
            assert_eq!((all.clock(), all.frequencies()), (tied.clock(), tied.frequencies()));
            for ((channel, time, beam, _), &found) in all.data().slice(s![.., .., 3.., ..]).indexed_iter() {
                let times = 8 * (first + time)..8 * (first + time) + 8;
                let exact = powers.slice(s![2 * channel..2 * channel + 2, times, beam]);
                let (sum, size) = (exact.sum(), 2.0 * exact.iter().map(|power| power.abs()).sum::<f64>());
                // Of an incoherent beam of 20 inputs 23 roundings, and one of the sum.
                assert!((f64::from(found) - sum).abs() <= 24.0 * 2f64.powi(-24) * size.max(1e6), "{found} {sum}");
            }
            done += cut;
        }
        assert_eq!(with.pending(), 2);
        with.reset();
        assert_eq!(with.pending(), 0);
    }
    let error = detector(DetectedProducts::Coherency);
    assert!(matches!(error, Err(BeamformerError::Types(TypesError::Multiple { .. }))));
    let pairs = TiedArrayBeams::new(data([4, 1, 20], 2, 10).1);
    let detection = Detection::new(DetectedProducts::Stokes, 8, 2).unwrap();
    let stokes = TiedArrayDetector::<Complex<i8>>::new(&Backend::cpu(), pairs, voltages.inputs(), detection).unwrap();
    let error = stokes.with_incoherent(incoherent).map(drop);
    assert_eq!(error, Err(BeamformerError::Products { actual: DetectedProducts::Stokes }));
}

#[test]
fn weights_change_within_a_sum_of_detected_beams() {
    let (voltages, weights) = data([2, 48, 20], 4, 11);
    let (_, others) = data([2, 1, 20], 4, 12);
    let detection = Detection::new(DetectedProducts::StokesI, 16, 1).unwrap();
    let set = TiedArrayBeams::new(weights.clone());
    let mut detector = TiedArrayDetector::new(&Backend::cpu(), set, voltages.inputs(), detection).unwrap();
    detector.replace_at(TiedArrayBeams::new(others.clone()), voltages.clock().sample_of(21)).unwrap();
    let found = detector.push(&voltages).unwrap();
    let beams = [&weights, &others].map(|weights| beamform(&Backend::cpu(), &voltages, weights).unwrap());
    let mut mixed = beams[0].data().to_owned();
    mixed.slice_mut(s![.., 21.., ..]).assign(&beams[1].data().slice(s![.., 21.., ..]));
    let mixed = fringes_types::Beams::new(mixed, beams[0].frequencies(), beams[0].clock()).unwrap();
    assert_eq!(found.data(), detect(&mixed, &detection).unwrap().data());
}
