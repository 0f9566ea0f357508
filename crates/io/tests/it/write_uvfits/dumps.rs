//! Dumps and cubes with a geometry make the file that their parts make.

use std::fs;
use std::path::Path;

use fringes_delay_model::{AntennaArray, Enu, Epoch, Geometry, Site, Source};
use fringes_io::IoError;
use fringes_io::write::{UvfitsHeader, UvfitsIntegration, UvfitsWriter, VisibilityCube};
use fringes_types::{BaselineOrder, Complex, Frequencies, Inputs, MaskedSamples, SpectrumClock, Visibilities};
use ndarray::{Array1, Array2};

const RATE_HZ: f64 = 1e6;
const SPECTRA: u64 = 250;
const SPACING: u64 = 64;
/// The sample that was taken at the epoch, and the first of the first dump.
const EPOCH_SAMPLE: u64 = 1 << 40;
const FIRST: u64 = EPOCH_SAMPLE + 123_456;

fn array() -> AntennaArray {
    let site = Site::from_degrees(-30.7128, 21.4438, 1053.0).unwrap();
    let enu = |east_m, north_m| Enu { east_m, north_m, up_m: 0.5 };
    AntennaArray::from_enu(vec![enu(0.0, 0.0), enu(350.0, -120.0), enu(-80.0, 410.0)], site).unwrap()
}

fn geometry(source: Source) -> Geometry {
    Geometry::new(&array(), source, Epoch { mjd_day: 61_000, seconds: 86_390.0 }).unwrap()
}

fn star() -> Geometry {
    geometry(Source::RaDec { ra_rad: 1.25, dec_rad: -0.7 })
}

fn frequencies() -> Frequencies {
    Frequencies { first_hz: 1.3e9, step_hz: 250e3 }
}

fn header(geometry: &Geometry) -> UvfitsHeader {
    UvfitsHeader::new(&array(), geometry, Inputs::new(3, 2).unwrap(), 4, frequencies()).unwrap()
}

fn dump(number: u64) -> Visibilities<Complex<i64>> {
    let inputs = Inputs::new(3, 2).unwrap();
    let sums = Array2::from_shape_fn((4, 21), |(channel, baseline)| {
        Complex::new((channel * 100 + baseline) as i64 + 1000 * number as i64, baseline as i64 - 7)
    });
    let first_sample = FIRST + number * SPECTRA * SPACING;
    let clock = SpectrumClock { first_sample, samples_between_spectra: SPACING, sample_rate_hz: RATE_HZ };
    let valid = Array1::from_shape_fn(21, |baseline| SPECTRA - baseline as u64);
    Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, SPECTRA, frequencies(), clock).unwrap()
}

/// Middle of a dump in seconds after the epoch.
fn middle(number: u64) -> f64 {
    (123_456 + (2 * number + 1) * SPECTRA * SPACING / 2) as f64 / RATE_HZ
}

const LENGTH_S: f64 = (SPECTRA * SPACING) as f64 / RATE_HZ;

