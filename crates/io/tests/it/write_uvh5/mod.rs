//! UVH5 files, read back by the reader of `rust-hdf5`; tests/python/check_uvh5.py reads them with h5py and pyuvdata.
#![allow(clippy::unwrap_used, clippy::panic)] // also in the functions that the tests share

mod join;
mod killed;
mod refused;
mod signs;

use std::path::Path;

use fringes_delay_model::{AntennaArray, Enu, Epoch, Geometry, Site, Source};
use fringes_io::write::{Uvh5Writer, VisibilityCube, VisibilityHeader, VisibilityIntegration};
use fringes_types::{BaselineOrder, Complex, Frequencies, Inputs, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};
use rust_hdf5::{Complex32, H5File};

const RATE_HZ: f64 = 1e6;
const SPECTRA: u64 = 250;
const SPACING: u64 = 64;
/// The sample that was taken at the epoch, and the first of the first dump.
const EPOCH_SAMPLE: u64 = 1 << 40;
const FIRST: u64 = EPOCH_SAMPLE + 123_456;
const LENGTH_S: f64 = (SPECTRA * SPACING) as f64 / RATE_HZ;
/// Julian date of the epoch's midnight.
const MIDNIGHT: f64 = 2_400_000.5 + 61_000.0;

fn array(antennas: usize) -> AntennaArray {
    let site = Site::from_degrees(-30.7128, 21.4438, 1053.0).unwrap();
    let place = |index: usize| Enu { east_m: 35.0 * index as f64, north_m: (index * index) as f64 - 7.0, up_m: 0.5 };
    AntennaArray::from_enu((0..antennas).map(place).collect(), site).unwrap()
}

fn geometry(antennas: usize) -> Geometry {
    let source = Source::RaDec { ra_rad: 1.25, dec_rad: -0.7 };
    Geometry::new(&array(antennas), source, Epoch { mjd_day: 61_000, seconds: 86_390.0 }).unwrap()
}

fn frequencies() -> Frequencies {
    Frequencies { first_hz: 1.3e9, step_hz: 250e3 }
}

fn header(antennas: usize, pols: usize, channels: usize) -> VisibilityHeader {
    let inputs = Inputs::new(antennas, pols).unwrap();
    let header = VisibilityHeader::new(&array(antennas), &geometry(antennas), inputs, channels, frequencies()).unwrap();
    VisibilityHeader { telescope: "Test array".into(), source: "3C 286".into(), ..header }
}

/// A dump whose values tell their place. Baselines have fewer valid samples the higher their number, and none at last.
fn dump(header: &VisibilityHeader, number: u64) -> Visibilities<Complex<i64>> {
    let (inputs, channels) = (header.inputs, header.channels);
    let baselines = inputs.triangle_len();
    let sums = Array2::from_shape_fn((channels, baselines), |(channel, baseline)| {
        Complex::new((channel * 1000 + baseline) as i64 + 100_000 * number as i64, baseline as i64 - 7)
    });
    let first_sample = FIRST + number * SPECTRA * SPACING;
    let clock = SpectrumClock { first_sample, samples_between_spectra: SPACING, sample_rate_hz: RATE_HZ };
    let valid = Array1::from_shape_fn(baselines, |baseline| SPECTRA.saturating_sub(100 * baseline as u64));
    Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, SPECTRA, frequencies(), clock).unwrap()
}

/// Middle of a dump in seconds after the epoch.
fn middle(number: u64) -> f64 {
    (123_456 + (2 * number + 1) * SPECTRA * SPACING / 2) as f64 / RATE_HZ
}

/// What is in a file.
struct Read(H5File);

impl Read {
    fn open(path: &Path) -> Self {
        Self(H5File::open(path).unwrap())
    }

    fn floats(&self, name: &str) -> Vec<f64> {
        self.0.dataset(&format!("Header/{name}")).unwrap().read_raw::<f64>().unwrap()
    }

    fn integers(&self, name: &str) -> Vec<i64> {
        self.0.dataset(&format!("Header/{name}")).unwrap().read_raw::<i64>().unwrap()
    }

    fn visibilities(&self) -> Vec<Complex<f32>> {
        let values = self.0.dataset("Data/visdata").unwrap().read_raw::<Complex32>().unwrap();
        values.into_iter().map(|value| Complex::new(value.re, value.im)).collect()
    }

    fn samples(&self) -> Vec<f32> {
        self.0.dataset("Data/nsamples").unwrap().read_raw::<f32>().unwrap()
    }

    fn flags(&self) -> Vec<bool> {
        let flags = self.0.dataset("Data/flags").unwrap().read_raw::<u8>().unwrap();
        flags.into_iter().map(|flag| flag != 0).collect()
    }
}

