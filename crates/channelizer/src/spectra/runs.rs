//! A chunk's spectra as runs, of which a kernel makes jobs: of one input, one coarse delay, whole frames or a part of
//! one, and phases on a line.
//!
//! ```text
//! spectra of an input     0 1 2 3 4 5 6 7 8 9 10 11 ...
//! windows begin           in what is held | in the chunk
//! delay steps                     |
//! frames                            given                        | next
//! runs                    [--][--][-][------- frames -----------][---]
//! jobs                    [--][--][-][----][----][----][----][--]...     none longer than a kernel takes
//! ```
//!
//! A run whose first window begins before the chunk reads what is held, and the head of the chunk behind it: it has a
//! single job. Its job comes after those of all antennas that read the chunk where it is, as these need not wait until
//! that head is moved. Runs of an antenna's polarisations begin and end together, and their jobs take turns.

use std::ops::Range;

use fringes_types::Inputs;
use rayon::prelude::*;

use super::Work;
use super::order::Order;
use super::phases::Line;
use super::seam::ChunkRows;
use crate::internals::{HELD, Job, JobLength, NEXT, Run};

/// Inputs from which on threads share the work of making runs.
const PARALLEL: usize = 1 << 7;

/// A chunk's runs, before it is known where what is held lies.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Runs {
    /// Those that read the chunk are complete; of the others, `first_bit` is the sample, counted from the chunk's
    /// first one.
    runs: Vec<Run>,
    /// Jobs of each launch.
    launches: Vec<LaunchJobs>,
    jobs: usize,
    /// Samples of the window of a spectrum, and from one to the next.
    window: i64,
    stride: i64,
}

/// What runs depend on beside the chunk's work.
pub(super) struct Places {
    pub(super) chunk: ChunkRows,
    /// Where frames lie that are complete, and those that come next.
    pub(super) given: Order,
    pub(super) next: Order,
    /// Spectra of jobs.
    pub(super) length: JobLength,
    /// Whether all jobs are one launch; else those of frames that are complete are one, and the others.
    pub(super) one_launch: bool,
    /// Whether jobs of frames that come next wait until their counts are zeros.
    pub(super) next_waits: bool,
}

/// Jobs of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaunchJobs {
    pub(super) jobs: Range<usize>,
    /// So many of them, the first ones, need nothing that is moved before spectra are made.
    pub(super) ready: usize,
}

/// Runs of an antenna, and how many jobs they have.
type Counted = (Vec<Run>, usize);

/// Those that read the chunk where it is, and those that read what is held.
type Parted = [Counted; 2];

impl Runs {
    /// The runs of a chunk.
    pub(super) fn new(work: &Work<'_>, places: &Places) -> Self {
        let inputs = work.timeline.inputs;
        let of_antenna = |antenna: usize| OfAntenna::new(work, places, inputs, antenna).both();
        let made: Vec<[Parted; 2]> = if inputs.len() < PARALLEL {
            (0..inputs.antennas()).map(of_antenna).collect()
        } else {
            (0..inputs.antennas()).into_par_iter().map(of_antenna).collect()
        };
        let plan = &work.timeline.plan;
        let mut all = Self { window: plan.window_samples() as i64, stride: plan.stride() as i64, ..Self::default() };
        // Of frames that are complete, then of those that come next; of each those that are ready first.
        let parts: Vec<[Counted; 4]> = made.into_iter().map(|[[a, b], [c, d]]| [a, b, c, d]).collect();
        let launches: &[&[usize]] = match (places.one_launch, places.next_waits) {
            (true, false) => &[&[0, 2, 1, 3]],
            (true, true) => &[&[0, 1, 2, 3]],
            (false, _) => &[&[0, 1], &[2, 3]],
        };
        let ready = |part: usize| part == 0 || part == 2 && !places.next_waits;
        for launch in launches {
            let first = all.jobs;
            let mut count = 0;
            for &part in *launch {
                parts.iter().for_each(|of_antenna| all.add(&of_antenna[part]));
                if ready(part) {
                    count = all.jobs - first;
                }
            }
            all.launches.push(LaunchJobs { jobs: first..all.jobs, ready: count });
        }
        all
    }

