//! A panel with two axes: where values lie on it, its frame, numbers, names and lines.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{Area, Dash, LABEL, Result, TICK, TITLE, font, polyline, ticks};

/// Pixels between the panel's edges and its frame: left, right, top, bottom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Margins(pub(crate) i32, pub(crate) i32, pub(crate) i32, pub(crate) i32);

/// A panel. An axis whose first end is the larger one runs backwards.
pub(crate) struct Plot<'a, 'b> {
    area: &'a Area<'b>,
    /// The frame in pixels: left, right, top, bottom.
    pub(crate) frame: [i32; 4],
    x: [f64; 2],
    y: [f64; 2],
}

impl<'a, 'b> Plot<'a, 'b> {
    /// A panel with these ends of its axes, left and bottom first.
    pub(crate) fn new(area: &'a Area<'b>, margins: Margins, x: [f64; 2], y: [f64; 2]) -> Self {
        let (width, height) = area.dim_in_pixel();
        let Margins(left, right, top, bottom) = margins;
        Self { area, frame: [left, width as i32 - right, top, height as i32 - bottom], x, y }
    }

    /// Pixels of the frame, across and down.
    pub(crate) fn size(&self) -> (u32, u32) {
        let [left, right, top, bottom] = self.frame;
        ((right - left).max(1) as u32, (bottom - top).max(1) as u32)
    }

    /// Where a value lies, in pixels.
    pub(crate) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [left, right, top, bottom] = self.frame.map(f64::from);
        let part = |value: f64, [low, high]: [f64; 2]| (value - low) / (high - low);
        (left + (right - left) * part(x, self.x), bottom + (top - bottom) * part(y, self.y))
    }

    /// Where a value lies, in whole pixels.
    pub(crate) fn pixel(&self, point: (f64, f64)) -> (i32, i32) {
        let (x, y) = self.at(point);
        (x.round() as i32, y.round() as i32)
    }

    /// A line through points.
    pub(crate) fn line(&self, points: &[(f64, f64)], colour: impl Color, width: u32, dash: Dash) -> Result<()> {
        let points: Vec<(f64, f64)> = points.iter().map(|&point| self.at(point)).collect();
        polyline(self.area, &points, colour, width, dash)
    }

    /// The frame with its numbers, names and title; lines at the numbers if there is a grid.
    pub(crate) fn axes(&self, title: &str, names: [&str; 2], grid: bool) -> Result<()> {
        let [left, right, top, bottom] = self.frame;
        let (width, height) = self.size();
        let light = BLACK.mix(0.12).stroke_width(1);
        let text = |horizontal, vertical| font(TICK).color(&BLACK).pos(Pos::new(horizontal, vertical));
        for (value, name) in ticks(self.x, (width / 85).clamp(2, 10) as usize) {
            let x = self.pixel((value, self.y[0])).0.clamp(left, right);
            if grid {
                self.area.draw(&PathElement::new([(x, top), (x, bottom)], light))?;
            }
            self.area.draw(&PathElement::new([(x, bottom), (x, bottom + 5)], BLACK))?;
            self.area.draw(&Text::new(name, (x, bottom + 8), text(HPos::Center, VPos::Top)))?;
        }
        for (value, name) in ticks(self.y, (height / 45).clamp(2, 8) as usize) {
            let y = self.pixel((self.x[0], value)).1.clamp(top, bottom);
            if grid {
                self.area.draw(&PathElement::new([(left, y), (right, y)], light))?;
            }
            self.area.draw(&PathElement::new([(left - 5, y), (left, y)], BLACK))?;
            self.area.draw(&Text::new(name, (left - 8, y), text(HPos::Right, VPos::Center)))?;
        }
        self.area.draw(&Rectangle::new([(left, top), (right, bottom)], BLACK.stroke_width(1)))?;
        let middle = (i32::midpoint(left, right), i32::midpoint(top, bottom));
        let style = font(LABEL).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        self.area.draw(&Text::new(names[0].to_string(), (middle.0, bottom + 28), &style))?;
        let turned = font(LABEL).transform(FontTransform::Rotate270);
        let style = turned.color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
        self.area.draw(&Text::new(names[1].to_string(), (left - 66, middle.1), &style))?;
        let style = font(TITLE - 2).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Bottom));
        self.area.draw(&Text::new(title.to_string(), (middle.0, top - 7), &style))?;
        Ok(())
    }
}