/// Checks everything in a file of so many [`dump`]s.
fn check(path: &Path, header: &VisibilityHeader, dumps: u64) {
    let file = Read::open(path);
    let (antennas, pols, channels) = (header.inputs.antennas(), header.inputs.pols(), header.channels);
    let pairs: Vec<_> = (0..antennas).flat_map(|ant1| (ant1..antennas).map(move |ant2| (ant1, ant2))).collect();
    let rows = pairs.len() * dumps as usize;
    assert_eq!(file.integers("Nblts"), [rows as i64]);
    assert_eq!(file.integers("Ntimes"), [dumps as i64]);
    let shape = file.0.dataset("Data/visdata").unwrap().shape();
    assert_eq!(shape, [rows, channels, pols * pols]);
    let (visibilities, samples, flags) = (file.visibilities(), file.samples(), file.flags());
    let (times, lengths, uvw) = (file.floats("time_array"), file.floats("integration_time"), file.floats("uvw_array"));
    let (first, second) = (file.integers("ant_1_array"), file.integers("ant_2_array"));
    let mut values = visibilities.iter().zip(&samples).zip(&flags);
    for number in 0..dumps {
        let dump = dump(header, number);
        let places = geometry(antennas).uvw(middle(number)).unwrap();
        for (at, &(ant1, ant2)) in pairs.iter().enumerate() {
            let row = number as usize * pairs.len() + at;
            assert_eq!((first[row], second[row]), (ant1 as i64 + 1, ant2 as i64 + 1));
            let seconds = (times[row] - MIDNIGHT) * 86_400.0;
            assert!((seconds - 86_390.0 - middle(number)).abs() < 4e-5, "{seconds}");
            assert_eq!(lengths[row], LENGTH_S);
            for axis in 0..3 {
                assert_eq!(uvw[3 * row + axis], places[ant2][axis] - places[ant1][axis]);
            }
            for channel in 0..channels {
                for (pol1, pol2) in [(0, 0), (1, 1), (0, 1), (1, 0)].into_iter().take(pols * pols) {
                    let (a, b) = (ant1 * pols + pol1, ant2 * pols + pol2);
                    let baseline = a.max(b) * (a.max(b) + 1) / 2 + a.min(b);
                    let held = dump.data()[(channel, baseline)];
                    let held = Complex::new(held.re as f32, held.im as f32);
                    // Held is x_high conj(x_low), and the file has conj(x_a) x_b.
                    let expected = if b >= a { held } else { held.conj() };
                    let expected = if a == b { held.conj() } else { expected };
                    let valid = dump.valid_samples()[baseline] as f32;
                    let ((&value, &samples), &flag) = values.next().unwrap();
                    assert_eq!((value, samples, flag), (expected, valid, valid == 0.0), "{row} {channel} {a} {b}");
                }
            }
        }
    }
}

#[test]
fn every_value_of_a_file_is_the_one_given() {
    let folder = tempfile::tempdir().unwrap();
    for (at, (antennas, pols, channels, dumps)) in
        [(3, 2, 4, 3), (1, 1, 1, 1), (1, 2, 7, 2), (5, 1, 60, 70), (30, 1, 2, 2), (2, 2, 9000, 5)]
            .into_iter()
            .enumerate()
    {
        let path = folder.path().join(format!("{at}.uvh5"));
        let header = header(antennas, pols, channels);
        let mut writer = Uvh5Writer::create(&path, &header).unwrap();
        for number in 0..dumps {
            writer.append_dump(&dump(&header, number), &geometry(antennas), EPOCH_SAMPLE).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), dumps);
        check(&path, &header, dumps);
    }
}

#[test]
fn dumps_cubes_and_integrations_make_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (header, geometry) = (header(3, 2, 4), geometry(3));
    for (name, order) in [("dumps", BaselineOrder::Triangle), ("pairs", BaselineOrder::AntennaPairs)] {
        let mut writer = Uvh5Writer::create(&path(name), &header).unwrap();
        for number in 0..3 {
            let dump = dump(&header, number).reordered(order).unwrap();
            writer.append_dump(&dump, &geometry, EPOCH_SAMPLE).unwrap();
        }
        writer.finish().unwrap();
    }
    let mut cube = VisibilityCube::new(header.inputs, 4, frequencies()).unwrap();
    (0..3).for_each(|number| cube.push_dump(middle(number), &dump(&header, number)).unwrap());
    let mut writer = Uvh5Writer::create(&path("cube"), &header).unwrap();
    writer.append_cube(&cube, &geometry, LENGTH_S).unwrap();
    writer.finish().unwrap();
    let mut writer = Uvh5Writer::create(&path("parts"), &header).unwrap();
    for number in 0..3 {
        let uvw = geometry.uvw(middle(number)).unwrap();
        let uvw = Array2::from_shape_fn((3, 3), |(antenna, axis)| uvw[antenna][axis]);
        let (visibilities, weights) = (cube.data(), cube.weight());
        let integration = VisibilityIntegration {
            mid_seconds: 86_390.0 + middle(number),
            integration_seconds: LENGTH_S,
            visibilities: visibilities.index_axis(ndarray::Axis(0), number as usize),
            weights: weights.row(number as usize),
            uvw_m: uvw.view(),
        };
        writer.append_integration(&integration).unwrap();
    }
    writer.finish().unwrap();
    let dumps = std::fs::read(path("dumps")).unwrap();
    for name in ["pairs", "cube"] {
        assert!(std::fs::read(path(name)).unwrap() == dumps, "{name}");
    }
    check(&path("parts"), &header, 3);
    // Angles count from the header's midnight there, and from the geometry's epoch here: other roundings of times.
    let (parts, dumps) = (Read::open(&path("parts")), Read::open(&path("dumps")));
    for name in ["lst_array", "phase_center_app_ra", "phase_center_app_dec", "phase_center_frame_pa"] {
        for (one, other) in parts.floats(name).into_iter().zip(dumps.floats(name)) {
            assert!((one - other).abs() < 1e-11, "{name} {one} {other}");
        }
    }
}

