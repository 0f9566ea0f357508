//! Matrices in shared memory as `wgmma` reads them, and the 64-bit descriptors that say where they lie.
//!
//! A matrix lies in *atoms* of 8 rows of 16, 32, 64 or 128 bytes. In an atom of more than 16 bytes a row, the 16-byte
//! chunks of a row are permuted by its number, so that eight rows of one chunk, which `ldmatrix` and the tensor cores
//! read at once, and one row, which copies write at once, both touch all 32 banks:
//!
//! ```text
//! 128 bytes, chunk c of row r at         64 bytes                        32 bytes            16 bytes
//! row 0   0  1  2  3  4  5  6  7         0  1  2  3 | row 1:  0 1 2 3    0 1 | 0 1 | 0 1 ..  one chunk a row
//! row 1   1  0  3  2  5  4  7  6         row 2:  1  0  3  2 ...          row 4: 1 0 ...
//! row 2   2  3  0  1  6  7  4  5
//! ...
//! row 7   7  6  5  4  3  2  1  0
//! ```
//!
//! # Layout
//! Of addresses (`s0` the lowest bit of the byte's address, counted from a multiple of the atom's size) to elements,
//! for 8-bit elements that are contiguous along K ("K-major": `col` is `j`, `row` is `i` of `A`, `k` of `B`):
//!
//! | swizzle | atom, rows x columns | bits |
//! |---|---|---|
//! | none | 8 x 16 | `s<->col0 col1 col2 col3 row0 row1 row2` |
//! | 32 bytes | 8 x 32 | `s<->col0 col1 col2 col3 col4 row0 row1 row2^col4` |
//! | 64 bytes | 8 x 64 | `s<->col0 col1 col2 col3 col4 col5 row0 row1^col4 row2^col5` |
//! | 128 bytes | 8 x 128 | `s<->col0 col1 col2 col3 col4 col5 col6 row0^col4 row1^col5 row2^col6` |
//!
//! Elements of 16 bits have `byte0` for `s0`, of 32 bits `byte0 byte1`, and fewer bits `col`. Matrices that are
//! contiguous along M or N ("MN-major", 16-bit elements only) are the same with `row` and `col` exchanged: 8 columns of
//! up to 64 rows.
//!
//! Source: PTX ISA, "Shared Memory Matrix Layout" of wgmma, its parts "Leading Dimension Byte Offset", "Stride
//! Dimension Byte Offset", "Canonical Layouts" and "Matrix Descriptor Format".

use crate::error::ok;
use crate::{Layout, LayoutError, Space};

/// How 16-byte chunks of shared memory are permuted so that neither rows nor columns of a tile collide in banks.
///
/// The number is the field of a [`Descriptor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Swizzle {
    /// Not at all.
    None = 0,
    /// Within rows of 128 bytes: bits 4..7 of an address are exclusive-ored with bits 7..10.
    Bytes128 = 1,
    /// Within rows of 64 bytes: bits 4..6 with bits 7..9.
    Bytes64 = 2,
    /// Within rows of 32 bytes: bit 4 with bit 7.
    Bytes32 = 3,
}

impl Swizzle {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// Where the byte of this offset lies; offsets count from a multiple of 1024 bytes.
    #[inline(always)]
    pub const fn apply(self, offset: u32) -> u32 {
        let mask = match self {
            Self::None => 0,
            Self::Bytes128 => 0x70,
            Self::Bytes64 => 0x30,
            Self::Bytes32 => 0x10,
        };
        offset ^ (offset >> 3 & mask)
    }

    /// Contiguous bytes of a row of an atom: 16, 32, 64 or 128. The atom has eight rows.
    pub const fn row_bytes(self) -> u32 {
        match self {
            Self::None => 16,
            Self::Bytes32 => 32,
            Self::Bytes64 => 64,
            Self::Bytes128 => 128,
        }
    }
}

/// Along which side of a factor memory is contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Major {
    /// Along K, the side that is summed over.
    K,
    /// Along M (of `A`) or N (of `B`): 16-bit elements only.
    MN,
}

