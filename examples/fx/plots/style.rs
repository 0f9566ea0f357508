//! What all plots share: the font, colours that colour-blind readers can tell apart, units and number formats.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::indexed;

/// Name under which the font is registered.
pub(crate) const FONT: &str = "DejaVu Sans";
/// Size of titles, in pixels.
pub(crate) const TITLE: u32 = 20;
/// Size of axis names, in pixels.
pub(crate) const LABEL: u32 = 16;
/// Size of numbers on axes, in pixels.
pub(crate) const TICK: u32 = 14;

/// Errors of drawing.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A drawing area on a bitmap.
pub(crate) type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

/// Makes the embedded font known to plotters: no font of the system is needed.
pub(crate) fn register_fonts() -> Result<()> {
    for (style, bytes) in [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())] {
        register_font(FONT, style, bytes).map_err(|_| "the embedded font cannot be read")?;
    }
    Ok(())
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Dash {
    /// Without gaps.
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dashes.
    Dotted,
}

impl Dash {
    /// Pixels that are drawn and left out in turn; none for a line without gaps.
    fn pattern(self) -> Option<[f64; 2]> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some([9.0, 5.0]),
            Self::Dotted => Some([2.0, 4.0]),
        }
    }

    /// The pieces of a line through points that are drawn.
    pub(crate) fn pieces(self, points: &[(f64, f64)]) -> Vec<Vec<(i32, i32)>> {
        let pixel = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
        let Some(pattern) = self.pattern() else { return vec![points.iter().copied().map(pixel).collect()] };
        let mut pieces = Vec::new();
        let (mut drawn, mut left, mut piece) = (true, pattern[0], Vec::new());
        for ends in points.windows(2) {
            let (mut from, to) = (ends[0], ends[1]);
            loop {
                if drawn && piece.is_empty() {
                    piece.push(pixel(from));
                }
                let length = (to.0 - from.0).hypot(to.1 - from.1);
                if length < left {
                    left -= length;
                    break;
                }
                let part = if length > 0.0 { left / length } else { 1.0 };
                from = (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
                if drawn {
                    piece.push(pixel(from));
                    pieces.push(std::mem::take(&mut piece));
                }
                drawn = !drawn;
                left = pattern[usize::from(!drawn)];
            }
            if drawn {
                piece.push(pixel(to));
            }
        }
        if piece.len() > 1 {
            pieces.push(piece);
        }
        pieces
    }
}

/// Draws a line through points of an area, in pixels.
pub(crate) fn polyline(
    area: &Area<'_>,
    points: &[(f64, f64)],
    colour: impl Color,
    width: u32,
    dash: Dash,
) -> Result<()> {
    for piece in dash.pieces(points) {
        area.draw(&PathElement::new(piece, colour.stroke_width(width)))?;
    }
    Ok(())
}

/// The stroke of the line of an index: no two of 24 have both colour and dashes in common.
pub(crate) fn line_dash(index: usize) -> Dash {
    [Dash::Solid, Dash::Dashed, Dash::Dotted][(index / 4) % 3]
}

/// Eight line colours (after Okabe and Ito), then again from the start.
pub(crate) fn line_colour(index: usize) -> RGBColor {
    const COLOURS: [RGBColor; 8] = [
        RGBColor(0, 114, 178),
        RGBColor(213, 94, 0),
        RGBColor(0, 158, 115),
        RGBColor(204, 121, 167),
        RGBColor(230, 159, 0),
        RGBColor(86, 180, 233),
        RGBColor(20, 20, 20),
        RGBColor(140, 140, 140),
    ];
    COLOURS[index % COLOURS.len()]
}

/// Colour of missing data.
pub(crate) const MISSING: RGBColor = RGBColor(200, 200, 200);

/// Colours from dark to light for amplitudes, `fraction` 0 to 1: lightness rises evenly, hue goes from blue to yellow.
pub(crate) fn amplitude_colour(fraction: f64) -> RGBColor {
    const STOPS: [[f64; 3]; 9] = [
        [68.0, 1.0, 84.0],
        [71.0, 44.0, 122.0],
        [59.0, 81.0, 139.0],
        [44.0, 113.0, 142.0],
        [33.0, 144.0, 141.0],
        [39.0, 173.0, 129.0],
        [92.0, 200.0, 99.0],
        [170.0, 220.0, 50.0],
        [253.0, 231.0, 37.0],
    ];
    between(&STOPS, fraction)
}

/// Colours for phases, `fraction` 0 to 1 of a turn: both ends alike, light through blue, dark and orange to light.
pub(crate) fn phase_colour(fraction: f64) -> RGBColor {
    const STOPS: [[f64; 3]; 9] = [
        [226.0, 217.0, 226.0],
        [158.0, 187.0, 201.0],
        [98.0, 137.0, 190.0],
        [92.0, 68.0, 160.0],
        [47.0, 20.0, 54.0],
        [122.0, 36.0, 76.0],
        [178.0, 79.0, 81.0],
        [205.0, 160.0, 130.0],
        [226.0, 217.0, 226.0],
    ];
    between(&STOPS, fraction)
}

