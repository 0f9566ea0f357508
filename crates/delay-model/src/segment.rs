//! One piece of a delay model: polynomials in samples since the piece's start.

use crate::error::{check_finite, check_positive};
use crate::{DelayModelError, turns};

/// Delay and phase as polynomials in `n = t - start_sample` samples, valid from `start_sample` on.
///
/// ```text
/// delay(t) = sum_i delay_samples[i] n^i                                                       samples
/// phase(t) = phase_turns + phase_rate_turns_per_sample n + sum_i phase_higher_turns[i] n^(i+2)  turns
/// ```
///
/// An empty list of delay coefficients is the delay 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DelaySegment {
    /// First sample (of the delayed stream) at which the polynomials hold.
    pub start_sample: u64,
    /// Delay polynomial: samples, samples per sample, samples per sample^2, ...
    pub delay_samples: Vec<f64>,
    /// Phase at `start_sample` in turns.
    pub phase_turns: f64,
    /// Phase rate in turns per sample.
    pub phase_rate_turns_per_sample: f64,
    /// Higher terms of the phase: turns per sample^2, turns per sample^3, ... Usually empty.
    pub phase_higher_turns: Vec<f64>,
}

impl DelaySegment {
    /// A segment with a delay polynomial in samples and no phase.
    pub fn new(start_sample: u64, delay_samples: Vec<f64>) -> Self {
        Self { start_sample, delay_samples, ..Self::default() }
    }

    /// A segment whose delay polynomial is given in seconds, `sum_i delay_seconds[i] T^i` with `T` in seconds since
    /// `start_sample`: coefficient `i` becomes `delay_seconds[i] sample_rate_hz^(1-i)` samples per sample^i.
    ///
    /// # Errors
    /// [`DelayModelError::NotPositive`] for the sample rate, [`DelayModelError::NotFinite`] for a coefficient.
    pub fn from_seconds(
        start_sample: u64,
        delay_seconds: &[f64],
        sample_rate_hz: f64,
    ) -> Result<Self, DelayModelError> {
        check_positive("sample_rate_hz", sample_rate_hz)?;
        let mut scale = sample_rate_hz;
        let mut delay_samples = Vec::with_capacity(delay_seconds.len());
        for (index, &coefficient) in delay_seconds.iter().enumerate() {
            check_finite("delay_seconds", coefficient, index)?;
            delay_samples.push(coefficient * scale);
            scale /= sample_rate_hz;
        }
        Ok(Self::new(start_sample, delay_samples))
    }

    /// Sets phase (turns) and phase rate (turns per sample).
    pub fn with_phase(mut self, phase_turns: f64, phase_rate_turns_per_sample: f64) -> Self {
        self.phase_turns = phase_turns;
        self.phase_rate_turns_per_sample = phase_rate_turns_per_sample;
        self
    }

    /// Sets phase (turns) and phase rate in turns per second.
    ///
    /// # Errors
    /// [`DelayModelError::NotPositive`] for the sample rate.
    pub fn with_phase_per_second(
        self,
        phase_turns: f64,
        phase_rate_hz: f64,
        sample_rate_hz: f64,
    ) -> Result<Self, DelayModelError> {
        check_positive("sample_rate_hz", sample_rate_hz)?;
        Ok(self.with_phase(phase_turns, phase_rate_hz / sample_rate_hz))
    }

