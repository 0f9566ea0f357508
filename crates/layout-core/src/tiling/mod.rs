//! What is no power of two: outer dimensions of any extent and stride around a layout.

mod error;

use core::fmt;

pub use error::TilingError;

use crate::access::{LANES, LaneAddresses, Width};
use crate::{Layout, LayoutError, MAX_BITS, Name};

/// Most outer dimensions of a [`Tiling`].
pub const MAX_DIMENSIONS: usize = 8;

/// Longest tiling.
const MAX_LENGTH: u64 = 1 << MAX_BITS;

/// An outer dimension of a [`Tiling`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// Its name.
    pub name: Name,
    /// Number of indices.
    pub extent: u64,
    /// How far neighbours are apart.
    pub stride: u64,
}

/// A layout repeated along outer dimensions of any extent and stride.
///
/// The address of the outer indices `i` and an inner place is `sum over dimensions of i * stride`, plus the number that
/// the place's bits of one stem spell: `s` or `g` (bytes), or `r` (registers). Dimensions are added from the inside out
/// and named from the outside in, as in `[channel][time][input]`.
///
/// ```
/// use fringes_layout_core::{Tiling, layout};
///
/// // The correlator's input, `[channel][time / 64][input][64]` of 8-bit complex samples, for 160 inputs.
/// let row = layout!("g0<->ReIm  g1 g2 g3 g4 g5 g6<->t0 t1 t2 t3 t4 t5");
/// let rows = Tiling::new(row, "g")?.packed("input", 160)?.packed("time_block", 4)?.packed("channel", 16)?;
/// let text = "channel 16 x 81920  time_block 4 x 20480  input 160 x 128  g<->ReIm t0 t1 t2 t3 t4 t5";
/// assert_eq!(rows.to_string(), text);
/// assert_eq!(rows.length(), 16 * 4 * 160 * 128);
/// // Channel 2, time 3 * 64 + 5, input 159, imaginary part.
/// assert_eq!(rows.address(&[2, 3, 159], 5 << 1 | 1)?, 2 * 81920 + 3 * 20480 + 159 * 128 + 11);
/// # Ok::<(), fringes_layout_core::TilingError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// Innermost first.
    dimensions: [Dimension; MAX_DIMENSIONS],
    count: usize,
    inner: Layout,
    /// Bits of the inner layout that spell the address.
    address_bits: u64,
    /// A bit of the stem.
    stem: Name,
    /// One past the highest address.
    length: u64,
    /// The length with the padding behind the last index.
    pitch: u64,
}

/// What an address is: the outer indices and the place inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    indices: [u64; MAX_DIMENSIONS],
    count: usize,
    /// The inner layout's place: its address bits as the address has them, all others 0.
    pub place: u64,
    /// What the address has below the inner layout's lowest address bit: the byte inside an element.
    pub byte: u64,
}

impl Place {
    /// The outer indices, outermost first.
    pub const fn indices(&self) -> &[u64] {
        let (indices, _) = self.indices.split_at(self.count);
        indices
    }
}

impl Tiling {
    /// A layout with no outer dimension yet. The numbers of its physical bits of this stem are their places in an
    /// address.
    ///
    /// # Errors
    /// [`TilingError::Layout`] with [`LayoutError::Name`] if the stem is none, or [`LayoutError::TooMany`] if an
    /// address bit is beyond 47.
    pub const fn new(inner: Layout, stem: &str) -> Result<Self, TilingError> {
        let stem_bit = match Name::numbered(stem, 0) {
            Ok(name) => name,
            Err(error) => return Err(TilingError::Layout(error)),
        };
        let address_bits = inner.physical().stem_mask(stem);
        let (mut length, mut bit) = (1, 0);
        while bit < inner.physical().len() {
            if address_bits >> bit & 1 == 1 {
                let number = match inner.physical().get(bit).number() {
                    Some(number) => number,
                    None => 0,
                };
                if number >= MAX_BITS {
                    let error = LayoutError::TooMany { actual: number.saturating_add(1), limit: MAX_BITS };
                    return Err(TilingError::Layout(error));
                }
                length = if 2 << number > length { 2 << number } else { length };
            }
            bit += 1;
        }
        let none = Dimension { name: stem_bit, extent: 1, stride: 0 };
        let dimensions = [none; MAX_DIMENSIONS];
        Ok(Self { dimensions, count: 0, inner, address_bits, stem: stem_bit, length, pitch: length })
    }

