//! Loads and stores between registers and a memory, both given as layouts.

use super::error::{layout_ok, ok};
use super::{AccessError, GlobalCost, Request, SharedCost, Width};
use crate::{Layout, MAX_BITS, Matrix, Name, Space};

/// The byte address of every place in the registers of a warp: what a load or store between a register layout and a
/// memory layout does.
///
/// A place's bits are those of the register layout: `b` (position in a register), `r` (register), `t` (lane), and
/// others such as `w` (warp), which move the addresses of a whole warp and change neither costs nor widths, except that
/// they must keep accesses aligned. Elements are of 4, 2 or 1 bytes for 0, 1 or 2 bits `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Places -> address bits; bit `i` of the logical index is address bit `i`.
    map: Layout,
    /// log2 of the bytes of an element.
    element: usize,
}

impl Transfer {
    /// The transfer between registers and the memory whose byte-address bits are named `stem` and a number: `s` or `g`.
    ///
    /// Address bits that the memory layout does not name are zero (those inside an element may be left out, or hold 0),
    /// as are those of combinations of bits that hold the same element again. Bits of other stems in the memory
    /// layout (`w`, say) are those of the registers.
    ///
    /// # Errors
    /// [`AccessError::NotHeld`] names a logical bit of the registers that no address reaches,
    /// [`AccessError::Unexpected`] a memory bit of another stem that the registers lack or an address bit inside an
    /// element that holds something, [`AccessError::TooMany`] more than two bits `b`.
    pub const fn new(registers: &Layout, memory: &Layout, stem: &str) -> Result<Self, AccessError> {
        let mut addressed = [0; MAX_BITS];
        let address_bits = memory.physical().stem_mask(stem);
        let mut bit = 0;
        while bit < memory.physical().len() {
            let name = memory.physical().get(bit);
            if address_bits >> bit & 1 == 1 {
                addressed[ok!(address_bit(&name))] = memory.column(bit);
            } else if registers.physical().position(&name).is_none() {
                return Err(AccessError::Unexpected { bit: name });
            }
            bit += 1;
        }
        let addresses = Matrix::of(&addressed, MAX_BITS).reduce();
        let (mut columns, mut offset) = ([0; MAX_BITS], 0);
        bit = 0;
        while bit <= registers.physical().len() {
            let last = bit == registers.physical().len();
            let index = if last { registers.offset() } else { registers.column(bit) };
            let element = ok!(rename(index, registers.logical(), memory.logical()));
            let moved = if last {
                memory.offset()
            } else {
                match memory.column_of(&registers.physical().get(bit)) {
                    Some(column) => column,
                    None => 0,
                }
            };
            let (rest, address) = addresses.reduce(element ^ moved);
            if rest != 0 {
                return Err(AccessError::NotHeld { bit: memory.logical().get(rest.trailing_zeros() as usize) });
            }
            if last {
                offset = address;
            } else {
                columns[bit] = address;
            }
            bit += 1;
        }
        let (columns, _) = columns.split_at(registers.physical().len());
        Self::finish(*registers.physical(), stem, columns, offset)
    }

    /// The transfer of an address map: a layout from places (`b`, `r`, `t`, ...) to byte-address bits, which are named
    /// `stem` and their number.
    ///
    /// # Errors
    /// [`AccessError::Unexpected`] names a logical bit of another stem, [`AccessError::TooMany`] an address bit beyond
    /// 47 or more than two bits `b`.
    pub const fn from_address_map(map: &Layout, stem: &str) -> Result<Self, AccessError> {
        let logical = map.logical();
        let address_bits = logical.stem_mask(stem);
        let mut bit = 0;
        while bit < logical.len() {
            let name = logical.get(bit);
            if address_bits >> bit & 1 == 0 {
                return Err(AccessError::Unexpected { bit: name });
            }
            ok!(address_bit(&name));
            bit += 1;
        }
        let mut columns = [0; MAX_BITS];
        bit = 0;
        while bit < map.physical().len() {
            columns[bit] = logical.number(stem, map.column(bit));
            bit += 1;
        }
        let (columns, _) = columns.split_at(map.physical().len());
        Self::finish(*map.physical(), stem, columns, logical.number(stem, map.offset()))
    }