    /// Sets the phase that stops the fringe of this segment's delay at a sky frequency: `phase(t) = -f delay(t)`, where
    /// `f` is the sky frequency at the middle of the band over the sample rate (turns per sample of delay).
    ///
    /// # Precision
    /// Each coefficient is one product rounded to f64: the phase at the start is off by at most `2^-53 |f d|` turns,
    /// e.g. 1e-10 turns for a delay of a million turns.
    ///
    /// # Errors
    /// [`DelayModelError::NotPositive`] for the sample rate, [`DelayModelError::NotFinite`] for the frequency.
    pub fn with_fringe_stopping(mut self, sky_frequency_hz: f64, sample_rate_hz: f64) -> Result<Self, DelayModelError> {
        check_positive("sample_rate_hz", sample_rate_hz)?;
        check_finite("sky_frequency_hz", sky_frequency_hz, 0)?;
        let turns_per_sample = sky_frequency_hz / sample_rate_hz;
        let mut phase = self.delay_samples.iter().map(|coefficient| -turns_per_sample * coefficient);
        self.phase_turns = phase.next().unwrap_or(0.0);
        self.phase_rate_turns_per_sample = phase.next().unwrap_or(0.0);
        self.phase_higher_turns = phase.collect();
        Ok(self)
    }

    /// Checks that every coefficient is finite and that no polynomial overflows within 2^64 samples.
    ///
    /// # Errors
    /// [`DelayModelError::NotFinite`] or [`DelayModelError::Overflow`].
    pub fn check(&self) -> Result<(), DelayModelError> {
        check_finite("phase_turns", self.phase_turns, 0)?;
        check_finite("phase_rate_turns_per_sample", self.phase_rate_turns_per_sample, 0)?;
        check_polynomial("delay_samples", &self.delay_samples)?;
        check_polynomial("phase_higher_turns", &self.phase_higher_turns)?;
        // The higher terms are multiplied by n^2 once more.
        let largest = horner(self.phase_higher_turns.iter().map(|c| c.abs()), SPAN) * SPAN * SPAN;
        if largest.is_finite() {
            Ok(())
        } else {
            Err(DelayModelError::Overflow { quantity: "phase_higher_turns", degree: self.phase_higher_turns.len() + 1 })
        }
    }
}

/// 2^64: no time is further from a segment's start.
const SPAN: f64 = 18_446_744_073_709_551_616.0;

fn check_polynomial(quantity: &'static str, coefficients: &[f64]) -> Result<(), DelayModelError> {
    for (index, &coefficient) in coefficients.iter().enumerate() {
        check_finite(quantity, coefficient, index)?;
    }
    if horner(coefficients.iter().map(|c| c.abs()), SPAN).is_finite() {
        Ok(())
    } else {
        Err(DelayModelError::Overflow { quantity, degree: coefficients.len().saturating_sub(1) })
    }
}

/// `sum_i coefficients[i] x^i`.
pub(crate) fn horner(coefficients: impl DoubleEndedIterator<Item = f64>, x: f64) -> f64 {
    coefficients.rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// A checked segment with its phase and phase rate in fixed point.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Prepared {
    pub(crate) segment: DelaySegment,
    phase: u64,
    rate: u64,
}

impl Prepared {
    pub(crate) fn new(segment: DelaySegment) -> Result<Self, DelayModelError> {
        segment.check()?;
        let phase = turns::to_fixed(segment.phase_turns);
        let rate = turns::to_fixed(segment.phase_rate_turns_per_sample);
        Ok(Self { segment, phase, rate })
    }

    /// Delay in samples and phase in fixed-point turns at a sample before or after the start.
    pub(crate) fn at(&self, sample: u64) -> (f64, u64) {
        let start = self.segment.start_sample;
        // The difference of integers comes first, so that a large counter costs no precision.
        let n = if sample >= start { (sample - start) as f64 } else { -((start - sample) as f64) };
        let delay = horner(self.segment.delay_samples.iter().copied(), n);
        // Modulo 2^64, a wrapped difference is the right multiplier before the start as well.
        let mut phase = self.phase.wrapping_add(self.rate.wrapping_mul(sample.wrapping_sub(start)));
        if !self.segment.phase_higher_turns.is_empty() {
            let higher = horner(self.segment.phase_higher_turns.iter().copied(), n) * n * n;
            phase = phase.wrapping_add(turns::to_fixed(higher));
        }
        (delay, phase)
    }
}
