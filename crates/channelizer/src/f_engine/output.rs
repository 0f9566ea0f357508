//! What an F-engine gives: frames, and what is known of them and of the samples.

use fringes_cpu::f_engine::{FrameValue, InputStatistics};
use fringes_types::{Complex, Complex4, Heaps, VoltageSample, f16};
use ndarray::Array2;

mod sealed {
    use super::{Complex, Complex4, f16};

    pub trait Sealed {}
    impl Sealed for Complex<i8> {}
    impl Sealed for Complex4 {}
    impl Sealed for Complex<f16> {}
    impl Sealed for Complex<f32> {}
}

/// The formats of frames: `Complex<i8>` (parts of -127 to 127), [`Complex4`] (-7 to 7), `Complex<f16>` and `Complex<f32>`.
///
/// Nothing else can implement it.
pub trait FrameSample: VoltageSample + FrameValue + sealed::Sealed {}

impl FrameSample for Complex<i8> {}
impl FrameSample for Complex4 {}
impl FrameSample for Complex<f16> {}
impl FrameSample for Complex<f32> {}

/// Consecutive frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames<Q: FrameSample> {
    /// The values `[frame][antenna][channel][spectrum][pol]`, as the correlator takes them, with clock and frequencies. A frame is marked
    /// absent for an antenna if a spectrum of it is absent for an input of the antenna; the spectra that are there keep their values.
    pub heaps: Heaps<Q>,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`, true where the spectrum was made. The others are 0.
    pub spectra_present: Array2<bool>,
    /// Complex values of each input that were beyond the format's limit, `[frame][input]`; 0 for floats.
    pub saturated: Array2<u64>,
}

impl<Q: FrameSample> Frames<Q> {
    /// Stamp of the first spectrum.
    pub fn first_stamp(&self) -> u64 {
        self.heaps.clock().first_sample
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.heaps.batches()
    }
}

/// What a chunk of samples gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Channelized<Q: FrameSample> {
    /// The frames that are complete: usually none or one piece. After a gap in the samples there may be two: the frame that the gap cut
    /// off, and frames from where the stream begins anew.
    pub frames: Vec<Frames<Q>>,
    /// Statistics of the chunk's samples, one an input.
    pub statistics: Vec<InputStatistics>,
}
