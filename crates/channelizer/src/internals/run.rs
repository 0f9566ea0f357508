//! Runs of jobs: what a host says of the jobs that a kernel makes.

use fringes_kernel_abi::f_engine::{JOB_WORDS, Job};

/// Words of 4 bytes of a run in device memory.
pub const RUN_WORDS: usize = JOB_WORDS + 4;

/// Pieces of 16 bytes of a run in device memory.
pub const RUN_PIECES: usize = RUN_WORDS / 4;

/// Jobs of one input that follow each other, in whole frames or in a part of one, with phases on a line.
///
/// # Layout
/// The words of the first job, then four of 32 bits: the other fields in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// The first job, but its spectra: all that the run has of a frame.
    pub job: Job,
    /// Its place in the table of jobs.
    pub first: u32,
    /// Places from job to job.
    pub apart: u32,
    /// Frames; of more than one, runs have all spectra, and their numbers begin with a multiple of
    /// [`JobLength::block`].
    pub frames: u32,
    /// Which place of a ring the first job's period has; else 0.
    pub turn: u32,
}

/// How many spectra a kernel's jobs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLength {
    /// Most of a job that begins with a multiple of `block`; itself a multiple.
    pub most: u32,
    /// A job that begins with spectrum `s` has at most `most - s % block`, so that jobs of a run begin where blocks of
    /// the filter's products do.
    pub block: u32,
}

impl JobLength {
    /// Most spectra of a job that begins with a spectrum.
    pub fn most(&self, spectrum: u64) -> usize {
        (self.most as usize).saturating_sub(self.lead(spectrum) as usize).max(1)
    }

    /// Jobs of so many spectra from one on.
    pub fn jobs(&self, spectrum: u64, spectra: usize) -> usize {
        if spectra == 0 { 0 } else { (spectra + self.lead(spectrum) as usize).div_ceil(self.most.max(1) as usize) }
    }

    /// Slots before a spectrum in its block.
    fn lead(&self, spectrum: u64) -> u32 {
        (spectrum % u64::from(self.block.max(1))) as u32
    }
}

/// What runs of a launch share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSizes {
    /// Spectra from frame to frame.
    pub frame: u32,
    /// Spectra of jobs.
    pub length: JobLength,
    /// Bits from spectrum to spectrum.
    pub spectrum_bits: u64,
    /// Periods of the output.
    pub periods: Periods,
    /// Counts from frame to frame.
    pub inputs: u32,
}

/// Periods of the output, as [`Place`](super::Place) has them, and a ring's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// Spectra of a period.
    pub period: u32,
    /// Elements from period to period.
    pub stride: u64,
    /// Periods after which places begin again: those of a ring, else `u32::MAX`.
    pub turns: u32,
}

impl Run {
    /// The run as it lies in device memory.
    pub fn words(&self) -> [u32; RUN_WORDS] {
        let mut words = [0; RUN_WORDS];
        words[..JOB_WORDS].copy_from_slice(&self.job.words());
        words[JOB_WORDS..].copy_from_slice(&[self.first, self.apart, self.frames, self.turn]);
        words
    }

    /// Jobs that are made of it.
    pub fn jobs(&self, length: JobLength) -> usize {
        length.jobs(self.job.spectrum, self.job.spectra as usize) * self.frames as usize
    }

    /// Those jobs, with their places in the table, in plain loops: what the kernel is to make.
    pub fn made(&self, sizes: &RunSizes) -> Vec<(usize, Job)> {
        let Periods { period, stride, turns } = sizes.periods;
        let mut made = Vec::new();
        for frame in 0..self.frames {
            let mut begin = 0;
            while begin < self.job.spectra {
                let ahead = u64::from(frame) * u64::from(sizes.frame) + u64::from(begin);
                let mut job = self.job;
                job.spectrum = job.spectrum.wrapping_add(ahead);
                job.spectra = (sizes.length.most(job.spectrum) as u32).min(self.job.spectra - begin);
                job.first_bit = job.first_bit.wrapping_add(ahead.wrapping_mul(sizes.spectrum_bits));
                job.phase = job.phase.wrapping_add(job.phase_rate.wrapping_mul(ahead));
                job.slope = job.slope.wrapping_add(job.slope_rate.wrapping_mul(ahead));
                let time = u64::from(job.time) + ahead;
                let turned = (u64::from(self.turn) + time / u64::from(period)) % u64::from(turns);
                let from_first = turned.wrapping_sub(self.turn.into()).wrapping_mul(stride);
                (job.time, job.place) = ((time % u64::from(period)) as u32, job.place.wrapping_add(from_first));
                job.count = job.count.wrapping_add(frame.wrapping_mul(sizes.inputs));
                begin += job.spectra;
                made.push((self.first as usize + made.len() * self.apart as usize, job));
            }
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_a_run_are_counted_as_they_are_made() {
        for (most, block) in [(64, 8), (6, 3), (1, 1), (5, 1)] {
            let length = JobLength { most, block };
            let periods = Periods { period: 40, stride: 1000, turns: u32::MAX };
            let sizes = RunSizes { frame: 40, length, spectrum_bits: 160, periods, inputs: 4 };
            for (spectrum, spectra, frames) in [(0, 40, 3), (24, 40, 2), (25, 11, 1), (7, 1, 1), (7, 0, 1)] {
                let job = Job { spectrum, spectra, time: 0, ..Job::default() };
                let run = Run { job, first: 5, apart: 2, frames, turn: 0 };
                let made = run.made(&sizes);
                if frames == 1 || spectrum % u64::from(block) == 0 {
                    assert_eq!(made.len(), run.jobs(length), "{most} {block} {spectrum} {spectra}");
                }
                assert_eq!(made.iter().map(|(_, job)| job.spectra).sum::<u32>(), spectra * frames);
            }
        }
    }
}
