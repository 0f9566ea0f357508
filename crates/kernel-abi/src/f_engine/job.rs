//! Jobs: some consecutive spectra of one input each.

/// Words of 4 bytes of a job in device memory.
pub const JOB_WORDS: usize = 20;

/// Pieces of 16 bytes of a job in device memory, as kernels load it.
pub const JOB_PIECES: usize = JOB_WORDS / 4;

/// Spectra of a block of the filter's products: the place of a spectrum in its block is its number modulo this,
/// wherever jobs begin, so that its sums have one order.
pub const BLOCK: u32 = 8;

/// Flag of a job: its samples are those that are held, with the head of the chunk behind them; else the chunk's.
pub const HELD: u32 = 1;

/// Flag of a job: its values go to the frames that come next; else to those that are complete.
pub const NEXT: u32 = 2;

/// Some consecutive spectra of one input whose windows follow each other by whole steps, so of one coarse delay.
///
/// Phases are in 2^-64 turns and wrap.
///
/// # Layout
/// Seven numbers of 64 bits, low word first, then five of 32 bits, in the order of the fields; a word of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Job {
    /// First sample of the first spectrum's window, as a bit of the view of samples.
    pub first_bit: u64,
    /// Place of the first channel's value of spectrum 0 of the period that the first spectrum is in, in elements of the
    /// output.
    pub place: u64,
    /// Phase of channel 0 in the first spectrum.
    pub phase: u64,
    /// Growth of that from spectrum to spectrum.
    pub phase_rate: u64,
    /// Growth of the phase from channel to channel in the first spectrum.
    pub slope: u64,
    /// Growth of that from spectrum to spectrum.
    pub slope_rate: u64,
    /// Number of the first spectrum, `stamp / stride`: counter of the dither, and place in the filter's products
    /// ([`Job::lead`]).
    pub spectrum: u64,
    /// Spectra: no more than the kernel takes, of two passes [`SPECTRA`](super::SPECTRA) with [`Job::lead`].
    pub spectra: u32,
    /// The first spectrum's number within its period: frame, or row of the correlator.
    pub time: u32,
    /// Input: which gains, and key of the dither.
    pub input: u32,
    /// Which count its saturated values are added to.
    pub count: u32,
    /// Where samples lie and values go: [`HELD`] and [`NEXT`].
    pub flags: u32,
}

impl Job {
    /// Slots before the first spectrum's.
    #[inline(always)]
    pub fn lead(&self) -> u32 {
        self.spectrum as u32 % BLOCK
    }

    /// The job as it lies in device memory.
    #[inline(always)]
    pub fn words(&self) -> [u32; JOB_WORDS] {
        let mut words = [0; JOB_WORDS];
        let longs =
            [self.first_bit, self.place, self.phase, self.phase_rate, self.slope, self.slope_rate, self.spectrum];
        for (pair, long) in words.chunks_exact_mut(2).zip(longs) {
            pair[0] = long as u32;
            pair[1] = (long >> 32) as u32;
        }
        words[14] = self.spectra;
        words[15] = self.time;
        words[16] = self.input;
        words[17] = self.count;
        words[18] = self.flags;
        words
    }

    /// The job of pieces that a kernel has loaded.
    #[inline(always)]
    pub fn from_pieces([a, b, c, d, e]: [[u32; 4]; JOB_PIECES]) -> Self {
        let long = |low: u32, high: u32| low as u64 | (high as u64) << 32;
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
            flags: e[2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_writes_is_what_kernels_read() {
        let job = Job {
            first_bit: 0x0123_4567_89ab_cdef,
            place: 1 << 39,
            phase: u64::MAX,
            phase_rate: 3,
            slope: 0x8000_0000_0000_0001,
            slope_rate: 5 << 32,
            spectrum: (1 << 40) + 13,
            spectra: 59,
            time: 17,
            input: 0xffff_fffe,
            count: 23,
            flags: HELD | NEXT,
        };
        let words = job.words();
        let mut pieces = [[0; 4]; JOB_PIECES];
        for (piece, words) in pieces.iter_mut().zip(words.chunks_exact(4)) {
            piece.copy_from_slice(words);
        }
        assert_eq!(Job::from_pieces(pieces), job);
        assert_eq!(words[..2], [0x89ab_cdef, 0x0123_4567]);
        assert_eq!((words[19], job.lead()), (0, 5));
    }
}
