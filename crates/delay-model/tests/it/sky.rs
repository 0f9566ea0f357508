//! Directions, sidereal time and uvw against numbers that other programs computed (`golden/make_golden.py` writes them)
//! and against the printed example of the SOFA manual.

#![allow(clippy::unwrap_used)] // helpers of tests

use approx::assert_abs_diff_eq;
use fringes_delay_model::{
    AntennaArray, EarthOrientation, Enu, Epoch, Geometry, Itrf, Pointing, SPEED_OF_LIGHT_M_PER_S, Site, Source,
};
use proptest::prelude::*;

const ARCSEC: f64 = std::f64::consts::PI / 648_000.0;
const BASELINE: Enu = Enu { east_m: 1234.5, north_m: -678.9, up_m: 12.3 };

fn rows<const N: usize>(text: &str) -> Vec<[f64; N]> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let numbers: Vec<f64> = line.split_whitespace().map(|field| field.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    })
    .collect()
}

/// The distance of two angles around the circle.
fn apart(a: f64, b: f64) -> f64 {
    (a - b).sin().atan2((a - b).cos()).abs()
}

#[test]
fn directions_agree_with_astropy_to_1e_10_radians() {
    let rows = rows::<21>(include_str!("../golden/directions.txt"));
    assert_eq!(rows.len(), 80);
    for row in rows {
        let [lat, lon, height, ra_rad, dec_rad, day, seconds, dut1_seconds, polar_x_rad, polar_y_rad, ..] = row;
        let site = Site::from_degrees(lat, lon, height).unwrap();
        let source = Source::RaDec { ra_rad, dec_rad };
        let orientation = EarthOrientation { dut1_seconds, polar_x_rad, polar_y_rad };
        let epoch = Epoch { mjd_day: day as i64, seconds };
        let pointing = Pointing::new(site, source, epoch).unwrap().with_orientation(orientation).unwrap();
        let direction = pointing.direction(0.0).unwrap();
        let tolerance = 1e-10;
        let [azimuth, elevation, hour_angle, declination, sidereal] = [row[10], row[11], row[12], row[13], row[14]];
        assert!(apart(direction.azimuth_rad(), azimuth) * elevation.cos() < tolerance, "azimuth {row:?}");
        assert!(apart(direction.elevation_rad(), elevation) < tolerance, "elevation {row:?}");
        assert!(apart(direction.hour_angle_rad(), hour_angle) * declination.cos() < tolerance, "hour angle {row:?}");
        assert!(apart(direction.declination_rad(), declination) < tolerance, "declination {row:?}");
        let found = pointing.local_sidereal_time_rad(0.0).unwrap();
        assert!(apart(found, sidereal) < tolerance, "sidereal time {found} {row:?}");

        let itrf = site.itrf().unwrap();
        assert_abs_diff_eq!(itrf.x_m, row[15], epsilon = 1e-8);
        assert_abs_diff_eq!(itrf.y_m, row[16], epsilon = 1e-8);
        assert_abs_diff_eq!(itrf.z_m, row[17], epsilon = 1e-8);

        let array = AntennaArray::from_enu(vec![BASELINE], site).unwrap();
        let geometry = Geometry::new(&array, source, epoch).unwrap().with_orientation(orientation).unwrap();
        let [u, v, w] = geometry.uvw(0.0).unwrap()[0];
        // The axis of north was found by a step of 1e-5 rad, which costs 1e-9 of the length at most (here and there).
        let tolerance = 1410.0 * 1e-9;
        assert_abs_diff_eq!(u, row[18], epsilon = tolerance);
        assert_abs_diff_eq!(v, row[19], epsilon = tolerance);
        assert_abs_diff_eq!(w, row[20], epsilon = tolerance);
        let delays = geometry.geometric_delays(0.0).unwrap();
        assert_abs_diff_eq!(
            (delays.seconds[0] - delays.offset_seconds) * SPEED_OF_LIGHT_M_PER_S,
            row[20],
            epsilon = 1410.0 * 1e-10
        );
    }
}

