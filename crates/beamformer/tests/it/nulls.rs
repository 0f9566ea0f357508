//! Nulls: weights that do not hear given directions.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::f64::consts::TAU;

use fringes_beamformer::{BeamformerError, with_nulls};
use fringes_types::{BeamWeights, Complex, Dimension, TypesError};
use ndarray::Array3;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// Weights `[direction][channel][input]` toward directions, of antennas at random places with `pols` polarisations; a
/// direction is two numbers of turns for each unit of length.
fn toward(directions: &[[f64; 2]], antennas: usize, pols: usize) -> BeamWeights {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let places: Vec<[f64; 2]> = (0..antennas).map(|_| [0; 2].map(|_| rng.random_range(-1.0..1.0))).collect();
    let data = Array3::from_shape_fn((directions.len(), 3, antennas * pols), |(direction, channel, input)| {
        let ([x, y], [l, m]) = (places[input / pols], directions[direction]);
        let value = C64::cis(-TAU * (1.0 + 0.1 * channel as f64) * (x * l + y * m));
        C32::new(value.re as f32, value.im as f32)
    });
    BeamWeights::new(data).unwrap()
}

/// Responses `[beam][channel]` to a source in a direction.
fn response(weights: &BeamWeights, direction: &BeamWeights, beam: usize, channel: usize, number: usize) -> f64 {
    let wide = |value: C32| C64::new(value.re.into(), value.im.into());
    let inputs = 0..weights.inputs();
    let product =
        |input| wide(weights.data()[(beam, channel, input)]) * wide(direction.data()[(number, channel, input)]).conj();
    inputs.map(product).sum::<C64>().norm()
}

fn norm(weights: &BeamWeights, beam: usize, channel: usize) -> f64 {
    (0..weights.inputs()).map(|i| f64::from(weights.data()[(beam, channel, i)].norm_sqr())).sum::<f64>().sqrt()
}

#[test]
fn nulled_directions_are_not_heard_and_others_are() {
    let beams = toward(&[[0.0, 0.0], [5.0, -3.0]], 48, 1);
    let nulls = toward(&[[1.2, 2.4], [-4.0, 0.7], [1.3, 2.4]], 48, 1);
    let nulled = with_nulls(&beams, &nulls).unwrap();
    for beam in 0..2 {
        for channel in 0..3 {
            let main = response(&nulled, &beams, beam, channel, beam);
            assert!(main > 40.0, "{main}");
            for null in 0..3 {
                let (before, after) =
                    (response(&beams, &nulls, beam, channel, null), response(&nulled, &nulls, beam, channel, null));
                let bound = 2f64.powi(-24) * norm(&nulled, beam, channel) * norm(&nulls, null, channel);
                assert!(after <= bound && after < 1e-6 * main && before > 1e-3 * main, "{before} {after} {bound}");
            }
        }
    }
}

#[test]
fn weights_move_no_further_than_they_must() {
    // The change is a combination of the nulls: nothing that is orthogonal to them changes.
    let (beams, nulls) = (toward(&[[0.3, 0.1]], 20, 1), toward(&[[2.0, 2.0], [-1.0, 3.0]], 20, 1));
    let nulled = with_nulls(&beams, &nulls).unwrap();
    let change = BeamWeights::new(&beams.data() - &nulled.data()).unwrap();
    let left = match with_nulls(&change, &nulls) {
        Err(BeamformerError::Nulled { beam: 0, .. }) => 0.0,
        Ok(left) => norm(&left, 0, 0),
        Err(other) => panic!("{other}"),
    };
    assert!(left < 1e-5 * norm(&change, 0, 0), "{left}");
}

#[test]
fn a_direction_given_twice_counts_once() {
    let (beams, once) = (toward(&[[0.0, 0.0]], 30, 2), toward(&[[2.0, 1.0]], 30, 2));
    let twice = toward(&[[2.0, 1.0], [2.0, 1.0]], 30, 2);
    assert_eq!(with_nulls(&beams, &once).unwrap(), with_nulls(&beams, &twice).unwrap());
    // Directions of nothing change nothing.
    let nothing = BeamWeights::new(Array3::zeros((1, 3, 60))).unwrap();
    assert_eq!(with_nulls(&beams, &nothing).unwrap(), beams);
    assert_eq!(with_nulls(&nothing, &once).unwrap(), nothing);
}

#[test]
fn a_beam_at_a_nulled_direction_and_other_shapes_are_refused() {
    let (beams, nulls) = (toward(&[[0.0, 0.0], [2.0, 1.0]], 30, 1), toward(&[[2.0, 1.0]], 30, 1));
    let error = with_nulls(&beams, &nulls).unwrap_err();
    assert!(matches!(error, BeamformerError::Nulled { beam: 1, .. }), "{error}");
    let error = with_nulls(&beams, &toward(&[[2.0, 1.0]], 31, 1)).unwrap_err();
    let dimension = Dimension::Input;
    let expected = TypesError::Dimension { array: "weights of nulls", dimension, expected: 30, actual: 31 };
    assert_eq!(error, expected.into());
}