/// A factor of a product in shared memory: which element lies at which address.
///
/// Rows are those of `A` or of the transpose of `B` (M or N), columns go along K.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    major: Major,
    swizzle: Swizzle,
    /// Base-2 logarithm of the bytes of an element.
    element: u32,
    leading: u32,
    stride: u32,
}

impl Operand {
    /// A factor with elements of `bits` bits (8, 16, 32), and the distances of its descriptor in bytes.
    ///
    /// None for other widths, for M- or N-major elements that are not of 16 bits, and for distances that are no
    /// multiples of an atom.
    pub const fn new(major: Major, swizzle: Swizzle, bits: u32, leading: u32, stride: u32) -> Option<Self> {
        let element = match bits {
            8 => 0,
            16 => 1,
            32 => 2,
            _ => return None,
        };
        let atom = 8 * swizzle.row_bytes();
        let unused = matches!(major, Major::K) && !matches!(swizzle, Swizzle::None);
        if matches!(major, Major::MN) && bits != 16
            || !stride.is_multiple_of(atom)
            || !unused && !leading.is_multiple_of(atom)
        {
            return None;
        }
        Some(Self { major, swizzle, element, leading, stride })
    }

    /// An atom: bits `s` of a byte's address to bits `row`, `col`, and `byte` within the element, lowest `row` first.
    ///
    /// # Errors
    /// None for an operand that [`new`](Self::new) made.
    pub const fn atom(&self) -> Result<Layout, LayoutError> {
        let line = self.swizzle.row_bytes().ilog2();
        let along = (line - self.element) as usize;
        // In the order of memory: bytes of an element, elements of a line, lines.
        let bytes = ok!(Space::numbered("byte", self.element as usize));
        let (rows, columns, order) = match self.major {
            Major::K => {
                let (rows, columns) = (ok!(Space::numbered("row", 3)), ok!(Space::numbered("col", along)));
                (rows, columns, ok!(ok!(bytes.concat(&columns)).concat(&rows)))
            }
            Major::MN => {
                let (rows, columns) = (ok!(Space::numbered("row", along)), ok!(Space::numbered("col", 3)));
                (rows, columns, ok!(ok!(bytes.concat(&rows)).concat(&columns)))
            }
        };
        // The permutation is its own inverse: it takes an address to the offset that lies there.
        let mut offsets = [0; 10];
        let mut bit = 0;
        while bit < line + 3 {
            offsets[bit as usize] = self.swizzle.apply(1 << bit) as u64;
            bit += 1;
        }
        let (offsets, _) = offsets.split_at(line as usize + 3);
        let memory = ok!(Layout::from_columns(ok!(Space::numbered("s", offsets.len())), order, offsets));
        memory.with_logical_order(&ok!(ok!(rows.concat(&columns)).concat(&bytes)))
    }

    /// Where the element of this row and column starts, in bytes from the start of the factor (a multiple of an atom's
    /// bytes).
    ///
    /// None past the end of what one descriptor reaches (K-major swizzled rows end after their 32, 64 or 128 bytes) and
    /// beyond 2^32.
    pub const fn offset(&self, row: u32, column: u32) -> Option<u32> {
        let line = self.swizzle.row_bytes();
        let per_line = line >> self.element;
        let (along, across) = match self.major {
            Major::K => (column, row),
            Major::MN => (row, column),
        };
        let swizzled = !matches!(self.swizzle, Swizzle::None);
        // Distances of whole lines further along, and of eight lines further across.
        let (further, eight) = match (self.major, swizzled) {
            (Major::K, true) if along >= per_line => return None,
            (Major::K, _) | (Major::MN, true) => (self.leading, self.stride),
            (Major::MN, false) => (self.stride, self.leading),
        };
        let inside = ((along % per_line) << self.element) + line * (across % 8);
        match ((along / per_line).checked_mul(further), (across / 8).checked_mul(eight)) {
            (Some(along), Some(across)) => match along.checked_add(across) {
                // Multiples of an atom do not reach into `inside`.
                Some(atom) => Some(self.swizzle.apply(atom | inside)),
                None => None,
            },
            _ => None,
        }
    }
}

