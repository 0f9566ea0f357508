//! A run as PNG images.
//!
//! | file | shows |
//! |---|---|
//! | `instrument-waterfall.png` | power of input 0 over frequency and time |
//! | `instrument-spectra.png` | power of every input over frequency, mean of the run |
//! | `instrument-occupancy.png` | share of the spectra of every input that was there, over time |
//! | `instrument-masks.png` | share of input 0's spectra that was not masked, over frequency and time |
//! | `instrument-closure.png` | closure phase of antennas 0, 1 and 2 over time |

use std::path::{Path, PathBuf};

use ndarray::Array2;
use plotters::prelude::*;

use crate::heat_map::HeatMap;
use crate::plot::{Margins, Plot};
use crate::run::About;
use crate::style::{Dash, Result, amplitude_colour, frequency_unit, line_colour, line_dash, picture, register_fonts};
use crate::summary::{Summary, place};

const SIZE: (u32, u32) = (1000, 560);
const MARGINS: Margins = Margins(84, 30, 34, 56);

/// Draws what there is.
pub(crate) fn draw(summary: &Summary, about: &About, folder: &Path) -> Result<Vec<PathBuf>> {
    let Some((sum, counts)) = &summary.sum else { return Ok(Vec::new()) };
    register_fonts()?;
    let channels = sum.nrows();
    let half = about.frequencies.step_hz / 2.0;
    let ends = [about.frequencies.first_hz - half, about.frequencies.channel_hz(channels.saturating_sub(1)) + half];
    let unit = frequency_unit(ends[0].abs().max(ends[1].abs()));
    let x = ends.map(|hz| hz / unit.size);
    let frequency = format!("Frequency ({})", unit.name);
    let row_s = summary.dump_samples as f64 * summary.dumps_per_row as f64 / about.sample_rate_hz;
    let seconds = [0.0, summary.power.len() as f64 * row_s];
    let mut files = Vec::new();

    let path = folder.join("instrument-waterfall.png");
    let rows = summary.power.len();
    let decibel =
        Array2::from_shape_fn((rows, channels), |(row, channel)| (10.0 * summary.power[row][channel].log10()) as f32);
    let range = percentiles(decibel.iter().copied());
    picture(&path, SIZE, "Power of input 0", |area| {
        let map = HeatMap {
            title: "",
            values: decibel.view(),
            x,
            y: seconds,
            names: [&frequency, "Time (s)"],
            range,
            bar: "Power (dB)",
            colour: amplitude_colour,
        };
        map.draw(&area).map(drop)
    })?;
    files.push(path);

    let path = folder.join("instrument-spectra.png");
    let spectra: Vec<Vec<f64>> = (0..about.inputs)
        .map(|input| {
            let baseline = place(input, input);
            sum.column(baseline)
                .iter()
                .zip(counts.column(baseline))
                .map(|(sum, count)| 10.0 * (sum.re / count).log10())
                .collect()
        })
        .collect();
    let range = percentiles(spectra.iter().flatten().map(|&value| value as f32));
    let top = spectra.iter().flatten().copied().filter(|value| value.is_finite()).fold(range[1], f64::max);
    picture(&path, SIZE, "Mean power of all inputs", |area| {
        let plot = Plot::new(&area, MARGINS, x, [range[0] - 1.0, top + 1.0]);
        plot.axes("", [&frequency, "Power (dB)"], true)?;
        for (input, spectrum) in spectra.iter().enumerate() {
            let at = |channel: usize| about.frequencies.channel_hz(channel) / unit.size;
            let points: Vec<(f64, f64)> = spectrum
                .iter()
                .enumerate()
                .filter(|(_, value)| value.is_finite())
                .map(|(channel, &value)| (at(channel), value.max(range[0] - 1.0)))
                .collect();
            plot.line(&points, line_colour(input), 1, line_dash(input))?;
        }
        Ok(())
    })?;
    files.push(path);

    let path = folder.join("instrument-occupancy.png");
    let valid = Array2::from_shape_fn((rows, about.inputs), |(row, input)| (100.0 * summary.valid[row][input]) as f32);
    let least = valid.iter().copied().fold(100.0f32, f32::min);
    picture(&path, SIZE, "Spectra that were there", |area| {
        let map = HeatMap {
            title: "",
            values: valid.view(),
            x: [-0.5, about.inputs as f64 - 0.5],
            y: seconds,
            names: ["Input", "Time (s)"],
            range: [f64::from(least.min(99.0)).floor(), 100.0],
            bar: "Valid (%)",
            colour: amplitude_colour,
        };
        map.draw(&area).map(drop)
    })?;
    files.push(path);

    let path = folder.join("instrument-masks.png");
    let kept =
        Array2::from_shape_fn((rows, channels), |(row, channel)| (100.0 * summary.unmasked[row][channel]) as f32);
    picture(&path, SIZE, "Spectra of input 0 that were not masked", |area| {
        let map = HeatMap {
            title: "",
            values: kept.view(),
            x,
            y: seconds,
            names: [&frequency, "Time (s)"],
            range: [0.0, 100.0],
            bar: "Not masked (%)",
            colour: amplitude_colour,
        };
        map.draw(&area).map(drop)
    })?;
    files.push(path);

    if about.inputs >= 3 * about.pols {
        let path = folder.join("instrument-closure.png");
        let points: Vec<(f64, f64)> = summary
            .closure
            .iter()
            .enumerate()
            .filter(|(_, sum)| sum.norm() > 0.0)
            .map(|(row, sum)| ((row as f64 + 0.5) * row_s, sum.arg().to_degrees()))
            .collect();
        picture(&path, SIZE, "Closure phase of antennas 0, 1 and 2, polarisation 0", |area| {
            let plot = Plot::new(&area, MARGINS, seconds, [-180.0, 180.0]);
            plot.axes("", ["Time (s)", "Closure phase (degrees)"], true)?;
            plot.line(&points, line_colour(0), 1, Dash::Solid)?;
            for &point in &points {
                area.draw(&Circle::new(plot.pixel(point), 3, line_colour(0).filled()))?;
            }
            Ok(())
        })?;
        files.push(path);
    }
    Ok(files)
}

/// Ends of a colour bar that leave out the extreme hundredth on each side.
fn percentiles(values: impl Iterator<Item = f32>) -> [f64; 2] {
    let mut values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f32::total_cmp);
    let at =
        |share: f64| values.get(((values.len().max(1) - 1) as f64 * share) as usize).map_or(0.0, |&v| f64::from(v));
    let [low, high] = [at(0.01), at(0.99)];
    if high > low { [low, high] } else { [low - 1.0, low + 1.0] }
}