#[test]
fn a_dump_with_nothing_in_it_keeps_its_time_and_is_flagged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(2, 1, 3);
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    let full = dump(&header, 0);
    writer.append_dump(&full, &geometry(2), EPOCH_SAMPLE).unwrap();
    let clock = SpectrumClock { first_sample: FIRST + SPECTRA * SPACING, ..full.clock() };
    let (sums, none) = (Array2::<Complex<i64>>::zeros((3, 3)), Array1::zeros(3));
    let order = BaselineOrder::Triangle;
    let empty = Visibilities::new(sums, header.inputs, order, none, SPECTRA, frequencies(), clock).unwrap();
    writer.append_dump(&empty, &geometry(2), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    let file = Read::open(&path);
    let (flags, samples) = (file.flags(), file.samples());
    assert_eq!(flags[9..], [true; 9]);
    assert_eq!(samples[9..], [0.0; 9]);
    assert_eq!(flags[..9], [false; 9]);
    assert_eq!(samples[..9], [250.0, 250.0, 250.0, 150.0, 150.0, 150.0, 50.0, 50.0, 50.0]);
    let seconds = (file.floats("time_array")[3] - MIDNIGHT) * 86_400.0;
    assert!((seconds - 86_390.0 - middle(1)).abs() < 4e-5);
}

#[test]
fn values_that_are_not_finite_are_flagged_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let mut writer = Uvh5Writer::create(&path, &header(1, 1, 3)).unwrap();
    let values = vec![Complex::new(f32::NAN, 1.0), Complex::new(2.0, f32::INFINITY), Complex::new(3.0, 0.0)];
    let values = Array2::from_shape_vec((3, 1), values).unwrap();
    let (weights, uvw) = (Array1::from_elem(1, 7.0), Array2::zeros((1, 3)));
    let integration = VisibilityIntegration {
        mid_seconds: 0.0,
        integration_seconds: 1.0,
        visibilities: values.view(),
        weights: weights.view(),
        uvw_m: uvw.view(),
    };
    writer.append_integration(&integration).unwrap();
    writer.finish().unwrap();
    let file = Read::open(&path);
    assert_eq!(file.visibilities(), [0.0, 0.0, 3.0].map(|re| Complex::new(re, 0.0)));
    assert_eq!((file.flags(), file.samples()), (vec![true, true, false], vec![7.0; 3]));
}

#[test]
fn a_file_goes_on_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(3, 2, 5);
    let append = |writer: &mut Uvh5Writer, number| {
        writer.append_dump(&dump(&header, number), &geometry(3), EPOCH_SAMPLE).unwrap();
    };
    let mut writer = Uvh5Writer::create(&path, &header).unwrap();
    assert_eq!((writer.integrations(), writer.last_mid_seconds()), (0, None));
    (0..2).for_each(|number| append(&mut writer, number));
    writer.flush().unwrap();
    append(&mut writer, 2); // never flushed
    assert_eq!(writer.integrations(), 3);
    drop(writer);
    check(&path, &header, 2);
    // After midnight, with another UT1 - UTC.
    let tomorrow = VisibilityHeader { reference_mjd_day: 61_001, ut1_minus_utc_s: 0.01, ..header.clone() };
    let mut writer = Uvh5Writer::resume(&path, &tomorrow).unwrap();
    assert_eq!(writer.integrations(), 2);
    let last = writer.last_mid_seconds().unwrap();
    assert!((last - (middle(1) - 10.0)).abs() < 4e-5, "{last}");
    (2..40).for_each(|number| append(&mut writer, number));
    assert_eq!(writer.finish().unwrap(), 40);
    check(&path, &header, 40);
    assert_eq!(Uvh5Writer::resume(&path, &header).unwrap().finish().unwrap(), 40);
    check(&path, &header, 40);
}

#[test]
fn a_file_without_integrations_is_whole_and_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.uvh5");
    let header = header(3, 2, 5);
    assert_eq!(Uvh5Writer::create(&path, &header).unwrap().finish().unwrap(), 0);
    assert_eq!(Read::open(&path).integers("Nblts"), [0]);
    let mut writer = Uvh5Writer::resume(&path, &header).unwrap();
    assert_eq!(writer.last_mid_seconds(), None);
    writer.append_dump(&dump(&header, 0), &geometry(3), EPOCH_SAMPLE).unwrap();
    writer.finish().unwrap();
    check(&path, &header, 1);
}
