//! Designs of filters by their public interface: that they are the best, what they do in bands, and bad arguments.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::f64::consts::TAU;

use fringes_backend::Backend;
use fringes_channelizer::design::{
    Band, DesignError, DesignMethod, DownConversionFilter, MAX_DECIMATION, MAX_TAPS, kaiser, kaiser_attenuation_db,
    kaiser_beta, least_squares, remez, response,
};
use fringes_channelizer::{ChannelizerError, DownConverter, down_convert};
use fringes_types::{Complex, Inputs, Samples};
use ndarray::Array2;

/// Signed gain of symmetric taps, by its definition.
fn gain(taps: &[f64], frequency: f64) -> f64 {
    let middle = (taps.len() - 1) as f64 / 2.0;
    taps.iter().enumerate().map(|(k, tap)| tap * (TAU * frequency * (k as f64 - middle)).cos()).sum()
}

fn assert_symmetric(taps: &[f64]) {
    assert!(taps.iter().zip(taps.iter().rev()).all(|(a, b)| a == b), "taps are not symmetric to the bit");
}

/// Peaks of the weighted error of taps over their bands: frequency and signed error, in ascending frequency.
fn peaks(taps: &[f64], bands: &[Band]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for band in bands {
        let error = |f: f64| band.weight() * (band.gain() - gain(taps, f));
        let steps = ((band.to() - band.from()) * taps.len() as f64 * 64.0).ceil().max(64.0) as usize;
        let width = (band.to() - band.from()) / steps as f64;
        let at = |i: usize| if i == steps { band.to() } else { band.from() + i as f64 * width };
        let errors: Vec<f64> = (0..=steps).map(|i| error(at(i))).collect();
        for i in 0..=steps {
            let size = |j: usize| errors[j] * errors[i].signum();
            let (first, last) = (i == 0, i == steps);
            if (!first && size(i - 1) > size(i)) || (!last && size(i + 1) >= size(i)) {
                continue;
            }
            let mut peak = (at(i), errors[i]);
            // The vertex of the parabola through three points, twice.
            for step in [width, width / 16.0] {
                let (before, after) = (error(peak.0 - step), error(peak.0 + step));
                let vertex = peak.0 - 0.5 * (after - before) / (after - 2.0 * peak.1 + before) * step;
                if !first && !last && error(vertex).abs() > peak.1.abs() {
                    peak = (vertex, error(vertex));
                }
            }
            found.push(peak);
        }
    }
    found
}

/// The theorem of alternation: taps are the best if their largest error comes, with alternating signs, at one point
/// more than there are taps that differ.
fn assert_the_best(taps: &[f64], bands: &[Band], tolerance: f64) {
    assert_symmetric(taps);
    let peaks = peaks(taps, bands);
    let largest = peaks.iter().fold(0.0f64, |largest, peak| largest.max(peak.1.abs()));
    let (mut alternations, mut sign) = (0, 0.0);
    for (_, error) in peaks.iter().filter(|peak| peak.1.abs() >= largest * (1.0 - tolerance)) {
        if error.signum() != sign {
            (alternations, sign) = (alternations + 1, error.signum());
        }
    }
    let needed = taps.len().div_ceil(2) + 1;
    assert!(alternations >= needed, "{} taps: {alternations} of {needed} alternations at {largest:e}", taps.len());
}

#[test]
fn ripples_are_equal_and_alternate_at_any_number_of_taps() {
    for taps in [16, 17, 31, 64, 101, 128, 129, 200, 255, 256, 383, 512, 513, 767, 1024] {
        // A transition of about four ripples, wherever it is.
        for (pass, weight) in [(0.02, 1.0), (0.11, 0.02), (0.3, 30.0)] {
            let bands = [Band::pass(0.0, pass), Band::stop(pass + 2.0 / taps as f64, 0.5).with_weight(weight)];
            assert_the_best(&remez(taps, &bands).unwrap(), &bands, 1e-6);
        }
    }
}

