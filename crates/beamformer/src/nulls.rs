//! Weights that do not hear given directions.

use fringes_types::{BeamWeights, Dimension};
use ndarray::{Array3, ArrayView3, Axis};
use num_complex::Complex;
use rayon::prelude::*;

use crate::BeamformerError;
use crate::set::check_length;

type C32 = Complex<f32>;
type C64 = Complex<f64>;

/// Part of a direction's weights that must be left beside those before it for it to be a direction of its own.
const OWN_DIRECTION: f64 = 1e-6;
/// Part of a beam's weights that must be left.
const LEFT: f64 = 1e-4;

/// The weights nearest to `weights` whose beams hear nothing from some directions, given by the weights `[direction]
/// [channel][input]` that would steer beams at them ([`BeamSteering`](crate::BeamSteering)).
///
/// ```text
/// w' = w - N (N^H N)^-1 N^H w,   so that   sum_input w'[input] conj(n[input]) = 0   for each column n of N
/// ```
///
/// in each channel: the least squares solution, by orthogonalisation in f64. A source in such a direction has voltages
/// proportional to `conj(n)`. Where the array's gains differ between inputs, `n` is the conjugate of the voltages that
/// the source makes. An input whose weight is 0 in all directions keeps its weight. Directions that are alike within
/// 1e-6 count once.
///
/// A null costs gain where it is close to the beam: the part of `w` that looks there is taken away.
///
/// # Precision
/// What is left is the rounding of `w'` to f32: `|sum w' conj(n)| <= 2^-24 |w'| |n|`, with the norms of both vectors.
///
/// ```
/// use std::f32::consts::TAU;
///
/// use fringes_beamformer::with_nulls;
/// use fringes_types::{BeamWeights, Complex};
/// use ndarray::Array3;
///
/// // A line of 16 antennas that looks up, and an interferer whose phase falls by 0.11 turns from one to the next.
/// let toward = |turns: f32| Array3::from_shape_fn((1, 1, 16), |(_, _, n)| Complex::cis(TAU * turns * n as f32));
/// let weights = with_nulls(&BeamWeights::new(toward(0.0))?, &BeamWeights::new(toward(0.11))?)?;
///
/// let response = |turns: f32| (&weights.data() * &toward(-turns)).sum().norm();
/// assert!(response(0.0) > 14.0 && response(0.11) < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`TypesError::Dimension`](fringes_types::TypesError::Dimension) for directions with other channels or inputs,
/// [`BeamformerError::Nulled`] for a beam that looks where it shall not hear.
pub fn with_nulls(weights: &BeamWeights, directions: &BeamWeights) -> Result<BeamWeights, BeamformerError> {
    check_length("weights of nulls", Dimension::Channel, weights.channels(), directions.channels())?;
    check_length("weights of nulls", Dimension::Input, weights.inputs(), directions.inputs())?;
    let mut data: Array3<C32> = weights.data().to_owned();
    data.axis_iter_mut(Axis(1)).into_par_iter().enumerate().try_for_each(|(channel, mut beams)| {
        let basis = basis(directions.data(), channel);
        for (beam, mut weights) in beams.outer_iter_mut().enumerate() {
            let mut vector: Vec<C64> = weights.iter().map(wide).collect();
            let before = norm(&vector);
            remove(&basis, &mut vector);
            if norm(&vector) < LEFT * before {
                return Err(BeamformerError::Nulled { beam, channel });
            }
            weights.iter_mut().zip(&vector).for_each(|(weight, value)| {
                *weight = C32::new(value.re as f32, value.im as f32);
            });
        }
        Ok(())
    })?;
    Ok(BeamWeights::new(data)?)
}

/// Orthonormal vectors that span the directions of a channel.
fn basis(directions: ArrayView3<'_, C32>, channel: usize) -> Vec<Vec<C64>> {
    let mut basis: Vec<Vec<C64>> = Vec::new();
    for direction in directions.index_axis(Axis(1), channel).outer_iter() {
        let mut vector: Vec<C64> = direction.iter().map(wide).collect();
        let before = norm(&vector);
        remove(&basis, &mut vector);
        let left = norm(&vector);
        if left > OWN_DIRECTION * before {
            vector.iter_mut().for_each(|value| *value /= left);
            basis.push(vector);
        }
    }
    basis
}

/// Takes the parts along orthonormal vectors away; twice, so that what rounding left of them goes too.
fn remove(basis: &[Vec<C64>], vector: &mut [C64]) {
    for _ in 0..2 {
        for unit in basis {
            let part: C64 = unit.iter().zip(&*vector).map(|(unit, value)| unit.conj() * value).sum();
            vector.iter_mut().zip(unit).for_each(|(value, unit)| *value -= part * unit);
        }
    }
}

fn norm(vector: &[C64]) -> f64 {
    vector.iter().map(C64::norm_sqr).sum::<f64>().sqrt()
}

fn wide(value: &C32) -> C64 {
    C64::new(value.re.into(), value.im.into())
}
