//! What is refused.

use fringes_simulator::{
    Arrival, Band, Clock, Level, Loss, LostRange, PerInput, PointSource, Pulse, Simulation, Simulator, SimulatorError,
    Tone,
};
use ndarray::Array2;

type Spoil = fn(&mut Simulation);

#[test]
fn configurations_that_cannot_be_are_errors_that_name_what_is_wrong() {
    let cases: [(&str, Spoil); 37] = [
        ("antenna", |s| s.antennas = 0),
        ("polarisations", |s| s.pols = 3),
        ("sample_rate_hz", |s| s.sample_rate_hz = 0.0),
        ("sample_rate_hz", |s| s.sample_rate_hz = f64::NAN),
        ("sample_rate_hz", |s| s.sample_rate_hz = f64::INFINITY),
        ("receiver_rms", |s| s.receiver_rms = PerInput::All(-1.0)),
        ("receiver_rms", |s| s.receiver_rms = PerInput::Each(vec![1.0; 3])),
        ("receiver_rms", |s| s.receiver_rms = PerInput::All(f64::NAN)),
        ("adc.level.rms", |s| s.adc.level = Level::Rms(PerInput::All(f64::INFINITY))),
        ("adc.level.gain", |s| s.adc.level = Level::Gain(PerInput::All(-1.0))),
        ("adc.offset_lsb", |s| s.adc.offset_lsb = PerInput::All(f64::NAN)),
        ("clocks", |s| s.clocks = vec![Clock::default()]),
        ("clocks[1].offset_s", |s| s.clocks = vec![Clock::default(), Clock { offset_s: 1e9, drift: 0.0 }]),
        ("clocks[0].drift", |s| s.clocks = vec![Clock { offset_s: 0.0, drift: f64::NAN }; 2]),
        ("sources[0].flux", |s| s.sources[0].flux = [1.0, -1.0]),
        ("sources[0].flux", |s| s.sources[0].flux = [f64::NAN, 1.0]),
        ("sources[0].correlation", |s| s.sources[0].correlation = 1.01),
        ("sources[0].antenna_gains", |s| s.sources[0].antenna_gains = vec![1.0]),
        ("sources[0].antenna_gains", |s| s.sources[0].antenna_gains = vec![1.0, f64::INFINITY]),
        ("band.low_hz", |s| s.sources[0].band = Some(Band { low_hz: -1.0, high_hz: 2.0 })),
        ("band.high_hz", |s| s.sources[0].band = Some(Band { low_hz: 3.0, high_hz: 2.0 })),
        ("band.high_hz", |s| s.sources[0].band = Some(Band { low_hz: 3.0, high_hz: 6e5 })),
        ("pulse.period_s", |s| s.sources[0].pulse = Some(Pulse { period_s: 1e-7, duty: 0.5, phase_turns: 0.0 })),
        ("pulse.duty", |s| s.sources[0].pulse = Some(Pulse { period_s: 1.0, duty: 1.0, phase_turns: 0.0 })),
        ("pulse.duty", |s| s.sources[0].pulse = Some(Pulse { period_s: 1.0, duty: f64::NAN, phase_turns: 0.0 })),
        ("pulse.phase", |s| s.sources[0].pulse = Some(Pulse { period_s: 1.0, duty: 0.5, phase_turns: f64::INFINITY })),
        ("arrival.samples", |s| s.sources[0].arrival = Arrival::Given { samples: vec![0.0], rate: vec![] }),
        ("arrival.samples", |s| s.sources[0].arrival = Arrival::Given { samples: vec![0.0, 1e10], rate: vec![] }),
        ("arrival.rate", |s| s.sources[0].arrival = Arrival::Given { samples: vec![0.0; 2], rate: vec![0.0, 1e-3] }),
        ("sources[0] has a direction", |s| s.sources[0].arrival = Arrival::Sky("azel 0 90".parse().unwrap())),
        ("tones[0].frequency_hz", |s| s.tones.push(Tone::new(6e5, 1.0))),
        ("tones[0].amplitude", |s| s.tones.push(Tone::new(1e5, f64::NAN))),
        ("loss.packet_samples", |s| s.loss = Some(Loss { packet_samples: 0, probability: 0.0, ranges: vec![] })),
        ("loss.probability", |s| s.loss = Some(Loss { packet_samples: 1, probability: 1.1, ranges: vec![] })),
        ("loss.probability", |s| s.loss = Some(Loss { packet_samples: 1, probability: f64::NAN, ranges: vec![] })),
        ("loss.ranges[0]", |s| {
            let range = LostRange { start: 5, end: 5, inputs: vec![] };
            s.loss = Some(Loss { packet_samples: 1, probability: 0.0, ranges: vec![range] });
        }),
        ("input of a lost range", |s| {
            let range = LostRange { start: 5, end: 6, inputs: vec![4] };
            s.loss = Some(Loss { packet_samples: 1, probability: 0.0, ranges: vec![range] });
        }),
    ];
    let mut good = Simulation::new(2, 2, 1e6);
    good.sources.push(PointSource::new(1.0));
    assert!(good.check().is_ok());
    for (index, (name, spoil)) in cases.into_iter().enumerate() {
        let mut simulation = good.clone();
        spoil(&mut simulation);
        let error = Simulator::new(simulation).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(name), "case {index}: {error}");
    }
}

