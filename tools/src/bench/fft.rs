//! The kernels of transforms, from device memory to device memory, beside what their bytes take at the copy bandwidth.

use fringes::fft::internals::has_kernel;
use fringes::fft::{Fft, FftKernels, SIZES, Sign, Size};
use fringes::{Complex, Complex4, f16};
use fringes_gpu::{Buffer, BufferView};

use crate::bench::ceilings::Ceilings;
use crate::bench::timing::{Bench, Measured, copies};
use crate::end::End;
use crate::fft_data::{self, Error, Output, Sample};
use crate::gpu_report::params;

/// Bytes that a run moves, about.
const MOVED: u64 = 4 << 30;
/// Transforms whose samples are random; all others repeat them.
const PERIOD: usize = 4099;
/// Transforms that are checked at the beginning and at the end.
const CHECKED: usize = 8;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("fft") {
        return Ok(());
    }
    for size in SIZES.into_iter().filter(|size| has_kernel(*size)) {
        format::<Complex<f16>>(bench, ceilings, size, "f16")?;
        format::<Complex<i8>>(bench, ceilings, size, "8-bit")?;
        format::<Complex4>(bench, ceilings, size, "4-bit")?;
    }
    Ok(())
}

fn format<S: Sample>(bench: &mut Bench, ceilings: &Ceilings, size: Size, samples: &str) -> Result<(), End> {
    let spectra = Fft::<S, Complex<f16>>::of(size).with_sign(Sign::Positive);
    case(bench, ceilings, spectra, format!("{size}, {samples} to f16"))?;
    let powers = Fft::<S, f32>::of(size).with_sign(Sign::Positive);
    case(bench, ceilings, powers, format!("{size}, {samples} to power"))
}

fn case<S: Sample, O: Output>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    plan: Fft<S, O>,
    variant: String,
) -> Result<(), End> {
    let transforms = (MOVED / (plan.input_bytes(1) + plan.output_bytes(1))) as usize;
    let [read, written] = [plan.input_bytes(transforms), plan.output_bytes(transforms)];
    let count = copies(&bench.device, (read + written) as usize);
    if !bench.fits(&variant, (read + written) as usize * count)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let kernels = FftKernels::load(&bench.device, &plan).map_err(End::failed)?;
    let piece = Buffer::from_slice(&stream, &fft_data::noise::<S>(PERIOD, plan.size(), 1))?;
    let [each_in, each_out] = [transforms * plan.inputs(), transforms * plan.outputs()];
    let mut samples = Buffer::<S>::alloc(&bench.device, count * each_in)?;
    for start in (0..samples.len()).step_by(piece.len()) {
        let length = piece.len().min(samples.len() - start);
        samples.slice_mut(start..start + length)?.copy_from(&stream, piece.slice(..length)?)?;
    }
    let mut outputs = Buffer::<O>::alloc(&bench.device, count * each_out)?;
    let mut work = |run: usize| {
        let at = run % count;
        let samples = samples.slice(at * each_in..(at + 1) * each_in)?;
        kernels.transform(&stream, samples, &mut outputs.slice_mut(at * each_out..(at + 1) * each_out)?, transforms)
    };
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    let check = check(bench, &plan, samples.slice(..each_in)?, outputs.slice(..each_out)?)?;
    let bound = ceilings.bytes((read + written) as f64);
    let [nanoseconds, least] = [timing.median_ms, bound.time_ms].map(|time_ms| time_ms * 1e6 / transforms as f64);
    bench.add(Measured {
        kernel: "fft",
        variant,
        params: params([("transforms", transforms)]),
        timing,
        work: (read + written) as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("{check}; {nanoseconds:.3} ns a transform, its bytes take {least:.3}"),
    });
    println!("{:>47} {nanoseconds:.3} ns a transform, its bytes take {least:.3}", "");
    Ok(())
}

/// Compares the first and the last transforms with spectra in f64.
fn check<S: Sample, O: Output>(
    bench: &Bench,
    plan: &Fft<S, O>,
    samples: BufferView<'_, S>,
    outputs: BufferView<'_, O>,
) -> Result<String, End> {
    let transforms = samples.len() / plan.inputs();
    let mut worst: Option<Error> = None;
    for first in [0, transforms - CHECKED] {
        let last = first + CHECKED;
        let samples = samples.slice(first * plan.inputs()..last * plan.inputs())?.to_vec(&bench.stream)?;
        let outputs = outputs.slice(first * plan.outputs()..last * plan.outputs())?.to_vec(&bench.stream)?;
        let error = Error::of(&fft_data::spectra(plan, &samples), &outputs);
        error.within(plan.relative_error()).map_err(|fault| End::failed(format!("{}: {fault}", plan.size())))?;
        worst = Some(worst.map_or(error, |worst| worst.or(error)));
    }
    let error = worst.ok_or_else(|| End::failed("nothing was checked"))?;
    Ok(format!("{} transforms against spectra in f64: {error}", 2 * CHECKED))
}
