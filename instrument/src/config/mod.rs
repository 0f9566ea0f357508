//! The configuration of an instrument: `instrument.toml`.
//!
//! Unknown fields are errors. What has a default may be left out; every field is described where it is declared.

mod changes;
mod ranks;
pub(crate) mod sinks;
mod source;

use std::path::Path;

use serde::Deserialize;

pub(crate) use changes::ChangeConfig;
pub(crate) use ranks::{By, Carrier, RanksConfig};
pub(crate) use sinks::SinkConfig;
pub(crate) use source::SourceConfig;

use crate::failure::{Failure, Result};

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Where operations run: `auto`, `cpu`, or `gpu` with a number (`gpu 0`). Default `auto`.
    #[serde(default = "auto")]
    pub(crate) backend: String,
    /// Ranks that the instrument is spread over.
    #[serde(default)]
    pub(crate) ranks: RanksConfig,
    /// Where voltages come from.
    pub(crate) source: SourceConfig,
    /// Where the antennas are and what they follow. UVH5 and UVFITS need it.
    #[serde(default)]
    pub(crate) array: Option<ArrayConfig>,
    /// The F-engine.
    #[serde(default)]
    pub(crate) f_engine: FEngineConfig,
    /// Dumps of the correlator: one cadence or several. Their numbers count from 0.
    #[serde(default)]
    pub(crate) cadence: Vec<CadenceConfig>,
    /// What is left out as interference, of dumps and beams.
    #[serde(default)]
    pub(crate) mask: Option<MaskConfig>,
    /// Sums by bins: gates, pulse phases. Their cadence is the number behind the others.
    #[serde(default)]
    pub(crate) bins: Option<BinsConfig>,
    /// Detected beams.
    #[serde(default)]
    pub(crate) beams: Option<BeamsConfig>,
    /// What changes while it runs, in any order.
    #[serde(default)]
    pub(crate) change: Vec<ChangeConfig>,
    /// Where dumps and beams go.
    #[serde(default)]
    pub(crate) sink: Vec<SinkConfig>,
    /// Most chunks, frames or products that wait in a queue. Default 4.
    #[serde(default = "four")]
    pub(crate) queue_depth: usize,
    /// Longest gap in the samples in seconds; a longer one is a jump of the clock. Default: 16 dumps.
    #[serde(default)]
    pub(crate) longest_gap_s: Option<f64>,
    /// Address at which Prometheus finds the counters, such as `127.0.0.1:9000`. Default: none.
    #[serde(default)]
    pub(crate) prometheus: Option<std::net::SocketAddr>,
    /// Folder for pictures at the end of the run. Default: none are drawn.
    #[serde(default)]
    pub(crate) pictures: Option<std::path::PathBuf>,
}

/// The array.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArrayConfig {
    /// A table of antennas as text: `# enu LATITUDE LONGITUDE HEIGHT`, then `NAME EAST NORTH UP` in metres.
    #[serde(default)]
    pub(crate) table: Option<String>,
    /// A file with such a table, in place of the text.
    #[serde(default)]
    pub(crate) file: Option<std::path::PathBuf>,
    /// What the array follows: right ascension and declination (`05:34:31.95,+22:00:52.2`), or what stands still
    /// (`azel 90,45`).
    pub(crate) phase_centre: String,
    /// When sample 0 was taken (UTC). Default: what the source says.
    #[serde(default)]
    pub(crate) epoch: Option<String>,
    /// Name of the telescope. Default `Fringes`.
    #[serde(default = "fringes")]
    pub(crate) telescope: String,
    /// Name of the phase centre. Default `unknown`.
    #[serde(default = "unknown")]
    pub(crate) source_name: String,
    /// Seconds for which delays are made, behind which the run ends with an error. Default: the source's length, or a
    /// day.
    #[serde(default)]
    pub(crate) seconds: Option<f64>,
}

/// The F-engine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FEngineConfig {
    /// Channels of the filter bank. Default 1024.
    pub(crate) channels: usize,
    /// Taps of its filter. Default 16.
    pub(crate) taps: usize,
    /// Spectra of a frame. Default 16.
    pub(crate) spectra_per_frame: usize,
    /// Format of the channelised voltages: `int4`, `int8`, `float16`, `float32`. Default `int8`.
    pub(crate) format: Format,
    /// Rms of a part of a channelised voltage that the gain is set for, in steps of the quantiser, for noise of
    /// `input_rms`. Default 15 (`int4`: 2).
    pub(crate) target_rms: Option<f64>,
    /// Rms of the samples. Default 20.
    pub(crate) input_rms: f64,
    /// Seed of the dither; without one there is none.
    pub(crate) dither: Option<u64>,
    /// What spectra are computed in: `single`, or `half` where a GPU has such kernels. Default `single`.
    pub(crate) precision: PrecisionConfig,
}