    /// The tiling repeated `extent` times without gaps, along a dimension around those that it has.
    ///
    /// # Errors
    /// As [`strided`](Self::strided).
    pub const fn packed(self, name: &str, extent: u64) -> Result<Self, TilingError> {
        self.padded(name, extent, 0)
    }

    /// The tiling repeated `extent` times, each followed by this much padding.
    ///
    /// # Errors
    /// As [`strided`](Self::strided).
    pub const fn padded(self, name: &str, extent: u64, padding: u64) -> Result<Self, TilingError> {
        let stride = self.pitch.saturating_add(padding);
        self.strided(name, extent, stride)
    }

    /// The tiling repeated `extent` times, `stride` apart.
    ///
    /// # Errors
    /// [`TilingError::Layout`] with [`LayoutError::Name`] if the name is none, or one of [`TilingError::Twice`],
    /// [`TilingError::Empty`], [`TilingError::Overlap`], [`TilingError::TooLong`], [`TilingError::Dimensions`].
    pub const fn strided(mut self, name: &str, extent: u64, stride: u64) -> Result<Self, TilingError> {
        let dimension = match Name::new(name) {
            Ok(name) => name,
            Err(error) => return Err(TilingError::Layout(error)),
        };
        if self.dimension(name).is_some() {
            return Err(TilingError::Twice { dimension });
        }
        if self.count == MAX_DIMENSIONS {
            return Err(TilingError::Dimensions { actual: self.count + 1, expected: MAX_DIMENSIONS });
        }
        if extent == 0 {
            return Err(TilingError::Empty { dimension });
        }
        if extent > 1 && stride < self.length {
            return Err(TilingError::Overlap { dimension, stride, inside: self.length });
        }
        match extent.checked_mul(stride) {
            Some(pitch) if pitch <= MAX_LENGTH && stride <= MAX_LENGTH => {
                self.length += (extent - 1) * stride;
                self.pitch = if pitch > self.length { pitch } else { self.length };
            }
            _ => return Err(TilingError::TooLong { dimension }),
        }
        self.dimensions[self.count] = Dimension { name: dimension, extent, stride };
        self.count += 1;
        Ok(self)
    }

    /// The inner layout.
    pub const fn inner(&self) -> &Layout {
        &self.inner
    }

    /// Number of outer dimensions.
    pub const fn dimensions(&self) -> usize {
        self.count
    }

    /// The dimension of a name.
    pub const fn dimension(&self, name: &str) -> Option<Dimension> {
        if let Ok(name) = Name::new(name) {
            let mut at = 0;
            while at < self.count {
                if self.dimensions[at].name.same(&name) {
                    return Some(self.dimensions[at]);
                }
                at += 1;
            }
        }
        None
    }

    /// One past the highest address: what must be allocated.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// The length with the padding behind the outermost dimension's last index: where a neighbour would begin.
    pub const fn pitch(&self) -> u64 {
        self.pitch
    }

    /// The address of the outer indices (outermost first) and a place of the inner layout.
    ///
    /// # Errors
    /// [`TilingError::Dimensions`], [`TilingError::Index`] or [`TilingError::Place`].
    pub const fn address(&self, indices: &[u64], place: u64) -> Result<u64, TilingError> {
        if indices.len() != self.count {
            return Err(TilingError::Dimensions { actual: indices.len(), expected: self.count });
        }
        if place >= self.inner.physical().size() {
            return Err(TilingError::Place { place, size: self.inner.physical().size() });
        }
        let (mut address, mut at) = (self.number(place), 0);
        while at < self.count {
            let Dimension { name, extent, stride } = self.dimensions[self.count - 1 - at];
            if indices[at] >= extent {
                return Err(TilingError::Index { dimension: name, index: indices[at], extent });
            }
            address += indices[at] * stride;
            at += 1;
        }
        Ok(address)
    }

