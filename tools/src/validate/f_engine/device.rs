//! Chunks in device memory to frames there, on one stream and without waiting; several F-engines of one chunk.

use fringes::types::SampleView;
use fringes::{
    Backend, Complex, DeviceArray, DeviceSamples, DeviceStatistics, Frames, Heaps, InputStatistics, Rows, SampleChunk,
};
use fringes_gpu::Buffer;
use ndarray::ArrayView2;

use super::case::{Case, Fault, packed, typed};
use super::{COMPLEX, NAMES, more, moving};
use crate::end::End;
use crate::gpu_report::params;
use crate::validate::session::{Outcome, Session};

pub(super) fn validate(session: &mut Session) -> Result<(), End> {
    let sizes: &[(usize, usize)] =
        if session.quick { &[(64, 4), (256, 16)] } else { &[(64, 4), (256, 16), (4096, 16), (1536, 8)] };
    let real = sizes.iter().map(|&(channels, taps)| (channels, taps, packed(10)));
    // Of few channels the inner ones are none that another engine has not.
    let complex = sizes
        .iter()
        .filter(|(channels, _)| *channels >= 256)
        .flat_map(|&(channels, taps)| COMPLEX.into_iter().map(move |format| (channels, taps, typed(format, true))));
    let others = more().into_iter().map(|format| (256, 16, format));
    let large = (!session.quick).then_some((8192, 16, typed(fringes::SampleFormat::Float16, true)));
    for (channels, taps, format) in real.chain(others).chain(complex).chain(large) {
        let case = Case {
            inputs: (2, 2),
            spectra: 150,
            spectra_per_frame: 64,
            delays: moving(channels),
            ..Case::new(channels, format, taps)
        };
        let sizes = params([("channels", channels), ("taps", taps), ("inputs", 4), ("spectra", case.spectra)]);
        session.case(NAMES[2], format!("{format}, i8, ranges, rows"), sizes, |session| {
            let verdict = run(session, &case).map_err(|fault| fault.to_string());
            let against = "the same F-engines on chunks in host memory";
            Ok(Outcome { time_ms: 0.0, value: 0.0, unit: "", against, verdict })
        })?;
    }
    Ok(())
}

/// F-engines of other ranges of channels take the same chunks from device memory; one gives rows.
fn run(session: &Session, case: &Case) -> Result<(), Fault> {
    let (backend, stream) = (Backend::on(session.device.clone()), &session.stream);
    let samples = case.samples()?;
    let cuts = case.cuts(&[samples.ncols() / 3 + 1, 333])?;
    let (half, inner) = (7..case.channels / 2, case.channels / 4..3 * case.channels / 4);
    let cases = [case.clone(), Case { range: half, ..case.clone() }, Case { range: inner, ..case.clone() }];
    let mut engines = Vec::new();
    for case in &cases {
        let engine = case.builder()?.build::<Complex<i8>>(&backend)?.on(stream)?.with_statistics();
        engines.push((engine, Vec::new(), Vec::new()));
    }
    let (mut to_rows, mut rows) = (case.builder()?.build_rows::<Complex<i8>>(&backend)?.on(stream)?, Vec::new());
    for &(from, to) in &cuts {
        let chunk = case.chunk(&samples, from, to)?;
        // Rows begin at bytes of any number.
        let (words, row_bytes) = sample_rows(&*chunk)?;
        let words = Buffer::from_slice(stream, &words)?;
        let array = DeviceArray::from(words.view());
        let device = DeviceSamples::new(array, row_bytes, chunk.format(), chunk.times(), chunk.inputs())?
            .with_first_sample(chunk.first_sample());
        for (engine, frames, statistics) in &mut engines {
            let channelized = engine.push(&device)?;
            frames.extend(channelized.frames);
            statistics.extend(channelized.statistics);
        }
        let to_rows = to_rows.push(&device)?;
        if to_rows.statistics.is_some() {
            return Err("statistics that nobody asked for".into());
        }
        rows.extend(to_rows.frames);
        stream.synchronize()?;
    }
    for ((mut engine, mut queued, statistics), case) in engines.into_iter().zip(&cases) {
        queued.extend(engine.flush_on_device()?);
        let found: Result<Vec<Frames<Heaps<_>>>, _> = queued.iter().map(|frames| frames.to_host()).collect();
        let expected = case.streamed::<Complex<i8>>(&backend, &samples, &cuts)?;
        if found? != expected.frames {
            return Err(format!("frames of channels {:?} differ", case.range).into());
        }
        if statistics.len() != cuts.len() || summed(&statistics)? != expected.statistics {
            return Err("statistics of samples differ".into());
        }
    }
    rows.extend(to_rows.flush_on_device()?);
    let found: Result<Vec<Frames<Rows<_>>>, _> = rows.iter().map(|frames| frames.to_host()).collect();
    let expected = case.streamed::<Complex<i8>>(&backend, &samples, &cuts)?.frames;
    let same = |(found, expected): (&Frames<Rows<_>>, &Frames<Heaps<_>>)| {
        let (rows, heaps) = (found.voltages.to_voltages(), expected.voltages.to_voltages());
        rows.data() == heaps.data()
            && (rows.clock(), rows.frequencies()) == (heaps.clock(), heaps.frequencies())
            && (&found.spectra_present, &found.saturated) == (&expected.spectra_present, &expected.saturated)
    };
    let found = found?;
    if found.len() != expected.len() || !found.iter().zip(&expected).all(same) {
        return Err("rows differ from heaps".into());
    }
    Ok(())
}

