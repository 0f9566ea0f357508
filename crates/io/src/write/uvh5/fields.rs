//! The header of a UVH5 file as datasets, and its growing datasets.

use fringes_delay_model::{Itrf, Site};
use fringes_types::TypesError;

use super::hdf5::{ColumnKind, Count, Description, Field, Kind};
use crate::IoError;
use crate::write::VisibilityHeader;
use crate::write::visibilities::{DEGREES_PER_DAY, check_finite, check_text, pair_count};

/// Most characters of the telescope's and the source's name.
const LONGEST_NAME: usize = 68;
/// Bytes kept for the history.
const HISTORY: usize = 256;
/// Bytes of an antenna's name.
const ANTENNA_NAME: usize = 8;
/// About so many bytes of visibilities are a chunk, at least a row and at most [`MOST_ROWS`].
const CHUNK_BYTES: u64 = 1 << 18;
const MOST_ROWS: u64 = 4096;
/// Rows of a chunk of the header's growing arrays.
const HEADER_ROWS: u64 = 1024;

/// The growing datasets in the order of [`columns`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Column {
    Visibilities,
    Flags,
    Samples,
    Time,
    Sidereal,
    Length,
    Antenna1,
    Antenna2,
    Uvw,
    PhaseCentre,
    ApparentRa,
    ApparentDec,
    PositionAngle,
}

/// Everything in the file but integrations.
///
/// The fields that other fields' shapes follow from come first, so that a file of another array is told by them.
pub(super) fn description(header: &VisibilityHeader) -> Result<Description, IoError> {
    header.check()?;
    check_text("telescope name", &header.telescope, LONGEST_NAME)?;
    check_text("source name", &header.source, LONGEST_NAME)?;
    for (quantity, value) in [
        ("channel frequency in Hz", header.frequencies.first_hz),
        ("channel width in Hz", header.frequencies.step_hz),
        ("right ascension of the phase centre", header.phase_centre_ra_rad),
        ("declination of the phase centre", header.phase_centre_dec_rad),
        ("UT1 - UTC in seconds", header.ut1_minus_utc_s),
    ] {
        check_finite(quantity, value, &[])?;
    }
    let columns = columns(header)?;
    let mut fields = sizes(header);
    fields.extend(telescope(header)?);
    fields.extend(axes(header));
    fields.extend(phase_centre(header));
    fields.extend(earth(header)?);
    let count = |name, rows| Count { name: ("Header", name), rows };
    Ok(Description { fields, columns, counts: vec![count("Nblts", 1), count("Ntimes", pair_count(header.inputs))] })
}

