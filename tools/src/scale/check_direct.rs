//! F-engines that write where X-engines read, against one F-engine and one X-engine: the same bits.

use fringes::channelizer::ChannelizerError;
use fringes::{
    DeviceArray, DeviceSamples, PackedSamples, Precision, SamplePresence, ToHost, TurnError, TurnedFEngine, Uploader,
};
use fringes_gpu::{Device, Stream};
use ndarray::{Array2, Axis, s};

use crate::end::End;
use crate::scale::Failures;
use crate::scale::check_fx::{ANTENNAS, BITS, CHANNELS, FRAME, Sample, Sums, f_engine, samples, x_engine};
use crate::scale::shares::shares;
use crate::scale::turner::{Way, ring};

/// Chunks that come: one is lost.
const CHUNKS: [usize; 5] = [0, 1, 2, 4, 5];
/// Half precision, and gains with which some values saturate.
const HALF: (Precision, f32) = (Precision::Half, 3.0);
/// Samples of a block of flags.
const BLOCK: usize = 5000;

/// Checks two ranks a GPU where there is one, else one a GPU.
pub(crate) fn run(devices: &[Device], way: Way, failures: &mut Failures) {
    let ranks = if devices.len() > 1 { devices.len() } else { 2 };
    let what = format!("F-engines that write to a ring, {}, and X, on {ranks} ranks", way.name());
    if ranks > ANTENNAS || !ranks.is_power_of_two() {
        println!("{what}: not checked, ranks are to be a power of two and no more than {ANTENNAS}");
        return;
    }
    let ended = one(&devices[0]).and_then(|one| compare(&one, &several(devices, way, ranks)?));
    if let Some(compared) = failures.note(&what, ended) {
        println!("{what}: {compared}");
    }
    let ended = occupied(&devices[0], way);
    if failures.note("frames that are still held", ended).is_some() {
        println!("frames that are still held are not written over, and the chunk may come again");
    }
}

/// Values of frames `[frame][antenna][channel][spectrum][pol]` with flags, and dumps, by share of the channels.
type Shares = Vec<(Vec<(Vec<Sample>, Option<Array2<bool>>)>, Vec<Sums>)>;

/// What comes out, and saturated values `[frame][input]` of all frames.
type Outcome = (Shares, Array2<u32>);

/// Adds the counts of a piece of frames of some inputs.
fn count(all: &mut Array2<u32>, saturated: &DeviceArray<'static, u32>, inputs: usize) -> Result<(), End> {
    let counts = saturated.to_vec().map_err(End::failed)?;
    let counts = Array2::from_shape_vec((counts.len() / inputs, inputs), counts).map_err(End::failed)?;
    all.append(Axis(0), counts.view()).map_err(End::failed)
}

/// A chunk of some antennas, of which one in seven blocks is missing.
fn chunk(
    uploader: &mut Uploader,
    antennas: &std::ops::Range<usize>,
    number: usize,
) -> Result<DeviceSamples<'static>, End> {
    let all = samples(number);
    let (rows, inputs) = (2 * antennas.start..2 * antennas.end, fringes::Inputs::new(antennas.len(), 2));
    let inputs = inputs.map_err(End::failed)?;
    let packed = PackedSamples::pack(all.slice(s![rows.clone(), ..]), BITS, inputs).map_err(End::failed)?;
    let blocks = all.ncols().div_ceil(BLOCK);
    let flags = Array2::from_shape_fn((inputs.len(), blocks), |(input, block)| {
        number != 1 || (5 * (rows.start + input) + block) % 7 != 3
    });
    let presence = SamplePresence::new(BLOCK, flags).map_err(End::failed)?;
    let packed = packed.with_first_sample((number * all.ncols()) as u64).with_sample_rate(1e9).map_err(End::failed)?;
    uploader.samples(&packed.with_presence(presence).map_err(End::failed)?).map_err(End::failed)
}

