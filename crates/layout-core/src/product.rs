//! Products of layouts, and their factors.

use crate::matrix::gather;
use crate::{Layout, LayoutError, MAX_BITS, Matrix, error::ok};

impl Layout {
    /// Two layouts side by side: places and elements have the bits of `self`, and above them those of `above`.
    ///
    /// | n, m | t = 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|
    /// | r = 0 | 0,0 | 2,0 | 1,0 | 3,0 |
    /// | r = 1 | 0,1 | 2,1 | 1,1 | 3,1 |
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let product = layout!("t0 t1<->n1 n0").product(&layout!("r<->m0"))?;
    /// assert_eq!(product.to_string(), "t0 t1<->n1 n0  r<->m0");
    /// let number = |name, place| product.logical().number(name, product.apply(place));
    /// let of = |place| (number("n", place), number("m", place));
    /// assert_eq!([0, 1, 2, 3].map(of), [(0, 0), (2, 0), (1, 0), (3, 0)]);
    /// assert_eq!([4, 5, 6, 7].map(of), [(0, 1), (2, 1), (1, 1), (3, 1)]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// A factor `w0<->0` makes two warps hold the same, a factor `0<->n5` adds a logical bit that is 0 in every place.
    /// Bits of one stem on both sides want other numbers first: see [`renumber_physical`](Self::renumber_physical).
    ///
    /// # Errors
    /// [`LayoutError::Twice`] if they share a physical or a logical bit, [`LayoutError::TooMany`].
    pub const fn product(&self, above: &Self) -> Result<Self, LayoutError> {
        let physical = ok!(self.physical().concat(above.physical()));
        let logical = ok!(self.logical().concat(above.logical()));
        let shift = self.logical().len();
        let mut columns = self.matrix().array();
        let mut bit = 0;
        while bit < above.physical().len() {
            columns[self.physical().len() + bit] = above.column(bit) << shift;
            bit += 1;
        }
        let offset = self.offset() | above.offset() << shift;
        Ok(Self::from_parts(physical, logical, Matrix::of(&columns, physical.len()), offset))
    }

    /// What is left of a layout when a factor is taken out: the layout with which `factor` has this one as its
    /// [`product`](Self::product), but for the order of bits.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// // What a tensor core's tile of 8 x 8 is repeated over: four tiles in registers, eight in warps.
    /// let whole = layout!("b<->k0  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2  r<->i3 k3  w<->k4 k5 i4");
    /// let tile = layout!("b<->k0  t0 t1 t2 t3 t4<->k1 k2 i0 i1 i2");
    /// assert_eq!(whole.divide(&tile)?.to_string(), "r<->i3 k3  w<->k4 k5 i4");
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Missing`] if the factor has a bit that this layout has not. [`LayoutError::NotAFactor`] names the
    /// physical bit whose column differs, or the logical bit of the offset.
    pub const fn divide(&self, factor: &Self) -> Result<Self, LayoutError> {
        let (mut taken, mut own, mut bit) = (0u64, 0u64, 0);
        let (mut elements, mut places) = ([0; MAX_BITS], [0; MAX_BITS]);
        while bit < factor.logical().len() {
            match self.logical().position(&factor.logical().get(bit)) {
                Some(at) => elements[bit] = 1 << at,
                None => return Err(LayoutError::Missing { bit: factor.logical().get(bit) }),
            }
            own |= elements[bit];
            bit += 1;
        }
        let elements = Matrix::of(&elements, bit);
        bit = 0;
        while bit < factor.physical().len() {
            let name = factor.physical().get(bit);
            match self.physical().position(&name) {
                Some(at) => places[bit] = at as u64,
                None => return Err(LayoutError::Missing { bit: name }),
            }
            if self.column(places[bit] as usize) != elements.apply(factor.column(bit)) {
                return Err(LayoutError::NotAFactor { bit: name });
            }
            taken |= 1 << places[bit];
            bit += 1;
        }
        let (mut columns, mut kept) = ([0; MAX_BITS], 0);
        bit = 0;
        while bit < self.physical().len() {
            if taken >> bit & 1 == 0 {
                if self.column(bit) & own != 0 {
                    return Err(LayoutError::NotAFactor { bit: self.physical().get(bit) });
                }
                columns[kept] = gather(self.column(bit), !own);
                kept += 1;
            }
            bit += 1;
        }
        let wrong = self.offset() & own ^ elements.apply(factor.offset());
        if wrong != 0 {
            return Err(LayoutError::NotAFactor { bit: self.logical().get(wrong.trailing_zeros() as usize) });
        }
        let (physical, logical) = (self.physical().select(!taken), self.logical().select(!own));
        Ok(Self::from_parts(physical, logical, Matrix::of(&columns, kept), gather(self.offset(), !own)))
    }

    /// The right factor: `q` such that `factor.product(&q)` is this layout, the order of bits included.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1<->n0 n1  r<->m0 m1");
    /// assert_eq!(layout.divide_left(&layout!("t0 t1<->n0 n1")).unwrap().to_string(), "r<->m0 m1");
    /// let error = layout.divide_left(&layout!("t0 t1<->n1 n0")).unwrap_err();
    /// assert_eq!(error.to_string(), "no factor: bit t0 disagrees");
    /// ```
    ///
    /// # Errors
    /// As [`divide`](Self::divide); [`LayoutError::NotAFactor`] also names a bit of the factor that does not lie where
    /// the product puts it.
    pub const fn divide_left(&self, factor: &Self) -> Result<Self, LayoutError> {
        let quotient = ok!(self.divide(factor));
        ok!(self.require_at(factor, 0, 0));
        Ok(quotient)
    }

    /// The left factor: `q` such that `q.product(&factor)` is this layout, the order of bits included.
    ///
    /// # Errors
    /// As [`divide_left`](Self::divide_left).
    pub const fn divide_right(&self, factor: &Self) -> Result<Self, LayoutError> {
        let quotient = ok!(self.divide(factor));
        ok!(self.require_at(factor, quotient.physical().len(), quotient.logical().len()));
        Ok(quotient)
    }

    /// That a factor's bits lie one after the other from these positions.
    const fn require_at(&self, factor: &Self, physical: usize, logical: usize) -> Result<(), LayoutError> {
        let mut bit = 0;
        while bit < factor.physical().len() {
            let name = factor.physical().get(bit);
            if !self.physical().get(physical + bit).same(&name) {
                return Err(LayoutError::NotAFactor { bit: name });
            }
            bit += 1;
        }
        bit = 0;
        while bit < factor.logical().len() {
            let name = factor.logical().get(bit);
            if !self.logical().get(logical + bit).same(&name) {
                return Err(LayoutError::NotAFactor { bit: name });
            }
            bit += 1;
        }
        Ok(())
    }
}
