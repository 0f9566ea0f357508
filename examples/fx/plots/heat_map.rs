//! One panel: values `[row][column]` as colours on two axes, with a colour bar.

use ndarray::ArrayView2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{Area, LABEL, MISSING, Result, TICK, TITLE, font, round_numbers, ticks};

/// Pixels that the colour bar with its numbers and name takes.
const BAR_WIDTH: u32 = 104;

/// What a panel shows.
pub(crate) struct HeatMap<'a> {
    /// Title above the panel.
    pub(crate) title: &'a str,
    /// Values `[row][column]`, row 0 at the bottom; NaN is drawn as missing.
    pub(crate) values: ArrayView2<'a, f32>,
    /// Ends of the horizontal axis.
    pub(crate) x: [f64; 2],
    /// Ends of the vertical axis.
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

/// A mark on a panel, in the units of its axes.
pub(crate) enum Mark {
    /// A line through points.
    Line(Vec<(f64, f64)>, RGBColor),
    /// An open circle at a point.
    Circle((f64, f64), RGBColor),
}

impl HeatMap<'_> {
    /// Draws the panel and marks over it.
    pub(crate) fn draw(&self, area: &Area<'_>, marks: &[Mark]) -> Result<()> {
        let (width, _) = area.dim_in_pixel();
        let (panel, bar) = area.split_horizontally(width.saturating_sub(BAR_WIDTH));
        let mut chart = ChartBuilder::on(&panel)
            .caption(self.title, font(TITLE))
            .margin(8)
            .x_label_area_size(50)
            .y_label_area_size(72)
            .build_cartesian_2d(self.x[0]..self.x[1], self.y[0]..self.y[1])?;
        let (columns, rows) = chart.plotting_area().dim_in_pixel();
        if let Some(image) = self.image((columns, rows)) {
            chart.draw_series(std::iter::once(image))?;
        }
        for mark in marks {
            match mark {
                Mark::Line(points, colour) => {
                    chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
                }
                Mark::Circle(point, colour) => {
                    chart.draw_series(std::iter::once(Circle::new(*point, 5, colour.stroke_width(2))))?;
                }
            }
        }
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels((columns / 85).clamp(2, 8) as usize)
            .y_labels((rows / 45).clamp(2, 8) as usize)
            .x_desc(self.names[0])
            .y_desc(self.names[1])
            .axis_desc_style(font(LABEL))
            .label_style(font(TICK))
            .x_label_formatter(&ticks(self.x[0], self.x[1]))
            .y_label_formatter(&ticks(self.y[0], self.y[1]))
            .draw()?;
        let (_, pixels) = chart.plotting_area().get_pixel_range();
        let top = bar.get_pixel_range().1.start;
        draw_bar(&bar, [pixels.start - top, pixels.end - top], self.range, self.bar, self.colour)
    }

    /// The values as an image of the plotting area's size.
    fn image(&self, (width, height): (u32, u32)) -> Option<BitMapElement<'static, (f64, f64)>> {
        let (rows, columns) = self.values.dim();
        if rows == 0 || columns == 0 {
            return None;
        }
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
        BitMapElement::with_owned_buffer((self.x[0], self.y[1]), (width, height), pixels)
    }
}

/// Draws a colour bar between two heights of an area at least [`BAR_WIDTH`] wide.
pub(crate) fn draw_bar(
    area: &Area<'_>,
    [top, bottom]: [i32; 2],
    range: [f64; 2],
    name: &str,
    colour: fn(f64) -> RGBColor,
) -> Result<()> {
    let height = (bottom - top).max(1);
    for y in 0..height {
        let fraction = 1.0 - f64::from(y) / f64::from(height);
        area.draw(&Rectangle::new([(4, top + y), (22, top + y + 1)], colour(fraction).filled()))?;
    }
    area.draw(&Rectangle::new([(4, top), (22, bottom)], BLACK.stroke_width(1)))?;
    let format = ticks(range[0], range[1]);
    let numbers = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for value in round_numbers(range[0], range[1]) {
        let y = bottom - (f64::from(height) * (value - range[0]) / (range[1] - range[0])).round() as i32;
        area.draw(&PathElement::new([(22, y), (26, y)], BLACK))?;
        area.draw(&Text::new(format(&value), (30, y), &numbers))?;
    }
    let style = font(LABEL).transform(FontTransform::Rotate270).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw(&Text::new(name.to_string(), (96, i32::midpoint(top, bottom)), &style))?;
    Ok(())
}