/// The file that the parts make.
fn by_hand(path: &Path) {
    let geometry = star();
    let mut writer = UvfitsWriter::create(path, &header(&geometry)).unwrap();
    for number in 0..3 {
        let dump = dump(number);
        let uvw = geometry.uvw(middle(number)).unwrap();
        writer
            .write_integration(&UvfitsIntegration {
                mid_seconds: 86_390.0 + middle(number),
                integration_seconds: LENGTH_S,
                visibilities: dump.data().map(|sum| Complex::new(sum.re as f32, sum.im as f32)).view(),
                weights: dump.valid_samples().map(|&valid| valid as f32).view(),
                uvw_m: Array2::from_shape_fn((3, 3), |(antenna, axis)| uvw[antenna][axis]).view(),
            })
            .unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn dumps_and_cubes_are_written_as_their_parts_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    by_hand(&path("parts"));
    let geometry = star();
    // In any order of baselines.
    for (name, order) in [("dumps", BaselineOrder::Triangle), ("pairs", BaselineOrder::AntennaPairs)] {
        let mut writer = UvfitsWriter::create(&path(name), &header(&geometry)).unwrap();
        for number in 0..3 {
            writer.write_dump(&dump(number).reordered(order).unwrap(), &geometry, EPOCH_SAMPLE).unwrap();
        }
        assert_eq!(writer.finish().unwrap(), 18);
    }
    let mut cube = VisibilityCube::new(Inputs::new(3, 2).unwrap(), 4, frequencies()).unwrap();
    (0..3).for_each(|number| cube.push_dump(middle(number), &dump(number)).unwrap());
    let mut writer = UvfitsWriter::create(&path("cube"), &header(&geometry)).unwrap();
    writer.write_cube(&cube, &geometry, LENGTH_S).unwrap();
    writer.finish().unwrap();
    let parts = fs::read(path("parts")).unwrap();
    for name in ["dumps", "cube", "pairs"] {
        assert!(fs::read(path(name)).unwrap() == parts, "{name}");
    }
}

#[test]
fn weights_of_masked_channels_are_what_is_left_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let geometry = star();
    // Channel 1 lost 30 spectra, baseline 4 two more; channel 3 all.
    let masked = |number: u64| {
        let mut of_baselines = Array2::zeros((4, 21));
        of_baselines[(1, 4)] = 2;
        let counts = MaskedSamples::new(Array1::from(vec![0, 30, 0, SPECTRA]), Some(of_baselines)).unwrap();
        dump(number).with_masked_samples(counts).unwrap()
    };
    let write = |name: &str, of: &dyn Fn(u64) -> Visibilities<Complex<i64>>| {
        let mut writer = UvfitsWriter::create(&path(name), &header(&geometry)).unwrap();
        (0..3).for_each(|number| writer.write_dump(&of(number), &geometry, EPOCH_SAMPLE).unwrap());
        writer.finish().unwrap();
        fs::read(path(name)).unwrap()
    };
    let plain = write("plain", &dump);
    // The second of three dumps is masked.
    let some = |number| if number == 1 { masked(number) } else { dump(number) };
    let file = write("masked", &some);
    assert_eq!(file, write("pairs", &|number| some(number).reordered(BaselineOrder::AntennaPairs).unwrap()));
    // Weights differ and nothing else: those of channels 1 and 3 of each of 6 groups of 4 products.
    let words =
        |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks::<4>().0.iter().map(|&word| f32::from_be_bytes(word)).collect() };
    assert_eq!(file.len(), plain.len());
    let changed: Vec<(f32, f32)> = words(&plain)
        .into_iter()
        .zip(words(&file))
        .filter(|(before, after)| before.to_bits() != after.to_bits())
        .collect();
    assert_eq!(changed.len(), 2 * 6 * 4);
    let spectra = |baseline: u64| (SPECTRA - baseline) as f32;
    for (before, after) in changed {
        let expected = if before == spectra(4) { before - 32.0 } else { before - 30.0 };
        assert!(after == expected || after == 0.0, "{before} became {after}");
    }
    // A cube of the same dumps gives the same file.
    let mut cube = VisibilityCube::new(Inputs::new(3, 2).unwrap(), 4, frequencies()).unwrap();
    for number in 0..3 {
        cube.push_dump(middle(number), &some(number)).unwrap();
        assert_eq!(cube.channel_weight().is_some(), number > 0);
    }
    let weights = cube.channel_weight().unwrap();
    assert_eq!((weights[(0, 3, 2)], weights[(1, 1, 4)], weights[(1, 3, 2)]), (spectra(2), spectra(36), 0.0));
    assert_eq!((weights.dim(), cube.weight()[(1, 4)]), ((3, 4, 21), spectra(4)));
    let mut writer = UvfitsWriter::create(&path("cube"), &header(&geometry)).unwrap();
    writer.write_cube(&cube, &geometry, LENGTH_S).unwrap();
    writer.finish().unwrap();
    assert!(fs::read(path("cube")).unwrap() == file);
}

