//! Streams of beams on a device: incoherent ones, weights that change within a chunk, sums that are cut, bytes, counts
//! of inputs that came.

use fringes::backend::{ToHost, Uploader};
use fringes::beamformer::{
    BeamformerStream, ByteScale, IncoherentBeams, TiedArrayBeams, TiedArrayDetector, WeightPrecision, beamform, detect,
    to_u8, to_u8_on_device,
};
use fringes::{
    Backend, Beams, Complex, Complex4, DetectedBeams, DetectedProducts, Detection, Heaps, Inputs, Rows, SpectrumClock,
    VoltageSample, Voltages, f16,
};
use fringes_reference::beamformer::incoherent as reference;
use ndarray::{Array2, Array3, Array5, s};

use crate::end::End;
use crate::fft_data::Sample;
use crate::gpu_report::params;
use crate::tied_array_data::{voltages, weights};
use crate::validate::session::{Outcome, Session};

const NAME: &str = "beam_streams";

type Fault = Box<dyn std::error::Error>;
type Verdict = Result<(), String>;

pub(super) const CLOCK: SpectrumClock =
    SpectrumClock { first_sample: 7000, samples_between_spectra: 70, sample_rate_hz: 1e6 };

/// Where voltages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Rows,
    Voltages,
    Heaps,
    Host,
}

/// Spectra of a heap; flags are those of whole heaps.
pub(super) const SPECTRA: usize = 10;

/// Voltages of `times`, with their stamps and flags.
pub(super) fn part<V: VoltageSample>(all: &Voltages<V>, times: std::ops::Range<usize>) -> Result<Voltages<V>, Fault> {
    let clock = SpectrumClock { first_sample: all.clock().sample_of(times.start), ..all.clock() };
    let data = all.data().slice(s![.., times.clone(), ..]).to_owned();
    let part = Voltages::from_checked(data, all.inputs())?.with_clock(clock)?;
    Ok(match all.presence() {
        Some(flags) => part.with_presence(flags.slice(s![times, ..]).to_owned())?,
        None => part,
    })
}

/// The same as heaps.
pub(super) fn heaps<V: VoltageSample>(all: &Voltages<V>) -> Result<Heaps<V>, Fault> {
    let (inputs, pols) = (all.inputs(), all.inputs().pols());
    let shape = (all.times() / SPECTRA, inputs.antennas(), all.channels(), SPECTRA, pols);
    let data = Array5::from_shape_fn(shape, |(batch, antenna, channel, spectrum, pol)| {
        all.data()[(channel, batch * SPECTRA + spectrum, antenna * pols + pol)]
    });
    let heaps = Heaps::from_checked(data)?.with_clock(all.clock())?;
    Ok(match all.presence() {
        Some(flags) => heaps.with_presence(Array2::from_shape_fn((shape.0, shape.1), |(batch, antenna)| {
            flags[(batch * SPECTRA, antenna * pols)]
        }))?,
        None => heaps,
    })
}

/// Voltages with flags of whole heaps, if any.
pub(super) fn data<V: VoltageSample + Sample>(
    [channels, times]: [usize; 2],
    inputs: Inputs,
    flagged: bool,
    of: fn([i32; 2]) -> V,
) -> Result<Voltages<V>, Fault> {
    let data = voltages([channels, times, inputs.len()], 11, of);
    let all = Voltages::from_checked(data, inputs)?.with_clock(CLOCK)?;
    let absent = |time: usize, input: usize| (time / SPECTRA + input / inputs.pols()) % 5 == 2;
    let flags = || Array2::from_shape_fn((times, inputs.len()), |(time, input)| !absent(time, input));
    Ok(if flagged { all.with_presence(flags())? } else { all })
}

pub(super) fn of_4([re, im]: [i32; 2]) -> Complex4 {
    Complex4::from_parts(re as i8, im as i8)
}

pub(super) fn of_8([re, im]: [i32; 2]) -> Complex<i8> {
    Complex::new(re as i8, im as i8)
}

pub(super) fn of_16(parts: [i32; 2]) -> Complex<f16> {
    let [re, im] = parts.map(|part| f16::from_f32(part as f32 / 256.0));
    Complex::new(re, im)
}

