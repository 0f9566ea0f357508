//! The pictures, from a record.

use std::path::{Path, PathBuf};

use plotters::style::RGBColor;

use crate::style::{Dash, Result, line_colour, picture, register_fonts};
use crate::xengine::chart::{Chart, Curve};
use crate::xengine::record::{Measured, Row, variant};
use crate::xengine::sweep::INTEGRATED_FIGURE;

/// Name of the axis of stations.
const STATIONS: &str = "Stations of two polarisations, that is two inputs";

/// What a kernel takes, in words.
fn words(kernel: &str) -> String {
    match kernel {
        "correlate_i8" => "8-bit voltages",
        "correlate_i8_add" => "8-bit voltages, sums kept from chunk to chunk",
        "correlate_f32" => "f32 voltages, plain f32 arithmetic",
        "correlate_f32_tf32" | "correlate_f32_tf32_wgmma" => "f32 voltages, three products of TF32 on tensor cores",
        other => other,
    }
    .into()
}

/// Pixels of a panel.
const PANEL: (u32, u32) = (1180, 520);

/// Draws all pictures that there is something for, into a folder.
pub(crate) fn draw(measured: &Measured, folder: &Path) -> Result<Vec<PathBuf>> {
    register_fonts()?;
    let of = |figure: usize| {
        let gpu = &measured.gpu;
        match figure {
            4 => (
                "transfer.png",
                format!("Time of the kernel and of the transfer of its voltages: {gpu}, {}", measured.date),
            ),
            5 => ("stations.png", format!("Rate and number of stations (two inputs each): {gpu}, {}", measured.date)),
            INTEGRATED_FIGURE => {
                ("integrated.png", format!("The X-engine from the host's memory: {gpu}, {}", measured.date))
            }
            _ => ("integration.png", format!("Rate and length of integrations: {gpu}, {}", measured.date)),
        }
    };
    let mut pictures = Vec::new();
    for figure in [4, 5, 6, INTEGRATED_FIGURE] {
        let panel = |kernel: &&str| match figure {
            4 => transfer(measured, kernel),
            5 => stations(measured, kernel),
            INTEGRATED_FIGURE => integrated(measured, kernel),
            _ => integration(measured, kernel),
        };
        let kernels = measured.kernels();
        let charts: Vec<Chart> = kernels.iter().map(panel).filter(|chart| !chart.curves.is_empty()).collect();
        if charts.is_empty() {
            continue;
        }
        let (name, title) = of(figure);
        let path = folder.join(name);
        picture(&path, (PANEL.0, 46 + PANEL.1 * charts.len() as u32), &title, |body| {
            for (chart, area) in charts.iter().zip(body.split_evenly((charts.len(), 1))) {
                chart.draw(&area)?;
            }
            Ok(())
        })?;
        pictures.push(path);
    }
    Ok(pictures)
}

/// Different values of a size, in the order of the record.
fn distinct(rows: &[&Row], of: impl Fn(&Row) -> usize) -> Vec<usize> {
    let mut values = Vec::new();
    for row in rows {
        if !values.contains(&of(row)) {
            values.push(of(row));
        }
    }
    values
}

