//! The chain in one call.

use std::borrow::Cow;
use std::sync::Arc;

use fringes_backend::Backend;
#[cfg(doc)]
use fringes_backend::DeviceError;
use fringes_cpu::blocks::parallel_units;
use fringes_cpu::frb::{frb_powers_into, frb_voltages_into, scratch_bytes};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_gpu::Buffer;
use fringes_types::{Dimension, TypesError, VoltageSample};
use ndarray::{Array2, Array4, Array5, ArrayView2, ArrayView5, ArrayViewMut5, s};
use num_complex::Complex;

use super::OPERATION;
use super::builder::check_shape;
use super::kernels::{GridPrepared, Prepared};
use crate::{BeamformerError, FrbBeams, FrbKernels, FrbPowers, FrbVoltageKernels, FrbVoltages};

/// Device memory for voltages, flags and powers of one step where the backend sets no limit.
const WORKSPACE_BYTES: u64 = 1 << 30;

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
/// A GPU does it where the backend has one and there are kernels ([`FrbKernels`]), in steps of whole sums that keep
/// within the backend's memory limit, or 1 GiB; else the CPU, with every thread of the rayon pool. The result has the
/// same bits for any number of threads and any steps.
///
/// # Precision
/// On a GPU as [`FrbKernels`] says. On the CPU f32: over the fine channels, beams and products of a frequency and time,
/// with `u = 2^-24`, all blocks good, `F` the largest factor, `m` the number of times that the map names an output at
/// most, `n = group + pols blocks + 6`, and `a[n] = sum_line abs(w x)` of each polarisation, out and time:
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
/// [`DeviceError::NotOnGpu`] if the backend is a GPU alone and there is no kernel, [`DeviceError::MemoryLimit`] if one
/// unit of work, which on a GPU is a sum of all frequencies, exceeds the backend's limit, and [`DeviceError::Gpu`] if
/// the GPU fails.
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
    Place::of(backend, beams)?.run(backend, beams, voltages.data(), mask)
}

/// Where the chain runs, with what it takes there.
#[derive(Debug, Clone)]
pub(super) enum Place<V> {
    /// On the CPU.
    Cpu,
    /// On a GPU.
    Gpu(Arc<FrbKernels<V>>),
}

impl<V: VoltageSample> Place<V> {
    /// Where a backend runs these beams: on its GPU if there are kernels.
    pub(super) fn of(backend: &Backend, beams: &FrbBeams) -> Result<Self, BeamformerError> {
        let prepared = match backend.device() {
            Some(_) => Prepared::new(V::FORMAT, beams).ok(),
            None => None,
        };
        let device = backend.gpu_for(OPERATION, prepared.is_some())?;
        Ok(match (device, prepared) {
            (Some(device), Some(prepared)) => {
                Self::Gpu(Arc::new(FrbKernels::from_prepared(device, beams, &prepared, u32::MAX)?))
            }
            _ => Self::Cpu,
        })
    }

    /// The chain of arrays that have been checked.
    pub(super) fn run(
        &self,
        backend: &Backend,
        beams: &FrbBeams,
        voltages: ArrayView5<'_, V>,
        mask: Option<ArrayView2<'_, bool>>,
    ) -> Result<FrbPowers, BeamformerError> {
        match self {
            Self::Cpu => {
                let parallel = cpu_units(backend, beams, beams.upchannelisation())?;
                run_on_cpu(beams, voltages, mask, parallel)
            }
            Self::Gpu(kernels) => run_on_gpu(backend, kernels, voltages, mask),
        }
    }
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
    powers_of(beams, times, data, good)
}

/// The chain on a GPU, of arrays that have been checked, in steps of some sums.
fn run_on_gpu<V: VoltageSample>(
    backend: &Backend,
    kernels: &FrbKernels<V>,
    voltages: ArrayView5<'_, V>,
    mask: Option<ArrayView2<'_, bool>>,
) -> Result<FrbPowers, BeamformerError> {
    let beams = kernels.beams();
    let (frequencies, blocks, sum_times) = (beams.frequencies(), beams.blocks(), beams.sum_times());
    let times = voltages.dim().0 / sum_times;
    let sum_voltages = beams.pols() * beams.lines() * beams.feeds() * frequencies * sum_times;
    let sum_bytes = (sum_voltages.saturating_mul(size_of::<V>()) as u64)
        .saturating_add((kernels.powers(sum_times)?.saturating_mul(size_of::<f32>())) as u64)
        .saturating_add(kernels.workspace_bytes(sum_times)?)
        .saturating_add((frequencies * blocks) as u64);
    backend.check_memory(OPERATION, sum_bytes)?;
    let shape = beams.shape(times);
    let mut data = zeros("powers of FRB beams", &shape)?;
    let mut good = zeros("good blocks", &[frequencies, times])?;
    for (frequency, good) in good.chunks_mut(times.max(1)).enumerate() {
        for (time, good) in good.iter_mut().enumerate() {
            let its_blocks =
                (time * blocks..(time + 1) * blocks).filter(|&block| mask.is_none_or(|mask| mask[(frequency, block)]));
            *good = its_blocks.count() as u32;
        }
    }
    if times > 0 {
        let limit = backend.memory_limit().unwrap_or(WORKSPACE_BYTES);
        let step = usize::try_from(limit / sum_bytes.max(1)).unwrap_or(times).clamp(1, times);
        let mut out =
            ArrayViewMut5::from_shape(shape, &mut data).map_err(|_| too_large("powers of FRB beams", &shape))?;
        let (device, stream) = (kernels.device(), kernels.device().new_stream()?);
        let mut room = Buffer::<V>::alloc(device, step * sum_voltages)?;
        let mut flags = Buffer::<u8>::alloc(device, if mask.is_some() { step * frequencies * blocks } else { 0 })?;
        let mut powers = Buffer::<f32>::alloc(device, kernels.powers(step * sum_times)?)?;
        for from in (0..times).step_by(step) {
            let to = times.min(from + step);
            let sent = voltages.slice(s![from * sum_times..to * sum_times, .., .., .., ..]);
            let sent = sent.as_slice().map_or_else(|| Cow::Owned(sent.iter().copied().collect()), Cow::Borrowed);
            room.slice_mut(..sent.len())?.copy_from_slice(&stream, &sent)?;
            let good = match mask {
                Some(mask) => {
                    let its_blocks = mask.slice(s![.., from * blocks..to * blocks]);
                    let bytes: Vec<u8> = its_blocks.iter().map(|&good| u8::from(good)).collect();
                    flags.slice_mut(..bytes.len())?.copy_from_slice(&stream, &bytes)?;
                    Some(flags.view())
                }
                None => None,
            };
            let its_times = (to - from) * sum_times;
            kernels.detect(&stream, room.view(), its_times, good, &mut powers.view_mut())?;
            let found = powers.slice(..kernels.powers(its_times)?)?.to_vec(&stream)?;
            let its_shape = beams.shape(to - from);
            let found = ArrayView5::from_shape(its_shape, &found);
            let found = found.map_err(|_| too_large("powers of FRB beams", &its_shape))?;
            out.slice_mut(s![.., .., from..to, .., ..]).assign(&found);
        }
    }
    powers_of(beams, times, data, good)
}