    /// Names the address bits and counts the bits `b`.
    const fn finish(physical: Space, stem: &str, columns: &[u64], offset: u64) -> Result<Self, AccessError> {
        let (mut reached, mut at) = (offset, 0);
        while at < columns.len() {
            reached |= columns[at];
            at += 1;
        }
        let bytes = physical.stem_mask("b").count_ones() as usize;
        if bytes > 2 {
            return Err(AccessError::TooMany { actual: bytes, limit: 2 });
        }
        let logical = layout_ok!(Space::numbered(stem, 64 - reached.leading_zeros() as usize));
        let map = layout_ok!(layout_ok!(Layout::from_columns(physical, logical, columns)).with_offset(offset));
        let element = 2 - bytes;
        if reached & ((1 << element) - 1) != 0 {
            return Err(AccessError::Unexpected { bit: logical.get(reached.trailing_zeros() as usize) });
        }
        Ok(Self { map, element })
    }

    /// Places -> byte address, as a layout whose logical bit `i` is address bit `i`.
    pub const fn address_map(&self) -> &Layout {
        &self.map
    }

    /// The byte address of the element at a place.
    pub const fn address(&self, place: u64) -> u64 {
        self.map.apply(place)
    }

    /// Bytes of an element.
    pub const fn element_bytes(&self) -> u64 {
        1 << self.element
    }

    /// The widest access that the layouts allow.
    pub const fn widest(&self) -> Width {
        let mut at = Width::ALL.len() - 1;
        while at > self.element {
            if self.check(Width::ALL[at]).is_ok() {
                break;
            }
            at -= 1;
        }
        Width::ALL[at]
    }

    /// Whether accesses of this width are possible: the elements of a lane that they cover are neighbours in memory, in
    /// the right order within a register, and each access lies at a multiple of its width. Which registers form a
    /// vector is free.
    ///
    /// # Errors
    /// [`AccessError::Width`] if an element is wider, [`AccessError::BitAlignment`] or [`AccessError::BaseAlignment`]
    /// names what makes an access lie across, [`AccessError::NotContiguous`] the address bit that no bit inside a
    /// lane moves alone.
    pub const fn check(&self, width: Width) -> Result<(), AccessError> {
        if width.bits() < self.element {
            return Err(AccessError::Width { actual: width.bytes(), expected: 1 << self.element });
        }
        let physical = self.map.physical();
        let (byte_bits, register_bits) = (physical.stem_mask("b"), physical.stem_mask("r"));
        let within = if width.bits() < 2 { width.bits() } else { 2 };
        let mut bit = 0;
        while bit < physical.len() {
            let (name, moves) = (physical.get(bit), self.map.column(bit));
            let position = self.element + physical.number("b", 1 << bit).trailing_zeros() as usize;
            if byte_bits >> bit & 1 == 1 && position < within {
                if moves != 1 << position {
                    return Err(AccessError::NotContiguous { bytes: 1 << position, width: width.bytes() });
                }
            } else {
                // A vector's registers may be any; only bytes inside a register have a fixed place.
                let register = register_bits >> bit & 1 == 1 && width.bits() > 2;
                let bytes = if register { 4 } else { width.bytes() };
                if moves & (bytes - 1) != 0 {
                    return Err(AccessError::BitAlignment { bit: name, moves, bytes });
                }
            }
            bit += 1;
        }
        if self.map.offset() & ((1 << within) - 1) != 0 {
            return Err(AccessError::BaseAlignment { address: self.map.offset(), bytes: 1 << within });
        }
        let mut position = 2;
        while position < width.bits() {
            if self.registers_that_move(1 << position).is_none() {
                return Err(AccessError::NotContiguous { bytes: 1 << position, width: width.bytes() });
            }
            position += 1;
        }
        Ok(())
    }

