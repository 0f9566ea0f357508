//! FFT beams: a fan of beams of each line of equally spaced feeds, with gains of the feeds.
//!
//! ```text
//! line 0:  n = 0 1 2 .. feeds-1 | 0 0 .. 0     gains, zero-padded, transformed: beams q = 0 .. padded-1
//! line 1:  n = 0 1 2 .. feeds-1 | 0 0 .. 0
//! ```

mod execute;
mod gains;
mod lines;
mod output;

use std::marker::PhantomData;

use fringes_backend::MemoryNeed;

use fringes_types::{Dimension, TypesError};
use ndarray::{Array2, ArrayView2};
use num_complex::Complex;

#[doc(hidden)]
pub use gains::gain_exponents;
pub use lines::FeedLines;
pub use output::{BeamOutput, BeamSample};

use gains::ScaledGains;

use crate::FftError;

/// FFT beams `2^k sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]` of each line and polarisation, with `n` the feed of the
/// line, of voltages `V`, as `O`.
///
/// | `V` | voltages |
/// |---|---|
/// | `Complex<i8>` | real and imaginary part, 8 bits |
/// | [`Complex4`](fringes_types::Complex4) | 4 + 4 bits in a byte, real part in the high nibble |
///
/// | `O` | beams |
/// |---|---|
/// | `Complex<f32>` | voltages |
/// | `Complex<f16>` | voltages |
/// | `f32` | powers, the squares of absolute values |
///
/// ```
/// use fringes_fft::{BeamFft, FeedLines};
/// use fringes_backend::Backend;
/// use fringes_types::Complex;
/// use ndarray::Array3;
///
/// // Two lines of 20 dual-polarisation feeds, three channels, five times.
/// let lines = FeedLines::new(2, 20, 2, 64)?;
/// let voltages = Array3::from_elem((3, 5, lines.inputs()), Complex::new(2i8, -1));
/// let powers = BeamFft::<Complex<i8>, f32>::new(lines).form(&Backend::auto(), voltages.view(), None)?;
/// assert_eq!(powers.dim(), (3, 5, 2 * 2 * 64));
/// // Beam 0 of a line and polarisation is the plain sum of its feeds.
/// let beam = lines.beam(1, 0, 0).unwrap_or_default();
/// assert!((powers[(0, 0, beam)] - 400.0 * 5.0).abs() < 2.0);
/// # Ok::<(), fringes_fft::FftError>(())
/// ```
///
/// # Layout
/// Voltages `[channel][time][input]`, gains `[channel][input]`, presence flags `[time][input]` (absent voltages count as zero), beams
/// `[channel][time][beam]`; inputs and beams as [`FeedLines`] numbers them.
///
/// # Precision
/// On a GPU, f16 arithmetic: see [`BeamFft::relative_error`]. A channel's gains are divided by the power of two that brings the largest of them into
/// [1/8, 1/4) and rounded to f16: each part is off by `2^-11` of itself, or `2^-22` of the channel's largest gain if that is more. The power of two is given back
/// at the end, exactly for f32. Nothing overflows but the output's own format: f16 beams beyond 65504 are infinite.
///
/// On the CPU, f32, as `fringes_cpu::beamformer::fft_beams_into`; f16 beams are rounded once.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamFft<V, O> {
    lines: FeedLines,
    gains: Option<Array2<Complex<f32>>>,
    scale_exponent: i32,
    types: PhantomData<fn(V) -> O>,
}

impl<V: BeamSample, O: BeamOutput> BeamFft<V, O> {
    /// Beams with gains of 1 and scale 1.
    pub fn new(lines: FeedLines) -> Self {
        Self { lines, gains: None, scale_exponent: 0, types: PhantomData }
    }

