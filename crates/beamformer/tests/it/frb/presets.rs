//! The chains of telescopes against their formulas, written down once more.

use std::f64::consts::TAU;

use fringes_beamformer::{
    CASM_SPACINGS_M, CHIME_BANDPASS, ChordGrid, FrbBeams, FrbInterpolation, FrbVoltages, NibbleOrder, Offset,
    centred_positions, line_phases, north_map, reference_frequency, spread_beams,
};
use fringes_reference::frb as reference;
use fringes_types::{DetectedProducts, SpectrumClock};
use ndarray::{Array2, Array3, Array4, Array5, Axis, s};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{C32, C64, U, gains, run, to_c64};

const LIGHT: f64 = 299_792_458.0;

#[test]
fn frb_maps_and_phases_are_those_of_the_reference() {
    let limit = 60f64.to_radians();
    let frequency = reference_frequency(limit, 0.3048).unwrap();
    assert_eq!(frequency, reference::reference_frequency(limit, 0.3048));
    for hz in [400e6, 492.125984252e6, frequency, 800e6] {
        for (beams, padded) in [(256, 512), (48, 64), (100, 128)] {
            let expected = reference::north_map(hz, frequency, beams, padded);
            let found = north_map(hz, frequency, beams, padded).unwrap();
            assert!(found.iter().zip(&expected).all(|(&a, &b)| a as usize == b), "{hz} {beams}");
        }
    }
    let sines = spread_beams(24).unwrap();
    assert_eq!(sines, reference::spread_beams(24));
    let positions = centred_positions(&CASM_SPACINGS_M);
    assert_eq!(positions, reference::centred_positions(&reference::CASM_SPACINGS_M));
    let phases = line_phases(&[4e8, 5e8], &sines, &positions).unwrap();
    for (found, expected) in phases.iter().zip(&reference::line_phases(&[4e8, 5e8], &sines, &positions)) {
        // Each part rounded once, and a few roundings of f64 in phases of up to 2 turns.
        assert!((to_c64(*found) - expected).norm() < 1.5 * U);
    }
    assert_eq!(CHIME_BANDPASS, reference::CHIME_BANDPASS);
}

/// Power of a finer channel: `abs(sum_t k[t] exp(2 pi i f t / U))^2`.
fn fine_power(k: &[C64], f: usize) -> f64 {
    let length = k.len();
    k.iter()
        .enumerate()
        .map(|(t, k)| k * C64::cis(TAU * (f * t % length) as f64 / length as f64))
        .sum::<C64>()
        .norm_sqr()
}

#[test]
fn frb_chime_is_its_published_formula() {
    let (frequency, mut rng) = (583.2e6, Xoshiro256PlusPlus::seed_from_u64(1));
    let gains = gains((1, 2, 4, 256), 2);
    let angles = [-0.007f64, 0.0, 0.007, 0.014];
    let beams = FrbBeams::chime(&[frequency], gains.clone(), &angles).unwrap();
    let bytes = Array5::from_shape_simple_fn((384, 1, 2, 4, 256), || {
        (rng.random_range(1..16u8) << 4) | rng.random_range(1..16u8)
    });
    let voltages = FrbVoltages::from_bytes(bytes.view(), NibbleOrder::RealHigh, Offset::Offset8);
    assert_eq!(voltages.clamped(), 0);
    let found = run(&beams, &voltages.data().to_owned(), None).data;
    assert_eq!(found.dim(), (1, 16, 1, 1024, 1));

    let f_ref = LIGHT * 128.0 / (60f64.to_radians().sin() * 0.3048 * 256.0);
    for (o, n) in [(0, 0), (1, 127), (2, 128), (3, 255), (0, 200)] {
        let m = (2.0 * ((255 - n) as f64 - 128.0) * frequency / f_ref + 0.5).floor().rem_euclid(512.0) as usize;
        let co: Vec<C64> = (0..4)
            .map(|cylinder| C64::cis(TAU * angles[o].sin() * f64::from(cylinder) * 22.0 * frequency / LIGHT))
            .collect();
        let (mut groups, mut absolute) = ([0.0; 16], 0.0);
        for block in 0..3 {
            for pol in 0..2 {
                let mut k = Vec::new();
                for time in 128 * block..128 * (block + 1) {
                    let mut sum = C64::default();
                    for feed in 0..256 {
                        let mut size = 0.0;
                        let mut h = C64::default();
                        for cylinder in 0..4 {
                            let byte = bytes[(time, 0, pol, cylinder, feed)];
                            let e = C64::new(f64::from(byte >> 4) - 8.0, f64::from(byte & 15) - 8.0);
                            let g = to_c64(gains[(0, pol, cylinder, feed)]);
                            h += 0.25 * co[cylinder] * (g.conj() * e).conj();
                            size += 0.25 * g.norm() * e.norm();
                        }
                        sum += h * C64::cis(TAU * ((feed * m) % 512) as f64 / 512.0);
                        absolute += size * size;
                    }
                    k.push(sum);
                }
                for f in 0..128 {
                    groups[f / 8] += fine_power(&k, f);
                }
            }
        }
        // Of one beam: K is off by (4 + 6 + 7 log2(512)) u sqrt(512) of the norm of a, of which the matrix's rounding
        // is one u; Y by sqrt(128) of that and 7 log2(128) u of its own norm. Powers by 2 abs(Y) d + d^2.
        let all: f64 = groups.iter().sum();
        let d = (4.0 + 6.0 + 63.0) * U * (512.0 * 128.0 * absolute).sqrt() + 49.0 * U * all.sqrt();
        for u in 0..16 {
            let power = groups[u ^ 8];
            let factor = 1.0 / (48.0 * CHIME_BANDPASS[u]);
            let bound = factor * (2.0 * power.sqrt() * d + d * d + 20.0 * U * power);
            let value = f64::from(found[(0, u, 0, o * 256 + n, 0)]);
            assert!((value - factor * power).abs() < bound, "{o} {n} {u}: {value} {}", factor * power);
            assert!(bound < 0.02 * factor * power, "the bound tells nothing: {bound} of {}", factor * power);
        }
    }
}

