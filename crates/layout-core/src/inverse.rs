//! Inverses, and the conversion of one layout to another.

use crate::{Layout, LayoutError, MAX_BITS, Matrix, error::ok};

impl Layout {
    /// The place of every element: the layout from elements to places that undoes this one.
    ///
    /// | lane `t` | 0 | 1 | 2 | 3 | | element `n` | 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|---|---|---|---|---|---|
    /// | holds `n` | 0 | 3 | 1 | 2 | | is in lane `t` | 0 | 2 | 3 | 1 |
    ///
    /// ```
    /// use fringes_layout_core::{Layout, layout};
    ///
    /// const LANES: Layout = layout!("t0 t1<->n0^n1 n0");
    /// const PLACES: Layout = match LANES.invert() {
    ///     Ok(places) => places,
    ///     Err(_) => panic!("no inverse"),
    /// };
    /// assert_eq!(PLACES.to_string(), "n<->t1 t0^t1");
    /// assert_eq!([0, 1, 2, 3].map(|lane| LANES.apply(lane)), [0, 3, 1, 2]);
    /// let lane = |n| PLACES.logical().number("t", PLACES.apply(n));
    /// assert_eq!([0, 1, 2, 3].map(lane), [0, 2, 3, 1]);
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`] or [`LayoutError::NotSurjective`].
    pub const fn invert(&self) -> Result<Self, LayoutError> {
        ok!(self.require_bijective());
        Ok(self.generalized_inverse())
    }

    /// A place of every element of a surjective layout, the lowest of those that hold it: `self(inverse(x)) = x`.
    ///
    /// The lowest place is the one in which every physical bit that lower ones can stand in for (see
    /// [`kernel`](Self::kernel)) is 0.
    ///
    /// | lane `t` | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | | element `n` | 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
    /// | holds `n` | 0 | 1 | 1 | 0 | 2 | 3 | 3 | 2 | | lowest `t` | 0 | 1 | 4 | 5 |
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1 t2<->n0 n0 n1");
    /// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|lane| layout.apply(lane)), [0, 1, 1, 0, 2, 3, 3, 2]);
    /// let lowest = layout.right_inverse()?;
    /// assert_eq!(lowest.to_string(), "n<->t0 t2  0<->t1");
    /// assert_eq!([0, 1, 2, 3].map(|n| lowest.apply(n)), [0, 1, 4, 5]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::NotSurjective`].
    pub const fn right_inverse(&self) -> Result<Self, LayoutError> {
        ok!(self.require_surjective());
        Ok(self.generalized_inverse())
    }

    /// The place of every element that an injective layout holds: `inverse(self(p)) = p`.
    ///
    /// It reads the lowest logical bits that tell the elements held apart and ignores the others, so that an element
    /// that nobody holds goes to the place of the one that agrees with it in the bits read.
    ///
    /// | lane `t` | 0 | 1 | | element `n` | 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|---|---|---|---|
    /// | holds `n` | 0 | 3 | | goes to `t` | 0 | 1 | 0 | 1 |
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let inverse = layout!("t0<->n0^n1").left_inverse()?; // reads n0; nobody holds elements 1 and 2
    /// assert_eq!([0, 1, 2, 3].map(|n| inverse.apply(n)), [0, 1, 0, 1]);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`].
    pub const fn left_inverse(&self) -> Result<Self, LayoutError> {
        ok!(self.require_injective());
        Ok(self.generalized_inverse())
    }

    /// The [right inverse](Self::right_inverse) of a surjective layout, the [left inverse](Self::left_inverse) of an
    /// injective one, the inverse where it is both.
    ///
    /// # Errors
    /// [`LayoutError::NotSurjective`] if it is neither.
    pub const fn pseudo_invert(&self) -> Result<Self, LayoutError> {
        if self.is_injective() { self.left_inverse() } else { self.right_inverse() }
    }

    /// From elements to the lowest place that holds the element that agrees in the pivot rows.
    const fn generalized_inverse(&self) -> Self {
        let inverse = self.matrix().reduce().inverse(self.logical().len());
        Self::from_parts(*self.logical(), *self.physical(), inverse, inverse.apply(self.offset()))
    }
}

