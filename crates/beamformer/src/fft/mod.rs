//! FFT beams: a fan of beams of each line of equally spaced feeds, with gains of the feeds.
//!
//! ```text
//! antenna = line * feeds + n        line 0:  n = 0 1 2 .. feeds-1 | 0 0 .. 0     zero-padded to `padded`
//!                                   line 1:  n = 0 1 2 .. feeds-1 | 0 0 .. 0
//! beam    = (line * pols + pol) * padded + q
//! ```

mod gains;
pub(crate) mod kernels;

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use fringes_backend::DeviceError;
use fringes_cpu::beamformer::{FeedLines, fft_beams_into, fft_scratch_bytes};
use fringes_fft::Size;
use fringes_gpu::Device;
use fringes_types::{Dimension, Inputs, SampleFormat, TypesError, VoltageSample};
use ndarray::{Array2, ArrayView2};
use num_complex::Complex;

use crate::chunk::HostVoltages;
use crate::set::{check_length, sealed};
use crate::{BeamSet, BeamformerError, FftBeamOutput};
use gains::Gains;

pub use kernels::FftBeamKernels;

/// Longest transform: its plan holds tables of this length.
const PADDED_LIMIT: usize = 1 << 24;

/// Exponents `k` of scales `2^k` of FFT beams: f32 holds the scale of their powers, `2^(2 k)`.
pub const SCALE_EXPONENTS: RangeInclusive<i32> = -63..=63;

/// FFT beams of lines of feeds, `2^k sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]` for each
/// line and polarisation, with `n` the feed of the line and `q` from 0 to `padded - 1`.
///
/// Beam `q` equals a tied-array beam with weights `2^k g e^(2 pi i q n / padded)`: it is steered to where the phase
/// falls by `q / padded` turns from feed to feed.
///
/// | `O` | beams |
/// |---|---|
/// | `Complex<f32>` | voltages; what [`FftBeams::new`] gives |
/// | `Complex<f16>` | voltages |
/// | `f32` | powers, the squares of absolute values |
///
/// ```
/// use fringes_beamformer::{FftBeams, beamform};
/// use fringes_backend::Backend;
/// use fringes_types::{Complex, Inputs, Voltages};
/// use ndarray::Array3;
///
/// // Two lines of 20 dual-polarisation feeds, three channels, five times.
/// let inputs = Inputs::new(2 * 20, 2)?;
/// let voltages = Voltages::new(Array3::from_elem((3, 5, inputs.len()), Complex::new(2i8, -1)), inputs)?;
/// let fan = FftBeams::new(2, 20, 64)?.with_output::<f32>();
/// let powers = beamform(&Backend::auto(), &voltages, &fan)?;
/// assert_eq!(powers.data().dim(), (3, 5, 2 * 2 * 64));
/// // Beam 0 of a line and polarisation is the plain sum of its feeds.
/// let beam = fan.beam(inputs, 1, 0, 0).unwrap_or_default();
/// assert!((powers.data()[(0, 0, beam)] - 400.0 * 5.0).abs() < 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Kernels
/// There are GPU kernels for 8-bit and 4+4-bit voltages where `padded` is 64, 128, 256, 512 or 1024, there are at most
/// 2^24 beams, the largest gain of each channel is 0 or from 2^-60 to below 2^60, and that gain times the scale is a
/// power of two that the output's format can be multiplied by: about 2^-27 to 2^13 for f16, anything from 2^-63 to 2^60
/// for f32.
///
/// # Precision
/// On a GPU, f16 arithmetic: see [`FftBeams::relative_error`]. A channel's gains are divided by the power of two that
/// brings the largest of them into [1/8, 1/4) and rounded to f16: each part is off by `2^-11` of itself, or `2^-22` of
/// the channel's largest gain if that is more. The power of two is given back at the end, exactly for f32. Nothing
/// overflows but the output's own format: f16 beams beyond 65504 are infinite.
///
/// On the CPU, f32 with the bound that [`beamform`](crate::beamform) states; f16 beams are rounded once.
#[derive(Debug, Clone, PartialEq)]
pub struct FftBeams<O = Complex<f32>> {
    lines: usize,
    feeds: usize,
    padded: usize,
    gains: Option<Gains>,
    scale_exponent: i32,
    output: PhantomData<fn() -> O>,
}

