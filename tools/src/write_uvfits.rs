//! Writes UVFITS and UVH5: what an array measures of one point source that is not at the phase centre, computed from
//! the geometry.
//!
//! ```text
//! cargo run --release -p fringes-tools -- write-uvfits --out DIR
//! ```
//!
//! In DIR, `simulated.uvfits`, `simulated.uvh5` and `simulated.npz` hold the same visibilities, and
//! `simulated_geometry.npz` what they were computed from, for whoever wants to check the first against the others. The
//! source is one that the antennas' two polarisations answer differently, so that XY and YX can be told apart.

use std::fs::{File, create_dir_all};
use std::path::{Path, PathBuf};

use crate::end::{Failure, failure};
use fringes::delay::{AntennaArray, Enu, Epoch, Geometry, Itrf, SPEED_OF_LIGHT_M_PER_S, Site, Source};
use fringes::io::write::{
    UvfitsWriter, Uvh5Writer, VisibilityAntenna, VisibilityCube, VisibilityHeader, VisibilityIntegration,
    write_visibilities_npz,
};
use fringes::{BaselineOrder, Complex, Frequencies, Inputs};
use ndarray::{Array1, Array2, Array3, Axis, arr1};
use ndarray_npy::NpzWriter;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Write simulated visibilities of a point source as UVFITS, UVH5 and npz.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder for the files; made if it does not exist.
    #[arg(long)]
    out: PathBuf,
    /// Antennas, on a spiral of 700 m.
    #[arg(long, default_value_t = 7)]
    antennas: usize,
    /// Polarisations of an antenna, 1 or 2.
    #[arg(long, default_value_t = 2)]
    pols: usize,
    /// Channels of 1 MHz from 1300 MHz.
    #[arg(long, default_value_t = 32)]
    channels: usize,
    /// Integrations of 10 s, spread over 6 hours.
    #[arg(long, default_value_t = 6)]
    integrations: usize,
}

const FREQUENCIES: Frequencies = Frequencies { first_hz: 1.3e9, step_hz: 1e6 };
/// 2023-01-01.
const MJD_DAY: i64 = 59_945;
const PHASE_CENTRE: (f64, f64) = (1.9, -0.6);
/// 0.8 degrees to the east and 0.5 degrees to the south of the phase centre.
const SOURCE: (f64, f64) = (1.9 + 0.017, -0.6 - 0.009);
/// Standard deviation of the real and of the imaginary part of a cross-correlation's noise.
const NOISE: f64 = 0.01;
/// Middle of the first integration, in seconds of the day: the source is then 3 hours east of the meridian.
const FIRST_SECONDS: f64 = 72_300.0;
const INTEGRATION_SECONDS: f64 = 10.0;

/// Runs the tool.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let &Arguments { antennas, pols, channels, integrations, .. } = arguments;
    let inputs = Inputs::new(antennas, pols)?;
    let array = spiral(antennas)?;
    let places = Places::of(&array)?;
    let midnight = Epoch::new(MJD_DAY, 0.0)?;
    let toward = |(ra_rad, dec_rad)| Geometry::new(&array, Source::RaDec { ra_rad, dec_rad }, midnight);
    let (centre, source) = (toward(PHASE_CENTRE)?, toward(SOURCE)?);
    let header = VisibilityHeader {
        telescope: "Simulated".into(),
        source: "Centre".into(),
        ..VisibilityHeader::new(&array, &centre, inputs, channels, FREQUENCIES)?
    };
    let response = &RESPONSE[..pols];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2023);

    create_dir_all(&arguments.out).map_err(|error| failure(arguments.out.display(), error))?;
    let mut writer = UvfitsWriter::create(&arguments.out.join("simulated.uvfits"), &header)?;
    let mut hdf5 = start_uvh5(&arguments.out.join("simulated.uvh5"), &header)?;
    let mut cube = VisibilityCube::new(inputs, channels, FREQUENCIES)?;
    let mut all_uvw = Array3::zeros((integrations, antennas, 3));
    let spacing = 6.0 * 3600.0 / integrations.max(1) as f64;
    let mid_seconds = Array1::from_shape_fn(integrations, |index| FIRST_SECONDS + spacing * index as f64);
    for (index, &seconds) in mid_seconds.iter().enumerate() {
        let (uvw, source_uvw) = (centre.uvw(seconds)?, source.uvw(seconds)?);
        // How much earlier each antenna hears the source, once the phase centre's delays are taken out.
        let early_s: Vec<f64> =
            uvw.iter().zip(&source_uvw).map(|(at, to)| (to[2] - at[2]) / SPEED_OF_LIGHT_M_PER_S).collect();
        let visibilities = point_source(inputs, channels, &early_s, response, &mut random);
        let weights = weights(inputs, index);
        let uvw_m = Array2::from_shape_fn((antennas, 3), |(antenna, axis)| uvw[antenna][axis]);
        let integration = VisibilityIntegration {
            mid_seconds: seconds,
            integration_seconds: INTEGRATION_SECONDS,
            visibilities: visibilities.view(),
            weights: weights.view(),
            uvw_m: uvw_m.view(),
        };
        writer.write_integration(&integration)?;
        hdf5.append_integration(&integration)?;
        cube.push(seconds - FIRST_SECONDS + INTEGRATION_SECONDS / 2.0, visibilities.view(), weights.view())?;
        all_uvw.index_axis_mut(Axis(0), index).assign(&uvw_m);
    }
    let groups = writer.finish()?;
    hdf5.finish()?;
    write_visibilities_npz(&arguments.out.join("simulated.npz"), &cube)?;
    let path = arguments.out.join("simulated_geometry.npz");
    write_geometry(&path, &places, &mid_seconds, &all_uvw, response).map_err(|error| failure(path.display(), error))?;
    println!("{groups} groups of {channels} channels: {}", arguments.out.join("simulated.uvfits").display());
    Ok(())
}

