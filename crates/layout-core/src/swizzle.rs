//! XOR swizzles of shared memory: address bits that are flipped by higher ones, so that accesses across rows meet
//! different banks.

use crate::{Layout, LayoutError, MAX_BITS, Name, Space};

/// A swizzle of byte addresses: bits `base .. base + bits` are flipped by bits `base + shift .. base + shift + bits`.
///
/// It is its own inverse. With `shift >= bits` the flipping bits are themselves left alone, which is what makes it so.
///
/// The hardware's modes for tensor copies and wgmma operands, on a buffer that begins at a multiple of 1024, 512 or 256
/// bytes:
///
/// | Mode | Pattern repeats after | Address bits | Flipped by |
/// |---|---|---|---|
/// | [`B128`](Self::B128) | 1024 bytes, 8 rows of 128 | 4 5 6 | 7 8 9 |
/// | [`B64`](Self::B64) | 512 bytes, 4 rows of 128 | 4 5 | 7 8 |
/// | [`B32`](Self::B32) | 256 bytes, 2 rows of 128 | 4 | 7 |
///
/// Source: PTX ISA, "Swizzling modes" of tensors; CuTe calls this family `Swizzle<bits, base, shift>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: usize,
    base: usize,
    shift: usize,
}

/// The swizzle that flips address bits `base .. base + bits` by those `shift` above.
///
/// # Errors
/// [`LayoutError::TooMany`] if `shift < bits` (a bit would flip a flipped one) or a bit is beyond 47.
pub const fn swizzle(bits: usize, base: usize, shift: usize) -> Result<Swizzle, LayoutError> {
    if shift < bits {
        return Err(LayoutError::TooMany { actual: bits, limit: shift });
    }
    let highest = base.saturating_add(shift).saturating_add(bits);
    if highest > MAX_BITS {
        return Err(LayoutError::TooMany { actual: highest, limit: MAX_BITS });
    }
    Ok(Swizzle { bits, base, shift })
}

impl Swizzle {
    /// No swizzle.
    pub const NONE: Self = Self { bits: 0, base: 4, shift: 3 };
    /// The 32-byte mode.
    pub const B32: Self = Self { bits: 1, base: 4, shift: 3 };
    /// The 64-byte mode.
    pub const B64: Self = Self { bits: 2, base: 4, shift: 3 };
    /// The 128-byte mode.
    pub const B128: Self = Self { bits: 3, base: 4, shift: 3 };

    /// How many bits are flipped.
    pub const fn bits(&self) -> usize {
        self.bits
    }

    /// The lowest bit that is flipped.
    pub const fn base(&self) -> usize {
        self.base
    }

    /// How far above each flipped bit the bit is that flips it.
    pub const fn shift(&self) -> usize {
        self.shift
    }

    /// Bytes after which the pattern repeats.
    pub const fn period(&self) -> u64 {
        if self.bits == 0 { 1 } else { 1 << (self.base + self.shift + self.bits) }
    }

    /// The address that takes the place of another.
    #[inline(always)]
    pub const fn apply(&self, address: u64) -> u64 {
        let mask = ((1 << self.bits) - 1) << self.base;
        address ^ (address >> self.shift & mask)
    }

    /// The swizzle as a layout of `address_bits` bits: physical `s0 s1 ...` hold logical `a0 a1 ...`, the address
    /// before it was swizzled.
    ///
    /// # Errors
    /// [`LayoutError::Missing`] names an address bit that the swizzle needs and `address_bits` leaves out,
    /// [`LayoutError::TooMany`] beyond 48 bits.
    pub const fn layout(&self, address_bits: usize) -> Result<Layout, LayoutError> {
        let (mut physical, mut logical, mut columns) = (Space::new(), Space::new(), [0; MAX_BITS]);
        if address_bits > MAX_BITS {
            return Err(LayoutError::TooMany { actual: address_bits, limit: MAX_BITS });
        }
        let mut bit = 0;
        while bit < address_bits {
            (physical, logical) = match (with(physical, "s", bit), with(logical, "a", bit)) {
                (Ok(physical), Ok(logical)) => (physical, logical),
                (Err(error), _) | (_, Err(error)) => return Err(error),
            };
            columns[bit] = 1 << bit;
            bit += 1;
        }
        let (columns, _) = columns.split_at(address_bits);
        match Layout::from_columns(physical, logical, columns) {
            Ok(layout) => self.of(&layout),
            Err(error) => Err(error),
        }
    }

    /// A memory layout swizzled: what the layout has at an address, the result has at the swizzled address.
    ///
    /// Address bits are those named `s` and a number; the layout may have other bits beside them.
    ///
    /// # Errors
    /// [`LayoutError::Missing`] names an address bit to be flipped that the layout lacks while it has the one that
    /// flips it.
    pub const fn of(&self, memory: &Layout) -> Result<Layout, LayoutError> {
        let mut columns = [0; MAX_BITS];
        let mut at = 0;
        while at < memory.physical().len() {
            columns[at] = memory.column(at);
            let name = memory.physical().get(at);
            if let Some(bit) = name.number()
                && name.stem().len() == 1
                && name.stem().as_bytes()[0] == b's'
                && bit >= self.base + self.shift
                && bit < self.base + self.shift + self.bits
            {
                let flipped = match Name::numbered("s", bit - self.shift) {
                    Ok(flipped) => flipped,
                    Err(error) => return Err(error),
                };
                match memory.column_of(&flipped) {
                    Some(column) => columns[at] ^= column,
                    None => return Err(LayoutError::Missing { bit: flipped }),
                }
            }
            at += 1;
        }
        let (columns, _) = columns.split_at(memory.physical().len());
        match Layout::from_columns(*memory.physical(), *memory.logical(), columns) {
            Ok(layout) => layout.with_offset(memory.offset()),
            Err(error) => Err(error),
        }
    }
}

