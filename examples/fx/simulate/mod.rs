//! A simulated array: what each antenna's ADC would record of one drifting point source and its own receiver's noise.
//!
//! Every chunk is `[input][time]` of 10-bit samples that went through the packed form in which ADCs send them. The
//! source is unpolarised: its two polarisations are independent noise. The wave reaches antenna `r` earlier than the
//! origin by `r . s / c` ([`geometry`]); the copy that it receives is the envelope at that time ([`signal`]), turned by
//! the phase which the sky frequency gained. No code of the signal path is used for either.

pub(crate) mod geometry;
pub(crate) mod signal;

use fringes::types::{pack_samples, unpack_samples};
use fringes::{Inputs, Samples, TypesError};
use geometry::{LIGHT_M_PER_S, Track};
use ndarray::{Array2, Axis};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use signal::{Band, Envelope, SOURCE_BAND, margin};

/// Bits of an ADC sample.
pub(crate) const BITS: u32 = 10;
/// Root mean square of an antenna of unit gain, in ADC levels.
const RMS_LEVELS: f64 = 60.0;

/// Eight antennas within 150 m, east, north and up in metres: no two baselines alike.
pub(crate) const POSITIONS_M: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [28.3, -11.2, 0.4],
    [-19.6, 35.7, -0.3],
    [52.1, 30.4, 0.8],
    [-47.9, -24.6, 0.2],
    [8.7, -58.3, -0.6],
    [-33.4, 71.9, 0.5],
    [63.8, -41.5, -0.2],
];

/// What is simulated.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Antenna positions, east, north, up, in metres.
    pub(crate) positions_m: Vec<[f64; 3]>,
    /// Where the source is.
    pub(crate) track: Track,
    /// Samples a second.
    pub(crate) sample_rate_hz: f64,
    /// Sky frequency of the middle of the band.
    pub(crate) centre_hz: f64,
    /// Samples of each input.
    pub(crate) samples: u64,
    /// Part of the power in the source's band that comes from the source, for a receiver of average noise.
    pub(crate) coherence: f64,
    /// Seed of all noise.
    pub(crate) seed: u64,
}

/// The array while it records.
pub(crate) struct SimulatedArray {
    scenario: Scenario,
    inputs: Inputs,
    envelopes: Vec<Envelope>,
    receivers: Vec<Xoshiro256PlusPlus>,
    next: u64,
    margin: i64,
    clamped: u64,
}

impl SimulatedArray {
    /// An array at its first sample.
    pub(crate) fn new(scenario: Scenario) -> Result<Self, TypesError> {
        let inputs = Inputs::new(scenario.positions_m.len(), 2)?;
        let farthest_m = scenario
            .positions_m
            .iter()
            .map(|position| position.iter().map(|metres| metres * metres).sum::<f64>().sqrt())
            .fold(0.0, f64::max);
        let margin = margin(farthest_m / LIGHT_M_PER_S, scenario.sample_rate_hz);
        let mut seeds = Xoshiro256PlusPlus::seed_from_u64(scenario.seed);
        let mut next_rng = || {
            // Streams 2^128 values apart.
            seeds.jump();
            seeds.clone()
        };
        let envelopes = (0..2).map(|_| Envelope::new(next_rng(), -margin)).collect();
        let receivers = (0..inputs.len()).map(|_| next_rng()).collect();
        Ok(Self { scenario, inputs, envelopes, receivers, next: 0, margin, clamped: 0 })
    }

    /// Samples so far that were beyond the ADC's range.
    pub(crate) fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The next `times` samples of every input, fewer at the end, `None` after it.
    pub(crate) fn next_chunk(&mut self, times: usize) -> Result<Option<Samples<i16>>, TypesError> {
        let left = self.scenario.samples - self.next;
        let times = usize::try_from(left).unwrap_or(usize::MAX).min(times);
        if times == 0 {
            return Ok(None);
        }
        let first = self.next;
        self.next += times as u64;
        let (begin, end) = (first as i64 - self.margin, self.next as i64 + self.margin);
        self.envelopes.par_iter_mut().for_each(|envelope| envelope.cover(begin, end));
        let mut data = Array2::<i16>::zeros((self.inputs.len(), times));
        let (scenario, envelopes) = (&self.scenario, &self.envelopes);
        let clamped: Vec<u64> = data
            .axis_iter_mut(Axis(0))
            .into_par_iter()
            .zip(self.receivers.par_iter_mut())
            .enumerate()
            .map(|(input, (mut row, rng))| {
                let mut volts = vec![0f32; times];
                receive(&mut volts, first, scenario, input / 2, &envelopes[input % 2], rng);
                let (levels, clamped) = digitise(&volts);
                let unpacked = unpack_samples(&pack_samples(&levels, BITS)?, BITS, times)?;
                row.iter_mut().zip(unpacked).for_each(|(sample, level)| *sample = level);
                Ok(clamped)
            })
            .collect::<Result<_, TypesError>>()?;
        self.clamped += clamped.iter().sum::<u64>();
        let samples = Samples::new(data, self.inputs)?
            .with_sample_rate(self.scenario.sample_rate_hz)?
            .with_first_sample(first)
            .with_centre_frequency(self.scenario.centre_hz)?;
        Ok(Some(samples))
    }
}

/// Voltages of one input, in ADC levels: receiver noise and the source as it arrives there.
fn receive(
    volts: &mut [f32],
    first: u64,
    scenario: &Scenario,
    antenna: usize,
    envelope: &Envelope,
    rng: &mut Xoshiro256PlusPlus,
) {
    // Gains and noise levels differ from antenna to antenna, as they do in the field.
    let gain = RMS_LEVELS * (1.0 + 0.15 * (2.4 * antenna as f64).sin());
    let noise = 1.0 + 0.12 * (1.7 * antenna as f64 + 1.0).cos();
    for volt in volts.iter_mut() {
        let sample: f32 = StandardNormal.sample(rng);
        *volt = (gain * noise) as f32 * sample;
    }
    // The source's power is in SOURCE_BAND of the band, the noise's in all of it; the real part has half the mean
    // square.
    let power = SOURCE_BAND * scenario.coherence / (1.0 - scenario.coherence);
    let band = Band { sample_rate_hz: scenario.sample_rate_hz, centre_hz: scenario.centre_hz };
    let position = scenario.positions_m[antenna];
    envelope.add_received(volts, first, gain * (2.0 * power).sqrt(), band, |seconds| {
        scenario.track.advance_seconds(position, seconds)
    });
}

/// Rounds to the ADC's levels and counts those beyond them.
fn digitise(volts: &[f32]) -> (Vec<i16>, u64) {
    let limit = f32::from((1i16 << (BITS - 1)) - 1);
    let clamped = volts.iter().filter(|volt| volt.abs() > limit).count() as u64;
    (volts.iter().map(|volt| volt.clamp(-limit, limit).round_ties_even() as i16).collect(), clamped)
}
