//! Jobs of the F-engine's kernels: some consecutive spectra of one input each.

/// Words of 32 bits of a job in device memory.
pub const JOB_WORDS: usize = 20;

/// Some spectra of one input, whose windows follow each other by whole steps: of one coarse delay.
///
/// Phases are in 2^-64 turns and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Job {
    /// First sample of the first spectrum's window, as a bit of the buffer of samples.
    pub first_bit: u64,
    /// Place in the output, in elements, of the first channel's value of the first spectrum of the period that the first spectrum is in.
    pub place: u64,
    /// Phase of channel 0 in the first spectrum.
    pub phase: u64,
    /// Growth of that from spectrum to spectrum.
    pub phase_rate: u64,
    /// Growth of the phase from channel to channel in the first spectrum.
    pub slope: u64,
    /// Growth of that from spectrum to spectrum.
    pub slope_rate: u64,
    /// Number of the first spectrum, `stamp / stride`.
    pub spectrum: u64,
    /// Spectra: no more than the kernels' `spectra_of_job`.
    pub spectra: u32,
    /// Number of the first spectrum within its period: frame, or row of the correlator.
    pub time: u32,
    /// Input.
    pub input: u32,
    /// Which count its saturated values are added to.
    pub count: u32,
}

impl Job {
    /// The job as it lies in device memory.
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
        words
    }
}
