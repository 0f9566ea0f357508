//! Power spectra of all inputs, one panel a polarisation.

use std::path::Path;

use super::Figure;
use super::plot::{Margins, Plot};
use super::style::{Result, legend, line_colour, line_dash, picture};

/// Most lines that a legend names.
const NAMED: usize = 12;

/// Draws the power of every input over frequency. Inputs without any data have no line, and the legend says so.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let inputs = figure.coherence.cube.inputs();
    let (name, x, unit) = figure.frequency_axis();
    let decibels: Vec<Vec<f64>> = (0..inputs.len())
        .map(|input| figure.coherence.autocorrelation(input).iter().map(|power| 10.0 * power.log10()).collect())
        .collect();
    let y = limits(decibels.iter().flatten().copied());
    let named = inputs.antennas() <= NAMED;
    let title = format!("Autocorrelations: {}", figure.label);
    picture(path, (1120, 60 + 420 * inputs.pols() as u32), &title, |body| {
        for (pol, panel) in body.split_evenly((inputs.pols(), 1)).iter().enumerate() {
            let title = if inputs.pols() == 2 { ["Polarisation x", "Polarisation y"][pol % 2] } else { "" };
            let (panel, key) = panel.split_horizontally(if named { 940 } else { 1100 });
            let plot = Plot::new(&panel, Margins(84, 14, 34, 56), x, y);
            plot.axes(title, [&name, "Power (dB of squared input units)"], true)?;
            let mut entries = Vec::new();
            let mut empty: Vec<String> = Vec::new();
            for antenna in 0..inputs.antennas() {
                let Some(input) = inputs.input(antenna, pol) else { continue };
                let name = figure.names.get(input).cloned().unwrap_or_default();
                let frequencies = figure.coherence.cube.frequencies();
                let points = decibels[input].iter().enumerate().filter(|(_, power)| power.is_finite());
                let points: Vec<(f64, f64)> =
                    points.map(|(channel, &power)| (frequencies.channel_hz(channel) / unit, power)).collect();
                if points.is_empty() {
                    empty.push(name);
                    continue;
                }
                plot.line(&points, line_colour(antenna), 2, line_dash(antenna))?;
                entries.push((name, line_colour(antenna), line_dash(antenna)));
            }
            if named {
                legend(&key, 50, &entries)?;
                super::note(&key, 50 + 20 * entries.len() as i32 + 14, "without data:", &empty)?;
            }
        }
        Ok(())
    })
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