#[test]
fn ripples_are_equal_in_several_bands() {
    let bands = [
        Band::stop(0.0, 0.08).with_weight(3.0),
        Band::pass(0.11, 0.2).with_gain(0.5),
        Band::stop(0.24, 0.33),
        Band::pass(0.36, 0.42).with_gain(-2.0).with_weight(0.5),
        Band::stop(0.45, 0.5).with_weight(2.0),
    ];
    for taps in [61, 90, 151] {
        assert_the_best(&remez(taps, &bands).unwrap(), &bands, 1e-6);
    }
}

#[test]
fn small_equal_ripples_are_those_by_hand() {
    // One tap lies half way between the gains.
    let [tap] = remez(1, &[Band::pass(0.0, 0.1), Band::stop(0.2, 0.5)]).unwrap()[..] else { panic!("one tap") };
    assert!((tap - 0.5).abs() < 1e-15);
    // Three taps, bands that mirror each other: 1/2 + a cos with errors that are equal at 0 and at 0.1.
    let taps = remez(3, &[Band::pass(0.0, 0.1), Band::stop(0.4, 0.5)]).unwrap();
    let a = 1.0 / (1.0 + (TAU * 0.1).cos());
    for (tap, expected) in taps.iter().zip([0.5 * a, 0.5, 0.5 * a]) {
        assert!((tap - expected).abs() < 1e-14, "{tap} {expected}");
    }
    // Two taps have the gain g cos(pi f): equal errors at 0 and 0.25 are 1 - g = g cos(pi / 4).
    let taps = remez(2, &[Band::pass(0.0, 0.01), Band::stop(0.25, 0.5)]).unwrap();
    let g = 1.0 / ((TAU * 0.005).cos() + (TAU * 0.125).cos());
    assert!(taps.iter().all(|tap| (tap - 0.5 * g).abs() < 1e-14), "{taps:?} {g}");
}

#[test]
fn designs_converge_or_say_that_they_do_not() {
    let designs = |taps: usize, decimation: usize| {
        let kept = [0.5, 0.8, 0.95].map(|fraction| DownConversionFilter::all_kept(decimation, fraction).taps(taps));
        let [a, b, c] = kept;
        [DownConversionFilter::outer_half_discarded(decimation).taps(taps), a, b, c]
    };
    for decimation in [2, 3, 5, 8, 17, 32, 64] {
        for taps in [4, 6, 8, 12, 16, 18].map(|each| each * decimation) {
            for (i, design) in designs(taps, decimation).into_iter().enumerate() {
                for odd in [0, 1] {
                    let filter = design.clone().taps(taps + odd).build();
                    let filter = filter.unwrap_or_else(|error| panic!("{taps} / {decimation}, design {i}: {error}"));
                    assert!((filter.taps().iter().sum::<f64>() - 1.0).abs() < 1e-14);
                    assert_symmetric(filter.taps());
                }
            }
        }
    }
    // Ripples of 1e-15 and below.
    let deep = DownConversionFilter::outer_half_discarded(5).taps(160);
    assert!(matches!(deep.clone().build(), Err(DesignError::NotConverged { taps: 160, .. })));
    assert_eq!(deep.clone().method(DesignMethod::LeastSquares).build(), Err(DesignError::Undetermined { taps: 160 }));
    assert!(deep.method(DesignMethod::Kaiser).build().unwrap().stopband_attenuation_db() > 200.0);
}

