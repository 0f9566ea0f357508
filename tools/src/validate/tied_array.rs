//! Tied-array beams: every format, precision and output, of rows, voltages and heaps on the device and on the host,
//! against sums in f64 of weights that are held exactly; and weights of any kind within the bound of their rounding.

use fringes::backend::{ToHost, Uploader};
use fringes::beamformer::{
    BeamSteering, BeamformerStream, SteeredBand, TiedArrayBeams, TiedArrayDetector, TiedArrayOutput, WeightPrecision,
    beamform,
};
use fringes::delay::{DelayModel, DelaySegment};
use fringes::types::SampleFormat;
use fringes::{
    Backend, BeamWeights, Beams, Complex, Complex4, DetectedProducts, Detection, Frequencies, Heaps, Inputs, Rows,
    SpectrumClock, VoltageSample, Voltages, f16,
};
use fringes_device::tensor_core::{Accumulator, error_bound};
use fringes_reference::detection::Products;
use fringes_reference::dither::dither;
use ndarray::{Array2, Array3, Array5};
use num_complex::Complex64 as C64;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::end::End;
use crate::fft_data::Sample;
use crate::gpu_report::params;
use crate::tied_array_data::{largest, voltages, weights, wide};
use crate::validate::session::{Outcome, Session};

const NAME: &str = "tied_array";
const AGAINST: &str = "fringes_reference::beamformer::tied_array (f64 sums)";
const SEED: u64 = 0x1234_5678_9abc_def0;
/// What seeds of beams' dither are XORed with: the documentation's number.
const OF_BEAMS: u64 = 0x6265_616d_7300_0000;
/// Spacing of spectra, and number of the first one.
const SPACING: u64 = 512;
const FIRST: u64 = (1 << 33) + 5;

type Fault = Box<dyn std::error::Error>;

/// Values of beams.
trait Output: TiedArrayOutput {
    const NAME: &'static str;
    fn number(self) -> C64;
}

impl Output for Complex<f32> {
    const NAME: &'static str = "f32";
    fn number(self) -> C64 {
        wide(self)
    }
}

impl Output for Complex<f16> {
    const NAME: &'static str = "f16";
    fn number(self) -> C64 {
        C64::new(self.re.into(), self.im.into())
    }
}

impl Output for Complex<i8> {
    const NAME: &'static str = "i8";
    fn number(self) -> C64 {
        C64::new(self.re.into(), self.im.into())
    }
}

/// A format of voltages.
trait Format: VoltageSample + Sample {
    fn of(parts: [i32; 2]) -> Self;
}

impl Format for Complex4 {
    fn of([re, im]: [i32; 2]) -> Self {
        Self::from_parts(re as i8, im as i8)
    }
}

impl Format for Complex<i8> {
    fn of([re, im]: [i32; 2]) -> Self {
        Self::new(re as i8, im as i8)
    }
}

impl Format for Complex<f16> {
    fn of(parts: [i32; 2]) -> Self {
        let [re, im] = parts.map(|part| f16::from_f32(part as f32 / 256.0));
        Self::new(re, im)
    }
}

/// Where voltages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Rows,
    Voltages,
    Heaps,
    Host,
}

struct Case<V> {
    inputs: Inputs,
    voltages: Array3<V>,
    weights: BeamWeights,
    present: Option<Array2<bool>>,
    scale: f32,
    precision: WeightPrecision,
    /// Spectra of a heap, if there are some: flags are those of whole heaps.
    spectra: usize,
    /// Kernels of compute capability 8.0.
    mma: bool,
}