#[test]
fn a_header_has_the_places_of_the_array_and_of_the_source() {
    let header = header(&star());
    let itrf = array().itrf().unwrap();
    for (antenna, at) in header.antennas.iter().zip(itrf) {
        assert_eq!(antenna.position_m, [at.x_m, at.y_m, at.z_m]);
    }
    assert_eq!(header.antennas[2].name, "ant2");
    assert_eq!((header.phase_centre_ra_rad, header.phase_centre_dec_rad), (1.25, -0.7));
    assert_eq!(header.reference_mjd_day, 61_000);
    // Names that are alike in their first 8 characters are numbered.
    let named = |names: [&str; 2]| {
        let table = format!("# enu -30 21 1000\n{} 0 0 0\n{} 1 0 0", names[0], names[1]);
        let array: AntennaArray = table.parse().unwrap();
        let source = Source::RaDec { ra_rad: 0.0, dec_rad: 0.0 };
        let geometry = Geometry::new(&array, source, Epoch { mjd_day: 61_000, seconds: 0.0 }).unwrap();
        let header = UvfitsHeader::new(&array, &geometry, Inputs::new(2, 1).unwrap(), 1, frequencies()).unwrap();
        header.antennas.into_iter().map(|antenna| antenna.name).collect::<Vec<_>>()
    };
    assert_eq!(named(["north_arm_1", "north_arm_2"]), ["ant1", "ant2"]);
    assert_eq!(named(["east_arm_1", "b"]), ["east_arm", "b"]);
}

#[test]
fn what_has_no_place_in_time_or_on_the_sky_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let overhead = geometry(Source::AzEl { azimuth_rad: 0.3, elevation_rad: 1.0 });
    let inputs = Inputs::new(3, 2).unwrap();
    let error = UvfitsHeader::new(&array(), &overhead, inputs, 4, frequencies()).unwrap_err();
    assert!(matches!(error, IoError::MovingPhaseCentre { .. }), "{error}");
    let there = UvfitsHeader::new(&array(), &overhead.on_the_sky(0.0).unwrap(), inputs, 4, frequencies());
    assert!(there.is_ok());

    let path = folder.path().join("file");
    let mut writer = UvfitsWriter::create(&path, &header(&star())).unwrap();
    let unset = dump(0).with_clock(SpectrumClock::default()).unwrap();
    assert!(matches!(writer.write_dump(&unset, &star(), 0), Err(IoError::UnsetSampleRate)));
    let one = Inputs::new(6, 1).unwrap();
    let clock = dump(0).clock();
    let of = |inputs, frequencies| {
        let (sums, valid) = (dump(0).into_data(), Array1::from_elem(21, 1));
        Visibilities::new(sums, inputs, BaselineOrder::Triangle, valid, 1, frequencies, clock).unwrap()
    };
    for other in [of(one, frequencies()), of(inputs, Frequencies { first_hz: 1.0, ..frequencies() })] {
        assert!(matches!(writer.write_dump(&other, &star(), 0), Err(IoError::Axis { .. })));
    }
    // A geometry of other antennas.
    let few = AntennaArray::from_enu(vec![Enu { east_m: 0.0, north_m: 0.0, up_m: 0.0 }], array().site().unwrap());
    let source = Source::RaDec { ra_rad: 0.0, dec_rad: 0.0 };
    let few = Geometry::new(&few.unwrap(), source, Epoch { mjd_day: 61_000, seconds: 0.0 }).unwrap();
    assert!(matches!(writer.write_dump(&dump(0), &few, EPOCH_SAMPLE), Err(IoError::Types(_))));
    assert_eq!(writer.finish().unwrap(), 0);
}