#[test]
fn presets_are_as_documented() {
    // Decimation, taps, ripple in units of 1e-5 dB and attenuation in dB, as docs/operations/down-convert.md has them.
    for (builder, decimation, taps, ripple, attenuation) in [
        (DownConversionFilter::meerkat_107_mhz(), 8, 128, 4.96, 156.9),
        (DownConversionFilter::meerkat_53_mhz(), 16, 256, 4.85, 157.1),
        (DownConversionFilter::meerkat_27_mhz(), 32, 512, 4.77, 157.2),
    ] {
        let filter = builder.build().unwrap();
        assert_eq!((filter.decimation(), filter.taps().len()), (decimation, taps));
        assert!((filter.passband_ripple_db() * 1e5 - ripple).abs() < 0.005, "{}", filter.passband_ripple_db());
        assert!((filter.stopband_attenuation_db() - attenuation).abs() < 0.05, "{}", filter.stopband_attenuation_db());
        assert!(filter.largest_free_gain_db() < filter.passband_ripple_db());
        // The same with the gain between the ripples of the pass band, where it has not been scaled to 1 at 0.
        assert_the_best(&remez(taps, filter.bands()).unwrap(), filter.bands(), 1e-6);
        // As the down-converter rounds them.
        let rounded: Vec<f64> = filter.taps().iter().map(|&tap| f64::from(tap as f32)).collect();
        let stop = peaks(&rounded, &filter.bands()[1..]).iter().fold(0.0f64, |most, peak| most.max(peak.1.abs()));
        assert!(-20.0 * stop.log10() > 150.0, "{}", -20.0 * stop.log10());
    }
}

#[test]
fn other_methods_are_as_documented() {
    for (method, attenuation, kept_ripple, kept_attenuation) in [
        (DesignMethod::Equiripple, 156.9, 0.286, 81.5),
        (DesignMethod::LeastSquares, 132.4, 0.191, 58.6),
        (DesignMethod::Kaiser, 120.4, 0.022, 53.0),
    ] {
        let half = DownConversionFilter::outer_half_discarded(8).method(method).build().unwrap();
        assert!((half.stopband_attenuation_db() - attenuation).abs() < 0.05, "{}", half.stopband_attenuation_db());
        let kept = DownConversionFilter::all_kept(8, 0.8).method(method).build().unwrap();
        assert!((kept.passband_ripple_db() - kept_ripple).abs() < 0.0005, "{}", kept.passband_ripple_db());
        assert!((kept.stopband_attenuation_db() - kept_attenuation).abs() < 0.05, "{}", kept.stopband_attenuation_db());
        assert!((kept.pass_edge() - 0.05).abs() < 1e-15);
    }
}

#[test]
fn what_is_folded_into_the_kept_part_is_stopped() {
    for decimation in [2, 5, 8, 17] {
        let half = DownConversionFilter::outer_half_discarded(decimation).build().unwrap();
        let kept = DownConversionFilter::all_kept(decimation, 0.8).build().unwrap();
        for (filter, edge) in [(&half, 0.25), (&kept, 0.4)] {
            let least = 10f64.powf(-(filter.stopband_attenuation_db() - 1e-6) / 20.0);
            // Every frequency, in units of the output's rate, and what it is folded into.
            for i in 0..=20_000 {
                let frequency = f64::from(i) / 20_000.0 * 0.5 * decimation as f64;
                let folded = (frequency - frequency.round()).abs();
                if folded <= edge && frequency.round() != 0.0 {
                    let response = response(filter.taps(), frequency / decimation as f64).norm();
                    assert!(response <= least, "{decimation}: {frequency} has {response:e}");
                }
            }
        }
    }
}

#[test]
fn a_down_converter_with_a_design_stops_aliases() {
    let filter = DownConversionFilter::meerkat_107_mhz().build().unwrap();
    let (centre, times) = (0.23, 8192);
    let plan = DownConverter::designed(centre, &filter).unwrap();
    assert_eq!((plan.decimation(), plan.filter()), (8, filter.taps()));
    let power_db = |offset: f64| {
        let phase = |t: usize| TAU * ((centre + offset) * t as f64).rem_euclid(1.0);
        let tone =
            Array2::from_shape_fn((1, times), |(_, t)| Complex::new(phase(t).cos() as f32, phase(t).sin() as f32));
        let samples = Samples::new(tone, Inputs::single_pol(1).unwrap()).unwrap();
        let output = down_convert(&Backend::cpu(), &samples, &plan).unwrap();
        let power: f64 = output.data().iter().map(|value| f64::from(value.norm_sqr())).sum();
        10.0 * (power / output.times() as f64).log10()
    };
    for offset in [0.0, 0.01, -0.03125, 0.03] {
        assert!(power_db(offset).abs() < 1e-4, "{offset}: {}", power_db(offset));
    }
    // Folded onto the same places. The tone itself has rounding of -150 dB of its power.
    for offset in [0.125, -0.135, 0.15625, 0.25 + 0.02, -0.375 + 0.03, 0.5] {
        assert!(power_db(offset) < -130.0, "{offset}: {}", power_db(offset));
    }
}

