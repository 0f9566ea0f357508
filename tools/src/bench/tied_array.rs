//! Tied-array beams through the public stream, of rows in device memory: useful operations a second, 8 a complex
//! multiply-add, beside what bytes or tensor cores allow.

use fringes::beamformer::{
    BeamformerStream, IncoherentBeams, TiedArrayBeams, TiedArrayDetector, TiedArrayOutput, WeightPrecision,
};
use fringes::{Backend, Complex, DetectedProducts, Detection, DeviceArray, Inputs, Rows, ToHost, f16};
use ndarray::Array2;
use num_complex::Complex64 as C64;

use crate::bench::ceilings::Ceilings;
use crate::bench::random::Source;
use crate::bench::timing::{Bench, Measured, copies};
use crate::end::End;
use crate::gpu_report::params;
use crate::tied_array_data::{largest, weights, wide};

const NAME: &str = "tied_array";
/// Bytes of a chunk, about.
const CHUNK_BYTES: usize = 1 << 28;
/// Of a long one: MeerKAT's 160 inputs have as many in 8 ms.
const LONG_BYTES: usize = 1 << 30;
/// Bytes of beams of a chunk, at most.
const MOST_BEAM_BYTES: usize = 2 << 30;
/// The variant and the inputs whose energy is measured as well, with these beams.
const ENERGY_OF: (&str, usize, [usize; 4]) = ("8-bit weights, 8 bits to i8", 512, [16, 64, 256, 1024]);
/// Beams that are compared.
const COMPARED: usize = 40;

/// What is timed.
#[derive(Debug, Clone, Copy)]
struct Case {
    inputs: usize,
    beams: usize,
    channels: usize,
    precision: WeightPrecision,
    dither: bool,
    /// Kernels of compute capability 8.0.
    mma: bool,
    /// Bytes of a chunk, about.
    chunk: usize,
}

impl Case {
    /// 8-bit weights, no dither, a chunk of the usual size, and the kernels that the device has.
    fn int8(inputs: usize, beams: usize, channels: usize) -> Self {
        let precision = WeightPrecision::Int8;
        Self { inputs, beams, channels, precision, dither: false, mma: false, chunk: CHUNK_BYTES }
    }
}

pub(crate) fn run(bench: &mut Bench, ceilings: &Ceilings) -> Result<(), End> {
    use WeightPrecision::{Float16, Int8, Int16};
    if !bench.wants(NAME) {
        return Ok(());
    }
    let source = Source::bytes(&bench.stream)?;
    for (inputs, channels) in [(128, 256), (256, 128), (512, 64), (1024, 64)] {
        let of = |beams, precision| Case { precision, ..Case::int8(inputs, beams, channels) };
        for beams in [4, 16, 64, 256, 1024] {
            case::<Complex<i8>>(bench, ceilings, &source, of(beams, Int8), "i8")?;
        }
        for beams in [4, 16, 64] {
            case::<Complex<i8>>(bench, ceilings, &source, Case { chunk: LONG_BYTES, ..of(beams, Int8) }, "i8")?;
        }
        case::<Complex<f32>>(bench, ceilings, &source, of(1024, Int8), "f32")?;
        case::<Complex<f16>>(bench, ceilings, &source, of(1024, Int8), "f16")?;
        case::<Complex<i8>>(bench, ceilings, &source, Case { dither: true, ..of(1024, Int8) }, "i8")?;
        for beams in [64, 1024] {
            case::<Complex<i8>>(bench, ceilings, &source, of(beams, Int16), "i8")?;
        }
        for beams in [256, 1024] {
            case::<Complex<f16>>(bench, ceilings, &source, of(beams, Float16), "f16")?;
        }
    }
    for beams in [16, 64, 256, 1024] {
        let of = Case { mma: true, ..Case::int8(512, beams, 64) };
        case::<Complex<i8>>(bench, ceilings, &source, of, "i8")?;
    }
    for beams in [256, 1024] {
        case::<Complex<i8>>(bench, ceilings, &source, Case::int8(64, beams, 256), "i8")?;
    }
    for (inputs, beams) in [(128, 256), (128, 1024), (512, 64), (512, 256), (512, 1024)] {
        detected(bench, ceilings, &source, [inputs, beams], false)?;
    }
    for (inputs, beams) in [(128, 1024), (512, 64)] {
        detected(bench, ceilings, &source, [inputs, beams], true)?;
    }
    for beams in [1, 2, 16] {
        incoherent(bench, ceilings, &source, beams)?;
    }
    // MeerKAT: 80 antennas of two polarisations, four beams of two.
    for chunk in [CHUNK_BYTES, LONG_BYTES] {
        let of = Case { dither: true, chunk, ..Case::int8(160, 8, 256) };
        case::<Complex<i8>>(bench, ceilings, &source, of, "i8")?;
    }
    Ok(())
}

