//! Polarised sources.

use fringes_simulator::{Level, PerInput, PointSource, Simulation, Simulator};

#[test]
fn polarisations_have_their_fluxes_and_their_correlation() {
    for correlation in [0.0, 0.3, -0.7, 1.0, -1.0] {
        let mut simulation = Simulation::new(2, 2, 1e6);
        simulation.receiver_rms = PerInput::All(0.0);
        simulation.adc.level = Level::Gain(PerInput::All(1.0));
        let mut source = PointSource::new(1.0);
        source.flux = [1.0, 4.0];
        source.correlation = correlation;
        simulation.sources.push(source);
        let mut simulator = Simulator::new(simulation).unwrap();
        let count = 1 << 20;
        let samples = simulator.next_f32(count).unwrap();
        let mean = |a: usize, b: usize| {
            let rows = samples.data().row(a).to_vec().into_iter().zip(samples.data().row(b).to_vec());
            rows.map(|(x, y)| f64::from(x) * f64::from(y)).sum::<f64>() / count as f64
        };
        let sigma = 1.0 / (count as f64).sqrt();
        assert!((mean(0, 0) - 1.0).abs() < 7.0 * sigma && (mean(1, 1) / 4.0 - 1.0).abs() < 7.0 * sigma);
        assert!((mean(0, 1) / 2.0 - correlation).abs() < 7.0 * sigma, "{correlation}: {}", mean(0, 1));
        // The other antenna hears the same.
        assert_eq!(samples.data().row(0), samples.data().row(2));
        assert!((mean(0, 3) / 2.0 - correlation).abs() < 7.0 * sigma);
        let truth = simulator.truth().coherence(1, 0, 2e5, 0).unwrap();
        assert!((truth.re - correlation).abs() < 1e-6 && truth.im.abs() < 1e-9);
    }
}

#[test]
fn sources_are_heard_where_their_gains_are_not_zero() {
    let mut simulation = Simulation::new(3, 1, 1e6);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.adc.level = Level::Gain(PerInput::All(1.0));
    let mut source = PointSource::new(1.0);
    source.antenna_gains = vec![1.0, 0.0, -2.0];
    simulation.sources.push(source);
    let samples = Simulator::new(simulation).unwrap().next_f32(10_000).unwrap();
    let data = samples.data();
    assert!(data.row(0).iter().any(|&x| x != 0.0) && data.row(1).iter().all(|&x| x == 0.0));
    assert!(data.row(0).iter().zip(data.row(2)).all(|(x, y)| -2.0 * x == *y));
}

#[test]
fn two_sources_are_not_correlated() {
    let mut simulation = Simulation::new(2, 1, 1e6);
    simulation.receiver_rms = PerInput::All(0.0);
    simulation.adc.level = Level::Gain(PerInput::All(1.0));
    for gains in [[1.0, 0.0], [0.0, 1.0]] {
        let mut source = PointSource::new(1.0);
        source.antenna_gains = gains.to_vec();
        simulation.sources.push(source);
    }
    let samples = Simulator::new(simulation).unwrap().next_f32(1 << 20).unwrap();
    let sum: f64 = samples.data().row(0).iter().zip(samples.data().row(1)).map(|(x, y)| f64::from(x * y)).sum();
    assert!(sum.abs() < 4.0 * 1024.0, "{sum}");
}
