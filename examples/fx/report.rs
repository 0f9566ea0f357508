//! The run as a table for people.

use std::fmt::{Display, Write as _};

use fringes::Backend;

use crate::args::Quantise;
use crate::coherence::{Baseline, label};
use crate::locate::Located;
use crate::observation::Observation;
use crate::pipeline::Outcome;
use crate::summary::real_time_factor;
use crate::tracking::Tracking;

/// Baselines listed.
const LISTED: usize = 6;

/// Lines of two columns.
#[derive(Default)]
struct Table(String);

impl Table {
    fn row(&mut self, name: &str, value: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "  {name:<22} {value}");
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "\n{text}");
    }
}

/// Everything worth telling.
pub(crate) fn report(
    backend: &Backend,
    quantise: Quantise,
    observation: &Observation,
    outcome: &Outcome,
    ranked: &[&Baseline],
    located: Option<&Located>,
    tracking: Option<&Tracking>,
) -> String {
    let mut table = Table::default();
    observed(&mut table, observation, tracking);
    processed(&mut table, backend, quantise, observation, outcome);
    coherent(&mut table, observation, outcome, ranked);
    if let Some(located) = located {
        direction(&mut table, observation, located, tracking);
    }
    timing(&mut table, observation, outcome);
    table.0
}

fn observed(table: &mut Table, observation: &Observation, tracking: Option<&Tracking>) {
    table.heading(&format!("Observation: {}", observation.label));
    table.row(
        "format",
        format_args!(
            "{}, {} bits, {}",
            observation.format,
            observation.bits,
            if observation.complex { "complex" } else { "real" }
        ),
    );
    let inputs = observation.inputs;
    let pols = if inputs.pols() == 1 { "1 polarisation" } else { "2 polarisations" };
    table.row("array", format_args!("{} antennas, {pols}, {} inputs", inputs.antennas(), inputs.len()));
    if let Some(array) = &observation.array {
        table.row("longest baseline", format_args!("{:.1} m", array.longest_baseline_m()));
    }
    table.row("sample rate", format_args!("{} Hz", grouped(observation.sample_rate_hz)));
    let recorded = observation.recorded_channels;
    table.row(
        "recorded band",
        format_args!(
            "{} Hz in {recorded} channel{}",
            grouped(observation.bandwidth_hz()),
            if recorded == 1 { "" } else { "s" }
        ),
    );
    if let (Some(tracking), Some(Ok(direction))) = (tracking, tracking.map(|tracking| tracking.direction(0.0))) {
        let start = if tracking.start().is_some() { "at the start" } else { "at the start (date unknown)" };
        table.row(
            "phase centre",
            format_args!(
                "azimuth {:.2}, elevation {:.2}, hour angle {:.2}, declination {:.2} degrees {start}",
                direction.azimuth_rad().to_degrees(),
                direction.elevation_rad().to_degrees(),
                direction.hour_angle_rad().to_degrees(),
                direction.declination_rad().to_degrees(),
            ),
        );
    }
}

fn processed(table: &mut Table, backend: &Backend, quantise: Quantise, observation: &Observation, outcome: &Outcome) {
    let cube = &outcome.cube;
    let frequencies = cube.frequencies();
    table.heading("Correlation");
    table.row("backend", backend.or_cpu().name());
    let kind = if observation.centres.is_some() { "sky" } else { "baseband" };
    table.row(
        "channels",
        format_args!(
            "{} of {} Hz, {} to {} Hz ({kind})",
            cube.channels(),
            grouped(frequencies.step_hz),
            grouped(frequencies.first_hz),
            grouped(frequencies.channel_hz(cube.channels().saturating_sub(1))),
        ),
    );
    let bits = match quantise {
        Quantise::Int8 => format!("8 bits, {} values saturated", outcome.saturated),
        Quantise::Int4 => format!("4 bits, {} values saturated", outcome.saturated),
        Quantise::None => "32-bit floats".into(),
    };
    table.row("correlated as", bits);
    table.row("input samples", format_args!("{} of each input, {} clamped", outcome.samples, outcome.clamped));
    if let Some(frames) = outcome.frames {
        table.row("frames", frames);
    }
    let spectra = |integration: usize| cube.weight().row(integration).iter().copied().fold(0.0, f32::max);
    let last = cube.integrations().saturating_sub(1);
    table.row(
        "integrations",
        format_args!(
            "{} of {:.6} s ({:.0} spectra, the last one {:.0})",
            cube.integrations(),
            outcome.integration_s,
            spectra(0),
            spectra(last),
        ),
    );
    let lost = cube.weight().iter().filter(|weight| **weight == 0.0).count();
    if lost > 0 {
        table.row("without any data", format_args!("{lost} of {} baseline integrations", cube.weight().len()));
    }
}

