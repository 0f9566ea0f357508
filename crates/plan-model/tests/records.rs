//! Coefficients are what the measurement records say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use fringes_plan_model::{Coefficients, Point};
use serde_json::Value;

fn record(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The one row of a point's kernel and sizes, and of a variant.
fn row<'a>(record: &'a Value, point: &Point, variant: &str) -> &'a Value {
    let params = |row: &&Value| {
        let params = row["params"].as_object().unwrap();
        params.len() == point.params.len()
            && params.iter().all(|(key, value)| point.params.get(key).copied() == value.as_f64())
    };
    let rows = record["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["kernel"] == *point.kernel && row["variant"] == *variant);
    let rows: Vec<_> = rows.filter(params).collect();
    assert_eq!(rows.len(), 1, "{variant} at {}: rows of {}", point.at, point.record);
    rows[0]
}

#[test]
fn every_point_is_a_row_of_its_record() {
    let coefficients = Coefficients::h200().unwrap();
    let mut points = 0;
    for (name, curve) in &coefficients.curves {
        for point in &curve.points {
            let record = record(&point.record);
            let gpu = record["gpu"].as_str().unwrap();
            // A row of one GPU may be in the record of several.
            let one = gpu.split_once(" x ").map_or(gpu, |two| two.1);
            assert_eq!(one, curve.gpu.as_deref().unwrap_or(&coefficients.gpu), "{name}: {}", point.record);
            assert!(one == gpu || point.params.get("gpus") == Some(&1.0), "{name}: {}", point.record);
            let row = row(&record, point, &point.variant);
            let value = row[&curve.field].as_f64().unwrap();
            match &point.less {
                None => assert_eq!(value, point.value, "{name} at {}", point.at),
                Some(less) => {
                    assert_eq!((curve.field.as_str(), curve.unit.as_str()), ("joules_per_run", "nJ/sample"));
                    // Two polarisations, and two samples a spectrum and channel.
                    let samples =
                        4.0 * ["antennas", "channels", "spectra"].map(|key| point.params[key]).iter().product::<f64>();
                    assert_eq!(less.samples, samples, "{name} at {}", point.at);
                    let timed = row["value"].as_f64().unwrap() * row["time_ms"].as_f64().unwrap() * 1e6;
                    assert_eq!(row["unit"], "Gsamples/s");
                    assert!((timed / samples - 1.0).abs() < 1e-12, "{name} at {}", point.at);
                    let other = self::row(&record, point, &less.variant)[&curve.field].as_f64().unwrap();
                    let value = (value - other) * 1e9 / samples;
                    assert!((point.value / value - 1.0).abs() < 1e-12, "{name} at {}: {value}", point.at);
                }
            }
            if curve.field == "value" {
                assert_eq!(row["unit"], *curve.unit, "{name} at {}", point.at);
            }
            points += 1;
        }
    }
    assert!(points > 50, "{points} points");
}

#[test]
fn points_grow_and_their_size_is_the_row_s() {
    for (name, curve) in &Coefficients::h200().unwrap().curves {
        assert!(curve.points.windows(2).all(|two| two[0].at < two[1].at), "{name}");
        for point in &curve.points {
            match curve.axis.as_str() {
                "none" => {}
                "taps" => assert!(point.variant.ends_with(&format!(", {} taps", point.at)), "{name}"),
                "inputs" if point.kernel == "scale" => {
                    assert_eq!(point.params.get("antennas"), Some(&(point.at / 2.0)), "{name}: two polarisations");
                }
                axis => assert_eq!(point.params.get(axis), Some(&point.at), "{name}"),
            }
        }
    }
}

#[test]
fn the_board_s_limit_is_in_its_record() {
    let board = Coefficients::h200().unwrap().board_watts;
    assert!(board.text.contains(&format!("{} W", board.value)), "{}", board.text);
    let text = record(&board.record).to_string();
    assert!(text.contains(&board.text), "{}", board.record);
}

#[test]
fn no_record_is_missing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements");
    for curve in Coefficients::h200().unwrap().curves.values() {
        for point in &curve.points {
            assert!(folder.join(&point.record).is_file(), "{}", point.record);
        }
    }
}
