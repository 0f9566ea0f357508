//! Interpolation of intensities between beams that are evenly spaced.

use ndarray::ArrayView2;

/// Weights of the values at -1, 0, 1 and 2 in a cubic polynomial's value at `x`: Lagrange's.
pub fn lagrange_weights(x: f64) -> [f64; 4] {
    [
        -x * (x - 1.0) * (x - 2.0) / 6.0,
        (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
        -(x + 1.0) * x * (x - 2.0) / 2.0,
        (x + 1.0) * x * (x - 1.0) / 6.0,
    ]
}

/// Value between the points of `[out][q]` at `out = east` and `q = north`, from the four points around it in each
/// direction: `floor - 1` to `floor + 2`, `q` periodic.
///
/// At the last place that has four points around it in `out`, the four are those before.
///
/// # Panics
/// If `out` has no four points around `east`.
pub fn interpolate(intensity: ArrayView2<'_, f64>, north: f64, east: f64) -> f64 {
    let (outs, padded) = intensity.dim();
    assert!(outs >= 4 && east >= 1.0 && east <= (outs - 2) as f64, "{east} of {outs}");
    let first_out = (east.floor() as usize).min(outs - 3);
    let (of_east, of_north) = (lagrange_weights(east - first_out as f64), lagrange_weights(north - north.floor()));
    let mut sum = 0.0;
    for (j, weight_east) in of_east.iter().enumerate() {
        for (i, weight_north) in of_north.iter().enumerate() {
            let q = (north.floor() + i as f64 - 1.0).rem_euclid(padded as f64) as usize;
            sum += weight_east * weight_north * intensity[(first_out + j - 1, q)];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn cubic_polynomials_are_reproduced() {
        let (outs, padded) = (9, 16);
        for (a, b) in [(0, 0), (1, 0), (3, 2), (3, 3), (0, 3)] {
            let value = |q: f64, out: f64| (q - 6.0).powi(a) * (out - 4.0).powi(b);
            let intensity = Array2::from_shape_fn((outs, padded), |(out, q)| value(q as f64, out as f64));
            for (north, east) in [(3.25, 4.5), (5.0, 3.0), (1.0, 1.0), (12.9, 6.99), (7.5, 7.0)] {
                let (found, expected) = (interpolate(intensity.view(), north, east), value(north, east));
                // 16 terms, weights of up to 1 in magnitude, values of up to 9^3 4^3... a few roundings each.
                let bound = 16.0 * 16.0 * f64::EPSILON * 1000.0 * 64.0;
                assert!((found - expected).abs() < bound, "{a} {b} {north} {east}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_fourth_power_is_not() {
        let intensity = Array2::from_shape_fn((4, 16), |(_, q)| (q as f64).powi(4));
        // The error is the product of the distances to the four points: 0.5625 in the middle.
        let error = 6.5f64.powi(4) - interpolate(intensity.view(), 6.5, 1.5);
        assert!((error - 0.5625).abs() < 1e-9, "{error}");
    }

    #[test]
    fn the_north_is_periodic_and_points_are_themselves() {
        let intensity = Array2::from_shape_fn((5, 8), |(out, q)| ((out * 13 + q * 7) % 11) as f64);
        for (out, q) in [(1, 0), (2, 7), (3, 3)] {
            assert_eq!(interpolate(intensity.view(), q as f64, out as f64), intensity[(out, q)]);
        }
        let place = interpolate(intensity.view(), 7.75, 2.5);
        assert_eq!(interpolate(intensity.view(), -0.25, 2.5), place);
        assert_eq!(interpolate(intensity.view(), 15.75, 2.5), place);
    }
}
