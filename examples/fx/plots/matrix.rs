//! Mean coherence of every pair of inputs.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Figure;
use super::heat_map::draw_bar;
use super::style::{LABEL, MISSING, Result, TICK, TITLE, amplitude_colour, font};
use crate::coherence;

/// Side of the matrix in pixels, about.
const SIDE: usize = 640;
/// Most inputs whose names fit beside their rows.
const NAMED: usize = 40;

/// Draws the matrix, input 0 at the top left.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let inputs = figure.cube.inputs();
    let baselines: Vec<coherence::Baseline> = figure.ranked.iter().map(|&baseline| baseline.clone()).collect();
    let matrix = coherence::matrix(inputs, &baselines);
    let largest = f64::from(matrix.iter().copied().filter(|value| value.is_finite()).fold(0.0, f32::max));
    let top = (largest * 50.0).ceil().max(1.0) / 50.0;
    let cell = (SIDE / inputs.len()).max(1) as i32;
    let side = cell * inputs.len() as i32;
    let longest = figure.names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(3) as i32;
    // Names take about 9 pixels a character, the name of the axis 40 beside them.
    let (left, above) = (9 * longest + 50, 70);
    let below = left;
    let size = ((left + side + 150).max(560) as u32, (above + side + below) as u32);
    let root = BitMapBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = font(TITLE).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Top));
    root.draw(&Text::new("Mean coherence of every pair of inputs", (left, 14), &title))?;
    let note = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Top));
    let noise = figure.ranked.first().map_or(f64::NAN, |baseline| baseline.noise);
    let noise =
        format!("{} (noise alone shows about {:.3})", figure.label, noise * (std::f64::consts::PI / 4.0).sqrt());
    root.draw(&Text::new(noise, (left, 42), &note))?;
    for ((row, column), &value) in matrix.indexed_iter() {
        let colour = if value.is_finite() { amplitude_colour(f64::from(value) / top) } else { MISSING };
        let (x, y) = (left + column as i32 * cell, above + row as i32 * cell);
        root.draw(&Rectangle::new([(x, y), (x + cell, y + cell)], colour.filled()))?;
    }
    root.draw(&Rectangle::new([(left, above), (left + side, above + side)], BLACK.stroke_width(1)))?;
    let every = inputs.len().div_ceil(NAMED);
    for input in (0..inputs.len()).step_by(every) {
        let middle = input as i32 * cell + cell / 2;
        let name = figure.names.get(input).cloned().unwrap_or_else(|| input.to_string());
        let beside = font(TICK).color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(name.clone(), (left - 6, above + middle), &beside))?;
        let under =
            font(TICK).transform(FontTransform::Rotate270).color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(name, (left + middle, above + side + 6), &under))?;
    }
    let axis = font(LABEL).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
    root.draw(&Text::new("Input", (left + side / 2, above + side + below - 8), &axis))?;
    let axis = font(LABEL).transform(FontTransform::Rotate270).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    root.draw(&Text::new("Input", (12, above + side / 2), &axis))?;
    let bar = root.clone().shrink((left + side + 24, 0), (120, above + side + 20));
    draw_bar(&bar, [above, above + side], [0.0, top], "Mean coherence amplitude", amplitude_colour)?;
    root.present()?;
    Ok(())
}
