//! The run: samples through the front end and the correlation into a cube of visibilities, in bounded memory.

use std::time::{Duration, Instant};

use fringes::io::write::VisibilityCube;
use fringes::{Backend, DumpSchedule, SpectrumClock};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ndarray::ArrayView1;

use crate::args::{Arguments, Integration};
use crate::correlation::{Dump, correlation};
use crate::failure::{At, Failure, Result};
use crate::frames::Frames;
use crate::front_end::FrontEnd;
use crate::observation::SampleSource;
use crate::tracking::Tracking;

/// Samples of all inputs and recorded channels in a chunk, about.
const CHUNK_SAMPLES: usize = 1 << 21;
/// Spectra in a chunk if they fit in the most samples of a chunk, so that gains are measured on enough of them.
const CHUNK_SPECTRA: usize = 32;
const MOST_CHUNK_SAMPLES: usize = 1 << 25;
/// Integration time of the simulation.
const SIMULATED_INTEGRATION_S: f64 = 0.025;
/// Most bytes that the visibilities of a run may take.
const MOST_BYTES: u64 = 4 << 30;

/// Time spent by step.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Timing {
    /// Reading or simulating samples.
    pub(crate) source: Duration,
    /// Filter banks, delays and fringe stopping.
    pub(crate) channelize: Duration,
    /// Gains and rounding.
    pub(crate) quantise: Duration,
    /// Sums of products.
    pub(crate) correlate: Duration,
}

impl Timing {
    /// The signal path without its source.
    pub(crate) fn signal_path(&self) -> Duration {
        self.channelize + self.quantise + self.correlate
    }
}

/// What a run gives.
pub(crate) struct Outcome {
    /// Averaged visibilities.
    pub(crate) cube: VisibilityCube,
    /// Channels that the offset of an ADC spoils, `[channel]`.
    pub(crate) left_out: Vec<bool>,
    /// Seconds of a whole integration.
    pub(crate) integration_s: f64,
    /// Spectra of a whole integration.
    pub(crate) integration_spectra: u64,
    /// Samples of each input.
    pub(crate) samples: u64,
    /// Samples that were beyond the range of their format.
    pub(crate) clamped: u64,
    /// Channelised values that were beyond the quantiser's range.
    pub(crate) saturated: u64,
    /// Frames of a recording.
    pub(crate) frames: Option<Frames>,
    /// Time spent.
    pub(crate) timing: Timing,
}