/// A space with one more bit, `stem` and a number.
const fn with(space: Space, stem: &str, number: usize) -> Result<Space, LayoutError> {
    match Name::numbered(stem, number) {
        Ok(name) => space.with(name),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::string::ToString;
    use std::vec::Vec;

    use crate::access::{Transfer, Width};
    use crate::{Layout, LayoutError, Name, Swizzle, swizzle};

    #[test]
    fn every_swizzle_is_its_own_inverse_and_keeps_the_bits_outside() {
        for (bits, base, shift) in (0..4).flat_map(|b| (0..5).flat_map(move |m| (b..5).map(move |s: usize| (b, m, s))))
        {
            let swizzle = swizzle(bits, base, shift).unwrap();
            let size = 1 << (base + shift + bits + 1);
            let mask = ((1 << bits) - 1) << base;
            for address in 0..size {
                assert_eq!(swizzle.apply(swizzle.apply(address)), address);
                assert_eq!((swizzle.apply(address) ^ address) & !mask, 0);
                assert_eq!(swizzle.apply(address + swizzle.period()), swizzle.apply(address) + swizzle.period());
            }
        }
    }

    #[test]
    fn the_layout_of_a_swizzle_is_the_swizzle() {
        for swizzle in [Swizzle::NONE, Swizzle::B32, Swizzle::B64, Swizzle::B128] {
            let layout = swizzle.layout(11).unwrap();
            assert!((0..2048).all(|address| layout.apply(address) == swizzle.apply(address)));
        }
        assert_eq!(Swizzle::B128.layout(10).unwrap().to_string(), "s<->a0 a1 a2 a3 a4 a5 a6 a4^a7 a5^a8 a6^a9");
    }

    #[test]
    fn the_hardware_modes_are_those_of_descriptors() {
        let modes = [Swizzle::NONE, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        for (swizzle, mode) in modes.into_iter().zip(crate::atoms::descriptor::Swizzle::ALL) {
            for address in 0..4096u32 {
                assert_eq!(swizzle.apply(address.into()), mode.apply(address).into(), "{mode:?}");
            }
        }
    }

    #[test]
    fn the_hardware_modes_spread_the_16_byte_columns_of_their_rows_over_all_banks() {
        // A column of 16-byte cells in rows of 32, 64 and 128 bytes: eight rows are a phase of ldmatrix.
        for (swizzle, row_bits) in [(Swizzle::B32, 5), (Swizzle::B64, 6), (Swizzle::B128, 7)] {
            for cell in 0..1 << (row_bits - 4) {
                let banks =
                    (0..8u64).map(|row| swizzle.apply(row << row_bits | cell << 4) % 128).collect::<BTreeSet<_>>();
                assert_eq!(banks.len(), 8, "{swizzle:?}, cell {cell}");
                let plain = (0..8u64).map(|row| (row << row_bits | cell << 4) % 128).collect::<BTreeSet<_>>();
                assert_eq!(plain.len(), 128 >> row_bits);
            }
        }
    }

    #[test]
    fn a_swizzled_layout_holds_at_the_swizzled_address_what_the_plain_one_holds_at_the_address() {
        let plain = Layout::parse("s1 s2 s3 s4 s5 s6<->x0 x1 x2 x3 x4 x5  s7 s8 s9 s10<->y0 y1 y2 y3 + y0").unwrap();
        let swizzled = Swizzle::B128.of(&plain).unwrap();
        for address in (0..2048u64).step_by(2) {
            assert_eq!(swizzled.apply(Swizzle::B128.apply(address) >> 1), plain.apply(address >> 1));
        }
        let rows = Layout::parse("b<->x0  r<->x1 x2  t0 t1 t2<->y0 y1 y2  t3 t4<->x3 x4  w<->y3 x5").unwrap();
        let degrees = [plain, swizzled].map(|memory| {
            let transfer = Transfer::new(&rows, &memory, "s").unwrap();
            transfer.request(Width::B16).unwrap().shared().degree
        });
        assert_eq!(degrees, [8, 1]);
    }

    #[test]
    fn faults_of_swizzles_are_named() {
        assert_eq!(swizzle(3, 4, 2), Err(LayoutError::TooMany { actual: 3, limit: 2 }));
        assert_eq!(swizzle(3, 40, 8), Err(LayoutError::TooMany { actual: 51, limit: 48 }));
        assert!(swizzle(usize::MAX, 1, usize::MAX).is_err());
        let memory = Layout::parse("s2 s3 s7 s8<->x0 x1 y0 y1").unwrap();
        assert_eq!(Swizzle::B32.of(&memory), Err(LayoutError::Missing { bit: Name::new("s4").unwrap() }));
        let errors: Vec<_> = (0..12).filter(|&bits| Swizzle::B128.layout(bits).is_err()).collect();
        assert_eq!(errors, [] as [usize; 0]);
        assert!(Swizzle::NONE.layout(49).is_err());
    }
}
