//! Spaces of named bits.

use core::fmt;

use crate::{LayoutError, Name};

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

    /// The names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Name> + '_ {
        self.names[..self.len()].iter().copied()
    }
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
