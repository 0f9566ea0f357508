//! A chunk's spectra as jobs: of one input, one coarse delay, one frame, and phases on a line.
//!
//! ```text
//! spectra of an input     0 1 2 3 4 5 6 7 8 9 10 11 ...
//! windows begin           in what is held | in the chunk
//! delay steps                     |
//! frames                            given  | next
//! jobs                    [----][][------][----]        none longer than a kernel takes
//! ```
//!
//! A job whose first window begins before the chunk reads what is held, and the head of the chunk behind it.

use fringes_types::Inputs;
use rayon::prelude::*;

use super::Work;
use super::order::Order;
use super::phases::Line;
use super::seam::ChunkRows;
use crate::internals::{HELD, Job, NEXT};

/// Frames of inputs, or inputs, from which on threads share the work of making jobs.
const PARALLEL: usize = 1 << 7;

/// Frames of an antenna that a thread makes together: less takes longer to share than to make.
const TOGETHER: usize = 32;

/// A chunk's jobs, of one launch, before it is known where what is held lies.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Jobs {
    /// Those that read the chunk are complete; of the others, `first_bit` is the sample, counted from the chunk's
    /// first one.
    jobs: Vec<Job>,
    /// Samples of the window of a spectrum, and from one to the next.
    window: i64,
    stride: i64,
}

/// What jobs depend on beside the chunk's work.
pub(super) struct Places<'a> {
    pub(super) chunk: ChunkRows,
    /// Where frames lie that are complete, and those that come next.
    pub(super) given: Order,
    pub(super) next: Order,
    /// Most spectra of a job that begins with a spectrum.
    pub(super) most: &'a (dyn Fn(u64) -> usize + Sync),
}

impl Jobs {
    /// The jobs of a chunk. Those of both polarisations of an antenna follow each other.
    pub(super) fn new(work: &Work<'_>, places: &Places<'_>) -> Self {
        let (inputs, frames) = (work.timeline.inputs, work.batch.frames + 1);
        let of_input = |input: usize| lines(work, input);
        let lines: Vec<Vec<Begun>> = if inputs.len() < PARALLEL {
            (0..inputs.len()).map(of_input).collect()
        } else {
            (0..inputs.len()).into_par_iter().map(of_input).collect()
        };
        // No job has spectra of two frames, so that frames of antennas are independent.
        let of_part = |part: usize| of_part(work, places, (inputs, &lines), (part / frames, part % frames));
        let parts = inputs.antennas() * frames;
        let jobs: Vec<Vec<Job>> = if parts * inputs.pols() < PARALLEL {
            (0..parts).map(of_part).collect()
        } else {
            (0..parts).into_par_iter().with_min_len(TOGETHER).map(of_part).collect()
        };
        let plan = &work.timeline.plan;
        Self { jobs: jobs.concat(), window: plan.window_samples() as i64, stride: plan.stride() as i64 }
    }

    /// The sample after the last one that jobs of each input read of what is held and what is behind it, counted from
    /// the chunk's first one; 0 if there are none.
    pub(super) fn read(&self, inputs: usize) -> Vec<i64> {
        let mut read = vec![0; inputs];
        for job in self.jobs.iter().filter(|job| job.flags & HELD != 0) {
            let end = job.first_bit as i64 + (i64::from(job.spectra) - 1) * self.stride + self.window;
            if let Some(read) = read.get_mut(job.input as usize) {
                *read = end.max(*read);
            }
        }
        read
    }

    /// The jobs, where `bit` says at which bit of what is held a sample of an input lies.
    pub(super) fn place(mut self, bit: impl Fn(usize, i64) -> u64) -> Vec<Job> {
        for job in self.jobs.iter_mut().filter(|job| job.flags & HELD != 0) {
            job.first_bit = bit(job.input as usize, job.first_bit as i64);
        }
        self.jobs
    }
}

