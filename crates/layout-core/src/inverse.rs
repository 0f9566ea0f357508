//! Inverses, and the conversion of one layout to another.

use crate::{Layout, LayoutError, MAX_BITS, Matrix, error::ok};

impl Layout {
    /// The place of every element: the layout from elements to places that undoes this one.
    ///
    /// ```
    /// use fringes_layout_core::{Layout, layout};
    ///
    /// const LANES: Layout = layout!("t0 t1<->n1 n0^n1"); // lanes 0, 1, 2, 3 hold elements 0, 1, 3, 2
    /// const PLACES: Layout = match LANES.invert() {
    ///     Ok(places) => places,
    ///     Err(_) => panic!("no inverse"),
    /// };
    /// assert_eq!(PLACES.to_string(), "n1 n0<->t0 t0^t1");
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
    /// The lowest place is the one in which every physical bit that lower ones can stand in for (see [`kernel`](Self::kernel)) is 0: of
    /// `t0 t1<->n0 0`, lane 0 or 1.
    ///
    /// # Errors
    /// [`LayoutError::NotSurjective`].
    pub const fn right_inverse(&self) -> Result<Self, LayoutError> {
        ok!(self.require_surjective());
        Ok(self.generalized_inverse())
    }

    /// The place of every element that an injective layout holds: `inverse(self(p)) = p`.
    ///
    /// It reads the lowest logical bits that tell the elements held apart and ignores the others, so that an element that nobody
    /// holds goes to the place of the one that agrees with it in the bits read. Of `t0<->n0^n2  0<->n1`, it reads n0: element `0b111`
    /// goes to lane 1, as `0b101` does, which lane 1 holds.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`].
    pub const fn left_inverse(&self) -> Result<Self, LayoutError> {
        ok!(self.require_injective());
        Ok(self.generalized_inverse())
    }

    /// The [right inverse](Self::right_inverse) of a surjective layout, the [left inverse](Self::left_inverse) of an injective one, the
    /// inverse where it is both.
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

/// Where a program that changes layout `from` to layout `to` finds its data: for each place of `to`, a place of `from` that holds the
/// same element, `from(conversion(p)) = to(p)`.
///
/// Logical bits are matched by name, in any order. The physical spaces may differ, and `to` may hold elements twice. Where `from` holds
/// an element in several places, they differ in *free* bits, those that lower bits can stand in for (see [`Layout::kernel`]):
/// of these places, the conversion takes the one whose free bits equal the destination's bits of the same name, and are 0 where `to` has no
/// such bit. So data that each lane holds is not fetched from another lane.
///
/// ```
/// use fringes_layout_core::{Layout, conversion, layout};
///
/// const FROM: Layout = layout!("t0 t1<->n0 n1  r<->n2"); // lane t, register r: element t + 4 r
/// const TO: Layout = layout!("t0 t1<->n2 n1  r<->n0"); // lane bit 0 and the register bit have changed places
/// assert_eq!(conversion(&FROM, &TO).unwrap().to_string(), "t0 t1<->r0 t1  r<->t0");
/// ```
///
/// # Errors
/// [`LayoutError::Missing`] if a logical bit of `to` is not in `from`, [`LayoutError::Unexpected`] if `from` has one more (choose a part of it
/// with [`Layout::restrict_logical`]), [`LayoutError::NotHeld`] if `from` does not hold what `to` wants.
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
