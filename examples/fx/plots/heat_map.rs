//! One panel: values `[row][column]` as colours on two axes, with a colour bar.

use ndarray::ArrayView2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::plot::{Margins, Plot};
use super::style::{Area, LABEL, MISSING, Result, TICK, font, ticks};

/// Pixels to the right of a panel that its colour bar takes with its numbers and name.
const BAR: i32 = 116;

/// What a panel shows.
pub(crate) struct HeatMap<'a> {
    /// Title above the panel.
    pub(crate) title: &'a str,
    /// Values `[row][column]`, the first row at the bottom, the first column at the left; NaN is drawn as missing.
    pub(crate) values: ArrayView2<'a, f32>,
    /// Ends of the horizontal axis, left and right.
    pub(crate) x: [f64; 2],
    /// Ends of the vertical axis, bottom and top.
    pub(crate) y: [f64; 2],
    /// Names of the axes with their units.
    pub(crate) names: [&'a str; 2],
    /// Values at the ends of the colour bar.
    pub(crate) range: [f64; 2],
    /// Name of the colour bar with its unit.
    pub(crate) bar: &'a str,
    /// Colour at a fraction of the range.
    pub(crate) colour: fn(f64) -> RGBColor,
}

impl HeatMap<'_> {
    /// Draws the panel and returns where its values lie, for what is drawn over it.
    pub(crate) fn draw<'a, 'b>(&self, area: &'a Area<'b>) -> Result<Plot<'a, 'b>> {
        let plot = Plot::new(area, Margins(84, BAR, 34, 56), self.x, self.y);
        let [_, right, top, bottom] = plot.frame;
        if let Some(image) = self.image(&plot) {
            area.draw(&image)?;
        }
        plot.axes(self.title, self.names, false)?;
        draw_bar(area, right + 14, [top, bottom], self.range, self.bar, self.colour)?;
        Ok(plot)
    }

    /// The values as an image of the frame's size.
    fn image(&self, plot: &Plot<'_, '_>) -> Option<BitMapElement<'static, (i32, i32)>> {
        let (rows, columns) = self.values.dim();
        if rows == 0 || columns == 0 {
            return None;
        }
        let (width, height) = plot.size();
        let mut pixels = Vec::with_capacity((width * height * 3) as usize);
        for y in 0..height {
            let row = rows - 1 - (y as usize * rows / height as usize).min(rows - 1);
            for x in 0..width {
                let column = (x as usize * columns / width as usize).min(columns - 1);
                let value = f64::from(self.values[(row, column)]);
                let colour = if value.is_nan() {
                    MISSING
                } else {
                    (self.colour)((value - self.range[0]) / (self.range[1] - self.range[0]))
                };
                pixels.extend([colour.0, colour.1, colour.2]);
            }
        }
        BitMapElement::with_owned_buffer((plot.frame[0], plot.frame[2]), (width, height), pixels)
    }
}

/// Draws a colour bar between two heights of an area, with its numbers and its name to its right.
pub(crate) fn draw_bar(
    area: &Area<'_>,
    left: i32,
    [top, bottom]: [i32; 2],
    range: [f64; 2],
    name: &str,
    colour: fn(f64) -> RGBColor,
) -> Result<()> {
    let height = (bottom - top).max(1);
    for y in 0..height {
        let fraction = 1.0 - f64::from(y) / f64::from(height);
        area.draw(&Rectangle::new([(left, top + y), (left + 18, top + y + 1)], colour(fraction).filled()))?;
    }
    area.draw(&Rectangle::new([(left, top), (left + 18, bottom)], BLACK.stroke_width(1)))?;
    let numbers = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (value, text) in ticks(range, 6) {
        let y = bottom - (f64::from(height) * (value - range[0]) / (range[1] - range[0])).round() as i32;
        let y = y.clamp(top, bottom);
        area.draw(&PathElement::new([(left + 18, y), (left + 22, y)], BLACK))?;
        area.draw(&Text::new(text, (left + 26, y), &numbers))?;
    }
    let turned = font(LABEL).transform(FontTransform::Rotate270);
    let style = turned.color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(name.to_string(), (left + 64, i32::midpoint(top, bottom)), &style))?;
    Ok(())
}
