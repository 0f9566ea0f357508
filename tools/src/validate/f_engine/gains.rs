//! Gains that are set while a stream runs: frames behind it have the bits of an F-engine that had them from the
//! beginning, on the same device, and those before it of one that had the others.

use std::time::Instant;

use fringes::{Backend, Complex, Gains, Precision, SampleFormat};
use ndarray::Array2;

use super::NAMES;
use super::case::{Case, Fault, packed, typed};
use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

const NAME: &str = NAMES[1];
/// Chunks of a stream; gains are set before each but the first.
const CHUNKS: usize = 5;

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    if !session.wants(NAME) {
        return Ok(());
    }
    // Both precisions, and the general kernels.
    for (channels, format, precision) in [
        (256, packed(10), Precision::Single),
        (512, packed(10), Precision::Half),
        (512, typed(SampleFormat::Float16, true), Precision::Half),
        (60, packed(12), Precision::Single),
    ] {
        let case = Case {
            inputs: (2, 2),
            precision,
            spectra: 40,
            spectra_per_frame: 4,
            dither: Some(11),
            ..Case::new(channels, format, 4)
        };
        let sizes = params([("channels", channels), ("taps", 4), ("inputs", 4), ("spectra", case.spectra)]);
        session.case(NAME, format!("{format}, gains set between chunks"), sizes, |session| {
            let gpu = Backend::on(session.device.clone());
            let start = Instant::now();
            let verdict = check(&case, &gpu);
            let time_ms = start.elapsed().as_secs_f64() * 1e3;
            let against = "F-engines that had the gains from the beginning, on the same device";
            Ok(Outcome { time_ms, value: 0.0, unit: "", against, verdict: verdict.map_err(|fault| fault.to_string()) })
        })?;
    }
    Ok(())
}

/// Gains of chunk `chunk`: of one input, of some channels of another one, of all.
fn changed(mut gains: Array2<Complex<f32>>, chunk: usize) -> Array2<Complex<f32>> {
    let half = Complex::new(0.0, 0.5);
    match chunk {
        1 => gains.column_mut(2).mapv_inplace(|gain| gain * half),
        2 => gains.column_mut(1).iter_mut().skip(7).step_by(5).for_each(|gain| *gain *= half),
        3 => gains.mapv_inplace(|gain| gain * half),
        _ => {}
    }
    gains
}

fn check(case: &Case, gpu: &Backend) -> Result<(), Fault> {
    let samples = case.samples()?;
    let length = samples.ncols();
    let ends: Vec<usize> = (0..=CHUNKS).map(|chunk| chunk * length / CHUNKS).collect();
    let mut engine = case.engine::<Complex<i8>>(gpu)?;
    // Gains of a chunk, and the stamp of the first spectrum that they count for.
    let mut sets = Vec::new();
    let mut found = Vec::new();
    for chunk in 0..CHUNKS {
        let gains = changed(case.gains(), chunk);
        engine.set_gains(&Gains::per_channel_input(gains.clone())?)?;
        sets.push((gains, engine.next_stamp().unwrap_or(0)));
        found.extend(engine.push(&*case.chunk(&samples, ends[chunk], ends[chunk + 1])?)?.frames);
    }
    found.extend(engine.flush()?);
    let mut compared = 0;
    for (chunk, (gains, from)) in sets.iter().enumerate() {
        let until = sets.get(chunk + 1).map_or(u64::MAX, |(_, stamp)| *stamp);
        let builder = case.builder()?.gains(Gains::per_channel_input(gains.clone())?);
        let mut engine = builder.build::<Complex<i8>>(gpu)?;
        let mut expected = Vec::new();
        for part in 0..CHUNKS {
            expected.extend(engine.push(&*case.chunk(&samples, ends[part], ends[part + 1])?)?.frames);
        }
        expected.extend(engine.flush()?);
        let pairs = found.iter().flat_map(spectra).zip(expected.iter().flat_map(spectra));
        for ((stamp, values), (other, exact)) in pairs {
            if stamp != other {
                return Err(format!("a spectrum of {stamp} where {other} was expected").into());
            }
            if (*from..until).contains(&stamp) {
                compared += 1;
                if values != exact {
                    return Err(format!("gains of chunk {chunk}: the spectrum stamped {stamp} differs").into());
                }
            }
        }
    }
    if compared < case.spectra { Err(format!("{compared} spectra were compared").into()) } else { Ok(()) }
}

/// Stamps of spectra of frames, and their values `[antenna][channel][pol]`.
fn spectra(
    frames: &fringes::Frames<fringes::Heaps<Complex<i8>>>,
) -> impl Iterator<Item = (u64, Vec<Complex<i8>>)> + '_ {
    let (data, clock) = (frames.voltages.data(), frames.voltages.clock());
    let of_frame = data.dim().3;
    (0..data.dim().0 * of_frame).map(move |time| {
        let values = data.index_axis(ndarray::Axis(0), time / of_frame);
        (clock.sample_of(time), values.index_axis(ndarray::Axis(2), time % of_frame).iter().copied().collect())
    })
}
