//! Sine waves.

use std::f64::consts::TAU;

use fringes_simulator::{Arrival, Level, PerInput, Simulation, Simulator, Tone};

#[test]
fn tones_are_cosines_of_their_frequency_amplitude_and_phase() {
    let mut simulation = Simulation::new(3, 1, 1e6);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.adc.level = Level::Gain(PerInput::All(10.0));
    simulation.adc.offset_lsb = PerInput::All(0.5);
    let mut tone = Tone::new(123_456.7, 2.0);
    tone.phase_turns = 0.2;
    tone.antenna_gains = vec![1.0, 0.0, 0.5];
    tone.arrival = Arrival::Given { samples: vec![0.0, 0.0, 2.7], rate: vec![] };
    simulation.tones.push(tone);
    let mut simulator = Simulator::new(simulation).unwrap();
    for start in [0u64, 1_000_003, 1 << 33] {
        simulator.seek(start);
        let samples = simulator.next_f32(10_000).unwrap();
        for time in 0..10_000 {
            let cosine = |delay: f64| {
                // The fraction of a turn, exact to 2^-20 of it: the whole turns of 2^33 samples are taken off first.
                let cycles = 0.123_456_7;
                let whole = (start as f64 * cycles).fract() + cycles * (time as f64 - delay);
                (TAU * (whole + 0.2)).cos()
            };
            let data = samples.data();
            assert!((f64::from(data[(0, time)]) - 0.5 - 20.0 * cosine(0.0)).abs() < 1e-3, "{start} {time}");
            assert_eq!(data[(1, time)], 0.5);
            assert!((f64::from(data[(2, time)]) - 0.5 - 10.0 * cosine(2.7)).abs() < 1e-3);
        }
    }
    let rms = simulator.truth().rms_lsb(0).unwrap();
    assert!((rms - 20.0 / 2f64.sqrt()).abs() < 1e-9);
}

#[test]
fn a_tone_stands_in_its_channel() {
    let mut simulation = Simulation::new(1, 1, 1024.0);
    simulation.tones.push(Tone::new(300.0, 0.5));
    let mut simulator = Simulator::new(simulation).unwrap();
    let samples = simulator.next_i16(1024 * 200).unwrap();
    let row = samples.data().row(0).mapv(f32::from).to_vec();
    let sums = crate::spectra::averages(&row, &row, 1024);
    let highest = (0..512).max_by(|&a, &b| sums.power_a[a].total_cmp(&sums.power_a[b])).unwrap();
    assert_eq!(highest, 300);
    // Its power over that of a channel of noise: amplitude^2 / 4 times 1024 / 1.5 (Hann), of rms 1.
    let gain = simulator.truth().gain(0).unwrap();
    let expected = (0.25 / 4.0 * 1024.0 / 1.5 + 1.0) * gain * gain;
    assert!((sums.power_a[300] / expected - 1.0).abs() < 0.05, "{} {expected}", sums.power_a[300]);
}
