//! Where a point source is, from the phases of all baselines of an integration.
//!
//! After the fringes of the phase centre are stopped, a source at direction cosines `(l, m)` leaves the phase
//! `2 pi f / c (u l + v m + w (n - 1))` on a baseline, with `(u, v, w)` the difference of the positions of the first
//! and the second (conjugated) antenna. The search takes that phase out for every point of a grid and adds up all
//! baselines; it then follows the highest sum to its top by Newton's method.

use ndarray::Array2;
use num_complex::Complex;
use rayon::prelude::*;

use crate::coherence::Coherence;
use crate::simulate::geometry::LIGHT_M_PER_S;

/// Grid points per width of the array's beam.
const POINTS_PER_BEAM: f64 = 5.0;
/// Most grid points from the middle of the field to its edge.
const MOST_POINTS: f64 = 200.0;
/// Most parts that the band is cut into.
const MOST_BANDS: usize = 64;

/// The coherence of an integration, ready to be searched.
pub(crate) struct Fringes {
    /// Wavenumber `2 pi f / c` in the middle of each part of the band, rad/m.
    wavenumbers: Vec<f64>,
    /// `[antenna]`: `(u, v, w)` in metres.
    uvw_m: Vec<[f64; 3]>,
    /// Antennas and the sums of their coherence over the channels of each part of the band.
    pairs: Vec<(usize, usize, Vec<Complex<f64>>)>,
    /// Number of values in each of these sums.
    counts: Vec<Vec<f64>>,
    /// Number of values in all sums.
    count: usize,
}

/// A grid of directions around the phase centre.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Largest direction cosine either way.
    pub(crate) half_width: f64,
    /// Points from the middle to the edge.
    points: i32,
}

impl Grid {
    /// A grid of at most `half_width` that samples the beam of an array well.
    pub(crate) fn new(half_width: f64, longest_m: f64, highest_hz: f64) -> Self {
        let step = LIGHT_M_PER_S / (highest_hz * longest_m.max(1e-3)) / POINTS_PER_BEAM;
        let points = (half_width / step).ceil().clamp(4.0, MOST_POINTS);
        Self { half_width: half_width.min(points * step), points: points as i32 }
    }

    fn cosine(&self, index: i32) -> f64 {
        self.half_width * f64::from(index) / f64::from(self.points)
    }
}

/// Longest distance between two antennas.
pub(crate) fn longest_baseline_m(positions: &[[f64; 3]]) -> f64 {
    let mut longest: f64 = 0.0;
    for (index, a) in positions.iter().enumerate() {
        for b in &positions[..index] {
            longest = longest.max(a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt());
        }
    }
    longest
}

impl Fringes {
    /// Coherence of pairs of equal polarisation in one integration, for antennas at `uvw_m` `[antenna]`. `half_width`
    /// is the largest direction cosine that will be asked for: it decides how finely the band is cut.
    pub(crate) fn new(coherence: &Coherence<'_>, integration: usize, uvw_m: Vec<[f64; 3]>, half_width: f64) -> Self {
        let cube = coherence.cube;
        let (inputs, frequencies, channels) = (cube.inputs(), cube.frequencies(), cube.channels());
        let bandwidth = frequencies.step_hz * channels as f64;
        // A source at the edge turns by 1/8 of a turn at most across a part of the band.
        let turns = longest_baseline_m(&uvw_m) * 1.5 * half_width * bandwidth / LIGHT_M_PER_S;
        let bands = ((8.0 * turns).ceil().max(1.0) as usize).min(MOST_BANDS).min(channels);
        let part_of = |channel: usize| channel * bands / channels;
        let mut centres = vec![(0.0, 0.0); bands];
        for channel in 0..channels {
            let centre = &mut centres[part_of(channel)];
            *centre = (centre.0 + frequencies.channel_hz(channel), centre.1 + 1.0);
        }
        let mut count = 0;
        let (mut pairs, mut counts) = (Vec::new(), Vec::new());
        for a in 0..inputs.antennas() {
            for b in 0..a {
                let (mut sums, mut values) = (vec![Complex::default(); bands], vec![0.0; bands]);
                for pol in 0..inputs.pols() {
                    let (a, b) = (a * inputs.pols() + pol, b * inputs.pols() + pol);
                    for (channel, value) in coherence.spectrum(integration, a, b).into_iter().enumerate() {
                        if let Some(value) = value {
                            sums[part_of(channel)] += Complex::new(f64::from(value.re), f64::from(value.im));
                            values[part_of(channel)] += 1.0;
                            count += 1;
                        }
                    }
                }
                pairs.push((a, b, sums));
                counts.push(values);
            }
        }
        let wavenumbers =
            centres.iter().map(|(sum, count)| std::f64::consts::TAU * sum / count / LIGHT_M_PER_S).collect();
        Self { wavenumbers, uvw_m, pairs, counts, count }
    }