fn outcome(against: &'static str, verdict: Verdict, what: String) -> Result<(Outcome, String), Fault> {
    Ok((Outcome { time_ms: 0.0, value: 0.0, unit: "", against, verdict }, what))
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    for flagged in [false, true] {
        for from in [From::Rows, From::Voltages, From::Heaps, From::Host] {
            incoherent(session, from, flagged, of_4)?;
            incoherent(session, from, flagged, of_8)?;
            incoherent(session, from, flagged, of_16)?;
            changes(session, from, flagged)?;
        }
    }
    for products in [DetectedProducts::Power, DetectedProducts::StokesI, DetectedProducts::Coherency] {
        for from in [From::Rows, From::Voltages, From::Heaps] {
            let incoherent: &[usize] = match products {
                DetectedProducts::Power => &[0, 1, 3],
                DetectedProducts::StokesI => &[1],
                _ => &[0],
            };
            for &incoherent in incoherent {
                cut(session, products, from, [20, incoherent], of_8)?;
            }
        }
    }
    cut(session, DetectedProducts::Power, From::Rows, [20, 1], of_4)?;
    cut(session, DetectedProducts::Power, From::Rows, [20, 1], of_16)?;
    // So many beams that samples are held.
    for incoherent in [0, 1, 3] {
        cut(session, DetectedProducts::Power, From::Rows, [140, incoherent], of_4)?;
        cut(session, DetectedProducts::Power, From::Rows, [140, incoherent], of_8)?;
    }
    Ok(())
}

/// Incoherent beams, against sums in f64.
fn incoherent<V: VoltageSample + Sample>(
    session: &mut Session,
    from: From,
    flagged: bool,
    of: fn([i32; 2]) -> V,
) -> Result<(), End> {
    let flags = if flagged { ", flags" } else { "" };
    let variant = format!("{} to incoherent beams, {from:?}{flags}", V::FORMAT);
    let sizes = [("beams", 6), ("channels", 3), ("inputs", 70), ("times", 310)];
    session.case_within(NAME, variant, params(sizes), |session| {
        let inputs = Inputs::new(35, 2)?;
        let all = data([3, 310], inputs, flagged, of)?;
        let gains = Array2::from_shape_fn((6, 70), |(beam, input)| match beam {
            0 => 1.0,
            1 => f32::from(u8::from(input % 2 == 0)),
            _ => (input * beam % 7) as f32 / 3.0 - 0.7,
        });
        let set = IncoherentBeams::new(gains.clone())?;
        let backend = Backend::on(session.device.clone());
        let mut stream = BeamformerStream::new(&backend, set.clone(), inputs)?.on(&session.stream);
        let mut up = Uploader::new(&session.stream);
        let beams = match from {
            From::Rows => stream.push(&up.rows(&Rows::from_voltages(&all))?)?.to_host()?,
            From::Voltages => stream.push(&up.voltages(&all)?)?.to_host()?,
            From::Heaps => stream.push(&up.heaps(&heaps(&all)?)?)?.to_host()?,
            From::Host => stream.push(&all)?,
        };
        let counts = beamform(&Backend::cpu(), &all, &set)?;
        let exact = Array3::from_shape_fn(all.data().dim(), |(channel, time, input)| {
            let here = all.presence().is_none_or(|flags| flags[(time, input)]);
            if here { all.data()[(channel, time, input)].number() } else { Default::default() }
        });
        let expected = reference(exact.view(), gains.mapv(f64::from).view());
        let sizes = reference(exact.view(), gains.mapv(|gain| f64::from(gain.abs())).view());
        let mut verdict = Ok(());
        if beams.input_counts() != counts.input_counts() {
            verdict = Err("counts of inputs that came differ from those of the CPU".into());
        }
        let mut worst = 0f64;
        for (at, &value) in expected.indexed_iter() {
            // 70 inputs are three of a lane, four lanes, eight warps, and the power.
            let bound = (3.0 + 2.0 + 8.0 + 3.0) * 2f64.powi(-24) * sizes[at];
            let off = (f64::from(beams.data()[at]) - value).abs();
            if off > bound || off.is_nan() {
                verdict = Err(format!("{at:?}: {}, not {value}", beams.data()[at]));
            } else if bound > 0.0 {
                worst = worst.max(off / bound);
            }
        }
        outcome("fringes_reference::beamformer::incoherent (f64)", verdict, format!("{worst:.2} of the bound"))
    })
}

