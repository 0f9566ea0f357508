//! The field as the array sees it, with the source's track, the recovered directions and the beam. East is to the
//! left, as on a map of the sky.

use std::path::Path;

use ndarray::{Array2, ArrayView2, s};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::heat_map::HeatMap;
use super::plot::Plot;
use super::style::{Area, Dash, Result, TICK, amplitude_colour, font, picture, polyline};

/// Colour of what is drawn over the map.
const OVER: RGBColor = WHITE;
/// Colour of recovered directions.
const RECOVERED: RGBColor = RGBColor(255, 120, 40);

/// A map of the field and what is known of the source in it. Directions are direction cosines `(l, m)` to the phase
/// centre.
pub(crate) struct Field {
    /// Mean coherence towards each direction `[m][l]`, southmost row and westmost column first.
    pub(crate) image: Array2<f32>,
    /// The beam: the same for a source at the phase centre without noise.
    pub(crate) beam: Array2<f32>,
    /// Largest direction cosine either way.
    pub(crate) half_width: f64,
    /// What the map is of.
    pub(crate) title: String,
    /// Recovered direction of each integration.
    pub(crate) recovered: Vec<[f64; 2]>,
    /// Which of them the map is of.
    pub(crate) shown: usize,
    /// True direction at the middle of each integration, where it is known.
    pub(crate) track: Vec<[f64; 2]>,
}

/// Draws the map and its legend.
pub(crate) fn draw(field: &Field, path: &Path) -> Result<()> {
    picture(path, (900, 890), &field.title, |body| {
        panel(field, &body, "")?;
        Ok(())
    })
}

/// Draws the map and its legend into an area.
pub(crate) fn panel(field: &Field, area: &Area<'_>, title: &str) -> Result<()> {
    let (_, height) = area.dim_in_pixel();
    let (map_area, key) = area.split_vertically(height.saturating_sub(54));
    let degrees = |[l, m]: [f64; 2]| (l.to_degrees(), m.to_degrees());
    let half = field.half_width.to_degrees();
    let low = f64::from(field.image.iter().copied().fold(f32::INFINITY, f32::min));
    let high = f64::from(field.image.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    // The westmost column is the last one.
    let westward: ArrayView2<'_, f32> = field.image.slice(s![.., ..;-1]);
    let map = HeatMap {
        title,
        values: westward,
        x: [half, -half],
        y: [-half, half],
        names: ["Offset to the east of the phase centre (degrees)", "Offset to the north (degrees)"],
        range: [low, high],
        bar: "Mean coherence towards the direction",
        colour: amplitude_colour,
    };
    let plot = map.draw(&map_area)?;
    let track: Vec<(f64, f64)> = field.track.iter().copied().map(degrees).collect();
    for (index, &direction) in field.recovered.iter().enumerate() {
        let (x, y) = plot.pixel(degrees(direction));
        if index != field.shown {
            map_area.draw(&Circle::new((x, y), 3, RECOVERED.filled()))?;
        }
    }
    plot.line(&track, OVER, 1, Dash::Solid)?;
    if let Some(&shown) = field.recovered.get(field.shown) {
        cross(&map_area, plot.pixel(degrees(shown)))?;
    }
    let has_beam = beam(&map_area, &plot, field)?;
    legend(&key, [!track.is_empty(), field.shown < field.recovered.len(), has_beam])
}

/// Four strokes around a place, which stays free.
fn cross(area: &Area<'_>, (x, y): (i32, i32)) -> Result<()> {
    for (dx, dy) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
        let ends = [(x + 12 * dx, y + 12 * dy), (x + 26 * dx, y + 26 * dy)];
        area.draw(&PathElement::new(ends, RECOVERED.stroke_width(3)))?;
    }
    Ok(())
}