    /// The lowest address of an element of the inner layout, whose places are all addresses.
    ///
    /// # Errors
    /// As [`address`](Self::address), and [`TilingError::Layout`] with [`LayoutError::NotHeld`] if no place holds the
    /// element, or with [`LayoutError::Unexpected`] if the inner layout has a bit that is in no address.
    pub const fn address_of(&self, indices: &[u64], element: u64) -> Result<u64, TilingError> {
        let physical = self.inner.physical();
        let others = !self.address_bits & (physical.size() - 1);
        if others != 0 {
            let bit = physical.get(others.trailing_zeros() as usize);
            return Err(TilingError::Layout(LayoutError::Unexpected { bit }));
        }
        let logical = self.inner.logical();
        if element >= logical.size() {
            return Err(TilingError::Place { place: element, size: logical.size() });
        }
        let (rest, place) = self.inner.matrix().reduce().reduce(element ^ self.inner.offset());
        if rest != 0 {
            let bit = logical.get(rest.trailing_zeros() as usize);
            return Err(TilingError::Layout(LayoutError::NotHeld { bit }));
        }
        self.address(indices, place)
    }

    /// What an address is; nothing if it is padding or beyond the end.
    pub const fn find(&self, address: u64) -> Option<Place> {
        let mut found = Place { indices: [0; MAX_DIMENSIONS], count: self.count, place: 0, byte: 0 };
        let (mut rest, mut at) = (address, 0);
        while at < self.count {
            let Dimension { extent, stride, .. } = self.dimensions[self.count - 1 - at];
            if extent > 1 {
                let index = rest / stride;
                // What is beyond the last index stays in the rest, and is too much for what is inside.
                found.indices[at] = if index < extent { index } else { extent - 1 };
                rest -= found.indices[at] * stride;
            }
            at += 1;
        }
        let physical = self.inner.physical();
        let mut bit = 0;
        let mut lowest = MAX_LENGTH;
        while bit < physical.len() {
            if self.address_bits >> bit & 1 == 1 {
                let value = self.number(1 << bit);
                lowest = if value < lowest { value } else { lowest };
                if rest & value != 0 {
                    found.place |= 1 << bit;
                }
            }
            bit += 1;
        }
        if self.address_bits == 0 {
            lowest = 1;
        }
        found.byte = rest & (lowest - 1);
        if rest == self.number(found.place) | found.byte { Some(found) } else { None }
    }

    /// A request of a warp, from what each lane accesses: outer indices (the first [`dimensions`](Self::dimensions) of
    /// the array) and inner place, or nothing.
    ///
    /// # Errors
    /// As [`address`](Self::address).
    pub fn request(
        &self,
        width: Width,
        mut lane: impl FnMut(u64) -> Option<([u64; MAX_DIMENSIONS], u64)>,
    ) -> Result<LaneAddresses, TilingError> {
        let mut request = LaneAddresses::empty(width);
        for number in 0..LANES {
            if let Some((indices, place)) = lane(number as u64) {
                request = request.with(number, self.address(&indices[..self.count], place)?);
            }
        }
        Ok(request)
    }

    /// The number that a place's address bits spell.
    const fn number(&self, place: u64) -> u64 {
        self.inner.physical().number(self.stem.stem(), place)
    }
}

impl fmt::Display for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Dimension { name, extent, stride } in self.dimensions[..self.count].iter().rev() {
            write!(f, "{name} {extent} x {stride}  ")?;
        }
        write!(f, "{}", self.inner)
    }
}

impl fmt::Debug for Tiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