fn between(stops: &[[f64; 3]; 9], fraction: f64) -> RGBColor {
    let position = fraction.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let index = (position as usize).min(stops.len() - 2);
    let part = position - index as f64;
    let mix = |colour: usize| (stops[index][colour] * (1.0 - part) + stops[index + 1][colour] * part).round() as u8;
    RGBColor(mix(0), mix(1), mix(2))
}

/// A unit with its prefix, and the number that values are divided by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    /// Name, e.g. `MHz`.
    pub(crate) name: &'static str,
    /// What one of it is in base units.
    pub(crate) size: f64,
}

/// The unit in which frequencies up to `largest_hz` read well.
pub(crate) fn frequency_unit(largest_hz: f64) -> Unit {
    match largest_hz.abs() {
        largest if largest >= 1e6 => Unit { name: "MHz", size: 1e6 },
        largest if largest >= 1e3 => Unit { name: "kHz", size: 1e3 },
        _ => Unit { name: "Hz", size: 1.0 },
    }
}

/// The unit in which times up to `largest_s` read well.
pub(crate) fn time_unit(largest_s: f64) -> Unit {
    match largest_s.abs() {
        largest if largest >= 1.0 => Unit { name: "s", size: 1.0 },
        largest if largest >= 1e-3 => Unit { name: "ms", size: 1e-3 },
        _ => Unit { name: "\u{b5}s", size: 1e-6 },
    }
}

/// Round numbers from `low` to `high` and a little beyond, about `most` at most, so that an end that is nearly round
/// has its number; each with the digits that tell it from the others.
pub(crate) fn ticks([low, high]: [f64; 2], most: usize) -> Vec<(f64, String)> {
    let (low, high) = (low.min(high), low.max(high));
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return vec![(low, format!("{low}"))];
    }
    let most = most.max(2) as f64;
    let power = 10f64.powf((span / most).log10().floor());
    // 9 makes degrees fall on quarters of a turn.
    let factors: &[f64] = if span == 360.0 { &[9.0] } else { &[1.0, 2.0, 2.5, 5.0, 10.0, 20.0] };
    let step = factors.iter().map(|factor| factor * power).find(|step| span / step <= most).unwrap_or(span);
    let first = (low / step - BEYOND * span / step).ceil() as i64;
    let last = (high / step + BEYOND * span / step).floor() as i64;
    let decimals = (0..9).find(|&decimals| {
        let unit = step * 10f64.powi(decimals);
        (unit - unit.round()).abs() < 1e-6 * unit
    });
    let decimals = decimals.unwrap_or(9) as usize;
    let text = |value: f64| {
        let text = format!("{value:.decimals$}");
        // Rounding can leave a negative zero.
        let zero = text.trim_start_matches(['-', '0', '.']).is_empty();
        if zero { text.trim_start_matches('-').to_string() } else { text }
    };
    (first..=last).map(|index| index as f64 * step).map(|value| (value, text(value))).collect()
}

/// The part of an axis by which a number may stand beyond its end: less than a pixel or two.
const BEYOND: f64 = 0.004;

/// Draws a white image with a title at the top and what `draw` draws below it, and writes it as a PNG file.
pub(crate) fn picture(
    path: &Path,
    size: (u32, u32),
    title: &str,
    draw: impl FnOnce(Area<'_>) -> Result<()>,
) -> Result<()> {
    let mut pixels = vec![255; 3 * size.0 as usize * size.1 as usize];
    let root = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
    let (top, rest) = root.split_vertically(46);
    let style = font(TITLE + 2).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Center));
    top.draw(&Text::new(title.to_string(), (size.0 as i32 / 2, 26), &style))?;
    draw(rest)?;
    root.present()?;
    drop((top, root));
    indexed::write(path, size, &pixels)
}

/// Lines with their names, below each other.
pub(crate) fn legend(area: &Area<'_>, top: i32, entries: &[(String, RGBColor, Dash)]) -> Result<()> {
    let style = font(TICK).color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (row, (name, colour, dash)) in entries.iter().enumerate() {
        let y = top + 20 * row as i32;
        polyline(area, &[(4.0, f64::from(y)), (38.0, f64::from(y))], *colour, 3, *dash)?;
        area.draw(&Text::new(name.clone(), (46, y), &style))?;
    }
    Ok(())
}

/// A font of the given size.
pub(crate) fn font(size: u32) -> FontDesc<'static> {
    (FONT, size).into_font()
}
