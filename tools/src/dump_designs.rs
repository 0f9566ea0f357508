//! Prints designed filters with what they were designed for as one JSON object, for `tests/python/check_designs.py` to
//! design again.
//!
//! | key | cases |
//! |---|---|
//! | `remez`, `least_squares` | `{"taps", "bands", "filter"}`, a band `[from, to, gain, weight]` |
//! | `kaiser` | `{"taps", "cutoff", "attenuation_db", "beta", "filter"}` |
//! | `filters` | `{"name", "decimation", "bands", "ripple_db", "attenuation_db", "filter"}` |
//!
//! ```text
//! cargo run --release -p fringes-tools -- dump-designs > designs.json
//! ```

use fringes::design::{self, Band, DesignError, DesignMethod, DownConversionFilter, DownConversionFilterBuilder};
use serde_json::{Value, json};

use crate::end::End;

/// Runs the tool.
pub(crate) fn run() -> Result<(), End> {
    println!("{}", dumps().map_err(End::failed)?);
    Ok(())
}

/// All that is written.
fn dumps() -> Result<Value, DesignError> {
    Ok(json!({
        "remez": banded(design::remez, &remez_cases())?,
        "least_squares": banded(design::least_squares, &least_squares_cases())?,
        "kaiser": kaiser()?,
        "filters": filters()?,
    }))
}

/// A case of a design by bands.
type Case = (usize, Vec<Band>);

/// A low-pass filter.
fn low_pass(pass: f64, stop: f64, pass_weight: f64) -> Vec<Band> {
    vec![Band::pass(0.0, pass).with_weight(pass_weight), Band::stop(stop, 0.5)]
}

fn remez_cases() -> Vec<Case> {
    let mut cases = vec![
        (16, low_pass(0.1, 0.2, 1.0)),
        (17, low_pass(0.1, 0.2, 1.0)),
        (64, low_pass(0.05, 0.08, 0.1)),
        (101, low_pass(0.2, 0.215, 3.0)),
        (128, low_pass(0.05, 0.075, 0.005)),
        (255, vec![Band::stop(0.0, 0.1).with_weight(2.0), Band::pass(0.11, 0.3), Band::stop(0.31, 0.5)]),
        (512, low_pass(0.0125, 0.01875, 0.005)),
        (512, low_pass(0.1, 0.105, 1.0)),
        (513, low_pass(0.25, 0.2575, 0.1)),
        (1024, low_pass(0.4, 0.403, 1.0)),
    ];
    // The design of the field for the outer half discarded: stop bands with gaps between them.
    for (taps, decimation) in [(96, 8), (128, 8), (192, 16), (256, 16), (384, 32), (512, 32)] {
        let unit = 1.0 / f64::from(decimation);
        let mut bands = vec![Band::pass(0.0, 0.25 * unit).with_weight(0.005)];
        let stops = (1..=decimation / 2).map(f64::from).map(|k| ((k - 0.25) * unit, ((k + 0.25) * unit).min(0.5)));
        bands.extend(stops.map(|(from, to)| Band::stop(from, to)));
        cases.push((taps, bands));
    }
    cases
}

fn least_squares_cases() -> Vec<Case> {
    vec![
        (9, low_pass(0.1, 0.2, 1.0)),
        (63, low_pass(0.05, 0.08, 0.1)),
        (127, low_pass(0.05, 0.06, 1.0)),
        (255, vec![Band::stop(0.0, 0.1).with_weight(2.0), Band::pass(0.105, 0.3), Band::stop(0.305, 0.5)]),
        (511, low_pass(0.0125, 0.015, 0.005)),
    ]
}

/// Cases of a design by bands with their filters.
fn banded(
    design: impl Fn(usize, &[Band]) -> Result<Vec<f64>, DesignError>,
    cases: &[Case],
) -> Result<Vec<Value>, DesignError> {
    let case =
        |(taps, bands): &Case| Ok(json!({ "taps": taps, "bands": bands_of(bands), "filter": design(*taps, bands)? }));
    cases.iter().map(case).collect()
}

fn bands_of(bands: &[Band]) -> Vec<[f64; 4]> {
    bands.iter().map(|band| [band.from(), band.to(), band.gain(), band.weight()]).collect()
}

fn kaiser() -> Result<Vec<Value>, DesignError> {
    let cases = [(1, 0.2, 60.0), (16, 0.1, 15.0), (33, 0.25, 40.0), (128, 0.0625, 120.0), (512, 0.015, 80.0)];
    let case = |(taps, cutoff, attenuation_db)| {
        let filter = design::kaiser(taps, cutoff, attenuation_db)?;
        let beta = design::kaiser_beta(attenuation_db);
        let width = 0.03;
        Ok(json!({
            "taps": taps, "cutoff": cutoff, "attenuation_db": attenuation_db, "beta": beta, "filter": filter,
            "width": width, "reached_db": design::kaiser_attenuation_db(taps, width),
        }))
    };
    cases.into_iter().map(case).collect()
}

fn filters() -> Result<Vec<Value>, DesignError> {
    let kept = |decimation| DownConversionFilter::all_kept(decimation, 0.8);
    let cases: [(&str, DownConversionFilterBuilder); 9] = [
        ("meerkat_107_mhz", DownConversionFilter::meerkat_107_mhz()),
        ("meerkat_53_mhz", DownConversionFilter::meerkat_53_mhz()),
        ("meerkat_27_mhz", DownConversionFilter::meerkat_27_mhz()),
        ("all_kept 8", kept(8)),
        ("all_kept 17", kept(17)),
        ("least squares 8", DownConversionFilter::outer_half_discarded(8).method(DesignMethod::LeastSquares)),
        ("least squares, all_kept 8", kept(8).method(DesignMethod::LeastSquares)),
        ("Kaiser 8", DownConversionFilter::outer_half_discarded(8).method(DesignMethod::Kaiser)),
        ("Kaiser, all_kept 8", kept(8).method(DesignMethod::Kaiser)),
    ];
    let case = |(name, builder): (&str, DownConversionFilterBuilder)| {
        let filter = builder.build()?;
        Ok(json!({
            "name": name,
            "decimation": filter.decimation(),
            "bands": bands_of(filter.bands()),
            "ripple_db": filter.passband_ripple_db(),
            "attenuation_db": filter.stopband_attenuation_db(),
            "filter": filter.taps(),
        }))
    };
    cases.into_iter().map(case).collect()
}
