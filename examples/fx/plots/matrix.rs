//! Coherence of every pair of inputs: the mean over channels, and the highest of any channel.

use std::path::Path;

use ndarray::Array2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Figure;
use super::heat_map::draw_bar;
use super::style::{Area, LABEL, MISSING, Result, TICK, TITLE, amplitude_colour, font, picture};

/// Side of a matrix in pixels, about.
const SIDE: usize = 560;
/// Most inputs whose names fit beside their rows.
const NAMED: usize = 32;
/// Pixels above a matrix and to its right.
const ABOVE: i32 = 70;
const RIGHT: i32 = 150;

/// Draws both matrices, input 0 at the top left.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let inputs = figure.coherence.cube.inputs().len();
    let mean = figure.coherence.matrix(figure.ranked, |baseline| baseline.mean);
    let highest = figure.coherence.matrix(figure.ranked, |baseline| baseline.peak.0);
    let longest = figure.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(3) as i32;
    // Names take about 9 pixels a character, the name of the axis 40 beside them.
    let left = 9 * longest + 50;
    let side = (SIDE / inputs).max(1) as i32 * inputs as i32;
    let panel = [left + side + RIGHT, ABOVE + side + left];
    let title = format!("Coherence of every pair of inputs: {}", figure.label);
    picture(path, (2 * panel[0] as u32, panel[1] as u32 + 46 + 34), &title, |body| {
        let (body, below) = body.split_vertically(panel[1]);
        let grey = "an input with itself (its coherence is 1), and pairs without data";
        below.draw(&Rectangle::new([(left, 2), (left + 22, 20)], MISSING.filled()))?;
        let style = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        below.draw(&Text::new(grey, (left + 32, 11), &style))?;
        let (first, second) = body.split_horizontally(panel[0]);
        let noise = figure.ranked.first().map_or(f64::NAN, |baseline| baseline.noise);
        let note = format!("noise alone shows about {:.3}", noise * (std::f64::consts::PI / 4.0).sqrt());
        matrix(figure, &first, left, &mean, ["Mean over channels", &note, "Mean coherence amplitude"])?;
        // The largest of n amplitudes of noise is about sqrt(ln n) times their root mean square.
        let channels = figure.coherence.cube.channels().max(2) as f64;
        let note = match figure.coherence.cube.integrations() {
            1 => format!("noise alone shows about {:.3}", noise * channels.ln().sqrt()),
            _ => "mean over integrations".into(),
        };
        matrix(figure, &second, left, &highest, ["Highest of any channel", &note, "Highest coherence amplitude"])?;
        Ok(())
    })
}

fn matrix(
    figure: &Figure<'_>,
    area: &Area<'_>,
    left: i32,
    values: &Array2<f32>,
    [title, note, bar]: [&str; 3],
) -> Result<()> {
    let inputs = values.nrows();
    let largest = f64::from(values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f32::max));
    let top = (largest * 50.0).ceil().max(1.0) / 50.0;
    let cell = (SIDE / inputs).max(1) as i32;
    let side = cell * inputs as i32;
    let style = font(TITLE).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Top));
    area.draw(&Text::new(title.to_string(), (left, 12), &style))?;
    let style = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Top));
    area.draw(&Text::new(note.to_string(), (left, 42), &style))?;
    for ((row, column), &value) in values.indexed_iter() {
        let colour = if value.is_finite() { amplitude_colour(f64::from(value) / top) } else { MISSING };
        let (x, y) = (left + column as i32 * cell, ABOVE + row as i32 * cell);
        area.draw(&Rectangle::new([(x, y), (x + cell, y + cell)], colour.filled()))?;
    }
    area.draw(&Rectangle::new([(left, ABOVE), (left + side, ABOVE + side)], BLACK.stroke_width(1)))?;
    for input in (0..inputs).step_by(inputs.div_ceil(NAMED)) {
        let middle = input as i32 * cell + cell / 2;
        let name = figure.names.get(input).cloned().unwrap_or_else(|| input.to_string());
        let beside = font(TICK).color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(name.clone(), (left - 6, ABOVE + middle), &beside))?;
        let turned = font(TICK).transform(FontTransform::Rotate270);
        let under = turned.color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(name, (left + middle, ABOVE + side + 6), &under))?;
    }
    let axis = font(LABEL).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new("Input", (left + side / 2, ABOVE + side + left - 8), &axis))?;
    let turned = font(LABEL).transform(FontTransform::Rotate270);
    let axis = turned.color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("Input", (12, ABOVE + side / 2), &axis))?;
    draw_bar(area, left + side + 24, [ABOVE, ABOVE + side], [0.0, top], bar, amplitude_colour)
}