/// A line of phases, and the spectrum of the chunk that it begins with.
type Begun = (usize, Line);

/// The lines of an input's phases through all spectra of a chunk.
fn lines(work: &Work<'_>, input: usize) -> Vec<Begun> {
    let (timeline, advance) = (work.timeline, work.advance);
    let stride = timeline.plan.stride() as u64;
    let mut lines = Vec::new();
    // Lines are about as long as the one before.
    let mut most = usize::MAX;
    for section in &advance.sections[input] {
        let mut time = section.spectra.start;
        while time < section.spectra.end {
            let (stamp, left) = (advance.first_stamp + time as u64 * stride, section.spectra.end - time);
            let line = Line::of(&timeline.delays[input], &timeline.plan, stamp, left.min(most));
            most = line.spectra.saturating_mul(4);
            lines.push((time, line));
            time += line.spectra;
        }
    }
    lines
}

/// The jobs of an antenna in a frame.
fn of_part(
    work: &Work<'_>,
    places: &Places<'_>,
    (inputs, lines): (Inputs, &[Vec<Begun>]),
    (antenna, frame): (usize, usize),
) -> Vec<Job> {
    let pols = inputs.pols();
    // Of whole jobs as many as a frame has, and those that its ends cut.
    let most = (places.most)(0).max(1);
    let mut jobs = Vec::with_capacity(pols * (work.batch.part(frame).places.len() / most + 2));
    for pol in 0..pols {
        let input = antenna * pols + pol;
        of_input(work, places, (input, &lines[input]), frame, &mut jobs);
    }
    if pols > 1 {
        jobs.sort_by_key(|job| (job.spectrum, job.input));
    }
    jobs
}

/// Adds the jobs of an input in a frame.
fn of_input(
    work: &Work<'_>,
    places: &Places<'_>,
    (input, lines): (usize, &[Begun]),
    frame: usize,
    jobs: &mut Vec<Job>,
) {
    let (timeline, advance, batch) = (work.timeline, work.advance, &work.batch);
    let stride = timeline.plan.stride();
    let part = batch.part(frame);
    let end = part.first_time + part.places.len();
    if end == part.first_time {
        return;
    }
    let first_spectrum = advance.first_stamp / stride as u64;
    let (flags, frame_of_target, order) =
        if frame < batch.frames { (0, frame, &places.given) } else { (NEXT, 0, &places.next) };
    let sections = &advance.sections[input];
    let mut section = sections.partition_point(|section| section.spectra.end <= part.first_time);
    let mut at_line = lines.partition_point(|(begin, line)| begin + line.spectra <= part.first_time);
    let mut time = part.first_time;
    while let Some(here) = sections.get(section).filter(|here| here.spectra.start < end) {
        let limit = here.spectra.end.min(end);
        while time < limit {
            if !advance.complete && !advance.present[(time, input)] {
                time += 1;
                continue;
            }
            let spectrum = first_spectrum + time as u64;
            let mut most = (places.most)(spectrum).clamp(1, limit - time);
            if !advance.complete {
                let present = |ahead: &usize| advance.present[(time + ahead, input)];
                most = (0..most).take_while(present).count();
            }
            // Lines have all spectra.
            while lines.get(at_line).is_some_and(|(begin, line)| begin + line.spectra <= time) {
                at_line += 1;
            }
            let Some(&(begin, of_line)) = lines.get(at_line) else { break };
            let spectra = most.min(begin + of_line.spectra - time);
            let phase = of_line.at(time - begin);
            let start = (advance.first_stamp + (time * stride) as u64) as i64 - here.coarse - advance.first_sample;
            let held = start < 0;
            let (chunk, place) = (places.chunk, (batch.filled + time) % work.settings.spectra_per_frame);
            let (place, time_in_period) = order.at(frame_of_target, place, input);
            jobs.push(Job {
                first_bit: if held {
                    start as u64
                } else {
                    input as u64 * chunk.row_bits + start as u64 * chunk.sample_bits
                },
                place,
                phase: phase.base,
                phase_rate: of_line.base_rate,
                slope: phase.slope,
                slope_rate: of_line.slope_rate,
                spectrum,
                spectra: spectra as u32,
                time: time_in_period,
                input: input as u32,
                count: (frame_of_target * timeline.inputs.len() + input) as u32,
                flags: flags | if held { HELD } else { 0 },
            });
            time += spectra;
        }
        section += 1;
    }
}

