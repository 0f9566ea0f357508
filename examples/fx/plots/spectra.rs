//! Amplitude and phase of the strongest baselines over frequency, for runs too short for a time axis.

use std::path::Path;

use num_complex::Complex;
use plotters::prelude::*;

use super::Figure;
use super::style::{Area, LABEL, Result, TICK, font, line_colour, page, ticks};
use crate::coherence::{Baseline, amplitude_profile, spectrum};

/// Baselines shown.
const SHOWN: usize = 3;

/// Draws the amplitudes of the strongest baselines in one panel, their phases in another below.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let shown = &figure.ranked[..figure.ranked.len().min(SHOWN)];
    let title = format!("Coherence of the strongest baselines: {}", figure.label);
    let (root, body) = page(path, (1100, 900), &title)?;
    let panels = body.split_evenly((2, 1));
    amplitudes(figure, shown, &panels[0])?;
    phases(figure, shown, &panels[1])?;
    root.present()?;
    Ok(())
}

fn amplitudes(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    let top = shown.iter().map(|baseline| baseline.peak.0).fold(0.0, f64::max);
    let top = (top * 1.12 * 20.0).ceil().max(1.0) / 20.0;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(50)
        .y_label_area_size(72)
        .build_cartesian_2d(x[0]..x[1], 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(9)
        .y_labels(6)
        .x_desc(&name)
        .y_desc("Coherence amplitude")
        .axis_desc_style(font(LABEL))
        .label_style(font(TICK))
        .x_label_formatter(&ticks(x[0], x[1]))
        .y_label_formatter(&ticks(0.0, top))
        .draw()?;
    for (index, baseline) in shown.iter().enumerate() {
        let colour = line_colour(index);
        let points = amplitude_profile(figure.cube, baseline.a, baseline.b)
            .into_iter()
            .enumerate()
            .filter(|(_, value)| value.is_finite())
            .map(|(channel, value)| (figure.cube.frequencies().channel_hz(channel) / unit, value));
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(figure.baseline_name(baseline))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
    }
    if let Some(noise) = shown.first().map(|baseline| baseline.noise).filter(|noise| *noise < top) {
        chart
            .draw_series(DashedLineSeries::new([(x[0], noise), (x[1], noise)], 6, 5, BLACK.stroke_width(1)))?
            .label("noise alone, 1/\u{221a}spectra")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BLACK.stroke_width(1)));
    }
    legend(&mut chart)
}

fn phases(figure: &Figure<'_>, shown: &[&Baseline], area: &Area<'_>) -> Result<()> {
    let (name, x, unit) = figure.frequency_axis();
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(50)
        .y_label_area_size(72)
        .build_cartesian_2d(x[0]..x[1], -180.0..180.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(9)
        .y_labels(8)
        .x_desc(&name)
        .y_desc("Phase (degrees)")
        .axis_desc_style(font(LABEL))
        .label_style(font(TICK))
        .x_label_formatter(&ticks(x[0], x[1]))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    for (index, baseline) in shown.iter().enumerate() {
        let colour = line_colour(index);
        let mut sums = vec![Complex::<f32>::default(); figure.cube.channels()];
        for integration in 0..figure.cube.integrations() {
            let values = spectrum(figure.cube, integration, baseline.a, baseline.b);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.unwrap_or_default());
        }
        // Faint where the amplitude does not stand above the noise: such a phase says nothing.
        let points = sums.iter().enumerate().filter(|(_, sum)| sum.norm() > 0.0).map(|(channel, sum)| {
            let amplitude = f64::from(sum.norm()) / figure.cube.integrations() as f64;
            let strength = if amplitude > 2.0 * baseline.noise { 1.0 } else { 0.2 };
            let at = figure.cube.frequencies().channel_hz(channel) / unit;
            Circle::new((at, f64::from(sum.arg().to_degrees())), 3, colour.mix(strength).filled())
        });
        chart
            .draw_series(points)?
            .label(figure.baseline_name(baseline))
            .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.filled()));
    }
    legend(&mut chart)
}

type Chart<'a, 'b> = ChartContext<
    'a,
    BitMapBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn legend<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>) -> Result<()> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(font(TICK))
        .draw()?;
    Ok(())
}
