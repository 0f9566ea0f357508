//! FFT beams from device memory to device memory, with gains, beside what their bytes take at the copy bandwidth:
//! CHIME's four cylinders of 256 dual-polarisation feeds at 16 frequencies, and lines of other lengths.

use fringes::beamformer::internals::{FeedLines, has_kernel};
use fringes::beamformer::{FftBeamKernels, FftBeamOutput, FftBeams};
use fringes::fft::{SIZES, Size};
use fringes::{Complex, Complex4, Inputs, f16};
use fringes_gpu::{Buffer, BufferView};
use ndarray::Array2;
use num_complex::Complex64 as C64;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured, copies};
use crate::end::End;
use crate::fft_data::Sample;
use crate::gpu_report::params;

/// Cylinders, polarisations and frequencies.
const LINES: usize = 4;
const POLS: usize = 2;
const CHANNELS: usize = 16;
/// Bytes that a run moves, about.
const MOVED: usize = 2 << 30;
/// Transforms a second: [`LINES`] x [`POLS`] x [`CHANNELS`] every 2.56 microseconds.
const REAL_TIME: f64 = 5e7;

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    if !bench.wants("fft_beams") {
        return Ok(());
    }
    let source = Source::bytes(&bench.stream)?;
    for size in SIZES.into_iter().filter(|size| has_kernel(*size)) {
        case::<Complex4, Complex<f16>>(bench, ceilings, &source, size, "4-bit to f16")?;
        if (size.inputs(), size.outputs()) == (256, 512) {
            case::<Complex4, f32>(bench, ceilings, &source, size, "4-bit to power")?;
            case::<Complex4, Complex<f32>>(bench, ceilings, &source, size, "4-bit to f32")?;
            case::<Complex<i8>, Complex<f16>>(bench, ceilings, &source, size, "8-bit to f16")?;
            case::<Complex<i8>, f32>(bench, ceilings, &source, size, "8-bit to power")?;
            case::<Complex<i8>, Complex<f32>>(bench, ceilings, &source, size, "8-bit to f32")?;
        }
    }
    Ok(())
}

/// Gains of 1 that turn by another angle at each input.
fn gains(lines: FeedLines) -> Array2<Complex<f32>> {
    Array2::from_shape_fn((CHANNELS, lines.inputs()), |(channel, input)| {
        Complex::from_polar(1.0, (channel * 37 + input * input) as f32)
    })
}

fn case<V: Sample, O: FftBeamOutput>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    source: &Source<u8>,
    size: Size,
    formats: &str,
) -> Result<(), End> {
    let lines = FeedLines { lines: LINES, feeds: size.inputs(), pols: POLS, padded: size.outputs() };
    let variant = format!("{size}, {formats}");
    let spectrum = lines.inputs() * size_of::<V>() + lines.beams() * size_of::<O>();
    let times = MOVED / (CHANNELS * spectrum);
    let moved = CHANNELS * times * spectrum;
    let count = copies(&bench.device, moved);
    if !bench.fits(&variant, moved * count)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let inputs = Inputs::new(LINES * size.inputs(), POLS).map_err(End::failed)?;
    let set = FftBeams::new(LINES, size.inputs(), size.outputs()).map_err(End::failed)?.with_output::<O>();
    let set = set.with_gains(gains(lines)).map_err(End::failed)?;
    let kernels = FftBeamKernels::<V, O>::load(&bench.device, &set, CHANNELS, inputs).map_err(End::failed)?;
    let [each_in, each_out] = [lines.inputs(), lines.beams()].map(|each| CHANNELS * times * each);
    let voltages = source.buffer(&bench.device, &stream, count * each_in * size_of::<V>())?;
    let voltages = voltages.view().cast::<V>()?;
    let mut beams = Buffer::<O>::alloc(&bench.device, count * each_out)?;
    let mut work = |run: usize| {
        let at = run % count;
        let voltages = voltages.slice(at * each_in..(at + 1) * each_in)?;
        kernels.beamform(&stream, times, voltages, None, &mut beams.slice_mut(at * each_out..(at + 1) * each_out)?)
    };
    work(0).map_err(End::failed)?;
    let timing = bench.time(&mut work).map_err(End::failed)?;
    let check = check::<V, O>(bench, lines, set.relative_error(), times, voltages, beams.view())?;
    let bound = ceilings.bytes(moved as f64);
    let transforms = (LINES * POLS * CHANNELS * times) as f64;
    let [nanoseconds, least] = [timing.median_ms, bound.time_ms].map(|time_ms| time_ms * 1e6 / transforms);
    let load = 100.0 * REAL_TIME * nanoseconds * 1e-9;
    let text =
        format!("{nanoseconds:.3} ns a transform, its bytes take {least:.3}; {load:.2}% of real time at 5e7 a second");
    bench.add(Measured {
        kernel: "fft_beams",
        variant,
        params: params([("channels", CHANNELS), ("lines", LINES), ("pols", POLS), ("times", times)]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(bound),
        check: format!("{check}; {text}"),
    });
    println!("{:>47} {text}", "");
    Ok(())
}

/// Compares beams of the first and the last line, polarisation, channel and time with sums in f64.
fn check<V: Sample, O: FftBeamOutput>(
    bench: &Bench,
    lines: FeedLines,
    bound: f64,
    times: usize,
    voltages: BufferView<'_, V>,
    beams: BufferView<'_, O>,
) -> Result<String, End> {
    let (inputs, padded, gains) = (lines.inputs(), lines.padded, gains(lines));
    let mut most = 0f64;
    for (channel, time, line, pol) in [(0, 0, 0, 0), (CHANNELS - 1, times - 1, LINES - 1, POLS - 1)] {
        let spectrum = channel * times + time;
        let row = voltages.slice(spectrum * inputs..(spectrum + 1) * inputs)?.to_vec(&bench.stream)?;
        let first = spectrum * lines.beams() + (line * POLS + pol) * padded;
        let actual = beams.slice(first..first + padded)?.to_vec(&bench.stream)?;
        let (mut error, mut power) = (0.0, 0.0);
        for (q, actual) in actual.iter().enumerate() {
            let expected: C64 = (0..lines.feeds)
                .map(|n| {
                    let input = (line * lines.feeds + n) * POLS + pol;
                    let gain = gains[(channel, input)];
                    let phase = fringes_reference::dft::root_of_unity((q * n) as u64, padded as u64);
                    phase * C64::new(gain.re.into(), gain.im.into()) * row[input].number()
                })
                .sum();
            error += distance(*actual, expected).powi(2);
            power += expected.norm_sqr();
        }
        most = most.max((error / power).sqrt());
    }
    // NaN is within nothing.
    let within = most <= bound;
    if !within {
        return Err(End::failed(format!("FFT beams: expected an rms error of {bound:.1e} at most, found {most:.2e}")));
    }
    Ok(format!("2 transforms against sums in f64: rms {most:.2e} of the beams' rms"))
}

/// How far a beam, or the root of a power, is from what it should be.
fn distance<O: FftBeamOutput>(actual: O, expected: C64) -> f64 {
    let bytes = bytemuck::bytes_of(&actual);
    let number = |at: usize| f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
    match O::KERNEL {
        "c32" => (C64::new(number(0), number(4)) - expected).norm(),
        "f16" => (C64::new(half(0), half(2)) - expected).norm(),
        _ => (number(0).sqrt() - expected.norm()).abs(),
    }
}