#[test]
fn frb_casm_is_its_published_formula() {
    let (frequency, mut rng) = (455e6, Xoshiro256PlusPlus::seed_from_u64(3));
    let mut gains = gains((1, 2, 6, 43), 4);
    // 256 feeds on 258 places.
    let places: Vec<[usize; 2]> = (0..256).map(|feed| [feed % 6, feed / 6]).collect();
    gains.slice_mut(s![.., .., 4.., 42]).fill(C32::new(0.0, 0.0));
    let beams = FrbBeams::casm(&[frequency], gains.clone()).unwrap();
    let bytes = Array4::from_shape_simple_fn((64, 1, 2, 256), || {
        (rng.random_range(-7..8i8) << 4 | (rng.random_range(-7..8i8) & 15)) as u8
    });
    let (order, offset) = (NibbleOrder::RealLow, Offset::TwosComplement);
    let voltages = FrbVoltages::from_feed_bytes(bytes.view(), order, offset, &places, [6, 43]).unwrap();
    let powers = run(&beams, &voltages.data().to_owned(), None);
    assert_eq!(powers.data.dim(), (1, 1, 2, 24 * 128, 1));

    let east = [-1.015, -0.635, -0.19, 0.19, 0.635, 1.015];
    for (b, n) in [(0, 0), (5, 17), (11, 64), (23, 127)] {
        let (mut intensity, mut squares) = (0.0, 0.0);
        let s_b = (2.0 * b as f64 - 23.0) / 21.0;
        for time in 32..64 {
            for pol in 0..2 {
                let (mut sum, mut sizes) = (C64::default(), [0.0; 43]);
                for feed in 0..256 {
                    let (k, j) = (feed % 6, feed / 6);
                    let byte = bytes[(time, 0, pol, feed)];
                    let e = C64::new(f64::from((byte << 4) as i8 >> 4), f64::from(byte as i8 >> 4));
                    let weighted = to_c64(gains[(0, pol, k, j)]) * e;
                    let turns = frequency * s_b * east[k] / LIGHT + (j * n % 128) as f64 / 128.0;
                    sum += weighted * C64::cis(TAU * turns);
                    sizes[j] += weighted.norm();
                }
                intensity += sum.norm_sqr() / 64.0;
                squares += sizes.iter().map(|size| size * size).sum::<f64>() / 64.0;
            }
        }
        let d = (6.0 + 6.0 + 49.0) * U * (128.0 * squares).sqrt();
        let bound = 2.0 * intensity.sqrt() * d + d * d + 40.0 * U * intensity;
        let value = f64::from(powers.data[(0, 0, 1, b * 128 + n, 0)]);
        assert!((value - intensity).abs() < bound && bound < 0.02 * intensity, "{b} {n}: {value} {intensity} {bound}");
    }

    // Directions between the beams.
    let directions: Vec<[f64; 2]> = (0..300)
        .map(|_| [rng.random_range(-1.0..1.0), rng.random_range(-1.0..=1.0)])
        .chain([[0.0, -1.0], [0.3, 1.0], [-1.0, 0.0], [1.0, 0.0]])
        .collect();
    let interpolation = FrbInterpolation::casm(&[frequency], &directions).unwrap();
    let at = interpolation.interpolate(&powers).unwrap();
    assert_eq!((at.data.dim(), &at.good_blocks), ((1, 1, 2, 304, 1), &powers.good_blocks));
    let detected = at.clone().into_detected(&beams, &[frequency], 30e3, SpectrumClock::default()).unwrap();
    assert_eq!((detected.products(), detected.beams()), (DetectedProducts::StokesI, 304));
    assert_eq!(detected.data().iter().collect::<Vec<_>>(), at.data.iter().collect::<Vec<_>>());
    for time in 0..2 {
        let grid = powers.data.slice(s![0, 0, time, .., 0]).mapv(f64::from).into_shape_with_order((24, 128)).unwrap();
        let largest = grid.iter().copied().fold(0.0, f64::max);
        for (position, [north, east]) in directions.iter().enumerate() {
            let (x, y) = (north * 128.0 * 0.5 * frequency / LIGHT, east * 10.5 + 11.5);
            let expected = reference::interpolate(grid.view(), x, y);
            let found = f64::from(at.data[(0, 0, time, position, 0)]);
            assert!((found - expected).abs() < 32.0 * U * largest, "{north} {east}: {found} {expected}");
        }
    }
}

