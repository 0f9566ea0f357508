//! Linear algebra over F2 in `const`: a matrix is a list of columns, a column is the bits of a `u64`.
//!
//! ```text
//! columns  0b01 0b11      row 0 | 1 1      apply(0b10) = 0b11
//!                         row 1 | 0 1      apply(0b11) = 0b01 ^ 0b11 = 0b10
//! ```

use crate::{LayoutError, MAX_BITS};

/// A matrix over F2 of at most [`MAX_BITS`] columns and 64 rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    columns: [u64; MAX_BITS],
    width: usize,
}

impl Matrix {
    /// No columns.
    pub const fn new() -> Self {
        Self { columns: [0; MAX_BITS], width: 0 }
    }

    /// The matrix of these columns.
    ///
    /// # Errors
    /// [`LayoutError::TooMany`] if there are more than [`MAX_BITS`].
    pub const fn from_columns(columns: &[u64]) -> Result<Self, LayoutError> {
        if columns.len() > MAX_BITS {
            return Err(LayoutError::TooMany { actual: columns.len(), limit: MAX_BITS });
        }
        let mut matrix = Self::new();
        while matrix.width < columns.len() {
            matrix.columns[matrix.width] = columns[matrix.width];
            matrix.width += 1;
        }
        Ok(matrix)
    }

    /// The matrix of the first `width` columns of an array.
    pub(crate) const fn of(columns: &[u64; MAX_BITS], width: usize) -> Self {
        let mut matrix = Self::new();
        while matrix.width < width && matrix.width < MAX_BITS {
            matrix.columns[matrix.width] = columns[matrix.width];
            matrix.width += 1;
        }
        matrix
    }

    /// The matrix with one more column, if there is room.
    const fn push(mut self, column: u64) -> Self {
        if self.width < MAX_BITS {
            self.columns[self.width] = column;
            self.width += 1;
        }
        self
    }

    /// The identity with `width` columns, at most [`MAX_BITS`].
    pub const fn identity(width: usize) -> Self {
        let mut matrix = Self::new();
        while matrix.width < width && matrix.width < MAX_BITS {
            matrix = matrix.push(1 << matrix.width);
        }
        matrix
    }

    /// Number of columns.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The columns.
    pub const fn columns(&self) -> &[u64] {
        let (columns, _) = self.columns.split_at(self.width);
        columns
    }

    /// The columns, with zeros behind them.
    pub(crate) const fn array(&self) -> [u64; MAX_BITS] {
        self.columns
    }

    /// The product with a vector: the sum of the columns whose bit is set. Bits of `vector` beyond the columns are
    /// ignored.
    pub const fn apply(&self, vector: u64) -> u64 {
        let (mut sum, mut at) = (0, 0);
        while at < self.width {
            sum ^= self.columns[at] & (vector >> at & 1).wrapping_neg();
            at += 1;
        }
        sum
    }

    /// The product `self * inner`: first `inner`, then `self`. Rows of `inner` beyond the columns of `self` are
    /// ignored.
    pub const fn multiply(&self, inner: &Self) -> Self {
        let mut product = Self::new();
        while product.width < inner.width {
            product = product.push(self.apply(inner.columns[product.width]));
        }
        product
    }

    /// Rows as columns, the first `height` of them, at most [`MAX_BITS`].
    pub const fn transpose(&self, height: usize) -> Self {
        let mut transpose = Self::new();
        while transpose.width < height && transpose.width < MAX_BITS {
            let (mut row, mut at) = (0, 0);
            while at < self.width {
                row |= (self.columns[at] >> transpose.width & 1) << at;
                at += 1;
            }
            transpose = transpose.push(row);
        }
        transpose
    }

    /// The reduced form of the columns.
    pub const fn reduce(&self) -> Echelon {
        let mut echelon = Echelon {
            basis: [0; MAX_BITS],
            combinations: [0; MAX_BITS],
            pivots: [0; MAX_BITS],
            rank: 0,
            kernel: Self::new(),
            free: 0,
        };
        let mut at = 0;
        while at < self.width {
            let (residue, known) = echelon.reduce(self.columns[at]);
            let combination = known ^ 1 << at;
            if residue == 0 {
                echelon.kernel = echelon.kernel.push(combination);
                echelon.free |= 1 << at;
            } else {
                let pivot = residue.trailing_zeros() as usize;
                let mut other = 0;
                while other < echelon.rank {
                    if echelon.basis[other] >> pivot & 1 == 1 {
                        echelon.basis[other] ^= residue;
                        echelon.combinations[other] ^= combination;
                    }
                    other += 1;
                }
                echelon.basis[other] = residue;
                echelon.combinations[other] = combination;
                echelon.pivots[other] = pivot;
                echelon.rank += 1;
            }
            at += 1;
        }
        echelon
    }

    /// Number of independent columns.
    pub const fn rank(&self) -> usize {
        self.reduce().rank
    }

