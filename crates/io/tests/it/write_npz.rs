//! Visibilities as npz: names, types and shapes of the arrays, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

use std::fs::File;
use std::path::Path;

use fringes_io::IoError;
use fringes_io::write::{VisibilityCube, write_visibilities_npz};
use fringes_types::{BaselineOrder, Frequencies, Inputs, SpectrumClock, TypesError, Visibilities};
use ndarray::{Array1, Array2, Array3, array};
use ndarray_npy::NpzReader;
use num_complex::Complex;

const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.4e9, step_hz: 0.5e6 };

/// A value that tells its place.
fn value(integration: usize, channel: usize, baseline: usize) -> Complex<f32> {
    Complex::new((100 * integration + channel) as f32, baseline as f32)
}

fn cube(inputs: Inputs, channels: usize, integrations: usize) -> VisibilityCube {
    let baselines = inputs.triangle_len();
    let mut cube = VisibilityCube::new(inputs, channels, FREQUENCIES).unwrap();
    for integration in 0..integrations {
        let visibilities = Array2::from_shape_fn((channels, baselines), |(k, b)| value(integration, k, b));
        let weight = Array1::from_shape_fn(baselines, |b| (10 * integration + b) as f32);
        cube.push(0.5 + integration as f64, visibilities.view(), weight.view()).unwrap();
    }
    cube
}

#[test]
fn arrays_have_the_names_types_and_shapes_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("visibilities.npz");
    for (antennas, pols, channels, integrations) in [(3, 2, 4, 5), (1, 1, 1, 1), (2, 1, 1, 0), (5, 1, 60, 2)] {
        let inputs = Inputs::new(antennas, pols).unwrap();
        write_visibilities_npz(&path, &cube(inputs, channels, integrations)).unwrap();
        let mut npz = NpzReader::new(File::open(&path).unwrap()).unwrap();
        let mut names = npz.names().unwrap();
        names.sort();
        assert_eq!(names, ["baseline_inputs", "freq_hz", "time_s", "vis", "weight"]);
        let vis: Array3<Complex<f32>> = npz.by_name("vis").unwrap();
        let baselines = inputs.triangle_len();
        assert_eq!(vis, Array3::from_shape_fn((integrations, channels, baselines), |(t, k, b)| value(t, k, b)));
        let pairs: Array2<i64> = npz.by_name("baseline_inputs").unwrap();
        let mut position = 0;
        for a in 0..inputs.len() as i64 {
            for b in 0..=a {
                assert_eq!(pairs.row(position), array![a, b]);
                position += 1;
            }
        }
        assert_eq!(position, pairs.nrows());
        let freq_hz: Array1<f64> = npz.by_name("freq_hz").unwrap();
        assert_eq!(freq_hz, Array1::from_shape_fn(channels, |k| 1.4e9 + 0.5e6 * k as f64));
        let time_s: Array1<f64> = npz.by_name("time_s").unwrap();
        assert_eq!(time_s, Array1::from_shape_fn(integrations, |t| 0.5 + t as f64));
        let weight: Array2<f32> = npz.by_name("weight").unwrap();
        assert_eq!(weight, Array2::from_shape_fn((integrations, baselines), |(t, b)| (10 * t + b) as f32));
    }
}

#[test]
fn a_dump_in_any_order_gives_the_same_cube() {
    let inputs = Inputs::new(2, 2).unwrap();
    let full = Array2::from_shape_fn((2, 16), |(channel, position)| {
        let (a, b) = ((position / 4) as i64, (position % 4) as i64);
        Complex::new(a * b + channel as i64, a - b) // Hermitian
    });
    let clock = SpectrumClock::default();
    let dump = Visibilities::new(full, inputs, BaselineOrder::Full, Array1::from_elem(16, 9), 9, FREQUENCIES, clock);
    let dump = dump.unwrap();
    let mut cubes = Vec::new();
    for order in [BaselineOrder::Full, BaselineOrder::Triangle, BaselineOrder::AntennaPairs] {
        let mut cube = VisibilityCube::new(inputs, 2, FREQUENCIES).unwrap();
        cube.push_dump(1.5, &dump.reordered(order).unwrap()).unwrap();
        cubes.push(cube);
    }
    assert_eq!(cubes[0].data()[(0, 1, 4)], Complex::new(3.0, 1.0)); // V[2][1]
    assert_eq!(cubes[0].weight(), Array2::from_elem((1, 10), 9.0));
    assert!(cubes.iter().all(|cube| *cube == cubes[0]));
}

#[test]
fn arrays_of_another_shape_are_refused_and_leave_the_cube_as_it_was() {
    let inputs = Inputs::new(2, 1).unwrap();
    let mut cube = VisibilityCube::new(inputs, 4, FREQUENCIES).unwrap();
    for (channels, baselines, weights) in [(3, 3, 3), (4, 4, 3), (4, 3, 2)] {
        let error =
            cube.push(0.0, Array2::zeros((channels, baselines)).view(), Array1::zeros(weights).view()).unwrap_err();
        assert!(matches!(error, IoError::Types(TypesError::Dimension { .. })), "{error}");
    }
    assert_eq!(cube.integrations(), 0);
    assert!(VisibilityCube::new(inputs, 0, FREQUENCIES).is_err());
    assert!(VisibilityCube::new(inputs, usize::MAX / 8, FREQUENCIES).is_err());
}

#[test]
fn paths_that_cannot_be_written_are_typed_errors() {
    let cube = cube(Inputs::new(2, 1).unwrap(), 4, 1);
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("no such folder").join("visibilities.npz");
    assert!(matches!(write_visibilities_npz(&absent, &cube), Err(IoError::File { path, .. }) if path == absent));
    let full = Path::new("/dev/full");
    if full.exists() {
        assert!(matches!(write_visibilities_npz(full, &cube), Err(IoError::File { .. })));
    }
}
