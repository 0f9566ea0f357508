//! FFT beams: a fan of beams of each line of equally spaced feeds.
//!
//! ```text
//! antenna = line * feeds + n        line 0:  n = 0 1 2 .. feeds-1 | 0 0 .. 0     zero-padded to `padded`
//!                                   line 1:  n = 0 1 2 .. feeds-1 | 0 0 .. 0
//! beam    = (line * pols + pol) * padded + q
//! ```

use std::any::Any;

use fringes_backend::{Backend, DeviceError, MemoryNeed};
use fringes_cpu::beamformer::FeedLines;
use fringes_fft::{BeamFft, BeamSample, FeedLines as Lines, gain_exponents, gpu};
use fringes_types::{Complex4, Dimension, Inputs, SampleFormat, TypesError, VoltageSample, Voltages};
use ndarray::{Array2, ArrayView2};
use num_complex::Complex;

use crate::set::{check_length, sealed};
use crate::{BeamSet, BeamformerError};

/// Longest transform: its plan holds tables of this length.
const PADDED_LIMIT: usize = 1 << 24;

/// FFT beams of lines of feeds, `sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]` for each line and
/// polarisation, with `n` the feed of the line and `q` from 0 to `padded - 1`.
///
/// Beam `q` equals a tied-array beam with weights `g e^(2 pi i q n / padded)`: it is steered to where the phase falls by
/// `q / padded` turns from feed to feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FftBeams {
    lines: usize,
    feeds: usize,
    padded: usize,
    gains: Option<Array2<Complex<f32>>>,
}

impl FftBeams {
    /// Beams of `lines` lines of `feeds` feeds, each padded to `padded`, with gains of 1.
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
        Ok(Self { lines, feeds, padded, gains: None })
    }

    /// Sets complex gains `[channel][input]`, applied to the voltages before the transform.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain that is NaN or infinite.
    pub fn with_gains(mut self, gains: Array2<Complex<f32>>) -> Result<Self, BeamformerError> {
        if let Some(((channel, input), gain)) = gains.indexed_iter().find(|(_, gain)| !gain.is_finite()) {
            let (actual, index) = (gain.to_string(), vec![channel, input]);
            return Err(TypesError::NotFinite { quantity: "feed gain", actual, index }.into());
        }
        self.gains = Some(gains);
        Ok(self)
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
        self.gains.as_ref().map(|gains| gains.view())
    }

    /// Device memory that [`beamform`](crate::beamform) takes on a GPU for voltages `V` of so many channels and times, `None` where it has no kernel
    /// for them. The workspace is what steps of at most 1 GiB need; the backend's limit makes steps smaller.
    pub fn gpu_memory<V: VoltageSample>(&self, channels: usize, times: usize, inputs: Inputs) -> Option<MemoryNeed> {
        let lines = self.kernel_lines(V::FORMAT, inputs)?;
        Some(match V::FORMAT {
            SampleFormat::Int4 => gpu::beam_memory::<Complex4, Complex<f32>>(lines, channels, times),
            _ => gpu::beam_memory::<Complex<i8>, Complex<f32>>(lines, channels, times),
        })
    }

    /// The lines as the kernels know them, if there are kernels for these beams of voltages of this format.
    fn kernel_lines(&self, format: SampleFormat, inputs: Inputs) -> Option<Lines> {
        let lines = Lines::new(self.lines, self.feeds, inputs.pols(), self.padded).ok()?;
        let fits = matches!(format, SampleFormat::Int4 | SampleFormat::Int8)
            && gpu::has_beam_kernel(lines.size())
            && self.gains.as_ref().is_none_or(|gains| gain_exponents(gains.view()).is_ok());
        fits.then_some(lines)
    }

    /// Forms beams of voltages that there are kernels for.
    fn form_by_kernel<V: BeamSample>(
        &self,
        backend: &Backend,
        lines: Lines,
        voltages: &Voltages<V>,
        out: &mut [Complex<f32>],
    ) -> Result<(), BeamformerError> {
        let mut plan = BeamFft::<V, Complex<f32>>::new(lines);
        if let Some(gains) = &self.gains {
            plan = plan.with_gains(gains.clone())?;
        }
        Ok(plan.form_into(backend, voltages.data(), voltages.presence(), out)?)
    }

    /// Index of beam `q` of a line and polarisation, `(line * pols + pol) * padded + q`, or `None` if there is no such beam.
    pub fn beam(&self, inputs: Inputs, line: usize, pol: usize, q: usize) -> Option<usize> {
        let exists = line < self.lines && pol < inputs.pols() && q < self.padded;
        exists.then(|| (line * inputs.pols() + pol) * self.padded + q)
    }
}

impl sealed::Sealed for FftBeams {}
impl BeamSet for FftBeams {
    type Output = Complex<f32>;

    fn beams(&self, inputs: Inputs) -> usize {
        self.lines * inputs.pols() * self.padded
    }

    fn check(&self, channels: usize, inputs: Inputs) -> Result<(), BeamformerError> {
        if self.lines.checked_mul(self.feeds) != Some(inputs.antennas()) {
            let (lines, feeds, actual) = (self.lines, self.feeds, inputs.antennas());
            return Err(BeamformerError::Feeds { lines, feeds, actual });
        }
        if let Some(gains) = &self.gains {
            check_length("feed gains", Dimension::Channel, channels, gains.nrows())?;
            check_length("feed gains", Dimension::Input, inputs.len(), gains.ncols())?;
        }
        Ok(())
    }

    fn unit_bytes(&self, _: Inputs) -> u64 {
        fringes_cpu::beamformer::fft_scratch_bytes(self.padded)
    }

    fn has_kernel(&self, format: SampleFormat, inputs: Inputs) -> bool {
        self.kernel_lines(format, inputs).is_some()
    }

    fn form_on_gpu<V: VoltageSample>(
        &self,
        backend: &Backend,
        voltages: &Voltages<V>,
        out: &mut [Complex<f32>],
    ) -> Result<(), BeamformerError> {
        let none = || DeviceError::NotOnGpu { operation: "beamform".into(), backend: backend.name() };
        let lines = self.kernel_lines(V::FORMAT, voltages.inputs()).ok_or_else(none)?;
        let any: &dyn Any = voltages;
        if let Some(voltages) = any.downcast_ref::<Voltages<Complex4>>() {
            self.form_by_kernel(backend, lines, voltages, out)
        } else if let Some(voltages) = any.downcast_ref::<Voltages<Complex<i8>>>() {
            self.form_by_kernel(backend, lines, voltages, out)
        } else {
            Err(none().into())
        }
    }

    fn form<V: VoltageSample>(&self, voltages: &Voltages<V>, parallel: usize, out: &mut [Complex<f32>]) {
        let pols = voltages.inputs().pols();
        let layout = FeedLines { lines: self.lines, feeds: self.feeds, pols, padded: self.padded };
        let (data, presence) = (voltages.data(), voltages.presence());
        fringes_cpu::beamformer::fft_beams_into(data, presence, self.gains(), layout, parallel, out);
    }
}
