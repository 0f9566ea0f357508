//! When a wave arrives at each antenna, in samples.

use std::ops::RangeInclusive;

use fringes_delay_model::{Geometry, SampleClock};

use crate::SimulatorError;
use crate::config::{Arrival, Clock, MAX_RATE, Simulation};
use crate::error::check;

/// The arrival of a source or tone, ready to evaluate.
#[derive(Debug)]
pub(crate) struct Delays {
    kind: Kind,
    /// By antenna: samples of delay at the epoch, and their rate. Clocks, and given delays.
    linear: Vec<(f64, f64)>,
    epoch_sample: u64,
}

#[derive(Debug)]
enum Kind {
    Linear,
    /// Boxed: a geometry is large.
    Sky(Box<Sky>),
}

#[derive(Debug)]
struct Sky {
    geometry: Geometry,
    clock: SampleClock,
    /// Knots are at multiples of 2^this of the sample counter.
    knot_bits: u32,
    name: String,
}

/// Delays of a direction at the knots that a call needs, `[knot][antenna]` in samples; empty for what needs none.
#[derive(Debug, Default)]
pub(crate) struct Knots {
    first: u64,
    delays: Vec<Vec<f64>>,
}

impl Delays {
    pub(crate) fn new(name: &str, arrival: &Arrival, simulation: &Simulation) -> Result<Self, SimulatorError> {
        let rate_hz = simulation.sample_rate_hz;
        let mut linear: Vec<(f64, f64)> = (0..simulation.antennas)
            .map(|antenna| {
                let Clock { offset_s, drift } = simulation.clocks.get(antenna).copied().unwrap_or_default();
                (offset_s * rate_hz, drift)
            })
            .collect();
        let epoch_sample = simulation.epoch_sample;
        let kind = match (arrival, &simulation.array) {
            (Arrival::Together, _) => Kind::Linear,
            (Arrival::Given { samples, rate }, _) => {
                for (antenna, (delay, drift)) in linear.iter_mut().enumerate() {
                    *delay += samples.get(antenna).copied().unwrap_or_default();
                    *drift += rate.get(antenna).copied().unwrap_or_default();
                }
                Kind::Linear
            }
            (Arrival::Sky(_), None) => return Err(SimulatorError::NoArray { what: name.to_owned() }),
            (&Arrival::Sky(source), Some(array)) => {
                let geometry = Geometry::new(&array.antennas, source, array.epoch)?;
                // A straight line over h seconds is off by A w^2 h^2 / 8: 8e-16 s for A = 20 ms, h = 1/128.
                let knot_bits = ((rate_hz / 128.0).log2().floor() as i64).clamp(8, 40) as u32;
                let clock = SampleClock { epoch_sample, sample_rate_hz: rate_hz };
                let name = name.to_owned();
                let sky = Sky { geometry, clock, knot_bits, name };
                // What the epoch allows is known now.
                sky.at(epoch_sample)?;
                Kind::Sky(Box::new(sky))
            }
        };
        Ok(Self { kind, linear, epoch_sample })
    }

    /// What [`Delays::at`] needs for these samples. `known` are those of another call: if they will do, nothing is
    /// computed.
    pub(crate) fn knots(&self, samples: RangeInclusive<u64>, known: Option<Knots>) -> Result<Knots, SimulatorError> {
        let Kind::Sky(sky) = &self.kind else { return Ok(Knots::default()) };
        let (first, last) = (samples.start() >> sky.knot_bits, (samples.end() >> sky.knot_bits) + 1);
        if let Some(known) =
            known.filter(|known| known.first <= first && last - known.first < known.delays.len() as u64)
        {
            return Ok(known);
        }
        let delays: Vec<Vec<f64>> =
            (first..=last).map(|knot| sky.at(knot.saturating_mul(1 << sky.knot_bits))).collect::<Result<_, _>>()?;
        for pair in delays.windows(2) {
            for (before, after) in pair[0].iter().zip(&pair[1]) {
                let rate = (after - before) / 2f64.powi(sky.knot_bits as i32);
                let quantity = format!("{}: rate of the geometric delay", sky.name);
                check(rate.abs() <= MAX_RATE, &quantity, "at most 1e-4 samples a sample", rate)?;
            }
        }
        Ok(Knots { first, delays })
    }

    /// Samples by which an antenna hears it later, at a sample within those of the knots.
    pub(crate) fn at(&self, knots: &Knots, antenna: usize, sample: u64) -> f64 {
        let distance = sample.abs_diff(self.epoch_sample) as f64;
        let since = if sample >= self.epoch_sample { distance } else { -distance };
        let (delay, rate) = self.linear.get(antenna).copied().unwrap_or_default();
        let linear = delay + rate * since;
        let Kind::Sky(sky) = &self.kind else { return linear };
        let knot = ((sample >> sky.knot_bits).saturating_sub(knots.first)) as usize;
        let value = |knot: usize| knots.delays.get(knot).and_then(|delays| delays.get(antenna)).copied();
        let (before, after) = (value(knot).unwrap_or_default(), value(knot + 1).unwrap_or_default());
        let within = (sample & ((1 << sky.knot_bits) - 1)) as f64 / 2f64.powi(sky.knot_bits as i32);
        linear + before + (after - before) * within
    }
}

impl Sky {
    /// Delays of all antennas at a sample, in samples: what is nearer to the source hears it earlier.
    fn at(&self, sample: u64) -> Result<Vec<f64>, SimulatorError> {
        let delays = self.geometry.geometric_delays(self.clock.seconds(sample))?;
        let later = |&seconds: &f64| (delays.offset_seconds - seconds) * self.clock.sample_rate_hz;
        Ok(delays.seconds.iter().map(later).collect())
    }
}
