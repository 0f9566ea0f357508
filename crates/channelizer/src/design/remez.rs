//! Designs with equal ripples: Parks' and McClellan's form of the exchange of Remez.
//!
//! Symmetric taps have the gain `p(cos(2 pi f))`, times `cos(pi f)` if their number is even, with a polynomial `p` of
//! as many coefficients `n` as there are taps that differ. The largest weighted error is least if it is reached, with
//! alternating signs, at `n + 1` points. An exchange takes the polynomial whose errors are equal at the points of
//! reference, and moves these to where its errors are largest.

use super::barycentric::{Barycentric, weights};
use super::grid::{Grid, Point};
use super::taps::taps_of;
use super::{Band, DesignError, band};

/// Exchanges at most; ten to thirty are the rule.
const EXCHANGES: usize = 100;

/// Exchanges that do not raise the ripple, as each would without rounding, before it is given up.
const FRUITLESS: usize = 8;

/// Largest relative difference of ripples.
const SPREAD: f64 = 1e-6;

/// A difference of ripples that no further exchange improves.
const PERFECT: f64 = 1e-9;

/// Differences of gains that count as none: rounding of taps and of their sum.
const ROUNDING: f64 = 1e-14;

/// Coefficients below which there is no smaller design to begin with.
const SMALL: usize = 16;

/// Symmetric taps whose largest weighted error over the bands is least: all ripples of a band are equal.
///
/// The error is `weight * |gain - gain wanted|`; gaps between bands are free. The taps are as the bands ask for: with a
/// pass band of gain 1, the gain at 0 is 1 but for the ripple. The ripples of the result are equal to 1e-6 of
/// themselves, or to a gain of 1e-14; otherwise the design is refused.
///
/// ```
/// use fringes_channelizer::design::{Band, remez, response};
///
/// // A pass band to 0.1, and errors in the stop band that count 10 times as much.
/// let taps = remez(64, &[Band::pass(0.0, 0.1), Band::stop(0.14, 0.5).with_weight(10.0)])?;
/// assert!(response(&taps, 0.14).norm() < 1.3e-3);
/// # Ok::<(), fringes_channelizer::design::DesignError>(())
/// ```
///
/// # Errors
/// [`DesignError::Taps`], [`DesignError::NoBands`], [`DesignError::Edges`], [`DesignError::Band`] and
/// [`DesignError::HalfRate`] for taps and bands that make no sense, [`DesignError::NotConverged`] where the bands ask
/// for ripples that `f64` does not resolve.
pub fn remez(taps: usize, bands: &[Band]) -> Result<Vec<f64>, DesignError> {
    band::check(taps, bands)?;
    let Solution { polynomial, reference, mut spread, iterations, ripple } =
        solve(bands, taps.is_multiple_of(2), taps.div_ceil(2));
    if spread <= SPREAD {
        let (filter, residuals) = taps_of(polynomial, taps);
        // How far the taps' gain is from the polynomial's, where ripples are largest.
        let excess = |(point, residual): (&Point, f64)| bands[point.band].weight() * (residual.abs() - ROUNDING);
        spread = spread.max(reference.iter().zip(residuals).map(excess).fold(0.0, f64::max) / ripple);
        if spread <= SPREAD {
            return Ok(filter);
        }
    }
    Err(DesignError::NotConverged { taps, iterations, spread, ripple })
}

/// Where exchanges ended.
struct Solution {
    polynomial: Barycentric,
    reference: Vec<Point>,
    /// Largest error over that of the points of reference, less 1.
    spread: f64,
    iterations: usize,
    /// Error of the points of reference.
    ripple: f64,
}

/// Exchanges from points that are spread evenly, or else from those of a design of half as many coefficients.
fn solve(bands: &[Band], even: bool, coefficients: usize) -> Solution {
    let grid = Grid::new(bands, even, coefficients);
    let at_once = exchange(&grid, grid.spread(coefficients + 1));
    if at_once.spread <= SPREAD || coefficients < SMALL {
        return at_once;
    }
    let half = solve(bands, even, coefficients / 2);
    let from_half = exchange(&grid, grid.scaled(&half.reference, coefficients + 1));
    if from_half.spread < at_once.spread { from_half } else { at_once }
}

/// Exchanges until ripples are equal, or nothing improves them; the best of what came.
fn exchange(grid: &Grid, mut reference: Vec<Point>) -> Solution {
    let nothing = Barycentric::new(Vec::new(), Vec::new(), Vec::new());
    let (iterations, spread, ripple) = (0, f64::INFINITY, f64::INFINITY);
    let mut best = Solution { polynomial: nothing, reference: reference.clone(), spread, iterations, ripple };
    let (mut highest, mut fruitless) = (0.0f64, 0);
    for iterations in 1..=EXCHANGES {
        let (polynomial, deviation) = level(grid, &reference);
        let extremes = extremes(grid, &polynomial, &reference, deviation);
        let ripple = deviation.abs();
        let excess =
            |extreme: &Extreme| extreme.error.abs() - ripple - ROUNDING * grid.bands[extreme.point.band].0.weight();
        let spread = extremes.iter().map(excess).fold(0.0, f64::max) / ripple;
        let unknown = !spread.is_finite() || extremes.iter().any(|extreme| !extreme.error.is_finite());
        let chosen = choose(extremes, reference.len());
        let better = !unknown && spread < best.spread;
        fruitless = if better || ripple > highest * (1.0 + PERFECT) { 0 } else { fruitless + 1 };
        highest = highest.max(ripple);
        if better {
            best = Solution { polynomial, reference: reference.clone(), spread, iterations, ripple };
        }
        match chosen {
            Some(chosen) if !unknown && spread > PERFECT && fruitless < FRUITLESS => reference = chosen,
            _ => break,
        }
    }
    best
}