/// A UVH5 file in place of one that may be there.
fn start_uvh5(path: &Path, header: &VisibilityHeader) -> Result<Uvh5Writer, Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failure(path.display(), error)),
        _ => Ok(Uvh5Writer::create(path, header)?),
    }
}

/// What each polarisation makes of the source's wave.
const RESPONSE: [Complex<f64>; 2] = [Complex::new(1.0, 0.0), Complex::new(0.4, 0.3)];

/// Antennas on a spiral around a site in South Africa, the last 700 m from its middle.
fn spiral(antennas: usize) -> Result<AntennaArray, Failure> {
    let site = Site::from_degrees(-30.71, 21.44, 1080.0)?;
    let position = |index: usize| {
        let radius = 700.0 * ((index as f64 + 0.5) / (antennas as f64 - 0.5)).sqrt();
        let (sin, cos) = (2.4 * index as f64).sin_cos(); // about the golden angle
        Enu { east_m: radius * sin, north_m: radius * cos, up_m: 5.0 * sin - 3.0 * cos }
    };
    Ok(AntennaArray::from_enu((0..antennas).map(position).collect(), site)?)
}

/// Geocentric positions.
struct Places {
    array_m: [f64; 3],
    antennas: Vec<VisibilityAntenna>,
}

impl Places {
    fn of(array: &AntennaArray) -> Result<Self, Failure> {
        let vector = |Itrf { x_m, y_m, z_m }| [x_m, y_m, z_m];
        let positions = array.itrf()?;
        let antennas = array.names().iter().zip(positions);
        Ok(Self {
            array_m: vector(array.require_site()?.itrf()?),
            antennas: antennas
                .map(|(name, position)| VisibilityAntenna { name: name.clone(), position_m: vector(position) })
                .collect(),
        })
    }
}

/// `V[a][b] = g_a conj(g_b) exp(2 pi i f (early_a - early_b))` and noise, `[channel][baseline]`.
fn point_source(
    inputs: Inputs,
    channels: usize,
    early_s: &[f64],
    response: &[Complex<f64>],
    random: &mut Xoshiro256PlusPlus,
) -> Array2<Complex<f32>> {
    let mut values = Array2::zeros((channels, inputs.triangle_len()));
    for (baseline, mut spectrum) in values.axis_iter_mut(Axis(1)).enumerate() {
        let Some(product) = BaselineOrder::Triangle.product(inputs, baseline) else { continue };
        let pols = inputs.pols();
        let strength = response[product.a % pols] * response[product.b % pols].conj();
        let early = early_s[product.a / pols] - early_s[product.b / pols];
        for (channel, value) in spectrum.iter_mut().enumerate() {
            let turns = FREQUENCIES.channel_hz(channel) * early;
            let mut sum = strength * Complex::from_polar(1.0, std::f64::consts::TAU * turns);
            if product.a != product.b {
                let mut noise = || -> f64 { NOISE * Distribution::<f64>::sample(&StandardNormal, random) };
                sum += Complex::new(noise(), noise());
            }
            *value = Complex::new(sum.re as f32, sum.im as f32);
        }
    }
    values
}

/// Weights that differ between baselines and integrations; some are 0, for data that are missing.
fn weights(inputs: Inputs, integration: usize) -> Array1<f32> {
    let weight = |baseline: usize| if (baseline + 3 * integration) % 17 == 4 { 0 } else { 1000 - baseline % 50 };
    Array1::from_shape_fn(inputs.triangle_len(), |baseline| weight(baseline) as f32)
}

/// Everything that the visibilities were computed from, as arrays of one npz.
fn write_geometry(
    path: &Path,
    places: &Places,
    mid_seconds: &Array1<f64>,
    uvw_m: &Array3<f64>,
    response: &[Complex<f64>],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut npz = NpzWriter::new(File::create(path)?);
    let antennas =
        Array2::from_shape_fn((places.antennas.len(), 3), |(antenna, axis)| places.antennas[antenna].position_m[axis]);
    npz.add_array("antenna_itrf_m", &antennas)?;
    npz.add_array("array_itrf_m", &arr1(&places.array_m))?;
    npz.add_array("uvw_m", uvw_m)?;
    npz.add_array("mjd_day", &arr1(&[MJD_DAY]))?;
    npz.add_array("mid_seconds", mid_seconds)?;
    npz.add_array("integration_s", &arr1(&[INTEGRATION_SECONDS]))?;
    npz.add_array("phase_centre_rad", &arr1(&[PHASE_CENTRE.0, PHASE_CENTRE.1]))?;
    npz.add_array("source_rad", &arr1(&[SOURCE.0, SOURCE.1]))?;
    npz.add_array("response", &arr1(response))?;
    npz.add_array("noise", &arr1(&[NOISE]))?;
    npz.finish()?;
    Ok(())
}