#[test]
fn extremes_that_are_allowed_neither_panic_nor_give_numbers_that_are_none() {
    let mut simulation = Simulation::new(2, 1, 1e-300);
    simulation.sources.push(PointSource::new(1e30));
    simulation.sources[0].antenna_gains = vec![1e6, -1e6];
    simulation.receiver_rms = PerInput::All(1e15);
    simulation.adc.level = Level::Gain(PerInput::All(1e15));
    let mut simulator = Simulator::new(simulation).unwrap();
    assert!(simulator.next_f32(1000).unwrap().data().iter().all(|x| x.is_finite()));
    assert!(simulator.next_i8(1000).unwrap().data().iter().all(|&x| x == -128 || x == 127));
    let mut silent = Simulation::new(1, 1, 1e300);
    silent.receiver_rms = PerInput::All(0.0);
    assert!(Simulator::new(silent).unwrap().next_i8(1000).unwrap().data().iter().all(|&x| x == 0));
}

#[test]
fn buffers_that_do_not_fit_are_errors_and_nothing_is_written() {
    let mut simulator = Simulator::new(Simulation::new(2, 1, 1e6)).unwrap();
    let mut rows = [vec![7i8; 10], vec![7; 11]];
    let [a, b] = &mut rows;
    let error = simulator.fill(&mut [a.as_mut_slice(), b.as_mut_slice()]).unwrap_err();
    assert_eq!(error, SimulatorError::Buffer { what: "samples of a row", expected: 10, actual: 11 });
    let error = simulator.fill(&mut [a.as_mut_slice()]).unwrap_err();
    assert_eq!(error, SimulatorError::Buffer { what: "rows", expected: 2, actual: 1 });
    assert!(rows.iter().flatten().all(|&x| x == 7));
    let error = simulator.next_packed_in(Array2::zeros((2, 12)), 10, 10).unwrap_err();
    assert_eq!(error, SimulatorError::Buffer { what: "bytes of a row", expected: 13, actual: 12 });
    assert!(simulator.next_packed(17, 10).is_err() && simulator.next_packed(1, 10).is_err());
    assert!(simulator.next_samples_in(Array2::<i8>::zeros((10, 2)).reversed_axes()).is_err());
    assert!(simulator.next_i16(usize::MAX).is_err() && simulator.next_i8(usize::MAX / 32).is_err());
    assert_eq!(simulator.next_sample(), 0);
    assert_eq!(simulator.next_i8(0).unwrap().times(), 0);
    assert_eq!(simulator.next_packed(10, 0).unwrap().times(), 0);
    let truth = simulator.truth();
    assert!(truth.gain(2).is_err() && truth.cross_power(0, 2, 1.0, 0).is_err() && truth.is_lost(2, 0).is_err());
    assert!(truth.source_delay_samples(0, 0, 0).is_err() && truth.pulse_phase(0, 0, 0).is_err());
}

#[test]
fn a_sky_that_is_not_known_is_an_error_and_the_simulator_stays() {
    let mut simulation = crate::cuts::everything();
    simulation.epoch_sample = 0;
    let mut simulator = Simulator::new(simulation).unwrap();
    // Three thousand years later.
    simulator.seek(10_000_000_000_000_000_000);
    let mut rows = vec![vec![7i8; 10]; 6];
    let mut slices: Vec<&mut [i8]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
    assert!(matches!(simulator.fill(&mut slices), Err(SimulatorError::Delay(_))));
    assert!(rows.iter().flatten().all(|&x| x == 7));
    assert_eq!(simulator.next_sample(), 10_000_000_000_000_000_000);
}
