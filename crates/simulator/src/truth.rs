//! What a correlator should find.

use std::f64::consts::TAU;

use num_complex::Complex;

use crate::SimulatorError;
use crate::config::Simulation;
use crate::delays::Delays;
use crate::plan::Plan;

/// Expected powers, coherences and delays of a simulation.
///
/// Powers are densities in LSB^2: their mean over the frequencies from 0 to half the sample rate is the mean square of
/// what is simulated. They are of receivers and sources, pulses averaged over their period. Not in them: tones, which
/// are lines; the digitiser's offset; its rounding, which adds 1/12 LSB^2 to the power of an input as long as its rms
/// is above 1 LSB or so; clamping; lost packets.
///
/// They hold within the errors of the filters, 0.2 % of amplitude, up to 0.45 of the sample rate; above, to 0.5,
/// sources with fractional delays are weaker.
#[derive(Debug, Clone, Copy)]
pub struct Truth<'a> {
    plan: &'a Plan,
}

impl<'a> Truth<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self { plan }
    }

    fn simulation(&self) -> &'a Simulation {
        &self.plan.simulation
    }

    fn input(&self, input: usize) -> Result<(usize, usize), SimulatorError> {
        let error = SimulatorError::Index { what: "input", expected: self.plan.inputs.len(), actual: input };
        self.plan.inputs.antenna_pol(input).ok_or(error)
    }

    /// LSB per unit of voltage of an input's digitiser.
    ///
    /// # Errors
    /// [`SimulatorError::Index`].
    pub fn gain(&self, input: usize) -> Result<f64, SimulatorError> {
        self.input(input)?;
        Ok(self.plan.gains[input])
    }

    /// Rms in LSB of an input, tones included, without the digitiser's offset and rounding. Pulses are averaged.
    ///
    /// # Errors
    /// [`SimulatorError::Index`].
    pub fn rms_lsb(&self, input: usize) -> Result<f64, SimulatorError> {
        self.input(input)?;
        Ok(self.plan.mean_square(input).sqrt() * self.plan.gains[input])
    }

    /// `E[X_a conj(X_b)]` at a frequency in Hz, with the delays of a sample, `X` the spectrum with
    /// `exp(-2 pi i f t)`: `sum_sources P exp(-2 pi i f (d_a - d_b))`, with `d` the delays in seconds. The receiver's
    /// power is in it where `a = b`.
    ///
    /// # Errors
    /// [`SimulatorError::Index`], [`SimulatorError::Delay`] where a source's place is not known.
    pub fn cross_power(
        &self,
        a: usize,
        b: usize,
        frequency_hz: f64,
        sample: u64,
    ) -> Result<Complex<f64>, SimulatorError> {
        let ((antenna_a, pol_a), (antenna_b, pol_b)) = (self.input(a)?, self.input(b)?);
        let cycles = frequency_hz / self.simulation().sample_rate_hz;
        let mut sum = Complex::new(0.0, 0.0);
        if a == b {
            sum.re += self.simulation().receiver_rms.of(a).powi(2);
        }
        for source in &self.plan.sources {
            let common = if pol_a == pol_b { 1.0 } else { f64::from(source.mix[0]) };
            let amplitude = self.plan.banks[source.bank].amplitude(cycles);
            let power = source.amplitudes[a] * source.amplitudes[b] * amplitude * amplitude * source.duty() * common;
            let later =
                self.delay(&source.delays, antenna_a, sample)? - self.delay(&source.delays, antenna_b, sample)?;
            sum += Complex::from_polar(power, -TAU * (cycles * later).rem_euclid(1.0));
        }
        Ok(sum * self.plan.gains[a] * self.plan.gains[b])
    }

    /// Power of an input at a frequency in Hz.
    ///
    /// # Errors
    /// As [`Truth::cross_power`].
    pub fn power(&self, input: usize, frequency_hz: f64) -> Result<f64, SimulatorError> {
        Ok(self.cross_power(input, input, frequency_hz, self.simulation().epoch_sample)?.re)
    }

    /// The cross power of two inputs over the root of the product of their powers: what a correlator finds of a
    /// baseline, normalised. Its argument is the phase of the baseline. 0 where there is no power.
    ///
    /// # Errors
    /// As [`Truth::cross_power`].
    pub fn coherence(
        &self,
        a: usize,
        b: usize,
        frequency_hz: f64,
        sample: u64,
    ) -> Result<Complex<f64>, SimulatorError> {
        let powers = self.power(a, frequency_hz)? * self.power(b, frequency_hz)?;
        let cross = self.cross_power(a, b, frequency_hz, sample)?;
        Ok(if powers > 0.0 { cross / powers.sqrt() } else { Complex::new(0.0, 0.0) })
    }

    /// Samples by which an antenna hears a source later at a sample, clock and geometry included. The geometry's
    /// common offset is not in it: an antenna at the site has no geometric delay.
    ///
    /// # Errors
    /// As [`Truth::cross_power`].
    pub fn source_delay_samples(&self, source: usize, antenna: usize, sample: u64) -> Result<f64, SimulatorError> {
        let plan = self.plan.sources.get(source).ok_or_else(|| self.no_source(source))?;
        if antenna >= self.plan.inputs.antennas() {
            let (expected, actual) = (self.plan.inputs.antennas(), antenna);
            return Err(SimulatorError::Index { what: "antenna", expected, actual });
        }
        self.delay(&plan.delays, antenna, sample)
    }

    /// Phase in turns, 0 to 1, of a source's pulses as an antenna hears them at a sample; the source is on below its
    /// duty. `None` for a source without pulses.
    ///
    /// # Errors
    /// As [`Truth::cross_power`].
    pub fn pulse_phase(&self, source: usize, antenna: usize, sample: u64) -> Result<Option<f64>, SimulatorError> {
        let delay = self.source_delay_samples(source, antenna, sample)?;
        Ok(self.plan.sources[source].pulse.map(|pulse| pulse.turns(sample, -delay)))
    }

    /// Whether a sample of an input is lost.
    ///
    /// # Errors
    /// [`SimulatorError::Index`].
    pub fn is_lost(&self, input: usize, sample: u64) -> Result<bool, SimulatorError> {
        self.input(input)?;
        Ok(self.plan.packets.as_ref().is_some_and(|packets| packets.is_lost(input, sample / packets.samples)))
    }

    fn no_source(&self, actual: usize) -> SimulatorError {
        SimulatorError::Index { what: "source", expected: self.plan.sources.len(), actual }
    }

    fn delay(&self, delays: &Delays, antenna: usize, sample: u64) -> Result<f64, SimulatorError> {
        Ok(delays.at(&delays.knots(sample..=sample, None)?, antenna, sample))
    }
}
