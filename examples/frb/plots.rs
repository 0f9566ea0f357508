//! The pictures: the grid of beams, and the found beam before and after dedispersion.

use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis};
use plotters::prelude::*;

use self::heat_map::HeatMap;
use self::plot::{Margins, Plot};
use self::style::{Area, Dash, Result, amplitude_colour, line_colour, picture, register_fonts};
use crate::search::{Found, SUM_S, Search};
use crate::sky::{NORTH_BEAMS, Sky};

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

/// Channels that a row of a waterfall is the mean of.
const ROW: usize = 8;

/// The highest peak of each beam.
pub(crate) fn grid(sky: &Sky, search: &Search, found: &Found, path: &Path) -> Result<()> {
    register_fonts()?;
    let peaks = search.peaks();
    let columns = peaks.len() / NORTH_BEAMS;
    let ratios = Array2::from_shape_fn((NORTH_BEAMS, columns), |(b, out)| peaks[out * NORTH_BEAMS + b].ratio as f32);
    let [first, last] = [0, peaks.len() - 1].map(|beam| sky.direction(beam));
    let edges = |axis: usize, count: usize| {
        let half = 0.5 * (last[axis] - first[axis]) / (count - 1) as f64;
        [first[axis] - half, last[axis] + half]
    };
    let title = format!("{} beams: the highest peak of each", peaks.len());
    picture(path, (720, 900), &title, |body| {
        let panel = HeatMap {
            title: "Peak of all times and DMs",
            values: ratios.view(),
            x: edges(0, columns),
            y: edges(1, NORTH_BEAMS),
            names: ["Sine of the angle toward east", "Sine of the angle toward north"],
            range: [ratios.iter().copied().fold(f32::MAX, f32::min).into(), found.ratio],
            bar: "Signal to noise",
            colour: amplitude_colour,
        };
        let plot = panel.draw(&body)?;
        let [east, north] = sky.source;
        let at = plot.pixel((east, north));
        body.draw(&Circle::new(at, 13, WHITE.stroke_width(2)))?;
        body.draw(&Circle::new(at, 15, BLACK.stroke_width(2)))?;
        Ok(())
    })
}

/// The found beam over time and frequency, as it is and dedispersed, and its channels added up.
pub(crate) fn waterfall(search: &Search, found: &Found, path: &Path) -> Result<()> {
    register_fonts()?;
    let moved = search.dedispersed(found.beam, found.dm);
    let title = format!(
        "Beam {}: a pulse of DM {:.0} pc/cm\u{b3} at {:.1} ms, signal to noise {:.0}",
        found.beam,
        found.dm,
        1e3 * found.time_s,
        found.ratio
    );
    picture(path, (1200, 1040), &title, |body| {
        let (top, bottom) = body.split_vertically(640);
        let (left, right) = top.split_horizontally(600);
        let plot = panel(search, "As it came", search.beam(found.beam), &left)?;
        // The pulse is to be between these lines.
        let shifts = search.shifts(found.dm);
        for side in [-4.0, 4.0] {
            let at = |(hz, shift): (&f64, &usize)| (1e3 * (found.time_s + (*shift as f64 + side) * SUM_S), hz / 1e6);
            let points: Vec<_> = search.channels_hz.iter().zip(&shifts).step_by(2 * ROW - 1).map(at).collect();
            plot.line(&points, WHITE, 1, Dash::Dashed)?;
        }
        panel(search, "Dedispersed", moved.view(), &right)?;
        series(search, found, &bottom)
    })
}

/// Values `[channel][time]`, some channels together.
fn panel<'a, 'b>(
    search: &Search,
    title: &str,
    values: ArrayView2<'_, f32>,
    area: &'a Area<'b>,
) -> Result<Plot<'a, 'b>> {
    let (channels, times) = values.dim();
    let mut rows = Array2::zeros((channels / ROW, times));
    for (mut row, channels) in rows.rows_mut().into_iter().zip(values.axis_chunks_iter(Axis(0), ROW)) {
        // In units of the scatter of such a mean.
        row.assign(&(channels.sum_axis(Axis(0)) / (ROW as f32).sqrt()));
    }
    let half = 0.5 * (search.channels_hz[1] - search.channels_hz[0]);
    let ends = [search.channels_hz[0] - half, search.channels_hz[channels - 1] + half].map(|hz| hz / 1e6);
    let names = ["Time (ms)", "Frequency (MHz)"];
    let (x, range) = ([0.0, 1e3 * times as f64 * SUM_S], [-2.0, 6.0]);
    let (values, bar, colour) = (rows.view(), "Power over its scatter", amplitude_colour as fn(f64) -> RGBColor);
    HeatMap { title, values, x, y: ends, names, range, bar, colour }.draw(area)
}

/// The sum of the dedispersed channels, and of the channels as they came.
fn series(search: &Search, found: &Found, area: &Area<'_>) -> Result<()> {
    let (moved, plain) = (search.series(found.beam, found.dm), search.series(found.beam, 0.0));
    let highest = moved.iter().copied().fold(1.0, f64::max);
    let end = 1e3 * plain.len() as f64 * SUM_S;
    let plot = Plot::new(area, Margins(84, 30, 36, 56), [0.0, end], [-5.0, 1.15 * highest]);
    plot.axes("All channels added up", ["Time (ms)", "Signal to noise"], true)?;
    let points = |series: &[f64]| -> Vec<(f64, f64)> {
        let time = |at: usize| 1e3 * (at as f64 + 0.5) * SUM_S;
        series.iter().enumerate().map(|(at, &value)| (time(at), value)).collect()
    };
    plot.line(&points(&plain), line_colour(7), 2, Dash::Solid)?;
    plot.line(&points(&moved), line_colour(0), 2, Dash::Solid)?;
    let entries = [
        (format!("dedispersed with DM {:.0}", found.dm), line_colour(0), Dash::Solid),
        ("as they came".to_string(), line_colour(7), Dash::Solid),
    ];
    let (_, corner) = area.split_horizontally(880);
    style::legend(&corner, 60, &entries)
}
