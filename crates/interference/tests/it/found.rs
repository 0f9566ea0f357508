//! What is no noise is found.

use fringes_backend::Backend;
use fringes_interference::{Combining, InterferenceError, Masker, Undecided, power_sums};
use fringes_types::{Complex, Complex4, Inputs, TypesError, Voltages};
use ndarray::{Array2, Array3};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::false_alarms::Quantised;

/// Noise of an rms, and what is added to it at `(channel, time, input)`.
fn received<V: Quantised>(
    shape: (usize, usize, usize),
    rms: f64,
    added: impl Fn(usize, usize, usize) -> Complex<f64>,
) -> Voltages<V> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(5);
    let data = Array3::from_shape_fn(shape, |(channel, time, input)| {
        let mut part = || {
            let unit: f64 = StandardNormal.sample(&mut generator);
            rms * unit
        };
        let x = Complex::new(part(), part()) + added(channel, time, input);
        V::quantised(x.re, x.im)
    });
    Voltages::new(data, Inputs::single_pol(shape.2).unwrap()).unwrap()
}

/// 16 channels, 8 blocks of 256 spectra, 8 inputs: all of what is expected, and of the rest at most what noise gives.
fn check<V: Quantised>(
    rms: f64,
    added: impl Fn(usize, usize, usize) -> Complex<f64>,
    bad: impl Fn(usize, usize) -> bool,
) {
    let voltages = received::<V>((16, 8 * 256, 8), rms, added);
    let sums = power_sums(&Backend::cpu(), &voltages, 256).unwrap();
    let found = Masker::new(1e-5).unwrap().mask(&sums).unwrap();
    let expected = Array2::from_shape_fn((16, 8), |(channel, block)| bad(channel, block));
    assert_eq!(found.mask.masked(), expected, "{:?}", found.kurtosis);
}

/// A radar's pulses: 24 of 256 spectra in blocks 2 and 3 of channels 4 to 6, at 6 dB above noise while they last, so
/// that they add 1.4 dB to the power of the block.
#[test]
fn a_pulsed_interferer_is_found_where_it_is() {
    for_both(
        |rms| {
            move |channel, time, _| {
                let on = (4..7).contains(&channel) && (512..1024).contains(&time) && time % 256 < 24;
                Complex::from_polar(if on { 2.0 * 2f64.sqrt() * rms } else { 0.0 }, 0.3 * time as f64)
            }
        },
        |channel, block| (4..7).contains(&channel) && (2..4).contains(&block),
    );
}

/// A carrier in channel 9, 3 dB above noise.
#[test]
fn a_narrow_band_interferer_is_found_where_it_is() {
    for_both(
        |rms| {
            move |channel, time, input| {
                let amplitude = if channel == 9 { 2.0 * rms } else { 0.0 };
                Complex::from_polar(amplitude, 1.7 * time as f64 + input as f64)
            }
        },
        |channel, _| channel == 9,
    );
}

fn for_both<F: Fn(usize, usize, usize) -> Complex<f64>>(added: impl Fn(f64) -> F, bad: impl Fn(usize, usize) -> bool) {
    check::<Complex4>(2.0, added(2.0), &bad);
    check::<Complex<i8>>(16.0, added(16.0), &bad);
    check::<Complex<f32>>(1e-4, added(1e-4), &bad);
}

#[test]
fn what_one_input_alone_hears_is_found_by_any_and_lost_in_the_mean() {
    // 2 of 256 spectra at 12 dB, in one of 64 inputs.
    let voltages = received::<Complex<i8>>((4, 256, 64), 10.0, |channel, time, input| {
        let on = channel == 1 && input == 40 && time < 2;
        Complex::new(if on { 4.0 * 2f64.sqrt() * 10.0 } else { 0.0 }, 0.0)
    });
    let sums = power_sums(&Backend::cpu(), &voltages, 256).unwrap();
    let masker = Masker::new(1e-5).unwrap();
    let any = masker.clone().with_combining(Combining::Any).mask(&sums).unwrap();
    assert_eq!(any.mask.masked().column(0).to_vec(), [false, true, false, false]);
    assert!(masker.mask(&sums).unwrap().mask.masked().iter().all(|&masked| !masked));
    // The input is not asked.
    let asked: Vec<_> = (0..64).map(|input| input != 40).collect();
    let others = masker.with_combining(Combining::Any).with_inputs(&asked).mask(&sums).unwrap();
    assert!(others.mask.masked().iter().all(|&masked| !masked));
}