    /// A basis of the vectors that [`apply`](Self::apply) takes to 0: one for each column that is a sum of columns
    /// before it, that column's bit being its highest.
    pub const fn kernel(&self) -> Self {
        self.reduce().kernel
    }

    /// The lowest `x` with `apply(x) = vector`, if there is one.
    pub const fn solve(&self, vector: u64) -> Option<u64> {
        match self.reduce().reduce(vector) {
            (0, combination) => Some(combination),
            _ => None,
        }
    }

    /// The inverse, if the matrix is square (rows above the width are 0) and its columns are independent.
    pub const fn inverse(&self) -> Option<Self> {
        let mut at = 0;
        while at < self.width {
            if self.columns[at] >> self.width != 0 {
                return None;
            }
            at += 1;
        }
        let echelon = self.reduce();
        if echelon.rank == self.width { Some(echelon.inverse(self.width)) } else { None }
    }
}

impl Default for Matrix {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut list = f.debug_list();
        for column in self.columns() {
            list.entry(&format_args!("{column:#b}"));
        }
        list.finish()
    }
}

/// The columns of a matrix in reduced form: a basis of what they span, in which each vector has a pivot row (its lowest
/// 1) that is 0 in all others, and each vector as a sum of columns.
///
/// Columns are taken in order, so that the sums use only columns that are independent of those before them; the others
/// are [`free`](Self::free). The pivots are the lowest rows that tell the vectors of the span apart.
#[derive(Clone, Copy)]
pub struct Echelon {
    basis: [u64; MAX_BITS],
    combinations: [u64; MAX_BITS],
    pivots: [usize; MAX_BITS],
    rank: usize,
    kernel: Matrix,
    free: u64,
}

impl Echelon {
    /// Number of independent columns.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The columns that are sums of columns before them, as a mask.
    pub const fn free(&self) -> u64 {
        self.free
    }

    /// For each free column, lowest first, the sum of columns that is 0: the free column's bit and those of independent
    /// columns before it.
    pub const fn kernel(&self) -> Matrix {
        self.kernel
    }

    /// The basis of the span.
    pub const fn basis(&self) -> Matrix {
        Matrix::of(&self.basis, self.rank)
    }

    /// The pivot rows, as a mask.
    pub const fn pivots(&self) -> u64 {
        let (mut mask, mut at) = (0, 0);
        while at < self.rank {
            mask |= 1 << self.pivots[at];
            at += 1;
        }
        mask
    }

    /// A vector without what the columns can make of it, and the sum of columns that makes the difference. The first is
    /// 0 if and only if the vector is in the span; then the second is the lowest solution, 0 in the free columns.
    pub const fn reduce(&self, vector: u64) -> (u64, u64) {
        let (mut residue, mut combination, mut at) = (vector, 0, 0);
        while at < self.rank {
            if residue >> self.pivots[at] & 1 == 1 {
                residue ^= self.basis[at];
                combination ^= self.combinations[at];
            }
            at += 1;
        }
        (residue, combination)
    }

    /// A generalised inverse with `height` columns: it reads the pivot rows of a vector, ignores the others, and gives
    /// the lowest `x` whose image agrees in them. The inverse where there is one.
    pub const fn inverse(&self, height: usize) -> Matrix {
        let mut inverse = Matrix::new();
        while inverse.width < height && inverse.width < MAX_BITS {
            let (mut column, mut at) = (0, 0);
            while at < self.rank {
                if self.pivots[at] == inverse.width {
                    column = self.combinations[at];
                }
                at += 1;
            }
            inverse = inverse.push(column);
        }
        inverse
    }
}

/// The bits of `value` at the positions of `mask`, closed up.
pub(crate) const fn gather(value: u64, mask: u64) -> u64 {
    let (mut gathered, mut to, mut from) = (0, 0, 0);
    while from < 64 {
        if mask >> from & 1 == 1 {
            gathered |= (value >> from & 1) << to;
            to += 1;
        }
        from += 1;
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn a_worked_matrix() {
        // Columns 0 and 1 are independent, column 2 is their sum.
        let matrix = Matrix::from_columns(&[0b011, 0b110, 0b101]).unwrap();
        assert_eq!(matrix.rank(), 2);
        assert_eq!(matrix.kernel().columns(), [0b111]);
        assert_eq!(matrix.solve(0b101), Some(0b011));
        assert_eq!(matrix.solve(0b001), None);
        assert_eq!(matrix.inverse(), None);
        assert_eq!(matrix.reduce().pivots(), 0b011);
        assert_eq!(matrix.reduce().free(), 0b100);
        assert_eq!(matrix.transpose(3).columns(), [0b101, 0b011, 0b110]);
        let square = Matrix::from_columns(&[0b01, 0b11]).unwrap();
        assert_eq!(square.inverse(), Some(square));
    }
}
