//! What a block does: some spectra of one input, [`Job`], and what all jobs of a launch share, [`Launch`].

use fringes_device::Global;

/// Words of 16 bytes of a job in memory.
pub const JOB_WORDS: usize = 5;

/// Spectra of a block of the filter's products: the place of a spectrum in its block is its number modulo this, wherever jobs begin, so that its sums have one order.
pub const BLOCK: u32 = 8;

/// Some consecutive spectra of one input whose windows follow each other by whole steps, so of one coarse delay.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// First sample of the first spectrum's window, as a bit of the view of samples.
    pub first_bit: u64,
    /// Place of the first channel's value of spectrum 0 of the period that the first spectrum is in, in elements of the output.
    pub place: u64,
    /// Phase of channel 0 in the first spectrum, in 2^-64 turns.
    pub phase: u64,
    /// Growth of that from spectrum to spectrum.
    pub phase_rate: u64,
    /// Growth of the phase from channel to channel in the first spectrum, in 2^-64 turns.
    pub slope: u64,
    /// Growth of that from spectrum to spectrum.
    pub slope_rate: u64,
    /// Number of the first spectrum: counter of the dither, and place in the filter's products ([`Job::lead`]).
    pub spectrum: u64,
    /// Spectra; with [`Job::lead`] at most [`SPECTRA`](crate::columns::SPECTRA).
    pub spectra: u32,
    /// The first spectrum's number within its period (see [`Launch::period`]).
    pub time: u32,
    /// Input: which gains, and key of the dither.
    pub input: u32,
    /// Which count its saturated values are added to.
    pub count: u32,
}

impl Job {
    /// Slots before the first spectrum's.
    #[inline(always)]
    pub fn lead(&self) -> u32 {
        self.spectrum as u32 % BLOCK
    }

    /// Job `index` of the table.
    ///
    /// # Safety
    /// The table has it.
    #[inline(always)]
    pub unsafe fn load(jobs: Global<[u32; 4]>, index: usize) -> Self {
        let word = |i: usize| jobs.load(index * JOB_WORDS + i);
        let long = |low: u32, high: u32| low as u64 | (high as u64) << 32;
        let (a, b, c, d, e) = (word(0), word(1), word(2), word(3), word(4));
        Self {
            first_bit: long(a[0], a[1]),
            place: long(a[2], a[3]),
            phase: long(b[0], b[1]),
            phase_rate: long(b[2], b[3]),
            slope: long(c[0], c[1]),
            slope_rate: long(c[2], c[3]),
            spectrum: long(d[0], d[1]),
            spectra: d[2],
            time: d[3],
            input: e[0],
            count: e[1],
        }
    }
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

/// Numbers of places and strides are below this, so that sums of their products with numbers of channels and spectra do not overflow.
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
