//! The picture: maps without and with the null, the pulsar's map and profile, the pattern of its beam.

use std::path::Path;

use ndarray::{ArrayView2, Axis};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::heat_map::HeatMap;
use self::plot::{Margins, Plot};
use self::style::{Area, Dash, Result, TICK, amplitude_colour, font, legend, line_colour, picture, register_fonts};
use crate::fold::{BIN, BINS, is_on};
use crate::pattern::Pattern;
use crate::receiver::Seen;
use crate::sky::{SIDE, STEP_DEG, Sky};
use crate::theory::Theory;

// What the plots of `fx` are made with.
#[path = "../fx/plots/heat_map.rs"]
mod heat_map;
#[path = "../fx/plots/indexed.rs"]
#[allow(dead_code)] // a part of it is used here
mod indexed;
#[path = "../fx/plots/plot.rs"]
mod plot;
#[path = "../fx/plots/style.rs"]
#[allow(dead_code)] // a part of it is used here
mod style;

/// Room around a panel of lines.
const MARGINS: Margins = Margins(88, 30, 36, 56);
/// The lowest power that is drawn of a pattern, in decibels.
const LOWEST_DB: f64 = -60.0;

/// Draws the picture.
pub(crate) fn draw(sky: &Sky, pattern: &Pattern, seen: &Seen, theory: &Theory, path: &Path) -> Result<()> {
    register_fonts()?;
    let setup = &sky.setup;
    let title = format!(
        "{} antennas: a pulsar, a satellite and a transmitter on the horizon, {} x {SIDE} beams",
        setup.antennas, SIDE
    );
    picture(path, (1240, 1500), &title, |body| {
        let (top, rest) = body.split_vertically(530);
        let (middle, bottom) = rest.split_vertically(530);
        let ((first, second), (third, fourth)) = (top.split_horizontally(620), middle.split_horizontally(620));
        let decibels = |map: usize| seen.power[map].index_axis(Axis(0), 0).mapv(|power| 10.0 * power.log10());
        let (without, with) = (decibels(0), decibels(1));
        let highest = |map: &ndarray::Array2<f32>| map.iter().copied().fold(0.1f32, f32::max);
        let range = |map| [0.0, f64::from(highest(map))];
        let name = "Power over the noise (dB)";
        map(sky, "Mean power", without.view(), range(&without), name, &first, true)?;
        let title = "Mean power, with a null toward the transmitter";
        map(sky, title, with.view(), range(&with), name, &second, true)?;
        let pulsed = seen.pulsed.index_axis(Axis(0), 0);
        let range = [0.0, f64::from(pulsed.iter().copied().fold(0.01f32, f32::max))];
        let title = "Pulsed power, with the null";
        map(sky, title, pulsed, range, "Pulse over the noise", &third, false)?;
        profile(sky, seen, theory, &fourth)?;
        cut(pattern, &bottom)
    })
}

/// A map of the grid, with the satellite's path and the pulsar.
fn map(
    sky: &Sky,
    title: &str,
    values: ArrayView2<'_, f32>,
    range: [f64; 2],
    bar: &str,
    area: &Area<'_>,
    path: bool,
) -> Result<()> {
    let half = 0.5 * SIDE as f64 * STEP_DEG;
    let names = ["East of the zenith (degrees)", "North (degrees)"];
    let ends = [-half, half];
    let panel = HeatMap { title, values, x: ends, y: ends, names, range, bar, colour: amplitude_colour };
    let plot = panel.draw(area)?;
    let degrees = |toward: [f64; 3]| (toward[0].asin().to_degrees(), toward[1].asin().to_degrees());
    let duration = sky.setup.duration_s();
    if path {
        let ends = [0.0, duration].map(|seconds| degrees(sky.satellite_at(seconds)));
        let inside = |(x, y): (f64, f64)| (x.clamp(-half, half), y.clamp(-half, half));
        plot.line(&ends.map(inside), WHITE, 1, Dash::Dotted)?;
        label(area, "satellite", plot.pixel(degrees(sky.satellite_at(0.3 * duration))), (0, 34))?;
    }
    let pulsar = sky.pulsar_at(0.5 * duration).map_err(|_| "the pulsar's direction is not known")?;
    area.draw(&Circle::new(plot.pixel(degrees(pulsar)), 17, WHITE.stroke_width(2)))?;
    label(area, "pulsar", plot.pixel(degrees(pulsar)), (0, -30))
}

