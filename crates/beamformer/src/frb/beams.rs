//! The typed plan of the chain.

use fringes_cpu::frb::FrbChain;
use fringes_fft::Sign;
use ndarray::{Array2, Array3, Array4, Array5, ArrayView2, ArrayView3, ArrayView4, ArrayView5};
use num_complex::Complex;

use crate::{FrbBeamsBuilder, FrbProducts};

/// Beams of a grid of feeds, and what becomes of them: every number of the chain of
/// [`frb_beams`](crate::frb_beams).
///
/// ```
/// use fringes_backend::Backend;
/// use fringes_beamformer::{FrbBeams, FrbVoltages, frb_beams};
/// use fringes_types::Complex;
/// use ndarray::{Array3, Array4, Array5};
///
/// // One frequency, two polarisations, two lines of 40 feeds padded to 64. Beam 0 toward east-west is the sum of both
/// // lines, beam 1 their difference. 16 finer channels, summed in pairs over 3 blocks of 16 times.
/// let gains = Array4::from_elem((1, 2, 2, 40), Complex::new(1f32, 0.0));
/// let matrix = Array3::from_shape_fn((1, 2, 2), |(_, out, line)| {
///     Complex::new(if out * line == 1 { -1f32 } else { 1.0 }, 0.0)
/// });
/// let beams = FrbBeams::builder(gains, matrix, 64).upchannelisation(16).group(2).blocks(3).build()?;
/// assert_eq!((beams.beams(), beams.fine_channels(), beams.sum_times()), (2 * 64, 8, 48));
///
/// // The same voltage everywhere: all power is in beam 0, at 0 Hz.
/// let voltages = FrbVoltages::new(Array5::from_elem((96, 1, 2, 2, 40), Complex::new(1i8, 0)))?;
/// let powers = frb_beams(&Backend::cpu(), &beams, &voltages, None)?;
/// assert_eq!(powers.data.dim(), (1, 8, 2, 128, 1));
/// let expected = 2.0 * 3.0 * (80.0 * 16.0f32).powi(2);
/// assert!((powers.data[(0, 0, 0, 0, 0)] - expected).abs() < 1e-5 * expected);
/// assert!(powers.data[(0, 0, 0, 64, 0)] < 1e-5 * expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FrbBeams {
    pub(super) parts: FrbBeamsBuilder,
    pub(super) map: Array2<u32>,
    /// In standard layout.
    pub(super) weights: Array5<Complex<f32>>,
    pub(super) factors: Vec<f32>,
}

impl FrbBeams {
    /// Beams of feeds with gains `[frequency][pol][line][feed]`, a matrix `[frequency][out][line]` that sums lines, and
    /// the length that a line is zero-padded to. [`FrbBeamsBuilder::build`] checks it.
    pub fn builder(gains: Array4<Complex<f32>>, matrix: Array3<Complex<f32>>, padded: usize) -> FrbBeamsBuilder {
        FrbBeamsBuilder::new(gains, matrix, padded)
    }

    /// The parameters again, to change some of them.
    pub fn into_builder(self) -> FrbBeamsBuilder {
        self.parts
    }

    /// Number of frequencies.
    pub fn frequencies(&self) -> usize {
        self.parts.gains.dim().0
    }

    /// Polarisations of a feed: 1 or 2.
    pub fn pols(&self) -> usize {
        self.parts.gains.dim().1
    }

    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.parts.gains.dim().2
    }

    /// Feeds of a line.
    pub fn feeds(&self) -> usize {
        self.parts.gains.dim().3
    }

    /// Length that a line is zero-padded to.
    pub fn padded(&self) -> usize {
        self.parts.padded
    }

    /// Sums over lines: beams toward east-west.
    pub fn outs(&self) -> usize {
        self.parts.matrix.dim().1
    }

    /// Beams of each sum over lines: those of the map.
    pub fn north_beams(&self) -> usize {
        self.map.ncols()
    }

    /// Number of beams, `outs x north_beams`.
    pub fn beams(&self) -> usize {
        self.outs() * self.north_beams()
    }

    /// Index of a beam, `out * north_beams + b`, or `None` if there is no such beam.
    pub fn beam(&self, out: usize, b: usize) -> Option<usize> {
        (out < self.outs() && b < self.north_beams()).then(|| out * self.north_beams() + b)
    }

    /// Times of a block, which become as many finer channels.
    pub fn upchannelisation(&self) -> usize {
        self.parts.upchannelisation
    }

    /// Finer channels that are summed.
    pub fn group(&self) -> usize {
        self.parts.group
    }

    /// Blocks that are summed.
    pub fn blocks(&self) -> usize {
        self.parts.blocks
    }

    /// Channels of the output of each frequency, `upchannelisation / group`.
    pub fn fine_channels(&self) -> usize {
        self.upchannelisation() / self.group()
    }

    /// Times of an output, `upchannelisation x blocks`.
    pub fn sum_times(&self) -> usize {
        self.upchannelisation() * self.blocks()
    }

    /// Which powers are kept.
    pub fn products(&self) -> FrbProducts {
        self.parts.products
    }

    /// Number of products of a beam: 1 or 2.
    pub fn product_count(&self) -> usize {
        if self.products() == FrbProducts::PerPol { self.pols() } else { 1 }
    }

    /// Whether voltages are conjugated first.
    pub fn conjugate(&self) -> bool {
        self.parts.conjugate
    }

    /// Sign of the exponent over the feeds of a line.
    pub fn line_sign(&self) -> Sign {
        self.parts.line_sign
    }

    /// Sign of the exponent over times.
    pub fn time_sign(&self) -> Sign {
        self.parts.time_sign
    }

    /// Whether 0 Hz is in the middle.
    pub fn centre(&self) -> bool {
        self.parts.centre
    }

    /// The gains `[frequency][pol][line][feed]`.
    pub fn gains(&self) -> ArrayView4<'_, Complex<f32>> {
        self.parts.gains.view()
    }

    /// The matrix `[frequency][out][line]`.
    pub fn matrix(&self) -> ArrayView3<'_, Complex<f32>> {
        self.parts.matrix.view()
    }

    /// Products of matrix and gains, `[frequency][pol][out][line][feed]`, in standard layout.
    pub fn weights(&self) -> ArrayView5<'_, Complex<f32>> {
        self.weights.view()
    }

    /// Outputs of the transform that are beams, `[frequency][b]`.
    pub fn map(&self) -> ArrayView2<'_, u32> {
        self.map.view()
    }

    /// What each output channel is multiplied by: normalisation over bandpass, in the order of the output.
    pub fn factors(&self) -> &[f32] {
        &self.factors
    }

    /// The chain of the CPU.
    pub(super) fn chain(&self) -> FrbChain<'_> {
        FrbChain {
            weights: self.weights.view(),
            map: self.map.view(),
            padded: self.padded(),
            conjugate: self.conjugate(),
            line_positive: self.line_sign() == Sign::Positive,
            time_positive: self.time_sign() == Sign::Positive,
            length: self.upchannelisation(),
            group: self.group(),
            blocks: self.blocks(),
            per_pol: self.products() == FrbProducts::PerPol,
            centre: self.centre(),
            factors: &self.factors,
        }
    }

    /// Shape of the powers of so many output times.
    pub(super) fn shape(&self, times: usize) -> [usize; 5] {
        [self.frequencies(), self.fine_channels(), times, self.beams(), self.product_count()]
    }
}
