//! What an F-engine gives: frames, and what is known of them and of the samples.

use fringes_backend::{DeviceArray, DeviceHeaps, DeviceRows};
use fringes_cpu::f_engine::InputStatistics;
use fringes_types::{Frequencies, Heaps, Inputs, LinearArray, Rows, SpectrumClock, TypesError, VoltageSample};
use ndarray::Array2;

use super::{FrameLayout, FrameSample, HeapFrames, RowFrames};
use fringes_channelizer::ChannelizerError;

/// Consecutive frames. `C` is the chunk of their values ([`Heaps`](fringes_types::Heaps) or
/// [`Rows`](fringes_types::Rows)), `S` the array of the counts; both lie where the samples lay.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames<C, S = Array2<u64>> {
    /// The values as the correlator takes them, with clock and frequencies. Spectra that were not made are 0. Of
    /// heaps, a frame is marked absent for an antenna if a spectrum of it is absent for an input of the antenna;
    /// the spectra that are there keep their values. Of rows, spectra are marked one by one.
    pub voltages: C,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`, true where the spectrum was made. The others are 0.
    pub spectra_present: Array2<bool>,
    /// Complex values of each input that were beyond the format's limit, `[frame][input]`; 0 for floats.
    pub saturated: S,
}

impl<C> Frames<C> {
    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.saturated.nrows()
    }
}

impl<V: VoltageSample, A, S> Frames<Heaps<V, A>, S> {
    /// Stamp of the first spectrum.
    pub fn first_stamp(&self) -> u64 {
        self.voltages.clock().first_sample
    }
}

impl<V: VoltageSample, A, S> Frames<Rows<V, A>, S> {
    /// Stamp of the first spectrum.
    pub fn first_stamp(&self) -> u64 {
        self.voltages.clock().first_sample
    }
}

/// Frames in device memory, their counts as 32-bit numbers: what a chunk of samples there gives.
///
/// Values and counts are there in the order of the F-engine's stream; axes and flags are known at once. Dropped on the
/// host, the memory is used again by what that stream gets later.
pub type DeviceFrames<C> = Frames<C, DeviceArray<'static, u32>>;

impl<Q: FrameSample> DeviceFrames<DeviceHeaps<'static, Q>> {
    /// The frames in host memory, when they are there.
    ///
    /// # Errors
    /// [`ChannelizerError::Types`] if there is no memory for them, [`ChannelizerError::Device`] with what the driver
    /// says.
    pub fn to_host(&self) -> Result<Frames<Heaps<Q>>, ChannelizerError> {
        self.to_host_as::<Q, HeapFrames>()
    }
}

impl<Q: FrameSample> DeviceFrames<DeviceRows<'static, Q>> {
    /// The frames in host memory, when they are there.
    ///
    /// # Errors
    /// As of heaps.
    pub fn to_host(&self) -> Result<Frames<Rows<Q>>, ChannelizerError> {
        self.to_host_as::<Q, RowFrames>()
    }
}

impl<C> DeviceFrames<C> {
    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.saturated.len().checked_div(self.spectra_present.ncols()).unwrap_or(0)
    }

    pub(super) fn to_host_as<Q: FrameSample, L: FrameLayout<Device<Q> = C>>(
        &self,
    ) -> Result<Frames<L::Host<Q>>, ChannelizerError> {
        let voltages = L::to_host::<Q>(&self.voltages)?;
        let counts = self.saturated.to_vec()?.into_iter().map(u64::from).collect();
        let inputs = self.spectra_present.ncols();
        let too_large = || TypesError::TooLarge { array: "counts", elements: format!("{} x {inputs}", self.frames()) };
        let saturated = Array2::from_shape_vec((self.frames(), inputs), counts).map_err(|_| too_large())?;
        Ok(Frames { voltages, spectra_present: self.spectra_present.clone(), saturated })
    }
}

/// What a chunk of samples gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Channelized<F, S = Vec<InputStatistics>> {
    /// The frames that are complete: usually none or one piece. After a gap in the samples there may be two: the frame
    /// that the gap cut off, and frames from where the stream begins anew.
    pub frames: Vec<F>,
    /// Statistics of the chunk's samples, one an input; of a chunk in device memory, if they are asked for, as
    /// [`DeviceStatistics`](crate::DeviceStatistics).
    pub statistics: S,
}

/// What a chunk of samples in device memory gives.
pub type ChannelizedOnDevice<Q, L> =
    Channelized<DeviceFrames<<L as FrameLayout>::Device<Q>>, Option<fringes_channelizer::DeviceStatistics>>;

/// What is known of consecutive frames beside their values.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Header {
    pub(super) inputs: Inputs,
    pub(super) channels: usize,
    pub(super) spectra_per_frame: usize,
    pub(super) frequencies: Frequencies,
    pub(super) clock: SpectrumClock,
    /// Flags `[frame * spectra_per_frame + spectrum][input]`.
    pub(super) spectra_present: Array2<bool>,
}

impl Header {
    /// Number of frames.
    pub(super) fn frames(&self) -> usize {
        self.spectra_present.nrows() / self.spectra_per_frame
    }

    /// Flags `[frame][antenna]`, if any is absent.
    pub(super) fn absent_antennas(&self) -> Option<Array2<bool>> {
        let (spf, pols) = (self.spectra_per_frame, self.inputs.pols());
        if self.spectra_present.iter().all(|&there| there) {
            return None;
        }
        let mut present = Array2::from_elem((self.frames(), self.inputs.antennas()), true);
        for ((time, input), &there) in self.spectra_present.indexed_iter() {
            present[(time / spf, input / pols)] &= there;
        }
        Some(present)
    }

    /// Flags `[spectrum][input]`, if any is absent.
    pub(super) fn absent_spectra(&self) -> Option<Array2<bool>> {
        (!self.spectra_present.iter().all(|&there| there)).then(|| self.spectra_present.clone())
    }

    /// The frames of values and counts.
    pub(super) fn frames_of<C, S>(self, voltages: C, saturated: S) -> Frames<C, S> {
        Frames { voltages, spectra_present: self.spectra_present, saturated }
    }
}