    /// Sets complex gains `[channel][input]`, which the voltages are multiplied by.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other inputs than the lines', [`TypesError::NotFinite`] for a gain that is NaN or infinite,
    /// [`FftError::GainRange`] unless the largest gain of each channel is 0 or from 2^-60 to below 2^60, [`FftError::BeamScale`] if a gain
    /// times the scale is beyond what the output's format can be multiplied by.
    pub fn with_gains(mut self, gains: Array2<Complex<f32>>) -> Result<Self, FftError> {
        if gains.ncols() != self.lines.inputs() {
            let (expected, actual) = (self.lines.inputs(), gains.ncols());
            return Err(
                TypesError::Dimension { array: "feed gains", dimension: Dimension::Input, expected, actual }.into()
            );
        }
        self.gains = Some(gains);
        self.check_exponents()?;
        Ok(self)
    }

    /// Scales beams by `2^exponent`, and powers by `2^(2 exponent)`.
    ///
    /// # Errors
    /// [`FftError::BeamScale`] if a gain times the scale is beyond what the output's format can be multiplied by.
    pub fn with_scale_exponent(mut self, exponent: i32) -> Result<Self, FftError> {
        self.scale_exponent = exponent;
        self.check_exponents()?;
        Ok(self)
    }

    /// The lines of feeds.
    pub fn lines(&self) -> FeedLines {
        self.lines
    }

    /// The gains `[channel][input]`, `None` if they are all 1.
    pub fn gains(&self) -> Option<ArrayView2<'_, Complex<f32>>> {
        self.gains.as_ref().map(|gains| gains.view())
    }

    /// The exponent of the scale.
    pub fn scale_exponent(&self) -> i32 {
        self.scale_exponent
    }

    /// Bound on the rms error of beam voltages on a GPU, over the beams of a line, polarisation and time, relative to their rms: for noise, of any sizes and
    /// gains.
    ///
    /// The transform's own error is the larger part; f16 gains, and products with them, are rounded to 11 bits as well. Kernels in the emulator have
    /// 4e-4 to 7.3e-4 at most, in every size, and the tests hold them to this.
    /// An f16 output that is subnormal, below `2^-14`, has `2^-25` more.
    pub fn relative_error(&self) -> f64 {
        9e-4
    }

    /// What [`BeamFft::form`] needs on the CPU for voltages of so many channels and times. For a GPU see
    /// [`gpu::beam_memory`](crate::gpu::beam_memory).
    pub fn memory(&self, channels: usize, times: usize) -> MemoryNeed {
        execute::memory(self, channels, times)
    }

    /// Scaled gains `[channel][input]` as the kernels take them, two f16 with the real part in the low half, and what they multiply beams by in
    /// each channel.
    ///
    /// # Errors
    /// [`FftError::GainRange`] and [`FftError::BeamScale`].
    #[doc(hidden)]
    pub fn kernel_gains(&self, channels: usize) -> Result<(Vec<u32>, Vec<f32>), FftError> {
        let scaled = match &self.gains {
            Some(gains) => ScaledGains::new(gains.view())?,
            None => ScaledGains::ones(channels, self.lines.inputs()),
        };
        let factors = scaled.exponents.iter().enumerate().map(|(channel, exponent)| {
            let exponent = exponent.saturating_add(self.scale_exponent);
            let (least, greatest) = (*O::EXPONENTS.start(), *O::EXPONENTS.end());
            if O::EXPONENTS.contains(&exponent) {
                Ok(O::factor(exponent))
            } else {
                Err(FftError::BeamScale { channel, actual: exponent, least, greatest })
            }
        });
        let factors = factors.collect::<Result<_, _>>()?;
        Ok((scaled.words(), factors))
    }

    fn check_exponents(&self) -> Result<(), FftError> {
        self.kernel_gains(1).map(|_| ())
    }

    /// That gains are of this many channels.
    pub(crate) fn check_channels(&self, channels: usize) -> Result<(), FftError> {
        match &self.gains {
            Some(gains) if gains.nrows() != channels => {
                let (expected, actual) = (channels, gains.nrows());
                let dimension = Dimension::Channel;
                Err(TypesError::Dimension { array: "feed gains", dimension, expected, actual }.into())
            }
            _ => Ok(()),
        }
    }
}
