//! The command line, and what follows from it.

use std::path::PathBuf;

use crate::common::{BackendArguments, Failure, failure};

/// Frequency of the line at rest, of OH, and the middle of the zoom.
const REST_HZ: f64 = 1_665.401_8e6;
/// How far the middle of the whole band is above it.
const BAND_ABOVE_HZ: f64 = 0.11; // of the sample rate
/// Most channels of a zoom's plan that a GPU has kernels for.
const MOST_CHANNELS: usize = 16384;

/// A maser line in a wide band and in a zoom: simulates two antennas, fits the line, draws one picture.
#[derive(clap::Parser)]
#[command(allow_negative_numbers = true)]
pub(crate) struct Arguments {
    /// Folder of the picture, narrowband.png.
    #[arg(long, value_name = "DIR", default_value = "narrowband-output")]
    pub(crate) out: PathBuf,
    /// Seconds to simulate.
    #[arg(long, default_value_t = 6.0, value_parser = positive)]
    duration: f64,
    /// Samples a second of an antenna: the band is half as wide.
    #[arg(long, value_name = "HZ", default_value_t = 8.192e6, value_parser = positive)]
    sample_rate: f64,
    /// Decimation of the zoom, which is as wide as a half of the rate that is left.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1024))]
    decimation: u16,
    /// Width of the zoom's channels.
    #[arg(long, value_name = "HZ", default_value_t = 100.0, value_parser = positive)]
    channel_width: f64,
    /// The line's distance from the middle of the zoom, its velocity's.
    #[arg(long, value_name = "HZ", default_value_t = 1234.5)]
    line_offset: f64,
    /// The line's full width at half maximum.
    #[arg(long, value_name = "HZ", default_value_t = 800.0, value_parser = positive)]
    line_width: f64,
    /// The line's peak, as a multiple of the noise at its frequency.
    #[arg(long, default_value_t = 3.0, value_parser = positive)]
    line_strength: f64,
    /// Seed of noise and line.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pub(crate) backend: BackendArguments,
}

/// What is simulated and computed.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) duration_s: f64,
    pub(crate) sample_rate_hz: f64,
    /// Sky frequencies of the middle of the band, of the zoom and of the line.
    pub(crate) band_hz: f64,
    pub(crate) zoom_hz: f64,
    pub(crate) line_hz: f64,
    pub(crate) width_hz: f64,
    pub(crate) strength: f64,
    pub(crate) phase_degrees: f64,
    /// Seconds by which the second antenna hears the line later: at the start, and more each second.
    pub(crate) delay_s: [f64; 2],
    pub(crate) decimation: usize,
    /// Channels of the zoom's plan, of which half are kept.
    pub(crate) plan_channels: usize,
    pub(crate) channel_hz: f64,
    pub(crate) seed: u64,
}

impl Arguments {
    /// What follows from the arguments, if they fit together.
    pub(crate) fn setup(&self) -> Result<Setup, Failure> {
        let decimation = usize::from(self.decimation);
        let narrow_hz = self.sample_rate / decimation as f64;
        let channels = (narrow_hz / self.channel_width).round();
        if (narrow_hz / self.channel_width - channels).abs() > 1e-6 || channels % 4.0 != 0.0 {
            let what = format!("{narrow_hz} Hz after decimation are no multiple of 4 times {} Hz", self.channel_width);
            return Err(failure("--channel-width", what));
        }
        if !(16.0..=MOST_CHANNELS as f64).contains(&channels) {
            let what = format!("expected 16 to {MOST_CHANNELS} channels of the zoom's plan, found {channels}");
            return Err(failure("--channel-width", what));
        }
        let edge_hz = narrow_hz / 4.0 - 3.0 * self.line_width;
        if self.line_offset.abs() > edge_hz || self.line_offset.is_nan() {
            let what = format!("the line and three widths to either side leave the zoom: at most {edge_hz:.0} Hz fit");
            return Err(failure("--line-offset", what));
        }
        if self.line_width < self.channel_width {
            return Err(failure("--line-width", "the line is narrower than the zoom's channels"));
        }
        let spectra = (self.duration * self.channel_width) as u64;
        if !(50..=1_000_000).contains(&spectra) {
            return Err(failure("--duration", format!("expected 50 to 1000000 spectra of the zoom, found {spectra}")));
        }
        Ok(Setup {
            duration_s: self.duration,
            sample_rate_hz: self.sample_rate,
            band_hz: REST_HZ + BAND_ABOVE_HZ * self.sample_rate,
            zoom_hz: REST_HZ,
            line_hz: REST_HZ + self.line_offset,
            width_hz: self.line_width,
            strength: self.line_strength,
            phase_degrees: 40.0,
            // A baseline of a kilometre.
            delay_s: [2.345e-6, 2.4e-10],
            decimation,
            plan_channels: channels as usize,
            channel_hz: self.channel_width,
            seed: self.seed,
        })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("expected a finite number above 0, found `{text}`")),
    }
}
