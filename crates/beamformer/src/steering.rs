//! Weights that steer beams: from delays, rates, phases, gains and flags.

use std::f64::consts::TAU;
use std::ops::Range;

use fringes_delay_model::{
    AntennaArray, ChannelPhase, DelayModel, DelayModelError, DelayValue, Epoch, Geometry, SampleClock, Source,
};
use fringes_types::{BeamWeights, Dimension, Frequencies, Inputs, TypesError};
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, Axis};
use num_complex::Complex;
use rayon::prelude::*;

use crate::BeamformerError;
use crate::set::check_length;

type C32 = Complex<f32>;

/// Seconds that one polynomial of [`steering_models`] holds for.
const INTERVAL_S: f64 = 10.0;
/// Degree of the polynomials of [`steering_models`].
const DEGREE: usize = 3;

/// The channels that beams are steered in, and what the phases of delay models refer to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteeredBand {
    /// Frequencies of the channels.
    pub frequencies: Frequencies,
    /// Number of channels.
    pub channels: usize,
    /// Samples a second that delays are counted in.
    pub sample_rate_hz: f64,
    /// The frequency that the models' phases are of: the one at which they stop the fringe. 0 for models without a
    /// phase whose channels are at their frequencies on the sky.
    pub reference_hz: f64,
}

impl SteeredBand {
    fn check(&self) -> Result<(), TypesError> {
        self.frequencies.check()?;
        if self.channels == 0 {
            return Err(TypesError::Empty { array: "steered band", dimension: Dimension::Channel });
        }
        if !(self.sample_rate_hz.is_finite() && self.sample_rate_hz > 0.0) {
            return Err(TypesError::NotPositive { quantity: "sample_rate_hz", actual: self.sample_rate_hz });
        }
        if !self.reference_hz.is_finite() {
            let (quantity, actual) = ("reference frequency in Hz", self.reference_hz.to_string());
            return Err(TypesError::NotFinite { quantity, actual, index: Vec::new() });
        }
        Ok(())
    }

    /// The phase that undoes a delay: `-d (f_k - f_reference)` turns and the model's own.
    fn phase(&self, value: DelayValue) -> ChannelPhase {
        let Frequencies { first_hz, step_hz } = self.frequencies;
        // Cycles of a sample; whole samples turn by a product in 2^-64 turns, which wraps.
        let (first, step) = ((first_hz - self.reference_hz) / self.sample_rate_hz, step_hz / self.sample_rate_hz);
        let cycles = ChannelPhase::from_turns(first, step);
        let coarse = (value.coarse as u64).wrapping_neg();
        let fine = ChannelPhase::from_turns(-value.fine * first, -value.fine * step);
        let own = ChannelPhase::from_turns(value.phase_turns, 0.0);
        ChannelPhase {
            base: coarse.wrapping_mul(cycles.base).wrapping_add(fine.base).wrapping_add(own.base),
            slope: coarse.wrapping_mul(cycles.slope).wrapping_add(fine.slope),
        }
    }
}

/// Steers tied-array beams: a delay model for each beam and antenna (or input), and a gain for each beam and input,
/// become [`BeamWeights`] at any sample.
///
/// ```text
/// w[beam][channel][input] = g[beam][input] exp(2 pi i (-d (f_channel - f_reference) / rate + phase))
/// ```
///
/// with `d` in samples and `phase` those of the model at that sample. A model says by how much its antenna is to be
/// delayed, so an antenna that hears the source earlier by `d` has voltages that are ahead by `2 pi f d`, and these
/// weights, which are not conjugated, turn them back: the voltages of a plane wave with exactly these delays add up to
/// the sum of the gains.
///
/// Without [`BeamSteering::with_polarisations`] a beam sums all inputs that its gains do not leave out.
///
/// # Precision
/// Phases of channel `k` are within `2^-52 |d (f_k - f_reference)| / rate + (1 + k) (1 + |d|) 2^-64` turns, reduced
/// before they become a factor in f64; each part of a weight is rounded to f32 once.
///
/// ```
/// use fringes_beamformer::{BeamSteering, SteeredBand};
/// use fringes_delay_model::{DelayModel, DelaySegment};
/// use fringes_types::{Frequencies, Inputs};
///
/// // Two antennas; the second hears the source earlier, by 12 ns at sample 0 and 1 ns less each second.
/// let band = SteeredBand {
///     frequencies: Frequencies { first_hz: 1.4e9, step_hz: 1e6 },
///     channels: 8,
///     sample_rate_hz: 100e6,
///     reference_hz: 1.4e9,
/// };
/// let moving = DelaySegment::from_seconds(0, &[12e-9, -1e-9], 100e6)?.with_fringe_stopping(1.4e9, 100e6)?;
/// let models = vec![vec![DelayModel::zero(), DelayModel::from_segment(moving)?]];
/// let steering = BeamSteering::new(Inputs::single_pol(2)?, band, models)?;
///
/// let weights = steering.weights_at(200_000_000)?; // after 2 s: 10 ns, 14 turns at 1.4 GHz, 14.05 at 1.405 GHz
/// let weight = |channel| weights.data()[(0, channel, 1)];
/// assert!((weight(0).re - 1.0).abs() < 1e-6);
/// assert!((weight(5).arg() + 0.05 * std::f32::consts::TAU).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BeamSteering {
    inputs: Inputs,
    band: SteeredBand,
    /// `[direction][antenna or input]`.
    models: Vec<DelayModel>,
    /// Models of a direction: antennas or inputs.
    columns: usize,
    polarised: bool,
    /// `[beam][input]`.
    gains: Array2<C32>,
    /// Of each input.
    used: Vec<bool>,
}

