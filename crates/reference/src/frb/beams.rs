//! Beams of a grid: a weighted sum over lines, and a padded transform of what is left of a line of feeds.

use ndarray::{Array4, Array5, ArrayView2, ArrayView3, ArrayView4, ArrayView5, Axis, s};
use num_complex::Complex64 as C64;

use crate::dft::dft;

/// Weights `[frequency][pol][out][line][feed]`: `matrix[frequency][out][line]` times
/// `gains[frequency][pol][line][feed]`.
///
/// # Panics
/// If frequencies or lines differ.
pub fn line_weights(matrix: ArrayView3<'_, C64>, gains: ArrayView4<'_, C64>) -> Array5<C64> {
    let (frequencies, outs, lines) = matrix.dim();
    let (_, pols, _, feeds) = gains.dim();
    assert_eq!(gains.dim(), (frequencies, pols, lines, feeds), "gains are [frequency][pol][line][feed]");
    Array5::from_shape_fn((frequencies, pols, outs, lines, feeds), |(f, pol, out, line, n)| {
        matrix[(f, out, line)] * gains[(f, pol, line, n)]
    })
}

/// Beams `[frequency][time][pol][out][q]` of voltages `[time][frequency][pol][line][feed]` and weights
/// `[frequency][pol][out][line][feed]`:
/// `J[out][q] = sum_n exp(sign 2 pi i n q / padded) sum_line w[out][line][n] x[line][n]`, with `conj(x)` for `x` if
/// `conjugate`.
///
/// # Panics
/// If shapes do not fit, `padded` is below the number of feeds, or `sign` is neither 1 nor -1.
pub fn line_beams(
    voltages: ArrayView5<'_, C64>,
    weights: ArrayView5<'_, C64>,
    conjugate: bool,
    padded: usize,
    sign: f64,
) -> Array5<C64> {
    let (times, frequencies, pols, lines, feeds) = voltages.dim();
    let outs = weights.dim().2;
    assert_eq!(weights.dim(), (frequencies, pols, outs, lines, feeds), "[frequency][pol][out][line][feed]");
    assert!(feeds <= padded, "padding cannot cut feeds off");
    let mut beams = Array5::zeros((frequencies, times, pols, outs, padded));
    for frequency in 0..frequencies {
        for time in 0..times {
            for pol in 0..pols {
                for out in 0..outs {
                    let mut summed = vec![C64::default(); padded];
                    for line in 0..lines {
                        for n in 0..feeds {
                            let x = voltages[(time, frequency, pol, line, n)];
                            let x = if conjugate { x.conj() } else { x };
                            summed[n] += weights[(frequency, pol, out, line, n)] * x;
                        }
                    }
                    for (q, value) in dft(&summed, sign).into_iter().enumerate() {
                        beams[(frequency, time, pol, out, q)] = value;
                    }
                }
            }
        }
    }
    beams
}