/// One F-engine in half precision and one X-engine.
fn one(device: &Device) -> Result<Outcome, End> {
    let stream = device.new_stream()?;
    let antennas = 0..ANTENNAS;
    let mut engine = f_engine(&stream, &antennas, HALF)?;
    let mut integrator = x_engine(&stream, &(0..CHANNELS))?;
    let mut uploader = Uploader::new(&stream);
    let (mut frames, mut dumps) = (Vec::new(), Vec::new());
    let mut saturated = Array2::zeros((0, 2 * ANTENNAS));
    for number in CHUNKS {
        let samples = chunk(&mut uploader, &antennas, number)?;
        for piece in engine.push(&samples).map_err(End::failed)?.frames {
            dumps.extend(integrator.push(&piece.voltages).map_err(End::failed)?);
            count(&mut saturated, &piece.saturated, 2 * ANTENNAS)?;
            let host = piece.voltages.to_host().map_err(End::failed)?;
            frames.push((host.data().iter().copied().collect(), host.presence().map(|flags| flags.to_owned())));
        }
    }
    if let Some(piece) = engine.flush_on_device().map_err(End::failed)? {
        dumps.extend(integrator.push(&piece.voltages).map_err(End::failed)?);
        count(&mut saturated, &piece.saturated, 2 * ANTENNAS)?;
        let host = piece.voltages.to_host().map_err(End::failed)?;
        frames.push((host.data().iter().copied().collect(), host.presence().map(|flags| flags.to_owned())));
    }
    dumps.extend(integrator.finish().map_err(End::failed)?);
    if engine.precision() != Some(Precision::Half) {
        return Err(End::failed("one F-engine: not in half precision"));
    }
    Ok((vec![(frames, dumps)], saturated))
}

/// An F-engine and an X-engine a rank, and a ring.
fn several(devices: &[Device], way: Way, ranks: usize) -> Result<Outcome, End> {
    let devices: Vec<Device> = (0..ranks).map(|rank| devices[rank % devices.len()].clone()).collect();
    let streams: Vec<Stream> = devices.iter().map(Device::new_stream).collect::<Result<_, _>>()?;
    let inputs = fringes::Inputs::new(ANTENNAS, 2).map_err(End::failed)?;
    // No whole number of chunks: pieces are cut where it begins anew.
    let ring = ring::<Sample>(way, &devices, inputs, CHANNELS, FRAME, 11)?;
    let antennas = shares(ANTENNAS, ranks);
    let mut engines: Vec<(TurnedFEngine<Sample>, Uploader)> = Vec::new();
    let mut integrators = Vec::new();
    for (rank, stream) in streams.iter().enumerate() {
        let engine = f_engine(stream, &antennas[rank], HALF)?;
        let engine = engine.into_turn(&ring, antennas[rank].start).map_err(End::failed)?;
        engines.push((engine, Uploader::new(stream)));
        integrators.push(x_engine(stream, &ring.channels_of(rank))?);
    }
    let mut saturated: Vec<_> = antennas.iter().map(|of| Array2::zeros((0, 2 * of.len()))).collect();
    let mut shares: Shares = (0..ranks).map(|_| (Vec::new(), Vec::new())).collect();
    for number in CHUNKS.into_iter().map(Some).chain([None]) {
        let mut pieces = Vec::new();
        for ((engine, uploader), antennas) in engines.iter_mut().zip(&antennas) {
            pieces.push(match number {
                Some(number) => engine.push(&chunk(uploader, antennas, number)?).map_err(End::failed)?,
                None => engine.flush().map_err(End::failed)?.into_iter().collect(),
            });
        }
        for ((pieces, saturated), antennas) in pieces.iter().zip(&mut saturated).zip(&antennas) {
            pieces.iter().try_for_each(|piece| count(saturated, &piece.saturated, 2 * antennas.len()))?;
        }
        for piece in 0..pieces.iter().map(Vec::len).max().unwrap_or(0) {
            let parts: Vec<_> = pieces.iter().filter_map(|pieces| Some(&pieces.get(piece)?.frames)).collect();
            for (rank, (frames, dumps)) in shares.iter_mut().enumerate() {
                let (mut values, mut flags) = (Vec::new(), Vec::new());
                for heaps in ring.take(rank, &parts).map_err(End::failed)? {
                    dumps.extend(integrators[rank].push(&heaps).map_err(End::failed)?);
                    let host = heaps.to_host().map_err(End::failed)?;
                    values.extend(host.data().iter().copied());
                    let all = Array2::from_elem((host.batches(), ANTENNAS), true);
                    flags.push(host.presence().map_or(all, |flags| flags.to_owned()));
                }
                let flags: Vec<_> = flags.iter().map(|flags| flags.view()).collect();
                let flags = ndarray::concatenate(Axis(0), &flags).map_err(End::failed)?;
                frames.push((values, Some(flags)));
            }
        }
    }
    for ((_, dumps), integrator) in shares.iter_mut().zip(&mut integrators) {
        dumps.extend(integrator.finish().map_err(End::failed)?);
    }
    let saturated: Vec<_> = saturated.iter().map(|counts| counts.view()).collect();
    Ok((shares, ndarray::concatenate(Axis(1), &saturated).map_err(End::failed)?))
}