impl FftBeams {
    /// Beam voltages in f32 of `lines` lines of `feeds` feeds, each padded to `padded`, with gains and scale of 1.
    ///
    /// # Errors
    /// [`BeamformerError::Zero`] without lines or feeds, [`BeamformerError::Padding`] if `padded` is below
    /// `feeds` or above 2^24,
    /// [`TypesError::TooLarge`] if the number of beams overflows.
    pub fn new(lines: usize, feeds: usize, padded: usize) -> Result<Self, BeamformerError> {
        for (quantity, count) in [("number of lines", lines), ("feeds of a line", feeds)] {
            if count == 0 {
                return Err(BeamformerError::Zero { quantity });
            }
        }
        if !(feeds..=PADDED_LIMIT).contains(&padded) {
            return Err(BeamformerError::Padding { feeds, padded, limit: PADDED_LIMIT });
        }
        // Twice, for two polarisations; and in bytes.
        if lines.checked_mul(padded).and_then(|beams| beams.checked_mul(2 * size_of::<Complex<f32>>())).is_none() {
            return Err(TypesError::TooLarge { array: "FFT beams", elements: format!("{lines} x {padded}") }.into());
        }
        Ok(Self { lines, feeds, padded, gains: None, scale_exponent: 0, output: PhantomData })
    }
}

impl<O: FftBeamOutput> FftBeams<O> {
    /// The same beams as `P`: `Complex<f32>` or `Complex<f16>` voltages, or `f32` powers.
    pub fn with_output<P: FftBeamOutput>(self) -> FftBeams<P> {
        let Self { lines, feeds, padded, gains, scale_exponent, .. } = self;
        FftBeams { lines, feeds, padded, gains, scale_exponent, output: PhantomData }
    }

    /// Sets complex gains `[channel][input]`, applied to the voltages before the transform.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub fn with_gains(mut self, gains: Array2<Complex<f32>>) -> Result<Self, BeamformerError> {
        self.gains = Some(Gains::new(gains)?);
        Ok(self)
    }

    /// Scales beams by `2^exponent`, and powers by `2^(2 exponent)`.
    ///
    /// # Errors
    /// [`BeamformerError::ScaleExponent`] if it is not in [`SCALE_EXPONENTS`].
    pub fn with_scale_exponent(self, exponent: i32) -> Result<Self, BeamformerError> {
        if !SCALE_EXPONENTS.contains(&exponent) {
            return Err(BeamformerError::ScaleExponent { actual: exponent });
        }
        Ok(Self { scale_exponent: exponent, ..self })
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Feeds of each line.
    pub fn feeds(&self) -> usize {
        self.feeds
    }

    /// Beams of each line and polarisation.
    pub fn padded(&self) -> usize {
        self.padded
    }

    /// The gains `[channel][input]`, `None` if they are all 1.
    pub fn gains(&self) -> Option<ArrayView2<'_, Complex<f32>>> {
        self.gains.as_ref().map(|gains| gains.values.view())
    }

    /// The exponent of the scale.
    pub fn scale_exponent(&self) -> i32 {
        self.scale_exponent
    }

    /// Index of beam `q` of a line and polarisation, `(line * pols + pol) * padded + q`, or `None` if there is no such
    /// beam.
    pub fn beam(&self, inputs: Inputs, line: usize, pol: usize, q: usize) -> Option<usize> {
        let exists = line < self.lines && pol < inputs.pols() && q < self.padded;
        exists.then(|| self.layout(inputs).beam(line, pol, q))
    }

    /// Bound on the rms error of beam voltages on a GPU, over the beams of a line, polarisation and time, relative to
    /// their rms: for noise, of any sizes and gains.
    ///
    /// The transform's own error is the larger part; f16 gains, and products with them, are rounded to 11 bits as well.
    /// Kernels in the emulator have 4e-4 to 7.3e-4 at most, in every size, and the tests hold them to this. An f16
    /// output that is subnormal, below `2^-14`, has `2^-25` more.
    pub fn relative_error(&self) -> f64 {
        9e-4
    }

    /// How the inputs form lines.
    pub(crate) fn layout(&self, inputs: Inputs) -> FeedLines {
        FeedLines { lines: self.lines, feeds: self.feeds, pols: inputs.pols(), padded: self.padded }
    }

    /// The kernels' transform of a line of voltages of this format.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] with what the kernels take.
    fn kernel_size(&self, format: SampleFormat, inputs: Inputs) -> Result<Size, DeviceError> {
        let missing = |expected, actual| DeviceError::NoKernel { expected, actual };
        kernels::format_name(format).ok_or_else(|| missing("8-bit or 4+4-bit voltages", format.to_string()))?;
        let size = kernels::transform_size(self.feeds, self.padded);
        let actual = || format!("{} feeds padded to {}", self.feeds, self.padded);
        let size = size.ok_or_else(|| missing("lines padded to 64, 128, 256, 512 or 1024", actual()))?;
        let beams = self.layout(inputs).beams();
        if beams > kernels::MOST_BEAMS {
            return Err(DeviceError::TooLarge { what: "FFT beams", actual: beams, limit: kernels::MOST_BEAMS });
        }
        self.kernel_exponents(1).map(|_| size)
    }

    /// Exponents of two that the kernels multiply the beams of each channel by, `channels` of them where gains are 1.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] if the kernels cannot take the gains, or multiply by gains and scale in the output's
    /// format.
    fn kernel_exponents(&self, channels: usize) -> Result<Vec<i32>, DeviceError> {
        let gains = match &self.gains {
            Some(gains) => gains.exponents()?.to_vec(),
            None => vec![gains::ONE_EXPONENT; channels],
        };
        let scaled = |(channel, exponent): (usize, i32)| {
            let exponent = exponent + self.scale_exponent;
            let (least, most) = (O::EXPONENTS.start(), O::EXPONENTS.end());
            let refused = || DeviceError::NoKernel {
                expected: "gains and scale that the output's format can be multiplied by",
                actual: format!("2^{exponent} in channel {channel}, where 2^{least} to 2^{most} are"),
            };
            O::EXPONENTS.contains(&exponent).then_some(exponent).ok_or_else(refused)
        };
        gains.into_iter().enumerate().map(scaled).collect()
    }

    /// Gains `[channel][input]` as the kernels take them, two f16 with the real part in the low half, and what they
    /// multiply the beams of each channel by.
    ///
    /// # Errors
    /// As [`FftBeams::kernel_exponents`].
    #[doc(hidden)]
    pub fn kernel_gains(&self, channels: usize, inputs: Inputs) -> Result<(Vec<u32>, Vec<f32>), DeviceError> {
        let factors = self.kernel_exponents(channels)?.into_iter().map(O::factor).collect();
        let words = match &self.gains {
            Some(gains) => gains.words()?,
            None => gains::ones(channels.saturating_mul(inputs.len())),
        };
        Ok((words, factors))
    }
}

