//! Masked beams of chunks on the device: bit for bit those of chunks whose voltages are zeroed before they go there,
//! with the counts of the CPU. The chunks are not changed.

use fringes::backend::{DeviceHeaps, DeviceRows, DeviceVoltages, ToHost, Uploader};
use fringes::beamformer::{
    BeamSet, BeamformerStream, FftBeams, IncoherentBeams, TiedArrayBeams, TiedArrayDetector, WeightPrecision,
};
use fringes::{
    Backend, Beams, ChannelMask, Complex, DetectedBeams, DetectedProducts, Detection, Inputs, Rows, SpectrumClock,
    VoltageSample, Voltages,
};
use ndarray::Array2;

use crate::end::End;
use crate::fft_data::Sample;
use crate::gpu_report::params;
use crate::tied_array_data::weights;
use crate::validate::beam_streams::{CLOCK, SPECTRA, data, heaps, of_4, of_8, of_16, part};
use crate::validate::session::{Outcome, Session};

const NAME: &str = "masked_beams";

type Fault = Box<dyn std::error::Error>;
type Verdict = Result<(), String>;

const CHANNELS: usize = 4;
const TIMES: usize = 480;
/// Spectra of a block, and those that the mask begins before the stream.
const BLOCK: usize = 23;
const LEAD: usize = 5;