#[test]
fn least_squares_are_least() {
    let bands = [Band::pass(0.0, 0.1), Band::stop(0.16, 0.5).with_weight(4.0)];
    for taps in [1, 2, 9, 24, 25] {
        let best = least_squares(taps, &bands).unwrap();
        assert_symmetric(&best);
        // The gradient of the sum of squares vanishes: errors are orthogonal to every cosine over the bands.
        for k in 0..taps.div_ceil(2) {
            let order = (taps - 1) as f64 / 2.0 - k as f64;
            let (mut sum, mut scale) = (0.0, 0.0);
            for band in &bands {
                let steps = 20_000;
                let width = (band.to() - band.from()) / f64::from(steps);
                for i in 0..steps {
                    let f = band.from() + (f64::from(i) + 0.5) * width;
                    let error = band.weight() * (band.gain() - gain(&best, f));
                    sum += error * (TAU * f * order).cos() * width;
                    scale += error.abs() * width;
                }
            }
            // The midpoint rule is right to about (width * taps)^2.
            assert!(sum.abs() <= 1e-6 * scale, "{taps} taps, order {order}: {sum:e} of {scale:e}");
        }
    }
    // Bands with hardly a gap: the truncated ideal low-pass filter.
    let ideal = least_squares(21, &[Band::pass(0.0, 0.125), Band::stop(0.125 + 1e-13, 0.5)]).unwrap();
    for (n, tap) in ideal.iter().enumerate() {
        let t = n as f64 - 10.0;
        let expected = if t == 0.0 { 0.25 } else { (TAU * 0.125 * t).sin() / (0.5 * TAU * t) };
        assert!((tap - expected).abs() < 1e-12, "{n}: {tap} {expected}");
    }
}

