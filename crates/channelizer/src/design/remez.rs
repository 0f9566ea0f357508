//! Designs with equal ripples: Parks' and McClellan's form of the exchange of Remez.
//!
//! Symmetric taps have the gain `p(cos(2 pi f))`, times `cos(pi f)` if their number is even, with a polynomial `p` of
//! as many coefficients `n` as there are taps that differ. The largest weighted error is least if it is reached, with
//! alternating signs, at `n + 1` points. An exchange takes the polynomial whose errors are equal at the points of
//! reference, and moves these to where its errors are largest.

use std::f64::consts::PI;

use super::barycentric::{Barycentric, weights};
use super::grid::{Grid, Point};
use super::{Band, DesignError, band};

/// Exchanges at most; ten to thirty are the rule.
const EXCHANGES: usize = 100;

/// Largest relative difference of ripples.
const SPREAD: f64 = 1e-6;

/// A difference of ripples that no further exchange improves.
const PERFECT: f64 = 1e-9;

/// Symmetric taps whose largest weighted error over the bands is least: all ripples of a band are equal.
///
/// The error is `weight * |gain - gain wanted|`; gaps between bands are free. The taps are as the bands ask for: with a
/// pass band of gain 1, the gain at 0 is 1 but for the ripple. The ripples of the result are equal to 1e-6 of
/// themselves, or the design is refused.
///
/// ```
/// use fringes_channelizer::design::{Band, remez, response};
///
/// // A pass band to 0.1, and errors in the stop band that count 10 times as much.
/// let taps = remez(64, &[Band::pass(0.0, 0.1), Band::stop(0.14, 0.5).with_weight(10.0)])?;
/// assert!(response(&taps, 0.14).norm() < 1.2e-3);
/// # Ok::<(), fringes_channelizer::design::DesignError>(())
/// ```
///
/// # Errors
/// [`DesignError::Taps`], [`DesignError::NoBands`], [`DesignError::Edges`], [`DesignError::Band`] and
/// [`DesignError::HalfRate`] for taps and bands that make no sense, [`DesignError::NotConverged`] where the bands ask
/// for ripples that `f64` does not resolve.
pub fn remez(taps: usize, bands: &[Band]) -> Result<Vec<f64>, DesignError> {
    band::check(taps, bands)?;
    let grid = Grid::new(bands, taps % 2 == 0, taps.div_ceil(2));
    let mut reference = grid.spread(taps.div_ceil(2) + 1);
    // The best so far: how much its ripples differ, and its polynomial.
    let mut best: Option<(f64, Barycentric)> = None;
    let (mut iterations, mut since_best, mut ripple) = (0, 0, 0.0);
    while iterations < EXCHANGES && since_best < 5 {
        iterations += 1;
        since_best += 1;
        let (polynomial, deviation) = level(&grid, &reference);
        let extremes = extremes(&grid, &polynomial, &reference, deviation);
        let largest = extremes.iter().fold(0.0f64, |largest, extreme| largest.max(extreme.error.abs()));
        let spread = largest / deviation.abs() - 1.0;
        ripple = deviation.abs();
        if spread.is_nan() {
            break;
        }
        if best.as_ref().is_none_or(|best| spread < best.0) {
            best = Some((spread, polynomial));
            since_best = 0;
        }
        if spread <= PERFECT {
            break;
        }
        match choose(extremes, reference.len()) {
            Some(chosen) => reference = chosen,
            None => break,
        }
    }
    let spread = best.as_ref().map_or(f64::INFINITY, |best| best.0);
    match best {
        Some((spread, polynomial)) if spread <= SPREAD => Ok(taps_of(&grid, &polynomial, taps)),
        _ => Err(DesignError::NotConverged { taps, iterations, spread, ripple }),
    }
}

/// The polynomial whose weighted errors at the points of reference are one value with alternating signs, and that value
/// at the first point.
fn level(grid: &Grid, reference: &[Point]) -> (Barycentric, f64) {
    let points: Vec<f64> = reference.iter().map(|point| point.x).collect();
    let weights = weights(&points);
    let wanted = |point: &Point| grid.bands[point.band].0.gain() / grid.factor(point.x);
    let unit = |point: &Point| 1.0 / (grid.bands[point.band].0.weight() * grid.factor(point.x));
    let sign = |i: usize| if i % 2 == 0 { 1.0 } else { -1.0 };
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
            if size < deviation.abs() || !rises(i.checked_sub(1)) || !rises(Some(i + 1)) {
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

/// Taps whose gain is the polynomial's: by its values at multiples of `1 / taps`.
fn taps_of(grid: &Grid, polynomial: &Barycentric, taps: usize) -> Vec<f64> {
    // cos(pi i / taps), for the phases below: multiples of half a turn over the taps.
    let cosines: Vec<f64> = (0..2 * taps).map(|i| (PI * i as f64 / taps as f64).cos()).collect();
    let gains: Vec<f64> = (0..taps.div_ceil(2))
        .map(|k| {
            let x = cosines[2 * k];
            grid.factor(x) * polynomial.at(x)
        })
        .collect();
    let tap = |n: usize| {
        // n - (taps - 1) / 2, doubled; symmetric to the bit by its magnitude.
        let doubled = (2 * n).abs_diff(taps - 1);
        let wave: f64 = gains.iter().enumerate().skip(1).map(|(k, gain)| gain * cosines[k * doubled % (2 * taps)]).sum();
        (gains[0] + 2.0 * wave) / taps as f64
    };
    (0..taps).map(tap).collect()
}
