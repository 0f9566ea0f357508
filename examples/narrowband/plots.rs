//! The picture: the band, the line with its fit, the phase across it.

use std::path::Path;

use plotters::prelude::*;

use self::plot::{Margins, Plot};
use self::style::{Dash, Result, legend, line_colour, picture, register_fonts};
use crate::args::Setup;
use crate::fit::{Line, gaussian};
use crate::spectra::Spectra;

// What the plots of `fx` are made with.
#[path = "../fx/plots/indexed.rs"]
#[allow(dead_code)] // a part of it is used here
mod indexed;
#[path = "../fx/plots/plot.rs"]
#[allow(dead_code)] // a part of it is used here
mod plot;
#[path = "../fx/plots/style.rs"]
#[allow(dead_code)] // a part of it is used here
mod style;

/// Room around a panel.
const MARGINS: Margins = Margins(88, 24, 36, 56);
/// Widths of the line to either side that the zoom's panels show.
const SHOWN: f64 = 5.0;
/// Degrees to either side of the line's phase that are shown.
const DEGREES: f64 = 60.0;

/// Draws the picture.
pub(crate) fn draw(setup: &Setup, band: &Spectra, zoom: &Spectra, line: &Line, title: &str, path: &Path) -> Result<()> {
    register_fonts()?;
    picture(path, (1120, 1080), title, |body| {
        let (top, bottom) = body.split_vertically(300);
        let (middle, bottom) = bottom.split_vertically(380);
        of_band(setup, band, zoom, &top)?;
        of_line(setup, zoom, line, &middle)?;
        of_phase(setup, zoom, line, &bottom)
    })
}

/// Mean power of both antennas over the whole band, and where the zoom is.
fn of_band(setup: &Setup, band: &Spectra, zoom: &Spectra, area: &style::Area<'_>) -> Result<()> {
    let [first, second] = &band.powers;
    let mean: Vec<f64> = first.iter().zip(second).map(|(a, b)| 0.5 * (a + b)).collect();
    let mhz = |channel: usize| band.frequencies_hz[channel] / 1e6;
    let half_mhz = setup.sample_rate_hz / 4e6;
    let x = [setup.band_hz / 1e6 - half_mhz, setup.band_hz / 1e6 + half_mhz];
    let largest = mean.iter().copied().fold(1.0, f64::max);
    let least = mean.iter().copied().fold(1.0, f64::min);
    let room = 0.1 * (largest - least);
    let plot = Plot::new(area, MARGINS, x, [least - room, largest + room]);
    let kept_hz = 0.5 * zoom.channel_hz * zoom.frequencies_hz.len() as f64;
    let corner = |sign: f64, y: f64| plot.pixel(((setup.zoom_hz + sign * kept_hz) / 1e6, y));
    let zoomed = [corner(-1.0, largest + room), corner(1.0, least - room)];
    area.draw(&Rectangle::new(zoomed, line_colour(5).mix(0.3).filled()))?;
    let title = format!("Whole band, channels of {:.1} kHz (shaded: the zoom)", band.channel_hz / 1e3);
    plot.axes(&title, ["Sky frequency (MHz)", "Power (noise = 1)"], true)?;
    let points: Vec<(f64, f64)> = mean.iter().enumerate().map(|(channel, &power)| (mhz(channel), power)).collect();
    plot.line(&points, line_colour(0), 1, Dash::Solid)
}

/// The ends of the zoom's axes, in Hz from its middle.
fn shown(setup: &Setup, line: &Line) -> [f64; 2] {
    let centre = line.centre_hz - setup.zoom_hz;
    let half = SHOWN * line.width_hz.max(setup.width_hz);
    [centre - half, centre + half]
}

fn from_middle(setup: &Setup, zoom: &Spectra, range: [f64; 2]) -> Vec<(usize, f64)> {
    let at = |(channel, &frequency_hz): (usize, &f64)| (channel, frequency_hz - setup.zoom_hz);
    let within = |&(_, x): &(usize, f64)| (range[0]..=range[1]).contains(&x);
    zoom.frequencies_hz.iter().enumerate().map(at).filter(within).collect()
}

fn name_of_axis(setup: &Setup) -> String {
    format!("Frequency from {:.6} MHz (Hz)", setup.zoom_hz / 1e6)
}

