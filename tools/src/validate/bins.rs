//! Sums of several bins of heaps on the device, whose runs are short: read by a list, or copied and held until there
//! are more. All of them are those of the CPU backend bit for bit, with their counts.

use fringes::backend::{Backend, Uploader};
use fringes::correlator::{BinnedDump, BinnedIntegrator, Bins, DumpSchedule};
use fringes::{Complex, Complex4, Heaps, Visibilities, f16};

use crate::end::End;
use crate::gpu_report::params;
use crate::validate::interference::{SPACING, same};
use crate::validate::session::{Outcome, Session};
use crate::validate::streams::heaps;
use crate::whole::Whole;

type Failure = Box<dyn std::error::Error>;

/// Batches, antennas, channels, spectra and polarisations of a chunk, and chunks: bins with many spectra of a chunk for
/// the inputs that there are, and with few; heaps that the copy engine reads and others; runs of many spectra.
const QUICK: [([usize; 5], usize); 4] =
    [([12, 4, 3, 16, 2], 3), ([4, 40, 2, 16, 2], 6), ([9, 70, 2, 8, 1], 3), ([20, 3, 2, 20, 1], 2)];
const MORE: [([usize; 5], usize); 3] = [([6, 33, 2, 300, 2], 2), ([16, 64, 33, 16, 2], 9), ([70, 2, 3, 100, 1], 2)];

/// Bins of heaps, one after the other: runs of one to three heaps, and some in no bin.
const TABLE: [Option<usize>; 11] = {
    const A: Option<usize> = Some(0);
    const B: Option<usize> = Some(1);
    const C: Option<usize> = Some(2);
    [A, B, B, A, None, C, A, A, B, C, B]
};

pub(crate) fn validate(session: &mut Session) -> Result<(), End> {
    let cases: Vec<_> = QUICK.into_iter().chain(MORE.into_iter().filter(|_| !session.quick)).collect();
    for (shape, chunks) in cases {
        for flags in [false, true] {
            case::<Complex4>(session, shape, chunks, flags)?;
            case::<Complex<i8>>(session, shape, chunks, flags)?;
            case::<Complex<f16>>(session, shape, chunks, flags)?;
            case::<Complex<f32>>(session, shape, chunks, flags)?;
        }
    }
    Ok(())
}

fn case<V: Whole>(session: &mut Session, shape: [usize; 5], chunks: usize, flags: bool) -> Result<(), End> {
    let [batches, antennas, channels, spectra, pols] = shape;
    let sizes = params([
        ("antennas", antennas),
        ("batches", batches),
        ("channels", channels),
        ("chunks", chunks),
        ("pols", pols),
        ("spectra", spectra),
    ]);
    let variant = format!("{}{}", V::FORMAT, if flags { ", flags" } else { "" });
    session.case("bins", variant, sizes, |session| {
        let chunks = chunks_of::<V>(shape, chunks, flags)?;
        let expected = dumps(&Backend::cpu(), shape, &chunks, |integrator, chunk| Ok(integrator.push(chunk)?))?;
        let mut upload = Uploader::new(&session.stream);
        let found = dumps(&Backend::on(session.device.clone()), shape, &chunks, |integrator, chunk| {
            Ok(integrator.push(&upload.heaps(chunk)?)?)
        })?;
        let mut verdict = if expected.len() == found.len() && expected.len() > 2 {
            Ok(())
        } else {
            Err(format!("{} dumps for {}", found.len(), expected.len()))
        };
        for (expected, found) in expected.iter().zip(&found) {
            for (expected, found) in expected.bins.iter().zip(&found.bins) {
                verdict = verdict.and(same(expected, found));
            }
            if expected.outside != found.outside {
                verdict = verdict.and(Err("other spectra are in no bin".into()));
            }
        }
        let against = "the CPU backend (held to the reference by its tests)";
        Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against, verdict })
    })
}

/// Chunks that follow each other.
fn chunks_of<V: Whole>(shape: [usize; 5], chunks: usize, flags: bool) -> Result<Vec<Heaps<V>>, Failure> {
    let [batches, _, _, spectra, _] = shape;
    let of = |chunk: usize| {
        let first = (chunk * batches * spectra) as u64 * SPACING;
        let heaps = heaps::<V>(shape, first, 31 + chunk as u64)?;
        let clock = heaps.clock();
        Ok(if flags { heaps } else { Heaps::from_checked(heaps.into_data())?.with_clock(clock)? })
    };
    (0..chunks).map(of).collect()
}

/// Dumps of five heaps each, so that they end within chunks.
fn dumps<V: Whole>(
    backend: &Backend,
    [_, antennas, channels, spectra, pols]: [usize; 5],
    chunks: &[Heaps<V>],
    mut push: impl FnMut(
        &mut BinnedIntegrator<V>,
        &Heaps<V>,
    ) -> Result<Vec<BinnedDump<Visibilities<V::Accumulator>>>, Failure>,
) -> Result<Vec<BinnedDump<Visibilities<V::Accumulator>>>, Failure> {
    let schedule = DumpSchedule::new(SPACING, spectra as u64, 5)?;
    let bins = Bins::table(3, spectra as u64, TABLE.to_vec())?;
    let inputs = fringes::Inputs::new(antennas, pols)?;
    let mut integrator = BinnedIntegrator::<V>::new(backend, schedule, bins, inputs, channels)?;
    let mut dumps = Vec::new();
    for chunk in chunks {
        dumps.extend(push(&mut integrator, chunk)?);
    }
    dumps.extend(integrator.finish()?);
    Ok(dumps)
}
