//! Configurations as text, with the feature `serde`.
#![cfg(feature = "serde")]

use fringes_simulator::{Arrival, PerInput, Simulation, Simulator};

#[test]
fn a_configuration_comes_back_as_it_was() {
    let simulation = crate::cuts::everything();
    let text = serde_json::to_string_pretty(&simulation).unwrap();
    let back: Simulation = serde_json::from_str(&text).unwrap();
    // Angles pass through degrees: they may differ in the last bit, and what is written again does not.
    let again: Simulation = serde_json::from_str(&serde_json::to_string(&back).unwrap()).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&back).unwrap());
    assert_eq!(
        (&back.tones, &back.loss, &back.clocks, &back.adc),
        (&simulation.tones, &simulation.loss, &simulation.clocks, &simulation.adc)
    );
    assert_eq!(back.sources[1..], simulation.sources[1..]);
    let delay = |simulation| Simulator::new(simulation).unwrap().truth().source_delay_samples(0, 2, 123_456).unwrap();
    assert!((delay(back) - delay(simulation)).abs() < 1e-9);
}

#[test]
fn what_is_left_out_has_its_default_and_what_is_unknown_is_an_error() {
    let text = r#"{"antennas": 2, "pols": 1, "sample_rate_hz": 1e8, "receiver_rms": [1.0, 2.0],
        "sources": [{"flux": [1.0, 1.0], "arrival": {"given": {"samples": [0.0, 3.5]}}}],
        "adc": {"level": {"rms": 12.0}}}"#;
    let simulation: Simulation = serde_json::from_str(text).unwrap();
    assert_eq!(simulation.receiver_rms, PerInput::Each(vec![1.0, 2.0]));
    assert_eq!(simulation.sources[0].arrival, Arrival::Given { samples: vec![0.0, 3.5], rate: vec![] });
    assert_eq!((simulation.seed, simulation.adc.offset_lsb.of(0)), (0, 0.0));
    let minimal: Simulation = serde_json::from_str(r#"{"antennas": 2, "pols": 1, "sample_rate_hz": 1e8}"#).unwrap();
    assert_eq!(minimal, Simulation::new(2, 1, 1e8));
    for (good, bad) in [
        ("\"pols\"", "\"polls\": 1, \"pols\""),
        ("\"flux\"", "\"fluxx\": 1, \"flux\""),
        ("\"level\"", "\"levels\": 1, \"level\""),
        ("\"samples\"", "\"sample\": 1, \"samples\""),
        ("\"given\"", "\"give\""),
        ("\"antennas\": 2", "\"antennas\": \"two\""),
    ] {
        let error = serde_json::from_str::<Simulation>(&text.replace(good, bad)).unwrap_err().to_string();
        assert!(error.contains("unknown") || error.contains("invalid type"), "{error}");
    }
    let sky = text.replace(r#"{"given": {"samples": [0.0, 3.5]}}"#, r#"{"sky": "nowhere"}"#);
    assert!(serde_json::from_str::<Simulation>(&sky).unwrap_err().to_string().contains("azel"));
}
