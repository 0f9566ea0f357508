//! Parts of a layout: some places, some elements, some bits of the elements' indices.

use crate::matrix::gather;
use crate::{Layout, LayoutError, MAX_BITS, Matrix, Space, error::ok};

impl Layout {
    /// The places in which the named physical bits have the given values, as a layout without these bits: bit `i` of `values` is that of
    /// `bits[i]`.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1<->n0 n1  r<->n2 n3");
    /// assert_eq!(layout.restrict_physical(&["r1", "t0"], 0b01).unwrap().to_string(), "t1<->n1  r<->n2  0<->n0 + n3");
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed twice.
    pub const fn restrict_physical(&self, bits: &[&str], values: u64) -> Result<Self, LayoutError> {
        let dropped = ok!(self.physical().mask_of(bits));
        let (mut offset, mut at) = (self.offset(), 0);
        while at < bits.len() {
            let bit = ok!(self.physical().find(bits[at]));
            if values >> at & 1 == 1 {
                offset ^= self.column(bit);
            }
            at += 1;
        }
        Ok(self.without_places(dropped, &self.matrix().array(), offset))
    }

    /// The places that hold the elements in which the named logical bits have the given values, as a layout without these logical
    /// bits: bit `i` of `values` is that of `bits[i]`.
    ///
    /// Each bit fixed costs a physical bit, which follows from the others: the highest that changes the logical bit. A logical bit that is the
    /// same in all places costs none.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1<->n0 n1  r<->n2^n0 n3");
    /// assert_eq!(layout.restrict_logical(&["n2"], 0).unwrap().to_string(), "t0 t1<->n0 n1  r1<->n3");
    /// // The elements with n0 = 1 are in t0 = 0, r0 = 1 and in t0 = 1, r0 = 0.
    /// assert_eq!(layout.restrict_logical(&["n0"], 1).unwrap().to_string(), "t0 t1<->n2 n1  r1<->n3 + n2");
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed twice,
    /// [`LayoutError::NotHeld`] if no place holds such an element.
    pub const fn restrict_logical(&self, bits: &[&str], values: u64) -> Result<Self, LayoutError> {
        let fixed = ok!(self.logical().mask_of(bits));
        let (mut columns, mut offset, mut dropped) = (self.matrix().array(), self.offset(), 0u64);
        let mut at = 0;
        while at < bits.len() {
            let bit = ok!(self.logical().find(bits[at]));
            let (mut pivot, mut place) = (None, 0);
            while place < self.physical().len() {
                if dropped >> place & 1 == 0 && columns[place] >> bit & 1 == 1 {
                    pivot = Some(place);
                }
                place += 1;
            }
            let wrong = (offset >> bit ^ values >> at) & 1 == 1;
            match pivot {
                None if wrong => return Err(LayoutError::NotHeld { bit: self.logical().get(bit) }),
                None => {}
                Some(pivot) => {
                    // The pivot's bit is the sum of the others that change the logical bit, flipped where the offset is wrong.
                    let column = columns[pivot];
                    place = 0;
                    while place < self.physical().len() {
                        if columns[place] >> bit & 1 == 1 {
                            columns[place] ^= column;
                        }
                        place += 1;
                    }
                    if wrong {
                        offset ^= column;
                    }
                    dropped |= 1 << pivot;
                }
            }
            at += 1;
        }
        let rest = self.without_places(dropped, &columns, offset);
        Ok(rest.with_elements(self.logical().select(!fixed), !fixed))
    }

    /// The layout with only the named logical bits, in the order named: places whose elements differ in other bits alone hold the same.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed twice.
    pub const fn project(&self, keep: &[&str]) -> Result<Self, LayoutError> {
        let mask = ok!(self.logical().mask_of(keep));
        let kept = self.with_elements(self.logical().select(mask), mask);
        let (mut order, mut at) = (Space::new(), 0);
        while at < keep.len() {
            let bit = ok!(self.logical().find(keep[at]));
            order = ok!(order.with(self.logical().get(bit)));
            at += 1;
        }
        kept.with_logical_order(&order)
    }

    /// The layout without the named logical bits: the [projection](Self::project) to the others.
    ///
    /// # Errors
    /// As [`project`](Self::project).
    pub const fn drop_logical(&self, drop: &[&str]) -> Result<Self, LayoutError> {
        let mask = !ok!(self.logical().mask_of(drop));
        Ok(self.with_elements(self.logical().select(mask), mask))
    }

    /// The layout without some physical bits, whose columns and offset are otherwise these.
    const fn without_places(&self, dropped: u64, columns: &[u64; MAX_BITS], offset: u64) -> Self {
        let (mut kept, mut count, mut bit) = ([0; MAX_BITS], 0, 0);
        while bit < self.physical().len() {
            if dropped >> bit & 1 == 0 {
                kept[count] = columns[bit];
                count += 1;
            }
            bit += 1;
        }
        let physical = self.physical().select(!dropped);
        Self::from_parts(physical, *self.logical(), Matrix::of(&kept, count), offset)
    }

    /// The layout with only the logical bits of a mask.
    const fn with_elements(&self, logical: Space, mask: u64) -> Self {
        let (mut columns, mut bit) = ([0; MAX_BITS], 0);
        while bit < self.physical().len() {
            columns[bit] = gather(self.column(bit), mask);
            bit += 1;
        }
        Self::from_parts(*self.physical(), logical, Matrix::of(&columns, bit), gather(self.offset(), mask))
    }
}