/// Weights that change at stated samples: bit for bit the beams of chunks with the one and with the other.
fn changes(session: &mut Session, from: From, flagged: bool) -> Result<(), End> {
    let flags = if flagged { ", flags" } else { "" };
    let variant = format!("weights that change within a chunk, {from:?}{flags}");
    let sizes = [("beams", 20), ("channels", 2), ("inputs", 70), ("times", 300)];
    session.case_within(NAME, variant, params(sizes), |session| {
        let inputs = Inputs::new(35, 2)?;
        let all = data([2, 300], inputs, flagged, of_8)?;
        let set = |seed: u64, precision| -> Result<TiedArrayBeams<Complex<i8>>, Fault> {
            let set = TiedArrayBeams::new(weights([20, 2, 70], 127, seed)?).with_output().with_precision(precision);
            Ok(set.with_scale(6e-4)?.with_dither(5))
        };
        // The last one takes other kernels.
        let (few, more) = (WeightPrecision::Int8, WeightPrecision::Int16);
        let sets = [set(1, few)?, set(2, few)?, set(3, more)?];
        let backend = Backend::on(session.device.clone());
        let mut up = Uploader::new(&session.stream);
        let push = |stream: &mut BeamformerStream<Complex<i8>, _>, up: &mut Uploader, part: &Voltages<Complex<i8>>| {
            let beams: Beams<Complex<i8>> = match from {
                From::Rows => stream.push(&up.rows(&Rows::from_voltages(part))?)?.to_host()?,
                From::Voltages => stream.push(&up.voltages(part)?)?.to_host()?,
                From::Heaps => stream.push(&up.heaps(&heaps(part)?)?)?.to_host()?,
                From::Host => stream.push(part)?,
            };
            Ok::<_, Fault>(beams)
        };
        let stream = |set: &TiedArrayBeams<Complex<i8>>| -> Result<_, Fault> {
            Ok(BeamformerStream::new(&backend, set.clone(), inputs)?.on(&session.stream))
        };
        let mut whole = Vec::new();
        for set in &sets {
            whole.push(push(&mut stream(set)?, &mut up, &all)?);
        }
        let starts = [0, 37, 160];
        let mut verdict = Ok(());
        for cuts in [vec![300], vec![30, 200, 70], vec![160, 140]] {
            let mut stream = stream(&sets[0])?;
            for (set, start) in sets.iter().zip(starts).skip(1) {
                stream.replace_at(set.clone(), CLOCK.sample_of(start))?;
            }
            let mut done = 0;
            for cut in cuts {
                let beams = push(&mut stream, &mut up, &part(&all, done..done + cut)?)?;
                for time in 0..cut {
                    let of = starts.iter().rposition(|&start| start <= done + time).unwrap_or(0);
                    let expected = whole[of].data().slice_move(s![.., done + time, ..]);
                    if beams.data().slice_move(s![.., time, ..]) != expected {
                        verdict = Err(format!("time {} is not that of set {of}", done + time));
                    }
                }
                done += cut;
            }
        }
        outcome("beams of one set at a time", verdict, "same bits".into())
    })
}

