//! What can be wrong with a call.

use fringes_backend::DeviceError;
use fringes_types::{Frequencies, Inputs, TypesError};

/// Why voltages cannot be correlated, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrelatorError {
    /// A shape, an order or a backend does not fit.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The voltages are of other inputs than the correlator's.
    #[error(
        "expected {} antennas x {} polarisations, found {} x {}",
        expected.antennas(), expected.pols(), actual.antennas(), actual.pols()
    )]
    Inputs {
        /// The correlator's inputs.
        expected: Inputs,
        /// The voltages' inputs.
        actual: Inputs,
    },
    /// The range of times does not lie within the chunk.
    #[error("times {start}..{end} of a chunk with {times} spectra")]
    TimeRange {
        /// First time asked for.
        start: usize,
        /// End of the range (exclusive).
        end: usize,
        /// Number of spectra of the chunk.
        times: usize,
    },
    /// The range of batches does not lie within the heaps.
    #[error("batches {start}..{end} of heaps with {batches} batches")]
    BatchRange {
        /// First batch asked for.
        start: usize,
        /// End of the range (exclusive).
        end: usize,
        /// Number of batches of the chunk.
        batches: usize,
    },
    /// The range of times begins or ends inside a batch of heaps.
    #[error("times {start}..{end} of heaps: expected whole multiples of {spectra} spectra")]
    CutHeaps {
        /// First time asked for.
        start: usize,
        /// End of the range (exclusive).
        end: usize,
        /// Spectra of a heap.
        spectra: usize,
    },
    /// Heaps are of another length than the schedule's.
    #[error("expected heaps of {expected} spectra, found {actual}")]
    SpectraPerHeap {
        /// Spectra of a heap of the schedule.
        expected: u64,
        /// Spectra of these heaps.
        actual: usize,
    },
    /// Heaps begin in the middle of where the schedule has one, so that a dump would end inside a batch.
    #[error(
        "expected heaps stamped with whole multiples of {step} ADC samples, found {actual} ({} off)",
        actual % (*step).max(1)
    )]
    HeapStamp {
        /// ADC samples from one heap to the next.
        step: u64,
        /// Stamp of the first batch.
        actual: u64,
    },
    /// Schedules of one stream differ in what they must have in common.
    #[error("schedules of one stream: expected {quantity} {expected}, found {actual}")]
    Schedules {
        /// What they must have in common.
        quantity: &'static str,
        /// The first schedule's.
        expected: u64,
        /// Another one's.
        actual: u64,
    },
    /// The channels are at other frequencies than before in the same integration.
    #[error("expected channels at {expected:?}, found {actual:?}")]
    Frequencies {
        /// Frequencies so far.
        expected: Frequencies,
        /// Frequencies of these voltages.
        actual: Frequencies,
    },
    /// Spectra are spaced otherwise than the schedule or earlier voltages say.
    #[error("expected {expected} ADC samples between spectra, found {actual}")]
    SpectrumSpacing {
        /// The spacing so far, or of the schedule.
        expected: u64,
        /// The spacing of these voltages.
        actual: u64,
    },
    /// The ADC sample rate has changed.
    #[error("expected an ADC sample rate of {expected:?} Hz, found {actual:?} Hz")]
    SampleRate {
        /// The rate so far.
        expected: f64,
        /// The rate of these voltages.
        actual: f64,
    },
    /// A chunk starts before the end of the last one.
    #[error("expected a chunk that starts at ADC sample {expected} or later, found {actual}")]
    Backward {
        /// Stamp after the last spectrum.
        expected: u64,
        /// Stamp of the chunk's first spectrum.
        actual: u64,
    },
    /// A chunk's spectra do not lie on the grid of the earlier ones.
    #[error(
        "expected stamps a whole multiple of {spacing} ADC samples after {expected}, found {actual} ({} off)",
        actual.saturating_sub(*expected) % (*spacing).max(1)
    )]
    Misaligned {
        /// Stamp after the last spectrum.
        expected: u64,
        /// Stamp of the chunk's first spectrum, later than `expected`.
        actual: u64,
        /// ADC samples between spectra, above 0.
        spacing: u64,
    },
    /// A gap between chunks is so long that more empty dumps would be made than are allowed.
    #[error(
        "a gap from ADC sample {expected} to {actual} makes {empty_dumps} empty dumps, at most {limit} are allowed"
    )]
    Gap {
        /// Stamp after the last spectrum.
        expected: u64,
        /// Stamp of the chunk's first spectrum.
        actual: u64,
        /// Dumps that lie wholly inside the gap.
        empty_dumps: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A chunk's stamps pass the end of the 64-bit sample counter.
    #[error("{times} spectra from ADC sample {first_sample} on pass the end of the 64-bit sample counter")]
    SampleCounter {
        /// Stamp of the chunk's first spectrum.
        first_sample: u64,
        /// Number of its spectra.
        times: usize,
    },
    /// One integration would have so many spectra that an exact sum might not fit 64 bits.
    #[error("{actual} spectra in one integration, at most {limit} are allowed")]
    TooManySpectra {
        /// Spectra asked for.
        actual: u128,
        /// How many are allowed.
        limit: u64,
    },
    /// A dump would be longer than the 64-bit sample counter.
    #[error("a dump of {actual} ADC samples is longer than the 64-bit sample counter")]
    DumpLength {
        /// ADC samples of a dump.
        actual: u128,
    },
    /// More times than one launch may sum in 32 bits.
    #[error("{actual} times in one launch, at most {limit} are exact in 32 bits")]
    TooManyTimes {
        /// Times asked for.
        actual: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A shape that the GPU kernels cannot take.
    #[error(
        "{channels} channels x {times} times x {inputs} inputs: the GPU takes 1 to 2^24 channels, 1 to 4194240 times and 1 to 32768 inputs"
    )]
    DeviceShape {
        /// Channels.
        channels: usize,
        /// Times.
        times: usize,
        /// Inputs.
        inputs: usize,
    },
    /// A product without output was asked of a kernel that adds to its sums.
    #[error("{kernel} adds to its sums: expected a kernel that overwrites them, for a product without output")]
    Adds {
        /// The kernel.
        kernel: String,
    },
    /// An entry of a table of bins is no bin.
    #[error("entry {entry} of the bins: expected a bin below {count}, found {actual}")]
    Bin {
        /// Which entry.
        entry: usize,
        /// Number of bins.
        count: usize,
        /// The bin of the entry.
        actual: usize,
    },
    /// Sums of no parts.
    #[error("expected at least 1 part of sums, found 0")]
    NoParts,
}

impl From<fringes_gpu::GpuError> for CorrelatorError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Device(error.into())
    }
}
