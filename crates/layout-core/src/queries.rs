//! Questions about a layout.

use crate::{Layout, LayoutError, Matrix, Space};

impl Layout {
    /// Number of logical bits that the places reach, independently of each other: they hold 2 to this many elements.
    pub const fn rank(&self) -> usize {
        self.matrix().rank()
    }

    /// What the elements held differ by: a basis, reduced, of the flips of logical bits that some change of place
    /// makes.
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1 t2<->n0^n1 n1 n0  0<->n2");
    /// assert_eq!(layout.reached().columns(), [0b01, 0b10]); // n0 and n1, but not n2
    /// assert_eq!(layout.rank(), 2);
    /// ```
    pub const fn reached(&self) -> Matrix {
        self.matrix().reduce().basis()
    }

    /// Whether no two places hold the same element.
    pub const fn is_injective(&self) -> bool {
        self.rank() == self.physical().len()
    }

    /// Whether every element is held somewhere.
    pub const fn is_surjective(&self) -> bool {
        self.rank() == self.logical().len()
    }

    /// Whether every element is held in exactly one place.
    pub const fn is_bijective(&self) -> bool {
        self.is_injective() && self.is_surjective()
    }

    /// Whether each physical bit is one logical bit and each logical bit is one physical bit, without an offset.
    pub const fn is_permutation(&self) -> bool {
        let (mut seen, mut bit) = (0u64, 0);
        while bit < self.physical().len() {
            if self.column(bit).count_ones() != 1 || seen & self.column(bit) != 0 {
                return false;
            }
            seen |= self.column(bit);
            bit += 1;
        }
        self.offset() == 0 && seen.count_ones() as usize == self.logical().len()
    }

    /// That no two places hold the same element.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`] with the lowest physical bit that lower ones can stand in for.
    pub const fn require_injective(&self) -> Result<(), LayoutError> {
        let free = self.matrix().reduce().free();
        if free == 0 {
            return Ok(());
        }
        Err(LayoutError::NotInjective { bit: self.physical().get(free.trailing_zeros() as usize) })
    }

    /// That every element is held somewhere.
    ///
    /// # Errors
    /// [`LayoutError::NotSurjective`] with the lowest logical bit that no change of place flips alone.
    pub const fn require_surjective(&self) -> Result<(), LayoutError> {
        let echelon = self.matrix().reduce();
        let mut bit = 0;
        while bit < self.logical().len() {
            if echelon.reduce(1 << bit).0 != 0 {
                return Err(LayoutError::NotSurjective { bit: self.logical().get(bit) });
            }
            bit += 1;
        }
        Ok(())
    }

    /// That every element is held in exactly one place.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`] or [`LayoutError::NotSurjective`].
    pub const fn require_bijective(&self) -> Result<(), LayoutError> {
        match self.require_injective() {
            Ok(()) => self.require_surjective(),
            Err(error) => Err(error),
        }
    }

    /// The changes of place that change nothing: a basis of the masks of physical bits that may be flipped together.
    /// The highest bit of each is *free*: the lower ones can stand in for it.
    ///
    /// | | t = 0 | 1 | 2 | 3 |
    /// |---|---|---|---|---|
    /// | r = 0 and r = 1 | 0 | 1 | 1 | 0 |
    ///
    /// ```
    /// use fringes_layout_core::layout;
    ///
    /// let layout = layout!("t0 t1<->n0 n0  r<->0");
    /// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|place| layout.apply(place)), [0, 1, 1, 0, 0, 1, 1, 0]);
    /// assert_eq!(layout.kernel().columns(), [0b011, 0b100]); // t0 with t1; r0
    /// ```
    pub const fn kernel(&self) -> Matrix {
        self.matrix().kernel()
    }

    /// The physical bits that change nothing by themselves: all places that differ in them alone hold the same element.
    pub const fn broadcast_bits(&self) -> Space {
        let (mut mask, mut bit) = (0, 0);
        while bit < self.physical().len() {
            if self.column(bit) == 0 {
                mask |= 1 << bit;
            }
            bit += 1;
        }
        self.physical().select(mask)
    }

    /// The logical bits that are the same in every place.
    pub const fn fixed_bits(&self) -> Space {
        let (mut reached, mut bit) = (0, 0);
        while bit < self.physical().len() {
            reached |= self.column(bit);
            bit += 1;
        }
        self.logical().select(!reached)
    }

    /// How many of the lowest logical bits are held, in order, by the lowest bits of the given physical stems: the
    /// first stem's bits by rising number, then the second's, and so on. Where the logical index is an address, 2
    /// to this many elements can be moved as one vector, which is aligned in every place.
    ///
    /// No other physical bit and no offset may change the bits counted.
    ///
    /// ```
    /// use fringes_layout_core::{Space, layout};
    ///
    /// let layout = layout!("b<->g0  t0 t1<->g2 g3  r<->g1 g4").with_logical_order(&Space::numbered("g", 5)?)?;
    /// assert_eq!(layout.contiguous_bits(&["b", "r"]), 2); // pairs of registers, four halfwords
    /// assert_eq!(layout.contiguous_bits(&["r"]), 0);
    /// # Ok::<(), fringes_layout_core::LayoutError>(())
    /// ```
    pub const fn contiguous_bits(&self, stems: &[&str]) -> usize {
        let (mut bits, mut at) = (Space::new(), 0);
        while at < stems.len() {
            bits = match bits.concat(&self.physical().bits_of_stem(stems[at])) {
                Ok(bits) => bits,
                Err(_) => return 0, // a stem given twice
            };
            at += 1;
        }
        let (mut count, mut own) = (0, 0u64);
        while count < bits.len() && count < self.logical().len() {
            match self.physical().position(&bits.get(count)) {
                Some(bit) if self.column(bit) == 1 << count => own |= 1 << bit,
                _ => break,
            }
            count += 1;
        }
        min(count, (self.offset() | self.changed_outside(own)).trailing_zeros() as usize)
    }

    /// As [`contiguous_bits`](Self::contiguous_bits), with the bits of the stems in any order, in sums with each other,
    /// and with an offset: how many of the lowest logical bits the stems' bits reach by themselves. A program may
    /// number its registers as it likes, so this is the width of a vector of registers.
    pub const fn contiguous_bits_in_any_order(&self, stems: &[&str]) -> usize {
        let (mut own, mut at) = (0, 0);
        while at < stems.len() {
            own |= self.physical().stem_mask(stems[at]);
            at += 1;
        }
        let mut columns = self.matrix().array();
        at = 0;
        while at < self.physical().len() {
            columns[at] &= (own >> at & 1).wrapping_neg();
            at += 1;
        }
        let echelon = Matrix::of(&columns, at).reduce();
        let mut count = 0;
        while count < self.logical().len() && echelon.reduce(1 << count).0 == 0 {
            count += 1;
        }
        min(count, self.changed_outside(own).trailing_zeros() as usize)
    }

    /// The logical bits that physical bits outside a mask change.
    const fn changed_outside(&self, own: u64) -> u64 {
        let (mut changed, mut bit) = (0, 0);
        while bit < self.physical().len() {
            if own >> bit & 1 == 0 {
                changed |= self.column(bit);
            }
            bit += 1;
        }
        changed
    }

    /// The physical bits of one stem, by rising number.
    pub const fn bits_of_stem(&self, stem: &str) -> Space {
        self.physical().bits_of_stem(stem)
    }
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}