/// Powers and counts in their shapes.
fn powers_of(beams: &FrbBeams, times: usize, data: Vec<f32>, good: Vec<u32>) -> Result<FrbPowers, BeamformerError> {
    let (shape, counts) = (beams.shape(times), [beams.frequencies(), times]);
    Ok(FrbPowers {
        data: Array5::from_shape_vec(shape, data).map_err(|_| too_large("powers of FRB beams", &shape))?,
        good_blocks: Array2::from_shape_vec(counts, good).map_err(|_| too_large("good blocks", &counts))?,
    })
}

/// Complex voltages `[frequency][time][chosen][pol]` of some of the beams, `K[chosen]` of [`frb_beams`], of any number
/// of times. A beam may be chosen twice.
///
/// A GPU does it where the backend has one and there is a kernel ([`FrbVoltageKernels`]), in steps of times that keep
/// within the backend's memory limit, or 1 GiB; else the CPU.
///
/// # Precision
/// On a GPU as [`FrbVoltageKernels`] says. On the CPU f32: with the names of [`frb_beams`], each is off by at most
/// `(lines + 5 + 7 log2(padded)) u sqrt(padded)` times the root of the sum of `a^2` over the feeds.
///
/// # Errors
/// [`BeamformerError::Shape`] for voltages that do not fit, [`BeamformerError::OutOfRange`] for a beam that is not
/// there; [`TypesError::TooLarge`] if there is no memory for the output; for the backend as [`frb_beams`], with a time
/// of all frequencies for a unit of work.
pub fn frb_voltages<V: VoltageSample>(
    backend: &Backend,
    beams: &FrbBeams,
    voltages: &FrbVoltages<'_, V>,
    chosen: &[usize],
) -> Result<Array4<Complex<f32>>, BeamformerError> {
    voltages.check(beams)?;
    check_chosen(beams, chosen)?;
    let prepared = match backend.device() {
        Some(_) if !chosen.is_empty() => GridPrepared::voltages(V::FORMAT, beams, chosen).ok(),
        _ => None,
    };
    let shape = [beams.frequencies(), voltages.times(), chosen.len(), beams.pols()];
    match (backend.gpu_for(OPERATION, prepared.is_some() || chosen.is_empty())?, prepared) {
        (Some(device), Some(prepared)) => {
            let kernels = FrbVoltageKernels::<V>::from_prepared(device, beams, &prepared, chosen)?;
            let time_bytes = kernels.bytes::<Complex<f32>>(1);
            backend.check_memory(OPERATION, time_bytes)?;
            let limit = backend.memory_limit().unwrap_or(WORKSPACE_BYTES);
            let step = usize::try_from(limit / time_bytes.max(1)).unwrap_or(usize::MAX).max(1);
            let mut data = zeros("voltages of FRB beams", &shape)?;
            kernels.on_host(voltages.data(), step.min(voltages.times().max(1)), &mut data)?;
            Ok(Array4::from_shape_vec(shape, data).map_err(|_| too_large("voltages of FRB beams", &shape))?)
        }
        _ => voltages_on_cpu(backend, beams, voltages, chosen),
    }
}

/// `Ok` if all of the beams are there.
pub(super) fn check_chosen(beams: &FrbBeams, chosen: &[usize]) -> Result<(), BeamformerError> {
    match chosen.iter().enumerate().find(|(_, beam)| **beam >= beams.beams()) {
        Some((index, &actual)) => {
            let (quantity, most, index) = ("chosen beam", beams.beams() - 1, vec![index]);
            Err(BeamformerError::OutOfRange { quantity, least: 0, most, actual, index })
        }
        None => Ok(()),
    }
}

/// Voltages of beams on the CPU, of arrays that have been checked.
fn voltages_on_cpu<V: VoltageSample>(
    backend: &Backend,
    beams: &FrbBeams,
    voltages: &FrbVoltages<'_, V>,
    chosen: &[usize],
) -> Result<Array4<Complex<f32>>, BeamformerError> {
    let unit = scratch_bytes(beams.padded(), 1);
    backend.check_memory(OPERATION, unit)?;
    let parallel = parallel_units(backend.memory_limit(), unit);
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
