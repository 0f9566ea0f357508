//! The corner turn on GPUs against the host's, bit for bit.

use fringes::{Complex, Complex4, DeviceHeaps, Heaps, SpectrumClock, ToHost, Uploader, f16, turn_channels_on_host};
use fringes_gpu::{Device, Stream};
use ndarray::{Array2, Array5};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::end::End;
use crate::scale::Failures;
use crate::scale::shares::shares;
use crate::scale::turner::{Turner, Way};
use crate::whole::Whole;

/// Batches, channels and spectra of the cases: several batches, one, and rows of many bytes.
const SIZES: [[usize; 3]; 3] = [[3, 8, 4], [1, 8, 4], [2, 1001, 64]];

/// Checks a way.
pub(crate) fn run(devices: &[Device], way: Way, failures: &mut Failures) {
    // By copies, two ranks may be one GPU; NCCL has each GPU once.
    let ranks = if way == Way::Copies { devices.len().max(2) } else { devices.len() };
    let streams = (0..ranks).map(|rank| devices[rank % devices.len()].new_stream()).collect::<Result<Vec<_>, _>>();
    let turner = streams.map_err(End::from).and_then(|streams| {
        let turner = Turner::new(way, streams.clone(), Vec::new())?;
        Ok((turner, streams))
    });
    let Some((mut turner, streams)) = failures.note(&format!("a turn by {}", way.name()), turner) else { return };
    let mut checked = 0;
    for size in SIZES {
        let what = format!("the turn by {}, batches, channels, spectra {size:?}", way.name());
        let ended = formats(&mut turner, &streams, size);
        checked += failures.note(&what, ended).unwrap_or(0);
    }
    println!("turn by {}: {checked} turns of {ranks} ranks equal the host's, bit for bit", way.name());
}

/// All formats; how many turns were compared.
fn formats(turner: &mut Turner, streams: &[Stream], size: [usize; 3]) -> Result<usize, End> {
    Ok(format::<Complex4>(turner, streams, size)?
        + format::<Complex<i8>>(turner, streams, size)?
        + format::<Complex<f16>>(turner, streams, size)?)
}

/// Random frames of a rank, some of them absent if it is an odd one.
fn frames<V: Whole>(rank: usize, antennas: usize, [batches, channels, spectra]: [usize; 3]) -> Result<Heaps<V>, End> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(rank as u64);
    let largest = V::LARGEST;
    let mut part = || random.random_range(-largest..=largest);
    let data = Array5::from_shape_simple_fn((batches, antennas, channels, spectra, 2), || V::of(part(), part()));
    let clock = SpectrumClock { first_sample: 4096, samples_between_spectra: 16, sample_rate_hz: 1e9 };
    let heaps = Heaps::new(data).and_then(|heaps| heaps.with_clock(clock)).map_err(End::failed)?;
    if rank % 2 == 0 {
        return Ok(heaps);
    }
    let flags = Array2::from_shape_fn((batches, antennas), |(batch, antenna)| (batch + antenna) % 2 == 0);
    heaps.with_presence(flags).map_err(End::failed)
}

/// A format.
fn format<V: Whole>(turner: &mut Turner, streams: &[Stream], size: [usize; 3]) -> Result<usize, End> {
    let ranks = streams.len();
    let [_, channels, _] = size;
    // Uneven: antennas 3, 2, 4, 3, ..., channels 5 and 3 of 8 for two ranks.
    let mut parts = shares(channels, ranks);
    if let [first, second] = parts.as_mut_slice() {
        (first.end, second.start) = (first.end + 1, second.start + 1);
    }
    let host = (0..ranks).map(|rank| frames::<V>(rank, 2 + (rank + 1) % 2 + rank / 2, size));
    let host: Vec<Heaps<V>> = host.collect::<Result<_, _>>()?;
    let upload = |(heaps, stream): (&Heaps<V>, &Stream)| {
        // Written on another stream than turns.
        let writer = stream.device().new_stream()?;
        Uploader::new(&writer).heaps(heaps).map_err(End::failed)
    };
    let sent: Vec<DeviceHeaps<'static, V>> = host.iter().zip(streams).map(upload).collect::<Result<_, End>>()?;
    turner.set_channels(parts.clone());
    let turned = turner.all(&sent.iter().collect::<Vec<_>>())?;
    drop(sent);
    for (rank, (turned, channels)) in turned.iter().zip(parts).enumerate() {
        let expected = turn_channels_on_host(&host.iter().collect::<Vec<_>>(), channels).map_err(End::failed)?;
        if turned.to_host().map_err(End::failed)? != expected {
            return Err(End::failed(format!("rank {rank}, {:?}: differs from the host's", V::FORMAT)));
        }
    }
    Ok(turned.len())
}
