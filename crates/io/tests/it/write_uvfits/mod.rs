//! UVFITS files, read back by a reader of blocks and cards that shares nothing with the writer.
#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

mod dumps;
mod fits;
mod refused;

use std::fs;
use std::path::Path;

use fits::{Hdu, hdus};
use fringes_io::write::{UvfitsAntenna, UvfitsHeader, UvfitsIntegration, UvfitsWriter};
use fringes_types::{Frequencies, Inputs};
use ndarray::{Array1, Array2};
use num_complex::Complex;

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

fn header(antennas: usize, pols: usize, channels: usize) -> UvfitsHeader {
    let position = |antenna: usize| [5_109_000.0 + antenna as f64, 2_006_000.0 - 2.0 * antenna as f64, -3_239_000.5];
    UvfitsHeader {
        inputs: Inputs::new(antennas, pols).unwrap(),
        channels,
        frequencies: Frequencies { first_hz: 1.3e9, step_hz: 250e3 },
        antennas: (0..antennas)
            .map(|antenna| UvfitsAntenna { name: format!("A{antenna}"), position_m: position(antenna) })
            .collect(),
        array_position_m: position(0),
        telescope: "Test array".into(),
        source: "3C 286".into(),
        phase_centre_ra_rad: 3.54,
        phase_centre_dec_rad: -0.5,
        reference_mjd_day: 59_945,
        ut1_minus_utc_s: -0.0185,
    }
}

/// A value that tells its place; autocorrelations are real.
fn visibilities(inputs: Inputs, channels: usize) -> Array2<Complex<f32>> {
    let mut values = Array2::zeros((channels, inputs.triangle_len()));
    for channel in 0..channels {
        let mut position = 0;
        for a in 0..inputs.len() {
            for b in 0..=a {
                let place = (1000 * a + b) as f32;
                let im = if a == b { 0.0 } else { channel as f32 + 0.5 };
                values[(channel, position)] = Complex::new(place, im);
                position += 1;
            }
        }
    }
    values
}

fn uvw(antennas: usize) -> Array2<f64> {
    Array2::from_shape_fn((antennas, 3), |(antenna, axis)| (antenna * antenna) as f64 * 10.1 - axis as f64 * 333.3)
}

/// Writes integrations of 10 s whose weights and middles tell their place.
fn write(path: &Path, header: &UvfitsHeader, integrations: usize) -> u64 {
    let values = visibilities(header.inputs, header.channels);
    let uvw = uvw(header.inputs.antennas());
    let mut writer = UvfitsWriter::create(path, header).unwrap();
    for integration in 0..integrations {
        let weights = Array1::from_shape_fn(values.ncols(), |baseline| (baseline + 1000 * integration) as f32);
        writer
            .write_integration(&UvfitsIntegration {
                mid_seconds: mid_seconds(integration),
                integration_seconds: 10.0,
                visibilities: values.view(),
                weights: weights.view(),
                uvw_m: uvw.view(),
            })
            .unwrap();
    }
    writer.finish().unwrap()
}

fn mid_seconds(integration: usize) -> f64 {
    86_390.0 + 10.0 * integration as f64 + 1e-6 // over midnight
}

/// Checks every value of a file against what [`write`] was given.
fn check(path: &Path, header: &UvfitsHeader, integrations: usize) {
    let (antennas, pols) = (header.inputs.antennas(), header.inputs.pols());
    let pairs = antennas * (antennas + 1) / 2;
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes.len() % 2880, 0);
    let units = hdus(&bytes);
    assert_eq!(units.len(), 2);
    let (primary, table) = (&units[0], &units[1]);
    assert_eq!(primary.number("GCOUNT") as usize, pairs * integrations);
    let parameters = parameters(primary);
    let products = pols * pols;
    let group_values = parameters.len() + header.channels * products * 3;
    assert_eq!(primary.data.len(), (pairs * integrations * group_values * 4).next_multiple_of(2880));
    let values: Vec<f32> = primary.data.chunks_exact(4).map(|b| f32::from_be_bytes(b.try_into().unwrap())).collect();
    assert!(values[pairs * integrations * group_values..].iter().all(|&value| value == 0.0), "padding");
    let given = visibilities(header.inputs, header.channels);
    let uvw = uvw(antennas);
    let mut groups = values.chunks_exact(group_values);
    for integration in 0..integrations {
        for ant1 in 0..antennas {
            for ant2 in ant1..antennas {
                let group = groups.next().unwrap();
                check_parameters(&parameters, group, (ant1, ant2), integration, &uvw);
                let data = &group[parameters.len()..];
                for channel in 0..header.channels {
                    for (product, (pol1, pol2)) in [(0, 0), (1, 1), (0, 1), (1, 0)].into_iter().enumerate() {
                        if product >= products {
                            continue;
                        }
                        let (a, b) = (ant1 * pols + pol1, ant2 * pols + pol2);
                        let (high, low) = (a.max(b), a.min(b));
                        let baseline = high * (high + 1) / 2 + low;
                        let given = given[(channel, baseline)];
                        let expected = if a >= b { given } else { given.conj() };
                        let at = (channel * products + product) * 3;
                        assert_eq!(data[at..at + 2], [expected.re, expected.im], "{ant1} {ant2} {channel} {product}");
                        assert_eq!(data[at + 2], (baseline + 1000 * integration) as f32);
                    }
                }
            }
        }
    }
    check_table(table, header);
}