#[test]
fn uvw_agree_with_pyuvdata_to_the_error_of_its_position_angle() {
    let rows = rows::<10>(include_str!("../golden/uvw.txt"));
    assert_eq!(rows.len(), 48);
    for row in rows {
        let [lat, lon, height, ra_rad, dec_rad, day, seconds, ..] = row;
        let site = Site::from_degrees(lat, lon, height).unwrap();
        let array = AntennaArray::from_enu(vec![BASELINE], site).unwrap();
        let epoch = Epoch { mjd_day: day as i64, seconds };
        let geometry = Geometry::new(&array, Source::RaDec { ra_rad, dec_rad }, epoch).unwrap();
        let found = geometry.uvw(0.0).unwrap()[0];
        // w has no position angle in it. pyuvdata finds the angle of north at the lower end of a step of 1e-7 rad
        // instead of its middle, up to 1e-7 tan(dec) off, with roundings of right ascension (1e-15) over the
        // step.
        let rotation = 1e-7 * dec_rad.tan().abs() + 3e-8;
        for (index, tolerance) in [rotation, rotation, 1e-10].into_iter().enumerate() {
            let (found, expected) = (found[index], row[7 + index]);
            assert!((found - expected).abs() < 1410.0 * tolerance, "{index}: {found} {row:?}");
        }
    }
}

#[test]
fn the_printed_example_of_the_sofa_manual_comes_out() {
    // ICRS place with proper motion already applied; prints 14 34 20.2570287, -12 34 36.141207 for CIRS to topocentric.
    let site = Site {
        latitude_rad: -(15.0 + 57.0 / 60.0 + 42.8 / 3600.0_f64).to_radians(),
        longitude_rad: -(5.0 + 41.0 / 60.0 + 54.2 / 3600.0_f64).to_radians(),
        height_m: 625.0,
    };
    let source = Source::parse_radec("14:34:16.4960283", "-12:31:02.523786").unwrap();
    let epoch: Epoch = "2013-04-02T23:15:43.55".parse().unwrap();
    let orientation =
        EarthOrientation { dut1_seconds: 0.1550675, polar_x_rad: 50.995e-3 * ARCSEC, polar_y_rad: 376.723e-3 * ARCSEC };
    let pointing = Pointing::new(site, source, epoch).unwrap().with_orientation(orientation).unwrap();
    let direction = pointing.direction(0.0).unwrap();

    // The manual's right ascension counts from the CIO: the local Earth rotation angle minus the hour angle. The local
    // angle is where the meridian of the site, tilted by polar motion, meets the equator of the celestial pole.
    let ut1_days = (epoch.mjd_day as f64 - 51_544.5) + (epoch.seconds + orientation.dut1_seconds) / 86_400.0;
    let rotation = std::f64::consts::TAU * (0.779_057_273_264 + 1.002_737_811_911_354_6 * ut1_days).rem_euclid(1.0);
    let tio = -47e-6 * ARCSEC * ut1_days / 36_525.0; // s'
    let ((s, c), (sx, cx), (sy, cy)) =
        ((rotation + tio).sin_cos(), orientation.polar_x_rad.sin_cos(), orientation.polar_y_rad.sin_cos());
    let (sin_lon, cos_lon) = site.longitude_rad.sin_cos();
    let x = cos_lon * cx * c + sin_lon * (sy * sx * c - cy * s);
    let y = cos_lon * cx * s + sin_lon * (cy * c + sy * sx * s);
    let right_ascension = y.atan2(x) - direction.hour_angle_rad();
    let printed_ra = (14.0 + 34.0 / 60.0 + 20.257_028_7 / 3600.0_f64) * 15.0;
    let printed_dec = -(12.0 + 34.0 / 60.0 + 36.141_207 / 3600.0_f64);
    // The manual applies diurnal aberration (1.5e-6) to a direction that has annual aberration (1e-4); here both
    // velocities are added first. The two ways differ by up to their product, the printed digits by 1e-11.
    let tolerance = 1e-4 * 1.55e-6;
    assert!(apart(right_ascension, printed_ra.to_radians()) < tolerance);
    assert!(apart(direction.declination_rad(), printed_dec.to_radians()) < tolerance);
}