impl<V: Format> Case<V> {
    fn new(
        [antennas, pols]: [usize; 2],
        [channels, times, beams]: [usize; 3],
        precision: WeightPrecision,
        flagged: bool,
        spectra: usize,
    ) -> Result<Self, Fault> {
        let inputs = Inputs::new(antennas, pols)?;
        let seed = (times * 31 + inputs.len()) as u64;
        let voltages = voltages([channels, times, inputs.len()], seed, V::of);
        let most = largest(precision, V::FORMAT);
        let weights = weights([beams, channels, inputs.len()], most, seed + 1)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed + 2);
        let of_heaps = Array2::from_shape_simple_fn((times.div_ceil(spectra), antennas), || random.random_bool(0.7));
        let flags = || Array2::from_shape_fn((times, inputs.len()), |(t, i)| of_heaps[(t / spectra, i / pols)]);
        let rms = match V::FORMAT {
            SampleFormat::Int4 => 4.3,
            SampleFormat::Int8 => 73.0,
            _ => 2.3,
        };
        let scale = 60.0 / (rms * most as f32 * 0.58 * (2.0 * inputs.len() as f32).sqrt());
        Ok(Self { inputs, voltages, weights, present: flagged.then(flags), scale, precision, spectra, mma: false })
    }

    fn clock() -> SpectrumClock {
        SpectrumClock { first_sample: FIRST * SPACING, samples_between_spectra: SPACING, ..SpectrumClock::default() }
    }

    fn set<O: Output>(&self) -> Result<TiedArrayBeams<O>, Fault> {
        let set = TiedArrayBeams::new(self.weights.clone()).with_output::<O>().with_precision(self.precision);
        let set = set.with_scale(self.scale)?.with_dither(SEED);
        Ok(if self.mma { set.with_mma() } else { set })
    }

    fn host(&self) -> Result<Voltages<V>, Fault> {
        let voltages = Voltages::from_checked(self.voltages.clone(), self.inputs)?.with_clock(Self::clock())?;
        Ok(match &self.present {
            Some(present) => voltages.with_presence(present.clone())?,
            None => voltages,
        })
    }

    fn heaps(&self) -> Result<Heaps<V>, Fault> {
        let (channels, times, _) = self.voltages.dim();
        let (spectra, antennas, pols) = (self.spectra, self.inputs.antennas(), self.inputs.pols());
        let shape = (times / spectra, antennas, channels, spectra, pols);
        let data = Array5::from_shape_fn(shape, |(batch, antenna, channel, spectrum, pol)| {
            self.voltages[(channel, batch * spectra + spectrum, antenna * pols + pol)]
        });
        let heaps = Heaps::new(data)?.with_clock(Self::clock())?;
        Ok(match &self.present {
            Some(present) => heaps
                .with_presence(Array2::from_shape_fn((times / spectra, antennas), |(batch, antenna)| {
                    present[(batch * spectra, antenna * pols)]
                }))?,
            None => heaps,
        })
    }

    /// Forms beams, and gives the counts of what saturated.
    fn beams<O: Output>(&self, session: &Session, from: From) -> Result<(Beams<O>, Vec<u64>), Fault> {
        let backend = Backend::on(session.device.clone());
        let mut stream = BeamformerStream::new(&backend, self.set::<O>()?, self.inputs)?.on(&session.stream);
        let mut up = Uploader::new(&session.stream);
        let beams = match from {
            From::Rows => stream.push(&up.rows(&Rows::from_voltages(&self.host()?))?)?.to_host()?,
            From::Voltages => stream.push(&up.voltages(&self.host()?)?)?.to_host()?,
            From::Heaps => stream.push(&up.heaps(&self.heaps()?)?)?.to_host()?,
            From::Host => stream.push(&self.host()?)?,
        };
        Ok((beams, stream.take_saturated()?))
    }

    /// Beams `[channel][time][beam]` in f64, and by how much the documentation lets each part be off.
    fn expected(&self) -> (Array3<C64>, Array3<f64>) {
        let (channels, times, inputs) = self.voltages.dim();
        let beams = self.weights.beams();
        let scale = f64::from(self.scale);
        let weights = self.weights.data();
        let values: Vec<(C64, f64)> = (0..channels * times)
            .into_par_iter()
            .flat_map_iter(|spectrum| {
                let (channel, time) = (spectrum / times, spectrum % times);
                (0..beams).map(move |beam| {
                    let (mut sum, mut size) = (C64::default(), 0.0);
                    for input in 0..inputs {
                        if self.present.as_ref().is_none_or(|present| present[(time, input)]) {
                            let (w, x) =
                                (wide(weights[(beam, channel, input)]), self.voltages[(channel, time, input)].number());
                            sum += w * x;
                            size += w.norm() * x.norm();
                        }
                    }
                    (sum * scale, size * scale.abs())
                })
            })
            .collect();
        let (sums, sizes): (Vec<C64>, Vec<f64>) = values.into_iter().unzip();
        let floats = V::FORMAT == SampleFormat::Float16
            || (self.precision == WeightPrecision::Float16 && V::FORMAT != SampleFormat::Int4);
        let products = 2 * inputs.next_multiple_of(8);
        let bounds = sizes.into_iter().map(|size| {
            // Of f32 sums of exact products what tensor cores cut off; and roundings of sum, scale and product.
            let cut = if floats { error_bound(Accumulator::F32, products, size) } else { 0.0 };
            cut + 5.0 * size * 2f64.powi(-24)
        });
        let (shape, bounds) = ((channels, times, beams), bounds.collect());
        let sums = Array3::from_shape_vec(shape, sums).unwrap_or_default();
        (sums, Array3::from_shape_vec(shape, bounds).unwrap_or_default())
    }
}