/// Compares shares of the channels with all of them; how much in words.
fn compare((one, expected): &Outcome, (several, saturated): &Outcome) -> Result<String, End> {
    if saturated != expected || saturated.sum() == 0 {
        let [saturated, expected] = [saturated, expected].map(|counts| counts.sum());
        return Err(End::failed(format!("counts of saturated values: {saturated} in all, expected {expected}")));
    }
    let Some((whole, expected)) = one.first() else { return Err(End::failed("one GPU gave nothing")) };
    let (share, mut compared, mut absent, mut differ) = (CHANNELS / several.len(), 0usize, 0, 0);
    for (rank, (frames, dumps)) in several.iter().enumerate() {
        if frames.len() != whole.len() || dumps.len() != expected.len() || dumps.len() < 4 || frames.len() < 5 {
            let text = format!(
                "{} pieces and {} dumps, expected {}, {}",
                frames.len(),
                dumps.len(),
                whole.len(),
                expected.len()
            );
            return Err(End::failed(format!("rank {rank}: {text}")));
        }
        for ((values, flags), (all, all_flags)) in frames.iter().zip(whole) {
            // Antennas of all frames, of which all channels' values follow each other.
            let channel = 2 * FRAME;
            let mine = all
                .chunks_exact(channel * CHANNELS)
                .flat_map(|heap| heap.chunks_exact(channel * share).nth(rank).unwrap_or_default().iter());
            if values.len() * several.len() != all.len() || values.len() < 1000 {
                return Err(End::failed(format!("rank {rank}: {} values of {}", values.len(), all.len())));
            }
            differ += mine.zip(values).filter(|(expected, value)| expected != value).count();
            compared += values.len();
            let same = match (flags, all_flags) {
                (Some(flags), Some(all)) => flags == all,
                (Some(flags), None) => flags.iter().all(|&there| there),
                (None, _) => false,
            };
            if !same {
                return Err(End::failed(format!("rank {rank}: flags differ")));
            }
            absent += flags.iter().flatten().filter(|&&there| !there).count();
        }
        let channels = rank * share..(rank + 1) * share;
        for (number, (dump, expected)) in dumps.iter().zip(expected).enumerate() {
            let same = dump.data() == expected.data().slice(s![channels.clone(), ..])
                && dump.clock() == expected.clock()
                && dump.valid_samples() == expected.valid_samples();
            if !same {
                return Err(End::failed(format!("rank {rank}, dump {number}: differs from one GPU's")));
            }
        }
    }
    if differ > 0 || absent == 0 {
        return Err(End::failed(format!("{differ} of {compared} values differ, {absent} heaps are absent")));
    }
    Ok(format!(
        "{compared} values, {} saturated among them, and {} dumps equal one GPU's, bit for bit; {absent} heaps absent",
        saturated.sum(),
        expected.len()
    ))
}

/// A ring whose frames somebody has.
fn occupied(device: &Device, way: Way) -> Result<(), End> {
    let stream = device.new_stream()?;
    let inputs = fringes::Inputs::new(ANTENNAS, 2).map_err(End::failed)?;
    let ring = ring::<Sample>(way, std::slice::from_ref(device), inputs, CHANNELS, FRAME, 4)?;
    let engine = f_engine(&stream, &(0..ANTENNAS), HALF)?;
    let mut engine = engine.into_turn(&ring, 0).map_err(End::failed)?;
    let mut uploader = Uploader::new(&stream);
    let samples = [0, 2].map(|number| chunk(&mut uploader, &(0..ANTENNAS), number));
    let [first, second] = samples;
    let mut held = engine.push(&first?).map_err(End::failed)?;
    let heaps = ring.take(0, &held.iter().map(|piece| &piece.frames).collect::<Vec<_>>()).map_err(End::failed)?;
    held.clear();
    let second = second?;
    match engine.push(&second) {
        Err(ChannelizerError::Turn(TurnError::Occupied { places: 4, .. })) => {}
        other => return Err(End::failed(format!("expected an error, found {:?}", other.map(|pieces| pieces.len())))),
    }
    drop(heaps);
    engine.push(&second).map_err(End::failed)?;
    Ok(())
}