    /// What a point source at the phase centre would have given, without noise: the beam is its image.
    pub(crate) fn of_a_point(&self) -> Self {
        let whole = |values: &Vec<f64>| values.iter().map(|&count| Complex::from(count)).collect();
        let pairs = self.pairs.iter().zip(&self.counts).map(|((a, b, _), values)| (*a, *b, whole(values))).collect();
        let (wavenumbers, uvw_m, counts) = (self.wavenumbers.clone(), self.uvw_m.clone(), self.counts.clone());
        Self { wavenumbers, uvw_m, pairs, counts, count: self.count }
    }

    /// Mean coherence left when the phases of a source at `(l, m)` are taken out: its real part is 1 for a noiseless
    /// source there.
    fn power(&self, [l, m]: [f64; 2]) -> f64 {
        let sky = [l, m, (1.0 - l * l - m * m).max(0.0).sqrt() - 1.0];
        let mut sum = 0.0;
        for (band, wavenumber) in self.wavenumbers.iter().enumerate() {
            let turned: Vec<Complex<f64>> =
                self.uvw_m.iter().map(|uvw| Complex::from_polar(1.0, wavenumber * dot(*uvw, sky))).collect();
            sum += self.pairs.iter().map(|(a, b, sums)| (sums[band] * turned[*a].conj() * turned[*b]).re).sum::<f64>();
        }
        sum / self.count.max(1) as f64
    }

    /// The field `[m][l]`, southmost row and westmost column first.
    pub(crate) fn image(&self, grid: Grid) -> Array2<f32> {
        let side = (2 * grid.points + 1) as usize;
        let rows: Vec<Vec<f32>> = (-grid.points..=grid.points)
            .into_par_iter()
            .map(|m| {
                let m = grid.cosine(m);
                (-grid.points..=grid.points).map(|l| self.power([grid.cosine(l), m]) as f32).collect()
            })
            .collect();
        Array2::from_shape_fn((side, side), |(m, l)| rows[m][l])
    }

    /// The direction of the highest sum, `None` if nothing was correlated.
    pub(crate) fn brightest(&self, grid: Grid) -> Option<[f64; 2]> {
        if self.count == 0 {
            return None;
        }
        let image = self.image(grid);
        let ((m, l), _) = image.indexed_iter().max_by(|x, y| x.1.total_cmp(y.1))?;
        let start = [grid.cosine(l as i32 - grid.points), grid.cosine(m as i32 - grid.points)];
        Some(self.climb(start, 2.0 * grid.half_width / f64::from(grid.points)))
    }

    /// Newton's method from a point near a maximum; a step beyond `reach` ends it.
    fn climb(&self, start: [f64; 2], reach: f64) -> [f64; 2] {
        let mut lm = start;
        for _ in 0..6 {
            let [l, m] = lm;
            let n = (1.0 - l * l - m * m).max(1e-6).sqrt();
            let sky = [l, m, n - 1.0];
            let (mut slope, mut curve) = ([0.0; 2], [0.0; 3]);
            for (a, b, sums) in &self.pairs {
                let uvw: [f64; 3] = std::array::from_fn(|axis| self.uvw_m[*a][axis] - self.uvw_m[*b][axis]);
                let gradient = [uvw[0] - uvw[2] * l / n, uvw[1] - uvw[2] * m / n];
                for (sum, wavenumber) in sums.iter().zip(&self.wavenumbers) {
                    let left = sum * Complex::from_polar(1.0, -wavenumber * dot(uvw, sky));
                    let [gl, gm] = gradient.map(|metres| metres * wavenumber);
                    slope = [slope[0] + left.im * gl, slope[1] + left.im * gm];
                    curve = [curve[0] + left.re * gl * gl, curve[1] + left.re * gl * gm, curve[2] + left.re * gm * gm];
                }
            }
            let determinant = curve[0] * curve[2] - curve[1] * curve[1];
            if !(determinant > 0.0 && curve[0] > 0.0) {
                break;
            }
            let step = [
                (curve[2] * slope[0] - curve[1] * slope[1]) / determinant,
                (curve[0] * slope[1] - curve[1] * slope[0]) / determinant,
            ];
            let next = [l + step[0], m + step[1]];
            if !(next[0] - start[0]).hypot(next[1] - start[1]).le(&reach) {
                break;
            }
            lm = next;
        }
        lm
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Angle between two directions given by direction cosines, in degrees.
pub(crate) fn separation_deg(a: [f64; 2], b: [f64; 2]) -> f64 {
    let unit = |[l, m]: [f64; 2]| [l, m, (1.0 - l * l - m * m).max(0.0).sqrt()];
    let chord = unit(a).iter().zip(unit(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    (2.0 * (chord / 2.0).clamp(0.0, 1.0).asin()).to_degrees()
}
