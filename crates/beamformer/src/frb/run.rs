//! The chain in one call.

use fringes_backend::Backend;
use fringes_cpu::blocks::parallel_units;
use fringes_cpu::frb::{frb_powers_into, frb_voltages_into, scratch_bytes};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{Dimension, TypesError, VoltageSample};
use ndarray::{Array2, Array4, Array5, ArrayView2, ArrayView5};
use num_complex::Complex;

use super::OPERATION;
use super::builder::check_shape;
use crate::{BeamformerError, FrbBeams, FrbPowers, FrbVoltages};

/// Sums of powers of beams, `[frequency][fine][time][beam][product]`, of voltages
/// `[time][frequency][pol][line][feed]`:
///
/// ```text
/// H[out][n] = sum_line matrix[out][line] gains[line][n] x[line][n]       (conj(x) where `conjugate`)
/// J[out][q] = sum_n H[out][n] exp(s 2 pi i n q / padded)                 s = +-1: `line_sign`
/// K[beam]   = J[out][map[b]]                                             beam = out * north_beams + b
/// Y[f]      = sum_t K[t] exp(s 2 pi i f t / U)                           of each U times; s: `time_sign`
/// P[u]      = factors[u] (blocks / good) sum abs(Y[f])^2
/// ```
///
/// The last sum is over the good ones of `blocks` blocks of `U` times, `group` neighbouring `f`, and polarisations or
/// not. `mask` is true for good blocks, `[frequency][block]`; without it all are good. Where none is good the sum is 0.
///
/// The CPU does it, with every thread of the rayon pool; the result has the same bits for any number of threads.
///
/// # Precision
/// f32. Over the fine channels, beams and products of a frequency and time, with `u = 2^-24`, all blocks good, `F` the
/// largest factor, `m` the number of times that the map names an output at most, `n = group + pols blocks + 6`, and
/// `a[n] = sum_line abs(w x)` of each polarisation, out and time:
///
/// ```text
/// sum |P - P_reference| <= (2.1 (lines + 5 + 7 log2(padded U)) + n) u F m padded U sum a^2
/// ```
///
/// The derivation is with `fringes_cpu::frb::frb_powers_into`.
///
/// # Errors
/// [`BeamformerError::Shape`] for voltages or a mask that do not fit; [`TypesError::Multiple`] for times that are no
/// whole number of sums; [`TypesError::TooLarge`] if there is no memory for the output;
/// [`DeviceError::NotOnGpu`](fringes_backend::DeviceError::NotOnGpu) if the backend is a GPU alone, and
/// [`DeviceError::MemoryLimit`](fringes_backend::DeviceError::MemoryLimit) if one unit of work exceeds the backend's
/// limit.
///
/// Source: the published chains of CHIME, CHORD and CASM; docs/frb.md.
pub fn frb_beams<V: VoltageSample>(
    backend: &Backend,
    beams: &FrbBeams,
    voltages: &FrbVoltages<'_, V>,
    mask: Option<ArrayView2<'_, bool>>,
) -> Result<FrbPowers, BeamformerError> {
    voltages.check(beams)?;
    let expected = beams.sum_times();
    if !voltages.times().is_multiple_of(expected) {
        let (dimension, actual) = (Dimension::Time, voltages.times());
        return Err(TypesError::Multiple { array: "voltages", dimension, expected, actual }.into());
    }
    if let Some(mask) = mask {
        let blocks = voltages.times() / beams.upchannelisation();
        check_shape("mask [frequency][block]", &[beams.frequencies(), blocks], mask.shape())?;
    }
    let _span = tracing::debug_span!("frb_beams", times = voltages.times(), beams = beams.beams()).entered();
    let parallel = cpu_units(backend, beams, beams.upchannelisation())?;
    run_on_cpu(beams, voltages.data(), mask, parallel)
}

/// Units of work that the backend's limit allows at a time.
fn cpu_units(backend: &Backend, beams: &FrbBeams, length: usize) -> Result<usize, BeamformerError> {
    let unit = scratch_bytes(beams.padded(), length);
    backend.check_cpu(OPERATION, unit)?;
    Ok(parallel_units(backend.memory_limit(), unit))
}

/// The chain on the CPU, of arrays that have been checked, at most `parallel` units of work at a time.
fn run_on_cpu<V: VoltageSample>(
    beams: &FrbBeams,
    voltages: ArrayView5<'_, V>,
    mask: Option<ArrayView2<'_, bool>>,
    parallel: usize,
) -> Result<FrbPowers, BeamformerError> {
    let times = voltages.dim().0 / beams.sum_times();
    let shape = beams.shape(times);
    let mut data = zeros("powers of FRB beams", &shape)?;
    let mut good = zeros("good blocks", &[beams.frequencies(), times])?;
    frb_powers_into(&beams.chain(), voltages, mask, parallel, &mut data, &mut good);
    Ok(FrbPowers {
        data: Array5::from_shape_vec(shape, data).map_err(|_| too_large("powers of FRB beams", &shape))?,
        good_blocks: Array2::from_shape_vec((beams.frequencies(), times), good)
            .map_err(|_| too_large("good blocks", &[beams.frequencies(), times]))?,
    })
}

/// Complex voltages `[frequency][time][chosen][pol]` of some of the beams, `K[chosen]` of [`frb_beams`], of any number
/// of times. A beam may be chosen twice.
///
/// # Precision
/// f32. With the names of [`frb_beams`], each is off by at most `(lines + 5 + 7 log2(padded)) u sqrt(padded)` times the
/// root of the sum of `a^2` over the feeds.
///
/// # Errors
/// [`BeamformerError::Shape`] for voltages that do not fit, [`BeamformerError::OutOfRange`] for a beam that is not
/// there; [`TypesError::TooLarge`] if there is no memory for the output; for the backend as [`frb_beams`].
pub fn frb_voltages<V: VoltageSample>(
    backend: &Backend,
    beams: &FrbBeams,
    voltages: &FrbVoltages<'_, V>,
    chosen: &[usize],
) -> Result<Array4<Complex<f32>>, BeamformerError> {
    voltages.check(beams)?;
    if let Some((index, &actual)) = chosen.iter().enumerate().find(|(_, beam)| **beam >= beams.beams()) {
        let (quantity, most, index) = ("chosen beam", beams.beams() - 1, vec![index]);
        return Err(BeamformerError::OutOfRange { quantity, least: 0, most, actual, index });
    }
    let parallel = cpu_units(backend, beams, 1)?;
    let shape = [beams.frequencies(), voltages.times(), chosen.len(), beams.pols()];
    let mut data = zeros("voltages of FRB beams", &shape)?;
    frb_voltages_into(&beams.chain(), voltages.data(), chosen, parallel, &mut data);
    Ok(Array4::from_shape_vec(shape, data).map_err(|_| too_large("voltages of FRB beams", &shape))?)
}

/// So many zeros, if there is memory for them.
fn zeros<T: bytemuck::Zeroable>(array: &'static str, shape: &[usize]) -> Result<Vec<T>, TypesError> {
    let elements = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length));
    elements.and_then(try_zeroed_vec).ok_or_else(|| too_large(array, shape))
}

fn too_large(array: &'static str, shape: &[usize]) -> TypesError {
    TypesError::TooLarge { array, elements: format!("{shape:?}") }
}
