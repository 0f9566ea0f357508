//! Powers between CASM's beams.

use fringes::beamformer::{FrbInterpolation, FrbInterpolationKernels};
use fringes_gpu::Buffer;
use ndarray::Array5;

use super::Load;
use super::chains::casm;
use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// CASM's powers at 4672 positions between its beams.
pub(super) fn positions(bench: &mut Bench, ceilings: &Ceilings) -> Result<Option<Load>, End> {
    let chain = casm().map_err(End::failed)?;
    let frequencies: Vec<f64> = (0..3072).map(|k| 400e6 + 1e8 / 3072.0 * f64::from(k)).collect();
    // A spiral over the sky.
    let directions: Vec<[f64; 2]> = (0..4672)
        .map(|k| {
            let (radius, angle) = ((f64::from(k) / 4672.0).sqrt(), 2.4 * f64::from(k));
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let interpolation = FrbInterpolation::casm(&frequencies, &directions).map_err(End::failed)?;
    let kernels = FrbInterpolationKernels::load(&bench.device, &interpolation).map_err(End::failed)?;
    let sizes = [1, chain.sums, 1];
    let (beams, sums) = (chain.beams.beams(), chain.sums);
    let (count, made) = (3072 * sums * beams, kernels.powers(sizes));
    let moved = 4 * (count + made) + 16 * 3072 * directions.len();
    if !bench.fits("CASM, between beams", moved)? {
        return Ok(None);
    }
    let stream = bench.stream.clone();
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, count)?.to_vec(&stream)?;
    let powers: Vec<f32> = bytes.into_iter().map(f32::from).collect();
    let on_device = Buffer::from_slice(&stream, &powers)?;
    let mut out = Buffer::<f32>::alloc(&bench.device, made)?;
    let mut work = |_: usize| kernels.interpolate(&stream, on_device.view(), sizes, &mut out.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    // The last frequency and time against the CPU.
    let last = &powers[powers.len() - beams..];
    let one = FrbInterpolation::casm(&frequencies[3071..], &directions).map_err(End::failed)?;
    let last = Array5::from_shape_vec((1, 1, 1, beams, 1), last.to_vec()).map_err(End::failed)?;
    let expected = one.interpolate_powers(last.view()).map_err(End::failed)?;
    let found = out.slice(made - directions.len()..)?.to_vec(&stream)?;
    let error =
        found.iter().zip(expected.iter()).map(|(found, expected)| (found - expected).abs()).fold(0f32, f32::max);
    if error.is_nan() || error > 1e-5 * 255.0 {
        return Err(End::failed(format!("powers between beams are off by {error}, of 255")));
    }
    let bound = ceilings.bytes(moved as f64);
    let load = |time_ms: f64| 100.0 * time_ms * 1e3 / ((sums * chain.beams.sum_times()) as f64 * chain.time_us);
    let (percent, bytes_percent) = (load(timing.median_ms), load(bound.time_ms));
    let text = format!("{percent:.3}% of real time, its bytes take {bytes_percent:.3}");
    bench.add(Measured {
        kernel: "frb",
        variant: "CASM, between beams".into(),
        params: params([("beams", directions.len()), ("freqs", 3072), ("sums", sums)]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("{} powers against the CPU: at most {error:.1e} of 255; {text}", directions.len()),
    });
    println!("{:>47} {text}", "");
    let variant = "CASM, between beams".into();
    let (beams, time_us) = (directions.len(), chain.time_us);
    Ok(Some(Load { variant, beams, frequencies: 3072, time_us, percent, bytes_percent }))
}