/// Sums that chunks and changes of weights cut, with incoherent beams beside them, against sums of voltages; bytes of
/// them, and counts of inputs.
fn cut<V: VoltageSample + Sample>(
    session: &mut Session,
    products: DetectedProducts,
    from: From,
    [beams, incoherent]: [usize; 2],
    of: fn([i32; 2]) -> V,
) -> Result<(), End> {
    let variant = format!("{} to {products:?} of chunks that cut sums, {from:?}, {incoherent} incoherent", V::FORMAT);
    let sizes = [("beams", beams), ("channels", 4), ("inputs", 70), ("times", 480)];
    session.case_within(NAME, variant, params(sizes), |session| {
        let inputs = Inputs::new(35, 2)?;
        let all = data([4, 480], inputs, true, of)?;
        let detection = Detection::new(products, 48, 2)?;
        let set = |seed| weights([beams, 4, 70], 127, seed).map(TiedArrayBeams::new);
        let sets = [set(1)?, set(2)?];
        let backend = Backend::on(session.device.clone());
        let mut up = Uploader::new(&session.stream);
        let change = CLOCK.sample_of(171);

        // What it should be: the device's own voltages and powers, detected on the CPU.
        let mut stream = BeamformerStream::new(&backend, sets[0].clone(), inputs)?.on(&session.stream);
        stream.replace_at(sets[1].clone(), change)?;
        let formed = stream.push(&up.voltages(&all)?)?.to_host()?;
        let mut expected = detect(&formed, &detection)?;
        let powers = incoherent > 0;
        // Of a subset of the inputs, and others.
        let gain = |(beam, input): (usize, usize)| match beam {
            0 => (input % 3) as f32 / 2.0,
            _ => 1.0 + (input % 7) as f32,
        };
        let gains =
            if powers { Some(IncoherentBeams::new(Array2::from_shape_fn((incoherent, 70), gain))?) } else { None };
        if let Some(gains) = &gains {
            let mut host = TiedArrayDetector::<V>::new(&Backend::cpu(), sets[0].clone(), inputs, detection)?
                .with_incoherent(gains.clone())?;
            let of_host: DetectedBeams<f32> = host.push(&all)?;
            let beams = expected.beams();
            let mut data = of_host.data().to_owned();
            data.slice_mut(s![.., .., ..beams, ..]).assign(&expected.data());
            let counts = of_host.input_counts().cloned();
            expected = DetectedBeams::new(data, products, expected.frequencies(), expected.clock())?;
            if let Some(counts) = counts {
                expected = expected.with_input_counts(counts)?;
            }
        }
        let mut verdict = Ok(());
        let mut worst = 0f64;
        for cuts in [vec![480], vec![240, 240], vec![30, 10, 300, 140], vec![480 - 10, 10]] {
            let mut detector = TiedArrayDetector::new(&backend, sets[0].clone(), inputs, detection)?;
            if let Some(gains) = &gains {
                detector = detector.with_incoherent(gains.clone())?;
            }
            let mut detector = detector.on(&session.stream);
            detector.replace_at(sets[1].clone(), change)?;
            let mut done = 0;
            for cut in cuts {
                let chunk = part(&all, done..done + cut)?;
                let first = (done - detector.pending()) / 48;
                let on_device = match from {
                    From::Rows => detector.push(&up.rows(&Rows::from_voltages(&chunk))?)?,
                    From::Heaps => detector.push(&up.heaps(&heaps(&chunk)?)?)?,
                    _ => detector.push(&up.voltages(&chunk)?)?,
                };
                let sums = on_device.to_host()?;
                if sums.clock().first_sample != CLOCK.sample_of(first * 48) {
                    verdict = Err(format!("sum {first} begins at sample {}", sums.clock().first_sample));
                }
                for (at, &value) in sums.data().indexed_iter() {
                    let of = (at.0, first + at.1, at.2, at.3);
                    let size = match products {
                        // A product of both polarisations is at most the sum of their powers.
                        DetectedProducts::Coherency => {
                            [0, 1].map(|k| expected.data()[(of.0, of.1, of.2, k)]).iter().sum()
                        }
                        _ => expected.data()[of],
                    };
                    // Both sides: 4 roundings of a power, those of 48 spectra and 2 channels, and of the sums of
                    // inputs.
                    let bound = 2.0 * (4.0 + 48.0 + 2.0 + 73.0) * 2f64.powi(-24) * f64::from(size);
                    let off = f64::from((value - expected.data()[of]).abs());
                    if off > bound || off.is_nan() {
                        verdict = Err(format!("{of:?}: {value}, not {}", expected.data()[of]));
                    } else if bound > 0.0 {
                        worst = worst.max(off / bound);
                    }
                }
                let both = sums.input_counts().zip(expected.input_counts());
                let same = both.is_none_or(|(found, expected)| {
                    (0..found.times()).all(|time| found.absent().row(time) == expected.absent().row(first + time))
                });
                if !same || (sums.times() > 0 && sums.input_counts().is_none()) {
                    verdict = Err("counts of inputs that came differ from those of the CPU".into());
                }
                if sums.times() > 0 {
                    let scale = ByteScale::of(&sums, 96.0, 60.0)?;
                    let (bytes, on_host) =
                        (to_u8_on_device(&session.stream, &on_device, &scale)?, to_u8(&sums, &scale)?);
                    let saturated = bytes.saturated.to_vec()?;
                    if bytes.beams.to_host()?.data() != on_host.beams.data() || saturated != on_host.saturated.to_vec()
                    {
                        verdict = Err("bytes differ from those of the host".into());
                    }
                }
                done += cut;
            }
            if detector.pending() != 0 {
                verdict = Err(format!("{} spectra are left", detector.pending()));
            }
        }
        outcome("voltages of the device, detected on the CPU", verdict, format!("{worst:.2} of the bound"))
    })
}
