//! Stand-alone delays through the public API: what they do to signals, and what they refuse.
#![allow(clippy::unwrap_used)] // helpers of tests, outside the test functions themselves

use fringes_backend::{Backend, DeviceError};
use fringes_delay::{
    ChannelPhase, DelayError, DelayModel, FineRotation, FrameSample, ShiftShape, Windows, channel_phases, rotate, shift,
};
use fringes_reference::delay::rotate_voltages;
use fringes_reference::dither::dither;
use fringes_reference::quantiser::{quantise_value, saturates};
use fringes_types::{
    Complex, Complex4, Dimension, Gains, Heaps, Inputs, PackedSamples, Samples, SpectrumClock, TypesError, Voltages,
};
use ndarray::{Array2, Array3, Array5};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn phases(times: usize, inputs: usize, random: &mut Xoshiro256PlusPlus) -> Array2<ChannelPhase> {
    Array2::from_shape_simple_fn((times, inputs), || {
        let (base, slope) = (random.random_range(-0.5..0.5), random.random_range(-0.03..0.03));
        ChannelPhase::from_turns(base, slope)
    })
}

fn gains(channels: usize, inputs: usize, random: &mut Xoshiro256PlusPlus) -> Array2<Complex<f32>> {
    Array2::from_shape_simple_fn((channels, inputs), || {
        Complex::new(random.random_range(-1.0..1.0), random.random_range(-1.0..1.0))
    })
}

#[test]
fn packed_samples_are_shifted_as_they_are() {
    let inputs = Inputs::single_pol(2).unwrap();
    let mut random = random(2);
    let samples = Array2::from_shape_simple_fn((2, 301), || random.random_range(-512i16..512));
    let packed = PackedSamples::pack(samples.view(), 10, inputs).unwrap().with_first_sample(99);
    let shifted = shift(&Backend::cpu(), &packed, &[7, -13]).unwrap();
    let typed = shift(&Backend::cpu(), &packed.unpack().unwrap(), &[7, -13]).unwrap();
    assert_eq!(shifted.unpack().unwrap(), typed);
    assert_eq!((shifted.first_sample(), shifted.bits(), shifted.times()), (99, 10, 301));
    assert_eq!(typed.data()[(0, 7)], samples[(0, 0)]);
    assert_eq!(typed.data()[(1, 0)], samples[(1, 13)]);
}

/// Rotated integers, of voltages and of heaps, against the reference: exact but for ties.
fn quantised<Q: FrameSample + Copy>(limit: f64, value: impl Fn(i8, i8) -> Q) {
    let mut random = random(3);
    let (channels, batches, antennas, spectra, pols) = (40, 3, 2, 5, 2);
    let (times, inputs) = (batches * spectra, antennas * pols);
    let most = limit as i8;
    let heaps = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, pols), || {
        value(random.random_range(-most..=most), random.random_range(-most..=most))
    });
    let present = Array2::from_shape_fn((batches, antennas), |(batch, antenna)| (batch, antenna) != (1, 0));
    let clock = SpectrumClock { first_sample: 80 * 128, samples_between_spectra: 128, sample_rate_hz: 1e6 };
    let heaps = Heaps::from_checked(heaps).unwrap().with_clock(clock).unwrap().with_presence(present).unwrap();
    let voltages = heaps.to_voltages();
    let (phases, gains) = (phases(times, inputs, &mut random), gains(channels, inputs, &mut random));
    let rotation = FineRotation::new(phases.clone())
        .with_gains(Gains::per_channel_input(gains.clone()).unwrap())
        .with_first_channel(100)
        .with_dither(42);

    let of_voltages = rotate(&Backend::cpu(), &voltages, &rotation).unwrap();
    let of_heaps = rotate(&Backend::cpu(), &heaps, &rotation).unwrap();
    assert_eq!(of_heaps.values.to_voltages(), of_voltages.values);
    assert_eq!(of_heaps.saturated, of_voltages.saturated);

    let wide = voltages.data().mapv(|value| {
        let value = value.to_c32();
        C64::new(value.re.into(), value.im.into())
    });
    let slope = phases.mapv(|phase| phase.slope as i64 as f64 / 2f64.powi(64));
    let base = phases.mapv(|phase| phase.turns(0));
    let wide_gains = gains.mapv(|gain| C64::new(gain.re.into(), gain.im.into()));
    let expected = rotate_voltages(wide.view(), base.view(), slope.view(), wide_gains.view(), 100);
    let mut saturated = vec![0; inputs];
    for ((channel, time, input), value) in expected.indexed_iter() {
        let actual = of_voltages.values.data()[(channel, time, input)].to_c32();
        if voltages.presence().is_some_and(|presence| !presence[(time, input)]) {
            assert_eq!(actual, Complex::new(0.0, 0.0));
            continue;
        }
        let value = value + dither(42, 80 + time as u64, input as u32, 100 + channel as u32);
        saturated[input] += u64::from(saturates(value, limit));
        for (actual, value) in [(actual.re, value.re), (actual.im, value.im)] {
            let near = [value - 1e-10, value, value + 1e-10].map(|value| quantise_value(value, limit));
            assert!(near.contains(&f64::from(actual)), "{channel} {time} {input}: {actual} for {value}");
        }
    }
    assert_eq!(of_voltages.saturated.to_vec(), saturated);
}

#[test]
fn rotated_integers_are_those_of_the_reference() {
    quantised::<Complex<i8>>(127.0, Complex::new);
    quantised::<Complex4>(7.0, |re, im| Complex4::new(re, im).unwrap());
}

