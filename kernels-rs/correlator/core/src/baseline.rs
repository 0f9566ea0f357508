//! Baseline orders on the device: which product a position holds, where the packed lower triangle has it, and back.
//!
//! The orders are those of `fringes_types::baseline`, which a test compares these functions with:
//!
//! | order | positions | holds |
//! |---|---|---|
//! | triangle | `n (n + 1) / 2` | `V[a][b]`, `a >= b`, at `a (a + 1) / 2 + b` |
//! | antenna pairs | `2 m (m + 1)` | `V[2 i + p][2 j + q]`, antennas `i <= j`, at `4 (j (j + 1) / 2 + i) + p + 2 q` |
//! | full | `n^2` | `V[a][b]` for every pair, at `a n + b` |
//!
//! for `n` inputs or `m` antennas of two polarisations. Numbers are exact for up to [`MOST_INPUTS`] inputs: the row of
//! a position in the triangle is a square root in f32, which may be one off, and a correction in integers.

/// Most inputs for which every position fits 31 bits.
pub const MOST_INPUTS: u32 = 1 << 15;

/// The product `sum_t x_a(t) conj(x_b(t))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The input that is not conjugated.
    pub a: u32,
    /// The input that is conjugated.
    pub b: u32,
}

impl Product {
    /// Position of this product in the packed lower triangle, and whether the value there is its conjugate (`a < b`).
    #[inline(always)]
    pub const fn triangle(self) -> (u32, bool) {
        let conjugated = self.a < self.b;
        let (high, low) = if conjugated { (self.b, self.a) } else { (self.a, self.b) };
        (triangle_len(high) + low, conjugated)
    }
}

/// Positions of a packed lower triangle of `n` rows, which is also where row `n` starts. `n` is at most 65535.
#[inline(always)]
pub const fn triangle_len(n: u32) -> u32 {
    // One of the factors is even: no bit is lost, and (n + 1) / 2 * n stays below 2^32.
    if n.is_multiple_of(2) { n / 2 * (n + 1) } else { n.div_ceil(2) * n }
}

/// Positions of the order of antenna pairs, of antennas of two polarisations.
#[inline(always)]
pub const fn pairs_len(antennas: u32) -> u32 {
    4 * triangle_len(antennas)
}

/// Row and column of position `index` of a packed lower triangle; `index` is below 2^31.
#[inline(always)]
pub fn triangle_position(index: u32) -> (u32, u32) {
    corrected(index, estimate(index))
}

/// The product at a position of the triangle.
#[inline(always)]
pub fn triangle_product(position: u32) -> Product {
    let (a, b) = triangle_position(position);
    Product { a, b }
}

/// The product at a position of the order of antenna pairs.
#[inline(always)]
pub fn pairs_product(position: u32) -> Product {
    let (ant2, ant1) = triangle_position(position / 4);
    Product { a: 2 * ant1 + position % 2, b: 2 * ant2 + (position / 2) % 2 }
}

/// The position of a product in the order of antenna pairs, if `a` belongs to the same antenna as `b` or to one before
/// it.
#[inline(always)]
pub const fn pairs_position(product: Product) -> Option<u32> {
    let (ant1, ant2) = (product.a / 2, product.b / 2);
    if ant1 <= ant2 { Some(4 * (triangle_len(ant2) + ant1) + product.a % 2 + 2 * (product.b % 2)) } else { None }
}

/// The product at a position of the full order of `inputs` inputs.
#[inline(always)]
pub const fn full_product(inputs: u32, position: u32) -> Product {
    Product { a: position / inputs, b: position % inputs }
}

/// The position of a product in the full order of `inputs` inputs.
#[inline(always)]
pub const fn full_position(inputs: u32, product: Product) -> u32 {
    product.a * inputs + product.b
}

/// The row that holds a position, or one of its neighbours: `r (r + 1) / 2 <= index` for
/// `r = sqrt(2 index + 1/4) - 1/2`.
///
/// For `index` below 2^31 the root is below 2^16. Four roundings to f32 and a square root within a relative error of
/// 2^-23 make it wrong by less than 2^16 2^-21 = 1/32, and so the row by at most one.
#[inline(always)]
fn estimate(index: u32) -> u32 {
    let doubled = 2.0 * index as f32 + 0.25;
    #[cfg(target_arch = "nvptx64")]
    let root = fringes_device::arithmetic::sqrt_approx_f32(doubled);
    #[cfg(not(target_arch = "nvptx64"))]
    let root = doubled.sqrt();
    (root - 0.5) as u32 // negative is zero
}

