//! What can be wrong with a plan, a chunk of samples, gains or a filter.

use fringes_backend::DeviceError;
use fringes_types::{Inputs, TypesError};

use crate::design::DesignError;

/// A plan or data that cannot be used, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelizerError {
    /// Data that does not fit, or a limit of the backend.
    #[error(transparent)]
    Types(#[from] TypesError),
    /// A backend, a device or a device buffer that cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A filter that cannot be designed.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// A count that must be at least 1 is 0.
    #[error("{quantity}: expected at least 1, found 0")]
    Zero {
        /// Name of the count.
        quantity: &'static str,
    },
    /// A parameter that must be finite, and not negative, is not.
    #[error("{quantity}: expected a finite number of at least 0, found {actual:?}")]
    Parameter {
        /// Name of the parameter with its unit.
        quantity: &'static str,
        /// The value that came.
        actual: f64,
    },
    /// A list of coefficients has the wrong length.
    #[error("{quantity}: expected {expected} values, found {actual}")]
    Length {
        /// Name of the list.
        quantity: &'static str,
        /// Length that the other parameters imply.
        expected: usize,
        /// Length that came.
        actual: usize,
    },
    /// A coefficient is not finite, or too large for 32-bit floats.
    #[error("{quantity}: expected finite 32-bit values, found {actual:?} at {index}")]
    Coefficient {
        /// Name of the list.
        quantity: &'static str,
        /// The value that came.
        actual: f64,
        /// Its position.
        index: usize,
    },
    /// The weights of a window are all 0 and cannot be normalised, e.g. a Hann window of two samples.
    #[error("the window's weights are all 0 for {taps} taps of {step} samples: choose another window or more taps")]
    NoWeight {
        /// Number of taps.
        taps: usize,
        /// Samples of a tap.
        step: usize,
    },
    /// An oversampling ratio below 1, or one that gives no whole number of samples between spectra.
    #[error(
        "oversampling {numerator}/{denominator}: expected a ratio of at least 1 for which {step} x {denominator} / {numerator} is a whole number of samples"
    )]
    Oversampling {
        /// Numerator of the ratio.
        numerator: usize,
        /// Denominator of the ratio.
        denominator: usize,
        /// Samples of a tap.
        step: usize,
    },
    /// Complex samples came to a plan for real ones, or the reverse.
    #[error("the plan takes {} samples, found {}", kind(*.expected_complex), kind(!*.expected_complex))]
    SampleKind {
        /// Whether the plan takes complex samples.
        expected_complex: bool,
    },
    /// The samples have other inputs than the stream.
    #[error(
        "expected {} antennas with {} polarisations, found {} with {}",
        .expected.antennas(), .expected.pols(), .actual.antennas(), .actual.pols()
    )]
    Inputs {
        /// Inputs of the stream.
        expected: Inputs,
        /// Inputs of the samples.
        actual: Inputs,
    },
    /// Not enough samples for one output.
    #[error("{needed} samples are needed for one output, found {actual}")]
    TooShort {
        /// Samples needed.
        needed: usize,
        /// Samples that came.
        actual: usize,
    },
    /// A chunk starts before the end of the one before it.
    #[error("chunk starts at sample {actual}, before the end of the last one at sample {expected}")]
    OutOfOrder {
        /// The sample after the last one taken.
        expected: u64,
        /// First sample of the chunk that came.
        actual: u64,
    },
    /// A sample counter so large that arithmetic on it could overflow.
    #[error("sample counter {actual} is beyond the largest that is supported, {limit}")]
    Counter {
        /// The counter that came.
        actual: u64,
        /// The largest supported.
        limit: u64,
    },
    /// A chunk's axis differs from that of the chunks before it.
    #[error("{quantity} of the chunk is {actual}, the stream began with {expected}")]
    Axis {
        /// Which property of the samples.
        quantity: &'static str,
        /// Its value in the first chunk.
        expected: String,
        /// Its value in this chunk.
        actual: String,
    },
    /// A delay beyond what the stream allows.
    #[error("delay of input {input} at sample {sample} is {actual:?} samples, the limit is {limit} either way")]
    DelayTooLarge {
        /// Which input.
        input: usize,
        /// Output sample at which the model was evaluated.
        sample: u64,
        /// Delay in samples as the model gives it.
        actual: f64,
        /// Largest magnitude allowed.
        limit: u64,
    },
    /// A delay that grew so fast that the samples it asks for are no longer held.
    #[error(
        "output sample {sample} needs input {input} from sample {start} on, but only those from {earliest} on are held: the delay grew by more than the stream allows"
    )]
    DelayJump {
        /// Which input.
        input: usize,
        /// Output sample of the spectrum.
        sample: u64,
        /// First sample of the spectrum's window.
        start: i64,
        /// Earliest sample that the stream promises to hold.
        earliest: i64,
    },
    /// A centre frequency that is not a fraction of the sample rate.
    #[error("centre frequency: expected -1 to 1 cycles per sample, found {actual:?}")]
    Centre {
        /// The value that came, in cycles per sample.
        actual: f64,
    },
    /// A gain that outputs cannot be multiplied by.
    #[error("gain: expected a finite number other than 0, and a normal one in 32 bits, found {actual:?}")]
    Gain {
        /// The value that came.
        actual: f64,
    },
    /// A retune for outputs that were made already.
    #[error("retune at sample {actual}: outputs up to that of sample {made} are made; expected a later sample")]
    RetuneTooLate {
        /// Sample at which the last output that was made begins.
        made: u64,
        /// The sample that came.
        actual: u64,
    },
    /// A retune before one that is queued.
    #[error("retune at sample {actual}: expected none before the last one, at sample {last}")]
    RetuneOrder {
        /// Sample of the last retune.
        last: u64,
        /// The sample that came.
        actual: u64,
    },
    /// A retune of an F-engine within a frame.
    #[error("retune at sample {actual}: expected a whole multiple of {frame}, the samples from frame to frame")]
    RetuneInFrame {
        /// Samples from a frame to the next.
        frame: u64,
        /// The sample that came.
        actual: u64,
    },
    /// A band of a bank with another grid of outputs, or other windows, than the first one.
    #[error("{quantity} of band {band}: expected {expected}, that of band 0, found {actual}")]
    BandShape {
        /// Which band.
        band: usize,
        /// Name of what is to be the same.
        quantity: &'static str,
        /// That of band 0.
        expected: usize,
        /// What came.
        actual: usize,
    },
    /// A band that a bank does not have.
    #[error("band {actual}: expected one of {bands}, counted from 0")]
    BandNumber {
        /// Number of bands.
        bands: usize,
        /// The number that came.
        actual: usize,
    },
    /// Statistics of a stream that keeps none.
    #[error("the stream keeps no statistics: it begins to with `with_statistics`")]
    NoStatistics,
    /// A range of channels that is empty or not within the plan.
    #[error("channels {start}..{end}: expected a range that is not empty and within 0..{channels}")]
    ChannelRange {
        /// First channel of the range.
        start: usize,
        /// The channel after the last one.
        end: usize,
        /// Channels of the plan.
        channels: usize,
    },
    /// A number of channels that has no inner half.
    #[error("channels of which the outer half is discarded: expected an even number, found {actual}")]
    OddChannels {
        /// Channels of the plan.
        actual: usize,
    },
    /// A recorded voltage that should be a whole number is not.
    #[error("expected whole numbers, found {actual} at {index:?}")]
    NotInteger {
        /// The value that came, as text.
        actual: String,
        /// Its channel, time and input.
        index: Vec<usize>,
    },
    /// Frames that are written to a ring of several GPUs.
    #[error(transparent)]
    Turn(#[from] fringes_backend::TurnError),
    /// A frame that is no whole number of the correlator's rows.
    #[error("spectra of a frame in the correlator's rows: expected a multiple of {expected}, found {actual}")]
    RowSpectra {
        /// Spectra of a row.
        expected: usize,
        /// Spectra of a frame.
        actual: usize,
    },
}

impl From<fringes_gpu::GpuError> for ChannelizerError {
    fn from(error: fringes_gpu::GpuError) -> Self {
        Self::Device(error.into())
    }
}

fn kind(complex: bool) -> &'static str {
    if complex { "complex" } else { "real" }
}

impl From<fringes_backend::UploadError> for ChannelizerError {
    fn from(error: fringes_backend::UploadError) -> Self {
        match error {
            fringes_backend::UploadError::Types(error) => Self::Types(error),
            fringes_backend::UploadError::Device(error) => Self::Device(error),
        }
    }
}