/// Runs a source of samples through the signal path.
pub(crate) fn run(
    arguments: &Arguments,
    backend: &Backend,
    source: &mut dyn SampleSource,
    tracking: Option<&Tracking>,
) -> Result<Outcome> {
    let observation = source.observation();
    let (inputs, rate) = (observation.inputs, observation.sample_rate_hz);
    let total = observation.total_samples;
    let mut front_end = FrontEnd::new(arguments, &backend.or_cpu(), observation, tracking)?;
    let spectrum_s = front_end.stride() as f64 / rate;
    let spectra = integration_spectra(arguments, spectrum_s)?;
    let bytes_each = front_end.channels() as u64 * inputs.triangle_len() as u64 * 8;
    if bytes_each > MOST_BYTES {
        let what =
            format!("the visibilities of one integration would take more than {} GiB of memory", MOST_BYTES >> 30);
        return Err(Failure::at("--channels", what));
    }
    let schedule = DumpSchedule::new(front_end.stride() as u64, 1, spectra).at("--integration")?;
    let mut correlation = correlation(arguments.quantise, backend, inputs, front_end.channels(), schedule)?;
    let mut cube = VisibilityCube::new(inputs, front_end.channels(), front_end.frequencies())?;
    let streams = inputs.len() * observation.recorded_channels;
    let enough = (CHUNK_SPECTRA * front_end.stride()).min(MOST_CHUNK_SAMPLES / streams);
    let chunk = (CHUNK_SAMPLES / streams).max(enough).max(1);
    let window = front_end.window();
    let (mut timing, mut samples) = (Timing::default(), 0u64);
    let length = schedule.timestamp_difference();
    let mut stamps = Stamps {
        first: u64::MAX,
        last: 0,
        length,
        stride: front_end.stride() as u64,
        half_window: window as f64 / 2.0,
    };
    let mut keep = |dump: Dump, stamps: &Stamps| -> Result<()> {
        if (cube.integrations() as u64 + 1).saturating_mul(bytes_each) > MOST_BYTES {
            let what =
                format!("the visibilities would take more than {} GiB of memory: integrate longer", MOST_BYTES >> 30);
            return Err(Failure::at("--integration", what));
        }
        Ok(cube.push(
            stamps.middle(dump.first_sample) / rate,
            dump.visibilities.view(),
            ArrayView1::from(&dump.valid),
        )?)
    };
    let bar = progress_bar(total, rate);
    loop {
        let start = Instant::now();
        let Some(data) = source.next_chunk(chunk).inspect_err(|_| bar.finish_and_clear())? else { break };
        timing.source += start.elapsed();
        let start = Instant::now();
        let voltages = front_end.push(&data)?;
        timing.channelize += start.elapsed();
        if let Some(voltages) = voltages {
            stamps.add(voltages.clock(), voltages.times());
            correlation.push(voltages)?.into_iter().try_for_each(|dump| keep(dump, &stamps))?;
        }
        samples += data.times() as u64;
        bar.set_position(samples);
    }
    bar.finish_and_clear();
    (timing.quantise, timing.correlate) = (correlation.spent().quantise, correlation.spent().correlate);
    let saturated = correlation.saturated();
    correlation.finish()?.map_or(Ok(()), |dump| keep(dump, &stamps))?;
    if cube.integrations() == 0 {
        let what = format!("{samples} samples are too few: a spectrum needs {window} of every input");
        return Err(Failure::at(&source.observation().label, what));
    }
    let length = length.min(stamps.covered());
    if spectra > length / stamps.stride
        && matches!(arguments.integration, Some(Integration::Seconds(_) | Integration::Spectra(_)))
    {
        eprintln!("note: --integration is longer than the data: one integration of {:.6} s", length as f64 / rate);
    }
    let (integration_s, spectra) = (length as f64 / rate, length / stamps.stride);
    Ok(Outcome {
        cube,
        left_out: front_end.offset_channels(),
        integration_s,
        integration_spectra: spectra,
        samples,
        clamped: source.clamped(),
        saturated,
        frames: source.frames(),
        timing,
    })
}

/// Spectra of an integration.
fn integration_spectra(arguments: &Arguments, spectrum_s: f64) -> Result<u64> {
    let default =
        if arguments.input.is_empty() { Integration::Seconds(SIMULATED_INTEGRATION_S) } else { Integration::All };
    let asked = arguments.integration.unwrap_or(default);
    let spectra = match asked {
        Integration::Spectra(spectra) => spectra,
        Integration::Seconds(seconds) => (seconds / spectrum_s).round().max(1.0) as u64,
        Integration::All => u64::MAX,
    };
    // As long as the correlator can count, which is longer than any run.
    Ok(spectra.min(1 << 40))
}

/// Stamps of the spectra so far, in samples.
struct Stamps {
    first: u64,
    last: u64,
    /// Samples of an integration, and from one spectrum to the next.
    length: u64,
    stride: u64,
    half_window: f64,
}

impl Stamps {
    fn add(&mut self, clock: SpectrumClock, spectra: usize) {
        self.first = self.first.min(clock.first_sample);
        self.last = self.last.max(clock.sample_of(spectra.saturating_sub(1)));
    }

    /// Samples that the spectra stand for.
    fn covered(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(self.stride)
    }

    /// The middle of an integration: half way between the middles of the first and the last window that came into it.
    fn middle(&self, stamp: u64) -> f64 {
        let first = stamp.max(self.first);
        let last = stamp.saturating_add(self.length - self.stride).min(self.last);
        (first as f64 + last as f64) / 2.0 + self.half_window
    }
}

fn progress_bar(total: Option<u64>, rate: f64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let known = "{bar:40} {percent:>3} % of {msg}, {elapsed} passed, {eta} to go";
    let unknown = "{spinner} {human_pos} samples, {elapsed} passed";
    let style = ProgressStyle::with_template(if total.is_some() { known } else { unknown });
    if let Ok(style) = style.at("progress bar") {
        bar.set_style(style);
    }
    bar.set_message(total.map_or_else(String::new, |total| format!("{:.3} s of data", total as f64 / rate)));
    bar
}