/// The cross-power, turned to its phase, with the fit and the truth.
fn of_line(setup: &Setup, zoom: &Spectra, line: &Line, area: &style::Area<'_>) -> Result<()> {
    let x = shown(setup, line);
    let turn = fringes::Complex::cis(-line.phase_degrees.to_radians());
    let channels = from_middle(setup, zoom, x);
    let values: Vec<(f64, f64)> = channels.iter().map(|&(channel, x)| (x, (zoom.cross[channel] * turn).re)).collect();
    let top = values.iter().map(|value| value.1).fold(line.peak.max(setup.strength), f64::max) * 1.1;
    let plot = Plot::new(area, MARGINS, x, [-0.1 * top, top]);
    let title = format!("Zoom, channels of {:.0} Hz: cross-power of the two antennas", zoom.channel_hz);
    plot.axes(&title, [&name_of_axis(setup), "Cross-power (noise = 1)"], true)?;
    // Channels as steps.
    let half = zoom.channel_hz / 2.0;
    let steps: Vec<(f64, f64)> = values.iter().flat_map(|&(x, y)| [(x - half, y), (x + half, y)]).collect();
    let steps: Vec<(f64, f64)> = steps.into_iter().map(|(at, y)| (at.clamp(x[0], x[1]), y)).collect();
    plot.line(&steps, line_colour(0), 2, Dash::Solid)?;
    let curve = |of: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let at = |step: usize| x[0] + (x[1] - x[0]) * step as f64 / 400.0;
        (0..=400).map(|step| (at(step), of(setup.zoom_hz + at(step)))).collect()
    };
    let truth = |hz: f64| gaussian(setup.strength, setup.line_hz, setup.width_hz, hz);
    plot.line(&curve(&truth), line_colour(6), 2, Dash::Dotted)?;
    plot.line(&curve(&|hz| line.at(hz)), line_colour(1), 2, Dash::Solid)?;
    let centre = line.centre_hz - setup.zoom_hz;
    let fit = format!(
        "fit: {centre:.1} \u{b1} {:.1} Hz, width {:.0} \u{b1} {:.0} Hz",
        line.errors[1], line.width_hz, line.errors[2]
    );
    let true_line = format!("truth: {:.1} Hz, width {:.0} Hz", setup.line_hz - setup.zoom_hz, setup.width_hz);
    let entries = [
        ("measured".to_string(), line_colour(0), Dash::Solid),
        (fit, line_colour(1), Dash::Solid),
        (true_line, line_colour(6), Dash::Dotted),
    ];
    let (_, corner) = area.split_horizontally(MARGINS.0 as u32 + 12);
    legend(&corner, MARGINS.2 + 18, &entries)
}

/// The phase of channels in which the line is above the noise, with its standard error.
fn of_phase(setup: &Setup, zoom: &Spectra, line: &Line, area: &style::Area<'_>) -> Result<()> {
    let x = shown(setup, line);
    // Round numbers of degrees around the line's phase.
    let middle = (line.phase_degrees / 20.0).round() * 20.0;
    let y = [middle - DEGREES, middle + DEGREES];
    let plot = Plot::new(area, MARGINS, x, y);
    plot.axes(
        "Phase of the cross-power, where the line is above the noise",
        [&name_of_axis(setup), "Phase (degrees)"],
        true,
    )?;
    plot.line(&[(x[0], setup.phase_degrees), (x[1], setup.phase_degrees)], line_colour(6), 2, Dash::Dotted)?;
    let blue = line_colour(0);
    for (channel, x) in from_middle(setup, zoom, x) {
        let (value, power) = (zoom.cross[channel], (zoom.powers[0][channel] * zoom.powers[1][channel]).sqrt());
        // Of the part across the voltage's direction.
        let noise = (power * power - value.norm_sqr()).max(0.0).sqrt() / (2.0 * zoom.integrated.max(1) as f64).sqrt();
        let error = (noise / value.norm()).to_degrees();
        let phase = middle + (value * fringes::Complex::cis(-middle.to_radians())).arg().to_degrees();
        // Where the line is above the noise.
        if line.at(setup.zoom_hz + x) > 3.0 / (zoom.integrated.max(1) as f64).sqrt() {
            let phase = phase.clamp(y[0], y[1]);
            let bar = [(phase - error).max(y[0]), (phase + error).min(y[1])].map(|end| plot.pixel((x, end)));
            area.draw(&PathElement::new(bar, blue.stroke_width(2)))?;
            area.draw(&Circle::new(plot.pixel((x, phase)), 4, blue.filled()))?;
        }
    }
    let found = format!("measured: {:.1} \u{b1} {:.1} degrees", line.phase_degrees, line.phase_error_degrees);
    let truth = format!("truth: {:.1} degrees", setup.phase_degrees);
    let entries = [(found, blue, Dash::Solid), (truth, line_colour(6), Dash::Dotted)];
    let (_, corner) = area.split_horizontally(MARGINS.0 as u32 + 12);
    legend(&corner, MARGINS.2 + 18, &entries)
}