#[test]
fn kaiser_windows_reach_their_attenuation() {
    assert_eq!(kaiser_beta(20.0), 0.0);
    assert!((kaiser_beta(60.0) - 5.65326).abs() < 1e-12);
    assert!((kaiser_beta(50.0) - 4.533_514).abs() < 1e-6);
    for (taps, width) in [(65, 0.05), (128, 0.04), (301, 0.01)] {
        let expected = kaiser_attenuation_db(taps, width);
        let filter = kaiser(taps, 0.13, expected).unwrap();
        assert_symmetric(&filter);
        assert!((filter.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let bands = [Band::pass(0.0, 0.13 - 0.5 * width), Band::stop(0.13 + 0.5 * width, 0.5)];
        let largest = peaks(&filter, &bands).iter().fold(0.0f64, |largest, peak| largest.max(peak.1.abs()));
        let reached = -20.0 * largest.log10();
        // Kaiser's formulas are empirical: the documentation says 3 dB.
        assert!((reached - expected).abs() < 3.0, "{taps}: {reached} of {expected}");
    }
    assert_eq!(kaiser(1, 0.1, 50.0).unwrap(), [1.0]);
}

#[test]
fn the_response_is_the_sum() {
    let taps: Vec<f64> = (0..300).map(|k| 1.0 / (1.0 + f64::from(k)) - 0.01).collect();
    for f in [-0.5, -0.123, 0.0, 1e-4, 0.25, 0.499] {
        let exact = taps.iter().enumerate().map(|(k, &tap)| Complex::cis(-TAU * (f * k as f64).rem_euclid(1.0)) * tap);
        let exact: Complex<f64> = exact.sum();
        assert!((response(&taps, f) - exact).norm() < 1e-13, "{f}");
    }
}

#[test]
fn nonsense_is_an_error() {
    let low = [Band::pass(0.0, 0.1), Band::stop(0.2, 0.5)];
    type Design = fn(usize, &[Band]) -> Result<Vec<f64>, DesignError>;
    for design in [remez as Design, least_squares as Design] {
        assert_eq!(design(0, &low), Err(DesignError::Taps { actual: 0, limit: MAX_TAPS }));
        assert_eq!(design(4097, &low), Err(DesignError::Taps { actual: 4097, limit: MAX_TAPS }));
        assert_eq!(design(16, &[]), Err(DesignError::NoBands));
        for (from, to) in
            [(0.1, 0.5), (0.05, 0.5), (0.3, 0.2), (0.3, 0.3), (0.3, 0.51), (f64::NAN, 0.5), (0.3, f64::NAN)]
        {
            let error = design(16, &[low[0], Band::stop(from, to)]).unwrap_err();
            assert!(matches!(error, DesignError::Edges { index: 1, .. }), "{error}");
        }
        assert!(matches!(design(16, &[Band::pass(-0.1, 0.1)]), Err(DesignError::Edges { index: 0, .. })));
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = design(16, &[low[0].with_weight(weight), low[1]]).unwrap_err();
            assert!(matches!(error, DesignError::Band { index: 0, .. }), "{error}");
        }
        let error = design(16, &[low[0], low[1].with_gain(f64::INFINITY)]).unwrap_err();
        assert!(matches!(error, DesignError::Band { index: 1, .. }), "{error}");
        let high = [Band::stop(0.0, 0.2), Band::pass(0.3, 0.5)];
        assert_eq!(design(16, &high), Err(DesignError::HalfRate { index: 1, taps: 16 }));
        assert!(design(17, &high).is_ok());
    }
    // One band of one gain asks for nothing but the middle tap.
    let taps = remez(17, &[Band::pass(0.0, 0.5)]).unwrap();
    assert!(taps.iter().enumerate().all(|(k, tap)| (tap - if k == 8 { 1.0 } else { 0.0 }).abs() < 1e-14), "{taps:?}");
    for cutoff in [0.0, 0.5, f64::NAN] {
        assert!(matches!(kaiser(16, cutoff, 60.0), Err(DesignError::Parameter { .. })));
    }
    for attenuation in [-1.0, 301.0, f64::NAN] {
        assert!(matches!(kaiser(16, 0.1, attenuation), Err(DesignError::Parameter { .. })));
    }
    assert_eq!(kaiser(0, 0.1, 60.0), Err(DesignError::Taps { actual: 0, limit: MAX_TAPS }));
    for decimation in [0, 1, 1025, usize::MAX] {
        let error = DesignError::Decimation { actual: decimation, limit: MAX_DECIMATION };
        assert_eq!(DownConversionFilter::outer_half_discarded(decimation).build(), Err(error.clone()));
        assert_eq!(DownConversionFilter::all_kept(decimation, 0.8).build(), Err(error));
    }
    for fraction in [0.0, 1.0, -0.5, f64::NAN] {
        let error = DownConversionFilter::all_kept(8, fraction).build().unwrap_err();
        assert!(matches!(error, DesignError::Parameter { quantity: "pass fraction", .. }), "{error}");
    }
    let weightless = DownConversionFilter::outer_half_discarded(8).pass_weight(0.0).build();
    assert!(matches!(weightless, Err(DesignError::Band { index: 0, .. })));
    let filter = DownConversionFilter::outer_half_discarded(8).build().unwrap();
    assert_eq!(DownConverter::designed(2.0, &filter).unwrap_err(), ChannelizerError::Centre { actual: 2.0 });
    let error: ChannelizerError = DesignError::NoBands.into();
    assert_eq!(error.to_string(), "bands: expected at least one, found none");
}
