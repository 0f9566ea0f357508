//! The identity, equality by name, and one layout after another.

use crate::{Layout, LayoutError, MAX_BITS, Matrix, Space, error::ok};

impl Layout {
    /// The layout in which every place holds the element of the same bits: `n0 n1<->n0 n1`.
    pub const fn identity(space: Space) -> Self {
        Self::from_parts(space, space, Matrix::identity(space.len()), 0)
    }

    /// Whether two layouts are the same map: the same physical and logical bits, in any order, and the same element in
    /// every place.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// const _: () = assert!(layout!("t0 t1<->n0 n1").same_map(&layout!("t1 t0<->n1 n0")));
    /// const _: () = assert!(!layout!("t0 t1<->n0 n1").same_map(&layout!("t0 t1<->n1 n0")));
    /// ```
    pub const fn same_map(&self, other: &Self) -> bool {
        let places = match self.physical().matched(other.physical()) {
            Ok(places) => places,
            Err(_) => return false,
        };
        let elements = match self.logical().matched(other.logical()) {
            Ok(elements) => elements,
            Err(_) => return false,
        };
        let mut bit = 0;
        while bit < self.physical().len() {
            let place = places.apply(1 << bit);
            if elements.apply(self.column(bit)) != other.matrix().apply(place) {
                return false;
            }
            bit += 1;
        }
        elements.apply(self.offset()) == other.offset()
    }

    /// First this layout, then `outer`: a place of `self` to what `outer` holds at the element of `self`,
    /// `outer(self(p))`.
    ///
    /// The logical bits of `self` are the physical bits of `outer`, matched by name, in any order.
    ///
    /// Lanes and registers hold a matrix of 2 rows and 4 columns, and another layout says at which address each element
    /// lies; the composition says to which address each lane writes each register:
    ///
    /// | | t = 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|
    /// | `LANES`: row, col of r = 0 | 0,0 | 0,1 | 0,2 | 0,3 |
    /// | `LANES`: row, col of r = 1 | 1,0 | 1,1 | 1,2 | 1,3 |
    /// | address of r = 0 | 0 | 3 | 4 | 7 |
    /// | address of r = 1 | 1 | 2 | 5 | 6 |
    ///
    /// ```
    /// use fringes_layout_core::{Layout, Space, layout};
    ///
    /// const LANES: Layout = layout!("t0 t1<->col0 col1  r<->row0");
    /// const STORED: Layout = layout!("row0<->a0  col0 col1<->a0^a1 a2");
    /// let addresses = LANES.compose(&STORED)?;
    /// assert_eq!(addresses.to_string(), "t0 t1<->a0^a1 a2  r<->a0");
    /// assert_eq!([0, 1, 2, 3].map(|lane| addresses.apply(lane)), [0, 3, 4, 7]);
    /// assert_eq!([0, 1, 2, 3].map(|lane| addresses.apply(4 + lane)), [1, 2, 5, 6]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Missing`] if a logical bit of `self` is no physical bit of `outer`, [`LayoutError::Unexpected`]
    /// if `outer` has a physical bit more.
    pub const fn compose(&self, outer: &Self) -> Result<Self, LayoutError> {
        let names = ok!(self.logical().matched(outer.physical()));
        let matrix = outer.matrix().multiply(&names.multiply(&self.matrix()));
        let offset = outer.apply(names.apply(self.offset()));
        Ok(Self::from_parts(*self.physical(), *outer.logical(), matrix, offset))
    }

    /// The layout with its physical bits in another order: the same map, other numbers for the places.
    ///
    /// # Errors
    /// [`LayoutError::Missing`] if a bit is not in `order`, [`LayoutError::Unexpected`] if `order` has one more.
    pub const fn with_physical_order(&self, order: &Space) -> Result<Self, LayoutError> {
        let places = ok!(self.physical().matched(order));
        let (mut columns, mut bit) = ([0; MAX_BITS], 0);
        while bit < self.physical().len() {
            columns[places.apply(1 << bit).trailing_zeros() as usize] = self.column(bit);
            bit += 1;
        }
        Ok(Self::from_parts(*order, *self.logical(), Matrix::of(&columns, order.len()), self.offset()))
    }

    /// The layout with its logical bits in another order: the same map, other numbers for the elements.
    ///
    /// ```
    /// use fringes_layout_core::{Space, layout};
    ///
    /// let layout = layout!("t0 t1<->n1 n0"); // n1, mentioned first, is the lowest
    /// assert_eq!([0, 1, 2, 3].map(|place| layout.apply(place)), [0, 1, 2, 3]);
    /// let layout = layout.with_logical_order(&Space::numbered("n", 2)?)?;
    /// assert_eq!([0, 1, 2, 3].map(|place| layout.apply(place)), [0, 2, 1, 3]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Missing`] if a bit is not in `order`, [`LayoutError::Unexpected`] if `order` has one more.
    pub const fn with_logical_order(&self, order: &Space) -> Result<Self, LayoutError> {
        let elements = ok!(self.logical().matched(order));
        let matrix = elements.multiply(&self.matrix());
        Ok(Self::from_parts(*self.physical(), *order, matrix, elements.apply(self.offset())))
    }
}
