//! Baseline orders: which pair of inputs a position on the `baseline` dimension holds, and back.
//!
//! Correlation is `V[a][b] = sum_t x_a(t) conj(x_b(t))`, computed for inputs `a >= b`.
//!
//! | order | positions | position holds |
//! |---|---|---|
//! | [`BaselineOrder::Triangle`] | `n (n + 1) / 2` | `V[a][b]`, `a >= b`, at `a (a + 1) / 2 + b` |
//! | [`BaselineOrder::AntennaPairs`] | `4 m (m + 1) / 2` | antennas `ant1 <= ant2` at `ant2 (ant2 + 1) / 2 + ant1`, four products each |
//! | [`BaselineOrder::Full`] | `n^2` | `V[a][b]` for every pair, at `a n + b` |
//!
//! For example, two antennas with two polarisations a and b (inputs 0a 0b 1a 1b = 0 1 2 3):
//!
//! | position | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 |
//! |---|---|---|---|---|---|---|---|---|---|---|---|---|
//! | Triangle | 0,0 | 1,0 | 1,1 | 2,0 | 2,1 | 2,2 | 3,0 | 3,1 | 3,2 | 3,3 | | |
//! | AntennaPairs | 0,0 | 1,0 | 0,1 | 1,1 | 0,2 | 1,2 | 0,3 | 1,3 | 2,2 | 3,2 | 2,3 | 3,3 |

use crate::{Inputs, TypesError};

/// Order of the `baseline` dimension; see the [module's table](crate::baseline).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BaselineOrder {
    /// Packed lower triangle of inputs.
    #[default]
    Triangle,
    /// MeerKAT's: antenna pairs with four polarisation products `aa, ba, ab, bb`.
    ///
    /// The first letter is the polarisation of `ant1`, the second of `ant2 >= ant1`, and `ant2` is conjugated:
    /// product `p + 2 q` is `sum x_(ant1,p) conj(x_(ant2,q))`. An autocorrelation carries both `ab` and `ba`, so the
    /// map from the triangle is not one-to-one.
    AntennaPairs,
    /// All pairs, redundant ones included.
    Full,
}

/// The product `sum_t x_a(t) conj(x_b(t))` of inputs `a` and `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    /// The input that is not conjugated.
    pub a: usize,
    /// The input that is conjugated.
    pub b: usize,
}

impl Product {
    /// Position of this product in the packed lower triangle, and whether the triangle's value must be conjugated
    /// (`a < b`).
    pub fn triangle(self) -> (usize, bool) {
        let (high, low) = (self.a.max(self.b), self.a.min(self.b));
        (high * (high + 1) / 2 + low, self.a < self.b)
    }
}

/// The row `r` of a packed lower triangle that holds `index`: the largest `r` with `r (r + 1) / 2 <= index`.
fn triangle_row(index: usize) -> usize {
    // isqrt is exact at every size, unlike a floating-point square root.
    let doubled = 8 * (index as u128) + 1;
    ((doubled.isqrt() - 1) / 2) as usize
}

impl BaselineOrder {
    /// Name of the order.
    pub fn name(self) -> &'static str {
        match self {
            BaselineOrder::Triangle => "triangle",
            BaselineOrder::AntennaPairs => "antenna pairs",
            BaselineOrder::Full => "full",
        }
    }

    /// `Ok` if the order can hold these inputs.
    ///
    /// # Errors
    /// [`TypesError::OrderPols`] for antenna pairs of single-polarisation antennas.
    pub fn check(self, inputs: Inputs) -> Result<(), TypesError> {
        if self == BaselineOrder::AntennaPairs && inputs.pols() != 2 {
            return Err(TypesError::OrderPols { order: self.name(), expected: 2, actual: inputs.pols() });
        }
        Ok(())
    }

    /// Number of baselines.
    pub fn len(self, inputs: Inputs) -> usize {
        match self {
            BaselineOrder::Triangle => inputs.triangle_len(),
            BaselineOrder::AntennaPairs => 2 * inputs.antennas() * (inputs.antennas() + 1),
            BaselineOrder::Full => inputs.len() * inputs.len(),
        }
    }

    /// The product that a position holds, or `None` past the end.
    pub fn product(self, inputs: Inputs, position: usize) -> Option<Product> {
        if position >= self.len(inputs) {
            return None;
        }
        Some(match self {
            BaselineOrder::Triangle => {
                let a = triangle_row(position);
                Product { a, b: position - a * (a + 1) / 2 }
            }
            BaselineOrder::AntennaPairs => {
                let (pair, product) = (position / 4, position % 4);
                let ant2 = triangle_row(pair);
                let ant1 = pair - ant2 * (ant2 + 1) / 2;
                Product { a: ant1 * 2 + product % 2, b: ant2 * 2 + product / 2 }
            }
            BaselineOrder::Full => Product { a: position / inputs.len(), b: position % inputs.len() },
        })
    }

    /// The position of a product, or `None` if the order does not hold it (its conjugate may be held).
    pub fn position(self, inputs: Inputs, product: Product) -> Option<usize> {
        let Product { a, b } = product;
        if a >= inputs.len() || b >= inputs.len() {
            return None;
        }
        match self {
            BaselineOrder::Triangle => (a >= b).then(|| a * (a + 1) / 2 + b),
            BaselineOrder::AntennaPairs => {
                let (ant1, ant2) = (a / 2, b / 2);
                (inputs.pols() == 2 && ant1 <= ant2).then(|| 4 * (ant2 * (ant2 + 1) / 2 + ant1) + a % 2 + 2 * (b % 2))
            }
            BaselineOrder::Full => Some(a * inputs.len() + b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [BaselineOrder; 3] = [BaselineOrder::Triangle, BaselineOrder::AntennaPairs, BaselineOrder::Full];

    #[test]
    fn position_undoes_product_in_every_order() {
        for antennas in 1..20 {
            let inputs = Inputs::new(antennas, 2).unwrap();
            for order in ORDERS {
                for position in 0..order.len(inputs) {
                    let product = order.product(inputs, position).unwrap();
                    assert_eq!(order.position(inputs, product), Some(position), "{order:?} {product:?}");
                }
                assert_eq!(order.product(inputs, order.len(inputs)), None);
            }
        }
    }

    #[test]
    fn every_pair_is_held_up_to_conjugation() {
        let inputs = Inputs::new(5, 2).unwrap();
        for order in ORDERS {
            for a in 0..10 {
                for b in 0..10 {
                    let held =
                        order.position(inputs, Product { a, b }).or(order.position(inputs, Product { a: b, b: a }));
                    assert!(held.is_some(), "{order:?} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn meerkat_counts() {
        let inputs = Inputs::new(80, 2).unwrap();
        assert_eq!(BaselineOrder::AntennaPairs.len(inputs), 12960);
        assert_eq!(BaselineOrder::Triangle.len(inputs), 12880);
    }

    #[test]
    fn triangle_row_is_exact_where_float_square_roots_are_not() {
        for row in [1usize, 4095, 92_681, 94_906_265, 1 << 31] {
            let first = row * (row + 1) / 2;
            assert_eq!(triangle_row(first), row);
            assert_eq!(triangle_row(first - 1), row - 1);
        }
    }
}