/// The sums of statistics of chunks.
pub(crate) fn summed(statistics: &[DeviceStatistics]) -> Result<Vec<InputStatistics>, Fault> {
    let mut sums = Vec::<InputStatistics>::new();
    for of_chunk in statistics {
        let of_chunk = of_chunk.to_host()?;
        sums.resize(of_chunk.len(), InputStatistics::default());
        for (sum, one) in sums.iter_mut().zip(of_chunk) {
            sum.samples += one.samples;
            sum.clipped += one.clipped;
            sum.sum_of_squares += one.sum_of_squares;
        }
    }
    Ok(sums)
}

/// Rows of a chunk, a byte or a part of a sample more than they need apart, and words behind them.
pub(crate) fn sample_rows(chunk: &dyn SampleChunk) -> Result<(Vec<u32>, usize), Fault> {
    fn bytes<T: bytemuck::Pod>(rows: ArrayView2<'_, T>) -> Vec<Vec<u8>> {
        rows.rows().into_iter().map(|row| row.iter().flat_map(|x| bytemuck::bytes_of(x).to_vec()).collect()).collect()
    }
    let (rows, more) = match chunk.view() {
        SampleView::Packed { bytes: rows, .. } => (bytes(rows), 1),
        SampleView::Int8(rows) => (bytes(rows), 1),
        SampleView::ComplexInt8(rows) => (bytes(rows), 1),
        SampleView::Int16(rows) => (bytes(rows), 2),
        SampleView::ComplexInt16(rows) => (bytes(rows), 2),
        SampleView::Float16(rows) => (bytes(rows), 2),
        SampleView::ComplexFloat16(rows) => (bytes(rows), 2),
        SampleView::Float32(rows) => (bytes(rows), 4),
        SampleView::ComplexFloat32(rows) => (bytes(rows), 4),
    };
    let row_bytes = rows.first().map_or(0, Vec::len) + more;
    let mut all = vec![0x5au8; ((row_bytes * rows.len()).div_ceil(4) + DeviceSamples::PADDING_WORDS) * 4];
    for (row, to) in rows.iter().zip(all.chunks_mut(row_bytes)) {
        row.iter().zip(to).for_each(|(byte, to)| *to = *byte);
    }
    let words = all.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    Ok((words.collect(), row_bytes))
}