/// The beams `[frequency][time][pol][beam]` that a map `[frequency][b]` names, of `[frequency][time][pol][out][q]`:
/// beam `out * map's length + b` is `q = map[frequency][b]` of `out`.
///
/// # Panics
/// If frequencies differ, or the map names a `q` that is not there.
pub fn choose(beams: ArrayView5<'_, C64>, map: ArrayView2<'_, usize>) -> Array4<C64> {
    let (frequencies, times, pols, outs, _) = beams.dim();
    assert_eq!(map.nrows(), frequencies, "the map is [frequency][b]");
    let northern = map.ncols();
    Array4::from_shape_fn((frequencies, times, pols, outs * northern), |(frequency, time, pol, beam)| {
        let of = beams.slice(s![frequency, time, pol, beam / northern, ..]);
        *of.index_axis(Axis(0), map[(frequency, beam % northern)]).into_scalar()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frb::{
        CASM_SPACINGS_M, FineDetection, SPEED_OF_LIGHT, centred_positions, detect, interpolate, line_phases, north_map,
        reference_frequency, spread_beams, upchannelise,
    };
    use ndarray::{Array2, Array3};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::f64::consts::TAU;

    /// `sum_n exp(2 pi i d n)` for `n` below `terms`: the geometric series in closed form.
    fn array_factor(terms: usize, d: f64) -> C64 {
        let ratio = C64::cis(TAU * d);
        if (ratio - 1.0).norm() < 1e-9 {
            return C64::new(terms as f64, 0.0);
        }
        (C64::cis(TAU * d * terms as f64) - 1.0) / (ratio - 1.0)
    }

    fn noise(dim: (usize, usize, usize, usize, usize), seed: u64) -> Array5<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Array5::from_shape_simple_fn(dim, || C64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
    }

    /// Terms of size 1 with phases up to `2 pi terms` that carry a few roundings, on both sides of a comparison; the
    /// closed form divides by a ratio that is at least 1e-3 from 1 in the tests.
    fn bound(terms: usize) -> f64 {
        8.0 * f64::EPSILON * TAU * (terms * terms) as f64 + 1e3 * 16.0 * f64::EPSILON
    }

    #[test]
    fn a_plane_wave_has_the_array_factor_in_both_directions() {
        let (frequency, lines, feeds, padded) = (600e6, 4, 16, 32);
        let positions = [0.0, 22.0, 44.0, 66.0];
        let (east, north) = (0.013f64, 0.31f64);
        // A line further east hears the wave earlier: the weights' phase is taken back.
        let wave = Array5::from_shape_fn((1, 1, 1, lines, feeds), |(_, _, _, line, n)| {
            let turns = -frequency / SPEED_OF_LIGHT * (positions[line] * east + 0.3 * n as f64 * north);
            C64::cis(TAU * turns)
        });
        let steered = [0.0, 0.013, -0.02];
        let matrix = line_phases(&[frequency], &steered, &positions);
        let weights = line_weights(matrix.view(), Array4::ones((1, 1, lines, feeds)).view());
        let beams = line_beams(wave.view(), weights.view(), false, padded, 1.0);
        for (out, angle) in steered.iter().enumerate() {
            let of_lines = array_factor(lines, 22.0 * frequency / SPEED_OF_LIGHT * (angle - east));
            for q in 0..padded {
                let u = 0.3 * north * frequency / SPEED_OF_LIGHT;
                let expected = of_lines * array_factor(feeds, q as f64 / padded as f64 - u);
                let found = beams[(0, 0, 0, out, q)];
                assert!((found - expected).norm() < 64.0 * bound(64), "{out} {q}: {found} {expected}");
            }
        }
    }

    #[test]
    fn the_map_finds_the_beam_that_looks_at_a_source() {
        // The beams of the map are evenly spaced in the sine of the zenith angle, at every frequency: the map's beam
        // is at most half a step of the transform from the source.
        let (feeds, padded, spacing, zenith) = (64, 128, 0.3048, 60f64.to_radians());
        let reference = reference_frequency(zenith, spacing);
        for frequency in [400e6, 500e6, reference, 700e6, 799e6] {
            let map = north_map(frequency, reference, feeds, padded);
            for b in [1, 20, 31, 32, 33, 63] {
                let sine = zenith.sin() * (b as f64 - 32.0) / 32.0;
                let u = spacing * sine * frequency / SPEED_OF_LIGHT;
                let wave = Array5::from_shape_fn((1, 1, 1, 1, feeds), |(_, _, _, _, n)| C64::cis(-TAU * u * n as f64));
                let weights = Array5::ones((1, 1, 1, 1, feeds));
                let beams = line_beams(wave.view(), weights.view(), false, padded, 1.0);
                let map = Array2::from_shape_fn((1, feeds), |(_, b)| map[b]);
                let found = choose(beams.view(), map.view())[(0, 0, 0, b)].norm();
                // Half a step is a quarter of 1 / feeds: the array factor there, and no other q is above it.
                let least = array_factor(feeds, 0.5 / padded as f64).norm();
                assert!(found > least - bound(feeds), "{frequency} {b}: {found} {least}");
            }
        }
    }

    #[test]
    fn conjugation_and_signs_mirror_each_other() {
        let x = noise((2, 1, 2, 3, 5), 1);
        let weights = noise((1, 2, 4, 3, 5), 2);
        let conjugated = line_beams(x.view(), weights.view(), true, 8, 1.0);
        let other = line_beams(x.view(), weights.mapv(|w| w.conj()).view(), false, 8, -1.0);
        for (a, b) in conjugated.iter().zip(&other) {
            // The same products and phases with the other sign: the same bits.
            assert_eq!(*a, b.conj());
        }
    }

    #[test]
    fn weights_are_products_and_beams_keep_power() {
        let gains = noise((2, 2, 1, 3, 5), 3).index_axis_move(Axis(2), 0);
        let matrix: Array3<C64> = noise((2, 4, 3, 1, 1), 4).into_shape_with_order((2, 4, 3)).unwrap();
        let weights = line_weights(matrix.view(), gains.view());
        assert_eq!(weights[(1, 0, 3, 2, 4)], matrix[(1, 3, 2)] * gains[(1, 0, 2, 4)]);
        // Parseval: sum_q |J|^2 = padded sum_n |H|^2; a matrix of one line alone.
        let x = noise((1, 2, 2, 3, 5), 5);
        let alone = Array3::from_shape_fn((2, 3, 3), |(_, out, line)| C64::from(f64::from(u8::from(out == line))));
        let weights = line_weights(alone.view(), gains.view());
        let beams = line_beams(x.view(), weights.view(), false, 8, 1.0);
        for ((frequency, pol), out) in [((0, 0), 0), ((0, 1), 1), ((1, 0), 2)] {
            let inside: f64 =
                (0..5).map(|n| (gains[(frequency, pol, out, n)] * x[(0, frequency, pol, out, n)]).norm_sqr()).sum();
            let outside: f64 = (0..8).map(|q| beams[(frequency, 0, pol, out, q)].norm_sqr()).sum();
            assert!((outside - 8.0 * inside).abs() < 64.0 * 8.0 * f64::EPSILON * 8.0 * inside);
        }
    }

    #[test]
    fn chosen_beams_are_those_of_the_map() {
        let beams = noise((2, 1, 2, 2, 4), 6);
        let map = Array2::from_shape_vec((2, 3), vec![3, 0, 0, 1, 2, 3]).unwrap();
        let chosen = choose(beams.view(), map.view());
        assert_eq!(chosen.dim(), (2, 1, 2, 6));
        assert_eq!(chosen[(0, 0, 1, 3)], beams[(0, 0, 1, 1, 3)]);
        assert_eq!(chosen[(1, 0, 0, 4)], beams[(1, 0, 0, 1, 2)]);
    }

    #[test]
    fn mean_intensities_of_a_plane_wave_are_array_factors_squared() {
        // CASM: six unequal lines of 43 feeds, 24 x 128 beams, the mean of two times and two polarisations.
        let (frequency, times) = (450e6, 2);
        let positions = centred_positions(&CASM_SPACINGS_M);
        let (east, q_source) = (0.2, 20.3);
        let wave = Array5::from_shape_fn((times, 1, 2, 6, 43), |(_, _, _, line, n)| {
            let turns = frequency * positions[line] * east / SPEED_OF_LIGHT + q_source * n as f64 / 128.0;
            C64::cis(-TAU * turns)
        });
        let sines = spread_beams(24);
        let matrix = line_phases(&[frequency], &sines, &positions);
        let weights = line_weights(matrix.view(), Array4::ones((1, 2, 6, 43)).view());
        let beams = line_beams(wave.view(), weights.view(), false, 128, 1.0);
        let all = Array2::from_shape_fn((1, 128), |(_, q)| q);
        let fine = upchannelise(choose(beams.view(), all.view()).view(), 1, 1.0);
        let factors = vec![1.0 / (2.0 * times as f64)];
        let detection = FineDetection { group: 1, blocks: times, per_pol: false, centre: false, factors };
        let powers = detect(fine.view(), &detection, None).0.into_shape_with_order((24, 128)).unwrap();
        for ((out, q), &power) in powers.indexed_iter() {
            let of_lines: C64 = positions
                .iter()
                .map(|position| C64::cis(TAU * frequency * position * (sines[out] - east) / SPEED_OF_LIGHT))
                .sum();
            let expected = (of_lines * array_factor(43, (q as f64 - q_source) / 128.0)).norm_sqr();
            // Twice a voltage of at most 6 x 43 with the error of its 258 terms.
            assert!((power - expected).abs() < 2.0 * 258.0 * bound(258), "{out} {q}: {power} {expected}");
        }
        // On the beams the interpolation is the intensity, beside them it lies between.
        assert_eq!(interpolate(powers.view(), 20.0, 13.0), powers[(13, 20)]);
        let (place, most) = (10.5 * east + 11.5, powers.iter().copied().fold(0.0, f64::max));
        let at_source = interpolate(powers.view(), q_source, place);
        assert!(at_source > most && at_source < 1.02 * 258f64.powi(2), "{at_source} {most}");
    }
}
