//! What an F-engine gives: frames, and what is known of them and of the samples.

use fringes_cpu::f_engine::{FrameValue, InputStatistics};
use fringes_cpu::memory::try_zeroed_vec;
use fringes_types::{Complex, Complex4, Frequencies, Heaps, Inputs, SpectrumClock, TypesError, VoltageSample, f16};
use ndarray::{Array2, Array5};

use super::gpu::Order;
use crate::ChannelizerError;

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

/// What is known of consecutive frames beside their values.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) inputs: Inputs,
    pub(super) channels: usize,
    /// Where values lie in device memory.
    pub(super) order: Order,
    pub(super) spectra_per_frame: usize,
    pub(super) frequencies: Frequencies,
    pub(super) clock: SpectrumClock,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`.
    pub(super) spectra_present: Array2<bool>,
}

impl Header {
    /// Shape of so many frames.
    pub(super) fn shape(&self, frames: usize) -> [usize; 5] {
        [frames, self.inputs.antennas(), self.channels, self.spectra_per_frame, self.inputs.pols()]
    }

    /// What is said where memory does not hold them.
    pub(super) fn too_large(&self, frames: usize) -> TypesError {
        TypesError::TooLarge { array: "frames", elements: format!("{:?}", self.shape(frames)) }
    }

    /// Zeros for so many frames.
    pub(super) fn zeroed<Q: FrameSample>(&self, frames: usize) -> Result<Vec<Q>, ChannelizerError> {
        let length = self.shape(frames).into_iter().try_fold(1, usize::checked_mul);
        Ok(length.and_then(try_zeroed_vec).ok_or_else(|| self.too_large(frames))?)
    }

    /// Flags `[frame][antenna]`.
    pub(super) fn antennas_present(&self) -> Array2<bool> {
        let (spf, pols) = (self.spectra_per_frame, self.inputs.pols());
        let frames = self.spectra_present.nrows() / spf;
        let mut present = Array2::from_elem((frames, self.inputs.antennas()), true);
        for ((time, input), &there) in self.spectra_present.indexed_iter() {
            present[(time / spf, input / pols)] &= there;
        }
        present
    }

    /// The frames of values and counts.
    pub(super) fn frames<Q: FrameSample>(
        self,
        data: Array5<Q>,
        saturated: Array2<u64>,
    ) -> Result<Frames<Q>, ChannelizerError> {
        let present = self.antennas_present();
        let mut heaps = Heaps::from_checked(data)?.with_frequencies(self.frequencies)?.with_clock(self.clock)?;
        if present.iter().any(|present| !present) {
            heaps = heaps.with_presence(present)?;
        }
        Ok(Frames { heaps, spectra_present: self.spectra_present, saturated })
    }
}
