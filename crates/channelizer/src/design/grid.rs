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
        if self.even { (0.5 * (1.0 + x)).sqrt() } else { 1.0 }
    }

    /// `count` points of it, spread over all of it.
    pub(super) fn spread(&self, count: usize) -> Vec<Point> {
        let all: usize = self.bands.iter().map(|(_, points)| points.len()).sum();
        let at = |index: usize| {
            let mut index = index;
            for (band, (_, points)) in self.bands.iter().enumerate() {
                match points.get(index) {
                    Some(&x) => return Some(Point { x, band }),
                    None => index -= points.len(),
                }
            }
            None
        };
        (0..count).filter_map(|i| at(i * (all - 1) / (count - 1).max(1))).collect()
    }
}

/// A point of a band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// `cos(2 pi f)`.
    pub(super) x: f64,
    /// Position of its band in the list.
    pub(super) band: usize,
}
