//! The run as PNG images.
//!
//! | file | shows |
//! |---|---|
//! | `autocorrelations.png` | power of every input over frequency |
//! | `waterfalls.png` | amplitude and phase of the strongest baselines over frequency and time (several integrations) |
//! | `spectra.png` | amplitude and phase of the strongest baselines over frequency (few integrations) |
//! | `coherence_matrix.png` | mean and highest coherence of every pair of inputs |
//! | `direction.png` | the field as the array sees it, the source's track and the recovered directions |

mod autocorrelations;
mod direction;
mod heat_map;
mod matrix;
mod spectra;
mod style;
mod waterfalls;

use std::path::{Path, PathBuf};

pub(crate) use direction::Field;
use style::Result;

use crate::coherence::{Baseline, Coherence};

/// Integrations from which on time is an axis of its own.
const WATERFALL_INTEGRATIONS: usize = 4;

/// What the plots are made of.
pub(crate) struct Figure<'a> {
    /// The visibilities.
    pub(crate) coherence: &'a Coherence<'a>,
    /// Names of the inputs, short enough for an axis.
    pub(crate) names: &'a [String],
    /// Whether frequencies are on the sky; offsets from the bottom (real samples) or middle of the recorded band if
    /// not.
    pub(crate) sky: bool,
    /// Baselines in falling order of coherence.
    pub(crate) ranked: &'a [&'a Baseline],
    /// The map of the field, where positions and a phase centre are known.
    pub(crate) field: Option<&'a Field>,
    /// Duration of an integration in seconds.
    pub(crate) integration_s: f64,
    /// What the run is of, for titles.
    pub(crate) label: &'a str,
}

impl Figure<'_> {
    /// Name of the frequency axis, its ends in its unit, and the unit's size in Hz.
    fn frequency_axis(&self) -> (String, [f64; 2], f64) {
        let frequencies = self.coherence.cube.frequencies();
        let half = frequencies.step_hz / 2.0;
        let first = frequencies.first_hz - half;
        let last = frequencies.channel_hz(self.coherence.cube.channels().saturating_sub(1)) + half;
        let unit = style::frequency_unit(first.abs().max(last.abs()));
        let name = if self.sky { "Sky frequency" } else { "Baseband frequency" };
        (format!("{name} ({})", unit.name), [first / unit.size, last / unit.size], unit.size)
    }

    /// Name of a baseline; the star marks the input that is conjugated.
    fn baseline_name(&self, baseline: &Baseline) -> String {
        let name = |input: usize| self.names.get(input).cloned().unwrap_or_else(|| input.to_string());
        format!("{} \u{d7} {}*", name(baseline.a), name(baseline.b))
    }

    /// Draws every plot that the data has something to show in, and returns the files.
    pub(crate) fn draw(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        style::register_fonts()?;
        let mut files = Vec::new();
        let mut add = |name: &str, plot: &dyn Fn(&Path) -> Result<()>| -> Result<()> {
            let path = folder.join(name);
            plot(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            files.push(path);
            Ok(())
        };
        add("autocorrelations.png", &|path| autocorrelations::draw(self, path))?;
        if !self.ranked.is_empty() {
            if self.coherence.cube.integrations() >= WATERFALL_INTEGRATIONS {
                add("waterfalls.png", &|path| waterfalls::draw(self, path))?;
            } else {
                add("spectra.png", &|path| spectra::draw(self, path))?;
            }
            add("coherence_matrix.png", &|path| matrix::draw(self, path))?;
        }
        if let Some(field) = self.field {
            add("direction.png", &|path| direction::draw(field, path))?;
        }
        Ok(files)
    }
}
