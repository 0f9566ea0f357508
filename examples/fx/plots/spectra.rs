//! Amplitude and phase of the strongest baselines over frequency, for runs too short for a time axis.

use std::path::Path;

use num_complex::Complex;
use plotters::prelude::*;

use super::Figure;
use super::plot::{Margins, Plot};
use super::style::{Area, Dash, Result, legend, line_colour, line_dash, picture};
use crate::coherence::Baseline;

/// Baselines shown.
const SHOWN: usize = 3;
/// Width of the panels, beside which the names of the lines stand.
const WIDTH: u32 = 930;
/// Room around a panel.
const MARGINS: Margins = Margins(84, 14, 34, 56);

/// Draws the amplitudes of the strongest baselines in one panel, their phases in another below.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let filled = figure.ranked.iter().filter(|baseline| baseline.noise.is_finite()).count();
    let shown = &figure.ranked[..filled.min(SHOWN)];
    let title = format!("Coherence of the strongest baselines: {}", figure.label);
    picture(path, (1120, 900), &title, |body| {
        let panels = body.split_evenly((2, 1));
        let mut names: Vec<(String, RGBColor, Dash)> = shown
            .iter()
            .enumerate()
            .map(|(index, baseline)| (figure.baseline_name(baseline), line_colour(index), line_dash(index)))
            .collect();
        let (panel, key) = panels[1].split_horizontally(WIDTH);
        phases(figure, shown, &panel)?;
        legend(&key, 44, &names)?;
        let (panel, key) = panels[0].split_horizontally(WIDTH);
        amplitudes(figure, shown, &panel)?;
        names.push(("1/\u{221a}spectra (noise)".into(), BLACK, Dash::Dashed));
        legend(&key, 44, &names)?;
        Ok(())
    })
}

fn amplitudes(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    let noise = shown.first().map_or(f64::INFINITY, |baseline| baseline.noise);
    let top = shown.iter().map(|baseline| baseline.peak.0).fold(if noise.is_finite() { noise } else { 0.0 }, f64::max);
    let top = (top * 1.08 * 20.0).ceil().max(1.0) / 20.0;
    let plot = Plot::new(area, MARGINS, x, [0.0, top]);
    plot.axes("Amplitude", [&name, "Coherence amplitude"], true)?;
    let frequencies = figure.coherence.cube.frequencies();
    for (index, baseline) in shown.iter().enumerate() {
        let profile = figure.coherence.amplitude_profile(baseline.a, baseline.b);
        // Channels that are left out interrupt the line.
        for run in profile.iter().enumerate().collect::<Vec<_>>().split(|(_, value)| !value.is_finite()) {
            let points = run.iter().map(|&(channel, &value)| (frequencies.channel_hz(channel) / unit, value));
            plot.line(&points.collect::<Vec<_>>(), line_colour(index), 2, line_dash(index))?;
        }
    }
    if noise.is_finite() {
        plot.line(&[(x[0], noise), (x[1], noise)], BLACK, 1, Dash::Dashed)?;
    }
    Ok(())
}

fn phases(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    let plot = Plot::new(area, MARGINS, x, [-180.0, 180.0]);
    plot.axes("Phase (faint where the amplitude is below twice the noise)", [&name, "Phase (degrees)"], true)?;
    let cube = figure.coherence.cube;
    for (index, baseline) in shown.iter().enumerate() {
        let mut sums = vec![Complex::<f32>::default(); cube.channels()];
        for integration in 0..cube.integrations() {
            let values = figure.coherence.spectrum(integration, baseline.a, baseline.b);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.unwrap_or_default());
        }
        // Such a phase says nothing.
        for (channel, sum) in sums.iter().enumerate().filter(|(_, sum)| sum.norm() > 0.0) {
            let amplitude = f64::from(sum.norm()) / cube.integrations() as f64;
            let strength = if amplitude > 2.0 * baseline.noise { 1.0 } else { 0.2 };
            let at = cube.frequencies().channel_hz(channel) / unit;
            let place = plot.pixel((at, f64::from(sum.arg().to_degrees())));
            area.draw(&Circle::new(place, 3, line_colour(index).mix(strength).filled()))?;
        }
    }
    Ok(())
}