    /// Puts runs behind those that are there.
    fn add(&mut self, (runs, jobs): &Counted) {
        let before = self.jobs as u32;
        self.runs.extend(runs.iter().map(|run| Run { first: run.first.wrapping_add(before), ..*run }));
        self.jobs += jobs;
    }

    /// Jobs that are made of them.
    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Jobs of each launch.
    pub(super) fn launches(&self) -> &[LaunchJobs] {
        &self.launches
    }

    /// The sample after the last one that jobs of each input read of what is held and what is behind it, counted from
    /// the chunk's first one; 0 if there are none.
    pub(super) fn read(&self, inputs: usize) -> Vec<i64> {
        let mut read = vec![0; inputs];
        for job in self.runs.iter().map(|run| &run.job).filter(|job| job.flags & HELD != 0) {
            let end = job.first_bit as i64 + (i64::from(job.spectra) - 1) * self.stride + self.window;
            if let Some(read) = read.get_mut(job.input as usize) {
                *read = end.max(*read);
            }
        }
        read
    }

    /// The runs, where `bit` says at which bit of what is held a sample of an input lies.
    pub(super) fn place(mut self, bit: impl Fn(usize, i64) -> u64) -> Vec<Run> {
        for job in self.runs.iter_mut().map(|run| &mut run.job).filter(|job| job.flags & HELD != 0) {
            job.first_bit = bit(job.input as usize, job.first_bit as i64);
        }
        self.runs
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

/// What runs of an antenna are made of.
struct OfAntenna<'a> {
    work: &'a Work<'a>,
    places: &'a Places,
    inputs: Inputs,
    /// The antenna's first input.
    first_input: usize,
    pols: Vec<OfInput>,
}

/// An input's lines, and where runs are.
struct OfInput {
    lines: Vec<Begun>,
    /// Line and section of the spectrum that comes.
    line: usize,
    section: usize,
    /// Whether the spectrum that comes is present.
    present: bool,
}

impl<'a> OfAntenna<'a> {
    fn new(work: &'a Work<'a>, places: &'a Places, inputs: Inputs, antenna: usize) -> Self {
        let first_input = antenna * inputs.pols();
        let of_input =
            |pol: usize| OfInput { lines: lines(work, first_input + pol), line: 0, section: 0, present: true };
        Self { work, places, inputs, first_input, pols: (0..inputs.pols()).map(of_input).collect() }
    }

    /// Runs of frames that are complete, and of those that come next.
    fn both(mut self) -> [Parted; 2] {
        let batch = &self.work.batch;
        let all = batch.spectra;
        let given = (batch.frames * self.work.settings.spectra_per_frame).saturating_sub(batch.filled).min(all);
        [(0, given), (given, all)].map(|(begin, end)| self.runs(begin, end))
    }

    /// Runs of some spectra, which are all of frames that are complete or of the one that is not.
    fn runs(&mut self, begin: usize, end: usize) -> Parted {
        let (mut parts, mut time) = (Parted::default(), begin);
        while time < end {
            let (spectra, frames) = self.together(time, end);
            let of_all = self.places.length.jobs(self.spectrum(time), spectra) * frames;
            let apart = self.pols.iter().filter(|pol| pol.present).count();
            // Polarisations of which one reads what is held do so together: they are single jobs.
            let held = (0..self.pols.len()).any(|pol| self.pols[pol].present && self.start(pol, time) < 0);
            let (runs, jobs) = &mut parts[usize::from(held)];
            for (rank, pol) in (0..self.pols.len()).filter(|&pol| self.pols[pol].present).enumerate() {
                let Some((job, turn)) = self.job(pol, time, spectra) else { continue };
                let (first, apart) = ((*jobs + rank) as u32, apart as u32);
                runs.push(Run { job, first, apart, frames: frames as u32, turn });
            }
            *jobs += apart * of_all;
            time += spectra * frames;
        }
        parts
    }

    /// Number of a spectrum of the chunk.
    fn spectrum(&self, time: usize) -> u64 {
        self.work.advance.first_stamp / self.work.timeline.plan.stride() as u64 + time as u64
    }

