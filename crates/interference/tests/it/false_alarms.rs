//! The share of noise that is masked is the share that was asked for.

use fringes_backend::Backend;
use fringes_interference::{Combining, Interference, Masker, Power, Thresholds, power_sums, spectral_kurtosis};
use fringes_types::{Complex, Complex4, Inputs, Voltages};
use ndarray::{Array2, Array3};
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Formats of noise: parts of an rms, rounded and clipped as a quantiser does.
pub(crate) trait Quantised: Power {
    fn quantised(re: f64, im: f64) -> Self;
}

impl Quantised for Complex4 {
    fn quantised(re: f64, im: f64) -> Self {
        let part = |value: f64| value.round_ties_even().clamp(-7.0, 7.0) as i8;
        Self::new(part(re), part(im)).unwrap()
    }
}

impl Quantised for Complex<i8> {
    fn quantised(re: f64, im: f64) -> Self {
        let part = |value: f64| value.round_ties_even().clamp(-127.0, 127.0) as i8;
        Self::new(part(re), part(im))
    }
}

impl Quantised for Complex<f32> {
    fn quantised(re: f64, im: f64) -> Self {
        Self::new(re as f32, im as f32)
    }
}

pub(crate) fn noise<V: Quantised>(rms: f64, generator: &mut impl Rng) -> V {
    let mut part = || -> f64 { StandardNormal.sample(generator) };
    V::quantised(rms * part(), rms * part())
}

/// Noise of a shape `[channel][time][input]`; each input has its rms.
fn voltages<V: Quantised>(shape: (usize, usize, usize), rms: &[f64], seed: u64) -> Voltages<V> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let data = Array3::from_shape_fn(shape, |(_, _, input)| noise(rms[input % rms.len()], &mut generator));
    Voltages::new(data, Inputs::single_pol(shape.2).unwrap()).unwrap()
}

/// The share that is masked is the rate within a tenth. There are so many blocks that three standard deviations of a
/// right share are less than that, and so few that it takes no minutes.
#[track_caller]
fn check(found: &Interference, rate: f64) {
    let blocks = found.mask.masked().len() as f64;
    let scatter = 3.0 / (rate * blocks).sqrt();
    assert!(scatter <= 0.1, "{scatter}: too few blocks to tell");
    let ratio = found.mask.masked_share() / rate;
    println!("{ratio:.3} of a rate of {rate}");
    assert!((ratio - 1.0).abs() <= 0.1, "{ratio} of the rate");
    assert!(found.undecided.iter().all(|&undecided| !undecided));
}

fn mask<V: Quantised>(voltages: &Voltages<V>, spectra: usize, rate: f64, combining: Combining) -> Interference {
    let sums = power_sums(&Backend::cpu(), voltages, spectra).unwrap();
    Masker::new(rate).unwrap().with_combining(combining).mask(&sums).unwrap()
}

#[test]
fn a_single_input_of_4_bits_is_masked_at_the_rate_that_was_asked_for() {
    for (seed, rms) in [0.8, 2.0, 3.0, 4.5].into_iter().enumerate() {
        let noise = voltages::<Complex4>((500, 250 * 128, 1), &[rms], seed as u64);
        println!("rms {rms}");
        check(&mask(&noise, 128, 0.02, Combining::Mean), 0.02);
    }
}

#[test]
fn a_low_rate_is_as_good_as_a_high_one_where_nothing_is_clipped() {
    let noise = voltages::<Complex<i8>>((500, 1000 * 64, 1), &[12.0], 50);
    check(&mask(&noise, 64, 0.002, Combining::Mean), 0.002);
}

#[test]
fn a_single_input_of_8_bits_is_masked_at_the_rate_that_was_asked_for() {
    for (seed, rms) in [1.0, 16.0, 50.0].into_iter().enumerate() {
        let noise = voltages::<Complex<i8>>((500, 250 * 128, 1), &[rms], 10 + seed as u64);
        println!("rms {rms}");
        check(&mask(&noise, 128, 0.02, Combining::Mean), 0.02);
    }
}

#[test]
fn unquantised_noise_of_few_and_of_many_samples_is_masked_at_the_rate_that_was_asked_for() {
    for (seed, (spectra, blocks)) in [(32, 60_000), (64, 50_000), (700, 50_000)].into_iter().enumerate() {
        let noise = voltages::<Complex<f32>>((500, blocks / 500 * spectra, 1), &[1e-3], 20 + seed as u64);
        println!("{spectra} spectra");
        check(&mask(&noise, spectra, 0.02, Combining::Mean), 0.02);
    }
}

#[test]
fn the_mean_of_inputs_at_several_levels_is_masked_at_the_rate_that_was_asked_for() {
    let levels = [1.0, 2.0, 2.8, 3.5];
    let noise = voltages::<Complex4>((500, 100 * 64, 4), &levels, 30);
    check(&mask(&noise, 64, 0.02, Combining::Mean), 0.02);
    let noise = voltages::<Complex<i8>>((500, 100 * 64, 4), &[8.0, 20.0, 30.0, 45.0], 31);
    check(&mask(&noise, 64, 0.02, Combining::Mean), 0.02);
}

#[test]
fn any_of_several_inputs_is_masked_at_the_rate_that_was_asked_for() {
    let noise = voltages::<Complex4>((500, 120 * 64, 4), &[2.0, 3.0], 32);
    check(&mask(&noise, 64, 0.02, Combining::Any), 0.02);
}

#[test]
fn missing_samples_do_not_change_the_rate() {
    // From 60 to 128 of 128 spectra of each of two inputs.
    let (channels, blocks) = (500, 100);
    let noise = voltages::<Complex4>((channels, blocks * 128, 2), &[2.5], 33);
    let missing = |block: usize, input: usize| (block * 37 + input * 11) % 69;
    let presence = Array2::from_shape_fn((blocks * 128, 2), |(time, input)| time % 128 >= missing(time / 128, input));
    let noise = noise.with_presence(presence).unwrap();
    let sums = power_sums(&Backend::cpu(), &noise, 128).unwrap();
    assert!((0..blocks).all(|block| sums.count()[(block, 1)] == 128 - missing(block, 1) as u64));
    let masker = Masker::new(0.02).unwrap().with_least_samples(0.4).unwrap();
    check(&masker.mask(&sums).unwrap(), 0.02);
}

#[test]
fn thresholds_have_half_of_the_false_alarms_on_each_side() {
    // Of exponential powers, which complex Gaussian noise has.
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(40);
    for (count, trials) in [(32u64, 200_000), (256, 200_000)] {
        let rate = 0.02;
        let thresholds = Thresholds::gaussian(count, rate).unwrap();
        let (mut below, mut above) = (0, 0);
        for _ in 0..trials {
            let (mut first, mut second) = (0.0, 0.0);
            for _ in 0..count {
                let power: f64 = rand_distr::Exp1.sample(&mut generator);
                first += power;
                second += power * power;
            }
            let value = spectral_kurtosis(count, first, second);
            below += usize::from(value < thresholds.lower);
            above += usize::from(value > thresholds.upper);
        }
        for (side, alarms) in [("below", below), ("above", above)] {
            let ratio = alarms as f64 / (trials as f64 * rate / 2.0);
            println!("{count}, {side}: {ratio:.3}");
            assert!((ratio - 1.0).abs() < 0.1, "{count}, {side}: {ratio}");
        }
    }
}
