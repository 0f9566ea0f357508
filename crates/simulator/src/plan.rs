//! A simulation with all that is made once: tables, filters, amplitudes.

use std::f64::consts::TAU;

use fringes_types::Inputs;

use crate::SimulatorError;
use crate::config::{Band, Level, PointSource, Simulation, Tone};
use crate::delays::{Delays, Knots};
use crate::filter::FilterBank;
use crate::loss::Packets;
use crate::noise::Noise;

/// Samples for which a delay is constant: that of the one in their middle, at multiples of the sample counter.
pub(crate) const SEGMENT: usize = 256;
/// 2^64, the turns' unit of fixed-point phases.
const TURN: f64 = 18_446_744_073_709_551_616.0;

/// A source, ready to render.
#[derive(Debug)]
pub(crate) struct SourcePlan {
    pub(crate) delays: Delays,
    /// Index of its filters.
    pub(crate) bank: usize,
    /// By input: factor of the voltage, of rms 1, without the digitiser's gain.
    pub(crate) amplitudes: Vec<f64>,
    /// The second polarisation is `mix[0]` of the first one's signal and `mix[1]` of another.
    pub(crate) mix: [f32; 2],
    pub(crate) pulse: Option<PulsePlan>,
}

/// Phases of pulses in units of 2^-64 turns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PulsePlan {
    pub(crate) step: u64,
    /// Phase of what is emitted at sample 0.
    pub(crate) zero: u64,
    /// The source is on at phases below it.
    pub(crate) width: u64,
}

/// A tone, ready to render.
#[derive(Debug)]
pub(crate) struct TonePlan {
    pub(crate) delays: Delays,
    /// By input, without the digitiser's gain.
    pub(crate) amplitudes: Vec<f64>,
    pub(crate) cycles_per_sample: f64,
    step: u64,
    zero: u64,
    /// Cosines and sines of the samples of a segment.
    pub(crate) turned: Vec<(f32, f32)>,
}

/// All that does not change.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) simulation: Simulation,
    pub(crate) inputs: Inputs,
    pub(crate) noise: Noise,
    pub(crate) banks: Vec<FilterBank>,
    pub(crate) sources: Vec<SourcePlan>,
    pub(crate) tones: Vec<TonePlan>,
    /// LSB per unit of voltage, by input.
    pub(crate) gains: Vec<f64>,
    pub(crate) packets: Option<Packets>,
}

/// Delays at what one call renders: of every source and of every tone.
#[derive(Debug, Default)]
pub(crate) struct CallKnots {
    pub(crate) sources: Vec<Knots>,
    pub(crate) tones: Vec<Knots>,
}

impl Plan {
    pub(crate) fn new(simulation: Simulation) -> Result<Self, SimulatorError> {
        let inputs = simulation.check()?;
        let mut banks = Vec::new();
        let mut bands: Vec<(f64, f64)> = Vec::new();
        let mut sources = Vec::with_capacity(simulation.sources.len());
        for (index, source) in simulation.sources.iter().enumerate() {
            let band = source.band.map_or((0.0, 0.5), |Band { low_hz, high_hz }| {
                (low_hz / simulation.sample_rate_hz, high_hz / simulation.sample_rate_hz)
            });
            let bank = bands.iter().position(|&known| known == band).unwrap_or_else(|| {
                bands.push(band);
                banks.push(FilterBank::new(band.0, band.1));
                bands.len() - 1
            });
            let delays = Delays::new(&format!("sources[{index}]"), &source.arrival, &simulation)?;
            sources.push(SourcePlan::new(source, delays, bank, &simulation, inputs));
        }
        let mut tones = Vec::with_capacity(simulation.tones.len());
        for (index, tone) in simulation.tones.iter().enumerate() {
            let delays = Delays::new(&format!("tones[{index}]"), &tone.arrival, &simulation)?;
            tones.push(TonePlan::new(tone, delays, &simulation, inputs));
        }
        let packets = simulation.loss.as_ref().map(|loss| Packets::new(loss, simulation.seed, inputs.len()));
        let noise = Noise::new(simulation.seed);
        let mut plan = Self { inputs, noise, banks, sources, tones, gains: Vec::new(), packets, simulation };
        plan.gains = (0..inputs.len()).map(|input| plan.gain(input)).collect();
        Ok(plan)
    }

    fn gain(&self, input: usize) -> f64 {
        match &self.simulation.adc.level {
            Level::Gain(gains) => gains.of(input),
            Level::Rms(rms) => {
                let square = self.mean_square(input);
                if square > 0.0 { rms.of(input) / square.sqrt() } else { 0.0 }
            }
        }
    }

    /// Mean square voltage of an input, without the digitiser's gain.
    pub(crate) fn mean_square(&self, input: usize) -> f64 {
        let receiver = self.simulation.receiver_rms.of(input).powi(2);
        let sources: f64 = (0..self.sources.len()).map(|source| self.source_mean_square(source, input)).sum();
        // A tone of frequency 0 is a constant: amplitude^2 where its phase is 0.
        let tones: f64 = self.tones.iter().map(|tone| tone.amplitudes[input].powi(2) / 2.0).sum();
        receiver + sources + tones
    }