impl BeamSteering {
    /// Steering by models `[beam][antenna]` or `[beam][input]`, with gains of 1.
    ///
    /// # Errors
    /// [`TypesError::Empty`] without beams or channels, [`TypesError::Dimension`] for a beam without a model for each
    /// antenna or each input, [`TypesError::NotPositive`] or [`TypesError::NotFinite`] for a band that cannot be.
    pub fn new(inputs: Inputs, band: SteeredBand, models: Vec<Vec<DelayModel>>) -> Result<Self, BeamformerError> {
        band.check()?;
        let columns = match models.first() {
            None => return Err(TypesError::Empty { array: "delay models", dimension: Dimension::Beam }.into()),
            Some(first) if first.len() == inputs.len() => inputs.len(),
            Some(_) => inputs.antennas(),
        };
        let dimension = if columns == inputs.antennas() { Dimension::Antenna } else { Dimension::Input };
        for of_beam in &models {
            check_length("delay models", dimension, columns, of_beam.len())?;
        }
        let gains = Array2::from_elem((models.len(), inputs.len()), C32::new(1.0, 0.0));
        let (models, used) = (models.into_iter().flatten().collect(), vec![true; inputs.len()]);
        Ok(Self { inputs, band, models, columns, polarised: false, gains, used })
    }

    /// Makes a beam of each polarisation of every direction, `beam = direction * pols + pol`, as
    /// [`detect`](crate::detect) takes them. Gains become 1.
    #[must_use]
    pub fn with_polarisations(mut self) -> Self {
        self.polarised = true;
        self.gains = Array2::from_elem((self.beams(), self.inputs.len()), C32::new(1.0, 0.0));
        self
    }

    /// Sets gains `[beam][input]`, which multiply the weights. A beam of one polarisation has gains for the other one
    /// too, which count for nothing.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other beams or inputs, [`TypesError::NotFinite`] for a gain that is not finite.
    pub fn with_gains(mut self, gains: Array2<C32>) -> Result<Self, BeamformerError> {
        check_length("gains of beams", Dimension::Beam, self.beams(), gains.nrows())?;
        check_length("gains of beams", Dimension::Input, self.inputs.len(), gains.ncols())?;
        if let Some(((beam, input), gain)) = gains.indexed_iter().find(|(_, gain)| !gain.is_finite()) {
            let (quantity, actual, index) = ("gain of a beam", gain.to_string(), vec![beam, input]);
            return Err(TypesError::NotFinite { quantity, actual, index }.into());
        }
        self.gains = gains;
        Ok(self)
    }

    /// Says which inputs take part: `false` for one that no beam uses, such as a broken one.
    ///
    /// # Errors
    /// [`TypesError::Dimension`] for other than one flag an input.
    pub fn with_flags(mut self, used: Vec<bool>) -> Result<Self, BeamformerError> {
        check_length("flags of inputs", Dimension::Input, self.inputs.len(), used.len())?;
        self.used = used;
        Ok(self)
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.models.len() / self.columns * if self.polarised { self.inputs.pols() } else { 1 }
    }

    /// Antennas and polarisations.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// The channels that beams are steered in.
    pub fn band(&self) -> SteeredBand {
        self.band
    }

