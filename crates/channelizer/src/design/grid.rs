//! Where the error of a design is looked at: points of all bands, as `x = cos(2 pi f)`.

use std::f64::consts::{PI, TAU};

use super::Band;

/// Points a coefficient; ripples are about as many as coefficients.
const DENSITY: f64 = 16.0;

/// Points of a band at least.
const LEAST: usize = 32;

/// The problem in `x = cos(2 pi f)`: a polynomial is to be near `wanted(x)`, and errors count `weight(x)`.
///
/// An even number of taps has the gain `cos(pi f) p(x)`, so that wanted values and weights have that factor. `x` itself
/// is what is known exactly, not the frequency: differences of neighbours have no rounding.
pub(super) struct Grid {
    /// Bands with `x` of their points, descending: ascending in frequency. A list a band.
    pub(super) bands: Vec<(Band, Vec<f64>)>,
    /// Whether the number of taps is even.
    pub(super) even: bool,
}

impl Grid {
    /// Points of all bands, denser at their edges, for a polynomial of `coefficients` coefficients.
    pub(super) fn new(bands: &[Band], even: bool, coefficients: usize) -> Self {
        let points = |band: &Band| {
            let (middle, half) = (0.5 * (band.from() + band.to()), 0.5 * (band.to() - band.from()));
            let intervals = ((2.0 * half / 0.5 * coefficients as f64 * DENSITY).ceil() as usize).max(LEAST);
            let frequency = |i: usize| match i {
                0 => band.from(),
                i if i == intervals => band.to(),
                i => middle - half * (PI * i as f64 / intervals as f64).cos(),
            };
            let mut points: Vec<f64> = (0..=intervals).map(|i| (TAU * frequency(i)).cos()).collect();
            // At half the sample rate an even number of taps has no gain, whatever its polynomial is.
            points.retain(|&x| !even || 1.0 + x > f64::EPSILON);
            points.dedup();
            points
        };
        Self { bands: bands.iter().map(|band| (*band, points(band))).collect(), even }
    }

    /// What the polynomial is multiplied with to have the gain.
    pub(super) fn factor(&self, x: f64) -> f64 {
        factor(self.even, x)
    }

    /// `count` points, evenly over the bands' frequencies as if there were no gaps; the ends of the grid among them.
    pub(super) fn spread(&self, count: usize) -> Vec<Point> {
        let width = |band: &Band| band.to() - band.from();
        let all: f64 = self.bands.iter().map(|(band, _)| width(band)).sum();
        let at = |i: usize| {
            let mut along = all * i as f64 / (count - 1).max(1) as f64;
            let mut position = 0;
            while position + 1 < self.bands.len() && along > width(&self.bands[position].0) {
                along -= width(&self.bands[position].0);
                position += 1;
            }
            self.point(position, self.bands[position].0.from() + along)
        };
        (0..count).map(at).collect()
    }

    /// `count` points, as many of each band as `reference` has in proportion, and spread within it as those are.
    pub(super) fn scaled(&self, reference: &[Point], count: usize) -> Vec<Point> {
        let mut points = Vec::with_capacity(count);
        let mut before = 0;
        for position in 0..self.bands.len() {
            let old: Vec<f64> = reference.iter().filter(|p| p.band == position).map(|p| p.x.acos() / TAU).collect();
            before += old.len();
            let new = (before * count / reference.len()).saturating_sub(points.len());
            let (from, to) = (self.bands[position].0.from(), self.bands[position].0.to());
            points.extend((0..new).map(|i| {
                let part = (i as f64 + 0.5) / new as f64;
                // A band with one point says nothing of how they are spread.
                if old.len() < 2 {
                    return self.point(position, from + part * (to - from));
                }
                let along = i as f64 * (old.len() - 1) as f64 / (new - 1).max(1) as f64;
                let index = (along as usize).min(old.len() - 2);
                let frequency = old[index] + (along - index as f64) * (old[index + 1] - old[index]);
                self.point(position, frequency)
            }));
        }
        points
    }

    /// A point of a band at a frequency; within the grid, which may end before the band at half the sample rate.
    fn point(&self, band: usize, frequency: f64) -> Point {
        let x = (TAU * frequency).cos();
        let points = &self.bands[band].1;
        let (most, least) = (points.first().copied().unwrap_or(x), points.last().copied().unwrap_or(x));
        Point { x: x.min(most).max(least), band }
    }
}

/// What a polynomial is multiplied with to have the gain of an even or odd number of taps.
pub(super) fn factor(even: bool, x: f64) -> f64 {
    if even { (0.5 * (1.0 + x)).sqrt() } else { 1.0 }
}

/// A point of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// `cos(2 pi f)`.
    pub(super) x: f64,
    /// Position of its band in the list.
    pub(super) band: usize,
}