/// Name, scale and zero of each parameter.
fn parameters(primary: &Hdu) -> Vec<(String, f64, f64)> {
    let number = |keyword, index| primary.number(&format!("{keyword}{index}"));
    (1..=primary.number("PCOUNT") as usize)
        .map(|index| (primary.text(&format!("PTYPE{index}")), number("PSCAL", index), number("PZERO", index)))
        .collect()
}

/// A parameter's value: the sum of those of its name, each scaled.
fn parameter(parameters: &[(String, f64, f64)], group: &[f32], name: &str) -> Option<f64> {
    let named = parameters.iter().zip(group).filter(|((found, ..), _)| found == name);
    named.map(|((_, scale, zero), &value)| f64::from(value) * scale + zero).reduce(|sum, value| sum + value)
}

fn check_parameters(
    parameters: &[(String, f64, f64)],
    group: &[f32],
    (ant1, ant2): (usize, usize),
    integration: usize,
    uvw: &Array2<f64>,
) {
    for (axis, name) in ["UU", "VV", "WW"].into_iter().enumerate() {
        let expected = (uvw[(ant1, axis)] - uvw[(ant2, axis)]) / SPEED_OF_LIGHT;
        let actual = parameter(parameters, group, name).unwrap();
        assert!((actual - expected).abs() <= expected.abs() * 2f64.powi(-48), "{name} {actual} {expected}");
    }
    let day = parameter(parameters, group, "DATE").unwrap() - (2_400_000.5 + 59_945.0);
    let expected = mid_seconds(integration) / 86_400.0;
    // Julian dates of this size are multiples of 2^-31 days in f64.
    assert!((day - expected).abs() <= 2f64.powi(-31), "{day} {expected}");
    assert_eq!(parameter(parameters, group, "INTTIM"), Some(10.0));
    let (number1, number2) = ((ant1 + 1) as f64, (ant2 + 1) as f64);
    let baseline = match uvw.nrows() {
        0..=255 => Some(256.0 * number1 + number2),
        256..=2047 => Some(2048.0 * number1 + number2 + 65_536.0),
        _ => None,
    };
    assert_eq!(parameter(parameters, group, "BASELINE"), baseline);
    let large = uvw.nrows() > 255;
    assert_eq!(parameter(parameters, group, "ANTENNA1"), large.then_some(number1));
    assert_eq!(parameter(parameters, group, "ANTENNA2"), large.then_some(number2));
    assert_eq!(parameter(parameters, group, "SUBARRAY"), large.then_some(1.0));
}

fn check_table(table: &Hdu, header: &UvfitsHeader) {
    assert_eq!(table.text("EXTNAME"), "AIPS AN");
    assert_eq!(table.number("NAXIS2") as usize, header.antennas.len());
    let width = table.number("NAXIS1") as usize;
    let columns: Vec<String> = (1..=9).map(|column| table.text(&format!("TTYPE{column}"))).collect();
    assert_eq!(columns[..4], ["ANNAME", "STABXYZ", "NOSTA", "MNTSTA"]);
    assert_eq!((table.text("TFORM1"), table.text("TFORM2")), ("8A".into(), "3D".into()));
    let [array_x, array_y, array_z] = header.array_position_m;
    let longitude = array_y.atan2(array_x);
    for (row, antenna) in table.data.chunks_exact(width).zip(&header.antennas) {
        assert_eq!(row[..8], *format!("{:\0<8}", antenna.name).as_bytes());
        let stored: Vec<f64> = row[8..32].chunks_exact(8).map(|b| f64::from_be_bytes(b.try_into().unwrap())).collect();
        // Back to geocentric axes.
        let x = array_x + stored[0] * longitude.cos() - stored[1] * longitude.sin();
        let y = array_y + stored[0] * longitude.sin() + stored[1] * longitude.cos();
        for (back, given) in [x, y, array_z + stored[2]].into_iter().zip(antenna.position_m) {
            assert!((back - given).abs() < 1e-8, "{back} {given}"); // f64 at the size of the Earth: 1e-9
        }
    }
    let number = i32::from_be_bytes(table.data[32..36].try_into().unwrap());
    assert_eq!(number, 1);
}

