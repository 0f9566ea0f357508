//! One wide picture of a run: the phase of a baseline over frequency and time, where fringes go by, beside the field.

use std::path::Path;

use super::Figure;
use super::direction::{self, Field};
use super::style::{Result, picture};
use super::waterfalls::{cells, phase_map, spread, time_axis};

/// Draws both.
pub(crate) fn draw(figure: &Figure<'_>, field: &Field, path: &Path) -> Result<()> {
    let shown = spread(figure);
    // The last one shows most fringes of a source that is off the phase centre: the longest of those that are shown.
    let Some(baseline) = shown.last() else { return Ok(()) };
    let title = format!("Fringes and the direction that they give: {}", figure.label);
    picture(path, (1500, 740), &title, |body| {
        let (left, right) = body.split_horizontally(760);
        let phases = cells(figure, baseline).map(|value| value.arg().to_degrees());
        let (x_name, x, _) = figure.frequency_axis();
        let (y_name, y) = time_axis(figure);
        let (left, _) = left.split_vertically(640);
        let title = format!("{}: phase", figure.baseline_name(baseline));
        phase_map(&title, phases.view(), [x, y], [&x_name, &y_name]).draw(&left)?;
        direction::panel(field, &right, &field.title)?;
        Ok(())
    })
}
