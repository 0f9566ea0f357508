//! Phases of fringes against the truth, and the truth against delays worked out by hand.

use std::f64::consts::TAU;

use fringes_simulator::{Arrival, Band, Clock, Level, PerInput, Placement, PointSource, Simulation, Simulator, Source};
use num_complex::Complex;

use crate::spectra::averages;

const LENGTH: usize = 4096;

/// Input `b`'s voltage over input `a`'s, of a simulation without noise: errors of frames' edges are 2 in 1000.
fn transfer(simulator: &mut Simulator, a: usize, b: usize, frames: usize) -> Vec<Complex<f64>> {
    let samples = simulator.next_f32(frames * LENGTH).unwrap();
    let sums = averages(&samples.data().row(b).to_vec(), &samples.data().row(a).to_vec(), LENGTH);
    (0..=LENGTH / 2).map(|bin| sums.cross[bin] / sums.power_b[bin]).collect()
}

#[test]
fn given_delays_are_phase_slopes_and_amplitudes_stay() {
    let mut simulation = Simulation::new(4, 1, 1.0);
    simulation.receiver_rms = PerInput::All(0.0);
    let samples = vec![0.0, 3.0, 4.37, -7.81];
    simulation.sources.push(PointSource::new(1.0).with_arrival(Arrival::Given { samples, rate: vec![] }));
    let mut simulator = Simulator::new(simulation).unwrap();
    for (antenna, delay) in [(1, 3.0), (2, 4.37), (3, -7.81)] {
        let found = transfer(&mut simulator, 0, antenna, 300);
        for bin in (LENGTH / 20..=LENGTH * 9 / 20).step_by(7) {
            let frequency = bin as f64 / LENGTH as f64;
            let expected = Complex::cis(-TAU * frequency * delay);
            assert!((found[bin] - expected).norm() < 3e-3, "antenna {antenna}, {frequency}: {}", found[bin] / expected);
            let truth = simulator.truth().coherence(antenna, 0, frequency, 0).unwrap();
            assert!((truth - expected).norm() < 1e-6);
        }
    }
}

#[test]
fn fringes_in_noise_are_the_truth_within_five_standard_deviations() {
    let mut simulation = Simulation::new(2, 1, 1e8);
    simulation.seed = 5;
    simulation.receiver_rms = PerInput::Each(vec![2.0, 0.5]);
    for (flux, samples) in [(0.5, vec![0.0, 5.3]), (0.25, vec![2.2, -11.1])] {
        simulation.sources.push(PointSource::new(flux).with_arrival(Arrival::Given { samples, rate: vec![] }));
    }
    let mut simulator = Simulator::new(simulation).unwrap();
    let samples = simulator.next_i16(2_000 * 1024).unwrap();
    let row = |input| samples.data().row(input).mapv(f32::from).to_vec();
    let sums = averages(&row(1), &row(0), 1024);
    let truth = simulator.truth();
    let mut chi_square = 0.0;
    let bins: Vec<usize> = (8..=460).collect();
    for &bin in &bins {
        let expected = truth.coherence(1, 0, bin as f64 / 1024.0 * 1e8, 0).unwrap();
        // Rounding takes 1 / (12 rms^2) of each input, edges of frames less than 1e-3.
        let error = (sums.coherence(bin) - expected).norm();
        let sigma = (1.0 - expected.norm_sqr()) / (sums.frames as f64).sqrt();
        assert!(error < 5.0 * sigma + 3e-3, "{bin}: {error} {sigma}");
        chi_square += (error / sigma).powi(2) / bins.len() as f64;
        let power = truth.power(1, bin as f64 / 1024.0 * 1e8).unwrap() + 1.0 / 12.0;
        assert!((sums.power_a[bin] / power - 1.0).abs() < 5.0 / (sums.frames as f64).sqrt() + 3e-3);
    }
    // Across its direction an error of a coherence c is 1 / sqrt(1 - c^2) of that along it: c^2 is up to 0.12 here, and
    // the mean square 1 to 1.07. Neighbouring bins are correlated: five standard deviations of the mean are 0.33.
    assert!(chi_square > 0.67 && chi_square < 1.4, "{chi_square}");
}

#[test]
fn rates_turn_the_fringe() {
    let mut simulation = Simulation::new(2, 1, 1.0);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.epoch_sample = 1_000_000;
    let arrival = Arrival::Given { samples: vec![0.0, 2.25], rate: vec![0.0, 1e-6] };
    simulation.sources.push(PointSource::new(1.0).with_arrival(arrival));
    let mut simulator = Simulator::new(simulation).unwrap();
    for start in [0u64, 1_000_000, 4_000_000] {
        simulator.seek(start);
        let frames = 20;
        let found = transfer(&mut simulator, 0, 1, frames);
        let middle = start + (frames * LENGTH / 2) as u64;
        let delay = 2.25 + 1e-6 * (middle as f64 - 1e6);
        assert!((simulator.truth().source_delay_samples(0, 1, middle).unwrap() - delay).abs() < 1e-12);
        // Within a call the delay changes by 0.08, which leaves a bin off by 0.005 in 20 frames; 1600 bins are
        // averaged.
        let bins = 200..1800;
        let off = |bin: usize| {
            let frequency = bin as f64 / LENGTH as f64;
            -(found[bin] * Complex::cis(TAU * frequency * delay)).arg() / (TAU * frequency)
        };
        let mean = bins.clone().map(off).sum::<f64>() / bins.len() as f64;
        assert!(mean.abs() < 1e-3, "{start}: {mean}");
    }
}