/// Whether beams are those that they should be, and counts.
fn judge<V: Format, O: Output>(case: &Case<V>, beams: &Beams<O>, lost: &[u64]) -> (Result<(), String>, String) {
    let (expected, bounds) = case.expected();
    if beams.data().dim() != expected.dim() {
        return (Err(format!("expected {:?}, found {:?}", expected.dim(), beams.data().dim())), String::new());
    }
    let of_beams = || vec![0u64; expected.dim().2];
    let (mut worst, mut counts, mut undecided) = (0f64, of_beams(), of_beams());
    for ((channel, time, beam), value) in expected.indexed_iter() {
        let bound = bounds[(channel, time, beam)];
        let actual = beams.data()[(channel, time, beam)].number();
        let moved = dither(SEED ^ OF_BEAMS, FIRST + time as u64, channel as u32, beam as u32);
        let (mut saturates, mut at_limit) = (false, false);
        for (actual, value, moved) in [(actual.re, value.re, moved.re), (actual.im, value.im, moved.im)] {
            let fits = if O::INTEGER {
                let value = value + moved;
                // What the kernels' dither is off by.
                let slack = bound + 1.25 * 2f64.powi(-16);
                saturates |= value.abs() > 127.0;
                at_limit |= (value.abs() - 127.0).abs() <= slack;
                let near = ((value - value.floor()) - 0.5).abs() < slack;
                let whole = value.round_ties_even().clamp(-127.0, 127.0);
                actual == whole || (near && (actual - value).abs() < 0.5 + 2.0 * slack)
            } else {
                let rounding = if O::NAME == "f16" { value.abs() * 2f64.powi(-11) + 2f64.powi(-25) } else { 0.0 };
                worst = worst.max((actual - value).abs() / (bound + rounding));
                (actual - value).abs() <= bound + rounding
            };
            if !fits {
                let at = format!("channel {channel}, time {time}, beam {beam}");
                return (Err(format!("{at}: {actual}, not {value} or {}", value + moved)), String::new());
            }
        }
        counts[beam] += u64::from(saturates);
        undecided[beam] += u64::from(at_limit);
    }
    if O::INTEGER {
        // Values at the limit itself may go either way.
        let fit = |((a, b), most): ((&u64, &u64), &u64)| a.abs_diff(*b) <= *most;
        if lost.len() != counts.len() || !counts.iter().zip(lost).zip(&undecided).all(fit) {
            return (Err(format!("saturated {lost:?}, not {counts:?}")), String::new());
        }
        return (Ok(()), "exact but at ties".into());
    }
    (Ok(()), format!("{worst:.2} of the bound"))
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    held::<Complex4>(session)?;
    held::<Complex<i8>>(session)?;
    // So many beams that samples are held for powers too.
    for (times, channels) in [(10, 2), (16, 1)] {
        for antennas in [30, 35, 64] {
            detected::<Complex<i8>>(session, DetectedProducts::Power, times, channels, [130, antennas])?;
            detected::<Complex4>(session, DetectedProducts::Power, times, channels, [130, antennas])?;
        }
    }
    format::<Complex4>(session)?;
    format::<Complex<i8>>(session)?;
    format::<Complex<f16>>(session)?;
    any_weights(session)?;
    strips(session)?;
    for products in
        [DetectedProducts::Power, DetectedProducts::StokesI, DetectedProducts::Stokes, DetectedProducts::Coherency]
    {
        for (times, channels) in [(1, 1), (10, 2), (16, 1), (96, 3)] {
            detected::<Complex<i8>>(session, products, times, channels, [22, 35])?;
        }
    }
    detected::<Complex4>(session, DetectedProducts::Stokes, 32, 1, [22, 35])?;
    detected::<Complex4>(session, DetectedProducts::Power, 2, 1, [22, 35])?;
    detected::<Complex<f16>>(session, DetectedProducts::Power, 16, 1, [22, 35])?;
    steered(session)
}

