//! The run as PNG images.
//!
//! | file | shows |
//! |---|---|
//! | `autocorrelations.png` | power of every input over frequency |
//! | `waterfalls.png` | amplitude and phase of the strongest baselines over frequency and time (several integrations) |
//! | `spectra.png` | amplitude and phase of the strongest baselines over frequency (few integrations) |
//! | `coherence_matrix.png` | mean and highest coherence of every pair of inputs |
//! | `overview.png` | the phase of a baseline over frequency and time, beside the field |
//! | `direction.png` | the field as the array sees it, the source's track and the recovered directions |

mod autocorrelations;
mod direction;
mod heat_map;
mod indexed;
mod matrix;
mod overview;
mod plot;
mod spectra;
mod style;
mod waterfalls;

use std::path::{Path, PathBuf};

pub(crate) use direction::Field;
use style::Result;

use crate::coherence::{Baseline, Coherence, label};

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

    /// Name of a baseline.
    fn baseline_name(&self, baseline: &Baseline) -> String {
        label(self.names, baseline)
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
            if !self.ranked.is_empty() && self.coherence.cube.integrations() >= WATERFALL_INTEGRATIONS {
                add("overview.png", &|path| overview::draw(self, field, path))?;
            }
        }
        Ok(files)
    }
}

/// A few words below each other, a heading and a list; nothing without a list.
fn note(area: &style::Area<'_>, top: i32, heading: &str, names: &[String]) -> Result<()> {
    use plotters::prelude::*;
    use plotters::style::text_anchor::{HPos, Pos, VPos};

    let text = style::font(style::TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let heading = [heading.to_string()];
    let lines = if names.is_empty() { [].iter() } else { heading.iter() };
    for (row, line) in lines.chain(names).enumerate() {
        area.draw(&Text::new(line.clone(), (4, top + 20 * row as i32), &text))?;
    }
    Ok(())
}