    /// Samples from the chunk's first one to the first of a spectrum's window.
    fn start(&self, pol: usize, time: usize) -> i64 {
        let (advance, stride) = (self.work.advance, self.work.timeline.plan.stride());
        let sections = &advance.sections[self.first_input + pol];
        let coarse = sections.get(self.pols[pol].section).map_or(0, |section| section.coarse);
        (advance.first_stamp + (time * stride) as u64) as i64 - coarse - advance.first_sample
    }

    /// Spectra from `time` on that are in one run of each polarisation: so many of a frame, and frames.
    fn together(&mut self, time: usize, end: usize) -> (usize, usize) {
        let (advance, batch) = (self.work.advance, &self.work.batch);
        let of_frame = self.work.settings.spectra_per_frame;
        let within = (batch.filled + time) % of_frame;
        let mut spectra = (of_frame - within).min(end - time);
        // Until when delays of all polarisations go on as they begin.
        let mut even = end;
        for (pol, of_input) in self.pols.iter_mut().enumerate() {
            let input = self.first_input + pol;
            // Sections and lines have all spectra.
            let sections = &advance.sections[input];
            while sections.get(of_input.section).is_some_and(|section| section.spectra.end <= time) {
                of_input.section += 1;
            }
            while of_input.lines.get(of_input.line).is_some_and(|(begin, line)| begin + line.spectra <= time) {
                of_input.line += 1;
            }
            let ends = [
                sections.get(of_input.section).map(|section| section.spectra.end),
                of_input.lines.get(of_input.line).map(|(begin, line)| begin + line.spectra),
            ];
            even = ends.into_iter().flatten().fold(even, usize::min);
        }
        spectra = spectra.min(even - time);
        if let Some(present) = &advance.present {
            for (pol, of_input) in self.pols.iter_mut().enumerate() {
                let input = self.first_input + pol;
                of_input.present = present[(time, input)];
                let same = |ahead: &usize| present[(time + ahead, input)] == of_input.present;
                spectra = (0..spectra).take_while(same).count();
            }
        }
        if (0..self.pols.len()).any(|pol| self.pols[pol].present && self.start(pol, time) < 0) {
            return (spectra.min(self.places.length.most(self.spectrum(time))), 1);
        }
        let length = self.places.length;
        let whole = spectra == of_frame && advance.is_complete() && of_frame % length.block.max(1) as usize == 0;
        (spectra.max(1), if whole { ((even - time) / of_frame).max(1) } else { 1 })
    }

    /// The first job of a polarisation's run, with all of a frame's spectra, and its place's turn.
    fn job(&self, pol: usize, time: usize, spectra: usize) -> Option<(Job, u32)> {
        let (batch, settings, input) = (&self.work.batch, self.work.settings, self.first_input + pol);
        let &(begin, line) = self.pols[pol].lines.get(self.pols[pol].line)?;
        let phase = line.at(time - begin);
        let (frame, within) =
            ((batch.filled + time) / settings.spectra_per_frame, (batch.filled + time) % settings.spectra_per_frame);
        let (flags, frame, order) =
            if frame < batch.frames { (0, frame, &self.places.given) } else { (NEXT, 0, &self.places.next) };
        let (place, time_in_period) = order.at(frame, within, input);
        let (start, chunk) = (self.start(pol, time), self.places.chunk);
        let held = start < 0;
        let job = Job {
            first_bit: if held {
                start as u64
            } else {
                input as u64 * chunk.row_bits + start as u64 * chunk.sample_bits
            },
            place,
            phase: phase.base,
            phase_rate: line.base_rate,
            slope: phase.slope,
            slope_rate: line.slope_rate,
            spectrum: self.spectrum(time),
            spectra: spectra as u32,
            time: time_in_period,
            input: input as u32,
            count: (frame * self.inputs.len() + input) as u32,
            flags: flags | if held { HELD } else { 0 },
        };
        Some((job, order.turn(frame)))
    }
}

#[cfg(test)]
mod tests {
    use fringes_delay_model::{DelayModel, DelaySegment};
    use fringes_types::{ChunkFormat, Complex, Inputs};
    use ndarray::Array2;

    use super::super::{Batch, Settings};
    use super::*;
    use crate::internals::{ChunkAxes, RunSizes, Timeline};
    use crate::{Channelizer, Precision};

