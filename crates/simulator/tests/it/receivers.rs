//! Receivers' noise and digitisers.

use fringes_simulator::{Arrival, Level, PerInput, PointSource, Simulation, Simulator};

use crate::spectra::averages;

fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let moment = |power| values.clone().map(|x| (x - mean).powi(power)).sum::<f64>() / count;
    (mean, moment(2), moment(4) / moment(2).powi(2))
}

#[test]
fn rms_and_offset_are_those_asked_for() {
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.receiver_rms = PerInput::Each(vec![3.0, 0.01]);
    simulation.adc.level = Level::Rms(PerInput::Each(vec![20.0, 9.0]));
    simulation.adc.offset_lsb = PerInput::Each(vec![0.0, 1.25]);
    let mut simulator = Simulator::new(simulation).unwrap();
    let count = 1 << 20;
    let samples = simulator.next_i16(count).unwrap();
    for (input, (rms, offset)) in [(20.0, 0.0), (9.0, 1.25)].into_iter().enumerate() {
        let row = samples.data().row(input).to_vec();
        let (mean, square, kurtosis) = moments(row.iter().map(|&x| f64::from(x)));
        // Five standard deviations, and the 1/12 of rounding.
        let expected: f64 = rms * rms + 1.0 / 12.0;
        assert!((mean - offset).abs() < 5.0 * rms / (count as f64).sqrt(), "{mean}");
        assert!((square / expected - 1.0).abs() < 5.0 * (2.0 / count as f64).sqrt(), "{square} {expected}");
        assert!((kurtosis - 3.0).abs() < 5.0 * (24.0 / count as f64).sqrt() + 0.005, "{kurtosis}");
        assert!((simulator.truth().rms_lsb(input).unwrap() - rms).abs() < 1e-9);
    }
    assert_eq!(simulator.counts().clamped_samples, [0, 0]);
}

#[test]
fn clamped_samples_are_counted() {
    let mut simulation = Simulation::new(1, 1, 1e6);
    simulation.adc.level = Level::Rms(PerInput::All(60.0));
    let mut simulator = Simulator::new(simulation).unwrap();
    let count = 1 << 20;
    let floats = simulator.next_f32(count).unwrap();
    assert_eq!(simulator.counts().clamped_samples, [0]);
    simulator.seek(0);
    let codes = simulator.next_i8(count).unwrap();
    let outside = floats.data().iter().filter(|x| !(-128.0..=127.0).contains(&x.round_ties_even())).count() as u64;
    assert_eq!(simulator.counts().clamped_samples, [outside]);
    // Beyond 127.5 / 60 = 2.13 standard deviations on one side, 128.5 / 60 on the other: 3.3 %.
    assert!((outside as f64 / count as f64 - 0.0329).abs() < 1e-3, "{outside}");
    for (code, float) in codes.data().iter().zip(floats.data()) {
        assert_eq!(f32::from(*code), float.round_ties_even().clamp(-128.0, 127.0));
    }
    assert_eq!(simulator.take_counts().clamped_samples, [outside]);
    assert_eq!(simulator.counts().clamped_samples, [0]);
}

#[test]
fn spectra_stay_white_and_inputs_apart_beyond_the_length_of_the_table() {
    // Four times the table of 2^22 values: a table read as it is would leave ripples of 2 % (of 1024 channels), five
    // times what is allowed here.
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.seed = 3;
    simulation.adc.level = Level::Rms(PerInput::All(1.0));
    let mut simulator = Simulator::new(simulation).unwrap();
    let length = 2048;
    let samples = simulator.next_f32(1 << 24).unwrap();
    let (a, b) = (samples.data().row(0).to_vec(), samples.data().row(1).to_vec());
    let sums = averages(&a, &b, length);
    let sigma = 1.0 / (sums.frames as f64).sqrt();
    let mut chi_square = (0.0, 0.0);
    for bin in 1..length / 2 {
        let (power, cross) = (sums.power_a[bin] - 1.0, sums.cross[bin].norm());
        assert!(power.abs() < 5.0 * sigma, "{bin}: {power}");
        assert!(cross < 4.5 * sigma, "{bin}: {cross}");
        chi_square.0 += (power / sigma).powi(2) / (length / 2 - 1) as f64;
        chi_square.1 += (cross / sigma).powi(2) / (length / 2 - 1) as f64;
    }
    // Neighbouring bins of a Hann window are correlated: the mean of 1023 squares is within 0.35 of 1.
    assert!((chi_square.0 - 1.0).abs() < 0.35 && (chi_square.1 - 1.0).abs() < 0.35, "{chi_square:?}");
}

#[test]
fn samples_far_apart_are_not_correlated() {
    let mut simulator = Simulator::new(Simulation::new(1, 1, 1e6)).unwrap();
    let samples = simulator.next_f32(1 << 21).unwrap();
    let row = samples.data().row(0).to_vec();
    for lag in [1usize, 15, 16, 31, 32, 511, 512, 513, 4095, 4096, 4097, 8192, 65_536] {
        let count = row.len() - lag;
        let sum: f64 = row.iter().zip(&row[lag..]).map(|(x, y)| f64::from(x * y) / 400.0).sum();
        assert!(sum.abs() < 4.0 * (count as f64).sqrt(), "{lag}: {sum}");
    }
}

#[test]
fn seeds_give_other_noise_and_the_same_seed_the_same() {
    let of = |seed| {
        let mut simulation = Simulation::new(1, 1, 1e6);
        simulation.seed = seed;
        Simulator::new(simulation).unwrap().next_i8(10_000).unwrap().into_data()
    };
    let (first, again, other) = (of(1), of(1), of(2));
    assert_eq!(first, again);
    let product: f64 = first.iter().zip(&other).map(|(&x, &y)| f64::from(x) * f64::from(y) / 400.0).sum();
    assert!(product.abs() < 4.0 * 100.0, "{product}");
}

#[test]
fn headers_say_rate_place_and_middle_of_the_band() {
    let mut simulator = Simulator::new(Simulation::new(3, 2, 2e8)).unwrap();
    simulator.seek(1 << 60);
    let samples = simulator.next_i8(100).unwrap();
    assert_eq!((samples.sample_rate_hz(), samples.first_sample(), samples.centre_hz()), (2e8, 1 << 60, Some(5e7)));
    assert_eq!((samples.inputs().antennas(), samples.inputs().pols(), samples.times()), (3, 2, 100));
    assert!(samples.presence().is_none());
    let packed = simulator.next_packed(12, 50).unwrap();
    assert_eq!((packed.first_sample(), packed.bits(), packed.times()), ((1 << 60) + 100, 12, 50));
    assert_eq!((packed.sample_rate_hz(), packed.centre_hz()), (2e8, Some(5e7)));
}

#[test]
fn bits_of_a_seed_stay_those_of_this_version() {
    // Who changes this changes everyone's simulations: say so in the changelog.
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.seed = 42;
    let arrival = Arrival::Given { samples: vec![0.0, 4.3], rate: vec![] };
    simulation.sources.push(PointSource::new(0.5).with_arrival(arrival));
    let samples = Simulator::new(simulation).unwrap().next_i8(10_000).unwrap();
    // FNV-1a.
    let hash = samples
        .data()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &code| (hash ^ u64::from(code as u8)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(hash, 0x503b_9ab7_8d79_c273, "{hash:#x}");
}
