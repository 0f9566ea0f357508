//! The files of a run: `visibilities.npz` and, where the array's place, time and phase centre are known,
//! `visibilities.uvfits`.

use std::path::{Path, PathBuf};

use fringes::io::write::{UvfitsHeader, UvfitsWriter, VisibilityCube, write_visibilities_npz};

use crate::failure::{At, Result};
use crate::observation::Observation;
use crate::pipeline::Outcome;
use crate::tracking::Tracking;

/// Writes `visibilities.npz`.
pub(crate) fn write_npz(cube: &VisibilityCube, folder: &Path) -> Result<PathBuf> {
    let path = folder.join("visibilities.npz");
    write_visibilities_npz(&path, cube)?;
    Ok(path)
}

/// Writes `visibilities.uvfits`; `None` if something that the format needs is not known.
pub(crate) fn write_uvfits(
    outcome: &Outcome,
    observation: &Observation,
    tracking: Option<&Tracking>,
    folder: &Path,
) -> Result<Option<PathBuf>> {
    let (Some(tracking), Some(_)) = (tracking, observation.centres) else { return Ok(None) };
    let cube = &outcome.cube;
    let times = cube.time_s();
    let middle = times.get(times.len() / 2).copied().unwrap_or(0.0);
    let Some(geometry) = tracking.on_the_sky(middle)? else { return Ok(None) };
    let header = UvfitsHeader {
        telescope: observation.telescope.clone(),
        source: observation.source_name.clone(),
        ..UvfitsHeader::new(tracking.array(), &geometry, cube.inputs(), cube.channels(), cube.frequencies())?
    };
    let path = folder.join("visibilities.uvfits");
    let mut writer = UvfitsWriter::create(&path, &header)?;
    writer.write_cube(cube, &geometry, outcome.integration_s)?;
    writer.finish().at(path.display())?;
    Ok(Some(path))
}