fn points<'a>(
    rows: impl Iterator<Item = &'a Row>,
    x: impl Fn(&Row) -> usize,
    y: impl Fn(&Row) -> f64,
) -> Vec<(f64, f64)> {
    let mut points: Vec<_> = rows.map(|row| (x(row) as f64, y(row))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Time of the kernel and of the transfer.
fn transfer(measured: &Measured, kernel: &str) -> Chart {
    let mut curves = Vec::new();
    let mut what = String::new();
    for (index, name) in [variant::KERNEL, variant::TRANSFER].into_iter().enumerate() {
        let rows = measured.rows(4, kernel, name);
        if let Some(row) = rows.first() {
            what = format!(": {} channels, {} times", row.size().channels, row.size().times);
            let points = points(rows.iter().copied(), |row| row.size().stations, |row| row.time_ms);
            curves.push(Curve { name: name.into(), colour: line_colour(index), dash: Dash::Solid, points });
        }
    }
    let y = "Time (ms)".into();
    Chart { title: format!("{}{what}", words(kernel)), x: STATIONS.into(), y, logarithmic: true, curves }
}

/// Rate of the whole X-engine, of its kernel alone, and what the copies from the host allow.
fn integrated(measured: &Measured, kernel: &str) -> Chart {
    let mut curves = Vec::new();
    let mut what = String::new();
    let whole = measured.rows(INTEGRATED_FIGURE, kernel, variant::INTEGRATED);
    let bounds: Vec<(f64, f64)> =
        whole.iter().filter_map(|row| Some((row.size().stations as f64, row.floor?))).collect();
    if !bounds.is_empty() {
        let name = "what the slowest part allows".into();
        curves.push(Curve { name, colour: EXTRA[0], dash: Dash::Dashed, points: bounds });
    }
    for (index, name) in [variant::INTEGRATED, variant::KERNEL, variant::TRANSFER].into_iter().enumerate() {
        let rows = measured.rows(INTEGRATED_FIGURE, kernel, name);
        if let Some(row) = rows.first() {
            what = format!(": {} channels, {} times a chunk", row.size().channels, row.size().times);
            let name = if name == variant::TRANSFER { "what the transfer allows" } else { name };
            let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted][index];
            let points = points(rows.iter().copied(), |row| row.size().stations, Row::useful);
            curves.push(Curve { name: name.into(), colour: line_colour(index), dash, points });
        }
    }
    let y = "Useful rate (10\u{b9}\u{b2} operations/s)".into();
    Chart { title: format!("{}{what}", words(kernel)), x: STATIONS.into(), y, logarithmic: true, curves }
}

/// Colours of the curves that are beside those of [`line_colour`] in a panel, and are none of them.
const EXTRA: [RGBColor; 4] =
    [RGBColor(20, 20, 20), RGBColor(130, 60, 20), RGBColor(140, 140, 140), RGBColor(110, 40, 150)];

/// Fewest and most stations.
fn ends(rows: &[&Row]) -> Option<[usize; 2]> {
    let stations = || rows.iter().map(|row| row.size().stations);
    Some([stations().min()?, stations().max()?])
}

/// Rate against stations, a curve for each number of channels; normalised and raw where there are most channels.
fn stations(measured: &Measured, kernel: &str) -> Chart {
    let rows = measured.rows(5, kernel, variant::KERNEL);
    let channels = distinct(&rows, |row| row.size().channels);
    let mut curves = Vec::new();
    for (index, &count) in channels.iter().enumerate() {
        let these = rows.iter().copied().filter(|row| row.size().channels == count);
        curves.push(Curve {
            name: format!("{count} channel{}", if count == 1 { "" } else { "s" }),
            colour: line_colour(index),
            dash: Dash::Solid,
            points: points(these, |row| row.size().stations, Row::useful),
        });
    }
    // At each number of stations the most channels that there are, as in the paper.
    let most = |row: &&Row| {
        let same = rows.iter().filter(|other| other.size().stations == row.size().stations);
        same.map(|other| other.size().channels).max() == Some(row.size().channels)
    };
    for (name, colour, dash, rate) in [
        ("normalised, most channels", EXTRA[0], Dash::Dashed, Row::normalised as fn(&Row) -> f64),
        ("computed, most channels", EXTRA[1], Dash::Dotted, Row::raw),
    ] {
        let points = points(rows.iter().copied().filter(most), |row| row.size().stations, rate);
        if !points.is_empty() {
            curves.push(Curve { name: name.into(), colour, dash, points });
        }
    }
    let without = measured.rows(5, kernel, variant::NO_OUTPUT);
    let most_without = |row: &&Row| {
        let same = without.iter().filter(|other| other.size().stations == row.size().stations);
        same.map(|other| other.size().channels).max() == Some(row.size().channels)
    };
    let points_without = points(without.iter().copied().filter(most_without), |row| row.size().stations, Row::useful);
    if !points_without.is_empty() {
        let name = "no output, most channels".into();
        curves.push(Curve { name, colour: EXTRA[2], dash: Dash::Dashed, points: points_without });
    }
    if let (Some((name, peak)), Some(ends)) = (measured.peak(kernel), ends(&rows)) {
        let points = ends.map(|stations| (stations as f64, peak)).to_vec();
        curves.push(Curve { name, colour: EXTRA[3], dash: Dash::Dotted, points });
    }
    let times = rows.first().map_or(String::new(), |row| format!(": {} times", row.size().times));
    let y = "Rate (10\u{b9}\u{b2} operations/s)".into();
    Chart { title: format!("{}{times}", words(kernel)), x: STATIONS.into(), y, logarithmic: false, curves }
}

/// Rate against channels at fixed channels times times, with and without output.
fn integration(measured: &Measured, kernel: &str) -> Chart {
    let with = measured.rows(6, kernel, variant::KERNEL);
    let without = measured.rows(6, kernel, variant::NO_OUTPUT);
    let mut curves = Vec::new();
    for (index, &count) in distinct(&with, |row| row.size().stations).iter().enumerate() {
        for (rows, dash, tail) in [(&with, Dash::Solid, ""), (&without, Dash::Dashed, ", no output")] {
            let these = rows.iter().copied().filter(|row| row.size().stations == count);
            let points = points(these, |row| row.size().channels, Row::useful);
            if !points.is_empty() {
                let name = format!("{count} stations{tail}");
                curves.push(Curve { name, colour: line_colour(index), dash, points });
            }
        }
    }
    let volume = with.first().map_or(0, |row| row.size().channels * row.size().times);
    let x = format!("Channels (times = {volume} / channels)");
    let y = "Useful rate (10\u{b9}\u{b2} operations/s)".into();
    Chart { title: words(kernel), x, y, logarithmic: false, curves }
}
