//! The layout type: a linear (affine) map over F2 from physical places to logical indices.

use crate::{LayoutError, MAX_BITS, Matrix, Name, Space};

/// Which element of an array each physical place holds.
///
/// A place is a number whose bits are the named bits of [`physical`](Self::physical); an element is one whose bits are
/// those of [`logical`](Self::logical). Place `p` holds element `offset ^ XOR of column(i) over the bits i that are set
/// in p`.
///
/// Equality compares the spaces in order, the columns and the offset; [`same_map`](Self::same_map) compares by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    physical: Space,
    logical: Space,
    columns: [u64; MAX_BITS],
    offset: u64,
}

impl Layout {
    /// A layout from its columns: `columns[i]` is what flipping physical bit `i` flips in the logical index.
    ///
    /// # Errors
    /// [`LayoutError::Count`] if there are not as many columns as physical bits, [`LayoutError::TooMany`] if a column
    /// has bits beyond the logical space.
    pub const fn from_columns(physical: Space, logical: Space, columns: &[u64]) -> Result<Self, LayoutError> {
        if columns.len() != physical.len() {
            return Err(LayoutError::Count { actual: columns.len(), expected: physical.len() });
        }
        let mut layout = Self { physical, logical, columns: [0; MAX_BITS], offset: 0 };
        let mut at = 0;
        while at < columns.len() {
            if columns[at] >> logical.len() != 0 {
                return Err(LayoutError::TooMany {
                    actual: 64 - columns[at].leading_zeros() as usize,
                    limit: logical.len(),
                });
            }
            layout.columns[at] = columns[at];
            at += 1;
        }
        Ok(layout)
    }

    /// A layout from parts that fit: no column and no offset has bits beyond the logical space, and columns beyond the
    /// physical are 0.
    pub(crate) const fn from_parts(physical: Space, logical: Space, matrix: Matrix, offset: u64) -> Self {
        Self { physical, logical, columns: matrix.array(), offset }
    }

    /// The linear part: its columns.
    pub const fn matrix(&self) -> Matrix {
        Matrix::of(&self.columns, self.physical.len())
    }

    /// The layout with every element's index XORed with `offset`.
    ///
    /// # Errors
    /// [`LayoutError::TooMany`] if the offset has bits beyond the logical space.
    pub const fn with_offset(mut self, offset: u64) -> Result<Self, LayoutError> {
        if offset >> self.logical.len() != 0 {
            return Err(LayoutError::TooMany {
                actual: 64 - offset.leading_zeros() as usize,
                limit: self.logical.len(),
            });
        }
        self.offset ^= offset;
        Ok(self)
    }

    /// The physical bits, lowest first.
    pub const fn physical(&self) -> &Space {
        &self.physical
    }

    /// The logical bits, lowest first.
    pub const fn logical(&self) -> &Space {
        &self.logical
    }

    /// What flipping physical bit `bit` flips in the logical index.
    pub const fn column(&self, bit: usize) -> u64 {
        assert!(bit < self.physical.len(), "no such bit");
        self.columns[bit]
    }

    /// The element that place 0 holds.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The element that a place holds. Bits of `place` beyond the physical space are ignored.
    ///
    /// With a constant layout this compiles to a few shifts and logical operations, on the GPU too.
    #[inline(always)]
    pub const fn apply(&self, place: u64) -> u64 {
        let mut element = self.offset;
        let mut bit = 0;
        while bit < self.physical.len() {
            element ^= self.columns[bit] & (place >> bit & 1).wrapping_neg();
            bit += 1;
        }
        element
    }

    /// What flipping the physical bit of this name flips in the logical index.
    pub const fn column_of(&self, bit: &Name) -> Option<u64> {
        match self.physical.position(bit) {
            Some(at) => Some(self.columns[at]),
            None => None,
        }
    }
}
