//! Spaces of named bits.

use core::fmt;

use crate::{LayoutError, Matrix, Name, error::ok};

/// Most bits of a space.
pub const MAX_BITS: usize = 48;

/// An ordered list of named bits: bit `i` of an index into the space is the one named `space.get(i)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Space {
    names: [Name; MAX_BITS],
    length: u8,
}

impl Space {
    /// No bits: a space with one element.
    pub const fn new() -> Self {
        Self { names: [Name::EMPTY; MAX_BITS], length: 0 }
    }

    /// Number of bits.
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether there is no bit.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Number of elements, 2 to the number of bits.
    pub const fn size(&self) -> u64 {
        1 << self.length
    }

    /// The name of bit `index`.
    ///
    /// # Panics
    /// Never for `index < len()`; otherwise as an array index does.
    pub const fn get(&self, index: usize) -> Name {
        assert!(index < self.length as usize, "no such bit");
        self.names[index]
    }

    /// Which bit has this name.
    pub const fn position(&self, name: &Name) -> Option<usize> {
        let mut at = 0;
        while at < self.length as usize {
            if self.names[at].same(name) {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The space with one more bit, the highest.
    ///
    /// # Errors
    /// [`LayoutError::Twice`] if the name is taken, [`LayoutError::TooMany`] if the space is full.
    pub const fn with(mut self, name: Name) -> Result<Self, LayoutError> {
        if self.position(&name).is_some() {
            return Err(LayoutError::Twice { bit: name });
        }
        if self.length as usize == MAX_BITS {
            return Err(LayoutError::TooMany { actual: MAX_BITS + 1, limit: MAX_BITS });
        }
        self.names[self.length as usize] = name;
        self.length += 1;
        Ok(self)
    }

    /// The space of the bits of these names, lowest first.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Twice`] or [`LayoutError::TooMany`].
    pub const fn from_names(names: &[&str]) -> Result<Self, LayoutError> {
        let (mut space, mut at) = (Self::new(), 0);
        while at < names.len() {
            space = ok!(space.with(ok!(Name::new(names[at]))));
            at += 1;
        }
        Ok(space)
    }

    /// A space of the bits `stem0`, `stem1`, ... `stem{count-1}`.
    ///
    /// # Errors
    /// [`LayoutError::Name`] or [`LayoutError::TooMany`].
    pub const fn numbered(stem: &str, count: usize) -> Result<Self, LayoutError> {
        Self::new().with_numbered(stem, count)
    }

    /// The space with `count` more bits, `stem0` the lowest of them.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Twice`] or [`LayoutError::TooMany`].
    pub const fn with_numbered(mut self, stem: &str, count: usize) -> Result<Self, LayoutError> {
        let mut number = 0;
        while number < count {
            self = ok!(self.with(ok!(Name::numbered(stem, number))));
            number += 1;
        }
        Ok(self)
    }

    /// The space with another's bits above its own.
    ///
    /// # Errors
    /// [`LayoutError::Twice`] or [`LayoutError::TooMany`].
    pub const fn concat(mut self, above: &Self) -> Result<Self, LayoutError> {
        let mut at = 0;
        while at < above.len() {
            self = ok!(self.with(above.names[at]));
            at += 1;
        }
        Ok(self)
    }

    /// Which bit has this name.
    ///
    /// # Errors
    /// [`LayoutError::Name`] if it is no name, [`LayoutError::Missing`] if no bit has it.
    pub const fn find(&self, name: &str) -> Result<usize, LayoutError> {
        let bit = ok!(Name::new(name));
        match self.position(&bit) {
            Some(at) => Ok(at),
            None => Err(LayoutError::Missing { bit }),
        }
    }

    /// The bits of these names as a mask.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`], or [`LayoutError::Twice`] if one is listed twice.
    pub const fn mask_of(&self, names: &[&str]) -> Result<u64, LayoutError> {
        let (mut mask, mut at) = (0, 0);
        while at < names.len() {
            let bit = ok!(self.find(names[at]));
            if mask >> bit & 1 == 1 {
                return Err(LayoutError::Twice { bit: self.names[bit] });
            }
            mask |= 1 << bit;
            at += 1;
        }
        Ok(mask)
    }

    /// The bits of a mask, in their order.
    pub const fn select(&self, mask: u64) -> Self {
        let (mut space, mut at) = (Self::new(), 0);
        while at < self.len() {
            if mask >> at & 1 == 1 {
                space.names[space.length as usize] = self.names[at];
                space.length += 1;
            }
            at += 1;
        }
        space
    }

    /// The bits whose name is this stem, with or without a number, as a mask.
    pub const fn stem_mask(&self, stem: &str) -> u64 {
        let (mut mask, mut at) = (0, 0);
        while at < self.len() {
            if same_text(self.names[at].stem(), stem) {
                mask |= 1 << at;
            }
            at += 1;
        }
        mask
    }

    /// The bits whose name is this stem, with or without a number, by rising number.
    pub const fn bits_of_stem(&self, stem: &str) -> Self {
        let mut space = self.select(self.stem_mask(stem));
        let mut sorted = 1;
        while sorted < space.len() {
            let mut at = sorted;
            while at > 0 && rank(&space.names[at]) < rank(&space.names[at - 1]) {
                (space.names[at - 1], space.names[at]) = (space.names[at], space.names[at - 1]);
                at -= 1;
            }
            sorted += 1;
        }
        space
    }

    /// The index whose bits of these stems spell these numbers, all other bits being 0: bit `i` of a number goes to the
    /// bit numbered `i` of its stem (bit 0 to a bit without a number); bits of a number that the space has not are
    /// ignored.
    ///
    /// For `t0 t1 t2 t3 t4 r0 r1`, `index(&[("t", 3), ("r", 2)])` is lane 3 and register 2, `0b10_00011`.
    pub const fn index(&self, numbers: &[(&str, u64)]) -> u64 {
        let (mut index, mut at) = (0, 0);
        while at < numbers.len() {
            let (stem, number) = numbers[at];
            let mask = self.stem_mask(stem);
            let mut bit = 0;
            while bit < self.len() {
                if mask >> bit & 1 == 1 && place_in_number(&self.names[bit]) < 64 {
                    index |= (number >> place_in_number(&self.names[bit]) & 1) << bit;
                }
                bit += 1;
            }
            at += 1;
        }
        index
    }

    /// The number that an index's bits of this stem spell: the inverse of [`index`](Self::index).
    pub const fn number(&self, stem: &str, index: u64) -> u64 {
        let mask = self.stem_mask(stem);
        let (mut number, mut bit) = (0, 0);
        while bit < self.len() {
            if mask >> bit & 1 == 1 && place_in_number(&self.names[bit]) < 64 {
                number |= (index >> bit & 1) << place_in_number(&self.names[bit]);
            }
            bit += 1;
        }
        number
    }

    /// The matrix that takes an index into this space to the index into another in which bits of the same name are the
    /// same.
    ///
    /// # Errors
    /// [`LayoutError::Missing`] if a bit is not in the other space, [`LayoutError::Unexpected`] if the other space has
    /// a bit more.
    pub const fn matched(&self, other: &Self) -> Result<Matrix, LayoutError> {
        let (mut columns, mut at) = ([0; MAX_BITS], 0);
        while at < self.len() {
            match other.position(&self.names[at]) {
                Some(bit) => columns[at] = 1 << bit,
                None => return Err(LayoutError::Missing { bit: self.names[at] }),
            }
            at += 1;
        }
        at = 0;
        while at < other.len() {
            if self.position(&other.names[at]).is_none() {
                return Err(LayoutError::Unexpected { bit: other.names[at] });
            }
            at += 1;
        }
        Ok(Matrix::of(&columns, self.len()))
    }

    /// The space with one bit renamed.
    ///
    /// # Errors
    /// [`LayoutError::Name`], [`LayoutError::Missing`] if there is no such bit, [`LayoutError::Twice`] if the new name
    /// is taken.
    pub const fn renamed(mut self, old: &str, new: &str) -> Result<Self, LayoutError> {
        let at = ok!(self.find(old));
        let bit = ok!(Name::new(new));
        match self.position(&bit) {
            Some(other) if other != at => Err(LayoutError::Twice { bit }),
            _ => {
                self.names[at] = bit;
                Ok(self)
            }
        }
    }

    /// The names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Name> + '_ {
        self.names[..self.len()].iter().copied()
    }
}

/// Which bit of a number a bit of a stem is.
const fn place_in_number(name: &Name) -> usize {
    match name.number() {
        Some(number) => number,
        None => 0,
    }
}

/// By number, a bit without one first.
const fn rank(name: &Name) -> usize {
    match name.number() {
        Some(number) => number.saturating_add(1),
        None => 0,
    }
}

/// Whether two texts are the same, in `const`.
pub(crate) const fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl Default for Space {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
