//! F- and X-engines on several ranks against one F-engine and one X-engine: the same visibilities, bit for bit.

use std::ops::Range;

use fringes::correlator::DumpSchedule;
use fringes::delay::{DelayModel, DelaySegment};
use fringes::{
    Backend, Channelizer, Complex, DeviceHeaps, FEngine, Gains, Heaps, Inputs, Integrator, PackedSamples, Precision,
    ToHost, Uploader, Visibilities,
};
use fringes_gpu::{Device, Stream};
use ndarray::{Array2, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::scale::Failures;
use crate::scale::shares::shares;
use crate::scale::turner::{Turner, Way};

pub(super) type Sample = Complex<i8>;
pub(super) type Sums = Visibilities<Complex<i64>>;

pub(super) const ANTENNAS: usize = 11;
pub(super) const CHANNELS: usize = 512;
pub(super) const FRAME: usize = 64;
pub(super) const BITS: u32 = 10;
/// Spectra of a chunk, no whole number of frames.
const SPECTRA: usize = 3 * FRAME + 17;
const CHUNKS: usize = 3;

/// Checks a way.
pub(crate) fn run(devices: &[Device], way: Way, failures: &mut Failures) {
    let ranks = if way == Way::Copies { devices.len().max(2) } else { devices.len() };
    let what = format!("F, turn by {} and X on {ranks} ranks", way.name());
    if ranks > ANTENNAS {
        println!("{what}: not checked, there are {ANTENNAS} antennas");
        return;
    }
    let ended = one(&devices[0]).and_then(|one| compare(&one, &several(devices, way, ranks)?));
    if let Some(compared) = failures.note(&what, ended) {
        println!("{what}: {compared}");
    }
}

/// What comes out of some antennas' F-engine, or of the X-engine.
struct Outcome {
    /// Frames of each rank.
    frames: Vec<Vec<Heaps<Sample>>>,
    /// Channels of each rank, and its dumps.
    dumps: Vec<(Range<usize>, Vec<Sums>)>,
}

/// A chunk of random samples of all inputs.
pub(super) fn samples(chunk: usize) -> Array2<i16> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(chunk as u64);
    Array2::from_shape_simple_fn((2 * ANTENNAS, 2 * CHANNELS * SPECTRA), || random.random_range(-400..=400))
}

/// The F-engine of some antennas, with gains times a factor. Both polarisations of every antenna have the same two
/// delays, so that all ranks begin with the same frame.
pub(super) fn f_engine(
    stream: &Stream,
    antennas: &Range<usize>,
    (precision, factor): (Precision, f32),
) -> Result<FEngine<Sample>, End> {
    let inputs = Inputs::new(antennas.len(), 2).map_err(End::failed)?;
    let plan = Channelizer::real(CHANNELS).taps(8).build().map_err(End::failed)?;
    let gain = |(channel, input): (usize, usize)| {
        let input = 2 * antennas.start + input;
        Complex::from_polar(factor * (0.07 + 0.01 * (channel % 7) as f32), (channel % 11 + input) as f32)
    };
    let gains = Gains::per_channel_input(Array2::from_shape_fn((CHANNELS, inputs.len()), gain)).map_err(End::failed)?;
    let delay = |input: usize| {
        let segment = DelaySegment::new(0, vec![-37.3 + 0.7 * (input % 2) as f64]);
        DelayModel::from_segment(segment.with_phase(0.11 * (2 * antennas.start + input) as f64, 0.0))
            .map_err(End::failed)
    };
    let delays = (0..inputs.len()).map(delay).collect::<Result<_, _>>()?;
    let builder = FEngine::builder(plan, inputs).spectra_per_frame(FRAME).precision(precision);
    let builder = builder.delays(delays).gains(gains);
    let engine = builder.build::<Sample>(&Backend::on(stream.device().clone())).map_err(End::failed)?;
    engine.on(stream).map_err(End::failed)
}

/// The X-engine of some channels.
pub(super) fn x_engine(stream: &Stream, channels: &Range<usize>) -> Result<Integrator<Sample>, End> {
    let schedule = DumpSchedule::new(2 * CHANNELS as u64, FRAME as u64, 2).map_err(End::failed)?;
    let inputs = Inputs::new(ANTENNAS, 2).map_err(End::failed)?;
    let integrator = Integrator::new(&Backend::on(stream.device().clone()), schedule, inputs, channels.len());
    integrator.and_then(|integrator| integrator.on(stream)).map_err(End::failed)
}

/// Frames of a chunk.
fn push(
    engine: &mut FEngine<Sample>,
    uploader: &mut Uploader,
    antennas: &Range<usize>,
    chunk: usize,
) -> Result<Vec<DeviceHeaps<'static, Sample>>, End> {
    let all = samples(chunk);
    let rows = all.slice(s![2 * antennas.start..2 * antennas.end, ..]);
    let packed = PackedSamples::pack(rows, BITS, engine.inputs()).map_err(End::failed)?;
    let packed = packed.with_first_sample((chunk * all.ncols()) as u64).with_sample_rate(1e9).map_err(End::failed)?;
    let sent = uploader.samples(&packed).map_err(End::failed)?;
    let frames = engine.push(&sent).map_err(End::failed)?.frames;
    Ok(frames.into_iter().map(|frames| frames.voltages).collect())
}

