//! The README's chart: bars of our rates beside the best peer's, from lines of the summary, as plain SVG.
//!
//! The picture brings its own background, light or dark as the reader's system asks for, so that its text is
//! readable on any page. The two colours differ in lightness as well as in hue, and bars of peers are hatched.

use std::fmt::Write as _;

use super::numbers::three;
use super::summary::{CORRELATOR, F_ENGINE, FFT, Line};

/// A panel: an operation at some sizes.
struct Panel {
    operation: &'static str,
    title: &'static str,
    unit: &'static str,
    /// What is below the axis.
    sizes: &'static str,
    /// Sizes of the summary's lines, and their names under the bars.
    bars: [(&'static str, &'static str); 3],
}

const PANELS: [Panel; 3] = [
    Panel {
        operation: CORRELATOR,
        title: "Correlator, 8-bit",
        unit: "10¹² useful operations/s",
        sizes: "stations of two polarisations",
        bars: [("64 stations", "64"), ("256 stations", "256"), ("1024 stations", "1024")],
    },
    Panel {
        operation: F_ENGINE,
        title: "F-engine, 10 bits to 8",
        unit: "10⁹ samples/s",
        sizes: "channels",
        bars: [("1024 channels", "1024"), ("4096 channels", "4096"), ("32768 channels", "32 768")],
    },
    Panel {
        operation: FFT,
        title: "FFT, complex f16",
        unit: "10⁹ transforms/s",
        sizes: "points in → out",
        bars: [
            ("256 -> 512, f16", "256 → 512"),
            ("512 -> 512, f16", "512 → 512"),
            ("1024 -> 1024, f16", "1024 → 1024"),
        ],
    },
];

/// Pixels of the picture, of a panel, and of its bars.
const WIDTH: usize = 960;
const HEIGHT: usize = 380;
const PANEL: usize = 300;
const LEFT: usize = 34;
const TOP: usize = 134;
const BASE: usize = 306;
const BAR: usize = 42;

/// The picture.
pub(super) fn draw(lines: &[Line]) -> Result<String, String> {
    let mut body = String::new();
    let mut peers: Vec<String> = Vec::new();
    let mut dates: Vec<String> = Vec::new();
    let mut machines: Vec<String> = Vec::new();
    for (index, panel) in PANELS.iter().enumerate() {
        let pairs = panel.lines(lines)?;
        for (line, peer, _) in &pairs {
            dates.extend(line.dates.iter().cloned());
            if !machines.contains(&line.on) {
                machines.push(line.on.clone());
            }
            let name = format!("{}: {peer}", panel.title.split(',').next().unwrap_or(panel.title));
            if !peers.contains(&name) {
                peers.push(name);
            }
        }
        panel.draw(&mut body, LEFT + index * (PANEL + 8), &pairs);
    }
    dates.sort();
    let [machine] = machines.as_slice() else { return Err(format!("the chart's figures are of {machines:?}")) };
    let (first, last) = (dates.first().cloned().unwrap_or_default(), dates.last().cloned().unwrap_or_default());
    let dates = if first == last { first } else { format!("{first} to {last}") };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">Rates of Fringes beside the best peer on one {machine}; higher is better</title>\n{STYLE}"
    );
    let _ = writeln!(
        svg,
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
        WIDTH - 1,
        HEIGHT - 1
    );
    text(&mut svg, "head", LEFT, 34, "start", &format!("Rates on one {machine}, measured {dates}: higher is better"));
    let _ = writeln!(svg, "<rect class=\"ours\" x=\"{LEFT}\" y=\"50\" width=\"18\" height=\"13\"/>");
    text(&mut svg, "name", LEFT + 25, 61, "start", "Fringes");
    let _ = writeln!(svg, "<rect class=\"peer\" x=\"{}\" y=\"50\" width=\"18\" height=\"13\"/>", LEFT + 96);
    text(&mut svg, "name", LEFT + 121, 61, "start", &format!("best peer ({})", peers.join(", ").to_lowercase_first()));
    svg.push_str(&body);
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// A text with a small letter in front.
trait LowercaseFirst {
    fn to_lowercase_first(&self) -> String;
}

impl LowercaseFirst for String {
    fn to_lowercase_first(&self) -> String {
        let mut letters = self.chars();
        letters.next().map_or_else(Self::new, |first| first.to_lowercase().chain(letters).collect())
    }
}

