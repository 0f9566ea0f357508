//! The run in numbers: what `--json` prints.

use std::path::PathBuf;

use fringes::Backend;
use serde::Serialize;

use crate::args::Arguments;
use crate::coherence::{Baseline, label};
use crate::frames::Frames;
use crate::locate::Located;
use crate::observation::Observation;
use crate::pipeline::Outcome;

/// One JSON object. Frequencies are on the sky if `sky_frequencies` says so, offsets within the recorded band if not.
#[derive(Serialize)]
pub(crate) struct Summary {
    /// What was observed.
    observation: String,
    /// Format of the data.
    format: String,
    antennas: usize,
    pols: usize,
    input_names: Vec<String>,
    channels: usize,
    integrations: usize,
    /// Seconds and spectra of a whole integration.
    integration_s: f64,
    integration_spectra: u64,
    /// Samples of each input and recorded channel, and their rate.
    samples: u64,
    sample_rate_hz: f64,
    bits: u32,
    sky_frequencies: bool,
    first_channel_hz: f64,
    channel_width_hz: f64,
    backend: String,
    /// Samples beyond the range of their format.
    clamped: u64,
    /// Channelised values beyond the range of the quantiser.
    saturated: u64,
    /// Frames of a recording, read and left out; null of a simulation.
    frames: Option<Frames>,
    /// The two inputs, the lower first, whose coherence is highest in any channel; null of a single input.
    strongest_baseline: Option<[usize; 2]>,
    strongest_baseline_label: Option<String>,
    /// That coherence (mean amplitude over integrations), its channel's frequency, and what noise alone would show.
    max_coherence: Option<f64>,
    max_coherence_freq_hz: Option<f64>,
    noise_level: Option<f64>,
    /// Largest and root mean square angle between recovered and known directions; null where none is known.
    source_direction_error_deg: Option<f64>,
    source_direction_rms_error_deg: Option<f64>,
    /// Offset to the east and north of the phase centre in each integration, in degrees.
    recovered_directions_deg: Vec<[f64; 2]>,
    /// Every pair of different inputs, the most coherent first.
    baselines: Vec<BaselineSummary>,
    timing_s: TimingSummary,
    /// Seconds of data that the signal path takes in a second.
    real_time_factor: f64,
    files_written: Vec<PathBuf>,
}

/// One pair of inputs.
#[derive(Serialize)]
struct BaselineSummary {
    inputs: [usize; 2],
    label: String,
    /// Mean over channels and integrations of the amplitude of the coherence.
    mean_coherence: f64,
    /// Amplitude of the correlation coefficient at zero lag.
    zero_lag_coherence: f64,
    max_coherence: f64,
    max_coherence_freq_hz: f64,
    /// Amplitude in a channel that noise alone would show, `1 / sqrt(spectra)`; null where there is no data.
    noise_level: Option<f64>,
}

#[derive(Serialize)]
struct TimingSummary {
    source: f64,
    channelize: f64,
    quantise: f64,
    correlate: f64,
}

impl Summary {
    /// Collects everything.
    pub(crate) fn new(
        arguments: &Arguments,
        backend: &Backend,
        observation: &Observation,
        outcome: &Outcome,
        ranked: &[&Baseline],
        located: Option<&Located>,
    ) -> Self {
        let (cube, timing) = (&outcome.cube, &outcome.timing);
        let frequencies = cube.frequencies();
        let best = ranked.first().copied();
        // A recording that gives a phase centre only by its header names no source that must be there.
        let known = located.filter(|_| observation.track.is_some() || arguments.source.is_some());
        let names = &observation.input_names;
        Self {
            observation: observation.label.clone(),
            format: observation.format.clone(),
            antennas: cube.inputs().antennas(),
            pols: cube.inputs().pols(),
            input_names: names.clone(),
            channels: cube.channels(),
            integrations: cube.integrations(),
            integration_s: outcome.integration_s,
            integration_spectra: outcome.integration_spectra,
            samples: outcome.samples,
            sample_rate_hz: observation.sample_rate_hz,
            bits: observation.bits,
            sky_frequencies: observation.centres.is_some(),
            first_channel_hz: frequencies.first_hz,
            channel_width_hz: frequencies.step_hz,
            backend: backend.or_cpu().name(),
            clamped: outcome.clamped,
            saturated: outcome.saturated,
            frames: outcome.frames,
            strongest_baseline: best.map(|baseline| [baseline.b, baseline.a]),
            strongest_baseline_label: best.map(|baseline| label(names, baseline)),
            max_coherence: best.map(|baseline| baseline.peak.0),
            max_coherence_freq_hz: best.map(|baseline| frequencies.channel_hz(baseline.peak.1)),
            noise_level: best.map(|baseline| baseline.noise).filter(|noise| noise.is_finite()),
            source_direction_error_deg: known.map(Located::largest_error_deg),
            source_direction_rms_error_deg: known.map(Located::rms_error_deg),
            recovered_directions_deg: located
                .map(|located| located.recovered.iter().map(|lm| lm.map(f64::to_degrees)).collect())
                .unwrap_or_default(),
            baselines: ranked
                .iter()
                .map(|baseline| BaselineSummary {
                    inputs: [baseline.b, baseline.a],
                    label: label(names, baseline),
                    mean_coherence: baseline.mean,
                    zero_lag_coherence: baseline.zero_lag,
                    max_coherence: baseline.peak.0,
                    max_coherence_freq_hz: frequencies.channel_hz(baseline.peak.1),
                    noise_level: baseline.noise.is_finite().then_some(baseline.noise),
                })
                .collect(),
            timing_s: TimingSummary {
                source: timing.source.as_secs_f64(),
                channelize: timing.channelize.as_secs_f64(),
                quantise: timing.quantise.as_secs_f64(),
                correlate: timing.correlate.as_secs_f64(),
            },
            real_time_factor: real_time_factor(observation, outcome),
            files_written: Vec::new(),
        }
    }

    /// Adds the files that were written.
    pub(crate) fn with_files(mut self, files: Vec<PathBuf>) -> Self {
        self.files_written = files;
        self
    }
}

/// Seconds of data over seconds of the signal path.
pub(crate) fn real_time_factor(observation: &Observation, outcome: &Outcome) -> f64 {
    let data = outcome.samples as f64 / observation.sample_rate_hz;
    data / outcome.timing.signal_path().as_secs_f64().max(1e-9)
}