fn case<O: TiedArrayOutput + Number>(
    bench: &mut Bench,
    ceilings: &Ceilings,
    source: &Source<u8>,
    case: Case,
    output: &str,
) -> Result<(), End> {
    let Case { inputs, beams, channels, precision, dither, mma, chunk } = case;
    let dithered = if dither { ", dither" } else { "" };
    let older = if mma { ", kernels of 8.0" } else { "" };
    let variant = format!("{precision}, 8 bits to {output}{dithered}{older}");
    let fit = (chunk / (2 * inputs)).min(MOST_BEAM_BYTES / (beams * size_of::<O>())) / channels;
    let times = (fit / 128 * 128).max(128);
    let (each, formed) = (channels * times * inputs, channels * times * beams);
    let moved = 2 * each + formed * size_of::<O>();
    let count = copies(&bench.device, 2 * each);
    if !bench.fits(&variant, 2 * each * count + 4 * formed * size_of::<O>())? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let arrays = Inputs::single_pol(inputs).map_err(End::failed)?;
    let samples = source.buffer(&bench.device, &stream, 2 * each * count)?;
    let samples = samples.view().cast::<Complex<i8>>()?;
    let most = largest(precision, fringes::types::SampleFormat::Int8);
    let weights = weights([beams, channels, inputs], most, 7).map_err(End::failed)?;
    // An rms of about 30 of 127.
    let scale = 30.0 / (most as f32 / 1.7 * 74.0 * (inputs as f32).sqrt() * 1.4);
    let set = TiedArrayBeams::new(weights).with_output::<O>().with_precision(precision);
    let set = set.with_scale(scale).map_err(End::failed)?;
    let set = if dither { set.with_dither(20261124) } else { set };
    let set = if mma { set.with_mma() } else { set };
    let backend = Backend::on(bench.device.clone());
    let mut former = BeamformerStream::<Complex<i8>, _>::new(&backend, set, arrays).map_err(End::failed)?.on(&stream);
    let rows = |run: usize| {
        let at = run % count * each;
        let array = DeviceArray::from(samples.slice(at..at + each)?).written_on(&stream);
        Rows::<Complex<i8>, _>::from_array(array, channels, times, arrays).map_err(End::failed)
    };
    let first = former.push(&rows(0)?).map_err(End::failed)?;
    let check = check(&former, case, times, samples.slice(..each)?.to_vec(&stream)?, first)?;
    let mut push = |run: usize| former.push(&rows(run)?).map(drop).map_err(End::failed);
    let timing = bench.time(&mut push)?;
    let asked = variant == ENERGY_OF.0 && inputs == ENERGY_OF.1 && ENERGY_OF.2.contains(&beams);
    let joules = if asked { bench.energy(&timing, &mut push)? } else { None };
    let work = 8.0 * each as f64 * beams as f64;
    let bound = ceilings.bytes(moved as f64);
    let measured = Measured {
        kernel: NAME,
        variant,
        params: params([("beams", beams), ("channels", channels), ("inputs", inputs), ("times", times)]),
        timing,
        work,
        unit: "TOPS",
        bound: Some(bound),
        check,
    };
    bench.add_with_energy(measured, joules);
    Ok(())
}

/// Values that are compared.
trait Number: Copy {
    /// The value, and half of its step.
    fn number(self) -> (C64, f64);
}

impl Number for Complex<f32> {
    fn number(self) -> (C64, f64) {
        (wide(self), 0.0)
    }
}

impl Number for Complex<f16> {
    fn number(self) -> (C64, f64) {
        let value = C64::new(self.re.into(), self.im.into());
        (value, value.norm() * 2f64.powi(-11) + 2f64.powi(-25))
    }
}

impl Number for Complex<i8> {
    fn number(self) -> (C64, f64) {
        // Rounding and dither.
        (C64::new(self.re.into(), self.im.into()), 1.0)
    }
}

/// Compares some beams with sums in f64.
fn check<O: TiedArrayOutput + Number>(
    former: &BeamformerStream<Complex<i8>, TiedArrayBeams<O>>,
    case: Case,
    times: usize,
    samples: Vec<Complex<i8>>,
    beams: fringes::DeviceBeams<'static, O>,
) -> Result<String, End> {
    let Case { inputs, beams: count, channels, precision, .. } = case;
    let beams = beams.to_host().map_err(End::failed)?;
    let (set, blocks) = (former.set(), times / 64);
    let weights = set.weights().map_err(End::failed)?;
    let scale = f64::from(set.scale());
    let mut worst = 0f64;
    for number in 0..COMPARED {
        let (channel, time) = (number * 7 % channels, (number * 12_345 + number * number) % times);
        let beam = number * 31 % count;
        let (mut sum, mut size) = (C64::default(), 0.0);
        for input in 0..inputs {
            let sample = samples[((channel * blocks + time / 64) * inputs + input) * 64 + time % 64];
            let weight = wide(weights.data()[(beam, channel, input)]);
            let (re, im) = (f64::from(sample.re), f64::from(sample.im));
            // Random bytes have -128, whose negation stays it in integers.
            let negated = if sample.re == -128 && precision != WeightPrecision::Float16 { -128.0 } else { -re };
            sum += C64::new(weight.re * re - weight.im * im, weight.re * im - weight.im * negated);
            size += weight.norm() * re.hypot(im);
        }
        let (actual, step) = beams.data()[(channel, time, beam)].number();
        let mut error = actual - sum * scale;
        if O::INTEGER && actual.re.abs().max(actual.im.abs()) == 127.0 {
            error = C64::default();
        }
        let bound = step + size * scale.abs() * 4.0 * 2f64.powi(-22);
        let off = error.re.abs().max(error.im.abs());
        worst = worst.max(off / bound);
        if off > bound || off.is_nan() {
            return Err(End::failed(format!(
                "{NAME} {case:?}: channel {channel}, time {time}, beam {beam}: {actual}, not {}",
                sum * scale
            )));
        }
    }
    Ok(format!("{COMPARED} values against sums in f64: {worst:.2} of the bound at most"))
}