fn format<V: Format>(session: &mut Session) -> Result<(), End> {
    let times = if session.quick { 150 } else { 1000 };
    for precision in WeightPrecision::ALL {
        for beams in [5, 24, 130] {
            for from in [From::Rows, From::Voltages, From::Heaps, From::Host] {
                // All kinds of chunks once, of other sizes in rows alone.
                if from != From::Rows && beams != 24 {
                    continue;
                }
                let spectra = if from == From::Heaps { 50 } else { 1 };
                for flagged in [false, true] {
                    let dim = [2, times, beams];
                    output::<V, Complex<f32>>(session, [35, 2], dim, precision, from, flagged, spectra)?;
                    if !flagged {
                        output::<V, Complex<f16>>(session, [35, 2], dim, precision, from, flagged, spectra)?;
                        output::<V, Complex<i8>>(session, [35, 2], dim, precision, from, flagged, spectra)?;
                    }
                }
            }
        }
        output::<V, Complex<i8>>(session, [1, 1], [3, 1, 1], precision, From::Rows, false, 1)?;
        output::<V, Complex<i8>>(session, [300, 1], [1, 129, 7], precision, From::Rows, false, 1)?;
    }
    Ok(())
}

/// So many channels that blocks form several tiles with the same weights, which stay, and several such strips.
fn strips(session: &mut Session) -> Result<(), End> {
    let sizes: &[[usize; 2]] = if session.quick { &[[264, 20]] } else { &[[528, 10], [264, 20], [264, 66]] };
    for &[channels, beams] in sizes {
        for precision in [WeightPrecision::Int8, WeightPrecision::Float16] {
            let dim = [channels, 512, beams];
            output::<Complex<i8>, Complex<i8>>(session, [65, 2], dim, precision, From::Rows, false, 1)?;
        }
    }
    Ok(())
}

/// So few inputs and so many beams that samples are held, in one chunk of inputs and two, several strips a block.
fn held<V: Format>(session: &mut Session) -> Result<(), End> {
    let channels = if session.quick { 3 } else { 70 };
    for antennas in [30, 64] {
        for precision in [WeightPrecision::Int8, WeightPrecision::Int16] {
            let dim = [channels, 500, 300];
            output::<V, Complex<i8>>(session, [antennas, 2], dim, precision, From::Rows, false, 1)?;
            output::<V, Complex<f16>>(session, [antennas, 2], dim, precision, From::Rows, false, 1)?;
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "what a case is made of")]
fn output<V: Format, O: Output>(
    session: &mut Session,
    arrays: [usize; 2],
    dim: [usize; 3],
    precision: WeightPrecision,
    from: From,
    flagged: bool,
    spectra: usize,
) -> Result<(), End> {
    let flags = if flagged { ", flags" } else { "" };
    let variant = format!("{} to {}, {precision}, {from:?}{flags}", V::FORMAT, O::NAME);
    let [channels, times, beams] = dim;
    let sizes = [("beams", beams), ("channels", channels), ("inputs", arrays[0] * arrays[1]), ("times", times)];
    session.case_within(NAME, variant, params(sizes), |session| {
        let mut case = Case::<V>::new(arrays, dim, precision, flagged, spectra)?;
        let (beams, lost) = case.beams::<O>(session, from)?;
        let (mut verdict, error) = judge(&case, &beams, &lost);
        if from == From::Rows && verdict.is_ok() {
            case.mma = true;
            let (older, lost) = case.beams::<O>(session, from)?;
            verdict = judge(&case, &older, &lost).0.map_err(|what| format!("kernels of 8.0: {what}"));
        }
        Ok((Outcome { time_ms: 0.0, value: 0.0, unit: "", against: AGAINST, verdict }, error))
    })
}

/// Weights that are no whole numbers: the error is that of their rounding, and smaller with more bits.
fn any_weights(session: &mut Session) -> Result<(), End> {
    for (precision, limit) in
        [(WeightPrecision::Int8, 3.5e-3), (WeightPrecision::Int16, 1.4e-5), (WeightPrecision::Float16, 2.2e-4)]
    {
        let variant = format!("weights of any phase, {precision}");
        session.case_within(NAME, variant, params([("inputs", 64)]), |session| {
            let inputs = Inputs::single_pol(64)?;
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            let weights = BeamWeights::new(Array3::from_shape_simple_fn((20, 3, 64), || {
                Complex::from_polar(1.0, random.random_range(0.0..std::f32::consts::TAU))
            }))?;
            let data = voltages([3, 300, 64], 6, <Complex<i8> as Format>::of);
            let host = Voltages::new(data, inputs)?;
            let set = TiedArrayBeams::new(weights.clone()).with_precision(precision);
            let beams = beamform(&Backend::on(session.device.clone()), &host, &set)?;
            let exact = beamform(&Backend::cpu(), &host, &weights)?;
            let power =
                |values: &mut dyn Iterator<Item = Complex<f32>>| values.map(|v| wide(v).norm_sqr()).sum::<f64>();
            let error = power(&mut beams.data().iter().zip(exact.data()).map(|(a, b)| a - b));
            let relative = (error / power(&mut exact.data().iter().copied())).sqrt();
            let within = relative <= limit;
            let verdict =
                if within { Ok(()) } else { Err(format!("expected {limit:.1e} at most, found {relative:.2e}")) };
            Ok((
                Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "the CPU's beams", verdict },
                format!("rms {relative:.2e}"),
            ))
        })?;
    }
    Ok(())
}