    fn source_mean_square(&self, source: usize, input: usize) -> f64 {
        let plan = &self.sources[source];
        plan.amplitudes[input].powi(2) * self.banks[plan.bank].power() * plan.duty()
    }

    /// Delays at what a call renders, from those of the call before where they will do.
    pub(crate) fn knots(&self, first: u64, last: u64, known: CallKnots) -> Result<CallKnots, SimulatorError> {
        // Delays are those of the middle of a segment.
        let (first, last) = (first & !(SEGMENT as u64 - 1), last | (SEGMENT as u64 - 1));
        let (mut sources, mut tones) = (known.sources.into_iter(), known.tones.into_iter());
        let source = |source: &SourcePlan| source.delays.knots(first..=last, sources.next());
        let tone = |tone: &TonePlan| tone.delays.knots(first..=last, tones.next());
        Ok(CallKnots {
            sources: self.sources.iter().map(source).collect::<Result<_, _>>()?,
            tones: self.tones.iter().map(tone).collect::<Result<_, _>>()?,
        })
    }
}

impl SourcePlan {
    fn new(source: &PointSource, delays: Delays, bank: usize, simulation: &Simulation, inputs: Inputs) -> Self {
        let amplitudes = amplitudes(&source.antenna_gains, inputs, |pol| source.flux[pol].sqrt());
        let correlation = source.correlation;
        let mix = [correlation as f32, (1.0 - correlation * correlation).max(0.0).sqrt() as f32];
        let pulse = source.pulse.map(|pulse| {
            let step = (TURN / (pulse.period_s * simulation.sample_rate_hz)) as u64;
            let zero = fixed_turns(pulse.phase_turns).wrapping_sub(step.wrapping_mul(simulation.epoch_sample));
            PulsePlan { step, zero, width: (pulse.duty * TURN) as u64 }
        });
        Self { delays, bank, amplitudes, mix, pulse }
    }

    /// Part of the time that it is on.
    pub(crate) fn duty(&self) -> f64 {
        self.pulse.map_or(1.0, |pulse| pulse.width as f64 / TURN)
    }
}

impl PulsePlan {
    /// Sets to 0 the samples, from `emitted` on, at which the source is off.
    pub(crate) fn gate(&self, emitted: u64, signal: &mut [f32]) {
        let mut phase = self.zero.wrapping_add(self.step.wrapping_mul(emitted));
        let mut rest = signal;
        while !rest.is_empty() {
            let on = phase < self.width;
            let end = if on { self.width - 1 } else { u64::MAX };
            let count = ((end - phase) / self.step.max(1)).saturating_add(1);
            let (now, later) = rest.split_at_mut(count.min(rest.len() as u64) as usize);
            if !on {
                now.fill(0.0);
            }
            phase = phase.wrapping_add(self.step.wrapping_mul(now.len() as u64));
            rest = later;
        }
    }

    /// Phase in turns, 0 to 1, of what is emitted at a time in samples: `sample + delay`, the latter within +-2^40.
    pub(crate) fn turns(&self, sample: u64, delay: f64) -> f64 {
        let whole = self.zero.wrapping_add(self.step.wrapping_mul(sample)) as f64 / TURN;
        (whole + delay * (self.step as f64 / TURN)).rem_euclid(1.0)
    }
}

impl TonePlan {
    fn new(tone: &Tone, delays: Delays, simulation: &Simulation, inputs: Inputs) -> Self {
        let cycles_per_sample = tone.frequency_hz / simulation.sample_rate_hz;
        let step = (cycles_per_sample * TURN).round() as u64;
        let turned = (0..SEGMENT as u64).map(|sample| sin_cos(step.wrapping_mul(sample))).collect();
        let amplitudes = amplitudes(&tone.antenna_gains, inputs, |_| tone.amplitude);
        Self { delays, amplitudes, cycles_per_sample, step, zero: fixed_turns(tone.phase_turns), turned }
    }

    /// Cosine and sine of the phase at a sample that arrives `delay` samples late.
    pub(crate) fn phasor(&self, sample: u64, delay: f64) -> (f32, f32) {
        let late = fixed_turns(-delay * self.cycles_per_sample);
        sin_cos(self.zero.wrapping_add(self.step.wrapping_mul(sample)).wrapping_add(late))
    }
}

/// By input: what a polarisation has, times the antenna's factor.
fn amplitudes(gains: &[f64], inputs: Inputs, of_pol: impl Fn(usize) -> f64) -> Vec<f64> {
    let amplitude = |input: usize| {
        let (antenna, pol) = inputs.antenna_pol(input).unwrap_or_default();
        of_pol(pol) * gains.get(antenna).copied().unwrap_or(1.0)
    };
    (0..inputs.len()).map(amplitude).collect()
}

/// A phase in turns in units of 2^-64.
fn fixed_turns(turns: f64) -> u64 {
    (turns.rem_euclid(1.0) * TURN) as u64
}

fn sin_cos(phase: u64) -> (f32, f32) {
    let (sin, cos) = (phase as f64 / TURN * TAU).sin_cos();
    (cos as f32, sin as f32)
}
