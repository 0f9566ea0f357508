//! What a block does: some spectra of one input, [`Job`], and what all jobs of a launch share, [`Launch`].

use fringes_device::Global;

pub use fringes_kernel_abi::f_engine::{BLOCK, HELD, JOB_PIECES, Job, NEXT};

/// Job `index` of a table.
///
/// # Safety
/// - The table has it.
#[inline(always)]
pub unsafe fn load(jobs: Global<[u32; 4]>, index: usize) -> Job {
    let piece = |i: usize| jobs.load(index * JOB_PIECES + i);
    Job::from_pieces([piece(0), piece(1), piece(2), piece(3), piece(4)])
}

/// Where values lie in the output, in elements: channel `c` of the range and spectrum `s` of a job at
/// `place + c channel_stride + (t / period) period_stride + (t % period) time_stride`, with `t = time + s`.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// First channel that is put out.
    pub first_channel: u32,
    /// Channels that are put out.
    pub channels: u32,
    /// Elements from channel to channel.
    pub channel_stride: u64,
    /// Spectra of a period: of a frame, or of a row.
    pub period: u32,
    /// Elements from period to period.
    pub period_stride: u64,
    /// Elements from spectrum to spectrum.
    pub time_stride: u32,
    /// Key of the dither.
    pub seed: u64,
    /// Whether there is dither.
    pub dither: bool,
}

/// Numbers of places and strides are below this, so that sums of their products with numbers of channels and spectra do
/// not overflow.
const MOST: u64 = 1 << 40;

impl Launch {
    /// Whether every place of a job lies in an output of `len` values.
    #[inline(always)]
    pub fn holds(&self, job: &Job, len: usize) -> bool {
        let period = self.period.max(1);
        if job.spectra == 0 || self.channels == 0 {
            return true;
        }
        let last = job.time.wrapping_add(job.spectra - 1);
        let longest = if last < period - 1 { last } else { period - 1 };
        let small = job.place < MOST
            && self.channel_stride < MOST
            && self.period_stride < MOST
            && self.channels < 1 << 20
            && last / period < 1 << 20;
        let channel = (self.channels as u64).wrapping_sub(1).wrapping_mul(self.channel_stride);
        let time = (last as u64 / period as u64)
            .wrapping_mul(self.period_stride)
            .wrapping_add((longest as u64).wrapping_mul(self.time_stride as u64));
        small && last >= job.time && job.place.wrapping_add(channel).wrapping_add(time) < len as u64
    }
}
