//! Beams from channelised voltages `x[channel][time][input]`.
//!
//! | beam | formula | output |
//! |---|---|---|
//! | tied-array | `sum_input w[beam][channel][input] x[channel][time][input]` | `[channel][time][beam]`, complex |
//! | incoherent | `sum_input g[beam][input] abs(x[channel][time][input])^2` | `[channel][time][beam]`, real |
//! | FFT | `sum_n e^(2 pi i q n / padded) g[channel][input] x[channel][time][input]`, `n` the feed | `[channel][time][beam]`, complex |
//!
//! Weights are used as given, not conjugated. For FFT beams, the antennas are `lines` lines of `feeds` feeds, antenna
//! `= line * feeds + n`, each line zero-padded from `feeds` to `padded`; every polarisation and line gives `padded`
//! beams, and the beam is `(line * pols + pol) * padded + q`.

use std::f64::consts::TAU;

use ndarray::{Array3, ArrayView2, ArrayView3, s};
use num_complex::Complex;

type C64 = Complex<f64>;

/// Tied-array beams; `weights` is `[beam][channel][input]`.
///
/// # Panics
/// If the channels or inputs of the two arrays differ.
pub fn tied_array(voltages: ArrayView3<'_, C64>, weights: ArrayView3<'_, C64>) -> Array3<C64> {
    let (channels, times, inputs) = voltages.dim();
    let beams = weights.dim().0;
    assert_eq!(weights.dim(), (beams, channels, inputs), "weights are [beam][channel][input]");
    Array3::from_shape_fn((channels, times, beams), |(channel, time, beam)| {
        let (weights, voltages) = (weights.slice(s![beam, channel, ..]), voltages.slice(s![channel, time, ..]));
        weights.iter().zip(voltages).map(|(weight, voltage)| weight * voltage).sum()
    })
}

/// Incoherent beams; `gains` is `[beam][input]`, applied to powers.
///
/// # Panics
/// If the inputs of the two arrays differ.
pub fn incoherent(voltages: ArrayView3<'_, C64>, gains: ArrayView2<'_, f64>) -> Array3<f64> {
    let (channels, times, inputs) = voltages.dim();
    assert_eq!(gains.ncols(), inputs, "gains are [beam][input]");
    Array3::from_shape_fn((channels, times, gains.nrows()), |(channel, time, beam)| {
        let voltages = voltages.slice(s![channel, time, ..]);
        gains.row(beam).iter().zip(voltages).map(|(gain, voltage)| gain * voltage.norm_sqr()).sum()
    })
}

/// How the antennas of an array form lines of feeds, for [`fft_beams`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLines {
    /// Number of lines.
    pub lines: usize,
    /// Feeds of each line.
    pub feeds: usize,
    /// Polarisations of each feed.
    pub pols: usize,
    /// Length that a line is zero-padded to: the number of beams of a line and polarisation.
    pub padded: usize,
}

impl FeedLines {
    /// The input of a feed: `(line * feeds + feed) * pols + pol`.
    pub fn input(&self, line: usize, feed: usize, pol: usize) -> usize {
        (line * self.feeds + feed) * self.pols + pol
    }

    /// The index of a beam: `(line * pols + pol) * padded + q`.
    pub fn beam(&self, line: usize, pol: usize, q: usize) -> usize {
        (line * self.pols + pol) * self.padded + q
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.lines * self.pols * self.padded
    }
}

