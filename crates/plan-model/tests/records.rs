//! Coefficients are what the measurement records say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use fringes_plan_model::Coefficients;
use serde_json::Value;

fn record(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_point_is_a_row_of_its_record() {
    let coefficients = Coefficients::h200().unwrap();
    let mut points = 0;
    for (name, curve) in &coefficients.curves {
        for point in &curve.points {
            let record = record(&point.record);
            assert_eq!(record["gpu"], Value::from(coefficients.gpu.as_str()), "{name}: {}", point.record);
            let params = |row: &&Value| {
                let params = row["params"].as_object().unwrap();
                params.len() == point.params.len()
                    && params.iter().all(|(key, value)| point.params.get(key).copied() == value.as_f64())
            };
            let rows = record["rows"].as_array().unwrap().iter();
            let rows: Vec<_> = rows
                .filter(|row| row["kernel"] == *point.kernel && row["variant"] == *point.variant)
                .filter(params)
                .collect();
            assert_eq!(rows.len(), 1, "{name} at {}: rows of {}", point.at, point.record);
            assert_eq!(rows[0][&curve.field].as_f64(), Some(point.value), "{name} at {}", point.at);
            if curve.field == "value" {
                assert_eq!(rows[0]["unit"], *curve.unit, "{name} at {}", point.at);
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
