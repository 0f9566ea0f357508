//! Parts of a layout: some places, some elements, some bits of the elements' indices.

use crate::matrix::gather;
use crate::{Layout, LayoutError, MAX_BITS, Matrix, Space, error::ok};

impl Layout {
    /// The places in which the named physical bits have the given values, as a layout without these bits: bit `i` of
    /// `values` is that of `bits[i]`.
    ///
    /// | n | t = 0 | 1 | 2 | 3 | | with t0 = 1: | t1 = 0 | 1 |
    /// |---|---|---|---|---|---|---|---|---|
    /// | r = 0 | 0 | 1 | 2 | 3 | | | 1 | 3 |
    /// | r = 1 | 4 | 5 | 6 | 7 | | | 5 | 7 |
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let odd_lanes = layout!("t0 t1<->n0 n1  r<->n2").restrict_physical(&["t0"], 1)?;
    /// assert_eq!(odd_lanes.to_string(), "t1<->n1  r<->n2 + n0");
    /// assert_eq!([0, 1, 2, 3].map(|place| odd_lanes.apply(place)), [1, 3, 5, 7]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed
    /// twice.
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

    /// The places that hold the elements in which the named logical bits have the given values, as a layout without
    /// these logical bits: bit `i` of `values` is that of `bits[i]`.
    ///
    /// Each bit fixed costs a physical bit, which follows from the others: the highest that changes the logical bit. A
    /// logical bit that is the same in all places costs none.
    ///
    /// | n | t = 0 | 1 | 2 | 3 | | with n0 = 1: | t = 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|---|---|---|---|---|---|
    /// | r = 0 | 0 | 1 | 2 | 3 | | held | 5 | 1 | 7 | 3 |
    /// | r = 1 | 5 | 4 | 7 | 6 | | n2 n1 | 2 | 0 | 3 | 1 |
    ///
    /// ```
    /// use fringes_layout_core::{Space, layout};
    ///
    /// let layout = layout!("t0 t1<->n0 n1  r<->n0^n2");
    /// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|place| layout.apply(place)), [0, 1, 2, 3, 5, 4, 7, 6]);
    /// // The odd elements are in register 1 of even lanes and in register 0 of odd ones.
    /// let odd = layout.restrict_logical(&["n0"], 1)?;
    /// assert_eq!(odd.to_string(), "t0 t1<->n2 n1 + n2");
    /// assert_eq!([0, 1, 2, 3].map(|place| odd.apply(place)), [2, 0, 3, 1]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed
    /// twice, [`LayoutError::NotHeld`] if no place holds such an element.
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
                    // The pivot's bit is the sum of the others that change the logical bit, flipped where the offset is
                    // wrong.
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

    /// The layout with only the named logical bits, in the order named: places whose elements differ in other bits
    /// alone hold the same.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let address = layout!("t0 t1 t2<->bank0 bank1 line0"); // which banks do the lanes meet?
    /// let banks = address.project(&["bank0", "bank1"])?;
    /// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|lane| banks.apply(lane)), [0, 1, 2, 3, 0, 1, 2, 3]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if one is listed
    /// twice.
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