/// A chunk that is on the device.
enum There<V: VoltageSample> {
    Rows(DeviceRows<'static, V>),
    Voltages(DeviceVoltages<'static, V>),
    Heaps(DeviceHeaps<'static, V>),
    Host(Voltages<V>),
}

/// Where chunks come from.
#[derive(Debug, Clone, Copy)]
enum From {
    Rows,
    Voltages,
    Heaps,
    Host,
}

const ALL: [From; 4] = [From::Rows, From::Voltages, From::Heaps, From::Host];

impl<V: VoltageSample> There<V> {
    fn new(up: &mut Uploader, from: From, chunk: Voltages<V>) -> Result<Self, Fault> {
        Ok(match from {
            From::Rows => Self::Rows(up.rows(&Rows::from_voltages(&chunk))?),
            From::Voltages => Self::Voltages(up.voltages(&chunk)?),
            From::Heaps => Self::Heaps(up.heaps(&heaps(&chunk)?)?),
            From::Host => Self::Host(chunk),
        })
    }

    /// What it has.
    fn elements(&self) -> Result<Vec<V>, Fault> {
        Ok(match self {
            Self::Rows(rows) => rows.array().to_vec()?,
            Self::Voltages(voltages) => voltages.array().to_vec()?,
            Self::Heaps(heaps) => heaps.array().to_vec()?,
            Self::Host(voltages) => voltages.data().iter().copied().collect(),
        })
    }

    fn beams<B: BeamSet>(
        &self,
        stream: &mut BeamformerStream<V, B>,
        mask: Option<&ChannelMask>,
    ) -> Result<Beams<B::Output>, Fault> {
        Ok(match (self, mask) {
            (Self::Rows(chunk), None) => stream.push(chunk)?.to_host()?,
            (Self::Rows(chunk), Some(mask)) => stream.push_masked(chunk, mask)?.to_host()?,
            (Self::Voltages(chunk), None) => stream.push(chunk)?.to_host()?,
            (Self::Voltages(chunk), Some(mask)) => stream.push_masked(chunk, mask)?.to_host()?,
            (Self::Heaps(chunk), None) => stream.push(chunk)?.to_host()?,
            (Self::Heaps(chunk), Some(mask)) => stream.push_masked(chunk, mask)?.to_host()?,
            (Self::Host(chunk), None) => stream.push(chunk)?,
            (Self::Host(chunk), Some(mask)) => stream.push_masked(chunk, mask)?,
        })
    }

    fn detected(
        &self,
        detector: &mut TiedArrayDetector<V>,
        mask: Option<&ChannelMask>,
    ) -> Result<DetectedBeams<f32>, Fault> {
        Ok(match (self, mask) {
            (Self::Rows(chunk), None) => detector.push(chunk)?.to_host()?,
            (Self::Rows(chunk), Some(mask)) => detector.push_masked(chunk, mask)?.to_host()?,
            (Self::Voltages(chunk), None) => detector.push(chunk)?.to_host()?,
            (Self::Voltages(chunk), Some(mask)) => detector.push_masked(chunk, mask)?.to_host()?,
            (Self::Heaps(chunk), None) => detector.push(chunk)?.to_host()?,
            (Self::Heaps(chunk), Some(mask)) => detector.push_masked(chunk, mask)?.to_host()?,
            (Self::Host(chunk), None) => detector.push(chunk)?,
            (Self::Host(chunk), Some(mask)) => detector.push_masked(chunk, mask)?,
        })
    }
}

/// Nothing, some channels, and all of them in blocks; `[channel][time]` says the same.
fn mask() -> Result<(ChannelMask, Array2<bool>), Fault> {
    let blocks = (TIMES + LEAD).div_ceil(BLOCK) + 1;
    let masked = Array2::from_shape_fn((CHANNELS, blocks), |(channel, block)| match block % 4 {
        1 => false,
        3 => true,
        _ => (channel * 7 + block * 3) % 5 < 2,
    });
    let begins = CLOCK.first_sample - LEAD as u64 * CLOCK.samples_between_spectra;
    let times = Array2::from_shape_fn((CHANNELS, TIMES), |(channel, time)| masked[(channel, (time + LEAD) / BLOCK)]);
    Ok((ChannelMask::new(masked, BLOCK, SpectrumClock { first_sample: begins, ..CLOCK })?, times))
}

/// The same with zeros where something is masked.
fn zeroed<V: VoltageSample>(all: &Voltages<V>, times: &Array2<bool>) -> Result<Voltages<V>, Fault> {
    let mut data = all.data().to_owned();
    for ((channel, time, _), value) in data.indexed_iter_mut() {
        if times[(channel, time)] {
            *value = V::zeroed();
        }
    }
    let zeroed = Voltages::from_checked(data, all.inputs())?.with_clock(all.clock())?;
    Ok(match all.presence() {
        Some(flags) => zeroed.with_presence(flags.to_owned())?,
        None => zeroed,
    })
}

fn bits<T: bytemuck::Pod>(values: impl IntoIterator<Item = T>) -> Vec<u8> {
    values.into_iter().flat_map(|value| bytemuck::bytes_of(&value).to_vec()).collect()
}

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    for flagged in [false, true] {
        for from in ALL {
            voltages(session, from, flagged, of_4)?;
            voltages(session, from, flagged, of_8)?;
            voltages(session, from, flagged, of_16)?;
            for incoherent in [0, 1, 3] {
                sums(session, DetectedProducts::Power, from, flagged, incoherent, of_4)?;
                sums(session, DetectedProducts::Power, from, flagged, incoherent, of_8)?;
                sums(session, DetectedProducts::Power, from, flagged, incoherent, of_16)?;
            }
            sums(session, DetectedProducts::StokesI, from, flagged, 1, of_8)?;
            sums(session, DetectedProducts::Coherency, from, flagged, 0, of_8)?;
        }
        for from in [From::Voltages, From::Host] {
            fft(session, from, flagged, of_4)?;
            fft(session, from, flagged, of_8)?;
        }
    }
    Ok(())
}

fn name<V: VoltageSample>(what: &str, from: From, flagged: bool) -> String {
    format!("{}{what}, {from:?}{}", V::FORMAT, if flagged { ", flags" } else { "" })
}

fn sizes() -> crate::gpu_report::Params {
    params([("beams", 20), ("block", BLOCK), ("channels", CHANNELS), ("inputs", 70), ("times", TIMES)])
}

fn outcome(verdict: Verdict) -> Outcome {
    Outcome { time_ms: 0.0, value: 0.0, unit: "", against: "the device's own beams of voltages with zeros", verdict }
}

/// Voltages of beams in 8 bits and in f32, and incoherent beams.
fn voltages<V: VoltageSample + Sample>(
    session: &mut Session,
    from: From,
    flagged: bool,
    of: fn([i32; 2]) -> V,
) -> Result<(), End> {
    session.case(NAME, name::<V>(" to voltages of beams", from, flagged), sizes(), |session| {
        let inputs = Inputs::new(35, 2)?;
        let tied = |seed| -> Result<_, Fault> { Ok(TiedArrayBeams::new(weights([20, CHANNELS, 70], 127, seed)?)) };
        // Some values are clamped; those of masked voltages are not counted.
        let bytes = |seed, precision| -> Result<_, Fault> {
            let set = tied(seed)?.with_output::<Complex<i8>>().with_precision(precision);
            Ok(set.with_scale(2e-3)?.with_dither(5))
        };
        // The second one takes other kernels, from within a chunk on.
        let sets = [bytes(1, WeightPrecision::Int8)?, bytes(2, WeightPrecision::Int16)?];
        let change = |stream: &mut BeamformerStream<V, TiedArrayBeams<Complex<i8>>>| {
            stream.replace_at(sets[1].clone(), CLOCK.sample_of(333))
        };
        let all = data([CHANNELS, TIMES], inputs, flagged, of)?;
        let gains = Array2::from_shape_fn((6, 70), |(beam, input)| (1 + input * beam % 7) as f32);
        let verdict = same_beams(session, from, &all, &sets[0], change)?;
        let verdict = verdict.and(same_beams(session, from, &all, &tied(3)?, |_| Ok(()))?);
        let incoherent = same_beams(session, from, &all, &IncoherentBeams::new(gains)?, |_| Ok(()))?;
        Ok(outcome(verdict.and(incoherent)))
    })
}

/// FFT beams, of a masked copy of the voltages.
fn fft<V: VoltageSample + Sample>(
    session: &mut Session,
    from: From,
    flagged: bool,
    of: fn([i32; 2]) -> V,
) -> Result<(), End> {
    session.case(NAME, name::<V>(" to FFT beams", from, flagged), sizes(), |session| {
        let all = data([CHANNELS, TIMES], Inputs::new(35, 2)?, flagged, of)?;
        let fan = FftBeams::new(1, 35, 64)?;
        let verdict = same_beams(session, from, &all, &fan, |_| Ok(()))?;
        Ok(outcome(verdict.and(same_beams(session, from, &all, &fan.with_output::<f32>(), |_| Ok(()))?)))
    })
}

/// Beams of masked chunks, and of chunks with zeros, in several cuts.
fn same_beams<V: VoltageSample, B: BeamSet + Clone>(
    session: &Session,
    from: From,
    all: &Voltages<V>,
    set: &B,
    change: impl Fn(&mut BeamformerStream<V, B>) -> Result<(), fringes::beamformer::BeamformerError>,
) -> Result<Verdict, Fault> {
    let (mask, times) = mask()?;
    let without = zeroed(all, &times)?;
    let backend = Backend::on(session.device.clone());
    let mut up = Uploader::new(&session.stream);
    let mut verdict = Ok(());
    for cuts in [vec![TIMES], vec![30, 10, 300, 140], vec![230, 250]] {
        let stream = || BeamformerStream::<V, B>::new(&backend, set.clone(), all.inputs());
        let (mut masked, mut plain) = (stream()?.on(&session.stream), stream()?.on(&session.stream));
        change(&mut masked)?;
        change(&mut plain)?;
        let mut done = 0;
        for cut in cuts {
            let span = done..done + cut;
            let chunk = There::new(&mut up, from, part(all, span.clone())?)?;
            let before = bits(chunk.elements()?);
            let found = chunk.beams(&mut masked, Some(&mask))?;
            let expected = There::new(&mut up, from, part(&without, span.clone())?)?.beams(&mut plain, None)?;
            if bits(found.data().iter().copied()) != bits(expected.data().iter().copied()) {
                verdict = Err(format!("other beams of times {span:?}"));
            }
            if bits(chunk.elements()?) != before {
                verdict = Err(format!("the chunk of times {span:?} was changed"));
            }
            let of_chunk = mask.of_chunk(found.clock(), cut)?;
            let any = span.clone().any(|time| times.column(time).iter().any(|&masked| masked));
            if found.mask() != Some(&of_chunk).filter(|_| any) || found.input_counts() != expected.input_counts() {
                verdict = Err(format!("another mask, or other counts, of times {span:?}"));
            }
            done += cut;
        }
        if masked.take_saturated()? != plain.take_saturated()? {
            verdict = Err("other counts of saturated values".into());
        }
    }
    Ok(verdict)
}

/// Sums that chunks cut, with incoherent beams beside them; counts are those of the CPU.
fn sums<V: VoltageSample + Sample>(
    session: &mut Session,
    products: DetectedProducts,
    from: From,
    flagged: bool,
    incoherent: usize,
    of: fn([i32; 2]) -> V,
) -> Result<(), End> {
    let what = format!(" to {products:?}, {incoherent} incoherent");
    session.case(NAME, name::<V>(&what, from, flagged), sizes(), |session| {
        let (inputs, detection) = (Inputs::new(35, 2)?, Detection::new(products, 48, 2)?);
        let all = data([CHANNELS, TIMES], inputs, flagged, of)?;
        let (mask, times) = mask()?;
        let without = zeroed(&all, &times)?;
        let set = |seed| weights([20, CHANNELS, 70], 127, seed).map(TiedArrayBeams::new);
        let (first, second) = (set(1)?, set(2)?);
        let new = |backend: &Backend| -> Result<TiedArrayDetector<V>, Fault> {
            let mut detector = TiedArrayDetector::new(backend, first.clone(), inputs, detection)?;
            if incoherent > 0 {
                let gains = Array2::from_shape_fn((incoherent, 70), |(beam, input)| (1 + input % (3 + beam)) as f32);
                detector = detector.with_incoherent(IncoherentBeams::new(gains)?)?;
            }
            detector.replace_at(second.clone(), CLOCK.sample_of(171))?;
            Ok(detector)
        };
        let backend = Backend::on(session.device.clone());
        let mut up = Uploader::new(&session.stream);
        let mut verdict = Ok(());
        for cuts in [vec![TIMES], vec![240, 240], vec![30, 10, 300, 140], vec![TIMES - SPECTRA, SPECTRA]] {
            let (mut masked, mut plain) = (new(&backend)?.on(&session.stream), new(&backend)?.on(&session.stream));
            let (mut on_cpu, mut done) = (new(&Backend::cpu())?, 0);
            for cut in cuts {
                let span = done..done + cut;
                let chunk = There::new(&mut up, from, part(&all, span.clone())?)?;
                let before = bits(chunk.elements()?);
                let found = chunk.detected(&mut masked, Some(&mask))?;
                let expected = There::new(&mut up, from, part(&without, span.clone())?)?.detected(&mut plain, None)?;
                let counted = on_cpu.push_masked(&part(&all, span.clone())?, &mask)?;
                if bits(found.data().iter().copied()) != bits(expected.data().iter().copied()) {
                    verdict = Err(format!("other sums of times {span:?}"));
                }
                if bits(chunk.elements()?) != before {
                    verdict = Err(format!("the chunk of times {span:?} was changed"));
                }
                if found.masked_spectra() != counted.masked_spectra() || found.input_counts() != counted.input_counts()
                {
                    verdict = Err(format!("other counts of times {span:?}"));
                }
                if found.times() == TIMES / 48 && found.masked_spectra().is_none() {
                    verdict = Err("nothing is masked: there is nothing to compare".into());
                }
                done += cut;
            }
        }
        Ok(outcome(verdict))
    })
}