    /// Gains `[beam][input]`.
    pub fn gains(&self) -> ArrayView2<'_, C32> {
        self.gains.view()
    }

    /// The models `[direction][antenna or input]`, to queue segments on.
    pub fn models_mut(&mut self) -> &mut [DelayModel] {
        &mut self.models
    }

    /// Phases at a sample, `[direction][antenna or input]`, without gains.
    pub fn phases_at(&self, sample: u64) -> Array2<ChannelPhase> {
        let shape = (self.models.len() / self.columns, self.columns);
        Array2::from_shape_fn(shape, |(row, column)| {
            let model = self.models.get(row * self.columns + column);
            model.map_or_else(ChannelPhase::default, |model| self.band.phase(model.evaluate(sample)))
        })
    }

    /// The weights at a sample: exact for spectra whose middle is there, and as good before and after as the delays
    /// hold still.
    ///
    /// # Errors
    /// [`TypesError::NotFinite`] for a gain so large that a weight overflows.
    pub fn weights_at(&self, sample: u64) -> Result<BeamWeights, BeamformerError> {
        let phases = self.phases_at(sample);
        let mut data = Array3::zeros((self.beams(), self.band.channels, self.inputs.len()));
        data.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(beam, weights)| {
            self.steer(beam, phases.view(), weights);
        });
        Ok(BeamWeights::new(data)?)
    }

    /// Phases, slopes of phase in 2^-64 turns and magnitudes of gains at a sample, `[beam][input]`: what kernels make
    /// weights of. Inputs that a beam does not use have a gain of 0.
    pub(crate) fn turns_at(&self, sample: u64) -> (Vec<ChannelPhase>, Vec<f32>) {
        let phases = self.phases_at(sample);
        let of_column = self.inputs.len() / self.columns;
        let each = self.gains.indexed_iter().map(|((beam, input), gain)| {
            let phase = phases[(self.direction(beam), input / of_column)];
            let gain = Complex::new(f64::from(gain.re), f64::from(gain.im));
            let own = ChannelPhase::from_turns(gain.arg() / TAU, 0.0);
            let phase = ChannelPhase { base: phase.base.wrapping_add(own.base), slope: phase.slope };
            (phase, self.magnitude(beam, input))
        });
        each.unzip()
    }

    /// Magnitude of a gain, 0 of an input that the beam does not use.
    fn magnitude(&self, beam: usize, input: usize) -> f32 {
        let gain = self.gains[(beam, input)];
        let gain = Complex::new(f64::from(gain.re), f64::from(gain.im));
        if self.counts(beam, input) { gain.norm() as f32 } else { 0.0 }
    }

    /// Magnitude of each beam's largest gain.
    pub(crate) fn largest_gains(&self) -> Vec<f32> {
        let of = |beam| (0..self.inputs.len()).fold(0f32, |largest, input| largest.max(self.magnitude(beam, input)));
        (0..self.beams()).map(of).collect()
    }

    /// The first gain whose magnitude f32 does not hold.
    pub(crate) fn too_large(&self) -> Option<(usize, usize)> {
        let beyond = |gain: &C32| f64::from(gain.re).hypot(f64::from(gain.im)) > f64::from(f32::MAX);
        self.gains.indexed_iter().find(|(_, gain)| beyond(gain)).map(|(index, _)| index)
    }

    /// Where a beam looks.
    fn direction(&self, beam: usize) -> usize {
        if self.polarised { beam / self.inputs.pols() } else { beam }
    }

    /// Whether a beam uses an input.
    fn counts(&self, beam: usize, input: usize) -> bool {
        let pols = self.inputs.pols();
        self.used[input] && (!self.polarised || input % pols == beam % pols)
    }

    /// Whether a beam sums an input.
    pub(crate) fn uses(&self, beam: usize, input: usize) -> bool {
        self.counts(beam, input) && self.gains[(beam, input)] != C32::default()
    }

    /// Writes the weights `[channel][input]` of a beam.
    fn steer(&self, beam: usize, phases: ArrayView2<'_, ChannelPhase>, mut weights: ArrayViewMut2<'_, C32>) {
        let of_column = self.inputs.len() / self.columns;
        for (column, phase) in phases.row(self.direction(beam)).iter().enumerate() {
            let inputs = (column * of_column..(column + 1) * of_column).filter(|&input| self.counts(beam, input));
            let gains: Vec<_> = inputs.map(|input| (input, self.gains[(beam, input)])).collect();
            for (channel, mut weights) in weights.outer_iter_mut().enumerate().filter(|_| !gains.is_empty()) {
                let factor = Complex::cis(TAU * phase.turns(channel));
                for &(input, gain) in &gains {
                    let weight = Complex::new(f64::from(gain.re), f64::from(gain.im)) * factor;
                    weights[input] = C32::new(weight.re as f32, weight.im as f32);
                }
            }
        }
    }
}

/// Models `[source][antenna]` of an array that looks at several sources: polynomials of degree 3 for every 10 s of
/// `samples`, which stop the fringe at `reference_hz`. Take the same as [`SteeredBand::reference_hz`].
///
/// All have the array's offset ([`Geometry::offset_seconds`]), which turns a beam's phase over frequency; its power
/// does not have it, nor do products of beams.
///
/// # Errors
/// [`DelayModelError`] for an array without a site, a source or an instant that cannot be used, or an empty range.
pub fn steering_models(
    array: &AntennaArray,
    sources: &[Source],
    epoch: Epoch,
    clock: SampleClock,
    samples: Range<u64>,
    reference_hz: f64,
) -> Result<Vec<Vec<DelayModel>>, DelayModelError> {
    let interval = (INTERVAL_S * clock.sample_rate_hz).max(1.0) as u64;
    let of = |&source: &Source| {
        let track = Geometry::new(array, source, epoch)?.track(clock, samples.clone(), interval, DEGREE)?;
        track.with_fringe_stopping(reference_hz)?.models(1)
    };
    sources.iter().map(of).collect()
}
