//! Sums over what lies together in memory: `[time][x]`.

use bytemuck::Pod;

use super::PowerSum;

/// Neighbours that the inner loop takes at once.
pub(super) const LANES: usize = 16;

/// Lanes below which times are taken side by side.
const FEW: usize = 64;

/// Rows of lanes that are summed in the narrow types.
const MOST_ROWS: usize = 1 << 16;

mod sealed {
    pub trait Sealed {}
    impl<V: fringes_types::VoltageSample> Sealed for V {}
}

/// The inner loop of a format.
///
/// Nothing else can implement it.
pub trait Lanes: Pod + Send + Sync + sealed::Sealed {
    /// What sums are.
    type Sum: PowerSum;
    /// A power summed over 2^16 rows.
    #[doc(hidden)]
    type First: Copy + Default;
    /// A square of a power summed over 2^16 rows.
    #[doc(hidden)]
    type Second: Copy + Default;

    /// The power of a sample and its square.
    #[doc(hidden)]
    fn power(self) -> (Self::Sum, Self::Sum);
    /// Adds four rows of whole lanes.
    #[doc(hidden)]
    fn add_rows(rows: [&[Self]; 4], first: &mut [Self::First], second: &mut [Self::Second]);
    /// The narrow sums in the wide type.
    #[doc(hidden)]
    fn wide(first: Self::First, second: Self::Second) -> (Self::Sum, Self::Sum);
}

/// Adds a stretch `[time][width]` to sums `[width]`.
pub(super) fn add<V: Lanes>(stretch: &[V], width: usize, first: &mut [V::Sum], second: &mut [V::Sum]) {
    if width == 0 {
        return;
    }
    // Times side by side, so that they are whole lanes, and not too few of them.
    let together = if width < FEW { FEW.div_ceil(width).next_multiple_of(LANES / gcd(width, LANES)) } else { 1 };
    let group = 4 * together * width;
    let many = if together > 1 { stretch.len() / group * group } else { 0 };
    let (folded, rest) = stretch.split_at(many);
    add_lanes(folded, together * width, width, first, second);
    let (quads, last) = rest.split_at(rest.len() / (4 * width) * (4 * width));
    add_lanes(quads, width, width, first, second);
    for row in last.chunks_exact(width) {
        for ((value, first), second) in row.iter().zip(&mut *first).zip(&mut *second) {
            let (power, square) = value.power();
            *first = first.plus(power);
            *second = second.plus(square);
        }
    }
}

/// Adds groups of four rows of so many lanes, of which lane `l` is of position `l % width`.
fn add_lanes<V: Lanes>(stretch: &[V], lanes: usize, width: usize, first: &mut [V::Sum], second: &mut [V::Sum]) {
    if stretch.is_empty() {
        return;
    }
    let whole = lanes / LANES * LANES;
    let mut narrow = (vec![V::First::default(); whole], vec![V::Second::default(); whole]);
    for part in stretch.chunks(MOST_ROWS * lanes) {
        narrow.0.fill(V::First::default());
        narrow.1.fill(V::Second::default());
        for rows in part.chunks_exact(4 * lanes) {
            let (low, high) = rows.split_at(2 * lanes);
            let (rows, others) = (low.split_at(lanes), high.split_at(lanes));
            let rows = [rows.0, rows.1, others.0, others.1];
            V::add_rows(rows.map(|row| &row[..whole]), &mut narrow.0, &mut narrow.1);
            for row in rows {
                for (lane, value) in row.iter().enumerate().skip(whole) {
                    let (power, square) = value.power();
                    first[lane % width] = first[lane % width].plus(power);
                    second[lane % width] = second[lane % width].plus(square);
                }
            }
        }
        for (lane, (&power, &square)) in narrow.0.iter().zip(&narrow.1).enumerate() {
            let (power, square) = V::wide(power, square);
            first[lane % width] = first[lane % width].plus(power);
            second[lane % width] = second[lane % width].plus(square);
        }
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
