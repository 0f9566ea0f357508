//! Curves over powers of two: both axes logarithmic, or rates on a linear one.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::style::{Area, LABEL, Result, TICK, TITLE, font};

/// Pixels of the legend.
const LEGEND: u32 = 300;

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// A line with a dot at every point.
    Solid,
    /// Dashes.
    Dashed,
}

/// A curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) colour: RGBColor,
    pub(crate) stroke: Stroke,
    /// Points, in order.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A panel of curves.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Name of the horizontal axis, of powers of two.
    pub(crate) x: String,
    /// Name of the vertical axis.
    pub(crate) y: String,
    /// Whether the vertical axis is logarithmic.
    pub(crate) logarithmic: bool,
    pub(crate) curves: Vec<Curve>,
}

impl Chart {
    /// Ends of an axis, in powers of two.
    fn powers(values: impl Iterator<Item = f64>) -> [f64; 2] {
        let (low, high) =
            values.filter(|value| *value > 0.0).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value.log2()), high.max(value.log2()))
            });
        if low > high { [0.0, 1.0] } else { [low - 0.15, high + 0.15] }
    }

    /// Draws the panel.
    pub(crate) fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (width, _) = area.dim_in_pixel();
        let (panel, key) = area.split_horizontally(width.saturating_sub(LEGEND));
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let x = Self::powers(points().map(|(x, _)| *x));
        let height = |y: f64| if self.logarithmic { y.log2() } else { y };
        let y = if self.logarithmic {
            Self::powers(points().map(|(_, y)| *y))
        } else {
            [0.0, 1.06 * points().map(|(_, y)| *y).fold(1e-3, f64::max)]
        };
        let mut chart = ChartBuilder::on(&panel)
            .caption(&self.title, font(TITLE))
            .margin(8)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d(x[0]..x[1], y[0]..y[1])?;
        chart.configure_mesh().disable_mesh().disable_axes().draw()?;
        self.axes(chart.plotting_area(), &panel, [x, y])?;
        for Curve { colour, stroke, points, .. } in &self.curves {
            let places: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.log2(), height(*y))).collect();
            match stroke {
                Stroke::Solid => {
                    chart.draw_series(LineSeries::new(places.iter().copied(), colour.stroke_width(2)))?;
                    chart.draw_series(places.iter().map(|place| Circle::new(*place, 3, colour.filled())))?;
                }
                Stroke::Dashed => {
                    chart.draw_series(DashedLineSeries::new(places.iter().copied(), 6, 5, colour.stroke_width(2)))?;
                }
            }
        }
        self.legend(&key)
    }

    /// Lines and numbers at powers of two, or at round numbers.
    fn axes<C>(&self, plot: &DrawingArea<BitMapBackend<'_>, C>, panel: &Area<'_>, [x, y]: [[f64; 2]; 2]) -> Result<()>
    where
        C: plotters::coord::CoordTranslate<From = (f64, f64)>,
    {
        let origin = panel.get_pixel_range();
        let (left, top) = (origin.0.start, origin.1.start);
        let place = |at: (f64, f64)| {
            let (x, y) = plot.map_coordinate(&at);
            (x - left, y - top)
        };
        let powers = |[low, high]: [f64; 2]| (low.ceil() as i32)..=(high.floor() as i32);
        let (low, high) = (place((x[0], y[0])), place((x[1], y[1])));
        let light = BLACK.mix(0.12).stroke_width(1);
        let text = |horizontal, vertical| font(TICK).color(&BLACK).pos(Pos::new(horizontal, vertical));
        for power in powers(x) {
            let (at, _) = place((f64::from(power), y[0]));
            panel.draw(&PathElement::new([(at, low.1), (at, high.1)], light))?;
            panel.draw(&Text::new(number(2f64.powi(power)), (at, low.1 + 6), text(HPos::Center, VPos::Top)))?;
        }
        let lines: Vec<(f64, String)> = if self.logarithmic {
            let all = powers(y);
            let step = ((all.end() - all.start()) / 10 + 1) as usize;
            all.step_by(step).map(|power| (f64::from(power), number(2f64.powi(power)))).collect()
        } else {
            crate::style::round_numbers(y[0], y[1]).into_iter().map(|value| (value, number(value))).collect()
        };
        for (value, name) in lines {
            let (_, at) = place((x[0], value));
            panel.draw(&PathElement::new([(low.0, at), (high.0, at)], light))?;
            panel.draw(&Text::new(name, (low.0 - 8, at), text(HPos::Right, VPos::Center)))?;
        }
        panel.draw(&Rectangle::new([(low.0, high.1), (high.0, low.1)], BLACK.stroke_width(1)))?;
        let name = font(LABEL).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        panel.draw(&Text::new(self.x.clone(), ((low.0 + high.0) / 2, low.1 + 46), &name))?;
        let turned =
            font(LABEL).transform(FontTransform::Rotate270).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        panel.draw(&Text::new(self.y.clone(), (10, (low.1 + high.1) / 2), &turned))?;
        Ok(())
    }

    fn legend(&self, area: &Area<'_>) -> Result<()> {
        let style = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        for (row, Curve { name, colour, stroke, .. }) in self.curves.iter().enumerate() {
            let y = 56 + 21 * row as i32;
            let ends: &[[i32; 2]] = match stroke {
                Stroke::Solid => &[[4, 32]],
                Stroke::Dashed => &[[4, 10], [15, 21], [26, 32]],
            };
            for [start, end] in ends {
                area.draw(&PathElement::new([(*start, y), (*end, y)], colour.stroke_width(3)))?;
            }
            area.draw(&Text::new(name.clone(), (40, y), &style))?;
        }
        Ok(())
    }
}

/// A number in few characters: `0.25`, `16`, `16384`.
fn number(value: f64) -> String {
    match value {
        value if value == 0.0 || value >= 10.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}").trim_end_matches(".0").to_string(),
        value if value >= 0.01 => format!("{value:.4}").trim_end_matches('0').to_string(),
        value => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.0009765625, 0.0625, 0.25, 1.0, 2.5, 16.0, 16384.0].map(number);
        assert_eq!(numbers, ["0", "9.8e-4", "0.0625", "0.25", "1", "2.5", "16", "16384"]);
    }
}