/// What a [`Descriptor`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Shared address of the factor, a multiple of 16.
    pub address: u32,
    /// Leading dimension byte offset, a multiple of 16.
    pub leading: u32,
    /// Stride dimension byte offset, a multiple of 16.
    pub stride: u32,
    /// Bits 7..10 of the address at which the pattern of the swizzle begins: 0 if that is a multiple of eight rows.
    pub base: u32,
    /// How chunks are permuted.
    pub swizzle: Swizzle,
}

/// Where a matrix lies in shared memory, as `wgmma` takes it.
///
/// | bits | field |
/// |---|---|
/// | 0-13 | address / 16 |
/// | 16-29 | leading dimension byte offset / 16 |
/// | 32-45 | stride dimension byte offset / 16 |
/// | 49-51 | base offset |
/// | 62-63 | [`Swizzle`] |
///
/// # Layout
/// For a matrix whose rows of `A` (columns of `B`) are contiguous in K ("K-major"; the only order for 8-bit and tf32):
///
/// - Swizzled by `S` = 128, 64 or 32 bytes: groups of 8 rows of `S` bytes each, `8 S` bytes in all, permuted by
///   [`Swizzle::apply`]. `stride` is the distance from one group of 8 rows to the next, `leading` is not used. The
///   address is a multiple of `8 S`; a product further along K, within the `S` bytes, takes the same descriptor
///   [`advanced`](Self::advance) by `K` elements' bytes.
/// - Not swizzled: blocks of 8 rows of 16 bytes, 128 contiguous bytes. `leading` is the distance between blocks that
///   follow each other in K, `stride` between those that follow in rows. The address is a multiple of 16.
///
/// For one that is contiguous in M or N ("MN-major", 16-bit elements):
///
/// - Swizzled: groups of 8 columns (K) of `S` bytes each. `stride` is the distance to the next 8 columns, `leading`
///   that to the next `S` bytes along M or N.
/// - Not swizzled: blocks of 8 columns of 16 bytes; `leading` is the distance to the next 8 columns, `stride` that to
///   the next 16 bytes.
///
/// [`Operand`] gives all of these element by element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor(u64);

impl Descriptor {
    /// A matrix at shared address `address`, with distances in bytes, all multiples of 16.
    #[inline(always)]
    pub const fn new(address: u32, leading: u32, stride: u32, swizzle: Swizzle) -> Self {
        Self::encode(Fields { address, leading, stride, base: 0, swizzle })
    }

    /// The descriptor of these fields; addresses and distances modulo 2^18, without their lowest four bits.
    #[inline(always)]
    pub const fn encode(fields: Fields) -> Self {
        /// A field of 14 bits: a number of bytes without its lowest four bits.
        const fn field(bytes: u32) -> u64 {
            (bytes as u64 & 0x3_ffff) >> 4
        }
        Self(
            field(fields.address)
                | field(fields.leading) << 16
                | field(fields.stride) << 32
                | (fields.base as u64 & 7) << 49
                | (fields.swizzle as u64) << 62,
        )
    }

    /// The fields.
    pub const fn fields(self) -> Fields {
        Fields {
            address: (self.0 as u32 & 0x3fff) << 4,
            leading: ((self.0 >> 16) as u32 & 0x3fff) << 4,
            stride: ((self.0 >> 32) as u32 & 0x3fff) << 4,
            base: (self.0 >> 49) as u32 & 7,
            swizzle: match self.0 >> 62 {
                1 => Swizzle::Bytes128,
                2 => Swizzle::Bytes64,
                3 => Swizzle::Bytes32,
                _ => Swizzle::None,
            },
        }
    }

    /// The same, `bytes` further on (a multiple of 16).
    #[inline(always)]
    pub const fn advance(self, bytes: u32) -> Self {
        Self(self.0 + (bytes as u64 >> 4))
    }

    /// The 64 bits that the instruction takes.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }
}
