//! Detected beams have the frequencies of the sky.

use std::f64::consts::TAU;

use fringes_beamformer::{BeamformerError, FrbBeams, FrbProducts};
use fringes_fft::Sign;
use fringes_types::{DetectedProducts, SpectrumClock, TypesError};
use ndarray::{Array2, Array3, Array4, Array5};

use super::{C32, gains, matrix, noise, run, small};

const CLOCK: SpectrumClock = SpectrumClock { first_sample: 1000, samples_between_spectra: 8, sample_rate_hz: 8e6 };

#[test]
fn frb_tones_come_out_at_their_frequency() {
    // Two channels of 1 MHz, a tone in each; 16 finer channels in pairs.
    let (width, frequencies) = (1e6, [10e6, 11e6]);
    for (conjugate, sign, centre, group) in [
        (false, Sign::Negative, true, 2),
        (false, Sign::Positive, true, 2),
        (true, Sign::Positive, true, 2),
        (true, Sign::Negative, false, 2),
        (false, Sign::Positive, false, 1),
        (true, Sign::Positive, false, 8),
        (false, Sign::Positive, false, 16),
    ] {
        let beams = FrbBeams::builder(Array4::ones((2, 1, 1, 1)), Array3::ones((2, 1, 1)), 64)
            .map(Array2::zeros((2, 1)))
            .upchannelisation(16)
            .group(group)
            .conjugate(conjugate)
            .time_sign(sign)
            .centre(centre)
            .build()
            .unwrap();
        for tone in -7..=7 {
            // A voltage of a positive frequency turns as exp(+2 pi i f t).
            let wave = Array5::from_shape_fn((16, 2, 1, 1, 1), |(t, frequency, _, _, _)| {
                let tone = if frequency == 0 { tone } else { 3 };
                C32::cis((TAU * f64::from(tone) * t as f64 / 16.0) as f32)
            });
            let detected = run(&beams, &wave, None).into_detected(&beams, &frequencies, width, CLOCK).unwrap();
            assert_eq!((detected.channels(), detected.products()), (32 / group, DetectedProducts::Power));
            let axis = detected.frequencies();
            for (frequency, tone) in [(0, tone), (1, 3)] {
                let of_tone = frequencies[frequency] + f64::from(tone) / 16.0 * width;
                let channels = (0..detected.channels()).filter(|&k| detected.data()[(k, 0, 0, 0)] > 100.0);
                // The middle of the sum is at most half of it away, but for the width of one finer channel.
                let near = channels
                    .filter(|&k| {
                        (axis.channel_hz(k) - of_tone).abs() <= 0.5 * (group as f64 - 1.0) / 16.0 * width + 1.0
                    })
                    .count();
                assert_eq!(near, 1, "{conjugate} {sign:?} {centre} {group} {tone}");
            }
            let loud = detected.data().iter().filter(|power| **power > 100.0).count();
            assert_eq!(loud, 2);
        }
    }
}

#[test]
fn frb_detected_beams_know_their_products_and_times() {
    let beams = small();
    let voltages = noise(&beams, 2 * beams.sum_times(), 1);
    let hz = [1e9, 1.1e9, 1.2e9];
    let detected = run(&beams, &voltages, None).into_detected(&beams, &hz, 1e8, CLOCK).unwrap();
    assert_eq!(detected.products(), DetectedProducts::StokesI);
    assert_eq!((detected.channels(), detected.times(), detected.beams()), (12, 2, 128));
    assert_eq!(detected.clock(), SpectrumClock { samples_between_spectra: 8 * 48, ..CLOCK });
    assert!((detected.frequencies().step_hz - 25e6).abs() < 1e-6);
    let apart = beams.into_builder().products(FrbProducts::PerPol).build().unwrap();
    let powers = run(&apart, &voltages, None);
    let (beam, pol) = (77, 1);
    // Channels of an even Nyquist zone: the sky's order is the other way, and so is the width.
    let expected = powers.data.clone();
    let hz = [1.2e9, 1.1e9, 1e9];
    let detected = powers.into_detected(&apart, &hz, -1e8, CLOCK).unwrap();
    assert_eq!((detected.products(), detected.beams()), (DetectedProducts::Power, 256));
    // The exponent is positive, nothing is conjugated: finer channels go down in baseband.
    assert_eq!(detected.data()[(4 + 1, 1, 2 * beam + pol, 0)], expected[(1, 2, 1, beam, pol)]);
}

#[test]
fn frb_frequencies_that_are_not_evenly_spaced_are_refused() {
    let beams = small();
    let voltages = noise(&beams, beams.sum_times(), 2);
    let powers = || run(&beams, &voltages, None);
    let error = powers().into_detected(&beams, &[1e9, 1.1e9, 1.25e9], 1e8, CLOCK).unwrap_err();
    assert!(matches!(error, BeamformerError::Spacing { index: 2, actual_hz: 1.25e9, .. }), "{error}");
    // As far apart as each other, but not as wide.
    let error = powers().into_detected(&beams, &[1e9, 1.1e9, 1.2e9], 5e7, CLOCK).unwrap_err();
    assert!(matches!(error, BeamformerError::Spacing { index: 1, .. }), "{error}");
    for width in [0.0, f64::NAN] {
        assert!(powers().into_detected(&beams, &[1e9, 1.1e9, 1.2e9], width, CLOCK).is_err());
    }
    let error = powers().into_detected(&beams, &[1e9], 1e8, CLOCK).unwrap_err();
    assert_eq!(error, BeamformerError::Shape { array: "frequencies", expected: vec![3], actual: vec![1] });
    let clock = SpectrumClock { samples_between_spectra: u64::MAX / 2, ..CLOCK };
    let error = powers().into_detected(&beams, &[1e9, 1.1e9, 1.2e9], 1e8, clock).unwrap_err();
    assert!(matches!(error, BeamformerError::Types(TypesError::TooLarge { .. })), "{error}");
    // Without finer channels any even spacing will do.
    let plain = FrbBeams::builder(gains((3, 1, 1, 5), 1), matrix((3, 1, 1), 2), 64).build().unwrap();
    let powers = run(&plain, &noise(&plain, 4, 3), None);
    let detected = powers.into_detected(&plain, &[1e9, 1.5e9, 2e9], 1e8, CLOCK).unwrap();
    assert_eq!((detected.frequencies().first_hz, detected.frequencies().step_hz), (1e9, 5e8));
}