#[test]
fn rotating_back_gives_the_voltages() {
    let mut random = random(4);
    let data = Array3::from_shape_simple_fn((64, 9, 3), || {
        Complex::new(random.random_range(-1.0..1.0), random.random_range(-1.0f32..1.0))
    });
    let voltages = Voltages::new(data, Inputs::single_pol(3).unwrap()).unwrap();
    let there = phases(9, 3, &mut random);
    let back = there.mapv(|phase| ChannelPhase { base: phase.base.wrapping_neg(), slope: phase.slope.wrapping_neg() });
    let turned = rotate(&Backend::cpu(), &voltages, &FineRotation::new(there)).unwrap().values;
    let again = rotate(&Backend::cpu(), &turned, &FineRotation::new(back)).unwrap().values;
    for (a, b) in voltages.data().iter().zip(again.data()) {
        // Two roundings of each part.
        assert!((a - b).norm() < 4.0 * 2f32.powi(-24) * a.norm().max(1e-3));
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let backend = Backend::cpu();
    let inputs = Inputs::single_pol(2).unwrap();
    let samples = Samples::new(Array2::<i8>::zeros((2, 9)), inputs).unwrap();
    let dimension = |array, dimension, expected, actual| {
        DelayError::from(TypesError::Dimension { array, dimension, expected, actual })
    };
    let error = shift(&backend, &samples, &[1]).unwrap_err();
    assert_eq!(error, dimension("delays", Dimension::Input, 2, 1));
    let packed = PackedSamples::new(Array2::zeros((2, 9)), 8, 9, inputs).unwrap();
    let error = shift(&backend, &packed, &[1, 2, 3]).unwrap_err();
    assert_eq!(error, dimension("delays", Dimension::Input, 2, 3));

    let voltages = Voltages::new(Array3::<Complex<f32>>::zeros((4, 3, 2)), inputs).unwrap();
    let rotate = |times, inputs, gains: Option<(usize, usize)>| {
        let mut rotation = FineRotation::new(Array2::default((times, inputs)));
        if let Some(shape) = gains {
            let gains = Array2::from_elem(shape, Complex::new(1.0, 0.0));
            rotation = rotation.with_gains(Gains::per_channel_input(gains).unwrap());
        }
        rotate(&backend, &voltages, &rotation).map(|_| ()).unwrap_err()
    };
    assert_eq!(rotate(4, 2, None), dimension("phases", Dimension::Time, 3, 4));
    assert_eq!(rotate(3, 1, None), dimension("phases", Dimension::Input, 2, 1));
    assert_eq!(rotate(3, 2, Some((5, 2))), dimension("gains", Dimension::Channel, 4, 5));
    assert_eq!(rotate(3, 2, Some((4, 3))), dimension("gains", Dimension::Input, 2, 3));

    let clock = SpectrumClock { samples_between_spectra: 0, ..SpectrumClock::default() };
    let models = [DelayModel::zero()];
    assert!(channel_phases(&models, clock, 3, 4, false, Windows::Unmoved).is_err());
    let error = channel_phases(&models, SpectrumClock::default(), 3, 0, false, Windows::Unmoved).unwrap_err();
    assert_eq!(error, DelayError::Zero { quantity: "channels" });
}

#[test]
fn memory_is_said_beforehand() {
    let backend = Backend::cpu();
    let mut random = random(5);
    let voltages = Voltages::new(Array3::<Complex<i8>>::zeros((4, 3, 2)), Inputs::single_pol(2).unwrap()).unwrap();
    let plain = FineRotation::new(phases(3, 2, &mut random));
    let rotation = plain.clone().with_gains(Gains::per_channel_input(gains(4, 2, &mut random)).unwrap());
    let need = rotation.memory::<Complex<i8>>(&backend, 4, 3, 2).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes), (48, 48));
    // Gains are taken where there are some, phases always.
    let less = plain.memory::<Complex<i8>>(&backend, 4, 3, 2).unwrap();
    assert_eq!(need.workspace_bytes - less.workspace_bytes, 4 * 2 * 8);
    assert!(less.workspace_bytes >= 3 * 2 * 16);
    let limited = |bytes| rotate(&Backend::cpu().with_memory_limit(bytes), &voltages, &rotation);
    assert_eq!(limited(need.smallest_step_bytes).unwrap(), rotate(&backend, &voltages, &rotation).unwrap());
    let (needed, limit) = (need.smallest_step_bytes, need.smallest_step_bytes - 1);
    let error = DeviceError::MemoryLimit { operation: "rotate", needed, limit };
    assert_eq!(limited(limit).unwrap_err(), error.into());

    let shape = ShiftShape::packed(10, 3, 9);
    assert_eq!((shape.from_bytes(), shape.from_stride), (Ok(36), 12));
    let need = shape.memory(&backend).unwrap();
    assert_eq!((need.input_bytes, need.output_bytes, need.workspace_bytes), (36, 36, 0));
    assert_eq!(ShiftShape::samples::<Complex<i16>>(2, 5).to_bytes(), Ok(40));
    let huge = ShiftShape { inputs: 3, to_stride: usize::MAX, ..shape };
    assert!(huge.to_bytes().is_err());
    assert_eq!(huge.memory(&backend).unwrap().output_bytes, u64::MAX);
    // A shift on the CPU takes nothing beside its input and output.
    let samples = Samples::new(Array2::<i8>::zeros((2, 9)), Inputs::single_pol(2).unwrap()).unwrap();
    assert!(shift(&Backend::cpu().with_memory_limit(0), &samples, &[1, -1]).is_ok());
}