#[test]
fn positions_survive_the_way_there_and_back() {
    for (latitude, longitude) in [(-30.7, 21.4), (89.999, -170.0), (0.0, 0.0), (-90.0, 12.0), (45.0, 180.0)] {
        let site = Site::from_degrees(latitude, longitude, 1053.0).unwrap();
        let back = Site::from_itrf(site.itrf().unwrap()).unwrap();
        assert_abs_diff_eq!(back.latitude_rad, site.latitude_rad, epsilon = 1e-15);
        assert_abs_diff_eq!(back.height_m, site.height_m, epsilon = 1e-8);
        let enu = site.itrf_to_enu(site.enu_to_itrf(BASELINE).unwrap()).unwrap();
        assert_abs_diff_eq!(enu.east_m, BASELINE.east_m, epsilon = 1e-8);
        assert_abs_diff_eq!(enu.north_m, BASELINE.north_m, epsilon = 1e-8);
        assert_abs_diff_eq!(enu.up_m, BASELINE.up_m, epsilon = 1e-8);
    }
    // On the equator at longitude 0: up is x, east is y, north is z.
    let site = Site::from_degrees(0.0, 0.0, 0.0).unwrap();
    let itrf = site.enu_to_itrf(Enu { east_m: 1.0, north_m: 2.0, up_m: 3.0 }).unwrap();
    assert_abs_diff_eq!(itrf.x_m, 6_378_140.0, epsilon = 1e-8);
    assert_abs_diff_eq!(itrf.y_m, 1.0, epsilon = 1e-8);
    assert_abs_diff_eq!(itrf.z_m, 2.0, epsilon = 1e-8);
    for (x_m, y_m) in [(0.0, 0.0), (f64::NAN, 0.0), (1e9, 0.0)] {
        assert!(Site::from_itrf(Itrf { x_m, y_m, z_m: 0.0 }).is_err());
    }
}

#[test]
fn hour_angle_sources_move_west_at_the_earths_rate_and_azel_sources_stand_still() {
    let site = Site::from_degrees(-30.7, 21.4, 1000.0).unwrap();
    let epoch = Epoch { mjd_day: 60_000, seconds: 0.0 };
    let source = Source::HourAngle { hour_angle_rad: -0.3, dec_rad: -0.5 };
    let pointing = Pointing::new(site, source, epoch).unwrap();
    let at = |seconds| pointing.direction(seconds).unwrap();
    assert_abs_diff_eq!(at(0.0).hour_angle_rad(), -0.3, epsilon = 1e-15);
    // A sidereal day (of UT1) later it is back; a sixth of one later it has moved by 60 degrees.
    let sidereal_day = 86_164.098_903_691;
    assert_abs_diff_eq!(at(sidereal_day).hour_angle_rad(), -0.3, epsilon = 1e-12);
    assert_abs_diff_eq!(at(sidereal_day / 6.0).hour_angle_rad(), -0.3 + 60f64.to_radians(), epsilon = 1e-12);
    assert_abs_diff_eq!(at(1e4).declination_rad(), -0.5, epsilon = 1e-15);

    let source = Source::AzEl { azimuth_rad: 2.0, elevation_rad: 0.7 };
    let pointing = Pointing::new(site, source, epoch).unwrap();
    for seconds in [0.0, 1e4] {
        let direction = pointing.direction(seconds).unwrap();
        assert_abs_diff_eq!(direction.azimuth_rad(), 2.0, epsilon = 1e-14);
        assert_abs_diff_eq!(direction.elevation_rad(), 0.7, epsilon = 1e-14);
    }
}

#[test]
fn a_leap_second_does_not_make_the_sky_jump() {
    let site = Site::from_degrees(34.0, -107.6, 2115.0).unwrap();
    let source = Source::parse_radec("05:34:31.95", "22:00:52.2").unwrap();
    // UT1 - UTC jumps with UTC: the same instant has 0.6 s more after the leap second at the end of 2016.
    let before = Pointing::new(site, source, "2016-12-31T23:59:58".parse().unwrap()).unwrap();
    let after = Pointing::new(site, source, "2017-01-01T00:00:01".parse().unwrap()).unwrap();
    let dut1 = |dut1_seconds| EarthOrientation { dut1_seconds, ..EarthOrientation::default() };
    let before = before.with_orientation(dut1(-0.4)).unwrap().direction(4.0).unwrap();
    let after = after.with_orientation(dut1(0.6)).unwrap().direction(0.0).unwrap();
    for (before, after) in before.itrf().into_iter().zip(after.itrf()) {
        assert_abs_diff_eq!(before, after, epsilon = 1e-14);
    }
}

