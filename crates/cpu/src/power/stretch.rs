//! Sums over what lies together in memory: `[time][x]`.

use bytemuck::Pod;

use super::PowerSum;

/// Neighbours that the inner loop takes at once.
pub(super) const LANES: usize = 16;

/// Positions below which times are taken side by side.
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

/// Sums over several stretches `[time][width]`, in narrow lanes for as long as they hold.
pub(super) struct Stretches<V: Lanes> {
    width: usize,
    /// Times that are taken side by side.
    together: usize,
    /// Whole lanes of the narrow sums: lane `l` is of position `l % width`.
    lanes: usize,
    first: Vec<V::First>,
    second: Vec<V::Second>,
    /// Rows in the narrow sums.
    rows: usize,
}

impl<V: Lanes> Stretches<V> {
    pub(super) fn new(width: usize) -> Self {
        // Of a narrow stretch times side by side make whole lanes; a wide one has them, but for the last few.
        let together = if width < FEW { LANES / gcd(width.max(1), LANES) } else { 1 };
        let lanes = together * width / LANES * LANES;
        let (first, second) = (vec![V::First::default(); lanes], vec![V::Second::default(); lanes]);
        Self { width, together, lanes, first, second, rows: 0 }
    }

    /// Adds a stretch; what is not of whole lanes goes to the sums `[width]` at once.
    pub(super) fn add(&mut self, stretch: &[V], first: &mut [V::Sum], second: &mut [V::Sum]) {
        if self.width == 0 {
            return;
        }
        let row = self.together * self.width;
        let (whole, rest) = stretch.split_at(stretch.len() / (4 * row) * (4 * row));
        for part in whole.chunks(MOST_ROWS * row) {
            if self.rows + part.len() / row > MOST_ROWS {
                self.finish(first, second);
            }
            self.rows += part.len() / row;
            for rows in part.chunks_exact(4 * row) {
                let (low, high) = rows.split_at(2 * row);
                let (rows, others) = (low.split_at(row), high.split_at(row));
                let rows = [rows.0, rows.1, others.0, others.1];
                V::add_rows(rows.map(|row| &row[..self.lanes]), &mut self.first, &mut self.second);
                if self.lanes < row {
                    let sums = (&mut first[self.lanes..], &mut second[self.lanes..]);
                    rows.iter().for_each(|row| one_by_one(&row[self.lanes..], sums.0, sums.1));
                }
            }
        }
        for row in rest.chunks_exact(self.width) {
            one_by_one(row, first, second);
        }
    }

    /// Moves the narrow sums to the sums `[width]`.
    pub(super) fn finish(&mut self, first: &mut [V::Sum], second: &mut [V::Sum]) {
        if self.rows == 0 {
            return;
        }
        for (powers, squares) in self.first.chunks(self.width.max(1)).zip(self.second.chunks(self.width.max(1))) {
            for (((&power, &square), first), second) in powers.iter().zip(squares).zip(&mut *first).zip(&mut *second) {
                let (power, square) = V::wide(power, square);
                *first = first.plus(power);
                *second = second.plus(square);
            }
        }
        self.first.fill(V::First::default());
        self.second.fill(V::Second::default());
        self.rows = 0;
    }
}

/// Adds each value to a sum of its own.
fn one_by_one<V: Lanes>(row: &[V], first: &mut [V::Sum], second: &mut [V::Sum]) {
    for ((value, first), second) in row.iter().zip(first).zip(second) {
        let (power, square) = value.power();
        *first = first.plus(power);
        *second = second.plus(square);
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