    /// The registers of a vector: masks on the register index (bit `i` is `r` number `i`) that move the address by 4
    /// and by 8 bytes. Register `i`'s vector of four is `i`, `i ^ m0`, `i ^ m1` and `i ^ m0 ^ m1`, in the order of
    /// their addresses.
    ///
    /// # Errors
    /// As [`check`](Self::check) for `width`; narrower accesses than 8 bytes have no masks (0).
    pub const fn vector_masks(&self, width: Width) -> Result<[u64; 2], AccessError> {
        ok!(self.check(width));
        let (mut masks, mut position) = ([0; 2], 2);
        while position < width.bits() {
            if let Some(mask) = self.registers_that_move(1 << position) {
                masks[position - 2] = mask;
            }
            position += 1;
        }
        Ok(masks)
    }

    /// The request of each instruction of this width, for the register with the lowest address of the vector that holds
    /// register 0. The other instructions' addresses differ from these by an XOR of all lanes' alike, which changes
    /// no cost.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub const fn request(&self, width: Width) -> Result<Request, AccessError> {
        ok!(self.check(width));
        let (mut columns, mut lane) = ([0; 5], 0);
        while lane < 5 {
            // The address is affine: what lane bit `lane` moves is what its place moves.
            let place = self.map.physical().index(&[("t", 1 << lane)]);
            columns[lane] = self.map.apply(place) ^ self.map.offset();
            lane += 1;
        }
        Request::new(columns, self.map.offset() & !(width.bytes() - 1), width)
    }

    /// Instructions of this width that move all of a lane's elements; registers that hold the same element count each.
    pub const fn instructions(&self, width: Width) -> u32 {
        let bits = self.map.physical().stem_mask("r").count_ones() as usize + 2;
        1 << bits.saturating_sub(width.bits())
    }

    /// What all instructions of this width cost in shared memory.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub const fn shared(&self, width: Width) -> Result<SharedCost, AccessError> {
        let instructions = self.instructions(width);
        let SharedCost { wavefronts, ideal, degree } = ok!(self.request(width)).shared();
        Ok(SharedCost { wavefronts: wavefronts * instructions, ideal: ideal * instructions, degree })
    }

    /// What all instructions of this width cost in global memory.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub const fn global(&self, width: Width) -> Result<GlobalCost, AccessError> {
        let instructions = self.instructions(width);
        let GlobalCost { sectors, ideal } = ok!(self.request(width)).global();
        Ok(GlobalCost { sectors: sectors * instructions, ideal: ideal * instructions })
    }

    /// The register bits, as a mask on the register index, whose flip moves the address by exactly `bytes`.
    const fn registers_that_move(&self, bytes: u64) -> Option<u64> {
        let physical = self.map.physical();
        let register_bits = physical.stem_mask("r");
        let (mut columns, mut bit) = ([0; MAX_BITS], 0);
        while bit < physical.len() {
            if register_bits >> bit & 1 == 1 {
                columns[bit] = self.map.column(bit);
            }
            bit += 1;
        }
        match Matrix::of(&columns, physical.len()).solve(bytes) {
            Some(place) => Some(physical.number("r", place)),
            None => None,
        }
    }
}

/// Which bit of an address a name is.
const fn address_bit(name: &Name) -> Result<usize, AccessError> {
    match name.number() {
        Some(number) if number < MAX_BITS => Ok(number),
        Some(number) => Err(AccessError::TooMany { actual: number.saturating_add(1), limit: MAX_BITS }),
        None => Err(AccessError::Unexpected { bit: *name }),
    }
}

/// An index into one space as one into another, bit by bit of the same name.
const fn rename(index: u64, from: &Space, to: &Space) -> Result<u64, AccessError> {
    let (mut renamed, mut bit) = (0, 0);
    while bit < from.len() {
        if index >> bit & 1 == 1 {
            let name = from.get(bit);
            match to.position(&name) {
                Some(at) => renamed |= 1 << at,
                None => return Err(AccessError::NotHeld { bit: name }),
            }
        }
        bit += 1;
    }
    Ok(renamed)
}