/// Powers of 16 times summed, of 32768 inputs of all channels; the values are compared by validate.
fn detected(
    bench: &mut Bench,
    ceilings: &Ceilings,
    source: &Source<u8>,
    [inputs, beams]: [usize; 2],
    incoherent: bool,
) -> Result<(), End> {
    let (channels, times, summed) = (32_768 / inputs, 4096, 16);
    let each = channels * times * inputs;
    let moved = 2 * each + 4 * channels * times / summed * beams;
    let count = copies(&bench.device, 2 * each);
    if !bench.fits("detected beams", 2 * each * count + 4 * moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let arrays = Inputs::single_pol(inputs).map_err(End::failed)?;
    let samples = source.buffer(&bench.device, &stream, 2 * each * count)?;
    let samples = samples.view().cast::<Complex<i8>>()?;
    let weights = weights([beams, channels, inputs], 127, 7).map_err(End::failed)?;
    let set = TiedArrayBeams::new(weights).with_precision(WeightPrecision::Int8);
    let detection = Detection::new(DetectedProducts::Power, summed, 1).map_err(End::failed)?;
    let backend = Backend::on(bench.device.clone());
    let detector = TiedArrayDetector::<Complex<i8>>::new(&backend, set, arrays, detection);
    let mut detector = detector.map_err(End::failed)?.on(&stream);
    let beside = if incoherent { ", one incoherent" } else { "" };
    if incoherent {
        detector = detector.with_incoherent(IncoherentBeams::sum(arrays)).map_err(End::failed)?;
    }
    let timing = bench.time(|run| {
        let at = run % count * each;
        let array = DeviceArray::from(samples.slice(at..at + each)?).written_on(&stream);
        let rows = Rows::<Complex<i8>, _>::from_array(array, channels, times, arrays).map_err(End::failed)?;
        detector.reset();
        detector.push(&rows).map(drop).map_err(End::failed)
    })?;
    bench.add(Measured {
        kernel: NAME,
        variant: format!("{}, 8 bits to powers of {summed} times{beside}", WeightPrecision::Int8),
        params: params([("beams", beams), ("channels", channels), ("inputs", inputs), ("times", times)]),
        timing,
        work: 8.0 * each as f64 * beams as f64,
        unit: "TOPS",
        bound: Some(ceilings.bytes(moved as f64)),
        check: "values not compared in this run: validate's tied_array compares such".into(),
    });
    Ok(())
}

/// Incoherent beams alone: the rate at which their samples are read.
fn incoherent(bench: &mut Bench, ceilings: &Ceilings, source: &Source<u8>, beams: usize) -> Result<(), End> {
    let (inputs, channels, times) = (512, 64, 4096);
    let each = channels * times * inputs;
    let moved = 2 * each + 4 * channels * times * beams;
    let count = copies(&bench.device, 2 * each);
    if !bench.fits("incoherent beams", 2 * each * count + 4 * moved)? {
        return Ok(());
    }
    let stream = bench.stream.clone();
    let arrays = Inputs::single_pol(inputs).map_err(End::failed)?;
    let samples = source.buffer(&bench.device, &stream, 2 * each * count)?;
    let samples = samples.view().cast::<Complex<i8>>()?;
    let gains = Array2::from_shape_fn((beams, inputs), |(beam, input)| f32::from(u8::from(input % beams == beam)));
    let set = IncoherentBeams::new(gains).map_err(End::failed)?;
    let backend = Backend::on(bench.device.clone());
    let mut former = BeamformerStream::<Complex<i8>, _>::new(&backend, set, arrays).map_err(End::failed)?.on(&stream);
    let timing = bench.time(|run| {
        let at = run % count * each;
        let array = DeviceArray::from(samples.slice(at..at + each)?).written_on(&stream);
        let rows = Rows::<Complex<i8>, _>::from_array(array, channels, times, arrays).map_err(End::failed)?;
        former.push(&rows).map(drop).map_err(End::failed)
    })?;
    bench.add(Measured {
        kernel: NAME,
        variant: "incoherent, 8 bits to f32".into(),
        params: params([("beams", beams), ("channels", channels), ("inputs", inputs), ("times", times)]),
        timing,
        work: moved as f64,
        unit: "GB/s",
        bound: Some(ceilings.bytes(moved as f64)),
        check: "values not compared in this run: validate's beam_streams compares such".into(),
    });
    Ok(())
}
