//! Other names for the same bits.

use crate::{Layout, LayoutError, Name, Space, error::ok};

impl Layout {
    /// The layout with one physical bit renamed.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no bit `old`, [`LayoutError::Twice`] if `new` is
    /// taken.
    pub const fn rename_physical(&self, old: &str, new: &str) -> Result<Self, LayoutError> {
        Ok(self.with_spaces(ok!(self.physical().renamed(old, new)), *self.logical()))
    }

    /// The layout with one logical bit renamed.
    ///
    /// # Errors
    /// As [`rename_physical`](Self::rename_physical).
    pub const fn rename_logical(&self, old: &str, new: &str) -> Result<Self, LayoutError> {
        Ok(self.with_spaces(*self.physical(), ok!(self.logical().renamed(old, new))))
    }

    /// The layout with the numbered physical bits of a stem renamed: number `i` of `old` becomes number `i + first` of
    /// `new`.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("r<->n0 n1").renumber_physical("r", "r", 2).unwrap();
    /// assert_eq!(layout.to_string(), "r2 r3<->n0 n1");
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Twice`] if a new name is taken.
    pub const fn renumber_physical(&self, old: &str, new: &str, first: usize) -> Result<Self, LayoutError> {
        Ok(self.with_spaces(ok!(renumbered(self.physical(), old, new, first)), *self.logical()))
    }

    /// The layout with the numbered logical bits of a stem renamed: number `i` of `old` becomes number `i + first` of
    /// `new`.
    ///
    /// # Errors
    /// As [`renumber_physical`](Self::renumber_physical).
    pub const fn renumber_logical(&self, old: &str, new: &str, first: usize) -> Result<Self, LayoutError> {
        Ok(self.with_spaces(*self.physical(), ok!(renumbered(self.logical(), old, new, first))))
    }

    /// The layout with other names for its bits, as many as before.
    pub(crate) const fn with_spaces(&self, physical: Space, logical: Space) -> Self {
        Self::from_parts(physical, logical, self.matrix(), self.offset())
    }
}

/// The space with the numbered bits of one stem renamed, all at once.
const fn renumbered(space: &Space, old: &str, new: &str, first: usize) -> Result<Space, LayoutError> {
    let mask = space.stem_mask(old);
    let (mut renamed, mut bit) = (Space::new(), 0);
    while bit < space.len() {
        let name = match space.get(bit).number() {
            Some(number) if mask >> bit & 1 == 1 => ok!(Name::numbered(new, number.saturating_add(first))),
            _ => space.get(bit),
        };
        renamed = ok!(renamed.with(name));
        bit += 1;
    }
    Ok(renamed)
}
