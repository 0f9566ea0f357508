//! Curves over powers of two: both axes logarithmic, or rates on a linear one.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::style::{Area, Dash, LABEL, Result, TICK, TITLE, font, legend, polyline, ticks};

/// Pixels of the legend.
const LEGEND: u32 = 330;

/// A curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) colour: RGBColor,
    /// How the line is drawn; one without gaps has a dot at every point.
    pub(crate) dash: Dash,
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
            .caption("\u{a0}", font(TITLE))
            .margin(8)
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d(x[0]..x[1], y[0]..y[1])?;
        chart.configure_mesh().disable_mesh().disable_axes().draw()?;
        self.axes(chart.plotting_area(), &panel, [x, y])?;
        let origin = panel.get_pixel_range();
        for Curve { colour, dash, points, .. } in &self.curves {
            let at = |(x, y): &(f64, f64)| chart.plotting_area().map_coordinate(&(x.log2(), height(*y)));
            let places = points.iter().map(at).map(|(x, y)| (x - origin.0.start, y - origin.1.start));
            let places: Vec<(f64, f64)> = places.map(|(x, y)| (f64::from(x), f64::from(y))).collect();
            polyline(&panel, &places, *colour, 2, *dash)?;
            if *dash == Dash::Solid {
                for (x, y) in places {
                    panel.draw(&Circle::new((x as i32, y as i32), 3, colour.filled()))?;
                }
            }
        }
        let entries = self.curves.iter().map(|curve| (curve.name.clone(), curve.colour, curve.dash));
        legend(&key, 56, &entries.collect::<Vec<_>>())
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
            decades(y).into_iter().map(|(value, name)| (value.log2(), name)).collect()
        } else {
            ticks(y, 6)
        };
        for (value, name) in lines {
            let (_, at) = place((x[0], value));
            panel.draw(&PathElement::new([(low.0, at), (high.0, at)], light))?;
            panel.draw(&Text::new(name, (low.0 - 8, at), text(HPos::Right, VPos::Center)))?;
        }
        panel.draw(&Rectangle::new([(low.0, high.1), (high.0, low.1)], BLACK.stroke_width(1)))?;
        let title = font(TITLE).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        panel.draw(&Text::new(self.title.clone(), (i32::midpoint(low.0, high.0), high.1 - 8), &title))?;
        let name = font(LABEL).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        panel.draw(&Text::new(self.x.clone(), ((low.0 + high.0) / 2, low.1 + 46), &name))?;
        let turned =
            font(LABEL).transform(FontTransform::Rotate270).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        panel.draw(&Text::new(self.y.clone(), (10, (low.1 + high.1) / 2), &turned))?;
        Ok(())
    }
}

/// A power of two in few characters.
fn number(value: f64) -> String {
    format!("{value:.0}")
}

/// Numbers between two powers of two: powers of ten, and twice and five times them where there are few.
fn decades([low, high]: [f64; 2]) -> Vec<(f64, String)> {
    let (low, high) = (2f64.powf(low), 2f64.powf(high));
    let few = high / low < 300.0;
    let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let factors: &[i32] = if few { &[1, 2, 5] } else { &[1] };
    let all =
        powers.flat_map(|power| factors.iter().map(move |factor| (power, f64::from(*factor) * 10f64.powi(power))));
    let named = all.map(|(power, value)| (value, format!("{value:.*}", (-power).max(0) as usize)));
    named.filter(|(value, _)| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::decades;

    #[test]
    fn numbers_of_a_logarithmic_axis_are_round() {
        let names = |low: f64, high: f64| -> Vec<String> {
            decades([low.log2(), high.log2()]).into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(names(0.008, 25.0), ["0.01", "0.1", "1", "10"]);
        assert_eq!(names(6.9, 113.0), ["10", "20", "50", "100"]);
        assert_eq!(names(0.07, 3.0), ["0.1", "0.2", "0.5", "1", "2"]);
    }
}