/// Where a program that changes layout `from` to layout `to` finds its data: for each place of `to`, a place of `from`
/// that holds the same element, `from(conversion(p)) = to(p)`.
///
/// Logical bits are matched by name, in any order. The physical spaces may differ, and `to` may hold elements twice.
/// Where `from` holds an element in several places, they differ in *free* bits, those that lower bits can stand in for
/// (see [`Layout::kernel`]): of these places, the conversion takes the one whose free bits equal the destination's bits
/// of the same name, and are 0 where `to` has no such bit. So data that each lane holds is not fetched from another
/// lane.
///
/// | | t = 0 | 1 | 2 | 3 |
/// |---|---|---|---|---|
/// | `FROM` holds in r = 0 | 0 | 1 | 2 | 3 |
/// | `FROM` holds in r = 1 | 4 | 5 | 6 | 7 |
/// | `TO` holds in r = 0 | 0 | 4 | 2 | 6 |
/// | `TO` holds in r = 1 | 1 | 5 | 3 | 7 |
/// | lane, register of the source of r = 0 | 0,0 | 0,1 | 2,0 | 2,1 |
/// | lane, register of the source of r = 1 | 1,0 | 1,1 | 3,0 | 3,1 |
///
/// ```
/// use fringes_layout_core::{Layout, conversion, layout};
///
/// const FROM: Layout = layout!("t0 t1<->n0 n1  r<->n2");
/// const TO: Layout = layout!("t0 t1<->n2 n1  r<->n0"); // lane bit 0 and the register bit have changed places
/// let source = conversion(&FROM, &TO)?;
/// assert_eq!(source.to_string(), "t0 t1<->r0 t1  r<->t0");
/// let number = |name, place| source.logical().number(name, source.apply(place));
/// let of = |place| (number("t", place), number("r", place));
/// assert_eq!([0, 1, 2, 3].map(of), [(0, 0), (0, 1), (2, 0), (2, 1)]);
/// assert_eq!([4, 5, 6, 7].map(of), [(1, 0), (1, 1), (3, 0), (3, 1)]);
///
/// // Every lane holds its half of the data twice: nothing leaves its lane.
/// let source = conversion(&layout!("t0 t1<->n0 0  r<->n1"), &layout!("t0 t1<->n0 0  r<->n1"))?;
/// assert_eq!(source.to_string(), "t0 t1<->t0 t1  r<->r0");
/// # Ok::<(), fringes_layout_core::LayoutError>(())
/// ```
///
/// # Errors
/// [`LayoutError::Missing`] if a logical bit of `to` is not in `from`, [`LayoutError::Unexpected`] if `from` has one
/// more (choose a part of it with [`Layout::restrict_logical`]), [`LayoutError::NotHeld`] if `from` does not hold what
/// `to` wants.
pub const fn conversion(from: &Layout, to: &Layout) -> Result<Layout, LayoutError> {
    let names = ok!(to.logical().matched(from.logical()));
    let echelon = from.matrix().reduce();
    let (residue, offset) = echelon.reduce(names.apply(to.offset()) ^ from.offset());
    if residue != 0 {
        return Err(LayoutError::NotHeld { bit: from.logical().get(residue.trailing_zeros() as usize) });
    }
    let (mut columns, mut bit) = ([0; MAX_BITS], 0);
    while bit < to.physical().len() {
        let (residue, place) = echelon.reduce(names.apply(to.column(bit)));
        if residue != 0 {
            return Err(LayoutError::NotHeld { bit: from.logical().get(residue.trailing_zeros() as usize) });
        }
        columns[bit] = place;
        bit += 1;
    }
    let kernel = echelon.kernel();
    bit = 0;
    while bit < kernel.width() {
        let same_element = kernel.columns()[bit];
        let free = 63 - same_element.leading_zeros() as usize;
        if let Some(at) = to.physical().position(&from.physical().get(free)) {
            columns[at] ^= same_element;
        }
        bit += 1;
    }
    Ok(Layout::from_parts(*to.physical(), *from.physical(), Matrix::of(&columns, to.physical().len()), offset))
}