/// The polynomial whose weighted errors at the points of reference are one value with alternating signs, and that value
/// at the first point.
fn level(grid: &Grid, reference: &[Point]) -> (Barycentric, f64) {
    let points: Vec<f64> = reference.iter().map(|point| point.x).collect();
    let weights = weights(&points);
    let wanted = |point: &Point| grid.bands[point.band].0.gain() / grid.factor(point.x);
    let unit = |point: &Point| 1.0 / (grid.bands[point.band].0.weight() * grid.factor(point.x));
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let (mut above, mut below) = (0.0, 0.0);
    for (i, (point, &weight)) in reference.iter().zip(&weights).enumerate() {
        above += weight * wanted(point);
        below += weight * sign(i) * unit(point);
    }
    let deviation = above / below;
    let values = reference.iter().enumerate().map(|(i, point)| wanted(point) - sign(i) * deviation * unit(point));
    let values = values.collect();
    (Barycentric::new(points, values, weights), deviation)
}

/// A point where the weighted error is largest within its neighbourhood.
#[derive(Debug, Clone, Copy)]
struct Extreme {
    point: Point,
    error: f64,
}

/// Weighted error of a polynomial at a point.
fn error_at(grid: &Grid, polynomial: &Barycentric, point: Point) -> f64 {
    let (band, factor) = (&grid.bands[point.band].0, grid.factor(point.x));
    band.weight() * (band.gain() - factor * polynomial.at(point.x))
}

/// Points of largest error in ascending frequency, of alternating signs: at least as many as there are points of
/// reference, since those are among the candidates.
fn extremes(grid: &Grid, polynomial: &Barycentric, reference: &[Point], deviation: f64) -> Vec<Extreme> {
    let mut candidates: Vec<Extreme> = reference
        .iter()
        .enumerate()
        .map(|(i, &point)| Extreme { point, error: if i % 2 == 0 { deviation } else { -deviation } })
        .collect();
    for (band, (_, points)) in grid.bands.iter().enumerate() {
        let error = |x: f64| error_at(grid, polynomial, Point { x, band });
        let errors: Vec<f64> = points.iter().map(|&x| error(x)).collect();
        for i in 0..points.len() {
            let size = errors[i].abs();
            // Errors of the other sign are no neighbours.
            let rises = |j: Option<usize>| {
                j.and_then(|j| errors.get(j)).is_none_or(|&other| other * errors[i].signum() <= size)
            };
            // A peak between points of the grid is higher than these.
            if size < 0.5 * deviation.abs() || !rises(i.checked_sub(1)) || !rises(Some(i + 1)) {
                continue;
            }
            let x = match (i.checked_sub(1).and_then(|i| points.get(i)), points.get(i + 1)) {
                (Some(&before), Some(&after)) => peak(&|x| error(x) * errors[i].signum(), before, points[i], after),
                _ => points[i],
            };
            candidates.push(Extreme { point: Point { x, band }, error: error(x) });
        }
    }
    candidates.sort_by(|a, b| b.point.x.total_cmp(&a.point.x));
    // Of neighbours of one sign, the largest.
    let mut alternating: Vec<Extreme> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match alternating.last_mut() {
            Some(last) if last.error.signum() == candidate.error.signum() => {
                if candidate.error.abs() > last.error.abs() {
                    *last = candidate;
                }
            }
            _ => alternating.push(candidate),
        }
    }
    alternating
}

/// Where a function has its maximum, about, if it is larger at `middle` than on both sides.
fn peak(function: &dyn Fn(f64) -> f64, left: f64, middle: f64, right: f64) -> f64 {
    let [mut a, mut b, mut c] = [(left, function(left)), (middle, function(middle)), (right, function(right))];
    for _ in 0..4 {
        // The vertex of the parabola through three points.
        let (to_a, to_c) = (a.0 - b.0, c.0 - b.0);
        let (down_a, down_c) = (a.1 - b.1, c.1 - b.1);
        let vertex = b.0 + 0.5 * (to_a * to_a * down_c - to_c * to_c * down_a) / (to_a * down_c - to_c * down_a);
        let inside = (vertex - a.0) * (vertex - c.0) < 0.0;
        if !inside || vertex == b.0 {
            break;
        }
        let found = (vertex, function(vertex));
        let towards_a = (vertex - b.0) * to_a > 0.0;
        match (found.1 > b.1, towards_a) {
            (true, true) => (b, c) = (found, b),
            (true, false) => (a, b) = (b, found),
            (false, true) => a = found,
            (false, false) => c = found,
        }
    }
    b.0
}

/// The points of reference of the next exchange: `count` of the extremes, alternating, the smallest left out.
fn choose(mut extremes: Vec<Extreme>, count: usize) -> Option<Vec<Point>> {
    let size = |extreme: &Extreme| extreme.error.abs();
    while extremes.len() > count {
        let last = extremes.len() - 1;
        if extremes.len() == count + 1 {
            let index = if size(&extremes[0]) < size(&extremes[last]) { 0 } else { last };
            extremes.remove(index);
            continue;
        }
        let smallest = (0..=last).min_by(|&a, &b| size(&extremes[a]).total_cmp(&size(&extremes[b])))?;
        // Without an extreme in the middle its neighbours have one sign, so the smaller one of them goes as well.
        let (from, to) = match smallest {
            0 => (0, 1),
            i if i == last => (last, last + 1),
            i if size(&extremes[i - 1]) < size(&extremes[i + 1]) => (i - 1, i + 1),
            i => (i, i + 2),
        };
        extremes.drain(from..to);
    }
    (extremes.len() == count).then(|| extremes.iter().map(|extreme| extreme.point).collect())
}