#[test]
fn frb_interpolation_reproduces_cubic_polynomials() {
    let beams = FrbBeams::builder(Array4::ones((1, 1, 1, 9)), Array3::ones((1, 8, 1)), 64).build().unwrap();
    let mut powers = run(&beams, &Array5::from_elem((1, 1, 1, 1, 9), Complex::new(0i8, 0)), None);
    let value = |q: f64, out: f64| 100.0 + (q - 30.0).powi(3) * 0.25 - (out - 3.0).powi(3) * (q - 30.0);
    for (beam, power) in powers.data.iter_mut().enumerate() {
        *power = value((beam % 64) as f64, (beam / 64) as f64) as f32;
    }
    let places = [[30.5, 3.25], [28.0, 1.0], [33.75, 6.0], [31.125, 5.5]];
    let positions = Array3::from_shape_fn((1, 4, 2), |(_, position, which)| places[position][which]);
    let found = FrbInterpolation::new(8, 64, positions).unwrap().interpolate(&powers).unwrap();
    for (position, [q, out]) in places.into_iter().enumerate() {
        // Integers below 2^24 but for quarters, exact in f32; values around are below 700.
        let error = f64::from(found.data[(0, 0, 0, position, 0)]) - value(q, out);
        assert!(error.abs() < 32.0 * U * 700.0, "{q} {out}: {error}");
    }
}

#[test]
fn frb_chord_beams_find_a_source() {
    let (frequency, grid) = (900e6, ChordGrid::default());
    let angles = [-0.012f64, 0.0, 0.011];
    let beams = FrbBeams::chord(&[frequency], Array4::ones((1, 1, 24, 24)), &angles, grid).unwrap();
    assert_eq!((beams.outs(), beams.north_beams(), beams.padded()), (3, 48, 64));
    for (out, b) in [(0, 5), (1, 24), (2, 47)] {
        // Toward east at the angle, toward north at the sine that the map stands for.
        let north = 0.05f64.sin() * (b as f64 - 24.0) / 24.0;
        let wave = Array5::from_shape_fn((1, 1, 1, 24, 24), |(_, _, _, line, n)| {
            let turns = (line as f64 - 11.5) * 6.3 * angles[out].sin() + n as f64 * 8.5 * north;
            C32::cis((-TAU * (turns * frequency / LIGHT).fract()) as f32)
        });
        let powers = run(&beams, &wave, None).data;
        let of_beams = powers.index_axis(Axis(3), beams.beam(out, b).unwrap()).sum();
        let most = powers.iter().copied().fold(0.0, f32::max);
        assert!(of_beams >= 0.999 * most, "{out} {b}: {of_beams} of {most}");
        // The full sum of a line but for half a step of 64 in 24 feeds: a loss of (sin(x) / x)^2, x = pi 24 / 128.
        assert!(of_beams > 0.88 * 24f32.powi(2) && of_beams <= 24f32.powi(2) * 1.0001, "{of_beams}");
    }
    let map = beams.map().to_owned();
    assert_eq!(
        map,
        Array2::from_shape_fn((1, 48), |(_, b)| {
            north_map(frequency, reference_frequency(0.05, 8.5).unwrap(), 48, 64).unwrap()[b]
        })
    );
}