impl Default for FEngineConfig {
    fn default() -> Self {
        Self {
            channels: 1024,
            taps: 16,
            spectra_per_frame: 16,
            format: Format::Int8,
            target_rms: None,
            input_rms: 20.0,
            dither: None,
            precision: PrecisionConfig::Single,
        }
    }
}

/// What spectra are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PrecisionConfig {
    /// f32.
    Single,
    /// f16 between the stages, sums in f32.
    Half,
}

impl From<PrecisionConfig> for fringes::Precision {
    fn from(precision: PrecisionConfig) -> Self {
        match precision {
            PrecisionConfig::Single => Self::Single,
            PrecisionConfig::Half => Self::Half,
        }
    }
}

/// Format of channelised voltages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Int4,
    Int8,
    Float16,
    Float32,
}

/// A cadence of dumps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CadenceConfig {
    /// Seconds of a dump; the nearest whole number of frames is taken.
    pub(crate) seconds: f64,
    /// Antennas whose baselines are kept. Default: all.
    #[serde(default)]
    pub(crate) antennas: Option<Vec<usize>>,
}

/// A masker by spectral kurtosis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaskConfig {
    /// Rate at which channels and blocks of noise alone are masked. Default 1e-4.
    #[serde(default = "rarely")]
    pub(crate) false_alarm_rate: f64,
    /// Frames of a block. Default 16.
    #[serde(default = "sixteen")]
    pub(crate) frames_per_block: usize,
}

/// Bins of a period: a pulsar, a noise diode.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BinsConfig {
    /// Seconds of a dump.
    pub(crate) seconds: f64,
    /// Period in seconds.
    pub(crate) period_s: f64,
    /// Bins of a period.
    pub(crate) count: usize,
}

/// Detected beams.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BeamsConfig {
    /// Offsets of the beams from the phase centre in radians, direction cosines east and north `[l, m]`. Default: one
    /// beam at the phase centre.
    #[serde(default = "centre")]
    pub(crate) offsets: Vec<[f64; 2]>,
    /// Spectra that are summed. Default 16.
    #[serde(default = "sixteen")]
    pub(crate) spectra: usize,
    /// Channels that are summed. Default 1.
    #[serde(default = "one")]
    pub(crate) channels: usize,
    /// Whether what is masked, found or chosen, is left out of beams as it is of dumps. Default true.
    #[serde(default = "yes")]
    pub(crate) masked: bool,
}

fn auto() -> String {
    "auto".into()
}

fn fringes() -> String {
    "Fringes".into()
}

fn unknown() -> String {
    "unknown".into()
}

fn four() -> usize {
    4
}

fn rarely() -> f64 {
    1e-4
}

fn sixteen() -> usize {
    16
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

fn centre() -> Vec<[f64; 2]> {
    vec![[0.0, 0.0]]
}

impl Config {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path.display(), error))?;
        Self::parse(&text).map_err(|error| Failure::at(path.display(), error))
    }

    /// Reads a text.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

/// The configuration of `--demo`: eight antennas for ten seconds.
pub(crate) const DEMO: &str = include_str!("../../demo.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_a_good_configuration() {
        let demo = Config::parse(DEMO).unwrap();
        assert_eq!(demo.cadence.len(), 1);
        assert!(matches!(demo.source, SourceConfig::Simulation { seconds: Some(10.0), .. }));
    }

    #[test]
    fn beams_are_masked_unless_something_else_is_said() {
        let masked = |beams: &str| {
            let text = format!("[source]\nkind = \"recording\"\nfiles = [\"a\"]\n[beams]\n{beams}");
            Config::parse(&text).unwrap().beams.unwrap().masked
        };
        assert_eq!(["", "masked = true\n", "masked = false\n"].map(masked), [true, true, false]);
    }

    #[test]
    fn unknown_fields_are_errors_that_name_them() {
        for (text, name) in [
            ("colour = 1\n", "colour"),
            ("[f_engine]\nchanels = 3\n", "chanels"),
            ("[[cadence]]\nseconds = 1.0\nantenna = [1]\n", "antenna"),
            ("[beams]\nmask = false\n", "mask"),
            ("[[sink]]\nkind = \"npz\"\nfolder = \"x\"\nlevel = 9\n", "level"),
        ] {
            let (head, rest) = if text.starts_with('[') { ("", text) } else { (text, "") };
            let text = format!("{head}[source]\nkind = \"recording\"\nfiles = [\"a\"]\n{rest}");
            let error = Config::parse(&text).unwrap_err().to_string();
            assert!(error.contains("unknown field") && error.contains(name), "{error}");
        }
        let text = "[source]\nkind = \"recording\"\nfiles = [\"a\"]\nspeed = 3\n";
        assert!(Config::parse(text).unwrap_err().to_string().contains("speed"));
        assert!(Config::parse("[source]\nkind = \"dream\"\n").unwrap_err().to_string().contains("dream"));
        assert!(Config::parse("").unwrap_err().to_string().contains("source"));
    }
}
