//! A chunk's spectra as jobs: of one input, one coarse delay, one frame, and windows in one buffer.
//!
//! ```text
//! spectra of an input     0 1 2 3 4 5 6 7 8 9 10 11 ...
//! windows begin           in what is held | in the chunk
//! delay steps                   |
//! frames                            open  |  0         |
//! jobs                    [---] [---][----][----][----]        none longer than a kernel takes
//! ```

use fringes_delay::ChannelPhase;
use rayon::prelude::*;

use super::super::Job as Work;
use super::order::Order;
use super::phases::line;
use super::seam::{ChunkRows, Seam};
use crate::gpu::Job;

/// Spectra of all inputs from which on threads share the work of making jobs.
const PARALLEL: usize = 1 << 12;

/// Where a job's windows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// What is held, and the head of the chunk behind it.
    Held,
    /// The chunk.
    Chunk,
}

/// Where a job's frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Among those that are given away.
    Given,
    /// The frame that stays open.
    Open,
}

/// Jobs of one launch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Launch {
    pub(super) source: Source,
    pub(super) target: Target,
    pub(super) jobs: Vec<Job>,
}

/// What jobs depend on beside the chunk's work.
pub(super) struct Places<'a> {
    pub(super) seam: &'a Seam,
    /// Bits from row to row of what is held.
    pub(super) held_row_bits: u64,
    pub(super) chunk: ChunkRows,
    /// Where frames that are given away lie, and the one that stays open.
    pub(super) given: Order,
    pub(super) open: Order,
    /// Most spectra of a job that begins with a spectrum.
    pub(super) most: &'a (dyn Fn(u64) -> usize + Sync),
}

/// The launches of a chunk. Jobs of both polarisations of an antenna follow each other.
pub(super) fn launches(work: &Work<'_>, places: &Places<'_>) -> Vec<Launch> {
    let mut launches: Vec<Launch> = [Source::Held, Source::Chunk]
        .into_iter()
        .flat_map(|source| [Target::Given, Target::Open].map(|target| Launch { source, target, jobs: Vec::new() }))
        .collect();
    // No job has spectra of two frames, so that frames of inputs are independent.
    let (inputs, frames) = (work.timeline.inputs.len(), work.batch.frames + 1);
    let of_part = |part: usize| of_part(work, places, part / frames, part % frames);
    let jobs: Vec<Vec<_>> = if work.batch.spectra * inputs < PARALLEL {
        (0..inputs * frames).map(of_part).collect()
    } else {
        (0..inputs * frames).into_par_iter().map(of_part).collect()
    };
    for (source, target, job) in jobs.into_iter().flatten() {
        let launch = launches.iter_mut().find(|launch| (launch.source, launch.target) == (source, target));
        if let Some(launch) = launch {
            launch.jobs.push(job);
        }
    }
    launches.retain(|launch| !launch.jobs.is_empty());
    let pols = work.timeline.inputs.pols() as u32;
    for launch in &mut launches {
        launch.jobs.sort_by_key(|job| (job.input / pols, job.spectrum, job.input));
    }
    launches
}

/// The jobs of an input in a frame.
fn of_part(work: &Work<'_>, places: &Places<'_>, input: usize, frame: usize) -> Vec<(Source, Target, Job)> {
    let part = work.batch.part(frame);
    let end = part.first_time + part.places.len();
    let (mut time, mut phases, mut jobs) = (part.first_time, Vec::new(), Vec::new());
    while time < end {
        if !work.advance.present[(time, input)] {
            time += 1;
            continue;
        }
        let next = next(work, places, input, time, &mut phases);
        time += next.2.spectra as usize;
        jobs.push(next);
    }
    jobs
}

/// The job that begins with a spectrum of an input.
fn next(
    work: &Work<'_>,
    places: &Places<'_>,
    input: usize,
    time: usize,
    phases: &mut Vec<ChannelPhase>,
) -> (Source, Target, Job) {
    let (timeline, advance, batch) = (work.timeline, work.advance, &work.batch);
    let (spf, stride) = (work.settings.spectra_per_frame, timeline.plan.stride());
    let first = timeline.window(advance, time, input);
    let source = if first.start < 0 { Source::Held } else { Source::Chunk };
    let (frame, place) = ((batch.filled + time) / spf, (batch.filled + time) % spf);
    let spectrum = advance.first_stamp / stride as u64 + time as u64;
    let most = (places.most)(spectrum).min(spf - place).min(batch.spectra - time);
    phases.clear();
    phases.push(first.phase);
    for i in 1..most {
        let window = timeline.window(advance, time + i, input);
        let follows = window.start == first.start + (i * stride) as i64
            && (window.start < 0) == (source == Source::Held)
            && advance.present[(time + i, input)];
        if !follows {
            break;
        }
        phases.push(window.phase);
    }
    let line = line(phases, timeline.plan.channels());
    let target = if frame < batch.frames { Target::Given } else { Target::Open };
    let frame = if target == Target::Given { frame } else { 0 };
    let chunk = places.chunk;
    let first_bit = match source {
        Source::Chunk => input as u64 * chunk.row_bits + first.start as u64 * chunk.sample_bits,
        Source::Held => {
            // Windows of spectra that are present begin no earlier than what is held.
            let from = (chunk.first + first.start - places.seam.first(input)).max(0) as u64;
            input as u64 * places.held_row_bits + from * chunk.sample_bits
        }
    };
    let order = if target == Target::Given { &places.given } else { &places.open };
    let (place, time_in_period) = order.at(frame, place, input);
    let job = Job {
        first_bit,
        place,
        phase: first.phase.base,
        phase_rate: line.base_rate,
        slope: first.phase.slope,
        slope_rate: line.slope_rate,
        spectrum,
        spectra: line.spectra as u32,
        time: time_in_period,
        input: input as u32,
        count: (frame * timeline.inputs.len() + input) as u32,
    };
    (source, target, job)
}