#[test]
fn a_clock_that_is_ahead_hears_the_sky_later() {
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.sources.push(PointSource::new(1.0));
    simulation.clocks = vec![Clock::default(), Clock { offset_s: 3.3e-6, drift: 0.0 }];
    let mut simulator = Simulator::new(simulation).unwrap();
    let found = transfer(&mut simulator, 0, 1, 100);
    for bin in [300, 1000, 1800] {
        let expected = Complex::cis(-TAU * bin as f64 / LENGTH as f64 * 3.3);
        assert!((found[bin] - expected).norm() < 3e-3);
    }
    let mut simulation = simulator.simulation().clone();
    simulation.clocks[1].drift = 1e-5;
    let simulator = Simulator::new(simulation).unwrap();
    let later = simulator.truth().source_delay_samples(0, 1, 1_000_000).unwrap();
    assert!((later - 3.3 - 10.0).abs() < 1e-9, "{later}");
}

#[test]
fn an_antenna_nearer_to_the_source_hears_it_earlier() {
    // One light microsecond to the east: 100 samples.
    let mut simulation = Simulation::new(2, 1, 1e8);
    simulation.receiver_rms = PerInput::All(0.0);
    let antennas = "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 299.792458 0 0".parse().unwrap();
    simulation.array = Some(Placement { antennas, epoch: "2026-03-20T12:00:00".parse().unwrap() });
    let east: Source = "azel 90 0".parse().unwrap();
    simulation.sources.push(PointSource::new(1.0).with_arrival(Arrival::Sky(east)));
    let mut simulator = Simulator::new(simulation).unwrap();
    let delay = simulator.truth().source_delay_samples(0, 1, 123_456).unwrap();
    assert!((delay + 100.0).abs() < 1e-9, "{delay}");
    let samples = simulator.next_f32(10_000).unwrap();
    let data = samples.data();
    for time in 0..9_900 {
        assert!((data[(1, time)] - data[(0, time + 100)]).abs() < 1e-3);
    }
}

#[test]
fn a_source_on_the_sky_turns_the_fringe_as_the_geometry_says() {
    use fringes_delay_model::Geometry;
    let rate = 1e6;
    let mut simulation = Simulation::new(2, 1, rate);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.epoch_sample = 777;
    let antennas: fringes_simulator::AntennaArray =
        "# enu -30.7128 21.4438 1053.0\n a 0 0 0\n b 8000 3000 10".parse().unwrap();
    let epoch = "2026-03-20T16:30:00".parse().unwrap();
    let source: Source = "05:34:31.95,-22:00:52.2".parse().unwrap();
    simulation.array = Some(Placement { antennas: antennas.clone(), epoch });
    simulation.sources.push(PointSource::new(1.0).with_arrival(Arrival::Sky(source)));
    let geometry = Geometry::new(&antennas, source, epoch).unwrap();
    let mut simulator = Simulator::new(simulation).unwrap();
    let mut delays = Vec::new();
    for start in [0u64, 600_000_000] {
        let frames = 30;
        let middle = start + (frames * LENGTH / 2) as u64;
        let seconds = geometry.geometric_delays((middle as f64 - 777.0) / rate).unwrap().seconds;
        let delay = (seconds[0] - seconds[1]) * rate;
        let truth = simulator.truth().source_delay_samples(0, 1, middle).unwrap();
        assert!((truth - delay).abs() < 1e-6, "{truth} {delay}");
        simulator.seek(start);
        let found = transfer(&mut simulator, 0, 1, frames);
        for bin in [300, 1000, 1800] {
            let expected = Complex::cis(-TAU * bin as f64 / LENGTH as f64 * delay);
            assert!((found[bin] / expected).arg().abs() < 0.02, "{start} {bin}");
        }
        delays.push(delay);
    }
    // Ten minutes are 2.5 degrees of the sky: more than a sample.
    assert!((delays[1] - delays[0]).abs() > 0.5, "{delays:?}");
}

#[test]
fn a_band_has_the_power_of_the_truth_and_none_outside() {
    let mut simulation = Simulation::new(2, 1, 1.0);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.adc.level = Level::Gain(PerInput::All(1.0));
    let mut source = PointSource::new(4.0).with_arrival(Arrival::Given { samples: vec![0.0, 2.6], rate: vec![] });
    source.band = Some(Band { low_hz: 0.1, high_hz: 0.2 });
    simulation.sources.push(source);
    let mut simulator = Simulator::new(simulation).unwrap();
    let samples = simulator.next_f32(1_000 * 1024).unwrap();
    let sums = averages(&samples.data().row(1).to_vec(), &samples.data().row(0).to_vec(), 1024);
    let truth = simulator.truth();
    for bin in 3..510 {
        let frequency = bin as f64 / 1024.0;
        let power = truth.power(0, frequency).unwrap();
        let expected = if (0.1..0.2).contains(&frequency) { 4.0 } else { 0.0 };
        if (frequency - 0.1f64).abs().min((frequency - 0.2f64).abs()) > 0.017 {
            assert!((power - expected).abs() < 0.02, "{frequency}: {power}");
            assert!((sums.power_a[bin] - power).abs() < 5.0 * power / 31.0 + 1e-4, "{frequency}");
        }
        if (0.12..0.18).contains(&frequency) {
            let phase = (sums.coherence(bin) / truth.coherence(1, 0, frequency, 0).unwrap()).arg();
            assert!(phase.abs() < 0.01, "{frequency}: {phase}");
        }
    }
    let square: f64 = samples.data().row(0).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / samples.times() as f64;
    assert!((square.sqrt() / truth.rms_lsb(0).unwrap() - 1.0).abs() < 0.01, "{square}");
}
