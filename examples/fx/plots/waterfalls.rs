//! Amplitude and phase of the strongest baselines over frequency and time.

use std::path::Path;

use ndarray::{Array2, ArrayView2};
use num_complex::Complex;

use super::Figure;
use super::heat_map::HeatMap;
use super::style::{Result, amplitude_colour, phase_colour, picture, time_unit};
use crate::coherence::Baseline;

/// Baselines shown.
const SHOWN: usize = 3;
/// Most cells of a panel, across and up: what its pixels can show.
const CELLS: [usize; 2] = [380, 300];

/// Draws two rows of panels: amplitudes above, phases below.
pub(crate) fn draw(figure: &Figure<'_>, path: &Path) -> Result<()> {
    let shown: Vec<&Baseline> = spread(figure);
    let title = format!("Coherence of the strongest baselines that share no antenna: {}", figure.label);
    picture(path, (560 * shown.len().max(2) as u32, 920), &title, |body| {
        let (x_name, x, _) = figure.frequency_axis();
        let (y_name, y) = time_axis(figure);
        let cells: Vec<Array2<Complex<f32>>> = shown.iter().map(|baseline| cells(figure, baseline)).collect();
        let amplitudes: Vec<Array2<f32>> = cells.iter().map(|cells| cells.map(|value| value.norm())).collect();
        let largest =
            f64::from(amplitudes.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f32::max));
        let top = (largest * 20.0).ceil().max(1.0) / 20.0;
        for (index, (panel, baseline)) in
            body.split_evenly((2, shown.len())).iter().zip(shown.iter().cycle()).enumerate()
        {
            let column = index % shown.len();
            let name = figure.baseline_name(baseline);
            let (phases, title);
            let map = if index < shown.len() {
                HeatMap {
                    title: &format!("{name}: amplitude"),
                    values: amplitudes[column].view(),
                    x,
                    y,
                    names: [&x_name, &y_name],
                    range: [0.0, top],
                    bar: "Coherence amplitude",
                    colour: amplitude_colour,
                }
            } else {
                phases = cells[column].map(|value| value.arg().to_degrees());
                title = format!("{name}: phase");
                phase_map(&title, phases.view(), [x, y], [&x_name, &y_name])
            };
            map.draw(panel)?;
        }
        Ok(())
    })
}

/// Name and ends of the axis of time.
pub(super) fn time_axis(figure: &Figure<'_>) -> (String, [f64; 2]) {
    let times = figure.coherence.cube.time_s();
    let half = figure.integration_s / 2.0;
    let ends = [times.first().copied().unwrap_or(0.0) - half, times.last().copied().unwrap_or(0.0) + half];
    let unit = time_unit(ends[1]);
    (format!("Time since start ({})", unit.name), ends.map(|end| end / unit.size))
}

/// A panel of phases in degrees.
pub(super) fn phase_map<'a>(
    title: &'a str,
    values: ArrayView2<'a, f32>,
    [x, y]: [[f64; 2]; 2],
    names: [&'a str; 2],
) -> HeatMap<'a> {
    HeatMap { title, values, x, y, names, range: [-180.0, 180.0], bar: "Phase (degrees)", colour: phase_colour }
}

/// The strongest baseline, and then the strongest that share no antenna with those before.
pub(super) fn spread<'a>(figure: &Figure<'a>) -> Vec<&'a Baseline> {
    let pols = figure.coherence.cube.inputs().pols();
    let mut shown: Vec<&Baseline> = Vec::new();
    for baseline in figure.ranked {
        let antennas = [baseline.a / pols, baseline.b / pols];
        let fresh =
            shown.iter().all(|other| !antennas.contains(&(other.a / pols)) && !antennas.contains(&(other.b / pols)));
        if fresh && shown.len() < SHOWN && (shown.is_empty() || baseline.noise.is_finite()) {
            shown.push(baseline);
        }
    }
    shown
}

/// Coherence of a baseline `[time][frequency]`, averaged to what the panel can show; NaN where data is missing.
pub(super) fn cells(figure: &Figure<'_>, baseline: &Baseline) -> Array2<Complex<f32>> {
    let (integrations, channels) = (figure.coherence.cube.integrations(), figure.coherence.cube.channels());
    let (rows, columns) = (integrations.min(CELLS[1]), channels.min(CELLS[0]));
    let mut sums = Array2::from_elem((rows, columns), (Complex::<f32>::default(), 0u32));
    for integration in 0..integrations {
        for (channel, value) in figure.coherence.spectrum(integration, baseline.a, baseline.b).into_iter().enumerate() {
            if let Some(value) = value {
                let sum = &mut sums[(integration * rows / integrations, channel * columns / channels)];
                sum.0 += value;
                sum.1 += 1;
            }
        }
    }
    sums.map(|&(sum, count)| if count == 0 { Complex::new(f32::NAN, f32::NAN) } else { sum / count as f32 })
}
