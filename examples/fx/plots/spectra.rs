//! Amplitude and phase of the strongest baselines over frequency, for runs too short for a time axis.

use std::path::Path;

use num_complex::Complex;
use plotters::prelude::*;

use super::Figure;
use super::style::{Area, LABEL, Result, TICK, font, legend, line_colour, page, ticks};
use crate::coherence::Baseline;

/// Baselines shown.
const SHOWN: usize = 3;
/// Width of the panels, beside which the names of the lines stand.
const WIDTH: u32 = 930;

/// Draws the amplitudes of the strongest baselines in one panel, their phases in another below.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let filled = figure.ranked.iter().filter(|baseline| baseline.noise.is_finite()).count();
    let shown = &figure.ranked[..filled.min(SHOWN)];
    let title = format!("Coherence of the strongest baselines: {}", figure.label);
    let (root, body) = page(path, (1120, 900), &title)?;
    let panels = body.split_evenly((2, 1));
    let mut names: Vec<(String, RGBColor)> = shown
        .iter()
        .enumerate()
        .map(|(index, baseline)| (figure.baseline_name(baseline), line_colour(index)))
        .collect();
    let (panel, key) = panels[1].split_horizontally(WIDTH);
    phases(figure, shown, &panel)?;
    legend(&key, 24, &names)?;
    let (panel, key) = panels[0].split_horizontally(WIDTH);
    amplitudes(figure, shown, &panel)?;
    names.push(("1/\u{221a}spectra (noise)".into(), BLACK));
    legend(&key, 24, &names)?;
    root.present()?;
    Ok(())
}

fn amplitudes(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    let noise = shown.first().map_or(f64::INFINITY, |baseline| baseline.noise);
    let top = shown.iter().map(|baseline| baseline.peak.0).fold(if noise.is_finite() { noise } else { 0.0 }, f64::max);
    let top = (top * 1.08 * 20.0).ceil().max(1.0) / 20.0;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(50)
        .y_label_area_size(72)
        .build_cartesian_2d(x[0]..x[1], 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(8)
        .y_labels(6)
        .x_desc(&name)
        .y_desc("Coherence amplitude")
        .axis_desc_style(font(LABEL))
        .label_style(font(TICK))
        .x_label_formatter(&ticks(x[0], x[1]))
        .y_label_formatter(&ticks(0.0, top))
        .draw()?;
    let frequencies = figure.coherence.cube.frequencies();
    for (index, baseline) in shown.iter().enumerate() {
        let profile = figure.coherence.amplitude_profile(baseline.a, baseline.b);
        // Channels that are left out interrupt the line.
        for run in profile.iter().enumerate().collect::<Vec<_>>().split(|(_, value)| !value.is_finite()) {
            let points = run.iter().map(|&(channel, &value)| (frequencies.channel_hz(channel) / unit, value));
            chart.draw_series(LineSeries::new(points, line_colour(index).stroke_width(2)))?;
        }
    }
    if noise.is_finite() {
        chart.draw_series(DashedLineSeries::new([(x[0], noise), (x[1], noise)], 6, 5, BLACK.stroke_width(1)))?;
    }
    Ok(())
}

fn phases(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    // In right angles, so that the axis is cut at them.
    let mut chart = ChartBuilder::on(area)
        .caption("Phase (faint where the amplitude is below twice the noise)", font(LABEL))
        .margin(10)
        .x_label_area_size(50)
        .y_label_area_size(72)
        .build_cartesian_2d(x[0]..x[1], -2.0..2.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(8)
        .y_labels(5)
        .x_desc(&name)
        .y_desc("Phase (degrees)")
        .axis_desc_style(font(LABEL))
        .label_style(font(TICK))
        .x_label_formatter(&ticks(x[0], x[1]))
        .y_label_formatter(&|value| format!("{:.0}", 90.0 * value))
        .draw()?;
    let cube = figure.coherence.cube;
    for (index, baseline) in shown.iter().enumerate() {
        let mut sums = vec![Complex::<f32>::default(); cube.channels()];
        for integration in 0..cube.integrations() {
            let values = figure.coherence.spectrum(integration, baseline.a, baseline.b);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.unwrap_or_default());
        }
        // Such a phase says nothing.
        let points = sums.iter().enumerate().filter(|(_, sum)| sum.norm() > 0.0).map(|(channel, sum)| {
            let amplitude = f64::from(sum.norm()) / cube.integrations() as f64;
            let strength = if amplitude > 2.0 * baseline.noise { 1.0 } else { 0.2 };
            let at = cube.frequencies().channel_hz(channel) / unit;
            Circle::new((at, f64::from(sum.arg().to_degrees()) / 90.0), 3, line_colour(index).mix(strength).filled())
        });
        chart.draw_series(points)?;
    }
    Ok(())
}