fn coherent(table: &mut Table, observation: &Observation, outcome: &Outcome, ranked: &[&Baseline]) {
    if ranked.is_empty() {
        return;
    }
    table.heading("Coherence of the strongest baselines");
    table.row("inputs", "  highest        at (Hz)     mean  zero lag  noise level");
    for baseline in ranked.iter().take(LISTED) {
        let frequency = outcome.cube.frequencies().channel_hz(baseline.peak.1);
        table.row(
            &label(&observation.input_names, baseline),
            format_args!(
                "{:9.4} {:>14} {:8.4} {:9.4} {:12.4}",
                baseline.peak.0,
                grouped(frequency),
                baseline.mean,
                baseline.zero_lag,
                baseline.noise,
            ),
        );
    }
}

fn direction(table: &mut Table, observation: &Observation, located: &Located, tracking: Option<&Tracking>) {
    let middle = located.recovered.len() / 2;
    let (found, known) = (located.recovered[middle], located.known[middle]);
    let seconds = located.seconds[middle];
    table.heading("Source");
    let degrees = |lm: [f64; 2]| format!("{:+.4} east, {:+.4} north", lm[0].to_degrees(), lm[1].to_degrees());
    table.row("recovered offset", format_args!("{} degrees of the phase centre at {seconds:.3} s", degrees(found)));
    if observation.track.is_some() {
        table.row("true offset", format_args!("{} degrees", degrees(known)));
    }
    if let Some(Ok([azimuth, elevation])) = tracking.map(|tracking| tracking.horizontal_deg(seconds, found)) {
        table.row("recovered direction", format_args!("azimuth {azimuth:.4}, elevation {elevation:.4} degrees"));
    }
    let of = if observation.track.is_some() { "the truth" } else { "the phase centre" };
    table.row(
        "distance from it",
        format_args!(
            "{:.5} degrees at most, {:.5} root mean square, from {of}, over {} integrations",
            located.largest_error_deg(),
            located.rms_error_deg(),
            located.recovered.len(),
        ),
    );
}

fn timing(table: &mut Table, observation: &Observation, outcome: &Outcome) {
    let timing = outcome.timing;
    table.heading("Time");
    table.row("data", format_args!("{:.6} s", outcome.samples as f64 / observation.sample_rate_hz));
    let from = if observation.track.is_some() { "simulating" } else { "reading" };
    table.row(from, format_args!("{:.3} s", timing.source.as_secs_f64()));
    table.row(
        "signal path",
        format_args!(
            "{:.3} s: channelize {:.3}, quantise {:.3}, correlate {:.3}",
            timing.signal_path().as_secs_f64(),
            timing.channelize.as_secs_f64(),
            timing.quantise.as_secs_f64(),
            timing.correlate.as_secs_f64(),
        ),
    );
    table.row("real-time factor", format_args!("{:.3}", real_time_factor(observation, outcome)));
}

/// A number with its digits in groups of three, and decimals where it is small.
fn grouped(value: f64) -> String {
    let text = if value.abs() < 1000.0 { format!("{value:.3}") } else { format!("{value:.0}") };
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    rest.map_or(out.clone(), |rest| format!("{out}.{rest}"))
}