#[cfg(test)]
mod tests {
    use fringes_delay::{DelayModel, DelaySegment};
    use fringes_types::{ChunkFormat, Complex, Inputs};
    use ndarray::Array2;

    use super::super::super::{Batch, Settings};
    use super::*;
    use crate::Channelizer;
    use crate::timeline::{ChunkAxes, Timeline};

    #[test]
    fn every_present_spectrum_is_in_one_job_that_says_what_the_timeline_says() {
        let inputs = Inputs::new(2, 2).unwrap();
        let plan = Channelizer::real(8).taps(3).build().unwrap();
        let (spf, bits) = (5, 10);
        // Of at most four, and in blocks of three.
        let most = |spectrum: u64| 4 - (spectrum % 3) as usize;
        let mut timeline = Timeline::new(plan, inputs, (16 * spf) as u64);
        let model = |delay: f64, rate: f64| {
            DelayModel::from_segment(DelaySegment::new(0, vec![delay, rate]).with_phase(0.1, 3e-3)).unwrap()
        };
        timeline
            .set_delays(vec![model(0.0, 0.0), model(7.3, 0.011), model(-20.7, -0.004), model(100.0, 0.02)])
            .unwrap();
        let settings = Settings {
            spectra_per_frame: spf,
            channels: 2..7,
            gains: Array2::from_elem((4, 5), Complex::new(1.0, 0.0)),
            dither: None,
            generation: 0,
            row: None,
        };
        let order = settings.order(inputs, 1);
        let mut seam = Seam::new(4);
        let (mut first, mut seen, mut anew_once) = (1000u64, 0, false);
        for times in [300, 7, 1, 400, 90, 1000] {
            let format = ChunkFormat::Packed { bits };
            let presence = fringes_types::SamplePresence::new(
                50,
                Array2::from_shape_fn((4, usize::div_ceil(times, 50)), |(input, block)| (input + block) % 7 != 3),
            )
            .unwrap();
            let axes = ChunkAxes {
                format,
                inputs,
                times,
                first_sample: first,
                sample_rate_hz: 1.0,
                centre_hz: None,
                presence: Some(&presence),
            };
            let advance = timeline.advance(&axes).unwrap().unwrap();
            anew_once |= advance.anew;
            if advance.anew {
                seam = seam.begin(first as i64);
            }
            let filled = (advance.first_stamp / 16) as usize % spf;
            let batch = Batch::new(spf, filled, advance.spectra, false);
            let chunk = ChunkRows { first: first as i64, times, sample_bits: bits.into(), row_bits: 1 << 20 };
            let work = Work { settings: &settings, timeline: &timeline, advance: &advance, batch, close: None };
            let places = Places { seam: &seam, held_row_bits: 1 << 16, chunk, given: order, open: order, most: &most };
            let mut covered = Array2::from_elem((advance.spectra, 4), 0);
            for launch in launches(&work, &places) {
                for job in launch.jobs {
                    assert!(job.spectra >= 1 && job.spectra as usize <= most(job.spectrum));
                    assert!(job.time + job.spectra <= spf as u32, "jobs end with their frame");
                    let input = job.input as usize;
                    for s in 0..job.spectra as usize {
                        let time = (job.spectrum - advance.first_stamp / 16) as usize + s;
                        covered[(time, input)] += 1;
                        let window = timeline.window(&advance, time, input);
                        let frame = (filled + time) / spf;
                        assert_eq!((filled + time) % spf, job.time as usize + s);
                        assert_eq!(launch.target == Target::Given, frame < batch.frames);
                        let frame = if launch.target == Target::Given { frame } else { 0 };
                        assert_eq!(job.count as usize, 4 * frame + input);
                        assert_eq!(job.place as usize, (frame * 2 + input / 2) * 5 * spf * 2 + input % 2);
                        let bit = job.first_bit + (s * 16 * bits as usize) as u64;
                        let sample = match launch.source {
                            Source::Chunk => first as i64 + ((bit - (job.input as u64) * (1 << 20)) / 10) as i64,
                            Source::Held => seam.first(input) + ((bit - (job.input as u64) * (1 << 16)) / 10) as i64,
                        };
                        assert_eq!(sample, first as i64 + window.start);
                        assert_eq!(launch.source == Source::Held, window.start < 0);
                        let near = |a: u64, b: u64| (a.wrapping_sub(b) as i64).unsigned_abs() < 1 << 36;
                        let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
                        let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
                        assert!(near(phase, window.phase.base) && near(slope, window.phase.slope));
                    }
                }
            }
            for ((time, input), &times) in covered.indexed_iter() {
                assert_eq!(times, i32::from(advance.present[(time, input)]), "{time} {input}");
                seen += times;
            }
            seam = seam.step(chunk, &advance.keep, 48).next;
            timeline.commit(advance);
            first += times as u64;
        }
        assert!(seen > 200 && anew_once);
    }
}
