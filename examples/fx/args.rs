//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};
use fringes::Window;
use fringes::delay::Source;
use fringes::io::read::{FileFormat, InputMap};

/// FX correlator: recordings of telescope voltages, or a simulated array, to visibilities, plots and a table.
///
/// Without --input, eight antennas with two polarisations are simulated while a source drifts through their field.
#[derive(Parser, Debug)]
#[command(
    name = "fx",
    version,
    allow_negative_numbers = true,
    after_long_help = "Examples:
  fx                                                         simulate eight antennas for a second
  fx --duration 4 --channels 1024 --quantise none            longer, finer, without quantisation
  fx --input recording.vdif --channels 256                   a recording
  fx --input a.raw b.raw --array antennas.txt --source 05:34:31.95,22:00:52.2
                                                             files of one recording, fringes stopped, UVFITS written
  fx --input tart.vdif --channels 256 --taps 1 --window rect --integration all --json
                                                             a plain FFT, one integration, the summary as JSON"
)]
pub(crate) struct Arguments {
    /// Recordings (VDIF, GUPPI raw or PSRDADA), in the order of time.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) input: Vec<PathBuf>,
    /// Format of the recordings: vdif, guppi or dada [default: told from their first bytes].
    #[arg(long, requires = "input")]
    pub(crate) format: Option<FileFormat>,
    /// Samples a second of one recorded channel, instead of what the recording says; of the simulation [default: 8e6].
    #[arg(long, value_name = "HZ", value_parser = positive)]
    pub(crate) sample_rate: Option<f64>,
    /// Sky frequency of the middle of the band, instead of what the recording says; of the simulation [default:
    /// 1.42e9].
    #[arg(long, value_name = "HZ", value_parser = positive)]
    pub(crate) centre_frequency: Option<f64>,
    /// Which part of a recording is which antenna and polarisation, e.g. 0:0x,1:0y,2:1x,3:1y (see docs/fx.md).
    #[arg(long, requires = "input")]
    pub(crate) map: Option<InputMap>,
    /// Antenna positions: lines `name x y z` below `# enu LATITUDE LONGITUDE HEIGHT` or `# itrf`, in metres and
    /// degrees.
    #[arg(long, value_name = "FILE")]
    pub(crate) array: Option<PathBuf>,
    /// Phase centre whose fringes are stopped: RA,Dec (hh:mm:ss,dd:mm:ss or degrees), ha:HOURANGLE,dec:DEC (at the
    /// start of the run) or azel:AZIMUTH,ELEVATION.
    #[arg(long, value_parser = source)]
    pub(crate) source: Option<Source>,
    /// Where to run.
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub(crate) backend: BackendName,
    /// Channels in all [default: 256; of recordings that are channelised already: theirs].
    #[arg(long, value_name = "N")]
    pub(crate) channels: Option<usize>,
    /// Taps of the polyphase filter bank; 1 with --window rect is a plain FFT.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) taps: usize,
    /// Window of the filter bank.
    #[arg(long, value_enum, default_value_t = WindowName::Hann)]
    pub(crate) window: WindowName,
    /// Width of the filter bank's pass band in channels; 0 for a bare window [default: 1, with 1 tap 0].
    #[arg(long, value_name = "W")]
    pub(crate) w_cutoff: Option<f64>,
    /// Time of an integration: seconds (0.5, 25ms, 100us), a number of spectra (128spectra), or all
    /// [default: 25ms of the simulation, all of a recording].
    #[arg(long, value_name = "TIME")]
    pub(crate) integration: Option<Integration>,
    /// Bits of the channelised voltages that are correlated.
    #[arg(long, value_enum, default_value_t = Quantise::Int8)]
    pub(crate) quantise: Quantise,
    /// Seconds to simulate [default: 1].
    #[arg(long, value_name = "SECONDS", value_parser = positive, conflicts_with = "input")]
    pub(crate) duration: Option<f64>,
    /// Seed of the simulation's noise [default: 1].
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub(crate) seed: Option<u64>,
    /// Print one JSON object on standard output, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for visibilities and plots.
    #[arg(long, value_name = "DIR", default_value = "fx-output")]
    pub(crate) out: PathBuf,
}

impl Arguments {
    /// Width of the filter bank's pass band in channels. One tap has no room for a filter: it is a bare window by
    /// default.
    pub(crate) fn cutoff(&self) -> f64 {
        self.w_cutoff.unwrap_or(if self.taps == 1 { 0.0 } else { 1.0 })
    }

    /// Parses the command line; a bad one ends the program with one line on standard error and exit status 2.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            if !error.use_stderr() {
                error.exit(); // --help, --version
            }
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
            let line: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
            eprintln!("{}", line.join(" "));
            std::process::exit(2)
        })
    }
}

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// The best there is.
    Auto,
    /// The CPU.
    Cpu,
    /// The first GPU.
    Gpu,
}

/// Window of the filter bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WindowName {
    /// sin^2.
    Hann,
    /// Hamming's.
    Hamming,
    /// Blackman's.
    Blackman,
    /// None.
    Rect,
    /// Kaiser's with beta 8.
    Kaiser,
}

impl WindowName {
    /// The library's window.
    pub(crate) fn window(self) -> Window {
        match self {
            WindowName::Hann => Window::Hann,
            WindowName::Hamming => Window::Hamming,
            WindowName::Blackman => Window::Blackman,
            WindowName::Rect => Window::Rect,
            WindowName::Kaiser => Window::Kaiser { beta: 8.0 },
        }
    }
}

/// What is correlated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quantise {
    /// 8 + 8 bits.
    #[value(name = "8")]
    Int8,
    /// 4 + 4 bits.
    #[value(name = "4")]
    Int4,
    /// Single-precision floats.
    None,
}

/// Length of an integration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Integration {
    /// Seconds.
    Seconds(f64),
    /// Spectra.
    Spectra(u64),
    /// The whole run.
    All,
}

impl FromStr for Integration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("expected seconds (0.5, 25ms, 100us), a number of spectra (128spectra) or all, found `{text}`");
        if text == "all" {
            return Ok(Integration::All);
        }
        if let Some(number) = text.strip_suffix("spectra") {
            return match number.trim().parse() {
                Ok(0) | Err(_) => Err(wrong()),
                Ok(spectra) => Ok(Integration::Spectra(spectra)),
            };
        }
        let (number, unit) = [("ms", 1e-3), ("us", 1e-6), ("s", 1.0)]
            .iter()
            .find_map(|(suffix, unit)| text.strip_suffix(suffix).map(|number| (number, *unit)))
            .unwrap_or((text, 1.0));
        match number.trim().parse::<f64>().map(|value| value * unit) {
            Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(Integration::Seconds(seconds)),
            _ => Err(wrong()),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err(format!("expected a finite number above 0, found `{text}`")),
    }
}

/// Reads a source; `ha:` and `dec:` and `azel:` are written as the library reads them.
fn source(text: &str) -> Result<Source, String> {
    let plain = text.replace("ha:", "ha ").replace("azel:", "azel ").replace("dec:", "");
    plain.parse().map_err(|error: fringes::DelayModelError| error.to_string())
}