/// FFT beams; `gains` is `[channel][input]`, applied on the way in.
///
/// # Panics
/// If the shapes do not fit, or `padded < feeds`.
pub fn fft_beams(voltages: ArrayView3<'_, C64>, gains: ArrayView2<'_, C64>, layout: FeedLines) -> Array3<C64> {
    let (channels, times, inputs) = voltages.dim();
    assert_eq!(inputs, layout.lines * layout.feeds * layout.pols, "lines x feeds x pols");
    assert_eq!(gains.dim(), (channels, inputs), "gains are [channel][input]");
    assert!(layout.feeds <= layout.padded, "padding cannot cut feeds off");
    let mut beams = Array3::zeros((channels, times, layout.beams()));
    for ((channel, time, beam), sum) in beams.indexed_iter_mut() {
        let (line, pol) = (beam / layout.padded / layout.pols, beam / layout.padded % layout.pols);
        let q = beam % layout.padded;
        for feed in 0..layout.feeds {
            let input = layout.input(line, feed, pol);
            let turns = (q * feed % layout.padded) as f64 / layout.padded as f64;
            *sum += C64::cis(TAU * turns) * gains[(channel, input)] * voltages[(channel, time, input)];
        }
    }
    beams
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn noise(dim: (usize, usize, usize), seed: u64) -> Array3<C64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Array3::from_shape_simple_fn(dim, || C64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
    }

    fn bound(terms: usize) -> f64 {
        // A plain sum of `terms` products of size up to 2 each, with a few roundings in each.
        (terms as f64 + 16.0) * f64::EPSILON * 2.0 * terms as f64
    }

    /// As [`bound`], with phases up to `2 pi terms` radians that carry four roundings each, on both sides of a
    /// comparison.
    fn phase_bound(terms: usize) -> f64 {
        bound(terms) + 8.0 * f64::EPSILON * TAU * (terms * terms) as f64
    }

    /// Plane wave on a uniform line: feed `n` sees `e^(-2 pi i u n)`.
    fn plane_wave(feeds: usize, u: f64) -> Array3<C64> {
        Array3::from_shape_fn((1, 1, feeds), |(_, _, n)| C64::cis(-TAU * u * n as f64))
    }

    /// `|sum_n e^(2 pi i d n)| = |sin(pi N d) / sin(pi d)|`.
    fn array_factor(feeds: usize, d: f64) -> f64 {
        let nearest = d - d.round();
        if nearest.abs() < 1e-12 {
            feeds as f64
        } else {
            ((feeds as f64 * TAU / 2.0 * nearest).sin() / (TAU / 2.0 * nearest).sin()).abs()
        }
    }

    #[test]
    fn a_uniform_line_has_its_array_factor() {
        for feeds in [1, 2, 5, 16, 33] {
            let (steered, arrivals) = (0.13, [-0.4, -0.1, 0.0, 0.129, 0.13, 0.131, 0.25, 0.45]);
            let weights = Array3::from_shape_fn((1, 1, feeds), |(_, _, n)| C64::cis(TAU * steered * n as f64));
            for arrival in arrivals {
                let beam = tied_array(plane_wave(feeds, arrival).view(), weights.view())[(0, 0, 0)];
                let expected = array_factor(feeds, steered - arrival);
                assert!((beam.norm() - expected).abs() < phase_bound(feeds), "{feeds} {arrival}");
                let centre = C64::cis(TAU / 2.0 * (steered - arrival) * (feeds as f64 - 1.0));
                // The phase is that of the middle of the line, up to the sign of the array factor.
                assert!((beam / centre).im.abs() < phase_bound(feeds));
            }
        }
    }

    #[test]
    fn a_steered_beam_adds_a_source_coherently_and_an_incoherent_beam_adds_power() {
        let wave = plane_wave(8, 0.21);
        let weights = Array3::from_shape_fn((1, 1, 8), |(_, _, n)| C64::cis(TAU * 0.21 * n as f64));
        let coherent = tied_array(wave.view(), weights.view())[(0, 0, 0)].norm_sqr();
        let power = incoherent(wave.view(), Array2::ones((1, 8)).view())[(0, 0, 0)];
        assert!((coherent - 64.0).abs() < 64.0 * bound(8));
        assert!((power - 8.0).abs() < bound(8));
    }

    #[test]
    fn weights_are_not_conjugated_and_belong_to_their_channel() {
        let x = Array3::from_shape_fn((2, 1, 3), |(_, _, i)| C64::new(i as f64, 1.0));
        let w = Array3::from_shape_fn((2, 2, 3), |(b, c, _)| C64::new(c as f64, 1.0 + b as f64));
        let y = tied_array(x.view(), w.view());
        // sum x = 3 + 3i; times (c + (1 + b) i).
        for ((c, _, b), &value) in y.indexed_iter() {
            assert_eq!(value, C64::new(3.0, 3.0) * C64::new(c as f64, 1.0 + b as f64));
        }
    }

    #[test]
    fn incoherent_beams_are_gain_times_power() {
        let x = Array3::from_shape_fn((2, 2, 3), |(c, t, i)| C64::new((c + i) as f64, t as f64));
        let gains = Array2::from_shape_fn((2, 3), |(b, i)| (1 + b * 10 + i) as f64);
        let y = incoherent(x.view(), gains.view());
        assert_eq!(y[(1, 1, 0)], 1.0 * 2.0 + 2.0 * 5.0 + 3.0 * 10.0);
        assert_eq!(y[(0, 0, 1)], 11.0 * 0.0 + 12.0 * 1.0 + 13.0 * 4.0);
    }

    const LAYOUT: FeedLines = FeedLines { lines: 2, feeds: 5, pols: 2, padded: 8 };

    #[test]
    fn fft_beams_are_tied_array_beams_with_steering_weights() {
        let (x, channels) = (noise((3, 2, 20), 7), 3);
        let gains = noise((1, channels, 20), 8).index_axis_move(ndarray::Axis(0), 0);
        let mut weights = Array3::zeros((LAYOUT.beams(), channels, 20));
        for line in 0..2 {
            for pol in 0..2 {
                for q in 0..8 {
                    for feed in 0..5 {
                        for channel in 0..channels {
                            let input = LAYOUT.input(line, feed, pol);
                            weights[(LAYOUT.beam(line, pol, q), channel, input)] =
                                gains[(channel, input)] * C64::cis(TAU * (q * feed) as f64 / 8.0);
                        }
                    }
                }
            }
        }
        let expected = tied_array(x.view(), weights.view());
        for (a, b) in fft_beams(x.view(), gains.view(), LAYOUT).iter().zip(&expected) {
            // The phases of the two differ by the rounding of up to five turns.
            assert!((a - b).norm() < bound(5) + 5.0 * 2.0 * TAU * 5.0 * f64::EPSILON);
        }
    }

    #[test]
    fn fft_beams_keep_the_power_of_each_line_and_polarisation() {
        let x = noise((2, 3, 20), 9);
        let y = fft_beams(x.view(), Array2::ones((2, 20)).view(), LAYOUT);
        for channel in 0..2 {
            for time in 0..3 {
                for line in 0..2 {
                    for pol in 0..2 {
                        let input: f64 =
                            (0..5).map(|feed| x[(channel, time, LAYOUT.input(line, feed, pol))].norm_sqr()).sum();
                        let output: f64 =
                            (0..8).map(|q| y[(channel, time, LAYOUT.beam(line, pol, q))].norm_sqr()).sum();
                        assert!((output - 8.0 * input).abs() < 8.0 * 8.0 * bound(5));
                    }
                }
            }
        }
    }

    #[test]
    fn a_source_at_the_centre_of_an_fft_beam_peaks_there() {
        let layout = FeedLines { lines: 1, feeds: 16, pols: 1, padded: 32 };
        let y = fft_beams(plane_wave(16, 5.0 / 32.0).view(), Array2::ones((1, 16)).view(), layout);
        for (q, value) in y.iter().enumerate() {
            assert!((value.norm() - array_factor(16, (q as f64 - 5.0) / 32.0)).abs() < phase_bound(16), "{q}");
        }
    }
}