#[test]
fn uvw_axes_are_a_right_handed_frame_even_at_the_poles() {
    let site = Site::from_degrees(52.0, 5.0, 0.0).unwrap();
    let epoch = Epoch { mjd_day: 60_000, seconds: 0.0 };
    for text in ["0 90", "0 -90", "120 45", "ha 0 90", "ha 30 -20", "azel 0 52", "azel 0 90", "azel 10 0"] {
        let axes = Pointing::new(site, text.parse().unwrap(), epoch).unwrap().direction(100.0).unwrap().uvw_axes();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| axes[i][k] * axes[j][k]).sum();
                assert_abs_diff_eq!(product, if i == j { 1.0 } else { 0.0 }, epsilon = 1e-10);
            }
        }
        let [u, v, w] = axes;
        let triple = (u[1] * v[2] - u[2] * v[1]) * w[0]
            + (u[2] * v[0] - u[0] * v[2]) * w[1]
            + (u[0] * v[1] - u[1] * v[0]) * w[2];
        assert_abs_diff_eq!(triple, 1.0, epsilon = 1e-10);
    }
    // At the zenith, u is east and v is north.
    let array = AntennaArray::from_enu(vec![Enu { east_m: 1.0, north_m: 2.0, up_m: 3.0 }], site).unwrap();
    let zenith = Source::AzEl { azimuth_rad: 0.0, elevation_rad: std::f64::consts::FRAC_PI_2 };
    let [u, v, w] = Geometry::new(&array, zenith, epoch).unwrap().uvw(0.0).unwrap()[0];
    assert_abs_diff_eq!(u, 1.0, epsilon = 1e-12);
    assert_abs_diff_eq!(v, 2.0, epsilon = 1e-12);
    assert_abs_diff_eq!(w, 3.0, epsilon = 1e-12);
}

#[test]
fn the_star_of_a_direction_is_seen_there() {
    let site = Site::from_degrees(-30.7128, 21.4438, 1053.0).unwrap();
    let epoch = Epoch { mjd_day: 60_676, seconds: 30_000.0 };
    let array = AntennaArray::from_enu(vec![BASELINE], site).unwrap();
    for source in ["azel 40 25", "azel 300 80", "ha 01:30:00 -45", "ha -45 20"] {
        let source: Source = source.parse().unwrap();
        let geometry = Geometry::new(&array, source, epoch).unwrap();
        for seconds in [0.0, 4321.0] {
            let star = geometry.on_the_sky(seconds).unwrap();
            let [ra_rad, dec_rad] = geometry.pointing().icrs(seconds).unwrap();
            assert_eq!(star.pointing().source(), Source::RaDec { ra_rad, dec_rad });
            assert!((0.0..std::f64::consts::TAU).contains(&ra_rad));
            let (seen, wanted) = (star.direction(seconds).unwrap().itrf(), geometry.direction(seconds).unwrap().itrf());
            for axis in 0..3 {
                assert_abs_diff_eq!(seen[axis], wanted[axis], epsilon = 1e-14);
            }
            // It stands on the sky: twelve hours later it has gone elsewhere, and is still the same place.
            assert_eq!(star.pointing().icrs(seconds + 43_200.0).unwrap(), [ra_rad, dec_rad]);
        }
    }
}

#[test]
fn times_far_from_the_epoch_are_an_error_not_a_panic() {
    let site = Site::from_degrees(0.0, 0.0, 0.0).unwrap();
    let pointing = Pointing::new(site, "0 0".parse().unwrap(), Epoch { mjd_day: 60_000, seconds: 0.0 }).unwrap();
    for seconds in [1e10, -1e10, 1e300, f64::NAN, f64::INFINITY] {
        assert!(pointing.direction(seconds).is_err(), "{seconds}");
    }
    assert!(Pointing::new(site, "0 0".parse().unwrap(), Epoch { mjd_day: 0, seconds: 0.0 }).is_err());
    assert!(Pointing::new(Site { latitude_rad: 2.0, ..site }, "0 0".parse().unwrap(), pointing.epoch()).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "\\PC{0,30}", angle in "[-+0-9:. eahzl,T]{0,20}", line in "(# (enu|itrf))?[-0-9a e.,#\\n]{0,60}") {
        for text in [text, angle, line] {
            let source = text.parse::<Source>();
            prop_assert!(source.map_or(true, |source| source.check().is_ok()));
            let epoch = text.parse::<Epoch>();
            prop_assert!(epoch.map_or(true, |epoch| epoch.check().is_ok()));
            let array = text.parse::<AntennaArray>();
            prop_assert!(array.map_or(true, |array| array.len() > 0));
        }
    }
}
