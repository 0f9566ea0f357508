//! Flat indices and their parts: bits in order get the names of other bits in order.

use crate::{Layout, LayoutError, Matrix, Space, error::ok};

impl Layout {
    /// The layout in which bit `i` of the place is bit `i` of the element, whatever they are called.
    ///
    /// # Errors
    /// [`LayoutError::Count`] if the spaces differ in size.
    pub const fn in_order(physical: Space, logical: Space) -> Result<Self, LayoutError> {
        if physical.len() != logical.len() {
            return Err(LayoutError::Count { actual: logical.len(), expected: physical.len() });
        }
        Ok(Self::from_parts(physical, logical, Matrix::identity(physical.len()), 0))
    }

    /// An array in memory, addressed by the bits of one stem: the dimensions with their numbers of bits, the fastest
    /// first.
    ///
    /// `address = col + 2^2 row`:
    ///
    /// ```
    /// use fringes_layout_core::Layout;
    ///
    /// let array = Layout::flat("g", &[("col", 2), ("row", 3)]).unwrap();
    /// assert_eq!(array.to_string(), "g<->col0 col1 row0 row1 row2");
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Twice`] or [`LayoutError::TooMany`].
    pub const fn flat(stem: &str, dimensions: &[(&str, usize)]) -> Result<Self, LayoutError> {
        let (mut logical, mut at) = (Space::new(), 0);
        while at < dimensions.len() {
            logical = ok!(logical.with_numbered(dimensions[at].0, dimensions[at].1));
            at += 1;
        }
        Self::in_order(ok!(Space::numbered(stem, logical.len())), logical)
    }

    /// The layout with its physical bits called, from the lowest on, by the names of another space: to split an index
    /// or to join its parts.
    ///
    /// # Errors
    /// [`LayoutError::Count`] if there are not as many.
    pub const fn reshape_physical(&self, names: &Space) -> Result<Self, LayoutError> {
        if names.len() != self.physical().len() {
            return Err(LayoutError::Count { actual: names.len(), expected: self.physical().len() });
        }
        Ok(self.with_spaces(*names, *self.logical()))
    }

    /// The layout with its logical bits called, from the lowest on, by the names of another space: to split an index or
    /// to join its parts.
    ///
    /// ```
    /// use fringes_layout_core::{Space, layout};
    ///
    /// let parts = Space::numbered("lo", 1).unwrap().with_numbered("hi", 2).unwrap();
    /// let layout = layout!("s<->n0 n1 n2").reshape_logical(&parts).unwrap(); // n = lo + 2 hi
    /// assert_eq!(layout.to_string(), "s<->lo0 hi0 hi1");
    /// ```
    ///
    /// The order counts: [`with_logical_order`](Self::with_logical_order) sets it.
    ///
    /// # Errors
    /// [`LayoutError::Count`] if there are not as many.
    pub const fn reshape_logical(&self, names: &Space) -> Result<Self, LayoutError> {
        if names.len() != self.logical().len() {
            return Err(LayoutError::Count { actual: names.len(), expected: self.logical().len() });
        }
        Ok(self.with_spaces(*self.physical(), *names))
    }
}
