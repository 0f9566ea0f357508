//! Pulsars and pulsed interference.

use fringes_simulator::{Arrival, Level, PerInput, PointSource, Pulse, Simulation, Simulator};

#[test]
fn folded_at_its_period_a_pulsar_is_on_for_its_duty() {
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.adc.level = Level::Gain(PerInput::All(1.0));
    simulation.epoch_sample = 1_000;
    // Whole samples of delay, so that the edges of pulses are sharp; a period that is no whole number of samples.
    let arrival = Arrival::Given { samples: vec![0.0, 137.0], rate: vec![] };
    let mut source = PointSource::new(2.0).with_arrival(arrival);
    source.pulse = Some(Pulse { period_s: 1.2345678e-3, duty: 0.15, phase_turns: 0.0 });
    simulation.sources.push(source);
    let mut simulator = Simulator::new(simulation).unwrap();
    for start in [0u64, 987_654_321_000] {
        simulator.seek(start);
        let samples = simulator.next_f32(500_000).unwrap();
        let mut on = [0u64; 2];
        for (antenna, on) in on.iter_mut().enumerate() {
            let mut square = 0.0;
            for (time, &voltage) in samples.data().row(antenna).iter().enumerate() {
                let sample = start + time as u64;
                let phase = simulator.truth().pulse_phase(0, antenna, sample).unwrap().unwrap();
                // By hand: turns since the epoch.
                let later = if antenna == 1 { 137.0 } else { 0.0 };
                let turns = ((sample as f64 - 1_000.0 - later) / 1234.5678).rem_euclid(1.0);
                let apart = (turns - phase).abs();
                assert!(apart.min(1.0 - apart) < 1e-6);
                if (phase - 0.15).abs() > 1e-6 && phase > 1e-6 && phase < 1.0 - 1e-6 {
                    assert_eq!(voltage != 0.0, phase < 0.15, "{antenna} {sample} {phase}");
                }
                *on += u64::from(voltage != 0.0);
                square += f64::from(voltage).powi(2);
            }
            let fraction = *on as f64 / 500_000.0;
            assert!((fraction - 0.15).abs() < 1e-3, "{fraction}");
            assert!((square / *on as f64 / 2.0 - 1.0).abs() < 0.03);
            let rms = (square / 500_000.0).sqrt();
            assert!((rms / simulator.truth().rms_lsb(antenna).unwrap() - 1.0).abs() < 0.02);
        }
    }
}

#[test]
fn pulses_of_two_samples_alternate() {
    let mut simulation = Simulation::new(1, 1, 1.0);
    simulation.receiver_rms = PerInput::All(0.0);
    let mut source = PointSource::new(1.0);
    source.pulse = Some(Pulse { period_s: 2.0, duty: 0.5, phase_turns: 0.25 });
    simulation.sources.push(source);
    let samples = Simulator::new(simulation).unwrap().next_f32(1_000).unwrap();
    for (time, &voltage) in samples.data().row(0).iter().enumerate() {
        assert_eq!(voltage != 0.0, time % 2 == 0);
    }
}
