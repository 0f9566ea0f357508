//! The field as the array sees it, with the source's track and the recovered directions.

use std::path::Path;

use ndarray::Array2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::heat_map::{HeatMap, Mark};
use super::style::{Result, TICK, amplitude_colour, font, page};

/// Colour of the true track.
const TRACK: RGBColor = WHITE;
/// Colour of recovered directions.
const RECOVERED: RGBColor = RGBColor(230, 85, 13);

/// A map of the field and what is known of the source in it. Directions are direction cosines `(l, m)` to the phase
/// centre.
pub(crate) struct Field {
    /// Mean coherence towards each direction `[m][l]`.
    pub(crate) image: Array2<f32>,
    /// Largest direction cosine either way.
    pub(crate) half_width: f64,
    /// What the map is of.
    pub(crate) title: String,
    /// Recovered direction of each integration.
    pub(crate) recovered: Vec<[f64; 2]>,
    /// True direction at the middle of each integration, where it is known.
    pub(crate) track: Vec<[f64; 2]>,
}

/// Draws the map.
pub(crate) fn draw(field: &Field, path: &Path) -> Result<()> {
    let (root, body) = page(path, (880, 860), &field.title)?;
    let (_, height) = body.dim_in_pixel();
    let (panel, key) = body.split_vertically(height - 40);
    let degrees = |[l, m]: [f64; 2]| (l.to_degrees(), m.to_degrees());
    let half = field.half_width.to_degrees();
    let low = f64::from(field.image.iter().copied().fold(f32::INFINITY, f32::min));
    let high = f64::from(field.image.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    let mut marks: Vec<Mark> =
        field.recovered.iter().map(|&direction| Mark::Circle(degrees(direction), RECOVERED)).collect();
    marks.push(Mark::Line(field.track.iter().copied().map(degrees).collect(), TRACK));
    let map = HeatMap {
        title: "",
        values: field.image.view(),
        x: [-half, half],
        y: [-half, half],
        names: ["Offset to the east of the phase centre (degrees)", "Offset to the north (degrees)"],
        range: [low, high],
        bar: "Mean coherence towards the direction",
        colour: amplitude_colour,
    };
    map.draw(&panel, &marks)?;
    let text = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    key.draw(&Circle::new((92, 16), 5, RECOVERED.stroke_width(2)))?;
    key.draw(&Text::new("recovered, one circle an integration", (106, 16), &text))?;
    if !field.track.is_empty() {
        key.draw(&Rectangle::new([(420, 9), (452, 23)], BLACK.mix(0.6).filled()))?;
        key.draw(&PathElement::new([(422, 16), (450, 16)], TRACK.stroke_width(2)))?;
        key.draw(&Text::new("true track of the source", (460, 16), &text))?;
    }
    root.present()?;
    Ok(())
}