/// The upper half of the beam in the lower left corner; whether there is one that fits.
fn beam(area: &Area<'_>, plot: &Plot<'_, '_>, field: &Field) -> Result<bool> {
    let (rows, columns) = field.beam.dim();
    // A beam as wide as the field, of two antennas say, would cover it.
    let fits = |extent: &(usize, usize)| 4 * extent.0 <= columns && 4 * extent.1 <= rows;
    let Some((wide, high)) = extent(&field.beam).filter(fits) else { return Ok(false) };
    let [left, right, top, bottom] = plot.frame;
    let cell = [f64::from(right - left) / columns as f64, f64::from(bottom - top) / rows as f64];
    let pixels = |cells: usize, axis: usize| (cells as f64 * cell[axis]).ceil() as i32;
    let (box_wide, box_high) = ((pixels(wide, 0) + 16).max(64), (pixels(high, 1) + 30).max(58));
    let corner = (left + 8, bottom - 8 - box_high);
    let frame = [corner, (corner.0 + box_wide, corner.1 + box_high)];
    area.draw(&Rectangle::new(frame, BLACK.mix(0.6).filled()))?;
    area.draw(&Rectangle::new(frame, OVER.stroke_width(1)))?;
    let middle = (corner.0 + box_wide / 2, corner.1 + 22 + (box_high - 22) / 2);
    let text = font(TICK).color(&OVER).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("beam", (middle.0, corner.1 + 4), &text))?;
    for ((m, l), _) in field.beam.indexed_iter().filter(|(_, value)| **value >= 0.5) {
        // Columns go to the west, rows to the north; both from the middle of the map.
        let east = l as f64 - (columns / 2) as f64;
        let north = m as f64 - (rows / 2) as f64;
        if east.abs() as usize > wide || north.abs() as usize > high {
            continue;
        }
        let (x, y) = (f64::from(middle.0) - (east + 0.5) * cell[0], f64::from(middle.1) - (north + 0.5) * cell[1]);
        let place = |x: f64, y: f64| (x.round() as i32, y.round() as i32);
        area.draw(&Rectangle::new([place(x, y), place(x + cell[0], y + cell[1])], OVER.filled()))?;
    }
    Ok(true)
}

/// Columns and rows of the beam's main lobe above half its top.
fn extent(beam: &Array2<f32>) -> Option<(usize, usize)> {
    let (rows, columns) = beam.dim();
    let run = |values: Vec<f32>, middle: usize| {
        let after = values.get(middle..)?.iter().take_while(|value| **value >= 0.5).count();
        (after > 0).then_some(2 * after - 1)
    };
    let wide = run(beam.row(rows / 2).to_vec(), columns / 2)?;
    let high = run(beam.column(columns / 2).to_vec(), rows / 2)?;
    Some((wide, high))
}

fn legend(area: &Area<'_>, [track, shown, beam]: [bool; 3]) -> Result<()> {
    let text = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let ground = |x: i32| Rectangle::new([(x, 0), (x + 36, 20)], BLACK.mix(0.75).filled());
    area.draw(&ground(84))?;
    area.draw(&Circle::new((102, 10), 3, RECOVERED.filled()))?;
    area.draw(&Text::new("recovered, a dot an integration", (128, 10), &text))?;
    if shown {
        area.draw(&PathElement::new([(84, 34), (97, 34)], RECOVERED.stroke_width(3)))?;
        area.draw(&PathElement::new([(107, 34), (120, 34)], RECOVERED.stroke_width(3)))?;
        area.draw(&Text::new("around the one of this map's time", (128, 34), &text))?;
    }
    if track {
        area.draw(&ground(420))?;
        polyline(area, &[(422.0, 10.0), (454.0, 10.0)], OVER, 1, Dash::Solid)?;
        area.draw(&Text::new("true track of the source", (464, 10), &text))?;
    }
    if beam {
        area.draw(&Text::new("beam: the upper half of a point source", (if shown { 420 } else { 84 }, 34), &text))?;
    }
    Ok(())
}
