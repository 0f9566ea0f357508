//! All beams of a chain as voltages of f16.

use fringes::beamformer::{FrbLayout, FrbVoltageKernels, Offset};
use fringes::{Complex, Complex4, f16};
use fringes_gpu::Buffer;

use super::chains::Chain;
use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured};
use crate::end::End;
use crate::gpu_report::params;

/// All beams of a chain as voltages of f16.
pub(super) fn voltages(bench: &mut Bench, ceilings: &Ceilings, chain: &Chain) -> Result<(), End> {
    let beams = &chain.beams;
    let chosen: Vec<usize> = (0..beams.beams()).collect();
    let kernels = FrbVoltageKernels::<Complex4>::load(&bench.device, beams, &chosen).map_err(End::failed)?;
    let layout = FrbLayout::packed::<Complex4>(beams, Offset::Offset8);
    let times = 32768;
    let (read, count) = (times * layout.time_bytes, kernels.voltages(times));
    let moved = read + count * size_of::<Complex<f16>>();
    if !bench.fits("CHIME, voltages", moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let bytes = Source::bytes(&stream)?.buffer(&bench.device, &stream, read)?;
    let mut out = Buffer::<Complex<f16>>::alloc(&bench.device, count)?;
    let mut work = |_: usize| kernels.form_bytes(&stream, bytes.view(), layout, times, &mut out.view_mut());
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    let bound = ceilings.bytes(moved as f64);
    let load = |time_ms: f64| 100.0 * time_ms * 1e3 / (times as f64 * chain.time_us);
    let text = format!("{:.3}% of real time, its bytes take {:.3}", load(timing.median_ms), load(bound.time_ms));
    bench.add(Measured {
        kernel: "frb",
        variant: "CHIME, voltages as f16".into(),
        params: params([
            ("beams", beams.beams()),
            ("freqs", beams.frequencies()),
            ("pols", beams.pols()),
            ("times", times),
        ]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("values not compared in this run: validate's frb compares such; {text}"),
    });
    println!("{:>47} {text}", "");
    Ok(())
}