#[test]
fn levels_that_no_noise_has_are_masked() {
    // Channel 0 is zero, channel 1 at the limit, channel 2 noise.
    let voltages = received::<Complex4>((3, 256, 4), 2.0, |channel, _, _| match channel {
        0 => Complex::new(0.0, 0.0),
        1 => Complex::new(1000.0, 1000.0),
        _ => Complex::new(0.0, 0.0),
    });
    let mut data = voltages.into_data();
    data.index_axis_mut(ndarray::Axis(0), 0).fill(Complex4::default());
    let voltages = Voltages::new(data, Inputs::single_pol(4).unwrap()).unwrap();
    let sums = power_sums(&Backend::cpu(), &voltages, 256).unwrap();
    let found = Masker::new(1e-4).unwrap().mask(&sums).unwrap();
    assert_eq!(found.mask.masked().column(0).to_vec(), [true, true, false]);
    assert!(found.undecided.iter().all(|&undecided| !undecided));
    assert!(found.kurtosis[(0, 0)].is_nan() && found.kurtosis[(2, 0)].is_finite());
    // A level of 8 is not within 20 to 90.
    let found = Masker::new(1e-4).unwrap().with_levels(20.0, 90.0).unwrap().mask(&sums).unwrap();
    assert_eq!(found.mask.masked().column(0).to_vec(), [true, true, true]);
}

#[test]
fn what_is_too_little_to_tell_is_kept_or_masked_as_was_asked() {
    let voltages = received::<Complex4>((1, 256 + 20, 4), 2.0, |_, _, _| Complex::new(0.0, 0.0));
    // Half of the inputs have half of block 0; block 1 has 20 spectra.
    let presence = Array2::from_shape_fn((276, 4), |(time, input)| input < 2 || time >= 128);
    let sums = power_sums(&Backend::cpu(), &voltages.with_presence(presence).unwrap(), 256).unwrap();
    let masker = Masker::new(1e-4).unwrap();
    let undecided = |masker: &Masker| masker.mask(&sums).unwrap().undecided.row(0).to_vec();
    assert_eq!(undecided(&masker), [false, true]);
    let strict = masker.clone().with_least_inputs(0.6).unwrap();
    assert_eq!(undecided(&strict), [true, true]);
    assert_eq!(undecided(&strict.clone().with_least_samples(0.5).unwrap()), [false, true]);
    let masked = |masker: Masker| masker.mask(&sums).unwrap().mask.masked().row(0).to_vec();
    assert_eq!(masked(strict.clone()), [false, false]);
    assert_eq!(masked(strict.with_undecided(Undecided::Mask)), [true, true]);
}

#[test]
fn policies_that_make_no_sense_are_errors() {
    for rate in [0.0, 0.7, f64::NAN] {
        assert!(matches!(Masker::new(rate), Err(InterferenceError::Range { .. })));
    }
    let masker = Masker::new(0.01).unwrap();
    assert!(masker.clone().with_least_samples(1.5).is_err() && masker.clone().with_least_inputs(-0.1).is_err());
    assert!(masker.clone().with_levels(5.0, 4.0).is_err());
    let voltages = received::<Complex4>((1, 64, 4), 2.0, |_, _, _| Complex::new(0.0, 0.0));
    let sums = power_sums(&Backend::cpu(), &voltages, 64).unwrap();
    let error = masker.with_inputs(&[true; 3]).mask(&sums).unwrap_err();
    assert!(matches!(error, InterferenceError::Types(TypesError::Dimension { expected: 4, actual: 3, .. })), "{error}");
}