fn sizes(header: &VisibilityHeader) -> Vec<Field> {
    let (antennas, pols) = (header.inputs.antennas() as u64, header.inputs.pols() as u64);
    let sizes = [
        ("Nants_telescope", antennas),
        ("Nants_data", antennas),
        ("Npols", pols * pols),
        ("Nfreqs", header.channels as u64),
        ("Nfeeds", pols),
        ("Nbls", pair_count(header.inputs)),
        ("Nspws", 1),
        ("Nphase", 1),
    ];
    let size = |(name, value): (&'static str, u64)| one(name, Kind::I64, value.to_le_bytes());
    sizes.into_iter().map(size).collect()
}

fn telescope(header: &VisibilityHeader) -> Result<Vec<Field>, IoError> {
    let [array_x, array_y, array_z] = header.array_position_m;
    let site = Site::from_itrf(Itrf { x_m: array_x, y_m: array_y, z_m: array_z })?;
    let (antennas, pols) = (header.inputs.antennas() as u64, header.inputs.pols());
    let positions = header.antennas.iter().flat_map(|antenna| {
        let [x, y, z] = antenna.position_m;
        [x - array_x, y - array_y, z - array_z]
    });
    let names = header.antennas.iter().flat_map(|antenna| filled(&antenna.name, ANTENNA_NAME));
    let feeds = |each: &[u8]| each[..each.len() / 2 * pols].repeat(header.inputs.antennas());
    let angles = [0.0f64.to_le_bytes(), std::f64::consts::FRAC_PI_2.to_le_bytes()].concat();
    let numbers = (1..=antennas as i64).flat_map(i64::to_le_bytes).collect();
    Ok(vec![
        text("telescope_name", &header.telescope, LONGEST_NAME),
        text("instrument", &header.telescope, LONGEST_NAME),
        text("telescope_frame", "itrs", 8),
        float("latitude", site.latitude_rad.to_degrees()),
        float("longitude", site.longitude_rad.to_degrees()),
        float("altitude", site.height_m),
        many("antenna_numbers", Kind::I64, &[antennas], numbers),
        many("antenna_names", Kind::Text(ANTENNA_NAME as u32), &[antennas], names.collect()),
        many("antenna_positions", Kind::F64, &[antennas, 3], positions.flat_map(f64::to_le_bytes).collect()),
        many("mount_type", Kind::Text(8), &[antennas], filled("alt-az", 8).repeat(header.antennas.len())),
        many("feed_array", Kind::Text(1), &[antennas, pols as u64], feeds(b"xy")),
        many("feed_angle", Kind::F64, &[antennas, pols as u64], feeds(&angles)),
    ])
}

fn axes(header: &VisibilityHeader) -> Vec<Field> {
    let channels = header.channels as u64;
    let of_channels =
        |value: &dyn Fn(usize) -> f64| (0..header.channels).flat_map(|at| value(at).to_le_bytes()).collect();
    let products = header.inputs.pols() * header.inputs.pols();
    let codes = [-5i64, -6, -7, -8].into_iter().take(products).flat_map(i64::to_le_bytes).collect();
    let frequencies = header.frequencies;
    vec![
        many("freq_array", Kind::F64, &[channels], of_channels(&|channel| frequencies.channel_hz(channel))),
        many("channel_width", Kind::F64, &[channels], of_channels(&|_| frequencies.step_hz.abs())),
        many("polarization_array", Kind::I64, &[products as u64], codes),
        many("spw_array", Kind::I64, &[1], vec![0; 8]),
        many("flex_spw_id_array", Kind::I64, &[channels], vec![0; 8 * header.channels]),
        text("vis_units", "uncalib", 8),
        text("version", "1.2", 8),
        text("blt_order", "time, baseline", 16),
        one("blts_are_rectangular", Kind::Bool, [1]),
        one("time_axis_faster_than_bls", Kind::Bool, [0]),
    ]
}

fn phase_centre(header: &VisibilityHeader) -> Vec<Field> {
    let fields = [
        text("cat_name", &header.source, LONGEST_NAME),
        text("cat_type", "sidereal", 16),
        float("cat_lon", header.phase_centre_ra_rad),
        float("cat_lat", header.phase_centre_dec_rad),
        text("cat_frame", "icrs", 8),
        float("cat_epoch", 2000.0),
        text("info_source", "file", 8),
    ];
    fields.into_iter().map(|field| Field { group: "Header/phase_center_catalog/0", ..field }).collect()
}

/// What may differ in a file that is continued on another day, or by another version.
fn earth(header: &VisibilityHeader) -> Result<Vec<Field>, IoError> {
    let (year, month, day) = header.reference_date()?;
    let history = concat!("Written by Fringes ", env!("CARGO_PKG_VERSION"), ".");
    let fields = [
        text("history", history, HISTORY),
        text("rdate", &format!("{year:04}-{month:02}-{day:02}"), 16),
        text("timesys", "UTC", 8),
        float("dut1", header.ut1_minus_utc_s),
        float("gst0", header.sidereal_degrees()?),
        float("earth_omega", DEGREES_PER_DAY),
    ];
    Ok(fields.into_iter().map(|field| Field { must_agree: false, ..field }).collect())
}

/// The growing datasets in the order of [`Column`].
fn columns(header: &VisibilityHeader) -> Result<Vec<ColumnKind>, IoError> {
    let products = (header.inputs.pols() * header.inputs.pols()) as u64;
    let channels = header.channels as u64;
    let row_bytes =
        channels.checked_mul(8 * products).filter(|&bytes| bytes <= u64::from(u32::MAX)).ok_or_else(|| {
            let elements = format!("{channels} channels x {products} products");
            TypesError::TooLarge { array: "row of a UVH5 file", elements }
        })?;
    let chunk_rows = (CHUNK_BYTES / row_bytes).clamp(1, MOST_ROWS);
    let data = |name, kind| ColumnKind { name: ("Data", name), kind, row_shape: vec![channels, products], chunk_rows };
    let array = |name, kind| ColumnKind { name: ("Header", name), kind, row_shape: vec![], chunk_rows: HEADER_ROWS };
    Ok(vec![
        data("visdata", Kind::ComplexF32),
        data("flags", Kind::Bool),
        data("nsamples", Kind::F32),
        array("time_array", Kind::F64),
        array("lst_array", Kind::F64),
        array("integration_time", Kind::F64),
        array("ant_1_array", Kind::I64),
        array("ant_2_array", Kind::I64),
        ColumnKind { row_shape: vec![3], ..array("uvw_array", Kind::F64) },
        array("phase_center_id_array", Kind::I64),
        array("phase_center_app_ra", Kind::F64),
        array("phase_center_app_dec", Kind::F64),
        array("phase_center_frame_pa", Kind::F64),
    ])
}

fn many(name: &'static str, kind: Kind, shape: &[u64], bytes: Vec<u8>) -> Field {
    Field { group: "Header", name, kind, shape: shape.to_vec(), bytes, must_agree: true }
}

fn one(name: &'static str, kind: Kind, bytes: impl Into<Vec<u8>>) -> Field {
    many(name, kind, &[], bytes.into())
}

fn float(name: &'static str, value: f64) -> Field {
    one(name, Kind::F64, value.to_le_bytes())
}

/// A text in so many bytes: fields have the same size whatever they say, so that files can be compared.
fn text(name: &'static str, value: &str, bytes: usize) -> Field {
    one(name, Kind::Text(bytes as u32), filled(value, bytes))
}

fn filled(value: &str, bytes: usize) -> Vec<u8> {
    let mut filled = value.as_bytes().to_vec();
    filled.resize(bytes, 0);
    filled
}