    #[test]
    fn every_present_spectrum_is_in_one_job_that_says_what_the_timeline_says() {
        // Jobs that begin anywhere, and frames that jobs' blocks do not divide, do, and that are one job.
        let mut most_frames = 0;
        for (spf, most, block, launches) in
            [(5, 6, 3, (true, false)), (6, 4, 2, (false, false)), (6, 6, 3, (true, true)), (7, 1, 1, (false, true))]
        {
            most_frames = most_frames.max(check(spf, JobLength { most, block }, launches));
        }
        assert!(most_frames > 20, "{most_frames}");
    }

    /// Checks jobs of chunks with gaps and delays; most frames of a run.
    fn check(spf: usize, length: JobLength, (one_launch, next_waits): (bool, bool)) -> u32 {
        let inputs = Inputs::new(2, 2).unwrap();
        let plan = Channelizer::real(8).taps(3).build().unwrap();
        let bits = 10;
        let mut timeline = Timeline::new(plan, inputs, (16 * spf) as u64);
        let model = |delay: f64, rate: f64| {
            DelayModel::from_segment(DelaySegment::new(0, vec![delay, rate]).with_phase(0.1, 3e-3)).unwrap()
        };
        timeline.set_delays(vec![model(0.0, 0.0), model(7.3, 1e-5), model(-20.7, -0.004), model(100.0, 0.02)]).unwrap();
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

        let (mut first, mut seen, mut anew_once, mut frames_of_a_run, mut readied) = (1000u64, 0, false, 0, 0);
        for (times, gaps) in
            [(300, true), (7, true), (1, true), (400, true), (90, false), (1000, true), (9000, false), (9000, false)]
        {
            let format = ChunkFormat::Packed { bits };
            let presence = fringes_types::SamplePresence::new(
                50,
                Array2::from_shape_fn((4, usize::div_ceil(times, 50)), |(input, block)| {
                    !gaps || (input + block) % 7 != 3
                }),
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
            let places = Places { chunk, given: order, next: order, length, one_launch, next_waits };
            let runs = Runs::new(&work, &places);
            let (read, all, launches) = (runs.read(4), runs.jobs(), runs.launches().to_vec());
            // Held samples are said by their numbers.
            let runs = runs.place(|input, sample| (1 << 40) + ((input as u64) << 32) + (sample + (1 << 20)) as u64);
            let sizes = RunSizes { frame: spf as u32, length, spectrum_bits: 160, periods: order.periods(), inputs: 4 };
            // Every place of the table is some run's.
            let mut jobs = vec![None; all];
            for run in &runs {
                assert!(run.job.flags & HELD == 0 || run.jobs(length) == 1, "what is held is read by single jobs");
                for (place, job) in run.made(&sizes) {
                    assert!(jobs[place].replace(job).is_none());
                }
            }
            frames_of_a_run = runs.iter().map(|run| run.frames).fold(frames_of_a_run, u32::max);
            let jobs: Vec<Job> = jobs.into_iter().map(Option::unwrap).collect();
            let waits = |job: &Job| job.flags & HELD != 0 || (next_waits && job.flags & NEXT != 0);
            for (index, LaunchJobs { jobs: of, ready }) in launches.iter().enumerate() {
                let of = &jobs[of.clone()];
                assert!(!of[..*ready].iter().any(waits), "jobs that wait come last");
                readied += ready;
                assert!(one_launch || of.iter().all(|job| (job.flags & NEXT != 0) == (index == 1)));
            }
            assert_eq!(launches.len(), if one_launch { 1 } else { 2 });
            assert!(launches.iter().flat_map(|launch| launch.jobs.clone()).eq(0..all));
            let flags = advance.flags();
            let mut covered = Array2::from_elem((advance.spectra, 4), 0);
            for job in jobs {
                assert!(job.spectra >= 1 && job.spectra as usize <= length.most(job.spectrum));
                assert!(job.time + job.spectra <= spf as u32, "jobs end with their frame");
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
                assert_eq!(times, i32::from(flags[(time, input)]), "{time} {input}");
                seen += times;
            }
            timeline.commit(advance);
            first += times as u64;
        }
        assert!(seen > 2000 && anew_once && readied > 300, "{seen} {readied}");
        frames_of_a_run
    }
}