#[cfg(test)]
mod tests {
    use fringes_delay_model::{DelayModel, DelaySegment};
    use fringes_types::{ChunkFormat, Complex, Inputs};
    use ndarray::Array2;

    use super::super::{Batch, Settings};
    use super::*;
    use crate::internals::{ChunkAxes, Timeline};
    use crate::{Channelizer, Precision};

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
            first_input: 0,
            precision: Precision::Single,
            generation: 0,
            row: None,
            ring: None,
        };

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
            let filled = (advance.first_stamp / 16) as usize % spf;
            let batch = Batch::new(spf, filled, advance.spectra, false);
            let order = settings.order(inputs, batch.frames.max(1));
            let chunk = ChunkRows { first: first as i64, times, sample_bits: bits.into(), row_bits: 1 << 20 };
            let work = Work { settings: &settings, timeline: &timeline, advance: &advance, batch };
            let places = Places { chunk, given: order, next: order, most: &most };
            let jobs = Jobs::new(&work, &places);
            let read = jobs.read(4);
            // Held samples are said by their numbers.
            let jobs = jobs.place(|input, sample| (1 << 40) + ((input as u64) << 32) + (sample + (1 << 20)) as u64);
            let mut covered = Array2::from_elem((advance.spectra, 4), 0);
            let mut last = 0;
            for job in jobs {
                assert!(job.spectra >= 1 && job.spectra as usize <= most(job.spectrum));
                assert!(job.time + job.spectra <= spf as u32, "jobs end with their frame");
                assert!(job.input / 2 >= last / 2, "antennas follow each other");
                last = job.input;
                let input = job.input as usize;
                let held = job.flags & HELD != 0;
                for s in 0..job.spectra as usize {
                    let time = (job.spectrum - advance.first_stamp / 16) as usize + s;
                    covered[(time, input)] += 1;
                    let window = timeline.window(&advance, time, input);
                    let frame = (filled + time) / spf;
                    assert_eq!((filled + time) % spf, job.time as usize + s);
                    let given = job.flags & NEXT == 0;
                    assert_eq!(given, frame < batch.frames);
                    let frame = if given { frame } else { 0 };
                    assert_eq!(job.count as usize, 4 * frame + input);
                    assert_eq!(job.place as usize, (frame * 2 + input / 2) * 5 * spf * 2 + input % 2);
                    let sample = if held {
                        job.first_bit as i64 - (1 << 40) - ((input as i64) << 32) - (1 << 20)
                    } else {
                        ((job.first_bit - (job.input as u64) * (1 << 20)) / 10) as i64
                    };
                    assert_eq!(sample + 16 * s as i64, window.start);
                    assert!(!held || s > 0 || window.start < 0);
                    assert!(held || window.start >= 0);
                    assert!(!held || window.start + 48 <= read[input]);
                    let near = |a: u64, b: u64| (a.wrapping_sub(b) as i64).unsigned_abs() < 1 << 36;
                    let phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(s as u64));
                    let slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(s as u64));
                    assert!(near(phase, window.phase.base) && near(slope, window.phase.slope));
                }
            }
            for ((time, input), &times) in covered.indexed_iter() {
                assert_eq!(times, i32::from(advance.present[(time, input)]), "{time} {input}");
                seen += times;
            }
            timeline.commit(advance);
            first += times as u64;
        }
        assert!(seen > 200 && anew_once);
    }
}