#[test]
fn every_value_of_a_file_is_the_one_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    for (antennas, pols, channels, integrations) in
        [(3, 2, 4, 3), (1, 1, 1, 1), (1, 2, 7, 2), (5, 1, 60, 2), (300, 1, 1, 1), (2, 2, 1536, 1)]
    {
        let header = header(antennas, pols, channels);
        let pairs = antennas * (antennas + 1) / 2;
        assert_eq!(write(&path, &header, integrations), (pairs * integrations) as u64);
        check(&path, &header, integrations);
    }
}

#[test]
fn arrays_at_the_limits_of_the_baseline_number_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    for antennas in [255, 256] {
        let header = header(antennas, 1, 1);
        write(&path, &header, 1);
        check(&path, &header, 1);
    }
    // 2047 and 2048 antennas: the header says which parameters there are, the file would be large.
    for (antennas, has_baseline) in [(2047, true), (2048, false)] {
        UvfitsWriter::create(&path, &header(antennas, 1, 1)).unwrap().finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        let primary = &hdus(&bytes)[0];
        let names: Vec<String> =
            (1..=primary.number("PCOUNT") as usize).map(|index| primary.text(&format!("PTYPE{index}"))).collect();
        assert_eq!(names.contains(&"BASELINE".into()), has_baseline);
        assert!(names.contains(&"ANTENNA2".into()));
    }
}

#[test]
fn the_header_is_the_golden_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    write(&path, &header(2, 2, 4), 1);
    let bytes = fs::read(&path).unwrap();
    let cards: Vec<String> = hdus(&bytes).iter().flat_map(|hdu| hdu.cards.clone()).collect();
    let golden = include_str!("golden.txt").replace("VERSION", env!("CARGO_PKG_VERSION"));
    let (sidereal, cards): (Vec<String>, Vec<String>) = cards.into_iter().partition(|card| card.starts_with("GSTIA0"));
    let actual = cards.iter().map(|card| card.trim_end()).collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(actual, golden, "the header is now:\n{actual}");
    // Apparent sidereal time of 2023-01-01 0h with UT1 - UTC = -0.0185 s, by astropy 8.0.2.
    let degrees: f64 = sidereal[0][10..].trim().parse().unwrap();
    assert!((degrees - 100.388_555_255_997_29).abs() < 1e-9, "{degrees}");
}

#[test]
fn a_file_without_integrations_has_no_groups_and_its_antenna_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    let header = header(4, 2, 16);
    assert_eq!(write(&path, &header, 0), 0);
    check(&path, &header, 0);
}

#[test]
fn values_that_are_not_finite_are_flagged_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvfits");
    let header = header(1, 1, 3);
    let mut writer = UvfitsWriter::create(&path, &header).unwrap();
    let values = Array2::from_shape_vec(
        (3, 1),
        vec![Complex::new(f32::NAN, 1.0), Complex::new(2.0, f32::INFINITY), Complex::new(3.0, 0.0)],
    );
    writer
        .write_integration(&UvfitsIntegration {
            mid_seconds: 0.0,
            integration_seconds: 1.0,
            visibilities: values.unwrap().view(),
            weights: Array1::from_elem(1, 7.0).view(),
            uvw_m: Array2::zeros((1, 3)).view(),
        })
        .unwrap();
    writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    let primary = &hdus(&bytes)[0];
    let start = primary.number("PCOUNT") as usize * 4;
    let data: Vec<f32> =
        primary.data[start..start + 36].chunks_exact(4).map(|b| f32::from_be_bytes(b.try_into().unwrap())).collect();
    assert_eq!(data, [0.0, 0.0, -7.0, 0.0, 0.0, -7.0, 3.0, 0.0, 7.0]);
}
