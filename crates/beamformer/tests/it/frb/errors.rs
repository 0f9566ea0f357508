//! What does not fit is refused, with what was expected and what came.

use fringes_backend::Backend;
use fringes_beamformer::{
    ChordGrid, FrbBeams, FrbBeamsBuilder, FrbInterpolation, FrbVoltages, frb_beams, line_phases, north_map,
    reference_frequency, spread_beams,
};
use ndarray::{Array2, Array3, Array4, Array5, s};
use num_complex::Complex;

use super::{C32, gains, matrix, noise, run, small};

fn plan() -> FrbBeamsBuilder {
    FrbBeams::builder(gains((2, 2, 3, 20), 1), matrix((2, 4, 3), 2), 64).upchannelisation(16)
}

#[test]
fn frb_plans_that_do_not_fit_are_refused() {
    let mut nan = gains((2, 2, 3, 20), 1);
    nan[(1, 0, 2, 7)].im = f32::NAN;
    let mut infinite = matrix((2, 4, 3), 2);
    infinite[(0, 3, 1)].re = f32::INFINITY;
    let map = |q| Array2::from_elem((2, 5), q);
    let huge = plan().gains(Array4::from_elem((2, 2, 3, 20), C32::new(1e30, 0.0)));
    for (builder, message) in [
        (plan().gains(nan), "gain: expected a finite number, found"),
        (plan().matrix(infinite), "matrix: expected a finite number, found"),
        (
            huge.matrix(Array3::from_elem((2, 4, 3), C32::new(1e30, 0.0))),
            "product of matrix and gain: expected a finite",
        ),
        (plan().gains(gains((0, 2, 3, 20), 1)), "frequencies: expected at least 1, found 0"),
        (plan().gains(gains((2, 3, 3, 20), 1)), "polarisations: expected 1 to 2, found 3"),
        (plan().gains(gains((2, 2, 65, 20), 1)), "lines: expected 1 to 64, found 65"),
        (plan().gains(gains((2, 2, 3, 65), 1)), "a line of 65 feeds cannot be padded to 64"),
        (
            plan().matrix(matrix((2, 4, 2), 1)),
            "matrix [frequency][out][line]: expected shape [2, 4, 3], found [2, 4, 2]",
        ),
        (plan().matrix(matrix((2, 0, 3), 1)), "outputs of the matrix: expected at least 1, found 0"),
        (plan().padded(96), "outputs of a line's transform: expected a power of two from 64 to 1024, found 96"),
        (plan().padded(2048), "expected a power of two from 64 to 1024, found 2048"),
        (plan().map(map(64)), "output of the transform in the map: expected 0 to 63, found 64 at [0, 0]"),
        (plan().map(Array2::zeros((1, 5))), "map [frequency][beam]: expected shape [2, 5], found [1, 5]"),
        (plan().map(Array2::zeros((2, 0))), "beams of the map: expected at least 1, found 0"),
        (plan().upchannelisation(0), "times of a block: expected a power of two from 1 to 1024, found 0"),
        (plan().upchannelisation(48), "times of a block: expected a power of two from 1 to 1024, found 48"),
        (plan().upchannelisation(2048), "times of a block: expected a power of two from 1 to 1024, found 2048"),
        (plan().group(32), "finer channels of a sum: expected a power of two from 1 to 16, found 32"),
        (plan().group(0), "finer channels of a sum: expected a power of two from 1 to 16, found 0"),
        (plan().blocks(0), "blocks of a sum: expected at least 1, found 0"),
        (plan().blocks(usize::MAX), "blocks of a sum: expected 1 to 16777216, found"),
        (plan().bandpass([1.0; 8]), "bandpass [fine]: expected shape [16], found [8]"),
        (plan().bandpass([0.0; 16]), "bandpass: expected a finite number above 0, found 0"),
        (plan().normalisation(f64::NAN), "normalisation: expected a finite number above 0, found NaN"),
        (plan().normalisation(1e300), "normalisation over bandpass, as f32: expected a finite number above 0"),
    ] {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
    let index = plan().gains({
        let mut gains = gains((2, 2, 3, 20), 1);
        gains[(1, 0, 2, 7)].re = f32::NAN;
        gains
    });
    assert!(index.build().unwrap_err().to_string().ends_with("at [1, 0, 2, 7]"));
}

#[test]
fn frb_data_that_does_not_fit_is_refused() {
    let (beams, cpu) = (small(), Backend::cpu());
    let voltages = noise(&beams, 49, 1);
    let of = |times: usize| FrbVoltages::new(voltages.slice(s![..times, .., .., .., ..])).unwrap();
    let error = frb_beams(&cpu, &beams, &of(49), None).unwrap_err();
    assert_eq!(error.to_string(), "dimension `time` of voltages: expected a multiple of 48, found 49");
    let error = frb_beams(&cpu, &beams, &of(48), Some(Array2::from_elem((3, 4), true).view())).unwrap_err();
    assert_eq!(error.to_string(), "mask [frequency][block]: expected shape [3, 3], found [3, 4]");
    let other = FrbVoltages::new(Array5::from_elem((48, 3, 1, 3, 20), Complex::new(1i8, 0))).unwrap();
    let error = frb_beams(&cpu, &beams, &other, None).unwrap_err();
    assert!(error.to_string().ends_with("expected shape [48, 3, 2, 3, 20], found [48, 3, 1, 3, 20]"), "{error}");
    // No times are no sums.
    assert_eq!(frb_beams(&cpu, &beams, &of(0), None).unwrap().data.dim(), (3, 4, 0, 128, 1));
}

#[test]
fn frb_presets_refuse_what_they_are_not() {
    let hz = [6e8];
    assert!(FrbBeams::chime(&hz, gains((1, 2, 4, 128), 1), &[0.0]).is_err());
    assert!(FrbBeams::chime(&hz, gains((1, 2, 4, 256), 1), &[]).is_err());
    assert!(FrbBeams::chime(&[], gains((0, 2, 4, 256), 1), &[0.0]).is_err());
    assert!(FrbBeams::chime(&[-1.0], gains((1, 2, 4, 256), 1), &[0.0]).is_err());
    assert!(FrbBeams::chime(&hz, gains((1, 2, 4, 256), 1), &[f64::NAN]).is_err());
    assert!(FrbBeams::casm(&hz, gains((1, 2, 6, 42), 1)).is_err());
    assert!(FrbBeams::casm(&[f64::INFINITY], gains((1, 2, 6, 43), 1)).is_err());
    let chord = |grid| FrbBeams::chord(&hz, gains((1, 2, 24, 24), 1), &[0.0], grid);
    let good = ChordGrid::default();
    assert!(chord(good).is_ok());
    for bad in [
        ChordGrid { lines: 22, ..good },
        ChordGrid { padded: 0, ..good },
        ChordGrid { padded: 16, ..good },
        ChordGrid { north_beams: 0, ..good },
        ChordGrid { ew_spacing_m: -1.0, ..good },
        ChordGrid { ns_spacing_m: 0.0, ..good },
        ChordGrid { north_limit_rad: 0.0, ..good },
    ] {
        assert!(chord(bad).is_err(), "{bad:?}");
    }
    assert!(FrbBeams::chord(&hz, gains((1, 2, 0, 24), 1), &[0.0], ChordGrid { lines: 0, ..good }).is_err());
    assert!(reference_frequency(1.0, 1e-320).is_err() && north_map(1e8, f64::NAN, 4, 8).is_err());
    assert!(north_map(1e300, 1e-300, 4, 8).is_err() && north_map(1.0, 1.0, 4, 0).is_err());
    assert!(line_phases(&[1.0], &[f64::NAN], &[0.0]).is_err() && spread_beams(3).is_err());
}

#[test]
fn frb_positions_beyond_the_beams_are_refused() {
    let one = |north, east| FrbInterpolation::new(8, 64, Array3::from_shape_fn((1, 1, 2), |at| [north, east][at.2]));
    assert!(one(-1e9, 1.0).is_ok() && one(0.0, 6.0).is_ok());
    let error = one(0.0, 6.01).unwrap_err().to_string();
    assert_eq!(error, "position 6.01 toward east at [0, 0]: expected 1 to 6, in beams");
    assert!(one(0.0, 0.99).is_err() && one(f64::NAN, 2.0).is_err() && one(0.0, f64::INFINITY).is_err());
    assert!(FrbInterpolation::new(3, 64, Array3::ones((1, 1, 2))).is_err());
    assert!(FrbInterpolation::new(8, 0, Array3::ones((1, 1, 2))).is_err());
    assert!(FrbInterpolation::new(8, 64, Array3::ones((1, 1, 3))).is_err());
    assert!(FrbInterpolation::casm(&[5e8], &[[0.0, 1.01]]).is_err());
    let beams = small();
    let powers = run(&beams, &noise(&beams, beams.sum_times(), 2), None);
    let error = one(0.0, 2.0).unwrap().interpolate(&powers).unwrap_err();
    assert!(error.to_string().contains("expected shape [1, 4, 1, 512, 1], found [3, 4, 1, 128, 1]"), "{error}");
}