/// Detected beams of rows and of voltages with flags, on both generations of kernels, against sums of the beams of f64.
fn detected<V: Format>(
    session: &mut Session,
    products: DetectedProducts,
    times: usize,
    channels: usize,
    [beams, antennas]: [usize; 2],
) -> Result<(), End> {
    let variant = format!("{} to {products:?} of {times} times, {channels} channels", V::FORMAT);
    let all = 960;
    session.case_within(
        NAME,
        variant,
        params([("beams", beams), ("channels", 6), ("inputs", 2 * antennas), ("times", all)]),
        |session| {
            let detection = Detection::new(products, times, channels)?;
            let mut case = Case::<V>::new([antennas, 2], [6, all, beams], WeightPrecision::Int16, true, 1)?;
            let (voltages, off) = case.expected();
            let expected =
                fringes_reference::detection::detect(voltages.view(), reference_of(products), times, channels);
            // Voltages that are off in both parts, and the roundings of products and of their sums.
            let pols = detection.products().pols();
            let roundings = (8.0 + times as f64 / 16.0 + channels as f64) * 2f64.powi(-24);
            let shape = expected.dim();
            let bounds = Array3::from_shape_fn((shape.0, shape.1, shape.2), |(channel, time, beam)| {
                let each = (channel * channels..(channel + 1) * channels)
                    .flat_map(|channel| (time * times..(time + 1) * times).map(move |time| (channel, time)));
                each.map(|(channel, time)| {
                    let pair = (beam * pols..(beam + 1) * pols).map(|beam| (channel, time, beam));
                    let norms = pair.clone().map(|at| voltages[at].norm());
                    let largest = norms.clone().fold(0.0, f64::max);
                    let off = pair.map(|at| off[at]).fold(0.0, f64::max);
                    // A Stokes parameter is twice a product, or two of them.
                    2.0 * (8f64.sqrt() * largest * off + 2.0 * off * off)
                        + 2.0 * roundings * norms.map(|norm| norm * norm).sum::<f64>()
                })
                .sum::<f64>()
            });
            let backend = Backend::on(session.device.clone());
            let mut worst = 0f64;
            for (mma, rows) in [(false, true), (false, false), (true, true)] {
                case.mma = mma;
                let set = TiedArrayBeams::new(case.weights.clone()).with_scale(case.scale)?;
                let set = if mma { set.with_mma() } else { set };
                let mut stream = TiedArrayDetector::new(&backend, set, case.inputs, detection)?.on(&session.stream);
                let mut up = Uploader::new(&session.stream);
                let actual = if rows {
                    stream.push(&up.rows(&Rows::from_voltages(&case.host()?))?)?.to_host()?
                } else {
                    stream.push(&up.voltages(&case.host()?)?)?.to_host()?
                };
                if actual.data().dim() != expected.dim() {
                    return Ok((
                        failed(format!("expected {:?}, found {:?}", expected.dim(), actual.data().dim())),
                        String::new(),
                    ));
                }
                for (index, value) in expected.indexed_iter() {
                    let bound = bounds[(index.0, index.1, index.2)];
                    let off = (f64::from(actual.data()[index]) - value).abs();
                    worst = worst.max(off / bound);
                    if off > bound || off.is_nan() {
                        let what = format!("{index:?}: {}, not {value}, mma {mma}, rows {rows}", actual.data()[index]);
                        return Ok((failed(what), String::new()));
                    }
                }
            }
            let outcome = Outcome { time_ms: 0.0, value: 0.0, unit: "", against: AGAINST, verdict: Ok(()) };
            Ok((outcome, format!("{worst:.2} of the bound")))
        },
    )
}

