//! The files of a run: `visibilities.npz` and, where the array's place, time and phase centre are known,
//! `visibilities.uvfits`.

use std::path::{Path, PathBuf};

use fringes::io::write::{
    UvfitsAntenna, UvfitsHeader, UvfitsIntegration, UvfitsWriter, VisibilityCube, write_visibilities_npz,
};
use ndarray::{Array2, Axis};

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
    let (Some(start), Some((geometry, [ra_rad, dec_rad]))) = (tracking.start(), tracking.on_the_sky(middle)?) else {
        return Ok(None);
    };
    let array = tracking.array();
    let antennas = array.names().iter().zip(array.itrf()?);
    let antennas = antennas
        .map(|(name, position)| UvfitsAntenna {
            name: name.chars().take(8).collect(),
            position_m: [position.x_m, position.y_m, position.z_m],
        })
        .collect();
    let centre = array.require_site()?.itrf()?;
    let header = UvfitsHeader {
        inputs: cube.inputs(),
        channels: cube.channels(),
        frequencies: cube.frequencies(),
        antennas,
        array_position_m: [centre.x_m, centre.y_m, centre.z_m],
        telescope: observation.telescope.clone(),
        source: observation.source_name.clone(),
        phase_centre_ra_rad: ra_rad,
        phase_centre_dec_rad: dec_rad,
        reference_mjd_day: start.mjd_day,
        ut1_minus_utc_s: 0.0,
    };
    let path = folder.join("visibilities.uvfits");
    let mut writer = UvfitsWriter::create(&path, &header)?;
    for (integration, &seconds) in times.iter().enumerate() {
        let uvw = geometry.uvw(seconds)?;
        let uvw_m = Array2::from_shape_fn((uvw.len(), 3), |(antenna, axis)| uvw[antenna][axis]);
        writer.write_integration(&UvfitsIntegration {
            mid_seconds: start.seconds + seconds,
            integration_seconds: outcome.integration_s,
            visibilities: cube.data().index_axis(Axis(0), integration),
            weights: cube.weight().index_axis(Axis(0), integration),
            uvw_m: uvw_m.view(),
        })?;
    }
    writer.finish().at(path.display())?;
    Ok(Some(path))
}
