//! Power spectra of all inputs, one panel a polarisation.

use std::path::Path;

use plotters::prelude::*;

use super::Figure;
use super::style::{LABEL, Result, TICK, font, legend, line_colour, page, ticks};

/// Most lines that a legend names.
const NAMED: usize = 12;

/// Draws the power of every input over frequency.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let inputs = figure.coherence.cube.inputs();
    let (name, x, unit) = figure.frequency_axis();
    let decibels: Vec<Vec<f64>> = (0..inputs.len())
        .map(|input| figure.coherence.autocorrelation(input).iter().map(|power| 10.0 * power.log10()).collect())
        .collect();
    let y = limits(decibels.iter().flatten().copied());
    let named = inputs.antennas() <= NAMED;
    let title = format!("Autocorrelations: {}", figure.label);
    let (root, body) = page(path, (1100, 60 + 420 * inputs.pols() as u32), &title)?;
    for (pol, panel) in body.split_evenly((inputs.pols(), 1)).iter().enumerate() {
        let title = format!("polarisation {}", ["x", "y"][pol % 2]);
        let (panel, key) = panel.split_horizontally(if named { 990 } else { 1080 });
        let mut chart = ChartBuilder::on(&panel);
        if inputs.pols() == 2 {
            chart.caption(title, font(LABEL));
        }
        let mut chart =
            chart.margin(10).x_label_area_size(50).y_label_area_size(72).build_cartesian_2d(x[0]..x[1], y[0]..y[1])?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_labels(9)
            .y_labels(7)
            .x_desc(&name)
            .y_desc("Power (dB of squared input units)")
            .axis_desc_style(font(LABEL))
            .label_style(font(TICK))
            .x_label_formatter(&ticks(x[0], x[1]))
            .y_label_formatter(&ticks(y[0], y[1]))
            .draw()?;
        let mut entries = Vec::new();
        for antenna in 0..inputs.antennas() {
            let Some(input) = inputs.input(antenna, pol) else { continue };
            let colour = line_colour(antenna);
            let frequencies = figure.coherence.cube.frequencies();
            let points = decibels[input].iter().enumerate().filter(|(_, power)| power.is_finite());
            let points = points.map(|(channel, &power)| (frequencies.channel_hz(channel) / unit, power));
            chart.draw_series(LineSeries::new(points, colour.stroke_width(1)))?;
            entries.push((figure.names.get(input).cloned().unwrap_or_default(), colour));
        }
        if named {
            legend(&key, 60, &entries)?;
        }
    }
    root.present()?;
    Ok(())
}

/// Ends of an axis that holds all finite values, with room above and below.
pub(crate) fn limits(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return [0.0, 1.0];
    }
    let room = (0.08 * (high - low)).max(0.5);
    [low - room, high + room]
}