/// A white name beside a place.
fn label(area: &Area<'_>, name: &str, at: (i32, i32), beside: (i32, i32)) -> Result<()> {
    let style = font(TICK + 1).color(&WHITE).pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(name.to_string(), (at.0 + beside.0, at.1 + beside.1), &style))?;
    Ok(())
}

/// The folded profile of the pulsar's beam, without and with the null, and the pulse that is to be there.
fn profile(sky: &Sky, seen: &Seen, theory: &Theory, area: &Area<'_>) -> Result<()> {
    let spectrum_ms = 1e3 * sky.setup.clock.spectrum_seconds();
    let bin_ms = BIN as f64 * spectrum_ms;
    let (plain, nulled) = (seen.plain.profile(), seen.nulled.profile());
    let largest = plain.iter().chain(&nulled).copied().fold(theory.pulse, f64::max);
    let least = plain.iter().chain(&nulled).copied().fold(0.0, f64::min);
    let plot = Plot::new(area, MARGINS, [0.0, BINS as f64 * bin_ms], [least - 0.08 * largest, 1.45 * largest]);
    plot.axes("Folded profile of the beam on the pulsar", ["Time in the period (ms)", "Power over the noise"], true)?;
    let steps = |values: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        (0..BINS).flat_map(|bin| [0, 1].map(|end| ((bin + end) as f64 * bin_ms, values(bin)))).collect()
    };
    plot.line(&steps(&|bin| plain[bin]), line_colour(1), 2, Dash::Solid)?;
    plot.line(&steps(&|bin| nulled[bin]), line_colour(0), 3, Dash::Solid)?;
    let expected = |bin: usize| if is_on(bin * BIN) { theory.pulse } else { 0.0 };
    plot.line(&steps(&expected), line_colour(6), 2, Dash::Dotted)?;
    let entries = [
        (format!("with a null, signal to noise {:.0}", seen.nulled.ratio()), line_colour(0), Dash::Solid),
        (format!("theory, {:.0}", theory.ratio), line_colour(6), Dash::Dotted),
        (format!("without, {:.0}", seen.plain.ratio()), line_colour(1), Dash::Solid),
    ];
    let (_, corner) = area.split_horizontally(MARGINS.0 as u32 + 230);
    legend(&corner, MARGINS.2 + 20, &entries)
}

/// The pattern of the pulsar's beam toward the transmitter.
fn cut(pattern: &Pattern, area: &Area<'_>) -> Result<()> {
    let x = [pattern.degrees[0], pattern.degrees[pattern.degrees.len() - 1]];
    let plot = Plot::new(area, MARGINS, x, [LOWEST_DB, 18.0]);
    let name = "Degrees from the pulsar toward the transmitter";
    plot.axes("Pattern of the pulsar's beam", [name, "Power (dB of the peak)"], true)?;
    let curve = |powers: &[f64]| -> Vec<(f64, f64)> {
        let decibels = |power: &f64| (10.0 * power.max(1e-30).log10()).max(LOWEST_DB);
        pattern.degrees.iter().copied().zip(powers.iter().map(decibels)).collect()
    };
    let at = pattern.transmitter_deg;
    plot.line(&[(at, LOWEST_DB), (at, 18.0)], line_colour(7), 1, Dash::Dashed)?;
    plot.line(&curve(&pattern.power[0]), line_colour(1), 2, Dash::Solid)?;
    plot.line(&curve(&pattern.power[1]), line_colour(0), 2, Dash::Solid)?;
    plot.line(&curve(&pattern.analytic), line_colour(6), 1, Dash::Dotted)?;
    let entries = [
        ("without the null".to_string(), line_colour(1), Dash::Solid),
        (format!("array factor (largest difference {:.0e})", pattern.difference), line_colour(6), Dash::Dotted),
        (format!("with the null: {:.0} dB", 10.0 * pattern.toward[1].log10()), line_colour(0), Dash::Solid),
        ("transmitter".to_string(), line_colour(7), Dash::Dashed),
    ];
    let (_, corner) = area.split_horizontally(MARGINS.0 as u32 + 320);
    legend(&corner, MARGINS.2 + 18, &entries)
}