impl Panel {
    /// Lines of the bars with the peer's name and rate.
    fn lines<'a>(&self, lines: &'a [Line]) -> Result<Vec<(&'a Line, &'a str, f64)>, String> {
        let line = |size: &str| {
            let line = lines.iter().find(|line| line.operation == self.operation && line.size == size);
            let peer = line.and_then(|line| line.peer.as_ref().map(|(name, rate)| (line, name.as_str(), *rate)));
            peer.ok_or_else(|| format!("the chart lacks a peer of {}, {size}", self.operation))
        };
        self.bars.iter().map(|(size, _)| line(size)).collect()
    }

    fn draw(&self, svg: &mut String, left: usize, pairs: &[(&Line, &str, f64)]) {
        let highest = pairs.iter().flat_map(|(line, _, peer)| [line.ours, *peer]).fold(f64::MIN_POSITIVE, f64::max);
        let group = PANEL / pairs.len();
        text(svg, "title", left, TOP - 44, "start", self.title);
        text(svg, "unit", left, TOP - 27, "start", self.unit);
        for (index, ((line, _, peer), (_, name))) in pairs.iter().zip(self.bars).enumerate() {
            let middle = left + index * group + group / 2 - 4;
            for (class, value, x) in [("ours", line.ours, middle - BAR - 2), ("peer", *peer, middle + 2)] {
                let height = ((BASE - TOP) as f64 * value / highest).round() as usize;
                let y = BASE - height;
                let _ =
                    writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{height}\"/>");
                text(svg, "value", x + BAR / 2, y - 5, "middle", &three(value));
            }
            text(svg, "name", middle, BASE + 18, "middle", name);
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{left} {BASE}h{}\"/>", PANEL - 10);
        text(svg, "unit", left + PANEL / 2 - 4, BASE + 38, "middle", self.sizes);
        let ratios: Vec<f64> = pairs.iter().map(|(line, _, peer)| line.ours / peer).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        let ratio = format!("{low:.2} to {high:.2} times the peer");
        text(svg, "unit", left + PANEL / 2 - 4, BASE + 58, "middle", &ratio);
    }
}

fn text(svg: &mut String, class: &str, x: usize, y: usize, anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
}

const STYLE: &str = "<defs>\n\
    <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\n\
    <rect class=\"ground\" width=\"6\" height=\"6\"/><path class=\"stripe\" d=\"M1.5 0v6\"/>\n</pattern>\n</defs>\n\
    <style>\n\
    text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; font-size: 13px }\n\
    .head { font-size: 17px; font-weight: 600 }\n\
    .title { font-size: 15px; font-weight: 600 }\n\
    .unit { font-size: 12.5px; fill: #57606a }\n\
    .value { font-size: 12px; font-weight: 600 }\n\
    .card { fill: #ffffff; stroke: #d0d7de }\n\
    .axis { stroke: #57606a }\n\
    .ours { fill: #0072b2 }\n\
    .peer { fill: url(#hatch); stroke: #b35900 }\n\
    .ground { fill: #fde3c4 }\n\
    .stripe { stroke: #e69f00; stroke-width: 2.5 }\n\
    @media (prefers-color-scheme: dark) {\n\
    text { fill: #e6edf3 }\n\
    .unit { fill: #9da7b3 }\n\
    .card { fill: #0d1117; stroke: #30363d }\n\
    .axis { stroke: #9da7b3 }\n\
    .ours { fill: #56b4e9 }\n\
    .peer { stroke: #e69f00 }\n\
    .ground { fill: #3d2a06 }\n\
    }\n\
    </style>\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let line = |panel: &Panel, size: &str, ours: f64| Line {
            operation: panel.operation,
            size: size.into(),
            ours,
            unit: "TOPS".into(),
            share: None,
            peer: Some(("other".into(), ours / 2.0)),
            on: "NVIDIA H200".into(),
            dates: vec!["2026-11-23".into(), "2026-11-21".into()],
            record: "a.json".into(),
        };
        PANELS.iter().flat_map(|panel| panel.bars.map(|(size, _)| line(panel, size, 100.0))).collect()
    }

    #[test]
    fn bars_are_as_high_as_their_rates_and_the_gpu_and_dates_are_named() {
        let svg = draw(&lines()).unwrap();
        let high = |class: &str, height: usize| {
            svg.matches(&format!("class=\"{class}\" x=")).count() == 10
                && svg.contains(&format!("width=\"{BAR}\" height=\"{height}\""))
        };
        assert!(high("ours", BASE - TOP) && high("peer", (BASE - TOP) / 2), "{svg}");
        assert!(svg.contains("Rates on one NVIDIA H200, measured 2026-11-21 to 2026-11-23: higher is better"));
        assert!(svg.contains("2.00 to 2.00 times the peer"));
    }

    #[test]
    fn a_panel_without_a_peer_or_of_two_machines_is_an_error() {
        let mut without = lines();
        without[4].peer = None;
        assert!(draw(&without).unwrap_err().contains("4096 channels"));
        let mut other = lines();
        other[0].on = "NVIDIA A100".into();
        assert!(draw(&other).unwrap_err().contains("NVIDIA A100"));
    }
}