/// Row and column of a position from a row that is at most one off.
#[inline(always)]
const fn corrected(index: u32, row: u32) -> (u32, u32) {
    let row = if triangle_len(row) > index { row - 1 } else { row };
    let row = if triangle_len(row + 1) <= index { row + 1 } else { row };
    (row, index - triangle_len(row))
}

#[cfg(test)]
mod tests {
    use fringes_types::{BaselineOrder, Inputs};

    use super::*;

    /// Most inputs that are gone through one by one: 4096 antennas of two polarisations.
    const EXHAUSTIVE: u32 = 8192;

    #[test]
    fn every_position_of_the_triangle_has_its_row_and_column() {
        let mut index = 0;
        for a in 0..EXHAUSTIVE {
            assert_eq!(triangle_len(a), index);
            for b in 0..=a {
                assert_eq!(triangle_position(index), (a, b), "{index}");
                index += 1;
            }
        }
    }

    #[test]
    fn ends_of_rows_are_exact_up_to_the_largest_size() {
        for a in EXHAUSTIVE..MOST_INPUTS {
            let first = triangle_len(a);
            assert_eq!(u64::from(first), u64::from(a) * (u64::from(a) + 1) / 2);
            assert_eq!(triangle_position(first), (a, 0));
            assert_eq!(triangle_position(first + a), (a, a));
        }
    }

    #[test]
    fn an_estimate_one_off_is_corrected_and_the_estimate_is_no_worse() {
        for a in (0..MOST_INPUTS).step_by(37).chain(0..300) {
            for index in [triangle_len(a), triangle_len(a) + a / 2, triangle_len(a) + a] {
                for row in [a.saturating_sub(1), a, a + 1] {
                    assert_eq!(corrected(index, row).0, a, "{index} from {row}");
                }
                // A root that is wrong by a relative error of 2^-20, eight times what the bound has, moves the row by
                // no more than one.
                let root = (2.0 * f64::from(index) + 0.25).sqrt();
                for wrong in [root * (1.0 + 2f64.powi(-20)), root * (1.0 - 2f64.powi(-20))] {
                    assert!((wrong - 0.5).floor() as i64 - i64::from(a) <= 1);
                    assert!((wrong - 0.5).floor() as i64 - i64::from(a) >= -1);
                }
                assert!(estimate(index).abs_diff(a) <= 1);
            }
        }
    }

    #[test]
    fn products_and_positions_are_those_of_the_orders_on_the_host() {
        for (antennas, pols) in [(1, 1), (1, 2), (2, 2), (7, 1), (33, 2), (80, 2), (150, 1)] {
            let inputs = Inputs::new(antennas, pols).unwrap();
            let n = inputs.len() as u32;
            let same = |order: BaselineOrder, position: usize, product: Product| {
                let expected = order.product(inputs, position).unwrap();
                assert_eq!((expected.a, expected.b), (product.a as usize, product.b as usize), "{order:?} {position}");
                let (index, conjugated) = product.triangle();
                assert_eq!(expected.triangle(), (index as usize, conjugated));
            };
            let triangle = BaselineOrder::Triangle.len(inputs);
            assert_eq!(triangle as u32, triangle_len(n));
            for position in 0..triangle {
                same(BaselineOrder::Triangle, position, triangle_product(position as u32));
            }
            for position in 0..BaselineOrder::Full.len(inputs) {
                let product = full_product(n, position as u32);
                same(BaselineOrder::Full, position, product);
                assert_eq!(full_position(n, product), position as u32);
                // The order of antenna pairs holds the product, or does not, as the host says.
                let held = fringes_types::Product { a: product.a as usize, b: product.b as usize };
                if pols == 2 {
                    let expected = BaselineOrder::AntennaPairs.position(inputs, held);
                    assert_eq!(pairs_position(product).map(|position| position as usize), expected);
                }
            }
            if pols == 2 {
                let pairs = BaselineOrder::AntennaPairs.len(inputs);
                assert_eq!(pairs as u32, pairs_len(antennas as u32));
                for position in 0..pairs {
                    same(BaselineOrder::AntennaPairs, position, pairs_product(position as u32));
                }
            }
        }
    }

    #[test]
    fn every_position_of_the_pairs_of_4096_antennas_is_found_again() {
        for position in 0..pairs_len(4096) {
            assert_eq!(pairs_position(pairs_product(position)), Some(position));
        }
    }
}