/// The reference's name of products.
fn reference_of(products: DetectedProducts) -> Products {
    match products {
        DetectedProducts::Power => Products::Power,
        DetectedProducts::StokesI => Products::StokesI,
        DetectedProducts::Stokes => Products::Stokes,
        DetectedProducts::Coherency => Products::Coherency,
    }
}

fn failed(what: String) -> Outcome {
    Outcome { time_ms: 0.0, value: 0.0, unit: "", against: AGAINST, verdict: Err(what) }
}

/// Weights that the device makes of delays, and other ones from a chunk on, against beams of those of the host.
fn steered(session: &mut Session) -> Result<(), End> {
    session.case_within(NAME, "steered, replaced", params([("beams", 12), ("inputs", 70)]), |session| {
        let inputs = Inputs::new(35, 2)?;
        let band = SteeredBand {
            frequencies: Frequencies { first_hz: 1.4e9, step_hz: 1e6 },
            channels: 5,
            sample_rate_hz: 100e6,
            reference_hz: 1.4e9,
        };
        let model = |beam: usize, antenna: usize| {
            let delay = 1e-9 * (antenna * (beam + 1)) as f64;
            let segment = DelaySegment::from_seconds(0, &[delay, 3e-10 * antenna as f64], 100e6)?;
            DelayModel::from_segment(segment.with_fringe_stopping(1.4e9, 100e6)?)
        };
        let models = (0..6).map(|beam| (0..35).map(|antenna| model(beam, antenna)).collect::<Result<Vec<_>, _>>());
        let gains = Array2::from_shape_fn((12, 70), |(beam, input)| {
            Complex::from_polar(0.5 + (input % 7) as f32 / 10.0, (beam * 3 + input) as f32)
        });
        let mut used = vec![true; 70];
        used[13] = false;
        let steering = BeamSteering::new(inputs, band, models.collect::<Result<Vec<_>, _>>()?)?;
        let steering = steering.with_polarisations().with_gains(gains)?.with_flags(used)?;
        let data = voltages([5, 200, 70], 3, <Complex<i8> as Format>::of);
        let host = Voltages::new(data, inputs)?;
        let backend = Backend::on(session.device.clone());
        let mut up = Uploader::new(&session.stream);
        let chunk = up.voltages(&host)?;
        let set = |sample: u64| TiedArrayBeams::steered(&steering, sample);
        let mut stream = BeamformerStream::new(&backend, set(1_000_000)?, inputs)?.on(&session.stream);
        let mut worst = 0f64;
        for sample in [1_000_000, 700_000_000_000u64] {
            stream.replace(set(sample)?)?;
            let beams = stream.push(&chunk)?.to_host()?;
            let exact = beamform(&Backend::cpu(), &host, &steering.weights_at(sample)?)?;
            // Weights are rounded to 2^-16 of the largest gain in both parts, and a little beside.
            let largest = 1.1 * (2f64.sqrt() / 65_278.0 + 2f64.powi(-21));
            for ((channel, time, beam), value) in exact.data().indexed_iter() {
                let size: f64 = (0..70).map(|input| Sample::number(host.data()[(channel, time, input)]).norm()).sum();
                let off = wide(beams.data()[(channel, time, beam)] - value).norm();
                worst = worst.max(off / (largest * size));
            }
        }
        // NaN is within nothing.
        let within = worst <= 1.0;
        let verdict = if within { Ok(()) } else { Err(format!("off by {worst:.2} of the bound")) };
        let outcome = Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "the CPU's beams", verdict };
        Ok((outcome, format!("{worst:.2} of the bound")))
    })
}