impl<O: FftBeamOutput> sealed::Sealed for FftBeams<O> {}
impl<O: FftBeamOutput> BeamSet for FftBeams<O> {
    type Output = O;
    type Kernels<V: VoltageSample> = FftBeamKernels<V, O>;

    fn beams(&self, inputs: Inputs) -> usize {
        self.layout(inputs).beams()
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        if self.lines.checked_mul(self.feeds) != Some(inputs.antennas()) {
            let (lines, feeds, actual) = (self.lines, self.feeds, inputs.antennas());
            return Err(BeamformerError::Feeds { lines, feeds, actual });
        }
        if let Some(Gains { values, .. }) = &self.gains {
            check_length("feed gains", Dimension::Channel, channels, values.nrows())?;
            check_length("feed gains", Dimension::Input, inputs.len(), values.ncols())?;
        }
        Ok(())
    }

    fn channels(&self) -> Option<usize> {
        self.gains.as_ref().map(|gains| gains.values.nrows())
    }

    fn unit_bytes(&self, _: Inputs) -> u64 {
        fft_scratch_bytes(self.padded)
    }

    fn beamform_on_cpu<V: VoltageSample>(
        &self,
        voltages: &HostVoltages<'_, V>,
        parallel: usize,
        out: &mut [O],
    ) -> Result<Vec<u64>, BeamformerError> {
        let (layout, scale) = (self.layout(voltages.inputs), 2f32.powi(self.scale_exponent));
        let finish = |beam: Complex<f32>| O::from_c32(beam * scale);
        fft_beams_into(voltages.data(), voltages.presence(), self.gains(), layout, parallel, out, finish);
        Ok(Vec::new())
    }

    fn uses(&self, beam: usize, input: usize, inputs: Inputs) -> bool {
        let (pols, line) = (inputs.pols(), beam / self.padded);
        let used = |gains: &Gains| gains.values.column(input).iter().any(|gain| *gain != Complex::default());
        input / pols / self.feeds == line / pols && input % pols == line % pols && self.gains.as_ref().is_none_or(used)
    }

    fn check_kernel(&self, format: SampleFormat, inputs: Inputs) -> Result<(), DeviceError> {
        self.kernel_size(format, inputs).map(|_| ())
    }

    fn launch_rows(&self) -> usize {
        self.lines
    }

    fn load<V: VoltageSample>(
        &self,
        device: &Device,
        channels: usize,
        inputs: Inputs,
    ) -> Result<FftBeamKernels<V, O>, BeamformerError> {
        FftBeamKernels::load(device, self, channels, inputs)
    }
}