/// One F-engine and one X-engine.
fn one(device: &Device) -> Result<Outcome, End> {
    let stream = device.new_stream()?;
    let (antennas, channels) = (0..ANTENNAS, 0..CHANNELS);
    let (mut engine, mut integrator) =
        (f_engine(&stream, &antennas, (Precision::Single, 1.0))?, x_engine(&stream, &channels)?);
    let mut uploader = Uploader::new(&stream);
    let (mut all, mut dumps) = (Vec::new(), Vec::new());
    for chunk in 0..CHUNKS {
        for frames in push(&mut engine, &mut uploader, &antennas, chunk)? {
            dumps.extend(integrator.push(&frames).map_err(End::failed)?);
            all.push(frames.to_host().map_err(End::failed)?);
        }
    }
    dumps.extend(integrator.finish().map_err(End::failed)?);
    Ok(Outcome { frames: vec![all], dumps: vec![(channels, dumps)] })
}

/// An F-engine and an X-engine a rank, and the turn between them.
fn several(devices: &[Device], way: Way, ranks: usize) -> Result<Outcome, End> {
    let on = |rank: usize| devices[rank % devices.len()].new_stream();
    let computing: Vec<Stream> = (0..ranks).map(on).collect::<Result<_, _>>()?;
    let turning: Vec<Stream> = (0..ranks).map(on).collect::<Result<_, _>>()?;
    let (antennas, channels) = (shares(ANTENNAS, ranks), shares(CHANNELS - 2, ranks));
    // Uneven: the last rank has two more.
    let mut channels = channels;
    if let Some(last) = channels.last_mut() {
        last.end = CHANNELS;
    }
    let of = |rank: usize| {
        let engine = f_engine(&computing[rank], &antennas[rank], (Precision::Single, 1.0))?;
        Ok::<_, End>((engine, Uploader::new(&computing[rank])))
    };
    let mut engines = (0..ranks).map(of).collect::<Result<Vec<_>, _>>()?;
    let integrators = computing.iter().zip(&channels).map(|(stream, channels)| x_engine(stream, channels));
    let mut integrators = integrators.collect::<Result<Vec<_>, _>>()?;
    let turner = Turner::new(way, turning, channels.clone())?;
    let (mut all, mut dumps) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
    for chunk in 0..CHUNKS {
        let mut pieces = Vec::with_capacity(ranks);
        for ((engine, uploader), antennas) in engines.iter_mut().zip(&antennas) {
            pieces.push(push(engine, uploader, antennas, chunk)?);
        }
        let count = pieces.iter().map(Vec::len).max().unwrap_or(0);
        for piece in 0..count {
            let frames: Vec<_> = pieces.iter().filter_map(|pieces| pieces.get(piece)).collect();
            let turned = turner.all(&frames)?;
            for (rank, turned) in turned.iter().enumerate() {
                dumps[rank].extend(integrators[rank].push(turned).map_err(End::failed)?);
                all[rank].push(frames[rank].to_host().map_err(End::failed)?);
            }
        }
    }
    for (dumps, integrator) in dumps.iter_mut().zip(&mut integrators) {
        dumps.extend(integrator.finish().map_err(End::failed)?);
    }
    Ok(Outcome { frames: all, dumps: channels.into_iter().zip(dumps).collect() })
}

/// Compares what several ranks give with what one does; how much in words.
fn compare(one: &Outcome, several: &Outcome) -> Result<String, End> {
    let (Some(whole), Some((_, expected))) = (one.frames.first(), one.dumps.first()) else {
        return Err(End::failed("one GPU gave nothing"));
    };
    // Frames first: if they differ, it is the F-engines and not the turn.
    let (mut first, mut differ) = (0, 0);
    for rank in &several.frames {
        let antennas = rank.first().map_or(0, |heaps| heaps.inputs().antennas());
        if rank.len() != whole.len() {
            return Err(End::failed(format!("{} pieces of frames, expected {}", rank.len(), whole.len())));
        }
        for (whole, part) in whole.iter().zip(rank) {
            let whole = whole.data().slice_move(s![.., first..first + antennas, .., .., ..]);
            if whole.dim() != part.data().dim() || whole.len() < 1000 {
                return Err(End::failed(format!("frames {:?}, expected {:?}", part.data().dim(), whole.dim())));
            }
            differ += whole.iter().zip(part.data()).filter(|(whole, part)| whole != part).count();
        }
        first += antennas;
    }
    if differ > 0 {
        return Err(End::failed(format!("{differ} values of the F-engines differ from those of one F-engine")));
    }
    let mut compared = 0;
    for (rank, (channels, dumps)) in several.dumps.iter().enumerate() {
        if dumps.len() != expected.len() || dumps.len() < 2 {
            return Err(End::failed(format!("rank {rank}: {} dumps, expected {}", dumps.len(), expected.len())));
        }
        for (number, (dump, expected)) in dumps.iter().zip(expected).enumerate() {
            let same = dump.data() == expected.data().slice(s![channels.clone(), ..])
                && dump.clock() == expected.clock()
                && dump.valid_samples() == expected.valid_samples();
            if !same {
                return Err(End::failed(format!("rank {rank}, dump {number}: differs from one GPU's")));
            }
            compared += dump.data().len();
        }
    }
    Ok(format!("{compared} visibilities of {} dumps equal one GPU's, bit for bit", expected.len()))
}
