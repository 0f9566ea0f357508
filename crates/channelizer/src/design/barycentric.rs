//! A polynomial by its values at points between -1 and 1.

/// A polynomial by its values: `p(x) = (sum_i w_i y_i / (x - x_i)) / (sum_i w_i / (x - x_i))`.
pub(super) struct Barycentric {
    points: Vec<f64>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Barycentric {
    /// The polynomial through `values` at `points` with the weights of [`weights`].
    pub(super) fn new(points: Vec<f64>, values: Vec<f64>, weights: Vec<f64>) -> Self {
        Self { points, values, weights }
    }

    /// Its points, and its values there.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().zip(self.values.iter().copied())
    }

    /// Position of the point with the largest weight.
    pub(super) fn heaviest(&self) -> usize {
        let weight = |&i: &usize| self.weights[i].abs();
        (0..self.weights.len()).max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or(0)
    }

    /// The polynomial through all points but one.
    pub(super) fn without(mut self, index: usize) -> Self {
        let left_out = self.points.remove(index);
        self.values.remove(index);
        self.weights.remove(index);
        let rest = self.weights.iter_mut().zip(&self.points);
        rest.for_each(|(weight, &point)| *weight *= point - left_out);
        self
    }

    /// The polynomial through other values at the same points.
    pub(super) fn with_values(self, values: Vec<f64>) -> Self {
        Self { values, ..self }
    }

    /// Its value.
    pub(super) fn at(&self, x: f64) -> f64 {
        let (mut above, mut below) = (0.0, 0.0);
        for ((&point, &value), &weight) in self.points.iter().zip(&self.values).zip(&self.weights) {
            let distance = x - point;
            if distance == 0.0 {
                return value;
            }
            let term = weight / distance;
            above += term * value;
            below += term;
        }
        above / below
    }
}

/// Weights `w_i = prod_j 1 / (x_i - x_j)`, all times one factor that makes the largest 1.
///
/// A product of thousands of distances leaves the range of `f64`, so its exponent is kept apart. A common factor
/// cancels in every use.
pub(super) fn weights(points: &[f64]) -> Vec<f64> {
    /// Where an exponent is moved.
    const STEP: i32 = 400;
    let (small, large) = (2f64.powi(-STEP), 2f64.powi(STEP));
    let products: Vec<(f64, i32)> = points
        .iter()
        .enumerate()
        .map(|(i, &x)| {
            let (mut product, mut steps) = (1.0f64, 0i32);
            for (j, &other) in points.iter().enumerate() {
                if i == j {
                    continue;
                }
                product *= 2.0 * (x - other);
                if product.abs() < small {
                    (product, steps) = (product * large, steps - 1);
                } else if product.abs() > large {
                    (product, steps) = (product * small, steps + 1);
                }
            }
            (product, steps)
        })
        .collect();
    // The largest weight is that of the smallest product.
    let size = |&(product, steps): &(f64, i32)| product.abs().log2() + f64::from(steps * STEP);
    let least = products.iter().map(size).fold(f64::INFINITY, f64::min);
    products.iter().map(|product| product.0.signum() * (least - size(product)).exp2()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_is_that_of_its_values() {
        let cubic = |x: f64| 4.0 * x * x * x - 3.0 * x + 0.25;
        let points = vec![-1.0, -0.3, 0.1, 0.8, 1.0];
        let polynomial = Barycentric::new(points.clone(), points.iter().map(|&x| cubic(x)).collect(), weights(&points));
        for i in 0..=100 {
            let x = -1.0 + f64::from(i) / 50.0;
            assert!((polynomial.at(x) - cubic(x)).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn weights_alternate_and_do_not_overflow() {
        // Chebyshev's points: w_i = (-1)^i, half of it at the ends.
        let n = 3000;
        let points: Vec<f64> = (0..=n).map(|i| (std::f64::consts::PI * f64::from(i) / f64::from(n)).cos()).collect();
        let weights = weights(&points);
        for (i, &weight) in weights.iter().enumerate() {
            let end = if i == 0 || i == n as usize { 0.5 } else { 1.0 };
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            assert!((weight - sign * end).abs() < 1e-6, "{i}: {weight}");
        }
        // Points crowded in a thousandth of the interval.
        let crowded: Vec<f64> = points.iter().map(|x| 0.9995 + 0.0005 * x).collect();
        assert!(super::weights(&crowded).iter().all(|weight| weight.is_finite() && *weight != 0.0));
    }
}
